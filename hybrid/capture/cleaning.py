"""Cleans what an event brings: private spans and secrets are cut out of its texts before anything else sees them.

A secret or a private span may go over several texts of a value of JSON: the lines of a patch, blocks of content, the
words of a command. So all texts of an event are read as one, after characters that nobody sees are gone, and what is
left of them is put back; only then they are shortened. It never raises, whatever the value, and looks at no more than
its bounds say; what lies beyond is left out. Pure. `hooks.event` calls it, and whoever reads texts from elsewhere.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import count, groupby
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec import Struct, convert, to_builtins
from msgspec.structs import replace

from hybrid.capture.dialects import COMMAND_FIELDS, without_colours
from hybrid.capture.tools import ToolUse
from hybrid.records.memory.types import Extracted, Summarised
from hybrid.redact import excerpt_secrets, redact
from hybrid.redact.forms import is_key_line
from hybrid.render.marks import plain_text, private_spans
from hybrid.types import ToolCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


MAX_CHARS = 200_000
"""The most characters of all texts of an event together; secrets are looked for among these."""
MAX_TOOL_CHARS = 100
"""The most characters of the name of a tool."""
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
_MIN_TAIL_CHARS = 30_000
"""Characters for a text from which on its end is kept too; with fewer only its beginning."""
_CONTEXT_CHARS = 2_000
"""Characters before the kept end of a text that are searched and not kept: a name may stand there for a value after."""

_Value = TypeVar("_Value", Extracted, Summarised, ToolUse)


def cleaned_call(call: ToolCall) -> ToolCall:
    """Return a use of a tool without private spans and secrets; its parts may be any values of JSON.

    A text that is JSON is parsed. Texts beyond the bounds are shortened: of a long one whole lines of both ends stay,
    of many texts the first.
    """
    texts = Texts()
    taken = [texts.take(call.arguments), texts.take_text(call.error), texts.take(call.result, is_output=True)]
    _clean(texts)
    arguments, error, result = map(filled, taken)
    return ToolCall(cleaned_name(call.tool), arguments, result, _text(error))


@lru_cache(1 << 8)
def cleaned_name(tool: str) -> str:
    """Return the name of a tool as it is stored, in one line of at most `MAX_TOOL_CHARS`."""
    # Read part by part: servers and their tools are joined by two underscores, within which no token begins.
    words = "\n".join(cleaned_text(tool[: 10 * MAX_TOOL_CHARS].replace("__", "\n")).split())
    return words.replace("\n", "__" if "__" in tool else " ")[:MAX_TOOL_CHARS]


def cleaned_text(text: str) -> str:
    """Return a text without private spans and secrets; of a long one only whole lines of both ends."""
    texts = Texts()
    taken = texts.take_text(text)
    _clean(texts)
    return _text(filled(taken))


def cleaned_value(told: _Value) -> _Value:
    """Return a use, an observation or a summary without private spans and secrets; words of a fixed set stay.

    What it is made of was cleaned before. Now other texts stand beside one another: the lines of blocks or of a patch
    are one text in a use, and an observation quotes some of them. A secret may be on the line below its name.
    """
    fields = to_builtins(told)
    texts = Texts()
    taken = texts.take({name: value for name, value in fields.items() if name not in ("type", "tool", "kind")})
    _clean(texts)
    return convert({**fields, **cast("dict[str, Any]", filled(taken) or {})}, type(told))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _clean(texts: Texts) -> None:
    texts.cut_private()
    _shorten(texts.leaves)
    parts = [part for leaf in texts.leaves for part in leaf.parts()]
    cut_out(parts, excerpt_secrets)
    is_one = len(parts) == 1 and not parts[0].after
    for part in parts:
        if is_key_line(part.text):
            part.text = "[redacted:private_key]"
        elif not is_one:  # What stands beside a text may hide its secrets, so each is read alone too.
            part.text = redact(part.text)


def _shorten(leaves: Sequence[Leaf]) -> None:
    """Cut the texts of leaves at line ends, in place, until all together have `MAX_CHARS`."""
    most = _share([len(leaf.text) for leaf in leaves], MAX_CHARS)
    for leaf, found in zip(leaves, [_shortened(leaf, most) for leaf in leaves], strict=True):
        leaf.text, leaf.rest = found.text, found.rest


def _share(sizes: Sequence[int], room: int) -> int:
    """Return the most characters that each text may have so that all fit; short ones leave theirs to the others."""
    for number, size in enumerate(sorted(sizes)):
        share = room // (len(sizes) - number)
        if size > share:
            return share
        room -= size
    return max(sizes, default=0)


def _shortened(leaf: Leaf, most: int) -> Leaf:
    text = leaf.text
    if len(text) <= most:
        return leaf
    n_head = most // 2 if most >= _MIN_TAIL_CHARS else most
    head = text[: text.rfind("\n", 0, n_head) + 1]
    start = text.find("\n", len(text) - most + n_head) + 1 if head and n_head < most else 0
    kept_from = text.find("\n", start + _CONTEXT_CHARS) + 1 if start else 0
    rest = (Leaf(text[start:kept_from], "\n"), Leaf(text[kept_from:], "")) if kept_from else None
    return replace(leaf, text=head, rest=rest)


# --- the texts of a value ------------------------------------------------------------------------------------


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


def cut_out(leaves: Sequence[Leaf], find: Callable[[str], Sequence[tuple[int, int, str]]]) -> None:
    """Cut out of texts what is found where they are read as one.

    Args:
        leaves: In order; of a cut over several the first one gets the text that stands instead.
        find: Returns start and end of what to cut from the one text, and what stands there instead, in order.
    """
    cuts = find("".join(part for leaf in leaves for part in (leaf.before, leaf.text, leaf.after)))
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
