"""`hybrid eval init` and `hybrid eval run`: judged queries from the user's own project, and what they score there."""

from __future__ import annotations

import argparse
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.cli.common import add_common, positive, print_json, say, workspace_of
from hybrid.cli.evaluate_retrieval import add_ways, check_ways, evaluate_ways, show, ways_of
from hybrid.cli.evaluating import add_settings
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.evaluation.own import Lines
    from hybrid.workspace import Workspace

FILE_NAME = "eval.jsonl"
_RUN_EXAMPLE = """hybrid eval run
  hybrid eval run --against index.chunk_max_chars=1000
  hybrid eval run --ablation --plot ablation.svg"""


def configure_init(parser: argparse.ArgumentParser) -> None:
    """Add the options of `init`."""
    add_common(parser, example="hybrid eval init --limit 60")
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"where to write (default: .hybrid/{FILE_NAME})")
    parser.add_argument("--limit", type=positive, default=100, metavar="N", help="queries at most (default: 100)")
    parser.add_argument(
        "--seed", type=positive, default=7, metavar="N", help="another seed proposes others (default: 7)"
    )
    parser.add_argument("--force", action="store_true", help="replace the file, with whatever was corrected in it")


def configure_run(parser: argparse.ArgumentParser) -> None:
    """Add the options of `run`."""
    add_common(parser, example=_RUN_EXAMPLE)
    parser.add_argument(
        "queries", type=Path, nargs="?", metavar="FILE", help=f"of `hybrid eval init` (default: .hybrid/{FILE_NAME})"
    )
    parser.add_argument("--home", type=Path, metavar="DIR", help="keep the index here (default: a temporary folder)")
    add_settings(parser)
    add_ways(parser)


def run_init(args: argparse.Namespace) -> int:
    """Propose queries; the exit code is 1 when the project gives none."""
    from hybrid.evaluation.own import write_own
    from hybrid.evaluation.proposing import propose
    from hybrid.upkeep.indexing import chunk_limits, file_source

    workspace = _workspace(args)
    project, settings = workspace.require_project(), workspace.config.index
    path = args.out or _default_file(workspace)
    if path.exists() and not args.force:  # Before a large project is read.
        _refuse(path)
    source = file_source(project.root, settings, workspace.home)
    proposals = propose(source, chunk_limits(settings), n=args.limit, seed=args.seed)
    if proposals:
        write_own(path, proposals, project.name, _lines_of(workspace), is_forced=args.force)
    counts = {name: sum(each.category == name for each in proposals) for name in ("semantic", "heading", "symbol")}
    if args.json:
        print_json({"file": str(path) if proposals else None, "queries": len(proposals), "categories": counts})
    elif not proposals:
        say("nothing was proposed: no comment of four words or more, no heading and no definition was found")
    elif not args.quiet:
        every = ", ".join(f"{n} {name}" for name, n in counts.items() if n)
        say(f"{path}: {amount(len(proposals), 'query', 'queries')} ({every})")
        say("Read and correct it: delete lines, reword a `query`, add what else answers to `gold`; remove the `digest`")
        say("of a passage whose lines you change. Then: hybrid eval run")
    return 0 if proposals else 1


def _refuse(path: Path) -> None:
    from hybrid.evaluation.qrels import QrelsError

    raise QrelsError(f"{path} is there, and may hold corrections; --force replaces it, --out names another")


def run_queries(args: argparse.Namespace) -> int:
    """Score the file on the project, with what is held out hidden from the index."""
    from hybrid.evaluation.opening import Tree
    from hybrid.evaluation.own import read_own
    from hybrid.evaluation.qrels import QrelsError
    from hybrid.evaluation.retrieval import Plan
    from hybrid.evaluation.trees import Scope, settings_in_force
    from hybrid.project.find import FOLDER_NAME

    check_ways(args)
    workspace = _workspace(args)
    project = workspace.require_project()
    path = args.queries or _default_file(workspace)
    if not path.exists():
        raise QrelsError(f"{path} is not there; `hybrid eval init` proposes one")
    own = read_own(path, project.name, _lines_of(workspace))
    scope = Scope(held_out=own.held_out, left_out=_inside(path, project.root))
    folder = project.root / FOLDER_NAME if project.has_folder else None

    def load(assignments: Sequence[str]) -> Any:
        return settings_in_force([*args.settings, *assignments], folder=folder)

    ways = ways_of(args, load(()).config)
    plan = Plan({path.stem: own.queries}, {project.name: Tree(project.root, scope)}, ways.all)
    code = show(args, evaluate_ways(args, plan, load), ways)
    if own.left_out and not args.json:
        say(f"left out, since their text has changed: {', '.join(own.left_out)}")
        say("`hybrid eval init --force` proposes anew")
    return code


def _workspace(args: argparse.Namespace) -> Workspace:
    """That of the project here.

    Raises:
        ProjectError: There is none, or it is a home directory or the root of a file system.
    """
    from hybrid.base.errors import ProjectError
    from hybrid.project.find import refusal

    workspace = workspace_of(args)
    reason = refusal(workspace.require_project().root, Path.home())
    if reason:
        raise ProjectError(reason)
    return workspace


def _default_file(workspace: Workspace) -> Path:
    """Where the queries of a project lie.

    Raises:
        QrelsError: The project has no `.hybrid/`, into which nothing is written unasked.
    """
    from hybrid.evaluation.qrels import QrelsError
    from hybrid.project.find import FOLDER_NAME

    project = workspace.require_project()
    if not project.has_folder:
        raise QrelsError(f"{project.root} has no {FOLDER_NAME} folder; run `hybrid init`, or name a file of your own")
    return project.root / FOLDER_NAME / FILE_NAME


def _lines_of(workspace: Workspace) -> Lines:
    """Reads files of the project, each once."""
    from hybrid.upkeep.indexing import file_source

    source = file_source(workspace.require_project().root, workspace.config.index, workspace.home)

    @cache
    def lines(path: str) -> list[str] | None:
        text = source.read_text(path)
        return None if text is None else text.split("\n")

    return lines


def _inside(path: Path, root: Path) -> tuple[str, ...]:
    """The file's own path in the project, which must not be searched: it holds every query."""
    resolved = path.resolve()
    return (resolved.relative_to(root).as_posix(),) if root in resolved.parents else ()
