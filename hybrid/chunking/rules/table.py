"""Gives the definition patterns of a language; `grammars` compiles them."""

from hybrid.chunking.rules import managed, other, scripting, systems

_QUERIES = {
    "bash": scripting.BASH,
    "c": systems.C,
    "clojure": other.CLOJURE,
    "cpp": systems.CPP,
    "csharp": managed.CSHARP,
    "css": other.CSS,
    "dart": other.DART,
    "elixir": scripting.ELIXIR,
    "erlang": other.ERLANG,
    "go": systems.GO,
    "graphql": other.GRAPHQL,
    "haskell": managed.HASKELL,
    "hcl": other.HCL,
    "java": managed.JAVA,
    "javascript": scripting.JAVASCRIPT,
    "json": other.JSON,
    "json5": other.JSON,
    "jsonc": other.JSON,
    "julia": other.JULIA,
    "kotlin": managed.KOTLIN,
    "lua": scripting.LUA,
    "make": other.MAKE,
    "objc": systems.OBJC,
    "ocaml": other.OCAML,
    "perl": other.PERL,
    "php": scripting.PHP,
    "proto": other.PROTO,
    "python": scripting.PYTHON,
    "r": other.R,
    "racket": other.SCHEME,
    "ruby": scripting.RUBY,
    "rust": systems.RUST,
    "scala": managed.SCALA,
    "scheme": other.SCHEME,
    "scss": other.CSS,
    "solidity": other.SOLIDITY,
    "sql": other.SQL,
    "starlark": scripting.PYTHON,
    "swift": systems.SWIFT,
    "toml": other.TOML,
    "tsx": scripting.TYPESCRIPT,
    "typescript": scripting.TYPESCRIPT,
    "yaml": other.YAML,
    "zig": systems.ZIG,
}


def patterns_of(language: str) -> list[str]:
    """Query patterns of a language, one definition shape each; the generic ones for a language without its own.

    A pattern may name nodes that the grammar does not have: whoever compiles them leaves it out.
    """
    query = _QUERIES.get(language)
    if query is not None:
        return query.strip("\n").replace("\n  ", " ").split("\n")
    return [f"({node_type}) @{kind}" for node_type, kind in other.NODE_KINDS.items()]
