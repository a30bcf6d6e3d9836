"""`hybrid memory`: what happened in earlier sessions, for people and for agents.

A command opens the memory here: whose rows it looks at, from where, and what waits to be looked at with them.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, AnyStr

from hybrid.ask import memory_lookup
from hybrid.ask.memory_lookup import (
    DEFAULT_LIMIT,
    FORMS,
    MAX_LIMIT,
    TYPES,
    Filters,
    MemoryScope,
    Note,
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
    told,
)
from hybrid.base.atomic import open_private, replace_file
from hybrid.base.digest import sha256_hex
from hybrid.base.errors import HybridError
from hybrid.base.home import expanded
from hybrid.cli.common import (
    Action,
    add_actions,
    add_repeated,
    build_progress,
    marked_path,
    number_in,
    print_done,
    print_found,
    print_json,
    query_of,
    say,
    unread_lines,
    warn,
    whole_in,
    workspace_of,
)
from hybrid.knowledge.stores import RecordStores, figures_form, rows_in_words
from hybrid.project.registry import load_registry
from hybrid.records.memory.transfer import MAX_LINE_CHARS
from hybrid.records.memory.types import OBSERVATION_TYPES, ForgetReport, Owner, index_line, name_of, row_name
from hybrid.records.types import MemoryFormatError
from hybrid.render.marks import neutralise_line
from hybrid.render.numbers import amount, local_time
from hybrid.render.visible import json_escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    from hybrid.ask.memory_lookup import RowRequest
    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import MemoryImport, MemoryKind
    from hybrid.types import HookEvent
    from hybrid.workspace import Workspace


def _open(args: argparse.Namespace, *, is_of_one: bool = False) -> OpenMemory:
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


def _flushed(args: argparse.Namespace, *, is_of_one: bool = False) -> OpenMemory:
    """Return the memory with observations of what has waited long enough; failures to store them are only warnings."""
    memory = _open(args, is_of_one=is_of_one)
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
    memory = _flushed(args)
    found = memory_lookup.recent(memory.store, _request(args, memory), is_cross=memory.scope.is_cross)
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
    from hybrid.knowledge.open_kinds import OpenKinds

    memory = _flushed(args)
    request = _request(args, memory)
    query = query_of(args.query)
    if not memory.workspace.config.memory.enabled and not args.quiet:
        warn("the memory is switched off, so it is not searched: `memory.enabled`")
    found = memory_lookup.search(memory.workspace, OpenKinds(), query, request, mode=args.mode)
    return _print(args, memory, found, _NOTHING, query=query)


def of_files(args: argparse.Namespace) -> int:
    """Run `files`: print rows on files or folders, newest first; exit code 1 when there is none."""
    memory = _flushed(args, is_of_one=True)
    request = _request(args, memory)
    paths = _paths(args.path, memory)
    found = memory_lookup.of_files(memory.store, paths, request)
    return _print(args, memory, found, _NOTHING, by_day=True, files=list(paths))


def timeline(args: argparse.Namespace) -> int:
    """Run `timeline`: print rows around a record or time, oldest first; exit code 1 when there is none."""
    memory = _flushed(args, is_of_one=True)
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
    memory = _flushed(args)
    rows = rows_of(memory.store, ids)
    there = {name_of(row) for row in rows}
    for name in (row_name(*one) for one in ids):
        if rows and name not in there and not (args.json or args.quiet):
            warn(f"no record {name}")
    args.form = "full"
    nothing = f"No record {', '.join(args.id)}; `hybrid memory recent` shows ids."
    return _print(args, memory, [RankedRow(row) for row in rows], nothing)


def stats(args: argparse.Namespace) -> int:
    """Run `stats`: print counts; exit code 1 when the memory holds nothing."""
    memory = _open(args)
    counted = memory.store.stats()
    form = figures_form(memory.workspace, memory.store, counted)
    print_found(args, form, _stats_lines(form))
    return 0 if counted.n_sessions or counted.n_observations or counted.n_summaries else 1


def _stats_lines(form: dict[str, Any]) -> list[str]:
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


# --- changing and moving ------------------------------------------------------------------------------------


MANUAL_SESSION = "manual"
"""The session of observations that somebody wrote down by hand."""

_SHOWN = 10
_CLAUDE_MEM = "~/.claude-mem/claude-mem.db"
_KEY_DIGITS = 16
_MB = 1_000_000
_DAY_MS = 86_400_000


def add(args: argparse.Namespace) -> int:
    """Run `add`: store an observation without private spans and secrets, or count it if stored within the last hour."""
    memory = _open(args)
    project = memory.workspace.require_project()
    note = Note(args.type, " ".join(args.title), "", args.narrative, args.fact, args.concept, args.file)
    owner = Owner(MANUAL_SESSION, project.key, project.name)
    row = memory.store.add_observation(owner, told(note, project.root), memory.now_ms)
    form = {"records": [row_json(RankedRow(row))] if row else [], "repeated": row is None}
    if row is None and not args.json:  # Said with `--quiet` too.
        say("Not stored: the same was stored within the last hour; it was counted there.")
    else:
        print_done(args, form, neutralise_line(index_line(row)) if row else "")
    return 0


def forget(args: argparse.Namespace) -> int:
    """Run `forget`: delete rows, also from the index and from what hooks kept, after asking on a terminal.

    Returns:
        1 when there was nothing to forget or the answer is no, 2 when an index still holds it, otherwise 0.

    Raises:
        HybridError: Nobody can be asked, and `--yes` is not given; or an id or a project is not known.
    """
    memory = _open(args)
    ids = require_ids(args.id)
    what = _what(args, memory, ids)
    if not what:
        return _forgot(args, ForgetReport(_forget_waiting(args, memory), is_wiped=True), (), memory)
    if not args.yes and not _is_wanted(what):
        return 1
    n_waiting = _forget_waiting(args, memory)
    done = _forget(args, memory, ids)
    return _forgot(args, ForgetReport(done.n + n_waiting, done.is_wiped), _purge(args, memory), memory)


def _purge(args: argparse.Namespace, memory: OpenMemory) -> tuple[str, ...]:
    """Take rows that are gone out of the indexes; returns why that failed."""
    from hybrid.upkeep.purging import purge_index

    with build_progress(is_quiet=args.quiet) as progress:
        return purge_index(memory.workspace, memory.store, progress=progress)


def _what(args: argparse.Namespace, memory: OpenMemory, ids: list[tuple[MemoryKind, int]]) -> str:
    """Return a text for a person that says what would be forgotten; empty when there is nothing."""
    store = memory.store
    if args.everything:
        counted = store.stats()
        n = counted.n_observations + counted.n_summaries + counted.n_prompts + counted.n_sessions + counted.n_pending
        return f"Everything: {rows_in_words(counted.n_observations, counted.n_summaries)}" if n else ""
    if args.project_data:
        _, name = project_named(args.project_data, memory.workspace.home, store)
        return f"Everything of the project {name}"
    if args.session:
        session = store.session(args.session)
        return f"Session {args.session} of {session.owner.project}, with its prompts" if session else ""
    rows = rows_of(store, ids)
    shown = list_text([RankedRow(row) for row in rows[:_SHOWN]], "index", here=memory.scope.present)
    return f"{shown}\n… {len(rows) - _SHOWN} more" if len(rows) > _SHOWN else shown


def _is_wanted(what: str) -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise HybridError("forgetting is for good, and nobody can be asked here: --yes says that it is wanted")
    say(neutralise_line(what) if "\n" not in what else what)
    try:
        return input("Forget this for good? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _forget_waiting(args: argparse.Namespace, memory: OpenMemory) -> int:
    """Delete the events that hooks kept of what is forgotten and nobody took in yet; returns how many."""
    from hybrid.hooks.taking import forget_waiting

    key = project_named(args.project_data, memory.workspace.home, memory.store)[0] if args.project_data else ""

    def is_meant(workspace: Workspace, event: HookEvent) -> bool:
        if key:
            return workspace.project is not None and workspace.project.key == key
        return args.everything or bool(args.session and event.session_id == args.session)

    return forget_waiting(memory.workspace.home, os.environ, is_meant)


def _forget(args: argparse.Namespace, memory: OpenMemory, ids: list[tuple[MemoryKind, int]]) -> ForgetReport:
    store = memory.store
    if args.everything:
        return store.forget_everything()
    if args.project_data:
        return store.forget_project(project_named(args.project_data, memory.workspace.home, store)[0])
    if args.session:
        return store.forget_session(args.session)
    return store.forget(ids)


def _forgot(args: argparse.Namespace, forgotten: ForgetReport, problems: tuple[str, ...], memory: OpenMemory) -> int:
    copies = [str(path) for path in memory.store.set_aside]
    if args.json:
        is_gone = forgotten.is_wiped and not problems
        print_json({"forgotten": forgotten.n, "is_gone": is_gone, "problems": list(problems), "set_aside": copies})
    elif not forgotten.n:
        say("Nothing to forget.")
    elif not args.quiet:
        rows = amount(forgotten.n, "row")
        say(f"Forgot {rows} for good: text, full-text index and vectors are deleted, and do not come back.")
        if not forgotten.is_wiped:
            say("Another process is reading the database: the bytes go when it is done, or with the next forgetting.")
    for problem in problems:
        sys.stderr.write(f"hybrid: the index still holds it: {problem}; `hybrid memory prune` tries again\n")
    if forgotten.n and not args.json:
        for copy in copies:  # Said with `--quiet` too: nobody would look for it there.
            say(f"A damaged copy was set aside earlier and is untouched: {copy}")
    if problems:
        return 2
    return 0 if forgotten.n else 1


def prune(args: argparse.Namespace) -> int:
    """Run `prune`: delete the oldest rows, from the index too; exit code 1 when none had to go."""
    memory = _open(args)
    before_ms, max_bytes = _limits(args, memory)
    n = memory.store.prune(now_ms=memory.now_ms, before_ms=before_ms, max_bytes=max_bytes)
    problems = _purge(args, memory)
    size_bytes = memory.store.stats().size_bytes
    form = {"pruned": n, "size_bytes": size_bytes, "problems": list(problems)}
    print_done(args, form, f"Deleted {amount(n, 'row')}; the database has {size_bytes / _MB:,.1f} MB.")
    for problem in problems:
        warn(f"the index could not be brought up to date: {problem}")
    return 0 if n else 1


def _limits(args: argparse.Namespace, memory: OpenMemory) -> tuple[int | None, int | None]:
    """Return the time before which rows go, and the bytes of the database: of the options, else of the settings."""
    if args.older_than or args.max_mb is not None:
        before_ms = since_ms(args.older_than, memory.now_ms) if args.older_than else None
        return before_ms, int(args.max_mb * _MB) if args.max_mb is not None else None
    settings = memory.workspace.config.memory
    before_ms = memory.now_ms - settings.retention_days * _DAY_MS if settings.retention_days else None
    return before_ms, settings.max_mb * _MB


_HEADERS = 1
"""Number of lines of an export that are no row."""


def export(args: argparse.Namespace) -> int:
    """Run `export`: write rows, of all projects unless told otherwise; exit code 1 when there was none.

    Raises:
        HybridError: The file is there, and `--force` is not given; or its folder is not there.
    """
    if not (args.named or args.here):
        args.all_projects = True
    memory = _flushed(args)
    lines = memory.store.export(memory.scope.wanted(Filters(since=args.since), memory.now_ms))
    if not args.file:
        return 0 if _write_out(lines) > _HEADERS else 1
    path = Path(expanded(args.file))
    if path.exists() and not args.force:
        raise HybridError(f"{path} is there already; give another name, or --force to overwrite it")
    if not path.parent.is_dir():
        raise HybridError(f"{path.parent} is no folder; make it first, or name another file")
    n = _write_file(path, lines) - _HEADERS
    print_done(args, {"rows": n, "file": str(path)}, f"{amount(n, 'row')} in {path}")
    return 0 if n else 1


def _write_out(lines: Iterable[str]) -> int:
    out = marked_path(sys.stdout)  # As they are: `memory import` takes them back.
    n = 0
    for line in lines:
        out.write(f"{json_escaped(line)}\n")
        n += 1
    return n


def _write_file(path: Path, lines: Iterable[str]) -> int:
    """Write a file that only its owner may read, whole or not at all; returns the number of its lines."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    n = 0
    try:
        with open_private(temporary) as out:
            for line in lines:
                out.write(f"{line}\n".encode("utf-8", "replace"))
                n += 1
        replace_file(temporary, path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            error.filename = str(path)  # Nobody knows the temporary one.
        raise
    return n


def import_records(args: argparse.Namespace) -> int:
    """Run `import`: take over rows of an export or of claude-mem.

    Returns:
        0, also when no row is new; 2 when nothing in the file could be read.
    """
    memory = _open(args)
    if args.claude_mem is not None:
        # Few users have that database: who has not never loads what reads it.
        from hybrid.records.memory.transfer import import_database

        path = _claude_mem_file(args.claude_mem)
        resolve = _key_resolver(memory.workspace, memory.store)
        imported = import_database(path, memory.store.database, resolve, now_ms=memory.now_ms, is_dry=args.dry_run)
        return _print_import(args, imported)
    with _lines_of(args.file) as lines:
        name = "standard input" if args.file == "-" else args.file
        imported = memory.store.import_lines(lines, memory.now_ms, name=name, is_dry=args.dry_run)
    return _print_import(args, imported)


@contextmanager
def _lines_of(name: str) -> Generator[Iterator[str]]:
    """Give the lines of a file or of standard input for the block; bytes that are not UTF-8 are replaced."""
    if name == "-":
        yield (line.decode("utf-8", "replace") for line in _bounded(sys.stdin.buffer))
        return
    path = Path(expanded(name))
    if path.is_dir():
        raise HybridError(f"{path} is a folder; `hybrid memory import` reads a file that `export` wrote")
    with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as lines:
        yield _bounded(lines)


def _bounded(file: IO[AnyStr]) -> Iterator[AnyStr]:
    """Return the lines of a file, over-long ones in pieces, so that a file without line ends cannot fill the memory."""
    return iter(lambda: file.readline(MAX_LINE_CHARS + 1), file.read(0))


def _print_import(args: argparse.Namespace, imported: MemoryImport) -> int:
    counts: dict[str, Any] = {
        name: getattr(imported, f"n_{name}") for name in ("observations", "summaries", "prompts", "sessions")
    }
    # A file in which nothing could be read is none that `export` wrote.
    is_any = any(counts.values()) or imported.n_duplicates or imported.n_forgotten
    code = 0 if is_any or not imported.problems else 2
    form = counts | {
        "duplicates": imported.n_duplicates,
        "forgotten": imported.n_forgotten,
        "problems": list(map(str, imported.problems)),
        "unread": imported.n_unread,
        "dry_run": args.dry_run,
    }
    verb = "would add" if args.dry_run else "added"
    lines = [f"{name:<13} {verb} {n:,}" for name, n in counts.items()]
    if not args.quiet:
        lines.append(f"here already: {amount(imported.n_duplicates, 'row')}")
        if imported.n_forgotten:
            lines.append(f"left out, since they were forgotten on purpose: {amount(imported.n_forgotten, 'row')}")
    print_found(args, form, [*lines, *unread_lines(imported.problems, imported.n_unread, is_verbose=args.verbose)])
    return code


def _claude_mem_file(given: str) -> Path:
    """Return the database of claude-mem: the one that is named, also by its folder, or where it lies by default.

    Raises:
        HybridError: There is none.
    """
    path = Path(expanded(given or _CLAUDE_MEM))
    path = path / "claude-mem.db" if path.is_dir() else path
    if not path.is_file():
        raise HybridError(f"no database at {given or _CLAUDE_MEM}; --claude-mem PATH names it")
    return path


def _key_resolver(workspace: Workspace, store: MemoryStore) -> Callable[[str], tuple[str, str]]:
    """Return what gives key and name of a project of which only the name is known.

    The present project counts first, then the one project of that name that is known here; any other name, also one
    that several projects have, gets a key of its own, which no project on this machine has.
    """
    known: dict[str, set[str]] = {}
    for key, entry in load_registry(workspace.home).items():
        known.setdefault(entry.name, set()).add(key)
    for one in store.stats().by_project:
        known.setdefault(one.project, set()).add(one.key)
    project = workspace.project
    if project is not None:
        known[project.name] = {project.key}

    def resolve(name: str) -> tuple[str, str]:
        keys = known.get(name, set())
        if len(keys) == 1:
            return next(iter(keys)), name
        return sha256_hex(f"claude-mem\n{name}".encode("utf-8", "replace"))[:_KEY_DIGITS], name

    return resolve


# --- the command --------------------------------------------------------------------------------------------


_ACTIONS = {
    "recent": Action("the last work done", "--since 7d --type bugfix --explain", recent),
    "search": Action("what fits a question, the best first", '"which test failed first" --here', search),
    "files": Action("what was done with files, the newest first", "src/payments/client.py docs", of_files),
    "show": Action("records in full", "o42 s7", show),
    "timeline": Action(
        "what happened before and after a record or a time, in one project unless told otherwise",
        "o42 --before 5 --after 5",
        timeline,
    ),
    "stats": Action("how much is known, and of what", "--json", stats),
    "add": Action(
        "write down an observation of your own",
        '"Deploys need the VPN" --type discovery --fact "the registry is internal"',
        add,
    ),
    "forget": Action("delete for good: the row, its full text and its vector", "o42 s7", forget),
    "prune": Action(
        "delete the oldest, by age or until the database is small enough (default: as the settings say)",
        "--older-than 90d --max-mb 200",
        prune,
    ),
    "export": Action("write it as JSON Lines", "memory.jsonl --since 4w", export),
    "import": Action("take over an export, or the database of claude-mem", "memory.jsonl --dry-run", import_records),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions."""
    parser.epilog = 'example:\n  hybrid memory search "why was the retry loop changed" --since 2w'
    parsers = add_actions(parser, _ACTIONS)
    _configure_lists(parsers["recent"], parsers["search"], parsers["files"])
    parsers["show"].add_argument("id", nargs="+", metavar="ID", help=_IDS)
    _configure_timeline(parsers["timeline"])
    _configure_changing(parsers["add"], parsers["forget"], parsers["prune"])
    _configure_moving(parsers["export"], parsers["import"])


_IDS = "o42, of a summary s7"


def _configure_lists(
    recent: argparse.ArgumentParser, search: argparse.ArgumentParser, files: argparse.ArgumentParser
) -> None:
    search.add_argument("query", nargs="+", metavar="QUERY", help="words, a question")
    search.add_argument("--mode", choices=("hybrid", "dense", "lexical"), default="hybrid", help="legs that take part")
    files.add_argument("path", nargs="+", metavar="PATH", help="a file, or a folder with everything in it")
    for parser in (recent, search, files):
        _add_filters(parser, has_files=parser is not files)
        parser.add_argument("--explain", action="store_true", help="show the parts of each rank")


def _configure_timeline(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("at", metavar="ID|DATE", help="a record, or a time as for --since")
    _add_filters(parser)
    for name in ("before", "after"):
        about = f"records {name} it, 0 to {MAX_LIMIT} (default: half of --limit)"
        parser.add_argument(f"--{name}", type=whole_in(0, MAX_LIMIT), metavar="N", help=about)


def _configure_changing(
    add: argparse.ArgumentParser, forget: argparse.ArgumentParser, prune: argparse.ArgumentParser
) -> None:
    add.add_argument("title", nargs="+", metavar="TITLE", help="what was done or found, in one line")
    add.add_argument("--narrative", metavar="TEXT", default="", help="what, why, and how it ended")
    add.add_argument("--type", choices=OBSERVATION_TYPES, default="discovery", help="default: %(default)s")
    add_repeated(add, "--fact", "TEXT", "may be repeated")
    add_repeated(add, "--concept", "WORD", "gotcha, pattern, …; may be repeated")
    add_repeated(add, "--file", "PATH", "that it is about; may be repeated")
    what = forget.add_mutually_exclusive_group(required=True)
    what.add_argument("id", nargs="*", metavar="ID", default=[], help=_IDS)
    what.add_argument("--session", metavar="ID", help="all of a session; --verbose of the lists shows its ID")
    what.add_argument("--project-data", metavar="NAME", help="all of a project, by name or key")
    what.add_argument("--everything", action="store_true", help="all of all projects")
    forget.add_argument("-y", "--yes", action="store_true", help="do not ask")
    prune.add_argument("--older-than", metavar="TIME", default="", help="90d, 12w, or a date")
    about = "megabytes of the database, 1 or more"
    prune.add_argument("--max-mb", type=number_in(1, 1_000_000), metavar="N", help=about)


def _configure_moving(export: argparse.ArgumentParser, importing: argparse.ArgumentParser) -> None:
    export.add_argument("file", nargs="?", metavar="FILE", default="", help="a new file (default: standard output)")
    export.add_argument("--force", action="store_true", help="overwrite a file")
    _add_since(export)
    _add_scope(export, default="of all projects")
    source = importing.add_mutually_exclusive_group(required=True)
    source.add_argument("file", nargs="?", metavar="FILE", help="an export; - for standard input")
    about = "its database, which is only read (default: ~/.claude-mem/claude-mem.db)"
    source.add_argument("--claude-mem", nargs="?", const="", metavar="PATH", help=about)
    importing.add_argument("--dry-run", action="store_true", help="only say what would be done")


def _add_filters(parser: argparse.ArgumentParser, *, has_files: bool = True) -> None:
    about = f"records to show, 1 to {MAX_LIMIT} (default: %(default)s)"
    parser.add_argument("-n", "--limit", type=whole_in(1, MAX_LIMIT), default=DEFAULT_LIMIT, metavar="N", help=about)
    _add_since(parser)
    add_repeated(parser, "--type", "TYPE", f"only this type, may be repeated: {', '.join(TYPES)}", choices=TYPES)
    if has_files:
        add_repeated(parser, "--file", "PATH", "only what touched this file or folder of the project; may be repeated")
    _add_scope(parser)
    parser.add_argument("--form", choices=FORMS, default="index", help="a line each, or in full (default: %(default)s)")


def _add_since(parser: argparse.ArgumentParser) -> None:
    about = "today, yesterday, 7d, 2w, an ISO date or time, or an epoch"
    parser.add_argument("--since", metavar="TIME", default="", help=about)


def _add_scope(parser: argparse.ArgumentParser, *, default: str = "as `memory.cross_project` says") -> None:
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--in", dest="named", metavar="NAME", default="", help="only of this project, by name or key")
    scope.add_argument("--here", action="store_true", help="only of the present project")
    scope.add_argument("--all-projects", action="store_true", help=f"of every project (default: {default})")
