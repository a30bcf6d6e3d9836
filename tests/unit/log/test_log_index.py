from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.log.events import EventLog
from hybrid.log.log_index import COMPARED, ERROR, INJECTED, PROMPT, LogFilter, LogIndex

if TYPE_CHECKING:
    from pathlib import Path

KEEP = 2
HERE = LogFilter(key="a" * 16, root="/src/shop")


def _line(number: int, **changes: Any) -> dict[str, Any]:
    event = {
        "id": f"{number:010x}",
        "event": "UserPromptSubmit",
        "project": "a" * 16,
        "reason": "injected",
        "session": "s1",
    }
    return event | changes


def _write(path: Path, *lines: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("ab") as file:
        for line in lines:
            file.write(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n")


def _numbers(events: list[dict[str, Any]]) -> list[int]:
    return [int(event["id"], 16) for event in events]


@pytest.fixture
def index(tmp_path: Path) -> LogIndex:
    """An index of ten events."""
    _write(tmp_path / "events.jsonl", *map(_line, range(1, 11)))
    found = LogIndex(tmp_path, keep=KEEP)
    found.refresh()
    return found


def test_a_page_begins_where_the_one_before_ended(index: LogIndex) -> None:
    """Newest first, none twice, none left out, also while new ones are written."""
    first, has_more = index.page(HERE, limit=4)
    second, _ = index.page(HERE, before=first[-1]["id"], limit=4)
    third, is_over = index.page(HERE, before=second[-1]["id"], limit=4)

    assert [[10, 9, 8, 7], [6, 5, 4, 3], [2, 1]] == [_numbers(page) for page in (first, second, third)]
    assert (True, False) == (has_more, is_over)


def test_only_what_was_added_is_read(index: LogIndex, tmp_path: Path) -> None:
    """A look costs the new lines; half a line waits for its end."""
    path = tmp_path / "events.jsonl"
    _write(path, _line(11), json.dumps(_line(12)).encode()[:20])
    counts = [index.refresh()]
    _write(path, json.dumps(_line(12)).encode()[20:] + b"\n")
    counts += [index.refresh(), index.refresh()]

    assert [1, 1, 0] == counts
    assert [12, 11] == _numbers(index.newer(HERE, f"{10:010x}", limit=50))
    assert [] == index.newer(HERE, f"{12:010x}", limit=50)


def test_rotation_loses_and_repeats_nothing(tmp_path: Path) -> None:
    """The real log rotates between and within looks; what it keeps is given once, newest first."""
    log = EventLog(tmp_path, max_bytes=2_000, keep=KEEP)
    index = LogIndex(tmp_path, keep=KEEP)
    ids = []
    for number in range(60):
        ids.append(log.append(_line(number) | {"id": None, "number": number}))
        if number % 7 == 0:
            index.refresh()
    index.refresh()
    found, _ = index.page(HERE, limit=1000)
    kept = [event["number"] for event in log.newest()]

    assert kept == [event["number"] for event in found]
    assert len(kept) < 60


def test_a_file_that_was_written_anew_is_read_anew(index: LogIndex, tmp_path: Path) -> None:
    """Cleaning replaces a file; what stood in it is forgotten."""
    path = tmp_path / "events.jsonl"
    other = tmp_path / "new"
    _write(other, _line(77))
    other.replace(path)
    index.refresh()

    assert [77] == _numbers(index.page(HERE, limit=5)[0])


def test_a_new_file_with_the_number_of_a_deleted_one_is_read_anew(tmp_path: Path) -> None:
    """File systems give the number of a deleted file away again; here the very file is written anew, and longer."""
    path = tmp_path / "events.jsonl"
    _write(path, _line(1))
    index = LogIndex(tmp_path, keep=KEEP)
    index.refresh()
    path.write_bytes(b"")
    _write(path, *map(_line, range(20, 30)))
    index.refresh()

    assert list(range(29, 19, -1)) == _numbers(index.page(HERE, limit=50)[0])


def test_lines_that_are_none_are_passed_over(tmp_path: Path) -> None:
    """Bytes, other JSON and values of any type end nothing."""
    odd = _line(3, session=[1], reason={"a": 1}, error=[], score="x", event=7, cwd=4)
    _write(tmp_path / "events.jsonl", b"\xff\xfe\n", b"[1]\n", b"7\n", b"{\n", b"\n", odd, _line(4, id=5), _line(9))
    index = LogIndex(tmp_path, keep=KEEP)
    index.refresh()

    assert [9] == _numbers([event for event in index.page(HERE, limit=5)[0] if event["id"] == f"{9:010x}"])
    assert 3 == index.count(HERE)


def test_lines_are_chosen_by_project_signs_reason_and_session(tmp_path: Path) -> None:
    """A line without a project counts by its directory, as everywhere."""
    _write(
        tmp_path / "events.jsonl",
        _line(1, project="b" * 16),
        _line(2, project=None, cwd="/src/shop/deep"),
        _line(3, project=None, cwd="/src/shopping"),
        _line(4, reason="gate", score=0.1, threshold=0.3),
        _line(5, reason="error", error="no"),
        _line(6, event="Stop", session="s2"),
    )
    index = LogIndex(tmp_path, keep=KEEP)
    index.refresh()

    def chosen(**wanted: Any) -> list[int]:
        return _numbers(index.page(LogFilter("a" * 16, "/src/shop", **wanted), limit=50)[0])

    assert [6, 5, 4, 2] == chosen()
    assert [4, 2] == chosen(signs=PROMPT)
    assert [6, 2] == chosen(signs=INJECTED)
    assert [4] == chosen(signs=PROMPT | COMPARED)
    assert [5] == chosen(signs=ERROR)
    assert [4] == chosen(reason="gate")
    assert [6] == chosen(session="s2")
    assert [] == chosen(reason="never")
    assert {"gate": 1, "error": 1, "injected": 2} == index.reasons(HERE)
    assert [6, 5, 4, 3, 2, 1] == _numbers(index.page(LogFilter(), limit=50)[0])


@pytest.mark.parametrize("event_id", ["", "x", "0", "zz" * 9, "-1", "1_0", "ü"])
def test_an_id_that_is_none_finds_nothing(index: LogIndex, event_id: str) -> None:
    """Whatever stands in an address."""
    assert index.find(event_id) is None


def test_a_log_that_is_not_there_is_empty(tmp_path: Path) -> None:
    """Before the first event."""
    index = LogIndex(tmp_path / "none", keep=KEEP)

    assert 0 == index.refresh()
    assert ([], False) == index.page(HERE, limit=5)
    assert "" == index.newest_id()
