"""The coding agents that hybrid is installed into.

`merge`, `changes` and `found` act on these values alone; `client` says what they mean.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from hybrid.hooks.install import servers
from hybrid.hooks.install.client import Client
from hybrid.hooks.install.command import Launcher, arguments, as_line, as_words, portable_line
from hybrid.hooks.install.merge import HookPart
from hybrid.hooks.install.parts import Files, Folder
from hybrid.hooks.install.rules import RulesPart
from hybrid.hooks.install.servers import ServerPart
from hybrid.hooks.install.without_hooks import WITHOUT_HOOKS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from hybrid.hooks.install.parts import Scope, SettingsRoots

_TIMEOUT_S = 5
"""Seconds that a client waits for a hook; hybrid gives up long before (`hooks.deadline_ms`)."""

_END_TIMEOUT_S = 3
"""Seconds that a client waits for a hook at the end of a session: Codex allows no more, Claude Code 1.5 unless told."""


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

_CLAUDE = Folder("CLAUDE_CONFIG_DIR", ".claude")
CLAUDE = Client(
    name="claude",
    label="Claude Code",
    files=Files(
        _CLAUDE,
        {"user": "settings.json", "project": ".claude/settings.json", "local": ".claude/settings.local.json"},
    ),
    events=("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"),
    handler=_claude_handler,
    is_plain=True,
    project_remark="Copilot CLI and VS Code run the hooks of .claude/settings.json too, in folders that they trust",
    server=ServerPart(
        "claude",
        Files(Folder("CLAUDE_CONFIG_DIR", ""), {"user": ".claude.json", "project": ".mcp.json"}),
        servers.stdio,
        remark="Claude Code writes this file too: when the entry is gone after it ran, install it again",
        project_remark="Claude Code asks each user once whether it may start a server of the project",
    ),
    rules=RulesPart(
        "claude", Files(_CLAUDE, {"user": "CLAUDE.md", "project": "CLAUDE.md", "local": "CLAUDE.local.md"})
    ),
)
"""Three settings files that add up, commands in exec form, and plugins."""

_CODEX = Folder("CODEX_HOME", ".codex")
CODEX = Client(
    name="codex",
    label="Codex",
    files=Files(_CODEX, {"user": "hooks.json", "project": ".codex/hooks.json"}),
    events=("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop", "SessionEnd"),
    handler=partial(_line_handler, client="codex"),
    remarks=(
        "Codex runs no hook before you trust it: start codex, which asks, or type /hooks; `codex exec` does not ask",
    ),
    project_remark="the project's folder must be trusted by Codex too",
    server=ServerPart(
        "codex",
        Files(_CODEX, {"user": "config.toml", "project": ".codex/config.toml"}),
        servers.codex,
        at="mcp_servers",
        form="toml",
        remark="`codex exec` waits for a server only when its table says `required = true`",
        project_remark="Codex reads the settings of a project in trusted folders only",
    ),
    rules=RulesPart("codex", Files(_CODEX, {"user": "AGENTS.md", "project": "AGENTS.md"})),
)

_GEMINI_PLACES: Mapping[Scope, str] = {"user": ".gemini/settings.json", "project": ".gemini/settings.json"}
_GEMINI = Folder("GEMINI_CLI_HOME", "")
GEMINI = Client(
    name="gemini",
    label="Gemini CLI",
    files=Files(_GEMINI, _GEMINI_PLACES),
    events=("SessionStart", "BeforeAgent", "AfterTool", "PreCompress", "AfterAgent", "SessionEnd"),
    handler=partial(_line_handler, client="gemini", is_named=True, per_second=1000, windows_shell="powershell"),
    project_remark=f"{_IN_TRUSTED.format('Gemini CLI')}, and warns when they are new",
    server=ServerPart("gemini", Files(_GEMINI, _GEMINI_PLACES), servers.plain),
    rules=RulesPart("gemini", Files(_GEMINI, {"user": ".gemini/GEMINI.md", "project": "GEMINI.md"})),
)
"""Timeouts in milliseconds; `changes` cleans its list of the project hooks that it has seen."""

_QWEN_PLACES: Mapping[Scope, str] = {"user": "settings.json", "project": ".qwen/settings.json"}
_QWEN = Folder("QWEN_HOME", ".qwen")
QWEN = Client(
    name="qwen",
    label="Qwen Code",
    files=Files(_QWEN, _QWEN_PLACES),
    events=("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop", "SessionEnd"),
    handler=partial(_line_handler, client="qwen", is_named=True),
    project_remark=_IN_TRUSTED.format("Qwen Code"),
    server=ServerPart("qwen", Files(_QWEN, _QWEN_PLACES), servers.plain),
    rules=RulesPart("qwen", Files(_QWEN, {"user": "QWEN.md", "project": "QWEN.md"})),
)

_COPILOT = Folder("COPILOT_HOME", ".copilot")
COPILOT = Client(
    name="copilot",
    label="Copilot CLI",
    files=Files(_COPILOT, {"user": "hooks/hybrid.json", "project": ".github/hooks/hybrid.json"}),
    events=("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop", "SessionEnd"),
    handler=_copilot_handler,
    is_grouped=False,
    base={"version": 1},
    has_own_file=True,
    project_remark=_IN_TRUSTED.format("Copilot CLI"),
    server=ServerPart(
        "copilot", Files(_COPILOT, {"user": "mcp-config.json", "project": ".github/mcp.json"}), servers.copilot
    ),
    rules=RulesPart("copilot", Files(_COPILOT, {"user": "copilot-instructions.md", "project": "AGENTS.md"})),
)
"""A hooks file of our own with flat lists; events in Claude Code's spelling.

In that spelling the input names its event, the tool has the name that other clients give it, and times are dates; in
Copilot's own spelling the name of the event is missing.
"""

_OPENCODE = Folder("XDG_CONFIG_HOME", ".config")
OPENCODE = Client(
    name="opencode",
    label="OpenCode",
    # OPENCODE_CONFIG_DIR is read besides this folder, not in its place.
    files=Files(
        _OPENCODE,
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
    server=ServerPart(
        "opencode",
        Files(
            _OPENCODE,
            {"user": "opencode/opencode.json|opencode/opencode.jsonc", "project": "opencode.json|opencode.jsonc"},
        ),
        servers.opencode,
        at="mcp",
    ),
    rules=RulesPart("opencode", Files(_OPENCODE, {"user": "opencode/AGENTS.md", "project": "AGENTS.md"})),
)
"""No hook settings but a code module in its plugin folder, which starts us as the others do."""

CLIENTS = {client.name: client for client in (CLAUDE, CODEX, GEMINI, QWEN, COPILOT, OPENCODE, *WITHOUT_HOOKS)}
"""Name → client, in the order in which they are shown."""


Part = HookPart | ServerPart | RulesPart
"""One part of hybrid in one client; `parts` says what every one of them can do."""


def parts_of(client: Client) -> tuple[Part, ...]:
    """Return every part that hybrid may have in a client, the hooks first."""
    hooks = HookPart(client) if client.events else None
    return tuple(part for part in (hooks, client.server, client.rules) if part is not None)


def every_part(roots: SettingsRoots) -> Iterator[tuple[Client, Part, Scope, Path]]:
    """Yield each file that may name us here, there or not: by client and part, then from the widest scope."""
    for client in CLIENTS.values():
        for part in parts_of(client):
            for scope, path in part.files.paths(roots):
                yield client, part, scope, path
