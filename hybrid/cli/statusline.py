"""`hybrid statusline`: one short line about this session for a client's status line, from the end of the event log.

A client runs it every few hundred milliseconds, so it reads no settings and opens no index; it never fails.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hybrid.feedback.events import log_folder, newest_events
from hybrid.feedback.health import is_prompt
from hybrid.home import home_path
from hybrid.session.pauses import is_paused

if TYPE_CHECKING:
    from collections.abc import Iterable

_LOG_BYTES = 128_000
"""The end of the log that is read: a hundred events, of which this session's last one is seldom far."""

_INPUT_BYTES = 1_000_000
_NOT_READY = frozenset({"no_index", "index_corrupt", "index_mismatch"})
_WHY = {
    "prompt": "nothing to look up",
    "late": "too late",
    "same_topic": "given before",
    "all_seen": "given before",
    "no_results": "nothing close enough",
    "budget": "nothing fits the budget",
    "no_project": "no project here",
}
_HELP = """\
example:
  hybrid statusline --install-hint

reads the client's JSON on standard input and prints one of:
  hybrid: 3 notes (0.61 ≥ 0.29)      the last prompt got three records; its cosine and the gate's threshold
  hybrid: silent (0.21 < 0.29)       nothing was close enough
  hybrid: indexing…  hybrid: paused  hybrid: failed"""
_HINT = """\
Put this into ~/.claude/settings.json (Claude Code shows one status line; with one of your own, call `hybrid statusline`
in it and give it the same standard input):

  "statusLine": {"type": "command", "command": "hybrid statusline 2>/dev/null || true"}"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.epilog = _HELP
    parser.add_argument("--install-hint", action="store_true", help="tell how to set it in Claude Code")


def run(args: argparse.Namespace) -> int:
    """Run it; exit code 0 always."""
    if args.install_hint:
        print(_HINT)
        return 0
    # A rim: the client would show whatever is said here on every key press.
    with contextlib.suppress(Exception):
        print(_line())
    return 0


def _line() -> str:
    session = _session()
    home = Path(home_path(os.environ))
    events = newest_events(log_folder(home), max_bytes=_LOG_BYTES)
    of_session = [event for event in events if not session or event.get("session") == session]
    if os.environ.get("HYBRID_DISABLE", "") not in ("", "0"):
        return "hybrid: off"
    key = next((event["project"] for event in of_session if isinstance(event.get("project"), str)), None)
    if is_paused(home, key, _client(of_session), session):
        return "hybrid: paused"
    return line_of(of_session, is_building=lambda: key is not None and _is_building(home, key))


def line_of(newest_first: Iterable[dict[str, Any]], *, is_building: Any) -> str:
    """The line for a session's events.

    Args:
        newest_first: Events of one session.
        is_building: Tells whether its index is being built; asked only when there was none to search.
    """
    events = list(newest_first)
    last = next((event for event in events if event.get("error") or is_prompt(event)), None)
    reason = str((last or (events[0] if events else {})).get("reason", ""))
    if reason in _NOT_READY:
        return "hybrid: indexing…" if is_building() else "hybrid: no index (hybrid reindex)"
    if last is None:
        return "hybrid: no prompt yet"
    if last.get("error"):
        return "hybrid: failed (hybrid doctor)"
    if reason == "injected":
        count = len(last.get("items") or ())
        return f"hybrid: {count} {'note' if count == 1 else 'notes'}{_numbers(last)}"
    return f"hybrid: silent{_numbers(last) if reason == 'gate' else f' ({_WHY.get(reason, reason)})'}"


def _numbers(event: dict[str, Any]) -> str:
    top, threshold = event.get("top_cosine"), event.get("threshold")
    if not isinstance(top, (int, float)) or not isinstance(threshold, (int, float)):
        return ""
    return f" ({top:.2f} {'≥' if top >= threshold else '<'} {threshold:.2f})"


def _session() -> str:
    """The session in the client's JSON; empty by hand, where the newest event of any session counts."""
    if sys.stdin.isatty():
        return ""
    found: object = json.loads(sys.stdin.buffer.read(_INPUT_BYTES).decode("utf-8-sig", "replace") or "{}")
    session = cast("dict[str, object]", found).get("session_id") if isinstance(found, dict) else None
    return session if isinstance(session, str) else ""


def _client(events: list[dict[str, Any]]) -> str:
    return str(events[0].get("client") or "") if events else ""


def _is_building(home: Path, key: str) -> bool:
    from hybrid.atomic import locked

    lock = home / "projects" / key / "build.lock"
    if not lock.exists():
        return False
    with locked(lock, 0) as held:
        return not held
