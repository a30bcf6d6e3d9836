"""Finds the definitions and comments of a source text; `chunker` builds chunks from them, `coverage` counts them.

Never raises for a text: `Parsed.failure` says why a text cannot be parsed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from hybrid.chunking.grammars import (
    Trivia,
    grammar_of,
    head_of,
    is_repetitive,
    join_scope,
    last_line,
    line_at,
    masked,
    parse_source,
    statement_borders,
    trivia_of,
    without_wrappers,
)
from hybrid.chunking.names import OF_PARENT, Named, names_of
from hybrid.types import Definition, LineSpan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tree_sitter import Node


# --- Kinds ---------------------------------------------------------------------------------------------------------

Role = Literal["root", "module", "container", "value", "function"]
"""The part that a definition plays for what is inside it: locals live in a `function`, members in a `container`."""

ORDER = {
    kind: position
    for position, kind in enumerate(
        "struct union enum class interface trait protocol impl extension object module namespace type"
        " constructor method function join macro macro_value constant event enum_member property field variable"
        " body opaque".split()
    )
}
"""Precedence of captures of one and the same node."""

_CONTAINERS = frozenset("class struct union enum interface trait protocol impl extension object type".split())
_MODULES = frozenset({"module", "namespace"})
_CALLABLE = frozenset({"function", "method", "constructor", "macro", "prototype"})
_WITH_PROTOTYPES = frozenset({"c", "cpp", "objc"})
_VALUES = frozenset({"constant", "variable", "field", "property", "enum_member"})

_CONSTRUCTORS = {
    "python": "__init__",
    "javascript": "constructor",
    "typescript": "constructor",
    "tsx": "constructor",
    "ruby": "initialize",
    "php": "__construct",
    "scala": "this",
}
_NO_MEMBERS_OUTSIDE = frozenset({"kotlin", "swift", "scala"})
_ENUM_MEMBERS = frozenset({("zig", "field"), ("python", "variable")})
_SHOUTED_CONSTANTS = frozenset(
    {"c", "cpp", "groovy", "java", "javascript", "lua", "objc", "perl", "python", "starlark", "tsx", "typescript"}
)
_CONST_BY_CASE = frozenset({"variable", "field"})


def is_value(kind: str) -> bool:
    """Return True for kinds that hold a value rather than being called or being a type."""
    return kind in _VALUES or kind == "macro_value"


def is_prototype(kind: str, node_type: str, language: str) -> bool:
    """Return True for a function that is announced here and defined elsewhere, as in a header."""
    is_callable = kind in ("function", "method", "constructor")
    return is_callable and language in _WITH_PROTOTYPES and node_type in ("declaration", "field_declaration")


def role_of(kind: str, language: str) -> Role:
    """Return the part that a definition of this kind plays for the definitions inside it."""
    if kind in _CALLABLE:
        return "function"
    if kind in _MODULES:
        return "container" if language == "ruby" else "module"
    if kind in _CONTAINERS:
        return "container"
    if language == "haskell":
        return "container" if kind == "enum_member" else "function"
    return "value"


def refine(kind: str, name: str, language: str, parent: tuple[Role, str, str]) -> str:
    """Return the final kind of a definition: a function in a class is a method, a variable a field, and so on.

    Args:
        kind: Kind of the capture.
        name: Name of the definition.
        language: Grammar name.
        parent: Role, kind and name of the nearest enclosing definition.
    """
    role, parent_kind, parent_name = parent
    if kind == "macro_value":
        return "macro"
    if kind in ("function", "method"):
        return _refine_function(kind, name, language, role, parent_name)
    if role == "container":
        return _refine_member(kind, name, language, parent_kind)
    if kind in ("property", "field") and language in _NO_MEMBERS_OUTSIDE:
        kind = "variable"
    return _by_case(kind, name, language)


def _refine_function(kind: str, name: str, language: str, role: Role, parent_name: str) -> str:
    """Return `constructor` or `method` for a function in a container, else the kind."""
    if role != "container" or language == "elixir":
        return kind
    is_constructor = name == _CONSTRUCTORS.get(language) or (language == "cpp" and name == parent_name)
    return "constructor" if is_constructor else "method"


def _refine_member(kind: str, name: str, language: str, parent_kind: str) -> str:
    """Return the kind of a value, type or constant in a container."""
    if language == "haskell" and kind == "constant":
        return "method"
    if parent_kind == "enum" and (language, kind) in _ENUM_MEMBERS:
        return "enum_member"
    return _by_case("field" if kind == "variable" else kind, name, language)


def _by_case(kind: str, name: str, language: str) -> str:
    """Return `constant` for a SCREAMING_CASE name in a language without a keyword for constants, else the kind."""
    if kind in _CONST_BY_CASE and len(name) > 1 and name.isupper() and language in _SHOUTED_CONSTANTS:
        return "constant"
    return kind


_NOT_DEFINITIONS = frozenset({"comment", "attribute", "outer", "wrapper"})
_MAX_DEPTH = 64
"""Definitions around a node at most; a node that lies deeper is passed over, for no one writes it by hand."""
_LINES_OF_CODE = 5
"""Lines behind the first of a function, from which a value that holds it is more than a value, such as a handler that
is handed to a wrapper, or a property with a body."""
_MAX_WRAPPERS = 3
"""Times that macro calls around definitions are taken off at most; each time costs another parse."""
_LEAST_CAPTURES = 500
_CAPTURES_PER_KB = 64
"""Captures a kilobyte, beside 500, above which a text is given up; of 920 files of 16 repositories the most are 46."""


class Parsed(Struct, frozen=True):
    """The result of a parse.

    Attributes:
        definitions: Sorted by (start_line, −end_line).
        comments: Comments and docstrings in order; neighbours of whole lines are joined.
        failure: `no_grammar`, `parse_failed` (it is no text of this language, or would take too long), `repetitive` (it
            says one thing again and again) or `too_many` (more definitions than any source has), else empty.
        leads: Last line → first line of whole-line comments, decorators and attributes.
        borders: Lines where a statement starts → how deep it is nested; only inside what is too long to stay whole.
    """

    definitions: tuple[Definition, ...] = ()
    comments: tuple[LineSpan, ...] = ()
    failure: str = ""
    leads: Mapping[int, int] = field(default_factory=dict[int, int])
    borders: Mapping[int, int] = field(default_factory=dict[int, int])


def parse(text: str, language: str, path: str = "") -> Parsed:
    """Find the definitions, comments and statement borders of a text.

    Args:
        text: Line ends are LF.
        language: Grammar name; of `vue`, `svelte`, `astro` and `html` the scripts are read.
        path: Of the file; one of C that is not called `.c` may be a header of C++.
    """
    # Scripts of components come with blanks for what stands around them, so the whole text is looked at.
    has_repetitions = is_repetitive(text)
    text, heads, language = masked(text, language, path)
    grammar = grammar_of(language)
    if grammar is None:
        return Parsed(failure="no_grammar")
    if has_repetitions:
        return Parsed(failure="repetitive")
    source = text.encode("utf-8", "replace")
    syntax = parse_source(source, grammar)
    for _ in range(_MAX_WRAPPERS):
        wrappers = () if syntax is None else syntax.captures.get("wrapper", ())
        unwrapped = without_wrappers(source, wrappers) if wrappers else None
        if unwrapped is None:
            break
        source, syntax = unwrapped, parse_source(unwrapped, grammar)
    if syntax is None:
        return Parsed(failure="parse_failed")
    if sum(map(len, syntax.captures.values())) > _LEAST_CAPTURES + _CAPTURES_PER_KB * len(source) // 1024:
        return Parsed(failure="too_many")
    trivia = trivia_of(source, syntax.captures)
    finder = _Finder(source, heads.encode("utf-8", "replace"), language, trivia)
    for event in _in_order(syntax.captures):
        finder.visit(*event)
    return Parsed(
        definitions=finder.definitions(),
        comments=trivia.comments,
        leads=trivia.leads,
        borders=statement_borders(syntax.root, source),
    )


def _is_initialised(declaration: Node) -> bool:
    """Return whether a declaration gives what it declares a value, as of a lambda."""
    return any(declarator.type == "init_declarator" for declarator in declaration.children_by_field_name("declarator"))


def _in_order(captures: Mapping[str, Sequence[Node]]) -> Iterator[tuple[int, int, str, Node]]:
    """Yield captured nodes outermost first: (start byte, end byte, capture, node)."""
    events = sorted(
        (node.start_byte, -node.end_byte, ORDER[capture], number, capture, node)
        for capture, nodes in captures.items()
        if capture not in _NOT_DEFINITIONS and not capture.startswith("_")
        for number, node in enumerate(nodes)
    )  # No two have the same numbers, so nodes are not compared.
    for start, negative_end, _order, _number, capture, node in events:
        yield start, -negative_end, capture, node


class _Frame(Struct):
    """An enclosing definition, up to its last byte.

    Attributes:
        end: The byte behind it.
        role: The part that it plays for what is inside.
        kind: Its kind; `enum` or `struct` for a body, empty for the root.
        name: Its name; empty without one.
        scope: The scope of what is inside.
        depth: The depth of what is inside.
        clauses: Number of the definition inside that the next clause may join; −1 for none.
        clause_names: Names of clauses that join it.
        number: Its number among the definitions; −1 without one.
    """

    end: int
    role: Role
    kind: str = ""
    name: str = ""
    scope: str = ""
    depth: int = 0
    clauses: int = -1
    clause_names: tuple[str, ...] = ()
    number: int = -1


class _Finder:
    """Turns captured nodes, outermost first, into definitions; keeps the stack of what encloses the next node."""

    def __init__(self, source: bytes, heads: bytes, language: str, trivia: Trivia) -> None:
        self._source = source
        self._heads = heads
        """The source with all that belongs into a signature, in the same places."""
        self._language = language
        self._trivia = trivia
        self._found: list[Definition] = []
        """Those found so far; one may still grow by another clause."""
        self._frames = [_Frame(end=len(source) + 1, role="root")]
        self._taken: tuple[int, int] = (-1, -1)
        self._taken_ids: set[int] = set()

    def definitions(self) -> tuple[Definition, ...]:
        """Return the definitions of all nodes visited so far, sorted by (start_line, −end_line)."""
        found = sorted(self._found, key=lambda one: (one.start_line, -one.end_line))
        return tuple(one if one.start_line <= one.end_line else replace(one, end_line=one.start_line) for one in found)

    def visit(self, start: int, end: int, capture: str, node: Node) -> None:
        """Add the definitions of the next captured node, and note what encloses the nodes after it."""
        frames = self._frames
        while len(frames) > 1 and frames[-1].end <= start:
            frames.pop()
        if (start, end) != self._taken:
            self._taken = (start, end)
            self._taken_ids.clear()
        elif node.id in self._taken_ids:
            return
        if len(frames) > _MAX_DEPTH:
            return
        if capture == "opaque":
            if frames[-1].role == "value" and node.end_point[0] - node.start_point[0] >= _LINES_OF_CODE:
                self._found[frames[-1].number] = replace(self._found[frames[-1].number], is_value=False)
            self._enter(end, "function")
        elif capture == "body":
            self._enter(end, "container", "enum" if "enum" in node.type else "struct")
        elif not (frames[-1].role == "function" and is_value(capture)):
            self._define(start, end, capture, node)

    def _enter(self, end: int, role: Role, kind: str = "") -> None:
        """Open a frame without a name: the nodes inside have the same scope as those outside."""
        above = self._frames[-1]
        self._frames.append(_Frame(end, role, kind, "", above.scope, above.depth))

    def _define(self, start: int, end: int, capture: str, node: Node) -> None:
        """Add the definitions of a node, or its clause, and open the frame of what is inside."""
        above = self._frames[-1]
        names = self._names(node, above)
        if not names:
            if capture in ("namespace", "struct", "class"):
                self._enter(end, role_of(capture, self._language), capture)
            return
        if above.end == end and names[0].name == above.name and above.role == "function":
            return  # `const f = function f() {}` defines one thing
        if capture == "join":
            self._join(start, end, node, names)
            return
        found = [self._definition(start, capture, node, named) for named in names]
        self._taken_ids.add(node.id)
        self._found += found
        if len(found) == 1:
            self._open(end, found[0])
            self._frames[-1].number = len(self._found) - 1

    def _names(self, node: Node, above: _Frame) -> Sequence[Named]:
        """Return the names that a node defines, with the name of what encloses it in the place of `OF_PARENT`."""
        names = names_of(node, self._language)
        if names and names[0].name == OF_PARENT:
            return [Named(above.name.rpartition(".")[2])] if above.name else ()
        return names

    def _open(self, end: int, one: Definition, role: Role | None = None) -> None:
        """Open the frame of a definition; without a role, it has that of its kind."""
        scope = join_scope(one.scope, one.name)
        role = role or role_of(one.kind, self._language)
        self._frames.append(_Frame(end, role, one.kind, one.name, scope, one.depth + 1))

    def _definition(self, start: int, capture: str, node: Node, named: Named) -> Definition:
        """Return the definition of one name of a node that begins at a byte; its end may lie before its start."""
        above = self._frames[-1]
        part = named.node or node
        begin = self._trivia.after_attributes(self._source, start) if named.node is None else part.start_byte
        kind = refine(named.kind or capture, named.name, self._language, (above.role, above.kind, above.name))
        scope = join_scope(above.scope, named.scope)
        if kind == "method" and self._language == "cpp" and named.scope.rpartition(".")[2] == named.name:
            kind = "constructor"
        if is_prototype(kind, node.type, self._language) and not _is_initialised(node):
            kind = "prototype"
        start_line = line_at(self._source, node if named.node is None else part, begin)
        return Definition(
            name=named.name,
            kind=kind,
            start_line=start_line,
            end_line=last_line(part),
            signature=head_of(node, self._heads, max(begin, node.start_byte) if named.node is None else start),
            scope=scope,
            depth=above.depth,
            is_value=not named.kind and is_value(capture) if kind == "macro" else is_value(kind),
        )

    def _join(self, start: int, end: int, node: Node, names: Sequence[Named]) -> None:
        """Take a clause of a function: extend the definition right above if it has the same name, else begin one.

        A clause that is no function, among the locals of one, is passed over.
        """
        above = self._frames[-1]
        name = names[0].name
        clause_kind = names[0].kind
        if above.clauses >= 0 and name in above.clause_names:
            one = replace(self._found[above.clauses], name=name, end_line=last_line(node))
            if clause_kind == "function" and one.kind == "constant":
                one = replace(one, kind="function", is_value=False)
            self._found[above.clauses] = one
        elif above.role == "function" and clause_kind != "function":
            return
        else:
            one = self._definition(start, clause_kind or "function", node, Named(name))
            above.clauses = len(self._found)
            self._found.append(one)
        self._taken_ids.add(node.id)
        above.clause_names = tuple(named.name for named in names) if node.type == "signature" else (name,)
        self._open(end, one, "function")
