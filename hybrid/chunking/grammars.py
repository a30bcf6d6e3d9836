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
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Language, Node, Query


_MAX_LOOSE_TOKENS = 2000
"""Tokens without structure in one syntax error, above which a text counts as unparsable: queries take time in
proportion to their square."""

# Work that one parse may take, counted and not timed, so that a text has the same chunks on every machine. Of 920 files
# of 16 repositories the most are 2.1 steps a hundred bytes, and 3.4 reads a slice above 4 KB.
_SLICE_BYTES = 512
"""Bytes that the parser is handed at a time: a scanner that reads the same text again and again asks for more."""
_READS = 8
"""Times that every slice may be asked for."""
_STEPS = 4
"""Steps of the parser for a hundred bytes; a step is a hundred operations, so this is four operations a byte."""
_LEAST_STEPS = 100
_FIRST_PREFIX_BYTES = 4096
_PREFIX_GROWTH = 4
_ERRORS_PER_KB = 92
"""Errors and what lies loose in them, above which the beginning of a text says that the rest is none of this language:
the parser takes up to two hundred times as long for an error as for a token. Of 445 files of 16 repositories
three reach it: tables of numbers."""
_MAX_DEPTH = 400
"""Depth of syntax nodes that definitions are looked for at: a query takes time in proportion to the depth."""

_STRING = re.compile(r'"[^"]*"')
_ROW = re.compile(r"\bat row (\d+)")
_NODE_TYPE = re.compile(r"\(([a-z_]\w*)")


@dataclass(frozen=True, slots=True)
class Grammar:
    """A language that can be parsed.

    Attributes:
        language: The compiled grammar.
        query: Its definition patterns, or None when the grammar knows no node of them.
        errors: Finds syntax errors.
    """

    language: Language
    query: Query | None
    errors: Query


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
    from tree_sitter import Query

    errors = Query(loaded, "(ERROR) @error (MISSING) @missing")
    return Grammar(loaded, _compile(loaded, patterns_of(language)), errors)


def parse_source(source: bytes, grammar: Grammar) -> Syntax | None:
    """Parse UTF-8 bytes and capture the definitions; None when the parser gives up or would work for too long.

    Growing prefixes are parsed first, which costs a third of the parse of a long text and shows what is full of errors.
    """
    try:
        for prefix in _prefixes(source):
            root = _root_of(prefix, grammar)
            if root is None or (root.has_error and _n_loose(root, grammar) * 1024 > _ERRORS_PER_KB * len(prefix)):
                return None
        root = _root_of(source, grammar)
        if root is None or (root.has_error and _is_rubble(root)):
            return None
        captures = _captures(grammar.query, root)
    except (ValueError, RuntimeError, RecursionError, MemoryError):
        return None
    return Syntax(root=root, captures=captures)


def _prefixes(source: bytes) -> Iterator[bytes]:
    """Beginnings of a long text, each four times as long as the one before, cut at a blank line where there is one."""
    size = _FIRST_PREFIX_BYTES
    while 2 * size < len(source):
        # A comment that is cut would be full of errors.
        end = source.rfind(b"\n\n", size // 2, size)
        prefix = source[: size if end < 0 else end + 1]
        yield prefix + b"*/" if prefix.rfind(b"/*") > prefix.rfind(b"*/") else prefix
        size *= _PREFIX_GROWTH


def _root_of(source: bytes, grammar: Grammar) -> Node | None:
    """The root of a parsed text; None when the parser takes more reads or steps than the length allows."""
    from tree_sitter import Parser

    reads_left = _READS * (len(source) // _SLICE_BYTES + 1) + _LEAST_STEPS
    steps_left = _STEPS * len(source) // 100 + _LEAST_STEPS

    def read(offset: int, _point: object) -> bytes:
        nonlocal reads_left
        reads_left -= 1
        # A scanner that asks too often meets the end of the text; the next step then gives up.
        return source[offset : offset + _SLICE_BYTES] if reads_left >= 0 else b""

    def is_too_long(_offset: int, _has_error: bool) -> bool:
        nonlocal steps_left
        steps_left -= 1
        return steps_left < 0 or reads_left < 0

    parser = Parser(grammar.language)
    try:
        tree = parser.parse(read, progress_callback=is_too_long)
    except ValueError:  # It was told to stop.
        return None
    if reads_left < 0:
        return None
    # The same tree over the bytes: nodes of a tree that was read in slices ask for their text byte by byte.
    return parser.parse(source, tree).root_node


def _captures(query: Query | None, root: Node) -> Mapping[str, Sequence[Node]]:
    from tree_sitter import QueryCursor

    if query is None:
        return {}
    cursor = QueryCursor(query)
    cursor.set_max_start_depth(_MAX_DEPTH)
    return cursor.captures(root)


def _n_loose(root: Node, grammar: Grammar) -> int:
    """Errors of a tree, and the nodes that lie loose in them."""
    captures = _captures(grammar.errors, root)
    n_children = sum(1 + node.child_count for node in captures.get("error", ()))
    return n_children + len(captures.get("missing", ()))


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
