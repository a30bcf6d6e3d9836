"""Takes the texts out of a value of JSON, so that they are read as one text, and puts what is left of them back.

A secret or a private span may go over several of them: the lines of a patch, blocks of content, the words of a command.
It never raises, whatever the value, and looks at no more than its bounds say; what lies beyond is left out. Pure.
"""

from __future__ import annotations

import json
import re
from itertools import count, groupby
from typing import TYPE_CHECKING, cast

from msgspec import Struct
from msgspec.structs import replace

from hybrid.capture.dialects import COMMAND_FIELDS, without_colours
from hybrid.render.marks import plain_text, private_spans

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence


# Finds lines of a key in base64 without the marks around them: what an edit or a cut leaves of a private key. Pure.
#
# Digests, paths and words on lines of their own are none.

_MIN_LINES = 3
_SPACES = r"[^\S\n]{0,40}"
_BEFORE = rf"{_SPACES}(?:[+>#*-]|//|\d{{1,6}}(?:→|\t|: ?)|[\w./-]{{1,100}}:\d{{1,6}}:)?{_SPACES}[+-]?[\"']?"
_AFTER = r"(?:\\n)?[\"']?[^\S\n]{0,4}[,+\\]?[^\S\n]{0,4}"
_LINE = re.compile(rf"^{_BEFORE}([A-Za-z0-9+/]{{60,}}={{0,2}}){_AFTER}$", re.MULTILINE)
_LAST = re.compile(rf"\n{_BEFORE}[A-Za-z0-9+/]{{4,}}={{0,2}}{_AFTER}(?=\n|\Z)")
_MAX_LOWER_RUN = 2.6
"""Small letters in a row, on average, above which a line is words: in base64 there are under two."""
_MAX_SLASHES = 16
"""Divisor: a line with more than one slash in so many characters is no base64, where it is one in 64."""


def key_lines(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each run of at least three lines that hold base64 alone, with a shorter last one."""
    run: list[re.Match[str]] = []
    for match in _LINE.finditer(text):
        if run and match.start() != run[-1].end() + 1:
            yield from _of_run(text, run)
            run = []
        run.append(match)
    yield from _of_run(text, run)


def is_key_line(text: str) -> bool:
    """Return whether a text is nothing but lines of a key, be it a single one."""
    *first, last = text.strip("\n").split("\n")
    if not all(map(_LINE.fullmatch, first)):
        return False
    is_last = _LAST.fullmatch(f"\n{last}") if first else _LINE.fullmatch(last)
    return is_last is not None and _is_random("".join(text.split()))


def _of_run(text: str, run: list[re.Match[str]]) -> Iterator[tuple[int, int]]:
    if len(run) < _MIN_LINES or not _is_random("".join(match[1] for match in run)):
        return
    last = _LAST.match(text, run[-1].end())
    yield run[0].start(1), last.end() if last else run[-1].end(1)


def _is_random(letters: str) -> bool:
    runs = re.findall(r"[a-z]+", letters)
    is_mixed = bool(runs) and bool(re.search(r"[A-Z]", letters)) and bool(re.search(r"\d", letters))
    has_short_runs = sum(map(len, runs)) <= _MAX_LOWER_RUN * len(runs)
    return is_mixed and has_short_runs and letters.count("/") * _MAX_SLASHES <= len(letters)


MAX_DEPTH = 100
"""Levels of a value that are read."""
MAX_TEXTS = 2_000
"""Number of strings of an event that are read."""
MAX_SCAN_CHARS = 1_000_000
"""Characters of an event among which private spans are looked for."""

_MAX_NODES = 20_000
_MAX_KEY_CHARS = 200
_MAX_KEYED_CHARS = 512
"""Characters of a text up to which the name before it is read with it; a longer one is content, no setting's value."""
_MAX_INT = 2**63
_RETURN = "\ue00d"
"""Character after a line end that was a carriage return alone; it is taken out of every text before."""
_OVERWRITTEN = re.compile(rf"(?:^|(?<={_RETURN}))[^\n]*\n{_RETURN}", re.MULTILINE)
_LONE_RETURN = re.compile(r"\r(?![\r\n]|\Z)")

Cut = tuple[int, int, str]
"""Start and end of what is cut out of a text, and what stands there instead."""


class Leaf(Struct):
    """A text of a value.

    Attributes:
        text: The text without invisible characters; later what is left of it.
        before: Text before it where all leaves are read as one.
        after: Text behind it there.
        scope: Leaves of one scope are private together.
        is_output: Whether a terminal may have shown the text: then a carriage return begins its line anew.
        rest: Two leaves of a shortened text: lines that are only looked at, and the end that is kept.
    """

    text: str
    before: str = "\n"
    after: str = ""
    scope: int = 0
    is_output: bool = False
    rest: tuple[Leaf, Leaf] | None = None

    @property
    def whole(self) -> str:
        """The text, with `…` and the end if it was shortened."""
        return f"{self.text}…\n{self.rest[1].text}" if self.rest else self.text

    def parts(self) -> Iterator[Leaf]:
        """Yield this leaf, and the rest of one that was shortened."""
        yield self
        yield from self.rest or ()


_LEFT = object()
"""The mark for a part of a value that is beyond the bounds."""


class Texts:
    """The texts of the values of one event, in the order in which they stand there."""

    def __init__(self) -> None:
        """Make an empty collection."""
        self.leaves: list[Leaf] = []
        self._room = MAX_SCAN_CHARS
        self._n_nodes = 0
        self._scopes = count(1)
        self._is_full = False

    def take(self, value: object, *, is_output: bool = False) -> object:
        """Copy a value with a `Leaf` in the place of each text; None when nothing of it is within the bounds.

        What clients give as JSON within a text is read: arguments, and results that begin with their output.
        """
        taken = self._taken(value, 0, Leaf("", is_output=is_output), is_item=True)
        return None if taken is _LEFT else taken

    def take_text(self, text: str) -> Leaf | None:
        """Return a `Leaf` for text that a terminal may have shown and that is never JSON; None beyond the bounds."""
        taken = None if self._is_full else self._text(text, 0, Leaf("", is_output=True), is_json=False)
        return taken if isinstance(taken, Leaf) else None

    def _taken(self, value: object, depth: int, like: Leaf, *, is_item: bool) -> object:
        self._n_nodes += 1
        # What comes later may be within a private span that begins in what is left out, so nothing comes later.
        self._is_full |= depth > MAX_DEPTH or self._n_nodes > _MAX_NODES
        if self._is_full:
            return _LEFT
        if isinstance(value, str):
            is_json = _may_be_json(value, is_output=like.is_output, is_item=is_item)
            return self._text(value, depth, like, is_json=is_json)
        if isinstance(value, dict):
            return self._object(cast("dict[object, object]", value), depth, like)
        if isinstance(value, (list, tuple)):
            return self._list(cast("Sequence[object]", value), depth, like)
        if isinstance(value, int) and abs(value) >= _MAX_INT:
            return None
        return value if value is None or isinstance(value, (bool, int, float)) else _LEFT

    def _object(self, fields: dict[object, object], depth: int, like: Leaf) -> object:
        copy: dict[str, object] = {}
        for key, item in fields.items():
            if not isinstance(key, str) or len(key) > _MAX_KEY_CHARS:
                continue
            name = key.replace('"', "")
            if isinstance(item, str) and len(item) <= _MAX_KEYED_CHARS and "\n" not in item:
                before, after = f'\n"{name}": "', '"'  # A value is a secret when its name says so.
            else:
                before, after = " " if key in COMMAND_FIELDS and not isinstance(item, str) else "\n", ""
            taken = self._taken(item, depth + 1, replace(like, before=before, after=after), is_item=False)
            if taken is not _LEFT:
                copy[key] = taken
            if self._is_full:
                break
        return copy

    def _list(self, items: Sequence[object], depth: int, like: Leaf) -> object:
        like = replace(like, scope=like.scope or next(self._scopes))
        copy: list[object] = []
        for item in items:
            here = like if copy else replace(like, before="\n", after="")
            taken = self._taken(item, depth + 1, here, is_item=True)
            if taken is not _LEFT:
                copy.append(taken)
            if self._is_full:
                break
        return copy

    def _text(self, text: str, depth: int, like: Leaf, *, is_json: bool) -> object:
        if len(text) > self._room:
            text, self._is_full = text[: text.rfind("\n", 0, self._room) + 1], True
        self._room -= len(text)
        text = _plain(text, is_output=like.is_output)
        if is_json:
            # What is cut cannot be read, and its escapes may hide anything.
            fields = None if self._is_full else _object_of(text.replace(f"\n{_RETURN}", "\n"))
            text = "" if self._is_full else text
            if fields is not None:
                return self._taken(fields, depth + 1, like, is_item=False)
        if len(self.leaves) >= MAX_TEXTS:
            self._is_full = True
            return _LEFT
        leaf = replace(like, text=text, scope=like.scope or next(self._scopes))
        self.leaves.append(leaf)
        return leaf

    def cut_private(self) -> None:
        """Cut `<private>` spans out of the texts, also those over several of one list; then what was overwritten.

        A span that is opened in one field and closed in another is cut to the end of the one, and from the start of
        the other. The order of fields is no order of reading, so fields between them stay.
        """
        for _, group in groupby(self.leaves, lambda leaf: leaf.scope):
            cut_out(list(group), lambda text: [(start, end, " ") for start, end in private_spans(text, is_part=True)])
        for leaf in self.leaves:
            if _RETURN in leaf.text:
                leaf.text = _OVERWRITTEN.sub("", leaf.text).replace(_RETURN, "")


def filled(value: object) -> object:
    """Return a value that was taken, with the texts that are left."""
    if isinstance(value, Leaf):
        return value.whole
    if isinstance(value, dict):
        return {key: filled(item) for key, item in cast("dict[str, object]", value).items()}
    if isinstance(value, list):
        return [filled(item) for item in cast("list[object]", value)]
    return value


def cut_out(leaves: Sequence[Leaf], find: Callable[[str], Iterable[Cut]]) -> None:
    """Cut out of texts what is found where they are read as one.

    Args:
        leaves: In order; of a cut over several the first one gets the text that stands instead.
        find: Returns what to cut from the one text, in any order.
    """
    cuts = _merged(find("".join(part for leaf in leaves for part in (leaf.before, leaf.text, leaf.after))))
    if not cuts:
        return
    at, first, shown = 0, 0, -1
    for leaf in leaves:
        start = at + len(leaf.before)
        end = start + len(leaf.text)
        at = end + len(leaf.after)
        while first < len(cuts) and cuts[first][1] <= start:
            first += 1
        kept, position, number = list[str](), start, first
        while number < len(cuts) and cuts[number][0] < end:
            from_, to, instead = cuts[number]
            kept += [leaf.text[position - start : max(position, from_) - start], instead if number > shown else ""]
            position, shown, number = min(to, end), number, number + 1
        if number > first:
            leaf.text = "".join([*kept, leaf.text[position - start :]])


def _merged(cuts: Iterable[Cut]) -> list[Cut]:
    """Return the cuts in order, overlapping ones joined to one with the first one's text."""
    merged: list[Cut] = []
    for start, end, instead in sorted(cuts, key=lambda cut: (cut[0], -cut[1])):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]), merged[-1][2])
        elif end > start:
            merged.append((start, end, instead))
    return merged


def _plain(text: str, *, is_output: bool) -> str:
    if _RETURN in text:
        text = text.replace(_RETURN, "")
    if is_output and "\r" in text:
        text = without_colours(text)
        text = _LONE_RETURN.sub(f"\n{_RETURN}", text).replace("\r", "")
    return plain_text(text)


def _may_be_json(text: str, *, is_output: bool, is_item: bool) -> bool:
    """Return whether `dialects` would read a text as JSON, so that its parts may be written with escapes."""
    head = plain_text(text[:_MAX_NODES]).lstrip()
    return head.startswith('{"output"') if is_output else is_item and head.startswith("{")


def _object_of(text: str) -> dict[object, object] | None:
    try:
        value: object = json.loads(text)
    except ValueError:
        return None
    except RecursionError:
        return {}
    return cast("dict[object, object]", value) if isinstance(value, dict) else None
