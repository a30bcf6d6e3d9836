"""rank-bm25's Okapi with the non-negative IDF: the definition of the lexical leg, selectable and held equal by a test.

It visits every chunk for every query term, so it serves small projects and doubt, not speed. Importing rank-bm25 costs
more than 100 ms: nothing on the prompt path imports this module unless `[search] lexical_engine = "rank_bm25"`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from rank_bm25 import BM25Okapi  # pyright: ignore[reportMissingTypeStubs]

from hybrid.index.backend import Filter, Leg

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.index.backend import SearchBackend


class NonNegativeOkapi(BM25Okapi):
    """`BM25Okapi` with IDF = ln((N − n + 0.5)/(n + 0.5) + 1), which never is negative (as in Lucene)."""

    def _calc_idf(self, nd: dict[str, int]) -> None:
        for term, n in nd.items():
            self.idf[term] = math.log((self.corpus_size - n + 0.5) / (n + 0.5) + 1)


class KnownLeg(Leg):
    """A leg made of the ranked rows and the score of every row that has one."""

    def __init__(self, rows: Sequence[int], scores: Mapping[int, float]) -> None:
        found = np.array([scores[row] for row in rows], np.float64)
        super().__init__(np.array(rows, np.int64), found, max(scores.values(), default=None))
        self._all = scores

    def raw(self, row: int) -> float | None:
        """See `Leg.raw`."""
        return self._all.get(row)


class ReferenceLexical:
    """The lexical leg of an index through rank-bm25; making it reads every posting of the index."""

    def __init__(self, backend: SearchBackend, *, k1: float, b: float) -> None:
        self._backend = backend
        rows: list[int] = []
        corpus: list[list[str]] = []
        for row, terms in backend.live_terms():
            rows.append(row)
            corpus.append([term for term, n in terms.items() for _ in range(n)])
        self._rows = np.array(rows, np.int64)
        # With k1 = 0 rank-bm25 divides 0 by 0 for a chunk without the term.
        self._engine = NonNegativeOkapi(corpus, k1=max(k1, 1e-12), b=b) if corpus else None

    def scores(self, tokens: Sequence[str]) -> NDArray[np.float64]:
        """Return the bm25 of every live row by rank-bm25's `get_scores`, in order of rows."""
        if self._engine is None:
            return np.zeros(0)
        # rank-bm25 divides by the mean length, which is 0 when no chunk has a token.
        with np.errstate(invalid="ignore", divide="ignore"):
            scores = np.asarray(cast("Any", self._engine).get_scores(list(tokens)), np.float64)
        return np.nan_to_num(scores)

    def lexical(self, tokens: Sequence[str], depth: int, only: Filter) -> Leg:
        """As `SearchBackend.lexical`."""
        scores = self.scores(tokens) if tokens else np.zeros(len(self._rows))
        found = scores > 0
        score_of = dict(zip(self._rows[found].tolist(), scores[found].tolist(), strict=True))
        rows = self._rows[found]
        ranked: list[int] = rows[self._backend.allows(only, rows)].tolist()
        ranked.sort(key=lambda row: (-score_of[row], *self._backend.tie_key(row)))
        return KnownLeg(ranked[:depth], score_of)
