"""The coding agents that hybrid reaches by the entry of its MCP server and by an instruction, not by hooks.

Each is a value; docs/clients.md says which version of its format was read, and which were run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hybrid.hooks.install import servers
from hybrid.hooks.install.client import Client
from hybrid.hooks.install.parts import Files, Folder
from hybrid.hooks.install.rules import COMMANDS, RulesPart
from hybrid.hooks.install.servers import SERVER, ServerPart

if TYPE_CHECKING:
    from collections.abc import Sequence

AGENTS = "AGENTS.md"
"""The file of rules that many clients read in the root of a project."""

_CONFIG = Folder("XDG_CONFIG_HOME", ".config")
_CODE = Folder("", ".config/Code/User", mac="Library/Application Support/Code/User", windows="Code/User")
_GOOSE = Folder("", ".config/goose", windows="Block/goose/config")


def _files(home: str, user: str, project: str) -> Files:
    """Return the files below a folder of the user's home and below the root of a project."""
    return Files(Folder("", home), {"user": user, "project": project})


def _in_both(folder: str, name: str) -> Files:
    """Return the file of a folder that has the same name in the user's home and in the root of a project."""
    return _files(folder, name, f"{folder}/{name}")


def _in_project(path: str) -> Files:
    """Return a file below the root of a project, where the user has none."""
    return Files(Folder(), {"project": path})


# --- forms of an entry ------------------------------------------------------------------------------------


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


# --- the clients ------------------------------------------------------------------------------------------


CURSOR = Client(
    name="cursor",
    label="Cursor",
    server=ServerPart("cursor", _in_both(".cursor", "mcp.json"), servers.stdio),
    rules=RulesPart(
        "cursor",
        _in_project(".cursor/rules/hybrid.mdc"),
        head="---\ndescription: When to use the tools of hybrid\nalwaysApply: true\n---\n\n",
    ),
)

WINDSURF = Client(
    name="windsurf",
    label="Windsurf",
    server=ServerPart("windsurf", Files(Folder("", ".codeium/windsurf"), {"user": "mcp_config.json"}), servers.plain),
    rules=RulesPart("windsurf", _files(".codeium/windsurf", "memories/global_rules.md", AGENTS)),
)

VSCODE = Client(
    name="vscode",
    label="VS Code",
    server=ServerPart(
        "vscode", Files(_CODE, {"user": "mcp.json", "project": ".vscode/mcp.json"}), servers.stdio, at="servers"
    ),
    rules=RulesPart("vscode", _in_project(AGENTS)),
)

CLINE = Client(
    name="cline",
    label="Cline",
    server=ServerPart(
        "cline",
        Files(_CODE, {"user": "globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"}),
        servers.plain,
    ),
    rules=RulesPart("cline", _in_project(AGENTS)),
)

CLINE_CLI = Client(
    name="cline-cli",
    label="Cline CLI",
    server=ServerPart(
        "cline-cli",
        Files(Folder("", ".cline"), {"user": "data/settings/cline_mcp_settings.json"}),
        _cline,
        usual=("timeout",),
    ),
    rules=RulesPart("cline-cli", _files(".cline", "rules/hybrid.md", AGENTS)),
)

ROO = Client(
    name="roo",
    label="Roo Code",
    server=ServerPart(
        "roo",
        Files(
            _CODE,
            {"user": "globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json", "project": ".roo/mcp.json"},
        ),
        servers.plain,
    ),
    rules=RulesPart("roo", _in_both(".roo", "rules/hybrid.md")),
)

KILO = Client(
    name="kilo",
    label="Kilo Code",
    server=ServerPart(
        "kilo",
        Files(_CONFIG, {"user": "kilo/kilo.jsonc|kilo/kilo.json", "project": "kilo.jsonc|kilo.json|.kilo/kilo.jsonc"}),
        servers.opencode,
        at="mcp",
    ),
    rules=RulesPart("kilo", Files(_CONFIG, {"user": f"kilo/{AGENTS}", "project": AGENTS})),
)

ZED = Client(
    name="zed",
    label="Zed",
    server=ServerPart(
        "zed",
        Files(
            Folder("XDG_CONFIG_HOME", ".config", windows=""),
            {"user": "zed/settings.json", "project": ".zed/settings.json"},
        ),
        _zed,
        at="context_servers",
    ),
    rules=RulesPart("zed", _in_project(AGENTS)),
)

KIRO = Client(
    name="kiro",
    label="Kiro",
    server=ServerPart("kiro", _in_both(".kiro", "settings/mcp.json"), servers.plain),
    rules=RulesPart("kiro", _in_both(".kiro", "steering/hybrid.md")),
)

FACTORY = Client(
    name="factory",
    label="Factory Droid",
    server=ServerPart("factory", _in_both(".factory", "mcp.json"), _droid),
    rules=RulesPart("factory", _files(".factory", AGENTS, AGENTS)),
)

AMP = Client(
    name="amp",
    label="Amp",
    server=ServerPart(
        "amp",
        Files(_CONFIG, {"user": "amp/settings.json", "project": ".amp/settings.json"}),
        servers.plain,
        at="amp.mcpServers",
        project_remark="Amp asks before it starts a server of a project",
    ),
    rules=RulesPart("amp", Files(_CONFIG, {"user": f"amp/{AGENTS}", "project": AGENTS})),
)

GOOSE = Client(
    name="goose",
    label="Goose",
    server=ServerPart(
        "goose", Files(_GOOSE, {"user": "config.yaml"}), _goose, at="extensions", form="yaml", usual=("timeout",)
    ),
    rules=RulesPart("goose", Files(_GOOSE, {"user": ".goosehints", "project": AGENTS})),
)

AIDER = Client(
    name="aider",
    label="Aider",
    rules=RulesPart("aider", _in_project("CONVENTIONS.md"), body=COMMANDS),
    project_remark="aider reads the file with --read CONVENTIONS.md, or `read: CONVENTIONS.md` in .aider.conf.yml",
)
"""Reads no MCP; it may ask for a command to be run."""

JUNIE = Client(
    name="junie",
    label="Junie",
    server=ServerPart("junie", _in_both(".junie", "mcp/mcp.json"), servers.plain),
    rules=RulesPart("junie", _in_project(f".junie/{AGENTS}")),
)

CONTINUE = Client(
    name="continue",
    label="Continue",
    server=ServerPart("continue", _in_both(".continue", "mcpServers/hybrid.json"), servers.plain),
    rules=RulesPart("continue", _in_both(".continue", "rules/hybrid.md")),
    remarks=("its command `cn` takes servers from ~/.continue/config.yaml alone, where you add ours: docs/clients.md",),
)
"""Reads files of servers in the form of other clients from a folder of its own."""

CRUSH = Client(
    name="crush",
    label="Crush",
    server=ServerPart(
        "crush",
        Files(_CONFIG, {"user": "crush/crush.json", "project": "crush.json|.crush.json"}),
        servers.stdio,
        at="mcp",
    ),
    rules=RulesPart("crush", Files(_CONFIG, {"user": "crush/CRUSH.md", "project": AGENTS})),
)

AUGGIE = Client(
    name="auggie",
    label="Auggie",
    server=ServerPart("auggie", _in_both(".augment", "settings.json"), servers.stdio),
    rules=RulesPart("auggie", _in_project(AGENTS)),
)

WITHOUT_HOOKS = (
    *(CURSOR, WINDSURF, VSCODE, CLINE, CLINE_CLI, ROO, KILO, ZED, KIRO, FACTORY, AMP),
    *(GOOSE, AIDER, JUNIE, CONTINUE, CRUSH, AUGGIE),
)
"""In the order in which they are shown."""
