"""`hybrid lore`: patterns, decisions and handoffs, for people and for agents."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.errors import HybridError, ProjectError
from hybrid.base.home import expanded
from hybrid.base.text import cut, one_line
from hybrid.cli.common import (
    Action,
    add_actions,
    add_repeated,
    number_of,
    positive,
    print_done,
    print_found,
    query_of,
    unread_lines,
    warn,
    workspace_of,
)
from hybrid.knowledge.stores import NO_PROJECT, RecordStores, names_of
from hybrid.records.lore.json_records import DecisionDraft, GitState, HandoffDraft
from hybrid.records.lore.patterns import CATEGORIES, DEFAULT_CONFIDENCE, SEVERITIES, AntiPatternDraft, PatternDraft
from hybrid.records.lore.store import LoreFolder, project_folder
from hybrid.records.lore.types import (
    Handoff,
    best_matches,
    called,
    day_of,
    entry_text,
    full_text,
    latest_handoff,
    listed,
    shown_fields,
)
from hybrid.records.lore.writing import KINDS, git_state, head_commit, import_folder, new_writer
from hybrid.records.types import LoreError, NoRecordError
from hybrid.render.frame import Entry, render_entry
from hybrid.render.marks import neutralise_line
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.records.lore.store import LoreShelf
    from hybrid.records.lore.types import Listed, ProjectNames
    from hybrid.records.lore.writing import ImportReport, LoreDraft, LoreWriter
    from hybrid.workspace import Workspace


class OpenLore(Struct, frozen=True):
    """The lore of a directory.

    Attributes:
        workspace: That of the directory.
        shelf: The folders that records are read from.
        target: The folder where new records go.
        names: The names of the project here and of others.
    """

    workspace: Workspace
    shelf: LoreShelf
    target: LoreFolder
    names: ProjectNames


def _open_lore(args: argparse.Namespace) -> OpenLore:
    """Return the lore of the directory that the command line names; a tree that nobody accepted has no lore of its own.

    Raises:
        HybridError: The directory does not exist, or the user's settings hold a mistake.
    """
    workspace = workspace_of(args)
    if getattr(args, "system", False):
        # Written as outside of any project: what names no project counts in every one.
        workspace = replace(workspace, project=None)
    shelf = RecordStores().shelf(workspace)
    project = workspace.project
    own = project_folder(project.root) if project else None
    folders = [store.folder.path for store in shelf.stores]
    if own and not args.quiet and not any(path.exists() and own.samefile(path) for path in folders):
        sys.stderr.write(f"hybrid: {own} was left out: nobody accepted it yet; run `hybrid trust`\n")
    return OpenLore(workspace, shelf, shelf.stores[0].folder, names_of(workspace))


_NAME_CHARS = 90


def list_records(args: argparse.Namespace) -> int:
    """Run `list`: print the records that are wanted; exit code 1 when there is none."""
    found = _chosen(_open_lore(args), args)
    return _print(args, found, "No lore yet; `hybrid lore --help` shows how it is written down.")


def search_records(args: argparse.Namespace) -> int:
    """Run `search`: print the records that fit a query, the best first; exit code 1 when none does."""
    lore = _open_lore(args)
    found = _ranked(query_of(args.query), lore, _chosen(lore, args), args)
    return _print(args, found, "Nothing found.")


def _ranked(query: str, lore: OpenLore, chosen: Sequence[Listed], args: argparse.Namespace) -> list[Listed]:
    """Return records as the search index ranks them, then by words those that it lacks: withdrawn and foreign ones.

    All are ranked by words when the index cannot be used.
    """
    first: dict[str, Listed] = {}
    for one in chosen:
        first.setdefault(one.record.key, one)
    found = [first[key] for key in _by_engine(query, lore, args) if key in first]
    taken = {id(one) for one in found}
    rest = [one for one in chosen if id(one) not in taken]
    return [*found, *best_matches(query, rest, top_k=args.limit)][: args.limit]


def _by_engine(query: str, lore: OpenLore, args: argparse.Namespace) -> list[str]:
    """Return the keys of the records that fit, best first; none without a project.

    None either when the index cannot be used: then a warning goes to standard error, unless `--quiet` is given.
    """
    from hybrid.ask.search import best_lore
    from hybrid.knowledge.open_kinds import OpenKinds
    from hybrid.prompting.query import make_query

    if lore.workspace.project is None:
        return []
    try:
        found = best_lore(lore.workspace, make_query(query), OpenKinds(), kinds=args.kind, top_k=args.limit)
    except HybridError as error:
        if not args.quiet:
            warn(f"ranked by words alone: {error}")
        return []
    return [record.key for record in found]


def show_record(args: argparse.Namespace) -> int:
    """Run `show`: print everything of one record; exit code 1 when there is none of that id."""
    one = _record_of(_open_lore(args), args.id)
    if one is None:
        return print_found(args, {"records": []}, [], f"No record {args.id}; `hybrid lore list --all` shows ids.")
    text = entry_text(one) if args.quiet else full_text(one)
    return print_found(args, {"records": [one.as_json() | {"fields": shown_fields(one.value.fields)}]}, [text])


def show_latest(args: argparse.Namespace) -> int:
    """Run `latest`: print the whole of the latest handoff; exit code 1 when there is none."""
    lore = _open_lore(args)
    handoff = latest_handoff(lore.shelf.read(), lore.names)
    one = _record_of(lore, handoff.id) if handoff else None
    if one is None or not isinstance(one.value, Handoff):
        return print_found(args, {"records": []}, [], 'No handoff yet; `hybrid lore handoff "…"` leaves one.')
    parts = _parts(one.value)
    lines = parts["message"].splitlines()
    for label, key in (("Next", "next_steps"), ("Blocker", "blockers"), ("Question", "questions")):
        lines += [f"{label}: {one_line(text)}" for text in parts[key]]
    text = render_entry(Entry(one.record.kind, one.record.shown, tuple(lines)))
    return print_found(args, {"records": [one.as_json() | {"handoff": parts}]}, [text])


def _record_of(lore: OpenLore, beginning: str) -> Listed | None:
    """Return the record whose id begins so; a whole id counts before a beginning. None when there is none.

    Raises:
        HybridError: Several ids begin so.
    """
    return called(listed(lore.shelf.read(), lore.names, is_all=True), beginning)


def _chosen(lore: OpenLore, args: argparse.Namespace) -> list[Listed]:
    records = listed(lore.shelf.read(), lore.names, is_all=args.all)
    return [one for one in records if not args.kind or one.record.kind in args.kind]


def _print(args: argparse.Namespace, records: Sequence[Listed], nothing: str) -> int:
    lines = [entry_text(one) if args.verbose else _line(one) for one in records]
    return print_found(args, {"records": [one.as_json() for one in records]}, lines, nothing)


def _line(one: Listed) -> str:
    record = one.record
    named = neutralise_line(record.name or " ".join(record.lines))
    notes = [] if one.status == "active" else [one.status]
    notes += [] if record.is_attributed else ["unattributed"]
    note = f"  [{', '.join(map(neutralise_line, notes))}]" if notes else ""
    first = f"{neutralise_line(record.id):<20}  {record.kind:<12}  {day_of(record.created_at):<10}"
    return f"{first}  {cut(named, _NAME_CHARS)}{note}"


def _parts(handoff: Handoff) -> dict[str, Any]:
    lists = {name: list(getattr(handoff, name)) for name in ("next_steps", "blockers", "questions")}
    return shown_fields({"message": handoff.message, **lists, "created_at": handoff.created_at or None})


# --- changing -----------------------------------------------------------------------------------------------


def add_pattern(args: argparse.Namespace) -> int:
    """Run `pattern add`: store a new pattern."""
    _require(args, "name", "solution")
    draft = PatternDraft(args.name, args.solution, args.context, args.problem, args.category, args.confidence)
    return _add(args, _open_lore(args), draft)


def add_anti_pattern(args: argparse.Namespace) -> int:
    """Run `anti-pattern add`: store a new anti-pattern."""
    _require(args, "name", "symptom", "fix")
    draft = AntiPatternDraft(args.name, args.symptom, args.risk, args.fix, args.category, args.severity)
    return _add(args, _open_lore(args), draft)


def decide(args: argparse.Namespace) -> int:
    """Run `decide`: store a decision."""
    args.text = " ".join(args.text)
    _require(args, "text", "why")
    lore = _open_lore(args)
    project = lore.workspace.project
    commit = head_commit(project.root) if project else None
    draft = DecisionDraft(args.text, args.why, tuple(args.alternative), tuple(args.tag), commit)
    return _add(args, lore, draft)


def hand_off(args: argparse.Namespace) -> int:
    """Run `handoff`: store a handoff to the next session."""
    args.message = " ".join(args.message)
    _require(args, "message")
    lore = _open_lore(args)
    project = lore.workspace.project
    git = git_state(project.root) if project else GitState()
    draft = HandoffDraft(args.message, tuple(args.next), tuple(args.blocker), tuple(args.question), git)
    return _add(args, lore, draft)


def retract(args: argparse.Namespace) -> int:
    """Run `retract`: take a decision back, or deprecate a pattern."""
    lore = _open_lore(args)
    identity = _whole_id(lore, args.id)
    is_changed = _writer(lore).retract(identity, args.reason)
    return _written(args, lore, identity, "retracted" if is_changed else "was withdrawn already")


def supersede(args: argparse.Namespace) -> int:
    """Run `supersede`: note that one record is superseded by another, which is there already."""
    lore = _open_lore(args)
    old, new = _whole_id(lore, args.old), _whole_id(lore, args.new)
    is_changed = _writer(lore).supersede(old, new)
    return _written(args, lore, old, f"superseded by {new}" if is_changed else "was withdrawn already")


def import_records(args: argparse.Namespace) -> int:
    """Run `import`: take over records of another folder; the exit code is 0 also when none is new."""
    lore = _open_lore(args)
    source = LoreFolder(Path(expanded(args.path)), "personal")
    report = import_folder(source, lore.target, project=args.attribute_to, is_dry=args.dry_run)
    form = {name: getattr(report, name) for name in ("added", "present", "withdrawn", "redacted")}
    form |= {"problems": list(map(str, report.problems)), "dry_run": args.dry_run, "folder": str(lore.target.path)}
    return print_found(args, form, _report_lines(args, report, lore.target))


def _report_lines(args: argparse.Namespace, report: ImportReport, target: LoreFolder) -> list[str]:
    verb = "would add" if args.dry_run else "added"
    lines = [f"{kind:<12}  {verb} {report.added[kind]}, here already {report.present[kind]}" for kind in KINDS]
    if report.withdrawn:
        verb = "would withdraw" if args.dry_run else "withdrew"
        lines.append(f"{'decision':<12}  {verb} {report.withdrawn}, no longer active there")
    if report.redacted:
        lines.append(f"secrets were taken out of {amount(report.redacted, 'record')}")
    lines += unread_lines(report.problems, len(report.problems), is_verbose=args.verbose)
    return lines if args.quiet else [*lines, f"{'to' if args.dry_run else 'in'} {target.path}"]


def _add(args: argparse.Namespace, lore: OpenLore, draft: LoreDraft) -> int:
    """Write a record into the folder for new ones, with `--system` into the user's; tell its id, and return 0.

    Raises:
        ProjectError: There is no project here, and `--system` is not given.
        LoreError: A recent record says nearly the same, and `--force` is not given; or the file cannot be written.
    """
    if lore.workspace.project is None and not args.system:
        raise ProjectError(NO_PROJECT)
    return _written(args, lore, _writer(lore).add(draft, is_forced=args.force))


def _writer(lore: OpenLore) -> LoreWriter:
    """Return a writer of lore for this project, which dates its records now."""
    return new_writer(lore.shelf, lore.names, time.time())


def _written(args: argparse.Namespace, lore: OpenLore, identity: str, what: str = "written") -> int:
    one = _record_of(lore, identity)
    form = {"id": identity, "folder": str(lore.target.path), "records": [one.as_json()] if one else []}
    print_done(args, form, f"{identity}  {what}")
    return 0


def _whole_id(lore: OpenLore, beginning: str) -> str:
    found = _record_of(lore, beginning)
    if found is None:
        raise NoRecordError(f"no record {beginning}; `hybrid lore list --all` shows ids")
    return found.record.id


def _require(args: argparse.Namespace, *names: str) -> None:
    for name in names:
        if not str(getattr(args, name)).strip():
            raise LoreError(f"the {name} is empty; a record must say something")


# --- the command --------------------------------------------------------------------------------------------


_KINDS = ("pattern", "anti-pattern", "decision", "handoff")

_ACTIONS = {
    "list": Action("the records of this project", "", list_records),
    "search": Action("records that fit some words", '"bash arithmetic" --kind pattern', search_records),
    "show": Action("a record with all its keys", "dec-a1b2c3d4", show_record),
    "latest": Action("the latest handoff of this project", "", show_latest),
    "pattern": Action(
        "add a pattern: a solution that proved itself",
        'add "Quote paths" --problem "spaces split them" --solution "write \\"$path\\""',
        add_pattern,
    ),
    "anti-pattern": Action(
        "add an anti-pattern: what not to do",
        'add "Parsing ls output" --symptom "names with spaces split" --fix "use a glob"',
        add_anti_pattern,
    ),
    "decide": Action(
        "write down a decision",
        '"Use JSONL for storage" --why "append-only, grep-friendly" --alternative SQLite',
        decide,
    ),
    "retract": Action(
        "take a decision back, or deprecate a pattern",
        'dec-a1b2c3d4 --reason "SQLite is needed after all"',
        retract,
    ),
    "supersede": Action("let a decision take the place of another", "dec-a1b2c3d4 dec-0f1e2d3c", supersede),
    "handoff": Action(
        "leave a note for the next session",
        '"Login works, OAuth is missing" --next "register the app"',
        hand_off,
    ),
    "import": Action(
        "take over the records of another lore folder",
        "~/lore --project payments --dry-run",
        import_records,
        options=("--json", "--quiet", "--verbose", "--debug"),
    ),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    parser.epilog = 'example:\n  hybrid lore decide "Use JSONL for storage" --why "append-only, grep-friendly"'
    parsers = add_actions(parser, _ACTIONS)
    _configure_reading(parsers["list"], parsers["search"], parsers["show"])
    _configure_patterns(parsers["pattern"], parsers["anti-pattern"])
    _configure_decisions(parsers["decide"], parsers["retract"], parsers["supersede"])
    handoff, importing = parsers["handoff"], parsers["import"]
    handoff.add_argument("message", nargs="+", metavar="MESSAGE", help="where things stand")
    for option, metavar in (("--next", "STEP"), ("--blocker", "TEXT"), ("--question", "TEXT")):
        add_repeated(handoff, option, metavar, "may be repeated")
    _configure_writing(handoff)
    importing.add_argument("path", metavar="PATH", help="the data folder; it is only read")
    about = "the project of records that name none"
    importing.add_argument("--project", dest="attribute_to", metavar="NAME", default="", help=about)
    importing.add_argument("--dry-run", action="store_true", help="only say what would be done")


def _configure_reading(
    listing: argparse.ArgumentParser, search: argparse.ArgumentParser, show: argparse.ArgumentParser
) -> None:
    search.add_argument("query", nargs="+", metavar="QUERY", help="words, a question")
    search.add_argument("-n", "--limit", type=positive, default=10, help="records to show (default: 10)")
    for parser in (listing, search):
        add_repeated(parser, "--kind", None, "only this kind; may be repeated", choices=_KINDS)
        parser.add_argument("--all", action="store_true", help="withdrawn records and those of other projects too")
    show.add_argument("id", metavar="ID", help="of a record; its beginning is enough")


def _configure_patterns(pattern: argparse.ArgumentParser, anti: argparse.ArgumentParser) -> None:
    pattern.add_argument("--problem", metavar="TEXT", default="", help="what goes wrong otherwise")
    pattern.add_argument("--solution", metavar="TEXT", required=True, help="what to do")
    pattern.add_argument("--context", metavar="TEXT", default="", help="when it applies")
    about = "0 to 1 (default: %(default)s)"
    pattern.add_argument("--confidence", type=_confidence, default=DEFAULT_CONFIDENCE, metavar="C", help=about)
    anti.add_argument("--symptom", metavar="TEXT", required=True, help="how it shows")
    anti.add_argument("--risk", metavar="TEXT", default="", help="what it leads to")
    anti.add_argument("--fix", metavar="TEXT", required=True, help="what to do instead")
    anti.add_argument("--severity", choices=SEVERITIES, default="medium", help="default: %(default)s")
    for parser in (pattern, anti):
        parser.add_argument("verb", type=_add_word, metavar="add")
        parser.add_argument("name", metavar="NAME", help="title")
        parser.add_argument("--category", choices=CATEGORIES, default="general", help="default: %(default)s")
        _configure_writing(parser)


def _configure_decisions(
    decide: argparse.ArgumentParser, retract: argparse.ArgumentParser, supersede: argparse.ArgumentParser
) -> None:
    decide.add_argument("text", nargs="+", metavar="TEXT", help="what was decided")
    decide.add_argument("--why", metavar="REASON", required=True, help="the reason")
    add_repeated(decide, "--alternative", "TEXT", "may be repeated")
    add_repeated(decide, "--tag", "WORD", "may be repeated")
    _configure_writing(decide)
    retract.add_argument("id", metavar="ID", help="of a decision, a pattern or an anti-pattern")
    retract.add_argument("--reason", metavar="TEXT", required=True, help="kept with a decision")
    supersede.add_argument("old", metavar="OLD", help="id of the decision that no longer holds")
    supersede.add_argument("new", metavar="NEW", help="id of the one that holds instead")


def _configure_writing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--system", action="store_true", help="for all projects")
    parser.add_argument("--force", action="store_true", help="write it although a recent record says nearly the same")


def _add_word(text: str) -> str:
    """Return the one action of patterns and anti-patterns, `add`."""
    if text != "add":
        raise argparse.ArgumentTypeError(f"{text!r} stands where the word add must stand")
    return text


def _confidence(text: str) -> float:
    value = number_of(text)
    if not 0 < value <= 1:
        raise argparse.ArgumentTypeError(f"{text} must lie above 0 and be at most 1: a pattern of 0 is never given")
    return value
