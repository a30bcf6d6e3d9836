"""The largest sums over terms, with and without what common terms add to the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.index import lexical
from hybrid.index.lexical import LargestSums, RowSet
from tests.support.examples import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_N_ROWS = 40


class Terms:
    """Terms that add a value to some rows each; notes how many it was asked to read."""

    def __init__(self, of_terms: Sequence[dict[int, float]]) -> None:
        self.of_terms = of_terms
        self.n_read = 0

    def read(
        self, terms: Sequence[int], wanted: RowSet | None, start: int = 0, end: int = _N_ROWS
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """What some terms give to the wanted rows of a block."""
        rows: list[NDArray[np.intp]] = [np.zeros(0, np.intp)]
        values: list[NDArray[np.float64]] = [np.zeros(0)]
        for term in terms:
            of_term = self.of_terms[term]
            held = np.array(sorted(row - start for row in of_term if start <= row < end), np.intp)
            held = held if wanted is None else held[wanted.places(held)]
            rows.append(held)
            values.append(np.array([of_term[row + start] for row in held.tolist()]))
            self.n_read += len(held)
        return np.concatenate(rows), np.concatenate(values)

    def sums(self) -> NDArray[np.float64]:
        """The whole sum of every row, in the order of the terms."""
        return np.bincount(*self.read(range(len(self.of_terms)), None), _N_ROWS)


def _largest(terms: Terms, depth: int, blocks: Sequence[int] = (0,)) -> tuple[list[int], list[float]]:
    bounds = [max(term.values(), default=0.0) for term in terms.of_terms]
    found = LargestSums(bounds, [len(term) for term in terms.of_terms], _N_ROWS, depth)
    for start, end in zip(blocks, [*blocks[1:], _N_ROWS], strict=True):
        found.add(start, end - start, lambda some, wanted, at=(start, end): terms.read(some, wanted, *at))
    rows, sums = found.result()
    return rows.tolist(), sums.tolist()


@pytest.fixture(autouse=True)
def _question_after_each_term(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small examples are pruned, too."""
    monkeypatch.setattr(lexical, "_AT_ONCE", 1)


_TERMS = st.lists(
    st.dictionaries(st.integers(0, _N_ROWS - 1), st.sampled_from([0.1, 0.5, 1.0, 3.0]), max_size=30), max_size=6
)
_BLOCKS = st.sets(st.integers(1, _N_ROWS - 1), max_size=4).map(lambda starts: [0, *sorted(starts)])


@examples(300)
@given(_TERMS, st.integers(1, 12), _BLOCKS)
def test_the_best_rows_are_those_of_whole_sums(of_terms: list[dict[int, float]], depth: int, blocks: list[int]) -> None:
    """Every row among the best, and every one that equals the last of them, is found with its whole sum."""
    whole = Terms(of_terms).sums()
    rows, sums = _largest(Terms(of_terms), depth, blocks)
    least = np.sort(whole)[-depth]
    expected = np.flatnonzero((whole > 0) & (whole >= least - 1e-9))

    assert set(expected.tolist()) <= set(rows)
    assert whole[rows].tolist() == pytest.approx(sums)
    assert sorted(set(rows)) == rows


@examples(100)
@given(_TERMS, st.integers(1, 12), _BLOCKS)
def test_sums_do_not_depend_on_the_blocks(of_terms: list[dict[int, float]], depth: int, blocks: list[int]) -> None:
    """A row has the very same sum however the rows are split, so that equal rows stay equal."""
    one = dict(zip(*_largest(Terms(of_terms), depth), strict=True))
    many = dict(zip(*_largest(Terms(of_terms), depth, blocks), strict=True))

    assert all(one[row] == many[row] for row in one.keys() & many.keys())


@examples(50)
@given(_TERMS)
def test_all_rows(of_terms: list[dict[int, float]]) -> None:
    """With a depth of all rows every row that a term holds is found."""
    rows, _ = _largest(Terms(of_terms), _N_ROWS)

    assert np.flatnonzero(Terms(of_terms).sums()).tolist() == rows


def test_a_common_term_is_read_for_few_rows() -> None:
    """When rare terms tell the best rows, a term that every row holds is read for these alone."""
    terms = Terms([dict.fromkeys(range(_N_ROWS), 0.1), {3: 5.0, 9: 4.0}])
    rows, sums = _largest(terms, 2)

    assert [3, 9] == rows
    assert [5.1, 4.1] == pytest.approx(sums)
    assert terms.n_read < _N_ROWS


def test_the_best_of_one_block_tell_what_the_next_must_have() -> None:
    """In the second block, the term that every row holds is not read at all: none of its rows can be among the best."""
    terms = Terms([dict.fromkeys(range(_N_ROWS), 0.1), {3: 5.0, 9: 4.0, 30: 1.0}])
    rows, _ = _largest(terms, 2, [0, 20])

    assert [3, 9] == rows
    assert terms.n_read < 10


def test_a_term_that_can_lift_a_new_row_is_read_for_all() -> None:
    """Nothing is left out as long as rows that the rare terms do not know may be among the best."""
    rows, _ = _largest(Terms([dict.fromkeys(range(_N_ROWS), 4.5), {3: 5.0, 9: 4.0}]), 12)

    assert _N_ROWS == len(rows)


@examples(200)
@given(st.sets(st.integers(0, 60)), st.sets(st.integers(0, 60)), st.sampled_from([np.int32, np.int64]))
def test_wanted_rows_are_found_in_a_list(wanted: set[int], listed: set[int], form: type[np.integer]) -> None:
    """Whether they are looked up one by one or all at once, the places are those of the rows that both hold."""
    among = np.array(sorted(listed), form)
    places = RowSet(np.array(sorted(wanted), np.intp)).places(among)

    assert sorted(wanted & listed) == among[places].tolist()
