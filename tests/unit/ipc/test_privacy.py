"""Whose last prompt was private."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.ipc.spool import NAME, is_private_turn, may_be_private, note_turn

if TYPE_CHECKING:
    from pathlib import Path


def key(at: int) -> str:
    """Of an event at a time."""
    return f"{at:013d}-00000aa"


def test_sessions_without_private_prompts_leave_nothing(tmp_path: Path) -> None:
    """Their prompts make no file, and add nothing to that of others."""
    note_turn(str(tmp_path), "s1", key(1), is_private=False)

    assert not (tmp_path / NAME).exists()

    note_turn(str(tmp_path), "s2", key(2), is_private=True)
    note_turn(str(tmp_path), "s1", key(3), is_private=False)

    assert f"{key(2)} private s2\n" == (tmp_path / NAME).read_text()
    assert not is_private_turn(str(tmp_path), "s1", key(4))


def test_a_private_turn_ends_with_the_next_prompt(tmp_path: Path) -> None:
    """Each prompt of such a session is noted once, however often it is told."""
    home = str(tmp_path)
    for at, is_private in [(1, True), (1, True), (3, False), (3, False)]:
        note_turn(home, "s1", key(at), is_private=is_private)

    assert (True, False) == (is_private_turn(home, "s1", key(2)), is_private_turn(home, "s1", key(4)))
    assert 2 == len((tmp_path / NAME).read_text().splitlines())


@pytest.mark.parametrize(
    ("turns", "at"),
    [([(5, True)], 3), ([(5, True), (1, False)], 6), ([(5, False), (6, True), (1, False)], 2), ([(9, True)], 9)],
    ids=["ahead", "newest by time", "among those ahead", "at the same time"],
)
def test_one_of_the_turns_in_question_is_enough(tmp_path: Path, turns: list[tuple[int, bool]], at: int) -> None:
    """When the clock was set back, nobody can tell which prompt was the last one."""
    for when, is_private in turns:
        note_turn(str(tmp_path), "s1", key(when), is_private=is_private)

    assert is_private_turn(str(tmp_path), "s1", key(at))


@pytest.mark.parametrize(
    ("data", "expected"),
    [(b'{"session_id":"s1"}', True), (b'{"session_id": "s10"}', False), (b'{"session_id":"s2"}', False), (b"", False)],
)
def test_an_unread_event_names_its_session(tmp_path: Path, data: bytes, expected: bool) -> None:
    """A hook at its deadline looks for the id with its quotes."""
    note_turn(str(tmp_path), "s1", key(1), is_private=True)
    note_turn(str(tmp_path), "s2", key(1), is_private=True)
    note_turn(str(tmp_path), "s2", key(2), is_private=False)

    assert expected == may_be_private(str(tmp_path), data)


@pytest.mark.parametrize("session", ["", "a b", "a\nb", 'a"b', "a\\b", "é", "x" * 201])
def test_an_id_that_no_client_makes_is_not_noted(tmp_path: Path, session: str) -> None:
    """It could be a line of its own, or be written otherwise in the event."""
    note_turn(str(tmp_path), session, key(1), is_private=True)

    assert not (tmp_path / NAME).exists()


def test_the_file_stays_small(tmp_path: Path) -> None:
    """The older half goes; the newest turn stays known."""
    for at in range(1500):
        note_turn(str(tmp_path), f"session-{at}", key(at), is_private=True)

    assert (tmp_path / NAME).stat().st_size <= 64_000
    assert is_private_turn(str(tmp_path), "session-1499", key(2000))


def test_a_file_that_cannot_be_read_is_no_private_turn(tmp_path: Path) -> None:
    """Damage costs a note, not an event."""
    (tmp_path / NAME).write_bytes(b"\x00 x\n1 2 3 4\nprivate s1\n")

    assert not is_private_turn(str(tmp_path), "s1", "")
    assert not may_be_private(str(tmp_path / "nowhere"), b'"s1"')
