"""Reads the lists of records of a YAML file from its events, within bounds; `yaml_cut` reads what is broken.

Nothing but text, null, lists and mappings is ever made: tags that ask for more, and aliases that could grow, are
refused. Dates, numbers and booleans stay the text that they are.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from hybrid.records.lore.values import well_formed

if TYPE_CHECKING:
    from collections.abc import Iterator

SECTIONS = ("patterns", "anti_patterns")

_MAX_DEPTH = 20
_MAX_ALIASES = 100
_MAX_ALIASED_CHARS = 10_000
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_PLAIN_TAGS = re.compile(r"!|tag:yaml\.org,2002:(?:str|int|float|bool|null|timestamp|seq|map)")


class YamlError(Exception):
    """A YAML text cannot be read; `line` is where, from 0, counted in the text that was given."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class Span(Struct, frozen=True):
    """Where a value stands: lines and columns from 0, in characters; the end is exclusive.

    Attributes:
        style: `'`, `"`, `|`, `>` or empty for a plain one.
    """

    line: int
    column: int
    end_line: int
    end_column: int
    style: str


class Item(Struct, frozen=True):
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
    spans: dict[str, Span]


class Broken(Struct, frozen=True):
    """Something that is no record; `line` from 0."""

    line: int
    message: str


class Start(Struct, frozen=True):
    """Where the first record of a section begins: its dash, and the column of its keys; lines and columns from 0."""

    line: int
    column: int
    keys_column: int


class Items(Struct, frozen=True):
    """What a text holds.

    Attributes:
        items: Records in the order of the text.
        broken: What could not be read.
        starts: Section → its first record, for lists in block form that hold one.
    """

    items: tuple[Item, ...] = ()
    broken: tuple[Broken, ...] = ()
    starts: tuple[tuple[str, Start], ...] = ()


def read_whole(text: str) -> Items:
    """The records of a text that is well-formed YAML.

    Args:
        text: Without a byte order mark; lone surrogates stand for bytes that are not UTF-8.

    Raises:
        YamlError: It is not well-formed, or goes beyond the bounds.
    """
    import yaml  # Costs 15 ms; only who has patterns pays for it.

    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    events = cast("Any", yaml).parse(well_formed(text), Loader=loader)
    reader = _Reader(events)
    try:
        reader.read()
    except yaml.YAMLError as error:
        raise YamlError(_message_of(error), _line_of(error)) from error
    return Items(tuple(reader.items), tuple(reader.broken), tuple(reader.starts.items()))


def _message_of(error: Exception) -> str:
    problem = getattr(error, "problem", None) or getattr(error, "reason", None)
    return str(problem or error).split("\n", 1)[0]


def _line_of(error: Exception) -> int:
    """Where the mistake is; of something that never ends, where it begins."""
    is_open = "end of stream" in _message_of(error)
    marks = (
        getattr(error, name, None) for name in (("context_mark", "problem_mark") if is_open else ("problem_mark",))
    )
    return next((mark.line for mark in marks if mark), 0)


class _Reader:
    """Builds values from events; the depth is bounded before anything is entered."""

    def __init__(self, events: Iterator[Any]) -> None:
        self.items: list[Item] = []
        self.broken: list[Broken] = []
        self.starts: dict[str, Start] = {}
        self._events = events
        self._anchors: dict[str, str | None] = {}
        self._n_aliases = 0

    def read(self) -> None:
        """Read every document of the text."""
        for event in self._events:
            name = _kind(event)
            if name == "MappingStart":
                self._root()
            elif name in ("SequenceStart", "Alias") or (name == "Scalar" and event.value not in _NULLS):
                self.broken.append(Broken(event.start_mark.line, "no `patterns:` or `anti_patterns:` stands here"))
                self._value(event, 1)

    def _root(self) -> None:
        while _kind(event := next(self._events)) != "MappingEnd":
            key = self._key(event, 1)
            value = next(self._events)
            if key in SECTIONS and _kind(value) == "SequenceStart":
                self._section(key, value)
                continue
            found = self._value(value, 1)
            if key in SECTIONS and found is not None:
                self.broken.append(Broken(value.start_mark.line, f"`{key}` is no list"))

    def _section(self, section: str, start: Any) -> None:
        self._check(start)
        while _kind(event := next(self._events)) != "SequenceEnd":
            mark = event.start_mark
            if not start.flow_style:
                dash = Start(start.start_mark.line, start.start_mark.column, mark.column)
                self.starts.setdefault(section, dash)
            if _kind(event) == "MappingStart":
                self._item(section, event)
            else:
                self._value(event, 2)
                self.broken.append(Broken(mark.line, f"an element of `{section}` is no record"))

    def _item(self, section: str, start: Any) -> None:
        self._check(start)
        fields: dict[str, Any] = {}
        spans: dict[str, Span] = {}
        while _kind(event := next(self._events)) != "MappingEnd":
            key = self._key(event, 3)
            value = next(self._events)
            fields[key] = self._value(value, 3)
            spans.pop(key, None)
            if _kind(value) == "Scalar":
                spans[key] = _span(value)
        self.items.append(Item(section, start.start_mark.line, fields, spans))

    def _key(self, event: Any, depth: int) -> str:
        if _kind(event) != "Scalar":
            raise YamlError("a key is no text", event.start_mark.line)
        return str(self._value(event, depth) or "")

    def _value(self, event: Any, depth: int) -> Any:
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
            raise YamlError(f"more than {_MAX_DEPTH} levels", event.start_mark.line)
        return self._list(depth + 1) if kind == "SequenceStart" else self._mapping(depth + 1)

    def _list(self, depth: int) -> list[Any]:
        found: list[Any] = []
        while _kind(event := next(self._events)) != "SequenceEnd":
            found.append(self._value(event, depth))
        return found

    def _mapping(self, depth: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while _kind(event := next(self._events)) != "MappingEnd":
            key = self._key(event, depth)
            found[key] = self._value(next(self._events), depth)
        return found

    def _aliased(self, event: Any) -> str | None:
        """The text behind an alias; lists and mappings may not be repeated, since repeats of repeats explode."""
        self._n_aliases += 1
        line = event.start_mark.line
        if event.anchor not in self._anchors:
            raise YamlError(f"the alias *{event.anchor} stands for no text", line)
        value = self._anchors[event.anchor]
        if self._n_aliases > _MAX_ALIASES or len(value or "") > _MAX_ALIASED_CHARS:
            raise YamlError(f"more than {_MAX_ALIASES} aliases, or one for over {_MAX_ALIASED_CHARS} characters", line)
        return value

    def _check(self, event: Any) -> None:
        if event.tag and not _PLAIN_TAGS.fullmatch(event.tag):
            raise YamlError(f"the tag {event.tag} asks for more than text", event.start_mark.line)


def _kind(event: Any) -> str:
    return type(event).__name__.removesuffix("Event")


def _span(event: Any) -> Span:
    start, end = event.start_mark, event.end_mark
    return Span(start.line, start.column, end.line, end.column, event.style or "")
