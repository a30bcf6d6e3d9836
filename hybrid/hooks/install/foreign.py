"""Finds hooks of the systems that hybrid replaces, and switches them off when the user asks for it.

They would add their own text to each prompt beside ours. `hybrid doctor` names them; nothing is changed unasked.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.base.errors import HybridError
from hybrid.hooks.install import files
from hybrid.hooks.install.changes import Target, take_out, target_of
from hybrid.hooks.install.clients import CLIENTS, every_part
from hybrid.hooks.install.command import command_text, is_ours
from hybrid.hooks.install.found import enabled_plugins
from hybrid.hooks.install.jsonc import is_object
from hybrid.hooks.install.merge import HookPart, commands, read, strip_text, switch_plugin
from hybrid.hooks.install.parts import Scope, SettingsRoots

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from hybrid.hooks.install.client import Client

_SYSTEMS = {
    "bobbin": re.compile(r"(?:^|[\s/\"'=])bobbin(?:\.exe)?[\"']?\s+hook\b", re.IGNORECASE),
    "claude-recall": re.compile(r"claude[-_]recall|coding-agent-lessons|/(?:smart-)?inject-hook\.sh\b", re.IGNORECASE),
    "claude-mem": re.compile(r"claude-mem\b|worker-service\.cjs", re.IGNORECASE),
    "code context": re.compile(
        r"semantic[-_ ]search|code[-_]context|claude[-_]context|context[-_](?:gate|inject)|inject[-_]context",
        re.IGNORECASE,
    ),
    "lore": re.compile(r"(?:^|[\s/\"'=])\.?lore(?:[-_][\w-]+)?(?:\.(?:sh|py|js))?(?=$|[\s/\"'@])", re.IGNORECASE),
}
"""System → a pattern of its commands; the first pattern that fits a command names the system."""


class Foreign(Struct, frozen=True):
    """A hook, or a plugin, of a system that hybrid replaces.

    Attributes:
        system: Name of the system.
        client: The agent that runs the hook.
        scope: Scope of the settings file.
        path: The settings file.
        event: The event that runs the hook; `plugin` for a whole plugin.
        command: The command of the hook, or the plugin's name.
        entry: The element of the event's list with this command only; for a plugin its name.
    """

    system: str
    client: str
    scope: Scope
    path: Path
    event: str
    command: str
    entry: Any

    def __str__(self) -> str:
        return f"{self.system}: {self.event} in {self.path}: {self.command}"


def find_foreign(roots: SettingsRoots) -> list[Foreign]:
    """Return the hooks and plugins of the systems we replace, in every client and scope; unreadable files hold none."""
    hooks = [
        hook
        for client, part, scope, path in every_part(roots)
        if part.kind == "hooks" and not client.module
        for hook in _hooks(client, scope, path)
    ]
    return [*hooks, *_plugins(roots)]


def switch_off(hooks: Sequence[Foreign], *, roots: SettingsRoots, home: Path) -> list[Path]:
    """Remove these hooks and switch off these plugins until our removal puts them back.

    All files are read before the first is written: if one cannot be read, none is changed. If one cannot be written,
    those before it are changed.

    Args:
        hooks: The hooks to remove, from `find_foreign`.
        roots: The folders in which settings lie.
        home: `HYBRID_HOME`.

    Returns:
        The backups of the files, from before our first change of each.

    Raises:
        HybridError: A file is not to be changed, for a reason that is said.
        OSError: A file cannot be written.
    """
    paths = dict.fromkeys(each.path for each in hooks)
    removals = [_removal(path, [each for each in hooks if each.path == path], roots) for path in paths]
    return [take_out(*removal, home=home) for removal in removals]


def _hooks(client: Client, scope: Scope, path: Path) -> Iterator[Foreign]:
    """Yield the hooks of replaced systems in one settings file; a file that cannot be read has none."""
    try:
        root = read(files.decoded(files.read_bytes(path), path), str(path))
    except (HybridError, OSError):
        return
    for hook in commands(root):
        command = command_text(hook.handler)
        if not is_ours(hook.handler) and (system := _named(command)) is not None:
            yield Foreign(system, client.name, scope, path, hook.event, command, hook.alone)


def _plugins(roots: SettingsRoots) -> Iterator[Foreign]:
    """Yield the plugins of replaced systems that Claude Code has switched on."""
    for name, scope, path in enabled_plugins(roots):
        if (system := _named(name.partition("@")[0])) is not None:
            yield Foreign(system, "claude", scope, path, "plugin", name, name)


def _named(command: str) -> str | None:
    """Return the system that a command belongs to, None for any other."""
    return next((name for name, pattern in _SYSTEMS.items() if pattern.search(command)), None)


def _removal(
    path: Path, here: Sequence[Foreign], roots: SettingsRoots
) -> tuple[Target, bytes, str, list[tuple[str, Any]]]:
    """Return the arguments of `take_out` for a file and the hooks of other systems in it."""
    client = CLIENTS[here[0].client]
    target = target_of(client, HookPart(client), here[0].scope, roots)
    data = files.read_bytes(target.real) or b""
    return target, data, _without(files.decoded(data, path), here), [(each.event, each.entry) for each in here]


def _without(text: str, here: Sequence[Foreign]) -> str:
    gone = {each.command for each in here if each.event != "plugin"}

    def is_unwanted(handler: object) -> bool:
        return is_object(handler) and not is_ours(handler) and command_text(handler) in gone

    text = strip_text(text, name=str(here[0].path), unwanted=is_unwanted) if gone else text
    for each in here:
        if each.event == "plugin":
            text = switch_plugin(text, each.command, is_on=False)
    return text
