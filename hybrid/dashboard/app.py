"""The application: addresses, the views behind them, the login, style and script; and its server on a port."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import uvicorn
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from hybrid.base.atomic import make_private_folder, write_atomic
from hybrid.base.errors import HybridError
from hybrid.dashboard.guard import Guard, Sessions
from hybrid.dashboard.rendering import FOLDER
from hybrid.dashboard.service_client import NO_PROJECT, Asked, PageError
from hybrid.dashboard.views import finding, logged, records
from hybrid.ipc.loopback import BACKLOG, HOST, LOOK_S, MOST_HEAD, bounded, cutting_off, listening
from hybrid.ipc.wire import run_folder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Generator

    from starlette.requests import Request

    from hybrid.dashboard.service_client import Desk

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


_END_S = 2.0
"""Seconds for requests that are being answered when the page ends."""


class Dashboard:
    """The page on a port.

    Args:
        desk: The parts that every view has.
        port: 0 for one that is free.
        idle_s: Seconds without any request after which it ends.
        clock: Gives monotonic seconds.

    Raises:
        OSError: The port is taken.
    """

    def __init__(self, desk: Desk, port: int, idle_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._desk = desk
        self._idle_s = idle_s
        self._clock = clock
        self._asked_s = clock()
        self._socket = listening(port, BACKLOG)
        self.port: int = self._socket.getsockname()[1]
        self.sessions = Sessions()
        app = application(desk, self.sessions, self.port, self._asked)
        config = uvicorn.Config(
            app,
            lifespan="off",
            ws="none",
            http=bounded(H11Protocol),
            backlog=BACKLOG,
            loop="asyncio",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            h11_max_incomplete_event_size=MOST_HEAD,
            timeout_graceful_shutdown=int(_END_S),
            timeout_notify=int(LOOK_S),
        )
        self._server = uvicorn.Server(config)
        config.callback_notify = cutting_off(self._server.server_state.connections, clock)
        desk.heard = self._asked

    @property
    def address(self) -> str:
        """The address of the page, without a token."""
        return f"http://{HOST}:{self.port}/"

    def run(self) -> None:
        """Serve until the end; an interrupt is raised again after everything is closed."""
        threading.Thread(target=self._desk.log.refresh, daemon=True).start()
        threading.Thread(target=self._watch, daemon=True).start()
        try:
            self._server.run(sockets=[self._socket])
        finally:
            self._desk.stopping.set()
            self._socket.close()

    def end(self) -> None:
        """Have `run` return soon."""
        self._desk.stopping.set()
        self._server.should_exit = True

    def _asked(self) -> None:
        self._asked_s = self._clock()

    def _watch(self) -> None:
        """End the page when nobody has asked for long, and live rows as soon as it is to end."""
        while not self._desk.stopping.wait(LOOK_S):
            if self._server.should_exit or self._clock() - self._asked_s > self._idle_s:
                self.end()


@contextlib.contextmanager
def in_browser(home: Path, address: str, open_page: Callable[[str], object]) -> Generator[None]:
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
