"""`hybrid memory`: what happened in earlier sessions, for people and for agents.

Most actions are operations (`hybrid.operations.memory`). Forgetting asks before; whole files go out and come in here.
"""

from __future__ import annotations

import argparse
import os
import sys
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, AnyStr

from msgspec.structs import replace

from hybrid.base.atomic import open_private, replace_file
from hybrid.base.errors import HybridError
from hybrid.base.home import expanded
from hybrid.base.text import sha256_hex
from hybrid.cli.common import (
    Action,
    add_actions,
    build_progress,
    marked_path,
    number_in,
    print_done,
    print_found,
    say,
    unread_lines,
    warn,
)
from hybrid.cli.operations import actions_of, asking_here, perform_here, print_outcome
from hybrid.operations.memory_look import ALL, HERE, MemoryFilters, look_at, opened, since_ms
from hybrid.project.registry import load_registry
from hybrid.records.memory.transfer import MAX_LINE_CHARS
from hybrid.render.marks import neutralise_line
from hybrid.render.numbers import amount
from hybrid.render.visible import json_escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from hybrid.operations.memory_look import Look
    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import MemoryImport
    from hybrid.workspace import Workspace


def _list(name: str, args: argparse.Namespace) -> int:
    """Run an action that lists rows; exit code 1 when there is none."""
    return print_outcome(args, perform_here(f"memory {name}", args, {"project": args.scope}), is_change=False)


# --- changing and moving ------------------------------------------------------------------------------------


_CLAUDE_MEM = "~/.claude-mem/claude-mem.db"
_KEY_DIGITS = 16
_MB = 1_000_000
_DAY_MS = 86_400_000


def _add(args: argparse.Namespace) -> int:
    """Run `add`; that the same was stored a moment ago is said with `--quiet` too."""
    outcome = perform_here("memory add", args)
    args.quiet = args.quiet and not outcome.data["repeated"]
    return print_outcome(args, outcome, is_change=True)


def _forget(args: argparse.Namespace) -> int:
    """Run `forget`, after asking on a terminal.

    Returns:
        1 when there was nothing to forget or the answer is no, 2 when an index still holds it, otherwise 0.

    Raises:
        HybridError: Nobody can be asked, and `--yes` is not given; or an id or a project is not known.
    """
    if not args.yes and (what := perform_here("memory forget", args).text) and not _is_wanted(what):
        return 1
    with build_progress(is_quiet=args.quiet) as progress:
        args.asking = replace(asking_here(args), progress=progress)
        outcome = perform_here("memory forget", args, {"yes": True})
    code = print_outcome(args, outcome, is_change=True)
    for problem in outcome.data["problems"]:
        sys.stderr.write(f"hybrid: the index still holds it: {problem}; `hybrid memory prune` tries again\n")
    if outcome.is_found and not args.json:
        for copy in outcome.data["set_aside"]:  # Said with `--quiet` too: nobody would look for it there.
            say(f"A damaged copy was set aside earlier and is untouched: {copy}")
    return 2 if outcome.data["problems"] else code


def _is_wanted(what: str) -> bool:
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise HybridError("forgetting is for good, and nobody can be asked here: --yes says that it is wanted")
    say(neutralise_line(what) if "\n" not in what else what)
    try:
        return input("Forget this for good? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def prune(args: argparse.Namespace) -> int:
    """Run `prune`: delete the oldest rows, from the index too; exit code 1 when none had to go."""
    from hybrid.upkeep.purging import purge_index

    memory = opened(asking_here(args))
    before_ms, max_bytes = _limits(args, memory)
    n = memory.store.prune(now_ms=memory.present.now_ms, before_ms=before_ms, max_bytes=max_bytes)
    with build_progress(is_quiet=args.quiet) as progress:
        problems = purge_index(memory.workspace, memory.store, progress=progress)
    size_bytes = memory.store.stats().size_bytes
    form = {"pruned": n, "size_bytes": size_bytes, "problems": list(problems)}
    print_done(args, form, f"Deleted {amount(n, 'row')}; the database has {size_bytes / _MB:,.1f} MB.")
    for problem in problems:
        warn(f"the index could not be brought up to date: {problem}")
    return 0 if n else 1


def _limits(args: argparse.Namespace, memory: Look) -> tuple[int | None, int | None]:
    """Return the time before which rows go, and the bytes of the database: of the options, else of the settings."""
    if args.older_than or args.max_mb is not None:
        before_ms = since_ms(args.older_than, memory.present.now_ms) if args.older_than else None
        return before_ms, int(args.max_mb * _MB) if args.max_mb is not None else None
    settings = memory.workspace.config.memory
    before_ms = memory.present.now_ms - settings.retention_days * _DAY_MS if settings.retention_days else None
    return before_ms, settings.max_mb * _MB


_HEADERS = 1
"""Number of lines of an export that are no row."""


def export(args: argparse.Namespace) -> int:
    """Run `export`: write rows, of all projects unless told otherwise; exit code 1 when there was none.

    Raises:
        HybridError: The file is there, and `--force` is not given; or its folder is not there.
    """
    memory = look_at(asking_here(args), MemoryFilters(project=args.scope or ALL, since=args.since))
    if memory.warning and not args.quiet:
        warn(memory.warning)
    lines = memory.store.export(memory.only)
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
    memory = opened(asking_here(args))
    if args.claude_mem is not None:
        # Few users have that database: who has not never loads what reads it.
        from hybrid.records.memory.transfer import import_database

        path = _claude_mem_file(args.claude_mem)
        resolve, now_ms = _key_resolver(memory.workspace, memory.store), memory.present.now_ms
        imported = import_database(path, memory.store.database, resolve, now_ms=now_ms, is_dry=args.dry_run)
        return _print_import(args, imported)
    with _lines_of(args.file) as lines:
        name = "standard input" if args.file == "-" else args.file
        imported = memory.store.import_lines(lines, memory.present.now_ms, name=name, is_dry=args.dry_run)
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


_LISTS = ("recent", "search", "files", "timeline")
_OPERATIONS = actions_of("memory")
_ACTIONS = {
    **_OPERATIONS,
    **{name: _OPERATIONS[name]._replace(run=partial(_list, name)) for name in _LISTS},
    "add": _OPERATIONS["add"]._replace(run=_add),
    "forget": _OPERATIONS["forget"]._replace(run=_forget),
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
    for name in _LISTS:
        _add_scope(parsers[name])
    parsers["prune"].add_argument("--older-than", metavar="TIME", default="", help="90d, 12w, or a date")
    about = "megabytes of the database, 1 or more"
    parsers["prune"].add_argument("--max-mb", type=number_in(1, 1_000_000), metavar="N", help=about)
    _configure_moving(parsers["export"], parsers["import"])


def _configure_moving(export: argparse.ArgumentParser, importing: argparse.ArgumentParser) -> None:
    export.add_argument("file", nargs="?", metavar="FILE", default="", help="a new file (default: standard output)")
    export.add_argument("--force", action="store_true", help="overwrite a file")
    about = "today, yesterday, 7d, 2w, an ISO date or time, or an epoch"
    export.add_argument("--since", metavar="TIME", default="", help=about)
    _add_scope(export, default="of all projects")
    source = importing.add_mutually_exclusive_group(required=True)
    source.add_argument("file", nargs="?", metavar="FILE", help="an export; - for standard input")
    about = "its database, which is only read (default: ~/.claude-mem/claude-mem.db)"
    source.add_argument("--claude-mem", nargs="?", const="", metavar="PATH", help=about)
    importing.add_argument("--dry-run", action="store_true", help="only say what would be done")


def _add_scope(parser: argparse.ArgumentParser, *, default: str = "as `memory.cross_project` says") -> None:
    scope = parser.add_mutually_exclusive_group()
    scope.add_argument("--in", dest="scope", metavar="NAME", default="", help="only of this project, by name or key")
    for option, const, about in (
        ("--here", HERE, "only of the present project"),
        ("--all-projects", ALL, f"of every project (default: {default})"),
    ):
        scope.add_argument(option, dest="scope", action="store_const", const=const, help=about)
