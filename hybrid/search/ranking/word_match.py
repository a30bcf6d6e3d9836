"""Measures how far texts hold the words of a query, or words near in meaning; for the few texts that are ordered.

    match(query, text) = Σ over words q of the query: n_q · max over terms t of the text: cos(q, t), if > LEAST_COSINE

n_q is the length that the model's sum of the word alone has: telling words are long. Late interaction, as in Khattab
and Zaharia, SIGIR 2020, with static vectors; `hybrid.search.gate.meant` keeps the same for whole collections, and says
why `LEAST_COSINE` is what it is.
"""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

import numpy as np

from hybrid.search.gate.meant import LEAST_COSINE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hybrid.types import Embedder


def word_match(words: Sequence[str], texts: Sequence[Sequence[str]], embedder: Embedder) -> list[float]:
    """Return the match of each text as a share of the best text's match, in [0, 1].

    Args:
        words: Words of the query that tell something.
        texts: The terms of each text.
        embedder: The embedder of the collection.

    Returns:
        A value for each text; all 0 when nothing is near, or for a model whose lengths say nothing.
    """
    nothing = [0.0] * len(texts)
    asked = list(dict.fromkeys(words))
    terms = list(dict.fromkeys(term for text in texts for term in text))
    if not asked or not terms:
        return nothing
    vectors, lengths = embedder.embed_queries(asked)
    if lengths is None:
        return nothing
    cosines: NDArray[np.float32] = vectors @ np.swapaxes(embedder.embed_queries(terms)[0], 0, 1)
    cosines[cosines <= LEAST_COSINE] = 0
    number = {term: place for place, term in enumerate(terms)}
    ends = [0, *accumulate(len(text) for text in texts)]
    places = np.array([number[term] for text in texts for term in text], np.int64)
    near = cosines[:, places]
    best: list[NDArray[np.float32]] = [
        near[:, begin:end].max(axis=1) if end > begin else np.zeros(len(asked), np.float32)
        for begin, end in pairwise(ends)
    ]
    scores = np.array([float(lengths @ column) for column in best])
    top = float(scores.max())
    return (scores / top).tolist() if top > 0 else nothing
