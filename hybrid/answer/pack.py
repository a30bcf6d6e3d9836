"""Chooses which records fit the budget and in which form; plain arithmetic over texts that are already rendered.

`select` passes candidates best first and renders the forms that are asked for; pack knows no kinds, scores or marks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Form = Literal["full", "preview", "pointer"]
ContentMode = Literal["adaptive", "full", "preview", "none"]

HARD_CAP_BYTES = 9_000
"""UTF-8 bytes of a whole injection with its frame: clients cut or replace what is longer than 10,000."""

MAX_POINTERS = 3
"""Pointer lines in adaptive mode: a longer list of bare names is noise."""

_FORMS: dict[ContentMode, tuple[Form, ...]] = {
    "adaptive": ("full", "preview", "pointer"),
    "full": ("full",),
    "preview": ("preview",),
    "none": ("pointer",),
}


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


class Candidate(Struct, frozen=True):
    """A record that can be rendered in several forms, each only when it is asked for: most are not.

    Attributes:
        text: Returns the record's header line, followed by the whole text, a preview, or nothing (`pointer`).
        is_full_only: The agent already has a part of it, so that only the whole text is worth giving.
    """

    text: Callable[[Form], str]
    is_full_only: bool = False


class Packed(Struct, frozen=True):
    """The result of `pack`.

    Attributes:
        chosen: (index into the candidates, form), best first.
        skipped: Indexes of the candidates that did not fit, in order.
        left: Room that remains for the next kind.
    """

    chosen: tuple[tuple[int, Form], ...]
    skipped: tuple[int, ...]
    left: Room


def measure_text(text: str) -> Room:
    """Return the size of a rendered entry and the line end after it."""
    return Room(text.count("\n") + 1, len(text) + 1, len(text.encode("utf-8", "surrogatepass")) + 1)


def pack(
    candidates: Sequence[Candidate],
    room: Room,
    mode: ContentMode = "adaptive",
    *,
    measure: Callable[[str], Room] = measure_text,
) -> Packed:
    """Choose whole records, best first; one that does not fit in any form of the mode is skipped, the next is tried.

    Args:
        candidates: Best first.
        room: Never exceeded.
        mode: adaptive tries full, preview and pointer in turn. Once the room no longer lasts for a record that would
            have fitted at the start, later ones are shown as previews at most; at most `MAX_POINTERS` pointers.
        measure: Returns the size of a rendered entry with its separator.

    Returns:
        Chosen and skipped indexes, both ascending, and the room left.
    """
    left = room
    chosen: list[tuple[int, Form]] = []
    skipped: list[int] = []
    forms = _FORMS[mode]
    n_pointers = 0
    for index, candidate in enumerate(candidates):
        allowed = _allowed(forms, candidate, n_pointers)
        form: Form | None = next((form for form in allowed if left.holds(measure(candidate.text(form)))), None)
        if form != "full" and "full" in allowed and room.holds(measure(candidate.text("full"))):
            forms = forms[1:] or forms
        if form is None:
            skipped.append(index)
            continue
        chosen.append((index, form))
        left = left.without(measure(candidate.text(form)))
        n_pointers += form == "pointer"
    return Packed(tuple(chosen), tuple(skipped), left)


def _allowed(forms: tuple[Form, ...], candidate: Candidate, n_pointers: int) -> tuple[Form, ...]:
    """Return the forms in which a candidate may still be given, longest first; may be empty."""
    if candidate.is_full_only:
        return tuple(form for form in forms if form == "full")
    # The mode of pointers alone has no limit of them.
    return forms[:-1] if len(forms) > 1 and n_pointers >= MAX_POINTERS else forms
