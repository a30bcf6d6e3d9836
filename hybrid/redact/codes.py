"""Finds the codes that let someone in once, when the second factor is lost: "recovery codes", "backup codes"."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.base.patterns import compiled
from hybrid.redact.patterns import Secret, occurrences, possible

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = r"(?:recovery|backup|scratch)[ _-]?codes?\\{0,4}[\"']?"
_GAP = r"(?:[\s\"'\\\[\],*`:=;|>-]|\bis\b|\bare\b|\d{1,2}[.)]){1,40}"
_CODE = r"[A-Za-z0-9]{4,6}(?:[- ][A-Za-z0-9]{4,6}){1,3}(?![A-Za-z0-9])|[a-z0-9]{8,10}(?=[\s\",])"
_MAX_CODES = 24


def recovery_codes(text: str, lower: str, letters: str) -> Iterator[Secret]:
    """Each code of a list after its name."""
    for start, _ in occurrences(lower, possible(("recovery", "backup", "scratch"), letters)):
        name = compiled(_NAME).match(lower, start)
        at = -1 if name is None else name.end()
        for _ in range(_MAX_CODES if at >= 0 else 0):
            gap = compiled(_GAP).match(text, at)
            code = None if gap is None else compiled(_CODE).match(text, gap.end())
            if code is None or (not any(map(str.isdigit, code.group())) and not code.group().isupper()):
                break
            yield Secret("recovery_code", code.start(), code.end())
            at = code.end()
