"""Sections of Markdown, reStructuredText and other markup, with their heading paths."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybrid.chunking.chunker import headings_of, prose_chunks
from hybrid.types import ChunkLimits
from tests.support.cases import cases
from tests.support.examples import examples

ALONE = ChunkLimits(max_chars=1500, merge_chars=1, cut_chars=1000)


@cases("definitions/headings.txt")
def test_headings(case):
    """Front matter, fences, comments, rules, tables and `#` without a space are none; plain text has none.

    The first style of reStructuredText is level 1; an overlined style is another than the same without.
    """
    found = (f"{h.level} {h.start_line}-{h.end_line} {h.title}" for h in headings_of(case.text.split("\n"), case.name))

    assert case.expected == "\n".join(found)


def test_sections_carry_their_heading_path():
    """A section shows its heading; the headings above it, joined by ` > `, are its scope."""
    text = "# Guide\n\nIntro.\n\n## Setup\n\nDo.\n\n### Linux\n\napt.\n\n## Use\n\nGo.\n"
    found = [(c.name, c.kind, c.scope, c.start_line, c.end_line) for c in prose_chunks(text, "markdown", ALONE)]

    expected = [
        ("Guide", "section", "", 1, 3),
        ("Setup", "section", "Guide", 5, 7),
        ("Linux", "section", "Guide > Setup", 9, 11),
        ("Use", "section", "Guide", 13, 15),
    ]
    assert expected == found


def test_headings_are_definitions_that_reach_over_their_subsections():
    """A heading is a definition up to the next heading of its own or a higher level."""
    text = "# Guide\n\n## Setup\n\n### Linux\n\n## Use\n\nGo.\n"
    found = [d for chunk in prose_chunks(text, "markdown", ALONE) for d in chunk.definitions]

    expected = [("Guide", 1, 10), ("Setup", 3, 6), ("Linux", 5, 6), ("Use", 7, 10)]
    assert expected == [(d.name, d.start_line, d.end_line) for d in found]
    assert {"heading"} == {d.kind for d in found}


def test_small_sections_of_one_parent_are_merged(limits):
    """Short neighbours become one chunk named after the first, with all their headings listed."""
    text = "# Guide\n\n" + "\n".join(f"## Step {n}\n\nDo it.\n" for n in range(4))
    (chunk,) = prose_chunks(text, "markdown", limits)

    assert ("Guide", 5) == (chunk.name, len(chunk.definitions))


def test_sections_of_different_parents_are_not_merged(limits):
    """A short section does not swallow the chapter after it."""
    text = "# A\n\n" + "Words.\n" * 110 + "\n## A1\n\nx\n\n# B\n\ny\n"

    assert ["A", "A1", "B"] == [chunk.name for chunk in prose_chunks(text, "markdown", limits)]


def test_long_sections_are_cut_at_paragraphs(limits):
    """A section above the limit is cut at blank lines; each piece keeps heading and path."""
    paragraph = "Words and more words in a line.\n" * 6
    chunks = prose_chunks("# Guide\n\n## Long\n\n" + (paragraph + "\n") * 12, "markdown", limits)

    assert {("Long", "Guide")} == {(chunk.name, chunk.scope) for chunk in chunks[1:]}
    assert [3, 5] == [chunks[1].start_line, 5]
    assert all((chunk.start_line - 5) % 7 == 0 for chunk in chunks[2:])


def test_text_before_the_first_heading_is_a_section_without_a_name(limits):
    """A preamble is a chunk of its own, without a heading."""
    first = prose_chunks("Badges.\n" * 120 + "\n# Guide\n\nText.\n", "markdown", limits)[0]

    assert ("", "section") == (first.name, first.kind)


LINES = st.lists(
    st.sampled_from(
        ["", "# A", "## B", "text", "====", "----", "```", "~~~", "---", "* item", "    code", "<!--", "-->", "é" * 80]
    ),
    max_size=60,
)


@examples(200)
@given(LINES, st.sampled_from(["markdown", "rst", "asciidoc", "org", "latex", "typst"]))
def test_sections_tile_the_document(lines, language):
    """Whatever the markup, no line is lost and none is in two chunks."""
    text = "\n".join(lines)
    chunks = prose_chunks(text, language, ChunkLimits(300, 150, 200))
    held = [number for c in chunks for number in range(c.start_line, c.end_line + 1)]

    assert sorted(set(held)) == held
    assert not chunks or {n for n, line in enumerate(lines, start=1) if line.strip()} <= set(held)
