"""Cuts text without a usable structure into chunks at blank lines; `chunker` calls it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.chunking.textlines import TextLines
from hybrid.types import Chunk

if TYPE_CHECKING:
    from hybrid.types import ChunkLimits


def line_chunks(text: str, limits: ChunkLimits) -> tuple[Chunk, ...]:
    """Chunks near `cut_chars`, cut at blank lines where there are any; together every line that is not blank."""
    lines = TextLines(text)
    pieces = (lines.trimmed(start, end) for start, end in lines.cut(1, len(lines), limits, {}))
    return tuple(Chunk(start, end) for start, end in pieces if start <= end)
