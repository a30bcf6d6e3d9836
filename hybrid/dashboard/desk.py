"""The parts that every view has: the projects, the log, the service, templates; and one request as a view sees it."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from starlette.responses import HTMLResponse, PlainTextResponse

from hybrid.dashboard.rendering import environment, link
from hybrid.dashboard.service import PageError, Service
from hybrid.feedback.events import log_folder
from hybrid.feedback.log_index import LogFilter, LogIndex
from hybrid.project.registry import load_registry
from hybrid.workspace import open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.datastructures import QueryParams
    from starlette.responses import Response

    from hybrid.dashboard.guard import Session
    from hybrid.workspace import Workspace

_Result = TypeVar("_Result", bound=Struct)


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
        self.environ = dict(environ)
        self.service = Service(home, environ)
        self.templates = environment()
        own = open_workspace(cwd, environ=environ)
        self.log_folder = log_folder(home)
        self.log = LogIndex(self.log_folder, keep=own.config.log.keep)
        self.stopping = threading.Event()
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
        return open_workspace(Path(project.root or self.home), environ=self.environ)


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
        self, desk: Desk, project: KnownProject, session: Session, query: QueryParams, form: Mapping[str, str]
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

    def ask(self, name: str, arguments: Struct, result: type[_Result]) -> _Result:
        """Return the answer of the service to an operation in this project.

        Raises:
            PageError: It cannot be done, or no service answers.
        """
        return self.desk.service.ask(name, self.project.root, arguments, result)

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
