"""Operations on lessons, for people: look up, count, write down, change.

Every change is made by the store of the lesson's own file; what is shown is without secrets.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

from msgspec import Meta, Struct
from msgspec.structs import replace

from hybrid.base.atomic import read_regular
from hybrid.base.errors import HybridError
from hybrid.base.text import one_line
from hybrid.chunking.languages import kind_of, language_of
from hybrid.knowledge.stores import open_stores
from hybrid.log.outcomes import USED
from hybrid.operations.asking import BY_HAND, ForAgents, Outcome, Shown, changing, operation
from hybrid.operations.types import Arguments, Limit, Nothing, option, word
from hybrid.records.lessons.reranking import COMMAND_S, reranker
from hybrid.records.lessons.types import (
    AI,
    CATEGORIES,
    TYPES,
    Draft,
    LessonEdit,
    full_lines,
    hit_lines,
    id_form,
    index_line,
    is_id,
    shown,
    shown_line,
)
from hybrid.records.scoring import MAX_RELEVANCE, LessonScorer
from hybrid.records.types import LessonsError
from hybrid.redact import redact
from hybrid.render.numbers import amount, local_time

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from hybrid.knowledge.stores import Stores
    from hybrid.operations.asking import Asking
    from hybrid.records.lessons.types import Lesson
    from hybrid.records.types import Record
    from hybrid.workspace import Workspace

_NOTHING = "No lessons found"


class ListLessons(Arguments, frozen=True):
    """A choice of lessons; `verbose` shows each whole."""

    search: Annotated[str, option("only lessons that hold these words, the best first", "TEXT")] = ""
    category: Annotated[str, option("only of this category", choices=CATEGORIES)] = ""
    all: Annotated[bool, option("superseded and deleted ones too")] = False
    verbose: bool = False


@operation("lessons list", "the lessons of this project and those for all projects", "--search commit")
def list_(asking: Asking, wanted: ListLessons) -> Outcome:
    """Return lessons in the order of their files, or as a search ranks them."""
    stores = open_stores(asking.workspace)
    lessons = [lesson for lesson in _all(stores) if wanted.all or lesson.is_active]
    if wanted.category:
        lessons = [lesson for lesson in lessons if lesson.category == wanted.category]
    if wanted.search.strip():
        lessons = _matching(wanted.search, lessons)
    lines = ["\n".join(full_lines(lesson)) if wanted.verbose else index_line(lesson) for lesson in lessons]
    return _found(lines, {"lessons": [_json(lesson) for lesson in lessons]}, stores=stores)


class OneLesson(Arguments, frozen=True):
    """A lesson."""

    id: Annotated[str, word("of the lesson, in any case: L001", "ID")]


@operation("lessons show", "one lesson, whole", "L001")
def show(asking: Asking, wanted: OneLesson) -> Outcome:
    """Return the lessons with an id; more than one after branches were merged.

    Raises:
        LessonsError: The text is no id.
    """
    stores = open_stores(asking.workspace)
    lessons = _named(wanted.id, stores)
    nothing = f"No lesson {id_form(wanted.id)}; `hybrid lessons list` shows all."
    data = {"lessons": [_json(lesson) for lesson in lessons]}
    return _found(["\n".join(full_lines(lesson)) for lesson in lessons], data, nothing, stores)


class ScoreLessons(Arguments, frozen=True):
    """A query, and how well a lesson must fit it."""

    query: Annotated[str, word("a prompt, or words", "QUERY", is_sentence=True)]
    top: Annotated[int, option("lessons to show", "N", ge=1)] = 5
    min_score: Annotated[int, option("least relevance", "N", ge=0, le=10)] = 1


@operation(
    "lessons score",
    "how well lessons fit a query, by their words",
    '"how should I format git commits?" --top 3',
)
def score(asking: Asking, wanted: ScoreLessons) -> Outcome:
    """Return the lessons that fit a query, best first."""
    stores = open_stores(asking.workspace)
    lessons = [lesson for lesson in _all(stores) if lesson.is_active]
    hits = LessonScorer(lessons).best(wanted.query, top_k=wanted.top, min_relevance=wanted.min_score)
    ask = reranker(asking.workspace.config.lessons, os.environ, time.monotonic() + COMMAND_S)
    order = ask(wanted.query, [hit.lesson for hit in hits]) if ask and len(hits) > 1 else None
    if order is not None:
        hits.sort(key=lambda hit: order.index(hit.lesson.id))
    hits = [replace(hit, lesson=shown(hit.lesson)) for hit in hits]
    forms = [_json(hit.lesson) | {"relevance": hit.relevance, "bm25": hit.bm25} for hit in hits]
    return _found([hit_lines(hit) for hit in hits], {"query": wanted.query, "lessons": forms}, stores=stores)


class LessonStats(Arguments, frozen=True):
    """The lessons that are counted: all, or one."""

    id: Annotated[str, word("only of this lesson", "ID")] = ""
    weekly: Annotated[bool, option("given and cited per week, from the event log")] = False


@operation("lessons stats", "how often lessons were given, cited and used", "--weekly")
def stats(asking: Asking, wanted: LessonStats) -> Outcome:
    """Count lessons and their use."""
    if wanted.weekly:
        return _weekly(asking.workspace, id_form(wanted.id) if wanted.id else None)
    stores = open_stores(asking.workspace)
    lessons = _named(wanted.id, stores) if wanted.id else _all(stores)
    active = [lesson for lesson in lessons if lesson.is_active]
    categories = Counter(shown_line(lesson.category) or "none" for lesson in active)
    data: dict[str, Any] = {
        "n_lessons": len(lessons),
        "n_active": len(active),
        "categories": dict(sorted(categories.items())),
        "injections": sum(lesson.injections for lesson in lessons),
        "citations": sum(lesson.citations for lesson in lessons),
        "used": sum(_used_by_week(asking.workspace, {lesson.id for lesson in lessons}).values()),
        "never_cited": [one.id for one in active if one.injections >= 3 and not one.citations],
        "to_promote": [lesson.id for lesson in lessons if lesson.is_promotion_due],
        "lessons": [_json(lesson) for lesson in lessons],
    }
    of_one = ["\n".join(full_lines(lesson)) for lesson in lessons]
    return _found(of_one if wanted.id or not lessons else _stats_lines(data), data, stores=stores)


def _stats_lines(data: Mapping[str, Any]) -> list[str]:
    lines = [
        f"lessons: {data['n_lessons']}, {data['n_active']} active",
        f"categories: {', '.join(f'{name} {n}' for name, n in data['categories'].items())}",
        f"given {amount(data['injections'], 'time')}, cited {amount(data['citations'], 'time')}",
    ]
    if data["used"]:
        lines.append(f"in {amount(data['used'], 'turn')} cited or followed by work on a file that the lesson names")
    if data["never_cited"]:
        lines.append(f"given three times or more and never cited: {', '.join(data['never_cited'])}")
    if data["to_promote"]:
        lines.append(f"used 50 times or more, `hybrid lessons promote ID`: {', '.join(data['to_promote'])}")
    return lines


def _weekly(workspace: Workspace, only: str | None) -> Outcome:
    """Return how often lessons were given and cited in each ISO week, newest first."""
    given: Counter[str] = Counter()
    cited: Counter[str] = Counter()
    for event in workspace.log.newest():
        week = _week(event.get("at")) if workspace.is_here(event) else ""
        if week:
            given[week] += _n_named(_given_ids(event), only)
            cited[week] += _n_named(event.get("cited"), only)
    used = _used_by_week(workspace, {only} if only else None)
    weeks = [
        {"week": week, "given": given[week], "cited": cited[week], "used": used[week]}
        for week in sorted(given.keys() | cited.keys() | used.keys(), reverse=True)
        if given[week] or cited[week] or used[week]
    ]
    lines = [f"{row['week']}  given {row['given']:>4}  cited {row['cited']:>4}  used {row['used']:>4}" for row in weeks]
    return _found(lines, {"weeks": weeks}, "No lesson was given or cited yet.")


def _used_by_week(workspace: Workspace, only: Collection[str] | None) -> Counter[str]:
    """Return week → turns in which lessons, with these ids or any, were cited or a file that they name was used."""
    used: Counter[str] = Counter()
    for line in filter(workspace.is_here, workspace.outcomes.newest()):
        became = [one for one in line.get("became") or () if one.get("kind") == "lesson" and not one.get("is_held")]
        became = [one for one in became if one.get("how") in USED]
        used[_week(line.get("at"))] += sum(only is None or one.get("place") in only for one in became)
    return used


def _given_ids(event: Mapping[str, Any]) -> list[str]:
    """Return the ids of the lessons that an event of the log says were given; their keys are `lesson:ID:digest8`."""
    items: Any = event.get("items")
    listed = cast("list[Any]", items) if isinstance(items, list) else []
    keys = [str(cast("dict[str, Any]", item).get("key") or "") for item in listed if isinstance(item, dict)]
    return [key.split(":")[1] for key in keys if key.startswith("lesson:")]


def _n_named(ids: object, only: str | None) -> int:
    names = cast("list[object]", ids) if isinstance(ids, list) else []
    return sum(only is None or name == only for name in names)


def _week(at: object) -> str:
    """Return `2026-W09` for an ISO time, in local time; empty when the value is no time."""
    try:
        year, week, _ = date.fromisoformat(local_time(at)[:10]).isocalendar()
    except ValueError:
        return ""
    return f"{year}-W{week:02d}"


@operation("lessons validate", "which lessons name paths or symbols that are not there")
def validate(asking: Asking, wanted: Nothing) -> Outcome:
    """Return what the project's lessons name that is not there, and what is wrong in their files.

    Raises:
        ProjectError: There is no project here.
    """
    workspace, stores = asking.workspace, open_stores(asking.workspace)
    project = workspace.require_project()
    lessons = [lesson for lesson in _all(stores) if lesson.is_active and lesson.level == "project"]
    missing = check_lessons(lessons, project.root, workspace)
    problems = [problem for store in stores.all for problem in store.read().problems]
    data = {
        "checked": len(lessons),
        "missing": [{"id": one.lesson_id, "kind": one.what, "name": one.name} for one in missing],
        "problems": [{"file": one.file, "line": one.line, "message": one.message} for one in problems],
    }
    named = [f"{one.lesson_id} names {one.name}, a {one.what} that is not there" for one in missing]
    told = f"{amount(len(lessons), 'lesson')} checked, {amount(len(missing), 'name')} not found"
    return _found([*named, *map(str, problems), told], data, stores=stores)


# --- changing -----------------------------------------------------------------------------------------------


class AddLesson(Arguments, frozen=True):
    """A new lesson."""

    title: Annotated[str, word("what it is about, in a few words", "TITLE")]
    content: Annotated[str, word("the rule", "CONTENT")]
    system: Annotated[bool, option("for all projects")] = False
    category: Annotated[str, option("sort of lesson", choices=CATEGORIES)] = "correction"
    type: Annotated[str, option("of rule", choices=TYPES)] = ""
    trigger: Annotated[list[str], option("a word that should find it", "WORD")] = []
    force: Annotated[bool, option("although it resembles another lesson")] = False


@changing("lessons add", "write a new lesson", '"Git commit format" "Use type(scope): description" --category pattern')
def add(asking: Asking, wanted: AddLesson) -> Outcome:
    """Write a lesson; one that says nearly the same as another is written only with `force`.

    Raises:
        HybridError: Lessons are off, the project is not there, or the file cannot be written.
    """
    stores = open_stores(asking.workspace)
    store = stores.system if wanted.system else stores.of_project()
    _require_content(wanted.content)
    is_agent = asking.client != BY_HAND
    source, triggers = AI if is_agent else "", _triggers(wanted.trigger)
    draft = Draft(wanted.title, wanted.content, wanted.category, wanted.type, source, triggers)
    added = store.add(draft, today=asking.today, is_forced=wanted.force)
    lesson, twin = added.lesson, added.duplicate_of
    data = {
        "lesson": _json(lesson) if lesson else None,
        "duplicate_of": twin.id if twin else None,
        "file": str(store.file),
    }
    if lesson:
        return Outcome(f"added {index_line(lesson)} to {store.file}", data=data)
    how = "" if is_agent else "; --force adds it all the same"
    return _found([], data, f"not added: it resembles {index_line(twin)}{how}" if twin else "")


class EditLesson(Arguments, frozen=True):
    """A lesson, and the parts of it that change; one that is None stays as it is."""

    id: Annotated[str, word("of the lesson, in any case: L001", "ID")]
    title: Annotated[str | None, option("another title", "TEXT")] = None
    content: Annotated[str | None, option("another rule", "TEXT")] = None
    category: Annotated[str | None, option("another category", choices=CATEGORIES)] = None
    type: Annotated[str | None, option("another type; '' takes it away", choices=(*TYPES, ""))] = None
    trigger: Annotated[list[str] | None, option("triggers in place of the old ones; '' takes them away", "WORD")] = None
    promotable: Annotated[str | None, option("whether it is offered to all projects", choices=("yes", "no"))] = None


@changing(
    "lessons edit",
    "change a lesson, by options or in $EDITOR",
    'L001 --content "Use type(scope): description, in the imperative"',
)
def edit(asking: Asking, wanted: EditLesson) -> Outcome:
    """Change what differs in a lesson; a text in which a secret was masked stays as it is in its file.

    Raises:
        HybridError: There is no such lesson, or a value cannot stand in one.
    """
    name, store = open_stores(asking.workspace).named(wanted.id)
    _require_content(wanted.content)
    # What a person was shown is compared: a line that was masked there is not written over its original.
    before = shown(store.find(name))
    given: dict[str, Any] = {
        "title": wanted.title if wanted.title is None else wanted.title.strip(),
        "content": wanted.content if wanted.content and _plain(wanted.content) != _plain(before.content) else None,
        "category": wanted.category,
        "type": wanted.type,
        "triggers": None if wanted.trigger is None else _triggers(wanted.trigger),
        "is_promotable": None if wanted.promotable is None else wanted.promotable == "yes",
    }
    change = LessonEdit(**{name: value for name, value in given.items() if value != getattr(before, name)})
    if change == LessonEdit():
        return Outcome(f"{name} is as it was", data={"lesson": _json(before)}, is_found=False)
    return _changed(store.edit(name, change), "changed")


def _plain(text: str) -> str:
    """Return a text as a form of the page sends it back, but for the line ends."""
    return "\n".join(line.rstrip() for line in text.strip().splitlines())


class CiteLessons(Arguments, frozen=True):
    """The lessons that were used."""

    ids: Annotated[list[str], word("of a lesson", "ID", min_length=1)]


@changing("lessons cite", "count a use of lessons", "L001 L004")
def cite(asking: Asking, wanted: CiteLessons) -> Outcome:
    """Count a citation of each lesson that is there."""
    stores = open_stores(asking.workspace)
    names = [id_form(name) for name in wanted.ids]
    cited = [name for store in stores.all for name in store.cite(names, asking.today) if stores.of(name) is store]
    if cited:
        from hybrid.answer.recording import record_cited  # It takes a tenth of a second to load.

        record_cited(asking.workspace, cited)
    unknown = [name for name in names if name not in cited]
    return Outcome(f"cited {', '.join(cited)}" if cited else "", data={"cited": cited, "unknown": unknown})


class Replace(Arguments, frozen=True):
    """Two records: `new` takes the place of `old`."""

    old: Annotated[str, word("id of the one that no longer holds", "OLD")]
    new: Annotated[str, word("id of the one that holds instead", "NEW")]


@changing("lessons supersede", "replace a lesson by another", "L001 L007")
def supersede(asking: Asking, wanted: Replace) -> Outcome:
    """Mark a lesson as replaced by another one.

    Raises:
        HybridError: One of them is not there, or the other one is superseded itself.
    """
    return _changed(open_stores(asking.workspace).supersede(wanted.old, wanted.new), "superseded")


@changing("lessons delete", "take a lesson out of use; its id is never used again", "L001")
def delete(asking: Asking, wanted: OneLesson) -> Outcome:
    """Mark a lesson as deleted.

    Raises:
        HybridError: There is no such lesson.
    """
    name, store = open_stores(asking.workspace).named(wanted.id)
    return _changed(store.delete(name), "deleted")


@changing("lessons renumber", "give the newer of two lessons with one id an id of its own", "L003")
def renumber(asking: Asking, wanted: OneLesson) -> Outcome:
    """Give the newer of two lessons with one id another one.

    Raises:
        HybridError: There is no such lesson.
    """
    name, store = open_stores(asking.workspace).named(wanted.id)
    fresh = store.renumber(name)
    data = {"id": name, "new_ids": list(fresh)}
    if not fresh:
        return _found([], data, f"{name} is the id of one lesson at most; nothing was changed")
    return Outcome(f"the newer lesson with the id {name} is now {', '.join(fresh)}", data=data)


@changing("lessons promote", "make a lesson of this project one for all projects", "L001")
def promote(asking: Asking, wanted: OneLesson) -> Outcome:
    """Make a lesson of the project one for all projects.

    Raises:
        HybridError: There is no such lesson, it is for all projects already, or it must not be promoted.
    """
    name, copy = id_form(wanted.id), open_stores(asking.workspace).promote(wanted.id, asking.today)
    return Outcome(f"{name} is now {copy.id}, for all projects", data={"lesson": _json(copy), "promoted": name})


class DecayLessons(Arguments, frozen=True):
    """A way around the wait of a week."""

    force: Annotated[bool, option("although a week has not gone by")] = False


@changing("lessons decay", "let what is not used fade, at most once a week", "--force")
def decay(asking: Asking, wanted: DecayLessons) -> Outcome:
    """Let lessons that are not used fade, once a week."""
    stores = open_stores(asking.workspace).all
    done = [faded for store in stores if (faded := store.decay(asking.today, is_forced=wanted.force)) is not None]
    ids = [name for faded in done for name in faded]
    data = {"decayed": bool(done), "lessons": ids}
    if not done:
        return _found([], data, "Not due: lessons fade once a week; --force does not wait.")
    return Outcome(f"{amount(len(ids), 'lesson')} faded", data=data)


# --- for agents -------------------------------------------------------------------------------------------


AROUND_ID = " []`#"
"""Characters around an id as people and agents write it: `[L001]`."""


class LessonsArguments(Arguments, frozen=True):
    """A choice of lessons: those that fit a query, or the most used."""

    query: Annotated[str, Meta(max_length=5000, description="What they should be about; empty: the most used.")] = ""
    limit: Limit = 8


# Two rows: scripts read two lines for each lesson of `lessons score`; an agent needs the lines of a rule as they are.
@operation(
    "lessons",
    for_agents=ForAgents(
        "Lessons of the project",
        "Rules that this project learned the hard way: with a query those that fit, without one the most used. Cite "
        "one that you apply as [L001].",
    ),
)
def lessons_for_agent(asking: Asking, wanted: LessonsArguments) -> Outcome:
    """Return the lessons that fit a query, or the most used.

    Raises:
        LessonsError: The files cannot be read.
    """
    from hybrid.knowledge.collections import record_hit

    found = asking.kinds.stores.lessons(asking.workspace)
    relevance: dict[str, int] = {}
    if wanted.query.strip():
        hits = found.scorer.best(wanted.query, top_k=wanted.limit)
        chosen, relevance = [hit.lesson for hit in hits], {hit.lesson.id: hit.relevance for hit in hits}
    else:
        every = sorted(found.active.values(), key=lambda one: (-one.uses, -one.velocity, one.id))
        chosen = every[: wanted.limit]
    lines = [line for one in chosen for line in _lesson_lines(one, relevance.get(one.id))]
    records = {record.id: record for record in found.records}
    given = [Shown(record_hit(one.id, records[one.id]), "full") for one in chosen]
    return Outcome("\n".join(lines) or "No lesson fits.", tuple(given))


def _lesson_lines(lesson: Lesson, relevance: int | None) -> list[str]:
    fits = "" if relevance is None else f" (relevance {relevance}/{MAX_RELEVANCE})"
    lines = shown(lesson).content.split("\n")
    return [f"{one_line(index_line(lesson))}{fits}", *(f"  {line}".rstrip() for line in lines if line)]


def outcome_of(asking: Asking, found: Sequence[tuple[str, Record]]) -> Outcome | None:
    """Return records by their texts, secrets masked; None without any."""
    from hybrid.knowledge.collections import record_hit

    if not found:
        return None
    text = "\n".join(text for text, _ in found)
    shown = tuple(Shown(record_hit(record.id, record), "full") for _, record in found)
    return Outcome(redact(text) if asking.workspace.config.privacy.redact else text, shown)


def lessons_called(asking: Asking, name: str) -> list[tuple[str, Record]]:
    """Return the lessons with an id: after branches were merged, two may have one."""
    if not is_id(name):
        return []
    found = asking.kinds.stores.lessons(asking.workspace)
    lesson = found.active.get(name)
    whole = {lesson.record().text: full_lines(lesson)} if lesson else {}
    records = [record for record in found.records if record.id == name]
    return [("\n".join(whole.get(one.text, [one.shown, *one.lines])), one) for one in records]


# --- parts --------------------------------------------------------------------------------------------------


def _all(stores: Stores) -> list[Lesson]:
    return [lesson for store in stores.all for lesson in store.read().lessons]


def _named(lesson_id: str, stores: Stores) -> list[Lesson]:
    name = id_form(lesson_id)
    store = stores.of(name)
    return list(store.read().named(name)) if store else []


def _matching(text: str, lessons: Sequence[Lesson]) -> list[Lesson]:
    """Return the lessons that share a word with the text, the best first; then those that hold it as a part."""
    hits = [scored.lesson for scored in LessonScorer(lessons).score(text) if scored.relevance]
    part, taken = text.strip().lower(), {id(lesson) for lesson in hits}
    rest = [lesson for lesson in lessons if id(lesson) not in taken]
    return [*hits, *(one for one in rest if part in "\n".join([one.id, one.title, one.content, *one.triggers]).lower())]


def _found(
    lines: Sequence[str], data: dict[str, Any], nothing: str = _NOTHING, stores: Stores | None = None
) -> Outcome:
    """Return what was found, or a sentence that nothing was; with the files that are not read, as a warning."""
    foreign = ", ".join(str(path) for path in stores.foreign) if stores else ""
    unread = f"{foreign} is not read until you accept it with `hybrid trust`" if foreign else ""
    return Outcome("\n".join(lines) or nothing, data=data, is_found=bool(lines), warning=unread)


def _json(lesson: Lesson) -> dict[str, Any]:
    return shown(lesson).as_json() | {"stars": lesson.stars, "trust": lesson.trust}


def _changed(lesson: Lesson, verb: str) -> Outcome:
    return Outcome(f"{verb} {index_line(lesson)}", data={"lesson": _json(lesson)})


def _triggers(words: Sequence[str]) -> tuple[str, ...]:
    return tuple(word for text in words for word in text.split(",") if word.strip())


def _require_content(content: str | None) -> None:
    """Refuse a rule that says nothing; None means that it is not to change."""
    if content is not None and not content.strip():
        raise LessonsError(
            "a lesson needs a content: what to do, or what to leave; `hybrid lessons delete` takes one away"
        )


# --- names that are gone ------------------------------------------------------------------------------------


_QUOTED = re.compile(r"`([^`\n]{1,200})`")
_PATH = re.compile(r"(?<![\w./:@~$%*<{-])(?:\./)?[\w.-]+(?:/[\w.-]+)+(?:\.\w{1,8}|/)(?![\w/*])")
_WHOLE_PATH = re.compile(r"(?:\./)?[\w.-]+(?:/[\w.-]+)*/?")
_PLACE = re.compile(
    r"(?<![\w./:@~$%*<{-])(?P<path>(?:\./)?[\w.-]+(?:/[\w.-]+)*\.\w{1,8})"
    r":(?P<first>[0-9]{1,7})(?:-(?P<last>[0-9]{1,7}))?(?![\w/])"
)
_SYMBOL = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)*(?:\(\))?")
_ENDING = re.compile(r"\.[A-Za-z]\w{0,5}\Z")
_DEFINING = (
    "class const def defp enum fn fun func function interface let macro method module object proc struct sub type var"
)
_MAX_FILE_BYTES = 1_000_000
"""Largest size in bytes of a file in which names are looked for; a larger file is data."""


class Missing(Struct, frozen=True):
    """A name in a lesson that was not found; `what` is `path`, `line` or `symbol`."""

    lesson_id: str
    what: str
    name: str


def check_lessons(lessons: Iterable[Lesson], root: Path, workspace: Workspace) -> list[Missing]:
    """Return names that were not found, in order; without an index no symbols and no bare file names are looked for.

    Args:
        lessons: Those to check.
        root: Root of the working tree.
        workspace: Workspace whose index knows paths and symbols.
    """
    paths, knows = _indexed(workspace)
    code = _Code(root, paths or ())
    found: list[Missing] = []
    for lesson in lessons:
        text = f"{lesson.title}\n{lesson.content}"
        found += [Missing(lesson.id, "path", name) for name in _paths(text) if not _is_there(name, root, paths)]
        found += [Missing(lesson.id, what, name) for name, what in _wrong_places(text, root, paths)]
        if knows is not None:
            names = _symbols(text, paths or (), knows)
            found += [Missing(lesson.id, "symbol", name) for name in names if not (knows(name) and code.has(name))]
    return found


def _paths(text: str) -> list[str]:
    """Return names with a slash that end like a file or folder, and all in back-ticks that looks like a path."""
    text = _PLACE.sub(" ", text)
    quoted = [name for name in _QUOTED.findall(text) if "/" in name and _WHOLE_PATH.fullmatch(name)]
    bare = _PATH.findall(_QUOTED.sub(" ", text))
    return list(dict.fromkeys([*quoted, *bare]))


def _wrong_places(text: str, root: Path, paths: Collection[str] | None) -> Iterator[tuple[str, str]]:
    """Yield each `path:12` or `path:12-20` whose file (`path`) or lines (`line`) are not there, with that word.

    A name without a slash must end as source files do: `localhost:80` and `example.com:443` are no places.
    """
    for place, match in {match[0]: match for match in _PLACE.finditer(text)}.items():
        name = match["path"]
        if "/" not in name and (paths is None or language_of(name) is None):
            continue
        if not _is_there(name, root, paths):
            yield place, "path"
        elif (n_lines := _n_lines(name, root, paths)) is not None and int(match["last"] or match["first"]) > n_lines:
            yield place, "line"


def _n_lines(name: str, root: Path, paths: Collection[str] | None) -> int | None:
    """Return the number of lines of the file that a name means; None where several are meant, or it cannot be read."""
    short = name.removeprefix("./")
    meant = [short] if (root / short).is_file() else [path for path in paths or () if path.endswith(f"/{short}")]
    text = _text(root / meant[0]) if len(meant) == 1 else None
    return None if text is None else len(text.splitlines())


def _symbols(text: str, paths: Collection[str], knows: Callable[[str], bool]) -> list[str]:
    """Return names in back-ticks that look like code: with an underscore, a capital inside, dots or brackets."""
    names = [
        name for name in _QUOTED.findall(text) if _SYMBOL.fullmatch(name) and not _is_file_name(name, paths, knows)
    ]
    made = (name for name in names if "_" in name.strip("_") or re.search(r"[a-z][A-Z]|::|\(\)|^[A-Z]\w*\.", name))
    return list(dict.fromkeys(made))


def _is_file_name(name: str, paths: Collection[str], knows: Callable[[str], bool]) -> bool:
    """Return whether a name with dots is rather a file's than a member's, as `Gemfile.lock` is."""
    if not _ENDING.search(name):
        return False
    owner = name.partition(".")[0]
    is_class = re.search(r"[a-z][A-Z]", owner) or (owner[:1].isupper() and knows(owner))
    return not is_class or language_of(name) is not None or any(path.endswith(name) for path in paths)


def _is_there(name: str, root: Path, paths: Collection[str] | None) -> bool:
    """Return whether the tree has a path, from its root or, as people shorten paths, ending so somewhere below."""
    short = name.removeprefix("./").rstrip("/")
    if (root / short).exists():
        return True
    ends = (f"/{short}", f"/{short}/")
    return any(path.endswith(ends[0]) or ends[1] in f"/{path}" for path in paths or ())


class _Code:
    """The code of a working tree, read when the first name asks for it: an index knows words, not what they are.

    Args:
        root: Root of the working tree.
        paths: Paths of the tree's files.
    """

    def __init__(self, root: Path, paths: Collection[str]) -> None:
        self._root = root
        self._paths = paths

    @cached_property
    def _texts(self) -> list[str]:
        languages = ((path, language_of(path)) for path in sorted(self._paths))
        code = (path for path, language in languages if language and kind_of(path, language) == "code")
        return [text for path in code if (text := _text(self._root / path)) is not None]

    def has(self, name: str) -> bool:
        """Return whether the code calls, defines or assigns a function or member; True for names that are neither.

        A word in a comment is none of these. The class of a member must occur too.
        """
        *owners, last = re.split(r"\.|::", name.removesuffix("()"))
        if not (owners or name.endswith("()")):
            return True
        defining = "|".join(_DEFINING.split())
        forms = (
            rf"(?:\.|::|->){last}\b",
            rf"\b{last}\s*[(<=:!\[]",
            rf"\b(?:{defining})\s+{last}\b",
            rf"^\s*{last}\b(?![ \t]+\w)",
        )
        used = re.compile("|".join(forms), re.MULTILINE)
        if not any(last in text and used.search(text) for text in self._texts):
            return False
        return all(any(re.search(rf"\b{owner}\b", text) for text in self._texts) for owner in owners)


def _text(path: Path) -> str | None:
    """Return a file's text; None of one that is large, a link, or cannot be read."""
    try:
        data = read_regular(path, _MAX_FILE_BYTES)
    except OSError:
        return None
    return data.decode("utf-8", "replace") if len(data) <= _MAX_FILE_BYTES else None


def _indexed(workspace: Workspace) -> tuple[Collection[str] | None, Callable[[str], bool] | None]:
    """Return the paths that the index knows, and a test of whether it knows a symbol; (None, None) without an index."""
    from hybrid.base.tokens import tokens_of_word
    from hybrid.index.snapshot import open_snapshot

    try:
        snapshot = open_snapshot(workspace.place.folder, model=None)
    except HybridError:
        return None, None

    def knows(name: str) -> bool:
        last = re.split(r"\.|::", name.removesuffix("()"))[-1]
        whole = tokens_of_word(last)[:1]
        return not whole or snapshot.terms.document_frequency(whole[0]) > 0

    return snapshot.live_documents().keys(), knows
