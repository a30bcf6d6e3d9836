from __future__ import annotations

from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest

from hybrid.operations.asking import OperationError
from hybrid.operations.memory_look import since_ms
from tests.support.memories import DAY_MS, NOW_MS

_EAST = timezone(timedelta(hours=9))


def _ms(
    year: int, month: int, day: int, hour: int = 0, minute: int = 0, zone: timezone | ZoneInfo = timezone.utc
) -> int:
    return int(datetime(year, month, day, hour, minute, tzinfo=zone).timestamp() * 1000)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("today", _ms(2026, 2, 13)),
        (" Yesterday ", _ms(2026, 2, 12)),
        ("1d", NOW_MS - DAY_MS),
        ("365D", NOW_MS - 365 * DAY_MS),
        ("52w", NOW_MS - 364 * DAY_MS),
        ("2026-02-01", _ms(2026, 2, 1)),
        ("2026-02-01T10:30", _ms(2026, 2, 1, 10, 30)),
        ("2026-02-01 10:30:00Z", _ms(2026, 2, 1, 10, 30)),
        ("2026-02-01T10:30:00+02:00", _ms(2026, 2, 1, 8, 30)),
        ("1769904000", 1769904000000),
        ("1769904000123", 1769904000123),
        ("1769904000.5", 1769904000500),
    ],
)
def test_every_form(text: str, expected: int) -> None:
    """Days from midnight, spans back from now, ISO, seconds and milliseconds."""
    assert expected == since_ms(text, NOW_MS, timezone.utc)


@pytest.mark.parametrize(
    "text", ["", "0d", "366d", "53w", "0w", "tomorrow", "d", "-1d", "1h", "7", "2026-13-01", "next week", "1e9", "٣d"]
)
def test_anything_else_says_what_is_possible(text: str) -> None:
    """The error names the value and all forms."""
    with pytest.raises(OperationError, match="today, yesterday, 1d to 365d, 1w to 52w, an ISO date") as caught:
        since_ms(text, NOW_MS, timezone.utc)

    assert repr(text) in str(caught.value)


def test_midnight_is_that_of_the_zone() -> None:
    """At 16:26 UTC it is tomorrow already nine hours to the east."""
    assert _ms(2026, 2, 14, zone=_EAST) == since_ms("today", NOW_MS, _EAST)
    assert _ms(2026, 2, 13, zone=_EAST) == since_ms("yesterday", NOW_MS, _EAST)
    assert _ms(2026, 2, 1, zone=_EAST) == since_ms("2026-02-01", NOW_MS, _EAST)


def test_yesterday_begins_at_midnight_when_the_clocks_change() -> None:
    """The day before the 29th of March 2026 in Berlin ended with 23 hours to come."""
    try:
        zone = ZoneInfo("Europe/Berlin")
    except LookupError:
        pytest.skip("no data of time zones here")
    now_ms = _ms(2026, 3, 30, 12, zone=zone)

    assert _ms(2026, 3, 29, zone=zone) == since_ms("yesterday", now_ms, zone)
    assert 23 * 3_600_000 == since_ms("today", now_ms, zone) - since_ms("yesterday", now_ms, zone)


def test_without_a_zone_it_is_the_machines() -> None:
    """Midnight of this machine, whatever its zone is."""
    here = datetime.fromtimestamp(NOW_MS / 1000).replace(hour=0, minute=0, second=0, microsecond=0)

    assert int(here.timestamp() * 1000) == since_ms("today", NOW_MS)
