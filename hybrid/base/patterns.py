"""Compiles regular expressions when they are first needed; prompts, sources, the index and redaction call it."""

from __future__ import annotations

import re
from functools import cache


@cache
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compiled when first needed: compiling all patterns takes longer than a cold prompt may, and it needs few."""
    return re.compile(pattern, flags)
