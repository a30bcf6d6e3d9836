"""Finds secrets in tables, where the name stands in the first line: CSV, TSV, Markdown, and what SQL inserts."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.base.patterns import compiled
from hybrid.redact.names import Clarity, clarity
from hybrid.redact.values import Place, is_secret

if TYPE_CHECKING:
    from collections.abc import Iterator

_MAX_LINE = 600
_MAX_ROWS = 500
_CELL = r"[^\S\n]*[\"'`*]{0,2}[\w .#/()-]{0,40}[\"'`*]{0,2}\s*"
_RULE = r"[\s|:+-]+"
_COLUMNS = r"\(([^()\n]{1,400})\)\s{0,20}values\s{0,20}(?=\()"
_TUPLE = r"\s{0,20},?\s{0,20}\((?P<cells>(?:'(?:[^'\\\n]|''|\\.)*'(?!')|\"(?:[^\"\\\n]|\\.)*\"|[^()'\"]){1,2000})\)"
_SQL_CELL = r"(?:\s*'(?P<quoted>(?:[^'\\\n]|''|\\.)*)'\s*|[^,'\"]*|\s*\"[^\"\n]*\"\s*)(?:,|$)"


def table_values(text: str, lower: str, start: int, end: int) -> list[tuple[int, int]]:
    """The secrets in the column of a telling name, and in those beside it that are telling too.

    Args:
        text: The text.
        lower: The same in lower case.
        start: Where the name begins.
        end: Where it ends.
    """
    if text[end : end + 1] in (",", ")", "`", '"') and "values" in lower[end : end + 200]:
        return list(_inserted(text, start))
    line_start = text.rfind("\n", max(0, start - _MAX_LINE), start) + 1
    opened = text.rfind(': "', line_start, start)
    if opened >= 0:  # The first line of a text in JSON.
        line_start = opened + 3
    line_end = text.find("\n", end, end + _MAX_LINE)
    if line_end < 0 or start - line_start > _MAX_LINE:
        return []
    line = text[line_start:line_end]
    mark = next((mark for mark in ("\t", "|", ";", ",") if mark in line), "")
    names = line.split(mark) if mark else []
    has_bars = mark == "|" and not names[0].strip() and not names[-1].strip()
    filled = names[1:-1] if has_bars else names
    if len(filled) < 2 or not all(name.strip() and compiled(_CELL).fullmatch(name) for name in filled):
        return []
    columns = _telling([name.strip(" \r\"'`*") for name in names])
    return list(_of_rows(text, line_end + 1, mark, len(names), columns)) if columns else []


def _telling(names: list[str]) -> dict[int, Clarity]:
    """Column → how clearly its name says that it holds secrets."""
    clear = {number: clarity(name.replace(" ", "_")) for number, name in enumerate(names)}
    return {number: found for number, found in clear.items() if found > Clarity.WEAK}


def _of_rows(text: str, at: int, mark: str, n_cells: int, columns: dict[int, Clarity]) -> Iterator[tuple[int, int]]:
    for _ in range(_MAX_ROWS):
        end = text.find("\n", at, at + 4 * _MAX_LINE)
        end = end if end >= 0 else min(len(text), at + 4 * _MAX_LINE)
        cells = text[at:end].split(mark)
        if len(cells) != n_cells:
            return
        for number, cell in enumerate(cells):
            value = cell.strip(" \r\"'`")
            if number in columns and is_secret(value, columns[number], Place.SETTING):
                start = at + cell.index(value)
                yield start, start + len(value)
            at += len(cell) + 1
        at = end + 1
        if at >= len(text):
            return


def _inserted(text: str, start: int) -> Iterator[tuple[int, int]]:
    """The values of `INSERT INTO t (a, password) VALUES (…), (…)`."""
    begin = text.rfind("(", max(0, start - 400), start)
    match = compiled(_COLUMNS, re.IGNORECASE).match(text, begin) if begin >= 0 else None
    if match is None:
        return
    columns = _telling([name.strip(" \"'`[]") for name in match.group(1).split(",")])
    at = match.end()
    for _ in range(_MAX_ROWS):
        row = compiled(_TUPLE).match(text, at)
        if row is None:
            return
        for number, cell in enumerate(compiled(_SQL_CELL).finditer(text, *row.span("cells"))):
            if number in columns and cell["quoted"] and is_secret(cell["quoted"], columns[number], Place.QUOTED):
                yield cell.span("quoted")
        at = row.end()
