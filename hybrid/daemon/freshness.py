"""Keeps the indexes of live sessions fresh: decides from events and questions what is watched and built.

It watches nothing itself (`watching`) and builds nothing itself (`worker`): one build runs at a time, in a process of
its own. Requests for one project that wait are one request. No hook ever waits for any of this; a tool waits a moment.
"""

from __future__ import annotations

import contextlib
import subprocess
import threading
import time
from collections import Counter, OrderedDict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from hybrid.base.home import is_switched_off
from hybrid.daemon.watching import Watcher
from hybrid.daemon.worker import WorkerProcess, spawn_worker
from hybrid.index.manifest import NAME as MANIFEST_NAME
from hybrid.index.manifest import has_other_model
from hybrid.log.events import UNSEARCHABLE
from hybrid.models.registry import embedder_key
from hybrid.redact import redact
from hybrid.render.marks import neutralise_line
from hybrid.workspace import open_workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from hybrid.answer.decide import Turn
    from hybrid.answer.events import Reply
    from hybrid.log.events import EventLog
    from hybrid.workspace import Workspace


_LOOK_AFTER_S = 75.0
"""Seconds between two looks at whether an idle worker has ended, so that no dead process stays."""

_NOISY_LOOKS = 5
"""Builds in a row in which a path was reported and nothing had changed, after which it is looked at less often."""

_GRACE_S = 2.0
"""Seconds that closing waits for the builder's thread, which ends with its worker."""
_MAX_PATHS = 1000
"""Changed paths of one request beyond which the build looks at everything."""


class Waits(Struct, frozen=True):
    """Seconds to wait before the next build of a project.

    Attributes:
        first: Seconds after the first failure, doubled with each more.
        longest: Seconds after a failure, at most.
        refused: Seconds for which a refusal stands, and requests are dropped.
        busy: Seconds between tries, at most, while another process builds; there is no limit to these tries.
        tries: Number of failures in a row after which only a new request leads to another try.
        noisy: Seconds before a look at a path that changes all the time and never matters, such as a log in the tree.
        clock: Gives monotonic seconds, from which the waits are counted.
    """

    first: float = 2.0
    longest: float = 300.0
    refused: float = 60.0
    busy: float = 5.0
    tries: int = 6
    noisy: float = 10.0
    clock: Callable[[], float] = time.monotonic


class Result(Struct, frozen=True):
    """The result of the last build of a project.

    Attributes:
        state: `built`; `refused`, `busy` or `failed` with a `reason`.
        reason: A reason of `upkeep.indexing.reason_against`, or a message; empty when it was built.
        paths: Paths that were asked for; None for everything.
        summary: The keys of `hybrid reindex --json`; empty unless it was built.
        folders: Relative folders in which a change matters: all of the project after a look at everything, else
            those below the changed folders.
        failures: Number of results `busy` or `failed` in a row, each like this one; 0 for another state.
        at_s: Time of the result by the builder's clock.
    """

    state: Literal["built", "refused", "busy", "failed"]
    reason: str
    paths: frozenset[str] | None
    summary: Mapping[str, Any]
    folders: tuple[str, ...]
    failures: int
    at_s: float

    def as_json(self, now_s: float) -> dict[str, Any]:
        """Return the result as JSON with stable keys, for `hybrid daemon status`; `age_s` is its age in seconds."""
        return {
            "state": self.state,
            "reason": self.reason or None,
            "summary": dict(self.summary) or None,
            "failures": self.failures,
            "age_s": round(now_s - self.at_s, 1),
        }

    @property
    def is_full(self) -> bool:
        """True when the build looked at everything."""
        return bool(self.summary.get("is_full", False))


class _Request(Struct, frozen=True):
    """The build that waits for one project; `paths` None means everything."""

    cwd: str
    environ: Mapping[str, str]
    paths: frozenset[str] | None
    not_before_s: float

    def as_message(self) -> dict[str, Any]:
        """Return the request as the worker reads it; `paths` in order of name."""
        paths = None if self.paths is None else sorted(self.paths)
        return {"cwd": self.cwd, "environ": self.environ, "paths": paths}

    def joined(self, later: _Request) -> _Request:
        """Return this request and a later one as one, with the later environment and the earlier time."""
        paths = None if self.paths is None or later.paths is None else self.paths | later.paths
        return replace(
            later,
            paths=None if paths is not None and len(paths) > _MAX_PATHS else paths,
            not_before_s=min(self.not_before_s, later.not_before_s),
        )


class Builder:
    """A queue of builds by project with one thread and at most one worker process; safe to use from several threads."""

    def __init__(
        self,
        home: Path,
        *,
        on_done: Callable[[Path, Result], None] = lambda _root, _result: None,
        spawn: Callable[[], subprocess.Popen[bytes]] = spawn_worker,
        waits: Waits = Waits(),  # noqa: B008 - a frozen value
    ) -> None:
        """Make a builder that rests until something is requested.

        Args:
            home: `$HYBRID_HOME`.
            on_done: Told the root and each result, on the builder's thread; not while another process builds (`busy`).
            spawn: Starts a worker.
            waits: Seconds before the next try.
        """
        self._home = home
        self._on_done = on_done
        self._worker = WorkerProcess(spawn)
        self._waits = waits
        self._queue: OrderedDict[Path, _Request] = OrderedDict()
        self._building: Path | None = None
        self._results: dict[Path, Result] = {}
        self._idle_looks: dict[Path, Counter[str]] = {}
        self._changed = threading.Condition()
        self._is_closed = False
        self._thread: threading.Thread | None = None

    def request(self, root: Path, environ: Mapping[str, str], paths: Collection[str] | None = None) -> None:
        """Ask for a build and return at once; nothing is built after `close`, after a recent refusal, or for no path.

        A request joins one that waits for the same project.

        Args:
            root: Real path of the working tree.
            environ: Environment of the client; only what begins with `HYBRID_` counts.
            paths: Files and folders that changed, absolute or relative to the root; None looks at everything.
        """
        wanted = None if paths is None else frozenset(paths)
        settings = {name: value for name, value in environ.items() if name.startswith("HYBRID_")}
        settings["HYBRID_HOME"] = str(self._home)
        with self._changed:
            if self._is_closed or wanted == frozenset() or self._is_refused(root):
                return
            self._put(root, _Request(str(root), settings, wanted, self._not_before(root, wanted)))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="hybrid-builder", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    @property
    def is_busy(self) -> bool:
        """True while a build of any project runs or waits."""
        with self._changed:
            return bool(self._queue) or self._building is not None

    def is_pending(self, root: Path) -> bool:
        """Return whether a build of this project runs or waits."""
        with self._changed:
            return root in self._queue or self._building == root

    def wait(self, root: Path, timeout_s: float) -> bool:
        """Wait while a build of this project runs or waits, and return whether none does now."""
        with self._changed:
            return self._changed.wait_for(lambda: not self.is_pending(root), timeout_s)

    def last_result(self, root: Path) -> dict[str, Any] | None:
        """Return the result of a project's last build as JSON; None before the first."""
        with self._changed:
            result = self._results.get(root)
            return None if result is None else result.as_json(self._waits.clock())

    def close(self) -> None:
        """End the worker, with a build that runs, drop what waits, and wait two seconds at most for the thread.

        The next build goes on with the work of one that was ended.
        """
        with self._changed:
            self._is_closed = True
            self._queue.clear()
            self._changed.notify_all()
        self._worker.kill()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_GRACE_S)

    def _is_refused(self, root: Path) -> bool:
        """Return whether a refusal of this project still stands; one for `no_project` never does."""
        last = self._results.get(root)
        if last is None or last.state != "refused" or last.reason == "no_project":
            # Who asks where there was no project has just seen one.
            return False
        return self._waits.clock() - last.at_s < self._waits.refused

    def _earliest(self, root: Path) -> float:
        """Return the earliest time of the next try after failures, 0 without; new requests do not make it earlier."""
        last = self._results.get(root)
        if last is None or last.failures == 0:
            return 0.0
        longest = self._waits.busy if last.state == "busy" else self._waits.longest
        return last.at_s + min(self._waits.first * 2 ** min(last.failures - 1, 20), longest)

    def _not_before(self, root: Path, paths: frozenset[str] | None) -> float:
        """Return the earliest time of a request: 0, or `noisy` seconds from now when all its paths never mattered."""
        looks = self._idle_looks.get(root)
        is_noise = paths is not None and looks is not None and all(looks[path] >= _NOISY_LOOKS for path in paths)
        return self._waits.clock() + self._waits.noisy if is_noise else 0.0

    def _count_looks(self, root: Path, result: Result) -> None:
        """Count, for each path of a build of single paths, that nothing changed; any change ends all counts."""
        if result.state != "built" or result.is_full or result.paths is None:
            return
        looks = self._idle_looks.setdefault(root, Counter())
        if any(result.summary.get(key) for key in ("added", "changed", "removed")) or len(looks) > _MAX_PATHS:
            looks.clear()
        else:
            looks.update(result.paths)

    def _put(self, root: Path, request: _Request) -> None:
        """Queue a request, joined with one that waits for the same project; the caller holds the lock."""
        waiting = self._queue.get(root)
        self._queue[root] = request if waiting is None else waiting.joined(request)

    def _run(self) -> None:
        """Build what is requested, one after the other, until closed; runs on the builder's thread."""
        while taken := self._take():
            root, request = taken
            answer = self._worker.ask(request.as_message())
            self._finish(root, request, answer)

    def _take(self) -> tuple[Path, _Request] | None:
        """Wait for the oldest request that may be tried, mark it as being built and return it; None once closed."""
        with self._changed:
            while not self._is_closed:
                now_s = self._waits.clock()
                due_s = {root: max(wish.not_before_s, self._earliest(root)) for root, wish in self._queue.items()}
                ready = next((root for root, at_s in due_s.items() if at_s <= now_s), None)
                if ready is not None:
                    self._building = ready
                    return ready, self._queue.pop(ready)
                self._changed.wait(min((at_s - now_s for at_s in due_s.values()), default=_LOOK_AFTER_S))
                self._worker.reap()
            return None

    def _finish(self, root: Path, request: _Request, answer: Mapping[str, Any]) -> None:
        """Note the result, queue another try of what was busy or failed, and tell `on_done`."""
        state = answer["state"]
        with self._changed:
            self._building = None
            if self._is_closed:
                return
            last = self._results.get(root)
            is_bad = state in ("busy", "failed")
            before = last.failures if last is not None and last.state == state else 0
            failures = before + 1 if is_bad else 0
            result = Result(
                state=state,
                reason=answer.get("reason", ""),
                paths=request.paths,
                summary=answer.get("summary", {}),
                folders=tuple(answer.get("folders", ())),
                failures=failures,
                at_s=self._waits.clock(),
            )
            self._results[root] = result
            if state == "busy" or (is_bad and failures < self._waits.tries):
                # What a part could not do, a look at everything may.
                paths = request.paths if state == "busy" else None
                self._put(root, replace(request, paths=paths))
            self._count_looks(root, result)
            self._changed.notify_all()
        # A callback of the service that fails must not end all building.
        with contextlib.suppress(Exception):
            if state != "busy":
                self._on_done(root, result)


# --- what is watched and built ----------------------------------------------------------------------------


_SWEEP_AGAIN_S = 30.0
"""Seconds between two sweeps of a project that cannot be watched."""
_SESSION_S = 1800.0
"""Seconds without an event after which a session counts as over: not every client says so."""

_MODEL = "HYBRID_MODEL_NAME"
_SETTLED_S = 600.0
"""Seconds without an event after which the model of one client's environment gives way to that of another's."""

_LOOK_S = 5.0
"""Seconds after the request of a look at everything in which the answers of tools wait for its end."""
_IS_STALE = "files: what changed since the last build may be missing"

_MOST_TREES = 32
"""Projects that are looked after: each takes a thread and one of the 128 watchers that Linux gives a user."""


class _Tree(Struct):
    """A working tree that somebody works in.

    Attributes:
        key: Key of the project.
        log: The event log in which failures of its builds are noted.
        environ: Settings from the environment of the client that was heard last.
        sessions: Session → monotonic time of its last event.
        swept_s: Monotonic time of the last request for a build of everything.
        asked_s: Monotonic time of the last question of a tool or the page.
    """

    key: str
    log: EventLog
    environ: Mapping[str, str]
    sessions: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])
    swept_s: float = -_SWEEP_AGAIN_S
    asked_s: float = 0.0


class Freshness:
    """Watches the projects of live sessions and has their indexes built.

    Args:
        home: `$HYBRID_HOME`.
        clock: Gives monotonic seconds.
    """

    def __init__(self, home: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._trees: dict[Path, _Tree] = {}
        self._models: OrderedDict[Path, tuple[str | None, float]] = OrderedDict()
        self._lock = threading.Lock()
        self._builder = Builder(home, on_done=self._done)
        self._watcher = Watcher(self._build)

    def settled(self, root: Path, environ: Mapping[str, str]) -> dict[str, str]:
        """Return the environment of a client's event with the `HYBRID_MODEL_NAME` that counts for a project now.

        Of clients with different ones, or one without, it is that of the client that was heard first, until nothing was
        heard of such a client for ten minutes: else each in turn would have everything embedded anew.
        """
        own, now_s = environ.get(_MODEL), self._clock()
        with self._lock:
            counts, heard_s = self._models.get(root, (own, now_s))
            if own == counts or now_s - heard_s >= _SETTLED_S:
                counts, heard_s = own, now_s
            self._models[root] = counts, heard_s
            self._models.move_to_end(root)
            while len(self._models) > _MOST_TREES:
                self._models.popitem(last=False)
        rest = {name: value for name, value in environ.items() if name != _MODEL}
        return rest if counts is None else rest | {_MODEL: counts}

    def workspace_of(self, cwd: str, environ: dict[str, str]) -> tuple[Workspace, dict[str, str]]:
        """Return the workspace around a client's directory, and the environment that counts there, as of `settled`."""
        workspace = open_workspace(Path(cwd or "/"), environ=environ)
        if workspace.project is None or environ == (settled := self.settled(workspace.project.root, environ)):
            return workspace, environ
        return open_workspace(Path(cwd or "/"), environ=settled), settled

    def sessions(self, root: Path) -> dict[tuple[str, str], float]:
        """Return client and session → monotonic time of its last event, of the live sessions in a tree."""
        with self._lock:
            tree = self._trees.get(root)
            return dict(tree.sessions) if tree else {}

    def begin(self, workspace: Workspace, environ: Mapping[str, str]) -> None:
        """Watch a project from now on, and build its index unless just asked for; not with `index.auto` off.

        An index of another model waits for the first event: the environment of its client may name that model.
        """
        if workspace.project is None or not workspace.config.index.auto:
            return
        root = workspace.project.root
        with self._lock:
            tree = self._heard(workspace, root, environ)
            is_due = time.monotonic() - tree.swept_s >= _SWEEP_AGAIN_S
        self._watch(workspace, root)
        if is_due and not self._has_other_model(workspace):
            self._build(root, None)

    def asked(self, workspace: Workspace, environ: Mapping[str, str]) -> str:
        """Keep the project of a question fresh, as `after` does for a prompt: many clients have tools and no hooks.

        A question that finds the project unwatched has everything looked at, and waits `_LOOK_S` seconds at most for
        that. Without an index nothing is waited for.

        Returns:
            A sentence for the asker when the index may lack the newest changes; empty when it is fresh.
        """
        if not workspace.config.index.auto:
            return f"{_IS_STALE}: `index.auto` is off, so only `hybrid reindex` brings the index up to date"
        root = workspace.require_project().root
        with self._lock:
            tree = self._heard(workspace, root, environ)
            tree.asked_s = time.monotonic()
            is_due = tree.asked_s - tree.swept_s >= _SWEEP_AGAIN_S
        self._watch(workspace, root)
        is_kept = self._watcher.is_watching(root) and self._failure(root) is None
        if (is_due and not is_kept) or self._is_model_due(workspace, root):
            self._build(root, None)
        is_indexed = (workspace.place.folder / MANIFEST_NAME).exists()
        left_s = tree.swept_s + _LOOK_S - time.monotonic() if is_indexed else 0.0
        is_done = self._builder.wait(root, max(left_s, 0.0))
        if (failure := self._failure(root)) is not None:
            return f"{_IS_STALE}: the index could not be brought up to date ({neutralise_line(redact(failure))[:300]})"
        return "" if is_done else f"{_IS_STALE}: the index is being brought up to date"

    def _failure(self, root: Path) -> str | None:
        """Return why the last build of a project failed or was refused; None when it did not."""
        last = self._builder.last_result(root)
        return last["reason"] or "" if last and last["state"] in ("failed", "refused") else None

    def after(self, turn: Turn, reply: Reply | None) -> None:
        """Watch the project of an answered event and ask for a build when its index is missing or to be checked.

        Also when the index is old or made with another model. Nothing happens where hybrid is switched off or paused,
        or `index.auto` is off.
        """
        workspace, event = turn.workspace, turn.event
        if workspace.project is None or not workspace.config.index.auto:
            return
        if is_switched_off(turn.environ) or (reply and reply.decision.reason == "paused"):
            return
        root = workspace.project.root
        session = (event.client, event.session_id)
        with self._lock:
            is_new = root not in self._trees
            tree = self._heard(workspace, root, turn.environ)
            if event.event == "SessionEnd":
                tree.sessions.pop(session, None)
                return
            tree.sessions[session] = time.monotonic()
            is_due = time.monotonic() - tree.swept_s >= _SWEEP_AGAIN_S
        self._watch(workspace, root)
        is_prompt = event.event == "UserPromptSubmit"
        if is_prompt and self._is_model_due(workspace, root):
            self._build(root, None)
            return
        # What another tree's index answered is no reason of its own.
        is_missing = is_prompt and not (workspace.place.folder / MANIFEST_NAME).exists()
        is_missing = is_missing or (reply is not None and reply.decision.reason in UNSEARCHABLE)
        is_start = event.event == "SessionStart" and event.source != "compact"
        if is_new or is_start or is_missing:
            if is_due or is_start:
                self._build(root, None)
            return
        changed = [str(Path(event.cwd) / path) for path in event.paths] if event.event == "PostToolUse" else []
        if reply is not None:
            changed += [
                str(root / entry.hit.path)
                for entry in reply.decision.withheld
                if entry.reason == "stale" and not entry.hit.is_record
            ]
        if changed:
            self._build(root, changed)
        elif is_due and is_prompt and not self._watcher.is_watching(root):
            self._build(root, None)

    def _is_model_due(self, workspace: Workspace, root: Path) -> bool:
        """Return whether to ask for a build with another model: at once, since the builder waits after a failure."""
        return not self._builder.is_pending(root) and self._has_other_model(workspace)

    def _has_other_model(self, workspace: Workspace) -> bool:
        """Return whether the index waits to be embedded with the model of the settings, and that model is there."""
        wanted = embedder_key(workspace.config.model.name, workspace.home)
        return bool(wanted) and has_other_model(workspace.place.folder, wanted)

    def tick(self) -> None:
        """Stop watching projects without an event, a question or a sweep for half an hour."""
        limit_s = time.monotonic() - _SESSION_S
        with self._lock:
            for tree in self._trees.values():
                tree.sessions = {key: seen_s for key, seen_s in tree.sessions.items() if seen_s > limit_s}
            over = [
                root
                for root, tree in self._trees.items()
                if not tree.sessions and max(tree.swept_s, tree.asked_s) < limit_s
            ]
        self._leave(over)

    @property
    def is_building(self) -> bool:
        """True while a build of any project runs or waits."""
        return self._builder.is_busy

    def figures(self) -> dict[str, Any]:
        """Return the projects, their sessions and last builds as JSON, for `hybrid daemon status`."""
        with self._lock:
            roots = {str(root): len(tree.sessions) for root, tree in self._trees.items()}
        return {
            "projects": [
                {
                    "root": root,
                    "sessions": n_sessions,
                    "is_watched": self._watcher.is_watching(Path(root)),
                    "watch_problem": self._watcher.problem(Path(root)) or None,
                    "is_building": self._builder.is_pending(Path(root)),
                    "last_build": self._builder.last_result(Path(root)),
                }
                for root, n_sessions in sorted(roots.items())
            ]
        }

    def close(self) -> None:
        """Stop watching and building; waits for their threads, a second or two each at most."""
        self._watcher.close()
        self._builder.close()

    def _heard(self, workspace: Workspace, root: Path, environ: Mapping[str, str]) -> _Tree:
        """Return the tree of a project, made if missing, with a new environment, as the last of the trees.

        The tree that was heard of longest ago is the first, and dropped first.
        """
        new = _Tree(workspace.require_project().key, workspace.log, environ)
        tree = self._trees[root] = self._trees.pop(root, new)
        tree.environ = environ
        return tree

    def _leave(self, roots: Collection[Path]) -> None:
        """Forget these projects and stop watching them; unknown ones are passed over."""
        with self._lock:
            for root in roots:
                self._trees.pop(root, None)
        for root in roots:
            self._watcher.unwatch(root)

    def _watch(self, workspace: Workspace, root: Path) -> None:
        """Drop the projects beyond the limit, and follow this one if `index.watch` is on."""
        with self._lock:
            surplus = list(self._trees)[:-_MOST_TREES]
        self._leave(surplus)
        if workspace.config.index.watch:
            self._watcher.watch(root, debounce_ms=workspace.config.index.debounce_ms)

    def _done(self, root: Path, result: Result) -> None:
        """Watch the folders that a build found to matter; unwatch a project whose build was refused; note a failure."""
        if result.state == "failed":
            self._note(root, result.reason)
        elif result.reason == "no_project":
            self._leave([root])
        elif result.state == "refused":
            self._watcher.unwatch(root)
        elif result.is_full:
            self._watcher.learn(root, result.folders)
        elif result.paths is not None:
            self._watcher.learn_below(root, result.paths, result.folders)

    def _build(self, root: Path, paths: Collection[str] | None) -> None:
        """Ask for a build with the project's last environment; nothing for a project that nobody works in."""
        with self._lock:
            tree = self._trees.get(root)
            if tree is None:
                return
            if paths is None:
                tree.swept_s = time.monotonic()
            environ = tree.environ
        self._builder.request(root, environ, paths)

    def _note(self, root: Path, message: str) -> None:
        """Append a failure to the event log of the project, if somebody works in it."""
        with self._lock:
            tree = self._trees.get(root)
        if tree is not None:
            line = {"project": tree.key, "root": str(root), "event": "build", "reason": "error"}
            tree.log.append(line | {"error": message[:500]})
