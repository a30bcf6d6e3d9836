"""What `hybrid memory` prints of what is known: recent, search, files, show, timeline, stats."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.ask.memory_filters import Filters, around, id_of, project_paths, require_ids, rows_of, since_ms
from hybrid.ask.memory_lists import list_text, newest_first, nothing_known
from hybrid.ask.memory_lookup import Recalled, recalled_form
from hybrid.cli.common import print_json, query_of, say
from hybrid.cli.memory_places import flushed, open_memory
from hybrid.records.memory.showing import shown_number
from hybrid.render.marks import neutralise_line
from hybrid.render.numbers import local_time

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from hybrid.cli.memory_places import OpenMemory

_NOTHING = "Nothing found."


def recent(args: argparse.Namespace) -> int:
    """`recent`: chosen by rank, shown by day; exit code 1 when nothing is known."""
    from hybrid.ask.memory_lookup import recent as newest

    memory = flushed(open_memory(args), args)
    filters = _filters(args, memory)
    wanted = memory.scope.wanted(filters, memory.now_ms)
    found = newest(memory.store, wanted, memory.present, limit=filters.limit, is_cross=memory.scope.is_cross)
    if args.json:
        return _print_json(memory, found)
    if not args.quiet:
        say(neutralise_line(memory.scope.heading))
    is_filtered = bool(args.since or args.type or args.file)
    window_ms = memory.workspace.config.memory.batch_window_ms
    nothing = _NOTHING if found or is_filtered else nothing_known(memory.store, memory.scope, window_ms)
    return _print(args, memory, newest_first(found), nothing, by_day=True)


def search(args: argparse.Namespace) -> int:
    """`search`: the best first; exit code 1 when nothing fits."""
    from hybrid.ask.memory_lookup import search as find
    from hybrid.knowledge.open_kinds import OpenKinds

    memory = flushed(open_memory(args), args)
    filters = _filters(args, memory)
    wanted = memory.scope.wanted(filters, memory.now_ms)
    query = query_of(args.query)
    if not memory.workspace.config.memory.enabled and not args.quiet:
        sys.stderr.write("hybrid: warning: the memory is switched off, so it is not searched: `memory.enabled`\n")
    found = find(memory.workspace, OpenKinds(), query, wanted, memory.present, limit=filters.limit, mode=args.mode)
    if args.json:
        return _print_json(memory, found, query=query)
    return _print(args, memory, found, _NOTHING)


def of_files(args: argparse.Namespace) -> int:
    """`files`: what was done with files or below folders, the newest first; exit code 1 when nothing was."""
    from hybrid.ask.memory_lookup import of_files as find

    memory = flushed(open_memory(args, is_of_one=True), args)
    filters = _filters(args, memory)
    paths = _paths(args.path, memory)
    wanted = memory.scope.wanted(filters, memory.now_ms)
    found = find(memory.store, paths, wanted, memory.present, limit=filters.limit)
    if args.json:
        return _print_json(memory, found, files=list(paths))
    return _print(args, memory, found, _NOTHING, by_day=True)


def timeline(args: argparse.Namespace) -> int:
    """`timeline`: the oldest first; exit code 1 when there is no such record, or nothing happened around that time."""
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
    found = [Recalled(row) for row in rows]
    if args.json:
        return _print_json(memory, found, at=args.at)
    nothing = _NOTHING if identity is None else f"No record {args.at}."
    return _print(args, memory, found, nothing, by_day=True)


def show(args: argparse.Namespace) -> int:
    """`show`: records in full, in the order asked for; exit code 1 when none of them is there."""
    ids = require_ids(args.id)
    memory = flushed(open_memory(args), args)
    rows = rows_of(memory.store, ids)
    found = [Recalled(row) for row in rows]
    if args.json:
        return _print_json(memory, found)
    there = {shown_number(row) for row in rows}
    for kind, number in ids:
        shown = f"s{number}" if kind == "summary" else str(number)
        if rows and shown not in there and not args.quiet:
            sys.stderr.write(f"hybrid: warning: no record {shown}\n")
    args.form = "full"
    return _print(args, memory, found, f"No record {', '.join(args.id)}; `hybrid memory recent` shows numbers.")


def stats(args: argparse.Namespace) -> int:
    """`stats`: counts; exit code 1 when nothing is known."""
    from hybrid.health.memory_figures import figures_form

    memory = open_memory(args)
    counted = memory.store.stats()
    form = figures_form(memory.workspace, memory.store, counted)
    if args.json:
        print_json(form)
    else:
        _print_stats(form)
    return 0 if counted.n_sessions or counted.n_observations or counted.n_summaries else 1


def _print_stats(form: dict[str, Any]) -> None:
    from hybrid.health.memory_figures import in_words

    for name in ("observations", "summaries", "prompts", "sessions", "pending"):
        say(f"{name:<13}{form[name]:>9,}")
    say(f"{'from':<13}{local_time(form['oldest'] or '–')}")
    say(f"{'to':<13}{local_time(form['newest'] or '–')}")
    say(f"{'database':<13}{form['size_bytes'] / 1e6:,.1f} MB, {form['path']}")
    say(f"{'index':<13}{form['index_bytes'] / 1e6:,.1f} MB")
    if form["by_type"]:
        say(f"{'types':<13}{', '.join(f'{name} {n:,}' for name, n in form['by_type'].items())}")
    for one in form["by_project"]:
        n_rows = in_words(one["observations"], one["summaries"])
        say(f"{one['key']}  {n_rows:>34}  {neutralise_line(one['project'])}")


def _filters(args: argparse.Namespace, memory: OpenMemory) -> Filters:
    files = _paths(getattr(args, "file", ()), memory)
    return Filters(args.limit, args.since, tuple(dict.fromkeys(args.type)), files)


def _paths(texts: Sequence[str], memory: OpenMemory) -> tuple[str, ...]:
    """Paths of the project that is looked at; those of another one are written from its root."""
    project = memory.workspace.project
    is_here = project is not None and memory.scope.key in ("", project.key)
    return project_paths(texts, Path.cwd() if is_here and texts else None, project.root if project else None)


def _print_json(memory: OpenMemory, found: Sequence[Recalled], **echoed: object) -> int:
    """What was asked comes first; `query` is None where nothing was."""
    project = memory.scope.name or None
    print_json({"query": None, **echoed, "project": project, "records": [recalled_form(one) for one in found]})
    return 0 if found else 1


def _print(
    args: argparse.Namespace, memory: OpenMemory, found: Sequence[Recalled], nothing: str, *, by_day: bool = False
) -> int:
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


def _origin(one: Recalled, memory: OpenMemory) -> str:
    """Of which session, and what was asked there."""
    row = one.row
    prompts = memory.store.prompts(row.owner.session_id)
    asked = next((prompt.text for prompt in prompts if prompt.prompt_number == row.prompt_number), "")
    said = f": {asked}" if asked else ""
    return neutralise_line(f"session {row.owner.session_id}, {row.owner.project}, prompt {row.prompt_number}{said}")
