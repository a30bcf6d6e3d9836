"""Finds definitions in a piece of source by their first lines, in any language, and shortens texts so that these stay.

It is no parser: the pieces are parts of files, often cut. Used when a tool use is read and when it is told of. Pure.
"""

from __future__ import annotations

import re
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Iterator


_NAMED = (
    r"(?:(?:export|default|declare|pub(?:\([^)\n]{1,40}\))?|public|private|protected|internal|static|final|abstract|"
    r'async|unsafe|const|extern(?: "C")?|override|virtual|inline|sealed|partial|open|data|suspend|local)[ \t]+){0,6}'
    r"(?P<word>fn|def|class|struct|enum|trait|interface|function\*?|fun|func|module|mod|object|record|namespace|union|"
    r"protocol|extension|defmodule|defp|macro_rules!|type|package)[ \t]+(?:\([^)\n]{0,80}\)[ \t]*)?"
    r"(?P<name>[\w$.]*[\w$?!])(?=[ \t]*(?:[(<:{=\[;]|where\b|extends\b|implements\b|struct\b|interface\b|do\b|$))"
)
_IMPL = r"(?:unsafe[ \t]+)?impl\b(?:<[^\n{]{0,120}?>)?[ \t]+(?![ \t])(?:[^\n{]{1,120}?[ \t]for[ \t]+)?(?P<impl>[\w:]+)"
_TYPED = (  # Java, C#, C, C++: `public int size(`, `static void *f(`.
    r"(?:(?:public|private|protected|static|final|virtual|inline|extern|override|async)[ \t]+){1,4}"
    r"[\w<>\[\],.*& :]{0,60}?[ \t*&](?P<typed>[A-Za-z_]\w*)[ \t]*\((?=[^;\n]*$)"
)
_ASSIGNED = (
    r"(?:export[ \t]+)?(?:const|let|var)[ \t]+(?P<assigned>[\w$]+)[^=\n]{0,40}=[ \t]*(?:async[ \t]*)?"
    r"(?:function\b|\([^)\n]{0,120}\)[^=\n]{0,40}=>|\w+[ \t]*=>)"
)
_CALLED = r"(?:it|test|describe)(?:\.\w+)?\([ \t]*(?P<quote>['\"`])(?P<test>[^\n]{1,120}?)(?P=quote)"
_TABLE = r"(?i:create[ \t]+(?:table|view|index)(?:[ \t]+if[ \t]+not[ \t]+exists)?)[ \t]+(?P<table>[\w.\"`]+)"
_HEADING = r"#{1,6}[ \t]+(?P<heading>[^\n]{2,100})"

_CODE = re.compile(rf"^(?P<indent>[ \t]*)(?:{_NAMED}|{_IMPL}|{_ASSIGNED}|{_CALLED}|{_TABLE}|{_TYPED})", re.MULTILINE)
_PROSE = re.compile(rf"^(?P<indent>[ \t]{{0,3}}){_HEADING}", re.MULTILINE)
_WORDS = {group: group for group in ("heading", "impl", "test", "table")}
_PROSE_SUFFIXES = (".md", ".mdx", ".markdown", ".rst", ".adoc", ".txt")
_NO_NAMES = frozenset("if for while switch return else".split())

MAX_SCAN_CHARS = 400_000
"""Characters of a text that are looked through for definitions, from its beginning."""


class DefinitionLine(Struct, frozen=True):
    """A definition's first line.

    Attributes:
        name: Name of what the line defines; of a heading its words.
        word: Keyword of the definition: fn, class, impl, test, heading, …
        indent: Columns before it; a tab counts four.
        start: Offset of the line in the text.
        line: The line, stripped.
    """

    name: str
    word: str
    indent: int
    start: int
    line: str

    @property
    def is_container(self) -> bool:
        """Return whether the definition holds functions, by its keyword, rather than being one."""
        return self.word in _CONTAINERS

    @property
    def is_test(self) -> bool:
        """Return whether it is a test, by its keyword or by how its name begins or ends."""
        return self.word == "test" or self.name.lower().startswith("test") or self.name.endswith("Test")


_CONTAINERS = frozenset(
    "class struct enum trait interface impl module mod object record namespace union protocol extension defmodule "
    "package".split()
)


def is_prose(path: str) -> bool:
    """Return whether a file is written for people, so that its headings are its definitions."""
    return path.lower().endswith(_PROSE_SUFFIXES)


def definitions(text: str, path: str = "") -> Iterator[DefinitionLine]:
    """Yield the definitions in the first 400,000 characters of a text, in order; of prose the headings.

    Args:
        text: Source, or a part of it, without line numbers.
        path: Path of the file, for its language.
    """
    pattern = _PROSE if is_prose(path) else _CODE
    end = min(len(text), MAX_SCAN_CHARS)
    for match in pattern.finditer(text, 0, end):
        group = match.lastgroup or ""  # Of each alternative the last one is that of the name.
        name = match[group].strip(' "`#')
        if not name or name in _NO_NAMES:
            continue
        word = match["word"].rstrip("*!") if group == "name" else _WORDS.get(group, "function")
        close = text.find("\n", match.end())
        line = text[match.start() : close if close >= 0 else end].strip()
        yield DefinitionLine(name, word, _columns(match["indent"]), match.start(), line[:300])


def enclosing(text: str, position: int, path: str = "") -> str:
    """Return the name that a place in a source belongs to: `Container::function`, `Container.function`, or nothing.

    At most two names are given, and those 60,000 characters before the place are looked through. In prose it is the
    heading above.

    Args:
        text: The file, or a part before the place.
        position: Offset of a place in the line that is asked for.
        path: Path of the file.
    """
    position = text.rfind("\n", 0, position) + 1
    line = text[position:].partition("\n")[0]
    indent = _columns(line[: len(line) - len(line.lstrip())])
    names: list[str] = []
    for definition in reversed(list(definitions(text[max(0, position - 60_000) : position], path))):
        if is_prose(path):
            return definition.name
        if definition.indent >= indent or (names and not definition.is_container):
            continue
        names.insert(0, definition.name)
        indent = definition.indent
        if indent == 0 or len(names) == 2:
            break
    return ("::" if path.endswith((".rs", ".cpp", ".cc", ".h", ".hpp")) else ".").join(names)


def _columns(space: str) -> int:
    return len(space.replace("\t", "    "))


# --- Shortening ----------------------------------------------------------------------------------------------------

_SCAN_CHARS = 120_000
"""Characters of a file that are looked through, from its beginning; clients give less."""


_LINE_NUMBER = re.compile(r"^[ \t]*\d+(?:\t|→|: )", re.MULTILINE)
_COUNT = re.compile(r"^(.+):\d+[ \t]*$", re.MULTILINE)
_NO_COUNT = re.compile(r"^.+:0[ \t]*(?:\n|\Z)", re.MULTILINE)
_GAP = "\n…\n"
_LONGEST_LINE = 600


def cut(text: str, max_chars: int) -> str:
    """Cut a text to at most that many characters: a third is the head, the rest the tail, for outcomes stand last.

    Between them stands a line with `…`; where there is no room for it, the text is its beginning alone.
    """
    if len(text) <= max_chars:
        return text
    head = max_chars // 3
    tail = max_chars - head - len(_GAP)
    return text[:head] + _GAP + text[len(text) - tail :] if tail > 0 else text[:max_chars]


def without_line_numbers(text: str) -> str:
    """Return a file's text without the numbers that the client put before its lines; unchanged if few have one."""
    head = text[:2_000].split("\n")
    numbered = sum(1 for line in head if _LINE_NUMBER.match(line))
    return _LINE_NUMBER.sub("", text) if numbered > len(head) * 0.8 else text


def without_counts(text: str) -> str:
    """Return the output of a counting search as paths: `path:3` becomes `path`, and `path:0` goes."""
    return _COUNT.sub(r"\1", _NO_COUNT.sub("", text))


def condensed(text: str, path: str, max_chars: int) -> str:
    """Shorten a file's text to that many characters: lines that define or comment are kept first, then the outer ones.

    Numbers before the lines are taken off. Lines keep their order; where lines are missing stands `…`.
    """
    text = without_line_numbers(text[:_SCAN_CHARS])
    if len(text) <= max_chars:
        return text
    whole = text.split("\n")
    lines = [line[:_LONGEST_LINE] for line in whole]
    defining = {definition.start for definition in definitions(text, path)}
    starts = accumulate((len(line) + 1 for line in whole), initial=0)
    depths = [-2 if start in defining else _depth(line) for start, line in zip(starts, lines, strict=False)]
    ranked = sorted(range(len(lines)), key=depths.__getitem__)
    kept, room = set[int](), max_chars
    for number in ranked:
        room -= len(lines[number]) + 3
        if room < 0:
            break
        kept.add(number)
    parts: list[str] = []
    for number, line in enumerate(lines):
        if number in kept:
            parts.append(line)
        elif parts and parts[-1] != "…":
            parts.append("…")
    return "\n".join(parts)


def _depth(line: str) -> int:
    """Return the rank of a line that defines nothing, the lowest first: comments, then by indent, then blank lines."""
    stripped = line.lstrip()
    if not stripped:
        return 99
    if stripped.startswith(("//", "#", "*", "/*", '"""')):
        return -1
    return min(90, len(line) - len(stripped))
