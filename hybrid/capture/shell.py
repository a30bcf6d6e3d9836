"""Reads command lines of shells: whether they only call us, which files they name, which part matters. Pure."""

from __future__ import annotations

import re
import shlex
from itertools import islice, takewhile
from typing import Literal

from msgspec import Struct

_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1")


def without_bodies(command: str) -> str:
    """Return a command line without the first eight texts that are written in it (`<<EOF … EOF`)."""
    for _ in range(8):
        match = _HEREDOC.search(command)
        if not match:
            break
        begin = command.find("\n", match.end())
        end = re.compile(rf"^[ \t]*{match[2]}[ \t]*$", re.MULTILINE).search(command, begin) if begin >= 0 else None
        rest = command[match.end() : begin] if begin >= 0 else command[match.end() :]
        command = command[: match.start()] + rest + (command[end.end() :] if end else "")
    return command


# --- Calls of hybrid alone -----------------------------------------------------------------------------------------

_PROGRAM = re.compile(r"(?:.*/(?:bin|Scripts)/)?hybrid(?:\.exe|\.cmd)?\Z", re.IGNORECASE)
"""Pattern of our program on the PATH or where programs are installed; `target/release/hybrid` is someone's own."""
_PYTHON = re.compile(r"(?:.*/)?(?:python[\d.]*w?|pypy[\d.]*|py)(?:\.exe)?\Z", re.IGNORECASE)
_ENTRY = re.compile(r"(?:.*/)?hybrid/entry\.py\Z")
_SHELL = re.compile(r"(?:.*/)?(?:ba|z|da|k)?sh\Z")
_ASSIGNED = re.compile(r"\w+=")
_REDIRECTED = re.compile(r"(?<!\d)\d*>(?:&\d+|\|)|&>>?")
_INTO_FILE = re.compile(r"\d*>>?(?!/dev/)")
_BACKSLASH = re.compile(r"\\(?=\w)")

_KEYWORDS = frozenset("do then else if elif while until ! {".split())
_WRAPPERS = {
    "sudo": 0, "env": 0, "time": 0, "command": 0, "exec": 0, "nohup": 0, "nice": 0, "uvx": 0, "timeout": 1,
    "uv": 1, "poetry": 1, "pipx": 1, "pdm": 1, "hatch": 1, "rye": 1,
}  # fmt: skip
"""Programs that run another → words of their own before it, besides options and settings."""
_NEUTRAL = frozenset(
    "cd pushd popd export set unset source . : true false echo printf sleep for done fi } deactivate clear".split()
)
"""Programs that tell nothing by themselves."""
_FILTERS = frozenset("cat head tail less more grep egrep rg jq wc sort uniq cut tr nl column awk sed tee fold".split())
"""Programs that tell nothing when they read our output, or write our input."""
_MAX_CHARS = 4_000
_MAX_DEPTH = 3
"""Levels of shells within shells (`sh -c`) that are looked into."""


def is_ours(command: str, depth: int = 0) -> bool:
    """Return whether a command line of a shell calls us and does nothing else that tells something.

    Args:
        command: The command line as the agent gave it; only the first 4,000 characters count.
        depth: Number of shells around it (`sh -c`); False for more than three.
    """
    if "hybrid" not in command.lower() or depth > _MAX_DEPTH:
        return False
    command = without_bodies(command[:_MAX_CHARS]).replace("\\\n", " ")
    kinds = [_kind(pipeline, depth) for pipeline in _pipelines(_REDIRECTED.sub(" ", command))]
    return "ours" in kinds and "other" not in kinds


def _pipelines(command: str) -> list[list[list[str]]]:
    """Return the commands of a line, by pipeline, each as its words."""
    pipelines: list[list[list[str]]] = [[[]]]
    for token in _tokens(command):
        if token and not token.strip("\n;&|()"):
            if token.strip("\n") in ("|", "|&"):
                pipelines[-1].append([])
            else:
                pipelines.append([[]])
        else:
            pipelines[-1][-1].append(token)
    return [pipeline for pipeline in pipelines if any(pipeline)]


def _tokens(command: str) -> list[str]:
    lexer = shlex.shlex(_BACKSLASH.sub("/", command), posix=True, punctuation_chars=";&|()\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    try:
        return list(lexer)
    except ValueError:  # A quote that is not closed, or was cut off.
        return re.findall(r"[;&|()\n]+|[^\s;&|()]+", command)


def _kind(pipeline: list[list[str]], depth: int) -> str:
    """Return `ours` for a pipeline that calls us with filters, `neutral` for one that tells nothing, else `other`."""
    kinds = [_kind_of_words(words, depth) for words in pipeline if words]
    if "ours" in kinds:
        return "other" if "other" in kinds else "ours"
    return "neutral" if all(kind == "neutral" for kind in kinds) else "other"


def _kind_of_words(words: list[str], depth: int) -> str:
    words = _unwrapped(words)
    if words and _calls_us(words, depth):
        return "ours"
    if _is_writing(words):
        return "other"
    if not words or words[0] in _NEUTRAL or words[0].startswith("#"):
        return "neutral"
    return "filter" if words[0].rpartition("/")[2] in _FILTERS else "other"


def _is_writing(words: list[str]) -> bool:
    """Return whether a command that passes text on writes it into a file."""
    if words[:1] == ["sed"] and _edits_in_place(words):
        return True
    pairs = zip(words, [*words[1:], ""], strict=False)
    return any(_INTO_FILE.match(word + after if word.endswith(">") else word) for word, after in pairs)


def _edits_in_place(words: list[str]) -> bool:
    return any(word.startswith(("-i", "--in-place")) for word in words)


def _unwrapped(words: list[str]) -> list[str]:
    """Return the words of a command from the program that really runs, without `sudo`, settings and the like."""
    while words:
        name = words[0].rpartition("/")[2]
        if words[0] in _KEYWORDS or _ASSIGNED.match(words[0]):
            words = words[1:]
        elif name in _WRAPPERS and len(words) > 1:
            words, n_own = words[1:], _WRAPPERS[name]
            while words and (words[0].startswith("-") or _ASSIGNED.match(words[0]) or n_own):
                n_own -= not (words[0].startswith("-") or _ASSIGNED.match(words[0]))
                words = words[1:]
        else:
            break
    return words


def _calls_us(words: list[str], depth: int) -> bool:
    program, rest = words[0], words[1:]
    if _PROGRAM.match(program):
        return True
    if _SHELL.match(program):
        return is_ours(_inner(words), depth + 1)
    if not _PYTHON.match(program):
        return False
    while rest and rest[0].startswith("-") and rest[0] != "-m":
        rest = rest[1:]
    if rest[:1] == ["-m"]:
        return len(rest) > 1 and rest[1].partition(".")[0] == "hybrid"
    return bool(rest and _ENTRY.match(rest[0]))


def _inner(words: list[str]) -> str:
    """Return the command line that a shell is given (`sh -c LINE`); empty without one."""
    return next((words[at + 1] for at, word in enumerate(words[:-1]) if at and re.match(r"-\w*c\Z", word)), "")


# --- Files that a line names -------------------------------------------------------------------------------------

_READING = frozenset("cat bat head tail less more nl wc sed awk jq diff stat file".split())
_SEARCHING = frozenset("grep egrep fgrep rg ag".split())
_WRITING = frozenset("tee touch rm".split())
_PIECES = re.compile(r"&&|\|\||[;\n|]")
_WRITTEN = re.compile(r"(?<![0-9&>])>>?\s*([^\s;&|<>]+)")
_SCRIPT = re.compile(r"\bpython[\d.]*\s+(?:-\w*c\b|(?:-\s*)?<<)")
_OPENED = re.compile(r"""\b(?:open|Path)\(\s*r?(['"])([^'"\n]+)\1(?:\)\.(write)|\s*,\s*(?:mode=)?['"]([wax]))?""")
"""A file that a script opens, and whether it says there that it writes it."""
_PATH = re.compile(r"^[\w.~$/\\@+-][\w.~$/\\@+ -]*$")


def files_of_command(command: str) -> tuple[list[str], list[str]]:
    """Return the files that a command line reads, and those it writes, for the programs we know.

    They are given as the line names them, in order, perhaps more than once; only its first 4,000 characters count.
    Of a script of Python in the line, what it opens by name counts.
    """
    opened = list(_OPENED.finditer(command, 0, _MAX_CHARS)) if _SCRIPT.search(command) else []
    command = without_bodies(command[:_MAX_CHARS])
    read = [match[2] for match in opened if _is_file(match[2]) and not (match[3] or match[4])]
    written = [path for path in _WRITTEN.findall(command) if _is_path(path) and not path.startswith(("/dev/", "&"))]
    written += [match[2] for match in opened if _is_file(match[2]) and (match[3] or match[4])]
    for piece in _PIECES.split(_WRITTEN.sub(" ", command)):
        words = _piece_words(piece)
        if not words:
            continue
        program, plain = words[0].rpartition("/")[2], [word for word in words[1:] if not word.startswith("-")]
        if program == "git" and plain[:1] and plain[0] in ("diff", "add", "show", "blame", "restore", "rm"):
            read += [word for word in plain[1:] if _is_file(word)]
        elif program == "sed" and _edits_in_place(words):
            written += [word for word in plain[1:] if _is_file(word)]
        elif program in _READING or program in _SEARCHING:
            skip = 1 if program in _SEARCHING or program in ("sed", "awk", "jq") else 0
            read += [word for word in plain[skip:] if _is_file(word)]
        elif program in _WRITING:
            written += [word for word in plain if _is_file(word)]
        elif program in ("cp", "mv") and len(plain) >= 2:
            read += plain[:-1] if program == "cp" else []
            written += plain[-1:] if program == "cp" else plain
    return read, written


def _piece_words(piece: str) -> list[str]:
    words = _line_words(piece, _MAX_CHARS)
    while words and ("=" in words[0] or words[0] in ("sudo", "env", "time", "command")):
        words = words[1:]
    return words


def _is_path(word: str) -> bool:
    return bool(_PATH.match(word)) and not word.isdigit()


def _is_file(word: str) -> bool:
    """Return whether a word looks like a file's name: with a suffix or a folder."""
    return _is_path(word) and ("/" in word or "." in word.strip(".")) and not word.startswith(("s/", "HEAD", "origin/"))


# --- The part that matters -------------------------------------------------------------------------------------------

Work = Literal["check", "search", "read", "look", "list", "git", "run"]

_SPACES = re.compile(r"[ \t]+")
_NOISE = re.compile(r"(?<!\s)\s*(?:2>&1|&>\s*\S+|2>\s*/dev/null|>\s*/dev/null|<\s*/dev/null|\|\|\s*true)")
_ASSIGNMENTS = re.compile(r"^(?:[A-Z_][A-Z0-9_]*=\S*\s+)+")
_LEADING = re.compile(r"^(?:sudo|time|nice|nohup|command|(?:/usr/bin/)?env|exec|timeout(?:\s+-\S+)*\s+\S+)\s+")
_TRIVIAL = frozenset("cd pwd echo export set source true sleep clear date whoami ls mkdir popd pushd printf".split())
_SEARCH_PROGRAMS = frozenset("grep egrep fgrep rg ag ack find fd locate git-grep".split())
_READ_PROGRAMS = frozenset("cat bat head tail less more nl sed".split())
_LISTING = frozenset("ls pwd tree wc du df which whoami date env printenv ps type stat file".split())
_CHECKS = re.compile(
    r"\b(?:tests?|pytest|jest|vitest|mocha|check|clippy|lint|eslint|ruff|mypy|pyright|tsc|build|make|ninja|cmake|gradle|"
    r"mvn|compile|nextest|tox|nox|bench|vet|rspec|phpunit|ctest|prek|pre-commit|prettier|black|flake8|shellcheck|verify|"
    r"install|sync|fmt|format|doctest|unittest|typecheck|javac|gcc|rustc)\b"
)
_SEARCH_WORDS = frozenset("search grep find refs references query lookup".split())
_PIPE_FILTERS = frozenset("head tail grep egrep rg tee less cat sort uniq wc cut sed awk".split())


class CommandLine(Struct, frozen=True):
    """A command line.

    Attributes:
        work: Kind of work.
        shown: The part that matters, on one line, without filters and redirections.
        program: Name of the program of that part.
        words: Words of that part.
        query: Pattern of a search; empty for other work.
    """

    work: Work
    shown: str
    program: str
    words: tuple[str, ...]
    query: str = ""


def line_of(command: str) -> CommandLine:
    """Return the part of a command line that matters: the last that is not trivial, before its filters.

    Where all parts are trivial it is the last one; `shown` is empty only for a blank line. Only its first 4,000
    characters count.
    """
    command = command[:_MAX_CHARS]
    parts = _split(_NOISE.sub("", _SPACES.sub(" ", without_bodies(command))), ("&&", "||", ";", "\n"))
    telling = [part for part in parts if _program(_line_words(_bare(part))) not in _TRIVIAL]
    part = _bare((telling or parts or [command])[-1])
    shown = _before_filters(part)
    words = _line_words(shown)
    if words and _SHELL.match(words[0]) and (inner := _inner(words)) and len(inner) < len(command):
        return line_of(inner)
    program = _program(words)
    work, query = _work(program, words)
    return CommandLine(work, " ".join(shown.split()), program, tuple(words), query)


_SUBCOMMAND = re.compile(r"[a-z][a-z:_-]{0,30}")
_MOST_SUBCOMMANDS = 2


def form_of(line: CommandLine) -> str:
    """Return the program and its subcommands, `npm run test`: what it has in common with other runs of its kind."""
    plain = (word for word in line.words[1:] if not word.startswith("-"))
    found = takewhile(lambda word: _SUBCOMMAND.fullmatch(word) is not None, plain)
    return " ".join([line.program, *islice(found, _MOST_SUBCOMMANDS)])


def _bare(part: str) -> str:
    part = part.strip().lstrip("({").strip()
    for _ in range(3):
        part = _LEADING.sub("", _ASSIGNMENTS.sub("", part))
    return part


def _before_filters(part: str) -> str:
    """Return a pipe up to its first filter; its first command stays even if it is one, as in `cat x | program`."""
    pieces = _split(part, ("|",)) or [part]
    kept = [pieces[0]]
    for piece in pieces[1:]:
        if _program(_line_words(piece)) in _PIPE_FILTERS:
            break
        kept.append(piece)
    return " | ".join(kept).strip()


def _split(text: str, separators: tuple[str, ...]) -> list[str]:
    """Return the parts of a command line between separators; one within quotes or after a backslash parts nothing."""
    parts, quote, begin, at = list[str](), "", 0, 0
    while at < len(text):
        char = text[at]
        mark = "" if quote else next((separator for separator in separators if text.startswith(separator, at)), "")
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


def _line_words(text: str, max_chars: int = 2_000) -> list[str]:
    """Return the words of the first `max_chars`, as a shell reads them; as blanks part them if a quote stays open."""
    text = text[:max_chars]
    try:
        return shlex.split(text)
    except ValueError:
        return text.split()


def _program(words: list[str]) -> str:
    return words[0].rpartition("/")[2] if words else ""


def _work(program: str, words: list[str]) -> tuple[Work, str]:
    plain = [word for word in words[1:] if not word.startswith("-")]
    if program == "git":
        sub = plain[0] if plain else ""
        return ("search", " ".join(plain[1:2])) if sub == "grep" else ("git", "")
    if program in ("find", "fd"):
        return "search", _found_name(words)
    if program in _SEARCH_PROGRAMS:
        return "search", _pattern(words)
    if program in _READ_PROGRAMS and any("." in word or "/" in word for word in plain):
        return "read", ""
    if program in _LISTING or program in _TRIVIAL:
        return "list", ""
    if plain and plain[0] in _SEARCH_WORDS and len(plain) > 1:
        return "search", " ".join(plain[1:3]) if plain[0] in ("refs", "references") else plain[1]
    return ("check" if _CHECKS.search(" ".join(words)) else "run"), ""


def _pattern(words: list[str]) -> str:
    """Return the pattern of a grep: after `-e`, else the first word that is no option and no number of one."""
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
