"""The pages that are made from the code: each is current, and says what it should."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import pytest

from hybrid.cli.main import every_command, parser_of
from tests.docs.findings import AREAS, MODULES, told_by
from tests.docs.made import PAGES
from tests.docs.reference import actions_of, examples
from tests.support.builders import CHECKOUT

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator


@pytest.mark.parametrize("path", PAGES)
def test_a_made_page_is_current(path: str) -> None:
    """The page is what `make docs` writes for the code as it is."""
    assert PAGES[path]() == (CHECKOUT / path).read_text(encoding="utf-8"), "run `make docs`"


@pytest.mark.parametrize("name", every_command())
def test_the_page_of_commands_has_every_command(name: str) -> None:
    """Each command and each action has a heading."""
    text = (CHECKOUT / "docs/reference/commands.md").read_text(encoding="utf-8")
    wanted = [f"## hybrid {name}", *(f"### hybrid {name} {action}" for action in actions_of(parser_of(name)))]

    assert [] == [heading for heading in wanted if f"\n{heading}\n" not in text]


@pytest.mark.parametrize("name", every_command())
def test_the_examples_of_a_help_are_understood(name: str) -> None:
    """Each example that `--help` shows is a command line that its own parser takes."""
    parser = parser_of(name)
    for part in (parser, *(part for _, part in actions_of(parser).values())):
        for words in _calls_of_hybrid(part):
            args, unknown = parser_of(words[1]).parse_known_args(words[2:])

            assert ([], True) == (unknown, bool(vars(args))), words


def _calls_of_hybrid(parser: argparse.ArgumentParser) -> Iterator[list[str]]:
    for line in examples(parser):
        words = shlex.split(re.sub(r"\"?\$\(hybrid[^)]*\)\"?", "PATH", line))
        for at in [at for at, word in enumerate(words) if word == "hybrid"]:
            until = next((end for end, word in enumerate(words) if end > at and word in ("&&", "|", ">", "<")), None)
            yield [word for word in words[at:until] if word != "--help"]


def test_every_finding_of_doctor_is_told() -> None:
    """The page has a chapter for each area that a finding names; only a check that breaks has the name of its check."""
    sources = [(CHECKOUT / path).read_text(encoding="utf-8") for path in MODULES]
    found = [told for source in sources for told in told_by(source)]
    elsewhere = [
        path.name
        for path in (CHECKOUT / "hybrid").rglob("*.py")
        if path.relative_to(CHECKOUT).as_posix() not in MODULES and " Finding(" in path.read_text(encoding="utf-8")
    ]

    assert {"AREA"} == {told.area for told in found} - set(AREAS)
    assert [] == elsewhere
    assert [] == [told for told in found if not (told.what and told.remedy) and told.area != "memory"]


def test_a_finding_is_read_from_the_code() -> None:
    """Names stand for what was assigned last, a choice for its texts, and what only a run knows for its name."""
    source = """
_HELP = "hybrid mend"
def check(path, n):
    what = f"{path} and {amount(n, 'row')}"
    yield Finding("ok", "home", what)
    yield Finding("warning", "home", what, _HELP)
    what = "gone" if n else f"{path.parent} moved"
    yield Finding("problem" if n else "warning", "home", what, f"rm '{len(path)}'")
"""

    assert [
        ("home", "warning", "PATH and N rows", "hybrid mend"),
        ("home", "warning or problem", "gone / PARENT moved", "rm '…'"),
    ] == [tuple(told) for told in told_by(source)]
