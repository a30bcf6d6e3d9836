"""What older versions stored of secrets is cleaned: rows, words, vectors, log, ledgers, counters (#16)."""

from __future__ import annotations

import json
import os
import sqlite3
import time
import zlib
from contextlib import closing
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hybrid.index.analysis import REDACT_RULES, head_line, input_key
from hybrid.index.catalog import Catalog
from hybrid.index.vectors import quantise
from hybrid.models.registry import load_embedder
from hybrid.redact import mask
from hybrid.types import EmbedInput
from hybrid.upkeep.cleaning import clean_home, is_due, read_cleaned
from hybrid.upkeep.indexing import bring_up_to_date
from hybrid.workspace import open_workspace
from tests.support.agent import Agent, kill, until
from tests.support.builders import PAYMENTS, new_shop, python_process
from tests.support.memories import fill_memory

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.upkeep.indexing import Indexed
    from hybrid.workspace import Workspace
    from tests.support.builders import Shop

SECRET = "tiger7kiwi99"
OLD = "redact 3"
HARMLESS = f"name: {SECRET}\nport: 5432\n"
"""What the rules find nothing in: how an older version took a secret for a word."""
SETTINGS = f"password: {SECRET}\nport: 5432\n"
PAYLOAD = json.dumps(
    {"tool": "Bash", "kind": "command", "command": f"curl -u admin:{SECRET} https://pay.example.com/v1", "output": "ok"}
)
CLEAN = (
    "import sys; from pathlib import Path; from hybrid.upkeep.cleaning import clean_home; "
    "from hybrid.workspace import open_workspace; "
    "environ = {'HYBRID_HOME': sys.argv[1]}; "
    "clean_home(open_workspace(Path(sys.argv[1]), environ=environ), environ, is_whole=True)"
)


def _sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement)


def _older_index(home: Path) -> None:
    """Let everything that is indexed stand under older rules."""
    for path in [*home.rglob("catalog.db")]:
        change = f"SET recipe = replace(recipe, '{REDACT_RULES}', '{OLD}')"
        _sql(path, f"UPDATE contents {change}", f"UPDATE trees {change}")
    for path in home.rglob("manifest.json"):
        path.write_text(path.read_text().replace(REDACT_RULES, OLD))
    (home / "cleaned.json").unlink(missing_ok=True)


def _older_home(folder: Path) -> Shop:
    """A home as an older version left it: the secret stands in every store, under rules that did not know it."""
    shop = new_shop(folder, PAYMENTS | {"database.yml": HARMLESS})
    fill_memory(shop).close()
    memory = shop.home / "memory.db"
    _sql(memory, f"UPDATE observations SET narrative = 'It was called with {SECRET} by hand.' WHERE id = 1")
    shop.out("memory", "search", "retry attempts")
    _older_index(shop.home)
    (shop.root / "database.yml").write_text(SETTINGS)
    text = f"Call it with password: {SECRET} again"
    facts = json.dumps([f"curl -u admin:{SECRET} https://pay.example.com/v1"])
    _sql(
        memory,
        f"UPDATE observations SET narrative = '{text}', facts = '{facts}' WHERE id = 1",
        f"UPDATE session_summaries SET request = '{text}'",
        f"UPDATE user_prompts SET prompt_text = '{text}'",
        f"UPDATE sessions SET user_prompt = '{text}' WHERE id = 1",
        "INSERT INTO pending_events(session_id, project_key, project, created_at_epoch, prompt_number, "
        f"discovery_tokens, tool, digest, payload) VALUES (1, 'k', 'p', {time.time_ns() // 1_000_000}, 1, 1, 'Bash', "
        f"'d', '{PAYLOAD}')",
        "INSERT INTO observation_concepts VALUES (1, 'x')",
        "DELETE FROM cleaned",
    )
    log = shop.home / "log"
    log.mkdir(exist_ok=True)
    event = {"id": "ab", "at": "2026-01-01T00:00:00.000+00:00", "prompt": text, "reason": "injected"}
    for name in ("events.jsonl", "events.1.jsonl"):
        (log / name).write_text(json.dumps(event) + "\n" + f'{{"half": "password: {SECRET} ')
    (log / "marks.jsonl").write_text(json.dumps({"id": "ab", "mark": "good", "note": text, "event": event}) + "\n")
    (shop.home / "sessions").mkdir(exist_ok=True)
    (shop.home / "sessions" / f"{'0' * 32}.jsonl").write_text(json.dumps({"t": 1, "untold": [text]}) + "\n")
    state = next((shop.home / "projects").glob("*/trees/*"))
    entry = {"count": 2, "file": "database.yml", "name": f"password={SECRET}"}
    (state / "hook_state.json").write_text(json.dumps({"injection_count": 2, "chunk_frequencies": {"k": entry}}))
    (state / "hot-topics.md").write_text(f"| 1 | database.yml | password={SECRET} | 2 |\n")
    return shop


def _holding(home: Path) -> list[str]:
    """The files with the secret, or a part of it, in any byte, or in what the catalogs keep compressed."""
    needle = SECRET.encode()
    found = [str(path) for path in home.rglob("*") if path.is_file() and needle in path.read_bytes().lower()]
    for path in home.rglob("catalog.db"):
        with closing(sqlite3.connect(path)) as db:
            details = b"".join(zlib.decompress(row[0]) for row in db.execute("SELECT detail FROM chunks"))
            found += [f"{path}: terms"] if needle in details else []
    return found


def test_a_command_cleans_everything(tmp_path: Path) -> None:
    """`doctor` says what waits; after `doctor --fix` no file of the home holds the secret, and `doctor` says when."""
    shop = _older_home(tmp_path)
    assert _holding(shop.home)
    before = shop.json("doctor", "--no-trial")["findings"]
    waiting = [each["what"] for each in before if each["area"] == "secrets"]
    assert "memory.db" in waiting[0]

    shop.json("doctor", "--no-trial", "--fix")

    assert [] == _holding(shop.home)
    after = [each for each in shop.json("doctor", "--no-trial")["findings"] if each["area"] == "secrets"]
    assert ["ok"] == [each["level"] for each in after]
    assert "5 rows, 7 lines of log and counters" in after[0]["what"]
    assert "Cap retry attempts" in shop.out("memory", "search", "retry attempts")
    assert "database.yml" in shop.out("search", "password port")


@pytest.mark.parametrize(
    ("title", "cleaned"),
    [
        ("Run `npm test … --db_pass…er7kiwi99` → ok", "Run `npm test … --db_pass…` → ok"),
        ("Run `curl https://admin:ti…kiwi99` → ok", "Run `curl https://admin:ti…` → ok"),
        ("Run `build --file=src/…/client.py` → ok…", "Run `build --file=src/…/client.py` → ok…"),
        ("Edit payments…client.py: … retry", "Edit payments…client.py: … retry"),
    ],
)
def test_the_end_of_a_cut_password_goes(tmp_path: Path, title: str, cleaned: str) -> None:
    """Older versions left out the middle of a long command before its password was known for one; its end stayed."""
    shop = _older_home(tmp_path)
    _sql(
        shop.home / "memory.db",
        f"UPDATE observations SET title = '{title}', narrative = '', facts = '[]' WHERE id = 1",
        f"UPDATE session_summaries SET completed = '{title}'",
    )

    shop.json("doctor", "--no-trial", "--fix")

    with closing(sqlite3.connect(shop.home / "memory.db")) as db:
        assert [(cleaned,)] == db.execute("SELECT title FROM observations WHERE id = 1").fetchall()
        assert {(cleaned,)} == set(db.execute("SELECT completed FROM session_summaries").fetchall())


def test_rows_are_read_without_secrets_before_they_are_cleaned(tmp_path: Path) -> None:
    """What a command shows or exports of a row that is not cleaned holds no secret."""
    shop = _older_home(tmp_path)

    shown = shop.out("memory", "show", "1") + shop.out("memory", "export", "-")

    assert SECRET not in shown


def test_commands_clean_rows_and_log_at_their_end(tmp_path: Path) -> None:
    """Without a service, a command that reads the stores cleans rows and log; the indexes wait."""
    shop = _older_home(tmp_path)

    shop.run("log")

    assert ["projects", "records"] == sorted(
        {path[len(str(shop.home)) + 1 :].split("/")[0] for path in _holding(shop.home)}
    )


def test_the_service_cleans_everything(tmp_path: Path) -> None:
    """The service does it in the background after it started."""
    shop = _older_home(tmp_path)
    agent = Agent(shop)
    shop.out("daemon", "start", "--quiet")
    try:
        until(lambda: read_cleaned(shop.home).is_done)
    finally:
        agent.stop_service()

    assert [] == _holding(shop.home)


def test_full_text_and_lists_follow_the_rows(tmp_path: Path) -> None:
    """The words of the cleaned text are found, those of the secret are not, and the tables agree with one another."""
    shop = _older_home(tmp_path)
    shop.json("doctor", "--no-trial", "--fix")

    with closing(sqlite3.connect(shop.home / "memory.db")) as db:
        for table, column in (("observations_fts", "narrative"), ("prompts_fts", "prompt_text")):
            db.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
            (n,) = db.execute(f"SELECT count(*) FROM {table} WHERE {table} MATCH 'redacted'").fetchone()
            (n_secret,) = db.execute(f"SELECT count(*) FROM {table} WHERE {table} MATCH '{SECRET}'").fetchone()
            assert (1, 0) == (n, n_secret), column
        assert [] == db.execute("SELECT * FROM observation_concepts WHERE concept = 'x'").fetchall()


def test_a_killed_cleaning_is_gone_on_with(tmp_path: Path) -> None:
    """Of 20,000 rows, every tenth with the secret, none is left after a kill in the middle and one more run."""
    shop = new_shop(tmp_path, is_indexed=False)
    fill_memory(shop).close()
    memory = shop.home / "memory.db"
    with closing(sqlite3.connect(memory)) as db, db:
        texts = [f"password: {SECRET} in try {n}" if n % 10 == 0 else f"try {n} of the day" for n in range(20_000)]
        db.executemany(
            "INSERT INTO user_prompts(session_id, project_key, project, created_at_epoch, created_at, prompt_number, "
            "digest, prompt_text) VALUES (1, 'k', 'p', 1, '', 1, ?, ?)",
            [(str(n), text) for n, text in enumerate(texts)],
        )
        db.execute("DELETE FROM cleaned")

    def up_to() -> int:
        with closing(sqlite3.connect(memory)) as db:
            row = db.execute("SELECT up_to FROM cleaned WHERE stage = 'user_prompts'").fetchone()
        return row[0] if row else 0

    process = python_process(CLEAN, shop.home)
    until(lambda: up_to() > 0 or process.poll() is not None)
    kill(process.pid)
    process.communicate()
    assert 0 < up_to() < 20_000
    assert _holding(shop.home)

    python_process(CLEAN, shop.home).communicate(timeout=120)

    assert [] == _holding(shop.home)
    assert 2_000 == read_cleaned(shop.home).memory


def test_what_is_in_the_way_is_said(tmp_path: Path) -> None:
    """A memory that another process reads all the time is not said to be clean, and is once it does not."""
    shop = _older_home(tmp_path)
    environ = {"HYBRID_HOME": str(shop.home)}
    workspace = open_workspace(shop.home, environ=environ)
    with closing(sqlite3.connect(shop.home / "memory.db")) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM observations").fetchone()
        held = clean_home(workspace, environ, is_whole=False)
    assert held is not None
    assert ["memory: not all"] == [problem[:15] for problem in held.problems]
    assert is_due(workspace)

    clean_home(workspace, environ, is_whole=True)

    assert [] == _holding(shop.home)
    assert not is_due(workspace)


def test_two_processes_do_not_clean_at_once(tmp_path: Path) -> None:
    """Who comes second leaves it to the first; where no lock can be had nothing is done, and `doctor` says it waits."""
    shop = _older_home(tmp_path)
    (shop.home / "cleaning.lock").unlink(missing_ok=True)
    (shop.home / "cleaning.lock").mkdir()
    environ = {"HYBRID_HOME": str(shop.home)}

    assert clean_home(open_workspace(shop.home, environ=environ), environ, is_whole=True) is None

    found = shop.json("doctor", "--no-trial", "--fix")["findings"]
    assert ["warning"] == [each["level"] for each in found if each["area"] == "secrets"]


def test_an_index_of_a_tree_that_is_gone_goes(tmp_path: Path) -> None:
    """What was kept of a working tree that is not there any more is deleted, not made again."""
    shop = _older_home(tmp_path)
    shop.root.rename(tmp_path / "elsewhere")

    shop.json("doctor", "--no-trial", "--fix", cwd=tmp_path)

    assert [] == _holding(shop.home)
    assert 1 == read_cleaned(shop.home).dropped


def test_an_index_that_was_made_by_hand_is_cleaned_and_kept(tmp_path: Path) -> None:
    """With `index.auto = false` the index is made again under the present rules; it does not go."""
    shop = _older_home(tmp_path)
    shop.out("config", "set", "--user", "index.auto", "false")

    shop.json("doctor", "--no-trial", "--fix")

    assert [] == _holding(shop.home)
    assert (0, 1) == (read_cleaned(shop.home).dropped, len([*shop.home.glob("projects/*/trees/*/manifest.json")]))
    assert "database.yml" in shop.out("search", "password port")


@pytest.mark.parametrize("command", ["status", "search retry", "reindex"])
def test_a_command_says_that_an_index_waits(tmp_path: Path, command: str) -> None:
    """Without a service one plain line says what to do; after it was done, nothing is said."""
    shop = _older_home(tmp_path)
    line = "made under older rules for secrets and may hold some; `hybrid doctor --fix` cleans that\n"

    assert shop.run(*command.split()).stderr.decode().endswith(line)
    assert line not in shop.run(*command.split(), "--quiet").stderr.decode()

    shop.json("doctor", "--no-trial", "--fix")

    assert "" == shop.run(*command.split()).stderr.decode()


def test_a_vector_of_a_text_with_its_secret_is_not_used_again(tmp_path: Path) -> None:
    """The key of a vector is made of the text that is embedded, so other rules embed anew what they hide more of."""
    shop = new_shop(tmp_path, PAYMENTS | {"database.yml": SETTINGS})
    workspace = open_workspace(shop.root, environ={"HYBRID_HOME": str(shop.home)})
    place = workspace.place
    embedder = load_embedder(workspace.config.model.name, home=shop.home)
    with Catalog(place.catalog, tree=place.tree, root=place.root) as catalog:
        content = catalog.indexed()["database.yml"][0]
        (record,) = catalog.records(content)
    head = head_line("database.yml", record.scope, record.definitions)
    old, new = (input_key(head, digest) for digest in (record.digest, record.embedded))
    with closing(sqlite3.connect(place.catalog)) as db, db:
        # As an older version kept it: a vector of the whole text, under the digest of that text.
        (data,) = db.execute("SELECT data FROM vectors WHERE input = ?", (new,)).fetchone()
        db.execute("UPDATE vectors SET input = ?, data = ? WHERE input = ?", (old, bytes(len(data)), new))
    _older_index(shop.home)

    shop.json("doctor", "--no-trial", "--fix")

    wanted = embedder.embed_documents([EmbedInput(head, mask(SETTINGS).strip())])
    expected = quantise(wanted, np.zeros(1, np.bool_)).rows()[0]
    with closing(sqlite3.connect(place.catalog)) as db:
        rows = dict(db.execute("SELECT input, data FROM vectors").fetchall())
    assert expected == rows[new]
    assert old not in rows


def test_a_vector_stays_when_the_text_it_was_made_for_goes(tmp_path: Path) -> None:
    """Other rules index every file again; what they hide nothing in keeps its vector, and is not embedded again."""
    shop = new_shop(tmp_path)
    _older_index(shop.home)

    assert 0 == json.loads(shop.run("reindex", "--json").stdout)["embedded"]

    shop.json("doctor", "--no-trial", "--fix")
    (catalog,) = (shop.home / "projects").rglob("catalog.db")
    with closing(sqlite3.connect(catalog)) as db:
        counts = db.execute("SELECT (SELECT count(*) FROM vectors), (SELECT sum(n_chunks) FROM contents)").fetchone()
    assert counts[0] == counts[1]


def test_lines_that_arrive_meanwhile_are_kept(tmp_path: Path) -> None:
    """A file of lines is replaced while others append to it: no line of theirs is lost."""
    from hybrid.upkeep.cleaning import clean_lines

    path = tmp_path / "events.jsonl"
    secret = json.dumps({"prompt": f"password: {SECRET}"}) + "\n"
    path.write_text(secret * 2_000)
    script = (
        "import sys; from pathlib import Path; from hybrid.base.atomic import append_line\n"
        "for n in range(3000): append_line(Path(sys.argv[1]), str(n).encode())"
    )
    process = python_process(script, path)
    while process.poll() is None:
        clean_lines(path)
        with path.open("a") as file:
            file.write(secret)
    process.communicate()
    clean_lines(path)

    lines = path.read_text().splitlines()
    assert SECRET not in "".join(lines)
    assert set(map(str, range(3000))) <= set(lines)


def test_own_texts_are_named_and_not_changed(tmp_path: Path) -> None:
    """A lesson with a secret stays as its owner wrote it; `doctor` names file and line, and does not print it."""
    shop = new_shop(tmp_path, is_indexed=False)
    shop.home.mkdir(exist_ok=True)
    lessons = shop.home / "LESSONS.md"
    text = f"# LESSONS.md\n\n### [S001] [*----|-----] Sign in\n> The password: {SECRET} is asked for twice.\n"
    lessons.write_text(text)

    printed = shop.out("doctor", "--no-trial", code=0)

    assert f"{lessons} has a secret in 1 line (4), which is never shown" in printed
    assert SECRET not in printed
    assert text == lessons.read_text()


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the owner of everything may write all")
def test_a_home_that_cannot_be_written_stays(tmp_path: Path) -> None:
    """Nothing is cleaned where nothing can be written, and nothing fails."""
    shop = _older_home(tmp_path)
    shop.home.chmod(0o500)
    try:
        assert SECRET not in shop.out("log", "--json")
    finally:
        shop.home.chmod(0o700)


def test_a_project_that_is_forgotten_meanwhile_is_no_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its index was looked for after it had gone, and the home counted as not clean until it was looked at again."""
    shop = new_shop(tmp_path)
    _older_index(shop.home)

    def forget_first(workspace: Workspace, *args: Any, **options: Any) -> Indexed:
        shop.out("projects", "forget", "shop")
        return bring_up_to_date(workspace, *args, **options)

    monkeypatch.setattr("hybrid.upkeep.cleaning_indexes.bring_up_to_date", forget_first)
    environ = {"HYBRID_HOME": str(shop.home)}
    cleaned = clean_home(open_workspace(shop.home, environ=environ), environ, is_whole=True)

    assert cleaned is not None
    assert () == cleaned.problems
    assert [] == shop.json("projects", code=1)["projects"]


def test_an_index_that_cannot_be_written_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was counted as made again, and once more by the cleaning that did it; now each counts when it is done."""
    shop = _older_home(tmp_path)
    environ = {"HYBRID_HOME": str(shop.home)}
    workspace = open_workspace(shop.home, environ=environ)

    def fail(*_args: Any, **_options: Any) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr("hybrid.upkeep.cleaning_indexes.MemoryIndex.write", fail)
        failed = clean_home(workspace, environ, is_whole=True)
    done = clean_home(workspace, environ, is_whole=True)

    assert failed is not None
    assert (1, ["the disk is full"]) == (failed.rebuilt, [*failed.problems])
    assert done is not None
    assert (2, ()) == (done.rebuilt, done.problems)
