"""`hybrid dashboard` and `hybrid mcp`: a page in the browser, and tools for agents, served on this machine alone.

Most calls of `hybrid mcp` are answered by `hybrid.mcp_server.relay`; here are its help, HTTP and the worker.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.errors import HybridError
from hybrid.base.home import home_path
from hybrid.base.lasting import how_to_add
from hybrid.cli.common import add_common, directory_of, print_json, say, whole_in, workspace_of

if TYPE_CHECKING:
    from hybrid.dashboard.app import Dashboard
    from hybrid.workspace import Workspace

_LAST_PORT = 65_535
_MISSING = "the page needs packages that are not installed ({name}), those of the extra `dashboard`: {command}"


def configure_dashboard(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.set_defaults(run_action=_run_dashboard)
    add_common(parser, example="hybrid dashboard --port 8765 --no-open")
    parser.add_argument(
        "--port", type=whole_in(0, _LAST_PORT), metavar="N", help="the port; 0 takes one that is free (dashboard.port)"
    )
    about = "open the browser, or leave that to you (on a terminal of a desktop, dashboard.open decides)"
    parser.add_argument("--open", action=argparse.BooleanOptionalAction, help=about)


def _run_dashboard(args: argparse.Namespace) -> int:
    """Serve the page until it is interrupted or idle for long; returns 0.

    Raises:
        HybridError: The extra is not installed, or the port is taken.
    """
    try:
        from hybrid.dashboard.app import Dashboard
        from hybrid.dashboard.service_client import Desk
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


# --- mcp ----------------------------------------------------------------------------------------------------


def configure_mcp(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.set_defaults(run_action=_run_mcp)
    add_common(parser, example="hybrid mcp --client claude")
    parser.add_argument("--client", default="", help="name of the client that starts it")
    parser.add_argument("--http", action="store_true", help="serve over HTTP on this machine until Ctrl-C")
    about = "the port for --http (default: one that is free)"
    parser.add_argument("--port", type=whole_in(0, _LAST_PORT), default=0, help=about)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)


def _run_mcp(args: argparse.Namespace) -> int:
    """Serve one client on standard input and output, or any over HTTP; or be the process that serves them."""
    home = home_path(os.environ)
    if args.worker:
        from hybrid.mcp_server.worker import run_worker

        return run_worker(Path(home), os.environ)
    cwd = str(directory_of(args.project).absolute())
    if args.http:
        return _serve_http(args, home, cwd)
    from hybrid.mcp_server.relay import relay

    return relay(["--client", args.client, "--project", cwd])


def _serve_http(args: argparse.Namespace, home: str, cwd: str) -> int:
    """Have the worker listen on HTTP, say where, and wait until the user ends it or the worker is gone.

    Raises:
        HybridError: There is no worker, no token, or the port is taken.
    """
    from hybrid.ipc.loopback import HOST, token_file
    from hybrid.ipc.wire import WireError
    from hybrid.mcp_server.relay import ask_worker

    try:
        sock = ask_worker(home, b"http", json.dumps({"cwd": cwd, "port": args.port}).encode())
    except WireError as error:
        raise HybridError(str(error)) from error
    with contextlib.closing(sock):
        answer = json.loads(_line(sock) or b"{}")
        if "port" not in answer:
            raise HybridError(answer.get("error") or "the MCP worker ended")
        url, file = f"http://{HOST}:{answer['port']}/mcp", token_file(home)
        if args.json:
            print_json({"url": url, "token_file": str(file), "project": cwd})
        else:
            say(f"{url} for {cwd}, until Ctrl-C")
            say(f"A client sends `Authorization: Bearer TOKEN` with the token of {file}.")
        sys.stdout.flush()  # Whoever reads a pipe waits for the address.
        with contextlib.suppress(KeyboardInterrupt):  # Which is how it is ended.
            while sock.recv(1):
                pass
    return 0


def _line(sock: socket.socket) -> bytes:
    data = b""
    while not data.endswith(b"\n") and (part := sock.recv(1)):
        data += part
    return data
