"""Decides what a captured node is, given where it stands: a function in a class is a method; `definitions` calls it."""

from __future__ import annotations

from typing import Literal

Role = Literal["root", "module", "container", "value", "function"]
"""What a definition is to the things inside it: locals live in a `function`, members in a `container`."""

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
    """True for kinds that hold a value rather than being called or being a type."""
    return kind in _VALUES or kind == "macro_value"


def is_prototype(kind: str, node_type: str, language: str) -> bool:
    """True for a function that is announced here and defined elsewhere, as in a header."""
    is_callable = kind in ("function", "method", "constructor")
    return is_callable and language in _WITH_PROTOTYPES and node_type in ("declaration", "field_declaration")


def role_of(kind: str, language: str) -> Role:
    """What a definition of this kind is to the things inside it."""
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
    """The kind of a definition inside a parent.

    Args:
        kind: Of the capture.
        name: Of the definition.
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
    if role != "container" or language == "elixir":
        return kind
    is_constructor = name == _CONSTRUCTORS.get(language) or (language == "cpp" and name == parent_name)
    return "constructor" if is_constructor else "method"


def _refine_member(kind: str, name: str, language: str, parent_kind: str) -> str:
    if language == "haskell" and kind == "constant":
        return "method"
    if parent_kind == "enum" and (language, kind) in _ENUM_MEMBERS:
        return "enum_member"
    return _by_case("field" if kind == "variable" else kind, name, language)


def _by_case(kind: str, name: str, language: str) -> str:
    """SCREAMING_CASE names are constants by convention, in languages that have no word for them."""
    if kind in _CONST_BY_CASE and len(name) > 1 and name.isupper() and language in _SHOUTED_CONSTANTS:
        return "constant"
    return kind
