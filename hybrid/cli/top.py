"""`hybrid top`: what hybrid decides now, and how the service and the indexes are; for a second terminal."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import time
from typing import TYPE_CHECKING, Any

from hybrid.cli.common import add_common, number_in, positive, print_json, workspace_of
from hybrid.cli.streams import marked_path

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

    from rich.console import Console

    from hybrid.health.live import Live as Watched
    from hybrid.workspace import Workspace

_EVENTS = 20
_WIDE = 120
"""Columns of a frame in a pipe, unless `COLUMNS` says otherwise."""
_KEY_S = 0.05
"""Seconds between two looks for a key, where the system tells of none."""
_LEAVE = ("q", "Q", "\x04")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid top\n  hybrid top --all --once", options=("--project", "--json", "--debug"))
    parser.add_argument("--all", action="store_true", help="of every project, as outside of a project")
    parser.add_argument("--once", action="store_true", help="print what there is now and end, as in a pipe")
    about = f"decisions to show (default: as many as fit, with --once {_EVENTS})"
    parser.add_argument("-n", "--limit", type=positive, metavar="N", help=about)
    about = "seconds between two looks (default: 1)"
    parser.add_argument("--every", type=number_in(0.1, 3600, "seconds"), default=1.0, metavar="SECONDS", help=about)


def run(args: argparse.Namespace) -> int:
    """Show what goes on until the user leaves; returns 0."""
    from hybrid.health.live import Live

    workspace = workspace_of(args, is_strict=False)
    project = None if args.all else workspace.project
    watched = Live(workspace.home, workspace.is_here if project else _any, key=project.key if project else "")
    if args.json:
        watched.look()
        print_json(watched.as_json(args.limit or _EVENTS))
        return 0
    if args.once or not sys.stdout.isatty():
        watched.look()
        _print_once(args, watched, project.name if project else "")
        return 0
    try:
        return _stay(args, watched, workspace, project.name if project else "")
    except KeyboardInterrupt:
        return 0
    except OSError as error:
        raise BrokenPipeError from error  # The terminal was closed.


def _any(_event: dict[str, Any]) -> bool:
    return True


def _print_once(args: argparse.Namespace, watched: Watched, project: str) -> None:
    from hybrid.cli.top_view import frame

    console = _console()
    if not sys.stdout.isatty():
        console.width = int(os.environ.get("COLUMNS") or 0) or _WIDE
    for line in frame(watched, project, width=console.width, n_events=args.limit or _EVENTS):
        console.print(line, soft_wrap=True)


def _stay(args: argparse.Namespace, watched: Watched, workspace: Workspace, project: str) -> int:
    """Draw a frame at each look, until a key or an interrupt ends it."""
    from rich.live import Live

    from hybrid.cli.top_view import fitting, frame

    console = _console()
    is_paused = False
    watched.look()
    with key_presses() as wait, Live(console=console, screen=True, auto_refresh=False) as shown:
        while True:
            width, height = shutil.get_terminal_size()
            console.size = (width, height)  # pyright: ignore[reportAttributeAccessIssue] - a tuple does
            lines = frame(watched, project, width=width, n_events=args.limit or height, is_paused=is_paused)
            shown.update(fitting(lines, height), refresh=True)
            key = wait(args.every)
            if key in _LEAVE:
                return 0
            is_paused = is_paused != (key in ("p", "P", " ") and bool(key))
            if not is_paused:
                watched.look()


def _console() -> Console:
    from rich.console import Console

    return Console(file=marked_path(sys.stdout), highlight=False)


# --- keys -------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def key_presses() -> Generator[Callable[[float], str]]:
    """Give the block a function that waits so many seconds for a key and returns it; empty when none was pressed.

    Keys need no return meanwhile and are not shown. A terminal that went away is Ctrl-D.
    """
    if not sys.stdin.isatty():
        yield _only_wait
    elif sys.platform == "win32":
        yield _windows_key
    else:
        with _without_return(sys.stdin.fileno()):
            yield _posix_key


def _only_wait(seconds: float) -> str:
    time.sleep(seconds)
    return ""


def _posix_key(seconds: float) -> str:
    import select

    if not select.select([sys.stdin.fileno()], [], [], seconds)[0]:
        return ""
    data = os.read(sys.stdin.fileno(), 64)
    # Arrows and the like are several bytes, the first of which is no letter.
    return data[:1].decode("ascii", "replace") if data else "\x04"


@contextlib.contextmanager
def _without_return(descriptor: int) -> Generator[None]:
    import termios
    import tty

    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)
        yield
    finally:
        with contextlib.suppress(termios.error):
            termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _windows_key(seconds: float) -> str:
    import msvcrt

    until_s = time.monotonic() + seconds
    while time.monotonic() < until_s:
        if msvcrt.kbhit():  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType] - of Windows
            return str(msvcrt.getwch())  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
        time.sleep(_KEY_S)
    return ""
