"""Finds comments, strings, keywords and numbers in a text of a language: the adapter of Pygments.

Only a terminal gets colours, so only then it is imported.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from pygments.lexers import get_all_lexers, get_lexer_by_name  # pyright: ignore[reportUnknownVariableType]
from pygments.token import Token

if TYPE_CHECKING:
    from hybrid.cli.colours import Span

_STYLES = (
    (Token.Comment.Preproc, "keyword"),
    (Token.Comment, "comment"),
    (Token.Literal.String, "string"),
    (Token.Literal.Number, "number"),
    (Token.Keyword.Constant, "number"),
    (Token.Keyword, "keyword"),
    (Token.Operator.Word, "keyword"),
    (Token.Name.Tag, "keyword"),
    (Token.Generic.Heading, "bold"),
    (Token.Generic.Subheading, "bold"),
)
"""Sort of token → style; the first that fits."""
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
def _style(sort: Any) -> str:
    return next((style for of_sort, style in _STYLES if sort in of_sort), "")


@cache
def _lexer(language: str) -> Any:
    name = _ALIKE.get(language, language)
    # Looked up here first: a name that it lacks has Pygments load what other packages registered.
    is_known = any(name in aliases for _, aliases, _, _ in get_all_lexers(plugins=False))
    return get_lexer_by_name(name, stripnl=False, ensurenl=False) if is_known else None
