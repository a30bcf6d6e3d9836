"""A text as numbered lines: their sizes, good lines to cut at, and the definitions in a range of lines."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import TYPE_CHECKING

from hybrid.types import LineSpan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hybrid.types import ChunkLimits, Definition


_LEVEL_COST = 300
"""Characters that a piece may miss the wished size by, for a border one level higher."""
_BLANK_BONUS = 150
"""Characters that a piece may miss the wished size by, for a border behind a blank line."""
_BLANK_LEVEL = 8
_ANY_LEVEL = 20
"""Levels that count for a line without a border, after a blank line and elsewhere: statements are cut last."""
_SLACK = 1.25
"""Times the wished size up to which a range stays whole, or its rest would be a scrap."""
_LEAST = 0.3
"""Share of the wished size that every piece has at least."""


class TextLines:
    """Lines of a text, numbered from 1. Only a line feed ends a line, as tree-sitter counts them."""

    def __init__(self, text: str) -> None:
        self.lines = text.split("\n")
        self._ends = [0, *accumulate(len(line) + 1 for line in self.lines)]
        self._is_blank = [not line.strip() for line in self.lines]

    def __len__(self) -> int:
        return len(self.lines)

    def size(self, start: int, end: int) -> int:
        """Return the number of characters from line `start` to line `end` inclusive, line ends counted."""
        return self._ends[end] - self._ends[start - 1]

    def trimmed(self, start: int, end: int) -> tuple[int, int]:
        """Return the range without blank lines at its ends; its start lies behind its end when nothing is left."""
        while start <= end and self._is_blank[start - 1]:
            start += 1
        while end > start and self._is_blank[end - 1]:
            end -= 1
        return start, end

    def cut(self, start: int, end: int, limits: ChunkLimits, borders: Mapping[int, int]) -> Iterator[tuple[int, int]]:
        """Yield first and last line of a range's pieces: near `cut_chars`, not above `max_chars` but for a single line.

        Args:
            start: First line.
            end: Last line, inclusive.
            limits: Sizes to aim at.
            borders: Lines where a statement starts → nesting level. Shallow ones are preferred, then blank lines.
        """
        while self.size(start, end) > limits.cut_chars * _SLACK:
            border = self._best_border(start, end, limits, borders)
            yield start, border - 1
            start = border
            if start > end:
                return
        yield start, end

    def _best_border(self, start: int, end: int, limits: ChunkLimits, borders: Mapping[int, int]) -> int:
        """Return the first line of the next piece, in (start, end + 1]."""
        best, best_cost = start + 1, float("inf")
        ends, is_blank, before = self._ends, self._is_blank, self._ends[start - 1]
        # Of the lines that may begin the next piece, those that leave enough before them, and not too much.
        first = bisect_left(ends, before + limits.cut_chars * _LEAST, start) + 1
        last = bisect_right(ends, before + limits.max_chars, start, end)
        for line in range(first, last + 1):
            if is_blank[line - 1]:
                continue
            size = ends[line - 1] - before
            after_blank = is_blank[line - 2]
            level = borders.get(line, _BLANK_LEVEL if after_blank else _ANY_LEVEL)
            cost = _LEVEL_COST * level + abs(size - limits.cut_chars) - _BLANK_BONUS * after_blank
            if cost <= best_cost:
                best, best_cost = line, cost
        if best_cost == float("inf"):
            return self._forced_border(start, end, limits)
        return best

    def _forced_border(self, start: int, end: int, limits: ChunkLimits) -> int:
        """Return the first line of the next piece when no line lies at a good size: the first one that does not fit."""
        line = start
        while line < end and self.size(start, line + 1) <= limits.max_chars:
            line += 1
        return line + 1


class Contents:
    """Definitions and comments of a document, found by line.

    Args:
        definitions: The definitions, sorted by start line.
        comments: The comments, sorted by start line.
    """

    def __init__(self, definitions: Sequence[Definition], comments: Sequence[LineSpan]) -> None:
        self._definitions = tuple(definitions)
        self._comments = comments
        self._starts = [definition.start_line for definition in definitions]
        self._comment_ends = list(accumulate((comment.end_line for comment in comments), max))

    def within(self, start: int, end: int) -> tuple[tuple[Definition, ...], tuple[LineSpan, ...]]:
        """Return definitions that start on lines `start` to `end` inclusive, and the parts of comments there."""
        definitions = self._definitions[bisect_left(self._starts, start) : bisect_left(self._starts, end + 1)]
        comments: list[LineSpan] = []
        for position in range(bisect_left(self._comment_ends, start), len(self._comments)):
            comment = self._comments[position]
            if comment.start_line > end:
                break
            if comment.end_line >= start:
                comments.append(LineSpan(max(comment.start_line, start), min(comment.end_line, end)))
        return definitions, tuple(comments)
