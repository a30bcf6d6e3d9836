from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hybrid.index.backend import Filter
from hybrid.models.registry import HashingEmbedder
from hybrid.prompting.query import make_query
from hybrid.search.ranking.evidence import ON_TOP, PIECES
from hybrid.search.scores import relevance
from hybrid.search.searcher import Searcher
from tests.support.builders import PAYMENTS, ListSource, build_index, default_config, open_index, place_in

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from hybrid.search.searcher import Searched
    from hybrid.types import Hit

QUERY = "where does the payment client retry a request"
MANY = {f"notes/{i}.md": f"# Note {i}\n\nA payment of number {i}.\n" for i in range(12)}


def searcher(folder: Path, files: Mapping[str, str] = PAYMENTS, **settings: Any) -> Searcher:
    """Searches some files with the hashing model and the shipped settings, some of them changed."""
    place = place_in(folder / "index")
    build_index(place, ListSource(dict(files)))
    config = default_config(folder, **settings)
    return Searcher(open_index(place), HashingEmbedder(), config.search, ranking=config.ranking)


def _places(searched: Searched) -> list[tuple[str, int]]:
    return [(hit.path, hit.start_line) for hit in searched.hits]


def _ranked(searched: Searched) -> list[Hit]:
    """The hits that the ranker placed; those behind them fill up the list."""
    return [hit for hit in searched.hits if hit.evidence]


def test_the_evidence_decides_the_order(tmp_path: Path) -> None:
    """By default files stand in order of their evidence, and every ranked hit shows all its pieces."""
    searched = searcher(tmp_path).search(make_query(QUERY), top_k=20)
    ranked = _ranked(searched)

    assert "src/payments/client.py" == searched.hits[0].path
    assert list(range(1, len(searched.hits) + 1)) == [hit.rank for hit in searched.hits]
    assert all((*PIECES, *ON_TOP, "stand_in") == tuple(hit.evidence) for hit in ranked)
    sums = [sum(hit.evidence.values()) for hit in ranked]
    assert [max(value, 0) / sums[0] for value in sums] == pytest.approx([hit.relevance for hit in ranked], abs=1e-3)


def test_plain_fusion(tmp_path: Path) -> None:
    """With `ranker = "rrf"`, or without weights, hits stand in order of rrf, without evidence, relevant as their legs say."""
    fused = searcher(tmp_path / "rrf", search_ranker="rrf").search(make_query(QUERY), top_k=20)
    built = searcher(tmp_path / "none")
    without = Searcher(built.backend, built.embedder, default_config(tmp_path).search).search(
        make_query(QUERY), top_k=20
    )

    assert _places(fused) == _places(without)
    assert sorted((hit.rrf for hit in fused.hits), reverse=True) == [hit.rrf for hit in fused.hits]
    assert not any(hit.evidence for hit in (*fused.hits, *without.hits))
    tops = {"top_cosine": max(h.cosine or -1 for h in fused.hits), "top_bm25": fused.top_bm25}
    assert [relevance(h.cosine, h.bm25, **tops) for h in fused.hits] == [h.relevance for h in fused.hits]


def test_the_numbers_of_a_hit_do_not_depend_on_the_ranker(tmp_path: Path) -> None:
    """Cosine, bm25, ranks and rrf of a chunk are those of the legs and their fusion, whoever ordered the hits."""
    by_evidence = searcher(tmp_path / "evidence").search(make_query(QUERY), top_k=20)
    by_rrf = searcher(tmp_path / "rrf", search_ranker="rrf").search(make_query(QUERY), top_k=20)

    def numbers(searched: Searched) -> dict[int, tuple[object, ...]]:
        return {h.row: (h.cosine, h.cosine_rank, h.bm25, h.bm25_rank, h.rrf) for h in searched.hits}

    assert numbers(by_rrf) == numbers(by_evidence)
    assert (by_rrf.top_cosine, by_rrf.top_bm25, by_rrf.n_candidates) == (
        by_evidence.top_cosine,
        by_evidence.top_bm25,
        by_evidence.n_candidates,
    )


def test_the_list_is_filled_up(tmp_path: Path) -> None:
    """Behind what the ranker shows come the other candidates in the order of the fusion, with a relevance of 0."""
    text = "".join(f"## Payment {i}\n\n" + f"payment retry client {i}\n" * 60 for i in range(9))
    found = searcher(tmp_path, {"payment.md": text, **MANY})
    searched = found.search(make_query(QUERY), top_k=100)
    filling = [hit for hit in searched.hits if not hit.evidence]

    assert searched.n_candidates == len(searched.hits) == len({hit.row for hit in searched.hits})
    assert {"payment.md"} == {hit.path for hit in filling}
    assert {0.0} == {hit.relevance for hit in filling}
    assert sorted((hit.rrf for hit in filling), reverse=True) == [hit.rrf for hit in filling]
    assert filling == list(searched.hits[len(_ranked(searched)) :])


@pytest.mark.parametrize("top_k", [0, 1, 3, 100])
def test_top_k(tmp_path: Path, top_k: int) -> None:
    """At most `top_k` hits come back, the same ones that a longer list begins with."""
    found = searcher(tmp_path, {**PAYMENTS, **MANY})
    everything = _places(found.search(make_query(QUERY), top_k=1000))

    assert everything[:top_k] == _places(found.search(make_query(QUERY), top_k=top_k))


@pytest.mark.parametrize(("mode", "other"), [("dense", "bm25_rank"), ("lexical", "cosine_rank")])
def test_one_leg_alone(tmp_path: Path, mode: Any, other: str) -> None:
    """A mode of one leg gives its ranking as it is, without evidence."""
    found = searcher(tmp_path, {**PAYMENTS, **MANY})
    searched = found.search(make_query(QUERY), top_k=100, mode=mode)
    own = "cosine_rank" if mode == "dense" else "bm25_rank"

    assert (mode, (1.0, 0.0) if mode == "dense" else (0.0, 1.0)) == (searched.mode, searched.weights)
    assert [hit.rank for hit in searched.hits] == [getattr(hit, own) for hit in searched.hits]
    assert not any(hit.evidence for hit in searched.hits)
    assert {None} == {getattr(hit, other) for hit in searched.hits}
    assert len(searched.hits) == searched.n_candidates > 0


@pytest.mark.parametrize("ranker", ["evidence", "rrf"])
def test_a_filter(tmp_path: Path, ranker: str) -> None:
    """A filter restricts the hits of both rankers; the top cosine stays that of the whole collection."""
    found = searcher(tmp_path, {**PAYMENTS, **MANY}, search_ranker=ranker)
    everything = found.search(make_query(QUERY), top_k=100)
    notes = found.search(make_query(QUERY), top_k=100, only=Filter(path="notes"))
    docs = found.search(make_query(QUERY), top_k=100, only=Filter(kinds=("doc",), path="src"))

    assert sorted(MANY) == sorted({hit.path for hit in notes.hits})
    assert everything.top_cosine == notes.top_cosine == docs.top_cosine
    assert () == docs.hits
    assert notes.hits[0].relevance > 0


@pytest.mark.parametrize("ranker", ["evidence", "rrf"])
@pytest.mark.parametrize("files", [{}, {"a.py": "\n"}], ids=["no file", "blank"])
def test_an_empty_index(tmp_path: Path, ranker: str, files: dict[str, str]) -> None:
    """An index without a chunk answers every query and mode with nothing."""
    found = searcher(tmp_path, files, search_ranker=ranker)

    for mode in ("hybrid", "dense", "lexical"):
        searched = found.search(make_query("src/payments/client.py:3 retry"), top_k=10, mode=mode)
        assert ((), 0, None, 0.0) == (searched.hits, searched.n_candidates, searched.top_cosine, searched.top_bm25)


class Mute(HashingEmbedder):
    """An embedder that knows no word of any query."""

    def embed_query(self, text: str) -> Any:
        """Zeros."""
        del text
        return super().embed_query("")


def test_a_query_without_a_vector(tmp_path: Path) -> None:
    """Words alone rank when the model knows none of the query; there is no cosine and no evidence by sense."""
    built, config = searcher(tmp_path), default_config(tmp_path)
    asked = Searcher(built.backend, Mute(), config.search, ranking=config.ranking)
    searched = asked.search(make_query(QUERY), top_k=20)

    assert "src/payments/client.py" == searched.hits[0].path
    assert None is searched.top_cosine
    for hit in _ranked(searched):
        assert (None, None) == (hit.cosine, hit.cosine_rank)
        assert [0.0] * 3 == [hit.evidence[name] for name in ("best_sense", "sum_sense", "file_sense")]


@pytest.mark.parametrize("text", ["", "?!", "the"], ids=["empty", "signs", "a function word"])
@pytest.mark.parametrize("ranker", ["evidence", "rrf"])
def test_a_query_without_a_telling_word(tmp_path: Path, ranker: str, text: str) -> None:
    """A query that says nothing does not raise, and what it finds has finite numbers."""
    searched = searcher(tmp_path, search_ranker=ranker).search(make_query(text), top_k=20)

    assert all(0 <= hit.relevance <= 1 for hit in searched.hits)
    assert text == "the" or () == searched.hits


def test_the_same_query_twice(tmp_path: Path) -> None:
    """Nothing is kept between queries that could change an answer."""
    found = searcher(tmp_path, {**PAYMENTS, **MANY})
    first = found.search(make_query(QUERY), top_k=20)
    found.search(make_query("roll back a release"), top_k=20)

    again = found.search(make_query(QUERY), top_k=20)
    assert (first.hits, first.top_cosine, first.top_bm25) == (again.hits, again.top_cosine, again.top_bm25)


FLOCK = {
    "flock/count.py": '"""Counts the herons of a flock."""\n\n\ndef count_herons(birds):\n    return len(birds)\n',
    "flock/feed.py": '"""Feeds a flock."""\n\n\ndef feed(birds, fish):\n    return zip(birds, fish)\n',
    "tests/test_birds.py": "from flock import count_herons, feed\n\n\n"
    "def test_young_herons():\n    birds = feed([1, 2], [3, 4])\n    assert 2 == count_herons(birds)\n",
}
REPORT = """Young herons of a flock are left out of its count

I ran the tests, and after the upgrade they fail for young herons:

```python
from flock import count_herons, feed
birds = feed([1, 2], [3, 4])
assert 2 == count_herons(birds)
```

The tests of young herons worked in the release before.
"""
TRACE = """Young herons are forgotten at dusk

```
Traceback (most recent call last):
  File "/home/me/try.py", line 3, in <module>
    feed(birds, fish)
  File "/home/me/lib/python3.11/site-packages/flock/feed.py", line 5, in feed
    return zip(birds, fish)
TypeError: count of young herons of a flock
```
"""


def test_a_bug_report_finds_the_code_before_its_test(tmp_path: Path) -> None:
    """A test that holds the reported snippet stays behind, though the report speaks of tests; `search.titles` decides."""

    def against(name: str, *, titles: bool) -> dict[str, float]:
        searched = searcher(tmp_path / name, FLOCK, search_titles=titles).search(make_query(REPORT), top_k=5)
        assert "flock/count.py" == searched.hits[0].path
        return {hit.path: hit.evidence["test"] for hit in searched.hits if hit.path.startswith("tests/")}

    assert {"tests/test_birds.py": -2.0} == against("by title", titles=True)
    assert {"tests/test_birds.py": 0.0} == against("whole", titles=False)


def test_a_frame_of_a_trace_counts_once_more_in_a_report(tmp_path: Path) -> None:
    """The file in which a reported trace failed stands before the one that shares the words of the message."""
    query = make_query(TRACE)
    by_title = searcher(tmp_path / "by title", FLOCK).search(query, top_k=5).hits[0]
    whole = searcher(tmp_path / "whole", FLOCK, search_titles=False).search(query, top_k=5)

    assert ("flock/feed.py", pytest.approx(2, abs=0.01)) == (by_title.path, by_title.evidence["reported_path"])
    assert "flock/count.py" == whole.hits[0].path
    assert {0.0} == {hit.evidence["reported_path"] for hit in whole.hits}


@pytest.mark.parametrize("text", [QUERY, "why does retry loop\nin the payment client", "src/payments/client.py:3"])
def test_a_prompt_without_a_title_is_searched_for_as_before(tmp_path: Path, text: str) -> None:
    """Nothing changes for a prompt into which nothing was pasted, to the last digit."""
    query = make_query(text)
    on = searcher(tmp_path / "on").search(query, top_k=20)
    off = searcher(tmp_path / "off", search_titles=False, ranking_reported_path=0.0).search(query, top_k=20)

    def numbers(searched: Searched) -> list[tuple[object, ...]]:
        pieces = [{k: v for k, v in hit.evidence.items() if k != "reported_path"} for hit in searched.hits]
        return [(h.key, h.cosine, h.bm25, h.relevance, of) for h, of in zip(searched.hits, pieces, strict=True)]

    assert numbers(off) == numbers(on)


GERMAN = "Wo wird der abgelaufene Schlüssel gelöscht und wann?"


def test_a_prompt_in_another_language_finds_english_code(tmp_path: Path) -> None:
    """Its English words are searched for; without the setting it finds what shares its own words."""
    files = {
        "src/expire.py": "def delete_expired_keys(now):\n    return [key for key in keys if key.expired]\n",
        "src/other.py": "def draw_picture(width):\n    return width * 2\n",
    }
    said = searcher(tmp_path / "on", files).search(make_query(GERMAN), top_k=2)
    typed = searcher(tmp_path / "off", files, search_languages=False).search(make_query(GERMAN), top_k=2)

    assert "src/expire.py" == said.hits[0].path
    assert said.top_bm25 > typed.top_bm25 == 0.0
    assert "key" in said.query.english
    assert "" == typed.query.english


def test_a_project_in_another_language_is_found_by_the_words_typed(tmp_path: Path) -> None:
    """English words do not stand in the way of a text that is written as the prompt is."""
    files = {
        "anleitung.md": "# Ablauf\n\nWann ein abgelaufener Schlüssel gelöscht wird, und wo der Schlüssel liegt.\n",
        "key.md": "# Notes\n\nA key of a song.\n",
    }
    searched = searcher(tmp_path, files).search(make_query(GERMAN), top_k=2)

    assert "anleitung.md" == searched.hits[0].path
