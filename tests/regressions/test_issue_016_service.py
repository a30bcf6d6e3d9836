"""The service: a stop that waits for the process, a home with a line end in its path, a disk that is full (#16)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hybrid.ipc.start import start_command
from hybrid.ipc.wire import pairs, read_pairs
from tests.support.agent import Agent, until
from tests.support.builders import PAYMENTS, Shop, command_environment, git_project, new_shop

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="processes, limits and paths of POSIX")
LIMITED = """
import os, resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
os.execv(sys.argv[2], sys.argv[2:])
"""


def test_stop_returns_when_the_process_is_gone(tmp_path: Path) -> None:
    """`hybrid daemon stop` returned while the process of the service lived."""
    shop = new_shop(tmp_path, is_indexed=False)
    alive: list[int] = []
    for _ in range(3):
        pid = shop.json("daemon", "start")["pid"]
        shop.out("daemon", "stop")
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            continue
        alive += [pid] if "(zombie)" not in _state(pid) else []

    assert [] == alive


def _state(pid: int) -> str:
    """The state of a process as the system tells it."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, encoding="utf-8", check=False)
    return "(zombie)" if done.stdout.strip().startswith("Z") or not done.stdout.strip() else done.stdout


@pytest.mark.parametrize("name", ["two\nlines", "100%0A percent%", "end\nend\nx"], ids=["line end", "percent", "end"])
def test_a_service_is_reached_whatever_its_path_holds(tmp_path: Path, name: str) -> None:
    """With a line end in the path of the home the service ran and nobody found it."""
    agent = Agent(Shop(git_project(tmp_path / "shop", PAYMENTS), tmp_path / name))
    started = agent.shop.json("daemon", "start")["running"]
    agent.send("SessionStart", source="startup")
    until(lambda: agent.status()["answers"])  # It counts an answer after it gave it.
    stopped = agent.shop.json("daemon", "stop")

    assert started
    assert (False, True) == (stopped["running"], stopped["stopped"])


def test_values_of_small_files_come_back_as_they_were(tmp_path: Path) -> None:
    """What is written in pairs is read back, line ends and percent signs too."""
    values = {"socket": "/a\nb/%0A%25%/c d.sock", "port": "1"}
    (tmp_path / "pairs").write_bytes(pairs(values))
    (tmp_path / "pairs").chmod(0o600)

    assert values == read_pairs(str(tmp_path / "pairs"))


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
