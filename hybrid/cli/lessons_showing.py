"""The parts of `hybrid lessons` that change nothing: list, show, score, stats, validate."""

from __future__ import annotations

import os
import sys
import time
from collections import Counter
from datetime import date
from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from hybrid.cli.common import print_json, query_of, say, workspace_of
from hybrid.knowledge.lesson_files import Stores, open_stores
from hybrid.records.lessons.reranking import COMMAND_S, reranker
from hybrid.records.lessons.showing import full_lines, hit_lines, index_line, shown, shown_line
from hybrid.records.lessons.texts import id_form
from hybrid.records.scoring import LessonScorer, Scored
from hybrid.render.numbers import amount, local_time

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

    from hybrid.records.lessons.types import Lesson
    from hybrid.workspace import Workspace


def run(args: argparse.Namespace) -> int:
    """Run the subcommand; exit code 1 when nothing is found."""
    workspace = workspace_of(args)
    stores = open_stores(workspace)
    tell_foreign(stores, is_quiet=args.quiet)
    if args.action == "list":
        return _list(args, stores)
    if args.action == "show":
        return _show(args, stores)
    if args.action == "score":
        return _score(args, workspace, stores)
    if args.action == "validate":
        return _validate(args, workspace, stores)
    return _weekly(args, workspace) if args.weekly else _stats(args, stores)


def tell_foreign(stores: Stores, *, is_quiet: bool) -> None:
    """Say that lessons in the tree are not read, since nobody accepted them."""
    if stores.foreign and not is_quiet:
        files = ", ".join(str(path) for path in stores.foreign)
        sys.stderr.write(f"hybrid: warning: {files} is not read until you accept it with `hybrid trust`\n")


def all_lessons(stores: Stores) -> list[Lesson]:
    """Every lesson of all stores, the project's first.

    Raises:
        LessonsFileError: A file cannot be read.
    """
    return [lesson for store in stores.all for lesson in store.read().lessons]


def found(lesson_id: str, stores: Stores) -> list[Lesson]:
    """The lessons with an id; more than one after branches were merged.

    Raises:
        LessonsError: It is no id.
    """
    name = id_form(lesson_id)
    store = stores.of(name)
    return list(store.read().named(name)) if store else []


def _list(args: argparse.Namespace, stores: Stores) -> int:
    lessons = [lesson for lesson in all_lessons(stores) if args.all or lesson.is_active]
    if args.category:
        lessons = [lesson for lesson in lessons if lesson.category == args.category]
    if args.search:
        lessons = _matching(args.search, lessons)
    if args.json:
        print_json({"lessons": [shown(lesson).as_json() for lesson in lessons]})
        return 0 if lessons else 1
    for lesson in lessons:
        if args.verbose:
            say("\n".join(full_lines(lesson)))
        else:
            say(index_line(lesson))
    if not lessons:
        say("No lessons found")
    return 0 if lessons else 1


def _matching(text: str, lessons: Sequence[Lesson]) -> list[Lesson]:
    """Lessons with a word of the text, the best first; then those that only hold it as a part."""
    hits = [scored.lesson for scored in LessonScorer(lessons).score(text) if scored.relevance]
    part = text.strip().lower()
    others = [lesson for lesson in lessons if lesson not in hits and part in _searched(lesson)]
    return [*hits, *others]


def _searched(lesson: Lesson) -> str:
    return "\n".join([lesson.id, lesson.title, lesson.content, *lesson.triggers]).lower()


def _show(args: argparse.Namespace, stores: Stores) -> int:
    lessons = found(args.id, stores)
    if args.json:
        print_json({"lessons": [shown(lesson).as_json() for lesson in lessons]})
        return 0 if lessons else 1
    for lesson in lessons:
        say("\n".join(full_lines(lesson)))
    if not lessons:
        say(f"No lesson {id_form(args.id)}; `hybrid lessons list` shows all.")
    return 0 if lessons else 1


def _score(args: argparse.Namespace, workspace: Workspace, stores: Stores) -> int:
    query = query_of(args.query)
    lessons = [lesson for lesson in all_lessons(stores) if lesson.is_active]
    hits = LessonScorer(lessons).best(query, top_k=args.top, min_relevance=args.min_score)
    ask = reranker(workspace.config.lessons, os.environ, time.monotonic() + COMMAND_S)
    order = ask(query, [hit.lesson for hit in hits]) if ask and len(hits) > 1 else None
    if order is not None:
        hits.sort(key=lambda hit: order.index(hit.lesson.id))
    hits = [replace(hit, lesson=shown(hit.lesson)) for hit in hits]
    if args.json:
        print_json({"query": query, "lessons": [_scored_form(hit) for hit in hits]})
    else:
        for hit in hits:
            say(hit_lines(hit))
        if not hits:
            say("No lessons found")
    return 0 if hits else 1


def _scored_form(hit: Scored[Lesson]) -> dict[str, object]:
    return hit.lesson.as_json() | {"relevance": hit.relevance, "bm25": hit.bm25}


def _stats(args: argparse.Namespace, stores: Stores) -> int:
    lessons = found(args.id, stores) if args.id else all_lessons(stores)
    active = [lesson for lesson in lessons if lesson.is_active]
    categories = Counter(shown_line(lesson.category) or "none" for lesson in active)
    form: dict[str, Any] = {
        "n_lessons": len(lessons),
        "n_active": len(active),
        "categories": dict(sorted(categories.items())),
        "injections": sum(lesson.injections for lesson in lessons),
        "citations": sum(lesson.citations for lesson in lessons),
        "never_cited": [one.id for one in active if one.injections >= 3 and not one.citations],
        "to_promote": [lesson.id for lesson in lessons if lesson.is_promotion_due],
        "lessons": [shown(lesson).as_json() | {"stars": lesson.stars, "trust": lesson.trust} for lesson in lessons],
    }
    if args.json:
        print_json(form)
    elif args.id:
        for lesson in lessons:
            say("\n".join(full_lines(lesson)))
    else:
        _say_stats(form)
    if not lessons and not args.json:
        say("No lessons found")
    return 0 if lessons else 1


def _say_stats(form: Mapping[str, Any]) -> None:
    if not form["n_lessons"]:
        return
    say(f"lessons: {form['n_lessons']}, {form['n_active']} active")
    say(f"categories: {', '.join(f'{name} {n}' for name, n in form['categories'].items())}")
    say(f"given {amount(form['injections'], 'time')}, cited {amount(form['citations'], 'time')}")
    if form["never_cited"]:
        say(f"given three times or more and never cited: {', '.join(form['never_cited'])}")
    if form["to_promote"]:
        say(f"used 50 times or more, `hybrid lessons promote ID`: {', '.join(form['to_promote'])}")


def _weekly(args: argparse.Namespace, workspace: Workspace) -> int:
    """Given and cited per ISO week, the newest first, from the event log of this project."""
    only = id_form(args.id) if args.id else None
    given: Counter[str] = Counter()
    cited: Counter[str] = Counter()
    for event in workspace.log.newest():
        week = _week(event.get("at")) if workspace.is_here(event) else ""
        if week:
            given[week] += _n_named(_given_ids(event), only)
            cited[week] += _n_named(event.get("cited"), only)
    weeks = [
        {"week": week, "given": given[week], "cited": cited[week]}
        for week in sorted(given.keys() | cited.keys(), reverse=True)
        if given[week] or cited[week]
    ]
    if args.json:
        print_json({"weeks": weeks})
    else:
        for row in weeks:
            say(f"{row['week']}  given {row['given']:>4}  cited {row['cited']:>4}")
        if not weeks:
            say("No lesson was given or cited yet.")
    return 0 if weeks else 1


def _given_ids(event: Mapping[str, Any]) -> list[str]:
    """Lessons that an event of the log says were given: their keys are `lesson:ID:digest8`."""
    items: Any = event.get("items")
    listed = cast("list[Any]", items) if isinstance(items, list) else []
    keys = [str(cast("dict[str, Any]", item).get("key") or "") for item in listed if isinstance(item, dict)]
    return [key.split(":")[1] for key in keys if key.startswith("lesson:")]


def _n_named(ids: object, only: str | None) -> int:
    names = cast("list[object]", ids) if isinstance(ids, list) else []
    return sum(only is None or name == only for name in names)


def _week(at: object) -> str:
    """`2026-W09` of an ISO time, in local time; empty when it is none."""
    try:
        year, week, _ = date.fromisoformat(local_time(at)[:10]).isocalendar()
    except ValueError:
        return ""
    return f"{year}-W{week:02d}"


def _validate(args: argparse.Namespace, workspace: Workspace, stores: Stores) -> int:
    from hybrid.cli.lessons_checking import check_lessons

    project = workspace.require_project()
    lessons = [lesson for lesson in all_lessons(stores) if lesson.is_active and lesson.level == "project"]
    missing = check_lessons(lessons, project.root, workspace)
    problems = [problem for store in stores.all for problem in store.read().problems]
    if args.json:
        print_json(
            {
                "checked": len(lessons),
                "missing": [one.as_json() for one in missing],
                "problems": [{"file": one.file, "line": one.line, "message": one.message} for one in problems],
            }
        )
        return 0
    for one in missing:
        say(f"{one.lesson_id} names {one.name}, a {one.what} that is not there")
    for problem in problems:
        say(str(problem))
    if not args.quiet:
        say(f"{amount(len(lessons), 'lesson')} checked, {amount(len(missing), 'name')} not found")
    return 0
