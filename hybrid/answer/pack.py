"""Fits records into the budget of an injection, and shortens the best one where it is too long; `parts` does files.

This is plain arithmetic over rendered texts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from hybrid.render.telling import telling_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hybrid.types import Form, Item


def text_in_form(text: str, form: Form, weights: Mapping[str, float], signature: str = "") -> str:
    """Return a text as a form shows it: `full`, `preview` (`telling_lines`) or `pointer` (nothing)."""
    if form == "pointer":
        return ""
    return telling_lines(text.strip("\n"), weights, signature) if form == "preview" else text


SHORTENED = "… (shortened)"
"""Stands where the text of a record was cut."""
_LEAST_SHORTENED = 80
"""Characters of a record's text that are shown at least: with fewer the title says as much."""
_SENTENCE_END = re.compile(r"(?<=[.!?])(?=\s)|(?<=[.!?][)\"'\u2019\u201d])(?=\s)|(?=\n)|(?<=[\u3002\uff01\uff1f])")
_WORD_END = re.compile(r"(?<=\S)(?=\s)")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})", re.MULTILINE)


def shortened(text: str, is_fitting: Callable[[str], bool], *, most: int, notes: str = "") -> str:
    """Return the beginning of a record's text that fits, with a mark where it was cut; empty when too little fits.

    This is the one rule for records that are longer than their room: the best record is shortened, not left out.
    The text ends with a sentence or a line where one ends in its last third, else with a word. Inline code, emphasis
    and brackets that are opened stay whole, and a code block that was cut is closed.

    Args:
        text: Without secrets, so that none is cut in half and missed.
        is_fitting: Return whether a text fits; asked about 20 times.
        most: Characters of the room: no longer beginning is looked at.
        notes: Lines below the text that stay, such as those about code that moved.
    """

    def ended(end: int) -> str:
        body = text[:end].rstrip()
        fence = _open_fence(body)
        cut_text = f"{body}\n{fence}\n{SHORTENED}" if fence else f"{body} {SHORTENED}"
        return f"{cut_text}\n{notes}" if notes else cut_text

    low, high = 0, min(len(text) - 1, most)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if is_fitting(ended(middle)) else (low, middle - 1)
    sentences, words = ([end.start() for end in ends.finditer(text, 0, low + 1)] for ends in (_SENTENCE_END, _WORD_END))
    late = [end for end in sentences if end >= low * 2 // 3]
    # A word that fills half of the room, as in a text without spaces, is cut itself.
    wanted = [*reversed(late), *(end for end in reversed(words) if end >= low // 2), low]
    end = next((one for one in wanted if not _is_in_markup(text[:one]) and is_fitting(ended(one))), low)
    return ended(end) if len(text[:end].strip()) >= _LEAST_SHORTENED else ""


def shortened_item(item: Item, is_fitting: Callable[[Item], bool], *, most: int, notes: str = "") -> Item:
    """Return the item of a record as it is where it fits, else as `shortened`; one too long where too little fits.

    It becomes a preview, since the session was not given all of it: an agent that looks the record up gets the whole.
    """
    if is_fitting(item):
        return item
    notes = notes if item.body.endswith(f"\n{notes}") else ""
    text = item.body.removesuffix(notes).rstrip("\n")
    body = shortened(text, lambda part: is_fitting(replace(item, body=part)), most=most, notes=notes)
    why = ", ".join(filter(None, (item.why, "longer than its room")))
    return replace(item, form="preview", body=body, why=why) if body else item


def _open_fence(text: str) -> str:
    """Return the fence of a code block that is not closed in a text; empty for none."""
    fence = ""
    for match in _FENCE.finditer(text):
        if not fence:
            fence = match[1]
        elif match[1].startswith(fence):
            fence = ""
    return fence


def _is_in_markup(text: str) -> bool:
    """Return whether the last line of a text ends within inline code, emphasis, a link or a bracket."""
    if _open_fence(text):
        return False
    line = text[text.rfind("\n") + 1 :]
    is_odd = line.count("`") % 2 or line.count("**") % 2
    return bool(is_odd) or line.count("[") > line.count("]") or line.count("(") > line.count(")")


HARD_CAP_BYTES = 9_000
"""UTF-8 bytes of a whole injection with its frame: clients cut or replace what is longer than 10,000."""


class Room(Struct, frozen=True):
    """The room that entries may take, or that a text takes, its last line end included.

    Attributes:
        lines: Header and body lines.
        chars: Code points.
        size_bytes: In UTF-8.
    """

    lines: int
    chars: int
    size_bytes: int = HARD_CAP_BYTES

    def holds(self, size: Room) -> bool:
        """Return whether something of this size fits, in lines, characters and bytes."""
        return size.lines <= self.lines and size.chars <= self.chars and size.size_bytes <= self.size_bytes

    def without(self, size: Room) -> Room:
        """Return what is left when something of this size was put in."""
        return Room(self.lines - size.lines, self.chars - size.chars, self.size_bytes - size.size_bytes)


class Packed(Struct, frozen=True):
    """The result of `pack`.

    Attributes:
        chosen: Indexes of the texts that fit, best first.
        skipped: Indexes of those that did not, in order.
        left: Room that remains for the next kind.
    """

    chosen: tuple[int, ...]
    skipped: tuple[int, ...]
    left: Room


def measure_text(text: str) -> Room:
    """Return the size of a rendered entry and the line end after it."""
    return Room(text.count("\n") + 1, len(text) + 1, len(text.encode("utf-8", "surrogatepass")) + 1)


def pack(texts: Sequence[str], room: Room, *, measure: Callable[[str], Room] = measure_text) -> Packed:
    """Choose whole texts, best first; one that does not fit is skipped, and the next is tried.

    Args:
        texts: Rendered records, best first.
        room: Never exceeded.
        measure: Returns the size of a rendered record with its separator.

    Returns:
        Chosen and skipped indexes, both ascending, and the room left.
    """
    left = room
    chosen: list[int] = []
    skipped: list[int] = []
    for index, text in enumerate(texts):
        size = measure(text)
        if left.holds(size):
            chosen.append(index)
            left = left.without(size)
        else:
            skipped.append(index)
    return Packed(tuple(chosen), tuple(skipped), left)
