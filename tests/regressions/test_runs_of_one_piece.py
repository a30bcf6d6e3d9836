"""Blank lines and their like by the thousand, in whatever hybrid reads, keep the service from nobody (#35).

Some 2,000 blank lines in the output of one command kept the interpreter for 11 seconds: hooks replaced the service, and
each new one began with the same output.
"""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
from itertools import product
from typing import TYPE_CHECKING, Any

import pytest

from hybrid import __version__
from hybrid.ipc.spool import Spool
from tests.support.agent import Agent, until
from tests.support.builders import PAYMENTS, Shop, git_project, new_shop
from tests.support.records import accept_tree

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

N = 4_000
RUNS = {
    "line ends": "\n",
    "returns": "\r",
    "returns and line ends": "\r\n",
    "spaces": " ",
    "tabs": "\t",
    "no-break spaces": "\u00a0",
    "line separators": "\u2028",
    "lines of a space": " \n",
    **{mark: mark for mark in "([{<\"'`a0.-#"},
}
ASKED = "How does the payment client retry a request after a timeout?"


class Hostile:
    """A project whose files, records, commits and tools hold runs of one piece, and another one that asks."""

    def __init__(self, folder: Path) -> None:
        self.agent = Agent(new_shop(folder))
        self.shop = self.agent.shop
        self.other = Agent(Shop(git_project(folder / "other", PAYMENTS), self.shop.home))
        self.other.shop.out("reindex", "--quiet")
        self.shop.out("daemon", "start", "--quiet")
        self.pid = self.agent.wait_for_service()
        self._asked = 0

    def ask_elsewhere(self) -> str:
        """Return what a prompt in the other project gets."""
        self._asked += 1
        return self.other.prompt(ASKED, f"other-{self._asked}").text

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        """Return rows of the memory."""
        db = sqlite3.connect(self.shop.home / "memory.db")
        try:
            return db.execute(sql).fetchall()
        finally:
            db.close()

    def count(self, table: str) -> int:
        """Return the number of rows of a table of the memory."""
        return self.rows(f"SELECT count(*) FROM {table}")[0][0]


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[Hostile]:
    """Both projects, indexed, with a service."""
    found = Hostile(tmp_path)
    yield found
    found.agent.stop_service()


def tool_output(hostile: Hostile) -> None:
    """Run a command for each run, all of one session, and end the turn."""
    for name, run in RUNS.items():
        given = {"command": f"make check # {name}", "description": f"Check {name}"}
        answer = {"stdout": f"begin {name}\n{run * N}\nend", "stderr": ""}
        hostile.agent.send(
            "PostToolUse", tool_name="Bash", tool_input=given, tool_response=answer, tool_use_id=f"use {name}"
        )
    hostile.agent.send("Stop", last_assistant_message="## Summary\n\nChecked." + "\n" * N + "## Next\n\n- go on")
    until(lambda: not hostile.count("pending_events"))

    assert len(RUNS) == hostile.count("seen_events WHERE observation_id IS NOT -1")


def prompts(hostile: Hostile) -> None:
    """Ask with each run within the prompt."""
    for name, run in RUNS.items():
        hostile.agent.prompt(f"{ASKED} {run * N} {name}", name)

    assert len(RUNS) == hostile.count("user_prompts WHERE project = 'shop'")


def files(hostile: Hostile) -> None:
    """Index a file of each of some kinds for each run."""
    for number, run in enumerate(RUNS.values()):
        for ending in ("py", "md", "rst", "html"):
            path = hostile.shop.root / f"src/made{number}.{ending}"
            path.write_text(f"# head {number}\n{run * N}\nend\n", encoding="utf-8", newline="")
    hostile.shop.out("reindex", "--quiet")
    hostile.agent.prompt("Where is head 3 of the payment client made?")


def commits(hostile: Hostile) -> None:
    """Index commits whose subject holds the runs."""
    root, user = hostile.shop.root, ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    clean = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    for number, run in enumerate(RUNS.values()):
        (root / "src/payments/client.py").write_text(f"{PAYMENTS['src/payments/client.py']}# {number}\n")
        subprocess.run(["git", "add", "-A"], cwd=root, env=clean, check=True)
        subject = f"Fix the retry {run * N} of payments".encode()
        message = ["commit", "-q", "--cleanup=verbatim", "-F", "-"]
        subprocess.run(["git", *user, *message], cwd=root, env=clean, input=subject, check=True)
    hostile.shop.out("reindex", "--quiet")
    hostile.agent.prompt("Why does the payment client retry?")


def records(hostile: Hostile) -> None:
    """Read lessons and decisions that hold the runs."""
    folder = hostile.shop.root / ".hybrid"
    (folder / "lore/journal/data").mkdir(parents=True)
    facts = "- **Uses**: 1 | **Learned**: 2026-01-01 | **Last**: 2026-01-01 | **Category**: gotcha"
    lessons = (
        f"### [L{number:03}] [*----|-----] Retry payments {number}\n{facts}\n> Five times {run * N}\n\n{run * N}\n"
        for number, run in enumerate(RUNS.values(), 1)
    )
    (folder / "LESSONS.md").write_text(
        "# LESSONS.md\n\n## Active Lessons\n\n" + "\n".join(lessons), encoding="utf-8", newline=""
    )
    lines = (
        json.dumps({"id": f"dec-{number:08}", "timestamp": "2026-02-10T00:00:00Z", "decision": f"Retry {run * N}"})
        for number, run in enumerate(RUNS.values())
    )
    (folder / "lore/journal/data/decisions.jsonl").write_text("\n".join(lines) + "\n")
    accept_tree(hostile.shop.root, hostile.shop.home)
    hostile.agent.prompt("How often should a payment be retried?")


def settings(hostile: Hostile) -> None:
    """Read ignore files and settings of the tree with the runs, and with more wildcards than a matcher should try."""
    root = hostile.shop.root
    lines = [f"x{run * N}\n*{run * N}*z\n" for run in RUNS.values()]
    (root / ".hybridignore").write_text("".join([*lines, "*a" * 40, "b\n", "**/a/" * 40, "b\n"]), newline="")
    (root / ("a" * 200 + ".txt")).write_text("About payments.\n")
    deep = root.joinpath(*["a"] * 60)
    deep.mkdir(parents=True)
    (deep / "deep.txt").write_text("Deep down.\n")
    (root / ".hybrid").mkdir(exist_ok=True)
    patterns = json.dumps([f"*{run * N}*b" for run in RUNS.values()])
    (root / ".hybrid/config.toml").write_text(f"[index]\nexclude = {patterns}\n")
    accept_tree(root, hostile.shop.home)
    hostile.shop.out("reindex", "--quiet")
    hostile.agent.prompt("Where are payments retried?")


def secrets(hostile: Hostile) -> None:
    """Run commands whose output is white space below a secret's name, and within the marks of a key."""
    shapes = ("the password:\n{}x", "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----")
    for number, (shape, space) in enumerate(product(shapes, " \t")):
        given, answer = {"command": f"make keys{number}"}, {"stdout": shape.format(space * 80_000)}
        hostile.agent.send("PostToolUse", tool_name="Bash", tool_input=given, tool_response=answer)
    hostile.agent.send("Stop", last_assistant_message="Made the keys.")


def transcript(hostile: Hostile) -> None:
    """End a turn whose agent said one message in parts by the ten thousand."""
    hostile.agent.prompt(ASKED)
    path = hostile.shop.root.parent / "transcript.jsonl"
    content = ({"id": "one", "content": [{"type": "text", "text": f"part {n} {n}"}]} for n in range(100_000))
    path.write_text("".join(json.dumps({"type": "assistant", "message": one}) + "\n" for one in content))
    hostile.agent.send("Stop", transcript_path=str(path))


def test_no_run_keeps_the_service(hostile: Hostile) -> None:
    """4,000 of each of twenty pieces: the other project is answered, nothing is lost, the service is the same."""
    for place in (tool_output, prompts, files, commits, records, settings, secrets, transcript):
        place(hostile)
        is_answered, pid = bool(hostile.ask_elsewhere()), hostile.agent.wait_for_service()

        assert (place, True, hostile.pid) == (place, is_answered, pid)
        assert [] == Spool(str(hostile.shop.home)).waiting()


def _wait(agent: Agent, name: str) -> None:
    """Let a use wait that a hook stored without a service."""
    alone = Agent(agent.shop, environ={"HYBRID_DAEMON_ENABLED": "false"})
    fields = {"tool_input": {"command": f"make {name}"}, "tool_response": {"stdout": f"{name}: " + "built " * 20}}
    alone.send("PostToolUse", tool_name="Bash", tool_use_id=name, session_id=name, **fields)


def test_a_use_that_ends_its_readers_is_set_aside(tmp_path: Path) -> None:
    """A service that starts leaves a use alone at which three ended, and says so; another version tries it anew.

    What waits behind it is told of, and it stays in the memory.
    """
    agent = Agent(new_shop(tmp_path, is_indexed=False))
    versions = {"first": __version__, "second": "0.0.1", "third": ""}
    for name in versions:
        _wait(agent, name)
    db = sqlite3.connect(agent.shop.home / "memory.db", isolation_level=None)
    for number, tried_by in enumerate(list(versions.values())[:2], 1):
        db.execute("UPDATE pending_events SET n_tries = 3, tried_by = ? WHERE id = ?", [tried_by, number])

    agent.shop.out("daemon", "start", "--quiet")
    until(lambda: db.execute("SELECT count(*) FROM pending_events WHERE n_tries < 4").fetchone() == (0,))
    agent.shop.out("daemon", "stop")
    left = db.execute("SELECT id FROM pending_events").fetchall()
    n_told = db.execute("SELECT count(*) FROM observations").fetchone()
    db.close()
    found = [one["what"] for one in agent.shop.json("doctor", "--no-trial")["findings"] if one["area"] == "memory"]

    assert ([(1,)], (2,)) == (left, n_told)
    assert 1 == (agent.shop.home / "log/events.jsonl").read_text().count("it is set aside")
    assert 1 == sum("set aside" in what for what in found)
