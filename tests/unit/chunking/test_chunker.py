"""Which method cuts a document, and what is said when a parse was not to be had."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.chunking.chunker import CHUNKER_VERSION, chunk_document, chunker_version, line_chunks
from hybrid.types import ChunkLimits, Document
from tests.support.examples import examples


@pytest.mark.parametrize(
    ("language", "text", "method", "fallback"),
    [
        pytest.param("python", "def f(): pass\n", "definitions", "", id="code"),
        pytest.param("markdown", "# A\n\nText.\n", "headings", "", id="markdown"),
        pytest.param("markdown", "Only text.\n", "lines", "", id="markdown without headings"),
        pytest.param("text", "Only text.\n", "lines", "", id="text"),
        pytest.param("ini", "[a]\nb = 1\n", "lines", "", id="ini"),
        pytest.param("klingon", "batlh\n", "lines", "no_grammar", id="unknown"),
    ],
)
def test_method_fits_the_document(language, text, method, fallback, limits):
    """Code is cut along definitions, markup at headings, the rest at blank lines; a missing grammar is named."""
    chunked = chunk_document(Document("a", "code", language, text, b""), limits)

    assert (method, fallback) == (chunked.method, chunked.fallback)
    assert [(1, text.count("\n"))] == [(chunk.start_line, chunk.end_line) for chunk in chunked.chunks]


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n\n"], ids=["nothing", "a line end", "blanks"])
@pytest.mark.parametrize("language", ["python", "markdown", "text"])
def test_blank_documents_have_no_chunks(text, language, limits):
    """A document without a character of text has no chunks."""
    assert () == chunk_document(Document("a", "code", language, text, b""), limits).chunks


def test_chunking_is_deterministic(sample_text, limits):
    """The same document gives equal chunks every time."""
    document = Document("a", "code", "java", sample_text("sample.java"), b"")

    assert chunk_document(document, limits) == chunk_document(document, limits)


def test_version_names_our_rules_and_the_grammars():
    """The version changes with our rules and with the grammar collection."""
    ours, _, grammars = chunker_version().partition("+grammars-")

    assert CHUNKER_VERSION == ours
    assert grammars[0].isdigit()


def test_plain_text_is_cut_at_blank_lines(limits):
    """Paragraphs stay whole; pieces are near the aimed size."""
    paragraph = "A line of plain words.\n" * 10
    text = (paragraph + "\n") * 12
    chunks = line_chunks(text, limits)

    assert all(chunk.end_line % 11 == 10 for chunk in chunks)
    assert all(len("\n".join(text.split("\n")[c.start_line - 1 : c.end_line])) < 1500 for c in chunks)


@examples(200)
@given(st.text(st.one_of(st.sampled_from("\n\n \tab"), st.characters()), max_size=600))
def test_line_chunks_tile_any_text(text):
    """No line is lost, none is in two chunks, and none above the limit has more than one line."""
    chunks = line_chunks(text, ChunkLimits(max_chars=60, merge_chars=30, cut_chars=40))
    lines = text.split("\n")
    held = [number for c in chunks for number in range(c.start_line, c.end_line + 1)]

    assert sorted(set(held)) == held
    assert {n for n, line in enumerate(lines, start=1) if line.strip()} <= set(held)
    assert all(c.start_line == c.end_line or len("\n".join(lines[c.start_line - 1 : c.end_line])) <= 60 for c in chunks)
