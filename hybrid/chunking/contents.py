"""Finds what lies in a range of lines: definitions that start there, comments cut to it; `code` and `prose` call it."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate
from typing import TYPE_CHECKING

from hybrid.types import LineSpan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.types import Definition


class Contents:
    """Definitions and comments of a document, found by line.

    Args:
        definitions: Sorted by start line.
        comments: Sorted by start line.
    """

    def __init__(self, definitions: Sequence[Definition], comments: Sequence[LineSpan]) -> None:
        self._definitions = tuple(definitions)
        self._comments = comments
        self._starts = [definition.start_line for definition in definitions]
        self._comment_ends = list(accumulate((comment.end_line for comment in comments), max))

    def within(self, start: int, end: int) -> tuple[tuple[Definition, ...], tuple[LineSpan, ...]]:
        """Definitions that start on lines `start` to `end` inclusive, and the parts of comments that lie there."""
        definitions = self._definitions[bisect_left(self._starts, start) : bisect_left(self._starts, end + 1)]
        comments: list[LineSpan] = []
        for position in range(bisect_left(self._comment_ends, start), len(self._comments)):
            comment = self._comments[position]
            if comment.start_line > end:
                break
            if comment.end_line >= start:
                comments.append(LineSpan(max(comment.start_line, start), min(comment.end_line, end)))
        return definitions, tuple(comments)
