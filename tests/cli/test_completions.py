"""Completion: what is proposed for a place of the command line, and that real shells put it in."""

from __future__ import annotations

import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import command_environment, new_shop
from tests.support.cases import Case, cases
from tests.support.terminals import Terminal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.support.builders import Shop


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """An indexed project."""
    return new_shop(tmp_path_factory.mktemp("told"))


def _proposed(shop: Shop, *words: str) -> dict[str, str]:
    """What is proposed for the last word, with what it is."""
    lines = shop.out("completions", "answer", *words).splitlines()
    return {value: about for value, _, about in (line.partition("\t") for line in lines)}


@cases("completions/candidates.txt")
def test_each_place_has_its_candidates(told: Shop, case: Case) -> None:
    """Commands, actions, options and choices, and where a path may stand."""
    assert set(case.json()) <= _proposed(told, *case.given()).keys()


@pytest.mark.parametrize(
    ("words", "unexpected"),
    [
        pytest.param(("",), {"hook run", "answer"}, id="what only programs call"),
        pytest.param(("search", "--all", "--"), {"--all", "--group", "--team"}, id="options that exclude each other"),
        pytest.param(("search", "--json", "--"), {"--json"}, id="an option that was given"),
        pytest.param(("search", "--", "--"), {"--json"}, id="after two dashes"),
        pytest.param(("log", "--limit", ""), {"--all", "-n"}, id="in place of a value"),
        pytest.param(("eval", ""), {"nothing"}, id="eval"),
    ],
)
def test_what_would_be_a_mistake_is_not_proposed(told: Shop, words: tuple[str, ...], unexpected: set[str]) -> None:
    """A candidate can be run."""
    assert set() == unexpected & _proposed(told, *words).keys()


@pytest.mark.parametrize("words", [("nonsense", ""), ("daemon", "nonsense", ""), ("explain", "a", "b")])
def test_after_a_mistake_nothing_is_proposed(told: Shop, words: tuple[str, ...]) -> None:
    """The mistake is not made to look right."""
    assert {} == {value: about for value, about in _proposed(told, *words).items() if not value.startswith("--")}


def test_a_candidate_says_what_it_is(told: Shop) -> None:
    """Shells that show it beside the candidate get what a command or an option does."""
    assert "hits of a list to show (default: 10)" == _proposed(told, "search", "--")["--limit"]
    assert "bring the index up to date" == _proposed(told, "")["reindex"]


def test_an_unknown_shell_is_named(told: Shop) -> None:
    """The message lists those that there are."""
    assert "'tcsh' is none of bash, zsh, fish" in told.error("completions", "tcsh")
    assert "required: SHELL; " in told.error("completions")


# --- real shells ------------------------------------------------------------------------------------------


_TYPED = [
    pytest.param("hybrid reind\t", "hybrid reindex ", id="command"),
    pytest.param("hybrid daemon stat\t", "hybrid daemon status ", id="action"),
    pytest.param("hybrid search --expl\t", "hybrid search --explain ", id="option"),
    pytest.param("hybrid search --kind obs\t", "hybrid search --kind observation ", id="choice"),
    pytest.param("hybrid search --kind=obs\t", "hybrid search --kind=observation ", id="choice after ="),
    pytest.param("hybrid changes-with READ\t", "hybrid changes-with README.md ", id="file"),
    pytest.param("hybrid init do\t", "hybrid init docs/", id="folder"),
    pytest.param("./hybrid-link/hybrid reind\t", "./hybrid-link/hybrid reindex ", id="by its path"),
]
_BASH = """
PS1='> '
bind 'set enable-bracketed-paste off' 'set bell-style none'
show() { printf '<%s>' "$READLINE_LINE"; }
bind -x '"\\C-g": show'
eval "$(hybrid completions bash)"
"""
_ZSH = """
PS1='> '
unsetopt beep
autoload -Uz compinit && compinit -u -D
source <(hybrid completions zsh)
show() { print -rn -- "<$BUFFER>" > $TTY }
zle -N show
bindkey -e
bindkey '^G' show
"""


def _environ(shop: Shop, folder: Path) -> dict[str, str]:
    """The environment of a shell that finds `hybrid` in a folder, where it is made."""
    command = folder / "hybrid"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hybrid "$@"\n')
    command.chmod(0o755)
    environ = command_environment(shop.home)
    return environ | {"PATH": f"{folder}:{environ['PATH']}", "HOME": str(folder), "LC_ALL": "C.UTF-8"}


def _shell(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


@pytest.fixture(scope="module", params=["bash", "zsh"])
def shell(request: pytest.FixtureRequest, told: Shop, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Terminal]:
    """An interactive shell in the project that has loaded the script; Ctrl-G shows the line as `<…>`."""
    folder = tmp_path_factory.mktemp("shell")
    path = _shell(request.param)
    environ = _environ(told, folder)
    link = told.root / "hybrid-link"
    link.unlink(missing_ok=True)
    link.symlink_to(folder)
    start = folder / (".bashrc" if request.param == "bash" else ".zshrc")
    start.write_text(_BASH if request.param == "bash" else _ZSH)
    command = [path, "--noprofile", "--rcfile", str(start), "-i"] if request.param == "bash" else [path, "-d", "-i"]
    terminal = Terminal(command, cwd=told.root, environ=environ | {"ZDOTDIR": str(folder)})
    with terminal:
        terminal.until("> ")
        yield terminal


@pytest.mark.parametrize(("typed", "expected"), _TYPED)
def test_a_shell_completes_at_tab(shell: Terminal, told: Shop, typed: str, expected: str) -> None:
    """A TAB puts in what is missing, quoted where the shell would read it otherwise."""
    shell.type(typed + "\x07")
    found = shell.until(r"<([^<>]*)>").group(1)
    shell.type("\x15")

    assert expected == found


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("hybrid reind", "reindex"),
        ("hybrid daemon sta", "status"),
        ("hybrid search --expl", "--explain"),
        ("hybrid search --kind obs", "observation"),
        ("hybrid search --kind=obs", "--kind=observation"),
        ("hybrid changes-with READ", "README.md"),
        ("hybrid init do", "docs/"),
    ],
)
def test_fish_completes(told: Shop, tmp_path: Path, line: str, expected: str) -> None:
    """The shell gets the candidates, and what each is."""
    script = "hybrid completions fish | source\ncomplete -C $argv[1]"
    command = [_shell("fish"), "--no-config", "-c", script, line]
    done = subprocess.run(
        command, cwd=told.root, env=_environ(told, tmp_path), capture_output=True, text=True, check=False, timeout=120
    )

    assert expected in [found.partition("\t")[0] for found in done.stdout.splitlines()], done.stderr
