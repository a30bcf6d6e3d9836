from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.records.memory.types import Owner
from hybrid.records.memory.writing import is_repeat, title_tokens
from hybrid.records.scoring import jaccard
from tests.support.memories import HERE, NOW_MS, THERE, told

if TYPE_CHECKING:
    from hybrid.records.memory.store import MemoryStore

_HOUR_MS = 3_600_000
_TITLE = "Move parsing of dates into its own small module"


def _counts(store: MemoryStore) -> list[int]:
    return [row.repeat_count for row in store.all_rows("observation")]


def _words(n: int, prefix: str = "w") -> list[str]:
    return [prefix + chr(97 + number // 26) + chr(97 + number % 26) for number in range(n)]


def test_the_same_again_is_counted_and_not_stored(store: MemoryStore) -> None:
    """Case and punctuation of a title do not matter; what is acknowledged so is no new row."""
    first = store.add_observation(HERE, told(_TITLE, files_read=("a.py",)), NOW_MS)
    again = told("move parsing of DATES, into its own (small) module!", files_modified=("a.py",))

    assert first is not None
    assert store.add_observation(HERE, again, NOW_MS + 5) is None
    assert [1] == _counts(store)


@pytest.mark.parametrize(
    ("common", "different", "expected"), [(9, 2, True), (8, 2, False), (17, 4, True), (16, 4, False), (4, 1, False)]
)
def test_the_threshold_from_both_sides(common: int, different: int, expected: bool) -> None:
    """Above 0.8 is a repeat, 0.8 itself is none: 9 of 11 and 17 of 21 words are enough, 8 of 10 and 4 of 5 not."""
    shared, others = _words(common), _words(different, "x")
    one = told(" ".join([*shared, *others[: different // 2]]))
    other = told(" ".join([*shared, *others[different // 2 :]]))

    assert expected == is_repeat(one, other)
    assert expected == is_repeat(other, one)


@given(st.sets(st.sampled_from(_words(14)), min_size=1), st.sets(st.sampled_from(_words(14)), min_size=1))
def test_titles_repeat_exactly_above_the_threshold(some: set[str], others: set[str]) -> None:
    """Whatever the words: Jaccard above 4/5, counted without rounding."""
    one, other = told(" ".join(sorted(some))), told(" ".join(sorted(others)))

    assert (5 * len(some & others) > 4 * len(some | others)) == is_repeat(one, other)


@pytest.mark.parametrize(
    ("title", "one", "other"),
    [
        ("Run all of the tests in the payments package of the shop: {}", "passed", "failed"),
        ("Run the unit tests of the payments package of the shop → {}", "2 failed", "3 failed"),
        ("Run the unit tests of the payments package: {}", "2 passed, 3 failed", "3 passed, 2 failed"),
        ("Build the whole workspace with all of its features on: error {}", "E0308", "E0277"),
        ("Set the timeout of the retry loop in the payment client to {}", "1.5", "15"),
        ("Set the timeout of the retry loop in the payment client to {}", "5s", "9s"),
        ("{} the cache of the retry loop in the payment client module", "Enable", "Disable"),
    ],
)
def test_a_word_of_outcome_or_a_number_tells_titles_apart(title: str, one: str, other: str) -> None:
    """However much else two titles share."""
    first, second = title.format(one), title.format(other)

    assert jaccard(title_tokens(first), title_tokens(second)) > 0.8
    assert not is_repeat(told(first), told(second))


def test_other_files_are_another_observation(store: MemoryStore) -> None:
    """The same title of other files is stored."""
    store.add_observation(HERE, told(_TITLE, files_read=("a.py",)), NOW_MS)
    store.add_observation(HERE, told(_TITLE, files_read=("a.py", "b.py")), NOW_MS)

    assert [0, 0] == _counts(store)


def test_other_projects_are_not_looked_at(store: MemoryStore) -> None:
    """The same in another project is stored, and in another session of the same one is not."""
    store.add_observation(HERE, told(_TITLE), NOW_MS)
    store.add_observation(THERE, told(_TITLE), NOW_MS)
    store.add_observation(Owner("s9", HERE.key, HERE.project), told(_TITLE), NOW_MS)

    assert [1, 0] == _counts(store)


@pytest.mark.parametrize(("after_ms", "expected"), [(_HOUR_MS, [1]), (_HOUR_MS + 1, [0, 0])])
def test_one_hour_back(store: MemoryStore, after_ms: int, expected: list[int]) -> None:
    """3,600,000 ms later it is a repeat, one more and it is new."""
    store.add_observation(HERE, told(_TITLE), NOW_MS)
    store.add_observation(HERE, told(_TITLE), NOW_MS + after_ms)

    assert expected == _counts(store)


def test_no_row_of_a_later_time_is_repeated(store: MemoryStore) -> None:
    """An event that is taken in late is told by itself: what came after it is no earlier observation."""
    store.add_observation(HERE, told(_TITLE), NOW_MS + 1)
    store.add_observation(HERE, told(_TITLE), NOW_MS)

    assert [0, 0] == _counts(store)


@pytest.mark.parametrize(("n_between", "n_rows"), [(19, 20), (20, 22)])
def test_twenty_rows_back(store: MemoryStore, n_between: int, n_rows: int) -> None:
    """Among the newest twenty rows it is a repeat; behind them it is new."""
    for number, title in enumerate([_TITLE, *_words(n_between), _TITLE]):
        store.add_observation(HERE, told(title), NOW_MS + number)

    assert n_rows == store.stats().n_observations


def test_empty_titles_compare_by_content(store: MemoryStore) -> None:
    """Without a title all that is told must be the same; a title never repeats its absence."""
    given = (("", "one"), ("?!", "one"), ("", "two"), ("one", "one"), ("", "one"))
    for number, (title, narrative) in enumerate(given):
        store.add_observation(HERE, told(title, narrative=narrative), NOW_MS + number)

    assert [1, 0, 0, 0] == _counts(store)


def test_a_digest_is_stored_once(store: MemoryStore) -> None:
    """What is known by its digest is not even counted as a repeat."""
    assert store.add_observation(HERE, told("one"), NOW_MS, digest="d") is not None
    assert store.add_observation(HERE, told("two"), NOW_MS, digest="d") is None

    assert [0] == _counts(store)


def test_a_repeat_is_no_change(store: MemoryStore) -> None:
    """An index of the rows has nothing to do for a counter."""
    store.add_observation(HERE, told(_TITLE), NOW_MS)
    before = store.last_change()
    store.add_observation(HERE, told(_TITLE), NOW_MS)

    assert before == store.last_change()
