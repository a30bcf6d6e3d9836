"""Orders chunks: files by the evidence for them, each with its best chunks; the searcher calls it."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

import numpy as np
from msgspec.structs import asdict, replace

from hybrid.base.arrays import distinct
from hybrid.index.backend import EVERYTHING
from hybrid.prompting.project_questions import topic_of
from hybrid.search.ranking.corpus import Corpus, PlaceScores, candidates, score_answers, score_places
from hybrid.search.ranking.evidence import (
    ChangesOfFiles,
    Measured,
    fit_of_names,
    rounded,
    score_literals,
    score_names,
    shares,
    weigh,
    yielded,
)
from hybrid.search.ranking.fields import WordScores, above, best_by_key, best_of, by_best
from hybrid.search.ranking.query_terms import most_telling, take_apart

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.constants import RankingConfig
    from hybrid.index.backend import DenseLeg, Filter, Leg, SearchBackend
    from hybrid.index.history import History
    from hybrid.prompting.query import Query
    from hybrid.search.ranking.corpus import Candidates
    from hybrid.types import Hit

_FEEDBACK_CHUNKS = 5
"""Best chunks that are taken for relevant, though nobody judged them: few, since they may be wrong. Chosen by hand."""
_FEEDBACK_WEIGHT = 0.5
"""Weight of the mean of the best chunks beside the query: the query stays the larger part, since they may be wrong."""
_FIT_OF_CHUNK = 0.5
"""Weight of `definition_fit` in the choice of a file's chunk: it tells chunks apart less well than files."""
_MOST_OF_FILE = 3
"""Chunks of one file in a ranking: with more a long file would push out every other."""
_NEXT_CHUNK = 0.5
_NEAR_BEST = 0.7
"""Least share of its best chunk's own evidence that a file's next chunk has; it counts half of the one before.

So a file that is far ahead shows a second place before a doubtful file shows its first: nDCG@10 of queries made of
comments rises from 0.507 to 0.557, that of queries with whole files as targets stays (16 repositories, 2026-11-22).
"""


class Ranker:
    """Ranks the chunks of one backend for many queries; keeps nothing of a query but what `Corpus` remembers."""

    def __init__(self, backend: SearchBackend, weights: RankingConfig) -> None:
        self._backend = backend
        self._corpus = Corpus(backend)
        self._weights: dict[str, float] = asdict(weights)
        self._changes: ChangesOfFiles | None = None

    def with_history(self, history: History | None) -> Ranker:
        """Return a ranker of the same backend and weights with another history, or none."""
        other = copy(self)
        other._changes = ChangesOfFiles(self._corpus.fields, history) if history else None
        return other

    def tells_of_project(self, topic: str) -> bool:
        """Return whether a file answers questions of a topic about the project itself."""
        return bool(score_answers(self._corpus, topic).files)

    def rank(
        self, query: Query, legs: tuple[DenseLeg, Leg], *, depth: int, top_k: int, only: Filter = EVERYTHING
    ) -> list[Hit]:
        """Return the best chunks of the files with the most evidence, best first, with `relevance` and `evidence`.

        Args:
            query: The query.
            legs: The legs of the query by sense and by words, whose files are candidates.
            depth: Number of best chunks by words that count for their files; by sense it is the depth of the leg.
            top_k: Number of chunks to return at most.
            only: Restricts the chunks that are returned; the evidence is the same as without it, but that no file
                yields to one that is not shown.
        """
        seen = self._measure(query, legs, depth)
        if not len(seen.files):
            return []
        may_show = self._backend.allows(only, seen.files.rows)
        pieces, total = weigh(seen, self._weights)
        total = np.where(seen.files.are_any(may_show), total, np.float32(-np.inf))
        if most := self._weights["stand_in"]:
            pieces["stand_in"] = yielded(seen, total, most)
            total = rounded(total + pieces["stand_in"])
        files = seen.files.files.tolist()
        best = best_by_key(total, top_k, lambda number: self._corpus.fields.path(files[number]))
        evidence = dict(zip(best, total[best].tolist(), strict=True))
        own = _own(seen, best, may_show)
        chunks = [
            chunk
            for place, number in enumerate(best)
            for chunk in _chunks(seen.files, number, place, evidence[number], own)
        ]
        chunks.sort()
        shown = _of_files(pieces, best)
        top = max(evidence.values(), default=0.0)
        share = {number: min(max(value / top, 0.0), 1.0) if top > 0 else 0.0 for number, value in evidence.items()}
        get = self._backend.get
        return [
            replace(get(row), relevance=share[best[place]], evidence=shown[best[place]])
            for _, place, _, row in chunks[:top_k]
        ]

    def _measure(self, query: Query, legs: tuple[DenseLeg, Leg], depth: int) -> Measured:
        corpus, terms, (dense, lexical) = self._corpus, self._backend.terms, legs
        asked = most_telling(take_apart(query), corpus.n_live, terms.document_frequency)
        words = WordScores(corpus, asked.terms)
        share = shares(asked.words, words.idf, corpus.n_live)
        names = score_names(corpus, asked)
        places = score_places(corpus, query.places)
        literals = score_literals(corpus, query.text)
        rows = np.concatenate([dense.rows, lexical.rows, *names.defining.values(), literals.rows])
        answers = score_answers(corpus, topic) if (topic := topic_of(query.text)) else PlaceScores({}, {})
        files = corpus.fields.of_rows("file", rows)
        found = candidates(corpus, np.concatenate([files, np.array([*places.files, *answers.files], np.int32)]))
        in_files = words.of_files(found, depth)
        pool = distinct(np.concatenate([in_files.best, dense.rows]))
        places_of_pool = found.rows.searchsorted(pool)
        again = np.zeros(len(found.rows), np.float32)
        again[places_of_pool] = self._again(dense, pool, in_files.chunks[places_of_pool])
        return Measured(
            asked=asked,
            corpus=corpus,
            files=found,
            roles=corpus.fields.of_files("role", found.files),
            in_files=in_files,
            names=names,
            defines=names.of_rows(found.rows),
            says=literals.of_rows(found.rows),
            fit=fit_of_names(corpus, share, found),
            places=places,
            share=share,
            dense=dense,
            again=again,
            answers=answers,
            earlier=self._changes.of(found.files) if self._changes else None,
        )

    def _again(self, dense: DenseLeg, pool: NDArray[np.intp], by_words: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine of a pool above the mean to query and best chunks together, divided by the best.

        Shape (len(pool),); 0 everywhere when `feedback` is switched off.

        Args:
            dense: The dense leg.
            pool: The best rows by words and by sense.
            by_words: Their scores by words.
        """
        again = np.zeros(len(pool), np.float32)
        if not self._weights["feedback"]:
            return again
        cosines = dense.cosines(pool)
        near = self._near(pool, by_words + above(cosines, dense.chunks))
        if near:
            total = self._backend.vectors(np.array(near)).sum(axis=0)
            more = np.divide(total, len(near), dtype=np.float32) * np.float32(_FEEDBACK_WEIGHT)
            base = dense.chunks.mean + float(self._corpus.fields.mean_vector @ more)
            closer = cosines + self._backend.products(more, pool)
            again = by_best(np.maximum(closer - np.float32(base), np.float32(0)))
        return again

    def _near(self, pool: NDArray[np.intp], values: NDArray[np.float32]) -> list[int]:
        """Return the rows of a pool that are taken for relevant: the five best, of those with a value above 0."""
        rows = pool[values > 0]
        tie_key = self._backend.tie_key
        return [
            int(rows[at])
            for at in best_by_key(rounded(values[values > 0]), _FEEDBACK_CHUNKS, lambda at: tie_key(int(rows[at])))
        ]


def _chunks(
    files: Candidates, number: int, place: int, evidence: float, own: NDArray[np.float32]
) -> Iterator[tuple[float, int, int, int]]:
    """Yield (−worth, place of the file, number within it, row) of at most three chunks of a file to be shown."""
    within = files.places(number)
    rows, own = files.rows[within], own[within]
    best = 0.0
    for order, local in enumerate(best_of(own, _MOST_OF_FILE).tolist()):
        value = float(own[local])
        best = best if order else value
        share = value / best if best > 0 else 1.0
        if order and (share < _NEAR_BEST or value < 0):
            return
        # A file whose evidence is below 0 must not win by halves of it.
        worth = evidence * (_NEXT_CHUNK**order * share if evidence > 0 else 1.0)
        yield -worth, place, order, int(rows[local])


def _own(seen: Measured, best: Sequence[int], may_show: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the evidence for each chunk of the best files by itself, which chooses those that stand for a file.

    Shape (len(Candidates.rows),); −1 for a chunk that may not be shown, or of another file.
    """
    is_asked = np.zeros(len(may_show), np.bool_)
    for number in best:
        is_asked[seen.files.places(number)] = True
    within = (is_asked & may_show).nonzero()[0]
    rows = seen.files.rows[within]
    own = seen.in_files.chunks[within] + seen.sense(rows)
    own += seen.defines[within]
    own += seen.says[within]
    own += seen.fit[within] * np.float32(_FIT_OF_CHUNK)
    for row, value in (seen.places.chunks | seen.answers.chunks).items():
        own[rows == row] += np.float32(value)
    found = np.full(len(may_show), -1, np.float32)
    found[within] = own
    return found


def _of_files(pieces: Mapping[str, NDArray[np.float32]], files: Sequence[int]) -> dict[int, dict[str, float]]:
    """Return number of a candidate → name of a piece → its value, for some candidates."""
    values = np.transpose(np.array(list(pieces.values()), np.float32)[:, np.array(files, np.intp)]).tolist()
    return {file: dict(zip(pieces, of_file, strict=True)) for file, of_file in zip(files, values, strict=True)}
