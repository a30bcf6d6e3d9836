"""The parts of `hybrid memory` that change nothing: recent, search, files, show, timeline, stats.

A command opens the memory here: whose rows it looks at, from where, and what waits to be looked at with them.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.ask.memory_lookup import (
    Filters,
    MemoryScope,
    OpenMemory,
    RankedRow,
    around,
    id_of,
    list_text,
    newest_first,
    nothing_known,
    project_named,
    project_paths,
    require_ids,
    row_json,
    rows_of,
    since_ms,
)
from hybrid.base.errors import HybridError
from hybrid.cli.common import print_found, print_json, query_of, say, warn, workspace_of
from hybrid.knowledge.stores import RecordStores
from hybrid.records.memory.types import shown_number
from hybrid.records.types import MemoryFormatError
from hybrid.render.marks import neutralise_line
from hybrid.render.numbers import local_time

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from hybrid.ask.memory_lookup import RowRequest
    from hybrid.workspace import Workspace


def open_memory(args: argparse.Namespace, *, is_of_one: bool = False) -> OpenMemory:
    """Return the memory that the command line names.

    Args:
        args: Perhaps with `named`, `here` and `all_projects`.
        is_of_one: Without any of these, only the present project's rows.

    Raises:
        HybridError: The directory does not exist, a project is not known, or the settings hold a mistake.
    """
    named, is_all = getattr(args, "named", ""), getattr(args, "all_projects", False)
    # Where projects are kept apart, each has an index of its own rows; who names another one wants that of all.
    workspace = workspace_of(args, flags={"memory.cross_project": True} if named or is_all else None)
    store = RecordStores().memory(workspace)
    now_ms = time.time_ns() // 1_000_000
    if named:
        key, name = project_named(named, workspace.home, store)
        present = workspace.project.key if workspace.project else ""
        return OpenMemory(workspace, store, MemoryScope(key, name, present, is_cross=False), now_ms)
    if getattr(args, "here", False):
        workspace.require_project()
    # A path means a file of this project; another one may have one of the same name.
    is_own = not is_all and (is_of_one or getattr(args, "here", False) or bool(getattr(args, "file", None)))
    return OpenMemory(workspace, store, _scope(workspace, is_own=is_own), now_ms)


def _scope(workspace: Workspace, *, is_own: bool) -> MemoryScope:
    project = workspace.project
    if project is None:
        return MemoryScope("", "", "", is_cross=True)
    is_cross = workspace.config.memory.cross_project and not is_own
    return MemoryScope("" if is_cross else project.key, project.name, project.key, is_cross=is_cross)


def flushed(memory: OpenMemory, args: argparse.Namespace) -> OpenMemory:
    """Store observations of what has waited long enough, and return the same memory; failures are only warnings."""
    if memory.workspace.project is None or not memory.store.exists:
        return memory
    try:
        from hybrid.knowledge.memory_intake import flush

        failures = flush(memory.workspace, memory.store, memory.now_ms)
    except MemoryFormatError:
        raise
    except HybridError as error:  # A database that cannot be written may still be read.
        failures = (str(error),)
    for failure in () if args.quiet else failures:
        warn(failure)
    return memory


_NOTHING = "Nothing found."


def recent(args: argparse.Namespace) -> int:
    """Run `recent`: print rows chosen by rank, shown by day; exit code 1 when there is none."""
    from hybrid.ask.memory_lookup import recent as newest

    memory = flushed(open_memory(args), args)
    found = newest(memory.store, _request(args, memory), is_cross=memory.scope.is_cross)
    if args.json:
        return _print(args, memory, found, _NOTHING)
    if not args.quiet:
        say(neutralise_line(memory.scope.heading))
    is_filtered = args.since or args.type or args.file
    window_ms = memory.workspace.config.memory.batch_window_ms
    nothing = _NOTHING if found or is_filtered else nothing_known(memory.store, memory.scope, window_ms)
    return _print(args, memory, newest_first(found), nothing, by_day=True)


def search(args: argparse.Namespace) -> int:
    """Run `search`: print the rows that fit, best first; exit code 1 when none does."""
    from hybrid.ask.memory_lookup import search as find
    from hybrid.knowledge.open_kinds import OpenKinds

    memory = flushed(open_memory(args), args)
    request = _request(args, memory)
    query = query_of(args.query)
    if not memory.workspace.config.memory.enabled and not args.quiet:
        warn("the memory is switched off, so it is not searched: `memory.enabled`")
    found = find(memory.workspace, OpenKinds(), query, request, mode=args.mode)
    return _print(args, memory, found, _NOTHING, query=query)


def of_files(args: argparse.Namespace) -> int:
    """Run `files`: print rows on files or folders, newest first; exit code 1 when there is none."""
    from hybrid.ask.memory_lookup import of_files as find

    memory = flushed(open_memory(args, is_of_one=True), args)
    request = _request(args, memory)
    paths = _paths(args.path, memory)
    found = find(memory.store, paths, request)
    return _print(args, memory, found, _NOTHING, by_day=True, files=list(paths))


def timeline(args: argparse.Namespace) -> int:
    """Run `timeline`: print rows around a record or time, oldest first; exit code 1 when there is none."""
    memory = flushed(open_memory(args, is_of_one=True), args)
    filters = _filters(args, memory)
    before, after = around(filters.limit, args.before, args.after)
    identity = id_of(args.at)
    scope = memory.scope
    if identity is None:
        at_ms = since_ms(args.at, memory.now_ms)
        rows = memory.store.timeline_at(at_ms, before, after, scope.wanted(filters, memory.now_ms))
    else:
        rows = rows_of(memory.store, [identity])
        if rows:
            # What came before and after it was done in its own project, wherever one asks.
            scope = scope if args.named or args.all_projects else memory.scope_of(rows[0].owner)
            rows = memory.store.timeline(*identity, before, after, scope.wanted(filters, memory.now_ms))
    found = [RankedRow(row) for row in rows]
    nothing = _NOTHING if identity is None else f"No record {args.at}."
    return _print(args, memory, found, nothing, by_day=True, at=args.at)


def show(args: argparse.Namespace) -> int:
    """Run `show`: print records in full, in the order asked for; exit code 1 when none of them is there."""
    ids = require_ids(args.id)
    memory = flushed(open_memory(args), args)
    rows = rows_of(memory.store, ids)
    there = {shown_number(row) for row in rows}
    for kind, number in ids:
        shown = f"s{number}" if kind == "summary" else str(number)
        if rows and shown not in there and not (args.json or args.quiet):
            warn(f"no record {shown}")
    args.form = "full"
    nothing = f"No record {', '.join(args.id)}; `hybrid memory recent` shows numbers."
    return _print(args, memory, [RankedRow(row) for row in rows], nothing)


def stats(args: argparse.Namespace) -> int:
    """Run `stats`: print counts; exit code 1 when the memory holds nothing."""
    from hybrid.knowledge.stores import figures_form

    memory = open_memory(args)
    counted = memory.store.stats()
    form = figures_form(memory.workspace, memory.store, counted)
    print_found(args, form, _stats_lines(form))
    return 0 if counted.n_sessions or counted.n_observations or counted.n_summaries else 1


def _stats_lines(form: dict[str, Any]) -> list[str]:
    from hybrid.knowledge.stores import rows_in_words

    rows = [
        *((name, f"{form[name]:>9,}") for name in ("observations", "summaries", "prompts", "sessions", "pending")),
        ("from", local_time(form["oldest"] or "–")),
        ("to", local_time(form["newest"] or "–")),
        ("database", f"{form['size_bytes'] / 1e6:,.1f} MB, {form['path']}"),
        ("index", f"{form['index_bytes'] / 1e6:,.1f} MB"),
        *([("types", ", ".join(f"{name} {n:,}" for name, n in form["by_type"].items()))] if form["by_type"] else []),
    ]
    projects = (
        f"{one['key']}  {rows_in_words(one['observations'], one['summaries']):>34}  {neutralise_line(one['project'])}"
        for one in form["by_project"]
    )
    return [*(f"{label:<13}{text}" for label, text in rows), *projects]


def _filters(args: argparse.Namespace, memory: OpenMemory) -> Filters:
    files = _paths(getattr(args, "file", ()), memory)
    return Filters(args.limit, args.since, tuple(dict.fromkeys(args.type)), files)


def _request(args: argparse.Namespace, memory: OpenMemory) -> RowRequest:
    filters = _filters(args, memory)
    return memory.request(memory.scope.wanted(filters, memory.now_ms), filters.limit)


def _paths(texts: Sequence[str], memory: OpenMemory) -> tuple[str, ...]:
    """Return typed paths as the memory has them; relative ones count from here (in this project) and from its root."""
    project = memory.workspace.project
    is_here = project is not None and memory.scope.key in ("", project.key)
    return project_paths(texts, Path.cwd() if is_here and texts else None, project.root if project else None)


def _print(
    args: argparse.Namespace,
    memory: OpenMemory,
    found: Sequence[RankedRow],
    nothing: str,
    *,
    by_day: bool = False,
    **echoed: object,
) -> int:
    """Print rows as JSON after the echoed options (`query` is None if not among them), or as text; returns the code."""
    if args.json:
        project = memory.scope.name or None
        print_json({"query": None, **echoed, "project": project, "records": [row_json(one) for one in found]})
        return 0 if found else 1
    if not found:
        say(nothing)
        return 1
    is_explained = getattr(args, "explain", False)
    here = memory.scope.present or memory.scope.key
    if not args.verbose:
        say(list_text(found, args.form, here=here, by_day=by_day and not args.quiet, is_explained=is_explained))
        return 0
    for number, one in enumerate(found):
        gap = "\n" if number and args.form == "full" else ""
        say(gap + list_text([one], args.form, here=here, is_explained=is_explained))
        say(f"      {_origin(one, memory)}")
    return 0


def _origin(one: RankedRow, memory: OpenMemory) -> str:
    """Return a line with the session of a row, and the prompt it comes of, if known."""
    row = one.row
    prompts = memory.store.prompts(row.owner.session_id)
    asked = next((prompt.text for prompt in prompts if prompt.prompt_number == row.prompt_number), "")
    said = f": {asked}" if asked else ""
    return neutralise_line(f"session {row.owner.session_id}, {row.owner.project}, prompt {row.prompt_number}{said}")
