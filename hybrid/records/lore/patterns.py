"""patterns.yaml: its records, and changes to it that keep every other byte; pure, `store` and `writing` open files.

Nothing but text, null, lists and mappings is ever made of the YAML, which is read from its events, within bounds: tags
that ask for more, and aliases that could grow, are refused. Dates, numbers and booleans stay the text that they are. A
file that is broken is cut into its records by indentation and each is read alone, so one malformed record never hides
the others.

Every change is read again before it is given back: it must hold the old records and the new one, else it is refused.
"""

from __future__ import annotations

import json
import math
import re
from itertools import accumulate
from typing import TYPE_CHECKING, Any, ClassVar, cast

from msgspec import Struct, field
from msgspec.structs import asdict

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
from hybrid.records.types import LoreWriteError, NoRecordError, Problem, well_formed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence


_SECTIONS = ("patterns", "anti_patterns")

_MAX_DEPTH = 20
_MAX_ALIASES = 100
_MAX_ALIASED_CHARS = 10_000
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_PLAIN_TAGS = re.compile(r"!|tag:yaml\.org,2002:(?:str|int|float|bool|null|timestamp|seq|map)")


class _YamlError(Exception):
    """A YAML text cannot be read; `line` is the line of the mistake, from 0."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class _Span(Struct, frozen=True):
    """The place of a value: lines and columns from 0, in characters; the end is exclusive.

    Attributes:
        style: The mark of the scalar, `'`, `"`, `|`, `>`, or empty for a plain one.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    style: str


class _YamlRecord(Struct, frozen=True):
    """One record of a list.

    Attributes:
        section: Key of the list.
        line: Line of its first key, from 0.
        fields: Every key with text, None, lists and mappings as values.
        spans: Where the scalars among them stand.
    """

    section: str
    line: int
    fields: dict[str, Any]
    spans: dict[str, _Span]


class _BrokenPart(Struct, frozen=True):
    """A part of a text that is no record; `line` is where it begins, from 0."""

    line: int
    message: str


class _SectionStart(Struct, frozen=True):
    """The begin of a section's first record: its dash, and the column of its keys; lines and columns from 0."""

    line: int
    column: int
    keys_column: int


class _YamlRecords(Struct, frozen=True):
    """The records of a text; its reader fills the lists, and nothing changes them afterwards.

    Attributes:
        items: Records in the order of the text.
        broken: Parts of the text that could not be read.
        starts: Section → begin of its first record, for sections that are a list in block form with a record.
    """

    items: list[_YamlRecord] = field(default_factory=list[_YamlRecord])
    broken: list[_BrokenPart] = field(default_factory=list[_BrokenPart])
    starts: dict[str, _SectionStart] = field(default_factory=dict[str, _SectionStart])


def _read_whole(text: str, shift: int = 0) -> _YamlRecords:
    """Return the records of a text that is well-formed YAML.

    Args:
        text: Without a byte order mark; lone surrogates stand for bytes that are not UTF-8.
        shift: Number that is added to each line that is told, also in an error.

    Raises:
        _YamlError: The text is not well-formed, or goes beyond the bounds.
    """
    import yaml  # Costs 15 ms; only who has patterns pays for it.

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    reader = _Reader(cast("Any", yaml).parse(well_formed(text), Loader=loader), shift)
    try:
        reader.read()
    except yaml.YAMLError as error:
        raise _YamlError(_message_of(error), _line_of(error) + shift) from error
    return reader.found


def _message_of(error: Exception) -> str:
    problem = getattr(error, "problem", None) or getattr(error, "reason", None)
    return str(problem or error).split("\n", 1)[0]


def _line_of(error: Exception) -> int:
    """Return the line, from 0, of the mistake in a text; for a part that never ends, the line where it begins."""
    is_open = "end of stream" in _message_of(error)
    marks = (
        getattr(error, name, None) for name in (("context_mark", "problem_mark") if is_open else ("problem_mark",))
    )
    return next((mark.line for mark in marks if mark), 0)


class _Reader:
    """Builds values from the events of YAML; lists and mappings deeper than a bound are refused."""

    def __init__(self, events: Iterator[Any], shift: int) -> None:
        self.found = _YamlRecords()
        self._events = events
        self._shift = shift
        self._anchors: dict[str, str | None] = {}
        self._n_aliases = 0

    def read(self) -> None:
        """Read every document of the text."""
        for event in self._events:
            name = _kind(event)
            if name == "MappingStart":
                self._root()
            elif name in ("SequenceStart", "Alias") or (name == "Scalar" and event.value not in _NULLS):
                self._refuse(event, "no `patterns:` or `anti_patterns:` stands here")
                self._value(event, 1)

    def _root(self) -> None:
        for key, value in self._pairs(1):
            if key in _SECTIONS and _kind(value) == "SequenceStart":
                self._section(key, value)
            elif self._value(value, 1) is not None and key in _SECTIONS:
                self._refuse(value, f"`{key}` is no list")

    def _section(self, section: str, start: Any) -> None:
        self._check(start)
        for event in self._elements():
            if not start.flow_style:
                dash = _SectionStart(self._line(start), start.start_mark.column, event.start_mark.column)
                self.found.starts.setdefault(section, dash)
            if _kind(event) == "MappingStart":
                self._item(section, event)
            else:
                self._value(event, 2)
                self._refuse(event, f"an element of `{section}` is no record")

    def _item(self, section: str, start: Any) -> None:
        self._check(start)
        fields: dict[str, Any] = {}
        spans: dict[str, _Span] = {}
        for key, value in self._pairs(3):
            fields[key] = self._value(value, 3)
            spans.pop(key, None)
            if _kind(value) == "Scalar":
                spans[key] = self._span(value)
        self.found.items.append(_YamlRecord(section, self._line(start), fields, spans))

    def _elements(self) -> Iterator[Any]:
        """Yield the first event of each element of a list; the caller reads the others before it goes on."""
        while _kind(event := next(self._events)) != "SequenceEnd":
            yield event

    def _pairs(self, depth: int) -> Iterator[tuple[str, Any]]:
        """Yield the keys of a mapping, each with the first event of its value; the caller reads the others."""
        while _kind(event := next(self._events)) != "MappingEnd":
            if _kind(event) != "Scalar":
                raise _YamlError("a key is no text", self._line(event))
            yield str(self._value(event, depth) or ""), next(self._events)

    def _value(self, event: Any, depth: int) -> Any:
        """Return the value that begins with an event: text, None, a list or a mapping."""
        kind = _kind(event)
        if kind == "Alias":
            return self._aliased(event)
        self._check(event)
        if kind == "Scalar":
            is_null = event.implicit[0] and event.value in _NULLS
            value = None if is_null else str(event.value)
            if event.anchor:
                self._anchors[event.anchor] = value
            return value
        if depth >= _MAX_DEPTH:
            raise _YamlError(f"more than {_MAX_DEPTH} levels", self._line(event))
        if kind == "SequenceStart":
            return [self._value(element, depth + 1) for element in self._elements()]
        return {key: self._value(value, depth + 1) for key, value in self._pairs(depth + 1)}

    def _aliased(self, event: Any) -> str | None:
        """Return the text behind an alias; lists and mappings may not be repeated, since repeats of repeats explode."""
        self._n_aliases += 1
        line = self._line(event)
        if event.anchor not in self._anchors:
            raise _YamlError(f"the alias *{event.anchor} stands for no text", line)
        value = self._anchors[event.anchor]
        if self._n_aliases > _MAX_ALIASES or len(value or "") > _MAX_ALIASED_CHARS:
            raise _YamlError(f"more than {_MAX_ALIASES} aliases, or one for over {_MAX_ALIASED_CHARS} characters", line)
        return value

    def _check(self, event: Any) -> None:
        if event.tag and not _PLAIN_TAGS.fullmatch(event.tag):
            raise _YamlError(f"the tag {event.tag} asks for more than text", self._line(event))

    def _refuse(self, event: Any, message: str) -> None:
        self.found.broken.append(_BrokenPart(self._line(event), message))

    def _line(self, event: Any) -> int:
        return event.start_mark.line + self._shift

    def _span(self, event: Any) -> _Span:
        end = event.end_mark
        return _Span(self._line(event), event.start_mark.column, end.line + self._shift, end.column, event.style or "")


def _kind(event: Any) -> str:
    return type(event).__name__.removesuffix("Event")


# --- what can be read of any text ---------------------------------------------------------------------------

_MAX_PIECES = 25_000
_MAX_BROKEN = 500
"""The most broken parts of a file, after which the rest is not read: a piece takes up to a tenth of a millisecond."""

_LINE = re.compile("[^\r\n\x85\u2028\u2029]*(?:\r\n|[\r\n\x85\u2028\u2029]|$)")
_HEAD = re.compile(rf"({'|'.join(_SECTIONS)})[ \t]*:(?:[ \t]+#.*|[ \t]*)$")
_OTHER_HEAD = re.compile(r"[A-Za-z_][\w-]*[ \t]*:(?:[ \t]|$)")
_DASH = re.compile(r"( *)-([ ]+|$)")
_ID_DASH = re.compile(r" *-[ ]+[\"']?id[\"']?[ \t]*:")


class _Piece(Struct):
    """The lines of one record, from its dash on; `line` is the number of the first, from 0."""

    section: str
    line: int
    lines: list[str]


def _read_items(text: str) -> _YamlRecords:
    """Return the records of any text; of one that is not well-formed those that can be read alone. Never raises.

    Args:
        text: Without a byte order mark; lone surrogates stand for bytes that are not UTF-8.
    """
    try:
        return _read_whole(text)
    except _YamlError as error:
        return _read_pieces(text, error)


def _split_lines(text: str) -> list[str]:
    """Return lines with their ends, as YAML 1.1 counts them; an empty text has none."""
    return [line for line in _LINE.findall(text) if line]


def _read_pieces(text: str, error: _YamlError) -> _YamlRecords:
    """Return what can be read of a text that is not well-formed; `error` is told where no part of it is broken."""
    pieces, stray = _cut(_split_lines(text))
    found = _YamlRecords(broken=stray)
    for number, piece in enumerate(pieces):
        if number >= _MAX_PIECES or len(found.broken) >= _MAX_BROKEN:
            stop = _BrokenPart(piece.line, "too many records, or too many broken ones: the rest was not read")
            found.broken.append(stop)
            break
        try:
            part = _read_whole(f"{piece.section}:\n{''.join(piece.lines)}", piece.line - 1)
        except _YamlError as mistake:
            found.broken.append(_BrokenPart(max(mistake.line, piece.line), str(mistake)))
            continue
        found.items.extend(part.items)
        found.broken.extend(part.broken)
        for section, start in part.starts.items():
            found.starts.setdefault(section, start)
    if not found.broken or not pieces:  # Each record can be read, the whole cannot; or there is none.
        found.broken.insert(0, _BrokenPart(error.line, str(error)))
    if pieces:
        found.broken.sort(key=lambda one: one.line)
    return found


def _cut(lines: Sequence[str]) -> tuple[list[_Piece], list[_BrokenPart]]:
    """Return the pieces of all sections, and lines that belong to none (marks of a merge, for example)."""
    pieces: list[_Piece] = []
    stray: list[_BrokenPart] = []
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
                stray.append(_BrokenPart(number, f"no part of a record: {bare[:60]!r}"))
        elif section and indent != -1:
            pieces[-1].lines.append(line)
    return pieces, stray


# --- changes of a text --------------------------------------------------------------------------------------

_DEFAULT_INDENT = 4


_PLAIN_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


_TO_ESCAPE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def _scalar(text: str) -> str:
    """Return a text in double quotes that YAML reads as this very text; lone surrogates become U+FFFD."""
    quoted = json.dumps(well_formed(text), ensure_ascii=False)
    return _TO_ESCAPE.sub(lambda match: f"\\u{ord(match.group()):04x}", quoted)


def _with_records(
    text: str, section: str, records: Sequence[Mapping[str, object]], start: _SectionStart | None
) -> str | None:
    """Return a text with records before the first one of a section, in the indentation of the file.

    Args:
        text: The text of the file, without a byte order mark.
        section: Key of the list.
        records: Keys in the order in which they shall stand; texts are quoted, numbers and null are not.
        start: The first record of the section; None when it has none.

    Returns:
        None when the section is written in a form that cannot be added to (a flow list).
    """
    end = "\r\n" if "\r\n" in text else "\n"
    lines = _split_lines(text)
    if start is not None:
        block = _block(records, start.column, start.keys_column - start.column, end)
        return "".join([*lines[: start.line], block, *lines[start.line :]])
    block = _block(records, _DEFAULT_INDENT, 2, end)
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


def _with_values(text: str, values: Iterable[tuple[_Span, str]]) -> str:
    """Return a text with the scalars at some places replaced by other text; line ends after block scalars stay."""
    for span, value in sorted(values, key=lambda one: (one[0].line, one[0].column), reverse=True):
        at, until = _range(text, span)
        kept = text[at:until]
        line_end = kept[len(kept.rstrip()) :] if span.style in ("|", ">") else ""
        text = f"{text[:at]}{value}{line_end}{text[until:]}"
    return text


def _marked(text: str, span: _Span, value: str) -> str:
    """Return how a name is written with the mark of a withdrawn record; its own characters stay where that can be.

    Args:
        text: The whole text of the file.
        span: The place of the name.
        value: The name with the mark, for forms that must be written anew.
    """
    at, until = _range(text, span)
    raw = text[at:until]
    if span.style in ("'", '"'):
        return f"{raw[0]}{DEPRECATED_MARK}{raw[1:]}"
    if not span.style and span.line == span.end_line:
        # A lone surrogate stands for a byte that is not UTF-8 and is that byte again in the file.
        return json.dumps(f"{DEPRECATED_MARK}{raw}", ensure_ascii=False)
    return _scalar(value)


def _written(value: object) -> str:
    """Return a value on one line, in the form that YAML and JSON share; numbers stay as they are."""
    if isinstance(value, str):
        return _scalar(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_written, cast('list[object]', value)))}]"
    if is_mapping(value):
        return f"{{{', '.join(f'{_scalar(key)}: {_written(one)}' for key, one in value.items())}}}"
    return "null" if value is None else str(value)


def _block(records: Sequence[Mapping[str, object]], column: int, gap: int, end: str) -> str:
    dash, indent = " " * column + "-" + " " * (gap - 1), " " * (column + gap)
    lines: list[str] = []
    for record in records:
        keys = [f"{_key(key)}: {_written(value)}" for key, value in record.items()]
        lines += [f"{dash if number == 0 else indent}{line}{end}" for number, line in enumerate(keys)]
    return "".join(lines)


def _key(key: str) -> str:
    return key if _PLAIN_KEY.fullmatch(key) else _scalar(key)


def _range(text: str, span: _Span) -> tuple[int, int]:
    starts = [0, *accumulate(len(line) for line in _split_lines(text))]
    return _offset(starts, span.line, span.column), _offset(starts, span.end_line, span.end_column)


def _offset(starts: Sequence[int], line: int, column: int) -> int:
    return min(starts[min(line, len(starts) - 1)] + column, starts[-1])


# --- records of the file ------------------------------------------------------------------------------------

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
    items = _read_items(_split(data)[1])
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
    before = _read_items(text)
    after = _with_records(text or _HEADER, section, records, before.starts.get(section))
    expected = _by_section(before)
    expected[section] = [*(_read_again(dict(one)) for one in records), *expected[section]]
    found = _YamlRecords() if after is None else _read_items(after)
    if after is None or _by_section(found) != expected or len(found.broken) != len(before.broken):
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
    before = _read_items(text)
    same = [item for item in before.items if text_of(item.fields.get("id")) == identity]
    if not same:
        raise NoRecordError(f"{file} has no record {identity}; `hybrid lore list` shows ids")
    edits = [
        (item.spans[key], _marked(text, item.spans[key], value) if key == "name" else value)
        for item in same
        for key, value in _withdrawal(item).items()
    ]
    after = _with_values(text, edits)
    expected = [
        (item.section, item.fields | _withdrawal(item) if item in same else item.fields) for item in before.items
    ]
    found = _read_items(after)
    is_as_meant = [(item.section, item.fields) for item in found.items] == expected
    is_marked = all(is_withdrawn(item.fields | _withdrawal(item)) for item in same)
    if not (is_as_meant and is_marked and len(found.broken) == len(before.broken)):
        raise LoreWriteError(
            f"{file} is as it was: {identity} cannot be marked there; put {DEPRECATED_MARK}before its name by hand"
        )
    return _joined(bom, after)


def _withdrawal(item: _YamlRecord) -> dict[str, str]:
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


def _by_section(found: _YamlRecords) -> dict[str, list[dict[str, Any]]]:
    """Return section → the keys of its records, in their order."""
    return {name: [item.fields for item in found.items if item.section == name] for name in _SECTIONS}


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
