"""What the finders of secrets share: the value they give, patterns compiled when needed, plain searches."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@dataclass(frozen=True, slots=True)
class Secret:
    """A secret in a text.

    Attributes:
        kind: Name that stands in its place (`github_token`, `private_key`, …).
        start: Offset of its first character.
        end: Offset after its last.
    """

    kind: str
    start: int
    end: int


@cache
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compiled when first needed: most texts need none, and compiling all takes longer than a prompt may."""
    return re.compile(pattern, flags)


def lower_case(text: str) -> str:
    """Text in lower case with the same offsets; `İ` alone would become two characters."""
    lower = text.lower()
    return lower if len(lower) == len(text) else "".join(c.lower() if c.isascii() else c for c in text)


def with_lines(text: str) -> str:
    """The text with escaped line ends and tabs as what they stand for, padded so that offsets stay.

    In JSON, and in JSON within JSON, a file is one line; what belongs to one of its lines is told by its lines.
    """
    if "\\" not in text:
        return text
    return text.replace("\\n", " \n").replace("\\t", " \t").replace("\\r", "  ")


def occurrences(text: str, words: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Start and end of every place where one of the words stands; plain searches, far faster than one pattern."""
    for word in words:
        start = text.find(word)
        while start >= 0:
            yield start, start + len(word)
            start = text.find(word, start + len(word))
