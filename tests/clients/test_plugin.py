"""The checkout as a plugin of the real Claude Code."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.clients.claude_code import Claude
from tests.clients.desk import ANSWER, QUESTION
from tests.clients.seat import hook_answers
from tests.support.builders import CHECKOUT

if TYPE_CHECKING:
    from tests.clients.conftest import OpenSeat
    from tests.clients.seat import Seat

pytestmark = [pytest.mark.clients, pytest.mark.slow]


def _plugin(seat: Seat, *args: str) -> str:
    """What `claude plugin …` prints; it must succeed."""
    assert isinstance(seat.agent, Claude)
    done = subprocess.run(
        seat.agent.command("plugin", *args),
        cwd=seat.desk.project,
        env=seat.desk.environ | seat.agent.environ(seat.desk),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        timeout=60,
        check=False,
    )
    assert 0 == done.returncode, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_client_accepts_the_plugin(open_seat: OpenSeat) -> None:
    """The client's own validation has nothing to say against plugin and marketplace."""
    seat = open_seat("claude")

    said = _plugin(seat, "validate", str(CHECKOUT))

    assert "Validation passed" in said


def test_plugin_answers_once(open_seat: OpenSeat) -> None:
    """Installed as a plugin, hybrid answers each prompt once; the plugin removed, it is silent."""
    seat = open_seat("claude")
    _plugin(seat, "marketplace", "add", str(CHECKOUT))
    _plugin(seat, "install", "hybrid@hybrid")

    talk = seat.talk(QUESTION, QUESTION)
    _plugin(seat, "uninstall", "hybrid@hybrid")
    after = seat.talk(QUESTION)

    assert [1, 1, 0] == seat.given(QUESTION, ANSWER)
    assert [2, 0] == [len(hook_answers(said, "UserPromptSubmit")) for said in (talk, after)]
