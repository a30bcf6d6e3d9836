"""Cuts a document into chunks by the method that fits it; the index and the CLI call it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.chunking.code import code_chunks
from hybrid.chunking.definitions import parse
from hybrid.chunking.grammars import grammars_version
from hybrid.chunking.lines import line_chunks
from hybrid.chunking.prose import prose_chunks
from hybrid.types import Chunked

if TYPE_CHECKING:
    from hybrid.types import ChunkLimits, Document

CHUNKER_VERSION = "2"
"""Raised whenever the same text would give other chunks."""

_PROSE = frozenset({"asciidoc", "latex", "markdown", "org", "rst", "typst"})
_WITHOUT_DEFINITIONS = frozenset(
    {"batch", "dockerfile", "dtd", "embedded_template", "gitignore", "gotmpl", "heex", "ini", "jinja2",
     "markdown_inline", "properties", "text", "xml"}
)  # fmt: skip


def chunker_version() -> str:
    """What decides the chunks of a text: our own version and that of the grammars."""
    return f"{CHUNKER_VERSION}+grammars-{grammars_version()}"


def chunk_document(document: Document, limits: ChunkLimits) -> Chunked:
    """Cut a document into chunks: in order, disjoint, together every line that is not blank.

    Documents with headings are cut at them, source text along its definitions, the rest at blank lines. A grammar
    that is missing or gives up is named in `fallback`; the text is then cut at blank lines. Never raises for a text.
    """
    if document.language in _PROSE:
        chunks = prose_chunks(document.text, document.language, limits)
        if chunks:
            return Chunked(chunks, "headings")
        return Chunked(line_chunks(document.text, limits), "lines")
    if document.language in _WITHOUT_DEFINITIONS:
        return Chunked(line_chunks(document.text, limits), "lines")
    parsed = parse(document.text, document.language)
    if parsed.failure:
        return Chunked(line_chunks(document.text, limits), "lines", parsed.failure)
    return Chunked(code_chunks(document.text, parsed, limits), "definitions")
