"""Cuts a document into chunks by the method that fits it; the index and the CLI call it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.chunking.code import code_chunks
from hybrid.chunking.definitions import parse
from hybrid.chunking.grammars import grammars_version
from hybrid.chunking.languages import MARKUP
from hybrid.chunking.prose import prose_chunks
from hybrid.chunking.textlines import TextLines
from hybrid.types import Chunk, Chunked

if TYPE_CHECKING:
    from hybrid.types import ChunkLimits, Document


CHUNKER_VERSION = "4"
"""Version of our own rules, raised whenever the same text would give other chunks."""

_WITHOUT_DEFINITIONS = frozenset(
    {"batch", "dockerfile", "dtd", "embedded_template", "gitignore", "gotmpl", "heex", "ini", "jinja2",
     "markdown_inline", "properties", "text", "xml"}
)  # fmt: skip


# More chunks or definitions than this, and one more for so many characters of the text, no ordinary source has: such a
# text is data, or made to be slow, and is cut at blank lines.
_LEAST = 200
_CHUNK_CHARS = 60
_DEFINITION_CHARS = 12


def chunker_version() -> str:
    """Return the version under which texts are chunked: that of our own rules and that of the grammars."""
    return f"{CHUNKER_VERSION}+grammars-{grammars_version()}"


def chunk_document(document: Document, limits: ChunkLimits) -> Chunked:
    """Cut a document into chunks: in order, disjoint, together every line that is not blank.

    Documents with headings are cut at them, source text along its definitions, the rest at blank lines. A grammar
    that is missing or gives up is named in `fallback`; the text is then cut at blank lines, and so is one of more
    headings or definitions than any ordinary text has. The work is bounded by the length. Never raises for a text.
    """
    is_markup = document.language in MARKUP
    if is_markup and (sections := prose_chunks(document.text, document.language, limits)):
        return _bounded(document, Chunked(sections, "headings"), limits)
    if is_markup or document.language in _WITHOUT_DEFINITIONS:
        return Chunked(line_chunks(document.text, limits), "lines")
    parsed = parse(document.text, document.language)
    if parsed.failure:
        return Chunked(line_chunks(document.text, limits), "lines", parsed.failure)
    return _bounded(document, Chunked(code_chunks(document.text, parsed, limits), "definitions"), limits)


def _bounded(document: Document, chunked: Chunked, limits: ChunkLimits) -> Chunked:
    """Return the chunks as they are; if they hold too many pieces for a text of this length, `line_chunks` instead."""
    length = len(document.text)
    n_definitions = sum(len(chunk.definitions) for chunk in chunked.chunks)
    if len(chunked.chunks) > _LEAST + length // _CHUNK_CHARS or n_definitions > _LEAST + length // _DEFINITION_CHARS:
        return Chunked(line_chunks(document.text, limits), "lines", "too_many")
    return chunked


def line_chunks(text: str, limits: ChunkLimits) -> tuple[Chunk, ...]:
    """Return chunks near `cut_chars`, cut at blank lines where there are any; together every line that is not blank."""
    lines = TextLines(text)
    pieces = (lines.trimmed(start, end) for start, end in lines.cut(1, len(lines), limits, {}))
    return tuple(Chunk(start, end) for start, end in pieces if start <= end)
