"""Makes docs/clients.md: what each client gets, in which files, and what is known about its format."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hybrid.hooks.install.clients import CLIENTS, parts_of
from tests.docs.reference import MADE, table
from tests.docs.starting import run_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hybrid.hooks.install.parts import Part, Scope


class Known(NamedTuple):
    """What is known about a client's format.

    Attributes:
        state: What a client itself did with our files, and why it was not run.
        read: The version or the pages that were read; empty for a client of `clients.json`, which has the version.
    """

    state: str
    read: str = ""


_RUN = "run against the mock"
_LISTS = "lists the server"
_PAGES = "documented only"
_HOOKED = f"{_RUN}: gets what hooks add, calls `search` and `read`"
_TOLD = f"{_RUN}: reads the rules, calls `search` and `read`"
_ADDED = "its own `mcp add` writes our form"
_FETCHES = f"{_PAGES}: the npm package has no program, it fetches one when it is installed"
_PAGES_OF_NOVEMBER = "its pages, November 2026"

KNOWN = {
    "claude": Known(f"{_HOOKED}; {_ADDED}"),
    "codex": Known(f"{_HOOKED}; {_ADDED}"),
    "gemini": Known(f"{_HOOKED}; {_ADDED}"),
    "qwen": Known(f"{_HOOKED}; {_ADDED}"),
    "copilot": Known(f"{_HOOKED}; {_ADDED}"),
    "opencode": Known(_HOOKED),
    "cursor": Known(f"{_PAGES}: an editor, not in npm or PyPI", "pages of others, 2026"),
    "windsurf": Known(
        f"{_PAGES}: an editor, not in npm or PyPI", "its pages (rules) and those of others (server), 2026"
    ),
    "vscode": Known(f"{_PAGES}: an editor, not in npm or PyPI", _PAGES_OF_NOVEMBER),
    "cline": Known(f"{_PAGES}: runs in VS Code", "its pages and those of others, 2026"),
    "cline-cli": Known(_TOLD),
    "roo": Known(f"{_PAGES}: ran in VS Code", "its pages, 2026; the product ended in May 2026"),
    "kilo": Known(_TOLD),
    "zed": Known(f"{_PAGES}: an editor, not in npm or PyPI", "its pages, 2026"),
    "kiro": Known(f"{_PAGES}: not in npm or PyPI", _PAGES_OF_NOVEMBER),
    "factory": Known(
        f"{_TOLD}, with a model of one's own and `FACTORY_AIRGAP_ENABLED`; {_ADDED}. `droid exec` waits for the server"
        " with `--add-tools MCP:hybrid`"
    ),
    "amp": Known(
        f"{_LISTS}; {_ADDED}. Not run: without an account it opens a login, and it asks models through its own service alone",
        "0.0.1790142911",
    ),
    "goose": Known(f"{_PAGES}: npm and PyPI have other projects of that name", "its pages, 2026"),
    "aider": Known(f"{_RUN}: reads the rules, runs `hybrid search` when asked, gives its output to the model"),
    "junie": Known(_FETCHES, "its pages and those of others, 2026; package 3110.7.0"),
    "continue": Known(f"{_RUN}: `cn` reads the rules, and calls `search` and `read` with the entry below"),
    "crush": Known(_FETCHES, "0.96.1"),
    "auggie": Known(
        f"{_LISTS}; {_ADDED}. Not run: it ends at once without an account, and asks models through its own service alone",
        "0.36.0",
    ),
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

*Run against the mock* means that the real client, from npm or PyPI, worked with our files: a mock of its model's API asked
for the tools and got their results, and removal left each file as it was. `make clients` does it again. *Lists the server*
means that the client's own list names our entry; *documented only* that its format was read and no more.
"""

_BY_HAND = """\
## Continue in a terminal

Continue's editor extensions read the file above. Its command `cn` reads the rules, but servers of `~/.continue/config.yaml`
alone, a file that we do not make, for `cn` would then no longer use the settings of your account. Add by hand:

```yaml
mcpServers:
  - name: hybrid
    command: hybrid
    args: [mcp, --client, continue]
```
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
    known = [
        (client.label, KNOWN[name].read or run_version(name), KNOWN[name].state) for name, client in CLIENTS.items()
    ]
    lines += [_FORMATS, *table(("client", "version or date", "here"), known), _BY_HAND, _LEFT_OUT]
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
