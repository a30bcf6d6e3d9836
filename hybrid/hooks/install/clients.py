"""The coding agents that hybrid is installed into.

`merge`, `changes` and `found` act on these values alone; `merge.Client` says what they mean.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from hybrid.hooks.install import servers
from hybrid.hooks.install.merge import Client, HookPart
from hybrid.hooks.install.parts import Files, Folder, Launcher, arguments, as_line, as_words, portable_line
from hybrid.hooks.install.rules import COMMANDS, RulesPart
from hybrid.hooks.install.servers import SERVER, ServerPart

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from hybrid.hooks.install.parts import SettingsRoots
    from hybrid.project.installs import Scope


_TIMEOUT_S = 5
"""Seconds that a client waits for a hook; hybrid gives up long before (`hooks.deadline_ms`)."""

_END_TIMEOUT_S = 3
"""Seconds that a client waits for a hook at the end of a session: Codex allows no more, Claude Code 1.5 unless told."""


def _timeout_s(event: str) -> int:
    return _END_TIMEOUT_S if event == "SessionEnd" else _TIMEOUT_S


_AGENTS = "AGENTS.md"
"""The file of rules that many clients read in the root of a project."""


def _files(folder: Folder | str, user: str = "", project: str = "") -> Files:
    """Return the files of a part; an empty name for none.

    Args:
        folder: The client's folder of the user, or where it is below the home.
        user: The file below that.
        project: The file below the root of a project.
    """
    places: dict[Scope, str] = {"user": user, "project": project}
    of_user = Folder("", folder) if isinstance(folder, str) else folder
    return Files(of_user, {scope: name for scope, name in places.items() if name})


def _in_both(folder: str, name: str) -> Files:
    """Return the file of a folder that has the same name in the user's home and in the root of a project."""
    return _files(folder, name, f"{folder}/{name}")


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


# --- with hooks -------------------------------------------------------------------------------------------


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
        _CLAUDE, {"user": "settings.json", "project": ".claude/settings.json", "local": ".claude/settings.local.json"}
    ),
    events=("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd"),
    handler=_claude_handler,
    is_plain=True,
    project_remark="Copilot CLI and VS Code run the hooks of .claude/settings.json too, in folders that they trust",
    server=ServerPart(
        "claude",
        _files(Folder("CLAUDE_CONFIG_DIR", ""), ".claude.json", ".mcp.json"),
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
    files=_files(_CODEX, "hooks.json", ".codex/hooks.json"),
    events=("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop", "SessionEnd"),
    handler=partial(_line_handler, client="codex"),
    remarks=(
        "Codex runs no hook before you trust it: start codex, which asks, or type /hooks; `codex exec` does not ask",
    ),
    project_remark="the project's folder must be trusted by Codex too",
    server=ServerPart(
        "codex",
        _files(_CODEX, "config.toml", ".codex/config.toml"),
        servers.codex,
        at="mcp_servers",
        form="toml",
        remark="`codex exec` waits for a server only when its table says `required = true`",
        project_remark="Codex reads the settings of a project in trusted folders only",
    ),
    rules=RulesPart("codex", _files(_CODEX, _AGENTS, _AGENTS)),
)

_GEMINI = Folder("GEMINI_CLI_HOME", "")
_GEMINI_FILES = _files(_GEMINI, ".gemini/settings.json", ".gemini/settings.json")
GEMINI = Client(
    name="gemini",
    label="Gemini CLI",
    files=_GEMINI_FILES,
    events=("SessionStart", "BeforeAgent", "AfterTool", "PreCompress", "AfterAgent", "SessionEnd"),
    handler=partial(_line_handler, client="gemini", is_named=True, per_second=1000, windows_shell="powershell"),
    project_remark=f"{_IN_TRUSTED.format('Gemini CLI')}, and warns when they are new",
    server=ServerPart("gemini", _GEMINI_FILES, servers.plain),
    rules=RulesPart("gemini", _files(_GEMINI, ".gemini/GEMINI.md", "GEMINI.md")),
)
"""Timeouts in milliseconds; `changes` cleans its list of the project hooks that it has seen."""

_QWEN = Folder("QWEN_HOME", ".qwen")
_QWEN_FILES = _files(_QWEN, "settings.json", ".qwen/settings.json")
QWEN = Client(
    name="qwen",
    label="Qwen Code",
    files=_QWEN_FILES,
    events=("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop", "SessionEnd"),
    handler=partial(_line_handler, client="qwen", is_named=True),
    project_remark=_IN_TRUSTED.format("Qwen Code"),
    server=ServerPart("qwen", _QWEN_FILES, servers.plain),
    rules=RulesPart("qwen", _files(_QWEN, "QWEN.md", "QWEN.md")),
)

_COPILOT = Folder("COPILOT_HOME", ".copilot")
COPILOT = Client(
    name="copilot",
    label="Copilot CLI",
    files=_files(_COPILOT, "hooks/hybrid.json", ".github/hooks/hybrid.json"),
    events=("SessionStart", "UserPromptSubmit", "PostToolUse", "PreCompact", "Stop", "SessionEnd"),
    handler=_copilot_handler,
    is_grouped=False,
    base={"version": 1},
    has_own_file=True,
    project_remark=_IN_TRUSTED.format("Copilot CLI"),
    server=ServerPart("copilot", _files(_COPILOT, "mcp-config.json", ".github/mcp.json"), servers.copilot),
    rules=RulesPart("copilot", _files(_COPILOT, "copilot-instructions.md", _AGENTS)),
)
"""A hooks file of our own with flat lists; events in Claude Code's spelling.

In that spelling the input names its event, the tool has the name that other clients give it, and times are dates; in
Copilot's own spelling the name of the event is missing.
"""

_CONFIG = Folder("XDG_CONFIG_HOME", ".config")
OPENCODE = Client(
    name="opencode",
    label="OpenCode",
    # OPENCODE_CONFIG_DIR is read besides this folder, not in its place.
    files=_files(_CONFIG, "opencode/plugin/hybrid.js", ".opencode/plugin/hybrid.js"),
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
        _files(_CONFIG, "opencode/opencode.json|opencode/opencode.jsonc", "opencode.json|opencode.jsonc"),
        servers.opencode,
        at="mcp",
    ),
    rules=RulesPart("opencode", _files(_CONFIG, "opencode/AGENTS.md", _AGENTS)),
)
"""No hook settings but a code module in its plugin folder, which starts us as the others do."""


# --- without hooks ----------------------------------------------------------------------------------------


def _cline(words: Sequence[str]) -> dict[str, Any]:
    # Seconds for each answer: Cline CLI takes 3 by itself, and the first answer of all starts a worker.
    return {**servers.plain(words), "timeout": 60}


def _zed(words: Sequence[str]) -> dict[str, Any]:
    return {"source": "custom", **servers.plain(words), "env": {}}


def _droid(words: Sequence[str]) -> dict[str, Any]:
    return {**servers.stdio(words), "disabled": False}


def _goose(words: Sequence[str]) -> dict[str, Any]:
    about = "What this project knows: files, lessons, decisions, memory"
    program, *rest = words
    start = {"cmd": program, "args": rest, "timeout": 300}
    return {"enabled": True, "type": "stdio", "name": SERVER, "description": about, **start}


_CODE = Folder("", ".config/Code/User", mac="Library/Application Support/Code/User", windows="Code/User")
_GOOSE = Folder("", ".config/goose", windows="Block/goose/config")

_WITHOUT_HOOKS = (
    Client(
        name="cursor",
        label="Cursor",
        server=ServerPart("cursor", _in_both(".cursor", "mcp.json"), servers.stdio),
        rules=RulesPart(
            "cursor",
            _files("", project=".cursor/rules/hybrid.mdc"),
            head="---\ndescription: When to use the tools of hybrid\nalwaysApply: true\n---\n\n",
        ),
    ),
    Client(
        name="windsurf",
        label="Windsurf",
        server=ServerPart("windsurf", _files(".codeium/windsurf", "mcp_config.json"), servers.plain),
        rules=RulesPart("windsurf", _files(".codeium/windsurf", "memories/global_rules.md", _AGENTS)),
    ),
    Client(
        name="vscode",
        label="VS Code",
        server=ServerPart("vscode", _files(_CODE, "mcp.json", ".vscode/mcp.json"), servers.stdio, at="servers"),
        rules=RulesPart("vscode", _files("", project=_AGENTS)),
    ),
    Client(
        name="cline",
        label="Cline",
        server=ServerPart(
            "cline",
            _files(_CODE, "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"),
            servers.plain,
        ),
        rules=RulesPart("cline", _files("", project=_AGENTS)),
    ),
    Client(
        name="cline-cli",
        label="Cline CLI",
        server=ServerPart(
            "cline-cli", _files(".cline", "data/settings/cline_mcp_settings.json"), _cline, usual=("timeout",)
        ),
        rules=RulesPart("cline-cli", _files(".cline", "rules/hybrid.md", _AGENTS)),
    ),
    Client(
        name="roo",
        label="Roo Code",
        server=ServerPart(
            "roo",
            _files(_CODE, "globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json", ".roo/mcp.json"),
            servers.plain,
        ),
        rules=RulesPart("roo", _in_both(".roo", "rules/hybrid.md")),
    ),
    Client(
        name="kilo",
        label="Kilo Code",
        server=ServerPart(
            "kilo",
            _files(_CONFIG, "kilo/kilo.jsonc|kilo/kilo.json", "kilo.jsonc|kilo.json|.kilo/kilo.jsonc"),
            servers.opencode,
            at="mcp",
        ),
        rules=RulesPart("kilo", _files(_CONFIG, f"kilo/{_AGENTS}", _AGENTS)),
    ),
    Client(
        name="zed",
        label="Zed",
        server=ServerPart(
            "zed",
            _files(Folder("XDG_CONFIG_HOME", ".config", windows=""), "zed/settings.json", ".zed/settings.json"),
            _zed,
            at="context_servers",
        ),
        rules=RulesPart("zed", _files("", project=_AGENTS)),
    ),
    Client(
        name="kiro",
        label="Kiro",
        server=ServerPart("kiro", _in_both(".kiro", "settings/mcp.json"), servers.plain),
        rules=RulesPart("kiro", _in_both(".kiro", "steering/hybrid.md")),
    ),
    Client(
        name="factory",
        label="Factory Droid",
        server=ServerPart("factory", _in_both(".factory", "mcp.json"), _droid),
        rules=RulesPart("factory", _files(".factory", _AGENTS, _AGENTS)),
    ),
    Client(
        name="amp",
        label="Amp",
        server=ServerPart(
            "amp",
            _files(_CONFIG, "amp/settings.json", ".amp/settings.json"),
            servers.plain,
            at="amp.mcpServers",
            project_remark="Amp asks before it starts a server of a project",
        ),
        rules=RulesPart("amp", _files(_CONFIG, f"amp/{_AGENTS}", _AGENTS)),
    ),
    Client(
        name="goose",
        label="Goose",
        server=ServerPart(
            "goose", _files(_GOOSE, "config.yaml"), _goose, at="extensions", form="yaml", usual=("timeout",)
        ),
        rules=RulesPart("goose", _files(_GOOSE, ".goosehints", _AGENTS)),
    ),
    # Reads no MCP; it may ask for a command to be run.
    Client(
        name="aider",
        label="Aider",
        rules=RulesPart("aider", _files("", project="CONVENTIONS.md"), body=COMMANDS),
        project_remark="aider reads the file with --read CONVENTIONS.md, or `read: CONVENTIONS.md` in .aider.conf.yml",
    ),
    Client(
        name="junie",
        label="Junie",
        server=ServerPart("junie", _in_both(".junie", "mcp/mcp.json"), servers.plain),
        rules=RulesPart("junie", _files("", project=f".junie/{_AGENTS}")),
    ),
    # Reads files of servers in the form of other clients from a folder of its own.
    Client(
        name="continue",
        label="Continue",
        server=ServerPart("continue", _in_both(".continue", "mcpServers/hybrid.json"), servers.plain),
        rules=RulesPart("continue", _in_both(".continue", "rules/hybrid.md")),
        remarks=(
            "its command `cn` takes servers from ~/.continue/config.yaml alone, where you add ours: docs/clients.md",
        ),
    ),
    Client(
        name="crush",
        label="Crush",
        server=ServerPart(
            "crush", _files(_CONFIG, "crush/crush.json", "crush.json|.crush.json"), servers.stdio, at="mcp"
        ),
        rules=RulesPart("crush", _files(_CONFIG, "crush/CRUSH.md", _AGENTS)),
    ),
    Client(
        name="auggie",
        label="Auggie",
        server=ServerPart("auggie", _in_both(".augment", "settings.json"), servers.stdio),
        rules=RulesPart("auggie", _files("", project=_AGENTS)),
    ),
)
"""Clients that hybrid reaches by the entry of its MCP server and by an instruction, not by hooks.

docs/clients.md says which version of a format was read, and which clients were run.
"""

CLIENTS = {client.name: client for client in (CLAUDE, CODEX, GEMINI, QWEN, COPILOT, OPENCODE, *_WITHOUT_HOOKS)}
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
