from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.tokens import query_tokens, tokens
from hybrid.index import lexical
from hybrid.index.backend import Filter
from hybrid.models.registry import HashingEmbedder
from hybrid.prompting.query import make_query
from hybrid.search.reference import NonNegativeOkapi, ReferenceLexical
from hybrid.search.searcher import Searcher
from tests.support.builders import PAYMENTS, ListSource, build_index, default_config, open_index, place_in, terms_of
from tests.support.examples import examples
from tests.support.rankings import ranking

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.index.backend import Leg
    from hybrid.index.snapshot import Snapshot

_property = examples(40)
_WORDS = ["alpha", "beta", "gamma", "delta", "camelCase", "snake_case", "x", "再試行", "ε"]
_texts = st.dictionaries(
    st.sampled_from([f"{folder}{name}.txt" for folder in ("", "one/", "one/two/") for name in "abcd"]),
    st.lists(st.sampled_from(_WORDS), max_size=12).map(" ".join),
    max_size=8,
)
_query = st.lists(st.sampled_from([*_WORDS, "unknown", "one", "a"]), max_size=6).map(" ".join)


def _equal(snapshot: Snapshot, query: list[str], expected: Leg, found: Leg) -> None:
    """Same scores, same rows ranked, and the same order but for scores that differ in rounding only."""
    scores = [[leg.raw(row) or 0.0 for row in range(snapshot.n_rows)] for leg in (found, expected)]
    np.testing.assert_allclose(*scores, rtol=1e-9, atol=1e-12)
    assert [entry.rank for entry in ranking(expected)] == [entry.rank for entry in ranking(found)], query
    assert _rounded_order(snapshot, expected) == _rounded_order(snapshot, found), query


def _rounded_order(snapshot: Snapshot, leg: Leg) -> list[tuple[float, tuple[bytes, str, int]]]:
    entries = [(-round(entry.raw, 9), snapshot.tie_key(entry.row)) for entry in ranking(leg)]
    assert [score for score, _ in entries] == sorted(score for score, _ in entries)
    return sorted(entries)


def _scores_of_library(snapshot: Snapshot, query: list[str], *, k1: float, b: float) -> dict[int, float]:
    """`get_scores` of rank-bm25 over the token lists of the live rows."""
    rows = list(snapshot.live_rows())
    corpus = [[term for term, n in terms_of(snapshot, row).items() for _ in range(n)] for row in rows]
    if not any(corpus):
        return {}
    engine: Any = NonNegativeOkapi(corpus, k1=k1, b=b)
    return dict(zip(rows, engine.get_scores(query), strict=True))


@_property
@given(st.lists(_texts, min_size=1, max_size=3), st.lists(_query, min_size=1, max_size=4))
def test_postings_give_the_scores_of_rank_bm25(
    tmp_path_factory: pytest.TempPathFactory, history: list[dict[str, str]], queries: list[str]
) -> None:
    """After any edits, over several segments with dead documents, every chunk has rank-bm25's score and rank."""
    place = place_in(tmp_path_factory.mktemp("okapi"))
    source = ListSource({})
    for texts in history:
        for path in set(source.texts) - set(texts):
            del source.texts[path]
        for path, text in texts.items():
            source.put(path, text)
        build_index(place, source, max_segments=100)
    snapshot = open_index(place)
    reference = ReferenceLexical(snapshot, k1=1.5, b=0.75)

    for text in queries:
        query = tokens(text)
        found = snapshot.lexical(query, 100)
        of_library = _scores_of_library(snapshot, query, k1=1.5, b=0.75)
        assert {row: score for row, score in of_library.items() if score > 0} == pytest.approx(
            {entry.row: entry.raw for entry in ranking(found)}, rel=1e-9
        )
        _equal(snapshot, query, reference.lexical(query, 100, Filter()), found)


@_property
@given(_texts, _query, st.integers(1, 4))
def test_common_terms_left_out_of_most_sums_change_nothing(
    tmp_path_factory: pytest.TempPathFactory, texts: dict[str, str], text: str, depth: int
) -> None:
    """When the terms are asked for one by one, and only as far as the best chunks need, all scores stay the same."""
    place = place_in(tmp_path_factory.mktemp("okapi"))
    build_index(place, ListSource(texts))
    snapshot, query = open_index(place), tokens(text)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lexical, "_AT_ONCE", 1)
        found = snapshot.lexical(query, depth)
    _equal(snapshot, query, ReferenceLexical(snapshot, k1=1.5, b=0.75).lexical(query, depth, Filter()), found)


@pytest.fixture
def edited(tmp_path: Path) -> Snapshot:
    """An index of three segments with dead documents in the first."""
    place = place_in(tmp_path / "edited")
    source = ListSource({f"f{i}.txt": f"alpha beta {'gamma ' * i}" for i in range(9)})
    build_index(place, source, max_segments=100)
    source.put("f3.txt", "alpha delta")
    del source.texts["f5.txt"]
    build_index(place, source, max_segments=100)
    source.put("new/f9.txt", "delta delta epsilon")
    build_index(place, source, max_segments=100)
    return open_index(place)


def test_the_edited_index_has_segments_and_tombstones(edited: Snapshot) -> None:
    """The example really holds what the tests below are about."""

    assert 3 == len(edited.segments)
    assert edited.n_chunks == edited.n_rows - 2


@pytest.mark.parametrize(
    "text", ["alpha", "alpha alpha alpha", "gamma unknown", "delta alpha delta", "unknown", "txt", "new", ""]
)
@pytest.mark.parametrize(("k1", "b"), [(1.5, 0.75), (2.0, 1.0), (1.2, 0.0)])
def test_scores_after_edits(tmp_path: Path, edited: Snapshot, text: str, k1: float, b: float) -> None:
    """Repeated and unknown terms, tombstones and other parameters give rank-bm25's scores."""
    snapshot = open_index(place_in(tmp_path / "edited"), k1=k1, b=b)
    query = tokens(text)
    found = {entry.row: entry.raw for entry in ranking(snapshot.lexical(query, 100))}

    expected = _scores_of_library(snapshot, query, k1=k1, b=b)
    assert {row: score for row, score in expected.items() if score > 0} == pytest.approx(found, rel=1e-9)


def test_without_saturation_only_the_idf_counts(tmp_path: Path, edited: Snapshot) -> None:
    """With k1 = 0, which rank-bm25 itself cannot do, both engines count each term of the query once a chunk."""
    snapshot = open_index(place_in(tmp_path / "edited"), k1=0.0)
    query = tokens("alpha gamma delta")
    reference = ReferenceLexical(snapshot, k1=0.0, b=0.75)

    _equal(snapshot, query, reference.lexical(query, 100, Filter()), snapshot.lexical(query, 100))
    assert edited.n_chunks == len(ranking(snapshot.lexical(tokens("alpha delta"), 100)))


def test_identical_chunks_tie_alike(tmp_path: Path) -> None:
    """Chunks with equal scores are in the same order in both engines: by digest, then path."""
    place = place_in(tmp_path)
    build_index(
        place,
        ListSource(
            {
                f"{name}/f.txt": text
                for name, text in zip("dcba", ["one two", "two one", "one two", "one six"], strict=True)
            }
        ),
    )
    snapshot = open_index(place)
    reference = ReferenceLexical(snapshot, k1=1.5, b=0.75)
    query = tokens("one f")

    rows = [entry.row for entry in ranking(snapshot.lexical(query, 10))]
    assert [entry.row for entry in ranking(reference.lexical(query, 10, Filter()))] == rows
    assert sorted(rows, key=snapshot.tie_key) == rows


@pytest.mark.parametrize("n_words", [1, 2, 40])
def test_a_rare_and_an_omnipresent_word(tmp_path: Path, n_words: int) -> None:
    """The IDF of a word that every chunk holds is small but positive, in both engines."""
    place = place_in(tmp_path)
    build_index(place, ListSource({f"f{i}.md": "everywhere" for i in range(n_words)}))
    snapshot = open_index(place)
    leg = snapshot.lexical(["everywher"], 100)

    assert n_words == len(ranking(leg))
    assert all(entry.raw > 0 for entry in ranking(leg))
    _equal(
        snapshot, ["everywher"], ReferenceLexical(snapshot, k1=1.5, b=0.75).lexical(["everywher"], 100, Filter()), leg
    )


def test_no_chunk_at_all(tmp_path: Path) -> None:
    """Both engines answer an empty index with nothing."""
    place = place_in(tmp_path)
    build_index(place, ListSource({}))
    snapshot = open_index(place)
    reference = ReferenceLexical(snapshot, k1=1.5, b=0.75)

    assert ((), ()) == (ranking(snapshot.lexical(["a"], 10)), ranking(reference.lexical(["a"], 10, Filter())))
    assert 0 == len(reference.scores(["a"]))


def test_chunks_without_a_token(tmp_path: Path) -> None:
    """Chunks of punctuation alone, in files whose names say nothing, are never found and do not raise."""
    place = place_in(tmp_path)
    build_index(place, ListSource({"_": "+++", "__": "***"}))
    snapshot = open_index(place)
    reference = ReferenceLexical(snapshot, k1=1.5, b=0.75)

    assert 2 == snapshot.n_chunks
    assert ((), ()) == (ranking(snapshot.lexical(["a"], 10)), ranking(reference.lexical(["a"], 10, Filter())))


QUERIES = [
    "payment retry",
    "PaymentClient.charge",
    "roll back a release",
    "find user by email",
    "nothing fits zzz",
    "the",
    "",
]


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("only", [Filter(), Filter(kinds=("doc",)), Filter(path="src")], ids=["all", "doc", "src"])
def test_the_selectable_engine_gives_the_same_search(tmp_path: Path, text: str, only: Filter) -> None:
    """`lexical_engine = "rank_bm25"` gives the hits of the default, in the same order with the same scores."""
    place = place_in(tmp_path)
    build_index(place, ListSource(dict(PAYMENTS)))
    answers = [_hits(tmp_path, open_index(place), engine, text, only) for engine in ("postings", "rank_bm25")]

    assert answers[0] == answers[1]
    assert query_tokens(text) == [] or text.startswith("nothing") or answers[0]


def _hits(tmp_path: Path, snapshot: Snapshot, engine: str, text: str, only: Filter) -> list[tuple[object, ...]]:
    config = default_config(tmp_path, search_lexical_engine=engine)
    searched = Searcher(snapshot, HashingEmbedder(), config.search).search(make_query(text), top_k=20, only=only)
    return [
        (h.rank, h.path, h.start_line, h.cosine_rank, h.bm25_rank, h.rrf, h.bm25 and round(h.bm25, 9))
        for h in searched.hits
    ]
