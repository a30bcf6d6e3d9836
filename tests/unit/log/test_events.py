from __future__ import annotations

import json
import re
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from hybrid.log.events import EventLog, newest_events
from tests.support.builders import python_process


def _log(folder: Path, *, max_bytes: int = 100_000, keep: int = 2) -> EventLog:
    return EventLog(folder, max_bytes=max_bytes, keep=keep)


def test_an_event_gets_an_id_and_a_time(tmp_path: Path) -> None:
    """An event comes back as it was written, with its id and the time in UTC."""
    event_id = _log(tmp_path).append({"reason": "gate", "n": 1})

    (event,) = _log(tmp_path).newest()
    assert {"id": event_id, "at": event["at"], "reason": "gate", "n": 1} == event
    assert re.fullmatch(r"[0-9a-f]{10}", event_id)
    assert timedelta(0) <= datetime.now(timezone.utc) - datetime.fromisoformat(event["at"]) < timedelta(minutes=1)


def test_the_newest_comes_first(tmp_path: Path) -> None:
    """Events come newest first, whatever project they are of."""
    log = _log(tmp_path)
    for number in range(6):
        log.append({"n": number, "project": "ab"[number % 2]})

    assert [5, 4, 3, 2, 1, 0] == [event["n"] for event in log.newest()]


def test_a_log_that_is_not_there_is_empty(tmp_path: Path) -> None:
    """Before the first event there is none, and none is found."""

    assert [] == list(_log(tmp_path / "none").newest())
    assert _log(tmp_path / "none").find("") is None


def test_an_event_is_found_by_the_beginning_of_its_id(tmp_path: Path) -> None:
    """The id, or its first digits, finds an event; another does not."""
    log = _log(tmp_path)
    event_id = log.append({"n": 1})
    log.append({"n": 2})

    found = log.find(event_id)
    assert found is not None
    assert 1 == found["n"]
    assert log.find("zz") is None


@pytest.mark.parametrize(
    "damage",
    [b'{"id":"x","n"', b"\xff\xff", b"[1]", b"3", b"", b"[" * 50_000],
    ids=["half", "bytes", "list", "number", "blank", "deep"],
)
def test_damaged_lines_are_passed_over(tmp_path: Path, damage: bytes) -> None:
    """Half-written and foreign lines hide no other event."""
    log = _log(tmp_path)
    log.append({"n": 1})
    with (tmp_path / "events.jsonl").open("ab") as file:
        file.write(damage)
    log.append({"n": 2})

    assert [2, 1] == [event["n"] for event in log.newest()]


def test_odd_text_is_written(tmp_path: Path) -> None:
    """Line ends, lone surrogates and other scripts are kept; the log stays one ASCII line an event."""
    text = "a\nb\r\u2028c \ud800 再試行"
    _log(tmp_path).append({"text": text})

    (event,) = _log(tmp_path).newest()
    assert text == event["text"]
    assert 1 == (tmp_path / "events.jsonl").read_text(encoding="ascii").count("\n")


@pytest.mark.parametrize("keep", [0, 1, 2])
def test_the_log_is_bounded(tmp_path: Path, keep: int) -> None:
    """However much is written, the current part and `keep` older ones stay, each little more than the limit."""
    log = _log(tmp_path, max_bytes=1000, keep=keep)
    for number in range(120):
        log.append({"n": number, "text": "x" * 50})

    parts = sorted(tmp_path.glob("events*.jsonl"))
    assert 1 + keep == len(parts)
    assert all(part.stat().st_size < 1200 for part in parts)


def test_rotation_loses_nothing_that_is_kept(tmp_path: Path) -> None:
    """The events of all parts come in order, without a gap, up to the newest."""
    log = _log(tmp_path, max_bytes=1000, keep=2)
    for number in range(60):
        log.append({"n": number, "text": "x" * 50})

    numbers = [event["n"] for event in log.newest()]
    assert list(range(59, 59 - len(numbers), -1)) == numbers
    assert len(numbers) > 15


def test_two_events_of_one_id_are_both_given(tmp_path: Path) -> None:
    """Ids are short: of two events with the same one, on either side of a rotation, none is taken for the other."""
    (tmp_path / "events.1.jsonl").write_text('{"id": "0123456789", "n": 1}\n')
    (tmp_path / "events.jsonl").write_text('{"id": "0123456789", "n": 2}\n')

    assert [2, 1] == [event["n"] for event in _log(tmp_path, keep=2).newest()]


def test_eight_processes_that_write_while_it_rotates_lose_nothing(tmp_path: Path) -> None:
    """Every line of eight writers is kept once and whole through many rotations, and only the owner may read it."""
    script = """
        import sys
        from pathlib import Path
        from hybrid.log.events import EventLog
        log = EventLog(Path(sys.argv[1]), max_bytes=600, keep=100)
        for number in range(60):
            log.append({"writer": sys.argv[2], "n": number, "text": "x" * 40})
    """
    writers = [python_process(script, tmp_path, name) for name in "abcdefgh"]
    for writer in writers:
        writer.communicate()

    parts = list(tmp_path.glob("events*.jsonl"))
    lines = [line for part in parts for line in part.read_bytes().splitlines() if line]
    written = sorted((event["writer"], event["n"]) for event in map(json.loads, lines))
    assert [(name, number) for name in "abcdefgh" for number in range(60)] == written
    assert 480 == len(list(_log(tmp_path, keep=100).newest()))
    assert 5 < len(parts) <= 101
    assert {0o600} == {part.stat().st_mode & 0o777 for part in parts}


def test_what_a_rotation_moves_under_a_reader_is_given_once(tmp_path: Path) -> None:
    """A reader that has read the first part when it becomes the second gives none of its events twice."""
    log = _log(tmp_path, max_bytes=10**6)
    for number in range(3):
        log.append({"n": number})
    events = log.newest()
    numbers = [next(events)["n"]]
    (tmp_path / "events.jsonl").replace(tmp_path / "events.1.jsonl")

    assert [2, 1, 0] == numbers + [event["n"] for event in events]


def test_the_end_of_the_log_is_read_alone(tmp_path: Path) -> None:
    """Of a long log the last lines come, whole ones only; of one that was just rotated the part before follows."""
    log = _log(tmp_path, max_bytes=10**6)
    for number in range(50):
        log.append({"n": number})
    line_bytes = (tmp_path / "events.jsonl").stat().st_size // 50
    last = [event["n"] for event in newest_events(tmp_path, max_bytes=10 * line_bytes)]
    (tmp_path / "events.jsonl").replace(tmp_path / "events.1.jsonl")
    log.append({"n": 50})
    both = [event["n"] for event in newest_events(tmp_path, max_bytes=10 * line_bytes)]

    assert 9 <= len(last) <= 11
    assert list(range(49, 49 - len(last), -1)) == last
    assert list(range(50, 50 - len(both), -1)) == both
    assert [] == list(newest_events(tmp_path / "none", max_bytes=100))


def test_a_log_that_cannot_be_written_is_an_os_error(tmp_path: Path) -> None:
    """Where no file can be made, the caller is told."""
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(OSError, match=r".+"):
        _log(tmp_path / "file" / "log").append({"n": 1})
