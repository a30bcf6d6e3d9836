"""Operations of the page on lessons and lore: look through, add, change, promote, take away; as the commands do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TypeVar

from msgspec import ValidationError, convert
from msgspec.structs import fields, replace

from hybrid.base.errors import HybridError
from hybrid.base.text import one_line
from hybrid.knowledge.stores import names_of, open_stores
from hybrid.operations import page_types as types
from hybrid.operations.asking import OperationError, Outcome
from hybrid.records.lessons.types import AI, CATEGORIES, TYPES, Draft, LessonEdit, id_form, index_line, shown
from hybrid.records.lore.json_records import DecisionDraft, HandoffDraft
from hybrid.records.lore.patterns import AntiPatternDraft, PatternDraft
from hybrid.records.lore.types import best_matches, listed, shown_fields
from hybrid.records.lore.writing import git_state, head_commit, new_writer
from hybrid.records.scoring import LessonScorer
from hybrid.records.types import DuplicateError, LessonsError
from hybrid.redact import redact

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid.knowledge.stores import Stores
    from hybrid.operations.asking import Asking
    from hybrid.records.lessons.types import Lesson
    from hybrid.records.lore.types import Listed
    from hybrid.records.lore.writing import LoreDraft, LoreWriter


NOT_THERE = "the folder of this project is gone or is no project any more, so nothing can be written down for it"
"""Says why nothing is written down for a project: without it, what is meant for one would reach the others."""


# --- lessons ----------------------------------------------------------------------------------------------


def lessons(asking: Asking, wanted: types.PageLessonsArguments) -> Outcome:
    """Return the lessons of the project and those for all projects, most used first, or as a query ranks them.

    Raises:
        LessonsError: A file cannot be read, or the id is none.
    """
    stores = open_stores(asking.workspace)
    read = [store.read() for store in stores.all]
    every = [lesson for one in read for lesson in one.lessons]
    if wanted.id:
        chosen = [lesson for lesson in every if lesson.id == id_form(wanted.id)]
    else:
        chosen = [lesson for lesson in every if wanted.is_all or lesson.is_active]
        chosen = _fitting(wanted.query, chosen) if wanted.query.strip() else sorted(chosen, key=_by_use)
    found = types.PageLessons(
        lessons=[_lesson(lesson) for lesson in chosen],
        categories=list(dict.fromkeys([*CATEGORIES, *(shown(lesson).category for lesson in every if lesson.category)])),
        types=list(TYPES),
        files=[str(store.file) for store in stores.all],
        unread=[str(path) for path in stores.foreign],
        problems=[redact(str(problem)) for one in read for problem in one.problems],
        is_enabled=asking.workspace.config.lessons.enabled,
    )
    return Outcome(found)


def _by_use(lesson: Lesson) -> tuple[bool, int, float, str]:
    return not lesson.is_active, -lesson.uses, -lesson.velocity, lesson.id


def _fitting(query: str, lessons: Sequence[Lesson]) -> list[Lesson]:
    """Return the lessons that share a word with a query, best first; then those that hold it as a part."""
    hits = [scored.lesson for scored in LessonScorer(lessons).score(query) if scored.relevance]
    part, taken = query.strip().lower(), {id(lesson) for lesson in hits}
    rest = [lesson for lesson in lessons if id(lesson) not in taken]
    return [*hits, *(one for one in rest if part in f"{one.id}\n{one.title}\n{one.content}".lower())]


def _lesson(lesson: Lesson) -> types.PageLesson:
    one = shown(lesson)
    return types.PageLesson(
        id=one.id,
        title=one.title,
        content=one.content,
        category=one.category,
        type=one.type,
        by_agent=one.source == AI,
        triggers=list(one.triggers),
        superseded=one.superseded,
        is_promotable=one.is_promotable,
        stars=one.stars,
        uses=one.uses,
        velocity=one.velocity,
        trust=one.trust,
        learned=one.learned,
        last=one.last,
        injections=one.injections,
        citations=one.citations,
    )


def add_lesson(asking: Asking, wanted: types.PageLessonAddArguments) -> Outcome:
    """Write a lesson; one that says nearly the same as another is written only when that is wanted.

    Raises:
        HybridError: Lessons are off, the project is not there, or the file cannot be written.
    """
    _require_enabled(asking)
    stores = open_stores(asking.workspace)
    store = stores.system if wanted.is_system else stores.project
    if store is None:
        raise OperationError(NOT_THERE)
    _require(wanted.content)
    draft = Draft(wanted.title, wanted.content, wanted.category, type=wanted.type, triggers=tuple(wanted.triggers))
    added = store.add(draft, today=asking.today, is_forced=wanted.is_forced)
    if added.lesson is not None:
        return _done(f"Added {index_line(added.lesson)}", added.lesson.id)
    twin = index_line(added.duplicate_of) if added.duplicate_of else "another lesson"
    return Outcome(types.PageDone(message=f"Not added: it resembles {twin}", is_done=False))


def edit_lesson(asking: Asking, wanted: types.PageLessonEditArguments) -> Outcome:
    """Change what differs in a lesson; a text that a secret was masked in stays as it is in the file, unless changed.

    Raises:
        HybridError: Lessons are off, there is no such lesson, or a value cannot stand in one.
    """
    _require_enabled(asking)
    name, store = _stores(asking, wanted.id).named(wanted.id)
    _require(wanted.content)
    before = shown(store.find(name))
    triggers = tuple(wanted.triggers)
    # What a person was shown is compared: a line that was masked there is not written over its original.
    edit = LessonEdit(
        title=wanted.title if wanted.title.strip() != before.title else None,
        content=wanted.content if _plain(wanted.content) != _plain(before.content) else None,
        category=wanted.category if wanted.category != before.category else None,
        type=wanted.type if wanted.type != before.type else None,
        triggers=triggers if triggers != before.triggers else None,
    )
    if edit == LessonEdit():
        return Outcome(types.PageDone(message=f"{name} is as it was", ref=name, is_done=False))
    return _done(f"Changed {index_line(store.edit(name, edit))}", name)


def _plain(text: str) -> str:
    """Return a text as a form of the page sends it back, but for the line ends."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


def supersede_lesson(asking: Asking, wanted: types.PageReplaceArguments) -> Outcome:
    """Mark a lesson as replaced by another one.

    Raises:
        HybridError: One of them is not there, or the other one is superseded itself.
    """
    stores = _stores(asking, wanted.old, wanted.new)
    old, new = stores.supersede(wanted.old, wanted.new).id, id_form(wanted.new)
    return _done(f"{old} is superseded by {new}", old)


def promote_lesson(asking: Asking, wanted: types.PageIdArguments) -> Outcome:
    """Make a lesson of the project one for all projects.

    Raises:
        HybridError: Lessons are off, there is no such lesson, it is for all projects already, or it must not be
            promoted.
    """
    _require_enabled(asking)
    copy = _stores(asking, wanted.id).promote(wanted.id, asking.today)
    return _done(f"{id_form(wanted.id)} is now {copy.id}, for all projects", copy.id)


def delete_lesson(asking: Asking, wanted: types.PageIdArguments) -> Outcome:
    """Mark a lesson as deleted.

    Raises:
        HybridError: There is no such lesson.
    """
    name, store = _stores(asking, wanted.id).named(wanted.id)
    return _done(f"Deleted {index_line(store.delete(name))}", name)


def _require_enabled(asking: Asking) -> None:
    if not asking.workspace.config.lessons.enabled:
        raise OperationError("lessons are switched off here (`lessons.enabled`)")


def _stores(asking: Asking, *ids: str) -> Stores:
    """Return the stores of lessons.

    Raises:
        LessonsError: A text is no id.
        OperationError: An id is of a lesson of the project, and the project is not there.
    """
    stores = open_stores(asking.workspace)
    if any(stores.of(id_form(one)) is None for one in ids):
        raise OperationError(NOT_THERE)
    return stores


def _require(content: str) -> None:
    if not content.strip():
        raise LessonsError("a lesson needs a content: what to do, or what to leave")


def _done(message: str, ref: str) -> Outcome:
    return Outcome(types.PageDone(message=message, ref=ref))


# --- lore -------------------------------------------------------------------------------------------------


def lore(asking: Asking, wanted: types.PageLoreArguments) -> Outcome:
    """Return a page of lore: what may be given here, or everything; with words the records that hold them.

    Raises:
        HybridError: A file cannot be read.
    """
    shelf, names = asking.kinds.stores.shelf(asking.workspace), names_of(asking.workspace)
    every = listed(shelf.read(), names, is_all=wanted.is_all or bool(wanted.id))
    chosen = [one for one in every if not wanted.kind or one.record.kind == wanted.kind]
    if wanted.id:
        chosen = [one for one in chosen if one.record.id == wanted.id][:1]
    if wanted.query.strip():
        chosen = best_matches(wanted.query, chosen, top_k=len(chosen) or 1)
    page = chosen[wanted.skip : wanted.skip + wanted.limit]
    records = [_lore(one, has_fields=bool(wanted.id)) for one in page]
    enabled = asking.workspace.config.lore.enabled
    return Outcome(types.PageLore(records=records, total=len(chosen), is_enabled=enabled))


def _lore(one: Listed, *, has_fields: bool) -> types.PageLoreRecord:
    record = one.record
    fields = shown_fields(one.value.fields) if has_fields else {}
    texts = {
        key: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False) for key, value in fields.items()
    }
    return types.PageLoreRecord(
        id=record.id,
        kind=record.kind,
        name=one_line(record.name),
        lines=[redact(line) for line in record.lines],
        status=one.status,
        created_at=record.created_at,
        project=record.project,
        is_attributed=record.is_attributed,
        fields=list(texts.items()),
    )


def add_lore(asking: Asking, wanted: types.PageLoreAddArguments) -> Outcome:
    """Write a record; one that says nearly the same as a recent one is written only when that is wanted.

    Raises:
        HybridError: Lore is off, the project is not there, a part is empty that a record needs, there is no such part,
            or the file cannot be written.
    """
    if not asking.workspace.config.lore.enabled:
        raise OperationError("lore is switched off here (`lore.enabled`)")
    if asking.workspace.project is None:
        raise OperationError(NOT_THERE)
    draft = _draft(asking, wanted.kind, wanted.texts)
    try:
        ref = _writer(asking).add(draft, is_forced=wanted.is_forced)
    except DuplicateError as error:
        message = str(error).partition("; --force")[0]
        return Outcome(types.PageDone(message=redact(message), is_done=False))
    return _done(f"Wrote down {wanted.kind} {ref}", ref)


NEEDED: Mapping[types.LoreKind, tuple[str, ...]] = {
    "pattern": ("name", "solution"),
    "anti-pattern": ("name", "symptom", "fix"),
    "decision": ("decision", "rationale"),
    "handoff": ("message",),
}
"""Kind → the parts of a record that must say something, as the commands want them."""


def _draft(asking: Asking, kind: types.LoreKind, texts: Mapping[str, str]) -> LoreDraft:
    """Return the draft of a record.

    Raises:
        OperationError: A part is empty that it needs, or is none, or has no such form.
    """
    empty = [name for name in NEEDED[kind] if not texts.get(name, "").strip()]
    if empty:
        raise OperationError(f"the {empty[0]} is empty; a record must say something")
    root = asking.workspace.require_project().root
    made: dict[str, object] = {name: text for name, text in texts.items() if text.strip()}
    for name in _LISTS & made.keys():
        made[name] = tuple(line.strip() for line in texts[name].splitlines() if line.strip())
    if kind == "pattern":
        return _converted(PatternDraft, made)
    if kind == "anti-pattern":
        return _converted(AntiPatternDraft, {"risk": "", **made})
    if kind == "decision":
        return _converted(DecisionDraft, {**made, "git_commit": head_commit(root)})
    return replace(_converted(HandoffDraft, made), git=git_state(root))


_LISTS = frozenset(("alternatives", "tags", "next_steps", "blockers", "questions"))
_Draft = TypeVar("_Draft", PatternDraft, AntiPatternDraft, DecisionDraft, HandoffDraft)


def _converted(form: type[_Draft], parts: Mapping[str, object]) -> _Draft:
    unknown = sorted(parts.keys() - {one.name for one in fields(form)})
    if unknown:
        raise OperationError(f"{unknown[0][:40]!r} is no part of a {form.kind}")
    try:
        draft = convert(parts, form, strict=False)
    except ValidationError as error:
        raise OperationError(f"a part has no such form: {error}") from error
    if isinstance(draft, PatternDraft) and not 0 < draft.confidence <= 1:
        raise OperationError("the confidence must lie above 0 and be at most 1: a pattern of 0 is never given")
    return draft


def retract(asking: Asking, wanted: types.PageRetractArguments) -> Outcome:
    """Take a decision back, or deprecate a pattern.

    Raises:
        HybridError: There is no such record, it is a handoff, or a file cannot be written.
    """
    is_changed = _writer(asking).retract(_known(asking, wanted.id), wanted.reason)
    message = f"{wanted.id} is retracted" if is_changed else f"{wanted.id} was withdrawn already"
    return Outcome(types.PageDone(message=message, ref=wanted.id, is_done=is_changed))


def supersede_lore(asking: Asking, wanted: types.PageReplaceArguments) -> Outcome:
    """Mark a decision as superseded by another one.

    Raises:
        HybridError: One of them is no decision, or a file cannot be written.
    """
    old, new = _known(asking, wanted.old), _known(asking, wanted.new)
    is_changed = _writer(asking).supersede(old, new)
    message = f"{old} is superseded by {new}" if is_changed else f"{old} was withdrawn already"
    return Outcome(types.PageDone(message=message, ref=old, is_done=is_changed))


def _writer(asking: Asking) -> LoreWriter:
    shelf = asking.kinds.stores.shelf(asking.workspace)
    return new_writer(shelf, names_of(asking.workspace), asking.now_ms / 1000)


def _known(asking: Asking, identity: str) -> str:
    """Return the id of a record that is there.

    Raises:
        OperationError: None has it.
        HybridError: A file cannot be read.
    """
    try:
        return _writer(asking).find(identity.strip()).id
    except HybridError as error:
        raise OperationError(f"there is no record {identity[:60]!r}") from error
