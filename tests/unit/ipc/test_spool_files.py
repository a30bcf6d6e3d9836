"""The files of events that wait: half of one is never read, strangers see none, and they do not grow without end."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from hybrid.ipc import spool as module
from hybrid.ipc.spool import Spool, Worth, new_key
from tests.support.cases import Case, cases

PARTS = (b"claude", b"Stop", b"/shop", b"HYBRID_DISABLE=0", b'{"prompt": "x"}')


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    """The spool of a home that is not made yet."""
    return Spool(str(tmp_path / "home"))


def test_an_event_is_kept_until_it_is_removed(spool: Spool) -> None:
    """What is read is what was kept; a try counts in the name; nothing is left after removal."""
    key = new_key()

    assert spool.keep(key, *PARTS)
    [kept] = spool.waiting()
    begun = spool.begin(kept)
    assert begun is not None
    assert (key, 1) == (begun.key, begun.n_tries)
    assert list(PARTS) == spool.read(begun)
    spool.remove(begun)
    assert [] == spool.waiting()


def test_an_event_kept_twice_waits_once(spool: Spool) -> None:
    """Hook and service may both keep it: it has one name."""
    key = new_key()
    spool.keep(key, *PARTS)
    spool.keep(key, *PARTS)

    assert [key] == [kept.key for kept in spool.waiting()]


def test_events_wait_in_the_order_in_which_they_came(spool: Spool) -> None:
    """The oldest is taken in first."""
    keys = [f"{ms:013d}-abcdefabcdef" for ms in (3000, 1000, 2000)]
    for key in keys:
        spool.keep(key, *PARTS)

    assert sorted(keys) == [kept.key for kept in spool.waiting()]


@pytest.mark.skipif(sys.platform == "win32", reason="rights of POSIX")
def test_only_the_owner_reads_what_waits(spool: Spool) -> None:
    """Folder and files are owner-only; a folder that others could read is closed to them."""
    folder = Path(spool.folder)
    folder.mkdir(0o755, parents=True)
    spool.keep(new_key(), *PARTS)
    [kept] = spool.waiting()

    assert 0o700 == folder.stat().st_mode & 0o777
    assert 0o600 == (folder / kept.name).stat().st_mode & 0o777


@pytest.mark.skipif(sys.platform == "win32", reason="links need rights on Windows")
def test_nothing_is_written_through_a_link(spool: Spool, tmp_path: Path) -> None:
    """A link in the place of the folder leads an event to nobody."""
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "home").mkdir()
    Path(spool.folder).symlink_to(elsewhere)

    assert not spool.keep(new_key(), *PARTS)
    assert [] == list(elsewhere.iterdir())


def test_equal_events_go_by_age_when_there_are_too_many(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Number and bytes are bounded; of equal events the oldest goes, and who writes is told of it."""
    monkeypatch.setattr(module, "MAX_EVENTS", 3)
    dropped: list[str] = []
    keys = [f"{ms:013d}-abcdefabcdef" for ms in range(5)]
    for key in keys:
        spool.keep(key, *PARTS, on_drop=dropped.append)

    assert keys[2:] == [kept.key for kept in spool.waiting()]
    assert 2 == len(dropped)

    monkeypatch.setattr(module, "MAX_BYTES", 2 * spool.waiting()[0].size_bytes)
    spool.keep(new_key(), *PARTS)

    assert 2 == len(spool.waiting())


def test_uses_of_tools_go_before_prompts_and_lessons(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full spool drops its largest use of a tool first, then other events, then prompts, and lessons last."""
    worths = [Worth.LESSON, Worth.PROMPT, Worth.OTHER, Worth.TOOL, Worth.TOOL]
    keys = [f"{ms:013d}-abcdefabcdef" for ms in range(5)]
    for number, (key, worth) in enumerate(zip(keys, worths, strict=True)):
        spool.keep(key, *PARTS, b"x" * number, worth=worth)
    left: list[list[str]] = []
    for most in (4, 3, 2, 1):
        monkeypatch.setattr(module, "MAX_EVENTS", most)
        spool.keep(keys[0], *PARTS, b"", worth=Worth.LESSON)
        left.append([kept.key for kept in spool.waiting()])

    assert [keys[:4], keys[:3], keys[:2], keys[:1]] == left


def test_a_large_use_of_a_tool_evicts_nothing_that_is_worth_more(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not kept itself, and what would not have to go for it stays."""
    key = new_key()
    spool.keep(key, *PARTS, worth=Worth.LESSON)
    monkeypatch.setattr(module, "MAX_BYTES", 10_000)

    assert not spool.keep(new_key(), *PARTS, b"x" * 10_000, worth=Worth.TOOL)
    assert [key] == [kept.key for kept in spool.waiting()]


def test_many_dropped_events_are_said_once(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who writes hears one line with the count."""
    for ms in range(20):
        spool.keep(f"{ms:013d}-abcdefabcdef", *PARTS)
    monkeypatch.setattr(module, "MAX_EVENTS", 3)
    dropped: list[str] = []
    spool.keep(new_key(), *PARTS, on_drop=dropped.append)

    assert ["the spool is full: 18 events were dropped (the oldest of 1970-01-01T00:00:00Z) without effect"] == dropped


def test_a_try_is_dated_by_the_time_that_every_system_has(spool: Spool) -> None:
    """The next try waits from the change of the file's content on, which Windows knows as well."""
    spool.keep(new_key(), *PARTS)
    begun = spool.begin(spool.waiting()[0])
    assert begun is not None

    assert not spool.is_due(begun)

    os.utime(Path(spool.folder) / begun.name, (1, 1))

    assert spool.is_due(begun)


def test_an_event_that_is_too_long_is_not_kept(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would fill the spool by itself."""
    monkeypatch.setattr(module, "MAX_EVENT_BYTES", 50)

    assert not spool.keep(new_key(), *PARTS)
    assert [] == spool.waiting()


@cases("hooks/no_events.txt")
def test_other_files_are_not_events(spool: Spool, case: Case) -> None:
    """Only names that `keep` gives count."""
    spool.keep(new_key(), *PARTS)
    (Path(spool.folder) / case.text).touch()

    assert 1 == len(spool.waiting())


@pytest.mark.parametrize("content", [b"", b"\0\0\0\1", b"\xff" * 100, b"\0\0\0\5\0\0\0\x012"])
def test_a_damaged_event_is_read_as_none(spool: Spool, content: bytes) -> None:
    """It is passed over, whatever it holds."""
    spool.keep(new_key(), *PARTS)
    [kept] = spool.waiting()
    (Path(spool.folder) / kept.name).write_bytes(content)

    assert spool.read(kept) is None
