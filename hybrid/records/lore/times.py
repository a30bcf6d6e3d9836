"""Times as records write them, made comparable; clocks are read by the commands only."""

from __future__ import annotations

import re
from datetime import datetime, timezone

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_FRACTION = re.compile(r"\.(\d{1,9})\d*")


def day_of(text: str) -> str:
    """The day of an ISO time, `2026-02-10`; empty when the text does not begin with one."""
    found = _DAY.match(text.strip())
    return found.group() if found else ""


def seconds_of(text: str) -> float:
    """Seconds since the epoch of an ISO time, in UTC where it names no zone; −inf when it is none."""
    written = _FRACTION.sub(lambda match: f".{match[1][:6]:0<6}", text.strip())
    try:
        found = datetime.fromisoformat(re.sub(r"[Zz]$", "+00:00", written))
        return (found if found.tzinfo else found.replace(tzinfo=timezone.utc)).timestamp()
    except (ValueError, OverflowError, OSError):
        return float("-inf")


def written_time(now_s: float) -> str:
    """A time as the format has it: `2026-02-10T03:48:04Z`."""
    return datetime.fromtimestamp(now_s, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
