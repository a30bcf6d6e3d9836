"""Reads a command line: which part of it matters, how it is shown, and what sort of work it is. Pure."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import Literal

from hybrid.capture.dialects import without_bodies

Work = Literal["check", "search", "read", "look", "list", "git", "run"]

_SPACES = re.compile(r"[ \t]+")
_NOISE = re.compile(r"\s*(?:2>&1|&>\s*\S+|2>\s*/dev/null|>\s*/dev/null|<\s*/dev/null|\|\|\s*true)")
_ASSIGNMENTS = re.compile(r"^(?:[A-Z_][A-Z0-9_]*=\S*\s+)+")
_WRAPPERS = re.compile(r"^(?:sudo|time|nice|nohup|command|(?:/usr/bin/)?env|exec|timeout(?:\s+-\S+)*\s+\S+)\s+")
_TRIVIAL = frozenset("cd pwd echo export set source true sleep clear date whoami ls mkdir popd pushd printf".split())
_SEARCHING = frozenset("grep egrep fgrep rg ag ack find fd locate git-grep".split())
_READING = frozenset("cat bat head tail less more nl sed".split())
_LISTING = frozenset("ls pwd tree wc du df which whoami date env printenv ps type stat file".split())
_CHECKS = re.compile(
    r"\b(?:tests?|pytest|jest|vitest|mocha|check|clippy|lint|eslint|ruff|mypy|pyright|tsc|build|make|ninja|cmake|gradle|"
    r"mvn|compile|nextest|tox|nox|bench|vet|rspec|phpunit|ctest|prek|pre-commit|prettier|black|flake8|shellcheck|verify|"
    r"install|sync|fmt|format|doctest|unittest|typecheck|javac|gcc|rustc)\b"
)
_SEARCH_WORDS = frozenset("search grep find refs references query lookup".split())
_FILTERS = frozenset("head tail grep egrep rg tee less cat sort uniq wc cut sed awk".split())


@dataclass(frozen=True, slots=True)
class Line:
    """A command line.

    Attributes:
        work: What sort of work it is.
        shown: The part that matters on one line, without filters and redirections.
        program: Its program.
        words: Its words.
        query: Of a search.
    """

    work: Work
    shown: str
    program: str
    words: tuple[str, ...]
    query: str = ""


def line_of(command: str) -> Line:
    """The part of a command line that matters: the last that is not trivial, before its filters."""
    parts = _split(_NOISE.sub("", _SPACES.sub(" ", without_bodies(command))), ("&&", "||", ";", "\n"))
    telling = [part for part in parts if _program(_words(_bare(part))) not in _TRIVIAL]
    part = _bare((telling or parts or [command])[-1])
    shown = _before_filters(part)
    words = _words(shown)
    program = _program(words)
    work, query = _work(program, words)
    return Line(work, " ".join(shown.split()), program, tuple(words), query)


def _bare(part: str) -> str:
    part = part.strip().lstrip("({").strip()
    for _ in range(3):
        part = _WRAPPERS.sub("", _ASSIGNMENTS.sub("", part))
    return part


def _before_filters(part: str) -> str:
    """A pipe up to the first filter; `cat x | program` is the program's."""
    pieces = _split(part, ("|",)) or [part]
    kept = [pieces[0]]
    for piece in pieces[1:]:
        if _program(_words(piece)) in _FILTERS:
            break
        kept.append(piece)
    return " | ".join(kept).strip()


def _split(text: str, separators: tuple[str, ...]) -> list[str]:
    """The parts of a command line between separators; one within quotes or after a backslash parts nothing."""
    parts, quote, begin, at = list[str](), "", 0, 0
    while at < len(text):
        char = text[at]
        mark = "" if quote else next((one for one in separators if text.startswith(one, at)), "")
        if char == "\\" and quote != "'":
            at += 2
            continue
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif mark:
            parts.append(text[begin:at].strip())
            begin = at + len(mark)
        at += max(1, len(mark))
    return [part for part in [*parts, text[begin:].strip()] if part]


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text[:2_000])
    except ValueError:
        return text[:2_000].split()


def _program(words: list[str]) -> str:
    return words[0].rpartition("/")[2] if words else ""


def _work(program: str, words: list[str]) -> tuple[Work, str]:
    plain = [word for word in words[1:] if not word.startswith("-")]
    if program == "git":
        sub = plain[0] if plain else ""
        return ("search", " ".join(plain[1:2])) if sub == "grep" else ("git", "")
    if program in ("find", "fd"):
        return "search", _found_name(words)
    if program in _SEARCHING:
        return "search", _pattern(words)
    if program in _READING and any("." in word or "/" in word for word in plain):
        return "read", ""
    if program in _LISTING or program in _TRIVIAL:
        return "list", ""
    if plain and plain[0] in _SEARCH_WORDS and len(plain) > 1:
        return "search", " ".join(plain[1:3]) if plain[0] in ("refs", "references") else plain[1]
    return ("check" if _CHECKS.search(" ".join(words)) else "run"), ""


def _pattern(words: list[str]) -> str:
    """The pattern of a grep: after `-e`, else the first word that is no option and no number of one."""
    skip = False
    for number, word in enumerate(words[1:], 1):
        if word in ("-e", "--regexp") and number + 1 < len(words):
            return words[number + 1]
        if skip or word.startswith("-"):
            skip = not skip and word in ("-A", "-B", "-C", "-m", "-g", "-t", "--glob", "--type", "-f")
            continue
        return word
    return ""


def _found_name(words: list[str]) -> str:
    named = [words[i + 1] for i, word in enumerate(words[:-1]) if word in ("-name", "-iname", "-path", "-regex")]
    return " ".join(named) or " ".join(word for word in words[1:] if not word.startswith("-"))[:120]
