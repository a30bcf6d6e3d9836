"""`hybrid hook`: the prompt hook by hand, the hot topics, installing, and how the hooks are."""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import ConfigError
from hybrid.cli.common import Action, add_actions, print_done, print_json, say, workspace_of
from hybrid.render.numbers import local_time

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid.log.state import HookState


def _number(text: str) -> object:
    """Return a text as a number, or unchanged when it is none, since the check of settings tells of wrong values."""
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


_OPTIONS = (
    ("--client", str, "NAME", "who calls (default: manual)"),
    ("--event", str, "NAME", "name of the event (default: the input's own)"),
    ("--threshold", _number, "SHARE", "floor: share of the best hit's score, 0 to 1"),
    ("--budget", _number, "LINES", "lines of the injection"),
    ("--budget-chars", _number, "N", "characters of the injection"),
    ("--content-mode", str, "MODE", "how much is shown: adaptive, full, preview or none"),
    ("--format", str, "FORMAT", "form of the injected text: text, xml or json"),
    ("--gate-threshold", _number, "COSINE", "compare the raw top cosine with this, or auto"),
)
"""Options of `inject-context` that take a value: name, type, what is shown for the value, what it is for.

Each is the setting of its name in the section `hooks`, but for those in `_NO_SETTINGS`.
"""

_NO_SETTINGS = {"--client": "manual", "--event": ""}
"""Options that are no settings, with their defaults."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the actions; nothing heavy is imported, an agent waits for this process."""
    parsers = add_actions(parser, _ACTIONS)
    inject = parsers["inject-context"]
    inject.epilog = (
        """example:\n  echo '{"prompt": "how are retries capped?", "session_id": "s1"}' | hybrid hook inject-context"""
    )
    # A value may be missing: a hook has no usage message, the check of settings says what is wrong.
    for option, kind, shown, about in _OPTIONS:
        default = _NO_SETTINGS.get(option)
        inject.add_argument(option, type=kind, metavar=shown, nargs="?", const="", default=default, help=about)
    inject.add_argument("--no-dedup", action="store_true", help="give again what the session already got")
    inject.add_argument("--debug", action="store_true", help="say on standard error what was decided")
    about = "write it although nothing new was injected"
    parsers["hot-topics"].add_argument("--force", action="store_true", help=about)
    parsers["plugin-path"].epilog = 'example:\n  claude plugin marketplace add "$(hybrid hook plugin-path)"'
    _configure_installing(parsers["install"], parsers["uninstall"])


def _configure_installing(install: argparse.ArgumentParser, uninstall: argparse.ArgumentParser) -> None:
    from hybrid.base.clients import clients

    with_hooks, others = (
        ", ".join(each.name for each in clients().values() if bool(each.events) is is_with) for is_with in (True, False)
    )
    names = f"{with_hooks}; by MCP and an instruction {others}"
    install.add_argument("--client", required=True, metavar="NAME", help=f"the coding agent: {names}")
    uninstall.add_argument("--client", metavar="NAME", help=f"the coding agent: {names} (default: every one)")
    scopes = ("user", "project", "local")
    about = "user: you, everywhere (default); project: all who work on it; local: you, in this project (Claude Code)"
    install.add_argument("--scope", default="user", choices=scopes, help=about)
    about = "which files; here (default): yours and this project's; all: those of every other project too"
    uninstall.add_argument("--scope", default="here", choices=("here", "all", *scopes), help=about)
    for parser in (install, uninstall):
        parser.add_argument("--dry-run", action="store_true", help="show what would change, and change nothing")
    install.add_argument("--force", action="store_true", help="register although another place calls hybrid already")
    install.add_argument("--replace", action="store_true", help="switch off hooks of the systems that hybrid replaces")
    about = "be called when a subagent starts too (Claude Code since 2.1.101)"
    install.add_argument("--subagents", action="store_true", help=about)
    about = "register the MCP server `hybrid` beside the hooks; a client without hooks gets it always"
    install.add_argument("--mcp", action="store_true", help=about)
    about = "write a short instruction into the client's rules (default: for clients without hooks)"
    install.add_argument("--rules", action=argparse.BooleanOptionalAction, help=about)
    uninstall.add_argument("--mcp", action="store_true", help="take out the MCP server and the instruction only")


def _install(args: argparse.Namespace) -> int:
    from hybrid.cli import installing  # Only these actions need the installer.

    return installing.run(args)


def _inject(args: argparse.Namespace) -> int:
    from hybrid.hooks.run import run_by_hand

    keys = [option[2:].replace("-", "_") for option, *_ in _OPTIONS if option not in _NO_SETTINGS]
    flags: dict[str, object] = {f"hooks.{key}": getattr(args, key) for key in keys}
    flags["hooks.dedup_enabled"] = False if args.no_dedup else None
    known = "`hybrid hook inject-context --help` lists all"
    mistakes = [*(f"unknown argument {word}; {known}" for word in args.unknown), *_wrong(flags)]
    if mistakes and sys.stdin.isatty():
        raise ConfigError("; ".join(mistakes))
    for mistake in mistakes:
        sys.stderr.write(f"hybrid: {mistake}\n")
    # An argument that is not known goes into the log with the decision, as a setting that is not known does.
    flags |= dict.fromkeys(args.unknown, True)
    return run_by_hand(client=args.client, event=args.event, flags=flags, is_debug=args.debug)


def _wrong(flags: Mapping[str, object]) -> list[str]:
    """Return a message for each option with a wrong value."""
    from hybrid.config import check

    mistakes: list[str] = []
    for key, value in flags.items():
        try:
            check(key, value) if value is not None else None
        except ConfigError as error:
            mistakes.append(str(error))
    return mistakes


def _hot_topics(args: argparse.Namespace) -> int:
    from hybrid.log.state import HOT_TOPICS, is_hot_topics_due, read_state, update_state, write_hot_topics

    workspace = workspace_of(args, is_strict=False)
    folder = workspace.state_folder
    state = read_state(folder)
    path = folder / HOT_TOPICS
    every = workspace.config.log.hot_topics_every
    is_written = args.force or not path.exists() or is_hot_topics_due(state, every=every)
    if is_written:

        def note(current: HookState) -> None:
            current.hot_topics_generated_at = current.injection_count

        write_hot_topics(folder, state)
        update_state(folder, note)
    form = {"written": is_written, "path": str(path), "injection_count": state.injection_count}
    print_done(args, form, f"wrote {path}" if is_written else f"{path} is up to date; --force writes it all the same")
    return 0


def _status(args: argparse.Namespace) -> int:
    from hybrid.health.status import hooks_status
    from hybrid.operations.doctor import installed

    figures = hooks_status(workspace := workspace_of(args, is_strict=False), installed=installed(workspace))
    if args.json or not sys.stdout.isatty():
        print_json(figures)
    else:
        for label, value in _status_rows(figures):
            say(f"{label:<18}{value}")
    return 0


def _status_rows(figures: Mapping[str, Any]) -> list[tuple[str, str]]:
    places = [(client, place) for client, part in figures["installed"].items() for place in part["places"]]
    rows = [
        *(_place_row(client, place) for client, place in places),
        *([] if places else [("installed", "in no client that hybrid knows of: hybrid hook install --client NAME")]),
        ("injections", f"{figures['injection_count']}, last {local_time(figures['last_injection_time'] or 'never')}"),
        ("last topic id", figures["last_session_id"] or "none"),
        *((key, str(value)) for key, value in figures["config"].items()),
    ]
    return [*rows, ("set aside", ", ".join(figures["set_aside"]))] if figures["set_aside"] else rows


def _place_row(client: str, place: Mapping[str, Any]) -> tuple[str, str]:
    """Return one place in which a client is told to call us as a row: client, then scope, path, events and faults."""
    state = "" if place["is_runnable"] else f"; {place['missing']} is not there: install the hooks again"
    if place["outdated"] and not state:
        state = f"; {place['outdated']}: run `{place['renewal']}`"
    what = {"hooks": ", ".join(place["events"]), "mcp": "MCP server", "rules": "instruction"}[place["kind"]]
    return client, f"{place['scope']}, {place['path']}: {what}{state}"


_ACTIONS = {
    "inject-context": Action("answer a prompt event from standard input", "", _inject, options=()),
    # Never run from here: `hybrid.__main__` and `entry.py` do it before any option is parsed.
    "run": Action("what installed hooks call; `hybrid hook run --help`", "--help", _inject, options=()),
    "hot-topics": Action("write hot-topics.md", "--force", _hot_topics),
    "status": Action("where hooks are installed, their counters and settings", "--json", _status),
    "install": Action("have a coding agent call hybrid", "--client claude --scope project", _install),
    "uninstall": Action("take hybrid out of the settings of coding agents", "--client claude", _install),
    "plugin-path": Action("folder of the plugin for Claude Code, to add as a marketplace", "", _install),
}
