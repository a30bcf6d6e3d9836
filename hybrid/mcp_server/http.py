"""MCP over streamable HTTP on loopback, for clients that start no program: with the token of the service.

Who gets something is the business of `loopback`; a page in a browser gets nothing.
"""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from hybrid.ipc.loopback import (
    BACKLOG,
    CHALLENGE,
    HOST,
    LOOK_S,
    MOST_HEAD,
    bounded,
    cutting_off,
    grouped,
    place_problem,
    token_of,
    token_problem,
)
from hybrid.mcp_server.server import ToolSession, build_server

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping
    from pathlib import Path

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

PATH = "/mcp"
_MOST_SESSIONS = 256
_GRACE_S = 1


def build_http(home: Path, cwd: str, port: int, clock: Callable[[], float] = time.monotonic) -> uvicorn.Server:
    """Return a server that is not started yet.

    Args:
        home: `$HYBRID_HOME`, where the service keeps its token.
        cwd: A directory of the project that is asked about when a request names none.
        port: The port that it is to listen on.
        clock: Gives monotonic seconds.
    """
    sessions: dict[str, tuple[str, ToolSession]] = {}
    """Id of a connection → the project that its requests name, and the session: a client may tell another folder."""

    def session_of(ctx: Any) -> ToolSession:
        request = ctx.request
        project = request.query_params.get("project") or request.headers.get("x-hybrid-project") or cwd
        connection = request.headers.get("mcp-session-id") or ""
        client = request.headers.get("x-hybrid-client") or ""
        named, found = sessions.get(connection, ("", None))
        if found is None or named != project:
            found = ToolSession(str(home), project, client, {}, connection)
            if connection:
                sessions[connection] = project, found
                while len(sessions) > _MOST_SESSIONS:
                    sessions.pop(next(iter(sessions)))
        return found

    app = build_server(session_of).streamable_http_app(streamable_http_path=PATH, host=HOST)
    config = uvicorn.Config(
        _Guard(app, home, port),
        http=bounded(H11Protocol),
        backlog=BACKLOG,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        h11_max_incomplete_event_size=MOST_HEAD,
        timeout_graceful_shutdown=_GRACE_S,
        timeout_notify=int(LOOK_S),
    )
    serving = uvicorn.Server(config)
    config.callback_notify = cutting_off(serving.server_state.connections, clock)
    return serving


class _Guard:
    """Lets through what comes to this port of loopback, from no page of another origin, with the token."""

    def __init__(self, app: App, home: Path, port: int) -> None:
        self._app = app
        self._home = home
        self._port = port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, problem = self._refusal(scope) if scope["type"] == "http" else (0, "")
        await (_refuse(send, status, problem) if problem else self._app(scope, receive, send))

    def _refusal(self, scope: Scope) -> tuple[int, str]:
        """Return a status, and why nothing is given out; empty when something is."""
        headers = grouped(scope["headers"])
        if problem := place_problem(headers, self._port):
            return 403, problem
        # Read anew: the service makes one at each start.
        return 401, token_problem(headers, token_of(self._home))


async def _refuse(send: Send, status: int, message: str) -> None:
    body = json.dumps({"error": message, "status": status}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        *((name.lower().encode(), value.encode()) for name, value in (CHALLENGE if status == 401 else {}).items()),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
