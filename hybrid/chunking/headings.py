"""Finds headings in Markdown, reStructuredText, AsciiDoc, Org, LaTeX and Typst; `prose` cuts at them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class Heading(Struct, frozen=True):
    """A heading.

    Attributes:
        title: Without marks.
        level: 1 is the highest.
        start_line: First line of the heading, 1-based (the line above an overlined title).
        end_line: Last line of the heading, its underline included.
    """

    title: str
    level: int
    start_line: int
    end_line: int


_MAX_CHARS = 400
"""A longer line is no heading; titles are searched for links and anchors in time proportional to their square."""


def headings_of(lines: Sequence[str], language: str) -> list[Heading]:
    """Headings in order; empty for a language without headings."""
    finder = _FINDERS.get(language)
    return [] if finder is None else list(finder(lines))


# --- Markdown ------------------------------------------------------------------------------------------------

_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})(.*)$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_NOT_PARAGRAPH = re.compile(r"\s*$| {4}|\t| {0,3}(?:[-*+>|]|\d+[.)]|<|#{1,6}(?:\s|$)|`{3}|~{3})")


def _markdown(lines: Sequence[str]) -> Iterator[Heading]:
    """ATX and setext headings outside of front matter, fenced code and comments."""
    fence = ""
    in_comment = False
    for number in range(_front_matter_end(lines) + 1, len(lines) + 1):
        line = lines[number - 1]
        if fence:
            fence = "" if _closes(line, fence) else fence
        elif in_comment or line.lstrip().startswith("<!--"):
            in_comment = "-->" not in line
        elif opened := _FENCE.match(line):
            is_inline = opened.group(1)[0] == "`" and "`" in opened.group(2)
            fence = "" if is_inline else opened.group(1)
        elif len(line) > _MAX_CHARS:
            continue
        elif found := _ATX.match(line):
            yield Heading(_plain(found.group(2) or ""), len(found.group(1)), number, number)
        elif number > 1 and (found := _SETEXT.match(line)) and _is_title(lines[number - 2]):
            yield Heading(_plain(lines[number - 2]), 1 if found.group(1)[0] == "=" else 2, number - 1, number)


def _is_title(line: str) -> bool:
    return len(line) <= _MAX_CHARS and not _NOT_PARAGRAPH.match(line)


def _front_matter_end(lines: Sequence[str]) -> int:
    """The line that closes YAML or TOML front matter, 0 when there is none."""
    mark = lines[0].rstrip() if lines else ""
    if mark not in ("---", "+++"):
        return 0
    return next((number for number, line in enumerate(lines[1:], start=2) if line.rstrip() == mark), 0)


def _closes(line: str, fence: str) -> bool:
    mark = line.strip()
    return len(mark) >= len(fence) and set(mark) == {fence[0]}


_LINK = re.compile(r"!?\[([^\]]*)\](?:\([^)]*\)|\[[^\]]*\])")
_ANCHOR = re.compile(r"\{#[^}]*\}\s*$|<[^>]+>")


def _plain(title: str) -> str:
    """A title without links, anchors, code marks and emphasis."""
    title = _ANCHOR.sub("", _LINK.sub(r"\1", title))
    return " ".join(title.replace("`", "").replace("**", "").strip(" \t*").split())


# --- reStructuredText ----------------------------------------------------------------------------------------

_RST_LINE = re.compile(r"([!-/:-@\[-`{-~])\1{1,}[ \t]*$")


def _rst(lines: Sequence[str]) -> Iterator[Heading]:
    """Underlined titles, with or without an overline; a level is a style in order of its first appearance."""
    styles: list[str] = []
    taken = 0
    for number in range(2, len(lines) + 1):
        mark = lines[number - 1].rstrip()
        title = lines[number - 2].rstrip()
        if number - 1 <= taken or not _RST_LINE.match(mark) or not _is_rst_title(title, mark):
            continue
        overline = lines[number - 3].rstrip() if number >= 3 else ""
        is_overlined = overline == mark
        if not is_overlined and (title[0].isspace() or (overline and number - 2 > taken and not overline.isspace())):
            continue
        style = mark[0] * (2 if is_overlined else 1)
        if style not in styles:
            styles.append(style)
        taken = number
        start = number - 2 if is_overlined else number - 1
        yield Heading(_plain(title), styles.index(style) + 1, start, number)


def _is_rst_title(title: str, mark: str) -> bool:
    return (
        len(title) <= _MAX_CHARS
        and bool(title.strip())
        and not _RST_LINE.match(title)
        and len(mark) >= min(len(title.strip()), 4)
    )


# --- others --------------------------------------------------------------------------------------------------

_LATEX = re.compile(r"\s*\\(part|chapter|section|subsection|subsubsection|paragraph)\*?(?:\[[^\]]*\])?\{(.*?)\}")
_LATEX_LEVELS = {"part": 1, "chapter": 2, "section": 3, "subsection": 4, "subsubsection": 5, "paragraph": 6}


def _latex(lines: Sequence[str]) -> Iterator[Heading]:
    for number, line in enumerate(lines, start=1):
        found = _LATEX.match(line)
        if found is not None and len(found.group(2)) <= _MAX_CHARS:
            yield Heading(_plain(found.group(2)), _LATEX_LEVELS[found.group(1)], number, number)


def _marked(mark: str, block: str) -> Callable[[Sequence[str]], Iterator[Heading]]:
    """A finder of lines that begin with repetitions of a mark; between two lines that match `block` is no heading."""
    heading = re.compile(rf"({re.escape(mark)}{{1,6}})[ \t]+(\S.*)$")
    border = re.compile(block, re.IGNORECASE)

    def find(lines: Sequence[str]) -> Iterator[Heading]:
        in_block = False
        for number, line in enumerate(lines, start=1):
            if border.match(line):
                in_block = not in_block
            elif not in_block and len(line) <= _MAX_CHARS and (found := heading.match(line)):
                yield Heading(_plain(found.group(2)), len(found.group(1)), number, number)

    return find


_FINDERS: dict[str, Callable[[Sequence[str]], Iterator[Heading]]] = {
    "markdown": _markdown,
    "rst": _rst,
    "latex": _latex,
    "asciidoc": _marked("=", r"(?:-{4,}|\.{4,}|={4,}|`{3,})\s*$"),
    "org": _marked("*", r"\s*#\+(?:begin|end)_"),
    "typst": _marked("=", r"\s*`{3,}"),
}
