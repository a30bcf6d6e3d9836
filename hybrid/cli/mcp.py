"""`hybrid mcp`: serves a client of MCP. `relay` answers the usual call; this is for help, HTTP and the worker."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import socket
import sys
from pathlib import Path

from hybrid.base.errors import HybridError
from hybrid.base.home import home_path
from hybrid.cli.common import add_common, directory_of, number_in, print_json, say

_LAST_PORT = 65_535


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid mcp --client claude")
    parser.add_argument("--client", default="", help="name of the client that starts it")
    parser.add_argument("--http", action="store_true", help="serve over HTTP on this machine until Ctrl-C")
    about = "the port for --http (default: one that is free)"
    parser.add_argument("--port", type=number_in(0, _LAST_PORT), default=0, help=about)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
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
        sock = ask_worker(home, b"http", json.dumps({"cwd": cwd, "port": int(args.port)}).encode())
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
