"""`hybrid config`: show the settings in force and where each comes from; change one, keeping comments."""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING, Any, cast

from hybrid.base.atomic import read_regular, write_atomic
from hybrid.base.errors import ConfigError
from hybrid.cli.common import add_common, print_json, say, waiting_lines, warn, workspace_of
from hybrid.config import ADDING, KEYS, REMOVED, no_setting, parse_text, unknown_variables, value_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from hybrid.workspace import Workspace

_MAX_BYTES = 1_000_000
"""Largest size in bytes of a settings file that is changed; a longer one is refused."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example="hybrid config set hooks.budget 80 --user")
    parser.add_argument("action", nargs="?", choices=("show", "get", "set", "unset", "check"), default="show")
    parser.add_argument("key", nargs="?", metavar="SECTION.KEY")
    parser.add_argument("value", nargs="?", metavar="VALUE")
    parser.add_argument("--user", action="store_true", help="write the user's layer, not the project's")


def run(args: argparse.Namespace) -> int:
    """Show, check or change settings, as the action says.

    Returns:
        1 when `unset` finds no such setting in the layer; 2 when `check` finds a mistake in a layer, or one was there
        before `set` or `unset`; otherwise 0.

    Raises:
        ConfigError: A setting is not known or not named, its value does not count, or the file cannot be changed.
    """
    # A removed setting may still be in a file, and has to get out of it.
    if args.key and args.key not in KEYS and not (args.action == "unset" and args.key in REMOVED):
        raise ConfigError(no_setting(args.key))
    if args.action in ("set", "unset"):
        return _write(args)
    workspace = workspace_of(args, is_strict=False)
    loaded = workspace.loaded
    problems = [*loaded.problems, *unknown_variables(os.environ)]
    if args.action == "check":
        return _check(args, workspace)
    if args.action == "get" and not args.key:
        raise ConfigError("`hybrid config get` needs a SECTION.KEY; `hybrid config` lists all")
    keys = [args.key] if args.key else KEYS
    shown = {key: {"value": value_of(loaded.config, key), "origin": loaded.origins[key]} for key in keys}
    if args.json:
        print_json({"settings": shown, "problems": problems, "waiting": dict(loaded.waiting)})
    elif args.action == "get":
        return _get(args.key, shown[args.key], loaded.own_problems, problems)
    else:
        for key, entry in shown.items():
            say(f"{key} = {_plain(entry['value'])}  ({entry['origin']})")
        for problem in problems:
            say(f"problem: {problem}")
        for key, value in loaded.waiting.items():
            say(f"waits for `hybrid trust`: {key} = {_plain(value)}  (the project's config.toml)")
    return 0


def _get(key: str, entry: Mapping[str, Any], own_problems: Sequence[str], problems: Sequence[str]) -> int:
    """Print one setting's value in force; problems of other settings are warnings on standard error.

    Raises:
        ConfigError: The user's own layers hold a value of this setting that does not count; the caller means that one.
    """
    about = [problem for problem in own_problems if f": {key} = " in problem or f": {key}: " in problem]
    if about:
        in_force = f"in force is {_plain(entry['value'])} ({entry['origin']})"
        raise ConfigError(f"{'; '.join(about)}; {in_force}")
    say(_plain(entry["value"]))
    for problem in problems:
        warn(problem)
    return 0


def _check(args: argparse.Namespace, workspace: Workspace) -> int:
    problems, waiting = workspace.loaded.problems, workspace.loaded.waiting
    if args.json:
        print_json({"problems": list(problems), "waiting": dict(waiting)})
    elif problems:
        raise ConfigError("; ".join(problems))
    elif not args.quiet:
        say("; ".join(["Every setting is in order", *waiting_lines(workspace)]) + ("" if waiting else "."))
    return 2 if problems else 0


def _plain(value: object) -> str:
    """Return a value as `hybrid config set` takes it."""
    if isinstance(value, tuple):
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _write(args: argparse.Namespace) -> int:
    if not args.key or (args.action == "set" and args.value is None):
        needed = "SECTION.KEY and a VALUE" if args.action == "set" else "SECTION.KEY"
        raise ConfigError(f"`hybrid config {args.action}` needs a {needed}")
    value = parse_text(args.key, args.value) if args.action == "set" else None
    workspace = workspace_of(args, is_strict=False)
    path = _layer_file(args, workspace)
    before = _content(path)
    if not write_setting(path, args.key, value):
        if not args.quiet:
            say(f"{args.key} is not set in {path}; nothing was changed")
        return 1
    known = set(workspace.loaded.problems)
    after = workspace_of(args, is_strict=False)
    problems = after.loaded.problems
    refused = [problem for problem in problems if problem not in known]
    if refused and value is not None:
        # The layer may not choose this value. Left in place every command would stop or warn.
        if before is None:
            path.unlink(missing_ok=True)
        else:
            write_atomic(path, before)
        raise ConfigError(f"{'; '.join(refused)}; nothing was written (--user writes your own layer)")
    for problem in problems:
        say(f"problem: {problem}")
    if not args.quiet:
        say(f"{args.key} = {_plain(value)} in {path}" if value is not None else f"removed {args.key} from {path}")
        if args.key in KEYS:
            _say_what_counts(args.key, value, path, after)
    return 2 if after.loaded.own_problems else 0


def _layer_file(args: argparse.Namespace, workspace: Workspace) -> Path:
    """Return the settings file to write, the user's or the project's; `set` makes the project's folder."""
    if args.user:
        return workspace.home / "config.toml"
    from hybrid.project.find import create_folder

    root = workspace.require_project().root
    path = (create_folder(root) if args.action == "set" else root / ".hybrid") / "config.toml"
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise ConfigError(f"{path} is no file of the project; remove it first")
    return path


def _say_what_counts(key: str, written: object | None, path: Path, workspace: Workspace) -> None:
    """Print which value counts, and where it comes from, when it may differ from the one just written to a file."""
    loaded = workspace.loaded
    value, origin = value_of(loaded.config, key), loaded.origins[key]
    if key in loaded.waiting:
        say(f"{_plain(loaded.waiting[key])} counts after `hybrid trust`: nobody accepted this tree yet")
    if key in ADDING:
        taken_out = ', and "!PATTERN" takes one out' if key == "index.exclude" else ""
        say(f"In force, since each layer adds to the list{taken_out}: {_plain(value)}")
    elif key not in loaded.waiting and origin not in (str(path), "default") and value != written:
        why = "" if written is None else ", which comes before this file"
        say(f"In force: {_plain(value)} ({origin}{why})")


def _content(path: Path) -> bytes | None:
    """Return the bytes of a layer's settings file; None when there is no file.

    Raises:
        ConfigError: The file is far too long for settings; that of a clone may be of any length.
        OSError: The path is no file, or cannot be read.
    """
    try:
        data = read_regular(path.resolve(), _MAX_BYTES)  # People link their own settings from elsewhere.
    except FileNotFoundError:
        return None
    if len(data) > _MAX_BYTES:
        raise ConfigError(f"{path} is longer than {_MAX_BYTES:,} bytes; mend it by hand first")
    return data


def write_setting(path: Path, key: str, value: object | None) -> bool:
    """Set or remove (None) one setting of a TOML file; comments and order stay, a missing file or section is made.

    Returns:
        False when the setting to remove is not there; then nothing is written.

    Raises:
        ConfigError: The file is not TOML.
        OSError: The file cannot be written.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        document: Any = tomlkit.parse((_content(path) or b"").decode("utf-8-sig"))
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not TOML ({error}); mend it by hand first") from error
    section, _, name = key.partition(".")
    if not hasattr(document.get(section, {}), "items"):
        raise ConfigError(f"{path}: {section} is a value, not a section [{section}]; mend it by hand first")
    if value is None:
        if section not in document or name not in document[section]:
            return False
        del document[section][name]
    else:
        if section not in document:
            document[section] = tomlkit.table()
        document[section][name] = list(cast("tuple[str, ...]", value)) if isinstance(value, tuple) else value
    write_atomic(path.resolve(), tomlkit.dumps(document).encode())
    return True
