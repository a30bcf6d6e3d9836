"""Changes a YAML text by insertion and replacement, so that every other byte stays; `patterns` calls it.

Nothing here checks the result: the caller reads it again before it replaces a file.
"""

from __future__ import annotations

import json
import re
from itertools import accumulate
from typing import TYPE_CHECKING, cast

from hybrid.records.lore.values import is_mapping, well_formed
from hybrid.records.lore.yaml_cut import split_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hybrid.records.lore.yaml_items import Span, Start

DEFAULT_INDENT = 4
_PLAIN_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_TO_ESCAPE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def scalar(text: str) -> str:
    """A text in double quotes that YAML reads as this very text; lone surrogates become U+FFFD."""
    quoted = json.dumps(well_formed(text), ensure_ascii=False)
    return _TO_ESCAPE.sub(lambda match: f"\\u{ord(match.group()):04x}", quoted)


def with_records(text: str, section: str, records: Sequence[Mapping[str, object]], start: Start | None) -> str | None:
    """A text with records before the first one of a section, in the indentation of the file.

    Args:
        text: Of the file, without a byte order mark.
        section: Key of the list.
        records: Keys in the order in which they shall stand; texts are quoted, numbers and null are not.
        start: The first record of the section; None when it has none.

    Returns:
        None when the section is written in a form that cannot be added to (a flow list).
    """
    end = "\r\n" if "\r\n" in text else "\n"
    lines = split_lines(text)
    if start is not None:
        block = _block(records, start.column, start.keys_column - start.column, end)
        return "".join([*lines[: start.line], block, *lines[start.line :]])
    block = _block(records, DEFAULT_INDENT, 2, end)
    empty_list = r"(?:[ \t]*\[[ \t]*\]|[ \t]+~|[ \t]+null)?"
    head = re.compile(rf"({re.escape(section)}[ \t]*:){empty_list}([ \t]+#[^\r\n]*|[ \t]*)[\r\n]*$")
    for number, line in enumerate(lines):
        if found := head.match(line):
            return "".join([*lines[:number], f"{found[1]}{found[2].rstrip()}{end}", block, *lines[number + 1 :]])
        if line.startswith(f"{section}:"):
            return None
    gap = "" if not text or text.endswith("\n\n") else end if text.endswith(("\n", "\r")) else end + end
    before = text + gap
    return f"{before}{section}:{end}{block}"


def with_values(text: str, values: Iterable[tuple[Span, str]]) -> str:
    """A text with what stands at some places replaced; a block scalar keeps the line end behind it."""
    for span, value in sorted(values, key=lambda one: (one[0].line, one[0].column), reverse=True):
        at, until = _range(text, span)
        kept = text[at:until]
        line_end = kept[len(kept.rstrip()) :] if span.style in ("|", ">") else ""
        text = f"{text[:at]}{value}{line_end}{text[until:]}"
    return text


def prefixed(text: str, span: Span, prefix: str, value: str) -> str:
    """How a scalar is written with a prefix before it; its own characters stay as they are where that can be.

    Args:
        text: The whole.
        span: Where the scalar stands.
        prefix: Without quotes, backslashes and line ends.
        value: The scalar's value with the prefix, for forms that must be written anew.
    """
    at, until = _range(text, span)
    raw = text[at:until]
    if span.style in ("'", '"'):
        return f"{raw[0]}{prefix}{raw[1:]}"
    if not span.style and span.line == span.end_line:
        # A lone surrogate stands for a byte that is not UTF-8 and is that byte again in the file.
        return json.dumps(f"{prefix}{raw}", ensure_ascii=False)
    return scalar(value)


def written(value: object) -> str:
    """A value on one line: texts in double quotes, lists and mappings in flow form, as YAML and JSON share it."""
    if isinstance(value, str):
        return scalar(value)
    if isinstance(value, list):
        return f"[{', '.join(map(written, cast('list[object]', value)))}]"
    if is_mapping(value):
        return f"{{{', '.join(f'{scalar(key)}: {written(one)}' for key, one in value.items())}}}"
    return "null" if value is None else str(value)


def _block(records: Sequence[Mapping[str, object]], column: int, gap: int, end: str) -> str:
    dash, indent = " " * column + "-" + " " * (gap - 1), " " * (column + gap)
    lines: list[str] = []
    for record in records:
        keys = [f"{_key(key)}: {written(value)}" for key, value in record.items()]
        lines += [f"{dash if number == 0 else indent}{line}{end}" for number, line in enumerate(keys)]
    return "".join(lines)


def _key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else scalar(key)


def _range(text: str, span: Span) -> tuple[int, int]:
    starts = [0, *accumulate(len(line) for line in split_lines(text))]
    return _offset(starts, span.line, span.column), _offset(starts, span.end_line, span.end_column)


def _offset(starts: Sequence[int], line: int, column: int) -> int:
    return min(starts[min(line, len(starts) - 1)] + column, starts[-1])
