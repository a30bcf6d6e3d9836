"""Makes docs/clients.md: what each client gets, in which files, and what is known about its format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.base.clients import clients
from hybrid.hooks.install.merge import parts_of
from tests.docs.reference import MADE, said, table
from tests.docs.starting import version_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hybrid.base.clients import Scope
    from hybrid.hooks.install.parts import Part


def clients_page() -> str:
    """Return the page."""
    known = [(each.label, version_of(each), each.page.state) for each in clients().values() if each.page]
    text = said(
        "clients",
        gets=table(("client", "`--client`", "hooks", "MCP", "rules"), [_gets(name) for name in clients()]),
        files=table(("client", "part", "user", "project"), list(_files())),
        folders=table(("client", "folder", "macOS", "Windows", "variable"), list(_folders())),
        tools=table(
            ("client", "event that takes a text", "a failed command comes in", "subagents are named"), list(_tools())
        ),
        known=table(("client", "version or date", "here"), known),
    )
    return f"{MADE.format('the installer')}\n\n{text}"


def _gets(name: str) -> tuple[str, ...]:
    """Return the row of what a client gets."""
    client = clients()[name]
    mcp = "no" if client.mcp is None else "with `--mcp`" if client.events else "yes"
    return (
        client.label,
        f"`{name}`",
        "yes" if client.events else "no",
        mcp,
        "with `--rules`" if client.events else "yes",
    )


def _files() -> Iterator[tuple[str, ...]]:
    """Yield the rows of files."""
    for client in clients().values():
        for part in parts_of(client):
            kind = {"hooks": "hooks", "mcp": "MCP", "rules": "rules"}[part.kind]
            local = _place(part, "local")
            own = "" if local == "–" else f"; `--scope local`: {local}"
            yield client.label, kind, _place(part, "user"), _place(part, "project") + own


def _folders() -> Iterator[tuple[str, ...]]:
    """Yield the rows of folders that are not the same everywhere."""
    for client in clients().values():
        parts = (client.hooks, client.mcp, client.rules)
        for folder in dict.fromkeys(part.folder or client.folder for part in parts if part and "user" in part.files):
            home = f"~/{folder.home}".rstrip("/")
            mac = f"~/{folder.mac}" if folder.mac is not None else home
            windows = home if folder.windows is None else f"%APPDATA%/{folder.windows}".rstrip("/").replace("/", "\\")
            if folder.variable or {mac, windows} != {home}:
                variable = f"`{folder.variable}`" if folder.variable else ""
                yield client.label, f"`{home}`", f"`{mac}`", f"`{windows}`", variable


def _tools() -> Iterator[tuple[str, ...]]:
    """Yield the rows of the hooks at the use of a tool."""
    for client in clients().values():
        if (at_tool := client.at_tool).takes:
            takes = ", ".join(f"`{name}`" for name in at_tool.takes)
            failed = f"`{at_tool.failed}`" if at_tool.failed else "–"
            yield client.label, takes, failed, "yes" if at_tool.names_agent else "no"


def _place(part: Part, scope: Scope) -> str:
    """Return the file of a scope as a person would write it, with other names that are read if they are there."""
    folder = ["~", part.files.folder.home] if scope == "user" else []
    paths = ["/".join(filter(None, (*folder, name))) for name in part.files.places.get(scope, ())]
    return " or ".join(f"`{path}`" for path in paths) or "–"


# --- parts of other files ------------------------------------------------------------------------------------


def words() -> list[str]:
    """Return the words of clients that the process of a hook needs."""
    events = {
        word.lower(): event for each in clients().values() for word, event in (each.events | each.other_events).items()
    }
    return [
        "EVENTS = {",
        *(f'    "{word}": "{event}",' for word, event in sorted(events.items())),
        "}",
        '"""A client\'s word for an event, in lower case → ours. An answer to an event that takes none is shown as an error, or',
        'reaches the agent as text that nobody meant for it."""',
        "",
        *_tuple("MARKS", {each.mark for each in clients().values()}),
        '"""Variables that tell which client runs the hook, whoever\'s settings it stands in."""',
    ]


def passed_on() -> list[str]:
    """Return the variables that the relay of MCP passes on."""
    return [
        *_tuple("_PASSED_ON", {each.session for each in clients().values()}),
        '"""Variables that the web process gets of the client, beside those of our own settings: they name its session."""',
    ]


def _tuple(name: str, variables: set[str]) -> list[str]:
    """Return the lines of a tuple of variables, with the one that names a folder of lore."""
    return [f"{name} = (", *(f'    "{each}",' for each in sorted({*variables, "LORE_DATA_DIR"} - {""})), ")"]


def _pages() -> list[str]:
    """Return the rows of the table of pages."""
    rows = [(each.label, f"[{name}]({name}.md)") for name, each in clients().items() if each.events]
    return table(("client", "page"), [*rows, ("another one", "[agents](../agents.md), [tools over MCP](../mcp.md)")])[
        :-1
    ]


def _links() -> list[str]:
    """Return the links to the pages as a list within a list."""
    return [f"  - [{each.label}](start/{name}.md)" for name, each in clients().items() if each.events]


PARTS = {
    "docs/README.md": _links,
    "docs/start/README.md": _pages,
    "hybrid/hooks/service.py": words,
    "hybrid/mcp_server/relay.py": passed_on,
}
"""Path of a file → what makes its part."""
