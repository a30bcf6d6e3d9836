"""Finds lines of a key in base64 without the marks around them: what an edit or a cut leaves of a private key. Pure.

Digests, paths and words on lines of their own are none.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_MIN_LINES = 3
_SPACES = r"[^\S\n]{0,40}"
_BEFORE = rf"{_SPACES}(?:[+>#*-]|//|\d{{1,6}}(?:→|\t|: ?)|[\w./-]{{1,100}}:\d{{1,6}}:)?{_SPACES}[+-]?[\"']?"
_AFTER = r"(?:\\n)?[\"']?[^\S\n]{0,4}[,+\\]?[^\S\n]{0,4}"
_LINE = re.compile(rf"^{_BEFORE}([A-Za-z0-9+/]{{60,}}={{0,2}}){_AFTER}$", re.MULTILINE)
_LAST = re.compile(rf"\n{_BEFORE}[A-Za-z0-9+/]{{4,}}={{0,2}}{_AFTER}(?=\n|\Z)")
_MAX_LOWER_RUN = 2.6
"""Small letters on end, on average: in base64 under two, in words more."""
_MAX_SLASHES = 16
"""One of so many characters at most; in base64 it is one of 64."""


def key_lines(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each run of at least three lines that hold base64 alone, with a shorter last one."""
    run: list[re.Match[str]] = []
    for match in _LINE.finditer(text):
        if run and match.start() != run[-1].end() + 1:
            yield from _of_run(text, run)
            run = []
        run.append(match)
    yield from _of_run(text, run)


def is_key_line(text: str) -> bool:
    """Whether a text is nothing but lines of a key, be it a single one."""
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
