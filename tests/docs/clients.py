"""Makes docs/clients.md: what each client gets, in which files, and what is known about its format."""

from __future__ import annotations

from typing import TYPE_CHECKING

import tomllib

from hybrid.hooks.install.clients import CLIENTS, parts_of
from tests.docs.reference import MADE, TEXTS, said, table
from tests.docs.starting import run_version

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hybrid.hooks.install.parts import Part
    from hybrid.project.installs import Scope


def clients_page() -> str:
    """Return the page."""
    states = tomllib.loads((TEXTS / "clients.toml").read_text(encoding="utf-8"))
    known = [
        (client.label, states[name].get("read") or run_version(name), states[name]["state"])
        for name, client in CLIENTS.items()
    ]
    text = said(
        "clients",
        gets=table(("client", "`--client`", "hooks", "MCP", "rules"), [_gets(name) for name in CLIENTS]),
        files=table(("client", "part", "user", "project"), list(_files())),
        known=table(("client", "version or date", "here"), known),
    )
    return f"{MADE.format('the installer')}\n\n{text}"


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
