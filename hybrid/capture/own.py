"""Knows the uses of tools that only call us: to keep them would tell what was remembered as if it were new.

Pure.
"""

from __future__ import annotations

import re
import shlex

from hybrid.capture.dialects import without_bodies

_PROGRAM = re.compile(r"(?:.*/(?:bin|Scripts)/)?hybrid(?:\.exe|\.cmd)?\Z", re.IGNORECASE)
"""On the PATH or where programs are installed; `target/release/hybrid` is someone's own."""
_PYTHON = re.compile(r"(?:.*/)?(?:python[\d.]*w?|pypy[\d.]*|py)(?:\.exe)?\Z", re.IGNORECASE)
_ENTRY = re.compile(r"(?:.*/)?hybrid/entry\.py\Z")
_SHELL = re.compile(r"(?:.*/)?(?:ba|z|da|k)?sh\Z")
_ASSIGNED = re.compile(r"\w+=")
_REDIRECTED = re.compile(r"\d*>&\d+|&>>?|\d*>\|")
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
"""Programs that tell nothing when they read what we printed, or give us what we read."""
_MAX_CHARS = 4_000
_MAX_DEPTH = 3


def is_ours(command: str) -> bool:
    """Return whether a command line of a shell calls us and does nothing else that tells something.

    Args:
        command: As the agent gave it; only the beginning of a long one counts.
    """
    return _is_ours(command, 0)


def is_our_tool(tool: str) -> bool:
    """Return whether a tool is one of ours, as clients spell those of a server named `hybrid`."""
    name = tool.lower()
    return name == "hybrid" or name.startswith(("mcp__hybrid__", "hybrid_"))


def _is_ours(command: str, depth: int) -> bool:
    if "hybrid" not in command.lower() or depth > _MAX_DEPTH:
        return False
    command = without_bodies(command[:_MAX_CHARS]).replace("\\\n", " ")
    kinds = [_kind(pipeline, depth) for pipeline in _pipelines(_REDIRECTED.sub(" ", command))]
    return "ours" in kinds and "other" not in kinds


def _pipelines(command: str) -> list[list[list[str]]]:
    """The commands of a line, by pipeline, each as its words."""
    found: list[list[list[str]]] = [[[]]]
    for token in _tokens(command):
        if token and not token.strip("\n;&|()"):
            if token.strip("\n") in ("|", "|&"):
                found[-1].append([])
            else:
                found.append([[]])
        else:
            found[-1][-1].append(token)
    return [pipeline for pipeline in found if any(pipeline)]


def _tokens(command: str) -> list[str]:
    lexer = shlex.shlex(_BACKSLASH.sub("/", command), posix=True, punctuation_chars=";&|()\n")
    lexer.whitespace, lexer.whitespace_split, lexer.commenters = " \t\r", True, ""
    try:
        return list(lexer)
    except ValueError:  # A quote that is not closed, or was cut off.
        return re.findall(r"[;&|()\n]+|[^\s;&|()]+", command)


def _kind(pipeline: list[list[str]], depth: int) -> str:
    """`ours`, `neutral`, or `other`."""
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
    """Return whether a command that only passes text on puts it into a file."""
    if words[:1] == ["sed"] and any(word.startswith(("-i", "--in-place")) for word in words):
        return True
    pairs = zip(words, [*words[1:], ""], strict=False)
    return any(_INTO_FILE.match(word + after if word.endswith(">") else word) for word, after in pairs)


def _unwrapped(words: list[str]) -> list[str]:
    """The words from the program on that really runs."""
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
        line = next((rest[at + 1] for at, word in enumerate(rest[:-1]) if re.match(r"-\w*c\Z", word)), "")
        return _is_ours(line, depth + 1)
    if not _PYTHON.match(program):
        return False
    while rest and rest[0].startswith("-") and rest[0] != "-m":
        rest = rest[1:]
    if rest[:1] == ["-m"]:
        return len(rest) > 1 and rest[1].partition(".")[0] == "hybrid"
    return bool(rest and _ENTRY.match(rest[0]))
