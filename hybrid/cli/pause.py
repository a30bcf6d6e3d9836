"""`hybrid pause` and `hybrid resume`: switch hybrid off for a while, in a project, a session or everywhere."""

from __future__ import annotations

import argparse
import os
import re
import time
from datetime import datetime
from typing import TYPE_CHECKING

from hybrid.base.clients import session_in
from hybrid.base.errors import HybridError
from hybrid.cli.common import add_common, print_done, workspace_of
from hybrid.render.marks import harmless_line
from hybrid.session.pauses import Pause, pause, pauses, resume

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.workspace import Workspace

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_LONGEST_S = 3650 * 86_400
"""Ten years: a longer time is a slip."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `pause`."""
    add_common(parser, example="hybrid pause --session --for 2h")
    _add_scope(parser, "everywhere")
    parser.add_argument("--for", dest="for_s", type=_pause_s, metavar="TIME", help="end by itself: 30m, 2h, 1d")


def configure_resume(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `resume`."""
    add_common(parser, example="hybrid resume --all")
    _add_scope(parser, "end every pause: of all projects and sessions")
    parser.set_defaults(run_action=_resume, for_s=None)


def _add_scope(parser: argparse.ArgumentParser, every: str) -> None:
    scope = parser.add_mutually_exclusive_group()
    about = "this agent session, or the one with this id"
    scope.add_argument("--session", nargs="?", const="", metavar="ID", help=about)
    scope.add_argument("--all", action="store_true", help=every)


def run(args: argparse.Namespace) -> int:
    """Pause hybrid; returns 0."""
    workspace = workspace_of(args, is_strict=False)
    wanted = _wanted(args, workspace)
    pause(workspace.home, wanted)
    name = workspace.project.name if workspace.project else ""
    return _told(args, workspace.home, 0, f"paused {pause_line(wanted, project=name)}")


def duration_s(text: str) -> float:
    """Return the seconds of `90s`, `30m`, `2h` or `1d`.

    Raises:
        argparse.ArgumentTypeError: The text is no such time.
    """
    match = re.fullmatch(r"([0-9]{1,12}(?:\.[0-9]{1,12})?)([smhd])", text.strip().lower())
    if match is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no time; write 90s, 30m, 2h or 1d")
    return float(match.group(1)) * _UNITS_S[match.group(2)]


def _pause_s(text: str) -> float:
    seconds = duration_s(text)
    if not 1 <= seconds <= _LONGEST_S:
        raise argparse.ArgumentTypeError(f"{text!r} is no time for a pause; the least is 1s, the most 3650d")
    return seconds


def session_id(named: str) -> str:
    """Return the session that `--session` means: the given one, else the one this command runs in.

    Raises:
        HybridError: No session is given and the environment names none.
    """
    session = named or session_in(os.environ)
    if not session:
        raise HybridError("`--session` needs an ID here: no agent session runs this command; `hybrid log` shows ids")
    from hybrid.hooks.event import bounded_id

    return bounded_id(session)  # As events name it: of a longer id nothing would be paused.


def pause_line(entry: Pause, *, project: str = "") -> str:
    """Return a pause in words, with the command that ends it.

    Args:
        entry: The pause.
        project: Name of the project, when it is the one that is paused.
    """
    where, option = {
        "all": ("everywhere", " --all"),
        "project": (f"in project {project or entry.name}", ""),
        "session": (f"in session {entry.name}", f" --session {entry.name}"),
    }[entry.scope]
    until = "" if entry.until_s is None else f" until {_local(entry.until_s)}"
    return f"{where}{until}: `hybrid resume{option}`"


def _wanted(args: argparse.Namespace, workspace: Workspace) -> Pause:
    now_s = time.time()
    until_s = None if args.for_s is None else now_s + args.for_s
    if args.all:
        return Pause("all", "", now_s, until_s)
    if args.session is not None:
        return Pause("session", session_id(args.session), now_s, until_s)
    project = workspace.require_project()
    return Pause("project", project.key, now_s, until_s, root=str(project.root))


def _resume(args: argparse.Namespace) -> int:
    """Resume hybrid; exit code 1 when there was nothing to resume."""
    workspace = workspace_of(args, is_strict=False)
    home, wanted = workspace.home, _wanted(args, workspace)
    keys = frozenset(entry.key for entry in pauses(home)) if args.all else frozenset({wanted.key})
    n_ended = resume(home, keys)
    text = "resumed" if n_ended else "nothing was paused here"
    left = [pause_line(entry) for entry in pauses(home) if entry.scope == "all"]
    return _told(args, home, 0 if n_ended else 1, "; still paused ".join([text, *left]))


def _told(args: argparse.Namespace, home: Path, code: int, text: str) -> int:
    print_done(args, {"pauses": [entry.as_json(time.time()) for entry in pauses(home)]}, harmless_line(text))
    return code


def _local(seconds: float) -> str:
    return datetime.fromtimestamp(seconds).astimezone().strftime("%Y-%m-%d %H:%M:%S")
