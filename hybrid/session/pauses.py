"""Pauses: where the owner switched hybrid off for a while; `hybrid pause` and `resume` write them, every answer asks.

Standard library only and cheap: without a pause it costs one failed `open`. The file is `$HYBRID_HOME/pauses.json`; one
that is damaged pauses nothing, and is set aside by the next change.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from hybrid.base.atomic import locked, read_regular, set_aside, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

NAME = "pauses.json"
SCOPES = ("all", "project", "session")
"""The scopes of a pause, widest first."""

_MAX_BYTES = 1_000_000
_LOCK_S = 2.0
_FORGOTTEN_S = 30 * 86_400
"""Seconds after which a session's pause without an end is over: nobody resumes a session of last month."""

_LATEST_S = 253_402_300_799.0
"""The last second of the year 9999: a later end cannot be written as a date."""


class Pause(NamedTuple):
    """One pause; a tuple, since importing the library of our values costs a status line several milliseconds.

    Attributes:
        scope: One of `SCOPES`.
        name: The project's key or the agent's session id; empty for `all`.
        since_s: When it began, seconds since 1970.
        until_s: When it ends by itself, as its owner asked; None without such a time.
        client: The client of the session; empty for any client.
        root: Of a project, its working tree: hooks that know no keys leave it alone by its path.
    """

    scope: str
    name: str
    since_s: float
    until_s: float | None = None
    client: str = ""
    root: str = ""

    @property
    def key(self) -> str:
        """The key of this pause in the file of pauses: `scope:name`."""
        return f"{self.scope}:{self.name}"

    @property
    def end_s(self) -> float | None:
        """Seconds since 1970 at which this pause ends by itself; None when only `hybrid resume` ends it.

        A session's pause for which its owner named no end ends after 30 days.
        """
        if self.until_s is None and self.scope == "session":
            return self.since_s + _FORGOTTEN_S
        return self.until_s

    def is_over(self, now_s: float) -> bool:
        """Return whether this pause has ended by itself."""
        return self.end_s is not None and now_s >= self.end_s

    def as_json(self, now_s: float) -> dict[str, Any]:
        """Return this pause as JSON with stable keys, for `pause`, `resume` and `status`.

        Args:
            now_s: The present time, seconds since 1970.
        """
        end_s = self.end_s
        return {
            "scope": self.scope,
            "name": self.name or None,
            "since": _utc(self.since_s),
            "until": None if end_s is None else _utc(end_s),
            "left_s": None if end_s is None else round(max(end_s - now_s, 0.0)),
            "is_endless": end_s is None,
        }


def is_paused(
    home: Path, project_key: str | None, client: str, session_id: str, *, at_s: float | None = None
) -> str | None:
    """Return the widest scope that is paused for an event (`all`, `project` or `session`), or None.

    Args:
        home: `$HYBRID_HOME`.
        project_key: Key of the event's project; None without one.
        client: The client of the event.
        session_id: The agent's session id.
        at_s: When the event came, seconds since 1970, if that was earlier: a pause that began later is not meant for
            it. None for the present.
    """
    keys = {"all:", f"project:{project_key}" if project_key else "", f"session:{session_id}" if session_id else ""}
    for pause in pauses(home, now_s=at_s):
        if pause.key in keys and pause.client in ("", client) and (at_s is None or pause.since_s <= at_s):
            return pause.scope
    return None


def pauses_for(home: Path, project_key: str | None) -> list[Pause]:
    """Return the pauses in force of scope `all`, of this project, and of every session whatever its project."""
    return [found for found in pauses(home) if found.scope != "project" or found.name == project_key]


def pauses(home: Path, *, now_s: float | None = None) -> list[Pause]:
    """Return the pauses in force, widest first; empty when the file is missing or damaged."""
    try:
        found = _parse(read_regular(home / NAME, _MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return []
    now_s = time.time() if now_s is None else now_s
    return sorted((pause for pause in found if not pause.is_over(now_s)), key=_order)


def pause(home: Path, wanted: Pause) -> None:
    """Add a pause to the file, in place of one with the same scope and name; a damaged file is set aside before.

    Raises:
        OSError: The disk is full or read-only, or another process holds the file for long.
    """
    _change(home, {wanted.key: wanted}, frozenset())


def resume(home: Path, keys: frozenset[str]) -> int:
    """Remove the pauses with these keys (`Pause.key`) from the file; return how many were in force.

    Raises:
        OSError: As `pause`.
    """
    n_ended = sum(found.key in keys for found in pauses(home))
    if n_ended:
        _change(home, {}, keys)
    return n_ended


def is_damaged(home: Path) -> bool:
    """Return whether the file of pauses exists but cannot be read, so that nothing is paused."""
    try:
        _parse(read_regular(home / NAME, _MAX_BYTES))
    except FileNotFoundError:
        return False
    except (OSError, ValueError, RecursionError):
        return True
    return False


def _change(home: Path, added: dict[str, Pause], removed: frozenset[str]) -> None:
    with locked(home / f"{NAME}.lock", _LOCK_S) as held:
        if not held:
            raise TimeoutError(None, "another process holds it, or the folder cannot be written", str(home / NAME))
        if is_damaged(home):
            set_aside(home / NAME)
        kept = {found.key: found for found in pauses(home) if found.key not in removed} | added
        entries = {key: _entry(found) for key, found in sorted(kept.items())}
        text = json.dumps({"pauses": entries}, indent=1, ensure_ascii=False)
        write_atomic(home / NAME, text.encode("utf-8", "surrogateescape"))


def _entry(found: Pause) -> dict[str, Any]:
    return {"since": found.since_s, "until": found.until_s, "client": found.client, "root": found.root}


def _parse(data: bytes) -> list[Pause]:
    """Return the pauses in a file, also those that are over; an entry that is no pause is passed over.

    Raises:
        ValueError: The file is not of our making.
    """
    file: object = json.loads(data.decode("utf-8", "surrogateescape"))
    entries: object = cast("dict[str, object]", file).get("pauses") if isinstance(file, dict) else None
    if not isinstance(entries, dict):
        raise ValueError(f"{NAME} holds no object `pauses`")
    found: list[Pause] = []
    for key, entry in cast("dict[str, object]", entries).items():
        scope, _, name = key.partition(":")
        if scope in SCOPES and isinstance(entry, dict):
            found.append(_pause(scope, name, cast("dict[str, object]", entry)))
    return found


def _pause(scope: str, name: str, entry: dict[str, object]) -> Pause:
    since = _seconds(entry.get("since"))
    client, root = str(entry.get("client") or ""), str(entry.get("root") or "")
    return Pause(scope, name, since or 0.0, _seconds(entry.get("until")), client, root)


def _seconds(value: object) -> float | None:
    """Return a time from the file; None for a value that is no time up to the year 9999."""
    return float(value) if isinstance(value, (int, float)) and 0 <= value <= _LATEST_S else None


def _utc(seconds: float) -> str:
    """Return a time in ISO 8601, UTC; without `datetime`, which would cost a status line two milliseconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(seconds))


def _order(found: Pause) -> tuple[int, str]:
    return SCOPES.index(found.scope), found.name
