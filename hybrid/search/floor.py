"""The floor: which hits are good enough to be shown once the gate is open; pure arithmetic over one hit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hybrid.types import Hit


def relevance(cosine: float | None, bm25: float | None, *, top_cosine: float, top_bm25: float) -> float:
    """The best share of a leg's top that a hit reaches, in [0, 1].

    A fused score cannot serve here: with equal weights a hit of one leg alone has less than half of the best rrf.
    """
    shares = [0.0]
    if cosine is not None and top_cosine > 0:
        shares.append(cosine / top_cosine)
    if bm25 is not None and top_bm25 > 0:
        shares.append(bm25 / top_bm25)
    return min(max(shares), 1.0)


def passes(hit: Hit, *, threshold: float, min_cosine: float, is_named: bool) -> bool:
    """Return whether a hit reaches the floor.

    Args:
        hit: The hit, with its relevance.
        threshold: Least share of a leg's top, in [0, 1].
        min_cosine: Least raw cosine of the kind.
        is_named: The hit holds an identifier or path of the query literally, which excuses a low cosine.
    """
    if hit.relevance < threshold:
        return False
    return is_named or (hit.cosine is not None and hit.cosine >= min_cosine)
