"""`hybrid lessons`: the rules that a project learned: show, find, add, change, count and take over.

`validate` advises which lessons name paths or symbols that the project has no more; `edit` without options hands the
lesson to the user's editor and reads back what was changed. `hybrid score-local` is `hybrid lessons score`, under the
name that older scripts call.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import time
from collections import Counter
from datetime import date, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.atomic import read_regular
from hybrid.base.errors import HybridError
from hybrid.base.home import expanded
from hybrid.chunking.languages import kind_of, language_of
from hybrid.cli.common import (
    Action,
    add_actions,
    add_common,
    add_repeated,
    positive,
    print_done,
    print_found,
    query_of,
    say,
    warn,
    workspace_of,
)
from hybrid.knowledge.stores import FILE, Stores, open_stores
from hybrid.project.find import FOLDER_NAME, create_folder
from hybrid.records.lessons.document import NewEntry, entry_lines, parse
from hybrid.records.lessons.importing import find_lessons_file, import_lessons
from hybrid.records.lessons.reranking import COMMAND_S, reranker
from hybrid.records.lessons.store import LessonStore
from hybrid.records.lessons.types import (
    CATEGORIES,
    TYPES,
    Draft,
    LessonEdit,
    full_lines,
    hit_lines,
    id_form,
    index_line,
    shown,
    shown_line,
)
from hybrid.records.scoring import LessonScorer
from hybrid.records.types import LessonsError, UnknownLessonError
from hybrid.render.numbers import amount, local_time

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from hybrid.records.lessons.importing import ImportReport
    from hybrid.records.lessons.types import Lesson
    from hybrid.workspace import Workspace


_NOTHING = "No lessons found"


def _open(args: argparse.Namespace) -> tuple[Workspace, Stores]:
    """Return the workspace that the command line names, and its lessons.

    Files of lessons in the tree that nobody accepted are not read; a warning on standard error names them, unless
    `--quiet` is given.

    Raises:
        HybridError: The directory does not exist, or the user's settings hold a mistake.
    """
    workspace = workspace_of(args)
    stores = open_stores(workspace)
    if stores.foreign and not args.quiet:
        files = ", ".join(str(path) for path in stores.foreign)
        warn(f"{files} is not read until you accept it with `hybrid trust`")
    return workspace, stores


def _all(stores: Stores) -> list[Lesson]:
    """Return every lesson of all stores, the project's first.

    Raises:
        LessonsFileError: A file cannot be read.
    """
    return [lesson for store in stores.all for lesson in store.read().lessons]


def _named(lesson_id: str, stores: Stores) -> list[Lesson]:
    """Return the lessons with an id; more than one after branches were merged.

    Raises:
        LessonsError: The text is no id.
    """
    name = id_form(lesson_id)
    store = stores.of(name)
    return list(store.read().named(name)) if store else []


def _list(args: argparse.Namespace) -> int:
    """Run `list`: print lessons; exit code 1 when there is none."""
    _, stores = _open(args)
    lessons = [lesson for lesson in _all(stores) if args.all or lesson.is_active]
    if args.category:
        lessons = [lesson for lesson in lessons if lesson.category == args.category]
    if args.search:
        lessons = _matching(args.search, lessons)
    lines = ["\n".join(full_lines(lesson)) if args.verbose else index_line(lesson) for lesson in lessons]
    return print_found(args, {"lessons": [shown(lesson).as_json() for lesson in lessons]}, lines, _NOTHING)


def _matching(text: str, lessons: Sequence[Lesson]) -> list[Lesson]:
    """Return the lessons that share a word with the text, the best first; then those that hold it as a part."""
    hits = [scored.lesson for scored in LessonScorer(lessons).score(text) if scored.relevance]
    part = text.strip().lower()
    others = [lesson for lesson in lessons if lesson not in hits and part in _searched(lesson)]
    return [*hits, *others]


def _searched(lesson: Lesson) -> str:
    return "\n".join([lesson.id, lesson.title, lesson.content, *lesson.triggers]).lower()


def _show(args: argparse.Namespace) -> int:
    """Run `show`: print the lessons with an id; exit code 1 when there is none."""
    _, stores = _open(args)
    lessons = _named(args.id, stores)
    form = {"lessons": [shown(lesson).as_json() for lesson in lessons]}
    nothing = f"No lesson {id_form(args.id)}; `hybrid lessons list` shows all."
    return print_found(args, form, ["\n".join(full_lines(lesson)) for lesson in lessons], nothing)


def _score(args: argparse.Namespace) -> int:
    """Run `score`: print the lessons that fit a query; exit code 1 when none does."""
    workspace, stores = _open(args)
    query = query_of(args.query)
    lessons = [lesson for lesson in _all(stores) if lesson.is_active]
    hits = LessonScorer(lessons).best(query, top_k=args.top, min_relevance=args.min_score)
    ask = reranker(workspace.config.lessons, os.environ, time.monotonic() + COMMAND_S)
    order = ask(query, [hit.lesson for hit in hits]) if ask and len(hits) > 1 else None
    if order is not None:
        hits.sort(key=lambda hit: order.index(hit.lesson.id))
    hits = [replace(hit, lesson=shown(hit.lesson)) for hit in hits]
    forms = [hit.lesson.as_json() | {"relevance": hit.relevance, "bm25": hit.bm25} for hit in hits]
    return print_found(args, {"query": query, "lessons": forms}, [hit_lines(hit) for hit in hits], _NOTHING)


def _stats(args: argparse.Namespace) -> int:
    """Run `stats`: count lessons and their use; exit code 1 when there is none."""
    workspace, stores = _open(args)
    if args.weekly:
        return _weekly(args, workspace)
    lessons = _named(args.id, stores) if args.id else _all(stores)
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
    of_one = ["\n".join(full_lines(lesson)) for lesson in lessons]
    return print_found(args, form, of_one if args.id or not lessons else _stats_lines(form), _NOTHING)


def _stats_lines(form: Mapping[str, Any]) -> list[str]:
    lines = [
        f"lessons: {form['n_lessons']}, {form['n_active']} active",
        f"categories: {', '.join(f'{name} {n}' for name, n in form['categories'].items())}",
        f"given {amount(form['injections'], 'time')}, cited {amount(form['citations'], 'time')}",
    ]
    if form["never_cited"]:
        lines.append(f"given three times or more and never cited: {', '.join(form['never_cited'])}")
    if form["to_promote"]:
        lines.append(f"used 50 times or more, `hybrid lessons promote ID`: {', '.join(form['to_promote'])}")
    return lines


def _weekly(args: argparse.Namespace, workspace: Workspace) -> int:
    """Print how often lessons were given and cited in each ISO week, newest first; exit code 1 when none ever was."""
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
    lines = [f"{row['week']}  given {row['given']:>4}  cited {row['cited']:>4}" for row in weeks]
    return print_found(args, {"weeks": weeks}, lines, "No lesson was given or cited yet.")


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


def _validate(args: argparse.Namespace) -> int:
    """Run `validate`: print what lessons name that is not there; returns 0."""
    workspace, stores = _open(args)
    project = workspace.require_project()
    lessons = [lesson for lesson in _all(stores) if lesson.is_active and lesson.level == "project"]
    missing = check_lessons(lessons, project.root, workspace)
    problems = [problem for store in stores.all for problem in store.read().problems]
    form = {
        "checked": len(lessons),
        "missing": [{"id": one.lesson_id, "kind": one.what, "name": one.name} for one in missing],
        "problems": [{"file": one.file, "line": one.line, "message": one.message} for one in problems],
    }
    named = [f"{one.lesson_id} names {one.name}, a {one.what} that is not there" for one in missing]
    print_found(args, form, [*named, *map(str, problems)])
    if not args.json and not args.quiet:
        say(f"{amount(len(lessons), 'lesson')} checked, {amount(len(missing), 'name')} not found")
    return 0


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


# --- changing -----------------------------------------------------------------------------------------------


def _add(args: argparse.Namespace) -> int:
    """Run `add`: write a lesson; exit code 1 when it resembles another one."""
    _, stores = _open(args)
    store = stores.system if args.system else stores.of_project()
    _require_content(args.content)
    draft = Draft(args.title, args.content, args.category, type=args.type, triggers=_triggers(args.trigger))
    added = store.add(draft, today=_today(), is_forced=args.force)
    twin = added.duplicate_of
    lesson = shown(added.lesson).as_json() if added.lesson else None
    form = {"lesson": lesson, "duplicate_of": twin.id if twin else None, "file": str(store.file)}
    if added.lesson:
        print_done(args, form, f"added {index_line(added.lesson)} to {store.file}")
        return 0
    nothing = f"not added: it resembles {index_line(twin)}; --force adds it all the same" if twin else ""
    return print_found(args, form, [], nothing)


def _edit(args: argparse.Namespace) -> int:
    """Run `edit`: change a lesson; exit code 1 when nothing was changed."""
    _, stores = _open(args)
    name, store = stores.named(args.id)
    promotable = None if args.promotable is None else args.promotable == "yes"
    triggers = None if args.trigger is None else _triggers(args.trigger)
    _require_content(args.content)
    edit = LessonEdit(args.title, args.content, args.category, args.type, triggers, promotable)
    if edit == LessonEdit():
        edit = edit_of(store.find(name))
        if edit == LessonEdit():
            if not args.quiet:
                say(f"{name} is as it was")
            return 1
    return _changed(args, store.edit(name, edit), "changed")


def _cite(args: argparse.Namespace) -> int:
    """Count a citation of each lesson named; with `--json` the exit code is 2 when one of them is unknown.

    Raises:
        UnknownLessonError: One of the ids is unknown, and `--json` is not given; the others are counted all the same.
    """
    workspace, stores = _open(args)
    names = [id_form(name) for name in args.ids]
    cited = [name for store in stores.all for name in store.cite(names, _today()) if stores.of(name) is store]
    if cited:
        from hybrid.answer.recording import record_cited  # It takes a tenth of a second to load.

        record_cited(workspace, cited)
    unknown = [name for name in names if name not in cited]
    print_done(args, {"cited": cited, "unknown": unknown}, *([f"cited {', '.join(cited)}"] if cited else []))
    if unknown and not args.json:
        raise UnknownLessonError(f"there is no active lesson {', '.join(unknown)}; `hybrid lessons list` shows all")
    return 2 if unknown else 0


def _supersede(args: argparse.Namespace) -> int:
    """Run `supersede`: replace a lesson by another."""
    _, stores = _open(args)
    return _changed(args, stores.supersede(args.old, args.new), "superseded")


def _delete(args: argparse.Namespace) -> int:
    """Run `delete`: take a lesson out of use."""
    _, stores = _open(args)
    name, store = stores.named(args.id)
    return _changed(args, store.delete(name), "deleted")


def _renumber(args: argparse.Namespace) -> int:
    """Run `renumber`: give the newer of two lessons another id; exit code 1 when there are no two."""
    _, stores = _open(args)
    name, store = stores.named(args.id)
    fresh = store.renumber(name)
    form = {"id": name, "new_ids": list(fresh)}
    if not fresh:
        return print_found(args, form, [], f"{name} is the id of one lesson at most; nothing was changed")
    print_done(args, form, f"the newer lesson with the id {name} is now {', '.join(fresh)}")
    return 0


def _promote(args: argparse.Namespace) -> int:
    """Run `promote`: make a lesson one for all projects."""
    _, stores = _open(args)
    name, copy = id_form(args.id), stores.promote(args.id, _today())
    form = {"lesson": shown(copy).as_json(), "promoted": name}
    print_done(args, form, f"{name} is now {copy.id}, for all projects")
    return 0


def _decay(args: argparse.Namespace) -> int:
    """Run `decay`: let lessons fade; exit code 1 when that is not due."""
    _, stores = _open(args)
    done = [faded for store in stores.all if (faded := store.decay(_today(), is_forced=args.force)) is not None]
    ids = [name for faded in done for name in faded]
    form = {"decayed": bool(done), "lessons": ids}
    if not done:
        return print_found(args, form, [], "Not due: lessons fade once a week; --force does not wait.")
    print_done(args, form, f"{amount(len(ids), 'lesson')} faded")
    return 0


def _import(args: argparse.Namespace) -> int:
    """Run `import`: take over lessons of another installation; exit code 1 when there was none."""
    workspace, stores = _open(args)
    project, root = stores.project, workspace.project.root if workspace.project else None
    source = find_lessons_file(Path(expanded(args.path)))
    # Another tool's file is read in place; to import it means to have its lessons in ours from now on.
    if project is not None and root is not None and project.keeps_inline and source.samefile(project.file):
        if not args.dry_run:
            create_folder(root)
        ours = root / FOLDER_NAME / FILE
        project = LessonStore(ours, project.counters, level="project", keeps_inline=False)
    report = import_lessons(source, {"project": project, "system": stores.system}, today=_today(), is_dry=args.dry_run)
    print_found(args, _import_form(report, is_dry=args.dry_run), _import_lines(args, report))
    return 0 if report.imported or report.duplicates else 1


def _import_form(report: ImportReport, *, is_dry: bool) -> dict[str, object]:
    return {
        "file": str(report.file),
        "dry_run": is_dry,
        "imported": [
            {"from": one.lesson.id, "id": one.lesson_id, "title": shown(one.lesson).title} for one in report.imported
        ],
        "duplicates": [{"from": one.lesson.id, "duplicate_of": one.duplicate_of} for one in report.duplicates],
        "inactive": list(report.inactive),
        "malformed": [{"line": problem.line, "message": problem.message} for problem in report.problems],
    }


def _import_lines(args: argparse.Namespace, report: ImportReport) -> list[str]:
    if not (report.imported or report.duplicates or report.problems or report.inactive):
        return [f"{report.file} holds no lesson; one begins with a heading `### [L001] Title`"]
    lines: list[str] = []
    for one in () if args.quiet else report.imported:
        moved = one.lesson.id if one.lesson.id == one.lesson_id else f"{one.lesson.id} → {one.lesson_id}"
        lines.append(f"{moved}  {shown(one.lesson).shown_title}")
    for one in () if args.quiet else report.duplicates:
        lines.append(f"{one.lesson.id}  skipped, it is here as {one.duplicate_of or 'another of this file'}")
    lines += [f"line {problem.line}: {problem.message}" for problem in report.problems]
    verb = "would be imported" if args.dry_run else "imported"
    counts = [
        f"{len(report.imported)} {verb}",
        amount(len(report.duplicates), "duplicate"),
        f"{len(report.problems)} malformed",
        *([f"{len(report.inactive)} superseded or deleted left there"] if report.inactive else []),
    ]
    return [*lines, ", ".join(counts)]


def _changed(args: argparse.Namespace, lesson: Lesson, verb: str) -> int:
    print_done(args, {"lesson": shown(lesson).as_json()}, f"{verb} {index_line(lesson)}")
    return 0


def _triggers(words: list[str]) -> tuple[str, ...]:
    return tuple(word for text in words for word in text.split(",") if word.strip())


def _today() -> date:
    return datetime.now().astimezone().date()


def _require_content(content: str | None) -> None:
    """Refuse a rule that says nothing; None means that it is not to change.

    Raises:
        LessonsError: The rule is empty.
    """
    if content is not None and not content.strip():
        raise LessonsError(
            "a lesson needs a content: what to do, or what to leave; `hybrid lessons delete` takes one away"
        )


def edit_of(lesson: Lesson) -> LessonEdit:
    """Return what the user changes in `$VISUAL` or `$EDITOR`; an empty edit when nothing.

    Raises:
        LessonsError: No editor is set, it failed, or what it left is not one lesson with this id.
    """
    import subprocess  # Only an editor needs them.
    import tempfile

    command = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if not command:
        raise LessonsError("no $EDITOR is set: set it, or name what to change (`hybrid lessons edit --help`)")
    with tempfile.TemporaryDirectory(prefix="hybrid-lesson-") as folder:
        path = Path(folder) / f"{lesson.id}.md"
        path.write_text(_text_of(lesson), encoding="utf-8")
        try:
            code = subprocess.run([*words_of(command), str(path)], check=False).returncode
        except (OSError, ValueError) as error:
            raise LessonsError(f"the editor {command!r} cannot be started: {error}") from error
        if code != 0:
            raise LessonsError(f"the editor {command!r} ended with code {code}; nothing was changed")
        return _difference(lesson, path.read_text(encoding="utf-8", errors="replace"))


def words_of(command: str, *, is_windows: bool = os.name == "nt") -> list[str]:
    """Return the words of a command line; on Windows a backslash is a part of a path.

    Raises:
        ValueError: A quote is not closed.
    """
    if not is_windows:
        return shlex.split(command)
    return [word.strip('"') for word in shlex.split(command, posix=False)]


def _text_of(lesson: Lesson) -> str:
    draft = Draft(lesson.title, lesson.content, lesson.category, lesson.type, "", lesson.triggers, lesson.is_promotable)
    return "\n".join([*entry_lines(NewEntry(lesson.id, draft, lesson.learned)), ""])


def _difference(lesson: Lesson, text: str) -> LessonEdit:
    entries = parse(text).entries
    if [entry.id for entry in entries] != [lesson.id]:
        raise LessonsError(f"the text holds no lesson `### [{lesson.id}] Title` any more; nothing was changed")
    entry = entries[0]
    category, kind = entry.value("category").lower(), entry.value("type").lower()
    return LessonEdit(
        title=entry.title if entry.title != lesson.title else None,
        content=entry.content if entry.content != lesson.content else None,
        category=category if category != lesson.category else None,
        type=kind if kind != lesson.type else None,
        triggers=entry.triggers if entry.triggers != lesson.triggers else None,
        is_promotable=entry.is_promotable if entry.is_promotable != lesson.is_promotable else None,
    )


# --- the command --------------------------------------------------------------------------------------------


_SCORED = '"how should I format git commits?" --top 3'
_ACTIONS = {
    "list": Action("the lessons of this project and those for all projects", "--search commit", _list),
    "show": Action("one lesson, whole", "L001", _show),
    "score": Action("how well lessons fit a query, by their words", _SCORED, _score),
    "stats": Action("how often lessons were given, cited and used", "--weekly", _stats),
    "validate": Action("which lessons name paths or symbols that are not there", "", _validate),
    "add": Action("write a new lesson", '"Git commit format" "Use type(scope): description" --category pattern', _add),
    "edit": Action(
        "change a lesson, by options or in $EDITOR",
        'L001 --content "Use type(scope): description, in the imperative"',
        _edit,
    ),
    "cite": Action("count a use of lessons", "L001 L004", _cite),
    "supersede": Action("replace a lesson by another", "L001 L007", _supersede),
    "delete": Action("take a lesson out of use; its id is never used again", "L001", _delete),
    "renumber": Action("give the newer of two lessons with one id an id of its own", "L003", _renumber),
    "promote": Action("make a lesson of this project one for all projects", "L001", _promote),
    "decay": Action("let what is not used fade, at most once a week", "--force", _decay),
    "import": Action("take over lessons of another installation", "../other/.claude-recall --dry-run", _import),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    add, score = (f"hybrid lessons {name} {_ACTIONS[name].example}" for name in ("add", "score"))
    parser.epilog = f"example:\n  {add}\n  {score}"
    parsers = add_actions(parser, _ACTIONS)
    for name in ("show", "edit", "delete", "renumber", "promote"):
        parsers[name].add_argument("id", metavar="ID", help="of the lesson, in any case: L001")
    parsers["cite"].add_argument("ids", nargs="+", metavar="ID", help="of a lesson")
    parsers["supersede"].add_argument("old", metavar="OLD", help="id of the lesson that is replaced")
    parsers["supersede"].add_argument("new", metavar="NEW", help="id of the one that replaces it")
    parsers["stats"].add_argument("id", nargs="?", metavar="ID", help="only of this lesson")
    parsers["stats"].add_argument("--weekly", action="store_true", help="given and cited per week, from the event log")
    parsers["decay"].add_argument("--force", action="store_true", help="although a week has not gone by")
    parsers["import"].add_argument("path", metavar="PATH", help="a LESSONS.md, or a folder that holds one")
    parsers["import"].add_argument("--dry-run", action="store_true", help="say what would be done, write nothing")
    _configure_list(parsers["list"])
    _configure_score(parsers["score"])
    _configure_add(parsers["add"])
    _configure_edit(parsers["edit"])


def configure_score_local(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `hybrid score-local`."""
    parser.set_defaults(run_action=_score)
    add_common(parser, example=f"{parser.prog} {_SCORED}")
    _configure_score(parser)


def _configure_score(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", nargs="+", metavar="QUERY", help="a prompt, or words")
    parser.add_argument("--top", type=positive, default=5, metavar="N", help="lessons to show (default: 5)")
    about = "least relevance, 0 to 10 (default: 1)"
    parser.add_argument("--min-score", type=int, choices=range(11), default=1, metavar="N", help=about)


def _configure_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--search", metavar="TEXT", help="only lessons that hold these words, the best first")
    parser.add_argument("--category", choices=CATEGORIES, help="only of this category")
    parser.add_argument("--all", action="store_true", help="superseded and deleted ones too")


def _configure_add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("title", metavar="TITLE", help="what it is about, in a few words")
    parser.add_argument("content", metavar="CONTENT", help="the rule")
    parser.add_argument("--system", action="store_true", help="for all projects")
    parser.add_argument("--category", choices=CATEGORIES, default="correction", help="default: correction")
    parser.add_argument("--type", choices=TYPES, default="", help="of rule")
    add_repeated(parser, "--trigger", "WORD", "a word that should find it; may be repeated")
    parser.add_argument("--force", action="store_true", help="although it resembles another lesson")


def _configure_edit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--title", metavar="TEXT", help="another title")
    parser.add_argument("--content", metavar="TEXT", help="another rule")
    parser.add_argument("--category", choices=CATEGORIES, help="another category")
    parser.add_argument("--type", choices=(*TYPES, ""), help="another type; '' takes it away")
    about = "triggers in place of the old ones; '' takes them away"
    parser.add_argument("--trigger", action="append", metavar="WORD", help=about)
    parser.add_argument("--promotable", choices=("yes", "no"), help="whether it is offered to all projects")
