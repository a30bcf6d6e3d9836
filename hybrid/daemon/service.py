"""Answers hook events, and keeps what the answers need: batches of tool uses that end, and fresh indexes.

`server` passes the requests on; `hybrid.answer` decides what an event gets.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
import time
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import hybrid
from hybrid.answer.decide import Turn
from hybrid.answer.events import answer, has_effects
from hybrid.answer.recording import record_error
from hybrid.base.errors import BusyError, HybridError
from hybrid.base.home import is_switched_off
from hybrid.daemon.freshness import Freshness
from hybrid.daemon.worker import BackgroundProcess
from hybrid.hooks.answer import SEND_S, deliver, printed_answer
from hybrid.hooks.event import EventError
from hybrid.hooks.keeping import keep_event
from hybrid.hooks.taking import Taker, environment, event_of_parts
from hybrid.ipc.spool import is_key
from hybrid.ipc.start import kept_environment
from hybrid.knowledge.memory_intake import flush, keep_small
from hybrid.knowledge.open_indexes import LOAD_WAIT_S, LoadedModels, OpenIndexes
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.records.types import MemoryBusyError
from hybrid.workspace import keep_hook_settings, open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping

    from hybrid.answer.events import Reply
    from hybrid.daemon.http import HttpInterface
    from hybrid.daemon.performing import Performer
    from hybrid.ipc.wire import Connection
    from hybrid.search.searcher import Searcher
    from hybrid.types import HookEvent
    from hybrid.workspace import Workspace


# --- batches ----------------------------------------------------------------------------------------------


_SPARE_S = 0.1
"""Seconds after the end of a batch at which it is closed: two clocks may disagree a little."""
_MOST_BATCHES = 100
"""Batches that are closed in one go; the rest follows a moment later."""


class Batches:
    """Knows when the batches of tool uses of each memory end, and closes them though no event follows.

    A client that was killed sends nothing more: without a clock its last tool uses would wait for another event.

    Args:
        kinds: Gives the open stores and indexes for an environment.
    """

    def __init__(self, kinds: Callable[[Mapping[str, str]], OpenKinds]) -> None:
        self._kinds = kinds
        self._due: dict[Path, tuple[float, Workspace, Mapping[str, str]]] = {}
        self._lock = threading.Lock()

    def expect(self, workspace: Workspace, environ: Mapping[str, str], *, is_now: bool = False) -> None:
        """Have the batches of a workspace's memory closed after the batch window, or at once; a sooner time stays."""
        memory = workspace.config.memory
        if not memory.enabled:
            return
        path = self._kinds(environ).stores.memory(workspace).path
        due_s = time.monotonic() + (0.0 if is_now else memory.batch_window_ms / 1000 + _SPARE_S)
        with self._lock:
            # What waits already is not put off by what follows.
            if path not in self._due or self._due[path][0] > due_s:
                self._due[path] = (due_s, workspace, environ)

    def seconds_left(self) -> float | None:
        """Return the seconds until the next batch may be over; None when nothing waits."""
        with self._lock:
            due = [due_s for due_s, _, _ in self._due.values()]
        return max(min(due) - time.monotonic(), 0.0) if due else None

    def close_due(self) -> None:
        """Close the batches that are over, and bring the index of their memory up to date; try a busy one again."""
        now_s = time.monotonic()
        with self._lock:
            due = [path for path, (due_s, _, _) in self._due.items() if due_s <= now_s]
            over = [self._due.pop(path)[1:] for path in due]
        for workspace, environ in over:
            self._close(workspace, environ)

    def _close(self, workspace: Workspace, environ: Mapping[str, str]) -> None:
        """Close the batches of one memory; one that is busy, or where some still wait, is expected again."""
        kinds = self._kinds(environ)
        store = kinds.stores.memory(workspace)
        try:
            before = store.last_change()
            for problem in flush(workspace, store, time.time_ns() // 1_000_000, most=_MOST_BATCHES):
                record_error(workspace, None, problem)
            if store.n_waiting():
                self.expect(workspace, environ)
            if store.last_change() != before:
                kinds.open(workspace, ("memory",))
        except MemoryBusyError:
            self.expect(workspace, environ)
        except (HybridError, OSError) as error:
            # The other memories that are due must not wait for this one; its own next event expects it again.
            record_error(workspace, None, error)


# --- the service ------------------------------------------------------------------------------------------


_TAKING_S = 0.1
"""Seconds for kept events, before an event is answered, after which no more of them is begun."""
_CLEAN_EVERY_S = 60.0
"""Seconds between two rounds that close what nobody uses."""
_PRUNE_EVERY_S = 86_400.0
"""Seconds between two prunings of a memory: its settings count in days."""


class Service:
    """The service behind the server; answers hook events and HTTP, and keeps indexes and memories in order.

    Args:
        home: `$HYBRID_HOME`.
        environ: Environment of the process, of which only a part is used: clients are not to get the rest.
        is_current: Whether hooks can find the service and its version is the one installed (`Listener.is_current`);
            otherwise it ends, and the next hook starts another one.
    """

    def __init__(self, home: Path, environ: Mapping[str, str], is_current: Callable[[], bool]) -> None:
        self._home = home
        self._environ = kept_environment(environ, str(home))
        self._is_current = is_current
        self._indexes = OpenIndexes(LoadedModels(wait_s=LOAD_WAIT_S), is_lagging=True)
        self._kinds: dict[str, OpenKinds] = {}
        self._freshness = Freshness(home)
        self._background = BackgroundProcess()
        self._engine = threading.BoundedSemaphore(max(os.cpu_count() or 1, 2))
        self._active_s = time.monotonic()
        self._cleaned_s = time.monotonic()
        self._idle_s = self._own_workspace().config.daemon.idle_minutes * 60
        self._n_answers = 0
        self._pruned_s = float("-inf")
        self._counting = threading.Lock()
        self._http: HttpInterface | None = None
        self._http_error = ""
        self._performer: Performer | None = None
        self._starting_http = threading.Lock()
        self._is_closed = False
        self._batches = Batches(self._open_kinds)
        self._taker = Taker(home, self._own_environ, self._open_kinds, self._batches.expect)
        self._waking = threading.Event()

    def start(self, project: str) -> None:
        """Write the settings for hooks, and start threads that open the first project, listen on HTTP, and tidy up."""
        keep_hook_settings(self._home)
        threading.Thread(target=self._warm_up, args=[project], daemon=True).start()
        threading.Thread(target=self._start_http, daemon=True).start()
        threading.Thread(target=self._tidy, daemon=True).start()

    def event(self, message: list[bytes], connection: Connection) -> None:
        """Answer a hook event on its connection; an answer that was not delivered is not recorded as given."""
        received_s = time.monotonic()
        self._active_s = received_s
        request = _Request(message)
        self._taker.begin(request.key)
        try:
            is_taken = self._answer(request, connection, received_s)
        except BaseException:
            self._taker.end(request.key, is_taken=False)
            raise
        self._taker.end(request.key, is_taken=is_taken)
        self._waking.set()

    def perform(self, message: list[bytes], connection: Connection) -> None:
        """Answer a question of a tool or the page: the name of an operation, and JSON as `performing` reads it."""
        self._active_s = time.monotonic()
        from hybrid.daemon.performing import Performer  # As a rule nobody asks.

        with self._counting:
            if self._performer is None:
                self._performer = Performer(self._own_environ, self._open_kinds, self._freshness)
            performer = self._performer
        name, data = (*message[1:3], b"", b"")[:2]
        connection.send(performer.answer(name.decode("utf-8", "replace"), data), timeout_s=SEND_S)

    def _answer(self, request: _Request, connection: Connection, received_s: float) -> bool:
        """Answer an event, then look after indexes and batches; False when it has not had all of its effects."""
        environ = self._own_environ(request.environ)
        event: HookEvent | None = None
        turn: Turn | None = None
        reply: Reply | None = None
        is_taken = False

        def elapsed_ms() -> float:
            return request.elapsed_ms + (time.monotonic() - received_s) * 1000

        try:
            # This event may depend on earlier ones that wait.
            self._taker.take_waiting(until_s=min(received_s + request.left_ms / 4000, time.monotonic() + _TAKING_S))
            event = request.event()
            workspace, environ = self._freshness.workspace_of(event.cwd, environ)
            if self._performer is not None:
                self._performer.sessions.heard(workspace, event)
            turn = Turn(workspace, event, self._open_kinds(environ), environ, received_s + request.left_ms / 1000)
            reply = answer(turn, working=self._working(turn.deadline_s))
            is_taken = reply.is_taken or not has_effects(turn)
            if not is_taken:
                # Where that fails the hook may have kept it at its deadline: its copy is taken in later.
                self._keep(request, turn)
        except Exception as error:  # noqa: BLE001 - the rim: silent to the agent, a line in the log
            is_kept = not isinstance(error, EventError) and self._keep(request, turn)
            message = (
                str(error) if isinstance(error, (EventError, TimeoutError)) else f"{type(error).__name__}: {error}"
            )
            message += "; the event is kept and taken in later" if is_kept else ""
            record_error(turn.workspace if turn else open_workspace(self._home, environ=environ), event, message)
            connection.send(b"", f"hybrid: failed ({error})".encode("utf-8", "replace"), timeout_s=SEND_S)
        else:
            printed = printed_answer(reply.text, event, notice=reply.notice(elapsed_ms()))
            deliver(reply, printed, connection, elapsed_ms)
        with self._counting:
            self._n_answers += 1
        if turn is not None:
            self._freshness.after(turn, reply)
            if turn.event.event in ("SessionStart", "Stop"):
                self._records_ready(turn.workspace, environ)
            if turn.event.event == "PostToolUse":
                self._batches.expect(turn.workspace, environ)
        return is_taken

    def _keep(self, request: _Request, turn: Turn | None) -> bool:
        """Write an event to the spool, to be taken in later, if it may have effects; return whether it is kept."""
        if not request.key or turn is None or not has_effects(turn):
            return False

        def note(message: str) -> None:
            record_error(turn.workspace, turn.event, message)

        is_kept = keep_event(self._taker.spool, request.key, request.parts, on_drop=note)
        if not is_kept:
            note("the event is lost: it cannot be kept")
        return is_kept

    def _tidy(self) -> None:
        """Take in kept events and close batches that are over, until the service is closed; runs on its own thread."""
        is_begun = False
        while not self._is_closed:
            try:
                if not is_begun:
                    self._expect_stored()
                    is_begun = True
                    self._mask_again()
                self._taker.take_waiting()
                self._batches.close_due()
            except Exception as error:  # noqa: BLE001 - the rim: tried again at the next tick
                record_error(self._own_workspace(), None, error)
            self._waking.wait(self._batches.seconds_left())
            self._waking.clear()

    def _mask_again(self) -> None:
        """Start a process that masks what is stored under older rules for secrets, if there is anything."""
        from hybrid.upkeep.masking import is_due

        # What fails here is met by the first prompt, and tried again by the next service.
        with contextlib.suppress(HybridError, OSError):
            if is_due(self._own_workspace()):
                self._background.start("mask_and_end", str(self._home), self._own_environ())

    def status(self) -> dict[str, Any]:
        """Return the figures for `hybrid daemon status`."""
        return {
            "version": hybrid.__version__,
            "rss_bytes": _rss_bytes(),
            "answers": self._n_answers,
            "idle_s": round(time.monotonic() - self._active_s, 1),
            "indexes": self._indexes.figures(),
            "http": self._http_figures(),
            **self._freshness.figures(),
        }

    def tick(self) -> bool:
        """Close what nobody uses; False when the service is to end.

        It ends when it is idle or upgraded, or when its home or socket is gone.
        """
        now_s = time.monotonic()
        self._waking.set()
        if now_s - self._cleaned_s > _CLEAN_EVERY_S:
            self._cleaned_s = now_s
            self._indexes.close_unused()
            self._freshness.tick()
            self._expect_stored()
        if now_s - self._active_s > self._idle_s and not self._freshness.is_building:
            return False
        return self._is_current()

    def close(self) -> None:
        """Stop watching, building, masking and answering over HTTP."""
        with self._starting_http:
            self._is_closed = True
            self._waking.set()
            http, self._http = self._http, None
        if http is not None:
            http.close()
        self._background.close()
        self._freshness.close()

    def _start_http(self) -> None:
        """Listen on HTTP if the settings want it; a failure is kept for the status. Runs on a thread of its own."""
        settings = self._own_workspace().config.daemon
        if not settings.http:
            return
        try:
            from hybrid.daemon.http import HttpInterface

            environ = self._own_environ()

            def answer(path: str, values: Mapping[str, list[str]]) -> dict[str, Any] | str:
                from hybrid.daemon.performing import Routes  # As a rule nobody asks.

                self._active_s = time.monotonic()  # A request is use of the service, which would end when it is idle.
                return Routes(self._home, environ, lambda: self._open_kinds(environ)).answer(path, values)

            with self._starting_http:
                if not self._is_closed:
                    self._http = HttpInterface(self._home, settings.http_port, answer)
        except Exception as error:  # noqa: BLE001 - hooks are answered without it; the status says why
            self._http_error = f"port {settings.http_port}: {error}"

    def _http_figures(self) -> dict[str, Any] | None:
        """Return the port of HTTP or the error that prevents it; None when it is switched off or not there yet."""
        http = self._http
        if http is None and not self._http_error:
            return None
        return {"port": http.port if http else None, "error": self._http_error or None}

    @contextlib.contextmanager
    def _working(self, until_s: float) -> Generator[None]:
        """Hold one of the places for working out answers; raise `TimeoutError` when it was had after `until_s`."""
        with self._engine:
            if time.monotonic() > until_s:
                raise TimeoutError("too late: the hook does not wait any more")
            yield

    def _own_environ(self, sent: Mapping[str, str] = MappingProxyType({})) -> dict[str, str]:
        """Return the environment of the service with the variables that a client sent, and the home of the service."""
        return self._environ | dict(sent) | {"HYBRID_HOME": str(self._home)}

    def _own_workspace(self) -> Workspace:
        """Return the workspace of the home, with the settings of the service itself."""
        return open_workspace(self._home, environ=self._own_environ())

    def _expect_stored(self) -> None:
        """Have batches closed at once, if they are over, whose tool uses were stored by a hook without the service."""
        self._batches.expect(self._own_workspace(), self._own_environ(), is_now=True)

    def _open_kinds(self, environ: Mapping[str, str]) -> OpenKinds:
        """Return the open stores and indexes for an environment; only its `LORE_DATA_DIR` makes a difference."""
        with self._counting:
            folder = environ.get("LORE_DATA_DIR", "")
            if folder not in self._kinds:
                self._kinds[folder] = OpenKinds(dict(environ), self._indexes)
            return self._kinds[folder]

    def _records_ready(self, workspace: Workspace, environ: Mapping[str, str]) -> None:
        """Bring the indexes of records and memory up to date before the next prompt; errors are left to that prompt."""
        if workspace.project is None or is_switched_off(environ):
            return
        # A failure is met again by the first prompt, and said there.
        with contextlib.suppress(Exception):
            kinds = self._open_kinds(environ)
            kinds.open(workspace)
            self._keep_memory_small(workspace, kinds)
            if not kinds.is_read(workspace):
                self._background.start("read_and_end", str(workspace.project.root), environ)
            kinds.warm_reader(workspace)

    def _keep_memory_small(self, workspace: Workspace, kinds: OpenKinds) -> None:
        """Once a day, remove rows of the memory, and texts of injections, that are older than the settings allow."""
        now_s = time.monotonic()
        if now_s < self._pruned_s + _PRUNE_EVERY_S:
            return
        self._pruned_s = now_s
        keep_small(workspace, kinds.stores.memory(workspace), time.time_ns() // 1_000_000)
        workspace.texts.expire(time.time())

    def _warm_up(self, project: str) -> None:
        """Load the searcher and open the first project; a failure is left to the first prompt."""
        # The first prompt meets what fails here too, and says so.
        with contextlib.suppress(Exception):
            import_module("hybrid.search.searcher")  # Brings numpy: 120 ms that no prompt is to wait for.
            workspace = open_workspace(Path(project) if project else self._home, environ=self._own_environ())
            if project and workspace.project is not None:
                self._freshness.begin(workspace, self._own_environ())
                self._opened(workspace).embedder.embed_query("warm up")
                self._records_ready(workspace, self._own_environ())

    def _opened(self, workspace: Workspace) -> Searcher:
        """Return the searcher of a project; waits until its model is loaded."""
        while True:
            with contextlib.suppress(BusyError):
                return self._indexes.files(workspace)
            time.sleep(LOAD_WAIT_S)


class _Request:
    """The parts of a question: client, event, directory, milliseconds so far and left, environment, the event, its key.

    Attributes:
        parts: The parts that are kept, as `hooks.taking.event_of_parts` reads them.
        key: Key of the event; empty from a hook of an older version.
        elapsed_ms: Milliseconds since the hook started.
        left_ms: Milliseconds until the hook's deadline.
        environ: The client's variables that are meant for hybrid.
    """

    def __init__(self, message: list[bytes]) -> None:
        client, name, cwd, elapsed, left, environ, data, key = [*message[1:9], *[b""] * 8][:8]
        self.parts = [client, name, cwd, environ, data]
        self.key = key.decode("ascii", "replace") if is_key(key) else ""
        self.elapsed_ms = float(elapsed or 0)
        self.left_ms = float(left or 0)
        self.environ = environment(environ)

    def event(self) -> HookEvent:
        """Return the event that the parts hold.

        Raises:
            EventError: The parts hold no event.
        """
        return event_of_parts(self.parts, self.key)[0]


def _rss_bytes() -> int | None:
    """Return the resident memory of this process in bytes; None where the system does not tell."""
    if sys.platform == "win32":
        return None
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        import resource

        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024
