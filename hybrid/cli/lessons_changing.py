"""The parts of `hybrid lessons` that change files: add, edit, cite, supersede, delete, promote, decay, import.

`edit` without options hands the lesson to the user's editor and reads back what was changed.
"""

from __future__ import annotations

import os
import shlex
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.answer.recording import record_cited
from hybrid.base.home import expanded
from hybrid.cli.common import print_done, print_found, print_json, say
from hybrid.cli.lessons_reading import open_lessons
from hybrid.knowledge.stores import FILE, Stores
from hybrid.records.lessons.document import NewEntry, entry_lines, parse
from hybrid.records.lessons.store import LessonStore
from hybrid.records.lessons.types import Draft, LessonEdit, id_form, index_line, shown
from hybrid.records.types import LessonsError, UnknownLessonError
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable
    from datetime import date

    from hybrid.records.lessons.importing import ImportReport
    from hybrid.records.lessons.types import Lesson
    from hybrid.workspace import Workspace


def run(args: argparse.Namespace) -> int:
    """Run the action; exit code 1 when nothing was done, 2 when `cite --json` is given an unknown id."""
    workspace, stores = open_lessons(args)
    if args.action == "import":
        return _import(args, stores, workspace.project.root if workspace.project else None)
    if args.action == "cite":
        return _cite(args, workspace, stores)
    return _ACTIONS[args.action](args, stores)


def _add(args: argparse.Namespace, stores: Stores) -> int:
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


def _edit(args: argparse.Namespace, stores: Stores) -> int:
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


def _cite(args: argparse.Namespace, workspace: Workspace, stores: Stores) -> int:
    """Count a citation of each lesson named; with `--json` the exit code is 2 when one of them is unknown.

    Raises:
        UnknownLessonError: One of the ids is unknown, and `--json` is not given; the others are counted all the same.
    """
    names = [id_form(name) for name in args.ids]
    cited = [name for store in stores.all for name in store.cite(names, _today()) if stores.of(name) is store]
    if cited:
        record_cited(workspace, cited)
    unknown = [name for name in names if name not in cited]
    print_done(args, {"cited": cited, "unknown": unknown}, *([f"cited {', '.join(cited)}"] if cited else []))
    if unknown and not args.json:
        raise UnknownLessonError(f"there is no active lesson {', '.join(unknown)}; `hybrid lessons list` shows all")
    return 2 if unknown else 0


def _supersede(args: argparse.Namespace, stores: Stores) -> int:
    return _changed(args, stores.supersede(args.old, args.new), "superseded")


def _delete(args: argparse.Namespace, stores: Stores) -> int:
    name, store = stores.named(args.id)
    return _changed(args, store.delete(name), "deleted")


def _renumber(args: argparse.Namespace, stores: Stores) -> int:
    name, store = stores.named(args.id)
    fresh = store.renumber(name)
    form = {"id": name, "new_ids": list(fresh)}
    if not fresh:
        return print_found(args, form, [], f"{name} is the id of one lesson at most; nothing was changed")
    print_done(args, form, f"the newer lesson with the id {name} is now {', '.join(fresh)}")
    return 0


def _promote(args: argparse.Namespace, stores: Stores) -> int:
    name, copy = id_form(args.id), stores.promote(args.id, _today())
    form = {"lesson": shown(copy).as_json(), "promoted": name}
    print_done(args, form, f"{name} is now {copy.id}, for all projects")
    return 0


def _decay(args: argparse.Namespace, stores: Stores) -> int:
    done = [faded for store in stores.all if (faded := store.decay(_today(), is_forced=args.force)) is not None]
    ids = [name for faded in done for name in faded]
    form = {"decayed": bool(done), "lessons": ids}
    if not done:
        return print_found(args, form, [], "Not due: lessons fade once a week; --force does not wait.")
    print_done(args, form, f"{amount(len(ids), 'lesson')} faded")
    return 0


def _import(args: argparse.Namespace, stores: Stores, root: Path | None) -> int:
    from hybrid.project.find import FOLDER_NAME, create_folder
    from hybrid.records.lessons.importing import find_lessons_file, import_lessons

    project = stores.project
    source = find_lessons_file(Path(expanded(args.path)))
    # Another tool's file is read in place; to import it means to have its lessons in ours from now on.
    if project is not None and root is not None and project.keeps_inline and _is_same(source, project.file):
        if not args.dry_run:
            create_folder(root)
        ours = root / FOLDER_NAME / FILE
        project = LessonStore(ours, project.counters, level="project", keeps_inline=False)
    report = import_lessons(source, {"project": project, "system": stores.system}, today=_today(), is_dry=args.dry_run)
    if args.json:
        print_json(_import_form(report, is_dry=args.dry_run))
    else:
        _say_import(args, report)
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


def _say_import(args: argparse.Namespace, report: ImportReport) -> None:
    for one in () if args.quiet else report.imported:
        moved = one.lesson.id if one.lesson.id == one.lesson_id else f"{one.lesson.id} → {one.lesson_id}"
        say(f"{moved}  {shown(one.lesson).shown_title}")
    for one in () if args.quiet else report.duplicates:
        say(f"{one.lesson.id}  skipped, it is here as {one.duplicate_of or 'another of this file'}")
    for problem in report.problems:
        say(f"line {problem.line}: {problem.message}")
    if not (report.imported or report.duplicates or report.problems or report.inactive):
        say(f"{report.file} holds no lesson; one begins with a heading `### [L001] Title`")
        return
    verb = "would be imported" if args.dry_run else "imported"
    counts = [
        f"{len(report.imported)} {verb}",
        amount(len(report.duplicates), "duplicate"),
        f"{len(report.problems)} malformed",
        *([f"{len(report.inactive)} superseded or deleted left there"] if report.inactive else []),
    ]
    say(", ".join(counts))


def _changed(args: argparse.Namespace, lesson: Lesson, verb: str) -> int:
    print_done(args, {"lesson": shown(lesson).as_json()}, f"{verb} {index_line(lesson)}")
    return 0


def _triggers(words: list[str]) -> tuple[str, ...]:
    return tuple(word for text in words for word in text.split(",") if word.strip())


def _is_same(one: Path, other: Path) -> bool:
    return one.exists() and other.exists() and one.samefile(other)


def _today() -> date:
    return datetime.now().astimezone().date()


_ACTIONS: dict[str, Callable[[argparse.Namespace, Stores], int]] = {
    "add": _add,
    "edit": _edit,
    "supersede": _supersede,
    "delete": _delete,
    "renumber": _renumber,
    "promote": _promote,
    "decay": _decay,
}


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
