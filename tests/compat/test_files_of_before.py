"""What version 0.1.0 wrote is used by this one: an index, a ledger, lessons, lore, a memory, settings, hooks.

`make_home.py` made the archive with that version. Whoever changes a format makes one of the version before, and keeps
this one.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tarfile
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from hybrid.base.atomic import locked
from hybrid.ipc.start import start_command
from tests.compat.make_home import CLIENTS, FOLDER, QUERIES, RETRY, SHOWN, environment, event
from tests.support.builders import CHECKOUT
from tests.support.successors import SHIPPED

if TYPE_CHECKING:
    from collections.abc import Iterator

ARCHIVE = Path(__file__).resolve().parents[1] / "fixtures/homes/0.1.0.tar.gz"
SETTINGS = {
    "claude": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "qwen": ".qwen/settings.json",
    "copilot": ".copilot/hooks/hybrid.json",
}
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the archive was made in a folder of POSIX")


@pytest.fixture
def printed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The home and the project where they were made; what the version before printed there."""
    kept = tmp_path_factory.getbasetemp() / "background of the home before"
    with locked(FOLDER.with_suffix(".lock"), 300.0) as is_mine:
        if not is_mine or (FOLDER.exists() and FOLDER.stat().st_uid != os.getuid()):
            pytest.skip(f"{FOLDER} is somebody else's")
        shutil.rmtree(FOLDER, ignore_errors=True)
        FOLDER.mkdir(mode=0o700)
        with tarfile.open(ARCHIVE) as tar:
            tar.extractall(FOLDER)
        if kept.exists():  # It is the same in every home, and takes longer than all the rest.
            shutil.copytree(kept, FOLDER / "home/background")
        yield json.loads((FOLDER / "printed.json").read_text())
        if (FOLDER / "home/background").exists() and not kept.exists():
            shutil.copytree(FOLDER / "home/background", kept)
        shutil.rmtree(FOLDER)


def run(*args: str, stdin: bytes = b"") -> str:
    """The output of a command of this version."""
    done = subprocess.run(
        [sys.executable, "-m", "hybrid", *args],
        cwd=FOLDER / "shop",
        env=environment() | {"PYTHONPATH": str(CHECKOUT)},
        input=stdin,
        capture_output=True,
        check=True,
        timeout=120,
    )
    return done.stdout.decode()


def test_everything_is_taken_over(printed: dict[str, str]) -> None:
    """Lists and settings stay as they were. The model of before ships no more: words find, one build embeds everything.

    The gate stays closed until then: no prompt is answered by words alone. Afterwards searches find what they found.
    """
    words = {query: _paths(run("search", query, "--json")) for query in QUERIES}
    index = json.loads(run("status", "--json"))["index"]
    silent = run("hook", "inject-context", stdin=event("s8", prompt=RETRY))
    built = run("reindex")
    found = {query: _paths(run("search", query, "--json")) for query in QUERIES}
    shown = {name: _without_age(run(*args)) for name, args in SHOWN.items()}
    before = {query: _paths(printed[f"search {query}"]) for query in QUERIES}

    assert {name: _without_age(printed[name]) for name in shown} == shown
    assert all(set(paths) & set(before[query]) for query, paths in words.items())
    assert ("stale", SHIPPED, None) == (index["state"], index["reembedding"]["to"], index["reembedding"]["answers"])
    assert printed["generation"] == str(index["generation"])
    assert "[code]" not in silent
    assert "embedded 5, reused 0" in built
    assert {query: paths[0] for query, paths in before.items()} == {query: paths[0] for query, paths in found.items()}


def test_a_session_goes_on(printed: dict[str, str]) -> None:
    """What its ledger holds is not given again; another session gets it, and what the first one did."""
    run("reindex")
    given = json.loads(printed["given"])["hookSpecificOutput"]["additionalContext"]
    other = json.loads(run("hook", "inject-context", stdin=event("s2", prompt=RETRY)))

    assert "" == run("hook", "inject-context", stdin=event("s1", prompt=RETRY))
    assert _shown_files(given) == _shown_files(other["hookSpecificOutput"]["additionalContext"])[:1]


def test_the_memory_takes_new_rows(printed: dict[str, str]) -> None:
    """A tool use is stored beside those of before, whose numbers and texts stay."""
    assert printed["memory"]
    rows = "SELECT id, title FROM observations ORDER BY id"
    with closing(sqlite3.connect(FOLDER / "home/memory.db")) as db:
        before = db.execute(rows).fetchall()
    edit = {"file_path": str(FOLDER / "shop/src/users/store.py"), "old_string": "select *", "new_string": "select id"}
    use = {"tool_name": "Edit", "tool_use_id": "t2", "tool_input": edit, "tool_response": {"filePath": "store.py"}}
    run("hook", "inject-context", stdin=event("s3", prompt="Read less of a user"))
    run("hook", "run", "--client", "claude", "--event", "PostToolUse", stdin=event("s3", "PostToolUse", **use))
    run("hook", "run", "--client", "claude", "--event", "Stop", stdin=event("s3", "Stop", last_assistant_message="ok"))
    with closing(sqlite3.connect(FOLDER / "home/memory.db")) as db:
        after = db.execute(rows).fetchall()

    assert before
    assert before == after[: len(before)]
    assert len(before) + 1 == len(after)


@pytest.mark.parametrize("client", sorted(SETTINGS))
def test_an_installed_hook_still_answers(printed: dict[str, str], client: str) -> None:
    """The arguments that installed settings hold are understood; only the place of the installation is another."""
    assert printed["given"]
    run("reindex")
    commands = list(_commands(json.loads((FOLDER / "user" / SETTINGS[client]).read_text())))
    for args in commands:
        name = args[args.index("--event") + 1]
        done = subprocess.run(
            [*start_command(*args)],
            cwd=FOLDER / "shop",
            env=environment(),
            input=event("s9", name, prompt=RETRY),
            capture_output=True,
            check=True,
            timeout=120,
        )
        is_prompt = name in ("UserPromptSubmit", "BeforeAgent", "userPromptSubmitted")

        assert b"" == done.stderr
        assert is_prompt == ("class PaymentClient" in done.stdout.decode())

    assert commands
    assert client in CLIENTS


def test_installed_hooks_are_known_and_taken_out(printed: dict[str, str]) -> None:
    """This version recognises what the version before wrote into settings, and removes it."""
    assert printed["given"]
    listed = run("hook", "status", "--json")
    for client in CLIENTS:
        assert client in listed
        run("hook", "uninstall", "--client", client)

    assert not [path for path in (FOLDER / "user").rglob("*") if path.is_file() and b"entry.py" in path.read_bytes()]


def _without_age(text: str) -> str:
    """The parts of a row's order change with its age."""
    if not text.startswith("{"):
        return text
    rows: list[dict[str, Any]] = json.loads(text)["records"]
    kept = [{name: value for name, value in row.items() if name not in ("score", "parts")} for row in rows]
    return json.dumps(kept)


def _paths(text: str) -> list[str]:
    return [hit["path"] for hit in json.loads(text)["hits"]]


def _shown_files(text: str) -> list[str]:
    return [line.split(" (")[0] for line in text.splitlines() if line.startswith("[")]


def _commands(value: object) -> Iterator[list[str]]:
    """The arguments behind `entry.py` of all hooks in the settings of a client."""
    if isinstance(value, list):
        parts = cast("list[object]", value)
        words = [part for part in parts if isinstance(part, str)]
        if any(word.endswith("entry.py") for word in words):
            yield words[words.index("hook") :]
            return
    elif isinstance(value, dict):
        parts = list(cast("dict[str, object]", value).values())
    else:
        parts = []
        if isinstance(value, str) and "entry.py" in value:
            words = shlex.split(value.partition(" 2>")[0])
            yield words[words.index("hook") :]
    for part in parts:
        yield from _commands(part)
