"""Estimates by regular expressions which names a source text defines; `coverage` compares the parser with it.

The patterns are conservative and know nothing of the parser: one line, one name, no guessing. They miss definitions on
purpose rather than count what is none.
"""

from __future__ import annotations

import re

from msgspec import Struct

_C_NOISE = r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'"
_JS_NOISE = _C_NOISE + r"|`(?:\\.|[^`\\])*`|'(?:\\.|[^'\\\n])*'"
_HASH_NOISE = r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|#[^\n]*"
_NOISE = {
    "python": r"\"\"\".*?\"\"\"|'''.*?'''|" + _HASH_NOISE,
    "ruby": r"^=begin.*?^=end|<<[-~]?['\"]?(?P<tag>[A-Z_]+)['\"]?.*?^\s*(?P=tag)$|" + _HASH_NOISE,
    "elixir": r"\"\"\".*?\"\"\"|'''.*?'''|" + _HASH_NOISE,
    "bash": r"<<-?\s*['\"]?(?P<tag>\w+)['\"]?.*?^\s*(?P=tag)$|'[^']*'|(?<!\S)#[^\n]*",
    "lua": r"--\[\[.*?\]\]|\[\[.*?\]\]|--[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'",
    "haskell": r"\{-.*?-\}|--[^\n]*|\"(?:\\.|[^\"\\\n])*\"",
    "rust": r"r(?P<h>#+)\".*?\"(?P=h)|r\"[^\"]*\"|/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\\n])'",
    "go": r"`[^`]*`|" + _C_NOISE,
    "zig": r"//[^\n]*|\\\\[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])'",
    "php": r"<<<\s*['\"]?(?P<tag>\w+)['\"]?.*?^\s*(?P=tag)\b|"
    r"/\*.*?\*/|//[^\n]*|#(?!\[)[^\n]*|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'",
    "csharp": r"\"\"\".*?\"\"\"|@\"(?:\"\"|[^\"])*\"|" + _C_NOISE,
    "cpp": r"R\"(?P<d>[^(\s]*)\(.*?\)(?P=d)\"|" + _C_NOISE,
    **dict.fromkeys(("java", "kotlin", "scala", "swift"), r"\"\"\".*?\"\"\"|" + _C_NOISE),
    **dict.fromkeys(("javascript", "typescript", "tsx"), _JS_NOISE),
    "c": _C_NOISE,
}

_TS_WORDS = r"(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?"
_JS = [
    rf"^[ \t]*{_TS_WORDS}(?:async\s+)?function\s*\*?\s*([\w$]+)",
    rf"^[ \t]*{_TS_WORDS}class\s+([\w$]+)",
    r"^(?:export\s+)?(?:const|let|var)\s+([\w$]+)\s*[:=]",
]
_TS = [*_JS, rf"^[ \t]*{_TS_WORDS}(?:interface|enum)\s+([\w$]+)", rf"^[ \t]*{_TS_WORDS}type\s+([\w$]+)\s*[<=]"]
_MODIFIERS = (
    "public protected private internal static final abstract sealed open data inline override suspend"
    " case implicit lazy partial readonly async virtual unsafe default synchronized native"
    " extern new fileprivate mutating indirect nonisolated"
)
_ANY_MODIFIER = "|".join(_MODIFIERS.split())
_JVM_WORDS = rf"(?:(?:{_ANY_MODIFIER})\s+)*"
_PATTERNS = {
    "python": [r"^[ \t]*(?:async\s+)?def\s+(\w+)", r"^[ \t]*class\s+(\w+)", r"^([A-Za-z_]\w*)\s*(?::[^=\n]+)?=[^=]"],
    "javascript": _JS,
    "typescript": _TS,
    "tsx": _TS,
    "go": [r"^func\s+(?:\([^)]*\)\s*)?(\w+)", r"^type\s+(\w+)", r"^(?:var|const)\s+(\w+)"],
    "java": [
        rf"^[ \t]*{_JVM_WORDS}(?:class|interface|enum|@interface)\s+(\w+)",
        rf"^[ \t]*(?:public|protected|private)\s+{_JVM_WORDS}(?:<[^>]*>\s*)?[\w.<>\[\], ?]+\s(\w+)\s*\(",
        rf"^[ \t]*(?:public|protected|private)\s+{_JVM_WORDS}[\w.<>\[\], ?]+\s(\w+)\s*[;=]",
    ],
    "kotlin": [
        rf"^[ \t]*{_JVM_WORDS}fun\s+(?:<[^>]*>\s*)?(?:[\w<>?*]+\.)?(\w+)\s*\(",
        rf"^[ \t]*{_JVM_WORDS}(?:enum\s+)?(?:class|interface|object)\s+(\w+)",
    ],
    "rust": [
        r"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?(?:default\s+)?(?:const\s+)?(?:async\s+)?(?:unsafe\s+)?"
        r"(?:extern\s+)?fn\s+(\w+)",
        r"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?(?:struct|enum|trait|union|type)\s+(\w+)",
        r"^[ \t]*(?:pub(?:\([^)]*\))?\s+)?(?:const|static)\s+([A-Z]\w*)\s*:",
        r"^[ \t]*macro_rules!\s*(\w+)",
    ],
    "c": [
        r"^(?:[A-Za-z_][\w]*[\s*]+)+([A-Za-z_]\w*)\s*\([^;{}]*\)\s*\{",
        r"^(?:typedef\s+)?(?:struct|union|enum)\s+(\w+)\s*\{",
        r"^[ \t]*#[ \t]*define\s+(\w+)",
    ],
    "cpp": [
        r"^[ \t]*(?:class|struct)\s+(\w+)(?:\s+final)?\s*(?::[^;{]*)?\{",
        r"^[ \t]*(?:inline\s+)?namespace\s+(\w+)\s*\{",
        r"^[ \t]*#[ \t]*define\s+(\w+)",
        r"^[ \t]*using\s+(\w+)\s*=",
    ],
    "csharp": [
        rf"^[ \t]*{_JVM_WORDS}(?:class|interface|enum|struct|record(?:\s+"
        rf"(?:class|struct))?)\s+(?!(?:class|struct)\b)(\w+)",
        rf"^(?!.*\boperator\b)[ \t]*(?:public|protected|private|internal)\s+{_JVM_WORDS}[\w.<>\[\], ?]+\s(\w+)"
        r"\s*(?:<[^>]*>)?\s*\(",
        rf"^(?!.*\boperator\b)[ \t]*(?:public|protected|private|internal)\s+{_JVM_WORDS}[\w.<>\[\]?]+"
        r"\s(?!(?:get|set|init)\b)(\w+)\s*(?:\{|=>|$)",
    ],
    "php": [
        r"^[ \t]*(?:(?:final|abstract|public|protected|private|static)\s+)*function\s+&?(\w+)",
        r"^[ \t]*(?:(?:final|abstract|readonly)\s+)*(?:class|interface|trait|enum)\s+(\w+)",
    ],
    "ruby": [
        r"^[ \t]*def\s+(?:self\.)?(?!self\b)(\w+[?!=]?)",
        r"^[ \t]*(?:class|module)\s+(?:\w+::)*(\w+)",
        r"^[ \t]*([A-Z]\w*)\s*=[^=>~]",
    ],
    "swift": [
        rf"^[ \t]*{_JVM_WORDS}func\s+(\w+)",
        rf"^[ \t]*{_JVM_WORDS}(?:class|struct|enum|protocol|extension|actor)\s+(\w+)",
    ],
    "scala": [rf"^[ \t]*{_JVM_WORDS}def\s+(\w+)", rf"^[ \t]*{_JVM_WORDS}(?:class|object|trait)\s+(\w+)"],
    "haskell": [
        r"^(?!(?:import|module|type|data|class|instance|infix|deriving|foreign|newtype|default)\b)([a-z_][\w']*)\s*::",
        r"^(?:data|newtype|type|class)\s+(?:family\s+)?([A-Z]\w*)",
    ],
    "elixir": [r"^[ \t]*def(?:p|macro|macrop|guard|delegate)?\s+(\w+[?!]?)", r"^[ \t]*defmodule\s+([\w.]+)"],
    "lua": [r"^[ \t]*(?:local\s+)?function\s+(?:\w+[.:])*(\w+)\s*\(", r"^(?:\w+[.:])*(\w+)\s*=\s*function\b"],
    "bash": [r"^[ \t]*(?:function\s+)?([\w.:-]+)\s*\(\)\s*\{?", r"^[ \t]*function\s+([\w.:-]+)"],
    "zig": [
        r"^[ \t]*(?:pub\s+)?(?:export\s+)?(?:inline\s+)?(?:extern\s+(?:\"\"\s+)?)?fn\s+(\w+)\s*\(",
        r"^[ \t]*(?:pub\s+)?const\s+(\w+)\s*=\s*(?:extern\s+|packed\s+)?(?:struct|enum|union)\b",
    ],
}  # fmt: skip


class ExpectedName(Struct, frozen=True):
    """A name that a text seems to define.

    Attributes:
        name: As written.
        line: 1-based.
    """

    name: str
    line: int


def expected_languages() -> tuple[str, ...]:
    """Languages that an estimate exists for."""
    return tuple(sorted(_PATTERNS))


def expected_names(text: str, language: str) -> list[ExpectedName]:
    """Names that a text seems to define, comments and strings apart; empty for a language without patterns."""
    patterns = _COMPILED.get(language, ())
    if not patterns:
        return []
    plain = _NOISE_COMPILED[language].sub(_blanked, text)
    found = {
        ExpectedName(match.group(1), plain.count("\n", 0, match.start(1)) + 1)
        for pattern in patterns
        for match in pattern.finditer(plain)
        if match.group(1) not in _KEYWORDS
    }
    return sorted(found, key=lambda expected: (expected.line, expected.name))


def _blanked(match: re.Match[str]) -> str:
    """White space of the same lines; strings keep their quotes."""
    text = match.group()
    blank = "\n" * text.count("\n")
    return f"{text[0]}{blank}{text[-1]}" if text[0] in "\"'`" else blank


_KEYWORDS = frozenset({"if", "for", "while", "switch", "return", "class", "new"})

_COMPILED = {
    language: tuple(re.compile(pattern, re.MULTILINE) for pattern in patterns)
    for language, patterns in _PATTERNS.items()
}
_NOISE_COMPILED = {language: re.compile(noise, re.MULTILINE | re.DOTALL) for language, noise in _NOISE.items()}
