"""Reciprocal rank fusion of the legs, and the floor that a hit must reach; pure arithmetic over rankings and hits."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hybrid.types import Hit


def rrf(ranks: Iterable[int | None], *, weights: Iterable[float], rrf_k: int) -> float:
    """Return the reciprocal rank score of one row: Σ weight_leg / (rrf_k + rank_leg), in [0, Σ weights / (rrf_k + 1)].

    Args:
        ranks: The rank of the row in each leg, from 1; None where the leg did not rank it, which adds nothing.
        weights: One per leg, not negative.
        rrf_k: Positive; larger flattens the difference between ranks.

    Source: Cormack, Clarke, Büttcher (SIGIR 2009), who use rrf_k = 60.
    """
    # An exact sum: the order of the legs must not decide between equal scores.
    return math.fsum(w / (rrf_k + rank) for rank, w in zip(ranks, weights, strict=True) if rank is not None)


def fuse(
    legs: Sequence[Mapping[int, int]],
    *,
    weights: Sequence[float],
    rrf_k: int,
    tie_key: Callable[[int], tuple[bytes, str, int]],
) -> dict[int, float]:
    """Fuse the rankings of several legs by reciprocal rank.

    Args:
        legs: Row → rank, one mapping per leg.
        weights: One per leg, not negative; a leg of weight 0 gives no candidates.
        rrf_k: As in `rrf`.
        tie_key: Digest, path and line of a row: orders equal scores after the best single rank.

    Returns:
        Row → score as of `rrf`, best first.
    """
    counted = [(leg, weight) for leg, weight in zip(legs, weights, strict=True) if weight > 0]
    rows = dict.fromkeys(row for leg, _ in counted for row in leg)
    own = [weight for _, weight in counted]
    # Equal scores stand in the order of the best single rank.
    places = {
        row: (-rrf(ranks, weights=own, rrf_k=rrf_k), min(rank for rank in ranks if rank is not None))
        for row in rows
        if (ranks := [leg.get(row) for leg, _ in counted])
    }
    clashes = Counter(places.values())  # Only rows with equal places need a tie key, which costs a look-up.
    keys = {row: tie_key(row) for row, place in places.items() if clashes[place] > 1}
    nothing = (b"", "", 0)
    ordered = sorted(places, key=lambda row: (places[row], keys.get(row, nothing)))
    return {row: -places[row][0] for row in ordered}


# --- the floor: which hits are good enough to be shown once the gate is open ---------------------------------


def relevance(cosine: float | None, bm25: float | None, *, top_cosine: float, top_bm25: float) -> float:
    """Return the best share of a leg's top that a hit reaches, in [0, 1]; 0 without a score or a top above 0.

    A fused score cannot serve here: with equal weights a hit of one leg alone has less than half of the best rrf.
    """
    shares = [0.0]
    if cosine is not None and top_cosine > 0:
        shares.append(cosine / top_cosine)
    if bm25 is not None and top_bm25 > 0:
        shares.append(bm25 / top_bm25)
    return min(max(shares), 1.0)


def passing(hits: Iterable[Hit], threshold: float, min_cosine: float, is_named: Callable[[Hit], bool]) -> set[int]:
    """Return the rows of the hits that reach the floor.

    Args:
        hits: The hits, with their relevance.
        threshold: Least share of a leg's top, in [0, 1].
        min_cosine: Least raw cosine of the kind.
        is_named: Returns whether a hit holds an identifier or path of the query literally, which excuses a low cosine
            or none; asked only of a hit that has the share and lacks the cosine.
    """
    fitting = (hit for hit in hits if hit.relevance >= threshold)
    return {hit.row for hit in fitting if (hit.cosine is not None and hit.cosine >= min_cosine) or is_named(hit)}
