"""Keeps the indexes of live sessions fresh: decides from events what is watched, and when which files are built.

It builds nothing itself (`building`) and watches nothing itself (`watching`); no answer ever waits for it.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct, field

from hybrid.daemon.building import Builder
from hybrid.daemon.watching import Watcher
from hybrid.feedback.reasons import UNSEARCHABLE

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from hybrid.answer.events import Reply
    from hybrid.daemon.building import Result
    from hybrid.feedback.events import EventLog
    from hybrid.types import HookEvent
    from hybrid.workspace import Workspace

_SWEEP_AGAIN_S = 30.0
"""Seconds between two sweeps of a project that cannot be watched."""
_SESSION_S = 1800.0
"""Seconds without an event after which a session counts as over: not every client says so."""

_MOST_TREES = 32
"""Projects that are looked after: each takes a thread and one of the 128 watchers that Linux gives a user."""


class _Tree(Struct):
    """A working tree that somebody works in.

    Attributes:
        key: Of the project.
        log: Where failures of its builds are noted.
        environ: Settings from the environment of the client that was heard last.
        sessions: Session → monotonic time of its last event.
        swept_s: Of the last request for a full sweep.
    """

    key: str
    log: EventLog
    environ: Mapping[str, str]
    sessions: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])
    swept_s: float = -_SWEEP_AGAIN_S


class Care:
    """Which projects are watched and built.

    Args:
        home: `$HYBRID_HOME`.
    """

    def __init__(self, home: Path) -> None:
        self._trees: dict[Path, _Tree] = {}
        self._lock = threading.Lock()
        self._builder = Builder(home, on_done=self._done, on_error=self._note)
        self._watcher: Watcher | None = None

    def begin(self, workspace: Workspace, environ: Mapping[str, str]) -> None:
        """Look after a project from now on: watch it, and bring its index up to date."""
        if workspace.project is None or not workspace.config.index.auto:
            return
        root = workspace.project.root
        with self._lock:
            tree = self._heard(workspace, root, environ)
            is_due = time.monotonic() - tree.swept_s >= _SWEEP_AGAIN_S
        self._watch(workspace, root)
        if is_due:
            self._build(root, None)

    def after(self, workspace: Workspace, event: HookEvent, reply: Reply | None, environ: Mapping[str, str]) -> None:
        """Draw the consequences of an event that was answered; none where hybrid is switched off or paused."""
        if workspace.project is None or not workspace.config.index.auto:
            return
        if environ.get("HYBRID_DISABLE", "") not in ("", "0") or (reply and reply.decision.reason == "paused"):
            return
        root = workspace.project.root
        session = (event.client, event.session_id)
        with self._lock:
            is_new = root not in self._trees
            tree = self._heard(workspace, root, environ)
            if event.event == "SessionEnd":
                tree.sessions.pop(session, None)
                return
            tree.sessions[session] = time.monotonic()
            is_due = time.monotonic() - tree.swept_s >= _SWEEP_AGAIN_S
        self._watch(workspace, root)
        reason = reply.decision.reason if reply is not None else ""
        is_start = event.event == "SessionStart" and event.source != "compact"
        if is_new or is_start or reason in UNSEARCHABLE:
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
        elif is_due and event.event == "UserPromptSubmit" and not self._is_watching(root):
            self._build(root, None)

    def tick(self) -> None:
        """Stop watching where nobody works any more."""
        limit_s = time.monotonic() - _SESSION_S
        with self._lock:
            for tree in self._trees.values():
                tree.sessions = {key: seen_s for key, seen_s in tree.sessions.items() if seen_s > limit_s}
            over = [root for root, tree in self._trees.items() if not tree.sessions and tree.swept_s < limit_s]
        self._leave(over)

    @property
    def is_building(self) -> bool:
        """A build is running or waiting."""
        return self._builder.is_busy

    def figures(self) -> dict[str, Any]:
        """For `hybrid daemon status`."""
        with self._lock:
            roots = {str(root): len(tree.sessions) for root, tree in self._trees.items()}
        return {
            "projects": [
                {
                    "root": root,
                    "sessions": n_sessions,
                    "is_watched": self._is_watching(Path(root)),
                    "is_building": self._builder.is_pending(Path(root)),
                    "last_build": self._builder.last_result(Path(root)),
                }
                for root, n_sessions in sorted(roots.items())
            ]
        }

    def close(self) -> None:
        """Stop watching and building."""
        if self._watcher is not None:
            self._watcher.close()
        self._builder.close()

    def _heard(self, workspace: Workspace, root: Path, environ: Mapping[str, str]) -> _Tree:
        """The tree, which from here on is the last one that was heard of."""
        new = _Tree(workspace.require_project().key, workspace.log, environ)
        tree = self._trees[root] = self._trees.pop(root, new)
        tree.environ = environ
        return tree

    def _leave(self, roots: Collection[Path]) -> None:
        with self._lock:
            for root in roots:
                self._trees.pop(root, None)
        for root in roots:
            if self._watcher is not None:
                self._watcher.unwatch(root)

    def _watch(self, workspace: Workspace, root: Path) -> None:
        with self._lock:
            surplus = list(self._trees)[:-_MOST_TREES]
        self._leave(surplus)
        if not workspace.config.index.watch:
            return
        with self._lock:
            if self._watcher is None:
                self._watcher = Watcher(self._changed, debounce_ms=workspace.config.index.debounce_ms)
        self._watcher.watch(root)

    def _is_watching(self, root: Path) -> bool:
        return self._watcher is not None and self._watcher.is_watching(root)

    def _changed(self, root: Path, paths: Collection[str] | None) -> None:
        self._build(root, paths)

    def _done(self, root: Path, result: Result) -> None:
        """Watch the folders that the build found worth it, and nothing of a project that is gone or not to be built."""
        if result.state == "refused":
            if result.reason == "no_project":
                self._leave([root])
            elif self._watcher is not None:
                self._watcher.unwatch(root)
        elif self._watcher is not None and result.is_full:
            self._watcher.learn(root, result.folders)
        elif self._watcher is not None and result.paths is not None:
            self._watcher.learn_below(root, result.paths, result.folders)

    def _build(self, root: Path, paths: Collection[str] | None) -> None:
        with self._lock:
            tree = self._trees.get(root)
            if tree is None:
                return
            if paths is None:
                tree.swept_s = time.monotonic()
            environ = tree.environ
        self._builder.request(root, environ, paths)

    def _note(self, root: Path, message: str) -> None:
        with self._lock:
            tree = self._trees.get(root)
        if tree is not None:
            line = {"project": tree.key, "root": str(root), "event": "build", "reason": "error"}
            tree.log.append(line | {"error": message[:500]})
