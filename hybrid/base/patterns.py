"""Compiles regular expressions when they are first needed; prompts, sources, the index and redaction call it."""

from __future__ import annotations

import re
from functools import cache


@cache
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return the compiled pattern, which is kept: compiling all at import takes longer than a cold prompt may."""
    return re.compile(pattern, flags)
