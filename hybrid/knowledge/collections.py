"""The collections of a project, files and each kind of records: how a hit is read again, judged and shown.

Files are one collection, each kind of records another; `answer.select` treats them alike. Before a hit is shown, its
text is read again from its file or record; what changed since it was indexed is not shown.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.text import chunk_digest, digest_of_normalised
from hybrid.index.analysis import chunk_text
from hybrid.records.lore.types import seconds_of
from hybrid.records.types import KIND_OF_HIT
from hybrid.redact import MaskedDocuments, redact
from hybrid.render.frame import Entry, file_entry
from hybrid.sources.files import FileReader
from hybrid.sources.records import record_text
from hybrid.types import Hit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hybrid.config import Config
    from hybrid.knowledge.named_code import ProjectCode
    from hybrid.knowledge.open_indexes import OpenIndex
    from hybrid.knowledge.stores import ActiveLessons
    from hybrid.project.packages import Nearness
    from hybrid.prompting.query import Query
    from hybrid.records.lessons.reranking import Reranker
    from hybrid.records.memory.types import Row
    from hybrid.records.types import Record
    from hybrid.search.searcher import Searched, Searcher
    from hybrid.sources.listing import Lister
    from hybrid.types import Item


TELLING_COSINE = 0.2
"""Least cosine of a record that has no word in common with the query: of a few short texts one is always a bit near."""

NAMES_GONE = "names_gone"
"""The word for `Withheld.reason` of a record that is about code which is gone (`named_code.Standing.is_gone`)."""

FLOOR = "floor"
"""The word for `Withheld.reason` of a hit that is left out because too little speaks for it."""

LEAST_TRUSTED = 0.75
"""Share of its worth that a lesson without trust keeps in the order; the others keep up to all of it."""


class Collection(ABC):
    """A source of hits that may be injected: files, lessons, lore or memory.

    Attributes:
        kind: `files`, `lessons`, `lore` or `memory`.
        searcher: The searcher of the index of the collection.
        threshold: The floor of the kind: least share of the evidence for the best hit, in [0, 1].
        min_cosine: The raw cosine floor of the kind.
        max_items: The most items in one injection; None for as many as fit.
        budget_chars: The most characters in one injection; None for as many as the other collections leave.
        code: The project's code, in which records look up what they name; None to look up nothing.
        needs_text: A hit of which `text` gives nothing is left out; False shows its place alone.
    """

    kind: str
    searcher: Searcher
    threshold: float
    min_cosine: float
    max_items: int | None = None
    budget_chars: int | None = None
    code: ProjectCode | None = None
    needs_text: bool = True
    problems: Sequence[str] = ()
    """What of the collection cannot be given, a sentence each."""

    def search(self, query: Query, **options: Any) -> Searched:
        """Return the hits for a query; options as of `Searcher.search`."""
        return self.searcher.search(query, **options)

    @abstractmethod
    def text(self, hit: Hit) -> str | None:
        """Return the text of a hit as it is now; None when it is gone or says something else."""

    def entry(self, item: Item) -> Entry:
        """Return an item as it stands in the frame; of a record, one that has a text now."""
        return file_entry(item)

    def says(self, hit: Hit, name: str) -> bool:
        """Return whether an identifier stands in a hit."""
        return name in (self.text(hit) or "")

    def notes(self, hit: Hit) -> Sequence[str]:
        """Return the last lines of the text of a record, which `code` adds: they stay when the record is shortened."""
        return ()

    def lines(self, path: str) -> Sequence[str]:
        """Return the lines of the file at a path as it is now, with secrets; none for a record, and when it is gone."""
        return ()

    def masked_lines(self, path: str) -> Sequence[str]:
        """Return the same lines as they may be shown, as many."""
        return ()

    def record(self, hit: Hit) -> Record | None:
        """Return the record of a hit as it is now; None for a file, and when it is gone or says something else."""
        return None

    def names_fitting(self, row: int) -> bool:
        """Return whether the record of a row of the index names a file that fits the prompt; False for a file."""
        return False

    def why(self, hit: Hit) -> str:
        """Return what `code` has to do with the place of a hit, a few words; empty for nothing."""
        return ""

    def shown(self, hit: Hit) -> Hit:
        """Return the hit without secrets; the index keeps records without them, so their hits are as they were."""
        return hit

    def left_out(self, hit: Hit) -> str:
        """Return the word for `Withheld.reason` when `ordered` leaves out a hit: too little speaks for it."""
        return FLOOR

    def ordered(self, hits: Sequence[Hit], query: Query, rows: Mapping[int, float] | None = None) -> list[Hit]:
        """Return the hits that may be given, in the order in which to give them; hits that do not suit are left out.

        Args:
            hits: Hits that passed the floor or the bars.
            query: The query that was searched for.
            rows: As in `Verdict.rows`.
        """
        return list(hits)


class AskingSession(Struct, frozen=True):
    """The session that asks for memories.

    Attributes:
        id: The id that the client gave it; empty for none.
        lost_before_ms: Time of its last compaction, before which its agent knows nothing; 0 without one.
    """

    id: str = ""
    lost_before_ms: int = 0

    def has(self, row: Row) -> bool:
        """Return whether a row comes from this session and is not older than its last compaction."""
        return bool(self.id) and row.owner.session_id == self.id and row.created_ms >= self.lost_before_ms


NO_SESSION = AskingSession()


class RecordsCollection(Collection):
    """Records of a kind: lessons, lore or memory. What a hit says is read again from its record."""

    is_redacting = False
    """Secrets are looked for in what is shown; the memory is stored without."""

    def __init__(self, kind: str, searcher: Searcher, config: Config) -> None:
        settings: Any = getattr(config, kind)
        self.kind = kind
        self.searcher = searcher
        self.threshold, self.min_cosine = settings.threshold, settings.min_cosine
        self.budget_chars = settings.budget_chars
        self._records: dict[tuple[str, bytes], Record | None] = {}
        self._texts: dict[tuple[str, bytes], str | None] = {}
        self._gone: set[int] = set()

    @abstractmethod
    def at(self, path: str) -> Record | None:
        """Return the record at a path of the index as it is now; None when it was withdrawn."""

    @abstractmethod
    def is_own(self, path: str) -> bool:
        """Return whether the record at a path is this project's own: what it names must be in this project then."""

    def record(self, hit: Hit) -> Record | None:
        """Return the record of a hit as it is now; None when it was withdrawn or changed."""
        key = hit.path, hit.digest
        if key not in self._records:
            record = self.at(hit.path)
            is_same = record is not None and chunk_digest(record_text(record)) == hit.digest
            self._records[key] = record if is_same else None
        return self._records[key]

    def text(self, hit: Hit) -> str | None:
        """Return the body lines of the record of a hit; None when it was withdrawn or changed."""
        key = hit.path, hit.digest
        if key not in self._texts:
            record = self.record(hit)
            body = record and record_body(record, is_redacting=self.is_redacting, notes=self.notes(hit))
            self._texts[key] = body
        return self._texts[key]

    def notes(self, hit: Hit) -> Sequence[str]:
        """As `Collection.notes`."""
        record = self.record(hit) if self.code else None
        return notes_on(record, self.code) if record and self.code and self.is_own(hit.path) else ()

    def fitting(self, record: Record) -> frozenset[str]:
        """Return the files that a record names and that fit the prompt."""
        return self.code.beside(record) if self.code else frozenset()

    def why(self, hit: Hit) -> str:
        """As `Collection.why`."""
        record = self.at(hit.path) if self.code else None
        return why_of(self.fitting(record)) if record else ""

    def entry(self, item: Item) -> Entry:
        """As `Collection.entry`: `[lesson] L001 Git commit format (relevance 8/10)`."""
        record = self.at(item.hit.path)
        assert record is not None  # Its text was read from the same records.
        return record_entry(record, item, self.measure(item.hit), is_redacting=self.is_redacting)

    def measure(self, hit: Hit) -> str:
        """Return the number on the header line of a hit, in words; empty for none."""
        return ""

    def left_out(self, hit: Hit) -> str:
        """As `Collection.left_out`; `NAMES_GONE` for a record about code that is gone."""
        return NAMES_GONE if hit.row in self._gone else super().left_out(hit)

    def names_gone(self, hit: Hit, query: Query) -> bool:
        """Return whether a hit is about code of this project that is gone, and the query names none of that."""
        record = self.at(hit.path) if self.code else None
        return bool(record and self.code and self.is_own(hit.path) and self.code.is_withheld(record, query))


class RecordCollection(RecordsCollection):
    """Records that a working tree may be given, all of them read: lore, and what is common with lessons.

    Args:
        kind: The name of the kind.
        opened: Their open index.
        config: Settings in force.
    """

    def __init__(self, kind: str, opened: OpenIndex, config: Config) -> None:
        super().__init__(kind, opened.searcher, config)
        self.by_path = opened.by_path
        """Path in the index → record."""
        self.is_redacting = config.privacy.redact
        self._is_gate_fixed = config.hooks.gate_threshold != "auto"

    def at(self, path: str) -> Record | None:
        """As `RecordsCollection.at`."""
        return self.by_path.get(path)

    def is_own(self, path: str) -> bool:
        """As `RecordsCollection.is_own`."""
        return is_of_project(self.by_path[path])

    def latest_handoff(self, *, since_s: float) -> Hit | None:
        """Return the latest handoff that names this project, if it is not older than a time in seconds since 1970."""
        handoffs = [
            (seconds_of(record.created_at), path)
            for path, record in self.by_path.items()
            if record.kind == "handoff" and record.is_attributed
        ]
        written_s, path = max(handoffs, default=(0.0, ""))
        return record_hit(path, self.by_path[path]) if path and written_s >= since_s else None

    def names_fitting(self, row: int) -> bool:
        """As `Collection.names_fitting`."""
        record = self.at(self.searcher.backend.get(row).path)
        return record is not None and bool(self.fitting(record))

    def ordered(self, hits: Sequence[Hit], query: Query, rows: Mapping[int, float] | None = None) -> list[Hit]:
        """Return the hits that fit, by relevance plus evidence.

        Decisions and handoffs that name this project come before those that name none.
        """
        worth = self._evidence(query) if rows is None else rows
        meant = self._meant(worth) if rows is None else {hit.row for hit in hits}
        hits = [hit for hit in hits if hit.row in meant or self._is_told(hit)]
        self._gone = {hit.row for hit in hits if self.names_gone(hit, query)}
        of_row = {
            hit.row: hit.relevance + max(worth.get(hit.row, 0.0), 0.0) for hit in hits if hit.row not in self._gone
        }
        return self.by_worth([hit for hit in hits if hit.row in of_row], query, meant, of_row)

    def by_worth(self, hits: Sequence[Hit], query: Query, meant: set[int], worth: Mapping[int, float]) -> list[Hit]:
        """Return hits that may be given in their order, by the worth of their rows; `meant` are rows that are meant."""
        return _attributed_first(sorted(hits, key=lambda hit: -worth[hit.row]), self.by_path)

    def _evidence(self, query: Query) -> Mapping[int, float]:
        """Return row → evidence that a query means that record; empty without a gate that judges records."""
        gate = self.searcher.gate
        return gate.evidence(query.text, self.searcher.english(query)) if gate else {}

    def _meant(self, evidence: Mapping[int, float]) -> set[int]:
        """Return the rows whose evidence is above the bar of tasks: a reader understands one without a word of it."""
        gate = self.searcher.gate
        if gate is None or not evidence or self._is_gate_fixed:
            return set()
        bar = gate.calibration.tasks
        return {row for row, value in evidence.items() if math.isfinite(bar) and value > bar}

    def _is_told(self, hit: Hit) -> bool:
        """Return whether the record holds a word of the query or has a cosine of at least `TELLING_COSINE`.

        True for all records where the bars of the gate are fixed.
        """
        return self._is_gate_fixed or hit.bm25 is not None or (hit.cosine is not None and hit.cosine >= TELLING_COSINE)


class LessonCollection(RecordCollection):
    """Lessons, which must be relevant and are ordered by trust too, or as `rerank` orders those that fit.

    Args:
        opened: Their open index.
        config: Settings in force.
        lessons: The lessons with their counters.

    Attributes:
        rerank: Orders the lessons that fit; None for the local order.
    """

    def __init__(self, opened: OpenIndex, config: Config, lessons: ActiveLessons) -> None:
        super().__init__("lessons", opened, config)
        self.rerank: Reranker | None = None
        self.problems = lessons.problems
        self.max_items = config.lessons.max_items
        self.lessons = lessons
        self._min_score = config.lessons.min_score
        self._scores: dict[str, int] = {}

    def by_worth(self, hits: Sequence[Hit], query: Query, meant: set[int], worth: Mapping[int, float]) -> list[Hit]:
        """As `RecordCollection.by_worth`, without those that are neither meant nor relevant."""
        self._scores = self.lessons.scorer.relevances(query.text)
        fitting = [hit for hit in hits if hit.row in meant or self._is_relevant(hit)]
        return self._reranked(sorted(fitting, key=lambda hit: -worth[hit.row] * self._trust(hit)), query)

    def _reranked(self, hits: list[Hit], query: Query) -> list[Hit]:
        """Return lessons in the order of a language model; as they are when none may be asked or answers in time."""
        active = self.lessons.active
        ids = {hit.path: self.by_path[hit.path].id for hit in hits if hit.path in self.by_path}
        known = [active[one] for one in ids.values() if one in active]
        order = self.rerank(query.text, known) if self.rerank and len(known) > 1 else None
        if order is None:
            return hits
        place = {one: number for number, one in enumerate(order)}
        return sorted(hits, key=lambda hit: place.get(ids.get(hit.path, ""), len(place)))

    def _is_relevant(self, hit: Hit) -> bool:
        """Return whether the lesson of a hit reaches the least relevance or the cosine floor of the settings."""
        return self._score(hit) >= self._min_score or (hit.cosine is not None and hit.cosine >= self.min_cosine)

    def _score(self, hit: Hit) -> int:
        record = self.at(hit.path)
        return self._scores.get(record.id, 0) if record else 0

    def _trust(self, hit: Hit) -> float:
        """Return the factor for the trust in the lesson of a hit, in [`LEAST_TRUSTED`, 1]; 1 without an active one."""
        record = self.at(hit.path)
        lesson = self.lessons.active.get(record.id) if record else None
        return LEAST_TRUSTED + (1 - LEAST_TRUSTED) * (lesson.trust if lesson else 1.0)

    def measure(self, hit: Hit) -> str:
        """As `RecordsCollection.measure`: the relevance, else the cosine."""
        if self._score(hit) >= self._min_score:
            return f"relevance {self._score(hit)}/10"
        return "" if hit.cosine is None else f"cosine {hit.cosine:.2f}"


def is_of_project(record: Record) -> bool:
    """Return whether a record is this project's own: what it names must be in this project then."""
    if record.kind == "lesson":
        return record.id.startswith("L")
    return bool(record.project)


def notes_on(record: Record, code: ProjectCode) -> tuple[str, ...]:
    """Return the lines that say what moved of the code that a record names, and what of it is not there."""
    return tuple(redact(f"({note})") for note in code.standing(record).notes)


def why_of(files: frozenset[str]) -> str:
    """Return why a record was raised by the files that it names, without secrets; empty without files."""
    return redact(f"names {', '.join(sorted(files))}") if files else ""


def record_of(by_path: Mapping[str, Record], hit: Hit) -> Record | None:
    """Return the record that a hit was made of; None when there is none or it says something else now."""
    record = by_path.get(hit.path)
    return record if record and chunk_digest(record_text(record)) == hit.digest else None


def record_body(record: Record, *, is_redacting: bool, notes: Sequence[str] = ()) -> str:
    """Return the body lines of a record and the notes below them as one text, without secrets if asked for."""
    body = "\n".join((*record.lines, *notes))
    return redact(body) if is_redacting else body


def record_entry(record: Record, item: Item, measure: str, *, is_redacting: bool) -> Entry:
    """Return a record as it stands in the frame: `[lesson] L001 Git commit format (relevance 8/10)`."""
    shown = redact(record.shown) if is_redacting else record.shown
    title = f"{shown} ({measure})" if measure else shown
    return Entry(KIND_OF_HIT[record.kind].word or record.kind, title, tuple(item.body.split("\n")) if item.body else ())


def _attributed_first(hits: Sequence[Hit], by_path: Mapping[str, Record]) -> list[Hit]:
    """Return the hits with decisions and handoffs reordered among their places: those that name this project first."""

    def is_theirs(hit: Hit) -> bool:
        return hit.kind in ("decision", "handoff") and hit.path in by_path

    places = [hit for hit in hits if is_theirs(hit)]
    filled = iter(sorted(places, key=lambda hit: not by_path[hit.path].is_attributed))
    return [next(filled) if is_theirs(hit) else hit for hit in hits]


def record_hit(path: str, record: Record) -> Hit:
    """Return a hit on a record that comes without a search: rank 0, no cosine, relevance 1."""
    return Hit(
        row=-1,
        kind=record.kind,
        path=path,
        start_line=1,
        end_line=1,
        name=redact(record.name),  # As the index keeps it: the name goes into the log and the ledger.
        chunk_kind=record.kind,
        scope="",
        language="text",
        digest=chunk_digest(record_text(record)),
        relevance=1.0,
    )


_MASKED = MaskedDocuments(1024)


class SpanReader:
    """Gives the texts of hits as they may be shown; each file is read once and then kept."""

    def __init__(self, root: Path, *, max_file_bytes: int, is_redacting: bool, rules: Lister | None = None) -> None:
        """Set the folder of the files; nothing is read yet.

        Args:
            root: Top of the working tree.
            max_file_bytes: A longer file is not read.
            is_redacting: Replace secrets in texts and paths.
            rules: Lists the files that may be read: for hits of another tree's index; None for any file.
        """
        self._rules = rules
        self._source = FileReader(root, max_file_bytes)
        self._is_redacting = is_redacting
        self._files: dict[str, _File | None] = {}
        self._texts: dict[tuple[str, int, int, bytes], str | None] = {}

    def text(self, hit: Hit) -> str | None:
        """Return the text of a hit as its file has it; None when the file is gone or holds another text there."""
        key = (hit.path, hit.start_line, hit.end_line, hit.digest)
        if key not in self._texts:
            self._texts[key] = self._read(hit)
        return self._texts[key]

    def lines(self, path: str) -> Sequence[str]:
        """Return the lines of a file as it is now, with secrets; none when it is gone."""
        file = self._file(path)
        return () if file is None else file.lines

    def masked_lines(self, path: str) -> Sequence[str]:
        """Return the lines of a file as they may be shown; none when it is gone or may not be read."""
        file = self._file(path)
        if file is None:
            return ()
        return file.masked_lines if self._is_redacting else file.lines

    def _file(self, path: str) -> _File | None:
        if path not in self._files:
            is_left_out = self._rules is not None and not self._is_listed(self._rules, path)
            text = None if is_left_out else self._source.read_text(path)
            self._files[path] = None if text is None else _File(text)
        return self._files[path]

    @staticmethod
    def _is_listed(rules: Lister, path: str) -> bool:
        listing = rules.run_within([path])
        return listing is not None and path in listing.paths

    def _read(self, hit: Hit) -> str | None:
        file = self._file(hit.path)
        if file is None or hit.end_line > len(file.lines):
            return None
        text = chunk_text(file.lines, hit.start_line, hit.end_line)
        if digest_of_normalised(text) != hit.digest:
            return None
        is_clean = not self._is_redacting or file.masked_lines is file.lines
        return text if is_clean else chunk_text(file.masked_lines, hit.start_line, hit.end_line)

    def shown(self, hit: Hit) -> Hit:
        """Return the hit with the secrets in its path replaced; the index keeps the rest without secrets."""
        path = redact(hit.path) if self._is_redacting else hit.path
        return hit if path == hit.path else replace(hit, path=path)


class _File:
    """The lines of a file, and the same lines with secrets masked, which are looked for in the whole file."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.lines = text.split("\n")

    @cached_property
    def masked_lines(self) -> list[str]:
        """The lines with secrets masked, as many as `lines`."""
        masked = _MASKED.mask(self._text)
        return self.lines if masked == self._text else masked.split("\n")


class FileCollection(SpanReader, Collection):
    """Code and documents of the working tree.

    Args:
        searcher: The searcher of their index.
        config: Settings in force.
        near: Says which packages' files come first; None that all are alike.
        options: As of `SpanReader`.
    """

    kind = "files"

    def __init__(self, searcher: Searcher, config: Config, near: Nearness | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.near = near
        self.searcher = searcher
        self.threshold, self.min_cosine = config.hooks.threshold, config.search.min_cosine

    def ordered(self, hits: Sequence[Hit], query: Query, rows: Mapping[int, float] | None = None) -> list[Hit]:
        """Return the hits by relevance, times the weight of the package; as they are where all are alike."""
        if self.near is None:
            return list(hits)
        weight = self.near.weight
        return sorted(hits, key=lambda hit: -hit.relevance * weight(hit.path))
