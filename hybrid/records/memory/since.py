"""Reads the time from which on rows are wanted, as a person writes it; the commands and the service share it."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING

from hybrid.records.errors import SinceError

if TYPE_CHECKING:
    from datetime import tzinfo

_SPAN = re.compile(r"([0-9]{1,4})([dw])")
_EPOCH = re.compile(r"[0-9]{9,14}(?:\.[0-9]{1,9})?")
_DAY_MS = 86_400_000
_MOST = {"d": 365, "w": 52}
_DAYS = {"d": 1, "w": 7}
_MS_FROM = 100_000_000_000
"""Numbers from here on are milliseconds: as seconds they would lie beyond the year 5000."""
_FIRST = datetime(1970, 1, 1, tzinfo=timezone.utc)


def since_ms(text: str, now_ms: int, zone: tzinfo | None = None) -> int:
    """Milliseconds since 1970 of a time.

    Args:
        text: `today` and `yesterday` (from midnight on), `Nd` (1 to 365 days ago), `Nw` (1 to 52 weeks ago), an ISO
            date or time, or seconds or milliseconds since 1970. Case does not matter.
        now_ms: The present.
        zone: Of midnight and of times that name none; None for this machine's.

    Raises:
        SinceError: It is none of these.
    """
    written = text.strip().lower()
    if written in ("today", "yesterday"):
        return _midnight(now_ms, 0 if written == "today" else 1, zone)
    span = _SPAN.fullmatch(written)
    if span is not None and 1 <= int(span[1]) <= _MOST[span[2]]:
        return now_ms - int(span[1]) * _DAYS[span[2]] * _DAY_MS
    if _EPOCH.fullmatch(written):
        number = float(written)
        return int(number if number >= _MS_FROM else number * 1000)
    found = None if span else _iso_ms(text.strip(), zone)
    if found is None:
        raise SinceError(
            f"{text!r} is no time that is understood: give today, yesterday, 1d to 365d, 1w to 52w, an ISO date or "
            "time (2026-02-14, 2026-02-14T10:30), or seconds or milliseconds since 1970"
        )
    return found


def _midnight(now_ms: int, days_before: int, zone: tzinfo | None) -> int:
    day = datetime.fromtimestamp(now_ms / 1000, zone).date() - timedelta(days=days_before)
    # Midnight is looked for in the zone of that very day: the clocks may have changed since.
    return int(_aware(datetime(day.year, day.month, day.day), zone).timestamp() * 1000)


def _iso_ms(text: str, zone: tzinfo | None) -> int | None:
    try:
        found = datetime.fromisoformat(re.sub(r"[Zz]$", "+00:00", text))
        when = found if found.tzinfo else _aware(found, zone)
        return round((when - _FIRST) / timedelta(milliseconds=1))
    except (ValueError, OverflowError, OSError):
        return None


def _aware(naive: datetime, zone: tzinfo | None) -> datetime:
    return naive.astimezone() if zone is None else naive.replace(tzinfo=zone)
