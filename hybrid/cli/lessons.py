"""`hybrid lessons` and `hybrid lore`: show, find, write down, change, count and take over, for people and for agents.

Most actions are operations (`hybrid.operations.lessons` and `lore`). `lessons edit` without options hands the lesson to
the user's editor and reads back what was changed. `hybrid score-local` is `hybrid lessons score`, under the name that
older scripts call.
"""

from __future__ import annotations

import argparse
import os
import shlex
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.home import expanded
from hybrid.cli.common import Action, add_actions, add_common, print_found, unread_lines, warn, workspace_of
from hybrid.cli.operations import actions_of, add_arguments, perform_here, print_outcome
from hybrid.knowledge.stores import FILE, RecordStores, open_stores
from hybrid.operations.lore import left_out
from hybrid.project.find import FOLDER_NAME, create_folder
from hybrid.records.lessons.document import NewEntry, entry_lines, parse
from hybrid.records.lessons.importing import find_lessons_file, import_lessons
from hybrid.records.lessons.store import LessonStore
from hybrid.records.lessons.types import Draft, shown
from hybrid.records.lore.store import LoreFolder
from hybrid.records.lore.writing import KINDS, import_folder
from hybrid.records.types import LessonsError, UnknownLessonError
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from hybrid.records.lessons.importing import LessonsImport
    from hybrid.records.lessons.types import Lesson
    from hybrid.records.lore.writing import LoreImport


# --- changing -----------------------------------------------------------------------------------------------


def _edit(args: argparse.Namespace) -> int:
    """Run `edit`: change a lesson, in an editor without an option; exit code 1 when nothing was changed."""
    more: dict[str, Any] = {}
    if all(getattr(args, name) is None for name in ("title", "content", "category", "type", "trigger", "promotable")):
        name, store = open_stores(workspace_of(args)).named(args.id)
        more = edited(store.find(name))
    return print_outcome(args, perform_here("lessons edit", args, more), is_change=True)


def _cite(args: argparse.Namespace) -> int:
    """Count a citation of each lesson named; with `--json` the exit code is 2 when one of them is unknown.

    Raises:
        UnknownLessonError: One of the ids is unknown, and `--json` is not given; the others are counted all the same.
    """
    outcome = perform_here("lessons cite", args)
    print_outcome(args, outcome, is_change=True)
    if (unknown := outcome.data["unknown"]) and not args.json:
        raise UnknownLessonError(f"there is no active lesson {', '.join(unknown)}; `hybrid lessons list` shows all")
    return 2 if unknown else 0


def _import(args: argparse.Namespace) -> int:
    """Run `import`: take over lessons of another installation; exit code 1 when there was none."""
    workspace = workspace_of(args)
    stores = open_stores(workspace)
    project, root = stores.project, workspace.project.root if workspace.project else None
    source = find_lessons_file(Path(expanded(args.path)))
    # Another tool's file is read in place; to import it means to have its lessons in ours from now on.
    if project is not None and root is not None and project.keeps_inline and source.samefile(project.file):
        if not args.dry_run:
            create_folder(root)
        ours = root / FOLDER_NAME / FILE
        project = LessonStore(ours, project.counters, level="project", keeps_inline=False)
    report = import_lessons(
        source,
        {"project": project, "system": stores.system},
        today=datetime.now().astimezone().date(),
        is_dry=args.dry_run,
    )
    print_found(args, _import_form(report, is_dry=args.dry_run), _import_lines(args, report))
    return 0 if report.imported or report.duplicates else 1


def _import_form(report: LessonsImport, *, is_dry: bool) -> dict[str, object]:
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


def _import_lines(args: argparse.Namespace, report: LessonsImport) -> list[str]:
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


def edited(lesson: Lesson) -> dict[str, Any]:
    """Return what the user changes in `$VISUAL` or `$EDITOR`, as arguments of `lessons edit`; empty for nothing.

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


def _difference(lesson: Lesson, text: str) -> dict[str, Any]:
    entries = parse(text).entries
    if [entry.id for entry in entries] != [lesson.id]:
        raise LessonsError(f"the text holds no lesson `### [{lesson.id}] Title` any more; nothing was changed")
    entry = entries[0]
    names = "title", "content", "category", "type"
    before = [getattr(lesson, name) for name in names]
    after = entry.title, entry.content, entry.value("category").lower(), entry.value("type").lower()
    changed: dict[str, Any] = {
        name: value for name, value, was in zip(names, after, before, strict=True) if value != was
    }
    if entry.triggers != lesson.triggers:
        changed["trigger"] = list(entry.triggers)
    if entry.is_promotable != lesson.is_promotable:
        changed["promotable"] = "yes" if entry.is_promotable else "no"
    return changed


# --- the command --------------------------------------------------------------------------------------------


_OPERATIONS = actions_of("lessons")
_ACTIONS = _OPERATIONS | {
    "edit": _OPERATIONS["edit"]._replace(run=_edit),
    "cite": _OPERATIONS["cite"]._replace(run=_cite),
    "import": Action("take over lessons of another installation", "../other/.claude-recall --dry-run", _import),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    add, score = (f"hybrid lessons {name} {_ACTIONS[name].example}" for name in ("add", "score"))
    parser.epilog = f"example:\n  {add}\n  {score}"
    parsers = add_actions(parser, _ACTIONS)
    parsers["import"].add_argument("path", metavar="PATH", help="a LESSONS.md, or a folder that holds one")
    parsers["import"].add_argument("--dry-run", action="store_true", help="say what would be done, write nothing")


def configure_score_local(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `hybrid score-local`."""
    score = _ACTIONS["score"]
    add_common(parser, example=f"{parser.prog} {score.example}")
    add_arguments("lessons score", parser)
    parser.set_defaults(run_action=score.run)


# --- lore ---------------------------------------------------------------------------------------------------


def _import_lore(args: argparse.Namespace) -> int:
    """Run `hybrid lore import`: take over records of another folder; the exit code is 0 also when none is new."""
    workspace = workspace_of(args)
    shelf = RecordStores().shelf(workspace)
    if not args.quiet and (told := left_out(workspace, shelf)):
        warn(told)
    source, target = LoreFolder(Path(expanded(args.path)), "personal"), shelf.stores[0].folder
    report = import_folder(source, target, project=args.attribute_to, is_dry=args.dry_run)
    form = {name: getattr(report, name) for name in ("added", "present", "withdrawn", "redacted")}
    form |= {"problems": list(map(str, report.problems)), "dry_run": args.dry_run, "folder": str(target.path)}
    return print_found(args, form, _lore_lines(args, report, target))


def _lore_lines(args: argparse.Namespace, report: LoreImport, target: LoreFolder) -> list[str]:
    verb = "would add" if args.dry_run else "added"
    lines = [f"{kind:<12}  {verb} {report.added[kind]}, here already {report.present[kind]}" for kind in KINDS]
    if report.withdrawn:
        verb = "would withdraw" if args.dry_run else "withdrew"
        lines.append(f"{'decision':<12}  {verb} {report.withdrawn}, no longer active there")
    if report.redacted:
        lines.append(f"secrets were taken out of {amount(report.redacted, 'record')}")
    lines += unread_lines(report.problems, len(report.problems), is_verbose=args.verbose)
    return lines if args.quiet else [*lines, f"{'to' if args.dry_run else 'in'} {target.path}"]


def _adding(action: Action) -> Action:
    """Return an action whose arguments begin with the word `add`: more could be done with patterns one day."""

    def arguments(parser: argparse.ArgumentParser) -> None:
        parser.add_argument("verb", type=_add_word, metavar="add")
        assert action.arguments is not None
        action.arguments(parser)

    return action._replace(arguments=arguments)


def _add_word(text: str) -> str:
    """Return the one action of patterns and anti-patterns, `add`."""
    if text != "add":
        raise argparse.ArgumentTypeError(f"{text!r} stands where the word add must stand")
    return text


_LORE = actions_of("lore")
_LORE_ACTIONS = _LORE | {
    "pattern": _adding(_LORE["pattern"]),
    "anti-pattern": _adding(_LORE["anti-pattern"]),
    "import": Action(
        "take over the records of another lore folder",
        "~/lore --project payments --dry-run",
        _import_lore,
        options=("--json", "--quiet", "--verbose", "--debug"),
    ),
}


def configure_lore(parser: argparse.ArgumentParser) -> None:
    """Add the actions of `hybrid lore`."""
    parser.epilog = 'example:\n  hybrid lore decide "Use JSONL for storage" --why "append-only, grep-friendly"'
    importing = add_actions(parser, _LORE_ACTIONS)["import"]
    importing.add_argument("path", metavar="PATH", help="the data folder; it is only read")
    about = "the project of records that name none"
    importing.add_argument("--project", dest="attribute_to", metavar="NAME", default="", help=about)
    importing.add_argument("--dry-run", action="store_true", help="only say what would be done")
