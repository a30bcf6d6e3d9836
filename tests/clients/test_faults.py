"""What a person sees in the real Claude Code when the service of `hybrid` is gone, dead or stopped: nothing."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hybrid.ipc.wire import endpoint_path, read_endpoint
from tests.clients.desk import ANSWER, OTHER_ANSWER, OTHER_QUESTION, QUESTION
from tests.clients.seat import troubles
from tests.clients.talking import write_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.clients.conftest import OpenSeat
    from tests.clients.desk import Desk

CLIENT_S = 10.0
"""Seconds that the client itself may take on a slow machine."""

pytestmark = [pytest.mark.clients, pytest.mark.slow]


def _endpoint(desk: Desk) -> dict[str, str]:
    found = read_endpoint(str(desk.hybrid_home))
    assert found, "no service was started"
    return found


def _kill(desk: Desk) -> None:
    os.kill(int(_endpoint(desk)["pid"]), signal.SIGKILL)


def _delete_the_socket(desk: Desk) -> None:
    Path(_endpoint(desk)["socket"]).unlink()


def _write_nonsense(desk: Desk) -> None:
    _kill(desk)
    Path(endpoint_path(str(desk.hybrid_home))).write_bytes(b"{\xff nonsense\n")


@pytest.mark.parametrize("fault", [_kill, _delete_the_socket, _write_nonsense])
def test_service_that_is_gone_shows_nothing(open_seat: OpenSeat, fault: Callable[[Desk], None]) -> None:
    """The prompt goes on without a word about hooks, and the prompt after it, at the latest, has its answer."""
    seat = open_seat("claude")
    seat.install()
    seat.talk(QUESTION)
    fault(seat.desk)

    seat.talk(OTHER_QUESTION, QUESTION)

    assert [1] == seat.given(QUESTION, ANSWER)[-1:]
    assert seat.given(OTHER_QUESTION, OTHER_ANSWER)[-1] <= 1


def test_stopped_service_delays_no_prompt_beyond_the_deadline(open_seat: OpenSeat) -> None:
    """A service that is suspended costs one prompt its answer at worst, and no event more time than the deadline."""
    seat = open_seat("claude")
    seat.install()
    seat.talk(QUESTION)
    pid = int(_endpoint(seat.desk)["pid"])
    os.kill(pid, signal.SIGSTOP)
    started_s = time.monotonic()

    try:
        seat.talk(OTHER_QUESTION, QUESTION, HYBRID_HOOKS_DEADLINE_MS="1500")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)

    # Start, two prompts with their ends, and the end of the session each wait for the deadline at most.
    assert time.monotonic() - started_s < CLIENT_S + 6 * 1.5
    assert [1] == seat.given(QUESTION, ANSWER)[-1:]


def test_broken_script_would_be_seen(open_seat: OpenSeat) -> None:
    """What these tests take for "nothing shown" is not blind: a failing hook of somebody else is noticed."""
    seat = open_seat("claude")
    failing = {"type": "command", "command": "echo oops >&2; exit 1"}
    write_json(seat.desk.project / ".claude" / "settings.json", {"hooks": {"UserPromptSubmit": [{"hooks": [failing]}]}})

    talk = seat.agent.talk(seat.desk, QUESTION)

    assert 1 == len(troubles(talk))


@pytest.mark.parametrize("gone", [sys.executable, "entry.py"], ids=["interpreter", "package"])
def test_hybrid_that_was_removed_takes_no_prompt_away(open_seat: OpenSeat, gone: str) -> None:
    """Hooks that were left behind when hybrid went are silent, and every prompt reaches the model."""
    seat = open_seat("claude")
    seat.install(scope="user")
    [settings] = [
        path for path in seat.desk.home.rglob("settings.json") if "hybrid" in path.read_text(encoding="utf-8")
    ]
    settings.write_text(settings.read_text(encoding="utf-8").replace(gone, f"{gone}-gone"), encoding="utf-8")

    seat.talk(QUESTION)

    assert [0] == seat.given(QUESTION, ANSWER)
