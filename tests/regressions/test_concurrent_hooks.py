from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from hybrid.session.ledger import SessionKey
from hybrid.workspace import open_workspace
from tests.support.agent import Agent
from tests.support.builders import CHECKOUT, hybrid_command

if TYPE_CHECKING:
    from pathlib import Path

RETRY = "How does the payment client retry?"
ALONE = {"HYBRID_DAEMON_ENABLED": "false"}


def test_hooks_that_run_at_the_same_time_give_one_answer(project: Path, tmp_path: Path) -> None:
    """Two registrations of the hook fire on one prompt: one answers, the others see that and are silent."""
    home = tmp_path / "home"
    assert 0 == hybrid_command("reindex", cwd=project, home=home).returncode
    event = {"session_id": "s1", "cwd": str(project), "prompt": "how does the payment client retry after a timeout?"}
    environ = os.environ | {"HYBRID_HOME": str(home), "PYTHONPATH": str(CHECKOUT), "HYBRID_HOOKS_DEADLINE_MS": "20000"}
    command = [sys.executable, "-m", "hybrid", "hook", "inject-context"]
    hooks = [
        subprocess.Popen(command, cwd=project, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(3)
    ]
    for hook in hooks:
        assert hook.stdin is not None
        hook.stdin.write(json.dumps(event).encode())
        hook.stdin.close()
    answers = [hook.stdout.read() for hook in hooks if hook.stdout is not None]
    codes = [hook.wait(timeout=60) for hook in hooks]
    for hook in hooks:
        assert hook.stdout is not None
        hook.stdout.close()

    assert [0, 0, 0] == codes
    assert 1 == sum(bool(answer) for answer in answers)
    # Each has its line in the log, and the one injection is counted once.
    events = (home / "log" / "events.jsonl").read_text().splitlines()
    counted = json.loads(hybrid_command("status", "--json", cwd=project, home=home).stdout)["hooks"]["injection_count"]
    assert (3, 1) == (len(events), counted)


def test_hook_that_finds_another_one_at_work_gives_nothing(served: Agent) -> None:
    """A hook whose session is still answered at its deadline is silent; the text comes later, and once."""
    workspace = open_workspace(served.shop.root, environ={"HYBRID_HOME": str(served.shop.home)})
    key = SessionKey("claude", "s1")
    hasty = Agent(served.shop, deadline_ms=1000)
    with workspace.ledgers.hold(key, 5) as is_mine:
        answers = [hasty.prompt(RETRY), Agent(served.shop, environ=ALONE, deadline_ms=3000).prompt(RETRY)]
    given = [served.prompt(RETRY), served.prompt(RETRY)]

    assert is_mine
    assert ["", ""] == [answer.text for answer in answers]
    assert [True, False] == [bool(answer.text) for answer in given]


def test_a_folder_without_locks_keeps_no_hook_waiting(agent: Agent) -> None:
    """Where no lock can be had, a link lies in its place for one, the session is answered all the same."""
    workspace = open_workspace(agent.shop.root, environ={"HYBRID_HOME": str(agent.shop.home)})
    key = SessionKey("claude", "s1")
    with workspace.ledgers.hold(key, 0):
        [lock] = agent.shop.home.rglob(f"{key.file_name}.lock")
    lock.unlink()
    lock.symlink_to("nothing")

    assert Agent(agent.shop, environ=ALONE).prompt(RETRY).text
