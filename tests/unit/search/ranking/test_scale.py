from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.arrays import common, distinct, runs
from hybrid.index.backend import CosineFigures
from hybrid.search.ranking.fields import above, best_by_key, best_of, by_best, decaying_sum

if TYPE_CHECKING:
    from random import Random

_VALUES = st.lists(st.integers(0, 8).map(lambda n: n / 8), max_size=30)


def _array(values: list[float]) -> np.ndarray[tuple[int], np.dtype[np.float32]]:
    return np.array(values, np.float32)


@given(_VALUES)
def test_the_best_becomes_one(values: list[float]) -> None:
    """Scores keep their proportions and lie in 0 to 1; the best is 1 unless all are 0."""
    scaled = by_best(_array(values))
    top = max(values, default=0)

    assert [value / top if top else 0.0 for value in values] == pytest.approx(scaled.tolist())
    assert scaled.dtype == np.float32


def test_above_a_mean() -> None:
    """What lies below the mean gives nothing, the rest in proportion to the best."""

    assert [0, 0, 0.5, 1] == above(_array([-1, 0.25, 0.5, 0.75]), CosineFigures(0.25, 0.75)).tolist()
    assert [0, 0] == above(_array([0.1, 0.1]), CosineFigures(0.1, 0.1)).tolist()
    assert [] == above(_array([]), CosineFigures(0, 0)).tolist()


@given(_VALUES, st.integers(0, 35))
def test_the_best_places(values: list[float], depth: int) -> None:
    """The places of the largest values, equal ones in order of place, are the beginning of the whole order."""
    expected = sorted(range(len(values)), key=lambda place: (-values[place], place))[:depth]

    assert expected == best_of(_array(values), depth).tolist()


@given(
    st.lists(st.one_of(st.integers(0, 3).map(float), st.just(-np.inf)), max_size=20), st.integers(0, 25), st.randoms()
)
def test_the_best_by_key(values: list[float], depth: int, random: Random) -> None:
    """Equal values stand in order of their keys, whatever their places, and what is −∞ is never among the best."""
    keys = list(range(len(values)))
    random.shuffle(keys)
    places = [place for place, value in enumerate(values) if value > -np.inf]
    expected = sorted(places, key=lambda place: (-values[place], keys[place]))[:depth]

    assert expected == best_by_key(_array(values), depth, keys.__getitem__)


def test_keys_of_single_values_are_not_asked_for() -> None:
    """A key can cost a look-up: only equal values among the best need theirs."""
    asked: list[int] = []

    def key(place: int) -> int:
        asked.append(place)
        return -place

    assert [4, 3, 2] == best_by_key(_array([0, 0, 1, 1, 2]), 3, key)
    assert [2, 3] == asked


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 4)), max_size=30), st.integers(1, 40))
def test_a_sum_that_decays_by_the_definition(pairs: list[tuple[int, int]], depth: int) -> None:
    """A file gets its best row, half the second, a quarter and an eighth, none of those that do not count, whatever the order of its rows."""
    pairs = sorted(pairs, key=lambda pair: pair[1])
    values, files = _array([value / 8 for value, _ in pairs]), np.array([file for _, file in pairs], np.int32)
    rows = best_of(values, depth)
    sums = [0.0] * 5
    for file in range(5):
        mine = sorted((float(values[row]) for row in rows if files[row] == file), reverse=True)
        sums[file] = sum(value / 2**place for place, value in enumerate(mine[:4]))
    top = max(sums) or 1.0

    found, decayed = decaying_sum(values[rows], files[rows])
    assert sorted(set(files[rows].tolist())) == found.tolist()
    assert [sums[file] / top for file in found.tolist()] == pytest.approx(decayed.tolist(), abs=1e-6)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=20))
def test_runs(values: list[int]) -> None:
    """A run begins at the first place and wherever the value differs from the one before."""
    expected = [place for place, value in enumerate(values) if place == 0 or value != values[place - 1]]

    assert expected == runs(np.array(values, np.int32)).tolist()


@given(st.lists(st.integers(0, 30)), st.lists(st.integers(0, 30)))
def test_distinct_and_common(a: list[int], b: list[int]) -> None:
    """They give what sets give, in order."""
    ours, theirs = (np.array(sorted(set(values)), np.int32) for values in (a, b))

    assert sorted(set(a)) == distinct(np.array(a, np.intp)).tolist()
    assert sorted(set(a) & set(b)) == common(ours, theirs).tolist()
