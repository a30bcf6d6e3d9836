"""`hybrid models`: list, check, compare and choose embedding models; the only place that fetches one, asked by name."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import ConfigError, ModelError
from hybrid.cli.common import add_common, print_found, print_json, say, workspace_of

if TYPE_CHECKING:
    from hybrid.models.registry import ModelDescription


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
        from hybrid.cli.evaluate import bench

        return bench(args)
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
