from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.search.floor import passing, relevance
from tests.support.builders import hit


@pytest.mark.parametrize(
    ("cosine", "bm25", "top_cosine", "top_bm25", "expected"),
    [
        (0.6, 10.0, 0.6, 10.0, 1.0),
        (0.6, None, 0.6, 10.0, 1.0),
        (None, 10.0, 0.6, 10.0, 1.0),
        (0.3, 2.0, 0.6, 10.0, 0.5),
        (0.15, 8.0, 0.6, 10.0, 0.8),
        (0.3, None, 0.6, 10.0, 0.5),
        (None, 2.0, 0.6, 10.0, 0.2),
        (None, None, 0.6, 10.0, 0.0),
        (-0.3, None, 0.6, 10.0, 0.0),
        (0.9, None, 0.6, 10.0, 1.0),
        (-0.2, 0.0, 0.0, 0.0, 0.0),
        (-0.2, 0.0, -0.2, 0.0, 0.0),
    ],
)
def test_relevance_is_the_best_share(
    cosine: float | None, bm25: float | None, top_cosine: float, top_bm25: float, expected: float
) -> None:
    """A hit's relevance is the better of its shares of the top cosine and the top bm25; a top that is not positive has none."""
    assert expected == pytest.approx(relevance(cosine, bm25, top_cosine=top_cosine, top_bm25=top_bm25))


@given(st.none() | st.floats(-1, 1), st.none() | st.floats(0, 50), st.floats(-1, 1), st.floats(0, 50))
def test_relevance_is_a_share(cosine: float | None, bm25: float | None, top_cosine: float, top_bm25: float) -> None:
    """Relevance lies in 0 to 1, whatever the scores."""

    assert 0 <= relevance(cosine, bm25, top_cosine=top_cosine, top_bm25=top_bm25) <= 1


@pytest.mark.parametrize(
    ("share", "cosine", "is_named", "floors", "expected"),
    [
        (0.5, 0.1, False, (0.5, 0.1), True),
        (0.49, 0.9, False, (0.5, 0.1), False),
        (0.49, 0.9, True, (0.5, 0.1), False),
        (0.5, 0.09, False, (0.5, 0.1), False),
        (0.5, 0.09, True, (0.5, 0.1), True),
        (1.0, None, False, (0.5, 0.1), False),
        (1.0, None, True, (0.5, 0.1), True),
        (1.0, -0.5, True, (0.5, 0.1), True),
        (0.0, -1.0, False, (0.0, -1.0), True),
    ],
)
def test_passes(
    share: float, cosine: float | None, is_named: bool, floors: tuple[float, float], expected: bool
) -> None:
    """A hit needs its share of a leg's top, and its raw cosine or a word of the query literally; floors may be lowest."""
    found = passing([hit(7, relevance=share, cosine=cosine)], *floors, lambda _: is_named)

    assert ({7} if expected else set()) == found
