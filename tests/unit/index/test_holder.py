"""A build tells how far it is and when it will be done."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from hybrid.base.atomic import locked
from hybrid.base.errors import BusyError
from hybrid.index.build_progress import Pace, Signature, is_held, read_holder
from tests.support.builders import ListSource, build_index, place_in


def test_the_rest_is_told_by_the_pace() -> None:
    """A fifth in ten seconds leaves forty; nothing is said before there is a pace."""
    pace = Pace()

    assert None is pace.seconds_left(0.0, 0.0)
    assert None is pace.seconds_left(0.02, 1.0)
    assert pytest.approx(40.0) == pace.seconds_left(0.2, 10.0)


def test_an_old_pace_is_forgotten() -> None:
    """Where large files come after many small ones, the time left follows within half a minute."""
    pace = Pace()
    for second in range(60):
        pace.seconds_left(0.01 * second, float(second))
    left = [pace.seconds_left(0.6 + 0.001 * second, 60.0 + second) for second in range(60)]

    assert pytest.approx((1 - 0.659) / 0.001, rel=0.02) == left[-1]


def test_work_that_stands_still_has_no_end_in_sight() -> None:
    """Without progress in the last half minute nothing is said."""
    pace = Pace()

    assert [None, None] == [pace.seconds_left(0.5, 0.0), pace.seconds_left(0.5, 29.0)]


def test_a_build_notes_how_far_it_is(tmp_path: Path) -> None:
    """Once a second the file beside the lock has step, files, share and seconds left; what hears it hears it all."""
    heard: list[tuple[str, int, int, float]] = []
    now = [0.0]
    signature = Signature(tmp_path / "build.lock", lambda *told: heard.append(told), lambda: now[0])
    for second in range(11):
        now[0] = float(second)
        signature("read", 10 * second, 500, 0.02 * second)
        signature("read", 10 * second + 1, 500, 0.02 * second)
    holder = read_holder(tmp_path / "build.lock")

    assert 22 == len(heard)
    assert holder is not None
    assert (os.getpid(), "read", 100, 500, 0.2) == (
        holder.pid,
        holder.step,
        holder.done,
        holder.total,
        holder.share,
    )
    assert pytest.approx(40.0, rel=0.1) == holder.seconds_left


@pytest.mark.parametrize("data", [b"", b"{", b'{"pid": "x"}', b"[]"])
def test_a_note_that_is_none(tmp_path: Path, data: bytes) -> None:
    """A damaged note tells nothing, and waits for no one."""
    (tmp_path / "build.holder").write_bytes(data)

    assert None is read_holder(tmp_path / "build.lock")


def test_the_shares_of_a_build_only_grow(tmp_path: Path) -> None:
    """From the first file to the last segment, and the end is all of it."""
    shares: list[float] = []
    source = ListSource({f"f{i:03d}.py": f"def function_{i}():\n    return {i}\n" * (1 + i % 7) for i in range(70)})
    build_index(place_in(tmp_path), source, progress=lambda _step, _done, _total, share=0.0: shares.append(share))

    assert sorted(shares) == shares
    assert (0.0, 1.0) == (shares[0], shares[-1])
    assert len({round(share, 2) for share in shares}) > 4


def test_a_merge_has_shares_of_its_own(tmp_path: Path) -> None:
    """A merge follows a build that is done: it is a step of its own, which begins at nothing."""
    place, source = place_in(tmp_path), ListSource({})
    told: list[tuple[str, float]] = []
    for number in range(4):
        source.put(f"f{number}.py", f"def function_{number}():\n    return {number}\n")
        build_index(
            place,
            source,
            max_segments=2,
            progress=lambda step, _done, _total, share=0.0: told.append((step, share)),
        )
    merges = [share for step, share in told if step == "merge"]

    assert (0.0, 1.0) == (merges[0], merges[-1])


def test_who_waits_is_told_how_far_the_other_is(tmp_path: Path) -> None:
    """The message of a busy lock names process and share."""
    place = place_in(tmp_path)
    place.lock.parent.mkdir(parents=True, exist_ok=True)
    place.lock.touch()
    note = {"pid": 4711, "host": "tower", "step": "read", "done": 3, "total": 8, "share": 0.25}
    place.lock.with_suffix(".holder").write_text(json.dumps(note))
    with locked(place.lock, 0):
        assert is_held(place.lock)
        with pytest.raises(BusyError, match=r"process 4711 on tower, 25% done"):
            build_index(place, ListSource({"a.py": "a = 1\n"}))

    assert not is_held(place.lock)
