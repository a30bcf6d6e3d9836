"""A record as the ledger remembers it: enough of a hit to find it again in its file and show it, without a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hybrid.types import Hit

if TYPE_CHECKING:
    from collections.abc import Mapping

_ABOUT = ("kind", "path", "start_line", "end_line", "name", "chunk_kind", "scope", "cosine", "relevance")
"""What is kept of a hit: enough to find it again and to show it; ranks and fused scores belong to one search."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """A record that a session was given at some time, also before its last compaction.

    Attributes:
        hit: As it was when it fitted last; of its numbers only cosine and relevance are kept.
        times: How often it fitted: each time it was given, or held back because the session had it.
        turn: Number of the injection or repeat at which it fitted last.
    """

    hit: Hit
    times: int
    turn: int


def fields_of(hit: Hit) -> dict[str, Any]:
    """What is kept of a hit, as JSON; its digest is the key under which it is kept."""
    return {name: getattr(hit, name) for name in _ABOUT}


def hit_of(digest: str, fields: Mapping[str, Any]) -> Hit:
    """A hit as the ledger keeps it.

    Raises:
        KeyError: A field is missing.
        ValueError: A number is none.
        TypeError: The same.
    """
    cosine = fields["cosine"]
    return Hit(
        row=-1,
        rank=0,
        kind=str(fields["kind"]),
        path=str(fields["path"]),
        start_line=int(fields["start_line"]),
        end_line=int(fields["end_line"]),
        name=str(fields["name"]),
        chunk_kind=str(fields["chunk_kind"]),
        scope=str(fields["scope"]),
        signature="",
        language="",
        digest=bytes.fromhex(digest),
        cosine=None if cosine is None else float(cosine),
        cosine_rank=None,
        bm25=None,
        bm25_rank=None,
        rrf=0.0,
        relevance=float(fields["relevance"]),
    )
