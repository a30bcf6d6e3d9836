"""When the rules for secrets change, what is stored is masked once more; no row is lost and no prompt waits."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sqlite3
import time
import zlib
from contextlib import closing
from typing import TYPE_CHECKING

import numpy as np
import pytest

from hybrid.base.atomic import locked
from hybrid.index.analysis import REDACT_RULES, head_line, input_key
from hybrid.index.catalog import Catalog
from hybrid.index.vectors import quantise
from hybrid.models.registry import load_embedder
from hybrid.records.memory import forgetting
from hybrid.records.memory.forgetting import masked
from hybrid.records.memory.store import MemoryStore
from hybrid.redact import REDACT_VERSION, mask, redact
from hybrid.types import EmbedInput
from hybrid.upkeep import masking
from hybrid.upkeep.masking import is_due, mask_again
from hybrid.workspace import open_workspace
from tests.support.agent import Agent, until
from tests.support.builders import PAYMENTS, Shop, new_shop, python_process
from tests.support.memories import fill_memory

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from hybrid.workspace import Workspace

SECRET = "tiger7kiwi99"
HARMLESS = f"name: {SECRET}\nport: 5432\n"
"""A text in which the rules find nothing: it stands for rules that did not know the secret."""
SETTINGS = f"password: {SECRET}\nport: 5432\n"
TEXT = f"Call it with password: {SECRET} again"
PAYLOAD = json.dumps(
    {"tool": "Bash", "kind": "command", "command": f"curl -u admin:{SECRET} https://pay.example.com/v1", "output": "ok"}
)
COUNTED = ("sessions", "user_prompts", "observations", "session_summaries", "pending_events")
KILLED_PASS = """
import itertools, os, signal, sys
from pathlib import Path
from hybrid.records.memory import forgetting
from hybrid.upkeep.masking import mask_again
from hybrid.workspace import open_workspace

redact, calls = forgetting.redact, itertools.count(1)

def redacted(text):
    if next(calls) == 600:
        os.kill(os.getpid(), signal.SIGKILL)
    return redact(text)

forgetting.redact = redacted
mask_again(open_workspace(Path(sys.argv[1]), environ={"HYBRID_HOME": sys.argv[1]}))
"""


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the home of `older`, which was made where each test has it: an index knows where its rows lie."""
    folder = tmp_path_factory.mktemp("older")
    shop = new_shop(folder)
    home = shop.home
    fill_memory(shop).close()
    _sql(home / "memory.db", f"UPDATE observations SET narrative = 'It was called with {SECRET}.' WHERE id = 1")
    shop.out("memory", "search", "retry attempts")
    _under_other_rules(home)
    facts = json.dumps([f"curl -u admin:{SECRET} https://pay.example.com/v1"])
    _sql(
        home / "memory.db",
        f"UPDATE observations SET narrative = '{TEXT}', facts = '{facts}' WHERE id = 1",
        f"UPDATE session_summaries SET request = '{TEXT}'",
        f"UPDATE user_prompts SET prompt_text = '{TEXT}'",
        f"UPDATE sessions SET user_prompt = '{TEXT}' WHERE id = 1",
        "INSERT INTO pending_events(session_id, project_key, project, created_at_epoch, prompt_number, "
        "discovery_tokens, tool, digest, payload) VALUES (1, 'k', 'p', 1, 1, 1, 'Bash', "
        f"'d', '{PAYLOAD}')",
    )
    event = json.dumps({"id": "ab", "at": "2026-01-01T00:00:00.000+00:00", "prompt": TEXT, "reason": "injected"})
    for name in ("log/events.jsonl", "log/events.1.jsonl", "log/marks.jsonl", f"sessions/{'0' * 32}.jsonl"):
        (home / name).parent.mkdir(exist_ok=True)
        (home / name).write_text(f'{{"id": "cd"}}\n{event}\n{{"half": "password: {SECRET} ')
    state = next((home / "projects").glob("*/trees/*"))
    entry = {"count": 2, "file": "database.yml", "name": f"password={SECRET}"}
    (state / "hook_state.json").write_text(json.dumps({"injection_count": 2, "chunk_frequencies": {"k": entry}}))
    (state / "hot-topics.md").write_text(f"| 1 | database.yml | password={SECRET} | 2 |\n")
    home.rename(folder / "kept")
    return folder


@pytest.fixture
def older(kept: Path) -> Iterator[Shop]:
    """The home as rules left it that did not know the secret: it is in every store."""
    shop = Shop(kept / "shop", shutil.copytree(kept / "kept", kept / "hybrid-home"))
    # A use of a tool that waits is told when it is some seconds old.
    _sql(shop.home / "memory.db", f"UPDATE pending_events SET created_at_epoch = {time.time_ns() // 1_000_000}")
    yield shop
    shutil.rmtree(shop.home)


def _sql(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as db, db:
        for statement in statements:
            db.execute(statement)


def _rows(path: Path, sql: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as db:
        return db.execute(sql).fetchall()


def _under_other_rules(home: Path) -> None:
    """Let everything that is stored stand under rules of another version."""
    for path in [*home.rglob("catalog.db")]:
        change = f"SET recipe = replace(recipe, '{REDACT_RULES}', 'redact 0')"
        _sql(path, f"UPDATE contents {change}", f"UPDATE trees {change}")
    for path in home.rglob("manifest.json"):
        path.write_text(path.read_text().replace(REDACT_RULES, "redact 0"))
    if (home / "memory.db").exists():
        _sql(home / "memory.db", "UPDATE cleaned SET rules = '0'")
    (home / "log").mkdir(exist_ok=True)
    (home / masking.NAME).write_text('{"rules": "0"}')


def _workspace(shop: Shop) -> Workspace:
    return open_workspace(shop.root, environ={"HYBRID_HOME": str(shop.home)})


def _holding(home: Path) -> list[str]:
    """The files with the secret, or a part of it, in any byte, or in what the catalogs keep compressed."""
    needle = SECRET.encode()
    found = [
        str(path.relative_to(home))
        for path in home.rglob("*")
        if path.is_file() and needle in path.read_bytes().lower()
    ]
    for path in home.rglob("catalog.db"):
        details = b"".join(zlib.decompress(row[0]) for row in _rows(path, "SELECT detail FROM chunks"))  # pyright: ignore[reportArgumentType]
        found += [f"{path.relative_to(home)}: terms"] if needle in details else []
    return sorted(found)


def test_one_pass_masks_all_that_is_stored(older: Shop) -> None:
    """Rows, their index, log, marks, ledgers and counters: no byte of the secret is left."""
    assert is_due(_workspace(older))
    assert {"log", "memory.db", "projects", "records", "sessions"} == {
        path.split("/")[0] for path in _holding(older.home)
    }

    mask_again(_workspace(older))

    assert [] == _holding(older.home)
    assert not is_due(_workspace(older))
    lines = (older.home / "log/events.jsonl").read_text().splitlines()
    assert ["cd", "ab"] == [json.loads(line)["id"] for line in lines[:2]]
    assert "Call it with password: [redacted:" in json.loads(lines[1])["prompt"]
    assert [] == [*(older.home / "projects").glob("*/trees/*/hook_state.json")]


def test_no_row_is_lost(older: Shop) -> None:
    """All rows are there with what they hold beside the secret, and those without one have not changed at all."""
    path = older.home / "memory.db"
    untouched = "SELECT * FROM observations WHERE id > 1"
    counts = [_rows(path, f"SELECT count(*) FROM {table}") for table in COUNTED]
    before = _rows(path, untouched)

    mask_again(_workspace(older))

    assert counts == [_rows(path, f"SELECT count(*) FROM {table}") for table in COUNTED]
    assert before == _rows(path, untouched)
    ((narrative, facts),) = _rows(path, "SELECT narrative, facts FROM observations WHERE id = 1")
    assert "Call it with password: [redacted:" in str(narrative)
    assert "https://pay.example.com/v1" in str(facts)
    ((payload,),) = _rows(path, "SELECT payload FROM pending_events")
    assert json.loads(PAYLOAD)["output"] == json.loads(str(payload))["output"]
    assert "Cap retry attempts" in older.out("memory", "search", "retry attempts")


def test_full_text_lists_and_digests_follow_the_rows(older: Shop) -> None:
    """Words of the masked text are found, those of the secret are not, and an export of now brings no row twice."""
    mask_again(_workspace(older))

    with closing(sqlite3.connect(older.home / "memory.db")) as db:
        for table in ("observations_fts", "summaries_fts", "prompts_fts"):
            db.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")
            for word, n in (("redacted", 1), (SECRET, 0)):
                assert (n,) == db.execute(f"SELECT count(*) FROM {table} WHERE {table} MATCH '{word}'").fetchone()
    exported = older.home.parent / "exported.jsonl"
    older.out("memory", "export", str(exported))
    assert "here already: 7 rows" in older.out("memory", "import", str(exported))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (f"Call {SECRET}", f"Call {SECRET}"),
        (TEXT, "Call it with password: [redacted:secret] again"),
        ('["a",  "b"]', '["a",  "b"]'),
        (f'["ключ", "password: {SECRET}"]', '["ключ", "password: [redacted:secret]"]'),
        (f"[password: {SECRET}", "[password: [redacted:secret]"),
        ({"n": 1, f"password: {SECRET}": [None, True]}, {"n": 1, "password: [redacted:secret]": [None, True]}),
        ("", ""),
        (["9fQ2xLm7Zt4KcW8bR1vYs6NdHp3JgTa5"], ["9fQ2xLm7Zt4KcW8bR1vYs6NdHp3JgTa5"]),
    ],
    ids=[
        "no secret",
        "text",
        "spaces of JSON",
        "JSON in a text",
        "no JSON",
        "names of fields",
        "nothing",
        "a list of one id",
    ],
)
def test_what_is_masked_of_a_value(value: object, expected: object) -> None:
    """Each text, those in JSON too; what holds no secret stays byte for byte."""
    assert expected == masked(value)


def test_what_the_name_of_a_field_gives_away_goes_and_json_stays(older: Shop) -> None:
    """A prompt that is JSON, the arguments of a tool, and a key that is a list of its lines."""
    path = older.home / "memory.db"
    fields = json.dumps({"db": {"password": SECRET, "port": 5432}})
    key = [
        "-----BEGIN RSA " + "PRIVATE KEY-----",
        "9fQ2xLm7Zt4KcW8bR1vYs6NdHp3JgTa5" * 2,
        "-----END RSA " + "PRIVATE KEY-----",
    ]
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("UPDATE user_prompts SET prompt_text = ?", (fields,))
        db.execute("UPDATE pending_events SET payload = ?", (fields,))
        db.execute("UPDATE observations SET facts = ? WHERE id = 1", (json.dumps(key),))

    mask_again(_workspace(older))

    assert [] == _holding(older.home)
    ((payload,),) = _rows(path, "SELECT payload FROM pending_events")
    ((facts,),) = _rows(path, "SELECT facts FROM observations WHERE id = 1")
    assert {"db": {"password": "[redacted:secret]", "port": 5432}} == json.loads(str(payload))
    assert ["[redacted:private_key]", "[redacted]", "[redacted]"] == json.loads(str(facts))


def test_rows_are_masked_as_they_are_read_until_then(older: Shop) -> None:
    """A prompt may come before the pass; what it is given is masked all the same."""
    with MemoryStore(older.home / "memory.db") as store:
        told = next(iter(store.all_rows("observation"))).told

    assert SECRET not in str(told)
    assert "[redacted:secret]" in str(told)


def test_lines_that_come_while_a_file_is_masked_stay(older: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """Masking a log takes seconds, in which hooks write their decisions, and old ledgers keep their time."""
    log, ledger = older.home / "log" / "events.jsonl", older.home / "sessions" / f"{'0' * 32}.jsonl"
    log.write_text(f'{{"prompt": "{TEXT}"}}\n')
    os.utime(ledger, (1, 1))

    def slow(value: object) -> object:
        if isinstance(value, str) and value.startswith('{"prompt": "') and '"new"' not in log.read_text():
            with log.open("a") as file:
                file.write(f'{{"new": "{TEXT}"}}\n')
        return masked(value)

    monkeypatch.setattr(masking, "masked", slow)
    mask_again(_workspace(older))

    assert ["prompt", "new"] == [next(iter(json.loads(line))) for line in log.read_text().splitlines()]
    assert SECRET not in log.read_text() + ledger.read_text()
    assert 1 == ledger.stat().st_mtime


def test_a_killed_pass_is_done_again(older: Shop) -> None:
    """After a kill in the middle no note says that it is done; one more pass leaves no secret and loses no row."""
    path = older.home / "memory.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.executemany(
            "INSERT INTO user_prompts(session_id, project_key, project, created_at_epoch, created_at, prompt_number, "
            "digest, prompt_text) VALUES (1, 'k', 'p', 1, '', 1, ?, ?)",
            [(str(n), f"password: {SECRET} in try {n}") for n in range(1_000)],
        )

    def n_masked() -> object:
        return _rows(path, "SELECT count(*) FROM user_prompts WHERE prompt_text LIKE '%[redacted:%'")[0][0]

    process = python_process(KILLED_PASS, older.home)
    process.communicate()
    assert -signal.SIGKILL == process.returncode
    assert is_due(_workspace(older))
    assert n_masked() not in (0, 1_001)

    mask_again(_workspace(older))

    assert 1_001 == n_masked()
    assert [] == _holding(older.home)
    assert not is_due(_workspace(older))


def test_a_pass_that_fails_half_way_is_not_noted(older: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows are masked, their index is not, so that the memory is looked at again."""
    with monkeypatch.context() as patch:
        patch.setattr("hybrid.knowledge.record_indexes.MemoryIndex.rewrite", _full_disk)
        mask_again(_workspace(older))
    assert is_due(_workspace(older))

    mask_again(_workspace(older))

    assert not is_due(_workspace(older))


def _full_disk(*_args: object, **_options: object) -> None:
    raise OSError("the disk is full")


def test_what_changes_while_a_row_is_masked_stays(older: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row that is forgotten, or written anew, between reading and writing is not written over."""
    path = older.home / "memory.db"

    def slow(text: str) -> str:
        if text == TEXT:
            forget = "DELETE FROM observations WHERE id = 1"
            _sql(path, "PRAGMA foreign_keys = ON", forget, "UPDATE user_prompts SET prompt_text = 'anew'")
        return redact(text)

    monkeypatch.setattr(forgetting, "redact", slow)
    mask_again(_workspace(older))

    assert [("anew",)] == _rows(path, "SELECT prompt_text FROM user_prompts")
    assert [] == _rows(path, "SELECT * FROM observation_files WHERE observation_id = 1")


def test_one_process_at_a_time(older: Shop) -> None:
    """Whoever comes second leaves it to the first."""
    with locked(older.home / "cleaning.lock", 0.0) as held:
        assert held
        mask_again(_workspace(older))

    assert is_due(_workspace(older))


def test_a_new_home_is_noted(tmp_path: Path) -> None:
    """The first command notes the rules in a home that is there; none is made."""
    shop = Shop(tmp_path, tmp_path / "hybrid-home")
    mask_again(_workspace(shop))
    assert not shop.home.exists()

    shop.home.mkdir()
    mask_again(_workspace(shop))

    assert not is_due(_workspace(shop))
    assert {"rules": REDACT_VERSION} == json.loads((shop.home / masking.NAME).read_text())
    assert not (shop.home / "memory.db").exists()


def test_a_memory_that_is_put_back_is_masked(older: Shop) -> None:
    """The memory has a note of its own, so an older copy of it is not taken for a masked one."""
    mask_again(_workspace(older))
    _sql(older.home / "memory.db", "UPDATE cleaned SET rules = '7'", f"UPDATE user_prompts SET prompt_text = '{TEXT}'")
    assert is_due(_workspace(older))

    mask_again(_workspace(older))

    assert SECRET not in str(_rows(older.home / "memory.db", "SELECT prompt_text FROM user_prompts"))


@pytest.mark.parametrize("command", ["log", "memory recent", "search retry"])
def test_a_command_masks_before_it_reads(older: Shop, command: str) -> None:
    """Without a service, commands that read the stores do it first, so that none prints or exports a secret."""
    printed = older.run(*command.split())

    assert SECRET.encode() not in printed.stdout
    assert b"" == printed.stderr
    assert not is_due(_workspace(older))


def test_the_service_masks_and_a_prompt_does_not(older: Shop) -> None:
    """A prompt is answered while the pass is still due; the service does it in a process of its own."""
    agent = Agent(older)
    try:
        agent.prompt("How does the payment client retry a charge after a timeout?")
        was_due = is_due(_workspace(older))
        until(lambda: not is_due(_workspace(older)))
    finally:
        agent.stop_service()

    assert was_due


# --- indexes of files ---------------------------------------------------------------------------------------


@pytest.fixture
def indexed(tmp_path: Path) -> Shop:
    """A shop whose index was made of a text in which the rules of then saw no secret."""
    shop = new_shop(tmp_path, PAYMENTS | {"database.yml": HARMLESS})
    _under_other_rules(shop.home)
    (shop.root / "database.yml").write_text(SETTINGS)
    assert _holding(shop.home)
    return shop


def test_the_next_build_makes_an_index_anew(indexed: Shop) -> None:
    """No byte of the old words is left, and the file is found by what else it says."""
    indexed.out("reindex", "--quiet")

    assert [] == _holding(indexed.home)
    assert "database.yml" in indexed.out("search", "password port")


def test_a_vector_stays_when_its_text_does(tmp_path: Path) -> None:
    """Every file is read again; a text in which nothing more is hidden keeps its vector, and is not embedded again."""
    shop = new_shop(tmp_path)
    _under_other_rules(shop.home)

    assert 0 == json.loads(shop.run("reindex", "--json").stdout)["embedded"]
    (catalog,) = (shop.home / "projects").rglob("catalog.db")
    ((n_vectors, n_chunks),) = _rows(
        catalog, "SELECT (SELECT count(*) FROM vectors), (SELECT sum(n_chunks) FROM contents)"
    )
    assert n_vectors == n_chunks


def test_a_vector_of_a_text_with_its_secret_is_not_used_again(tmp_path: Path) -> None:
    """The key of a vector is made of the text that is embedded, so other rules embed anew what they hide more of."""
    shop = new_shop(tmp_path, PAYMENTS | {"database.yml": SETTINGS})
    workspace = _workspace(shop)
    place = workspace.place
    embedder = load_embedder(workspace.config.model.name, home=shop.home)
    with Catalog(place.catalog, tree=place.tree, root=place.root) as catalog:
        (record,) = catalog.records(catalog.indexed()["database.yml"][0])
    head = head_line("database.yml", record.scope, record.definitions)
    old, new = (input_key(head, digest) for digest in (record.digest, record.embedded))
    with closing(sqlite3.connect(place.catalog)) as db, db:
        # As other rules kept it: a vector of the whole text, under the digest of that text.
        (data,) = db.execute("SELECT data FROM vectors WHERE input = ?", (new,)).fetchone()
        db.execute("UPDATE vectors SET input = ?, data = ? WHERE input = ?", (old, bytes(len(data)), new))
    _under_other_rules(shop.home)

    shop.out("reindex", "--quiet")

    wanted = embedder.embed_documents([EmbedInput(head, mask(SETTINGS).strip())])
    expected = quantise(wanted, np.zeros(1, np.bool_)).rows()[0]
    rows = dict(_rows(place.catalog, "SELECT input, data FROM vectors"))  # pyright: ignore[reportArgumentType]
    assert expected == rows[new]
    assert old not in rows
