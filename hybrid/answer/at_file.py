"""Gives an agent the records about a file when it reads, finds or edits it, and after an edit the tests of the file.

`events` calls it with the result of a tool. What a record is about is told by the names in it (`knowledge.named_code`),
so nothing is searched or embedded: it costs a tool's hook less than a millisecond.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from hybrid.answer.decide import Decision
from hybrid.answer.holdout import HELD_OUT
from hybrid.answer.pack import shortened_item
from hybrid.base.errors import HybridError
from hybrid.base.text import chunk_digest
from hybrid.capture.cleaning import cleaned_value
from hybrid.capture.tools import tool_use
from hybrid.knowledge.collections import notes_on, record_body, record_entry, record_hit
from hybrid.records.lore.types import seconds_of
from hybrid.redact import redact
from hybrid.render.frame import Entry, Footer, render_entry, render_frame
from hybrid.render.numbers import amount
from hybrid.types import Item

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hybrid.answer.decide import Turn
    from hybrid.knowledge.named_code import ProjectCode
    from hybrid.records.types import Record
    from hybrid.search.searcher import Searcher
    from hybrid.session.ledger import Ledger
    from hybrid.types import ToolCall

MOST_AT_ONCE = 2
CHARS = 600
"""Records, and characters of their text, for one use of a tool: it is a word beside a result, not an injection."""
_MOST_TESTS = 3
_DAY_S = 86_400


def records_at_file(turn: Turn, ledger: Ledger) -> Decision:
    """Return the records about the files of a use of a tool that the session does not have, and tests of an edited one.

    Args:
        turn: A turn with a use of a tool.
        ledger: The ledger of its session.
    """
    workspace, call = turn.workspace, turn.event.call
    nothing = Decision("ignored")
    if call is None or workspace.project is None:
        return nothing
    use = turn.use
    if use is not None and use.failed and workspace.config.memory.remedies:
        return _remedy(turn, call, ledger) or nothing
    if use is None or not (use.read or use.written):
        return nothing
    try:
        searcher = turn.kinds.searcher(workspace)
    except (HybridError, OSError):
        return nothing  # There is no index, or it is being opened: the next use finds it.
    settings = workspace.config.hooks
    found = [*_items(turn, searcher, [*use.written, *use.read], ledger)] if settings.at_file else []
    held = tuple(item for item, _ in found if turn.holds_out(item.hit.path))
    items = [one for one in found if one[0] not in held]
    tests = _tests(turn, searcher, use.written, ledger) if settings.tests_of_edited else {}
    noted = (*map(_digest_of_tests, tests), *(item.hit.digest for item in held))
    if not (items or tests):
        return Decision(HELD_OUT, "at_file", held=held, noted=noted) if held else nothing
    is_redacting = workspace.config.privacy.redact
    entries = [record_entry(record, item, "", is_redacting=is_redacting) for item, record in items]
    entries += [Entry("tests", f"{', '.join(names)} (of {path})") for path, names in tests.items()]
    has_lessons = any(item.hit.kind == "lesson" for item, _ in items)
    text = render_frame(entries, fmt=settings.format, footer=Footer(cites_lessons=has_lessons))
    told = ", ".join(f"tests of {path}" for path in tests)
    return Decision("at_file", told, text, items=tuple(item for item, _ in items), held=held, noted=noted)


def _remedy(turn: Turn, call: ToolCall, ledger: Ledger) -> Decision | None:
    """Return what made the same failure of a command pass in another session; None if that is not known, or given."""
    from hybrid.capture.extraction.commands import run_of  # Few commands fail.

    workspace, run = turn.workspace, run_of(cleaned_value(tool_use(call, turn.roots)))
    if run is None or not run.error or not workspace.config.memory.enabled:
        return None
    store = turn.kinds.stores.memory(workspace)
    remedy = store.remedy(workspace.require_project().key, run, not_session=turn.event.session_id)
    digest = chunk_digest("\0".join(("remedy", run.form, run.error)))
    if remedy is None or digest.hex() in ledger.given:
        return None
    if turn.holds_out(f"o{remedy.observation_id}"):
        return Decision(HELD_OUT, "at_failure", noted=(digest,))
    title = f"o{remedy.observation_id} `{run.form}` failed like this before ({run.error})"
    steps = f"It passed after: {'; '.join(remedy.steps)} ({amount(remedy.n_worked, 'time')})."
    settings = workspace.config.hooks
    text = render_frame([Entry("memory", title, (steps,))], fmt=settings.format, footer=Footer())
    return Decision("at_failure", f"o{remedy.observation_id}", text, noted=(digest,))


def _items(turn: Turn, searcher: Searcher, files: Sequence[str], ledger: Ledger) -> Iterator[tuple[Item, Record]]:
    """Yield what of the records about some files is new to the session and fits, each with its record."""
    is_redacting, left = turn.workspace.config.privacy.redact, CHARS
    n_given = 0
    for path, file, record, code in _about(turn, searcher, files):
        hit = record_hit(path, record)
        if hit.digest.hex() in ledger.given:
            continue
        body = record_body(record, is_redacting=is_redacting, notes=notes_on(record, code))
        room = left

        def is_fitting(one: Item, record: Record = record, room: int = room) -> bool:
            return len(render_entry(record_entry(record, one, "", is_redacting=is_redacting))) <= room

        item = shortened_item(Item(hit, body, "full", body), is_fitting, most=room)
        if not is_fitting(item):
            continue
        yield replace(item, why=f"about {redact(file)}"), record
        left -= len(render_entry(record_entry(record, item, "", is_redacting=is_redacting)))
        n_given += 1
        if n_given == MOST_AT_ONCE:
            return


def _about(turn: Turn, searcher: Searcher, files: Sequence[str]) -> Iterator[tuple[str, str, Record, ProjectCode]]:
    """Yield the records about some files, the surest of each first: path in the index, file, record, the code."""
    if searcher.lender or not searcher.is_whole:
        return  # The index of another tree says nothing of this one's names.
    naming = turn.kinds.naming(turn.workspace)
    from hybrid.knowledge.named_code import ProjectCode  # Brings numpy.

    lore = turn.workspace.config.lore
    since_s = turn.at_ms / 1000 - lore.handoff_days * _DAY_S
    root = turn.workspace.require_project().root
    code = ProjectCode(root, searcher.backend, searcher.history, frozenset())
    for file in files:
        for path in naming.about(file, code):
            record = naming.by_path[path]
            if record.kind != "handoff" or seconds_of(record.created_at) >= since_s:
                yield path, file, record, code


def _tests(turn: Turn, searcher: Searcher, written: Sequence[str], ledger: Ledger) -> dict[str, list[str]]:
    """Return file → the tests that clearly cover it, three in all, for files that the session had not edited."""
    if searcher.lender or not searcher.is_whole:
        return {}
    from hybrid.search.covering_tests import covering_tests  # Brings numpy.

    root = turn.workspace.require_project().root
    found: dict[str, list[str]] = {}
    n_left = _MOST_TESTS
    for path in written:
        if n_left and _digest_of_tests(path).hex() not in ledger.given and redact(path) == path:
            tests = [one for one in covering_tests(searcher, path) if redact(one) == one and (root / one).is_file()]
            if tests:
                found[path] = tests[:n_left]
                n_left -= len(found[path])
    return found


def _digest_of_tests(path: str) -> bytes:
    """Return the digest by which the ledger knows that the session was told the tests of a file."""
    return chunk_digest(f"tests of {path}")
