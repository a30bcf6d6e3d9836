"""Chooses which records fit the budget and in which form; plain arithmetic over texts that are already rendered.

`select` passes candidates best first and renders the forms that are asked for; pack knows no kinds, scores or marks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

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


class Size(Struct, frozen=True):
    """The room that a text takes, its last line end included.

    Attributes:
        lines: From 1.
        chars: Code points.
        size_bytes: In UTF-8.
    """

    lines: int
    chars: int
    size_bytes: int


class Budget(Struct, frozen=True):
    """Room for the entries.

    Attributes:
        lines: Header and body lines of all entries.
        chars: Characters of all entries.
        size_bytes: UTF-8 bytes of the entries and the frame together.
    """

    lines: int
    chars: int
    size_bytes: int = HARD_CAP_BYTES


class Packable(Protocol):
    """A candidate that can be rendered in several forms, each only when it is asked for."""

    @property
    def is_full_worthy(self) -> bool:
        """False when adaptive mode is to start with the preview (a weak hit)."""
        ...

    @property
    def is_full_only(self) -> bool:
        """True when the agent already has a part of the candidate, so that only the whole text is worth giving."""
        ...

    def text(self, form: Form, /) -> str:
        """Return the candidate's header line, followed by the whole text, a preview, or nothing (`pointer`)."""
        ...


class Packed(Struct, frozen=True):
    """The result of `pack`.

    Attributes:
        chosen: (index into the candidates, form), best first.
        skipped: Indexes of the candidates that did not fit, in order.
        left: Room that remains for the next kind.
    """

    chosen: tuple[tuple[int, Form], ...]
    skipped: tuple[int, ...]
    left: Budget


def measure_text(text: str) -> Size:
    """The size of a rendered entry and the line end after it."""
    return Size(text.count("\n") + 1, len(text) + 1, len(text.encode("utf-8", "surrogatepass")) + 1)


def pack(
    candidates: Sequence[Packable],
    budget: Budget,
    mode: ContentMode = "adaptive",
    *,
    frame_bytes: int = 0,
    measure: Callable[[str], Size] = measure_text,
) -> Packed:
    """Choose whole records, best first; one that does not fit in any form of the mode is skipped, the next is tried.

    Args:
        candidates: Best first.
        budget: Room in lines, characters and bytes; never exceeded.
        mode: adaptive tries full, preview and pointer in turn. Once the budget no longer lasts for a record that would
            have fitted at the start, later ones are shown as previews at most; at most `MAX_POINTERS` pointers.
        frame_bytes: What the frame itself takes of `budget.size_bytes`.
        measure: Size of a rendered entry with its separator.

    Returns:
        Chosen and skipped indexes, both ascending, and the room left.
    """
    room = left = Budget(budget.lines, budget.chars, budget.size_bytes - frame_bytes)
    chosen: list[tuple[int, Form]] = []
    skipped: list[int] = []
    forms = _FORMS[mode]
    n_pointers = 0
    for index, candidate in enumerate(candidates):
        allowed = _allowed(forms, candidate, n_pointers)
        form = _first_fitting(candidate, allowed, left, measure)
        if form != "full" and "full" in allowed and _fits(measure(candidate.text("full")), room):
            forms = forms[1:] or forms
        if form is None:
            skipped.append(index)
            continue
        chosen.append((index, form))
        left = _take(left, measure(candidate.text(form)))
        n_pointers += form == "pointer"
    return Packed(tuple(chosen), tuple(skipped), left)


def _allowed(forms: tuple[Form, ...], candidate: Packable, n_pointers: int) -> tuple[Form, ...]:
    """Return the forms in which a candidate may still be given, longest first; may be empty."""
    if candidate.is_full_only:
        return tuple(form for form in forms if form == "full")
    if len(forms) == 1:
        return forms
    return tuple(
        form
        for form in forms
        if (form != "full" or candidate.is_full_worthy) and (form != "pointer" or n_pointers < MAX_POINTERS)
    )


def _first_fitting(
    candidate: Packable, forms: tuple[Form, ...], left: Budget, measure: Callable[[str], Size]
) -> Form | None:
    for form in forms:
        if _fits(measure(candidate.text(form)), left):
            return form
    return None


def _fits(size: Size, left: Budget) -> bool:
    return size.lines <= left.lines and size.chars <= left.chars and size.size_bytes <= left.size_bytes


def _take(left: Budget, size: Size) -> Budget:
    return Budget(left.lines - size.lines, left.chars - size.chars, left.size_bytes - size.size_bytes)
