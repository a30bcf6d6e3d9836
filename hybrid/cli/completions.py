"""`hybrid completions`: scripts that have shells complete the command line, and the answers to what they ask.

The scripts are the same for every version: at each TAB they run `hybrid completions answer WORDS…`, which prints one
candidate a line, after a tab what it is, and `:files` or `:dirs` where the shell should complete paths.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from hybrid.cli.common import add_common, say

SHELLS = ("bash", "zsh", "fish")
"""The shells that there are scripts for."""
_ANSWER = "answer"
_FOLDER = Path(__file__).parent / "shells"
_HOW = """hybrid completions bash

to load it in every shell, add to
  ~/.bashrc                     eval "$(hybrid completions bash)"
  ~/.zshrc, after compinit      source <(hybrid completions zsh)
  ~/.config/fish/config.fish    hybrid completions fish | source"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add_common(parser, example=_HOW, options=("--debug",))
    parser.usage = f"hybrid completions {{{','.join(SHELLS)}}}"
    parser.add_argument("shell", metavar="SHELL", type=_shell, help=", ".join(SHELLS))
    # What a shell asks: the words after the program's name, as they were typed, the last one up to the cursor.
    asked = parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    asked.required = False  # A message would name it beside what is missing.


def _shell(text: str) -> str:
    if text not in (*SHELLS, _ANSWER):
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(SHELLS)}")
    return text


def run(args: argparse.Namespace) -> int:
    """Print the script of a shell, or the candidates for the last of some words; returns 0."""
    if args.shell != _ANSWER:
        sys.stdout.write((_FOLDER / f"hybrid.{args.shell}").read_text(encoding="utf-8"))
        return 0
    from hybrid.cli.completing import offer_for

    offer = offer_for(args.words)
    for value, about in offer.values:
        say(f"{value}\t{about}" if about else value)
    if offer.paths:
        say(f":{offer.paths}")
    return 0
