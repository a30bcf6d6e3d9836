"""An index over the lines of the event log, for whoever pages through it or follows it: the page asks it.

It notes where each line begins and what it may be chosen by, and reads only what was added since the last look. A line
takes about 40 bytes of memory. Lines that cannot be read are passed over, as `events` does.
"""

from __future__ import annotations

import contextlib
import os
import threading
from array import array
from itertools import islice, takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

import msgspec
from msgspec import Struct

from hybrid.log.events import is_decision, is_prompt, open_part, part_name

if TYPE_CHECKING:
    from collections.abc import Iterator

DECISION, PROMPT, INJECTED, ERROR, COMPARED = 1, 2, 4, 8, 16
"""Signs of a line: a decision without an error; an answer to a prompt; text was given; an error; a gate compared."""

_NO_ID = 0
_HEAD_BYTES = 256
"""Bytes at the beginning of a file by which it is known again: its first line has an id of its own."""


class _Line(Struct, frozen=True):
    """The parts of a line that it is chosen by; the rest is not parsed. A line may hold anything under any key."""

    id: Any = None
    project: Any = None
    cwd: Any = None
    session: Any = None
    reason: Any = None
    event: Any = None
    error: Any = None
    is_report: Any = None
    score: Any = None
    top_cosine: Any = None
    threshold: Any = None


_DECODER = msgspec.json.Decoder(_Line)


class LogFilter(Struct, frozen=True):
    """The lines that are wanted.

    Attributes:
        key: Key of a project; empty for all.
        root: Root of that project: a line without a project counts by its directory.
        signs: Signs that a line must have, all of them; 0 for any line.
        reason: The only reason; empty for any.
        session: The only session; empty for any.
    """

    key: str = ""
    root: str = ""
    signs: int = 0
    reason: str = ""
    session: str = ""


class _Part:
    """One file of the log: where its lines begin, and their ids, projects, sessions, reasons and signs, as numbers."""

    def __init__(self, stamp: tuple[int, int]) -> None:
        self.stamp = stamp
        self.path = Path()
        self.head = b""
        self.end = 0
        self.starts = array("q")
        self.ends = array("q")
        self.ids = array("Q")
        self.projects = array("I")
        self.sessions = array("I")
        self.reasons = array("I")
        self.signs = array("B")
        self.counts: dict[tuple[int, int], int] = {}
        """(project, reason) → number of lines."""


class LogIndex:
    """The index of the log of one `$HYBRID_HOME`; for any number of threads.

    Args:
        folder: Folder of the log.
        keep: How many rotated files are kept, as of an `EventLog`.
    """

    def __init__(self, folder: Path, *, keep: int) -> None:
        self._folder = folder
        self._keep = keep
        self._parts: list[_Part] = []
        self._numbers: dict[str, int] = {}
        self._names: list[str] = []
        self._lock = threading.Lock()

    def refresh(self) -> int:
        """Take in what was written since the last look, and return the number of lines; costs what changed."""
        with self._lock:
            known = {part.stamp: part for part in self._parts}
            parts, n = list[_Part](), 0
            for number in range(self._keep + 1):
                path = self._folder / part_name(number)
                with contextlib.suppress(OSError), open_part(path) as file:
                    status = os.fstat(file.fileno())
                    stamp = (status.st_dev, status.st_ino)
                    if any(part.stamp == stamp for part in parts):
                        continue  # It was renamed between two looks.
                    part = known.get(stamp)
                    # A file that became shorter was written anew; one that was deleted leaves its number to another.
                    if part is None or status.st_size < part.end or file.read(len(part.head)) != part.head:
                        part = _Part(stamp)
                    part.path = path
                    n += self._read(part, file)
                    parts.append(part)
            self._parts = parts
            return n

    def _read(self, part: _Part, file: BinaryIO) -> int:
        file.seek(part.end)
        n = 0
        for line in file:
            if not line.endswith(b"\n"):
                break  # It is being written.
            start, part.end = part.end, part.end + len(line)
            with contextlib.suppress(msgspec.DecodeError, RecursionError):
                self._add(part, _DECODER.decode(line), start)
                n += 1
        if not part.head:
            file.seek(0)
            part.head = file.read(min(part.end, _HEAD_BYTES))
        return n

    def _add(self, part: _Part, line: _Line, start: int) -> None:
        part.starts.append(start)
        part.ends.append(part.end)
        part.ids.append(_number_of(line.id))
        # A directory stands for a project that was not found in time; no key begins with a zero byte.
        place = line.project if line.project is not None else f"\0{line.cwd or ''}"
        project, reason = self._number(str(place)), self._number(str(line.reason or ""))
        part.projects.append(project)
        part.sessions.append(self._number(str(line.session or "")))
        part.reasons.append(reason)
        part.counts[project, reason] = part.counts.get((project, reason), 0) + 1
        part.signs.append(_signs_of(line))

    def _number(self, name: str) -> int:
        number = self._numbers.get(name)
        if number is None:
            number = self._numbers[name] = len(self._names)
            self._names.append(name)
        return number

    # --- reading -------------------------------------------------------------------------------------------

    def page(self, wanted: LogFilter, *, before: str = "", limit: int) -> tuple[list[dict[str, Any]], bool]:
        """Return wanted events, newest first, and whether there are more.

        Args:
            wanted: The filter.
            before: Id of the event after the first one; empty, or one that is not there, for the newest.
            limit: So many at most.
        """
        with self._lock:
            chosen = list(islice(self._places(wanted, before), limit + 1))
            return _events(chosen[:limit]), len(chosen) > limit

    def newer(self, wanted: LogFilter, after: str, *, limit: int) -> list[dict[str, Any]]:
        """Return the newest wanted events that follow the one with an id, newest first; costs what is newer.

        Args:
            wanted: The filter.
            after: Id of any event; when it is empty or not there any more, everything is newer.
            limit: So many at most.
        """
        with self._lock:
            end = self._place_of(after)
            newer = takewhile(lambda place: end is None or self._age(place) < self._age(end), self._places(wanted, ""))
            return _events(list(islice(newer, limit)))

    def newest_id(self) -> str:
        """Return the id of the newest line, wanted or not; empty without any."""
        with self._lock:
            for part in self._parts:
                if part.ids:
                    return f"{part.ids[-1]:010x}"
            return ""

    def find(self, event_id: str) -> dict[str, Any] | None:
        """Return the newest event with this whole id; None without one."""
        with self._lock:
            place = self._place_of(event_id)
            return next(iter(_events([place])), None) if place else None

    def count(self, wanted: LogFilter) -> int:
        """Return the number of wanted events."""
        with self._lock:
            return sum(1 for _ in self._places(wanted, ""))

    def reasons(self, wanted: LogFilter) -> dict[str, int]:
        """Return reason → number of events of a project, the most frequent first, equal ones by name.

        Of the filter only the project counts: the numbers are kept, and nothing is looked through.
        """
        found: dict[str, int] = {}
        with self._lock:
            projects = self._projects_of(wanted) if wanted.key else None
            for part in self._parts:
                for (project, reason), n in part.counts.items():
                    if projects is None or project in projects:
                        found[self._names[reason]] = found.get(self._names[reason], 0) + n
        return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))

    def _places(self, wanted: LogFilter, before: str) -> Iterator[tuple[_Part, int]]:
        """Yield the places of the wanted lines, newest first, from before an event on."""
        start = self._place_of(before) if before else None
        projects = self._projects_of(wanted) if wanted.key else None
        reason = self._numbers.get(wanted.reason, -1) if wanted.reason else None
        session = self._numbers.get(wanted.session, -1) if wanted.session else None
        for part in self._parts[self._parts.index(start[0]) if start else 0 :]:
            top = start[1] if start and part is start[0] else len(part.starts)
            for line in range(top - 1, -1, -1):
                if wanted.signs and part.signs[line] & wanted.signs != wanted.signs:
                    continue
                if projects is not None and part.projects[line] not in projects:
                    continue
                if reason is not None and part.reasons[line] != reason:
                    continue
                if session is not None and part.sessions[line] != session:
                    continue
                yield part, line

    def _age(self, place: tuple[_Part, int]) -> tuple[int, int]:
        """Return the sort key of a place, the newest first."""
        return self._parts.index(place[0]), -place[1]

    def _projects_of(self, wanted: LogFilter) -> frozenset[int]:
        """Return the numbers of the project's key, and of directories in it."""

        def is_meant(name: str) -> bool:
            return name == wanted.key or (name.startswith("\0") and lies_in(name[1:], wanted.root))

        return frozenset(number for number, name in enumerate(self._names) if is_meant(name))

    def _place_of(self, event_id: str) -> tuple[_Part, int] | None:
        number = _number_of(event_id)
        for part in self._parts if number != _NO_ID else ():
            with contextlib.suppress(ValueError):
                return part, part.ids.index(number)
        return None


def lies_in(directory: str, root: str) -> bool:
    """Return whether a directory is the root of a project or lies below it, as they are written; never in no root."""
    top = root.rstrip("/")
    return bool(root) and (directory == top or directory.startswith((f"{top}/", f"{top}\\")))


def _number_of(event_id: object) -> int:
    """Return the number of an id, which is up to 16 hex digits; `_NO_ID` for anything else."""
    text = event_id if isinstance(event_id, str) else ""
    try:
        return int(text, 16) if 0 < len(text) <= 16 and text.isalnum() and text.isascii() else _NO_ID
    except ValueError:
        return _NO_ID


def _signs_of(line: _Line) -> int:
    event = {"error": line.error, "event": line.event, "is_report": line.is_report}
    score = line.score if line.score is not None else line.top_cosine
    has_compared = isinstance(score, (int, float)) and isinstance(line.threshold, (int, float))
    return (
        DECISION * is_decision(event)
        | PROMPT * is_prompt(event)
        | INJECTED * (line.reason == "injected")
        | ERROR * bool(line.error)
        | COMPARED * has_compared
    )


def _events(places: list[tuple[_Part, int]]) -> list[dict[str, Any]]:
    """Return the events at some places, in their order; what was rotated away or replaced meanwhile is left out."""
    files: dict[tuple[int, int], BinaryIO | None] = {}
    found: list[dict[str, Any]] = []
    with contextlib.ExitStack() as stack:
        for part, line in places:
            if part.stamp not in files:
                files[part.stamp] = _opened(part, stack)
            file = files[part.stamp]
            if file is None:
                continue
            file.seek(part.starts[line])
            with contextlib.suppress(msgspec.DecodeError, RecursionError):
                event: object = msgspec.json.decode(file.read(part.ends[line] - part.starts[line]))
                if isinstance(event, dict):
                    found.append(cast("dict[str, Any]", event))
    return found


def _opened(part: _Part, stack: contextlib.ExitStack) -> BinaryIO | None:
    """Open the file of a part; None when another one has its name by now."""
    try:
        file = stack.enter_context(open_part(part.path))
        status = os.fstat(file.fileno())
    except OSError:
        return None
    return file if (status.st_dev, status.st_ino) == part.stamp else None
