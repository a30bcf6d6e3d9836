"""The ledger of an agent session: what it was given, what its agent read; the engine asks it, hooks write it.

A ledger is an append-only file of JSON lines, one write each: hooks that run at the same time never lose each other's
entries, a killed one leaves at most a half line, which reading skips. It holds the digests already given, the last
topic id, and the lines of files that stand in the agent's context, as ranges with digests.

Such a range is a run of lines without a blank one, cut where the tool's output was cut. Its text is not kept: it still
stands when the file has the same text at these lines, or as a paragraph anywhere. So an edit elsewhere in the file does
not make it unread, and an edit inside does.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from itertools import groupby
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct, field

from hybrid.base.atomic import append_line, can_be_locked, locked
from hybrid.base.text import chunk_digest
from hybrid.types import FILE_KINDS, FORMS, Hit, Use

if TYPE_CHECKING:
    from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path


# A record as the ledger remembers it: enough of a hit to find it again in its file and show it, without a search.

_ABOUT = ("kind", "path", "start_line", "end_line", "name", "chunk_kind", "scope", "cosine", "relevance")
"""Fields of a hit that the ledger keeps, enough to find and to show it; ranks and fused scores belong to a search."""


class Remembered(Struct, frozen=True):
    """A record that a session was given at some time, also before its last compaction.

    Attributes:
        hit: As it was when it fitted last; of its numbers only cosine and relevance are kept.
        times: How often it fitted: each time it was given, or held back because the session had it.
        turn: Number of the injection or repeat at which it fitted last.
    """

    hit: Hit
    times: int
    turn: int


def _hit_of(digest: str, fields: Mapping[str, Any]) -> Hit:
    """Return the hit of an entry of the ledger; fields that the ledger does not keep are empty.

    Raises:
        KeyError: A field is missing.
        ValueError: A field that must be a number is none, or the digest is not hexadecimal.
        TypeError: A field has no type that can be a number.
    """
    cosine = fields["cosine"]
    return Hit(
        row=-1,
        kind=str(fields["kind"]),
        path=str(fields["path"]),
        start_line=int(fields["start_line"]),
        end_line=int(fields["end_line"]),
        name=str(fields["name"]),
        chunk_kind=str(fields["chunk_kind"]),
        scope=str(fields["scope"]),
        digest=bytes.fromhex(digest),
        cosine=None if cosine is None else float(cosine),
        relevance=float(fields["relevance"]),
    )


_MENTIONED = 3
"""Best files of one injection that count as mentioned: behind them few are right."""

_UNWRITTEN: dict[Path, tuple[bytes, ...]] = {}
"""File of a ledger → lines that could not be written to it; `read` takes them in, and the next write tries again."""
_MOST_UNWRITTEN = 200
_DAY_S = 86_400
_SUFFIX = ".jsonl"


class SessionKey(Struct, frozen=True):
    """The owner of a ledger.

    Attributes:
        client: A name of `hybrid.base.clients`; `manual` by hand.
        session_id: The agent's session id; something stable when the client sent none.
        agent_id: Id of a subagent; empty in the main conversation.
    """

    client: str
    session_id: str
    agent_id: str = ""

    @property
    def file_name(self) -> str:
        """The name of the ledger's file, safe on every file system; it does not show the session id."""
        material = "\0".join((self.client, self.session_id, self.agent_id))
        return hashlib.sha256(material.encode("utf-8", "surrogatepass")).hexdigest()[:32] + _SUFFIX


class Ledger(Struct):
    """The chunks and records that a session got since its last reset; `LedgerStore.read` fills it, nobody changes it.

    Attributes:
        given: Hex digest of a chunk → the fullest form it was given in (`full`, `preview` or `pointer`).
        last_topic_id: Topic id of the last injection; empty before the first.
        n_damaged: Lines of the ledger that could not be read.
        remembered: Hex digest → record, of the whole conversation: a compaction keeps it, a `clear` does not. Empty
            unless `read` was called with `is_remembering`.
        n_turns: Injections and repeats in the whole conversation.
        starts: Kind of a session start (`startup`, `compact`, …) → when it was last answered, seconds since 1970.
        read_to: Bytes of the transcript in which citations were looked for.
        is_new: Nothing was ever noted of the session.
        untold: Lines for the user that nobody could be shown when they were due.
        n_prompts: Prompts since the session was last reminded of its lessons; counted only where reminders are wanted.
        lines_read: Path → ranges of lines that tools put before the agent, as `ranges_of` makes them, joined
            by spaces: few paths are asked for.
        mentioned: Paths of the files that were given, read or edited.
        asked: Digests of the queries that something was given for, since the last reset.
    """

    given: dict[str, str] = field(default_factory=dict[str, str])
    last_topic_id: str = ""
    n_damaged: int = 0
    remembered: dict[str, Remembered] = field(default_factory=dict[str, Remembered])
    n_turns: int = 0
    starts: dict[str, float] = field(default_factory=dict[str, float])
    read_to: int = 0
    is_new: bool = True
    untold: tuple[str, ...] = ()
    n_prompts: int = 0
    lines_read: dict[str, str] = field(default_factory=dict[str, str])
    mentioned: set[str] = field(default_factory=set[str])
    asked: set[str] = field(default_factory=set[str])

    @property
    def is_holding(self) -> bool:
        """True when something of the project stands in the agent's context: given, or read by its tools."""
        return bool(self.given or self.lines_read)

    def allows(self, digest: bytes, form: str) -> bool:
        """Return whether a chunk may be given in this form: when it was not given yet, or only in a lesser form."""
        before = self.given.get(digest.hex())
        return before is None or _rank(form) < _rank(before)

    def has_whole(self, digest: bytes) -> bool:
        """Return whether the session was given all of a chunk or record."""
        return self.given.get(digest.hex()) == FORMS[0]

    def take_in(self, line: bytes, *, is_remembering: bool) -> None:
        """Take in the next line of the file; of a damaged one what comes before the damage, and `n_damaged` grows."""
        try:
            self._take_in(json.loads(line), is_remembering=is_remembering)
        except (ValueError, TypeError, AttributeError, KeyError, RecursionError):
            self.n_damaged += 1

    def _take_in(self, entry: dict[str, Any], *, is_remembering: bool) -> None:
        if (why := entry.get("reset")) is not None:
            self.given, self.last_topic_id, self.lines_read, self.mentioned, self.asked = {}, "", {}, set(), set()
            self.remembered = {} if why == "clear" else self.remembered
        if prompt := entry.get("prompt"):
            self.n_prompts = 0 if prompt == "reminded" else self.n_prompts + 1
        for digest, form in entry.get("given", ()):
            if self.allows(bytes.fromhex(digest), str(form)):
                self.given[str(digest)] = str(form)
        for path, ranges in entry.get("read", {}).items():
            self.mentioned.add(path)
            self.lines_read[path] = f"{self.lines_read[path]} {ranges}" if path in self.lines_read else str(ranges)
        self.last_topic_id = str(entry.get("topic", self.last_topic_id))
        if "asked" in entry:
            self.asked.add(str(entry["asked"]))
        self.read_to = int(entry.get("read_to", self.read_to))
        self.untold = (*self.untold[int(entry.get("told", 0)) :], *map(str, entry.get("untold", ())))
        about, again = entry.get("about", {}), entry.get("again", ())
        files = dict.fromkeys(str(fields["path"]) for fields in about.values() if fields["kind"] in FILE_KINDS)
        self.mentioned.update(list(files)[:_MENTIONED])
        self.n_turns += bool(about or again)
        if "start" in entry:
            self.starts[str(entry["start"])] = float(entry.get("t", 0))
        if is_remembering:
            for digest, fields in about.items():
                self._remember(digest, _hit_of(digest, fields))
            for digest in again:
                if digest in self.remembered:
                    self._remember(digest, self.remembered[digest].hit)

    def _remember(self, digest: str, hit: Hit) -> None:
        before = self.remembered.get(digest)
        self.remembered[digest] = Remembered(hit, before.times + 1 if before else 1, self.n_turns)


def _rank(form: str) -> int:
    """Return the place of a form among `FORMS`; one that an older or newer version wrote counts as the least."""
    return FORMS.index(form) if form in FORMS else len(FORMS)


EMPTY = Ledger()
"""The ledger of a session of which nothing was noted."""


class Given(Struct, frozen=True):
    """The records and the topic that one event gave to a session.

    Attributes:
        records: Digest and form of each record.
        topic: Topic id of the injection; None leaves the last one.
        asked: Digest of the query that it was given for; empty for none.
        hits: Those of the records that fitted a prompt now, to be remembered.
        again: Digests that fitted and were held back because the session has them.
        start: The session start that was answered; empty for none.
    """

    records: Iterable[tuple[bytes, str]] = ()
    topic: str | None = None
    asked: str = ""
    hits: Iterable[Hit] = ()
    again: Iterable[bytes] = ()
    start: str = ""


class LedgerStore:
    """The ledgers of all sessions, in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, key: SessionKey, *, is_remembering: bool = False) -> Ledger:
        """Return the ledger of a session, with lines that could not be written; an unreadable file counts as empty.

        Args:
            key: Key of the session.
            is_remembering: Read the records too; a prompt has no use for them, and they take most of the time.
        """
        path = self._folder / key.file_name
        unwritten = _UNWRITTEN.get(path, ())
        try:
            data = path.read_bytes()
        except OSError:
            if not unwritten:
                return EMPTY
            data = b""
        ledger = Ledger(is_new=False)
        for line in filter(None, [*data.splitlines(), *unwritten]):
            ledger.take_in(line, is_remembering=is_remembering)
        return ledger

    def record(self, key: SessionKey, given: Given) -> None:
        """Note what was given, after it was written to the agent.

        Raises:
            OSError: The disk is full or read-only.
        """
        parts = {
            "topic": given.topic,
            "asked": given.asked or None,
            "about": {hit.digest.hex(): {name: getattr(hit, name) for name in _ABOUT} for hit in given.hits} or None,
            "again": [digest.hex() for digest in given.again] or None,
            "start": given.start or None,
        }
        entry = {"given": [[digest.hex(), form] for digest, form in given.records]}
        self._append(key, entry | {name: part for name, part in parts.items() if part is not None})

    def reset(self, key: SessionKey, why: str) -> None:
        """Note that nothing counts as given any more: the agent's context is lost. `clear` empties `remembered` too.

        Raises:
            OSError: The disk is full or read-only.
        """
        self._append(key, {"reset": why})

    @contextlib.contextmanager
    def hold(self, key: SessionKey, timeout_s: float) -> Generator[bool]:
        """Keep other hooks of this session out from reading its ledger until what was given is recorded.

        Two registrations of the hook run at the same time and would both give the same; the second waits, reads what
        the first gave, and is silent.

        Yields:
            False when another hook holds the ledger and the time ran out. True where no lock can be had: nothing could
            be recorded there either.
        """
        path = self._folder / f"{key.file_name}.lock"
        with locked(path, timeout_s) as held:
            yield held or not can_be_locked(path)

    def note_read(self, key: SessionKey, read_to: int) -> None:
        """Note how many bytes of the transcript were looked through for citations.

        Raises:
            OSError: The disk is full or read-only.
        """
        self._append(key, {"read_to": read_to})

    def note_lines_read(self, key: SessionKey, ranges: Mapping[str, Sequence[str]]) -> None:
        """Note path → ranges of lines that a use of a tool put before the agent.

        Raises:
            OSError: The disk is full or read-only.
        """
        self._append(key, {"read": {path: " ".join(places) for path, places in ranges.items()}})

    def note_untold(self, key: SessionKey, lines: Sequence[str]) -> None:
        """Note lines for the user that the next answer of the session brings.

        Raises:
            OSError: The disk is full or read-only.
        """
        self._append(key, {"untold": list(lines)})

    def note_told(self, key: SessionKey, n_lines: int) -> None:
        """Note that the user was shown the first `n_lines` of the lines of `note_untold`.

        Raises:
            OSError: The disk is full or read-only.
        """
        self._append(key, {"told": n_lines})

    def note_prompt(self, key: SessionKey, *, is_reminded: bool) -> None:
        """Count a prompt for `Ledger.n_prompts`; one that brought a reminder sets the count to 0.

        Raises:
            OSError: The disk is full or read-only.
        """
        self._append(key, {"prompt": "reminded" if is_reminded else "counted"})

    def note_use(self, key: SessionKey, use: Use) -> None:
        """Note a use of a tool for the end of its turn, in a file of its own: a prompt has no use for it.

        Raises:
            OSError: The disk is full or read-only.
        """
        append_line(self._uses(key), msgspec.json.encode(use))

    def take_uses(self, key: SessionKey) -> list[Use]:
        """Return the uses of tools since the last call, in order; they are not given again."""
        path = self._uses(key)
        taken = path.with_name(f"{path.name}.{os.getpid()}")
        try:
            path.replace(taken)
            data = taken.read_bytes()
            taken.unlink()
        except OSError:
            return []
        found: list[Use] = []
        for line in data.splitlines():
            with contextlib.suppress(msgspec.MsgspecError):
                found.append(msgspec.json.decode(line, type=Use))
        return found

    def _uses(self, key: SessionKey) -> Path:
        """Return the file for the uses of a session's tools, its subagents' too."""
        return self._folder / f"{SessionKey(key.client, key.session_id).file_name}.uses"

    def stamp(self, key: SessionKey, what: str) -> None:
        """Note the `end` of a session, which may be resumed, or the `stop` of a turn, so that none in use expires.

        A session that never got anything gets no ledger by it.
        """
        if (self._folder / key.file_name).exists():
            self._append(key, {what: True})

    def expire(self, days: float, now_s: float) -> None:
        """Delete ledgers that nothing was written to for so many days, and locks as old of ledgers that are gone.

        What cannot be read or deleted stays, silently.
        """
        with contextlib.suppress(OSError):
            for path in self._folder.glob(f"*{_SUFFIX}*"):
                with contextlib.suppress(OSError):
                    # A lock is as old as its session; somebody may hold it.
                    if path.suffix == ".lock" and path.with_suffix("").exists():
                        continue
                    if path.stat().st_mtime < now_s - days * _DAY_S:
                        path.unlink()

    def _append(self, key: SessionKey, entry: dict[str, Any]) -> None:
        path = self._folder / key.file_name
        line = json.dumps({"t": round(time.time(), 3), **entry}, separators=(",", ":")).encode()
        lines = [*_UNWRITTEN.get(path, ()), line]
        try:
            while lines:
                append_line(path, lines[0])
                del lines[0]
        finally:
            _keep_unwritten(path, lines)


def _keep_unwritten(path: Path, lines: list[bytes]) -> None:
    if not lines:
        _UNWRITTEN.pop(path, None)
    elif path in _UNWRITTEN or len(_UNWRITTEN) < _MOST_UNWRITTEN:
        _UNWRITTEN[path] = tuple(lines[-_MOST_UNWRITTEN:])


# --- Lines that were read --------------------------------------------------------------------------------------------


_DIGEST_BYTES = 8
_TELLING = re.compile(r"[^\W_]")


def is_telling(line: str) -> bool:
    """Return whether a line holds a letter or a digit: brackets and rules alone say nothing."""
    return _TELLING.search(line) is not None


def ranges_of(lines: Sequence[str], numbers: Collection[int], masked: Sequence[str]) -> list[str]:
    """Return the ranges of the lines that were read, in order, each as `start-end:digest`.

    Lines that tell nothing count as read between two that were. A range with a secret is left out, so that the secret
    cannot be found by trying digests.

    Args:
        lines: All lines of the file.
        numbers: Numbers of the lines that were read, from 1.
        masked: The lines of the file with secrets masked.
    """
    ranges: list[str] = []
    for start, end in _paragraphs(lines, 1, len(lines)):
        read = [n in numbers or not is_telling(lines[n - 1]) for n in range(start, end + 1)]
        for is_read, run in groupby(range(start, end + 1), key=lambda n, start=start, read=read: read[n - start]):
            run_lines = list(run)
            first, last = run_lines[0], run_lines[-1]
            is_new = is_read and any(n in numbers for n in run_lines)
            if is_new and lines[first - 1 : last] == masked[first - 1 : last]:
                ranges.append(f"{first}-{last}:{_digest(lines, first, last)}")
    return ranges


def standing(lines: Sequence[str], ranges: Collection[str], start_line: int, end_line: int) -> set[int]:
    """Return the numbers of the lines in a part of a file that were read and did not change since.

    Args:
        lines: All lines of the file as it is now.
        ranges: As of `ranges_of`, of any time; one of another form counts for nothing.
        start_line: First line of the part, from 1.
        end_line: Last line of the part, inclusive.
    """
    digests = {place.rpartition(":")[2] for place in ranges}
    known: set[int] = set()
    for start, end in _paragraphs(lines, start_line, end_line):
        if _digest(lines, start, end) in digests:
            known.update(range(start, end + 1))
    for place in () if known.issuperset(telling_in(lines, start_line, end_line)) else ranges:
        span = lines_in(place)
        overlaps = span.start <= end_line and span.stop > start_line and 1 <= span.start < span.stop <= len(lines) + 1
        if not overlaps or known.issuperset(span):
            continue
        if _digest(lines, span.start, span.stop - 1) == place.rpartition(":")[2]:
            known.update(span)
    return {n for n in known if start_line <= n <= end_line}


def lines_in(place: str) -> range:
    """Return the numbers of the lines of a range, as `ranges_of` writes it; none for a text of another form."""
    first, _, last = place.partition(":")[0].partition("-")
    return range(int(first), int(last) + 1) if first.isdecimal() and last.isdecimal() else range(0)


def telling_in(lines: Sequence[str], start_line: int, end_line: int) -> set[int]:
    """Return the numbers of the lines in a part of a file that hold a letter or a digit."""
    return {n for n in range(start_line, min(end_line, len(lines)) + 1) if is_telling(lines[n - 1])}


def _paragraphs(lines: Sequence[str], start_line: int, end_line: int) -> Iterator[tuple[int, int]]:
    """Yield first and last line of each run of lines without a blank one that reaches into a part of a file."""
    at = max(start_line, 1)
    end_line = min(end_line, len(lines))
    while 1 < at <= len(lines) and lines[at - 1].strip() and lines[at - 2].strip():
        at -= 1
    while at <= end_line:
        if not lines[at - 1].strip():
            at += 1
            continue
        last = at
        while last < len(lines) and lines[last].strip():
            last += 1
        yield at, last
        at = last + 1


def _digest(lines: Sequence[str], start: int, end: int) -> str:
    return chunk_digest("\n".join(lines[start - 1 : end]))[:_DIGEST_BYTES].hex()
