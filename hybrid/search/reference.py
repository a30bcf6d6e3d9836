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
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hybrid.index.snapshot import Snapshot


class NonNegativeOkapi(BM25Okapi):
    """`BM25Okapi` with IDF = ln((N − n + 0.5)/(n + 0.5) + 1), which never is negative (as in Lucene)."""

    def _calc_idf(self, nd: dict[str, int]) -> None:
        for term, n in nd.items():
            self.idf[term] = math.log((self.corpus_size - n + 0.5) / (n + 0.5) + 1)


class ReferenceLexical:
    """The lexical leg of a snapshot through rank-bm25; made once per snapshot, which reads every posting."""

    def __init__(self, snapshot: Snapshot, *, k1: float, b: float) -> None:
        self._snapshot = snapshot
        self._rows = list(snapshot.live_rows())
        corpus = [[term for term, n in terms.items() for _ in range(n)] for terms in snapshot.all_terms()]
        # With k1 = 0 rank-bm25 divides 0 by 0 for a chunk without the term.
        self._engine = NonNegativeOkapi(corpus, k1=max(k1, 1e-12), b=b) if corpus else None

    def scores(self, tokens: Sequence[str]) -> NDArray[np.float64]:
        """`get_scores` of rank-bm25 for every live row, in order of rows."""
        if self._engine is None:
            return np.zeros(0)
        # rank-bm25 divides by the mean length, which is 0 when no chunk has a token.
        with np.errstate(invalid="ignore", divide="ignore"):
            found = np.asarray(cast("Any", self._engine).get_scores(list(tokens)), np.float64)
        return np.nan_to_num(found)

    def lexical(self, tokens: Sequence[str], depth: int, only: Filter) -> Leg:
        """As `SearchBackend.lexical`."""
        scores = np.full(self._snapshot.n_rows, np.nan)
        if tokens and self._rows:
            found = self.scores(tokens)
            scores[self._rows] = np.where(found > 0, found, np.nan)
        rows = np.flatnonzero(~np.isnan(scores) & self._snapshot.mask(only)).tolist()
        order = sorted(rows, key=lambda row: (-scores[row], *self._snapshot.tie_key(row)))
        return Leg(np.array(order[:depth], np.int64), scores)
