"""The memory as a collection of the injection: its hits in the order of `ranking.memory`, those of others marked.

What the present session did itself is left out: its agent has it, until a compaction took it away.
"""

from __future__ import annotations

import math
import re
import time
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hybrid.base.text import chunk_digest
from hybrid.base.tokens import query_tokens, tokens
from hybrid.index.backend import EVERYTHING, Filter
from hybrid.knowledge.collections import NAMES_GONE, RecordsCollection, record_hit, why_of
from hybrid.knowledge.small_talk import talk_among
from hybrid.prompting.content import content_words, terms_of_words
from hybrid.records.memory.database import kinds_of
from hybrid.records.memory.types import REMEDY, Observation, SessionSummary, name_of, record_of, title_of
from hybrid.search.gate.record_evidence import word_match
from hybrid.search.ranking.memory import Parts, Present, RankedRow, asked_concepts, parts_of, spread
from hybrid.search.scores import Verdict
from hybrid.sources.records import path_at, path_of, project_glob, record_text, rows_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from hybrid.knowledge.collections import AskingSession
    from hybrid.prompting.query import Query
    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import Row, RowFilter
    from hybrid.records.types import Record
    from hybrid.search.searcher import Mode, Searched, Searcher
    from hybrid.types import Hit
    from hybrid.workspace import Workspace

WORDS_WEIGHT = 0.5
"""Weight of the share of the query's words in a hit, beside the evidence, in the order; 0.2 to 0.5 serve equally."""

_LINES = re.compile(r":[0-9]+(?:-[0-9]+)?\b")
"""The numbers of lines after a file in a title: `check.rs:1720-1806`."""

_MOST_SUMMARIES = 2
"""The most summaries that are given to a prompt that asks about earlier sessions."""

_FOREIGN_RELEVANCE, _FOREIGN_COSINE = 0.6, 0.3
"""Least relevance and least cosine of another project's row that is given: much is alike in all projects, as running
tests."""

_CHECKED = 8
"""Best rows that are checked for being about code that is gone: no more fit the memory's share of a budget."""

LEAST_NEARNESS = 0.225
"""Nearness of the nearest row to a query of somebody who looks something up; for less, nothing is found. With more,
right rows are lost too."""
NEAR_SHARE = 0.35
"""Share of the nearness of the nearest row that a row must have. Both were chosen on 60 judged questions."""
_NEARNESS_IN_PROMPTS, _SHARE_IN_PROMPTS = 0.5, 0.5
"""The same for a prompt that asks for earlier work, where silence is better than noise. Chosen by hand."""
_UNKNOWN = 0.5
"""The number of rows that a word counts as being in when it is in none."""

_CANDIDATES = 100
"""Hits, at least, that are ranked: what is merely recent must not bring in what fits worst."""

_ENOUGH = 5
"""Hits of the present project, among those of all projects, from which on no more of them are searched for."""
_FAIR_SHARE = 0.5
"""Largest share of hits of other projects, as long as the present project has enough that fit."""


class RowsAt:
    """Rows of the memory by their path in the index; each is read at the first call for it and then kept."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._found: dict[str, Row | None] = {}
        self._texts: dict[str, str] = {}

    def read(self, paths: Iterable[str]) -> None:
        """Read the rows at many paths at once, which is faster than one after the other."""
        missing = [path for path in paths if path not in self._found]
        self._found |= dict.fromkeys(missing) | rows_at(self._store, missing)

    def text(self, path: str) -> str:
        """Return the searched text of the row at a path; empty when the row is gone."""
        if path not in self._texts:
            row = self.get(path)
            self._texts[path] = record_text(record_of(row)) if row else ""
        return self._texts[path]

    def get(self, path: str) -> Row | None:
        """Return the row at a path; None when it is gone."""
        if path not in self._found:
            self.read([path])
        return self._found[path]

    def of(self, hit: Hit) -> Row | None:
        """Return the row that a hit was made of; None when it is gone or says something else now."""
        row = self.get(hit.path)
        return row if row and chunk_digest(self.text(hit.path)) == hit.digest else None


class MemoryCollection(RecordsCollection):
    """Observations and summaries of earlier sessions.

    Args:
        searcher: The searcher of the index of the memory.
        store: The store that holds the rows.
        workspace: The workspace that asks.
        session: The session that asks.
    """

    def __init__(self, searcher: Searcher, store: MemoryStore, workspace: Workspace, session: AskingSession) -> None:
        super().__init__("memory", searcher, workspace.config)
        self.rows = RowsAt(store)
        self.store = store
        self._present = present_of(workspace, store, session.id)
        self._session = session
        self._talk: set[int] = set()

    def search(self, query: Query, **options: Any) -> Searched:
        """As `Collection.search`, by `fair_search`."""
        return fair_search(self.searcher, self._present.key, query, **options)

    def at(self, path: str) -> Record | None:
        """As `RecordsCollection.at`."""
        row = self.rows.get(path)
        return None if row is None else record_of(row, here=self._present.key)

    def is_own(self, path: str) -> bool:
        """As `RecordsCollection.is_own`."""
        return bool(self._present.key) and path.endswith(f"/{self._present.key}")

    def last_summaries(self) -> list[Hit]:
        """Return the two newest summaries of the project's other sessions that did something; none outside a project.

        The newest comes first.
        """
        key = self._present.key
        rows = self.store.last_summaries(key, _MOST_SUMMARIES, not_session=self._session.id) if key else []
        return [record_hit(path_of(row), record_of(row)) for row in rows]

    def asked_for(self, searched: Searched) -> Verdict:
        """Return a verdict on a search of the memory itself: open if a row is near."""
        rows = self.near(searched, _NEARNESS_IN_PROMPTS, _SHARE_IN_PROMPTS)
        return Verdict(bool(rows), searched.top_cosine, None, "auto", rows=rows)

    def shown(self, hit: Hit) -> Hit:
        """Return the hit without its title, so that a forgotten title does not stay in the log or in a ledger."""
        return replace(hit, name="", scope="", signature="")

    def measure(self, hit: Hit) -> str:
        """As `RecordsCollection.measure`."""
        return "" if hit.cosine is None else f"cosine {hit.cosine:.2f}"

    def left_out(self, hit: Hit) -> str:
        """Return why `ordered` leaves out a hit.

        Returns:
            `NAMES_GONE` for a row about code that is gone, `own` for a row of the session itself, `talk` for small
            talk, `foreign` for another project's row that is a summary or fits too little, `repeated` for a row that
            says the same as a better hit, `gone` for one that is there no more.
        """
        row = self.rows.of(hit)
        if row is None:
            return "gone"
        if hit.row in self._gone:
            return NAMES_GONE
        if self._session.has(row):
            return "own"
        if isinstance(row, SessionSummary) and row.id in self._talk:
            return "talk"
        return "repeated" if self._is_told(hit) else "foreign"

    def ordered(self, hits: Sequence[Hit], query: Query, rows: Mapping[int, float] | None = None) -> list[Hit]:
        """Return the hits that may be given, best first as by `ranked`; see `left_out` for those that are left out."""
        self.rows.read(hit.path for hit in hits)
        self._talk = talk_among(filter(None, (self.rows.get(hit.path) for hit in hits)), self.store, self.code)
        told = [hit for hit in hits if self._is_told(hit)]
        fitting = sorted(self.code.fitting) if self.code else ()
        present = replace(self._present, files=(*self._present.files, *fitting))
        found = [hit for hit, _ in self.ranked(told, present, query)]
        self._gone = {hit.row for hit in found[:_CHECKED] if self.names_gone(hit, query)}
        return [hit for hit in found if hit.row not in self._gone]

    def found(
        self, query: Query, wanted: RowFilter, present: Present, limit: int, mode: Mode = "hybrid"
    ) -> list[RankedRow]:
        """Return the rows that fit the query of somebody who looks something up, best first; empty when none is near.

        Within a project the summaries of others are left out; so are small talk and a row that repeats a better one.

        Args:
            query: As typed.
            wanted: Restricts the rows.
            present: The time and the project from which they are ranked.
            limit: Rows at most.
            mode: Legs that take part.
        """
        only = Filter(tuple(kinds_of(wanted)), project_glob(wanted.key) if wanted.key else "", self._documents(wanted))
        whose, most = "" if wanted.key else present.key, max(limit, _CANDIDATES)
        searched = fair_search(self.searcher, whose, query, top_k=most, mode=mode, only=only)
        own, fitting = wanted.key or present.key, self.near(searched)
        rows = {hit.row: row for hit in searched.hits if hit.row in fitting and (row := self.rows.of(hit)) is not None}
        talk = talk_among(rows.values(), self.store)
        told = {
            number
            for number, row in rows.items()
            if is_told_here(row, own) and not (isinstance(row, SessionSummary) and row.id in talk)
        }
        hits = [hit for hit in searched.hits if hit.relevance > 0 and hit.row in told]
        return [RankedRow(rows[hit.row], parts) for hit, parts in self.ranked(hits, present, query)[:limit]]

    def _documents(self, wanted: RowFilter) -> frozenset[str] | None:
        """Return the index paths of the rows that pass filters unknown to the index; None without such a filter."""
        if not (wanted.types or wanted.files or wanted.session_id or wanted.not_session or wanted.since_ms is not None):
            return None
        return frozenset(path_at(kind, number, key) for kind, number, key in self.store.places(wanted))

    def why(self, hit: Hit) -> str:
        """As `Collection.why`."""
        row = self.rows.get(hit.path)
        if self.code is None or not isinstance(row, Observation) or not self.is_own(hit.path):
            return ""
        return why_of(self.code.fitting.intersection(row.told.files))

    def _is_told(self, hit: Hit) -> bool:
        row = self.rows.of(hit)
        if row is None or self._session.has(row) or not is_told_here(row, self._present.key):
            return False
        if isinstance(row, SessionSummary) and row.id in self._talk:
            return False
        is_own = not self._present.key or row.owner.key == self._present.key
        return is_own or (hit.relevance >= _FOREIGN_RELEVANCE and (hit.cosine or 0.0) >= _FOREIGN_COSINE)

    def near(self, searched: Searched, least: float = LEAST_NEARNESS, share: float = NEAR_SHARE) -> dict[int, float]:
        """Return row → nearness of the hits that are near enough to the query of a search of the memory itself.

        Nearness is the cosine plus the idf-weighted share of the query's words that the row contains, in [−1, 2].

        Args:
            searched: The search.
            least: Nearness that the nearest row must have, or none is near enough.
            share: Share of that which the others must have, in [0, 1].
        """
        query, backend = searched.query, self.searcher.backend
        asked: list[dict[str, float]] = []
        for text in filter(None, (query.focus, self.searcher.english(query))):
            frequency = {word: backend.terms.document_frequency(word) for word in query_tokens(content_words(text))}
            asked.append({word: math.log(1 + backend.n_chunks / (n or _UNKNOWN)) for word, n in frequency.items()})
        self.rows.read(hit.path for hit in searched.hits)
        found: dict[int, float] = {}
        for hit in searched.hits:
            said = set(tokens(self.rows.text(hit.path)))
            held = [
                sum(weights[word] for word in said & weights.keys()) / sum(weights.values())
                for weights in asked
                if weights
            ]
            found[hit.row] = (hit.cosine or 0.0) + max(held, default=0.0)
        nearest = max(found.values(), default=0.0)
        return {row: value for row, value in found.items() if nearest >= least and value >= share * nearest}

    def ranked(self, hits: Sequence[Hit], present: Present, query: Query) -> list[tuple[Hit, Parts]]:
        """Return hits with the parts of their scores, best first, without those that are gone or repeat a better one.

        The relevance in a score is a mean of the hit's relevance in the whole collection and of its share of the
        query's words. An observation with nearly the same title as a better one moves back.
        """
        found = [(hit, row) for hit in hits if (row := self.rows.get(hit.path)) is not None]
        texts = [sorted(set(tokens(self.rows.text(hit.path)))) for hit, _ in found]
        matches = word_match(terms_of_words(content_words(query.focus)), texts, self.searcher.embedder)
        asked = asked_concepts(query.text)
        scored: list[tuple[Hit, Row, Parts]] = []
        for (hit, row), match in zip(found, matches, strict=True):
            relevance = (hit.relevance + WORDS_WEIGHT * match) / (1 + WORDS_WEIGHT)
            scored.append((hit, row, parts_of(row, present, relevance=relevance, asked=asked)))
        scored.sort(key=lambda one: (-one[2].score, one[0].rank))
        best: dict[object, tuple[Hit, Row, Parts]] = {}
        for one in scored:
            best.setdefault(_said(one[1]), one)
        # A remedy repeats what rows of its session say, so it comes after them.
        kept = [one for one in best.values() if not _is_remedy(one[1])]
        last = [(hit, parts) for hit, row, parts in best.values() if _is_remedy(row)]
        # Summaries are called by what was asked for, and asked alike they say different things.
        titled = [(parts, title_of(row) if isinstance(row, Observation) else "") for _, row, parts in kept]
        return [*((kept[place][0], parts) for place, parts in spread(titled)), *last]


def _is_remedy(row: Row) -> bool:
    return isinstance(row, Observation) and REMEDY in row.told.concepts


def fair_search(searcher: Searcher, key: str, query: Query, *, top_k: int, **options: Any) -> Searched:
    """Search the memory so that half of the hits are the present project's, as far as it has enough that fit.

    Args:
        searcher: The searcher of the memory.
        key: Key of the present project; empty for none, whose hits come before no others.
        query: As of `Searcher.search`, like the further arguments.
        top_k: Hits to return at most.
        options: Further arguments; with a path in the filter nothing is added.
    """
    found = searcher.search(query, top_k=top_k, **options)
    ending, only, judging = f"/{key}", options.pop("only", EVERYTHING), options.pop("judging", None)
    n_own = sum(hit.path.endswith(ending) for hit in found.hits)
    if not key or only.path or len(found.hits) < top_k or n_own >= _ENOUGH:
        return found
    mine = replace(only, path=project_glob(key))
    again = replace(judging, stops_when_closed=False) if judging else None
    own = searcher.search(query, top_k=top_k, only=mine, judging=again, **options)
    return replace(found, hits=_joined(own, found, ending, top_k))


def _joined(own: Searched, found: Searched, ending: str, top_k: int) -> tuple[Hit, ...]:
    """Return own hits and those of other projects by relevance; others get more than half only for lack of own ones."""
    scale = min(_evidence(own) / _evidence(found), 1.0) if _evidence(found) > 0 else 1.0
    mine = [replace(hit, relevance=hit.relevance * scale) for hit in own.hits]
    others = [hit for hit in found.hits if not hit.path.endswith(ending)]
    kept = others[: max(int(top_k * _FAIR_SHARE), top_k - len(mine))]
    both = sorted([*mine[: top_k - len(kept)], *kept], key=lambda hit: -hit.relevance)
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(both, 1))


def _evidence(searched: Searched) -> float:
    """Return the sum of the evidence for the first hit; 0 without a hit or evidence."""
    return sum(searched.hits[0].evidence.values()) if searched.hits else 0.0


def present_of(workspace: Workspace, store: MemoryStore, session_id: str = "") -> Present:
    """Return the present: the time, the project, and the files that the session touched."""
    files = store.touched_files(session_id) if session_id else ()
    project = workspace.project
    key = project.key if project else ""
    return Present(time.time_ns() // 1_000_000, key, files, workspace.config.memory.half_life_days)


def is_told_here(row: Row, key: str) -> bool:
    """Return whether a row may be given in the project `key` (empty for none): a summary of another one may not."""
    return isinstance(row, Observation) or not key or row.owner.key == key


def _said(row: Row) -> object:
    """Return a key that is equal for observations of one project with the same title and files; else unique."""
    if not isinstance(row, Observation) or not row.told.title:
        return name_of(row)
    title = " ".join(_LINES.sub("", row.told.title).lower().split())
    return row.owner.key, title, frozenset(row.told.files)
