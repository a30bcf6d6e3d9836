"""`hybrid completions`: scripts that have shells complete the command line, and the answers to what they ask.

The scripts are the same for every version: at each TAB they run `hybrid completions answer WORDS…`, which prints one
candidate a line, after a tab what it is, and `:files` or `:dirs` where the shell should complete paths.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from hybrid.cli.common import add_common, say
from hybrid.cli.main import every_command, parser_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


_GENERAL = (("--help", "all commands"), ("--version", "the version"))
_FILES = ("FILE", "PATH", "GLOB", "GATE.jsonl", "TREE", "PROMPTS", "QUERIES", "SESSIONS")
_FOLDERS = ("DIR", "REPO")
_OF_FOLDER = (("init", "path"), ("reindex", "path"), ("project", "path"), ("trust", "path"))


class Completion(NamedTuple):
    """The words that may stand at one place of the command line.

    Attributes:
        values: Candidates with what they are, which may be empty; best first.
        paths: `files` or `dirs` where a path may stand too.
    """

    values: tuple[tuple[str, str], ...] = ()
    paths: Literal["", "files", "dirs"] = ""


def offer_for(words: Sequence[str]) -> Completion:
    """Return what may stand in place of the last word; nothing when an earlier word is a mistake.

    Args:
        words: After the program's name; the last one as far as it is typed, empty for a new one.
    """
    *before, current = words or [""]
    if not before:
        return Completion((*((name, about) for name, (_, about) in every_command().items()), *_GENERAL))
    if before[0] not in every_command():
        return Completion()
    walk = _Walk(before[0], parser_of(before[0]))
    for word in before[1:]:
        walk.take(word)
    return walk.offer(current)


class _Walk:
    """The words so far, read as `argparse` reads them."""

    def __init__(self, command: str, parser: argparse.ArgumentParser) -> None:
        self.command = command
        self._is_lost = False
        self._enter(parser)

    def _enter(self, parser: argparse.ArgumentParser) -> None:
        self._parser = parser
        self._positionals = [action for action in _actions(parser) if not action.option_strings]
        self._waiting: argparse.Action | None = None
        """The option that takes the next word, or may."""
        self._counts: dict[argparse.Action, int] = {}
        self._used: set[argparse.Action] = set()
        self._is_literal = False
        """After `--` no word is an option."""

    def take(self, word: str) -> None:
        """Read one whole word."""
        if self._is_literal or not word.startswith("-") or word == "-":
            if self._waiting is not None:
                self._give(self._waiting)
                self._waiting = self._waiting if self._takes_more(self._waiting) else None
            else:
                self._take_positional(word)
        elif word == "--":
            self._waiting, self._is_literal = None, True
        else:
            self._take_option(word)

    def _take_option(self, word: str) -> None:
        self._waiting = None
        name, has_value, _ = word.partition("=")
        action = self._option(name)
        if action is None:
            action = self._option(word[:2])  # As in -n5.
            has_value = word[2:]
        if action is None:
            return
        self._used.add(action)
        self._counts[action] = 0
        if has_value:
            self._give(action)
        elif action.nargs != 0:
            self._waiting = action

    def _take_positional(self, word: str) -> None:
        action = self._positional()
        if action is None:
            self._is_lost = True
            return
        self._give(action)
        if parsers := _parsers(action):
            self._is_lost = word not in parsers
            self._enter(parsers.get(word, self._parser))

    def _give(self, action: argparse.Action) -> None:
        self._counts[action] = self._counts.get(action, 0) + 1

    def _takes_more(self, action: argparse.Action) -> bool:
        most = action.nargs if isinstance(action.nargs, int) else 1 if action.nargs in (None, "?") else sys.maxsize
        return self._counts.get(action, 0) < most

    def _needs_one(self, action: argparse.Action) -> bool:
        """Return whether the next word belongs to an option, whatever it is."""
        return self._counts.get(action, 0) == 0 and action.nargs not in ("?", "*")

    def _positional(self) -> argparse.Action | None:
        """Return the argument that the next word is if it is no option; None when all have their words."""
        return next(filter(self._takes_more, self._positionals), None)

    def _option(self, name: str) -> argparse.Action | None:
        """Return the option of a name, or of the beginning of a long one."""
        named = {text: action for action in _actions(self._parser) for text in action.option_strings}
        begun = {action for text, action in named.items() if name.startswith("--") and text.startswith(name)}
        return named.get(name) or (begun.pop() if len(begun) == 1 else None)

    def offer(self, current: str) -> Completion:
        """Return what may stand in place of a word that is begun."""
        if self._is_lost:
            return Completion()
        waiting, positional = self._waiting, self._positional()
        must = waiting is not None and self._needs_one(waiting)
        if current.startswith("-") and not self._is_literal and not must:
            name, has_value, _ = current.partition("=")
            action = self._option(name) if has_value else None
            return self._values(action, f"{name}=") if action else Completion(tuple(self._options()))
        offers = [self._values(action) for action in (waiting, None if must else positional) if action]
        if not offers:
            return Completion(tuple(option for option in self._options() if option[0].startswith("--")))
        values = tuple(value for offer in offers for value in offer.values)
        return next((offer for offer in offers if offer.paths), offers[0])._replace(values=values)

    def _values(self, action: argparse.Action, before: str = "") -> Completion:
        """Return the choices of an argument, each after a text that is put before it, or the paths that it may be."""
        if _parsers(action):
            return Completion(tuple(_subcommands(action)))
        choices = tuple((f"{before}{choice}", "") for choice in action.choices or ())
        return Completion(choices, _paths_of(self.command, action))

    def _options(self) -> Iterator[tuple[str, str]]:
        """Yield the options that may still be given, with what they do."""
        barred = self._barred()
        for action in _actions(self._parser):
            is_shown = action.help is not argparse.SUPPRESS and action not in barred
            for text in reversed(action.option_strings) if is_shown else ():
                yield text, _about(action)

    def _barred(self) -> set[argparse.Action]:
        """Return the options that were given and count once, and those that do not go with one that was given."""
        barred = {action for action in self._used if not isinstance(action, argparse._AppendAction)}  # pyright: ignore[reportPrivateUsage]
        for group in self._parser._mutually_exclusive_groups:  # pyright: ignore[reportPrivateUsage]
            members = set(group._group_actions)  # pyright: ignore[reportPrivateUsage]
            if members & self._used:
                barred |= members
        return barred


def _paths_of(command: str, action: argparse.Action) -> Literal["", "files", "dirs"]:
    """Return which paths may stand for an argument."""
    name = action.metavar if isinstance(action.metavar, str) else ""
    if name in _FOLDERS or (command, action.dest) in _OF_FOLDER:
        return "dirs"
    # `OUT.svg|OUT.png` and `QUERIES.jsonl` are files; `SECTION.KEY` is none.
    return "files" if name in _FILES or re.search(r"\.[a-z]+$", name) else ""


def _actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    return parser._actions  # pyright: ignore[reportPrivateUsage] - argparse tells nowhere else what a parser takes


def _parsers(action: argparse.Action) -> dict[str, argparse.ArgumentParser]:
    """Return the parsers of subcommands by name; empty for an argument that has none."""
    is_of_commands = isinstance(action, argparse._SubParsersAction)  # pyright: ignore[reportPrivateUsage]
    return cast("dict[str, argparse.ArgumentParser]", action.choices) if is_of_commands else {}


def _subcommands(action: argparse.Action) -> Iterator[tuple[str, str]]:
    """Yield the subcommands with what they do."""
    parts = cast("list[argparse.Action]", vars(action)["_choices_actions"])
    abouts = {part.dest: part.help or "" for part in parts}
    # One without help is only there to say that it is not installed.
    yield from ((name, abouts.get(name, "")) for name, parser in _parsers(action).items() if parser.add_help)


def _about(action: argparse.Action) -> str:
    if isinstance(action, argparse._HelpAction):  # pyright: ignore[reportPrivateUsage]
        return "how it is called"
    return " ".join((action.help or "").replace("%(default)s", str(action.default)).split())


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

    offer = offer_for(args.words)
    for value, about in offer.values:
        say(f"{value}\t{about}" if about else value)
    if offer.paths:
        say(f":{offer.paths}")
    return 0
