"""`hybrid hook install`, `uninstall` and `plugin-path`: what is asked for, done by `hybrid.hooks.install`, and told."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import asdict, replace

from hybrid.base.clients import Client, Scope, clients
from hybrid.base.errors import HybridError
from hybrid.base.lasting import HOW_TO_INSTALL, cache_of, how_to_add, lasting_program
from hybrid.cli.common import directory_of, print_found, print_json, say
from hybrid.hooks.install.changes import (
    FileChange,
    Target,
    forget_trust,
    install,
    read_bytes,
    recorded_targets,
    target_of,
    uninstall,
)
from hybrid.hooks.install.found import Foreign, Install, doubled, find_foreign, find_installs, ignored, switch_off
from hybrid.hooks.install.merge import hooks_of, may_hold_ours, parts_of
from hybrid.hooks.install.parts import PORTABLE, SCOPES, SettingsRoots, Wanted, absolute_launcher

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence


_UNKNOWN_EVENTS_SINCE = (2, 1, 101)
"""The first version of Claude Code that passes over an event it does not know; an older one drops the whole file."""

_VERSION_S = 15.0
"""Seconds that `claude --version` may take; its first start is slow."""


def settings_roots_of(project: str | None, environ: Mapping[str, str]) -> SettingsRoots:
    """Return the folders below which settings lie for a directory.

    Raises:
        ProjectError: The directory does not exist.
    """
    from hybrid.project.find import find_project

    project_here = find_project(directory_of(project), _home(), Path.home())
    return SettingsRoots(Path.home(), project_here.root if project_here else None, environ)


def run(args: argparse.Namespace) -> int:
    """Run `install`, `uninstall` or `plugin-path`, as `args.action` says; returns 0.

    Raises:
        HybridError: A client or a scope is not known, another place calls hybrid already, or a file is no settings.
        OSError: A file cannot be read or written.
    """
    return {"install": _install, "uninstall": _uninstall, "plugin-path": _plugin_path}[args.action](args)


def _install(args: argparse.Namespace) -> int:
    """Write the parts that are asked for into the client's files, and tell what changed; returns 0."""
    roots, home = settings_roots_of(args.project, os.environ), _home()
    client, scope = client_named(args.client), args.scope
    targets, notes = _chosen(client, args, roots)
    has_hooks = any(part.kind == "hooks" for target in targets for part in target.parts)
    if has_hooks and not args.force:
        _require_one_place(client, targets[0], find_installs(roots))
    if any(part.kind != "rules" for target in targets for part in target.parts):
        notes += _for_now(client, scope, is_forced=args.force)
    launcher = PORTABLE if scope == "project" else absolute_launcher()
    for target in targets:  # Fails before another system is off, and before any file is changed.
        install(target, Wanted(launcher, tuple(client.events)), home=home, is_dry_run=True)
    notes += _foreign(args, roots, home) if has_hooks else []
    events = _events(client, scope, notes, has_subagents=args.subagents)
    wanted = Wanted(launcher, tuple(events))
    changes = [install(target, wanted, home=home, is_dry_run=args.dry_run) for target in targets]
    notes += _notes(client, scope, changes)
    notes += [f"{each.what}; {each.remedy}" for each in doubled(find_installs(roots))] if has_hooks else []
    if has_hooks and hooks_of(client.name).ignores((read_bytes(targets[0].path) or b"").decode("utf-8", "replace")):
        notes.append(f"{ignored(client, targets[0].path)}; take them out")
    if args.json:
        more = {"events": events, "notes": notes, "dry_run": args.dry_run, "also": [*map(_as_json, changes[1:])]}
        print_json(_as_json(changes[0]) | more)
    elif not args.quiet:
        for change in changes:
            _tell(change, is_dry_run=args.dry_run, label=client.label, events=events)
        for note in notes:
            say(f"Note: {note}")
    return 0


def _chosen(client: Client, args: argparse.Namespace, roots: SettingsRoots) -> tuple[list[Target], list[str]]:
    """Return the files to write for a client, the hooks first, and notes on what there is no file for.

    Raises:
        HybridError: The client has not what is asked for, or not in that scope.
    """
    has_rules = args.rules if args.rules is not None else not client.events
    if args.mcp and client.mcp is None:
        raise HybridError(f"{client.label} reads no MCP servers: leave out --mcp")
    wanted = {"hooks": True, "mcp": args.mcp or not client.events, "rules": has_rules}
    parts = [part for part in parts_of(client) if wanted[part.kind]]
    if client.events:
        return [target_of(part, args.scope, roots) for part in parts], []
    # Without hooks the entry and the instruction are all there is, and some clients have a file for one of them only.
    there = [part for part in parts if args.scope in part.files.places]
    what = {"hooks": "no hooks", "mcp": "no MCP servers", "rules": "no rules"}
    notes = [
        f"{client.label} reads {what[part.kind]} in the {args.scope} scope: use --scope {'/'.join(part.files.places)}"
        for part in parts
        if part not in there
    ]
    return [target_of(part, args.scope, roots) for part in there or parts[:1]], notes


def _require_one_place(client: Client, target: Target, installs: Sequence[Install]) -> None:
    """Do nothing when a client calls us from this file at most.

    Raises:
        HybridError: It calls us from another place.
    """
    for each in installs:
        is_here = (each.path, each.scope) == (target.path, target.scope)
        if each.client == client.name and each.kind == "hooks" and not is_here:
            raise HybridError(
                f"{client.label} calls hybrid already from {each.path} ({each.scope}), and hooks add up: "
                f"{each.removal}, or use --force"
            )


def _notes(client: Client, scope: Scope, changes: Sequence[FileChange]) -> list[str]:
    """Return what the user must do or know besides, for the parts that were written."""
    kinds = {kind for change in changes for kind in change.kinds}
    notes = client.notes(scope) if "hooks" in kinds or not client.events else []
    if client.mcp is not None and "mcp" in kinds:
        remark = client.mcp.project_remark if scope == "project" else client.mcp.remark
        notes += [remark] if remark else []
        if not find_spec("mcp"):
            notes.append(f"the MCP server does not start without the extra `mcp`: {how_to_add('mcp')}")
    return notes


def _for_now(client: Client, scope: Scope, *, is_forced: bool) -> list[str]:
    """Return notes for an installation out of a cache, whose files may go on any day; none for one that lasts.

    Raises:
        HybridError: The entries would name such files, and nobody insists.
    """
    cache = cache_of()
    if cache is None:
        return []
    installed = lasting_program(os.environ)
    if scope == "project":
        if installed:
            return []
        return [f"this hybrid runs out of a cache, and none is on the PATH: these hooks wait for {HOW_TO_INSTALL}"]
    if is_forced:
        return [f"the hooks name files in a cache ({cache}): once they are deleted, the hooks do nothing"]
    again = f"hook install --client {client.name}" + ("" if scope == "user" else f" --scope {scope}")
    step = f"call the installed one, `{installed} {again}`"
    if not installed:
        step = f"install it with {HOW_TO_INSTALL}, then `hybrid {again}`"
    raise HybridError(
        f"this hybrid runs out of a cache ({cache}) that may be emptied on any day, and the hooks would do nothing "
        f"from then on: {step}; or use --scope project or --force"
    )


def agents_without_us(project: str, environ: Mapping[str, str]) -> list[Client]:
    """Return the coding agents that are found on this machine and would not call us in this project."""
    roots = settings_roots_of(project, environ)
    known = {each.client for each in find_installs(roots)}
    with_hooks = {name: client for name, client in clients().items() if client.events}
    return [client for name, client in with_hooks.items() if name not in known and _is_here(client, roots)]


def install_for(client: Client, project: str, environ: Mapping[str, str]) -> None:
    """Install the hooks of a client in user scope, and print what changed; an error is printed, not raised.

    Args:
        client: The client.
        project: The directory whose settings count.
        environ: Environment variables that name folders of settings.
    """
    target = target_of(hooks_of(client.name), "user", settings_roots_of(project, environ))
    try:
        _for_now(client, "user", is_forced=False)
        wanted = Wanted(absolute_launcher(), tuple(_events(client, "user", [])))
        change = install(target, wanted, home=_home())
    except (HybridError, OSError) as error:
        say(f"{client.label}: {error}")
        return
    _tell(change, is_dry_run=False, label=client.label, events=tuple(client.events))
    for note in client.notes("user"):
        say(f"Note: {note}")


def _is_here(client: Client, roots: SettingsRoots) -> bool:
    """Return whether the client's program is on the PATH, or it has a folder of settings."""
    hooks = hooks_of(client.name)
    path = hooks.files.file("user", roots)
    folder = path.parent.parent if path and hooks.settings.has_own_file else path.parent if path else None
    return shutil.which(client.name, path=roots.environ.get("PATH")) is not None or bool(folder and folder.is_dir())


def _uninstall(args: argparse.Namespace) -> int:
    """Take our entries out of each chosen file and tell what changed; the first error is raised after the last file."""
    roots, home = settings_roots_of(args.project, os.environ), _home()
    chosen = [client_named(args.client)] if args.client else list(clients().values())
    changes: list[FileChange] = []
    errors: list[HybridError | OSError] = []
    kinds = ("mcp", "rules") if args.mcp else ("hooks", "mcp", "rules")
    here = _targets(chosen, kinds, args.scope, roots, home)
    for target in here:
        try:
            changes.append(uninstall(target, home=home, is_dry_run=args.dry_run))
        except (HybridError, OSError) as error:
            errors.append(error)
    done = [change for change in changes if change.action != "absent"]
    projects = {str(change.path.parent.parent) for change in done if change.scope == "project"}
    for client in chosen if not args.mcp else ():
        try:
            done += filter(None, [forget_trust(client, roots, projects, is_dry_run=args.dry_run)])
        except (HybridError, OSError) as error:
            errors.append(error)
    left = _left(chosen, here, home) if args.scope == "here" else []
    if args.json:
        forms = [_as_json(change) for change in done]
        print_json({"changes": forms, "left": list(map(str, left)), "dry_run": args.dry_run})
    elif not args.quiet:
        for change in done:
            _tell(change, is_dry_run=args.dry_run, label=_labels(change))
        if not done and not errors:
            say("Nothing of hybrid was registered" + (" here" if left else ""))
        for path in left:
            say(f"Note: {path} still calls hybrid, in another project: --scope all removes that too")
        # The registrations that we never change: the plugin's, those in Codex's `config.toml` and managed ones.
        for each in (each for each in find_installs(roots) if each.scope not in SCOPES and not args.mcp):
            what = "the plugin is still on in" if each.scope == "plugin" else "hybrid is still called from"
            say(f"Note: {what} {each.path}: {each.removal}")
    if errors:
        raise errors[0]
    return 0


def _left(clients: Sequence[Client], here: Sequence[Target], home: Path) -> list[Path]:
    """Return the files of other projects that we changed once and that still call us."""
    known = {os.path.realpath(target.path) for target in here}
    recorded = [target.path for client in clients for target in recorded_targets(client, home=home)]
    return [path for path in recorded if str(path) not in known and _calls_us(path)]


def _calls_us(path: Path) -> bool:
    """Return whether a file that we changed once holds entries of ours still."""
    try:
        return may_hold_ours((read_bytes(path) or b"").decode("utf-8", "replace"))
    except (HybridError, OSError):
        return False


def _plugin_path(args: argparse.Namespace) -> int:
    """Print the folder of the plugin."""
    from hybrid.base.resources import shipped

    folder = shipped(".claude-plugin").parent
    return print_found(args, {"path": str(folder)}, [str(folder)])


def _home() -> Path:
    from hybrid.project.find import hybrid_home

    return hybrid_home(os.environ)


def client_named(name: str) -> Client:
    """Return the client of that name.

    Raises:
        HybridError: There is none.
    """
    if name not in clients():
        raise HybridError(f"{name!r} is no client; hybrid knows {', '.join(clients())}")
    return clients()[name]


def _foreign(args: argparse.Namespace, roots: SettingsRoots, home: Path) -> list[str]:
    """Return notes on the client's hooks of replaced systems; `--replace` switches off those not of a wider scope."""
    hooks = [each for each in find_foreign(roots) if each.client == args.client]
    if not hooks:
        return []
    if not args.replace:
        return [f"other systems add to the same prompts ({_named(hooks)}): --replace switches them off"]
    # Where others work, or in other projects, nobody would answer in their place.
    wider = [each for each in hooks if SCOPES.index(each.scope) < SCOPES.index(args.scope)]
    hooks = [each for each in hooks if each not in wider]
    notes = [
        f"another system adds to the same prompts from a wider scope ({each}): take it out there, or install with "
        f"--scope {each.scope} --replace in place of --scope {args.scope}"
        for each in wider
    ]
    if not hooks:
        return notes
    if args.dry_run:
        return [f"would switch off {_named(hooks)}", *notes]
    kept = ", ".join(map(str, switch_off(hooks, roots=roots, home=home)))
    return [f"switched off {_named(hooks)}; hook uninstall puts that back; a copy from before: {kept}", *notes]


def _named(hooks: Sequence[Foreign]) -> str:
    return "; ".join(map(str, hooks))


def _events(client: Client, scope: Scope, notes: list[str], *, has_subagents: bool = False) -> list[str]:
    """Return the events to register: the client's own, and those that only a newer Claude Code knows, if it is new.

    These are the event of a tool that failed, in files that are not the project's, and with `has_subagents` that of a
    starting subagent. Where the client may not know this one, a note is added to `notes`.
    """
    events = list(client.events)
    if client.name != "claude":
        if has_subagents:
            notes.append(f"--subagents is for Claude Code: {client.label} is not called when a subagent starts")
        return events
    is_shared = scope == "project"
    version = claude_version(os.environ) if has_subagents or not is_shared else None
    is_new = version is not None and version >= _UNKNOWN_EVENTS_SINCE
    if is_new:
        events += [*([] if is_shared else ["PostToolUseFailure"]), *(["SubagentStart"] if has_subagents else [])]
    elif has_subagents:
        known = ".".join(map(str, version)) if version else "unknown"
        notes.append(
            f"SubagentStart is not registered: the version of claude is {known}, and one before 2.1.101 would drop "
            "the whole file for it"
        )
    return events


def claude_version(environ: Mapping[str, str]) -> tuple[int, ...] | None:
    """Return the version that `claude --version` prints, or None when it cannot be told."""
    program = shutil.which("claude", path=environ.get("PATH"))
    if program is None:
        return None
    try:
        output = subprocess.run(
            [program, "--version"], stdin=subprocess.DEVNULL, capture_output=True, timeout=_VERSION_S, check=False
        ).stdout.decode("utf-8", "replace")
    except (OSError, subprocess.SubprocessError):
        return None
    match = re.match(r"\s*(\d+)\.(\d+)\.(\d+)", output)
    return tuple(map(int, match.groups())) if match else None


def _targets(
    clients: Sequence[Client], kinds: Sequence[str], scope: str, roots: SettingsRoots, home: Path
) -> list[Target]:
    """Return the files to clean for the clients, parts and scope, each once, with all that is to go from it."""
    found = [
        Target((part,), each, path, roots.project_root)
        for client in clients
        for part in parts_of(client)
        if part.kind in kinds
        for each, path in part.files.paths(roots)
        if scope in ("all", "here", each)
    ]
    if not found and len(clients) == 1 and scope in SCOPES:
        # Says what is wrong with a scope that the client has not.
        target_of(parts_of(clients[0])[0], scope, roots)
    if scope == "all":
        for target in [target for client in clients for target in recorded_targets(client, home=home)]:
            parts = tuple(part for part in target.parts if part.kind in kinds)
            found += [replace(target, parts=parts)] if parts else []
    targets: dict[str, Target] = {}
    for target in found:
        known = targets.setdefault(os.path.realpath(target.path), target)
        more = tuple(part for part in target.parts if part not in known.parts)
        targets[os.path.realpath(target.path)] = replace(known, parts=(*known.parts, *more))
    return list(targets.values())


def _labels(change: FileChange) -> str:
    """Return the names of a change's clients for people."""
    return ", ".join(clients()[name].label for name in change.client.split(", "))


def _as_json(change: FileChange) -> dict[str, Any]:
    return asdict(change) | {"path": str(change.path)}


def _tell(change: FileChange, *, is_dry_run: bool, label: str, events: Sequence[str] = ()) -> None:
    does, no_longer = {
        "hooks": (f"calls hybrid {{}}for {', '.join(events)}", "calls hybrid"),
        "mcp": ("is {}given the MCP server hybrid", "has the MCP server hybrid"),
        "rules": ("is {}told when to use hybrid", "is told of hybrid"),
    }[change.kinds[0]]
    gone = f"{label} no longer {no_longer}"
    words = {
        "installed": f"{label} {does.format('')}: {change.path}",
        "updated": f"{label} {does.format('anew ')}: {change.path}",
        "unchanged": f"already installed for {label}: {change.path}",
        "removed": f"{gone}: our entries are out of {change.path}, the rest is as it was",
        "deleted": f"{gone}: {change.path} is deleted, it was ours alone",
        "absent": f"{label} does not call hybrid from {change.path}",
    }
    if is_dry_run and change.action != "unchanged":
        say(f"Would write {change.path}:")
        say(change.diff)
    else:
        say(words[change.action])
