"""The application: addresses, the views behind them, the login, and the files of style and script."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route

from hybrid.base.errors import HybridError
from hybrid.dashboard.desk import NO_PROJECT, Asked
from hybrid.dashboard.guard import Guard
from hybrid.dashboard.rendering import FOLDER
from hybrid.dashboard.service import PageError
from hybrid.dashboard.views import finding, health, logged, memory, records

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from hybrid.dashboard.desk import Desk
    from hybrid.dashboard.guard import Sessions

    View = Callable[[Asked], Response]

_SHOWN: dict[str, View] = {
    "now": logged.now,
    "now/events": logged.follow,
    "decision": logged.decision,
    "gate": logged.gate,
    "search": finding.search,
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
    "memory": memory.timeline,
    "memory/row": memory.row,
    "memory/forget": memory.confirm_forget,
    "health": health.health,
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
    "memory/forget": memory.do_forget,
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
        return await run_in_threadpool(_shown, asked, view)

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
