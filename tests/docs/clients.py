"""Makes docs/clients.md: what each client gets, in which files, and what is known about its format."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hybrid.hooks.install.clients import CLIENTS, parts_of
from tests.docs.reference import MADE, table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hybrid.hooks.install.parts import Part, Scope


class Known(NamedTuple):
    """What is known about a client's format: what was read, and what a client itself did with our files."""

    read: str
    state: str


_RUN = "run: a mock of its model gets what our hooks add, and calls `search` and `read`"
_LISTED = "its own `mcp list` names our entry"
_CONNECTED = "its own `mcp list` says that our server is connected"
_ADDED = "its own `mcp add` writes that form"
_PAGES = "documented only"
_PAGES_OF_NOVEMBER = "its pages, November 2026"

KNOWN = {
    "claude": Known("2.1.330", f"{_RUN}; {_ADDED}"),
    "codex": Known("0.169.0", f"{_RUN}; {_ADDED}"),
    "gemini": Known("0.61.0", f"{_RUN}; {_ADDED}"),
    "qwen": Known("0.24.4", f"{_RUN}; {_ADDED}"),
    "copilot": Known("1.0.102", f"{_RUN}; {_ADDED}"),
    "opencode": Known("1.18.33", _RUN),
    "cursor": Known("pages of others, 2026", _PAGES),
    "windsurf": Known("its pages (rules) and those of others (server), 2026", _PAGES),
    "vscode": Known(_PAGES_OF_NOVEMBER, _PAGES),
    "cline": Known("its pages and those of others, 2026", _PAGES),
    "cline-cli": Known("3.0.65", _PAGES),
    "roo": Known("its pages, 2026; the product ended in May 2026", _PAGES),
    "kilo": Known("7.7.9", _CONNECTED),
    "zed": Known("its pages, 2026", _PAGES),
    "kiro": Known(_PAGES_OF_NOVEMBER, _PAGES),
    "factory": Known("0.225.2", f"{_CONNECTED}, {_ADDED}"),
    "amp": Known("0.0.1790142911", f"{_LISTED}, {_ADDED}"),
    "goose": Known("its pages, 2026", _PAGES),
    "aider": Known("0.86.2", _PAGES),
    "junie": Known("its pages and those of others, 2026", _PAGES),
    "continue": Known("its pages, 2026", _PAGES),
    "crush": Known("0.96.1", _PAGES),
    "auggie": Known("0.36.0", f"{_LISTED}, {_ADDED}"),
}

_HEAD = """\
# Clients

`hybrid hook install --client NAME` connects a client, `hybrid hook status` lists what is where, and `hybrid hook uninstall`
takes it out again, by the byte. There are three parts:

- *Hooks* give what fits each prompt, or nothing, unasked. [What an agent gets](agents.md#what-an-agent-gets)
- *MCP* is an entry that starts the server `hybrid mcp`, whose tools search, read, remember and decide.
- *Rules* is a short instruction that tells the agent when to use those tools. It stands between `<!-- hybrid:begin NAMES -->`
  and `<!-- hybrid:end -->`; several clients that read one AGENTS.md share it, and it goes with the last of them.

A client with hooks gets the hooks; `--mcp` adds the entry, `--rules` the instruction. A client without hooks gets entry
and instruction always; `--no-rules` leaves the instruction out. `hybrid hook uninstall --mcp` takes out these two alone.

`--scope user` (the default) writes your own files with the path of this installation. `--scope project` writes files of
the project, with `hybrid` from the PATH: colleagues without it see a server that does not start. `--dry-run` shows the
change first. Comments, line ends and the entries of others stay; a server `hybrid` that is not ours is refused.
"""

_FILES = """\
## Files

The first path is yours, the second the project's; `–` means that the client has no such file. On macOS and Windows the
folder of VS Code is `~/Library/Application Support/Code/User` and `%APPDATA%\\Code\\User`, that of Zed on Windows
`%APPDATA%\\Zed`, that of Goose on Windows `%APPDATA%\\Block\\goose\\config`.
"""

_FORMATS = """\
## What the formats were read from

*Run* means that the real client was run here; *documented only* that its format was read and no more.
"""

_LEFT_OUT = """\
## Left out

Warp and Trae keep their servers where no page names a file, so there is nothing to write safely. A client that reads MCP
and is not in the table takes the entry by hand: the command is `hybrid`, its arguments are `mcp --client NAME`.
"""


def clients_page() -> str:
    """Return the page."""
    lines = [MADE.format("the installer"), "", _HEAD]
    lines += table(("client", "`--client`", "hooks", "MCP", "rules"), [_gets(name) for name in CLIENTS])
    lines += [_FILES, *table(("client", "part", "user", "project"), list(_files()))]
    known = [(CLIENTS[name].label, KNOWN[name].read, KNOWN[name].state) for name in CLIENTS]
    lines += [_FORMATS, *table(("client", "version or date", "here"), known), _LEFT_OUT]
    return "\n".join(lines).rstrip("\n") + "\n"


def _gets(name: str) -> tuple[str, ...]:
    """Return the row of what a client gets."""
    client = CLIENTS[name]
    mcp = "no" if client.server is None else "with `--mcp`" if client.events else "yes"
    return (
        client.label,
        f"`{name}`",
        "yes" if client.events else "no",
        mcp,
        "with `--rules`" if client.events else "yes",
    )


def _files() -> Iterator[tuple[str, ...]]:
    """Yield the rows of files."""
    for client in CLIENTS.values():
        for part in parts_of(client):
            kind = {"hooks": "hooks", "mcp": "MCP", "rules": "rules"}[part.kind]
            yield client.label, kind, _place(part, "user"), _place(part, "project")


def _place(part: Part, scope: Scope) -> str:
    """Return the file of a scope as a person would write it, with other names that are read if they are there."""
    named = part.files.places.get(scope, "")
    folder = ["~", part.files.folder.home] if scope == "user" else []
    paths = ["/".join(filter(None, (*folder, name))) for name in named.split("|") if name]
    return " or ".join(f"`{path}`" for path in paths) or "–"
