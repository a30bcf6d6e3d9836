"""Finds the pages of the documentation and takes their blocks of code apart; the tests of this folder run them.

A block is run by what its first line names:

- `console`: each line that begins with `$ ` is a command, what follows is its output, where `...` stands for anything.
- `sh`: the lines are one script, which must end with code 0.
- `python`: the lines are one program, which must end with code 0.

`<!-- not run: REASON -->` on the line above a block says why it cannot be run by a test.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support.builders import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

LANGUAGES = ("console", "sh", "python")
_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NOT_RUN = re.compile(r"<!-- not run: (\S.*?) -->\n\Z")


@dataclass(frozen=True)
class Block:
    """A block of code of a page: its language, its text, its first line, and why it is not run (empty: it is run)."""

    language: str
    text: str
    line: int
    reason: str


@dataclass(frozen=True)
class Example:
    """A command and the output that the page shows; None where the page shows none and only the exit code counts."""

    command: str
    output: str | None
    line: int


def pages() -> list[Path]:
    """Every page: at the top of the checkout, in `docs/`, and in the folders that have a README."""
    tops = sorted(CHECKOUT.glob("*.md"))
    return [*tops, *sorted((CHECKOUT / "docs").rglob("*.md")), *sorted(CHECKOUT.glob("[!.]*/README.md"))]


def guides() -> list[Path]:
    """The pages that describe the present tree: every page and nested README but the changelog and the decisions.

    Those two tell what was, and keep the names of their time.
    """
    nested = [path for top in ("hybrid", "lab", "models", "tests") for path in (CHECKOUT / top).rglob("README.md")]
    found = {*pages(), *nested} - {CHECKOUT / "CHANGELOG.md"}
    of_others = (CHECKOUT / "docs" / "decisions", CHECKOUT / "tests" / "fixtures")
    return sorted(page for page in found if not any(page.is_relative_to(folder) for folder in of_others))


def name_of(page: Path) -> str:
    """The path of a page below the checkout; ids of tests are made of it."""
    return page.relative_to(CHECKOUT).as_posix()


def blocks_of(text: str) -> list[Block]:
    """The blocks of a page in the languages that are run, in order."""
    blocks: list[Block] = []
    for match in _FENCE.finditer(text):
        language, body = match.groups()
        if language in LANGUAGES:
            reason = _NOT_RUN.search(text[: match.start()])
            line = text.count("\n", 0, match.start()) + 1
            blocks.append(Block(language, body, line, reason.group(1) if reason else ""))
    return blocks


def examples_of(block: Block, python: str) -> list[Example]:
    """The commands of a block, in order; `python` is the interpreter for a program."""
    if block.language == "sh":
        return [Example("set -eu\n" + block.text, None, block.line)]
    if block.language == "python":
        return [Example(f"{python} - <<'END_OF_PROGRAM'\n{block.text}END_OF_PROGRAM", None, block.line)]
    parts = re.split(r"^\$ ", block.text, flags=re.MULTILINE)[1:]
    return [Example(*part.partition("\n")[::2], line=block.line) for part in parts]


def pattern_of(output: str) -> re.Pattern[str]:
    """Expected output as a pattern: `...` stands for anything."""
    return re.compile(".*".join(re.escape(part) for part in output.rstrip("\n").split("...")) + r"\s*\Z", re.DOTALL)
