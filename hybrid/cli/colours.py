"""Colours and links on a terminal: whether it knows them, and the sequences that make them.

A command writes lines with them through `say_raw`; text within them is shown with marks, as all text is. Where
standard output is no terminal, commands print what they always did.
"""

from __future__ import annotations

import os
import re
import sys
from functools import cache
from typing import TYPE_CHECKING, Any, TextIO

from hybrid.cli.common import say_lines, say_raw
from hybrid.render.marks import harmless, harmless_line, without_marks
from hybrid.render.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

_NO_COLOURS = ("", "dumb", "unknown")
_NO_LINKS = ("linux", "eterm", "cons25", "vt")
"""Beginnings of the names of terminals that would show the address of a link, or worse."""
_FIRST_VTE = 5000
"""The first version of the library of many terminals that does not stumble over links, as `VTE_VERSION` has it."""
_ESC = "\x1b"
_STYLES = {
    "bold": "1",
    "dim": "2",
    "found": "1;4",
    "comment": "2;3",
    "string": "32",
    "keyword": "35",
    "number": "36",
    "path": "1;36",
    "good": "32",
    "bad": "31",
    "wait": "33",
}
"""Name of a style → its codes: of the terminal's own sixteen colours those that can be read on dark and on light."""


def look_of(stream: TextIO, links: str, environ: Mapping[str, str] = os.environ) -> str | None:
    """Return the form of links on the terminal behind a stream; None for a pipe, or without colours.

    The form has `{path}` and perhaps `{line}` and `{host}`; it is empty where colours are shown, and no links.

    Args:
        stream: Standard output.
        links: The setting `terminal.links`.
        environ: `NO_COLOR` (any text) and `TERM` say what is wanted and known.
    """
    term = environ.get("TERM", "")
    # A Windows console names no TERM; the terminals that know these sequences tell so in other ways.
    is_known = environ.get("WT_SESSION") or environ.get("ANSICON") if sys.platform == "win32" else term
    if not stream.isatty() or environ.get("NO_COLOR") or not (term or is_known) or term in _NO_COLOURS[1:]:
        return None
    return _link_form(links, environ)


def _link_form(links: str, environ: Mapping[str, str]) -> str:
    """Return the form of the addresses; empty where they are switched off, or the terminal would not take them."""
    if links != "auto":
        return links if "{path}" in links else ""
    term, vte = environ.get("TERM", ""), environ.get("VTE_VERSION", "")
    is_old = vte.isdigit() and int(vte) < _FIRST_VTE
    is_screen = term.startswith("screen") and not environ.get("TMUX")
    if is_old or is_screen or term.startswith(_NO_LINKS):
        return ""
    # Of a file's address only kitty reads a line; others would look for a file of that name.
    return "file://{host}{path}#{line}" if environ.get("KITTY_WINDOW_ID") else "file://{host}{path}"


def address(form: str, path: str, line: int) -> str:
    """Return the address of a line in a file.

    Args:
        form: As `look_of` gives it.
        path: Absolute path.
        line: From 1.
    """
    from urllib.parse import quote_from_bytes

    slashed = path.replace("\\", "/") if os.name == "nt" else path
    slashed = slashed if slashed.startswith("/") else f"/{slashed}"
    quoted = quote_from_bytes(os.fsencode(slashed), safe="/:" if os.name == "nt" else "/")
    filled = form.replace("{path}", quoted).replace("{line}", str(line)).replace("{host}", _host())
    # The form is the user's own text; what would end the sequence has no place in an address.
    return "".join(char for char in filled if char.isascii() and char.isprintable())


def link_to(look: str | None, root: str, path: str, line: int) -> str:
    """Return the address of a line of a file of a tree; empty without links, or when there is no such file."""
    place = os.path.join(root, path)  # noqa: PTH118 - any text may be a path, and none is wrong
    if not look or not root or not os.path.isfile(place):  # noqa: PTH113
        return ""
    return address(look, place, line)


def _host() -> str:
    import platform

    return "".join(char for char in platform.node() if char.isalnum() or char in ".-")


def styled(text: str, style: str) -> str:
    """Return one line of text in a style, with marks for what a terminal obeys."""
    return f"{_ESC}[{_STYLES[style]}m{harmless_line(text)}{_ESC}[0m" if text else ""


def linked(shown: str, target: str) -> str:
    """Return a text that was made to be shown as a link to an address; the same text for an empty one."""
    return f"{_ESC}]8;;{target}{_ESC}\\{shown}{_ESC}]8;;{_ESC}\\" if target else shown


Span = tuple[int, int, str]
"""Start and end of a part of a text, and the name of its style."""


def painted(text: str, spans: Iterable[Span], found: Sequence[tuple[int, int]] = ()) -> str:
    """Return one line of text with styles, and with marks for what a terminal obeys.

    Args:
        text: One line; tabs stay.
        spans: Parts with a style, none of which overlap.
        found: Parts that stand out besides, in ascending order.

    Returns:
        The line; without styles where marks in it were changed, since the places are others then.
    """
    changed = without_marks(text)
    if changed != text:
        return visible(changed).replace("\n", "\\x0a")
    styles = [""] * len(text)
    for start, end, style in spans:
        styles[start:end] = [_STYLES[style]] * (min(end, len(text)) - start)
    for start, end in found:
        styles[start:end] = [f"{code};{_STYLES['found']}".lstrip(";") for code in styles[start:end]]
    parts: list[str] = []
    at = 0
    for place in range(1, len(text) + 1):
        if place == len(text) or styles[place] != styles[at]:
            shown = visible(text[at:place]).replace("\n", "\\x0a")
            parts.append(f"{_ESC}[{styles[at]}m{shown}{_ESC}[0m" if styles[at] else shown)
            at = place
    return "".join(parts)


class PlaceLinks:
    """Makes links of the places in lines about events, where standard output is a terminal that takes them.

    Args:
        links: The setting `terminal.links`.
        root: The working tree that paths are looked for in; empty for none.
    """

    def __init__(self, links: str, root: str) -> None:
        self._look = look_of(sys.stdout, links)
        self._root = root
        self.write: Callable[[Sequence[str]], None] = say_lines if self._look is None else _write_lines
        """Writes lines with links."""

    def put_in(self, line: str, items: Iterable[Mapping[str, Any]]) -> str:
        """Return a line with the places of the items of an event as links; as it is where there are no links."""
        if self._look is None:
            return line
        line = harmless(line)
        for item in items:
            path, start = str(item.get("path") or ""), item.get("start_line")
            target = "" if item.get("id") else link_to(self._look, self._root, path, start or 1)
            if target:
                place = rf"(?<!\S){re.escape(harmless_line(path))}:{start}(-\d+)?\b"
                line = re.sub(place, lambda found, to=target: linked(found.group(), to), line, count=1)
        return line


def _write_lines(lines: Sequence[str]) -> None:
    for line in lines:
        say_raw(line)


# --- code ---------------------------------------------------------------------------------------------------


_SORTS = {
    "Comment.Preproc": "keyword",
    "Comment": "comment",
    "Literal.String": "string",
    "Literal.Number": "number",
    "Keyword.Constant": "number",
    "Keyword": "keyword",
    "Operator.Word": "keyword",
    "Name.Tag": "keyword",
    "Generic.Heading": "bold",
    "Generic.Subheading": "bold",
}
"""Sort of token, as Pygments names it → style; the first that fits."""
_ALIKE = {"jsonc": "json", "svelte": "html", "astro": "html", "heex": "html", "gotmpl": "html", "jinja2": "html+jinja"}
"""Language → the one by whose rules it is read."""


def spans_of_lines(text: str, language: str) -> list[list[Span]]:
    """Return the parts of each line of a text that have a style; none in a language that is not known.

    Args:
        text: A part of a file. One that begins within a string or a comment may be read wrongly.
        language: As `hybrid.chunking.languages` names it.
    """
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    found: list[list[Span]] = [[] for _ in starts[:-1]]
    lexer = _lexer(language)
    if lexer is None:
        return found
    number = 0
    for at, sort, value in lexer.get_tokens_unprocessed(text):
        while starts[number + 1] <= at:
            number += 1
        style = _style(sort)
        for offset, part in enumerate(value.split("\n") if style else ()):
            start = at - starts[number] if offset == 0 else 0
            if part:
                found[number + offset].append((start, start + len(part), style))
    return found


@cache
def _style(sort: object) -> str:
    name = f"{sort}.".removeprefix("Token.")
    return next((style for of_sort, style in _SORTS.items() if name.startswith(f"{of_sort}.")), "")


@cache
def _lexer(language: str) -> Any:
    from pygments.lexers import (  # Only a terminal gets colours, so only then it is loaded.
        get_all_lexers,
        get_lexer_by_name,  # pyright: ignore[reportUnknownVariableType]
    )

    name = _ALIKE.get(language, language)
    # Looked up here first: a name that it lacks has Pygments load what other packages registered.
    is_known = any(name in aliases for _, aliases, _, _ in get_all_lexers(plugins=False))
    return get_lexer_by_name(name, stripnl=False, ensurenl=False) if is_known else None
