"""Keeps the indexes of live sessions fresh: decides from events what is watched, and when which files are built.

It builds nothing itself (`building`) and watches nothing itself (`watching`); no answer ever waits for it.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.daemon.building import Builder
from hybrid.daemon.watching import Watcher
from hybrid.feedback.events import EventLog

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from hybrid.daemon.building import Result
    from hybrid.engine.answering import Reply
    from hybrid.engine.workspace import Workspace
    from hybrid.types import HookEvent

_SWEEP_AGAIN_S = 30.0
"""Seconds between two sweeps of a project that cannot be watched."""
_SESSION_S = 1800.0
"""Seconds without an event after which a session counts as over: not every client says so."""


@dataclass(slots=True)
class _Tree:
    """A working tree that somebody works in.

    Attributes:
        environ: Settings from the environment of the client that was heard last.
        sessions: Session → monotonic time of its last event.
        swept_s: Of the last request for a full sweep.
    """

    environ: Mapping[str, str]
    sessions: dict[tuple[str, str], float] = field(default_factory=dict[tuple[str, str], float])
    swept_s: float = -_SWEEP_AGAIN_S


class Care:
    """Which projects are watched and built.

    Args:
        home: `$HYBRID_HOME`.
    """

    def __init__(self, home: Path) -> None:
        self._home = home
        self._trees: dict[Path, _Tree] = {}
        self._lock = threading.Lock()
        self._builder = Builder(home, on_built=self._built, on_error=self._note)
        self._watcher: Watcher | None = None

    def begin(self, workspace: Workspace, environ: Mapping[str, str]) -> None:
        """Look after a project from now on: watch it, and bring its index up to date."""
        if workspace.project is None or not workspace.config.index.auto:
            return
        root = workspace.project.root
        with self._lock:
            tree = self._trees.setdefault(root, _Tree(environ))
            tree.environ = environ
            is_due = time.monotonic() - tree.swept_s >= _SWEEP_AGAIN_S
        self._watch(workspace, root)
        if is_due:
            self._build(root, None)

    def after(self, workspace: Workspace, event: HookEvent, reply: Reply | None, environ: Mapping[str, str]) -> None:
        """Draw the consequences of an event that was answered."""
        if workspace.project is None or not workspace.config.index.auto:
            return
        root = workspace.project.root
        session = (event.client, event.session_id)
        with self._lock:
            is_new = root not in self._trees
            tree = self._trees.setdefault(root, _Tree(environ))
            tree.environ = environ
            if event.event == "SessionEnd":
                tree.sessions.pop(session, None)
                return
            tree.sessions[session] = time.monotonic()
            is_due = time.monotonic() - tree.swept_s >= _SWEEP_AGAIN_S
        self._watch(workspace, root)
        reason = reply.decision.reason if reply is not None else ""
        is_start = event.event == "SessionStart" and event.source != "compact"
        if is_new or is_start or reason in ("no_index", "index_corrupt", "index_mismatch"):
            if is_due or is_start:
                self._build(root, None)
            return
        changed = [str(Path(event.cwd) / path) for path in event.paths] if event.event == "PostToolUse" else []
        if reply is not None:
            changed += [str(root / entry.hit.path) for entry in reply.decision.withheld if entry.reason == "stale"]
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
            for root in over:
                del self._trees[root]
        for root in over:
            if self._watcher is not None:
                self._watcher.unwatch(root)

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

    def _watch(self, workspace: Workspace, root: Path) -> None:
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

    def _built(self, root: Path, result: Result) -> None:
        """Watch the folders that the build found worth it."""
        if self._watcher is not None and result.is_full:
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
        log = EventLog(self._home / "log", max_bytes=5_000_000, keep=2)
        log.append({"root": str(root), "reason": "error", "event": "build", "error": message[:500]})
