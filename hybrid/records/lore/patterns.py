"""patterns.yaml: its records, and changes to it that keep every other byte; pure, `store` and `writing` open files.

Every change is read again before it is given back: it must hold the old records and the new one, else it is refused.
"""

from __future__ import annotations

import json
import math
import re
from itertools import accumulate
from typing import TYPE_CHECKING, Any, cast

from hybrid.records.errors import LoreWriteError, NoRecordError
from hybrid.records.lore.values import (
    DEPRECATED_MARK,
    AntiPattern,
    Pattern,
    PatternFile,
    is_mapping,
    is_zero,
    project_of,
    text_of,
    well_formed,
)
from hybrid.records.lore.yaml_cut import read_items, split_lines
from hybrid.records.types import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hybrid.records.lore.yaml_items import Item, Items, Span, Start


# Changes a YAML text by insertion and replacement, so that every other byte stays; `patterns` calls it.
#
# Nothing here checks the result: the caller reads it again before it replaces a file.

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


MAX_BYTES = 5_000_000
DEFAULT_CONFIDENCE = 0.5
CATEGORIES = tuple("bash git testing architecture naming security docker api performance general".split())
SEVERITIES = ("low", "medium", "high", "critical")

_HEADER = "# Patterns and anti-patterns of this project.\n\n"
_BOM = "\ufeff"


def read_patterns(data: bytes, file: str) -> PatternFile:
    """The records of a file, whatever its bytes are; what is broken becomes a problem with its line.

    Args:
        data: The whole file.
        file: Its path, for the problems.
    """
    return _file_of(read_items(_split(data)[1]), file)


def new_pattern(identity: str, name: str, solution: str, **more: str | float) -> dict[str, str | float | int]:
    """A pattern's keys in their order.

    Args:
        identity: `pat-…`.
        name: Title.
        solution: What to do.
        more: `context`, `problem`, `category`, `origin`, `confidence`, `created_at`, `project`; the last is left
            out when it is not given.
    """
    record: dict[str, str | float | int] = {
        "id": identity,
        "name": name,
        "context": more.get("context", ""),
        "problem": more.get("problem", ""),
        "solution": solution,
        "category": more.get("category", "general"),
        "origin": more.get("origin", ""),
        "confidence": more.get("confidence", DEFAULT_CONFIDENCE),
        "validations": 0,
        "created_at": more.get("created_at", ""),
    }
    return record | ({"project": more["project"]} if more.get("project") else {})


def with_new(data: bytes, section: str, records: Sequence[Mapping[str, object]], file: str) -> bytes:
    """The bytes of a file with further records, before the others of its section.

    Args:
        data: The whole file; empty for one that does not exist.
        section: `patterns` or `anti_patterns`.
        records: Keys and values; texts may hold anything.
        file: Its path, for the message.

    Raises:
        LoreWriteError: The file is in a form that cannot be added to without touching what is there.
    """
    bom, text = _split(data)
    before = read_items(text)
    after = with_records(text or _HEADER, section, records, dict(before.starts).get(section))
    expected = [
        *((section, _read_again(dict(one))) for one in records),
        *_plain(before, section),
        *_plain(before, _other(section)),
    ]
    if after is None or not _is_as(read_items(after), expected, before, section):
        raise LoreWriteError(
            f"{file} could not be changed without losing something of it, so it is as it was: add the record by hand, "
            f"or give `{section}:` a list with one `- ` a record"
        )
    return _joined(bom, after)


def with_deprecated(data: bytes, identity: str, file: str) -> bytes:
    """The bytes of a file with a record marked as withdrawn: by its name, and a confidence of 0 where it has one.

    Every record of this id is marked; the same bytes come back when all are.

    Raises:
        NoRecordError: None has this id.
        LoreWriteError: It has no name that could be marked.
    """
    bom, text = _split(data)
    before = read_items(text)
    same = [item for item in before.items if text_of(item.fields.get("id")) == identity]
    if not same:
        raise NoRecordError(f"{file} has no record {identity}; `hybrid lore list` shows ids")
    after = with_values(text, [edit for item in same for edit in _edits(text, item)])
    expected = [
        (item.section, item.fields | _withdrawal(item) if item in same else item.fields) for item in before.items
    ]
    found = read_items(after)
    is_as_meant = [(item.section, item.fields) for item in found.items] == expected
    is_marked = all(_is_withdrawn(item.fields | _withdrawal(item)) for item in same)
    if not (is_as_meant and is_marked and len(found.broken) == len(before.broken)):
        raise LoreWriteError(
            f"{file} is as it was: {identity} cannot be marked there; put {DEPRECATED_MARK}before its name by hand"
        )
    return _joined(bom, after)


def _withdrawal(item: Item) -> dict[str, str]:
    """Key → new value, for what must change in a record that is withdrawn."""
    changes: dict[str, str] = {}
    name = item.fields.get("name")
    if "name" in item.spans and name and not name.startswith(DEPRECATED_MARK):
        changes["name"] = f"{DEPRECATED_MARK}{name}"
    if "confidence" in item.spans and not is_zero(item.fields["confidence"]):
        changes["confidence"] = "0.0"
    return changes


def _edits(text: str, item: Item) -> list[tuple[Span, str]]:
    """Places and what shall stand there."""
    return [
        (item.spans[key], prefixed(text, item.spans[key], DEPRECATED_MARK, value) if key == "name" else value)
        for key, value in _withdrawal(item).items()
    ]


def _is_withdrawn(fields: Mapping[str, object]) -> bool:
    return text_of(fields.get("name")).startswith(DEPRECATED_MARK.rstrip()) or is_zero(fields.get("confidence"))


def _read_again(value: Any) -> Any:
    """A value as the reader gives it back: numbers as text, bytes that are no text as U+FFFD."""
    if is_mapping(value):
        return {_read_again(key): _read_again(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_read_again(one) for one in cast("list[object]", value)]
    return None if value is None else well_formed(str(value))


def _other(section: str) -> str:
    return "anti_patterns" if section == "patterns" else "patterns"


def _plain(items: Items, section: str) -> list[tuple[str, dict[str, Any]]]:
    return [(item.section, item.fields) for item in items.items if item.section == section]


def _is_as(found: Items, expected: list[tuple[str, dict[str, Any]]], before: Items, section: str) -> bool:
    now = [*_plain(found, section), *_plain(found, _other(section))]
    return now == expected and len(found.broken) == len(before.broken)


def _split(data: bytes) -> tuple[str, str]:
    """Byte order mark and text; bytes that are not UTF-8 become lone surrogates and come back as they were."""
    text = data.decode("utf-8", "surrogateescape")
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


def _joined(bom: str, text: str) -> bytes:
    return f"{bom}{text}".encode("utf-8", "surrogateescape")


def _file_of(items: Items, file: str) -> PatternFile:
    patterns: list[Pattern] = []
    anti_patterns: list[AntiPattern] = []
    problems = [Problem(file, one.line + 1, one.message) for one in items.broken]
    for item in items.items:
        if not text_of(item.fields.get("id")) or not text_of(item.fields.get("name")):
            problems.append(Problem(file, item.line + 1, "a record without id or name"))
        elif item.section == "patterns":
            patterns.append(_pattern(item))
        else:
            anti_patterns.append(_anti_pattern(item))
    return PatternFile(tuple(patterns), tuple(anti_patterns), tuple(sorted(problems, key=lambda one: one.line)))


def _pattern(item: Item) -> Pattern:
    get = item.fields.get
    return Pattern(
        id=text_of(get("id")),
        name=text_of(get("name")),
        context=text_of(get("context")),
        problem=text_of(get("problem")),
        solution=text_of(get("solution")),
        category=text_of(get("category")) or "general",
        confidence=_confidence(text_of(get("confidence"))),
        created_at=text_of(get("created_at")),
        project=project_of(item.fields),
        fields=item.fields,
    )


def _anti_pattern(item: Item) -> AntiPattern:
    get = item.fields.get
    return AntiPattern(
        id=text_of(get("id")),
        name=text_of(get("name")),
        symptom=text_of(get("symptom")),
        risk=text_of(get("risk")),
        fix=text_of(get("fix")),
        category=text_of(get("category")) or "general",
        severity=text_of(get("severity")) or "medium",
        created_at=text_of(get("created_at")),
        project=project_of(item.fields),
        fields=item.fields,
    )


def _confidence(text: str) -> float:
    """In 0 to 1; what is no number counts as the default."""
    try:
        value = float(text)
    except ValueError:
        return DEFAULT_CONFIDENCE
    return min(max(value, 0.0), 1.0) if math.isfinite(value) else DEFAULT_CONFIDENCE
