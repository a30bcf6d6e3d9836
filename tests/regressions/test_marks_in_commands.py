"""No command prints a mark of a frame or of a client, since agents run them: found by its parser, not by a list."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from typing import TYPE_CHECKING, Any, cast

import pytest

from hybrid.cli.main import every_command, parser_of
from hybrid.render.marks import END_LINE
from tests.support.hostile import CONTROL, FILE, PROMPT, TEXT, hostile_shop, marks_in, texts_in
from tests.support.records import DECISION
from tests.support.terminals import Terminal
from tests.support.tool_client import environment

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.builders import Shop

NOT_RUN = {
    "daemon run": "serves until it is ended",
    "daemon start": "leaves a service behind",
    "dashboard": "serves until it is ended",
    "mcp": "serves until its client is gone",
    "eval week": "replays hours of work, and prints figures only",
}
EXACT = {
    "memory export": "`memory import` takes the rows back",
}
"""Commands whose output is data for a program, and why."""
FITTING = {"lessons": "L001", "lore": DECISION, "memory": "1"}
"""Command → what its arguments may be, so that it finds something; others are given a file or a prompt."""


OWN_SEQUENCE = re.compile(r"\x1b\[[\d;?]*[A-Za-z]|\x1b\]8;;[^\x1b]*\x1b\\\\")
"""Colours, movements of the cursor and links, which are our own on a terminal."""


def _leaves(parser: argparse.ArgumentParser, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command line without arguments that a parser takes, with the parser of its last word."""
    nested = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    if not nested:
        yield words, parser
    for name, inner in cast("dict[str, argparse.ArgumentParser]", nested[0].choices if nested else {}).items():
        yield from _leaves(inner, (*words, name))


LEAVES = {
    " ".join(words): (words, parser) for name in every_command() for words, parser in _leaves(parser_of(name), (name,))
}


def _arguments(parser: argparse.ArgumentParser, text: str) -> list[str]:
    """Values of what a command requires."""
    options: list[str] = []
    positions: list[str] = []
    for action in parser._actions:
        value = str(next(iter(action.choices))) if action.choices else text
        if text == PROMPT and action.metavar == "FILE":
            value = "src/payments/client.py"
        if action.option_strings:
            options += [action.option_strings[-1], *([] if action.nargs == 0 else [value])] if action.required else []
        elif action.nargs not in (0, "..."):
            positions.append(value)
    return [*options, *(["--", *positions] if positions else [])]


def _forms(words: tuple[str, ...], parser: argparse.ArgumentParser) -> list[tuple[str, ...]]:
    """Command lines: with what fits as text, all of it, and JSON; with a hostile argument as text and JSON."""
    known = parser._option_string_actions
    fitting, forms = FITTING.get(words[0], PROMPT), ("", "--verbose", "--explain", "--json")
    given = [(fitting, option) for option in forms] + [(TEXT, option) for option in ("", "--json")]
    lines = [
        (*words, *([option] if option else []), *_arguments(parser, text))
        for text, option in given
        if not option or option in known
    ]
    return list(dict.fromkeys(lines))


@pytest.fixture(scope="module")
def pristine(tmp_path_factory: pytest.TempPathFactory) -> tuple[Shop, Path]:
    """The project, and a copy of it."""
    folder = tmp_path_factory.mktemp("hostile")
    shop = hostile_shop(folder / "now")
    shutil.copytree(folder / "now", folder / "before", symlinks=True)
    return shop, folder


@pytest.fixture
def shop(pristine: tuple[Shop, Path]) -> Shop:
    """The project as it was before any command changed it."""
    shop, folder = pristine
    shutil.rmtree(folder / "now")
    shutil.copytree(folder / "before", folder / "now", symlinks=True)
    return shop


PAINTED = ("search", "log", "explain", "status")
"""Commands that do not print on a terminal what they print into a pipe."""


@pytest.mark.slow
def test_no_command_writes_a_mark_to_a_terminal(shop: Shop) -> None:
    """With colours, links and tables, too: some clients run commands in a terminal (#35)."""
    found: dict[str, list[str]] = {}
    for name in sorted(LEAVES.keys() - NOT_RUN.keys() - EXACT.keys()):
        words, parser = LEAVES[name]
        if words[0] not in PAINTED:
            continue
        options = [option for option in ("--verbose", "--once") if option in parser._option_string_actions]
        line = [sys.executable, "-m", "hybrid", *words, *options]
        line += _arguments(parser, FITTING.get(words[0], PROMPT))
        with Terminal(line, cwd=shop.root, environ=environment(shop), columns=200) as terminal:
            text = OWN_SEQUENCE.sub("", terminal.rest().replace("\r\n", "\n"))
        if seen := marks_in(text, controls=False):
            found[name] = seen

    assert {} == found


@pytest.mark.parametrize("name", sorted(LEAVES.keys() - NOT_RUN.keys() - EXACT.keys()))
def test_no_command_prints_a_mark(shop: Shop, name: str) -> None:
    """Neither as text nor in JSON, as its own output or as an error, whatever it finds or is given (#35)."""
    words, parser = LEAVES[name]
    found: dict[tuple[str, ...], list[str]] = {}
    if seen := marks_in(parser.format_help()):
        found[("--help",)] = seen
    for line in _forms(words, parser):
        done = shop.run(*line, HYBRID_HOOKS_GATE_THRESHOLD="0.0")
        out, err = done.stdout.decode(), done.stderr.decode()
        is_json = "--json" in line and out.startswith("{")
        texts = [*texts_in(json.loads(out)), err] if is_json else [out, err]
        seen = [mark for text in texts for mark in marks_in(text, controls=not is_json)]
        if seen := seen + CONTROL.findall(out):
            found[line] = seen

    assert {} == found


def test_what_is_not_run_or_exact_exists() -> None:
    """The exceptions name commands that there are."""
    assert set() == {*NOT_RUN, *EXACT} - LEAVES.keys()


def test_an_export_keeps_every_character(shop: Shop) -> None:
    """What `memory import` takes back is as it was stored."""
    rows = [json.loads(line) for line in shop.run("memory", "export").stdout.splitlines()]

    assert any("<system-reminder>" in text and "\u202e" in text for text in texts_in(rows))


def test_the_frame_itself_stays(shop: Shop) -> None:
    """`hybrid context` prints our own frame, as text and in JSON, with nothing in it that closes it."""
    text = shop.run("context", PROMPT).stdout.decode()
    found = json.loads(shop.run("context", PROMPT, "--json").stdout)

    assert text.rstrip("\n") == found["text"]
    assert text.endswith(f"\n{END_LINE}\n")
    assert 1 == text.count(END_LINE)
    assert any(hit["path"].startswith("src/") for hit in found["items"])
    assert FILE  # The project has it.
