"""Finds where hybrid is registered, in every client and scope, what is registered twice, and hooks of other systems.

`hybrid hook status`, `hybrid doctor` and the installers call this. Hooks of the systems that hybrid replaces would add
their own text to each prompt beside ours: they are named, and switched off only when the user asks for it.
"""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from hybrid.base.clients import Client, Scope, clients
from hybrid.base.errors import HybridError
from hybrid.base.lasting import cache_of
from hybrid.hooks.install.changes import Target, decoded, read_bytes, take_out, target_of
from hybrid.hooks.install.jsonc import is_list, is_object
from hybrid.hooks.install.merge import HookPart, Part, commands, every_part, hooks_of, read, strip_text, switch_plugin
from hybrid.hooks.install.parts import SCOPES, Kind, RegisteredCommand, SettingsRoots, command_text, is_ours

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


PLUGIN = "hybrid"
"""Name of our plugin for Claude Code; settings name it with its marketplace: `hybrid@…`."""

MANAGED = {
    "darwin": Path("/Library/Application Support/ClaudeCode/managed-settings.json"),
    "win32": Path("C:/Program Files/ClaudeCode/managed-settings.json"),
}.get(sys.platform, Path("/etc/claude-code/managed-settings.json"))
"""Settings that an administrator gives to every user of Claude Code on the machine."""


class Install(Struct, frozen=True):
    """One place in which hybrid is registered.

    Attributes:
        client: Name of the client.
        scope: `user`, `project`, `local`, or `plugin`; `config` (Codex's `config.toml`) and `managed` (an
            administrator's) are only looked at.
        path: The settings file; of a plugin, the one that switches it on.
        events: The registered events in the client's words, in the order of the file; none for what is no hook.
        commands: The commands that are run, one for each event; none for an instruction.
        program: The program that the commands start; empty for an instruction.
        outdated: What this version registers otherwise, in words; empty for nothing.
        kind: The part that is registered.
        missing: The program or the file it is given, if one of them does not exist; else empty.
    """

    client: str
    scope: str
    path: Path
    events: tuple[str, ...]
    commands: tuple[str, ...]
    program: str
    outdated: str = ""
    kind: Kind = "hooks"
    missing: str = ""

    @property
    def is_runnable(self) -> bool:
        """True when the program exists, and the file it is given."""
        return not self.missing

    @property
    def removal(self) -> str:
        """The command or step that removes this registration from its settings."""
        if self.scope == "plugin":
            return f"claude plugin uninstall {self.commands[0].split()[1]}"
        if self.scope not in SCOPES:
            return f"take it out of {self.path} by hand"
        flag = "" if self.kind == "hooks" else " --mcp"
        return f"hybrid hook uninstall --client {self.client} --scope {self.scope}{flag}"

    @property
    def renewal(self) -> str:
        """The command or step that brings this registration up to date."""
        if self.scope not in SCOPES:
            return f"mend it in {self.path} by hand"
        scope = "" if self.scope == "user" else f" --scope {self.scope}"
        subagents = " --subagents" if "SubagentStart" in self.events else ""
        flag = {"hooks": "", "mcp": " --mcp", "rules": " --rules"}[self.kind] if clients()[self.client].events else ""
        return f"hybrid hook install --client {self.client}{scope}{subagents}{flag}"

    @property
    def part(self) -> str:
        """The registered part in words: the events of hooks, or the kind of another part."""
        return {"hooks": ", ".join(self.events), "mcp": "MCP server", "rules": "instruction"}[self.kind]

    def as_json(self) -> dict[str, Any]:
        """Return the keys of `status --json`."""
        return {
            "scope": self.scope,
            "kind": self.kind,
            "path": str(self.path),
            "events": list(self.events),
            "program": self.program,
            "is_runnable": self.is_runnable,
            "missing": self.missing or None,
            "commands": list(self.commands),
            "outdated": self.outdated or None,
            "renewal": self.renewal if self.outdated else None,
        }


def find_installs(roots: SettingsRoots) -> list[Install]:
    """Return every registration that would run in this project; files that cannot be read hold none.

    Args:
        roots: Where settings lie. Of its environment `CLAUDE_CONFIG_DIR`, `CODEX_HOME`, `QWEN_HOME`, `GEMINI_CLI_HOME`,
            `COPILOT_HOME` and `XDG_CONFIG_HOME` move a client's folder; `PATH` is where programs are looked for.
    """
    installs = [
        install
        for _, part, scope, path in every_part(roots)
        for install in _in_text(part, scope, path, _text_or_empty(path), roots.environ)
    ]
    return [*installs, *_in_codex_config(roots), *_managed(roots.environ), *_plugins(roots)]


def unreadable(roots: SettingsRoots) -> list[str]:
    """Return the settings files that do not parse, in words: their client reads none of their hooks."""
    problems: list[str] = []
    for client, part, _, path in every_part(roots):
        try:
            text = decoded(read_bytes(path), path)
            part.found_in(text, name=str(path))
        except OSError:
            continue
        except HybridError as error:
            problems.append(str(error))
            continue
        if isinstance(part, HookPart) and part.ignores(text):
            problems.append(ignored(client, path))
    return problems


def ignored(client: Client, path: Path) -> str:
    """Return a sentence that says that a client ignores a file as a whole for its comments or commas."""
    return f"{path} holds comments or trailing commas: {client.label} ignores such a file as a whole"


class Double(NamedTuple):
    """A reason why prompts are answered twice.

    Attributes:
        what: The reason in words.
        remedy: What to type or do.
    """

    what: str
    remedy: str


def doubled(installs: Sequence[Install]) -> list[Double]:
    """Return the reasons why prompts would be answered twice: several places of a client, all of which it calls."""
    installs = [each for each in installs if each.kind == "hooks"]
    doubles: list[Double] = []
    for name in clients():
        calls = [each for each in installs if each.client == name]
        if len(calls) > 1:
            where = ", ".join(f"{each.path} ({each.scope})" for each in calls)
            doubles.append(
                Double(f"{clients()[name].label} calls hybrid from {len(calls)} places: {where}", _but_one(calls))
            )
    for each in installs:
        again = f"{each.removal}, then install it again"
        doubles += [Double(f"{each.path} calls hybrid twice for {event}", again) for event in _repeated(each.events)]
    own = [each for each in installs if each.client == "copilot"]
    shared = [each for each in installs if each.client == "claude" and each.scope in ("project", "local")]
    if own and shared:
        what = f"Copilot CLI has hooks of its own and runs those of {shared[0].path} in trusted folders too"
        doubles.append(Double(what, _but_one([*own, *shared])))
    return doubles


def switched_off(roots: SettingsRoots) -> list[tuple[Path, str]]:
    """Return (settings file, member) where Claude Code's hooks are switched off, all or all but an administrator's."""
    paths = [*(path for _, path in hooks_of("claude").files.paths(roots)), MANAGED]
    switches = [(path, "disableAllHooks") for path in paths if _settings(path).get("disableAllHooks") is True]
    is_managed_only = _settings(MANAGED).get("allowManagedHooksOnly") is True
    return [*switches, (MANAGED, "allowManagedHooksOnly")] if is_managed_only else switches


def _but_one(calls: Sequence[Install]) -> str:
    return f"keep one; to remove: {', or: '.join(each.removal for each in calls)}"


def installed_part(installs: Sequence[Install]) -> dict[str, Any]:
    """Return the `installed` part of the status: client → its first place, all of them under `places`."""
    part: dict[str, Any] = {}
    for each in installs:
        place = each.as_json()
        known = part.setdefault(each.client, place | {"places": []})
        known["places"].append(place)
    return part


def enabled_plugins(roots: SettingsRoots) -> list[tuple[str, Scope, Path]]:
    """Return (plugin with marketplace, scope, settings file) for each plugin that Claude Code has switched on."""
    decided: dict[str, tuple[bool, Scope, Path]] = {}
    for scope, path in hooks_of("claude").files.paths(roots):
        plugins: object = _settings(path).get("enabledPlugins")
        if is_object(plugins):
            decided.update((name, (bool(value), scope, path)) for name, value in plugins.items())
    return [(name, scope, path) for name, (is_on, scope, path) in decided.items() if is_on]


def _in_text(part: Part, scope: str, path: Path, text: str, environ: Mapping[str, str]) -> Iterator[Install]:
    """Yield the one place that a text registers us in; nothing where it has no entry of ours or is wrong."""
    try:
        present = part.found_in(text, name=str(path))
    except HybridError:
        return
    if present:
        events = tuple(each.event for each in present if each.event)
        commands = tuple(each.command for each in present if each.command)
        program, missing = present[0].program, next(filter(None, (_missing(each, environ) for each in present)), "")
        older = part.outdated(text, present) or _short_lived(program)
        yield Install(part.owner, scope, path, events, commands, program, older, part.kind, missing)


def _in_codex_config(roots: SettingsRoots) -> Iterator[Install]:
    """Yield the registrations in `[hooks]` of `config.toml`, which Codex reads besides `hooks.json`."""
    import tomli

    codex = hooks_of("codex")
    for _, hooks_file in codex.files.paths(roots):
        path = hooks_file.with_name("config.toml")
        try:
            hooks: object = tomli.loads(_text_or_empty(path)).get("hooks")
            if not is_object(hooks):
                continue
            # Beside the lists of events stand tables of Codex itself, such as the hooks that are trusted.
            lists = {event: groups for event, groups in hooks.items() if is_list(groups)}
            text = json.dumps({"hooks": lists}, default=str)
        except (ValueError, RecursionError):  # Not TOML, or a number of thousands of digits.
            continue
        else:
            yield from _in_text(codex, "config", path, text, roots.environ)


def _managed(environ: Mapping[str, str]) -> Iterator[Install]:
    """Yield the registrations in an administrator's settings for Claude Code and in the parts beside them."""
    for path in (MANAGED, *sorted((MANAGED.parent / "managed-settings.d").glob("*.json"))):
        yield from _in_text(hooks_of("claude"), "managed", path, _text_or_empty(path), environ)


def _plugins(roots: SettingsRoots) -> Iterator[Install]:
    """Yield our own plugins that Claude Code has switched on."""
    for name, _, path in enabled_plugins(roots):
        if name.partition("@")[0] == PLUGIN:
            missing = "" if shutil.which("hybrid", path=roots.environ.get("PATH")) else "hybrid"
            command, events = (f"plugin {name}",), tuple(clients()["claude"].events)
            yield Install("claude", "plugin", path, events, command, "hybrid", missing=missing)


def _text_or_empty(path: Path) -> str:
    """Return the text of a settings file; empty for a file that cannot be read, or is not to be read as settings."""
    try:
        return decoded(read_bytes(path), path)
    except (HybridError, OSError):
        return ""


def _settings(path: Path) -> dict[str, Any]:
    """Return the settings of a file; none for a file that is missing or not to be read as settings."""
    try:
        return read(_text_or_empty(path), str(path)).value
    except HybridError:
        return {}


def _missing(present: RegisteredCommand, environ: Mapping[str, str]) -> str:
    """Return the program if it is not found, or the file of ours that it is given if that does not exist; else empty.

    The program may be there without the file: after a reinstallation with another Python, for example.
    """
    if not present.program:
        return ""  # An instruction starts nothing.
    if shutil.which(present.program, path=environ.get("PATH")) is None:
        return present.program
    try:
        given = present.args or shlex.split(present.command, posix="\\" not in present.command)
    except ValueError:
        given = present.command.split()
    words = (word.strip("'\"") for word in given)
    return next((word for word in words if word.endswith("entry.py") and not Path(word).is_file()), "")


def _short_lived(program: str) -> str:
    """Return in words that a program lies in a cache; empty for one that lasts, or a name without a folder."""
    folder = Path(program).parent.parent
    cache = cache_of(folder) if folder.is_absolute() else None
    return f"the program lies in a cache ({cache}) that may be emptied" if cache else ""


def _repeated(events: Sequence[str]) -> list[str]:
    return sorted({event for event in events if events.count(event) > 1})


# --- hooks of other systems -------------------------------------------------------------------------------


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
        if isinstance(part, HookPart) and not part.settings.module
        for hook in _hooks(client, scope, path)
    ]
    return [*hooks, *_foreign_plugins(roots)]


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
        root = read(decoded(read_bytes(path), path), str(path))
    except (HybridError, OSError):
        return
    for hook in commands(root):
        command = command_text(hook.handler)
        if not is_ours(hook.handler) and (system := _named(command)) is not None:
            yield Foreign(system, client.name, scope, path, hook.event, command, hook.alone)


def _foreign_plugins(roots: SettingsRoots) -> Iterator[Foreign]:
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
    target = target_of(hooks_of(here[0].client), here[0].scope, roots)
    data = read_bytes(target.real) or b""
    return target, data, _without(decoded(data, path), here), [(each.event, each.entry) for each in here]


def _without(text: str, here: Sequence[Foreign]) -> str:
    gone = {each.command for each in here if each.event != "plugin"}

    def is_unwanted(handler: object) -> bool:
        return is_object(handler) and not is_ours(handler) and command_text(handler) in gone

    text = strip_text(text, name=str(here[0].path), unwanted=is_unwanted) if gone else text
    for each in here:
        if each.event == "plugin":
            text = switch_plugin(text, each.command, is_on=False)
    return text
