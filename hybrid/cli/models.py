"""`hybrid models`: list, check, compare and choose embedding models; the only place that fetches one, asked by name."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import ConfigError, ModelError, ProjectError
from hybrid.cli.common import add_common, print_found, print_json, say, workspace_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from hybrid.evaluation.own import Own
    from hybrid.models.registry import ModelDescription
    from hybrid.workspace import Workspace


_EXAMPLE = """hybrid models use sentence-transformers/all-MiniLM-L6-v2
  hybrid models bench all-MiniLM-L6-v2 --questions .hybrid/eval.jsonl"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example=_EXAMPLE)
    parser.add_argument("action", nargs="?", choices=("list", "show", "verify", "use", "bench"), default="list")
    about = "a model's name, or a folder; several for bench (default: the one in use, for bench all on disk)"
    parser.add_argument("names", nargs="*", metavar="NAME", help=about)
    about = "bench: judged questions about this project, as `hybrid eval init` and `eval retrieval` have them"
    parser.add_argument("--questions", type=Path, metavar="FILE", help=about)


def run(args: argparse.Namespace) -> int:
    """List models, show or check one, choose one, or compare several, as the action says; returns 0.

    Raises:
        ConfigError: `use` is given no name, another action than `bench` several names or questions.
        ModelError: The model is not known, not whole, or cannot be fetched.
    """
    from hybrid.models.registry import describe, known_models, present_name

    if args.action == "bench":
        return _bench(args)
    if len(args.names) > 1 or args.questions:
        raise ConfigError(f"`hybrid models {args.action}` takes one NAME; `hybrid models bench` compares several")
    workspace = workspace_of(args, is_strict=False)
    if args.action == "list":
        models = known_models()
        current = present_name(workspace.config.model.name)
        lines = [_line(model, "*" if current in (model.name, model.id) else " ") for model in models]
        return print_found(args, {"current": current, "models": [form(model) for model in models]}, lines)
    name = args.names[0] if args.names else workspace.config.model.name
    if args.action == "use":
        return _use(args, name)
    if args.action == "verify":
        from hybrid.models.registry import load_embedder, verify

        reader = workspace.config.model.reader
        for one in dict.fromkeys(args.names or [name, *([reader] if reader else [])]):
            verify(one)
            info = load_embedder(one, home=workspace.home).info
            say(f"{info.name}: whole, {info.dim} dimensions, sha256 {info.sha256}")
        return 0
    model = describe(name)
    if not (model.dim or model.folder):  # Any name may be one of the hub, and nobody is asked there.
        raise ModelError(
            f"nothing is known of a model {name}; `hybrid models list` shows the known ones, "
            f"`hybrid models use {name}` looks for it on the hub"
        )
    print_json(form(model))
    return 0


def _line(model: ModelDescription, mark: str) -> str:
    fetched = "on disk" if model.folder else f"`hybrid models use {model.name}`"
    return f"{mark} {model.name:<24} {model.dim:>4} dimensions  {'shipped' if model.is_shipped else fetched}"


def form(model: ModelDescription) -> dict[str, Any]:
    """Return a model as JSON; None for what is not known of it."""
    keys = ("name", "id", "dim", "max_tokens", "licence", "provenance", "extra")
    folder = str(model.folder) if model.folder else None
    return {**{key: getattr(model, key) or None for key in keys}, "shipped": model.is_shipped, "folder": folder}


def _use(args: argparse.Namespace, name: str) -> int:
    """Load the model, fetching it if need be, and write its name into the user's settings."""
    from hybrid.cli.config import write_setting
    from hybrid.models.registry import is_path, load_embedder, present_name

    if not args.names:
        raise ConfigError("`hybrid models use` needs the NAME of a model; `hybrid models` lists the known ones")
    workspace = workspace_of(args, is_strict=False)
    info = load_embedder(name, home=workspace.home, allow_download=True).info
    # A relative path would mean another folder in another working directory.
    chosen = str(Path(name).expanduser().resolve()) if is_path(name) else present_name(name)
    write_setting(workspace.home / "config.toml", "model.name", chosen)
    if not args.quiet:
        say(f"using {info.name} ({info.dim} dimensions)")
        say("The service embeds each project anew when you work in it, `hybrid reindex` at once; until then the index")
        say("answers with the model that it was made with.")
    return 0


# --- bench ------------------------------------------------------------------------------------------------


def _bench(args: argparse.Namespace) -> int:
    """Compare models on this machine and project, and print what was found; returns 0.

    Raises:
        ProjectError: There is no project here, or it is a home directory or the root of a file system.
        ModelError: A named model is not on disk, or cannot be loaded.
        QrelsError: The file of questions cannot be read, or none of them can be asked now.
    """
    from hybrid.cli.evaluating import teller
    from hybrid.evaluation import model_bench
    from hybrid.evaluation.own import lines_of, read_own
    from hybrid.evaluation.timing import machine, runner
    from hybrid.evaluation.trees import scratch_home
    from hybrid.project.find import refusal

    workspace = workspace_of(args)
    project = workspace.require_project()
    if reason := refusal(project.root, Path.home()):
        raise ProjectError(reason)
    names = model_bench.models_to_compare(args.names, workspace)
    own = read_own(args.questions, project.name, lines_of(workspace)) if args.questions else None
    sample = model_bench.sample_of(workspace, [query.text for query in own.queries] if own else ())
    with scratch_home(None) as home:
        speeds, failed = model_bench.time_models(names, sample, runner(home, workspace.loaded), teller(args))
        if failed and (args.names or names[0] in failed):
            raise ModelError("; ".join(failed.values()))
        quality = _quality(args, workspace, own, home, list(speeds)) if own else None
    base = speeds[names[0]]
    found = {
        "project": project.name,
        "machine": machine(),
        "sample": {"chunks": len(sample.inputs), "files": sample.n_files, "queries": len(sample.queries)},
        "shipped": names[0],
        "models": {name: speed.as_json(base) for name, speed in speeds.items()},
        "not_measured": failed,
        "questions": {"asked": len(own.queries), "left_out": list(own.left_out)} if own else None,
        "quality": quality,
    }
    if args.json:
        print_json(found)
    else:
        _print_bench(found)
    return 0


def _quality(
    args: argparse.Namespace, workspace: Workspace, own: Own, home: Path, names: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Index the project with each model in a scratch home, and return how well each answers the questions."""
    from hybrid.cli.evaluating import teller
    from hybrid.evaluation.model_bench import configurations, quality_of
    from hybrid.evaluation.own import inside
    from hybrid.evaluation.retrieval import Plan, evaluate_retrieval
    from hybrid.evaluation.trees import IndexScope, Tree, settings_in_force
    from hybrid.project.find import FOLDER_NAME

    project = workspace.require_project()
    folder = project.root / FOLDER_NAME if project.has_folder else None
    scope = IndexScope(held_out=own.held_out, left_out=inside(args.questions, project.root))
    plan = Plan({"": own.queries}, {project.name: Tree(project.root, scope)}, configurations(names))

    def load(assignments: Sequence[str]) -> Any:
        return settings_in_force([f"model.name={names[0]}", *assignments], folder=folder)

    return quality_of(evaluate_retrieval(plan, home, load, report_repo=teller(args)).results[""])


def _print_bench(found: Mapping[str, Any]) -> None:
    from hybrid.cli.evaluating import print_table
    from hybrid.evaluation.model_bench import MEASURED

    sample, system, base = found["sample"], found["machine"], found["shipped"]
    what = f"up to {sample['chunks']:,} chunks of {sample['files']} files and {sample['queries']} queries"
    heads = ["", "queries/s", "ratio", "chunks/s", "ratio", "load ms", "ratio", "memory MB", "ratio"]
    table = [[name, *_cells(speed)] for name, speed in found["models"].items()]
    print_table(f"speed: {what}; ratios to {base}, which ships", heads, table)
    say(f"{system['system']}, {system['cpus']} processors, Python {system['python']}, numpy {system['numpy']}")
    for name, reason in found["not_measured"].items():
        say(f"not measured: {name}: {reason}")
    if found["quality"] is not None:
        say("")
        rows = [[label, *(f"{scores[name]:.4f}" for name in MEASURED)] for label, scores in found["quality"].items()]
        print_table(f"quality: the whole ranking on {found['questions']['asked']} questions", ["", *MEASURED], rows)
        if found["questions"]["left_out"]:
            say(f"left out, since their text has changed: {', '.join(found['questions']['left_out'])}")


def _cells(speed: Mapping[str, Any]) -> list[str]:
    cells: list[str] = []
    for name, digits in (("queries_per_s", 0), ("chunks_per_s", 0), ("load_ms", 0), ("peak_bytes", 1)):
        value, ratio = speed[name], speed["of_shipped"][name]
        value = value / 1e6 if name == "peak_bytes" and value is not None else value
        cells += ["–" if value is None else f"{value:,.{digits}f}", "–" if ratio is None else f"{ratio:.3g}"]
    return cells
