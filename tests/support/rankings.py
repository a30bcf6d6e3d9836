"""The ranking of a leg row by row, as tests compare it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from hybrid.index.backend import Leg


class Ranked(NamedTuple):
    """A row of a leg, its rank from 1, and its cosine or bm25."""

    row: int
    rank: int
    raw: float


def ranking(leg: Leg) -> tuple[Ranked, ...]:
    """Return the ranked rows of a leg, best first."""
    found = zip(leg.rows.tolist(), leg.scores.tolist(), strict=True)
    return tuple(Ranked(row, rank, raw) for rank, (row, raw) in enumerate(found, 1))
