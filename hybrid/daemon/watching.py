"""Tells which files of open projects changed; `freshness` asks for builds of them. Knows nothing of indexes.

On Linux only the folders that were named are watched, one watch each, so that installed packages and build output cost
nothing; elsewhere one watch covers the tree, and what lies in other folders is passed over. Where watching fails (no
watches left, a network file system) nothing is reported, `is_watching` is false and `problem` says why: the caller
looks from time to time.
"""

from __future__ import annotations

import contextlib
import math
import os
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from hybrid.project.find import folders_of, open_git_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from watchfiles._rust_notify import RustNotify

_LONGEST_BATCH_MS = 1500
"""Milliseconds after which changes are reported although more keep coming."""

_SHORTEST_STEP_MS = 20
_WAIT_MS = 2000
"""Milliseconds after which a wait without changes ends: the project itself may be gone."""
_MAX_NEW_FOLDERS = 100
"""New folders of a batch, at most, that are watched before a build has looked at them; the build names the rest."""
_MAX_FOLDERS = 50_000
"""Folders of a project beyond which it is not watched: each watch takes a kilobyte of the system's own memory."""
_RETRY_S = 60.0
_LIMITS = Path("/proc/sys/fs/inotify")
_ADDED = 1
_DELETED = 3
_GIT_FILES = ("HEAD", "index")
_IS_RECURSIVE = sys.platform != "linux"


def open_notifier(paths: list[str], *, is_recursive: bool) -> RustNotify:
    """Return a notifier that watches these folders.

    Raises:
        OSError: One is not there, or there are no watches left.
    """
    # 25 ms and 5 MB, on the thread of the first project that is watched.
    from watchfiles._rust_notify import RustNotify

    return RustNotify(paths, False, False, 0, is_recursive, True)


class _Tree(Struct):
    """One followed project.

    Attributes:
        root: Real path of the project.
        step_ms: The system's reports are collected once in so long; a batch ends when nothing was new then.
        git: Folders of the repository that are watched too.
        folders: Relative folders in which a change matters.
        wake: Set to end the present wait of the project's thread.
        is_over: The project's thread is to end.
        is_watching: The project's thread runs.
        is_renewing: `folders` differs from the folders that are watched; the thread is to renew the watches.
        is_blind: Something may have changed unseen, which is to be told once the watches stand.
        failed_s: Monotonic time at which watching failed; it is tried again after a minute.
        problem: Why the project is not watched; empty when it is, or nothing was tried yet.
    """

    root: str
    step_ms: int
    git: tuple[str, ...]
    folders: frozenset[str] = frozenset()
    wake: threading.Event = field(default_factory=threading.Event)
    is_over: bool = False
    is_watching: bool = False
    is_renewing: bool = False
    is_blind: bool = True
    failed_s: float = -math.inf
    problem: str = ""


class Watcher:
    """Watches projects, each on a thread of its own; safe to use from several threads."""

    def __init__(
        self,
        on_change: Callable[[Path, set[str]], None],
        *,
        notify: Callable[..., RustNotify] = open_notifier,
        is_recursive: bool = _IS_RECURSIVE,
    ) -> None:
        """A watcher of nothing yet.

        Args:
            on_change: Told a root and relative paths that changed, appeared or vanished, on a thread of the watcher.
                `.git/HEAD`, `.git/index` and `.git/info/exclude` stand for those of the repository, wherever it lies.
            notify: Opens a notifier.
            is_recursive: One watch for the whole tree rather than one for each folder.
        """
        self._on_change = on_change
        self._notify = notify
        self._is_recursive = is_recursive
        self._trees: dict[Path, _Tree] = {}
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

    def watch(self, root: Path, *, debounce_ms: int) -> None:
        """Follow a project from now on; it is watched as soon as `learn` says which folders matter.

        Args:
            root: Real path of the project; one that is followed already stays as it is.
            debounce_ms: Changes are reported when none came for so long.
        """
        with self._lock:
            if root not in self._trees:
                self._trees[root] = _Tree(str(root), max(debounce_ms, _SHORTEST_STEP_MS), _git_folders(root))

    def learn(self, root: Path, folders: Collection[str]) -> None:
        """Take over the folders of a project in which a change matters, relative to its real path, besides the root.

        When the watches of new folders stand, everything is reported as changed (an empty path): what happened in them
        before was not seen. A project that is not followed, or has too many folders, is passed over.
        """
        with self._lock:
            tree = self._trees.get(root)
            if tree is None or (tree.folders == frozenset(folders) and tree.is_watching):
                return
            if self._are_too_many(root, tree, folders):
                return
            tree.is_blind = tree.is_blind or not tree.folders.issuperset(folders) or not tree.is_watching
            tree.folders, tree.is_renewing = frozenset(folders), True
            if tree.is_watching and tree.is_blind:
                tree.wake.set()
            elif not tree.is_watching and time.monotonic() - tree.failed_s >= _RETRY_S:
                tree.problem = ""
                tree.is_watching = True
                thread = threading.Thread(target=self._follow, args=(root, tree), name="hybrid-watcher", daemon=True)
                self._threads = [known for known in self._threads if known.is_alive()] + [thread]
                thread.start()

    def learn_below(self, root: Path, within: Collection[str], folders: Collection[str]) -> None:
        """Replace the folders below `within` by these, after a build that looked there; others stay.

        A project that is not followed is passed over.
        """
        with self._lock:
            tree = self._trees.get(root)
            if tree is None:
                return
            others = {path for path in tree.folders if not any(_is_below(path, top) for top in within)}
            wanted = frozenset(others.union(folders))
            if wanted != tree.folders and not self._are_too_many(root, tree, wanted):
                tree.folders, tree.is_renewing = wanted, True

    def _are_too_many(self, root: Path, tree: _Tree, folders: Collection[str]) -> bool:
        """Return whether a project has too many folders; its watches end then. The caller holds the lock."""
        if len(folders) <= _MAX_FOLDERS or self._is_recursive:
            return False
        problem = f"it has {len(folders):,} folders, more than the {_MAX_FOLDERS:,} that are watched"
        # What goes on would miss the new folders: nothing is watched, and the caller looks from time to time.
        self._trees[root] = _Tree(tree.root, tree.step_ms, tree.git, problem=problem)
        tree.is_over = True
        tree.wake.set()
        return True

    def unwatch(self, root: Path) -> None:
        """Stop following a project; its thread ends soon, and nothing more is reported."""
        with self._lock:
            tree = self._trees.pop(root, None)
        if tree is not None:
            tree.is_over = True
            tree.wake.set()

    def is_watching(self, root: Path) -> bool:
        """Return whether changes of a project are reported: from `learn` on, unless watching failed or has ended."""
        with self._lock:
            tree = self._trees.get(root)
            return tree is not None and tree.is_watching

    def problem(self, root: Path) -> str:
        """Return why a project is not watched; empty when it is, or nothing was tried yet."""
        with self._lock:
            tree = self._trees.get(root)
            return "" if tree is None or tree.is_watching else tree.problem

    def close(self) -> None:
        """Stop watching every project, and wait up to a second for each thread."""
        for root in list(self._trees):
            self.unwatch(root)
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join(1.0)

    # --- the thread of one project -------------------------------------------------------------------------

    def _follow(self, root: Path, tree: _Tree) -> None:
        """Watch one project until it is unwatched, gone, or cannot be watched; runs on its own thread."""
        notifier: RustNotify | None = None
        is_gone = False
        # The rim of this thread: whatever fails, the project is looked at from time to time instead.
        try:
            identity = _identity(root)
            tree.git = _git_folders(root)
            notifier = self._open(tree)
            while not tree.is_over:
                self._report(root, tree, set())
                reported = notifier.watch(max(_LONGEST_BATCH_MS, tree.step_ms), tree.step_ms, _WAIT_MS, tree.wake)
                is_gone = _identity(root) != identity or _tells_of_its_end(tree, reported)
                if is_gone:
                    return
                if reported == "stop":
                    # What was reported until then is thrown away with the wait.
                    tree.wake.clear()
                    tree.is_blind = True
                changes = _relative(tree, reported) if isinstance(reported, set) else set[tuple[int, str]]()
                self._note_new_folders(tree, changes)
                if tree.is_renewing:
                    # The new watches stand before the old ones go and before anyone looks: nothing is missed between.
                    notifier, late = self._renew(tree, notifier)
                    changes |= late
                self._report(root, tree, {path for _, path in changes if _matters(tree, path)})
        except Exception as error:  # noqa: BLE001 - see above
            tree.failed_s, tree.problem = time.monotonic(), _why_not(error, len(tree.folders))
        finally:
            with self._lock:
                tree.is_watching = False
            if notifier is not None:
                with contextlib.suppress(Exception):
                    notifier.close()
            if is_gone and not tree.is_over:
                # Watches follow a folder, not its name: what stands there now is looked at, and then watched anew.
                self._on_change(root, {""})

    def _renew(self, tree: _Tree, old: RustNotify) -> tuple[RustNotify, set[tuple[int, str]]]:
        """Return a notifier for the present folders and what the old one still reports; a recursive one stays.

        Where there are too few watches for both at once, the old one goes first, and everything counts as changed.
        """
        if self._is_recursive:
            tree.is_renewing = False
            return old, set()
        try:
            notifier = self._open(tree)
        except Exception:  # noqa: BLE001 - whatever it is, it is met again below or has gone
            old.close()
            tree.is_blind = True
            return self._open(tree), set()
        late = old.watch(1, 1, 1, None)
        old.close()
        return notifier, _relative(tree, late) if isinstance(late, set) else set()

    def _report(self, root: Path, tree: _Tree, paths: set[str]) -> None:
        """Tell the paths, with the empty one where something may have been missed; nothing for none."""
        with self._lock:
            if tree.is_blind and not tree.is_renewing:
                tree.is_blind = False
                paths = paths | {""}
        if paths and not tree.is_over:
            self._on_change(root, paths)

    def _open(self, tree: _Tree) -> RustNotify:
        """Open a notifier for the present folders; raises `OSError`, and `FileNotFoundError` after three tries."""
        with self._lock:
            tree.is_renewing = False
            folders = tree.folders
        for _ in range(3):
            paths = [tree.root] if self._is_recursive else _existing(tree, folders)
            with contextlib.suppress(FileNotFoundError):  # one went between the look and the watch
                return self._notify(paths, is_recursive=self._is_recursive)
        raise FileNotFoundError(tree.root)

    def _note_new_folders(self, tree: _Tree, changes: Iterable[tuple[int, str]]) -> None:
        """Have folders watched that appeared, and those in them: a folder that appeared again has lost its watch."""
        new: set[str] = set()
        for kind, path in changes:
            if kind == _ADDED and ".git" not in path.split("/") and _matters(tree, path):
                new.update(_folders_in(tree.root, path, _MAX_NEW_FOLDERS - len(new)))
        if new:
            with self._lock:
                tree.folders, tree.is_renewing = tree.folders.union(new), True


def _why_not(error: Exception, n_folders: int) -> str:
    """Return in words why folders cannot be watched: which limit of Linux is reached, and how it is raised."""
    text = str(error)
    limits = (("watch limit", "max_user_watches", f"{n_folders:,} folders"), ("open files", "max_user_instances", ""))
    for sign, name, wanted in limits:
        if sign in text:
            limit = _limit(name)
            told = f" is {limit:,}" if limit else ""
            wants = f", and this project has {wanted}" if wanted else ""
            raised = f"`sysctl fs.inotify.{name}={max(2 * limit, 2 * n_folders, 512)}` raises it"
            return f"the system gives no more watches: fs.inotify.{name}{told}{wants}; {raised}"
    return text or type(error).__name__


def _limit(name: str) -> int:
    """Return a limit of inotify; 0 where nothing tells."""
    try:
        return int((_LIMITS / name).read_bytes())
    except (OSError, ValueError):
        return 0


def _matters(tree: _Tree, path: str) -> bool:
    """Return whether a change of a path matters: it lies in a known folder, or is a deciding file of git or hybrid."""
    if path.startswith(".hybrid/"):
        return path == ".hybrid/config.toml"
    if path.startswith(".git/"):
        return path in (".git/HEAD", ".git/index", ".git/info/exclude")
    parent = path.rpartition("/")[0]
    return not parent or parent in tree.folders


def _identity(root: Path) -> tuple[tuple[int, int] | None, ...]:
    """Return values that change when a project or its repository was removed, moved or replaced."""
    identity: list[tuple[int, int] | None] = []
    for path in (root, root / ".git"):
        try:
            status = path.stat()
            identity.append((status.st_dev, status.st_ino))
        except OSError:
            identity.append(None)
    return tuple(identity)


def _tells_of_its_end(tree: _Tree, reported: set[tuple[int, str]] | str) -> bool:
    """Return whether the reports tell that the project or its repository was removed, or removed and replaced."""
    ends = {(_DELETED, path) for path in (tree.root, *tree.git)}
    return isinstance(reported, set) and not ends.isdisjoint(reported)


def _git_folders(root: Path) -> tuple[str, ...]:
    """Return the git folder with HEAD and index, and that with the shared rules (`info`); nothing without git."""
    folders = folders_of(root)
    return () if folders is None else (str(folders[0]), str(folders[1] / "info"))


def _existing(tree: _Tree, folders: Iterable[str]) -> list[str]:
    """Return the root and those of the folders to watch that exist now, then the git folders."""
    inside = [f"{tree.root}/{path}" for path in sorted({*folders, ".hybrid"})]
    return [tree.root, *(path for path in (*inside, *tree.git) if Path(path).is_dir())]


def _relative(tree: _Tree, reported: Iterable[tuple[int, str]]) -> set[tuple[int, str]]:
    """Return the changes with paths relative to the root, `/` between; others are left out."""
    changes: set[tuple[int, str]] = set()
    own, info = tree.git or ("", "")
    for kind, path in reported:
        folder, name = os.path.split(path)
        if folder == own and name in _GIT_FILES:
            changes.add((kind, f".git/{name}"))
        elif folder == info and name == "exclude":
            changes.add((kind, ".git/info/exclude"))
        elif path.startswith(tree.root + os.sep):
            changes.add((kind, path[len(tree.root) + 1 :].replace(os.sep, "/")))
    return changes


def _folders_in(root: str, path: str, limit: int) -> list[str]:
    """Return a folder and the folders below it, breadth first, `limit` at most, without links and linked worktrees."""
    folders: list[str] = []
    waiting = [path]
    while waiting and len(folders) < limit:
        folder = waiting.pop(0)
        full = Path(root, folder)
        if full.is_symlink() or not full.is_dir():
            continue
        git = open_git_folder(full) if (full / ".git").exists() else None
        if git is not None and git.is_worktree:  # A copy of what is watched already.
            continue
        folders.append(folder)
        with contextlib.suppress(OSError), os.scandir(full) as entries:
            inner = (entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
            waiting.extend(f"{folder}/{name}" for name in inner if name != ".git")
    return folders


def _is_below(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top}/")
