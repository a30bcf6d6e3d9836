"""The parts that every view has: the projects, the log, the service, templates; and one request as a view sees it.

The page opens no index and no store of its own, so that it stays small and nothing is loaded twice: the service, which
is started when it is not there, answers its operations. Status and findings look at the service from outside, as a
person would, so they are made in this process.
"""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import anyio
import msgspec
from msgspec import Struct
from starlette.responses import HTMLResponse, PlainTextResponse

from hybrid.base.errors import HybridError
from hybrid.dashboard.rendering import environment, link
from hybrid.hooks.service import MARKS
from hybrid.ipc.start import ask, start_service
from hybrid.ipc.wire import read_endpoint
from hybrid.log.events import log_folder
from hybrid.log.log_index import LogFilter, LogIndex, lies_in
from hybrid.project.registry import load_registry
from hybrid.workspace import open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from starlette.datastructures import QueryParams
    from starlette.responses import Response

    from hybrid.dashboard.guard import PageSession
    from hybrid.workspace import Workspace

    Event = Mapping[str, Any]


_Report = TypeVar("_Report")

_WAIT_S = 10.0
"""Seconds to wait for a service to start."""
_LOOK_S = 0.05
_ASK_S = 60.0
"""Seconds for an answer: forgetting writes indexes anew."""
_BUSY_S = 5.0
"""Seconds for which a question is asked again while the service is busy with what it needs."""
_AGAIN_S = 0.2
_MOST_THREADS = 16
"""Views of a page that are made at a time."""
_FRESH_S = 5.0
"""Seconds for which a report is shown again without another look."""


class PageError(HybridError):
    """Something that a page says in place of its content.

    Args:
        message: A sentence.
        kind: usage, no_project, no_index, building, busy, failed or no_service.
        progress: Of a build that is waited for.
    """

    def __init__(self, message: str, kind: str = "failed", progress: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.progress = progress


class Done(Struct, frozen=True):
    """The result of an operation; see `hybrid.operations.asking.Outcome`."""

    data: dict[str, Any]
    text: str
    is_found: bool


class ServiceClient:
    """The service of a `$HYBRID_HOME`.

    Args:
        home: `$HYBRID_HOME`.
        environ: Environment of the page; the service gets what is meant for hybrid.
    """

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        self._home = str(home)
        self._environ = dict(environ)
        self._sent = {name: value for name, value in environ.items() if name.startswith("HYBRID_") or name in MARKS}
        self._reports: dict[tuple[object, str], tuple[float, object]] = {}
        self._reporting = threading.Lock()

    @property
    def is_there(self) -> bool:
        """True if a service told where it listens; it is not asked whether it does."""
        return read_endpoint(self._home) is not None

    def command(self, name: str, root: str, arguments: Mapping[str, Any]) -> Done:
        """Return the result of an operation.

        Args:
            name: As on the command line: `lessons add`.
            root: Root of the project; empty for none.
            arguments: Its arguments.

        Raises:
            PageError: It cannot be done, or no service answers.
        """
        return msgspec.convert(self._asked(name, root, arguments), Done)

    def _asked(self, name: str, root: str, arguments: object) -> dict[str, Any]:
        data = json.dumps({"cwd": root, "environ": self._sent, "arguments": arguments}).encode()
        until_s = time.monotonic() + _BUSY_S
        while True:
            answer = self._answer(name, data)
            error = answer.get("error")
            if not error or error.get("kind") != "busy" or time.monotonic() > until_s:
                break
            time.sleep(_AGAIN_S)
        if error:
            raise PageError(str(error.get("message")), str(error.get("kind")), error.get("progress"))
        if "data" not in answer:
            message = (
                f"the service is of version {answer.get('version')}, which knows no page: `hybrid daemon stop` ends it"
            )
            raise PageError(message, "no_service")
        return answer

    def _answer(self, name: str, data: bytes) -> dict[str, Any]:
        answer = ask(self._home, "perform", name.encode(), data, timeout_s=_ASK_S)
        if answer is None:
            if ask(self._home, "status") is not None:
                raise PageError(f"the service did not answer within {_ASK_S:g} s", "no_service")
            self.start()
            answer = ask(self._home, "perform", name.encode(), data, timeout_s=_ASK_S)
        if answer is None:
            raise PageError("the service does not answer; `hybrid daemon run` shows why", "no_service")
        return answer

    def start(self, root: str = "") -> bool:
        """Start the service unless it runs, and return whether it answers within ten seconds."""
        until_s = time.monotonic() + _WAIT_S
        while ask(self._home, "status") is None:
            start_service(self._home, self._environ, cwd=root)
            if time.monotonic() > until_s:
                return False
            time.sleep(_LOOK_S)
        return True

    def report(self, make: Callable[[Workspace], _Report], root: str) -> _Report:
        """Return a report on a project, at most five seconds old: made here, since it looks at the service too.

        Args:
            make: Makes it.
            root: Root of the project.

        Raises:
            PageError: It cannot be made.
        """
        with self._reporting:
            made_s, known = self._reports.get((make, root), (float("-inf"), None))
            if time.monotonic() - made_s >= _FRESH_S:
                try:
                    known = make(open_workspace(Path(root), environ=self._environ))
                except (HybridError, OSError) as error:
                    raise PageError(str(error)) from error
                self._reports[make, root] = (time.monotonic(), known)
            return cast("_Report", known)

    def forget_reports(self) -> None:
        """Have the next reports made anew."""
        with self._reporting:
            self._reports.clear()


class KnownProject(Struct, frozen=True):
    """A project that the page can show.

    Attributes:
        key: Its key; empty for none.
        name: Its name.
        root: Root of its working tree; empty when it is not there any more.
    """

    key: str
    name: str
    root: str


NO_PROJECT = KnownProject("", "", "")


class Desk:
    """The parts that every view has.

    Args:
        home: `$HYBRID_HOME`.
        environ: Environment of the page.
        cwd: The directory in which it was started: its project is shown first.
    """

    def __init__(self, home: Path, environ: Mapping[str, str], cwd: Path) -> None:
        self.home = home
        self.cwd = cwd
        self.environ = dict(environ)
        self.service = ServiceClient(home, environ)
        self.templates = environment()
        own = open_workspace(cwd, environ=environ)
        self.log_folder = log_folder(home)
        self.log = LogIndex(self.log_folder, keep=own.config.log.keep)
        self.stopping = threading.Event()
        # Of its own: tools for agents have threads in this process too.
        self.threads = anyio.CapacityLimiter(_MOST_THREADS)
        self.heard: Callable[[], None] = lambda: None
        """Called while a page follows the log, so that what is looked at does not end."""
        here = own.project
        self._here = KnownProject(here.key, here.name, str(here.root)) if here else NO_PROJECT

    def projects(self) -> list[KnownProject]:
        """Return the projects that the registry knows and the one here, by name; those whose folder is gone last."""
        found = {
            key: KnownProject(key, entry.name, next((one for one in reversed(entry.paths) if Path(one).is_dir()), ""))
            for key, entry in load_registry(self.home).items()
        }
        if self._here.key:
            found[self._here.key] = self._here
        return sorted(found.values(), key=lambda one: (not one.root, one.name.lower(), one.key))

    def first(self) -> KnownProject:
        """Return the project that is shown first: the one here, else the first that is there."""
        return self._here if self._here.key else next(iter(self.projects()), NO_PROJECT)

    def workspace(self, project: KnownProject) -> Workspace:
        """Return the workspace of a project, with the settings in force there now."""
        return open_workspace(Path(project.root or "/"), environ=self.environ)


class Asked:
    """One request of a session.

    Attributes:
        desk: The parts that every view has.
        project: The project that is looked at.
        query: Parameters of the address.
        form: Fields of a change.
        session: The session.
        view: Path of the view.
    """

    def __init__(
        self, desk: Desk, project: KnownProject, session: PageSession, query: QueryParams, form: Mapping[str, str]
    ) -> None:
        self.desk = desk
        self.project = project
        self.session = session
        self.query = query
        self.form = form
        self.view = ""

    def path(self, *parts: str) -> str:
        """Return the path of a view of this project."""
        return "/".join(["/p", self.project.key, *parts])

    def command(self, name: str, /, **arguments: Any) -> Done:
        """Return the result of an operation in this project.

        Raises:
            PageError: It cannot be done, or no service answers.
        """
        return self.desk.service.command(name, self.project.root, arguments)

    @property
    def workspace(self) -> Workspace:
        """The workspace of the project, with the settings in force there now."""
        return self.desk.workspace(self.project)

    @property
    def is_every_project(self) -> bool:
        """True if the address asks for what happened in all projects."""
        return self.query.get("owner") == "*"

    def log_filter(self, **wanted: Any) -> LogFilter:
        """Return a filter for the lines of the log of this project, or of all if the address asks for them."""
        if self.is_every_project:
            return LogFilter(**wanted)
        return LogFilter(key=self.project.key, root=self.project.root, **wanted)

    def page(self, template: str, /, *, status: int = 200, **values: Any) -> Response:
        """Return a page made of a template."""
        rendered = self.desk.templates.get_template(template).render(
            asked=self,
            project=self.project,
            projects=self.desk.projects(),
            view=self.view,
            notes=self.session.take_notes(),
            forgery=self.session.forgery_token,
            here=self.path,
            **values,
        )
        # What is not valid text, such as half a character of a file name, must not break the page.
        return HTMLResponse(rendered.encode("utf-8", "backslashreplace"), status)

    def part(self, template: str, /, **values: Any) -> str:
        """Return a part of a page made of a template."""
        made = self.desk.templates.get_template(template)
        return made.render(
            asked=self, project=self.project, here=self.path, forgery=self.session.forgery_token, **values
        )

    def done(self, message: str, back: str, *, is_well: bool = True) -> Response:
        """Note what a change did, and lead to the page that shows it."""
        self.session.notes.append((message, is_well))
        return PlainTextResponse("", 303, {"location": back})

    def field(self, name: str) -> str:
        """Return a field of a form, with line ends as files have them; empty when it is missing."""
        return self.form.get(name, "").replace("\r\n", "\n").strip()

    def back(self, *parts: str, **values: object) -> str:
        """Return the address that a form wants to be led back to, if it is one of this project, else a view."""
        wanted = self.form.get("back", "")
        is_own = wanted.startswith(self.path() + "/") and wanted.isascii() and wanted.isprintable()
        return wanted if is_own else link(self.path(*parts), **values).unescape()

    def error(self, error: PageError) -> Response:
        """Return the page that says what went wrong, and how far a build is that is waited for."""
        status = {"usage": 400, "no_service": 503, "busy": 503, "building": 503, "internal": 500}.get(error.kind, 409)
        return self.page("error.html", status=status, error=error)


class Owners:
    """The projects that the page knows, by key and by directory.

    Args:
        projects: These projects.
    """

    def __init__(self, projects: Iterable[KnownProject]) -> None:
        self._by_key = {one.key: one for one in projects}
        rooted = [one for one in self._by_key.values() if one.root]
        # A project may lie in another one: the inner one counts.
        self._by_root = sorted(rooted, key=lambda one: -len(one.root))

    def of(self, event: Event) -> KnownProject | None:
        """Return the project that an event names, or in which its directory lies; None if the page knows none."""
        key, directory = event.get("project"), event.get("cwd")
        if key is not None:
            return self._by_key.get(str(key))
        if not isinstance(directory, str) or not directory:
            return None
        return next((one for one in self._by_root if lies_in(directory, one.root)), None)

    def name(self, event: Event) -> str:
        """Return the name of that project; of one that is not known any more its folder's name, else its key."""
        owner = self.of(event)
        if owner is not None:
            return owner.name or owner.key
        key, root = event.get("project"), event.get("root")
        if not key:
            return "no project"
        folder = root.replace("\\", "/").rstrip("/").rpartition("/")[2] if isinstance(root, str) else ""
        return folder or str(key)

    def base(self, event: Event) -> str:
        """Return the beginning of the addresses of that project; empty if the page knows none."""
        owner = self.of(event)
        return f"/p/{owner.key}" if owner else ""

    def lines(self, event: Event, *, session: str) -> LogFilter:
        """Return a filter for the lines of a session in the project of an event, known or not."""
        owner = self.of(event)
        if owner is not None:
            return LogFilter(key=owner.key, root=owner.root, session=session)
        return LogFilter(key=str(event.get("project") or ""), session=session)
