"""The largest sums over terms, with and without what common terms add to the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.index import pruning
from hybrid.index.pruning import largest_sums
from tests.support.examples import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_N_ROWS = 40


class Terms:
    """Terms that add a value to some rows each; notes what it was asked to add."""

    def __init__(self, of_terms: Sequence[dict[int, float]]) -> None:
        self.of_terms = of_terms
        self.n_added = 0

    def add(self, terms: Sequence[int], among: NDArray[np.bool_] | None, sums: NDArray[Any]) -> None:
        """Add what some terms give to the wanted rows."""
        for term in terms:
            for row, value in self.of_terms[term].items():
                if among is None or among[row]:
                    sums[row] += value
                    self.n_added += 1

    def sums(self) -> NDArray[np.float64]:
        """The whole sum of every row."""
        found = np.zeros(_N_ROWS)
        self.add(range(len(self.of_terms)), None, found)
        return found


def _largest(terms: Terms, depth: int) -> pruning.Largest:
    bounds = [max(term.values(), default=0.0) for term in terms.of_terms]
    return largest_sums(terms.add, bounds, [len(term) for term in terms.of_terms], np.zeros(_N_ROWS), depth)


@pytest.fixture(autouse=True)
def _question_after_each_term(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small examples are pruned, too."""
    monkeypatch.setattr(pruning, "_AT_ONCE", 1)


_TERMS = st.lists(
    st.dictionaries(st.integers(0, _N_ROWS - 1), st.sampled_from([0.1, 0.5, 1.0, 3.0]), max_size=30), max_size=6
)


@examples(200)
@given(_TERMS, st.integers(1, 12))
def test_the_best_rows_are_those_of_whole_sums(of_terms: list[dict[int, float]], depth: int) -> None:
    """Every row among the best, and every one that equals the last of them, is found with its whole sum."""
    whole, found = Terms(of_terms).sums(), _largest(Terms(of_terms), depth)
    least = np.sort(whole)[-depth]
    expected = np.flatnonzero((whole > 0) & (whole >= least - 1e-9))

    assert set(expected.tolist()) <= set(found.rows.tolist())
    assert whole[found.rows].tolist() == pytest.approx(found.sums.tolist())
    assert sorted(found.rows.tolist()) == found.rows.tolist()


@examples(100)
@given(_TERMS, st.integers(1, 12))
def test_what_is_left_makes_the_sums_whole(of_terms: list[dict[int, float]], depth: int) -> None:
    """The partial sums and those of the terms left are the whole sums, of every row."""
    found = _largest(Terms(of_terms), depth)
    sums = found.partial.copy()
    Terms(of_terms).add(found.left, None, sums)

    assert Terms(of_terms).sums().tolist() == pytest.approx(sums.tolist())


def test_a_common_term_is_added_for_few_rows() -> None:
    """When rare terms tell the best rows, a term that every row holds is added for these alone."""
    terms = Terms([dict.fromkeys(range(_N_ROWS), 0.1), {3: 5.0, 9: 4.0}])
    found = _largest(terms, 2)

    assert (0,) == found.left
    assert [3, 9] == found.rows.tolist()
    assert [5.1, 4.1] == pytest.approx(found.sums.tolist())
    assert 4 == terms.n_added


def test_a_term_that_can_lift_a_new_row_is_added_for_all() -> None:
    """Nothing is left out as long as rows that the rare terms do not know may be among the best."""
    found = _largest(Terms([dict.fromkeys(range(_N_ROWS), 4.5), {3: 5.0, 9: 4.0}]), 2)

    assert () == found.left
    assert _N_ROWS == len(found.rows)


def test_no_terms() -> None:
    """Without terms no row is found."""
    found = _largest(Terms([]), 3)

    assert [] == found.rows.tolist()
    assert 0 == np.count_nonzero(found.partial)
