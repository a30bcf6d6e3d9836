"""Runs git: `listing` asks for the files of a working tree, `commits` for its log. Nobody else runs git.

The repository may be foreign: nothing that its configuration names is executed, nothing is written into it, and the
search for it does not leave the folder that was given.
"""

from __future__ import annotations

import _thread
import contextlib
import os
import signal
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.home import expanded
from hybrid.project.find import folders_of, parse_config, read_small
from hybrid.sources.reading import join

if TYPE_CHECKING:
    import subprocess
    import threading
    from collections.abc import Generator, Iterator, Sequence

_TIMEOUT_S = 10.0
_LOOK_S = 0.5
"""Seconds without an answer after which git is checked for waiting at a pipe, which it would do for ever."""
_COUNT_BYTES = 65_536
_WITH_LITTLE_MEMORY = ("/bin/sh", "-c", 'ulimit -v 2097152 2>/dev/null; exec "$@"', "git")
"""Starts git with 2 GB of address space: the index of a million files takes a third of it, and rules of gigabytes do
not fit. A shell does it, since nothing else can before git begins without running Python between `fork` and `exec`."""

_SMALL_BYTES = 1_000_000
_INDEX_BYTES = 500_000_000
_OWN_FILES = {"HEAD": _SMALL_BYTES, "index": _INDEX_BYTES, "config.worktree": _SMALL_BYTES}
_COMMON_FILES = {
    "config": _SMALL_BYTES,
    "packed-refs": _INDEX_BYTES,
    "info/exclude": _SMALL_BYTES,
    "info/attributes": _SMALL_BYTES,
    "info/sparse-checkout": _SMALL_BYTES,
    "objects/info/alternates": _SMALL_BYTES,
}
_TREE_FILES = {".gitignore": _SMALL_BYTES, ".gitattributes": _SMALL_BYTES}
"""What git reads of a repository or of the top of its tree → the size up to which it may: git has no limit of its own,
and waits for ever for a pipe."""

_MAX_FOLDERS = 20_000
_at_work: set[subprocess.Popen[bytes]] = set()
_starting = _thread.allocate_lock()
_unreadable: dict[str, str] = {}
"""Top of a tree → the file below that git waited for; while it is no regular file, git is not started there again."""

# Variables of git that are passed on: where the user's own settings lie. All others could turn git to another
# repository or into another behaviour; a surrounding git process (a hook, for example) sets some of them.
_PASSED_ON = ("GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_SYSTEM")

# A sparse index whose trees are missing has git fetch them from a "promisor" that the repository's configuration
# names, and so run `ext::COMMAND` or core.sshCommand. Older versions of git do not know GIT_NO_LAZY_FETCH, so no
# protocol is allowed either: no transport is called `none`, and the variable overrides every `protocol.*` setting.
_OWN_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}

_ARGUMENTS = (
    "--no-pager",
    "--literal-pathspecs",
    "-c",
    "core.fsmonitor=false",
    "-c",
    f"core.hooksPath={os.devnull}",
    "-c",
    "submodule.recurse=false",
)
_LIST = ("ls-files", "-z", "--cached", "--others", "--exclude-standard")
# The tag says whether a path is tracked (`?`: it is not); the mode of a tracked one says whether it is a submodule.
_WITH_MODES = ("-t", "--stage")
_SUBMODULE = "160000 "
_SMALL_WINDOWS = ("-c", "core.packedGitWindowSize=32m", "-c", "core.packedGitLimit=512m")
"""Parts of packs that are mapped at a time: by default up to all of them, and packs may be larger than git's memory."""


NO_TREE = "not the top of a git working tree"


class GitUnavailableError(Exception):
    """Git cannot be asked about this folder; the message says why."""


class GitFailedError(GitUnavailableError):
    """Git ended with an exit code other than 0, `code`."""

    def __init__(self, code: int) -> None:
        super().__init__(f"git failed with {code}")
        self.code = code


class Listed(Struct, frozen=True):
    """The files and inner repositories that git lists in one working tree.

    Attributes:
        files: Paths of files, also of tracked ones that were deleted, and of links to folders.
        repositories: Folders of submodules, checked out or not, and of untracked repositories inside.
    """

    files: set[str]
    repositories: set[str]


def list_files(root: str, within: Sequence[str] = (), *, timeout_s: float = _TIMEOUT_S) -> Listed:
    """List the files that are tracked, or untracked and not ignored, as git sees them, and the repositories inside.

    Nothing in these is listed. The sets also take the place of `--deduplicate`, which git knows only since 2.31.

    Args:
        root: Real path of the top of the working tree.
        within: Relative paths of files and folders, there or gone: only these and what is below. Empty = everything.
        timeout_s: Seconds after which git is killed.

    Raises:
        GitUnavailableError: No git, no repository, not trusted (other owner), damaged, or too slow.
    """
    if not os.path.lexists(join(root, ".git")):
        raise GitUnavailableError(NO_TREE)
    import subprocess  # Costs 10 ms, and re-reading one span needs no git.

    with _running(root, (*_LIST, *_WITH_MODES, "--", *within), has_errors=True) as process:
        look_s = min(_LOOK_S, timeout_s)
        try:
            try:
                output, errors = process.communicate(timeout=look_s)
            except subprocess.TimeoutExpired:
                _refuse_pipes_below(root)
                output, errors = process.communicate(timeout=timeout_s - look_s)
        except subprocess.TimeoutExpired as error:
            _remember_unreadable(root, _SMALL_BYTES)
            raise GitUnavailableError(f"git took longer than {timeout_s:g} s") from error
    if process.returncode != 0:
        lines = errors.decode("utf-8", "replace").strip().splitlines() or ["no message"]
        raise GitUnavailableError(f"git failed with {process.returncode}: {lines[0][:200]}")
    try:
        entries = os.fsdecode(output).split("\0")[:-1]
    except UnicodeDecodeError as error:
        raise GitUnavailableError("git gave a path that this system cannot name") from error
    files: set[str] = set()
    repositories: set[str] = set()
    for entry in entries:
        tag, _, rest = entry.partition(" ")
        path = rest if tag == "?" else rest.partition("\t")[2]
        if path.startswith(("../", "/")):
            continue
        if path.endswith("/") or (tag != "?" and rest.startswith(_SUBMODULE)):
            repositories.add(path.rstrip("/"))
        else:
            files.add(path)
    return Listed(files, repositories)


def has_more_files(root: str, limit: int, *, timeout_s: float = _TIMEOUT_S) -> bool:
    """Return whether git lists more than `limit` files; git is killed as soon as that is known.

    Raises:
        GitUnavailableError: As `list_files`.
    """
    import threading

    n_files = 0
    with _running(root, _LIST) as process:
        assert process.stdout is not None
        is_done = threading.Event()
        threading.Thread(target=_watch, args=(process, root, timeout_s, is_done), daemon=True).start()
        try:
            while n_files <= limit and (data := process.stdout.read(_COUNT_BYTES)):
                n_files += data.count(b"\0")
        finally:
            is_done.set()
        if n_files > limit:
            return True
        process.wait()
    if process.returncode != 0:
        _remember_unreadable(root, _SMALL_BYTES)
        raise GitFailedError(process.returncode)
    return False


def read_output(root: str, command: Sequence[str], *, timeout_s: float = _TIMEOUT_S) -> Generator[bytes]:
    """Yield what a git command that only reads commits prints, piece by piece; closing the generator ends git.

    Args:
        root: Real path of the top of the working tree.
        command: Name of the command and its arguments.
        timeout_s: Seconds after which git is killed.

    Raises:
        GitUnavailableError: As `list_files`.
        GitFailedError: Git failed, or its time was over; after all that it printed.
    """
    if not os.path.lexists(join(root, ".git")):
        raise GitUnavailableError(NO_TREE)
    import threading

    with _running(root, (*_SMALL_WINDOWS, *command)) as process:
        assert process.stdout is not None
        limit = threading.Timer(timeout_s, _kill, (process,))
        limit.daemon = True
        limit.start()
        try:
            while data := process.stdout.read(_COUNT_BYTES):
                yield data
            process.wait()
        finally:
            limit.cancel()
    if process.returncode != 0:
        raise GitFailedError(process.returncode)


@contextlib.contextmanager
def _running(root: str, command: Sequence[str], *, has_errors: bool = False) -> Generator[subprocess.Popen[bytes]]:
    """Start git with bounded memory and yield its process; git and all that it started are killed at the end.

    Args:
        root: Real path of the top of the working tree.
        command: Name of the command and its arguments.
        has_errors: Standard error is read too.

    Raises:
        GitUnavailableError: Git cannot be run, or would read a file that it must not.
    """
    import subprocess

    _refuse_unreadable(root)
    try:
        with _starting:
            process = subprocess.Popen(
                (*(() if os.name == "nt" else _WITH_LITTLE_MEMORY), _executable(root), *_ARGUMENTS, *command),
                cwd=root,
                env=_environment(root),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE if has_errors else subprocess.DEVNULL,
                start_new_session=True,
            )
            _at_work.add(process)
    except (OSError, ValueError) as error:
        raise GitUnavailableError(f"git cannot be run: {error}") from error
    with process:
        try:
            yield process
        finally:
            _kill(process)
            _at_work.discard(process)


def kill_all() -> None:
    """Kill all git at work and let none start, for a process that ends at once: git at a pipe would outlive it."""
    _starting.acquire()  # For good: none is started from here on.
    for process in list(_at_work):
        _kill(process)


def _watch(process: subprocess.Popen[bytes], root: str, timeout_s: float, is_done: threading.Event) -> None:
    """Kill git when it may wait for a pipe, or when its time is over; return when either happened or git is done."""
    look_s = min(_LOOK_S, timeout_s)
    if is_done.wait(look_s):
        return
    try:
        _refuse_pipes_below(root)
    except GitUnavailableError:
        _kill(process)
        return
    if not is_done.wait(timeout_s - look_s):
        _kill(process)


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with all processes of its group, if it still runs; on Windows the process alone."""
    if process.poll() is not None:
        return
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL) if hasattr(os, "killpg") else process.kill()


def _refuse_unreadable(root: str) -> None:
    """Raise when a file of rules or settings that git would read is a pipe, a device or too large.

    Files of rules in the folders below are checked only while git does not answer (`_refuse_pipes_below`).

    Raises:
        GitUnavailableError: There is such a file; the message names it.
    """
    folders = folders_of(Path(root))
    limits = {join(root, name): size for name, size in _TREE_FILES.items()}
    if folders is not None:
        own, common = folders
        limits |= {join(str(own), name): size for name, size in _OWN_FILES.items()}
        limits |= {join(str(common), name): size for name, size in _COMMON_FILES.items()}
        for name in ("config", "config.worktree"):
            limits |= dict.fromkeys(_named_files(common / name, root), _SMALL_BYTES)
    if root in _unreadable:
        limits[_unreadable[root]] = _SMALL_BYTES
    for path, size in limits.items():
        if reason := _reason_not_to_read(path, size):
            raise GitUnavailableError(f"{path} is {reason}")


def _reason_not_to_read(path: str, size_bytes: int) -> str:
    """Return why git must not read a file: too large, or no regular file. Empty when it may, or nothing is there."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a path of three kinds, on each build
    except (OSError, ValueError):
        return ""
    if stat.S_ISREG(status.st_mode):
        return f"larger than {size_bytes / 1e6:g} MB" if status.st_size > size_bytes else ""
    return "" if stat.S_ISDIR(status.st_mode) else "no regular file"


def _refuse_pipes_below(root: str) -> None:
    """Raise when a file of rules in the tree is a pipe or device, at which git may be waiting; remember that file.

    Raises:
        GitUnavailableError: There is such a file; the message names it.
    """
    _remember_unreadable(root, sys.maxsize)
    if root in _unreadable:
        raise GitUnavailableError(f"{_unreadable[root]} is no regular file")


def _remember_unreadable(root: str, size_bytes: int) -> None:
    """Remember the first file of rules in the tree that git must not read, so that git is not started there again."""
    _unreadable.pop(root, None)
    waiting = [root]  # A stack of our own: `os.walk` of Python before 3.12 meets the limit of recursion.
    for _ in range(_MAX_FOLDERS):
        if not waiting:
            return
        folder = waiting.pop()
        for name in _TREE_FILES:
            path = join(folder, name)
            if os.path.lexists(path) and _reason_not_to_read(path, size_bytes):
                _unreadable[root] = path
                return
        with contextlib.suppress(OSError), os.scandir(folder) as entries:
            inner = [item.path for item in entries if item.name != ".git" and item.is_dir(follow_symlinks=False)]
            waiting += sorted(inner, reverse=True)


def _named_files(config: Path, root: str) -> Iterator[str]:
    """Yield the files that a file of settings has git read: excludes, attributes and further settings."""
    for key, values in parse_config(read_small(config) or "").items():
        if key in ("core.excludesfile", "core.attributesfile"):
            yield from (str(Path(root) / expanded(value)) for value in values)
        elif key.startswith(("include.", "includeif.")) and key.endswith(".path"):
            yield from (str(config.parent / expanded(value)) for value in values)


def _executable(root: str) -> str:
    """Return the absolute path of git from PATH, without relative folders and those inside the project.

    Raises:
        GitUnavailableError: There is no such git.
    """
    import shutil

    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    trusted = [folder for folder in folders if Path(folder).is_absolute() and not _is_inside(root, folder)]
    git = shutil.which("git", path=os.pathsep.join(trusted))
    if git is None or not Path(git).is_absolute() or _is_inside(root, git):
        raise GitUnavailableError("git cannot be run: there is none on PATH outside of the project")
    return git


def _is_inside(root: str, path: str) -> bool:
    real = os.path.realpath(path)
    return real == root or real.startswith(join(root, ""))


def _environment(root: str) -> dict[str, str]:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _PASSED_ON
    }
    # With a damaged `.git` here, git would otherwise list this folder as part of a repository further up.
    environment["GIT_CEILING_DIRECTORIES"] = str(Path(root).parent)
    return environment | _OWN_VARIABLES
