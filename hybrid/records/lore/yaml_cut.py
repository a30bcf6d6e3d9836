"""Reads a YAML file of records; a file that is broken is cut into its records by indentation and each read alone.

So one malformed record never hides the others. `patterns` calls it; it knows nothing of what the keys mean.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.records.lore.yaml_items import SECTIONS, Broken, Item, Items, Start, YamlError, read_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_PIECES = 25_000
_MAX_BROKEN = 500
"""Bounds for files that are no records at all: reading one piece costs up to a tenth of a millisecond."""

_LINE = re.compile("[^\r\n\x85\u2028\u2029]*(?:\r\n|[\r\n\x85\u2028\u2029]|$)")
_HEAD = re.compile(rf"({'|'.join(SECTIONS)})[ \t]*:(?:[ \t]+#.*|[ \t]*)$")
_OTHER_HEAD = re.compile(r"[A-Za-z_][\w-]*[ \t]*:(?:[ \t]|$)")
_DASH = re.compile(r"( *)-([ ]+|$)")
_ID_DASH = re.compile(r" *-[ ]+[\"']?id[\"']?[ \t]*:")


class _Piece(Struct):
    """Lines of one record, from its dash on; `line` from 0."""

    section: str
    line: int
    lines: list[str]


def read_items(text: str) -> Items:
    """The records of a text, whatever it is; never raises.

    Args:
        text: Without a byte order mark; lone surrogates stand for bytes that are not UTF-8.
    """
    try:
        return read_whole(text)
    except YamlError as error:
        return _read_pieces(text, error)


def split_lines(text: str) -> list[str]:
    """Lines with their ends, as YAML 1.1 counts them; an empty text has none."""
    return [line for line in _LINE.findall(text) if line]


def _read_pieces(text: str, error: YamlError) -> Items:
    pieces, stray = _cut(split_lines(text))
    if not pieces:
        return Items(broken=(Broken(error.line, str(error)), *stray))
    items: list[Item] = []
    broken = list(stray)
    starts: dict[str, Start] = {}
    for number, piece in enumerate(pieces):
        if number >= _MAX_PIECES or len(broken) >= _MAX_BROKEN:
            broken.append(Broken(piece.line, "too many records, or too many broken ones: the rest was not read"))
            break
        found = _read_piece(piece)
        items += found.items
        broken += found.broken
        for section, start in found.starts:
            starts.setdefault(section, start)
    if not broken:
        broken.append(Broken(error.line, str(error)))  # Each record can be read, the whole cannot.
    return Items(tuple(items), tuple(sorted(broken, key=lambda one: one.line)), tuple(starts.items()))


def _read_piece(piece: _Piece) -> Items:
    shift = piece.line - 1
    try:
        found = read_whole(f"{piece.section}:\n{''.join(piece.lines)}")
    except YamlError as error:
        return Items(broken=(Broken(max(error.line, 1) + shift, str(error)),))
    return Items(
        tuple(_shifted(item, shift) for item in found.items),
        tuple(replace(one, line=one.line + shift) for one in found.broken),
        tuple((section, replace(start, line=start.line + shift)) for section, start in found.starts),
    )


def _shifted(item: Item, by: int) -> Item:
    spans = {key: replace(span, line=span.line + by, end_line=span.end_line + by) for key, span in item.spans.items()}
    return Item(item.section, item.line + by, item.fields, spans)


def _cut(lines: Sequence[str]) -> tuple[list[_Piece], list[Broken]]:
    """The pieces of all sections, and lines that belong to none (marks of a merge, for example)."""
    pieces: list[_Piece] = []
    stray: list[Broken] = []
    section, indent = "", -1
    for number, line in enumerate(lines):
        bare = line.rstrip("\r\n\x85\u2028\u2029")
        head = _HEAD.match(bare)
        if head or _OTHER_HEAD.match(bare):
            section, indent = (head[1] if head else ""), -1
        elif section and (dash := _DASH.match(bare)) and (indent in (-1, len(dash[1])) or _ID_DASH.match(bare)):
            indent = len(dash[1]) if indent == -1 else indent
            pieces.append(_Piece(section, number, [line]))
        elif section and bare.strip() and not bare.startswith((" ", "\t", "#")):
            if len(stray) < _MAX_BROKEN:
                stray.append(Broken(number, f"no part of a record: {bare[:60]!r}"))
        elif section and indent != -1:
            pieces[-1].lines.append(line)
    return pieces, stray
