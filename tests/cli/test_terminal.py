"""What a terminal obeys never reaches it raw, whatever file names, contents, records and arguments hold."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from hybrid.cli.evaluate import print_table
from hybrid.render.visible import json_escaped, visible, visible_line
from tests.support.builders import PAYMENTS, Shop, command_environment, git_project
from tests.support.cases import Case, cases
from tests.support.memories import shop_owner

if TYPE_CHECKING:
    from pathlib import Path

EVIL = "\x1b[2J\x1b]0;owned\x07\x1b[31m\r\x9b1m\x08\u202eevil\u2066\u200b\ufeff\U000e0041"
EXCLUDED = "\x1b[2J\u202e\x9b"
NAME = "a\x1b[2J\x1b]0;t\x07\u202e\x9b.py"
LINE = "b\nforged.py"
RAW = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]"
)
OWN = re.compile(r"\x1b\[(?:[0-9];?|3[0-9];?)+m|\x1b\]8;;(?:file://[\w.-]+/[\w./%~-]*)?\x1b\\")
"""Bold, dim, colours and their end; links to files, whose addresses hold nothing that a terminal obeys."""

COMMANDS = [
    ("search", "payment", "retry", "-n", "20", "-v"),
    ("projects", "forget", EVIL),
    ("models", "show", EVIL),
    ("dashboard", "--port", EVIL),
    ("completions", EVIL),
    ("pause", "--session", EVIL),
    ("init", EVIL),
    (EVIL,),
    ("search", "--limit", EVIL, "x"),
    ("search", "x", "--" + EVIL),
    ("search", "x", "--debug", "--project", EVIL),
]
"""`tests/regressions/test_marks_in_commands.py` runs every command; these are given what its words cannot be."""
PAINTED = [
    ("search", "payment", "retry", "-n", "20", "-v"),
    ("search", "payment", "--explain", "--kind", "lessons"),
    ("context", "How does the payment client retry?", "--explain"),
    ("log", "--plot", "--all"),
    ("explain",),
    ("status", "--table"),
    ("eval", "retrieval", EVIL),
]
"""Commands that write colours, links and tables to a terminal."""


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A project whose folder, file names, contents, settings, lessons, lore, memory and log hold what terminals obey."""
    folder = tmp_path_factory.mktemp("hostile")
    files = PAYMENTS | {
        f"src/{NAME}": f"# payment retry {EVIL}\ndef retry_payment():\n    '''Retry the payment. {EVIL}'''\n",
        f"src/{LINE}": "def payment_again():\n    '''Retry the payment again.'''\n",
        ".hybrid/config.toml": f"[index]\nexclude = [{json.dumps(EXCLUDED)}]\n",
    }
    shop = Shop(git_project(folder / f"shop {EVIL}", files), folder / "hybrid-home")
    (shop.root / "src" / os.fsdecode(b"not-utf8-\xff.py")).write_text("def payment_third():\n    return 'retry'\n")
    shop.run("reindex", "--quiet")
    shop.run("lessons", "add", f"Payment retry {EVIL}", f"Retry the payment {EVIL}")
    shop.run("lore", "decide", f"Payment retry {EVIL}", "--why", EVIL)
    shop.run("lore", "handoff", f"Payment retry {EVIL}")
    shop.run("memory", "add", f"Payment retry {EVIL}", "--text", EVIL)
    for session in ("s1", EVIL):
        shop.hook("How does the payment client retry a request after a timeout?", session=session)
    shop.hook(f"How does retry_payment work? {EVIL}", "--client", EVIL)
    assert shop_owner(shop)
    return shop


def _in_terminal(shop: Shop, *args: str) -> tuple[str, str]:
    """Standard output that is a terminal, and standard error, of one command."""
    pty = pytest.importorskip("pty")
    termios = pytest.importorskip("termios")
    ours, theirs = pty.openpty()
    modes = termios.tcgetattr(theirs)
    modes[1] &= ~termios.OPOST
    termios.tcsetattr(theirs, termios.TCSANOW, modes)
    environ = command_environment(shop.home) | {"HOME": str(shop.home / "user"), "TERM": "xterm-256color"}
    with subprocess.Popen(
        [sys.executable, "-m", "hybrid", *args],
        cwd=shop.root,
        env=environ,
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.PIPE,
    ) as process:
        os.close(theirs)
        shown = _all_of(ours)
        assert process.stderr is not None
        return shown, process.stderr.read().decode()


def _all_of(descriptor: int) -> str:
    """What comes out of a terminal until its other end is closed."""
    parts: list[bytes] = []
    while True:
        try:
            part = os.read(descriptor, 65536)
        except OSError:  # The other end is closed.
            break
        if not part:
            break
        parts.append(part)
    os.close(descriptor)
    return b"".join(parts).decode()


def test_no_command_prints_what_a_terminal_obeys(hostile: Shop) -> None:
    """In a pipe, standard output and standard error hold no control but tab and line end, and nothing invisible."""
    for command in COMMANDS:
        done = hostile.run(*command)
        shown = done.stdout.decode() + done.stderr.decode()

        assert None is RAW.search(shown), command
        assert shown
        assert "Traceback" not in shown or "--debug" in command


@pytest.mark.slow
def test_no_command_writes_what_a_terminal_obeys_to_a_terminal(hostile: Shop) -> None:
    """On a terminal the only escapes are our own: colours and links, and their ends."""
    raw = {}
    for command in PAINTED:
        out, err = _in_terminal(hostile, *command)
        if found := RAW.search(OWN.sub("", out) + err):
            raw[command] = found

    assert {} == raw


def test_search_shows_marks_and_json_the_name_as_it_is(hostile: Shop) -> None:
    """A hostile file name is readable, on one line, and whole in JSON; bytes that are not UTF-8 are lone surrogates."""
    lines = hostile.run("search", "payment", "-n", "20", "-q").stdout.decode().splitlines()
    found = hostile.json("search", "payment", "-n", "20")["hits"]

    assert any(r"src/a\x1b[2J\x1b]0;t\x07\u202e\x9b.py:1-" in line for line in lines)
    assert any(r"src/b\x0aforged.py:1-" in line for line in lines)
    assert {f"src/{NAME}", f"src/{LINE}", "src/not-utf8-\udcff.py"} <= {hit["path"] for hit in found}


def test_a_name_begins_no_line(tmp_path: Path) -> None:
    """A folder or a record whose name holds a line end forges no line of a list, nor does a tab forge a column (#16)."""
    files = PAYMENTS | {".hybrid/lore/transfer/data/sessions/a\nforged: 9 lessons.json": "{}"}
    shop = Shop(git_project(tmp_path / "shop\nforged\tname", files), tmp_path / "home")
    shop.run("reindex", "--quiet")
    shown = {
        command: shop.run(command).stdout.decode().splitlines()
        for command in ("projects", "project", "trust", "pause", "resume")
    }

    assert {"projects": 1, "project": 12, "trust": 3, "pause": 1, "resume": 1} == {
        command: len(lines) for command, lines in shown.items()
    }
    assert not [line for lines in shown.values() for line in lines if "\t" in line or line.startswith("forged")]


def test_wide_letters_fill_two_columns_of_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    """The numbers beside names of other scripts and emoji stand below one another (#16)."""
    print_table("title", ["", "n"], [["日本語", "7"], ["abcdef", "12"], ["😀x", "3"]])

    assert "title\n           n\n  日本語   7\n  abcdef  12\n  😀x      3\n\n" == capsys.readouterr().out


_BUILD = """
import time
from hybrid.cli.common import build_progress
with build_progress(is_quiet=False) as report:
    time.sleep(0.35)
    report("read", 12, 558)
"""


@pytest.mark.parametrize(
    ("columns", "expected"),
    [(20, "12/558"), (40, "Reading and embedding 12/558"), (100, "━━━ 12/558 ")],
)
def test_progress_shows_its_numbers_on_a_narrow_terminal(columns: int, expected: str) -> None:
    """They were cut to `…` where there was no room for the name of the step and a bar (#16)."""
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    environ = {"PATH": os.environ["PATH"], "TERM": "xterm", "COLUMNS": str(columns)}
    with subprocess.Popen([sys.executable, "-c", _BUILD], stdin=subprocess.DEVNULL, stderr=theirs, env=environ) as done:
        os.close(theirs)
        shown = _all_of(ours)

    assert 0 == done.returncode
    assert expected in re.sub(r"\x1b\[[\d;?]*[A-Za-z]", "", shown)


def test_status_reads_no_markup_of_a_project(tmp_path: Path) -> None:
    """A project's name is text in the table, not a link or a colour."""
    shop = Shop(git_project(tmp_path / "[link=http:evil]x[red]:smile:"), tmp_path / "home")

    assert "[link=http:evil]x[red]:smile:" in shop.out("status", "--table")


@cases("render/visible.txt")
def test_marks_stand_for_what_cannot_be_seen(case: Case) -> None:
    """Each control and invisible character is its escape; joiners stay where scripts and emoji need them."""
    text, expected = case.given(), case.json()

    assert expected == visible(text)
    assert expected == visible(visible(text))
    assert json.loads(json_escaped(json.dumps([text], ensure_ascii=False))) == [text]


def test_a_name_begins_no_line_of_its_own() -> None:
    """In a name, tabs and line ends are marks too."""
    assert r"a\x0ab\x09c\x1b" == visible_line("a\nb\tc\x1b")
