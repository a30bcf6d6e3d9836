"""What a terminal gets besides text: colours, numbers of lines, marked words, links; and where it gets none."""

from __future__ import annotations

import io
import json
import os
import re
import sys
from typing import TYPE_CHECKING

import pytest

from hybrid.cli.colours import address, look_of, painted, spans_of_lines
from tests.support.builders import command_environment, new_shop
from tests.support.cases import Case, cases
from tests.support.terminals import Terminal

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop

_SEQUENCES = re.compile(r"\x1b\[[\d;]*m|\x1b\]8;[^\x1b]*\x1b\\")


class _Screen(io.StringIO):
    def isatty(self) -> bool:
        """Always."""
        return True


def _shown(shop: Shop, *args: str, **environ: str) -> str:
    """What a command writes to a terminal."""
    settings = {key: value for key, value in command_environment(shop.home).items() if key not in _OF_TERMINALS}
    command = [sys.executable, "-m", "hybrid", *args]
    with Terminal(command, cwd=shop.root, environ=settings | environ, columns=200) as terminal:
        return terminal.rest().replace("\r\n", "\n")


_OF_TERMINALS = ("NO_COLOR", "TMUX", "VTE_VERSION", "KITTY_WINDOW_ID", "TERM")
_SEARCH = ("search", "retry a payment request after a timeout", "--limit", "1")


def test_a_terminal_gets_numbers_marks_and_links(shop: Shop) -> None:
    """Each shown line has its number in the file, words of the query are marked, and the place is a link."""
    shown = _shown(shop, *_SEARCH)
    plain = _SEQUENCES.sub("", shown)
    numbered = dict(re.findall(r"^ +(\d+)  (.*\S)", plain, re.MULTILINE))
    lines = (shop.root / "src/payments/client.py").read_text().splitlines()

    assert {number: lines[int(number) - 1] for number in numbered} == numbered
    assert "\x1b[35mdef\x1b[0m \x1b[1;4mretry\x1b[0m(self, \x1b[1;4mrequest\x1b[0m)" in shown
    assert re.search(
        rf"\x1b\]8;;file://[^/]*{re.escape(str(shop.root))}/src/payments/client.py\x1b\\\x1b\[1;36msrc", shown
    )


@pytest.mark.parametrize(
    "environ", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}], ids=["no colour", "dumb", "no name"]
)
def test_without_colours_a_terminal_gets_what_a_pipe_gets(shop: Shop, environ: dict[str, str]) -> None:
    """Not one byte differs."""
    assert shop.out(*_SEARCH) == _shown(shop, *_SEARCH, **environ)


def test_json_is_the_same_on_a_terminal(shop: Shop) -> None:
    """Programs may run it in a terminal."""
    assert shop.out(*_SEARCH, "--json") == _shown(shop, *_SEARCH, "--json")


@pytest.mark.parametrize(
    "args", [(*_SEARCH, "-v"), (*_SEARCH, "--explain"), (*_SEARCH, "--quiet"), ("search", "zzzz", "-n1")]
)
def test_the_text_is_that_of_a_pipe(shop: Shop, args: tuple[str, ...]) -> None:
    """Without sequences and numbers nothing is added and nothing lost."""
    plain = re.sub(r"(?m)^ +\d+(?:  |$)", "      ", _SEQUENCES.sub("", _shown(shop, *args)))

    assert [line.strip() for line in shop.run(*args).stdout.decode().splitlines()] == [
        line.strip() for line in re.sub(r"(?m)^ {6}(\[)", r" 1  \1", plain).splitlines()
    ]


def test_events_link_to_what_was_given(tmp_path: Path) -> None:
    """`log` and `explain` link places in this tree, in the form of the setting."""
    shop = new_shop(tmp_path)
    shop.hook("How does the payment client retry a request after a timeout?")
    form = {"HYBRID_TERMINAL_LINKS": "vscode://file{path}:{line}"}
    link = f"\x1b]8;;vscode://file{shop.root}/src/payments/client.py:"

    assert link in _shown(shop, "log", **form)
    assert link in _shown(shop, "explain", **form)
    assert "\x1b]8" not in _shown(shop, "log", HYBRID_TERMINAL_LINKS="off")
    assert "\x1b" not in shop.out("log", **form)


@cases("render/links.txt")
def test_links_go_where_the_terminal_takes_them(case: Case) -> None:
    """`auto` looks at what the terminal says of itself; a form of the user's own is taken at its word."""
    links, _, environ = case.text.partition(" ")
    look = look_of(_Screen(), links, {"TERM": "xterm-256color"} | json.loads(environ))

    assert case.expected == look


def test_an_address_holds_nothing_that_a_terminal_obeys() -> None:
    """Bytes of a path are escaped, and a form loses what would end the sequence."""
    assert "x:/a%20b/%1B%5D8%3B%3B/%FF.py:7" == address(
        "x:{path}:{line}\x1b\\"[:-1], f"/a b/\x1b]8;;/{os.fsdecode(bytes([255]))}.py", 7
    )


def test_painted_text_shows_marks() -> None:
    """Styles join where parts meet, and controls are shown as marks within them."""
    assert "\x1b[35ma\\x1b[2J\x1b[0m\x1b[35;1;4mb\x1b[0mc" == painted("a\x1b[2Jbc", [(0, 6, "keyword")], [(5, 6)])


def test_syntax_is_known_line_by_line() -> None:
    """A string over several lines has a part in each; a language that nobody knows has none."""
    text = "def f():\n    '''One\n    two'''\n\n    return 1  # three"

    assert [
        [(0, 3, "keyword")],
        [(4, 10, "string")],
        [(0, 10, "string")],
        [],
        [(4, 10, "keyword"), (11, 12, "number"), (14, 21, "comment")],
    ] == [
        [span for span in line if text.split("\n")[at][span[0] : span[1]].strip()]
        for at, line in enumerate(spans_of_lines(text, "python"))
    ]
    assert [[], []] == spans_of_lines("a\nb", "kdl")


def test_a_link_form_without_a_path_is_a_mistake(shop: Shop) -> None:
    """`hybrid config set` refuses it and says what it takes."""
    assert "must be auto, off, or an address with {path} in it" in shop.error(
        "config", "set", "terminal.links", "vscode"
    )
