"""The parts of `hybrid lore` that change nothing: list, search, show, latest; and the lore that a command opens."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.errors import HybridError
from hybrid.base.text import cut, one_line
from hybrid.cli.common import print_found, query_of, warn, workspace_of
from hybrid.knowledge.stores import RecordStores, names_of
from hybrid.records.lore.store import project_folder
from hybrid.records.lore.types import Handoff, best_matches, day_of, field_lines, latest_handoff, listed, shown_fields
from hybrid.render.frame import Entry, render_entry
from hybrid.render.marks import neutralise_line

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from pathlib import Path

    from hybrid.records.lore.store import LoreFolder, LoreShelf
    from hybrid.records.lore.types import Listed, ProjectNames
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


def open_lore(args: argparse.Namespace) -> OpenLore:
    """Return the lore of the directory that the command line names; a tree that nobody accepted has no lore of its own.

    Raises:
        HybridError: The directory does not exist, or the user's settings hold a mistake.
    """
    workspace = workspace_of(args)
    if getattr(args, "system", False):
        # Written as outside of any project.
        workspace = replace(workspace, project=None)
    shelf = RecordStores().shelf(workspace)
    project = workspace.project
    own = project_folder(project.root) if project else None
    if own and not args.quiet and not any(_is_same(own, store.folder) for store in shelf.stores):
        sys.stderr.write(f"hybrid: {own} was left out: nobody accepted it yet; run `hybrid trust`\n")
    return OpenLore(workspace, shelf, shelf.stores[0].folder, names_of(workspace))


def _is_same(own: Path, folder: LoreFolder) -> bool:
    return folder.path.exists() and own.samefile(folder.path)


_NAME_CHARS = 90


def list_records(args: argparse.Namespace) -> int:
    """Run `list`: print the records that are wanted; exit code 1 when there is none."""
    found = _chosen(open_lore(args), args)
    return _print(args, found, "No lore yet; `hybrid lore --help` shows how it is written down.")


def search_records(args: argparse.Namespace) -> int:
    """Run `search`: print the records that fit a query, the best first; exit code 1 when none does."""
    lore = open_lore(args)
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
    one = record_of(open_lore(args), args.id)
    if one is None:
        return print_found(args, {"records": []}, [], f"No record {args.id}; `hybrid lore list --all` shows ids.")
    lines = [_whole(one)]
    if not args.quiet:
        lines.append(f"  status: {one.status}")
        lines += [f"  {line}" for line in field_lines(one.value.fields)]
    return print_found(args, {"records": [one.as_json() | {"fields": shown_fields(one.value.fields)}]}, lines)


def show_latest(args: argparse.Namespace) -> int:
    """Run `latest`: print the whole of the latest handoff; exit code 1 when there is none."""
    lore = open_lore(args)
    handoff = latest_handoff(lore.shelf.read(), lore.names)
    one = record_of(lore, handoff.id) if handoff else None
    if one is None or not isinstance(one.value, Handoff):
        return print_found(args, {"records": []}, [], 'No handoff yet; `hybrid lore handoff "…"` leaves one.')
    parts = _parts(one.value)
    lines = parts["message"].splitlines()
    for label, key in (("Next", "next_steps"), ("Blocker", "blockers"), ("Question", "questions")):
        lines += [f"{label}: {one_line(text)}" for text in parts[key]]
    text = render_entry(Entry(one.record.kind, one.record.shown, tuple(lines)))
    return print_found(args, {"records": [one.as_json() | {"handoff": parts}]}, [text])


def record_of(lore: OpenLore, beginning: str) -> Listed | None:
    """Return the record whose id begins so; a whole id counts before a beginning. None when there is none.

    Raises:
        HybridError: Several ids begin so.
    """
    every = listed(lore.shelf.read(), lore.names, is_all=True)
    same = [one for one in every if one.record.id == beginning]
    if same:
        return same[0]
    found = {one.record.key: one for one in every if beginning and one.record.id.startswith(beginning)}
    if len(found) > 1:
        raise HybridError(
            f"{len(found)} records begin with {beginning!r}; give more of the ID, `hybrid lore list` shows it"
        )
    return next(iter(found.values()), None)


def _chosen(lore: OpenLore, args: argparse.Namespace) -> list[Listed]:
    records = listed(lore.shelf.read(), lore.names, is_all=args.all)
    return [one for one in records if not args.kind or one.record.kind in args.kind]


def _print(args: argparse.Namespace, records: Sequence[Listed], nothing: str) -> int:
    lines = [_whole(one) if args.verbose else _line(one) for one in records]
    return print_found(args, {"records": [one.as_json() for one in records]}, lines, nothing)


def _line(one: Listed) -> str:
    record = one.record
    named = neutralise_line(record.name or " ".join(record.lines))
    notes = [] if one.status == "active" else [one.status]
    notes += [] if record.is_attributed else ["unattributed"]
    note = f"  [{', '.join(map(neutralise_line, notes))}]" if notes else ""
    first = f"{neutralise_line(record.id):<20}  {record.kind:<12}  {day_of(record.created_at):<10}"
    return f"{first}  {cut(named, _NAME_CHARS)}{note}"


def _whole(one: Listed) -> str:
    return render_entry(Entry(one.record.kind, one.record.shown, one.record.lines))


def _parts(handoff: Handoff) -> dict[str, Any]:
    lists = {name: list(getattr(handoff, name)) for name in ("next_steps", "blockers", "questions")}
    return shown_fields({"message": handoff.message, **lists, "created_at": handoff.created_at or None})
