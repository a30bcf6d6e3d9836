"""The application: addresses, the views behind them, the login, style and script; and what the web process serves."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio.to_thread
from starlette.applications import Starlette
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from hybrid.base.errors import HybridError
from hybrid.dashboard.guard import Guard, Sessions
from hybrid.dashboard.rendering import FOLDER
from hybrid.dashboard.service_client import NO_PROJECT, Asked, Desk, PageError
from hybrid.dashboard.views import finding, logged, records
from hybrid.ipc.loopback import Site

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request

    View = Callable[[Asked], Response]


_SHOWN: dict[str, View] = {
    "now": logged.now,
    "now/events": logged.follow,
    "decision": logged.decision,
    "gate": logged.gate,
    "search": finding.search,
    "ask": finding.ask,
    "index": finding.index,
    "index/progress": finding.progress,
    "lessons": records.lessons,
    "lessons/edit": records.edit_lesson,
    "lessons/promote": records.confirm_promote_lesson,
    "lessons/supersede": records.confirm_supersede_lesson,
    "lessons/delete": records.confirm_delete_lesson,
    "lore": records.lore,
    "lore/add": records.new_lore,
    "lore/record": records.lore_record,
    "memory": records.timeline,
    "memory/row": records.memory_row,
    "memory/forget": records.confirm_forget,
    "health": finding.health,
}
"""Path below a project → the view that a GET shows."""

_KINDS = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}

_DONE: dict[str, View] = {
    "mark": logged.mark,
    "lessons/add": records.do_add_lesson,
    "lessons/edit": records.do_edit_lesson,
    "lessons/promote": records.do_promote_lesson,
    "lessons/supersede": records.do_supersede_lesson,
    "lessons/delete": records.do_delete_lesson,
    "lore/add": records.do_add_lore,
    "lore/retract": records.do_retract,
    "lore/supersede": records.do_supersede_lore,
    "memory/forget": records.do_forget,
}
"""Path below a project → the change that a POST makes."""


def application(desk: Desk, sessions: Sessions, port: int, asked: Callable[[], None] = lambda: None) -> Guard:
    """Return the application behind its guard.

    Args:
        desk: The parts that every view has.
        sessions: The sessions.
        port: The port that is listened on.
        asked: Called with each request of a session.
    """

    def first(request: Request) -> Response:
        return RedirectResponse(_first(desk), 303)

    routes = [
        Route("/", first),
        Route("/none", _endpoint(desk, lambda asked: asked.page("none.html"))),
        Route("/projects", _endpoint(desk, logged.projects), methods=["GET"]),
        Route("/static/{name}", _static(), methods=["GET"]),
        *(Route(f"/p/{{key}}/{path}", _endpoint(desk, view), methods=["GET"]) for path, view in _SHOWN.items()),
        *(Route(f"/p/{{key}}/{path}", _endpoint(desk, view), methods=["POST"]) for path, view in _DONE.items()),
    ]
    app = Starlette(routes=routes)

    def login(problem: str) -> Response:
        made = desk.templates.get_template("login.html").render(problem=problem)
        return HTMLResponse(made, 401)

    return Guard(app, sessions, port, login, asked)


def _static() -> Callable[[Request], Awaitable[Response]]:
    """Return what answers with the files of style and script, which anybody may read.

    From memory: a file that is open for each answer, and a thread, are what others could use up.
    """
    files = {path.name: path.read_bytes() for path in (FOLDER / "static").iterdir() if path.is_file()}

    async def answer(request: Request) -> Response:
        name = request.path_params["name"]
        if name not in files:
            return PlainTextResponse("there is no such file\n", 404)
        return Response(files[name], media_type=_KINDS.get(Path(name).suffix, "application/octet-stream"))

    return answer


def _first(desk: Desk) -> str:
    project = desk.first()
    return f"/p/{project.key}/now" if project.key else "/none"


def _endpoint(desk: Desk, view: View) -> Callable[[Request], Awaitable[Response]]:
    """Return what answers a request with a view, which runs on a thread: it may wait for the service."""

    async def answer(request: Request) -> Response:
        key = request.path_params.get("key", "")
        projects = {one.key: one for one in desk.projects()} | {"": NO_PROJECT}
        if key not in projects:
            return PlainTextResponse("there is no such project\n", 404)
        scope = request.scope
        asked = Asked(desk, projects[key], scope["session"], request.query_params, scope["form"])
        path = request.url.path.removeprefix(f"/p/{key}/")
        asked.view = "now" if path == "decision" else path.partition("/")[0]
        return await anyio.to_thread.run_sync(_shown, asked, view, limiter=desk.threads)

    return answer


def _shown(asked: Asked, view: View) -> Response:
    try:
        return view(asked)
    except PageError as error:
        return asked.error(error)
    except HybridError as error:
        return asked.error(PageError(str(error)))
    except Exception as error:  # noqa: BLE001 - the rim: one page fails, not the others
        if not isinstance(error, OSError):
            return asked.error(PageError(f"internal error ({type(error).__name__}: {error})", "internal"))
        return asked.error(PageError(f"{error.strerror or error}: {error.filename or ''}"))


class PageSite(Site):
    """The page on a port, until nobody has asked for long.

    Args:
        desk: The parts that every view has.
        sessions: The sessions.
        port: The port that is listened on.
        idle_s: Seconds without any request after which it is over.
    """

    def __init__(self, desk: Desk, sessions: Sessions, port: int, idle_s: float) -> None:
        self._desk = desk
        self._sessions = sessions
        self._idle_s = idle_s
        self._asked_s = time.monotonic()
        desk.heard = self._asked
        answer = {"token": sessions.offer(), "has_service": desk.service.start(str(desk.cwd))}
        super().__init__(application(desk, sessions, port, self._asked), answer)

    def is_over(self) -> bool:
        """Return whether nobody has asked for long."""
        return time.monotonic() - self._asked_s > self._idle_s

    def kept(self) -> object:
        """Return the sessions, which so outlive this process, but not the command."""
        return self._sessions.kept()

    def end(self) -> None:
        """End live rows, whose requests have no end."""
        self._desk.stopping.set()

    def _asked(self) -> None:
        self._asked_s = time.monotonic()


def site(home: Path, hello: Mapping[str, Any], port: int) -> Site:
    """Return the page of a home.

    Args:
        home: `$HYBRID_HOME`.
        hello: `cwd`, where the command was started, its `environ` and `idle_s`, and the sessions that it keeps.
        port: The port that is listened on.
    """
    desk = Desk(home, {**os.environ, **hello["environ"]}, Path(hello["cwd"]))
    threading.Thread(target=desk.log.refresh, daemon=True).start()
    return PageSite(desk, Sessions(hello.get("kept")), port, float(hello["idle_s"]))
