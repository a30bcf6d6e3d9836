"""What `hybrid memory` writes elsewhere and takes over from there: export, import."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, AnyStr

from hybrid.ask.memory_filters import Filters
from hybrid.base.atomic import open_private
from hybrid.base.errors import HybridError
from hybrid.base.home import expanded
from hybrid.cli.common import print_json, say
from hybrid.cli.memory_places import flushed, open_memory
from hybrid.records.memory.importing import MAX_LINE_CHARS
from hybrid.render.numbers import amount
from hybrid.render.visible import json_escaped
from hybrid.upkeep.memory_importing import claude_mem_file, key_resolver

if TYPE_CHECKING:
    import argparse
    from collections.abc import Generator, Iterable, Iterator

    from hybrid.records.memory.types import Imported

_SHOWN_PROBLEMS = 5
_HEADERS = 1
"""Lines of an export that are no row."""


def export(args: argparse.Namespace) -> int:
    """`export`: of all projects unless told otherwise; exit code 1 when there was nothing."""
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
    if args.json:
        print_json({"rows": n, "file": str(path)})
    elif not args.quiet:
        say(f"{amount(n, 'row')} in {path}")
    return 0 if n else 1


def _write_out(lines: Iterable[str]) -> int:
    n = 0
    for line in lines:
        sys.stdout.write(f"{json_escaped(line)}\n")
        n += 1
    return n


def _write_file(path: Path, lines: Iterable[str]) -> int:
    """Write a file that only its owner may read, whole or not at all; the number of its lines."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    n = 0
    try:
        with open_private(temporary) as out:
            for line in lines:
                out.write(f"{line}\n".encode("utf-8", "replace"))
                n += 1
        temporary.replace(path)
    except BaseException as error:
        with suppress(OSError):
            temporary.unlink()
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            error.filename = str(path)  # Nobody knows the temporary one.
        raise
    return n


def import_records(args: argparse.Namespace) -> int:
    """`import`; nothing new is a success too."""
    memory = open_memory(args)
    if args.claude_mem is not None:
        from hybrid.records.memory.claude_mem import import_database

        path = claude_mem_file(args.claude_mem)
        resolve = key_resolver(memory.workspace, memory.store)
        imported = import_database(path, memory.store, resolve, now_ms=memory.now_ms, is_dry=args.dry_run)
        return _print(args, imported)
    with _lines_of(args.file) as lines:
        name = "standard input" if args.file == "-" else args.file
        imported = memory.store.import_lines(lines, memory.now_ms, name=name, is_dry=args.dry_run)
    return _print(args, imported)


@contextmanager
def _lines_of(name: str) -> Generator[Iterator[str]]:
    """The lines of a file or of standard input; bytes that are not UTF-8 are replaced."""
    if name == "-":
        yield (line.decode("utf-8", "replace") for line in _bounded(sys.stdin.buffer))
        return
    path = Path(expanded(name))
    if path.is_dir():
        raise HybridError(f"{path} is a folder; `hybrid memory import` reads a file that `export` wrote")
    with path.open(encoding="utf-8-sig", errors="replace", newline="\n") as lines:
        yield _bounded(lines)


def _bounded(file: IO[AnyStr]) -> Iterator[AnyStr]:
    """The lines of a file; one that has no end is cut, so that it cannot fill the memory."""
    return iter(lambda: file.readline(MAX_LINE_CHARS + 1), file.read(0))


def _print(args: argparse.Namespace, imported: Imported) -> int:
    counts = {
        "observations": imported.n_observations,
        "summaries": imported.n_summaries,
        "prompts": imported.n_prompts,
        "sessions": imported.n_sessions,
    }
    # A file in which nothing could be read is none that `export` wrote.
    is_any = any(counts.values()) or imported.n_duplicates or imported.n_forgotten
    code = 0 if is_any or not imported.problems else 2
    if args.json:
        print_json(
            {
                **counts,
                "duplicates": imported.n_duplicates,
                "forgotten": imported.n_forgotten,
                "problems": [str(problem) for problem in imported.problems],
                "unread": imported.n_unread,
                "dry_run": args.dry_run,
            }
        )
        return code
    verb = "would add" if args.dry_run else "added"
    for name, n in counts.items():
        say(f"{name:<13} {verb} {n:,}")
    if not args.quiet:
        say(f"here already: {amount(imported.n_duplicates, 'row')}")
        if imported.n_forgotten:
            say(f"left out, since they were forgotten on purpose: {amount(imported.n_forgotten, 'row')}")
    shown = imported.problems if args.verbose else imported.problems[:_SHOWN_PROBLEMS]
    for problem in shown:
        say(f"not read: {problem}")
    if imported.n_unread > len(shown):
        n_named = len(imported.problems)
        what = "all" if n_named == imported.n_unread else f"the first {n_named:,}"
        hint = "" if args.verbose else f"; --verbose shows {what}"
        say(f"not read: {imported.n_unread - len(shown):,} more{hint}")
    return code
