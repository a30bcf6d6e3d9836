from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.search.scores import passing, relevance
from tests.support.builders import hit
from tests.support.cases import Case, cases


@cases("search/relevance.txt")
def test_relevance_is_the_best_share(case: Case) -> None:
    """A hit's relevance is the better of its shares of the top cosine and the top bm25; a top that is not positive has none."""
    cosine, bm25, top_cosine, top_bm25 = case.given()

    assert case.json() == pytest.approx(relevance(cosine, bm25, top_cosine=top_cosine, top_bm25=top_bm25))


@given(st.none() | st.floats(-1, 1), st.none() | st.floats(0, 50), st.floats(-1, 1), st.floats(0, 50))
def test_relevance_is_a_share(cosine: float | None, bm25: float | None, top_cosine: float, top_bm25: float) -> None:
    """Relevance lies in 0 to 1, whatever the scores."""

    assert 0 <= relevance(cosine, bm25, top_cosine=top_cosine, top_bm25=top_bm25) <= 1


@cases("search/passing.txt")
def test_passes(case: Case) -> None:
    """A hit needs its share of a leg's top, and its raw cosine or a word of the query literally; floors may be lowest."""
    share, cosine, is_named, *floors = case.given()
    found = passing([hit(7, relevance=share, cosine=cosine)], *floors, lambda _: is_named)

    assert ({7} if case.json() else set()) == found
