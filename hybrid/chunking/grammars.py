"""Adapter to tree-sitter: loads a grammar with its queries, prepares and parses texts, reads what its nodes say.

The only module that imports `tree_sitter` and `semble_grammars`, and only when the first text is parsed; `definitions`
calls it.
"""

from __future__ import annotations

import re
import sys
import zlib
from functools import cache
from itertools import pairwise
from pathlib import Path
from time import thread_time
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from hybrid.types import LineSpan

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

    from tree_sitter import Language, Node, Query, Tree


_HOSTS = frozenset({"vue", "svelte", "astro", "html"})
_SCRIPT = re.compile(r"<script\b", re.IGNORECASE)
_SCRIPT_END = re.compile(r"</script\s*>", re.IGNORECASE)
_FRONT_MATTER = re.compile(r"\A---\n(.*?\n)---", re.DOTALL)
_DATA_TYPE = re.compile(r"""type\s*=\s*["']?[\w/+-]*(?:json|template|markdown|text/x-)""", re.IGNORECASE)
_NOT_LINE_END = re.compile(r"[^\n]")
_NOT_LINE_END_BYTES = re.compile(rb"[^\n]")
_MACRO = r"[A-Z][A-Z0-9_]{3,}"
_ARGUMENTS = r"\([^()\n]*(?:\([^()\n]*\)[^()\n]*)*\)"
# A pattern begins with what stands in few places, for then it is looked for fast; the last group is what is blanked.
_MACROS_OF_LINES = re.compile(
    rf"\n[ \t]*(?=[A-Z}}cps])(?:({_MACRO}(?:"
    # Alone above a declaration; one that makes a function stands above a brace.
    rf"(?=[ \t]*\n\s*"
    rf"(?:(?:namespace|template|class|struct|inline|using|enum|extern|static|constexpr|typedef|public|protected|private)"
    rf"\b|{_MACRO}\b|//|/\*))"
    rf"|[ \t]*{_ARGUMENTS}(?=[ \t]*(?://[^\n]*)?\n\s*(?:[A-Za-z_~]|//|/\*))"
    # Before the type of a function.
    rf"|(?=\s+(?!(?:(?:static|inline|extern|const)\s+)+\w+\()"
    rf"(?:[A-Za-z_][\w:<>,]*[ \t*&]+){{1,4}}(?:operator\b|~?[\w:]+\())"
    # In the place of `public`.
    rf"|[ \t]*:(?=[ \t]*(?:\n|//))))"
    rf"|((?:(?:public|protected|private)[ \t]+(?:slots|Q_SLOTS)|signals)[ \t]*:)"
    # Between `class` and its name.
    rf"|(?:class|struct)[ \t]+({_MACRO}(?:\([^()\n]*\))?)(?=[ \t]+\w[\w:]*\s*(?:final\s*)?(?::(?!:)|\{{))"
    # In the place of `try`, `catch` or a loop, above a block.
    rf"|(?:\}}[ \t]*)?([A-Z][A-Z0-9_]*_(?:TRY|CATCH|FOR_?EACH)\b(?:[ \t]*{_ARGUMENTS})?)(?=\s*\{{))"
)
_MACRO_OF_BODY = re.compile(rf"\)\s+({_MACRO}(?:\([^()\n]*\))?)(?=\s*\{{)")
"""A macro between the parameters and the body of a function."""
_COMMENT = re.compile(r"//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_BRACE = re.compile(r"[;{}]")
_WITH_DIRECTIVES = frozenset({"c", "cpp", "objc", "csharp"})
# None of these ends in what may be missing, so that no place is looked at again and again.
_TEXTS = rb"//[^\n]*|/\*.*?(?:\*/|\Z)|\"(?:\\.|[^\"\\\n])*\"?"
_DIRECTIVE = re.compile(rb"#[ \t]*(if|el|endif)(?:" + _TEXTS + rb"|\\\n|[^\n])*", re.DOTALL)
_ELSE = re.compile(rb"#[ \t]*el")
_NEVER = re.compile(rb"#[ \t]*if[ \t]+0[ \t]*(?://|/\*|\n)")
_MAX_CONDITIONS = 16
"""Conditions around one that is looked at, at most: each branch is searched for braces."""
_TAIL_BYTES = 400
"""Bytes before a condition or its end, or behind it, that are searched for code."""
_NOT_CODE = re.compile(
    rb"\b(?:u8|[LUu])?R\"(?P<end>[^\s()\\]{0,16})\(.*?(?:\)(?P=end)\"|\Z)|" + _TEXTS + rb"|'(?:\\[^\n]{1,9}?|[^'\\\n])'"
    rb"|#(?![ \t]*(?:if|el|endif))(?:" + _TEXTS + rb"|\\\n|[^\n])*",
    re.DOTALL,
)
"""Comments, strings, characters, and directives that are no conditions."""
_NOT_CODE_OF_CSHARP = re.compile(
    rb'(?P<quotes>"{3,}).*?(?:(?P=quotes)|\Z)|@\$?"(?:[^"]|"")*"?|' + _NOT_CODE.pattern, re.DOTALL
)
_OPEN_END = re.compile(rb"(?:[=+\-*/%&|^?(\[]|\b(?:else|return))\Z")
"""Ends of a line that the next one goes on with."""
_GOES_ON = re.compile(rb"[{,)\].?=]|&&|\|\||:(?!:)|else\b")
"""Begins of a line that goes on with the one above, unless that ends as a statement or an item of a list does."""
_CPLUSPLUS = re.compile(
    r"\n(?:template[ \t]*<|namespace\b[\w: \t{]*\n|class[ \t]+\w[^;\n()]*\n|[ \t]*(?:public|private|protected)[ \t]*:)"
)
_BEFORE_ITEMS = re.compile(rb"\s+|//[^\n]*|/\*.*?\*/|#!?\[[^\n]*\]", re.DOTALL)
_ITEM = re.compile(
    rb"(?:pub\b|fn\b|impl\b|mod\b|use\b|struct\b|enum\b|trait\b|const\b|static\b|type\b|async\b|unsafe\b|extern\b|macro_rules!|\w+!\s*\{)"
)


def masked(text: str, language: str, path: str = "") -> tuple[str, str, str]:
    """Return the text to parse, its lines in the same places; the text to take signatures from; the language.

    Of a component file these are its scripts, as `typescript`. Of C and its kin, macros and conditions that hinder the
    parser are blanked, of signatures only conditions; a header of C++ is read as `cpp`. Other texts pass unchanged.
    """
    if language in _WITH_DIRECTIVES:
        text = "\n" + text  # The patterns begin with a line end.
        if language == "c" and not path.endswith(".c") and _CPLUSPLUS.search(text):
            # Once more without comments, for most texts of C need no second look.
            code = _code_of(text.encode("utf-8", "replace"), language).decode("utf-8", "replace")
            language = "cpp" if _CPLUSPLUS.search(code) else language
        written = text
        if language != "csharp":
            text = _MACRO_OF_BODY.sub(_without_last, _MACROS_OF_LINES.sub(_without_last, text))
        text, written = _without_conditions(text, written, language)
        return text[1:], written[1:], language
    if language not in _HOSTS:
        return text, text, language
    spans = list(_scripts(text))
    if language == "astro":
        spans = [match.span(1) for match in _FRONT_MATTER.finditer(text)] + spans
    text = _blanked_outside(text, spans)
    return text, text, "typescript"


def _without_last(match: re.Match[str]) -> str:
    """Return what a pattern matched, with as many bytes of blanks for its last group, which ends it."""
    start, end = match.span(match.lastindex or 0)
    behind = match.string[end : end + _TAIL_BYTES].lstrip()
    if behind.startswith(("//", "/*")) and match[0][-1] not in ":)":
        before = _COMMENT.sub("", match.string[max(0, match.start() - _TAIL_BYTES) : match.start()]).rstrip()
        if before.endswith(",") or (before.endswith("{") and "enum" in _BRACE.split(before)[-2]):
            return match[0]  # The last name of an enumeration.
    return match[0][: start - match.start()] + " " * len(match.string[start:end].encode("utf-8", "replace"))


def _code_of(source: bytes | bytearray, language: str) -> bytearray:
    """Return a text with blanks for comments, and other signs for strings and for directives but conditions."""
    pattern = _NOT_CODE_OF_CSHARP if language == "csharp" else _NOT_CODE
    return bytearray(pattern.sub(_as_signs, source))


def _as_signs(match: re.Match[bytes]) -> bytes:
    """Return one sign again and again in the place of what is no code: a blank, a quote or, for a directive, `;`."""
    sign = {b"/": b" ", b"#": b";"}.get(match[0][:1], b'"')
    return _NOT_LINE_END_BYTES.sub(sign, match[0]) if b"\n" in match[0] else sign * len(match[0])


def _without_conditions(text: str, written: str, language: str) -> tuple[str, str]:
    """Return a text, and the same with its macros, without `#if` and the like, which grammars expect in few places.

    What a condition encloses stays; of several branches that visibly go on with what stands around them, such as the
    heads of one function, only the first, behind `#if 0` the second.
    """
    if "#" not in text:
        return text, written
    source = bytearray(text.encode("utf-8", "replace"))
    macros = source if written == text else bytearray(written.encode("utf-8", "replace"))
    # Without a second branch nothing is to decide.
    code = _code_of(source, language) if _ELSE.search(source) else bytearray(source)
    groups: list[list[re.Match[bytes]]] = []
    unchanged = bytes(source)
    for at in [found.start() for found in _DIRECTIVE.finditer(bytes(code))]:
        directive = _DIRECTIVE.match(unchanged, at)  # With a comment that ends lines below.
        if directive is None or code[code.rfind(b"\n", 0, at) + 1 : at].strip():
            continue
        if directive[1] == b"if":
            groups.append([])
        elif not groups:
            continue
        groups[-1].append(directive)
        if directive[1] == b"endif":
            group = groups.pop()
            if len(groups) < _MAX_CONDITIONS:
                spans = _hindering(code, group)
                for one in (code, source, macros):
                    _blank(one, spans)
    opened = source.decode("utf-8", "replace")
    return opened, opened if macros is source else macros.decode("utf-8", "replace")


def _hindering(code: bytearray, directives: Sequence[re.Match[bytes]]) -> list[tuple[int, int]]:
    """Return where the directives of one condition are, and the branches that cannot stand beside each other."""
    branches = [(one.end(), other.start()) for one, other in pairwise(directives)]
    spans = [one.span() for one in directives]
    first, last = spans[0][0], spans[-1][1]
    if len(branches) > 1:
        is_open = any(
            _goes_on(code, 0, first, start) or _goes_on(code, start, end, last) or not _is_balanced(code, start, end)
            for start, end in branches
        )
        kept = 1 if _NEVER.match(code, first) else 0
        others = (branch for at, branch in enumerate(branches) if at != kept)
        spans += [branch for branch in others if is_open or _is_part(code, *branch)]
    return spans


def _is_balanced(code: bytearray, start: int, end: int) -> bool:
    """Return whether a branch closes the brackets that it opens, and no others, as far as their numbers tell."""
    return all(
        code.count(one, start, end) == code.count(other, start, end)
        and code.find(one, start, end) <= code.find(other, start, end)
        for one, other in (b"{}", b"()", b"[]")
    )


def _goes_on(code: bytearray, start: int, end: int, behind: int) -> bool:
    """Return whether the last line of code in a range is visibly open, or what stands behind goes on with it."""
    before = _last_line_of_code(code, start, end)
    if not before or before.startswith(b"#"):
        return False
    if before.count(b"(") > before.count(b")") or _OPEN_END.search(before):
        return True
    return before[-1] not in b";{},:" and _GOES_ON.match(code[behind : behind + _TAIL_BYTES].lstrip()) is not None


def _is_part(code: bytearray, start: int, end: int) -> bool:
    """Return whether a branch is too little for a definition, and no whole statements or items of a list either."""
    before = _last_line_of_code(code, start, end)
    return bool(before) and before[-1] not in b";{},:#" and not any(code.find(sign, start, end) >= 0 for sign in b";}@")


def _last_line_of_code(code: bytearray, start: int, end: int) -> bytes:
    """Return the last line in the last 400 bytes of a range that is not blank; `#` for one of a directive."""
    rest, _, line = code[max(start, end - _TAIL_BYTES) : end].rstrip().rpartition(b"\n")
    return b"#" if rest.endswith(b"\\") else bytes(line.strip())


def _blank(source: bytearray, spans: Iterable[tuple[int, int]]) -> None:
    """Write blanks over all but the line ends of spans."""
    for start, end in spans:
        source[start:end] = _NOT_LINE_END_BYTES.sub(b" ", source[start:end])


def without_wrappers(source: bytes, wrappers: Sequence[Node]) -> bytes | None:
    """Return the source without macro calls that only enclose items, or None when none of them does.

    Args:
        source: UTF-8 text.
        wrappers: Macro calls whose last child is the token tree.
    """
    unwrapped = bytearray(source)
    for node in wrappers:
        tokens = node.named_children[-1]
        if _holds_items(source, tokens.start_byte, tokens.end_byte) and source[tokens.end_byte - 1] == ord("}"):
            head = slice(node.start_byte, tokens.start_byte + 1)
            unwrapped[head] = re.sub(rb"[^\n]", b" ", source[head])
            unwrapped[tokens.end_byte - 1] = ord(" ")
    result = bytes(unwrapped)
    return None if result == source else result


def _scripts(text: str) -> Iterator[tuple[int, int]]:
    """Yield start and end of the scripts in a component file, without those of data.

    A script that is never closed, and all after it, is left out.
    """
    at = 0
    while script := _SCRIPT.search(text, at):
        begin = text.find(">", script.end()) + 1
        end = _SCRIPT_END.search(text, begin) if begin else None
        if end is None:
            return
        if not _DATA_TYPE.search(text[script.end() : begin]):
            yield begin, end.start()
        at = end.end()


def _holds_items(source: bytes, start: int, end: int) -> bool:
    """Return whether the brackets at a place begin with an item, such as a function, behind comments and attributes."""
    if source[start : start + 1] != b"{":
        return False
    start += 1
    while skipped := _BEFORE_ITEMS.match(source, start, end):
        start = skipped.end()
    return _ITEM.match(source, start, end) is not None


def _blanked_outside(text: str, spans: list[tuple[int, int]]) -> str:
    """Return a text with blanks for all but its line ends outside of spans, which are in order and disjoint."""
    parts: list[str] = []
    position = 0
    for start, end in [*spans, (len(text), len(text))]:
        parts += [_NOT_LINE_END.sub(" ", text[position:start]), text[start:end]]
        position = end
    return "".join(parts)


_MAX_LOOSE_TOKENS = 2000
"""Tokens without structure in one syntax error, above which a text counts as unparsable: queries take time in
proportion to their square."""

# Work that one parse may take. What can be counted is counted, so that a text has the same chunks on every machine. Of
# 2,400 files of 16 repositories the most are 2.1 steps a hundred bytes, and 3.4 reads a slice above 4 KB.
_SLICE_BYTES = 512
"""Bytes that the parser is handed at a time: a scanner that reads the same text again and again asks for more."""
_READS = 128
"""Times that every slice may be asked for at most; ordinary Scala asks 65 times."""
_STEPS = 4
"""Steps of the parser for a hundred bytes; a step is a hundred operations, so this is four operations a byte."""
_LEAST_STEPS = 100
_LEAST_ERRORS = 24
_ERRORS_PER_KB = 28
"""Errors above which a text is none of this language; of 600 files of 16 repositories the most are 5.2 a kilobyte."""
_LEAST_LOOSE_BYTES = 2048
_LOOSE_PER_KB = 92
"""Errors and nodes loose in them, above which a text of 2 KB or more is none of this language."""

# The parser takes up to four hundred times as long for an error as for a token, and says nothing of errors until it
# ends; no count of steps or reads shows them. So the clock of the thread ends what takes much too long. This seldom
# decides: what is full of errors fails by their number too if it is parsed to its end, and of 2,400 files of 16
# repositories half take 0.14 µs a byte, and the slowest 1 µs, or 5 ms if they are short.
_LONGEST_S = 0.015
_LONGEST_S_PER_BYTE = 1.5e-6
_STEPS_A_LOOK = 4
"""Steps between two looks at the clock."""

_BLOCK_BYTES = 16_384
_LEAST_BLOCK_BYTES = 1024
_MOST_REPEATED = 40
"""Times that a block of a text may be longer than its compressed form. One construct again and again is data or made to
be slow; of 1,980 files of 16 repositories the most is 27, and one short line reaches 120 to 190."""
_SAMPLE = 4
"""Divisor of a block's length: that part is compressed first, which clears nearly every ordinary text."""
_SAMPLE_SLACK = 64
_WINDOW_BITS = -12
"""zlib's window of 4 KB, without a header; setting up less memory costs a tenth for a small text."""
_WINDOW_MEMORY = 5
_MAX_DEPTH = 400
"""Depth of syntax nodes to which definitions are looked for: a query takes time in proportion to the depth."""

# Lists that a grammar nests by one hidden node for each item, so that a query takes time in proportion to the square of
# their length.
_NESTED_LISTS = {
    language: frozenset({"or_pattern", "sequence_expression", "tuple_expression", "tuple_pattern", "tuple_type"})
    for language in ("ocaml", "ocaml_interface")
}
_MAX_NESTED = 2000
"""Nodes of such a list at most, items and signs between them; a longer list is data."""

_QUERIES = Path(__file__).parent / "queries"
_INHERITS = re.compile(r"; inherits: (\w+)")
_STRING = re.compile(r'"[^"]*"')
_ROW = re.compile(r"\bat row (\d+)")
_NODE_TYPE = re.compile(r"\(([a-z_]\w*)")


class Grammar(Struct, frozen=True):
    """A language that can be parsed.

    Attributes:
        language: The compiled grammar.
        query: The patterns of definitions, or None when the grammar knows no node of them.
        nested_lists: Types of nodes whose items are nested by hidden ones.
    """

    language: Language
    query: Query | None
    nested_lists: frozenset[str] = frozenset()


class Syntax(Struct, frozen=True):
    """A parsed text.

    Attributes:
        root: The whole tree.
        captures: Nodes by capture name, as `queries/README.md` describes them.
    """

    root: Node
    captures: Mapping[str, Sequence[Node]]


@cache
def grammar_of(language: str) -> Grammar | None:
    """Return the grammar of a language, or None when there is none for it on this platform."""
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
    return Grammar(loaded, _compile(loaded, _patterns_of(language)), _NESTED_LISTS.get(language, frozenset()))


def is_repetitive(text: str) -> bool:
    """Return whether some part of a text says one thing again and again; costs a fiftieth of a parse."""
    source = text.encode("utf-8", "replace")
    blocks = (source[at : at + _BLOCK_BYTES] for at in range(0, len(source), _BLOCK_BYTES))
    return any(_is_repetitive_block(block) for block in blocks if len(block) >= _LEAST_BLOCK_BYTES)


def _is_repetitive_block(block: bytes) -> bool:
    """Return whether a block is more than forty times as long as its compressed form."""
    sample = zlib.compressobj(1, zlib.DEFLATED, _WINDOW_BITS, _WINDOW_MEMORY)
    n_bytes = len(sample.compress(block[: len(block) // _SAMPLE]) + sample.flush())
    # A part may compress a little worse than the whole, so it is given half as much again.
    if 2 * (n_bytes - _SAMPLE_SLACK) * _MOST_REPEATED > 3 * len(block):
        return False
    return len(block) > _MOST_REPEATED * len(zlib.compress(block, 1))


def parse_source(source: bytes, grammar: Grammar) -> Syntax | None:
    """Parse UTF-8 bytes and capture the definitions; None when the parser gives up or would work for too long."""
    try:
        tree = _tree_of(source, grammar)
        if tree is None or _is_foreign(tree.root_node, len(source)) or _is_rubble(tree.root_node):
            return None
        if grammar.nested_lists and _has_long_list(tree.root_node, grammar.nested_lists):
            return None
        captures = _captures(grammar.query, tree.root_node)
    except (ValueError, RuntimeError, RecursionError, MemoryError):
        return None
    return Syntax(root=tree.root_node, captures=captures)


def _tree_of(source: bytes, grammar: Grammar) -> Tree | None:
    """Return the tree of a text; None when it takes more reads, steps or time than the length allows."""
    from tree_sitter import Parser

    if not source.endswith(b"\n"):
        source += b"\n"  # A scanner of Kotlin never ends where a text ends inside an annotation.
    reads_left = _READS * (len(source) // _SLICE_BYTES + 1) + _LEAST_STEPS
    steps_left = _STEPS * len(source) // 100 + _LEAST_STEPS
    deadline_s = thread_time() + _LONGEST_S + _LONGEST_S_PER_BYTE * len(source)

    def read(offset: int, _point: object) -> bytes:
        nonlocal reads_left
        reads_left -= 1
        # A scanner that asks too often meets the end of the text; the next step then gives up.
        return source[offset : offset + _SLICE_BYTES] if reads_left >= 0 else b""

    def is_too_long(_offset: int, _has_error: bool) -> bool:
        nonlocal steps_left
        steps_left -= 1
        is_late = steps_left % _STEPS_A_LOOK == 0 and thread_time() > deadline_s
        return is_late or steps_left < 0 or reads_left < 0

    try:
        # Only a parser that reads by a function asks whether it is to go on.
        tree = Parser(grammar.language).parse(read, progress_callback=is_too_long)
    except ValueError:  # It was told to stop.
        return None
    if reads_left < 0:
        return None
    reads_left = sys.maxsize  # Its nodes read their text by the same function.
    return tree


def _captures(query: Query | None, root: Node) -> Mapping[str, Sequence[Node]]:
    """Return nodes by capture; none without a query, nor deeper than `_MAX_DEPTH`."""
    from tree_sitter import QueryCursor

    if query is None:
        return {}
    cursor = QueryCursor(query)
    cursor.set_max_start_depth(_MAX_DEPTH)
    return cursor.captures(root)


def _is_foreign(root: Node, n_bytes: int) -> bool:
    """Return whether a tree has so many errors that its text is none of the language."""
    n_errors, n_loose = _errors_in(root)
    return (n_errors > _LEAST_ERRORS and n_errors * 1024 > _ERRORS_PER_KB * n_bytes) or (
        n_bytes >= _LEAST_LOOSE_BYTES and n_loose * 1024 > _LOOSE_PER_KB * n_bytes
    )


def _errors_in(root: Node) -> tuple[int, int]:
    """Return the number of errors of a tree, and that number plus the nodes that lie loose in errors.

    Only nodes that hold an error are entered: a query would look at all the others too.
    """
    n_errors = n_loose = 0
    nodes = [root] if root.has_error else []
    while nodes:
        node = nodes.pop()
        if node.is_error:
            n_loose += node.child_count
        n_errors += node.is_error or node.is_missing
        nodes += [child for child in node.children if child.has_error]
    return n_errors, n_errors + n_loose


def _is_rubble(root: Node) -> bool:
    """Return whether the text is mainly one long error of tokens that form nothing."""
    if not root.has_error:
        return False
    errors = [node for node in (root, *root.children) if node.is_error]
    return any(error.child_count - error.named_child_count > _MAX_LOOSE_TOKENS for error in errors)


def _has_long_list(root: Node, types: Container[str]) -> bool:
    """Return whether a list of one of these types is too long for a query; nodes of fewer bytes are not entered."""
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if node.child_count > _MAX_NESTED and node.type in types:
            return True
        nodes += [child for child in node.children if child.end_byte - child.start_byte > _MAX_NESTED]
    return False


def grammars_version() -> str:
    """Return the version of the grammar collection, or `none` when it is not installed."""
    try:
        from semble_grammars import __version__  # pyright: ignore[reportMissingTypeStubs] as above
    except ImportError:
        return "none"
    return __version__


def _patterns_of(language: str) -> list[str]:
    """Return the query patterns of a language, one definition shape each; `queries/README.md` describes them.

    A pattern may name nodes that the grammar does not have: `_compile` leaves it out.
    """
    path = _QUERIES / f"{language}.scm"
    text = (path if path.is_file() else _QUERIES / "generic.scm").read_text(encoding="utf-8")
    base = _INHERITS.match(text)
    patterns = text.strip("\n").replace("\n  ", " ").split("\n")
    own = [pattern for pattern in patterns if not pattern.startswith(";")]
    return own if base is None else _patterns_of(base.group(1)) + own


def _compile(language: Language, patterns: Sequence[str]) -> Query | None:
    """Compile one query of all patterns; those the grammar does not know, or that can never match, are left out."""
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
    """Return whether the grammar has every node type that a pattern names; asking is far cheaper than compiling."""
    names = _NODE_TYPE.findall(_STRING.sub("", pattern))
    return all(name == "_" or language.id_for_node_kind(name, True) is not None for name in names)


# --- Definitions ---------------------------------------------------------------------------------------------------

_MAX_HEAD_CHARS = 200
_MAX_HEAD_BYTES = 600
_MAX_SCOPE_CHARS = 400
"""Characters of a scope that are kept, from its end, since it is stored with every definition inside."""
_MODIFIERS = re.compile(rb"[\w\s*&<>,?\[\]@.:-]*")
_LINE_END = ord("\n")
_BODY_MARKS = (" do", " then", "=>")


def join_scope(outer: str, inner: str) -> str:
    """Join scope names by dots; either may be empty; `::` and backslashes in `inner` become dots.

    Of a long scope only the last 400 characters are returned.
    """
    inner = inner.replace("::", ".").replace("\\", ".")
    return (f"{outer}.{inner}" if outer and inner else outer or inner)[-_MAX_SCOPE_CHARS:]


def last_line(node: Node) -> int:
    """Return the last line of a node, from 1; one that ends with its line break does not reach into the next line."""
    row, column = node.end_point
    return row if column == 0 and row > node.start_point[0] else row + 1


def line_at(source: bytes, node: Node, begin: int) -> int:
    """Return the line, from 1, of a byte inside a node; for a byte before the node, that of its start."""
    start = node.start_byte
    return node.start_point[0] + 1 + (source.count(b"\n", start, begin) if begin > start else 0)


def head_of(node: Node, source: bytes, begin: int) -> str:
    """Return the head of a definition on one line, at most 200 characters: modifiers, name, parameters, result.

    Args:
        node: The definition.
        source: The whole text.
        begin: Byte where the definition itself begins, behind attributes.
    """
    # Not further back than a head is long: the line of minified text is the whole text.
    nearest = max(0, begin - _MAX_HEAD_BYTES)
    line_start = source.rfind(b"\n", nearest, begin) + 1 or nearest
    if (line_start == 0 or source[line_start - 1] == _LINE_END) and _MODIFIERS.fullmatch(source, line_start, begin):
        begin = line_start
    body = _body_of(node)
    end = node.end_byte if body is None or body.start_byte <= begin else body.start_byte
    text = source[begin : min(end, begin + _MAX_HEAD_BYTES)].decode("utf-8", "replace")
    if body is None:
        text = _first_lines(text)
    return _without_body_mark(" ".join(text.split())[:_MAX_HEAD_CHARS])


def _body_of(node: Node) -> Node | None:
    """Return the body of a definition or of the function that is its value; None without one."""
    body = node.child_by_field_name("body")
    if body is not None:
        return body
    value = node.child_by_field_name("value")
    return None if value is None else value.child_by_field_name("body")


def _without_body_mark(head: str) -> str:
    """Return a head without what only opens its body: a brace, a colon, an arrow, `do`."""
    length = -1
    while length != len(head):
        length = len(head)
        head = head.rstrip(" {:=;,\\")
        for mark in _BODY_MARKS:
            head = head.removesuffix(mark)
    return head


def _first_lines(text: str) -> str:
    """Return the first line, and those after it until its round brackets are closed."""
    lines = text.split("\n")
    depth = 0
    for count, line in enumerate(lines, start=1):
        depth += line.count("(") - line.count(")")
        if depth <= 0:
            return " ".join(lines[:count])
    return text


# --- Comments, decorators and attributes ---------------------------------------------------------------------------

_BLANK = b" \t\f\r\n"
_MAX_BLANK = 1000
"""Bytes of white space beside a comment that are looked through; a minified line may hold thousands of comments."""


class Trivia(Struct, frozen=True):
    """Comments, decorators and attributes around definitions.

    Attributes:
        comments: Lines of the comments, in order; neighbours of whole lines are joined.
        leads: Last line → first line of every whole-line comment, decorator or attribute.
        attribute_ends: Start byte → end byte of decorators and attributes.
    """

    comments: tuple[LineSpan, ...]
    leads: Mapping[int, int]
    attribute_ends: Mapping[int, int]

    def after_attributes(self, source: bytes, start: int) -> int:
        """Return the byte where a definition itself begins, behind the attributes that begin at `start`, if any."""
        while start in self.attribute_ends:
            start = self.attribute_ends[start]
            while start < len(source) and source[start] in _BLANK:
                start += 1
        return start


def trivia_of(source: bytes, captures: Mapping[str, Sequence[Node]]) -> Trivia:
    """Return comments, leads and attributes of a text from the captures `comment`, `attribute` and `outer`."""
    # Comments are the most of all captures: each is asked for its places once.
    places = sorted(map(_place, captures.get("comment", ())), key=lambda place: (place.start, -place.end))
    spans = [(LineSpan(place.first_line, place.last_line), _fills_lines(place, source)) for place in places]
    leads = {span.end_line: span.start_line for span, is_whole in spans if is_whole}
    attributes = captures.get("attribute", ())
    for node in attributes:
        if _fills_lines(_place(node), source):
            leads[last_line(node)] = node.start_point[0] + 1
    leads.update(_outer_leads(captures.get("outer", ())))
    return Trivia(
        comments=tuple(_joined(spans)),
        leads=leads,
        attribute_ends={node.start_byte: node.end_byte for node in attributes},
    )


def _outer_leads(nodes: Sequence[Node]) -> Iterator[tuple[int, int]]:
    """Yield last and first line of each wrapper's part before its last child: `template <typename T>` of a function."""
    for node in nodes:
        first = node.start_point[0]
        inner = node.named_children[-1].start_point[0] if node.named_child_count else first
        if inner > first:
            yield inner, first + 1


class _Place(NamedTuple):
    """The position of a node: bytes, and lines from 1; `column` is that of its first byte, from 0."""

    start: int
    end: int
    column: int
    first_line: int
    last_line: int


def _place(node: Node) -> _Place:
    """Return the position of a node; its last line is that of `last_line`."""
    row, column = node.start_point
    end_row, end_column = node.end_point
    last_line = end_row if end_column == 0 and end_row > row else end_row + 1
    return _Place(node.start_byte, node.end_byte, column, row + 1, last_line)


def _fills_lines(place: _Place, source: bytes) -> bool:
    """Return whether nothing but white space stands before and after a node on its lines."""
    start, end = place.start, place.end
    if place.column > _MAX_BLANK or (place.column and source[start - place.column : start].strip()):
        return False
    if source[end - 1 : end] == b"\n" or source[end : end + 1] == b"\n":
        return True
    before, line_end, _ = source[end : end + _MAX_BLANK].partition(b"\n")
    return not before.strip() and bool(line_end or end + _MAX_BLANK >= len(source))


def _joined(spans: Sequence[tuple[LineSpan, bool]]) -> list[LineSpan]:
    """Return spans in order; whole lines that touch become one span, and a span inside another is dropped.

    Args:
        spans: Each with whether it is of whole lines; sorted by start, the longer ones first.
    """
    joined: list[LineSpan] = []
    was_whole = False
    for span, is_whole in spans:
        if joined and span.end_line <= joined[-1].end_line:
            continue
        if joined and is_whole and was_whole and span.start_line <= joined[-1].end_line + 1:
            joined[-1] = LineSpan(joined[-1].start_line, span.end_line)
        else:
            joined.append(span)
            was_whole = is_whole
    return joined


# --- Borders of statements -----------------------------------------------------------------------------------------

_LONG_BYTES = 900
"""Bytes of a node up to which it is not looked into: it fits into a chunk, and the cost stays small."""
_MAX_LEVEL = 40
_MAX_INDENT = 400
_GLUED = ("comment", "decorator", "attribute", "annotation", "modifiers")


def statement_borders(root: Node, source: bytes) -> dict[int, int]:
    """Return line → level in the tree, 0 at the top, of the parts of long nodes that start on a line.

    Only nodes longer than 900 bytes are looked into, so that the cost stays small next to the parse. A part right
    below a comment or decorator is no border: they belong together.
    """
    borders: dict[int, int] = {}
    stack = [(root, 0)]
    while stack:
        node, level = stack.pop()
        glued_row = -1
        for child in node.named_children:
            row, column = child.start_point
            start = child.start_byte
            if row != glued_row and column <= _MAX_INDENT and not source[start - column : start].strip():
                borders.setdefault(row + 1, level)
            glued_row = -1
            if _is_glued(child.type):
                end_row, end_column = child.end_point
                glued_row = end_row + (end_column > 0)
            if child.end_byte - start > _LONG_BYTES and level < _MAX_LEVEL:
                stack.append((child, level + 1))
    return borders


@cache
def _is_glued(node_type: str) -> bool:
    """Return True for types of nodes that belong to the part below them, such as comments and decorators."""
    return any(word in node_type for word in _GLUED)
