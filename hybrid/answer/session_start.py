"""Gives an agent what it did not ask for: bearings at a session's start, its best records after a compaction.

`events` calls it. Nothing here searches, so nothing here needs numpy or a model.
"""

from __future__ import annotations

import contextlib
import sqlite3
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from hybrid.answer.decide import Decision, span_reader
from hybrid.answer.pack import HARD_CAP_BYTES, shortened_item, text_in_form
from hybrid.answer.select import Withheld
from hybrid.base.clients import client_named
from hybrid.base.errors import HybridError, IndexMissingError, IndexUnavailableError
from hybrid.index.catalog import Catalog
from hybrid.index.manifest import read_manifest
from hybrid.knowledge.collections import record_body, record_entry, record_hit, record_of
from hybrid.log.state import read_state
from hybrid.records.lore.types import seconds_of
from hybrid.records.memory.types import (
    Observation,
    RowFilter,
    body_lines,
    has_failed,
    index_line,
    moment_text,
    name_of,
    title_of,
)
from hybrid.redact import redact
from hybrid.render.frame import MORE_BY_TOOL, Entry, Footer, file_entry, render_frame
from hybrid.render.marks import neutralise_line
from hybrid.render.numbers import amount
from hybrid.search.ranking.memory import Present, parts_of
from hybrid.sources.records import RecordSource
from hybrid.types import Item
from hybrid.workspace import stand_ins

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid.answer.decide import Turn
    from hybrid.knowledge.open_kinds import OpenKinds
    from hybrid.log.events import ReasonName
    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import Row
    from hybrid.records.types import Record
    from hybrid.session.ledger import Ledger, Remembered
    from hybrid.types import Form, Hit, HookEvent
    from hybrid.workspace import Workspace


# What the memory gives a session at its start: the last lines of the project's log, and the last summary.
#
# After a compaction it is what the session itself did before, and the files that it touched.

_BUDGET_SHARE = 0.5
"""Share of an injection's characters for what the memory tells: its lines only name rows that can be looked up."""

_SUMMARY_SHARE = 0.5
"""Share of the memory's characters for the summary, at most: the rows after it tell what else was done."""
_CANDIDATES = 100
_MOST_FILES = 15
_MOST_SUMMARIES = 3
_MORE = 'hybrid memory show ID gives one in full; hybrid memory search "words" finds more'


def earlier_sessions(workspace: Workspace, store: MemoryStore, now_ms: int, *, session_id: str) -> Entry | None:
    """Return the last session's summary and the project's last rows in index form; None without any, or none wanted.

    Rows that changed something are chosen before rows that only read; the chosen ones are listed as by `_listed`. Rows
    of other projects and of this session are left out.
    """
    project, n_lines = workspace.require_project(), workspace.config.memory.session_start
    if not n_lines or not store.exists:
        return None
    wanted = RowFilter(key=project.key, not_session=session_id)
    summaries = store.last_summaries(project.key, _MOST_SUMMARIES, not_session=session_id)
    rows = [*summaries[1:], *store.newest(replace(wanted, kinds=("observation",)), _CANDIDATES)]
    if not rows and not summaries:
        return None
    room = _budget(workspace) - len(_MORE)
    told = _within(_summary_lines(summaries[0]), int(room * _SUMMARY_SHARE)) if summaries else []
    present = Present(now_ms, project.key, (), workspace.config.memory.half_life_days)
    best = sorted(rows, key=lambda row: (not _has_effect(row), -parts_of(row, present).score))[:n_lines]
    kept = _within([*told, *map(index_line, _listed(best))], room)
    return Entry("memory", f"{project.name}: earlier sessions", (*kept, _MORE)) if kept else None


def this_session(workspace: Workspace, store: MemoryStore, session_id: str) -> Entry | None:
    """Return what a session did before a compaction, the last first, and the files it touched; None without rows."""
    n_lines = workspace.config.memory.session_start
    if not (n_lines and session_id and store.exists):
        return None
    rows = _listed(store.session_rows(session_id))
    if not rows:
        return None
    files = store.touched_files(session_id)
    named = [f"Files: {', '.join(files[:_MOST_FILES])}"] if files else []
    kept = _within([*named, *(index_line(row) for row in rows[:n_lines])], _budget(workspace))
    return Entry("memory", "this session, before its conversation was shortened", tuple(kept)) if kept else None


def _summary_lines(summary: Row) -> list[str]:
    """Return the lines of a summary: one with id, time and title, then its text, indented."""
    title = f"{name_of(summary)} {moment_text(summary.created_ms)} {title_of(summary)}".rstrip()
    return [title, *(f"  {line}" for line in body_lines(summary))]


def _listed(rows: Sequence[Row]) -> list[Row]:
    """Return rows newest first, but the failures of a turn before what else it did; of equal titles the newest."""
    newest = sorted(rows, key=lambda row: (-row.created_ms, -row.id))
    first: dict[tuple[str, ...], Row] = {}
    for row in newest:
        first.setdefault((title_of(row), *(row.told.files if isinstance(row, Observation) else (name_of(row),))), row)
    turns = dict.fromkeys((row.owner.session_id, row.prompt_number) for row in first.values())
    place = {turn: number for number, turn in enumerate(turns)}

    def order(row: Row) -> tuple[int, bool]:
        return place[row.owner.session_id, row.prompt_number], not has_failed(row)

    return sorted(first.values(), key=order)


def _has_effect(row: Row) -> bool:
    """Return whether a row changed, decided or broke something: what was merely read is found again when it matters."""
    if not isinstance(row, Observation):
        return True
    return bool(row.told.files_modified) or row.told.type != "discovery" or "gotcha" in row.told.concepts


def _budget(workspace: Workspace) -> int:
    return int(workspace.config.hooks.budget_chars * _BUDGET_SHARE)


def _within(lines: Sequence[str], n_chars: int) -> list[str]:
    """Return the first lines that fit into so many characters, counting three more for each line."""
    kept: list[str] = []
    for line in lines:
        n_chars -= len(line) + 3
        if n_chars < 0:
            break
        kept.append(line)
    return kept


_HANDOFF_CHARS = 100
"""Characters of a handoff that are shown at a session's start: enough to say what it is about."""

ORIENTATION_CHARS = 600
"""Characters of the text about the project at a session's start: every session pays for it, whatever its task."""

GIVEN_BACK = 5
"""Items that are given again at most, after a compaction or to a subagent: the room they take is to stay free."""

GIVEN_BACK_CHARS = 1_500

_LOOKED_AT = 30
"""Items, at most, that are read again to choose what is given: a long session has hundreds, and its agent waits."""

_NEW = ("", "startup", "new", "clear")
"""Sources of a session whose context is empty; in others (`resume`, `fork`) it still holds what was given."""

_TWICE_S = 3.0
"""Seconds within which a second start of the same kind is a second registration of the hook."""

_HALVED_AFTER = 8
"""Injections after which a record that did not fit again is worth half: the work has moved on."""

_MAIN_LANGUAGES = 4
_MOST_USED = 5
_OFTEN = 2
"""Times that a file must have been given to be named as often used: once says nothing about a project."""

_HOW_IT_COMES = "Passages that fit a prompt are added to it."
_MORE_BY_COMMAND = 'More: hybrid search "words" (--path GLOB narrows it)'
_BEFORE_COMPACTION = "Given earlier in this session, before its conversation was shortened."
_LESSONS_HEADING = "## Recent Lessons"
_REMINDER_HEADING = "## Most used lessons, once more"
_SILENT_ABOUT_A_REQUEST = ("gate", "no_results", "same_topic", "all_seen")
"""Reasons of a silence after a search; only then is a reminder given, since beside a mere thanks it would be noise."""
_FROM_THE_CALLER = "Given to the session that started this subagent."


def start_session(turn: Turn) -> Decision:
    """Return what a session gets at its start, after `clear` and after a compaction.

    Resets the session's ledger where the agent's context is lost, even when hybrid is off or paused.
    """
    event, ledgers = turn.event, turn.workspace.ledgers
    is_compact = event.source == "compact"
    ledger = ledgers.read(turn.key, is_remembering=is_compact)
    # A start that lies ahead is one before the clock was set back.
    if abs(turn.at_ms / 1000 - ledger.starts.get(start_name(event), 0.0)) < _TWICE_S:
        return Decision("repeated", event.source)
    given: Mapping[str, str] = ledger.given
    # With Gemini, a resumed session lacks what hooks had added to it.
    is_without_history = event.source == "resume" and client_named(event.client).resumes_bare
    if is_compact or event.source == "clear" or is_without_history:
        given = {}
        with contextlib.suppress(OSError):
            ledgers.reset(turn.key, event.source)
    if turn.off is not None:
        return turn.off
    if is_compact:
        return _given_before("given_back", turn, ledger, _BEFORE_COMPACTION, _memory(turn))
    return _orientation(turn, given) if event.source in _NEW else Decision("resumed", event.source)


def _memory(turn: Turn) -> Entry | None:
    """Return what the memory tells at this start, after making observations of uses of tools that wait.

    None when there is nothing to tell, the memory is off, or its database cannot be read.
    """
    workspace, event = turn.workspace, turn.event
    if workspace.project is None or not workspace.config.memory.enabled:
        return None
    store = turn.kinds.stores.memory(workspace)
    if not store.exists:
        return None
    from hybrid.knowledge.memory_intake import MOST_AT_ONCE, flush  # Brings the extraction.

    try:
        # A session that was killed leaves its last uses untold.
        own = event.session_id if event.source == "compact" else ""
        flush(workspace, store, turn.at_ms, session_id=own, most=MOST_AT_ONCE)
        if event.source == "compact":
            return this_session(workspace, store, event.session_id)
        return earlier_sessions(workspace, store, turn.at_ms, session_id=event.session_id)
    except (HybridError, OSError):
        return None


def start_name(event: HookEvent) -> str:
    """Return the name of a session start in the ledger: the event's `source`, or `startup` when it names none."""
    return event.source or "startup"


def brief_subagent(turn: Turn) -> Decision:
    """Return what a subagent gets before it starts: the best records of the conversation that starts it."""
    if turn.off is not None:
        return turn.off
    ledgers = turn.workspace.ledgers
    if ledgers.read(turn.key).given:
        return Decision("repeated", turn.event.agent_id)
    ledger = ledgers.read(replace(turn.key, agent_id=""), is_remembering=True)
    return _given_before("briefed", turn, ledger, _FROM_THE_CALLER)


def most_useful(ledger: Ledger) -> list[Remembered]:
    """Return what a session was given, the most useful first.

    Useful is what fitted well (its relevance, the share of the best hit's score), often (once more for each time), and
    lately (halved for every eight injections since). Equal ones: the last first, then by digest.
    """

    def order(found: Remembered) -> tuple[float, int, bytes]:
        age = ledger.n_turns - found.turn
        worth = found.hit.relevance * found.times * 0.5 ** (age / _HALVED_AFTER)
        return -worth, -found.turn, found.hit.digest

    return sorted(ledger.remembered.values(), key=order)


def _given_before(reason: ReasonName, turn: Turn, ledger: Ledger, note: str, done: Entry | None = None) -> Decision:
    """Return a decision with the most useful of what the ledger remembers and that still stands.

    Files are given as previews, records whole and the best one shortened if need be, until the room is full.

    Args:
        reason: Reason of the decision when there is a text.
        turn: The turn that gets the text.
        ledger: Read with what it remembers.
        note: For the end of the text.
        done: What the session did; stands first, with room of its own. None for nothing.
    """
    workspace = turn.workspace
    if workspace.project is None:
        return Decision("no_project")
    reader = _Reader(workspace, turn.kinds)
    chosen, stale = list[Item](), list[Withheld]()
    first = [done] if done else []
    text = _framed(first, workspace, "") if first else ""
    room = GIVEN_BACK_CHARS + len(text)
    is_best_record = True

    def framed(item: Item) -> str:
        return _framed([*first, *(reader.entry(one) for one in (*chosen, item))], workspace, note)

    def is_fitting(item: Item) -> bool:
        return len(wanted := framed(item)) <= room and len(wanted.encode("utf-8")) <= HARD_CAP_BYTES

    for found in most_useful(ledger)[:_LOOKED_AT]:
        # What it measured was about another question.
        hit, body = reader.read(replace(found.hit, cosine=None))
        if body is None:
            stale.append(Withheld(hit, "stale"))
            continue
        form: Form = "full" if hit.is_record else "preview"
        item = Item(hit, body, form, text_in_form(body, form, {}, hit.signature))
        if hit.is_record and is_best_record:
            item, is_best_record = shortened_item(item, is_fitting, most=room), False
        if is_fitting(item):
            text = framed(item)
            chosen.append(item)
        if len(chosen) == GIVEN_BACK:
            break
    decision = Decision(reason, text=text) if text else Decision("nothing_given", reason)
    return replace(decision, items=tuple(chosen), withheld=tuple(stale))


class _Reader:
    """Reads the present text of hits that the ledger remembers, as it may be shown now."""

    def __init__(self, workspace: Workspace, kinds: OpenKinds) -> None:
        self._workspace = workspace
        self._kinds = kinds
        self._spans = span_reader(workspace)
        self._is_redacting = workspace.config.privacy.redact

    @cached_property
    def _by_path(self) -> Mapping[str, Record]:
        with contextlib.suppress(HybridError, OSError):
            return self._kinds.by_path(self._workspace)
        return {}

    def read(self, hit: Hit) -> tuple[Hit, str | None]:
        """Return where a hit stands now and its text; None for what is gone or says something else."""
        if hit.is_record:
            record = record_of(self._by_path, hit)
            return hit, None if record is None else record_body(record, is_redacting=self._is_redacting)
        now = hit if self._spans.text(hit) is not None else _where_now(self._workspace, hit)
        return self._spans.shown(now), self._spans.text(now)

    def entry(self, item: Item) -> Entry:
        """Return an item as an entry of the frame."""
        if not item.hit.is_record:
            return file_entry(item)
        return record_entry(self._by_path[item.hit.path], item, "", is_redacting=self._is_redacting)


def _where_now(workspace: Workspace, hit: Hit) -> Hit:
    """Return a hit in a file at the lines where the index has its text now; the hit as it is when it has it nowhere."""
    place = workspace.place
    lines = None
    with (
        contextlib.suppress(HybridError, OSError, sqlite3.DatabaseError),
        Catalog(place.catalog, tree=place.tree, root=place.root, is_read_only=True) as catalog,
    ):
        lines = catalog.lines_of(hit.path, hit.digest, near=hit.start_line)
    return hit if lines is None else replace(hit, start_line=lines[0], end_line=lines[1])


def _orientation(turn: Turn, given: Mapping[str, str]) -> Decision:
    """Return what a new session gets: words about the project, most used lessons, earlier sessions, latest handoff."""
    workspace, earlier = turn.workspace, _memory(turn)
    if workspace.project is None:
        return Decision("no_project")
    about = _about_project(turn)
    lessons = [one for one in _lessons(turn) if one[0].hit.digest.hex() not in given]
    items, entries = _under(_LESSONS_HEADING, lessons)
    entries += [earlier] if earlier else []
    if isinstance(about, Entry):
        entries.insert(0, about)
    elif not entries:
        return about
    handoff = _handoff(turn)
    entries += [handoff] if handoff else []
    text = render_frame(entries, fmt=workspace.config.hooks.format, footer=Footer(cites_lessons=bool(items)))
    if len(text.encode("utf-8")) > HARD_CAP_BYTES:
        return Decision("budget")
    return Decision("oriented", text=text, items=tuple(items))


def remind(turn: Turn, decision: Decision) -> Decision:
    """Return a reminder of the most used lessons if it is due and the prompt gets nothing else; else `decision` itself.

    Only lessons that were cited at least once are in it: an agent that is told something twice must need it.
    """
    every = turn.workspace.config.lessons.remind_every
    if not every or decision.reason not in _SILENT_ABOUT_A_REQUEST:
        return decision
    if turn.workspace.ledgers.read(turn.key).n_prompts + 1 < every:
        return decision
    items, entries = _under(_REMINDER_HEADING, _lessons(turn, is_cited=True))
    if not items:
        return decision
    text = render_frame(entries, fmt=turn.workspace.config.hooks.format, footer=Footer(cites_lessons=True))
    if len(text.encode("utf-8")) > HARD_CAP_BYTES:
        return decision
    return replace(decision, reason="reminded", detail=decision.reason, text=text, items=tuple(items))


def _handoff(turn: Turn) -> Entry | None:
    """Return the latest handoff of the project, cut to one line; None when it is too old or there is none.

    It comes whole with the first injection.
    """
    settings = turn.workspace.config.lore
    if not (settings.enabled and settings.handoff_days):
        return None
    try:
        lore = turn.kinds.stores.lore(turn.workspace)
    except (HybridError, OSError):
        return None
    handoffs = [one for one in lore if one.kind == "handoff" and one.is_attributed and not turn.holds_out(one.id)]
    latest = max(handoffs, key=lambda one: seconds_of(one.created_at), default=None)
    if latest is None or seconds_of(latest.created_at) < turn.at_ms / 1000 - settings.handoff_days * 86_400:
        return None
    said = neutralise_line(redact(" ".join(latest.lines[:1])))
    short = said if len(said) <= _HANDOFF_CHARS else f"{said[: _HANDOFF_CHARS - 1].rstrip()}…"
    return Entry("handoff", f"{latest.shown} {short} (`hybrid lore latest`)")


def _lessons(turn: Turn, *, is_cited: bool = False) -> list[tuple[Item, Entry]]:
    """Return the most used lessons that fit their budget, each with its entry in the frame; empty when switched off."""
    workspace = turn.workspace
    settings = workspace.config.lessons
    if not (settings.enabled and settings.session_start):
        return []
    try:
        found = turn.kinds.stores.lessons(workspace)
    except (HybridError, OSError):
        return []
    numbered = [(path, record, found.active[record.id]) for path, record in RecordSource(found.records).by_path.items()]
    numbered = [one for one in numbered if not turn.holds_out(one[0])]
    if is_cited:
        numbered = [one for one in numbered if one[2].uses]
    # The newest of equal ones first: a project that has cited none yet begins with what it learned last.
    newest = sorted(numbered, key=lambda one: (one[2].learned, one[2].id), reverse=True)
    best = sorted(newest, key=lambda one: (-one[2].uses, -one[2].velocity))[: settings.session_start]
    chosen: list[tuple[Item, Entry]] = []
    left = settings.budget_chars
    is_redacting = workspace.config.privacy.redact
    for path, record, _ in best:
        body = record_body(record, is_redacting=is_redacting)
        room = left - len(record.shown)
        # It was not looked for: whatever is found later was more useful.
        item = Item(replace(record_hit(path, record), relevance=0.0), body, "full", body)
        if not chosen:
            item = shortened_item(item, lambda one, room=room: len(one.body) <= room, most=room)
        if len(item.body) > room:
            continue
        left = room - len(item.body)
        chosen.append((item, record_entry(record, item, "", is_redacting=is_redacting)))
    return chosen


def _under(heading: str, lessons: Sequence[tuple[Item, Entry]]) -> tuple[list[Item], list[Entry]]:
    """Return the items and the entries of some lessons, the first entry with this heading; empty for none."""
    items, entries = [item for item, _ in lessons], [entry for _, entry in lessons]
    return items, [*(replace(entry, heading=heading) for entry in entries[:1]), *entries[1:]]


def _about_project(turn: Turn) -> Entry | Decision:
    """Return an entry that says which project this is, what is used most there and how to search it.

    In its place a `Decision` with the reason when there is no such entry: switched off, no index, or no room.
    """
    workspace = turn.workspace
    if not workspace.config.hooks.session_start:
        return Decision("off", "hooks.session_start is off")
    try:
        indexed = _indexed(workspace)
    except (IndexUnavailableError, OSError, sqlite3.DatabaseError) as error:
        return Decision("no_index", str(error))
    if not indexed:
        return Decision("no_index", "the index holds no document")
    used = _most_used(workspace)
    entry = _project_entry(turn, indexed, used)
    while used and len(_framed([entry], workspace, "")) > ORIENTATION_CHARS:
        used = used[:-1]
        entry = _project_entry(turn, indexed, used)
    return entry if len(_framed([entry], workspace, "")) <= ORIENTATION_CHARS else Decision("budget")


def _project_entry(turn: Turn, indexed: str, used: list[str]) -> Entry:
    lines = [f"Found for prompts most often so far: {', '.join(used)}"] if used else []
    more = f"{_HOW_IT_COMES} {MORE_BY_TOOL if turn.has_tools else _MORE_BY_COMMAND}"
    return Entry("project", f"{turn.workspace.require_project().name}: {indexed}", (*lines, more))


def _indexed(workspace: Workspace) -> str:
    """Return in words how many documents the index that answers holds, and of which languages; empty without any.

    While they are embedded with another model the catalog holds those that are done, so that only the number is told;
    of another tree's index that stands in, not even that.

    Raises:
        IndexUnavailableError: There is no index, or not one of ours.
        OSError: It cannot be read.
    """
    place = workspace.place
    try:
        manifest = read_manifest(place.folder)
    except IndexMissingError:
        others = stand_ins(workspace)
        if not others:
            raise
        whose = "the project around this one" if others[0][1] else "another working tree"
        return f"the index of {whose} answers until this one is indexed"
    with Catalog(place.catalog, tree=place.tree, root=place.root, is_read_only=True) as catalog:
        if catalog.model() != manifest.model:
            n_documents = int(catalog.summary_of(manifest.generation).get("documents", 0))
            return f"{amount(n_documents, 'document')} indexed" if n_documents else ""
        languages = catalog.languages()
    counts = ", ".join(f"{name} {count}" for name, count in list(languages.items())[:_MAIN_LANGUAGES])
    return f"{amount(sum(languages.values()), 'document')} indexed ({counts})" if languages else ""


def _most_used(workspace: Workspace) -> list[str]:
    """Return the paths that were injected most and are still files of the project, the most frequent first.

    Paths that lead out of the project are left out: the counters may come with a repository.
    """
    root = workspace.require_project().root
    counts = read_state(workspace.state_folder).file_frequencies
    often = (path for path in counts if counts[path] >= _OFTEN)
    ordered = sorted(often, key=lambda path: (-counts[path], path))
    there = [path for path in ordered[: 4 * _MOST_USED] if _is_inside(path) and (root / path).is_file()]
    return [neutralise_line(redact(path)) for path in there[:_MOST_USED]]


def _is_inside(path: str) -> bool:
    return not path.startswith(("/", "\\")) and ":" not in path and ".." not in path and "\0" not in path


def _framed(entries: list[Entry], workspace: Workspace, note: str) -> str:
    return render_frame(entries, fmt=workspace.config.hooks.format, footer=Footer(note=note))
