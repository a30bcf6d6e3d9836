"""Finds private keys in text blocks, whole and cut, also where a tool numbered or quoted their lines."""

from __future__ import annotations

import binascii
from typing import TYPE_CHECKING

from hybrid.base.patterns import compiled
from hybrid.redact.patterns import Secret, occurrences

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEY_BEGIN = r"-----BEGIN (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_KEY_END = r"-----END (?:[A-Z0-9]+ ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_ENCODED_BEGIN = "LS0tLS1CRUdJTi"
_ENCODED = r"[A-Za-z0-9+/]{60,}={0,2}"
_KEY_BODY = r"[A-Za-z0-9+/]{24}"
# Before a line: its number as tools print it, or where it was found.
_LINE_MARK = r"(?:[+>#*-]|//|\d{1,6}(?:→|\t|\\{1,4}t)|[\w./-]{1,100}:\d{1,6}:)"
_KEY_LINES_AFTER = (
    r"(?:\\{1,4}[nrt]|[\s\"'\\,+]|(?<=[\s\dn])"
    + _LINE_MARK
    + r"|\d{1,6}→|[A-Za-z0-9+/=]{16,}|[A-Z][A-Za-z-]{2,20}: [^\n]{0,120}\n)*"
)
_KEY_LINE = rf"[^\S\n]*{_LINE_MARK}?[^\S\n]*[\"']?[A-Za-z0-9+/=]{{16,100}}(?:\\n)?[\"']?,?[^\S\n]*(?:\\r)?"
_MAX_KEY_LINES = 200
_KEY_RUN = r"[A-Za-z0-9+/=]{16,}"
_MIN_KEY_SHARE = 0.6
"""Of what stands between two marks must be base64; code that only names both marks has far less."""


def private_keys(text: str) -> Iterator[Secret]:
    """Whole blocks, the part of a block that a chunk border left (no end, or no beginning), and blocks in base64."""
    run_end = 0
    for start, end in occurrences(text, (_ENCODED_BEGIN,)):
        run = compiled(_ENCODED).match(text, end) if start >= run_end else None
        if run is None:
            continue
        run_end = run.end()
        if _is_encoded_key(text[start:run_end]):
            yield Secret("private_key", start, run.end())
    if "PRIVATE KEY" in text:
        yield from _key_blocks(text)


def _is_encoded_key(encoded: str) -> bool:
    """True when base64 holds the first line of a private key."""
    return b"PRIVATE KEY" in binascii.a2b_base64(encoded[:64])


def _key_blocks(text: str) -> Iterator[Secret]:
    begins = list(compiled(_KEY_BEGIN).finditer(text))
    begun: set[int] = set()
    for number, begin in enumerate(begins):
        border = begins[number + 1].start() if number + 1 < len(begins) else len(text)
        end = compiled(_KEY_END).search(text, begin.end(), border)
        if end is None or not _is_key_body(text[begin.end() : end.start()]):
            end = compiled(_KEY_LINES_AFTER).match(text, begin.end(), border)
        if end is not None:
            begun.add(end.end())
        if end is not None and compiled(_KEY_BODY).search(text, begin.end(), end.end()):
            yield Secret("private_key", begin.start(), end.end())
    lines = _KeyLines(text)
    for end in compiled(_KEY_END).finditer(text):
        start, has_body = lines.before(end.start())
        if has_body and end.end() not in begun:
            yield Secret("private_key", start, end.end())


def _is_key_body(body: str) -> bool:
    """True when most of what stands between the marks of a key is base64, whatever quotes or marks its lines."""
    size = sum(map(len, body.split()))
    return sum(map(len, compiled(_KEY_RUN).findall(body))) >= _MIN_KEY_SHARE * size


class _KeyLines:
    """The lines of base64 that stand right before marks, asked for in order; no line is looked through twice."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._last_line: dict[str, tuple[int, int]] = {}
        """Line end → how far lines were looked for, where the last one begins."""
        self._starts: dict[tuple[str, int], int] = {}
        """Line end and start of a line → where the lines of base64 before it begin."""
        self._body = (0, 0, False)
        """Where key lines began, how far they were looked through, and whether they hold what a key has."""

    def before(self, end: int) -> tuple[int, bool]:
        """Where the lines before an offset begin, and whether a key is in them; line ends may be escaped."""
        escape = compiled(r"\\{1,4}n")
        escaped = escape.match(self._text, max(0, end - 5)) or escape.match(self._text, max(0, end - 3))
        line_end = escaped.group() if escaped is not None else "\n"
        seen, line_start = self._last_line.get(line_end, (0, 0))
        at = self._text.rfind(line_end, seen, end)
        line_start = line_start if at < 0 else at + len(line_end)
        self._last_line[line_end] = end, line_start
        if (line_end, line_start) not in self._starts:
            self._starts[line_end, line_start] = _start_of_key_lines(self._text, line_end, line_start)
        start = self._starts[line_end, line_start]
        begun, seen, has_body = self._body
        if start != begun or not has_body:
            has_body = compiled(_KEY_BODY).search(self._text, seen if start == begun else start, end) is not None
        self._body = start, end, has_body
        return start, has_body


def _start_of_key_lines(text: str, line_end: str, start: int) -> int:
    """Where the lines of base64 begin that stand right before a line."""
    for _ in range(_MAX_KEY_LINES):
        before = max(0, start - len(line_end))
        at = text.rfind(line_end, 0, before)
        previous = 0 if at < 0 else at + len(line_end)
        if previous >= start or not compiled(_KEY_LINE).fullmatch(text, previous, max(previous, before)):
            break
        start = previous
    return start
