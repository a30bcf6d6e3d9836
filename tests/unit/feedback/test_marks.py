from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.feedback.marks import NAME, add_mark, read_marks, withdraw_mark
from tests.builders import python_process

if TYPE_CHECKING:
    from pathlib import Path

EVENT: dict[str, Any] = {
    "id": "0123456789",
    "at": "2026-11-22T10:00:00.000+00:00",
    "project": "abcd",
    "root": "/src/shop",
    "client": "claude",
    "session": "s1",
    "reason": "injected",
    "top_cosine": 0.41,
    "threshold": 0.29,
    "threshold_source": "auto",
    "gate": {"score": 0.2, "parts": {"hub": -0.01}},
    "prompt": "How does the client retry?",
    "items": [{"path": "src/a.py"}],
}


def test_a_mark_comes_back_as_it_was_made(tmp_path: Path) -> None:
    """Word, note and the decision's numbers are read again, from the folder that the event log lies in."""
    made = add_mark(tmp_path / "log", EVENT, is_good=False, note="another service")

    (mark,) = read_marks(tmp_path / "log")
    assert made == mark
    assert ("0123456789", "noise", "another service", True) == (mark.event_id, mark.word, mark.note, mark.is_injected)


def test_a_mark_copies_what_will_be_needed_and_nothing_that_was_injected(tmp_path: Path) -> None:
    """The log rotates; the mark keeps prompt, reason and all numbers of the gate, not the session, folder or records."""
    add_mark(tmp_path, EVENT, is_good=True)

    (mark,) = read_marks(tmp_path)
    assert {key: value for key, value in EVENT.items() if key not in ("root", "session", "items")} == mark.event


def test_the_last_mark_of_a_decision_counts(tmp_path: Path) -> None:
    """Who marks again changes their mind: one mark a decision, the last, and what was marked last comes first."""
    add_mark(tmp_path, EVENT, is_good=True, note="first")
    add_mark(tmp_path, EVENT | {"id": "other"}, is_good=True)
    add_mark(tmp_path, EVENT, is_good=False, note="second")

    found = [(mark.event_id, mark.word, mark.note) for mark in read_marks(tmp_path)]
    assert [("0123456789", "noise", "second"), ("other", "good", "")] == found


def test_a_mark_can_be_taken_back_and_made_again(tmp_path: Path) -> None:
    """A withdrawn mark no longer counts, its lines stay; the decision can be marked again from its copy."""
    mark = add_mark(tmp_path, EVENT, is_good=True)
    withdraw_mark(tmp_path, mark)
    withdrawn = read_marks(tmp_path)
    add_mark(tmp_path, mark.event, is_good=False)

    assert [] == withdrawn
    assert ["noise"] == [found.word for found in read_marks(tmp_path)]
    assert 3 == (tmp_path / NAME).read_bytes().count(b"\n")


@pytest.mark.parametrize(
    "damage",
    [
        b'{"id":"0123456789","mark"',
        b"\xff\xff",
        b"[1]",
        b"[" * 50_000,
        b'{"id":"0123456789","event":{}}',
        b'{"id":"0123456789","mark":"great","event":{}}',
        b'{"id":"0123456789","mark":["good"],"event":{}}',
        b'{"id":"0123456789","mark":"noise","event":null}',
        b'{"mark":"noise","event":{}}',
    ],
    ids=["half", "bytes", "list", "deep", "no-mark", "word", "type", "no-event", "no-id"],
)
def test_a_damaged_line_is_passed_over_and_kept(tmp_path: Path, damage: bytes) -> None:
    """A line that says nothing hides no mark, changes none, and is still in the file after later ones."""
    add_mark(tmp_path, EVENT, is_good=True)
    with (tmp_path / NAME).open("ab") as file:
        file.write(damage)
    withdraw_mark(tmp_path, add_mark(tmp_path, EVENT | {"id": "other"}, is_good=True))

    assert [("0123456789", "good")] == [(mark.event_id, mark.word) for mark in read_marks(tmp_path)]
    assert damage in (tmp_path / NAME).read_bytes().split(b"\n")


def test_without_a_file_there_are_no_marks(tmp_path: Path) -> None:
    """Before the first mark there is nothing, and reading makes no file."""
    assert [] == read_marks(tmp_path / "log")
    assert not (tmp_path / "log").exists()


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """Marks that are there and cannot be read are never reported as none."""
    (tmp_path / NAME).mkdir()

    with pytest.raises(OSError, match=NAME):
        read_marks(tmp_path)


def test_a_note_keeps_no_secret(tmp_path: Path) -> None:
    """What looks like a key is replaced before it is written; line ends and other scripts are kept."""
    secret = "AKIA" + "Q3EXAMPLEKEY7ZZZ"
    add_mark(tmp_path, EVENT, is_good=True, note=f"es ging um {secret}\nund 再試行 \ud800")

    (mark,) = read_marks(tmp_path)
    assert secret not in (tmp_path / NAME).read_text(encoding="ascii")
    assert ("es ging um ", "\nund 再試行 \ud800") == (mark.note[:11], mark.note[-10:])


def test_marks_of_several_processes_never_mix(tmp_path: Path) -> None:
    """Two processes that mark at the same time lose nothing."""
    script = """
        import sys
        from pathlib import Path
        from hybrid.feedback.marks import add_mark
        for number in range(50):
            add_mark(Path(sys.argv[1]), {"id": f"{sys.argv[2]}-{number}"}, is_good=True, note="x" * 500)
    """
    processes = [python_process(script, tmp_path, name) for name in ("a", "b")]
    for process in processes:
        process.communicate(timeout=60)

    assert {f"{name}-{number}" for name in "ab" for number in range(50)} == {
        mark.event_id for mark in read_marks(tmp_path)
    }
    assert [json.loads(line)["mark"] for line in (tmp_path / NAME).read_text().split()] == ["good"] * 100
