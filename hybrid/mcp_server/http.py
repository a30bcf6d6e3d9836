"""MCP over streamable HTTP on loopback, for clients that start no program: with the token of the home.

Who gets something is the business of `loopback`; a page in a browser gets nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from starlette.responses import JSONResponse

from hybrid.ipc.loopback import CHALLENGE, HOST, Site, grouped, made_token, place_problem, token_problem
from hybrid.mcp_server.server import ToolSession, build_server

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
_MOST_SESSIONS = 256


def site(home: Path, hello: Mapping[str, Any], port: int) -> Site:
    """Return what answers.

    Args:
        home: `$HYBRID_HOME`.
        hello: `cwd`, a directory of the project that is asked about when a request names none.
        port: The port that is listened on.
    """
    made_token(home)
    cwd = str(hello["cwd"])
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

    tools = build_server(session_of).streamable_http_app(streamable_http_path=PATH, host=HOST)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        """Let through what comes to this port of loopback, from no page of another origin, with the token."""
        answer: ASGIApp = tools
        if scope["type"] == "http":
            headers, status = grouped(scope["headers"]), 403
            problem = place_problem(headers, port)
            if not problem:
                status, problem = 401, token_problem(headers, home)
            if problem:
                told = {"cache-control": "no-store", **(CHALLENGE if status == 401 else {})}
                answer = JSONResponse({"error": problem, "status": status}, status, told)
        await answer(scope, receive, send)

    return Site(app, {})
