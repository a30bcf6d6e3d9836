from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from hybrid.feedback.events import EventLog
from hybrid.feedback.tail import LogTail

if TYPE_CHECKING:
    from pathlib import Path


def _log(folder: Path, *, max_bytes: int = 100_000) -> EventLog:
    return EventLog(folder, max_bytes=max_bytes, keep=2)


def _seen(tail: LogTail) -> list[int]:
    return [event["n"] for event in tail.read()]


def test_each_look_gives_what_was_added(tmp_path: Path) -> None:
    """Oldest first, each event once; without a log none."""
    log, tail = _log(tmp_path), LogTail(tmp_path, max_bytes=10_000)
    nothing = _seen(tail)
    for n in range(3):
        log.append({"n": n})
    first = _seen(tail)
    again = _seen(tail)
    log.append({"n": 3})

    assert ([], [0, 1, 2], [], [3]) == (nothing, first, again, _seen(tail))


def test_a_look_reads_only_what_was_added(tmp_path: Path) -> None:
    """What was read may be destroyed: nobody reads it again."""
    log, tail = _log(tmp_path), LogTail(tmp_path, max_bytes=10_000)
    log.append({"n": 0})
    tail.read()
    path = tmp_path / "events.jsonl"
    with path.open("r+b") as file:
        file.write(b"\xff" * (path.stat().st_size - 1))
    log.append({"n": 1})

    assert [1] == _seen(tail)


@pytest.mark.parametrize("n_between", [1, 5, 10])
def test_rotations_lose_nothing(tmp_path: Path, n_between: int) -> None:
    """What was added to a part before it was rotated is given, then what the new part holds."""
    log, tail = EventLog(tmp_path, max_bytes=2_000, keep=2), LogTail(tmp_path, max_bytes=10_000)
    seen: list[int] = []
    for n in range(120):
        log.append({"n": n, "text": "x" * 20})
        if n % n_between == 0:
            seen += _seen(tail)

    assert list(range(120)) == [*seen, *_seen(tail)]


def test_a_log_that_was_cleaned_is_not_given_again(tmp_path: Path) -> None:
    """A file that is written anew in place of the other begins after the last known line."""
    log, tail = _log(tmp_path), LogTail(tmp_path, max_bytes=10_000)
    for n in range(3):
        log.append({"n": n})
    tail.read()
    path = tmp_path / "events.jsonl"
    (tmp_path / "new").write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[1:]))
    (tmp_path / "new").replace(path)
    log.append({"n": 3})

    assert [3] == _seen(tail)


def test_the_first_look_is_bounded(tmp_path: Path) -> None:
    """It takes whole lines from the end, of the part before too when the newest was just begun."""
    line = json.dumps({"n": 0}) + "\n"
    (tmp_path / "events.1.jsonl").write_text("".join(json.dumps({"n": n}) + "\n" for n in range(5)))
    (tmp_path / "events.jsonl").write_text(line)

    assert [4, 0] == _seen(LogTail(tmp_path, max_bytes=len(line) * 2 + 3))
    assert [0] == _seen(LogTail(tmp_path, max_bytes=len(line)))


def test_a_line_that_is_being_written_waits(tmp_path: Path) -> None:
    """Half a line is given once it is whole; a line that is no event is passed over."""
    tail = LogTail(tmp_path, max_bytes=10_000)
    path = tmp_path / "events.jsonl"
    path.write_text('[1]\nno json\n{"n": 1}\n{"n"')
    first = _seen(tail)
    with path.open("a") as file:
        file.write(": 2}\n")

    assert ([1], [2]) == (first, _seen(tail))
