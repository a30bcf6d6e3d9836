"""Performs operations for tools of agents and for the page, and those with a route for programs that ask over HTTP.

On a connection: one question and one answer of JSON. The question: `cwd`, `client`, `connection` (empty for the page),
`environ`, `arguments`. The answer: `text` for an agent, `data` too for the page, or an `error` with a `kind`
and a `message`; of a kind `building` also the `progress` of the build. What an answer shows counts in the ledger of
the session that asked, which is found out here. Over HTTP the described arguments are the parameters.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import deque
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec
from msgspec import Struct, inspect
from msgspec.structs import replace

from hybrid.base.clients import session_in
from hybrid.base.errors import BusyError, HybridError, IndexMissingError, IndexUnavailableError, ProjectError
from hybrid.base.resources import shipped
from hybrid.capture.cleaning import cleaned_call
from hybrid.daemon.http import RouteError
from hybrid.hooks.event import bounded_id
from hybrid.index.build_progress import is_held, read_holder
from hybrid.log.events import newest_events
from hybrid.operations.asking import (
    BY_HAND,
    CONNECTION,
    Asking,
    OperationError,
    Outcome,
    operation_named,
    perform,
    rows,
)
from hybrid.operations.memory_look import project_named
from hybrid.operations.types import Nothing, described
from hybrid.project.registry import load_registry
from hybrid.records.types import MemoryBusyError
from hybrid.render.marks import harmless
from hybrid.session.ledger import EMPTY, Given, SessionKey
from hybrid.types import ToolCall
from hybrid.workspace import open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Mapping

    from hybrid.daemon.freshness import Freshness
    from hybrid.knowledge.open_kinds import OpenKinds
    from hybrid.operations.asking import Operation
    from hybrid.types import HookEvent
    from hybrid.workspace import Workspace


_PLACES = 2
"""Operations at a time."""
_PLACE_S = 20.0
_MOST_WAITING = 64
"""Questions at a time, those that wait among them: each has a connection, of which hooks need some."""


class Question(Struct, frozen=True):
    """A question as it is sent.

    Attributes:
        cwd: A directory of the project.
        client: Name of the agent that asks; empty for the page.
        connection: Id of the agent's connection, by which its session is found; empty for the page, which has none.
        environ: Variables of the asker that are meant for hybrid.
        arguments: Those of the operation.
    """

    cwd: str
    client: str = ""
    connection: str = ""
    environ: dict[str, str] = {}
    arguments: dict[str, Any] = {}


class Performer:
    """Performs operations with the open stores of the service.

    Args:
        environ_of: Gives the environment of the service, with what an asker sent laid over it.
        kinds_of: Gives the open stores and indexes of an environment.
        freshness: Keeps the indexes of projects fresh that are asked about, and knows the live sessions of a tree.

    Attributes:
        sessions: Finds the session that asks.
    """

    def __init__(
        self,
        environ_of: Callable[[Mapping[str, str]], dict[str, str]],
        kinds_of: Callable[[Mapping[str, str]], OpenKinds],
        freshness: Freshness,
    ) -> None:
        self._environ_of = environ_of
        self._kinds_of = kinds_of
        self._freshness = freshness
        self.sessions = ToolSessions()
        self._places = threading.BoundedSemaphore(_PLACES)
        self._waiting = threading.BoundedSemaphore(_MOST_WAITING)

    def answer(self, name: str, data: bytes) -> bytes:
        """Return the answer to a question, as JSON; what goes wrong is a part of it."""
        if not self._waiting.acquire(blocking=False):
            return _error("busy", "too many questions at once")
        try:
            return self._answered(name, data)
        finally:
            self._waiting.release()

    def _answered(self, name: str, data: bytes) -> bytes:
        workspace: Workspace | None = None
        environ: Mapping[str, str] = {}
        try:
            question = msgspec.json.decode(data, type=Question)
            # Bounded as the ids in events are, to which they are compared.
            client, connection = bounded_id(question.client), bounded_id(question.connection)
            question = replace(question, client=client, connection=connection)
            environ = self._environ_of(question.environ)
            workspace, environ = self._freshness.workspace_of(question.cwd, environ)
            is_agent = bool(client)
            row = operation_named(name, is_for_agent=is_agent)
            if is_agent and row.is_writing:
                if not workspace.config.mcp.write:
                    return _error("usage", "writing through tools is switched off here (`mcp.write`)")
                # An agent writes only into its own project.
                workspace.require_project()
            key = self._key(question, workspace)
            ledger = workspace.ledgers.read(key) if key and workspace.config.hooks.dedup_enabled else EMPTY
            problem = self._problem(row, workspace, environ)
            kinds, now_ms = self._kinds_of(environ), time.time_ns() // 1_000_000
            session = key.session_id if key else ""
            asking = Asking(workspace, kinds, environ, client or BY_HAND, session, now_ms, ledger)
            with self._place():
                found = _with_problem(perform(row, asking, question.arguments, is_for_agent=is_agent), problem)
            if not is_agent:  # The page escapes the texts that it prints, and writes some of them back.
                return msgspec.json.encode({"data": found.data, "text": found.text, "is_found": found.is_found})
            if key is not None and found.shown:
                self.sessions.answered(workspace, key, name, question.arguments, found)
            return msgspec.json.encode({"text": found.for_agent()})
        except msgspec.DecodeError as error:
            return _error("usage", f"the question cannot be read: {error}")
        except IndexMissingError as error:
            return self._missing(workspace, environ, error)
        except Exception as error:  # noqa: BLE001 - the rim: one answer fails, not the service
            return _error(_kind_of(error), _message(error))

    def _problem(self, row: Operation, workspace: Workspace, environ: Mapping[str, str]) -> str:
        """Have the index brought up to date for a question to it, and return why it may not be; else empty."""
        if workspace.project is None or not row.is_of_files:
            return ""
        return self._freshness.asked(workspace, environ)

    @contextlib.contextmanager
    def _place(self) -> Generator[None]:
        """Hold one of few places, so that agents with many tools leave prompts their processor.

        Raises:
            BusyError: All are taken for too long.
        """
        if not self._places.acquire(timeout=_PLACE_S):
            raise BusyError("other questions are not answered yet")
        try:
            yield
        finally:
            self._places.release()

    def _key(self, question: Question, workspace: Workspace) -> SessionKey | None:
        if not question.connection or workspace.project is None:
            return None
        live = list(self._freshness.sessions(workspace.project.root))
        heard = {session for client, session in live if client == question.client}
        named = bounded_id(session_in(question.environ))
        if not heard or (named and named not in heard):
            # A hook that found the service busy answered by itself, so the service has not heard of its session.
            live += logged_sessions(workspace, time.time())
        session = ToolSessions.session_of(live, question.client, named, question.connection)
        return SessionKey(question.client, session) if session else None

    def _missing(self, workspace: Workspace | None, environ: Mapping[str, str], error: IndexMissingError) -> bytes:
        """Return that the index is being built, as far as it is; or that it is missing and why it is not built."""
        if workspace is None or workspace.project is None:
            return _error("no_index", str(error))
        from hybrid.upkeep.indexing import reason_against

        reason = "index_auto_off" if not workspace.config.index.auto else reason_against(workspace)
        if reason and not is_held(workspace.place.lock):
            return _error("no_index", f"{error} ({reason})")
        self._freshness.begin(workspace, environ)
        holder = read_holder(workspace.place.lock) if is_held(workspace.place.lock) else None
        progress = msgspec.to_builtins(holder) if holder else None
        return _error("building", "the index of this project is being built; ask again in a moment", progress=progress)


def _with_problem(found: Outcome, problem: str) -> Outcome:
    """Return an answer from the index with a problem of the index added."""
    if not problem:
        return found
    problems = [*found.data.get("problems", ()), problem]
    return replace(found, text=f"{found.text}\n{problem}", data=found.data | {"problems": problems})


def _kind_of(error: Exception) -> str:
    if isinstance(error, OperationError):
        return "usage"
    if isinstance(error, ProjectError):
        return "no_project"
    if isinstance(error, (BusyError, MemoryBusyError)):
        return "busy"
    return "no_index" if isinstance(error, IndexUnavailableError) else "failed"


def _message(error: Exception) -> str:
    return str(error) if isinstance(error, HybridError) else f"{type(error).__name__}: {error}"


def _error(kind: str, message: str, **more: object) -> bytes:
    return json.dumps({"error": {"kind": kind, "message": harmless(message), **more}}).encode()


# --- over HTTP ----------------------------------------------------------------------------------------------


SCHEMA = ("index", "schema", "http.json")
"""Parts of the path of the shipped JSON schema of the answers."""

_SEARCH_WAIT_S = 5.0
"""Seconds that a search waits for another one to end."""
_SEARCHING = threading.Lock()
"""One search at a time: prompts come first."""
_ROUTES = {row.route: row for row in rows() if row.route}
_PATHS = ("/health", *_ROUTES, "/schema")


class Routes:
    """Answers about the memory of a `$HYBRID_HOME`: the operations that have a route.

    Args:
        home: `$HYBRID_HOME`.
        environ: Environment variables for the settings.
        kinds: Gives the open stores and indexes, which hooks use too.
    """

    def __init__(self, home: Path, environ: Mapping[str, str], kinds: Callable[[], OpenKinds]) -> None:
        self._home = home
        self._environ = environ
        self._kinds = kinds

    def answer(self, path: str, values: Mapping[str, list[str]]) -> dict[str, Any] | str:
        """Answer a path with an object, or with a text where that was asked for.

        Raises:
            RouteError: 404 for an unknown path, project or record, 400 for a wrong parameter, 503 when the memory is
                in use or cannot be searched.
        """
        if path == "/schema":
            _arguments(Nothing, values, {})
            return cast("dict[str, Any]", json.loads(shipped(*SCHEMA).read_bytes()))
        name, slash, rest = path[1:].partition("/")
        row = _ROUTES.get(f"/{name}/{{id}}" if slash else path)
        if row is None:
            raise RouteError(404, f"nothing is at {path}; there are {', '.join(_PATHS)}")
        arguments = row.arguments
        # Where the arguments name no project, it is that of the working tree in which the question is asked.
        is_placed = "project" not in arguments.__struct_fields__
        project = "".join(values.get("project", ())) if is_placed else ""
        values = {name: texts for name, texts in values.items() if not is_placed or name != "project"}
        wanted = _arguments(arguments, values, {"id": [rest]} if slash else {})
        try:
            outcome = self._performed(row, wanted, project)
        except ProjectError as error:
            raise RouteError(404, str(error)) from error
        except OperationError as error:
            missing = next(
                (one.name for one in described(arguments) if one.is_needed and not getattr(wanted, one.name)), ""
            )
            raise RouteError(400, f"{missing and f'{missing}: '}{error}") from error
        except HybridError as error:
            is_passing = isinstance(error, (BusyError, MemoryBusyError))
            raise RouteError(503, str(error), {"Retry-After": "1"} if is_passing else None) from error
        if outcome.missing:
            raise RouteError(404, f"no record {outcome.missing}")
        form = getattr(wanted, "form", "full")
        if form == "text":
            return outcome.text
        # As the command prints it, where that was asked for.
        told = (outcome.text if outcome.is_found else "") if form or getattr(wanted, "explain", False) else None
        return outcome.data | {"text": outcome.data.get("text", told)}

    def _performed(self, row: Operation, wanted: Struct, project: str) -> Outcome:
        workspace = open_workspace(self._home, environ=self._environ)
        if project:
            key, name = project_named(project, self._home, self._kinds().stores.memory(workspace))
            entry = load_registry(self._home).get(key)
            root = next((path for path in reversed(entry.paths if entry else ()) if Path(path).is_dir()), None)
            if root is None:
                raise ProjectError(f"the folder of {name or key} is gone")
            workspace = open_workspace(Path(root), environ=self._environ)
        asking = Asking(workspace, self._kinds(), self._environ, BY_HAND, "", time.time_ns() // 1_000_000)
        with _alone() if row.is_one_at_a_time else contextlib.nullcontext():
            return perform(row, asking, wanted)


@contextlib.contextmanager
def _alone() -> Generator[None]:
    if not _SEARCHING.acquire(timeout=_SEARCH_WAIT_S):
        raise BusyError("other searches are not done yet")
    try:
        yield
    finally:
        _SEARCHING.release()


def _arguments(kind: type[Struct], values: Mapping[str, list[str]], of_path: Mapping[str, list[str]]) -> Struct:
    """Return the arguments of an operation from the parameters of a request and from its path.

    Raises:
        RouteError: A parameter is unknown, given too often or has no such value; status 400.
    """
    known = {one.name: one for one in described(kind) if one.about and one.name not in of_path}
    unknown = sorted(values.keys() - known.keys())
    if unknown:
        raise RouteError(400, f"unknown parameter {unknown[0]!r}; there are: {', '.join(known) or 'none'}")
    given: dict[str, Any] = {
        name: [] if isinstance(one.kind, inspect.ListType) else "" for name, one in known.items() if one.is_needed
    }
    for name, texts in values.items():
        one, several = known[name], list(dict.fromkeys(filter(None, texts)))
        is_list = isinstance(one.kind, inspect.ListType)
        if len(texts) > 1 and not is_list:
            raise RouteError(400, f"{name!r} may be given once")
        if wrong := [text for text in several if text not in (one.extra.get("choices") or several)]:
            raise RouteError(400, f"{name} = {wrong[0]!r} is none of {', '.join(one.extra['choices'])}")
        if several or isinstance(one.kind, inspect.BoolType):  # `explain` alone stands for true.
            given[name] = several if is_list else "".join(several) or "true"
    try:
        return msgspec.convert({**given, **of_path}, kind, strict=False)
    except msgspec.ValidationError as error:
        name = str(error).rpartition("`$.")[2].rstrip("`")
        number = known[name].kind
        form = (
            f"a whole number from {number.ge} to {number.le}"
            if isinstance(number, inspect.IntType)
            else "true or false"
        )
        raise RouteError(400, f"{name}: {given[name]!r} must be {form}") from error


# --- which session asked ----------------------------------------------------------------------------------


_MOST_UNTOLD = 200
_WAIT_S = 900.0
"""Seconds after which an answer that no hook told of is forgotten."""
_LIVE_S = 1800.0
_LOG_BYTES = 200_000


class _Waiting(Struct, frozen=True):
    """An answer whose session is not certain yet."""

    root: Path
    name: str
    arguments: str
    session_id: str
    given: Given
    at_s: float


class ToolSessions:
    """Knows which session of an agent an answer went to, so that its ledger counts what it got; safe between threads.

    A client tells a server of tools nothing of its sessions. Its hooks do: a session that is heard of in the same tree
    is the one that asks, when there is but one. The use of a tool that a hook reports says so for certain, also when a
    subagent asked. Without hooks the connection stands in for the session.
    """

    def __init__(self) -> None:
        self._waiting: deque[_Waiting] = deque(maxlen=_MOST_UNTOLD)
        self._lock = threading.Lock()

    @staticmethod
    def session_of(heard: Iterable[tuple[str, str]], client: str, named: str, connection: str) -> str:
        """Return the id of the session that asks; one that begins with `tool:` where only the connection is known.

        Args:
            heard: Client and session of each live session of the tree.
            client: Name of the client that asks.
            named: The session that the client's variables name, in which it started; empty for none.
            connection: Id of the connection; empty for none.
        """
        live = list(dict.fromkeys(session for one, session in heard if one == client and session))
        if len(live) == 1:
            return live[0]
        # A variable is as old as the client's process: a session that began since has another id.
        if named and (not live or named in live):
            return named
        return f"{CONNECTION}{connection}" if connection else ""

    def answered(
        self, workspace: Workspace, key: SessionKey, name: str, arguments: Mapping[str, Any], outcome: Outcome
    ) -> None:
        """Note what an answer shows: in the ledger at once, or with the hook that tells of this use of the tool.

        Args:
            workspace: The workspace of the session's tree.
            key: The session that probably asked.
            name: Name of the operation.
            arguments: Its arguments.
            outcome: The answer.
        """
        given = Given([(one.hit.digest, one.form) for one in outcome.shown])
        if key.session_id.startswith(CONNECTION):
            _record(workspace, key, given)
            return
        root = workspace.require_project().root
        with self._lock:
            told = _told(cleaned_call(ToolCall(name, arguments, None)).arguments)  # As an event tells of it.
            self._waiting.append(_Waiting(root, name, told, key.session_id, given, time.monotonic()))

    def heard(self, workspace: Workspace, event: HookEvent) -> None:
        """Take in a hook event: of a use of one of our tools, or the next prompt of a session with untold uses."""
        if workspace.project is None or not self._waiting:
            return
        root, call = workspace.project.root, event.call
        if call is not None and "hybrid" in (tool := call.tool.lower()):
            told = _told(call.arguments or {})
            taken = self._taken(lambda one: (one.root, one.arguments) == (root, told) and tool.endswith(one.name), 1)
        elif event.event == "UserPromptSubmit":
            taken = self._taken(lambda one: (one.root, one.session_id) == (root, event.session_id), _MOST_UNTOLD)
        else:
            return
        key = SessionKey(event.client, event.session_id, event.agent_id)
        for one in taken:
            _record(workspace, key, one.given)

    def _taken(self, is_it: Callable[[_Waiting], bool], most: int) -> list[_Waiting]:
        found: list[_Waiting] = []
        kept: list[_Waiting] = []
        limit_s = time.monotonic() - _WAIT_S
        with self._lock:
            for one in self._waiting:
                if len(found) < most and is_it(one):
                    found.append(one)
                elif one.at_s > limit_s:
                    kept.append(one)
            self._waiting = deque(kept, maxlen=_MOST_UNTOLD)
        return found


def logged_sessions(workspace: Workspace, now_s: float) -> list[tuple[str, str]]:
    """Return client and session of the sessions that a hook answered in a tree within the last half hour.

    A hook answers by itself before there is a service, which then has heard of no session.
    """
    root = str(workspace.require_project().root)
    over: set[tuple[str, str]] = set()
    found: dict[tuple[str, str], None] = {}
    for event in newest_events(workspace.home / "log", max_bytes=_LOG_BYTES):
        try:
            age_s = now_s - datetime.fromisoformat(str(event.get("at"))).timestamp()
        except ValueError:
            continue
        if age_s > _LIVE_S:
            break
        key = (str(event.get("client") or ""), str(event.get("session") or ""))
        if event.get("event") == "SessionEnd":
            over.add(key)
        elif event.get("root") == root and all(key) and key not in over:
            found[key] = None
    return list(found)


def _told(arguments: object) -> str:
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False, default=str)


def _record(workspace: Workspace, key: SessionKey, given: Given) -> None:
    with contextlib.suppress(OSError):  # A full disk: the session may be given it once more.
        workspace.ledgers.record(key, given)
