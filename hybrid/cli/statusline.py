"""`hybrid statusline`: one short line about this session for a client's status line, from the end of the event log.

A client runs it every few hundred milliseconds, so it reads no settings, opens no index and imports little; it never
fails. `entry.py` and `__main__.py` call `main` without parsing options.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys

from hybrid.base.home import home_path, is_switched_off
from hybrid.log.events import FOLDER, STARTS, UNSEARCHABLE, compared_in, is_prompt, newest_events, reason_of
from hybrid.render.numbers import bar, number
from hybrid.render.visible import json_escaped, visible_line

TYPE_CHECKING = False  # `typing` costs four milliseconds, `pathlib` and `argparse` fifteen.
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable
    from typing import Any

_LOG_BYTES = 128_000
"""Bytes read of the log's end: about a hundred events, among which this session's last one nearly always is."""

_INPUT_BYTES = 1_000_000
_HELP = """\
example:
  hybrid statusline --install-hint

reads the client's JSON on standard input and prints one of:
  hybrid: 3 notes (0.61 ≥ 0.29)      the last prompt got three records; its score and the gate's threshold
  hybrid: silent (0.21 < 0.29)       nothing was close enough
  hybrid: ready                      the session began, or goes on
  hybrid: 3 notes given back         after a compaction
  hybrid: indexing…  hybrid: paused  hybrid: failed

--install-hint prints the lines for ~/.claude/settings.json. Claude Code shows one status line: one of your own can call
the command in them, with the same standard input."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.epilog = _HELP
    parser.add_argument("--install-hint", action="store_true", help="print the settings that have Claude Code show it")


def run(args: argparse.Namespace) -> int:
    """Print the status line, or the settings that install it; returns 0, always."""
    if args.install_hint:
        print(json_escaped(_setting()))
        return 0
    return main()


def main() -> int:
    """Print the status line; returns 0, always, and prints nothing when an error occurs."""
    # A rim: the client would show whatever is said here on every key press.
    with contextlib.suppress(Exception):
        shown = visible_line(_line()).encode() + b"\n"
        sys.stdout.buffer.write(shown)
        sys.stdout.flush()
    return 0


def _setting() -> str:
    """Return the member of Claude Code's settings, with the fastest way to start this installation."""
    import shlex

    from hybrid.ipc.start import start_command

    # Claude Code runs it in a Bash on Windows too, which takes backslashes away.
    words = [word.replace("\\", "/") if sys.platform == "win32" else word for word in start_command("statusline")]
    setting = {"type": "command", "command": f"{shlex.join(words)} 2>/dev/null || true"}
    return f'"statusLine": {json.dumps(setting, ensure_ascii=False, indent=2)}'


def _line() -> str:
    session = _session()
    home = home_path(os.environ)
    events = newest_events(os.path.join(home, FOLDER), max_bytes=_LOG_BYTES)  # noqa: PTH118 - see above
    of_session = [event for event in events if not session or event.get("session") == session]
    if is_switched_off(os.environ):
        return "hybrid: off"
    key = next((event["project"] for event in of_session if isinstance(event.get("project"), str)), None)
    client = str(of_session[0].get("client") or "") if of_session else ""
    if _is_paused(home, key, client, session):
        return "hybrid: paused"
    return line_of(of_session, is_building=lambda: key is not None and _is_building(home, key))


def line_of(newest_first: Iterable[dict[str, Any]], *, is_building: Callable[[], bool]) -> str:
    """Return the line for a session's events.

    Args:
        newest_first: Events of one session.
        is_building: Tells whether its index is being built; asked only when there was none to search.
    """
    events = list(newest_first)
    last = next((event for event in events if event.get("error") or _is_start(event) or is_prompt(event)), None)
    reason = str((last or (events[0] if events else {})).get("reason", ""))
    if reason in UNSEARCHABLE:
        return "hybrid: indexing…" if is_building() else "hybrid: no index (hybrid reindex)"
    if last is None:
        return "hybrid: no prompt yet"
    if last.get("error"):
        return "hybrid: failed (hybrid doctor)"
    count = len(last.get("items") or ())
    notes = f"{count} {'note' if count == 1 else 'notes'}"
    if _is_start(last):
        return f"hybrid: {notes} given back" if reason == "given_back" and count else "hybrid: ready"
    if reason == "injected":
        return f"hybrid: {notes}{_numbers(last)}"
    if reason == "reminded":
        return f"hybrid: {notes} once more"
    known = reason_of(reason)
    return f"hybrid: silent{_numbers(last) if reason == 'gate' else f' ({(known and known.short) or reason})'}"


def _is_start(event: dict[str, Any]) -> bool:
    """Return whether an event is the start or the resumption of a session."""
    return event.get("reason") in STARTS


def _numbers(event: dict[str, Any]) -> str:
    score, threshold = compared_in(event)
    if not isinstance(score, (int, float)) or not isinstance(threshold, (int, float)):
        return ""
    return f" ({number(score)} {'<' if event.get('reason') == 'gate' else '≥'} {bar(threshold)})"


def _session() -> str:
    """Return the session id in the client's JSON; empty on a terminal or without an id: any session counts then."""
    if sys.stdin.isatty():
        return ""
    value: Any = json.loads(sys.stdin.buffer.read(_INPUT_BYTES).decode("utf-8-sig", "replace") or "{}")
    with contextlib.suppress(KeyError, TypeError):
        session: Any = value["session_id"]
        return session if isinstance(session, str) else ""
    return ""


def _is_paused(home: str, key: str | None, client: str, session: str) -> bool:
    if not os.path.exists(os.path.join(home, "pauses.json")):  # noqa: PTH110, PTH118 - what reads it costs 8 ms
        return False
    from pathlib import Path

    from hybrid.session.pauses import is_paused

    return is_paused(Path(home), key, client, session) is not None


def _is_building(home: str, key: str) -> bool:
    from pathlib import Path

    from hybrid.index.build_progress import is_held

    return is_held(Path(home, "projects", key, "build.lock"))
