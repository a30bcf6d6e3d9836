"""Answers the paths of the HTTP interface with the memory's lists, as `hybrid memory --json` gives them.

It reads the parameters, which are the words of the commands; connections and tokens are the business of `http`.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from typing import TYPE_CHECKING, Any, cast

from hybrid.ask.memory_filters import (
    DEFAULT_LIMIT,
    FORMS,
    MAX_LIMIT,
    Filters,
    MemoryScope,
    around,
    checked_limit,
    id_of,
    project_named,
    project_paths,
    rows_of,
    since_ms,
)
from hybrid.ask.memory_lookup import (
    OpenMemory,
    RankedRow,
    RowRequest,
    list_text,
    newest_first,
    nothing_known,
    of_files,
    recent,
    row_json,
    search,
)
from hybrid.base.errors import BusyError, HybridError, ProjectError
from hybrid.base.resources import shipped
from hybrid.daemon.http import RouteError
from hybrid.knowledge.memory_intake import flush
from hybrid.records.types import MemoryBusyError
from hybrid.workspace import open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence
    from pathlib import Path

    from hybrid.knowledge.open_kinds import OpenKinds
    from hybrid.records.memory.types import Row, RowFilter
    from hybrid.search.searcher import Mode


_SEVERAL = ("type", "file", "path")
"""Parameters that may be given more than once."""


class Parameters:
    """The parameters of a request.

    Raises:
        RouteError: A parameter is unknown or given too often; status 400, as for wrong values in the methods.
    """

    def __init__(self, values: Mapping[str, list[str]], known: Sequence[str]) -> None:
        unknown = sorted(values.keys() - set(known))
        if unknown:
            raise RouteError(400, f"unknown parameter {unknown[0]!r}; there are: {', '.join(known) or 'none'}")
        twice = [name for name, value in values.items() if len(value) > 1 and name not in _SEVERAL]
        if twice:
            raise RouteError(400, f"{twice[0]!r} may be given once")
        self._values = values

    def one(self, name: str, default: str = "") -> str:
        """Return the value of a parameter that is given once; the default when it is missing."""
        return self._values.get(name, [default])[0]

    def several(self, name: str) -> tuple[str, ...]:
        """Return all values of a parameter, each once; empty when it is missing."""
        return tuple(dict.fromkeys(self._values.get(name, ())))

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Return the value of a parameter that must be one of some words; the first of them when it is missing."""
        value = self.one(name, choices[0])
        if value not in choices:
            raise RouteError(400, f"{name} = {value!r} is none of {', '.join(choices)}")
        return value

    def number(self, name: str, default: int | None = None) -> int | None:
        """Return a number of rows, 0 only without a default; the default when the parameter is missing."""
        text = self.one(name)
        if not text or (text == "0" and default is None):
            return 0 if text else default
        try:
            return checked_limit(text)
        except HybridError as error:
            raise RouteError(400, f"{name}: {error}") from error

    def flag(self, name: str) -> bool:
        """Return whether a parameter is on: `1`, `true` or nothing after the name; False when it is missing."""
        value = self.one(name, "0").lower()
        if value not in ("", "0", "1", "true", "false"):
            raise RouteError(400, f"{name} = {value!r} must be true or false")
        return value in ("", "1", "true")

    def filters(self, default_limit: int = DEFAULT_LIMIT) -> Filters:
        """Return the filters that every list has: limit, since, types and files."""
        limit = self.number("limit", default_limit) or default_limit
        return Filters(limit, self.one("since"), self.several("type"), self.paths("file"))

    def paths(self, name: str) -> tuple[str, ...]:
        """Return the values of a parameter as paths in the form of the memory; empty when it is missing.

        A relative path counts from the root of its project. An absolute one stays absolute, with `~` for the home.
        """
        return project_paths(self.several(name), None, None)


# --- routes -----------------------------------------------------------------------------------------------


SCHEMA = ("index", "schema", "http.json")
"""Parts of the path of the shipped JSON schema of the answers."""

_SEARCH_WAIT_S = 5.0
"""Seconds that a search waits for another one to end."""
_MODES = ("hybrid", "dense", "lexical")
_CONTEXT_FORMS = ("json", "text")
_LISTED = ("project", "limit", "since", "type", "file", "form", "explain")
_PARAMETERS = {
    "/context": ("project", "limit", "since", "type", "file", "form"),
    "/search": ("query", "mode", *_LISTED),
    "/timeline": ("at", "before", "after", *_LISTED),
    "/files": ("path", *_LISTED),
    "/observations": ("form",),
    "/schema": (),
}
"""Path → its parameters; any other parameter is refused."""
_PATHS = ("/health", *(f"{path}/{{id}}" if path == "/observations" else path for path in _PARAMETERS))


def _wanted(memory: OpenMemory, filters: Filters) -> RowFilter:
    with _wrong_parameter():
        return memory.scope.wanted(filters, memory.now_ms)


def _request(memory: OpenMemory, filters: Filters) -> RowRequest:
    return memory.request(_wanted(memory, filters), filters.limit)


class Routes:
    """Answers about the memory of a `$HYBRID_HOME`.

    Args:
        home: `$HYBRID_HOME`.
        environ: Environment variables for the settings.
        kinds: Gives the open stores and indexes, which hooks use too.
    """

    def __init__(self, home: Path, environ: Mapping[str, str], kinds: Callable[[], OpenKinds]) -> None:
        self._home = home
        self._environ = environ
        self._kinds = kinds
        # One search at a time: prompts come first.
        self._searching = threading.Lock()
        self._lists = {
            "/context": self._context,
            "/search": self._search,
            "/timeline": self._timeline,
            "/files": self._files,
        }

    def answer(self, path: str, values: Mapping[str, list[str]]) -> dict[str, Any] | str:
        """Answer a path with an object, or with a text where that was asked for.

        Raises:
            RouteError: 404 for an unknown path, project or record, 400 for a wrong parameter, 503 when the memory is
                in use or cannot be searched.
        """
        name, slash, rest = path[1:].partition("/")
        route = f"/{name}"
        is_known = route in _PARAMETERS and bool(slash) == (route == "/observations")
        if not is_known:
            raise RouteError(404, f"nothing is at {path}; there are {', '.join(_PATHS)}")
        parameters = Parameters(values, _PARAMETERS[route])
        if route == "/schema":
            return cast("dict[str, Any]", json.loads(shipped(*SCHEMA).read_bytes()))
        try:
            memory = self._open(parameters)
            if route == "/observations":
                return self._observation(memory, rest, parameters)
            return self._lists[route](memory, parameters)
        except ProjectError as error:
            raise RouteError(404, str(error)) from error
        except HybridError as error:
            is_passing = isinstance(error, (BusyError, MemoryBusyError))
            raise RouteError(503, str(error), {"Retry-After": "1"} if is_passing else None) from error

    def _open(self, parameters: Parameters) -> OpenMemory:
        # Whether projects are kept apart is a question of what agents get unasked; here the owner asks.
        flags = {"memory.cross_project": True}
        workspace = open_workspace(self._home, environ=self._environ, flags=flags)
        store = self._kinds().stores.memory(workspace)
        project = parameters.one("project")
        key, name = project_named(project, self._home, store) if project else ("", "")
        now_ms = time.time_ns() // 1_000_000
        if store.exists:
            with contextlib.suppress(HybridError):  # What cannot be written may still be read.
                flush(workspace, store, now_ms)
        return OpenMemory(workspace, store, MemoryScope(key, name, key, is_cross=not key), now_ms)

    def _context(self, memory: OpenMemory, parameters: Parameters) -> dict[str, Any] | str:
        """Return the project's last summary and the newest rows by day, as JSON with the same as `text`.

        With `form=text` return that text alone, for a script that hands it on.
        """
        form = parameters.choice("form", _CONTEXT_FORMS)
        filters = parameters.filters(min(max(memory.workspace.config.memory.session_start, 1), MAX_LIMIT))
        scope = memory.scope
        ranked = recent(memory.store, _request(memory, filters), is_cross=scope.is_cross)
        summary = next(iter(memory.store.last_summaries(scope.key, 1)), None) if scope.key else None
        lines = [scope.heading]
        if summary is not None:
            lines.append(list_text([RankedRow(summary)], "full"))
        window_ms = memory.workspace.config.memory.batch_window_ms
        listed = list_text(newest_first(ranked), "index", here=scope.present, by_day=True)
        lines.append(listed or nothing_known(memory.store, scope, window_ms))
        if form == "text":
            return "\n".join(lines)
        last = row_json(RankedRow(summary)) if summary is not None else None
        return _form(memory, ranked, summary=last) | {"text": "\n".join(lines)}

    def _search(self, memory: OpenMemory, parameters: Parameters) -> dict[str, Any]:
        query = parameters.one("query")
        if not query.strip():
            raise RouteError(400, "query: say what to search")
        filters, mode = parameters.filters(), cast("Mode", parameters.choice("mode", _MODES))
        request = _request(memory, filters)
        if not self._searching.acquire(timeout=_SEARCH_WAIT_S):
            raise BusyError("other searches are not done yet")
        try:
            ranked = search(memory.workspace, self._kinds(), query, request, mode=mode)
        finally:
            self._searching.release()
        return _listed(memory, parameters, ranked, query=query)

    def _timeline(self, memory: OpenMemory, parameters: Parameters) -> dict[str, Any]:
        at, filters = parameters.one("at"), parameters.filters()
        before, after = around(filters.limit, parameters.number("before"), parameters.number("after"))
        identity = id_of(at)
        if identity is None:
            with _wrong_parameter("at: "):
                at_ms = since_ms(at, memory.now_ms)
            rows = memory.store.timeline_at(at_ms, before, after, _wanted(memory, filters))
        else:
            row = _row(memory, at)
            scope = memory.scope if memory.scope.key else memory.scope_of(row.owner)
            with _wrong_parameter():
                wanted = scope.wanted(filters, memory.now_ms)
            rows = memory.store.timeline(*identity, before, after, wanted)
        return _listed(memory, parameters, [RankedRow(row) for row in rows], at=at, by_day=True)

    def _files(self, memory: OpenMemory, parameters: Parameters) -> dict[str, Any]:
        paths, filters = parameters.paths("path"), parameters.filters()
        if not paths:
            raise RouteError(400, "path: say which file or folder, relative to its project")
        ranked = of_files(memory.store, paths, _request(memory, filters))
        return _listed(memory, parameters, ranked, files=list(paths), by_day=True)

    def _observation(self, memory: OpenMemory, name: str, parameters: Parameters) -> dict[str, Any]:
        return _listed(memory, parameters, [RankedRow(_row(memory, name))])


def _row(memory: OpenMemory, name: str) -> Row:
    identity = id_of(name)
    if identity is None:
        raise RouteError(400, f"{name!r} is no id: an observation's is a number (42), a summary's has an s (s7)")
    rows = rows_of(memory.store, [identity])
    if not rows:
        raise RouteError(404, f"no record {name}")
    return rows[0]


def _listed(
    memory: OpenMemory, parameters: Parameters, ranked: Sequence[RankedRow], *, by_day: bool = False, **echoed: object
) -> dict[str, Any]:
    """Return a list of rows as JSON; with `form` or `explain`, `text` holds the list as the command prints it."""
    text = None
    if parameters.one("form") or parameters.flag("explain"):
        form, is_explained = parameters.choice("form", FORMS), parameters.flag("explain")
        text = list_text(ranked, form, here=memory.scope.present, by_day=by_day, is_explained=is_explained)
    return _form(memory, ranked, **echoed) | {"text": text}


def _form(memory: OpenMemory, ranked: Sequence[RankedRow], **echoed: object) -> dict[str, Any]:
    """Return rows as JSON, after what was asked (`echoed`) and the project; `query` is None without a query."""
    project = memory.scope.name or None
    return {"query": None, **echoed, "project": project, "records": [row_json(row) for row in ranked]}


@contextlib.contextmanager
def _wrong_parameter(prefix: str = "") -> Generator[None]:
    """Turn a `HybridError` of the block into a `RouteError` with status 400, with a prefix to its message."""
    try:
        yield
    except HybridError as error:
        raise RouteError(400, f"{prefix}{error}") from error
