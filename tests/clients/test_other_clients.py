"""The real clients with hooks but Claude Code, with hooks written by our installer."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.base.clients import clients
from tests.clients.desk import ANSWER, OTHER_ANSWER, OTHER_QUESTION, QUESTION

if TYPE_CHECKING:
    from tests.clients.conftest import OpenSeat

pytestmark = [pytest.mark.clients, pytest.mark.slow]

CLIENTS = [name for name, each in clients().items() if each.events and each.package and name != "claude"]


OWN_FILES = {".qwen/settings.json", ".opencode/.gitignore"}
"""What clients write into a project by themselves, as soon as there is a folder for their settings."""


@pytest.mark.parametrize("name", CLIENTS)
def test_answer_reaches_the_model_once(open_seat: OpenSeat, name: str) -> None:
    """The request of a prompt holds the chunk that answers it, once, and the same question again adds none."""
    seat = open_seat(name)
    seat.install(scope="project")

    seat.talk(QUESTION, QUESTION, OTHER_QUESTION)

    assert {1} == set(seat.given(QUESTION, ANSWER))
    assert {1} == set(seat.given(OTHER_QUESTION, OTHER_ANSWER))


@pytest.mark.parametrize("name", CLIENTS)
def test_hooks_of_the_user_answer_once(open_seat: OpenSeat, name: str) -> None:
    """Hooks in the user's own settings, with their absolute interpreter, do the same."""
    seat = open_seat(name)
    seat.install(scope="user")

    seat.talk(QUESTION)

    assert {1} == set(seat.given(QUESTION, ANSWER))


@pytest.mark.parametrize("name", CLIENTS)
def test_uninstalled_leaves_nothing(open_seat: OpenSeat, name: str) -> None:
    """Disabled, hybrid is silent; uninstalled, it is in no file of the project and of the user."""
    seat = open_seat(name)
    before = seat.desk.files()
    for scope in ("project", "user"):
        seat.install("--force", scope=scope)
    seat.talk(QUESTION, HYBRID_DISABLE="1")
    for scope in ("project", "user"):
        seat.uninstall(scope=scope)

    after = seat.desk.files()
    assert [] == [frame for request in seat.api.requests for frame in request.frames]
    assert {} == seat.settings_texts()
    assert before == {name: data for name, data in after.items() if name not in OWN_FILES}
