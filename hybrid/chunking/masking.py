"""Blanks what keeps a grammar from seeing definitions, lines and columns unchanged; `definitions` calls it.

Scripts of component files are read as TypeScript, C++ loses macros that stand alone before a declaration, C#
conditions around nothing but attributes, Rust the wrappers that only enclose items (`cfg_unix! { fn … }`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

_HOSTS = frozenset({"vue", "svelte", "astro", "html"})
_SCRIPT = re.compile(r"<script\b([^>]*)>(.*?)</script\s*>", re.DOTALL | re.IGNORECASE)
_FRONT_MATTER = re.compile(r"\A---\n(.*?\n)---", re.DOTALL)
_DATA_TYPE = re.compile(r"""type\s*=\s*["']?[\w/+-]*(?:json|template|markdown|text/x-)""", re.IGNORECASE)
_NOT_LINE_END = re.compile(r"[^\n]")
_LONE_MACRO = re.compile(
    r"^[ \t]*[A-Z][A-Z0-9_]{3,}(?=[ \t]*\n\s*"
    r"(?:(?:namespace|template|class|struct|inline|using|enum|extern|static|constexpr|typedef)\b|//|/\*))",
    re.MULTILINE,
)
_CONDITIONAL_ATTRIBUTES = re.compile(r"^[ \t]*#if[^\n]*\n(?:[ \t]*\[[^\n]*\][ \t]*\n)+[ \t]*#endif", re.MULTILINE)
_HINDRANCES = {"cpp": _LONE_MACRO, "csharp": _CONDITIONAL_ATTRIBUTES}
_ITEMS = re.compile(
    rb"\{(?:\s|//[^\n]*|/\*.*?\*/|#!?\[[^\n]*\])*"
    rb"(?:pub\b|fn\b|impl\b|mod\b|use\b|struct\b|enum\b|trait\b|const\b|static\b|type\b|async\b|unsafe\b|extern\b|macro_rules!|\w+!\s*\{)",
    re.DOTALL,
)


def masked(text: str, language: str) -> tuple[str, str]:
    """The text to parse instead of a text, and its language; other languages pass unchanged."""
    hindrance = _HINDRANCES.get(language)
    if hindrance is not None:
        return hindrance.sub(lambda match: _NOT_LINE_END.sub(" ", match.group()), text), language
    if language not in _HOSTS:
        return text, language
    spans = [match.span(2) for match in _SCRIPT.finditer(text) if not _DATA_TYPE.search(match.group(1))]
    if language == "astro":
        spans = [match.span(1) for match in _FRONT_MATTER.finditer(text)] + spans
    return _blanked_outside(text, spans), "typescript"


def without_wrappers(source: bytes, wrappers: Sequence[Node]) -> bytes | None:
    """The source without macro calls that only enclose items, or None when none of them does.

    Args:
        source: UTF-8 text.
        wrappers: Macro calls whose last child is the token tree.
    """
    unwrapped = bytearray(source)
    for node in wrappers:
        tokens = node.named_children[-1]
        if _ITEMS.match(source, tokens.start_byte, tokens.end_byte) and source[tokens.end_byte - 1] == ord("}"):
            head = tokens.start_byte + 1 - node.start_byte
            unwrapped[node.start_byte : tokens.start_byte + 1] = re.sub(
                rb"[^\n]", b" ", source[node.start_byte : node.start_byte + head]
            )
            unwrapped[tokens.end_byte - 1] = ord(" ")
    result = bytes(unwrapped)
    return None if result == source else result


def _blanked_outside(text: str, spans: list[tuple[int, int]]) -> str:
    parts: list[str] = []
    position = 0
    for start, end in spans:
        parts += [_NOT_LINE_END.sub(" ", text[position:start]), text[start:end]]
        position = end
    parts.append(_NOT_LINE_END.sub(" ", text[position:]))
    return "".join(parts)
