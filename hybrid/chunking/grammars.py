"""Adapter to tree-sitter: loads a grammar with its definition queries and parses text; `definitions` calls it.

The only module that imports `tree_sitter` and `semble_grammars`, and only when the first text is parsed.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from hybrid.chunking.rules.table import patterns_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Language, Node, Parser, Query, Tree


_MAX_LOOSE_TOKENS = 2000
"""Tokens without structure in one syntax error, above which a text counts as unparsable: queries take time in
proportion to their square."""

# Work that one parse may take, counted and not timed, so that a text has the same chunks on every machine. Of 920 files
# of 16 repositories the most are 2.1 steps a hundred bytes, and 3.4 reads a slice above 4 KB.
_SLICE_BYTES = 512
"""Bytes that the parser is handed at a time: a scanner that reads the same text again and again asks for more."""
_READS = 128
"""Times that every slice may be asked for; ordinary Scala asks 65 times."""
_STEPS = 4
"""Steps of the parser for a hundred bytes; a step is a hundred operations, so this is four operations a byte."""
_LEAST_STEPS = 100
_FIRST_PREFIX_BYTES = 512
_PREFIX_GROWTH = 4
_LEAST_ERRORS = 24
_ERRORS_PER_KB = 28
"""Errors above which a text is none of this language: the parser takes up to two hundred times as long for an error as
for a token. Of 600 files of 16 repositories the most are 5.2 a kilobyte, of beginnings 22."""
_LEAST_LOOSE_BYTES = 2048
_LOOSE_PER_KB = 92
"""Nodes that lie loose in errors, for the same reason, in what is not so short that it is part of one table."""
_MAX_OPEN = 64
"""Brackets that the end of a prefix may leave open."""
_BLOCK_BYTES = 16_384
_LEAST_BLOCK_BYTES = 1024
_MOST_REPEATED = 40
"""Times that a block of a text may be longer than its compressed form. One construct again and again is data or made to
be slow; of 1,980 files of 16 repositories the most is 27, and one short line reaches 120 to 190."""
_MAX_DEPTH = 400
"""Depth of syntax nodes that definitions are looked for at: a query takes time in proportion to the depth."""

_BRACKET = re.compile(rb"[()\[\]{}]")
_LONG_QUOTES = (b'"""', b"'''")
_CLOSED_BY = {b"(": b")", b"[": b"]", b"{": b"}"}
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


def is_repetitive(text: str) -> bool:
    """Return whether some part of a text says one thing again and again; costs a hundredth of a parse."""
    source = text.encode("utf-8", "replace")
    blocks = (source[at : at + _BLOCK_BYTES] for at in range(0, len(source), _BLOCK_BYTES))
    return any(
        len(block) > _MOST_REPEATED * len(zlib.compress(block, 1))
        for block in blocks
        if len(block) >= _LEAST_BLOCK_BYTES
    )


def parse_source(source: bytes, grammar: Grammar) -> Syntax | None:
    """Parse UTF-8 bytes and capture the definitions; None when the parser gives up or would work for too long.

    Growing prefixes are parsed first, which costs a third of the parse of a long text and shows what is full of errors.
    """
    try:
        for prefix in _prefixes(source):
            # A table or a long text that is cut is full of errors until it is closed.
            if _tree_of(prefix, grammar) is None and _tree_of(prefix + _closing(prefix), grammar) is None:
                return None
        tree = _tree_of(source, grammar)
        if tree is None or (tree.root_node.has_error and _is_rubble(tree.root_node)):
            return None
        # The same tree over the bytes: nodes of a tree that was read in slices ask for their text byte by byte.
        root = _parser_of(grammar).parse(source, tree).root_node
        captures = _captures(grammar.query, root)
    except (ValueError, RuntimeError, RecursionError, MemoryError):
        return None
    return Syntax(root=root, captures=captures)


def _prefixes(source: bytes) -> Iterator[bytes]:
    """Beginnings of a long text, each four times as long as the one before, cut at a blank line where there is one."""
    size = _FIRST_PREFIX_BYTES
    while 2 * size < len(source):
        # A comment that is cut would be full of errors.
        end = max(source.rfind(b"\n\n", size // 2, size), source.rfind(b"\n", size * 7 // 8, size))
        prefix = source[: size if end < 0 else end + 1]
        yield prefix + b"*/" if prefix.rfind(b"/*") > prefix.rfind(b"*/") else prefix
        size *= _PREFIX_GROWTH


def _closing(prefix: bytes) -> bytes:
    """What closes the text or the brackets that a prefix leaves open; too many brackets are none of a table."""
    for mark in _LONG_QUOTES:
        if prefix.count(mark) % 2:
            return mark
    stack: list[bytes] = []
    for bracket in _BRACKET.findall(prefix):
        if bracket in _CLOSED_BY:
            stack.append(_CLOSED_BY[bracket])
        elif stack and stack[-1] == bracket:
            stack.pop()
    return b"".join(reversed(stack)) if len(stack) <= _MAX_OPEN else b""


def _parser_of(grammar: Grammar) -> Parser:
    from tree_sitter import Parser

    return Parser(grammar.language)


def _tree_of(source: bytes, grammar: Grammar) -> Tree | None:
    """The tree of a text; None when it takes more reads or steps, or has more errors, than the length allows."""
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

    try:
        tree = _parser_of(grammar).parse(read, progress_callback=is_too_long)
    except ValueError:  # It was told to stop.
        return None
    return None if reads_left < 0 or _is_foreign(tree.root_node, grammar, len(source)) else tree


def _captures(query: Query | None, root: Node) -> Mapping[str, Sequence[Node]]:
    from tree_sitter import QueryCursor

    if query is None:
        return {}
    cursor = QueryCursor(query)
    cursor.set_max_start_depth(_MAX_DEPTH)
    return cursor.captures(root)


def _is_foreign(root: Node, grammar: Grammar, n_bytes: int) -> bool:
    """Return whether a text has so many errors that it is none of the language."""
    if not root.has_error:
        return False
    captures = _captures(grammar.errors, root)
    errors = captures.get("error", ())
    n_errors = len(errors) + len(captures.get("missing", ()))
    n_loose = n_errors + sum(node.child_count for node in errors)
    return (n_errors > _LEAST_ERRORS and n_errors * 1024 > _ERRORS_PER_KB * n_bytes) or (
        n_bytes >= _LEAST_LOOSE_BYTES and n_loose * 1024 > _LOOSE_PER_KB * n_bytes
    )


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
