from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.search.scores import fuse, rrf


def _ranks(rows: list[int]) -> dict[int, int]:
    return {row: rank for rank, row in enumerate(rows, 1)}


def _tie_key(row: int) -> tuple[bytes, str, int]:
    """A digest that orders rows against their numbers."""
    return bytes([255 - row]), "path", 1


def _fuse(*rankings: list[int], weights: list[float] | None = None, rrf_k: int = 60) -> dict[int, float]:
    return fuse(
        [_ranks(rows) for rows in rankings], weights=weights or [1.0] * len(rankings), rrf_k=rrf_k, tie_key=_tie_key
    )


def test_a_table_worked_by_hand() -> None:
    """Two legs with rrf_k 60: each chunk has the sum of 1 / (60 + rank) over the legs that rank it."""
    fused = _fuse([1, 2, 3, 4], [3, 1, 5])

    expected = {1: 1 / 61 + 1 / 62, 3: 1 / 63 + 1 / 61, 2: 1 / 62, 5: 1 / 63, 4: 1 / 64}
    assert list(expected) == list(fused)
    assert expected == pytest.approx(fused, rel=1e-15)


def test_equal_scores_by_best_rank_then_digest() -> None:
    """Of equal scores the one with the better single rank comes first, and of equal ranks the smaller digest."""
    fused = _fuse([7, 8], [8, 7], [9])

    assert [8, 7, 9] == list(fused)
    assert fused[8] == fused[7]


def test_a_better_single_rank_breaks_an_equal_score() -> None:
    """1/2 from one leg at rank 1 equals 1/4 + 1/4 from two legs at rank 3: rank 1 stands first, whatever its digest."""
    fused = _fuse([1, 4, 2], [9, 5, 2], weights=[1.0, 1.0], rrf_k=1)

    assert fused[1] == fused[2] == 0.5
    assert [9, 1, 2] == [row for row, score in fused.items() if score == 0.5]


def test_a_leg_of_weight_zero_gives_nothing() -> None:
    """A leg without weight gives neither score nor candidates."""
    fused = _fuse([1, 2], [3, 1], weights=[1.0, 0.0])

    assert [(1, 1 / 61), (2, 1 / 62)] == list(fused.items())


@pytest.mark.parametrize(("rankings", "weights"), [([], []), ([[]], [1.0]), ([[], []], [1.0, 1.0]), ([[1]], [0.0])])
def test_nothing_gives_nothing(rankings: list[list[int]], weights: list[float]) -> None:
    """Empty rankings, no legs at all and legs without weight give nothing."""

    assert {} == _fuse(*rankings, weights=weights)


def test_every_leg_has_a_weight() -> None:
    """A leg without a weight is a mistake of the caller."""
    with pytest.raises(ValueError, match="zip"):
        fuse([_ranks([1]), _ranks([2])], weights=[1.0], rrf_k=60, tie_key=_tie_key)


_legs = st.lists(
    st.permutations(range(8)).flatmap(lambda rows: st.integers(0, 8).map(lambda n: list(rows)[:n])),
    min_size=1,
    max_size=4,
)
_weights = st.sampled_from([0.0, 0.3, 0.5, 1.0, 1.7])


@given(_legs, st.data())
def test_the_order_of_the_legs_does_not_matter(legs: list[list[int]], data: st.DataObject) -> None:
    """Legs and weights permuted alike give the same rows, scores and order."""
    weights = [data.draw(_weights) for _ in legs]
    order = data.draw(st.permutations(range(len(legs))))

    one = _fuse(*legs, weights=weights)
    other = _fuse(*(legs[i] for i in order), weights=[weights[i] for i in order])
    assert list(one.items()) == list(other.items())


@given(_legs, st.data())
def test_a_better_rank_never_lowers_a_chunk(legs: list[list[int]], data: st.DataObject) -> None:
    """A chunk that rises in one leg, all others keeping their order, does not fall in the fusion."""
    leg = data.draw(st.sampled_from(legs))
    if len(leg) < 2:
        return
    at = data.draw(st.integers(1, len(leg) - 1))
    to = data.draw(st.integers(0, at - 1))
    weights = [data.draw(_weights) for _ in legs]
    row = leg[at]

    before = list(_fuse(*legs, weights=weights))
    leg.insert(to, leg.pop(at))
    after = list(_fuse(*legs, weights=weights))

    assert set(before) == set(after)
    assert row not in before or after.index(row) <= before.index(row)


@given(_legs, st.data())
def test_scores_are_those_of_the_formula(legs: list[list[int]], data: st.DataObject) -> None:
    """The score of every row is the exact sum, rounded once, and no score exceeds Σ weights / (rrf_k + 1)."""
    weights = [data.draw(_weights) for _ in legs]
    fused = _fuse(*legs, weights=weights)
    for row, score in fused.items():
        shares = [
            Fraction(weight / (60 + rows.index(row) + 1))
            for rows, weight in zip(legs, weights, strict=True)
            if row in rows
        ]
        assert float(sum(shares)) == score
        assert 0 < score <= sum(weights) / 61 + 1e-12
    assert sorted(fused.values(), reverse=True) == list(fused.values())


@given(_legs, st.data())
def test_one_row_as_fusion_gives_it(legs: list[list[int]], data: st.DataObject) -> None:
    """A single row has the score that it has among all others; one that no leg ranks has a score of 0."""
    weights = [data.draw(_weights) for _ in legs]
    fused = _fuse(*legs, weights=weights)

    for row in range(9):
        ranks = [_ranks(leg).get(row) for leg in legs]
        assert fused.get(row, 0.0) == rrf(ranks, weights=weights, rrf_k=60)


def test_one_row_needs_a_weight_for_every_leg() -> None:
    """A leg without a weight is a mistake of the caller here too."""
    with pytest.raises(ValueError, match="zip"):
        rrf([1, 2], weights=[1.0], rrf_k=60)
