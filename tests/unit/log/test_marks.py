from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.base.atomic import locked
from hybrid.base.errors import BusyError
from hybrid.log.marks import NAME, add_mark, read_marks, remove_marks
from tests.support.builders import python_process

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
    "gate": {"score": 0.2, "parts": {"null": -0.01}},
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
    """Every line of the decision goes, the copied prompt with it; the others stay; it can be marked again."""
    add_mark(tmp_path, EVENT, is_good=False)
    other = add_mark(tmp_path, EVENT | {"id": "other", "prompt": "Another question"}, is_good=False)
    mark = add_mark(tmp_path, EVENT, is_good=True)
    remove_marks(tmp_path, mark.event_id)
    left, data = read_marks(tmp_path), (tmp_path / NAME).read_text()
    add_mark(tmp_path, mark.event, is_good=False)

    assert [other] == left
    assert (False, True) == ("How does the client retry?" in data, "Another question" in data)
    assert 0o600 == (tmp_path / NAME).stat().st_mode & 0o777
    assert [("0123456789", "noise"), ("other", "noise")] == [(m.event_id, m.word) for m in read_marks(tmp_path)]


def test_nothing_is_written_while_another_process_rewrites_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who cannot have the lock is told, and the file stays as it is: a line appended just then could be lost."""
    monkeypatch.setattr("hybrid.log.marks._LOCK_S", 0.0)
    add_mark(tmp_path, EVENT, is_good=True)
    before = (tmp_path / NAME).read_bytes()
    with locked(tmp_path / "marks.lock", 0) as is_held:
        assert is_held
        with pytest.raises(BusyError, match=r"another `hybrid mark`"):
            add_mark(tmp_path, EVENT, is_good=False)
        with pytest.raises(BusyError, match=r"another `hybrid mark`"):
            remove_marks(tmp_path, "0123456789")

    assert before == (tmp_path / NAME).read_bytes()


@pytest.mark.parametrize(
    "damage",
    [
        b'{"id":"0123456789","mark"',
        b"\xff\xff",
        b"[1]",
        b"[" * 50_000,
        b'{"id":"0123456789","event":{}}',
        b'{"id":"0123456789","mark":null,"event":{}}',
        b'{"id":"0123456789","mark":"great","event":{}}',
        b'{"id":"0123456789","mark":["good"],"event":{}}',
        b'{"id":"0123456789","mark":"noise","event":null}',
        b'{"mark":"noise","event":{}}',
    ],
    ids=["half", "bytes", "list", "deep", "no-mark", "null", "word", "type", "no-event", "no-id"],
)
def test_a_damaged_line_is_passed_over_and_kept(tmp_path: Path, damage: bytes) -> None:
    """A line that says nothing hides no mark, changes none, and is still in the file after others were removed."""
    add_mark(tmp_path, EVENT, is_good=True)
    with (tmp_path / NAME).open("ab") as file:
        file.write(damage)
    add_mark(tmp_path, EVENT | {"id": "other"}, is_good=True)
    remove_marks(tmp_path, "other")

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
    """Two processes that mark, and take marks back, at the same time lose nothing."""
    script = """
        import sys
        from pathlib import Path
        from hybrid.log.marks import add_mark, remove_marks
        for number in range(50):
            add_mark(Path(sys.argv[1]), {"id": f"{sys.argv[2]}-{number}"}, is_good=True, note="x" * 500)
            if number % 10 == 9:
                remove_marks(Path(sys.argv[1]), f"{sys.argv[2]}-{number}")
    """
    processes = [python_process(script, tmp_path, name) for name in ("a", "b")]
    for process in processes:
        process.communicate(timeout=60)

    assert {f"{name}-{number}" for name in "ab" for number in range(50) if number % 10 != 9} == {
        mark.event_id for mark in read_marks(tmp_path)
    }
    assert [json.loads(line)["mark"] for line in (tmp_path / NAME).read_text().split()] == ["good"] * 90
