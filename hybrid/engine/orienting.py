"""What an agent gets without a question: bearings at a session's start, its best records after a compaction.

`answering` calls it. Nothing here searches, so nothing here needs numpy or a model.
"""

from __future__ import annotations

import contextlib
import sqlite3
from dataclasses import replace
from typing import TYPE_CHECKING

from hybrid.engine.injecting import Decision, session_key, span_reader, switched_off
from hybrid.errors import HybridError, IndexUnavailableError
from hybrid.feedback.state import read_state
from hybrid.index.catalog import Catalog
from hybrid.index.manifest import read_manifest
from hybrid.redact import redact
from hybrid.render.frame import Entry, Footer, render_frame
from hybrid.render.marks import neutralise_line
from hybrid.render.records import item_entry
from hybrid.retrieval.pack import HARD_CAP_BYTES
from hybrid.types import Item, Withheld

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid.engine.workspace import Workspace
    from hybrid.session.ledger import Ledger, Remembered
    from hybrid.types import Hit, HookEvent

ORIENTATION_CHARS = 600
"""Of the text at a session's start: every session pays for it, whatever it is about."""

GIVEN_BACK = 5
"""Records that are given back at most: a compaction made room, and is not to be undone."""

GIVEN_BACK_CHARS = 1_500

_LOOKED_AT = 30
"""Records whose files are read again for that: a long session has hundreds, and its agent waits."""

_NEW = ("", "startup", "new", "clear")
"""Sources of a session whose context is empty; in others (`resume`, `fork`) it still holds what was given."""

_TWICE_S = 3.0
"""Seconds within which a second start of the same kind is a second registration of the hook."""

_HALVED_AFTER = 8
"""Injections after which a record that did not fit again is worth half: the work has moved on."""

_MAIN_LANGUAGES = 4
_MOST_USED = 5
_OFTEN = 2
"""Times that a file was given before it is named: once says nothing about a project."""

_HOW_TO_SEARCH = 'Passages that fit a prompt are added to it. More: hybrid search "words" (--path GLOB narrows it)'
_BEFORE_COMPACTION = "Given earlier in this session, before its conversation was shortened."
_FROM_THE_CALLER = "Given to the session that started this subagent."


def start_session(workspace: Workspace, event: HookEvent, *, environ: Mapping[str, str], now_s: float) -> Decision:
    """What a session gets at its start, after `clear` and after a compaction; resets its ledger where that is lost.

    Args:
        workspace: Of the event's directory.
        event: A session start.
        environ: Environment variables of the client.
        now_s: Seconds since 1970.
    """
    key = session_key(workspace, event)
    ledger = workspace.ledgers.read(key, is_remembering=event.source == "compact")
    if now_s - ledger.starts.get(start_name(event), 0.0) < _TWICE_S:
        return Decision("repeated", event.source)
    is_compact = event.source == "compact"
    if is_compact or event.source == "clear" or _is_without_history(event):
        with contextlib.suppress(OSError):
            workspace.ledgers.reset(key, event.source)
    off = switched_off(workspace, event, environ)
    if off is not None:
        return off
    if is_compact:
        return _records("given_back", workspace, ledger, _BEFORE_COMPACTION)
    return _orientation(workspace) if event.source in _NEW else Decision("resumed", event.source)


def _is_without_history(event: HookEvent) -> bool:
    """Gemini resumes a conversation without what hooks had added to it."""
    return event.client == "gemini" and event.source == "resume"


def start_name(event: HookEvent) -> str:
    """How a session start stands in the ledger."""
    return event.source or "startup"


def brief_subagent(workspace: Workspace, event: HookEvent, *, environ: Mapping[str, str]) -> Decision:
    """What a subagent gets before it starts: the best records of the conversation that starts it."""
    off = switched_off(workspace, event, environ)
    if off is not None:
        return off
    if workspace.ledgers.read(session_key(workspace, event)).given:
        return Decision("repeated", event.agent_id)
    caller = replace(session_key(workspace, event), agent_id="")
    return _records("briefed", workspace, workspace.ledgers.read(caller, is_remembering=True), _FROM_THE_CALLER)


def most_useful(ledger: Ledger) -> list[Remembered]:
    """What a session was given, the most useful first.

    Useful is what fitted well (its relevance, the share of the best hit's score), often (once more for each time), and
    lately (halved for every eight injections since). Equal ones: the last first, then by digest.
    """

    def order(found: Remembered) -> tuple[float, int, bytes]:
        age = ledger.n_turns - found.turn
        worth = found.hit.relevance * found.times * 0.5 ** (age / _HALVED_AFTER)
        return -worth, -found.turn, found.hit.digest

    return sorted(ledger.remembered.values(), key=order)


def _records(reason: str, workspace: Workspace, ledger: Ledger, note: str) -> Decision:
    """The most useful records that still stand in their files, as previews; whole ones only, until the room is full."""
    if workspace.project is None:
        return Decision("no_project")
    spans = span_reader(workspace)
    chosen: list[Item] = []
    stale: list[Withheld] = []
    text = ""
    for found in most_useful(ledger)[:_LOOKED_AT]:
        now = found.hit if spans.text(found.hit) is not None else _where_now(workspace, found.hit)
        body = spans.text(now)
        # What it measured was about another question.
        hit = spans.shown(replace(now, cosine=None))
        if body is None:
            stale.append(Withheld(hit, "stale"))
            continue
        item = Item(hit, body, "preview")
        wanted = _framed([*map(item_entry, (*chosen, item))], workspace, note)
        if len(wanted) <= GIVEN_BACK_CHARS and len(wanted.encode("utf-8")) <= HARD_CAP_BYTES:
            chosen.append(item)
            text = wanted
        if len(chosen) == GIVEN_BACK:
            break
    decision = Decision(reason, text=text) if chosen else Decision("nothing_given", reason)
    return replace(decision, items=tuple(chosen), withheld=tuple(stale))


def _where_now(workspace: Workspace, hit: Hit) -> Hit:
    """A record whose lines were moved by an edit above it, at the lines where the index has its text now."""
    place = workspace.place
    lines = None
    with (
        contextlib.suppress(HybridError, OSError, sqlite3.DatabaseError),
        Catalog(place.catalog, tree=place.tree, root=place.root, is_read_only=True) as catalog,
    ):
        lines = catalog.lines_of(hit.path, hit.digest, near=hit.start_line)
    return hit if lines is None else replace(hit, start_line=lines[0], end_line=lines[1])


def _orientation(workspace: Workspace) -> Decision:
    """Which project this is, what is used most there, and how to search it."""
    if not workspace.config.hooks.session_start:
        return Decision("off", "hooks.session_start is off")
    if workspace.project is None:
        return Decision("no_project")
    try:
        languages = _languages(workspace)
    except (IndexUnavailableError, OSError, sqlite3.DatabaseError) as error:
        return Decision("no_index", str(error))
    if not languages:
        return Decision("no_index", "the index holds no document")
    used = _most_used(workspace)
    text = _orientation_text(workspace, languages, used)
    while used and len(text) > ORIENTATION_CHARS:
        used = used[:-1]
        text = _orientation_text(workspace, languages, used)
    return Decision("oriented", text=text) if len(text) <= ORIENTATION_CHARS else Decision("budget")


def _orientation_text(workspace: Workspace, languages: Mapping[str, int], used: list[str]) -> str:
    counts = ", ".join(f"{name} {count}" for name, count in list(languages.items())[:_MAIN_LANGUAGES])
    n_documents = sum(languages.values())
    title = f"{workspace.require_project().name}: {n_documents} document{'' if n_documents == 1 else 's'} indexed"
    lines = [f"Found for prompts most often so far: {', '.join(used)}"] if used else []
    return _framed([Entry("project", f"{title} ({counts})", (*lines, _HOW_TO_SEARCH))], workspace, "")


def _languages(workspace: Workspace) -> dict[str, int]:
    """Documents of each language, most first.

    Raises:
        IndexUnavailableError: There is no index, or not one of ours.
        OSError: It cannot be read.
    """
    place = workspace.place
    read_manifest(place.folder)
    with Catalog(place.catalog, tree=place.tree, root=place.root, is_read_only=True) as catalog:
        return catalog.languages()


def _most_used(workspace: Workspace) -> list[str]:
    """The files that were injected most and are still there; the counters may come with a repository."""
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
