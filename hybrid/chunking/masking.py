"""Blanks what keeps a grammar from seeing definitions, lines and columns unchanged; `definitions` calls it.

Scripts of component files are read as TypeScript, C++ loses macros that stand alone before a declaration, C#
conditions around nothing but attributes, Rust the wrappers that only enclose items (`cfg_unix! { fn … }`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tree_sitter import Node

_HOSTS = frozenset({"vue", "svelte", "astro", "html"})
_SCRIPT = re.compile(r"<script\b", re.IGNORECASE)
_SCRIPT_END = re.compile(r"</script\s*>", re.IGNORECASE)
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
_BEFORE_ITEMS = re.compile(rb"\s+|//[^\n]*|/\*.*?\*/|#!?\[[^\n]*\]", re.DOTALL)
_ITEM = re.compile(
    rb"(?:pub\b|fn\b|impl\b|mod\b|use\b|struct\b|enum\b|trait\b|const\b|static\b|type\b|async\b|unsafe\b|extern\b|macro_rules!|\w+!\s*\{)"
)


def masked(text: str, language: str) -> tuple[str, str]:
    """The text to parse instead of a text, and its language; other languages pass unchanged."""
    hindrance = _HINDRANCES.get(language)
    if hindrance is not None:
        return hindrance.sub(lambda match: _NOT_LINE_END.sub(" ", match.group()), text), language
    if language not in _HOSTS:
        return text, language
    spans = list(_scripts(text))
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
        if _holds_items(source, tokens.start_byte, tokens.end_byte) and source[tokens.end_byte - 1] == ord("}"):
            head = tokens.start_byte + 1 - node.start_byte
            unwrapped[node.start_byte : tokens.start_byte + 1] = re.sub(
                rb"[^\n]", b" ", source[node.start_byte : node.start_byte + head]
            )
            unwrapped[tokens.end_byte - 1] = ord(" ")
    result = bytes(unwrapped)
    return None if result == source else result


def _scripts(text: str) -> Iterator[tuple[int, int]]:
    """Where the scripts of a component file stand; one that is never closed, and what follows it, is none."""
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
    """Return whether the brackets at a place hold items, behind comments and attributes."""
    if source[start : start + 1] != b"{":
        return False
    start += 1
    while skipped := _BEFORE_ITEMS.match(source, start, end):
        start = skipped.end()
    return _ITEM.match(source, start, end) is not None


def _blanked_outside(text: str, spans: list[tuple[int, int]]) -> str:
    parts: list[str] = []
    position = 0
    for start, end in spans:
        parts += [_NOT_LINE_END.sub(" ", text[position:start]), text[start:end]]
        position = end
    parts.append(_NOT_LINE_END.sub(" ", text[position:]))
    return "".join(parts)
