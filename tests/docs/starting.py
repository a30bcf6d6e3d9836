"""Makes docs/start: a page for each client that hybrid has hooks for, from what the installer knows of it."""

from __future__ import annotations

import json
import string
from functools import partial
from typing import TYPE_CHECKING

import tomllib

from hybrid.hooks.install.clients import CLIENTS
from tests.docs.reference import MADE, TEXTS, WIDTH, said, wrapped
from tests.support.builders import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Callable

_EVENT = {"session_id": "first", "prompt": "how does the payment client retry after a timeout?"}


def pages() -> dict[str, Callable[[], str]]:
    """Return what makes each page, by its path."""
    told = tomllib.loads((TEXTS / "start.toml").read_text(encoding="utf-8"))
    return {f"docs/start/{name}.md": partial(_page, name, about) for name, about in told.items()}


def _page(name: str, told: dict[str, str]) -> str:
    """Return the page of a client; `told` is what its installer does not know."""
    client = CLIENTS[name]
    page = string.Template(said("start")).safe_substitute(
        told,
        client=name,
        label=client.label,
        user="/".join(filter(None, ("~", client.files.folder.home, client.files.places["user"]))),
        project=client.files.places["project"],
        remark=f"; {client.project_remark}" if client.project_remark else "",
        ask=f"echo '{json.dumps(_EVENT)}' | hybrid hook run --client {name} --event {told['prompt_event']}",
        version=run_version(name),
    )
    lines = [MADE.format("the installer of hooks"), ""]
    for line in page.splitlines():
        lines += wrapped(line)[:-1] if len(line) > WIDTH and not line.startswith("$ ") else [line]
    return "\n".join(lines) + "\n"


def run_version(client: str) -> str:
    """Return the version of a client that tests run."""
    told = json.loads((CHECKOUT / "tests/clients/clients.json").read_text(encoding="utf-8"))
    return str(told[client]["version"])
