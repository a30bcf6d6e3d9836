"""Cuts source text into chunks along its definitions; `chunker` calls it.

A definition with its leading comments and decorators stays whole up to `max_chars`; a longer one is opened into its
head, its members and what lies between; neighbours in one scope are merged up to `merge_chars`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.chunking.contents import Contents
from hybrid.chunking.heads import join_scope
from hybrid.chunking.outline import OutlineNode, outline
from hybrid.chunking.textlines import TextLines
from hybrid.types import Chunk, Definition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hybrid.chunking.definitions import Parsed
    from hybrid.types import ChunkLimits

_TINY_CHARS = 60


class _Unit(Struct, frozen=True):
    """A range of lines that is not cut any further.

    Attributes:
        start: First line.
        end: Last line, inclusive.
        owner: The opened definition it is a part of, None at top level; equal owners may be merged.
        shown: The definition it shows, None for plain lines and for several definitions.
        is_mixed: True when it holds several definitions and thus shows none of them.
    """

    start: int
    end: int
    owner: Definition | None
    shown: Definition | None
    is_mixed: bool = False


def code_chunks(text: str, parsed: Parsed, limits: ChunkLimits) -> tuple[Chunk, ...]:
    """Chunks of a parsed text: in order, disjoint, together every line that is not blank."""
    lines = TextLines(text)
    root = outline(parsed.definitions, parsed.leads, len(lines))
    units = [unit for unit in _units(root, None, lines, limits, parsed) if unit.start <= unit.end]
    contents = Contents(parsed.definitions, parsed.comments)
    return tuple(_chunk(unit, contents) for unit in _merge(units, lines, limits))


def _units(
    node: OutlineNode, owner: Definition | None, lines: TextLines, limits: ChunkLimits, parsed: Parsed
) -> Iterator[_Unit]:
    """The units of a node in order; a node that is small enough is one unit, others are opened."""
    definition = node.definition
    if definition is not None and lines.size(node.start, node.end) <= limits.max_chars:
        yield _Unit(*lines.trimmed(node.start, node.end), owner, definition)
        return
    position = node.start
    for child in [*node.children, None]:
        gap_end = child.start - 1 if child is not None else node.end
        if position <= gap_end:
            for start, end in lines.cut(position, gap_end, limits, parsed.borders):
                is_shown = start == node.start or not node.children
                yield _Unit(*lines.trimmed(start, end), definition, definition if is_shown else None)
        if child is not None:
            yield from _units(child, definition, lines, limits, parsed)
            position = child.end + 1


def _merge(units: Sequence[_Unit], lines: TextLines, limits: ChunkLimits) -> list[_Unit]:
    """Neighbours in one scope merged while they fit; a line or two that would stand alone join what is before them."""
    merged: list[_Unit] = []
    for unit in units:
        if merged and _fits(merged[-1], unit, lines, limits):
            merged[-1] = _joined(merged[-1], unit)
        else:
            merged.append(unit)
    return merged


def _fits(before: _Unit, unit: _Unit, lines: TextLines, limits: ChunkLimits) -> bool:
    together = lines.size(before.start, unit.end)
    if before.owner is unit.owner and together <= limits.merge_chars:
        return True
    is_tiny = lines.size(unit.start, unit.end) < _TINY_CHARS and unit.shown is None and not unit.is_mixed
    is_mere_head = before.shown is None or before.shown is before.owner
    was_tiny = lines.size(before.start, before.end) < _TINY_CHARS and is_mere_head and not before.is_mixed
    return (is_tiny or (was_tiny and before.owner is unit.owner)) and together <= limits.max_chars


def _joined(before: _Unit, unit: _Unit) -> _Unit:
    """Two units as one: it shows the head that one of them is, else the only definition they show."""
    is_head = before.shown is not None and before.shown is before.owner
    is_mixed = not is_head and (
        before.is_mixed
        or unit.is_mixed
        or (before.shown is not None and unit.shown is not None and before.shown is not unit.shown)
    )
    shown = None if is_mixed else before.shown or unit.shown
    return _Unit(before.start, unit.end, before.owner, shown, is_mixed)


def _chunk(unit: _Unit, contents: Contents) -> Chunk:
    definitions, comments = contents.within(unit.start, unit.end)
    shown = unit.shown
    if shown is None:
        scope = "" if unit.owner is None else join_scope(unit.owner.scope, unit.owner.name)
        return Chunk(unit.start, unit.end, scope=scope, definitions=definitions, comments=comments)
    return Chunk(
        unit.start,
        unit.end,
        name=shown.name,
        kind=shown.kind,
        signature=shown.signature,
        scope=shown.scope,
        definitions=definitions,
        comments=comments,
    )
