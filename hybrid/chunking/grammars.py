"""Adapter to tree-sitter: loads a grammar with its definition queries and parses text; `definitions` calls it.

The only module that imports `tree_sitter` and `semble_grammars`, and only when the first text is parsed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from hybrid.chunking.rules.table import patterns_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tree_sitter import Language, Node, Query


_MAX_LOOSE_TOKENS = 2000
"""Tokens without structure in one syntax error, above which a text counts as unparsable: queries take time in
proportion to their square."""

_STRING = re.compile(r'"[^"]*"')
_ROW = re.compile(r"\bat row (\d+)")
_NODE_TYPE = re.compile(r"\(([a-z_]\w*)")


@dataclass(frozen=True, slots=True)
class Grammar:
    """A language that can be parsed.

    Attributes:
        language: The compiled grammar.
        query: Its definition patterns, or None when the grammar knows no node of them.
    """

    language: Language
    query: Query | None


@dataclass(frozen=True, slots=True)
class Syntax:
    """A parsed text.

    Attributes:
        root: The whole tree.
        captures: Nodes by capture name, as `rules` describes them.
    """

    root: Node
    captures: Mapping[str, Sequence[Node]]


@cache
def grammar_of(language: str) -> Grammar | None:
    """The grammar of a language, or None when there is none for it on this platform."""
    try:
        import semble_grammars  # pyright: ignore[reportMissingTypeStubs] it has none; this is its adapter
    except ImportError:
        return None
    try:
        loaded = semble_grammars.get_language(language)
    except (
        semble_grammars.GrammarLoadError,
        semble_grammars.LanguageNotFoundError,
        semble_grammars.UnsupportedPlatformError,
        OSError,
        ValueError,
    ):
        return None
    return Grammar(language=loaded, query=_compile(loaded, patterns_of(language)))


def parse_source(source: bytes, grammar: Grammar) -> Syntax | None:
    """Parse UTF-8 bytes and capture the definitions; None when the parser gives up."""
    from tree_sitter import Parser, QueryCursor

    try:
        root = Parser(grammar.language).parse(source).root_node
        if root.has_error and _is_rubble(root):
            return None
        captures = {} if grammar.query is None else QueryCursor(grammar.query).captures(root)
    except (ValueError, RuntimeError, RecursionError, MemoryError):
        return None
    return Syntax(root=root, captures=captures)


def _is_rubble(root: Node) -> bool:
    """True when the text is mainly one long error of tokens that form nothing."""
    errors = [node for node in (root, *root.children) if node.is_error]
    return any(error.child_count - error.named_child_count > _MAX_LOOSE_TOKENS for error in errors)


def grammars_version() -> str:
    """Version of the grammar collection, or `none` when it is not installed."""
    try:
        from semble_grammars import __version__  # pyright: ignore[reportMissingTypeStubs] as above
    except ImportError:
        return "none"
    return __version__


def _compile(language: Language, patterns: Sequence[str]) -> Query | None:
    """One query of all patterns; those the grammar does not know, or that can never match, are left out."""
    from tree_sitter import Query, QueryError

    named = [pattern for pattern in patterns if _has_nodes(language, pattern)]
    while named:
        try:
            return Query(language, "\n".join(named))
        except QueryError as error:
            # The message names the row, and every pattern is one; the last one is left out if it should not.
            row = _ROW.search(str(error))
            named.pop(min(int(row[1]), len(named) - 1) if row else -1)
    return None


def _has_nodes(language: Language, pattern: str) -> bool:
    """True when the grammar has every node type that a pattern names; asking is far cheaper than compiling."""
    names = _NODE_TYPE.findall(_STRING.sub("", pattern))
    return all(name == "_" or language.id_for_node_kind(name, True) is not None for name in names)
