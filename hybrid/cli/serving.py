"""`hybrid dashboard` and `hybrid mcp`: a page in the browser, and tools for agents, served on this machine alone.

Both have the web process serve a port as long as they live. Most calls of `hybrid mcp` are those of clients, which
`hybrid.mcp_server.relay` answers.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import sys
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.atomic import make_private_folder, write_atomic
from hybrid.base.errors import HybridError
from hybrid.base.home import home_path
from hybrid.cli.common import add_common, directory_of, print_json, say, whole_in, workspace_of
from hybrid.ipc.loopback import HOST, token_file
from hybrid.ipc.start import ask_web
from hybrid.ipc.wire import WireError, run_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

_LAST_PORT = 65_535
_END_S = 5.0
"""Seconds for the web process to close a port."""


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
    """Have the page served until it is interrupted or idle for long; returns 0.

    Raises:
        HybridError: The extra is not installed, or the port is taken.
    """
    workspace = workspace_of(args, is_strict=False)
    settings = workspace.config.dashboard
    hello = {
        "cwd": str(directory_of(args.project).absolute()),
        "environ": {name: value for name, value in os.environ.items() if name.startswith("HYBRID_")},
        "port": settings.port if args.port is None else args.port,
        "idle_s": settings.idle_minutes * 60,
    }

    def begin(answer: Mapping[str, Any], stack: contextlib.ExitStack) -> None:
        if not answer["has_service"]:
            sys.stderr.write(
                "hybrid: the service does not start; only the log can be shown (`hybrid daemon run` says why)\n"
            )
        address = f"http://{HOST}:{answer['port']}/"
        url = f"{address}#{answer['token']}"
        if args.json:
            print_json({"address": address, "url": url, "port": answer["port"], "pid": os.getpid()})
        else:
            say(url)
            if not args.quiet:
                say("The address works once, within ten minutes. Ctrl-C ends the page.")
        if _is_desktop() and settings.open if args.open is None else args.open:
            import webbrowser

            stack.enter_context(_in_browser(Path(workspace.home), url, webbrowser.open))

    _hold("page", hello, str(workspace.home), begin)
    if not args.quiet and not args.json:
        say("The page has ended.")
    return 0


def _hold(
    what: str, hello: dict[str, Any], home: str, begin: Callable[[Mapping[str, Any], contextlib.ExitStack], None]
) -> None:
    """Have the web process serve a port until Ctrl-C, or until it is over; another process goes on where one ends.

    Args:
        what: `page` or `http`.
        hello: Says who asks; `port` is kept from one process to the next, and what it wants to be kept.
        home: `$HYBRID_HOME`.
        begin: Gets the first answer, and a stack that is closed at the end.

    Raises:
        HybridError: It cannot be served; the message says why.
    """
    is_begun = False
    with contextlib.ExitStack() as stack, contextlib.suppress(KeyboardInterrupt):
        while True:
            try:
                sock, answer = ask_web(home, what, json.dumps(hello).encode())
            except WireError as error:
                raise HybridError(str(error)) from error
            # The wire has a simpler one.
            with socket.socket(fileno=sock.detach()) as held, _leaving(held):
                if not is_begun:
                    begin(answer, stack)
                    sys.stdout.flush()  # Whoever reads a pipe waits for the address.
                is_begun, hello["port"] = True, answer["port"]
                with contextlib.suppress(OSError):
                    for line in held.makefile("rb"):
                        told = json.loads(line)
                        if told.get("over"):
                            return
                        hello["kept"] = told["kept"]


@contextlib.contextmanager
def _leaving(held: socket.socket) -> Generator[None]:
    """Wait at an interrupt until the web process has closed the port, which may be wanted again at once."""
    try:
        yield
    except KeyboardInterrupt:
        held.settimeout(_END_S)
        with contextlib.suppress(OSError):
            held.shutdown(socket.SHUT_WR)
            while held.recv(4096):
                pass
        raise


@contextlib.contextmanager
def _in_browser(home: Path, address: str, open_page: Callable[[str], object]) -> Generator[None]:
    """Open an address in the browser for the block, through a file that only the user can read.

    The arguments of a program can be read by everybody on the machine, so the token is not among those of the browser.
    """
    folder = home / run_folder("")
    path = folder / f"dashboard-{os.getpid()}.html"
    page = f'<!doctype html><meta http-equiv="refresh" content="0;url={escape(address)}"><title>hybrid</title>\n'
    make_private_folder(folder)
    write_atomic(path, page.encode(), durable=False)
    try:
        open_page(path.as_uri())
        yield
    finally:
        with contextlib.suppress(OSError):
            path.unlink()


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


def _run_mcp(args: argparse.Namespace) -> int:
    """Serve one client on standard input and output, or any over HTTP until the user ends it."""
    cwd = str(directory_of(args.project).absolute())
    if not args.http:
        from hybrid.mcp_server.relay import relay

        return relay(["--client", args.client, "--project", cwd])
    home = home_path(os.environ)

    def begin(answer: Mapping[str, Any], _: contextlib.ExitStack) -> None:
        url, file = f"http://{HOST}:{answer['port']}/mcp", token_file(home)
        if args.json:
            print_json({"url": url, "token_file": str(file), "project": cwd})
        else:
            say(f"{url} for {cwd}, until Ctrl-C")
            say(f"A client sends `Authorization: Bearer TOKEN` with the token of {file}.")

    _hold("http", {"cwd": cwd, "port": args.port}, home, begin)
    return 0
