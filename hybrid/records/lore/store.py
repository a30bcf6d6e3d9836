"""The folders of lore and their files on disk, read as one, and again only what changed.

Files are bounded and locked, and never lie behind a link out of a project. The engine and the commands hold one store
for each folder. Its reading never raises: a missing file is a source that is skipped, whatever else is wrong becomes a
problem.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from hybrid.base.atomic import append_line, locked, make_private_folder, read_regular, write_atomic
from hybrid.base.stamps import Stamp, stamp_of
from hybrid.records.lore import json_records
from hybrid.records.lore.json_records import DecisionLines
from hybrid.records.lore.types import Lore, RecordMaker, seconds_of
from hybrid.records.types import LoreReadError, LoreWriteError, Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Mapping, Sequence

    from hybrid.records.lore.types import ProjectNames
    from hybrid.records.types import Record


Origin = Literal["personal", "project"]


class LoreFolder(Struct, frozen=True):
    """A data folder; it need not exist, and neither need any of its files.

    Attributes:
        path: The folder.
        origin: `personal` for the user's own, `project` for the one that is committed with a project.
    """

    path: Path
    origin: Origin

    @property
    def patterns(self) -> Path:
        """Path of the file of patterns and anti-patterns."""
        return self.path / "patterns" / "data" / "patterns.yaml"

    @property
    def decisions(self) -> Path:
        """Path of the file of decisions, one a line."""
        return self.path / "journal" / "data" / "decisions.jsonl"

    @property
    def sessions(self) -> Path:
        """Path of the folder of the sessions with their handoffs."""
        return self.path / "transfer" / "data" / "sessions"


def lore_folders(home: Path, environ: Mapping[str, str], configured: str, root: Path | None) -> tuple[LoreFolder, ...]:
    """Return the folders whose lore counts for a project, the project's own first.

    Args:
        home: `$HYBRID_HOME`.
        environ: `LORE_DATA_DIR` names the personal folder where no setting does; `~` is `HOME`.
        configured: `[lore] data_dir`; empty when it is not set.
        root: Top of the working tree; None outside of any project.

    Returns:
        The project's `.hybrid/lore` when it is there, then the personal folder; one when both are the same.
    """
    personal = LoreFolder(personal_folder(home, environ, configured), "personal")
    own = project_folder(root) if root else None
    if own is None or _is_same(own, personal.path):
        return (personal,)
    return (LoreFolder(own, "project"), personal)


def personal_folder(home: Path, environ: Mapping[str, str], configured: str) -> Path:
    """Return the user's folder: `configured`, else `$LORE_DATA_DIR`, else `lore`; relative to `home`."""
    named = configured.strip() or environ.get("LORE_DATA_DIR", "").strip()
    if not named:
        return home / "lore"
    if named == "~" or named.startswith(("~/", "~\\")):
        user_home = environ.get("HOME") or environ.get("USERPROFILE")
        return (Path(user_home) if user_home else Path.home()) / named[2:]
    return home / named


def project_folder(root: Path) -> Path | None:
    """Return `.hybrid/lore` of a working tree; None when it is missing, or a link that may lead out of the tree."""
    folder = root / ".hybrid" / "lore"
    if folder.is_symlink() or folder.parent.is_symlink() or not folder.is_dir():
        return None
    return folder


def _is_same(one: Path, other: Path) -> bool:
    try:
        return one.samefile(other)
    except OSError:
        return False


_LOCK_TIMEOUT_S = 10.0


def read_file(path: Path, folder: LoreFolder, limit_bytes: int) -> bytes | None:
    """Return the bytes of a file; None when it is not there.

    Raises:
        LoreReadError: The file cannot be read, is a link or no regular file, or is longer than the limit.
    """
    check_place(path, folder)
    try:
        data = read_regular(path, limit_bytes)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        what = "is a link; put the file itself there" if path.is_symlink() else f"cannot be read: {why}"
        raise LoreReadError(f"{path} {what}") from error
    if len(data) > limit_bytes:
        raise LoreReadError(f"{path} is larger than {limit_bytes / 1e6:.0f} MB and was not read; shorten it")
    return data


def check_place(path: Path, folder: LoreFolder) -> None:
    """Make sure that a file of a project's folder lies there and nowhere else.

    Raises:
        LoreReadError: One of the folders that lead to it is a link.
    """
    if folder.origin == "project" and (link := _link_between(path, folder.path)):
        raise LoreReadError(f"{link} is a link: a project's lore must lie in its own folder; put a folder in its place")


@contextlib.contextmanager
def held(folder: LoreFolder) -> Generator[None]:
    """Hold the lock of a folder.

    Raises:
        LoreWriteError: Another process holds the lock, or the folder cannot be written.
    """
    lock = folder.path / "lore.lock"
    with locked(lock, _LOCK_TIMEOUT_S) as is_held:
        if not is_held:
            with _told_of(lock):  # Says why, if it cannot be made.
                make_private_folder(lock.parent)
                os.close(os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600))
            raise LoreWriteError(
                f"{lock.parent} is locked by another process that writes there, so nothing was written; run the "
                "command again"
            )
        yield


def append_decisions(folder: LoreFolder, lines: Sequence[bytes]) -> None:
    """Append lines of decisions in one write and wait until they are on disk; the caller holds the folder's lock.

    Raises:
        LoreReadError: A folder that leads to the file is a link.
        LoreWriteError: The file would be too large to be read again, or the disk is full or read-only.
    """
    path = folder.decisions
    together = b"\n".join(lines)
    check_place(path, folder)
    stamp = stamp_of(path, follows_links=False)
    check_size((stamp.size_bytes if stamp else 0) + len(together) + 2, json_records.DECISIONS_BYTES, str(path))
    with _told_of(path):
        append_line(path, together)
        descriptor = os.open(path, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def replace_file(path: Path, data: bytes) -> None:
    """Replace a file as one step, on disk; the caller holds the folder's lock.

    Raises:
        LoreWriteError: The disk is full or read-only.
    """
    with _told_of(path):
        write_atomic(path, data)


def check_size(size_bytes: int, limit_bytes: int, path: str) -> None:
    """Refuse to write a file that would be too large to be read again.

    Raises:
        LoreWriteError: The file would be larger than the limit.
    """
    if size_bytes > limit_bytes:
        raise LoreWriteError(
            f"{path} would be larger than {limit_bytes / 1e6:.0f} MB, and not be read again; shorten it"
        )


@contextlib.contextmanager
def _told_of(path: Path) -> Generator[None]:
    """Turn an OSError of the block into a LoreWriteError that names the file, the reason, and what to do."""
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise LoreWriteError(
            f"{path} cannot be written ({why}), so the record was not kept: make room on that disk or the file "
            f"writable, then run the command again"
        ) from error


def _link_between(path: Path, folder: Path) -> Path | None:
    """Return the first link among the folders between a file and its lore folder; None without one."""
    between = [parent for parent in path.parents if folder in parent.parents]
    return next((parent for parent in reversed(between) if parent.is_symlink()), None)


# --- what is read -------------------------------------------------------------------------------------------

_MOST_MAKERS = 32


class _Kept(Struct, frozen=True):
    """The content of a file, and its stamp then; with `is_proof` the same stamp means the same content."""

    stamp: Stamp | None
    is_proof: bool
    content: Lore


class LoreStore:
    """Reads the lore of one folder, for any number of threads."""

    def __init__(self, folder: LoreFolder, *, now_ns: Callable[[], int] = time.time_ns) -> None:
        """Set the folder; nothing is read yet.

        Args:
            folder: The folder, which need not exist.
            now_ns: Clock in nanoseconds since the epoch: a file that is too new may still change under the same time.
        """
        self.folder = folder
        self._now_ns = now_ns
        self._lock = threading.Lock()
        self._lines = DecisionLines()
        self._kept: dict[str, _Kept] = {}
        self._before: dict[str, _Kept] = {}
        self._lore = Lore()

    def read(self) -> Lore:
        """Return all records and problems of the folder as it is now; the same object while nothing changed."""
        with self._lock:
            lore = self._read()
            if lore != self._lore:
                self._lore = lore
            return self._lore

    def _read(self) -> Lore:
        self._before, self._kept = self._kept, {}
        learned = self._patterns()
        decided = self._file(self.folder.decisions, json_records.DECISIONS_BYTES, self._lines.read)
        sessions = [self._file(path, json_records.SESSION_BYTES, _read_session) for path in self._session_files()]
        found = [handoff for session in sessions for handoff in session.handoffs]
        return Lore(
            patterns=learned.patterns,
            anti_patterns=learned.anti_patterns,
            decisions=decided.decisions,
            handoffs=tuple(sorted(found, key=lambda one: -seconds_of(one.created_at))),
            problems=tuple(problem for part in (learned, decided, *sessions) for problem in part.problems),
        )

    def _patterns(self) -> Lore:
        if not os.path.lexists(self.folder.patterns):
            return Lore()
        from hybrid.records.lore import patterns  # Brings the reader of YAML, which many a prompt has no need of.

        return self._file(self.folder.patterns, patterns.MAX_BYTES, patterns.read_patterns)

    def _session_files(self) -> Sequence[Path]:
        """Return the paths of the latest sessions, the newest name first; none when the folder cannot be read."""
        try:
            names = [path.name for path in self.folder.sessions.iterdir() if json_records.is_session_file(path.name)]
        except (OSError, ValueError):
            return ()
        return [self.folder.sessions / name for name in sorted(names, reverse=True)[: json_records.MAX_SESSIONS]]

    def _file(self, path: Path, limit_bytes: int, parse: Callable[[bytes, str], Lore]) -> Lore:
        """Return the content of a file: what was read last while its stamp proves that nothing changed.

        Args:
            path: Path of the file; a missing one has no content.
            limit_bytes: A longer file is refused, which is a problem.
            parse: Reads bytes; the path is for its problems.
        """
        stamp, now_ns = stamp_of(path, follows_links=False), self._now_ns()
        kept = self._before.get(str(path))
        if kept is None or not kept.is_proof or kept.stamp != stamp:
            try:
                data = read_file(path, self.folder, limit_bytes)
                content = Lore() if data is None else parse(data, str(path))
            except LoreReadError as error:
                content = Lore(problems=(Problem(str(path), 0, str(error)),))
            kept = _Kept(stamp, stamp is None or stamp.is_proof_at(now_ns), content)
        self._kept[str(path)] = kept
        return kept.content


def _read_session(data: bytes, file: str) -> Lore:
    """Return the handoff of a session, or the problem with its file; nothing for a session without a handoff."""
    handoff = json_records.read_session(data, file)
    if isinstance(handoff, str):
        return Lore(problems=(Problem(file, 0, handoff),))
    return Lore() if handoff.is_empty else Lore(handoffs=(handoff,))


class LoreShelf:
    """The folders that count for a project, read as one; for any number of threads."""

    def __init__(self, stores: Sequence[LoreStore]) -> None:
        """Set the stores of the folders in order of precedence: the project's own first."""
        self.stores = tuple(stores)
        self._lock = threading.Lock()
        self._maker = lru_cache(_MOST_MAKERS)(RecordMaker)

    def read(self) -> tuple[Lore, ...]:
        """Return the content of each folder as it is now."""
        return tuple(store.read() for store in self.stores)

    def records(self, project: ProjectNames) -> tuple[Record, ...]:
        """Return the records that may be given in a project, in the order of `RecordMaker.records`.

        The same tuple as before while nothing changed.
        """
        lores = self.read()
        with self._lock:
            return self._maker(project).records(lores)
