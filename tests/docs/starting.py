"""Makes docs/start: a page for each client that hybrid has hooks for, from what the installer knows of it."""

from __future__ import annotations

import json
import string
from functools import partial
from typing import TYPE_CHECKING

from hybrid.base.clients import clients
from hybrid.hooks.install.merge import hooks_of
from tests.docs.reference import MADE, WIDTH, said, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable

    from hybrid.base.clients import Client

_EVENT = {"session_id": "first", "prompt": "how does the payment client retry after a timeout?"}


def pages() -> dict[str, Callable[[], str]]:
    """Return what makes each page, by its path."""
    return {f"docs/start/{name}.md": partial(_page, client) for name, client in clients().items() if client.events}


def _page(client: Client) -> str:
    """Return the page of a client."""
    name, about, files = client.name, client.page, hooks_of(client.name).files
    assert about is not None
    prompt = next(word for word, event in client.events.items() if event == "UserPromptSubmit")
    page = string.Template(said("start")).safe_substitute(
        client=name,
        label=client.label,
        first=about.first,
        shows=about.shows,
        user="/".join(filter(None, ("~", files.folder.home, files.places["user"][0]))),
        project=files.places["project"][0],
        remark=f"; {client.project_remark}" if client.project_remark else "",
        ask=f"echo '{json.dumps(_EVENT)}' | hybrid hook run --client {name} --event {prompt}",
        version=version_of(client),
    )
    lines = [MADE.format("the installer of hooks"), ""]
    for line in page.splitlines():
        lines += wrapped(line)[:-1] if len(line) > WIDTH and not line.startswith("$ ") else [line]
    return "\n".join(lines) + "\n"


def version_of(client: Client) -> str:
    """Return the version of a client that tests run, else what was read of it."""
    return client.package.version if client.package else client.page.read if client.page else ""
