"""Reciprocal rank fusion of the legs, and the floor that a hit must reach; pure arithmetic over rankings and hits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hybrid.types import Hit, Ranked


class Fused(Struct, frozen=True):
    """A fused candidate.

    Attributes:
        row: Row of the chunk in the snapshot.
        rrf: The score, in (0, Σ weights / (rrf_k + 1)].
        ranks: Rank in each leg, or None where the leg did not rank it.
    """

    row: int
    rrf: float
    ranks: tuple[int | None, ...]

    @property
    def best_rank(self) -> int:
        """The best rank in any leg."""
        return min(rank for rank in self.ranks if rank is not None)


def fuse(
    rankings: Sequence[Sequence[Ranked]],
    *,
    weights: Sequence[float],
    rrf_k: int,
    tie_key: Callable[[int], tuple[bytes, str, int]],
) -> list[Fused]:
    """Fuse rankings by reciprocal rank: rrf(row) = Σ weight_leg / (rrf_k + rank_leg(row)).

    Args:
        rankings: One per leg, ranks from 1; a row absent from a leg gets nothing from it.
        weights: One per leg, not negative; a leg of weight 0 gives no candidates.
        rrf_k: Positive; larger flattens the difference between ranks.
        tie_key: Digest, path and line of a row: orders equal scores after the best single rank.

    Returns:
        Best first. Empty rankings give an empty list.

    Source: Cormack, Clarke, Büttcher (SIGIR 2009), who use rrf_k = 60.
    """
    shares: dict[int, list[float]] = {}
    ranks: dict[int, list[int | None]] = {}
    for leg, (ranking, weight) in enumerate(zip(rankings, weights, strict=True)):
        if weight <= 0:
            continue
        for entry in ranking:
            shares.setdefault(entry.row, []).append(weight / (rrf_k + entry.rank))
            ranks.setdefault(entry.row, [None] * len(rankings))[leg] = entry.rank
    # An exact sum: the order of the legs must not decide between equal scores.
    fused = [Fused(row, math.fsum(of_row), tuple(ranks[row])) for row, of_row in shares.items()]
    keys: dict[int, tuple[bytes, str, int]] = {}
    clashes = _clashing(fused)
    for entry in fused:
        if (entry.rrf, entry.best_rank) in clashes:
            keys[entry.row] = tie_key(entry.row)
    nothing = (b"", "", 0)
    return sorted(fused, key=lambda entry: (-entry.rrf, entry.best_rank, keys.get(entry.row, nothing)))


def one_of(ranks: Sequence[Mapping[int, int]], row: int, *, weights: Sequence[float], rrf_k: int) -> Fused:
    """Return one row as `fuse` would give it, without the others; rrf is 0 when no leg of a weight above 0 ranks it.

    Args:
        ranks: Row → rank, one per leg.
        row: Any row.
        weights: One per leg, not negative.
        rrf_k: Positive; as in `fuse`.
    """
    found = [of_leg.get(row) if weight > 0 else None for of_leg, weight in zip(ranks, weights, strict=True)]
    shares = [weight / (rrf_k + rank) for weight, rank in zip(weights, found, strict=True) if rank is not None]
    return Fused(row, math.fsum(shares), tuple(found))


def _clashing(fused: Sequence[Fused]) -> set[tuple[float, int]]:
    """The (rrf, best rank) pairs that more than one row has: only they need a tie key, which costs a look-up."""
    seen: set[tuple[float, int]] = set()
    twice: set[tuple[float, int]] = set()
    for entry in fused:
        pair = (entry.rrf, entry.best_rank)
        (twice if pair in seen else seen).add(pair)
    return twice


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
