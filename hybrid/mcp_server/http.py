"""MCP over streamable HTTP on loopback, for clients that start no program: with the token of the service.

A page in a browser gets nothing: it has no token, and its `Host` or `Origin` is refused before that.
"""

from __future__ import annotations

import contextlib
import hmac
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvicorn

from hybrid.ipc.endpoint import run_folder
from hybrid.mcp_server.server import build_server
from hybrid.mcp_server.session import Session

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, MutableMapping

    Scope = MutableMapping[str, Any]
    Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
    Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
    App = Callable[[Scope, Receive, Send], Awaitable[None]]

HOST = "127.0.0.1"
PATH = "/mcp"
_NAMES = (HOST, "localhost", "[::1]")
_LOCAL = ("http://127.0.0.1", "http://localhost", "http://[::1]")
_MOST_SESSIONS = 256
_GRACE_S = 1


def build_http(home: Path, cwd: str, port: int) -> uvicorn.Server:
    """Return a server that is not started yet.

    Args:
        home: `$HYBRID_HOME`, where the service keeps its token.
        cwd: A directory of the project that is asked about when a request names none.
        port: The port; 0 for one that is free.
    """
    sessions: dict[str, tuple[str, Session]] = {}
    """Id of a connection → the project that its requests name, and the session: a client may tell another folder."""

    def session_of(ctx: Any) -> Session:
        request = ctx.request
        project = request.query_params.get("project") or request.headers.get("x-hybrid-project") or cwd
        connection = request.headers.get("mcp-session-id") or ""
        client = request.headers.get("x-hybrid-client") or ""
        named, found = sessions.get(connection, ("", None))
        if found is None or named != project:
            found = Session(str(home), project, client, {}, connection)
            if connection:
                sessions[connection] = project, found
                while len(sessions) > _MOST_SESSIONS:
                    sessions.pop(next(iter(sessions)))
        return found

    app = build_server(session_of).streamable_http_app(streamable_http_path=PATH, host=HOST)
    config = uvicorn.Config(
        _Guard(app, home),
        host=HOST,
        port=port,
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=_GRACE_S,
    )
    return uvicorn.Server(config)


def token_of(home: Path) -> str:
    """Return the token of the service; empty when there is none, or HTTP is switched off."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        return str(json.loads((Path(run_folder(str(home))) / "http.json").read_bytes()).get("token") or "")
    return ""


class _Guard:
    """Lets through what comes to this port of loopback, from no page of another origin, with the token."""

    def __init__(self, app: App, home: Path) -> None:
        self._app = app
        self._home = home

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            refusal = self._refusal(scope)
            if refusal is not None:
                await _refuse(send, *refusal)
                return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1").strip())
        port = scope["server"][1]
        hosts = headers.get("host", [])
        if len(hosts) != 1 or hosts[0].lower() not in [f"{name}:{port}" for name in _NAMES]:
            return 403, "the Host must be 127.0.0.1, localhost or [::1], with the port"
        if any(origin.lower() not in [f"{one}:{port}" for one in _LOCAL] for origin in headers.get("origin", [])):
            return 403, "pages of other origins get nothing"
        if any(site not in ("none", "same-origin") for site in headers.get("sec-fetch-site", [])):
            return 403, "pages of other origins get nothing"
        given = headers.get("authorization", [])
        scheme, _, token = (given[0] if len(given) == 1 else "").partition(" ")
        # Read anew: the service makes one at each start.
        own = token_of(self._home)
        is_right = hmac.compare_digest(token.strip().encode(), own.encode()) and bool(own)
        if not is_right or scheme.lower() != "bearer":
            return (
                401,
                "a token is needed: `Authorization: Bearer TOKEN`, with that of run/http.json in HYBRID_HOME",
            )
        return None


async def _refuse(send: Send, status: int, message: str) -> None:
    body = json.dumps({"error": message, "status": status}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        *([(b"www-authenticate", b'Bearer realm="hybrid"')] if status == 401 else []),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
