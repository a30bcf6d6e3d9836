"""The lines of files that stand in an agent's context, as ranges with digests: hooks note them, the engine asks.

A range is a run of lines without a blank one, cut where the tool's output was cut. Its text is not kept: it still
stands when the file has the same text at these lines, or as a paragraph anywhere. So an edit elsewhere in the file does
not make it unread, and an edit inside does.
"""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from hybrid.base.digest import chunk_digest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

_DIGEST_BYTES = 8
_TELLING = re.compile(r"[^\W_]")


def is_telling(line: str) -> bool:
    """Return whether a line holds a letter or a digit: brackets and rules alone say nothing."""
    return _TELLING.search(line) is not None


def ranges_of(lines: Sequence[str], numbers: Collection[int], masked: Sequence[str]) -> list[str]:
    """Return the ranges of the lines that were read, in order, each as `start-end:digest`.

    Lines that tell nothing count as read between two that were. A range with a secret is left out, so that the secret
    cannot be found by trying digests.

    Args:
        lines: All lines of the file.
        numbers: Numbers of the lines that were read, from 1.
        masked: The lines of the file with secrets masked.
    """
    ranges: list[str] = []
    for start, end in _paragraphs(lines, 1, len(lines)):
        read = [n in numbers or not is_telling(lines[n - 1]) for n in range(start, end + 1)]
        for is_read, run in groupby(range(start, end + 1), key=lambda n, start=start, read=read: read[n - start]):
            run_lines = list(run)
            first, last = run_lines[0], run_lines[-1]
            is_new = is_read and any(n in numbers for n in run_lines)
            if is_new and lines[first - 1 : last] == masked[first - 1 : last]:
                ranges.append(f"{first}-{last}:{_digest(lines, first, last)}")
    return ranges


def standing(lines: Sequence[str], ranges: Collection[str], start_line: int, end_line: int) -> set[int]:
    """Return the numbers of the lines in a part of a file that were read and did not change since.

    Args:
        lines: All lines of the file as it is now.
        ranges: As of `ranges_of`, of any time; one of another form counts for nothing.
        start_line: First line of the part, from 1.
        end_line: Last line of the part, inclusive.
    """
    digests = {place.rpartition(":")[2] for place in ranges}
    known: set[int] = set()
    for start, end in _paragraphs(lines, start_line, end_line):
        if _digest(lines, start, end) in digests:
            known.update(range(start, end + 1))
    for place in () if known.issuperset(telling_in(lines, start_line, end_line)) else ranges:
        span = lines_in(place)
        overlaps = span.start <= end_line and span.stop > start_line and 1 <= span.start < span.stop <= len(lines) + 1
        if not overlaps or known.issuperset(span):
            continue
        if _digest(lines, span.start, span.stop - 1) == place.rpartition(":")[2]:
            known.update(span)
    return {n for n in known if start_line <= n <= end_line}


def lines_in(place: str) -> range:
    """Return the numbers of the lines of a range, as `ranges_of` writes it; none for a text of another form."""
    first, _, last = place.partition(":")[0].partition("-")
    return range(int(first), int(last) + 1) if first.isdecimal() and last.isdecimal() else range(0)


def telling_in(lines: Sequence[str], start_line: int, end_line: int) -> set[int]:
    """Return the numbers of the lines in a part of a file that hold a letter or a digit."""
    return {n for n in range(start_line, min(end_line, len(lines)) + 1) if is_telling(lines[n - 1])}


def _paragraphs(lines: Sequence[str], start_line: int, end_line: int) -> Iterator[tuple[int, int]]:
    """Yield first and last line of each run of lines without a blank one that reaches into a part of a file."""
    at = max(start_line, 1)
    end_line = min(end_line, len(lines))
    while 1 < at <= len(lines) and lines[at - 1].strip() and lines[at - 2].strip():
        at -= 1
    while at <= end_line:
        if not lines[at - 1].strip():
            at += 1
            continue
        last = at
        while last < len(lines) and lines[last].strip():
            last += 1
        yield at, last
        at = last + 1


def _digest(lines: Sequence[str], start: int, end: int) -> str:
    return chunk_digest("\n".join(lines[start - 1 : end]))[:_DIGEST_BYTES].hex()
