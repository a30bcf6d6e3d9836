"""Finds where hybrid is registered, in every client and scope, and what is registered twice; changes nothing.

`hybrid hook status`, `hybrid doctor` and the installers call this.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.errors import HybridError
from hybrid.hooks.install import files, targets
from hybrid.hooks.install.client import SCOPES, Client, Places
from hybrid.hooks.install.clients import CLAUDE, CLIENTS
from hybrid.hooks.install.jsonc import is_object
from hybrid.hooks.install.merge import read

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

PLUGIN = "hybrid"
"""Name of our plugin for Claude Code; settings name it with its marketplace: `hybrid@…`."""


@dataclass(frozen=True, slots=True)
class Install:
    """One place in which hybrid is registered.

    Attributes:
        client: Name of the client.
        scope: `user`, `project`, `local`, or `plugin`.
        path: The settings file; of a plugin, the one that switches it on.
        events: The client's words, in the order of the file.
        commands: What is run, one for each event.
        program: What the commands start.
        is_runnable: Whether that exists, and the file it is given.
    """

    client: str
    scope: str
    path: Path
    events: tuple[str, ...]
    commands: tuple[str, ...]
    program: str
    is_runnable: bool

    def as_json(self) -> dict[str, Any]:
        """For `status --json`."""
        return {
            "scope": self.scope,
            "path": str(self.path),
            "events": list(self.events),
            "program": self.program,
            "is_runnable": self.is_runnable,
            "commands": list(self.commands),
        }


def find_installs(user_home: Path, project_root: Path | None, environ: Mapping[str, str]) -> list[Install]:
    """Every registration that would run in this project; files that cannot be read hold none.

    Args:
        user_home: The user's home folder.
        project_root: Root of the project, or None outside of any.
        environ: `CLAUDE_CONFIG_DIR`, `CODEX_HOME`, `QWEN_HOME`, `GEMINI_CLI_HOME`, `COPILOT_HOME`, `XDG_CONFIG_HOME`
            move a client's folder; `PATH` is where programs are looked for.
    """
    places = Places(user_home, project_root, environ)
    found = [install for client in CLIENTS.values() for install in _of_client(client, places)]
    return [*found, *_plugins(places)]


def unreadable(places: Places) -> list[str]:
    """Settings files that do not parse, in words: their client reads none of their hooks."""
    problems: list[str] = []
    for client, path in settings_files(places):
        try:
            targets.ours_in(_text(path), client, name=str(path))
        except HybridError as error:
            problems.append(str(error))
    return problems


def doubled(installs: Sequence[Install]) -> list[str]:
    """What would be injected twice, in words: all places of a client add up."""
    problems: list[str] = []
    for name in CLIENTS:
        places = [f"{each.path} ({each.scope})" for each in installs if each.client == name]
        if len(places) > 1:
            problems.append(f"{CLIENTS[name].label} calls hybrid from {len(places)} places: {', '.join(places)}")
    problems += [f"{each.path} calls hybrid twice for {event}" for each in installs for event in _repeated(each.events)]
    clients = {each.client for each in installs}
    shared = [each for each in installs if each.client == "claude" and each.scope in ("project", "local")]
    if "copilot" in clients and shared:
        problems.append(f"Copilot CLI has hooks of its own and runs those of {shared[0].path} in trusted folders too")
    return problems


def installed_part(installs: Sequence[Install]) -> dict[str, Any]:
    """The `installed` part of the status: client → its first place, all of them under `places`."""
    part: dict[str, Any] = {}
    for each in installs:
        place = each.as_json()
        known = part.setdefault(each.client, place | {"places": []})
        known["places"].append(place)
    return part


def settings_files(places: Places) -> Iterator[tuple[Client, Path]]:
    """Every file in which a client may call us, whether it exists or not."""
    for client in CLIENTS.values():
        for scope in SCOPES:
            if (path := client.files(scope, places)) is not None:
                yield client, path


def enabled_plugins(places: Places) -> Iterator[tuple[str, str, Path]]:
    """(plugin with marketplace, scope, settings file) of each plugin that Claude Code has switched on."""
    decided: dict[str, tuple[bool, str, Path]] = {}
    for scope in SCOPES:
        path = CLAUDE.files(scope, places)
        plugins = _settings(path).get("enabledPlugins") if path else None
        if path is not None and is_object(plugins):
            decided |= {name: (bool(value), scope, path) for name, value in plugins.items()}
    yield from ((name, scope, path) for name, (is_on, scope, path) in decided.items() if is_on)


def _of_client(client: Client, places: Places) -> Iterator[Install]:
    for scope in SCOPES:
        path = client.files(scope, places)
        if path is None:
            continue
        try:
            present = targets.ours_in(_text(path), client, name=str(path))
        except (HybridError, OSError):
            continue
        if present:
            events, commands = tuple(each.event for each in present), tuple(each.command for each in present)
            is_runnable = all(_exists(each, places.environ) for each in present)
            yield Install(client.name, scope, path, events, commands, present[0].program, is_runnable)


def _plugins(places: Places) -> Iterator[Install]:
    for name, _, path in enabled_plugins(places):
        if name.partition("@")[0] == PLUGIN:
            is_runnable = shutil.which("hybrid", path=places.environ.get("PATH")) is not None
            events = tuple(each.event for each in CLAUDE.registrations)
            yield Install("claude", "plugin", path, events, (f"plugin {name}",), "hybrid", is_runnable)


def _text(path: Path) -> str:
    try:
        return files.decoded(files.read_bytes(path), path)
    except OSError:
        return ""


def _settings(path: Path) -> dict[str, Any]:
    try:
        return read(_text(path), str(path)).value
    except HybridError:
        return {}


def _exists(present: targets.Present, environ: Mapping[str, str]) -> bool:
    words = [present.program, *present.args] if present.args else present.command.split()
    scripts = [Path(word.strip("'\"")) for word in words if word.strip("'\"").endswith("entry.py")]
    if shutil.which(present.program, path=environ.get("PATH")) is None:
        return False
    return bool(present.args) is False or all(script.is_file() for script in scripts)


def _repeated(events: Sequence[str]) -> list[str]:
    return sorted({event for event in events if events.count(event) > 1})
