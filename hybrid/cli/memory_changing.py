"""The parts of `hybrid memory` that change it or move it: add, forget, prune, export, import."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, AnyStr

from hybrid.ask.memory_lookup import (
    Filters,
    Note,
    RankedRow,
    list_text,
    project_named,
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
from hybrid.cli.common import print_done, print_json, say, say_unread, warn
from hybrid.cli.memory_reading import flushed, open_memory
from hybrid.cli.streams import marked_path
from hybrid.knowledge.stores import rows_in_words
from hybrid.project.registry import load_registry
from hybrid.records.memory.transfer import MAX_LINE_CHARS
from hybrid.records.memory.types import ForgetReport, Owner, index_line
from hybrid.render.marks import neutralise_line
from hybrid.render.numbers import amount
from hybrid.render.visible import json_escaped

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator, Iterable, Iterator

    from hybrid.ask.memory_lookup import OpenMemory
    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import ImportReport, MemoryKind
    from hybrid.types import HookEvent
    from hybrid.workspace import Workspace


MANUAL_SESSION = "manual"
"""The session of observations that somebody wrote down by hand."""

_SHOWN = 10
_CLAUDE_MEM = "~/.claude-mem/claude-mem.db"
_KEY_DIGITS = 16
_MB = 1_000_000
_DAY_MS = 86_400_000


def add(args: argparse.Namespace) -> int:
    """Run `add`: store an observation without private spans and secrets, or count it if stored within the last hour."""
    memory = open_memory(args)
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
    from hybrid.cli.streams import build_progress
    from hybrid.upkeep.purging import purge_index

    memory = open_memory(args)
    ids = require_ids(args.id)
    what = _what(args, memory, ids)
    if not what:
        return _forgot(args, ForgetReport(_forget_waiting(args, memory), is_wiped=True), (), memory)
    if not args.yes and not _is_wanted(what):
        return 1
    n_waiting = _forget_waiting(args, memory)
    done = _forget(args, memory, ids)
    forgotten = ForgetReport(done.n + n_waiting, done.is_wiped)
    with build_progress(is_quiet=args.quiet) as progress:
        problems = purge_index(memory.workspace, memory.store, progress=progress)
    return _forgot(args, forgotten, problems, memory)


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
    from hybrid.cli.streams import build_progress
    from hybrid.upkeep.purging import purge_index

    memory = open_memory(args)
    before_ms, max_bytes = _limits(args, memory)
    n = memory.store.prune(now_ms=memory.now_ms, before_ms=before_ms, max_bytes=max_bytes)
    with build_progress(is_quiet=args.quiet) as progress:
        problems = purge_index(memory.workspace, memory.store, progress=progress)
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
    memory = flushed(open_memory(args), args)
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
    memory = open_memory(args)
    if args.claude_mem is not None:
        # Few users have that database: who has not never loads what reads it.
        from hybrid.records.memory.transfer import import_database

        path = _claude_mem_file(args.claude_mem)
        resolve = _key_resolver(memory.workspace, memory.store)
        imported = import_database(path, memory.store.database, resolve, now_ms=memory.now_ms, is_dry=args.dry_run)
        return _print(args, imported)
    with _lines_of(args.file) as lines:
        name = "standard input" if args.file == "-" else args.file
        imported = memory.store.import_lines(lines, memory.now_ms, name=name, is_dry=args.dry_run)
    return _print(args, imported)


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


def _print(args: argparse.Namespace, imported: ImportReport) -> int:
    counts: dict[str, int] = {
        name: getattr(imported, f"n_{name}") for name in ("observations", "summaries", "prompts", "sessions")
    }
    # A file in which nothing could be read is none that `export` wrote.
    is_any = any(counts.values()) or imported.n_duplicates or imported.n_forgotten
    code = 0 if is_any or not imported.problems else 2
    if args.json:
        left_out = {"duplicates": imported.n_duplicates, "forgotten": imported.n_forgotten}
        problems = [str(problem) for problem in imported.problems]
        print_json(counts | left_out | {"problems": problems, "unread": imported.n_unread, "dry_run": args.dry_run})
        return code
    verb = "would add" if args.dry_run else "added"
    for name, n in counts.items():
        say(f"{name:<13} {verb} {n:,}")
    if not args.quiet:
        say(f"here already: {amount(imported.n_duplicates, 'row')}")
        if imported.n_forgotten:
            say(f"left out, since they were forgotten on purpose: {amount(imported.n_forgotten, 'row')}")
    say_unread(imported.problems, imported.n_unread, is_verbose=args.verbose)
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
