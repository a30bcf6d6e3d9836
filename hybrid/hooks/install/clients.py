"""The coding agents that hybrid is installed into: their files, their events, and the form of one registration.

`merge`, `changes` and `found` act on these values alone.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.hooks.install.command import Launcher, arguments, as_line, as_words, portable_line
from hybrid.hooks.install.merge import HookPart
from hybrid.hooks.install.parts import Files, Folder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

    from hybrid.hooks.install.parts import Part, Scope, SettingsRoots

_TIMEOUT_S = 5
"""Seconds that a client waits for a hook; hybrid gives up long before (`hooks.deadline_ms`)."""

_END_TIMEOUT_S = 3
"""Seconds that a client waits for a hook at the end of a session: Codex allows no more, Claude Code 1.5 unless told."""


class Client(Struct, frozen=True):
    """A coding agent.

    Attributes:
        name: The client's name for `--client`.
        label: The client's name for people.
        files: Its settings files with hooks.
        events: The events, in the client's words, for which it is to call us.
        handler: A function from an event and how to start us to the client's object for one command; not called for a
            client with a `module`.
        is_grouped: Handlers stand in groups with a matcher; otherwise in one flat list.
        base: What a new file holds besides `hooks`.
        stamps: Members that the client itself adds to a file it finds.
        has_own_file: The file is ours alone; one that holds nothing of others is deleted at removal.
        is_plain: Reads JSON without comments only, and ignores a whole file that has one.
        module: Name of the folder with a code module in place of settings; empty for settings.
        remarks: What the user must do or know besides, in any scope.
        project_remark: The same for the `project` scope; empty for nothing.
    """

    name: str
    label: str
    files: Files
    events: tuple[str, ...]
    handler: Callable[[str, Launcher], dict[str, Any]]
    is_grouped: bool = True
    base: Mapping[str, Any] = {}
    stamps: tuple[str, ...] = ()
    has_own_file: bool = False
    is_plain: bool = False
    module: str = ""
    remarks: tuple[str, ...] = ()
    project_remark: str = ""

    @property
    def hooks(self) -> HookPart:
        """The part of the hooks."""
        return HookPart(self)

    @property
    def parts(self) -> tuple[Part, ...]:
        """Every part that hybrid may have in this client, the hooks first."""
        return (self.hooks,)

    def notes(self, scope: Scope) -> list[str]:
        """Return what the user must do or know besides after an installation in that scope, a sentence each."""
        return [*self.remarks, *([self.project_remark] if scope == "project" and self.project_remark else [])]

    def ignores(self, text: str) -> bool:
        """Return whether the client reads nothing of a settings file that we can read."""
        if not self.is_plain or not text.strip():
            return False
        try:
            json.loads(text.removeprefix("\ufeff"))
        except ValueError:
            return True
        return False

    def entry(self, event: str, launcher: Launcher) -> dict[str, Any]:
        """Return the element that calls us, for the list of the event in the client's settings."""
        handler = self.handler(event, launcher)
        return {"hooks": [handler]} if self.is_grouped else handler


def _timeout_s(event: str) -> int:
    return _END_TIMEOUT_S if event == "SessionEnd" else _TIMEOUT_S


# --- forms of a command -----------------------------------------------------------------------------------


def _line_handler(
    event: str, launcher: Launcher, *, client: str, is_named: bool = False, per_second: int = 1, **how: str
) -> dict[str, Any]:
    """Return a handler with one command line, as most clients take it.

    Args:
        event: The client's word for the event.
        launcher: How to start us.
        client: Name of the client.
        is_named: Give it our name, which the client shows in its list of hooks.
        per_second: Units of the client's timeout in a second.
        how: `windows_shell`, for the quoting there.
    """
    line = as_line(launcher, client=client, event=event, **how)
    name = {"name": "hybrid"} if is_named else {}
    return {"type": "command", **name, "command": line, "timeout": _timeout_s(event) * per_second}


def _claude_handler(event: str, launcher: Launcher) -> dict[str, Any]:
    if launcher.is_portable:
        return _line_handler(event, launcher, client="claude")
    program, *rest = as_words(launcher, client="claude", event=event)
    return {"type": "command", "command": program, "args": rest, "timeout": _timeout_s(event)}


def _copilot_handler(event: str, launcher: Launcher) -> dict[str, Any]:
    if launcher.is_portable:
        words = " ".join(arguments("copilot", event))
        # PowerShell has neither `||` nor a null device in its first versions.
        powershell = f"try {{ hybrid {words} 2>$null }} catch {{ }}; exit 0"
        how: dict[str, Any] = {"bash": portable_line("copilot", event), "powershell": powershell}
    else:
        program, *rest = as_words(launcher, client="copilot", event=event)
        how = {"exec": program, "args": rest}
    return {"type": "command", **how, "timeoutSec": _timeout_s(event)}


# --- the clients ------------------------------------------------------------------------------------------


UNKNOWN_EVENTS_SINCE = (2, 1, 101)
"""The first version of Claude Code that passes over an event it does not know; an older one drops the whole file."""

SUBAGENT_START = "SubagentStart"
TOOL_FAILURE = "PostToolUseFailure"
"""Events that only Claude Code has, registered when asked for or when its version is known to take them."""

_IN_TRUSTED = "{} runs a project's hooks in trusted folders only"

CLAUDE = Client(
    name="claude",
    label="Claude Code",
    files=Files(
        Folder("CLAUDE_CONFIG_DIR", ".claude"),
        {"user": "settings.json", "project": ".claude/settings.json", "local": ".claude/settings.local.json"},
    ),
    events=("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"),
    handler=_claude_handler,
    is_plain=True,
    project_remark="Copilot CLI and VS Code run the hooks of .claude/settings.json too, in folders that they trust",
)
"""Three settings files that add up, commands in exec form, and plugins."""

CODEX = Client(
    name="codex",
    label="Codex",
    files=Files(Folder("CODEX_HOME", ".codex"), {"user": "hooks.json", "project": ".codex/hooks.json"}),
    events=("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop", "SessionEnd"),
    handler=partial(_line_handler, client="codex"),
    remarks=(
        "Codex runs no hook before you trust it, and does not say so: start codex, type /hooks, approve hybrid's",
    ),
    project_remark="the project's folder must be trusted by Codex too",
)

GEMINI = Client(
    name="gemini",
    label="Gemini CLI",
    files=Files(Folder("GEMINI_CLI_HOME", ""), {"user": ".gemini/settings.json", "project": ".gemini/settings.json"}),
    events=("SessionStart", "BeforeAgent", "AfterTool", "PreCompress", "AfterAgent", "SessionEnd"),
    handler=partial(_line_handler, client="gemini", is_named=True, per_second=1000, windows_shell="powershell"),
    project_remark=f"{_IN_TRUSTED.format('Gemini CLI')}, and warns when they are new",
)
"""Timeouts in milliseconds; its list of the project hooks that it has seen is the business of `trusted`."""

QWEN = Client(
    name="qwen",
    label="Qwen Code",
    files=Files(Folder("QWEN_HOME", ".qwen"), {"user": "settings.json", "project": ".qwen/settings.json"}),
    events=("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop", "SessionEnd"),
    handler=partial(_line_handler, client="qwen", is_named=True),
    stamps=("$version",),
    project_remark=_IN_TRUSTED.format("Qwen Code"),
)

COPILOT = Client(
    name="copilot",
    label="Copilot CLI",
    files=Files(
        Folder("COPILOT_HOME", ".copilot"), {"user": "hooks/hybrid.json", "project": ".github/hooks/hybrid.json"}
    ),
    events=("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop", "SessionEnd"),
    handler=_copilot_handler,
    is_grouped=False,
    base={"version": 1},
    has_own_file=True,
    project_remark=_IN_TRUSTED.format("Copilot CLI"),
)
"""A hooks file of our own with flat lists; events in Claude Code's spelling.

In that spelling the input names its event, the tool has the name that other clients give it, and times are dates; in
Copilot's own spelling the name of the event is missing.
"""

OPENCODE = Client(
    name="opencode",
    label="OpenCode",
    # OPENCODE_CONFIG_DIR is read besides this folder, not in its place.
    files=Files(
        Folder("XDG_CONFIG_HOME", ".config"),
        {"user": "opencode/plugin/hybrid.js", "project": ".opencode/plugin/hybrid.js"},
    ),
    events=(
        "session.created",
        "chat.message",
        "tool.execute.after",
        "experimental.session.compacting",
        "session.idle",
        "session.deleted",
    ),
    handler=partial(_line_handler, client="opencode"),
    has_own_file=True,
    module="opencode",
)
"""No hook settings but a code module in its plugin folder, which starts us as the others do."""

CLIENTS = {client.name: client for client in (CLAUDE, CODEX, GEMINI, QWEN, COPILOT, OPENCODE)}
"""Name → client, in the order in which they are shown."""


def every_part(roots: SettingsRoots) -> Iterator[tuple[Client, Part, Scope, Path]]:
    """Yield each file that may name us here, there or not: by client and part, then from the widest scope."""
    for client in CLIENTS.values():
        for part in client.parts:
            for scope, path in part.files.paths(roots):
                yield client, part, scope, path


def every_file(roots: SettingsRoots) -> list[tuple[Client, Scope, Path]]:
    """Return each file of hooks that may call us here, there or not: by client, then from the widest scope."""
    return [(client, scope, path) for client, part, scope, path in every_part(roots) if part.kind == "hooks"]
