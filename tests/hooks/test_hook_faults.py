"""A hook ends with code 0 and its event has its effects, whatever the system refuses it (#16)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hybrid.ipc.start import entry_script, start_command
from tests.support.agent import Agent, until
from tests.support.builders import command_environment, hybrid_command, new_shop

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.builders import Shop

LESSON = "LESSON: gotcha: Clear the plan cache after a migration - stale plans are served otherwise"
ALONE = {"HYBRID_DAEMON_ENABLED": "false"}
FAULTY = """
import os, runpy, sys
mine = os.getpid()
def refuse(event, arguments):
    if event == {event!r} and os.getpid() == mine:
        raise {error}("refused")
sys.addaudithook(refuse)
sys.argv = [{script!r}, "hook", "run", "--client", "claude", "--event", "UserPromptSubmit"]
runpy.run_path({script!r}, run_name="__main__")
"""


@pytest.fixture
def shop(tmp_path: Path) -> Iterator[Shop]:
    """A project that is indexed; its service ends with the test."""
    made = new_shop(tmp_path)
    yield made
    Agent(made).stop_service()


def faulty(shop: Shop, event: str, error: str, **environ: str) -> subprocess.CompletedProcess[bytes]:
    """Run a hook in an interpreter that refuses something to it."""
    code = FAULTY.format(event=event, error=error, script=entry_script())
    data = {"session_id": "s1", "cwd": str(shop.root), "prompt": LESSON}
    settings = command_environment(shop.home) | {"HYBRID_HOOKS_DEADLINE_MS": "60000"} | environ
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        input=json.dumps(data).encode(),
        cwd=shop.root,
        env=settings,
        capture_output=True,
        check=False,
        timeout=120,
    )


def lessons(shop: Shop) -> list[str]:
    """Titles of the lessons that were written down."""
    files = [*shop.home.rglob("LESSONS.md"), *shop.root.rglob("LESSONS.md")]
    return [line for file in files for line in file.read_text().splitlines() if line.startswith("### ")]


@pytest.mark.skipif(sys.platform != "linux", reason="a hook forks on Linux alone")
@pytest.mark.parametrize("error", ["OSError", "MemoryError"])
def test_a_hook_that_cannot_have_a_child_answers_by_itself(shop: Shop, error: str) -> None:
    """Whatever `fork` raises, the hook answers in its own process, and the log says so."""
    ran = faulty(shop, "os.fork", error)

    assert (0, b"") == (ran.returncode, ran.stderr)
    assert "LESSON RECORDED" in json.loads(ran.stdout)["systemMessage"]
    assert f"answered without a child process: {error}" in (shop.home / "log/events.jsonl").read_text()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize(
    "name",
    [
        "run/daemon",
        "run/daemon.pid",
        "run/hook",
        "run/starting",
        "config.toml",
        "log/events.jsonl",
    ],
)
def test_a_pipe_in_the_place_of_a_file_is_waited_for_by_nobody(shop: Shop, name: str) -> None:
    """Hook and commands end by themselves, whatever stands in the home; one without a writer was waited for."""
    path = shop.home / name
    path.parent.mkdir(mode=0o700, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path, 0o600)
    event = json.dumps({"session_id": "s1", "cwd": str(shop.root), "prompt": LESSON}).encode()
    options = {"cwd": shop.root, "home": shop.home}
    try:
        hook = hybrid_command(
            "hook", "run", "--client", "claude", "--event", "UserPromptSubmit", stdin=event, **options
        )
        stopped, status = (hybrid_command(*words, **options) for words in (("daemon", "stop"), ("status",)))
    finally:
        if path.is_fifo():
            path.unlink()  # Who ends the service reads it too.

    assert (0, b"") == (hook.returncode, hook.stderr)
    assert (0, 0) == (stopped.returncode, status.returncode)


@pytest.mark.skipif(sys.platform == "win32", reason="the service is ended with signals of POSIX")
@pytest.mark.parametrize(
    ("event", "error"),
    [
        ("os.fork", "SystemExit"),
        ("_thread.start_new_thread", "KeyboardInterrupt"),
        ("socket.connect", "MemoryError"),
        ("sqlite3.connect", "RuntimeError"),
    ],
)
def test_a_refused_hook_loses_no_lesson(shop: Shop, event: str, error: str) -> None:
    """The hook ends with code 0, and its lesson is written down once, by itself or by the next hook."""
    ran = faulty(shop, event, error, **(ALONE if event == "sqlite3.connect" else {}))
    Agent(shop, environ=ALONE).prompt("what should I cook for dinner tonight?", "s2")

    assert (0, b"") == (ran.returncode, ran.stderr)
    until(lambda: lessons(shop))
    assert 1 == len(lessons(shop))


LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_a_lesson_that_stands_in_the_file_is_recorded(tmp_path: Path) -> None:
    """On a full disk the user read "LESSON NOT RECORDED" of a lesson whose counters alone could not be written."""
    shop = new_shop(tmp_path)
    shop.out("lessons", "add", "Retry payments", "Cap attempts at five")
    shop.out("lessons", "cite", "L001")
    (counters,) = [*shop.home.rglob("lessons.stats.json"), *shop.root.rglob("lessons.stats.json")]
    kept = json.loads(counters.read_text())
    counters.write_text(json.dumps(kept | {f"L{number:03}": kept["L001"] for number in range(100, 999)}))
    event = {
        "prompt": "LESSON: gotcha: Locks - release them in a finally block",
        "session_id": "s1",
        "cwd": str(shop.root),
    }

    done = subprocess.run(
        [sys.executable, "-c", LIMITED, "60000", *start_command("hook", "inject-context")],
        cwd=shop.root,
        env=command_environment(shop.home) | {"HYBRID_HOOKS_DEADLINE_MS": "60000"},
        input=json.dumps(event).encode(),
        capture_output=True,
        timeout=120,
        check=False,
    )

    assert counters.stat().st_size > 60_000
    assert b"NOT RECORDED" not in done.stdout
    assert b"LESSON RECORDED" in done.stdout
    assert ["Retry payments", "Locks"] == [each["title"] for each in shop.json("lessons", "list")["lessons"]]
