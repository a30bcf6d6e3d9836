"""A name in a text that says that a secret stands beside it; `assigned`, `lists` and `sentences` look for the value."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from hybrid.base.patterns import compiled
from hybrid.redact.names import Clarity
from hybrid.redact.values import Place, is_secret

if TYPE_CHECKING:
    import re


Walks: TypeAlias = "dict[tuple[str, Clarity], tuple[int, int, list[tuple[int, int]]]]"
"""Indentation and clarity → where the items of a list begin and end that were looked at, and the secrets among them."""


class TellingName:
    """A telling name, and how a value beside it is judged.

    Attributes:
        text: The text.
        name: The name in it.
        clear: How clearly it says so.
        start: Where it begins.
        end: Where it ends.
        walks: Of the lists of the text, which many names may stand in.
    """

    def __init__(self, text: str, name: str, clear: Clarity, start: int, end: int, walks: Walks) -> None:
        self.text = text
        self.clear = clear
        self.name = name
        self.start = start
        self.end = end
        self.walks = walks

    def is_secret(self, value: str, place: Place, *, most: Clarity = Clarity.PASSWORD) -> bool:
        """Return whether a value that stands so beside the name is a secret."""
        return is_secret(value, min(self.clear, most), place)

    def one(self, pattern: str, place: Place) -> list[tuple[int, int]]:
        """Where the value is that a pattern finds after the name, when it is a secret."""
        match = compiled(pattern).match(self.text, self.end)
        return [match.span("value")] if match is not None and self.is_secret(match["value"], place) else []

    def without_end_marks(self, match: re.Match[str], group: str) -> tuple[int, int]:
        """A value without the marks that end a sentence after it."""
        start, end = match.span(group)
        value = self.text[start:end]
        cut = compiled(r"\\{1,4}[nrt]").search(value)
        value = value if cut is None else value[: cut.start()]
        value = value.rstrip(".,;:?)]}>\\")
        return start, start + len(value.removesuffix("**"))
