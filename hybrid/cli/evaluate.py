"""`hybrid eval`: measure hybrid on your own project and on judged queries; the laboratory adds the other measures.

`init` and `run` judge the user's own project, `gate --marks` the decisions that the user marked.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hybrid.base.errors import HybridError, ProjectError
from hybrid.cli import evaluate_retrieval as retrieval
from hybrid.cli.common import add_common, positive, print_json, say, workspace_of
from hybrid.cli.evaluate_retrieval import add_ways, check_ways, evaluate_ways, show, ways_of
from hybrid.cli.evaluating import INSTALL_LAB, add_settings, percent, print_table
from hybrid.evaluation.qrels import QrelsError
from hybrid.project.find import FOLDER_NAME, refusal
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from hybrid.evaluation.decisions import MarkedReport
    from hybrid.workspace import Workspace


# --- `gate`: marked decisions -----------------------------------------------------------------------------


def configure_gate(parser: argparse.ArgumentParser) -> None:
    """Add the options of `gate`."""
    add_common(parser, example="hybrid eval gate --marks")
    parser.add_argument("prompts", nargs="?", metavar="GATE.jsonl", help=f"judged prompts; {INSTALL_LAB}")
    add_marks(parser)


def add_marks(parser: argparse.ArgumentParser) -> None:
    """Add `--marks`."""
    parser.add_argument("--marks", action="store_true", help="the decisions you judged with `hybrid mark`")


def run_gate(args: argparse.Namespace) -> int:
    """Print how well the gate decided where the user marked it; exit code 1 when no decision of it is marked.

    Raises:
        HybridError: Judged prompts are named, or no marks are asked for.
    """
    if args.prompts or not args.marks:
        raise HybridError(f"`hybrid eval gate` needs --marks, for what you judged with `hybrid mark`; {INSTALL_LAB}")
    report = marked_report()
    if args.json:
        print_json({"marks": report.as_json()})
    else:
        print_marked(report.as_json())
    return 0 if report.decisions else 1


def marked_report() -> MarkedReport:
    """Return the report on the user's marks, whatever project they are of."""
    from hybrid.evaluation.decisions import evaluate_marks
    from hybrid.feedback.events import log_folder
    from hybrid.feedback.marks import read_marks
    from hybrid.project.find import hybrid_home

    return evaluate_marks(read_marks(log_folder(hybrid_home(os.environ))))


def print_marked(form: Mapping[str, Any]) -> None:
    """Print a `MarkedReport` in its JSON form."""
    from hybrid.evaluation.decisions import FEWEST

    say(f"marks: {form['n_wanted']} good, {form['n_unwanted']} noise")
    if form["n_left_out"]:
        say(f"  {form['n_left_out']} more are of decisions that no gate made (session starts, pauses, no index)")
    for name, when in (("wanted", "wanted"), ("unwanted", "not wanted")):
        say(f"  spoke when {when} {form[f'injected_{name}']} of {form[f'n_{name}']}")
    if not form["is_enough"]:
        say(f"  too few for a rate: at least {FEWEST} good and {FEWEST} noise are needed; `hybrid mark` makes more")
        return
    say(f"  injected when wanted {percent(form['true_rate'])}, when not wanted {percent(form['false_rate'])}")
    say(f"  AUC of the margin, score - threshold: {form['auc']:.4f}")
    rows: list[Sequence[str]] = []
    for at in form["at"]:
        shift = "–" if at["shift"] is None else f"{at['shift']:+.4f}"
        rows.append([at["label"], shift, percent(at["true_rate"]), percent(at["false_rate"])])
    print_table("thresholds moved", ["", "by", "true", "false"], rows)


# --- `init` and `run`: the user's own project -------------------------------------------------------------


FILE_NAME = "eval.jsonl"
_RUN_EXAMPLE = """hybrid eval run
  hybrid eval run --against index.chunk_max_chars=1000
  hybrid eval run --ablation --plot ablation.svg"""


def configure_init(parser: argparse.ArgumentParser) -> None:
    """Add the options of `init`."""
    add_common(parser, example="hybrid eval init --limit 60")
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"where to write (default: .hybrid/{FILE_NAME})")
    parser.add_argument("--limit", type=positive, default=100, metavar="N", help="queries at most (default: 100)")
    about = "another seed proposes others (default: 7)"
    parser.add_argument("--seed", type=positive, default=7, metavar="N", help=about)
    parser.add_argument("--force", action="store_true", help="replace the file, with whatever was corrected in it")


def configure_run(parser: argparse.ArgumentParser) -> None:
    """Add the options of `run`."""
    add_common(parser, example=_RUN_EXAMPLE)
    about = f"of `hybrid eval init` (default: .hybrid/{FILE_NAME})"
    parser.add_argument("queries", type=Path, nargs="?", metavar="FILE", help=about)
    parser.add_argument("--home", type=Path, metavar="DIR", help="keep the index here (default: a temporary folder)")
    add_settings(parser)
    add_ways(parser)


def run_init(args: argparse.Namespace) -> int:
    """Propose queries and write them to a file; when the project gives none, write nothing and return exit code 1."""
    from hybrid.evaluation.own import lines_of, propose, write_own
    from hybrid.upkeep.indexing import chunk_limits, file_source

    workspace = _workspace(args)
    project, settings = workspace.require_project(), workspace.config.index
    path = args.out or _default_file(workspace)
    if path.exists() and not args.force:  # Before a large project is read.
        raise QrelsError(f"{path} is there, and may hold corrections; --force replaces it, --out names another")
    source = file_source(project.root, settings, workspace.home)
    proposals = propose(source, chunk_limits(settings), n=args.limit, seed=args.seed)
    if proposals:
        write_own(path, proposals, project.name, lines_of(workspace), is_forced=args.force)
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


def run_queries(args: argparse.Namespace) -> int:
    """Score the queries of the project's file, with held-out files hidden from the index; exit code as of `show`."""
    from hybrid.evaluation.own import inside, lines_of, read_own
    from hybrid.evaluation.retrieval import Plan
    from hybrid.evaluation.trees import IndexScope, Tree, settings_in_force

    check_ways(args)
    workspace = _workspace(args)
    project = workspace.require_project()
    path = args.queries or _default_file(workspace)
    if not path.exists():
        raise QrelsError(f"{path} is not there; `hybrid eval init` proposes one")
    own = read_own(path, project.name, lines_of(workspace))
    scope = IndexScope(held_out=own.held_out, left_out=inside(path, project.root))
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
    """Return the workspace of the project here.

    Raises:
        ProjectError: There is none, or it is a home directory or the root of a file system.
    """
    workspace = workspace_of(args)
    reason = refusal(workspace.require_project().root, Path.home())
    if reason:
        raise ProjectError(reason)
    return workspace


def _default_file(workspace: Workspace) -> Path:
    """Return the file of a project's queries.

    Raises:
        QrelsError: The project has no `.hybrid/`, into which nothing is written unasked.
    """
    project = workspace.require_project()
    if not project.has_folder:
        raise QrelsError(f"{project.root} has no {FOLDER_NAME} folder; run `hybrid init`, or name a file of your own")
    return project.root / FOLDER_NAME / FILE_NAME


# --- the command ------------------------------------------------------------------------------------------


GROUP = "hybrid.eval"
"""Entry points of this group are modules with `ABOUT`, `configure` and `run`; each is a subcommand of its name."""

_LAB = "chunks followups injection languages memory peer projects records redaction replay scale speed tables week"
LAB = tuple(_LAB.split())
"""The measures of the laboratory, named in the message for whoever asks for one without having it installed."""


class _Measure(NamedTuple):
    """One subcommand of `hybrid eval`: its help line, its options, and the function that runs it."""

    about: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]


_OWN = {
    "retrieval": _Measure("how well judged queries are answered, and why", retrieval.configure, retrieval.run),
    "init": _Measure("propose queries from your own project, to be corrected", configure_init, run_init),
    "run": _Measure("score those queries on your own project", configure_run, run_queries),
    "gate": _Measure("how often the decisions you marked were right", configure_gate, run_gate),
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands."""
    measures = _measures()
    actions = parser.add_subparsers(dest="action", metavar="WHAT", required=True)
    for name, measure in measures.items():
        part = actions.add_parser(name, help=measure.about, description=measure.about)
        part.formatter_class = argparse.RawDescriptionHelpFormatter
        measure.configure(part)
        part.set_defaults(run_action=measure.run)
    absent = [name for name in LAB if name not in measures]
    for name in absent:
        # No argument begins with this character, so whatever follows is taken as it is.
        part = actions.add_parser(name, add_help=False, prefix_chars="\N{NULL}")
        part.add_argument("rest", nargs="*")
        part.set_defaults(run_action=_refuse)
    if absent:
        parser.epilog = f"{', '.join(absent)}, and judged prompts for gate: {INSTALL_LAB}"


def _refuse(args: argparse.Namespace) -> int:
    """Raise an error that says how to install a measure of the laboratory.

    Raises:
        HybridError: Always.
    """
    raise HybridError(f"`hybrid eval {args.action}` is not installed; {INSTALL_LAB}")


def _measures() -> dict[str, _Measure]:
    """Return our own measures, and those of installed distributions; these replace ours of the same name."""
    from importlib.metadata import entry_points

    modules = {entry.name: entry.load() for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name)}
    return _OWN | {name: _Measure(each.ABOUT, each.configure, each.run) for name, each in modules.items()}
