"""`hybrid dashboard`: a page in the browser, served on this machine only until it is interrupted."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.errors import HybridError
from hybrid.base.lasting import how_to_add
from hybrid.cli.common import add_common, directory_of, print_json, say, workspace_of

if TYPE_CHECKING:
    from hybrid.dashboard.app import Dashboard
    from hybrid.workspace import Workspace

_MISSING = "the page needs packages that are not installed ({name}), those of the extra `dashboard`: {command}"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid dashboard --port 8765 --no-open")
    parser.add_argument("--port", type=_port, metavar="N", help="the port; 0 takes one that is free (dashboard.port)")
    about = "open the browser, or leave that to you (on a terminal of a desktop, dashboard.open decides)"
    parser.add_argument("--open", action=argparse.BooleanOptionalAction, help=about)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and int(text[:6]) <= 65_535):
        raise argparse.ArgumentTypeError(f"{text!r} is no port: give a number from 0 to 65535")
    return int(text)


def run(args: argparse.Namespace) -> int:
    """Serve the page until it is interrupted or idle for long; returns 0.

    Raises:
        HybridError: The extra is not installed, or the port is taken.
    """
    try:
        from hybrid.dashboard.app import Dashboard
        from hybrid.dashboard.desk import Desk
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "hybrid":
            raise
        raise HybridError(_MISSING.format(name=error.name, command=how_to_add("dashboard"))) from error
    workspace = workspace_of(args, is_strict=False)
    settings = workspace.config.dashboard
    port = settings.port if args.port is None else args.port
    desk = Desk(workspace.home, os.environ, directory_of(args.project))
    try:
        dashboard = Dashboard(desk, port, settings.idle_minutes * 60)
    except OSError as error:
        raise HybridError(f"port {port} cannot be listened on ({error.strerror}); --port 0 takes a free one") from error
    if not desk.service.start(str(directory_of(args.project))):
        sys.stderr.write(
            "hybrid: the service does not start; only the log can be shown (`hybrid daemon run` says why)\n"
        )
    with contextlib.suppress(KeyboardInterrupt):
        _serve(args, workspace, dashboard)
    if not args.quiet and not args.json:
        say("The page has ended.")
    return 0


def _serve(args: argparse.Namespace, workspace: Workspace, dashboard: Dashboard) -> None:
    address = f"{dashboard.address}#{dashboard.sessions.offer()}"
    if args.json:
        print_json({"address": dashboard.address, "url": address, "port": dashboard.port, "pid": os.getpid()})
    else:
        say(address)
        if not args.quiet:
            say("The address works once, within ten minutes. Ctrl-C ends the page.")
    sys.stdout.flush()
    is_opened = _is_desktop() and workspace.config.dashboard.open if args.open is None else args.open
    if not is_opened:
        dashboard.run()
        return
    import webbrowser

    from hybrid.dashboard.app import in_browser

    with in_browser(Path(workspace.home), address, webbrowser.open):
        dashboard.run()


def _is_desktop() -> bool:
    """Return whether a person sits at a terminal of a machine with a screen of its own."""
    if not sys.stdout.isatty() or os.environ.get("SSH_CONNECTION"):
        return False
    has_screen = sys.platform in ("win32", "darwin")
    return has_screen or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
