from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.records.lessons.counters import Counters, Counts, parse_counters, save_counters
from hybrid.records.lessons.store import read_counters
from hybrid.records.lessons.types import Lesson, stars_form, stars_of_uses, stars_of_velocity

if TYPE_CHECKING:
    from pathlib import Path


def test_a_citation_counts_once_everywhere() -> None:
    """Uses, velocity and citations grow by one, the last use is today, and uses end at 100."""
    assert Counts(3, 0.5, "2026-03-01", 7, 2) == Counts(2, -0.5, "", 7, 1).cited("2026-03-01")
    assert 100 == Counts(100, 4.0).cited("2026-03-01").uses


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ((10, 4.0), (10, 2.0)),
        ((10, 1.0), (10, 0.5)),
        ((10, 0.9), (9, 0.45)),
        ((1, 0.2), (1, 0.1)),
        ((2, 0.019), (1, 0.0)),
        ((0, 0.0), (0, 0.0)),
    ],
)
def test_decay_halves_velocity_and_takes_uses_of_what_is_hardly_used(
    before: tuple[int, float], after: tuple[int, float]
) -> None:
    """Below 0.01 velocity is 0; below 0.5 a lesson with more than one use loses one."""
    decayed = Counts(*before).decayed()

    assert after == (decayed.uses, decayed.velocity)


@pytest.mark.parametrize(
    ("uses", "velocity", "form"),
    [
        (0, 0.0, "[-----|-----]"),
        (1, 0.01, "[*----|*----]"),
        (5, 0.5, "[**---|**---]"),
        (10, 1.0, "[***--|***--]"),
        (50, 2.0, "[****-|****-]"),
        (100, 4.0, "[*****|*****]"),
        (4, 0.49, "[*----|*----]"),
    ],
)
def test_stars_by_uses_and_velocity(uses: int, velocity: float, form: str) -> None:
    """Uses from 1, 5, 10, 50, 100; velocity above 0 and from 0.5, 1, 2, 4."""
    assert form == stars_form(uses, velocity)
    assert form.count("*") == stars_of_uses(uses) + stars_of_velocity(velocity)


@pytest.mark.parametrize(
    ("injections", "citations", "expected"),
    [(0, 0, 1.0), (2, 0, 1.0), (3, 0, 0.4), (8, 0, 0.2), (8, 4, 1.0), (100, 0, 0.2)],
)
def test_trust_is_mild_and_begins_with_the_third_injection(injections: int, citations: int, expected: float) -> None:
    """clamp(((citations + 1) / (injections + 2)) / 0.5, 0.2, 1)."""
    assert expected == pytest.approx(Lesson("L001", "T", "", injections=injections, citations=citations).trust)


def test_inline_counters_count_while_there_is_no_entry() -> None:
    """An entry with uses counts before them, one that knows only injections adds those."""
    inline = Counts(12, 1.5, "2026-02-01")
    counters = Counters({"L001": {"uses": 3}, "L002": {"injections": 4, "citations": 1}})

    assert 3 == counters.counts("L001", inline).uses
    assert Counts(12, 1.5, "2026-02-01", 4, 1) == counters.counts("L002", inline)
    assert inline == counters.counts("L003", inline)
    assert 12 == counters.counts("L001", inline, is_inline_first=True).uses


def test_what_is_not_known_stays(tmp_path: Path) -> None:
    """Keys of an entry, entries and parts of `meta` that another version wrote survive a change."""
    path = tmp_path / "lessons.stats.json"
    path.write_text('{"L001": {"uses": 1, "mood": "good"}, "later": [1], "meta": {"x": 1}}', encoding="utf-8")

    counters = parse_counters(read_counters(path)).with_counts({"L001": Counts(2)}).with_decay("2026-03-01")
    save_counters(path, counters)

    raw = parse_counters(read_counters(path)).raw
    assert ("good", 2, [1], 1) == (raw["L001"]["mood"], raw["L001"]["uses"], raw["later"], raw["meta"]["x"])


@pytest.mark.parametrize("data", [b"{", b"[]", b"\xff\xfe", b"null", b'{"a":' * 100_000], ids=len)
def test_a_damaged_file_is_set_aside_and_begun_anew(tmp_path: Path, data: bytes) -> None:
    """Reading it gives no counters, the next write keeps it under another name."""
    path = tmp_path / "lessons.stats.json"
    path.write_bytes(data)

    counters = parse_counters(read_counters(path))
    save_counters(path, counters.with_counts({"L001": Counts(1)}))

    assert counters.is_damaged
    assert [data] == [other.read_bytes() for other in tmp_path.glob("*.corrupt-*")]
    assert 1 == parse_counters(read_counters(path)).counts("L001").uses


def test_values_that_make_no_sense_count_as_nothing() -> None:
    """Negative, endless, no numbers: 0; more than 100 uses are 100."""
    raw = {"L001": {"uses": -3, "velocity": float("inf"), "last": 7, "injections": True, "citations": "many"}}

    assert Counts() == Counters(raw).counts("L001")
    assert 100 == Counters({"L001": {"uses": 10**400 % 10**6 + 500}}).counts("L001").uses
    assert 0 == Counters({"L001": {"uses": 10**400}}).counts("L001").uses


def test_the_largest_id_is_remembered() -> None:
    """Also when its entry is gone from the file: it is never used again."""
    counters = Counters({"L007": {"uses": 1}}).with_numbers(["L012", "S003"])

    assert (12, 3) == (counters.largest_number("L"), counters.largest_number("S"))


def test_numbers_that_are_too_large_are_not_gone_on_from() -> None:
    """Whether an entry, a caller or the file itself names one: it was a slip or a trick."""
    counters = Counters({"L999999999": {"uses": 1}, "L004": {"uses": 1}}).with_numbers(["L123456789"])

    assert 4 == counters.largest_number("L")
    assert 0 == Counters({"meta": {"highest": {"L": 999_999_999}}}).largest_number("L")
