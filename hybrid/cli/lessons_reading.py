"""The parts of `hybrid lessons` that change nothing: list, show, score, stats, validate.

`validate` advises which lessons name paths or symbols that the project has no more.
"""

from __future__ import annotations

import os
import re
import time
from collections import Counter
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.atomic import read_regular
from hybrid.base.errors import HybridError
from hybrid.chunking.languages import kind_of, language_of
from hybrid.cli.common import print_found, query_of, say, warn, workspace_of
from hybrid.knowledge.stores import Stores, open_stores
from hybrid.records.lessons.reranking import COMMAND_S, reranker
from hybrid.records.lessons.types import full_lines, hit_lines, id_form, index_line, shown, shown_line
from hybrid.records.scoring import LessonScorer
from hybrid.render.numbers import amount, local_time

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hybrid.records.lessons.types import Lesson
    from hybrid.workspace import Workspace


_NOTHING = "No lessons found"


def run(args: argparse.Namespace) -> int:
    """Run the action; exit code 1 when nothing is found, but 0 of `validate`."""
    workspace, stores = open_lessons(args)
    if args.action == "list":
        return _list(args, stores)
    if args.action == "show":
        return _show(args, stores)
    if args.action == "score":
        return _score(args, workspace, stores)
    if args.action == "validate":
        return _validate(args, workspace, stores)
    return _weekly(args, workspace) if args.weekly else _stats(args, stores)


def open_lessons(args: argparse.Namespace) -> tuple[Workspace, Stores]:
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


def all_lessons(stores: Stores) -> list[Lesson]:
    """Return every lesson of all stores, the project's first.

    Raises:
        LessonsFileError: A file cannot be read.
    """
    return [lesson for store in stores.all for lesson in store.read().lessons]


def found(lesson_id: str, stores: Stores) -> list[Lesson]:
    """Return the lessons with an id; more than one after branches were merged.

    Raises:
        LessonsError: The text is no id.
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


def _show(args: argparse.Namespace, stores: Stores) -> int:
    lessons = found(args.id, stores)
    form = {"lessons": [shown(lesson).as_json() for lesson in lessons]}
    nothing = f"No lesson {id_form(args.id)}; `hybrid lessons list` shows all."
    return print_found(args, form, ["\n".join(full_lines(lesson)) for lesson in lessons], nothing)


def _score(args: argparse.Namespace, workspace: Workspace, stores: Stores) -> int:
    query = query_of(args.query)
    lessons = [lesson for lesson in all_lessons(stores) if lesson.is_active]
    hits = LessonScorer(lessons).best(query, top_k=args.top, min_relevance=args.min_score)
    ask = reranker(workspace.config.lessons, os.environ, time.monotonic() + COMMAND_S)
    order = ask(query, [hit.lesson for hit in hits]) if ask and len(hits) > 1 else None
    if order is not None:
        hits.sort(key=lambda hit: order.index(hit.lesson.id))
    hits = [replace(hit, lesson=shown(hit.lesson)) for hit in hits]
    forms = [hit.lesson.as_json() | {"relevance": hit.relevance, "bm25": hit.bm25} for hit in hits]
    return print_found(args, {"query": query, "lessons": forms}, [hit_lines(hit) for hit in hits], _NOTHING)


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


def _validate(args: argparse.Namespace, workspace: Workspace, stores: Stores) -> int:
    project = workspace.require_project()
    lessons = [lesson for lesson in all_lessons(stores) if lesson.is_active and lesson.level == "project"]
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
