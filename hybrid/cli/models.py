"""`hybrid models`: list, check and choose embedding models; the only place that may fetch one, when asked by name."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import ConfigError, ModelError
from hybrid.cli.common import add_common, print_found, print_json, say, workspace_of

if TYPE_CHECKING:
    from hybrid.models.registry import ModelDescription


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid models use sentence-transformers/all-MiniLM-L6-v2")
    parser.add_argument("action", nargs="?", choices=("list", "show", "use", "verify"), default="list")
    parser.add_argument("name", nargs="?", metavar="NAME", help="a model's name, or a folder")


def run(args: argparse.Namespace) -> int:
    """List models, show or check one, or choose one, as the action says; returns 0.

    Raises:
        ConfigError: `use` is given no name.
        ModelError: The model is not known, not whole, or cannot be fetched.
    """
    from hybrid.models.registry import describe, known_models, present_name

    workspace = workspace_of(args, is_strict=False)
    if args.action == "list":
        models = known_models()
        current = present_name(workspace.config.model.name)
        lines = [_line(model, "*" if current in (model.name, model.id) else " ") for model in models]
        return print_found(args, {"current": current, "models": [form(model) for model in models]}, lines)
    name = args.name or workspace.config.model.name
    if args.action == "use":
        return _use(args, name)
    if args.action == "verify":
        from hybrid.models.registry import load_embedder

        info = load_embedder(name, home=workspace.home).info
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
    from hybrid.models.registry import load_embedder, present_name

    if not args.name:
        raise ConfigError("`hybrid models use` needs the NAME of a model; `hybrid models` lists the known ones")
    workspace = workspace_of(args, is_strict=False)
    info = load_embedder(name, home=workspace.home, allow_download=True).info
    write_setting(workspace.home / "config.toml", "model.name", present_name(name))
    if not args.quiet:
        say(f"using {info.name} ({info.dim} dimensions)")
        say("The service embeds each project anew when you work in it, `hybrid reindex` at once; until then the index")
        say("answers with the model that it was made with.")
    return 0
