"""The floor: which hits are good enough to be shown once the gate is open; pure arithmetic over hits."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from hybrid.types import Hit


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
