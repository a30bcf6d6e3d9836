"""Operations on lore, for people: look up, write down, take back.

Records are read as `hybrid.records.lore.types.listed` gives them, and written into the project's folder, without a
project and with `system` into the user's. What is shown is without secrets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec.structs import replace

from hybrid.base.errors import HybridError, ProjectError
from hybrid.base.text import cut, one_line
from hybrid.knowledge.stores import NO_PROJECT, names_of
from hybrid.operations.asking import BY_HAND, ForAgents, Outcome, changing, operation, require_enabled
from hybrid.operations.lessons import Replace
from hybrid.operations.types import Arguments, Nothing, option, word
from hybrid.records.lore import patterns
from hybrid.records.lore.json_records import DecisionDraft, GitState, HandoffDraft
from hybrid.records.lore.patterns import AntiPatternDraft, PatternDraft
from hybrid.records.lore.store import project_folder
from hybrid.records.lore.types import (
    AntiPattern,
    LoreDecision,
    Pattern,
    best_matches,
    called,
    day_of,
    entry_text,
    full_text,
    latest_handoff,
    listed,
    shown_fields,
    texts_of,
)
from hybrid.records.lore.writing import git_state, head_commit, new_writer
from hybrid.records.types import KINDS, LoreError, NoRecordError
from hybrid.render.frame import Entry, render_entry
from hybrid.render.marks import neutralise_line

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.operations.asking import Asking
    from hybrid.records.lore.store import LoreShelf
    from hybrid.records.lore.types import AnyLore, Listed
    from hybrid.records.lore.writing import LoreDraft, LoreWriter
    from hybrid.workspace import Workspace

_NAME_CHARS = 90


OnlyKinds = Annotated[list[str], option("only this kind", choices=KINDS["lore"].hits)]
AllLore = Annotated[bool, option("withdrawn records and those of other projects too")]
ForAll = Annotated[bool, option("for all projects")]
Forced = Annotated[bool, option("write it although a recent record says nearly the same")]
LoreTitle = Annotated[str, word("title", "NAME")]
LoreCategory = Annotated[str, option("its subject", choices=patterns.CATEGORIES)]


class ListLore(Arguments, frozen=True):
    """A choice of records; `verbose` shows each as an agent is given it."""

    kind: OnlyKinds = []
    all: AllLore = False
    verbose: bool = False


@operation("lore list", "the records of this project")
def list_(asking: Asking, wanted: ListLore) -> Outcome:
    """Return the records that may be given here, or all that the folders hold."""
    nothing = "No lore yet; `hybrid lore --help` shows how it is written down."
    return _records(asking, _chosen(asking, wanted), nothing, is_whole=wanted.verbose)


class SearchLore(Arguments, frozen=True):
    """A query, and a choice of records."""

    query: Annotated[str, word("words, a question", "QUERY", is_sentence=True)]
    limit: Annotated[int, option("records to show", ge=1)] = 10
    kind: OnlyKinds = []
    all: AllLore = False
    verbose: bool = False


@operation("lore search", "records that fit some words", '"bash arithmetic" --kind pattern')
def search(asking: Asking, wanted: SearchLore) -> Outcome:
    """Return records as the search index ranks them, then by words those that it lacks: withdrawn and foreign ones.

    All are ranked by words when the index cannot be used.
    """
    from hybrid.ask.search import best_lore  # They load what searches, which nothing else here needs.
    from hybrid.prompting.query import make_query

    chosen, keys, problem = _chosen(asking, wanted), list[str](), ""
    if asking.workspace.project is not None:
        query = make_query(wanted.query)
        try:
            best = best_lore(asking.workspace, query, asking.kinds, kinds=wanted.kind, top_k=wanted.limit)
            keys = [record.key for record in best]
        except HybridError as error:
            problem = f"ranked by words alone: {error}"
    first = {one.record.key: one for one in reversed(chosen)}
    found = [first[key] for key in keys if key in first]
    taken = {id(one) for one in found}
    rest = best_matches(wanted.query, [one for one in chosen if id(one) not in taken], top_k=wanted.limit)
    records = [*found, *rest][: wanted.limit]
    return _records(asking, records, "Nothing found.", is_whole=wanted.verbose, warning=problem)


class ShowLore(Arguments, frozen=True):
    """A record; `quiet` leaves out the keys that say more."""

    id: Annotated[str, word("of a record; its beginning is enough", "ID")]
    quiet: bool = False


@operation("lore show", "a record with all its keys", "dec-a1b2c3d4")
def show(asking: Asking, wanted: ShowLore) -> Outcome:
    """Return everything of one record.

    Raises:
        LoreError: Several ids begin so.
    """
    one = called(_every(asking), wanted.id)
    if one is None:
        nothing = f"No record {wanted.id}; `hybrid lore list --all` shows ids."
        return _found(asking, [], {"records": []}, nothing)
    text = entry_text(one) if wanted.quiet else full_text(one)
    return _found(asking, [text], {"records": [one.as_json() | {"fields": shown_fields(one.value.fields)}]})


@operation("lore latest", "the latest handoff of this project")
def latest(asking: Asking, wanted: Nothing) -> Outcome:
    """Return the whole of the latest handoff."""
    lores, names = _shelf(asking).read(), names_of(asking.workspace)
    last = latest_handoff(lores, names)
    if last is None:
        return _found(asking, [], {"records": []}, 'No handoff yet; `hybrid lore handoff "…"` leaves one.')
    one = next(one for one in listed(lores, names, is_all=True) if one.value is last)
    lists = {name: list(getattr(last, name)) for name in ("next_steps", "blockers", "questions")}
    parts = shown_fields({"message": last.message, **lists, "created_at": last.created_at or None})
    lines = parts["message"].splitlines()
    for label, key in (("Next", "next_steps"), ("Blocker", "blockers"), ("Question", "questions")):
        lines += [f"{label}: {one_line(text)}" for text in parts[key]]
    text = render_entry(Entry(one.record.kind, one.record.shown, tuple(lines)))
    return _found(asking, [text], {"records": [one.as_json() | {"handoff": parts}]})


# --- changing -----------------------------------------------------------------------------------------------


class AddPattern(Arguments, frozen=True, kw_only=True):
    """A new pattern."""

    name: LoreTitle
    problem: Annotated[str, option("what goes wrong otherwise", "TEXT", is_long=True)] = ""
    solution: Annotated[str, option("what to do", "TEXT", is_long=True)]
    context: Annotated[str, option("when it applies", "TEXT")] = ""
    confidence: Annotated[float, option("how sure it is, 0 to 1", "C")] = patterns.DEFAULT_CONFIDENCE
    category: LoreCategory = "general"
    system: ForAll = False
    force: Forced = False


@changing(
    "lore pattern",
    "add a pattern: a solution that proved itself",
    'add "Quote paths" --problem "spaces split them" --solution "write \\"$path\\""',
)
def pattern(asking: Asking, wanted: AddPattern) -> Outcome:
    """Write a pattern down.

    Raises:
        HybridError: As of `_added`; or the confidence is none.
    """
    _require(wanted, "name", "solution")
    if not 0 < wanted.confidence <= 1:
        raise LoreError("the confidence must lie above 0 and be at most 1: a pattern of 0 is never given")
    texts = wanted.name, wanted.solution, wanted.context, wanted.problem, wanted.category
    return _added(_placed(asking, wanted), wanted, PatternDraft(*texts, wanted.confidence))


class AddAntiPattern(Arguments, frozen=True, kw_only=True):
    """A new anti-pattern."""

    name: LoreTitle
    symptom: Annotated[str, option("how it shows", "TEXT", is_long=True)]
    risk: Annotated[str, option("what it leads to", "TEXT")] = ""
    fix: Annotated[str, option("what to do instead", "TEXT", is_long=True)]
    severity: Annotated[str, option("how bad it is", choices=patterns.SEVERITIES)] = "medium"
    category: LoreCategory = "general"
    system: ForAll = False
    force: Forced = False


@changing(
    "lore anti-pattern",
    "add an anti-pattern: what not to do",
    'add "Parsing ls output" --symptom "names with spaces split" --fix "use a glob"',
)
def anti_pattern(asking: Asking, wanted: AddAntiPattern) -> Outcome:
    """Write an anti-pattern down; raises as `_added`."""
    _require(wanted, "name", "symptom", "fix")
    texts = wanted.name, wanted.symptom, wanted.risk, wanted.fix, wanted.category, wanted.severity
    return _added(_placed(asking, wanted), wanted, AntiPatternDraft(*texts))


class AddDecision(Arguments, frozen=True):
    """A new decision."""

    text: Annotated[str, word("what was decided, in one sentence", "TEXT", is_sentence=True, max_length=4000)]
    why: Annotated[str, option("the reason", "REASON", is_long=True, max_length=8000)]
    alternative: Annotated[list[str], option("what was rejected", "TEXT", max_length=20)] = []
    tag: Annotated[list[str], option("word to find it by", "WORD", max_length=20)] = []
    system: ForAll = False
    force: Forced = False


@changing(
    "lore decide",
    "write down a decision",
    '"Use JSONL for storage" --why "append-only, grep-friendly" --alternative SQLite',
    for_agents=ForAgents(
        "Write a decision down",
        "Write down a choice that others may ask about, with its reason and what was rejected.",
        tool="decide",
        takes=("text", "why", "alternative", "tag"),
    ),
)
def decide(asking: Asking, wanted: AddDecision) -> Outcome:
    """Write a decision down, with the agent that asks as its author; raises as `_added`, or as lore is off for it."""
    author = "" if asking.client == BY_HAND else asking.client
    if author:
        require_enabled(asking, "lore")
    _require(wanted, "text", "why")
    asking = _placed(asking, wanted)
    project = asking.workspace.project
    commit = head_commit(project.root) if project else None
    draft = DecisionDraft(wanted.text, wanted.why, tuple(wanted.alternative), tuple(wanted.tag), commit, author)
    return _added(asking, wanted, draft)


class LeaveHandoff(Arguments, frozen=True):
    """A new handoff."""

    message: Annotated[str, word("where things stand", "MESSAGE", is_sentence=True, is_long=True)]
    next: Annotated[list[str], option("what to do next", "STEP")] = []
    blocker: Annotated[list[str], option("what blocks it", "TEXT")] = []
    question: Annotated[list[str], option("what is open", "TEXT")] = []
    system: ForAll = False
    force: Forced = False


AddLore = AddPattern | AddAntiPattern | AddDecision | LeaveHandoff


class RetractLore(Arguments, frozen=True):
    """A record to take back, and why."""

    id: Annotated[str, word("of a decision, a pattern or an anti-pattern", "ID")]
    reason: Annotated[str, option("kept with a decision", "TEXT")]


@changing(
    "lore retract", "take a decision back, or deprecate a pattern", 'dec-a1b2c3d4 --reason "SQLite is needed after all"'
)
def retract(asking: Asking, wanted: RetractLore) -> Outcome:
    """Take a decision back, or deprecate a pattern.

    Raises:
        LoreError: There is no such record, it is a handoff, or a file cannot be written.
    """
    identity = _whole_id(asking, wanted.id)
    is_changed = _writer(asking).retract(identity, wanted.reason)
    return _written(asking, identity, "retracted" if is_changed else "was withdrawn already")


@changing("lore supersede", "let a decision take the place of another", "dec-a1b2c3d4 dec-0f1e2d3c")
def supersede(asking: Asking, wanted: Replace) -> Outcome:
    """Mark a decision as superseded by another one, which is there already.

    Raises:
        LoreError: One of them is no decision, or a file cannot be written.
    """
    old, new = _whole_id(asking, wanted.old), _whole_id(asking, wanted.new)
    is_changed = _writer(asking).supersede(old, new)
    return _written(asking, old, f"superseded by {new}" if is_changed else "was withdrawn already")


class OneLore(Arguments, frozen=True):
    """A record by its id."""

    id: Annotated[str, word("of a decision, a pattern or an anti-pattern", "ID")]


@changing("lore promote", "make a record of one project one for all projects", "dec-a1b2c3d4")
def promote(asking: Asking, wanted: OneLore) -> Outcome:
    """Write a record once more for all projects, and take the one of its project back.

    Raises:
        LoreError: There is no such record, it counts everywhere already, is a handoff or taken back, or a file cannot
            be written.
    """
    everywhere = replace(asking, workspace=replace(asking.workspace, project=None))
    identity = _whole_id(asking, wanted.id)
    one = called(_every(asking), identity)
    if one is None or one.status != "active":
        raise LoreError(f"{identity} is not active: only an active record is promoted")
    if called(_every(everywhere, is_all=False), identity):
        raise LoreError(f"{identity} counts in all projects already")
    copy = _writer(everywhere).add(_draft_of(one.value), is_forced=True)  # The one that it replaces says the same.
    _writer(asking).retract(identity, f"promoted: {copy}")
    return _written(everywhere, copy, f"was {identity}, for all projects")


def _draft_of(value: AnyLore) -> LoreDraft:
    """Return a record as one that is still to be written; raises `LoreError` for a handoff, which is of one project."""
    if isinstance(value, Pattern):
        return PatternDraft(value.name, value.solution, value.context, value.problem, value.category, value.confidence)
    if isinstance(value, AntiPattern):
        return AntiPatternDraft(value.name, value.symptom, value.risk, value.fix, value.category, value.severity)
    if isinstance(value, LoreDecision):
        alternatives, tags = (texts_of(value.fields.get(name)) for name in ("alternatives", "tags"))
        return DecisionDraft(value.decision, value.rationale, alternatives, tags)
    raise LoreError("a handoff is of one project and is not promoted")


@changing(
    "lore handoff", "leave a note for the next session", '"Login works, OAuth is missing" --next "register the app"'
)
def handoff(asking: Asking, wanted: LeaveHandoff) -> Outcome:
    """Write down a handoff to the next session; raises as `_added`."""
    _require(wanted, "message")
    asking = _placed(asking, wanted)
    project = asking.workspace.project
    git = git_state(project.root) if project else GitState()
    lists = tuple(wanted.next), tuple(wanted.blocker), tuple(wanted.question)
    return _added(asking, wanted, HandoffDraft(wanted.message, *lists, git))


# --- parts --------------------------------------------------------------------------------------------------


def left_out(workspace: Workspace, shelf: LoreShelf) -> str:
    """Return that a tree's own lore is not read, since nobody accepted the tree; empty where it is read."""
    own = project_folder(workspace.project.root) if workspace.project else None
    folders = [store.folder.path for store in shelf.stores]
    if own is None or any(path.exists() and own.samefile(path) for path in folders):
        return ""
    return f"{own} was left out: nobody accepted it yet; run `hybrid trust`"


def _shelf(asking: Asking) -> LoreShelf:
    return asking.kinds.stores.shelf(asking.workspace)


def _every(asking: Asking, *, is_all: bool = True) -> list[Listed]:
    return listed(_shelf(asking).read(), names_of(asking.workspace), is_all=is_all)


def _chosen(asking: Asking, wanted: ListLore | SearchLore) -> list[Listed]:
    return [one for one in _every(asking, is_all=wanted.all) if not wanted.kind or one.record.kind in wanted.kind]


def _records(asking: Asking, records: Sequence[Listed], nothing: str, *, is_whole: bool, warning: str = "") -> Outcome:
    lines = [entry_text(one) if is_whole else _line(one) for one in records]
    return _found(asking, lines, {"records": [one.as_json() for one in records]}, nothing, warning)


def _found(asking: Asking, lines: Sequence[str], data: dict[str, Any], nothing: str = "", warning: str = "") -> Outcome:
    """Return what was found, or a sentence that nothing was; with the folder that is not read, as a warning."""
    warnings = filter(None, (left_out(asking.workspace, _shelf(asking)), warning))
    return Outcome("\n".join(lines) or nothing, data=data, is_found=bool(lines), warning="; ".join(warnings))


def _line(one: Listed) -> str:
    record = one.record
    named = neutralise_line(record.name or " ".join(record.lines))
    notes = [] if one.status == "active" else [one.status]
    notes += [] if record.is_attributed else ["unattributed"]
    note = f"  [{', '.join(map(neutralise_line, notes))}]" if notes else ""
    first = f"{neutralise_line(record.id):<20}  {record.kind:<12}  {day_of(record.created_at):<10}"
    return f"{first}  {cut(named, _NAME_CHARS)}{note}"


def _require(wanted: AddLore, *names: str) -> None:
    for name in names:
        if not getattr(wanted, name).strip():
            raise LoreError(f"the {name} is empty; a record must say something")


def _placed(asking: Asking, wanted: AddLore) -> Asking:
    """Return the question as of where a new record belongs: with `system` outside of any project.

    Raises:
        ProjectError: There is no project here, and it is not for all.
    """
    if wanted.system:  # What names no project counts in every one.
        return replace(asking, workspace=replace(asking.workspace, project=None))
    if asking.workspace.project is None:
        raise ProjectError(NO_PROJECT)
    return asking


def _added(asking: Asking, wanted: AddLore, draft: LoreDraft) -> Outcome:
    """Write a record into the folder for new ones, and return its id.

    Raises:
        LoreError: A recent record says nearly the same, and it is not forced; or the file cannot be written.
    """
    return _written(asking, _writer(asking).add(draft, is_forced=wanted.force))


def _writer(asking: Asking) -> LoreWriter:
    """Return a writer of lore for this project, which dates its records now."""
    return new_writer(_shelf(asking), names_of(asking.workspace), asking.now_ms / 1000)


def _written(asking: Asking, identity: str, what: str = "written") -> Outcome:
    one = called(_every(asking), identity)
    folder = str(_shelf(asking).stores[0].folder.path)
    data = {"id": identity, "folder": folder, "records": [one.as_json()] if one else []}
    return _found(asking, [f"{identity}  {what}"], data)


def _whole_id(asking: Asking, beginning: str) -> str:
    found = called(_every(asking), beginning)
    if found is None:
        raise NoRecordError(f"no record {beginning}; `hybrid lore list --all` shows ids")
    return found.record.id
