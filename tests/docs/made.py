"""Writes the pages and pictures that are made from something else; `make docs` runs it, and a test holds each page current.

Of some files only a part is made: the lines between `made: …` and `made: end`.

python -m tests.docs.made
"""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING

from tests.docs import clients, drawings, findings, mcp_reference, reference, settings, starting
from tests.support.builders import CHECKOUT

if TYPE_CHECKING:
    from collections.abc import Callable


def _with_part(path: str, make: Callable[[], list[str]]) -> str:
    """Return the text of a file with its part made anew."""
    before, begin, rest = re.split(
        r"(^.*\bmade: .*\n)", (CHECKOUT / path).read_text(encoding="utf-8"), maxsplit=1, flags=re.MULTILINE
    )
    _, end, after = re.split(r"(^.*\bmade: end.*\n)", rest, maxsplit=1, flags=re.MULTILINE)
    return "".join([before, begin, *(f"{line}\n" for line in make()), end, after])


PAGES: dict[str, Callable[[], str]] = {
    "docs/clients.md": clients.clients_page,
    "docs/configuration.md": lambda: settings.page_of((CHECKOUT / "config.toml").read_text(encoding="utf-8")),
    "docs/reference/commands.md": reference.commands_page,
    "docs/reference/hook-answers.md": reference.answers_page,
    "docs/reference/http.md": reference.http_page,
    "docs/reference/mcp.md": mcp_reference.page,
    "docs/troubleshooting.md": findings.page,
    **starting.pages(),
    **drawings.pages(),
    **{path: partial(_with_part, path, make) for path, make in clients.PARTS.items()},
}
"""Path of a page → what makes its text."""


def main() -> None:
    """Write every page."""
    for path, make in PAGES.items():
        (CHECKOUT / path).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main()
