"""patterns.yaml: its records, and changes to it that keep every other byte; pure, `store` and `writing` open files.

Every change is read again before it is given back: it must hold the old records and the new one, else it is refused.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, cast

from msgspec import Struct
from msgspec.structs import asdict

from hybrid.records.errors import LoreWriteError, NoRecordError
from hybrid.records.lore.types import (
    DEPRECATED_MARK,
    AntiPattern,
    Lore,
    Pattern,
    is_mapping,
    is_withdrawn,
    is_zero,
    project_of,
    text_of,
)
from hybrid.records.lore.yaml_lists import SECTIONS, prefixed, read_items, with_records, with_values
from hybrid.records.types import Problem, well_formed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid.records.lore.yaml_lists import YamlRecord, YamlRecords


MAX_BYTES = 5_000_000
DEFAULT_CONFIDENCE = 0.5
CATEGORIES = tuple("bash git testing architecture naming security docker api performance general".split())
SEVERITIES = ("low", "medium", "high", "critical")

_HEADER = "# Patterns and anti-patterns of this project.\n\n"
_BOM = "\ufeff"


def read_patterns(data: bytes, file: str) -> Lore:
    """Return the records of a file, whatever its bytes are; what is broken becomes a problem with its line.

    Args:
        data: The whole file.
        file: Its path, for the problems.
    """
    items = read_items(_split(data)[1])
    patterns: list[Pattern] = []
    anti_patterns: list[AntiPattern] = []
    problems = [Problem(file, one.line + 1, one.message) for one in items.broken]
    for item in items.items:
        if not text_of(item.fields.get("id")) or not text_of(item.fields.get("name")):
            problems.append(Problem(file, item.line + 1, "a record without id or name"))
        elif item.section == "patterns":
            patterns.append(_pattern(item.fields))
        else:
            anti_patterns.append(_anti_pattern(item.fields))
    problems.sort(key=lambda one: one.line)
    return Lore(tuple(patterns), tuple(anti_patterns), problems=tuple(problems))


class PatternDraft(Struct, frozen=True):
    """A pattern before it has an id; attributes as of `Pattern`."""

    kind: ClassVar[str] = "pattern"

    name: str
    solution: str
    context: str = ""
    problem: str = ""
    category: str = "general"
    confidence: float = DEFAULT_CONFIDENCE


class AntiPatternDraft(Struct, frozen=True):
    """An anti-pattern before it has an id; attributes as of `AntiPattern`, in the order of the format."""

    kind: ClassVar[str] = "anti-pattern"

    name: str
    symptom: str
    risk: str
    fix: str
    category: str = "general"
    severity: str = "medium"


def new_pattern(
    identity: str, draft: PatternDraft | AntiPatternDraft, *, created_at: str, project: str
) -> dict[str, str | float | int]:
    """Return the keys of a pattern or an anti-pattern in the order of the format; an empty project is left out."""
    record: dict[str, str | float | int] = {"id": identity}
    if isinstance(draft, AntiPatternDraft):
        record |= asdict(draft)
    else:
        record |= {
            "name": draft.name,
            "context": draft.context,
            "problem": draft.problem,
            "solution": draft.solution,
            "category": draft.category,
            "origin": "",
            "confidence": draft.confidence,
            "validations": 0,
        }
    return record | {"created_at": created_at} | ({"project": project} if project else {})


def with_new(data: bytes, section: str, records: Sequence[Mapping[str, object]], file: str) -> bytes:
    """Return the bytes of a file with further records, before the others of its section.

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
    after = with_records(text or _HEADER, section, records, before.starts.get(section))
    expected = _by_section(before)
    expected[section] = [*(_read_again(dict(one)) for one in records), *expected[section]]
    if after is None or not _is_as(read_items(after), expected, before):
        raise LoreWriteError(
            f"{file} could not be changed without losing something of it, so it is as it was: add the record by hand, "
            f"or give `{section}:` a list with one `- ` a record"
        )
    return _joined(bom, after)


def with_deprecated(data: bytes, identity: str, file: str) -> bytes:
    """Return the bytes of a file with a record marked as withdrawn: by its name, and by confidence 0 if it has one.

    Every record with this id is marked; the bytes are the same when all were marked before.

    Raises:
        NoRecordError: No record of the file has this id.
        LoreWriteError: The file is in a form in which the name cannot be marked.
    """
    bom, text = _split(data)
    before = read_items(text)
    same = [item for item in before.items if text_of(item.fields.get("id")) == identity]
    if not same:
        raise NoRecordError(f"{file} has no record {identity}; `hybrid lore list` shows ids")
    edits = [
        (item.spans[key], prefixed(text, item.spans[key], DEPRECATED_MARK, value) if key == "name" else value)
        for item in same
        for key, value in _withdrawal(item).items()
    ]
    after = with_values(text, edits)
    expected = [
        (item.section, item.fields | _withdrawal(item) if item in same else item.fields) for item in before.items
    ]
    found = read_items(after)
    is_as_meant = [(item.section, item.fields) for item in found.items] == expected
    is_marked = all(is_withdrawn(item.fields | _withdrawal(item)) for item in same)
    if not (is_as_meant and is_marked and len(found.broken) == len(before.broken)):
        raise LoreWriteError(
            f"{file} is as it was: {identity} cannot be marked there; put {DEPRECATED_MARK}before its name by hand"
        )
    return _joined(bom, after)


def _withdrawal(item: YamlRecord) -> dict[str, str]:
    """Return key → new value, for what must change in a record that is withdrawn."""
    changes: dict[str, str] = {}
    name = item.fields.get("name")
    if "name" in item.spans and name and not name.startswith(DEPRECATED_MARK):
        changes["name"] = f"{DEPRECATED_MARK}{name}"
    if "confidence" in item.spans and not is_zero(item.fields["confidence"]):
        changes["confidence"] = "0.0"
    return changes


def _read_again(value: Any) -> Any:
    """Return a value as the reader gives it back: numbers as text, bytes that are no text as U+FFFD."""
    if is_mapping(value):
        return {_read_again(key): _read_again(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_read_again(one) for one in cast("list[object]", value)]
    return None if value is None else well_formed(str(value))


def _by_section(found: YamlRecords) -> dict[str, list[dict[str, Any]]]:
    """Return section → the keys of its records, in their order."""
    return {name: [item.fields for item in found.items if item.section == name] for name in SECTIONS}


def _is_as(found: YamlRecords, expected: dict[str, list[dict[str, Any]]], before: YamlRecords) -> bool:
    return _by_section(found) == expected and len(found.broken) == len(before.broken)


def _split(data: bytes) -> tuple[str, str]:
    """Return the byte order mark, which may be empty, and the text; bytes that are not UTF-8 become lone surrogates."""
    text = data.decode("utf-8", "surrogateescape")
    return (_BOM, text[1:]) if text.startswith(_BOM) else ("", text)


def _joined(bom: str, text: str) -> bytes:
    return f"{bom}{text}".encode("utf-8", "surrogateescape")


def _pattern(fields: Mapping[str, object]) -> Pattern:
    return Pattern(
        **_texts(fields, "id", "name", "context", "problem", "solution", "created_at"),
        category=text_of(fields.get("category")) or "general",
        confidence=_confidence(text_of(fields.get("confidence"))),
        project=project_of(fields),
        fields=fields,
    )


def _anti_pattern(fields: Mapping[str, object]) -> AntiPattern:
    return AntiPattern(
        **_texts(fields, "id", "name", "symptom", "risk", "fix", "created_at"),
        category=text_of(fields.get("category")) or "general",
        severity=text_of(fields.get("severity")) or "medium",
        project=project_of(fields),
        fields=fields,
    )


def _texts(fields: Mapping[str, object], *keys: str) -> dict[str, str]:
    return {key: text_of(fields.get(key)) for key in keys}


def _confidence(text: str) -> float:
    """Return a confidence, clipped to 0 to 1; the default for a text that is no finite number."""
    try:
        value = float(text)
    except ValueError:
        return DEFAULT_CONFIDENCE
    return min(max(value, 0.0), 1.0) if math.isfinite(value) else DEFAULT_CONFIDENCE
