"""Chunks of source text: what stays whole, what is opened, what is merged, and that no line is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.chunking.chunker import chunk_document
from hybrid.types import ChunkLimits, Document
from tests.support.cases import read
from tests.support.examples import examples

SAMPLES = {
    path.name: path.read_text(encoding="utf-8")
    for path in sorted((Path(__file__).resolve().parents[2] / "fixtures" / "languages").glob("sample.*"))
}
LANGUAGES = {case.name: case.text for case in read("definitions/samples.txt")}
SMALL = ChunkLimits(max_chars=300, merge_chars=150, cut_chars=200)


def chunked(text, language, limits):
    """Chunks of a text as a document of the given language."""
    return chunk_document(Document("a", "code", language, text, b""), limits).chunks


def spans(chunks):
    """First and last lines."""
    return [(chunk.start_line, chunk.end_line) for chunk in chunks]


def assert_tiles(text, chunks):
    """Every line that is not blank lies in exactly one chunk; chunks are in order and begin and end with text."""
    lines = text.split("\n")
    held = [number for chunk in chunks for number in range(chunk.start_line, chunk.end_line + 1)]

    assert sorted(set(held)) == held
    assert {number for number, line in enumerate(lines, start=1) if line.strip()} <= set(held)
    assert all(lines[c.start_line - 1].strip() and lines[c.end_line - 1].strip() for c in chunks)


def body(name, size):
    """A Python function of roughly `size` characters made of two-line statements."""
    statement = "    value = compute(\n        value, 1)\n"
    return f"def {name}(value):\n" + statement * (size // len(statement)) + "    return value\n"


def test_a_definition_takes_its_comments_and_decorators():
    """Comments and decorators right above a definition are in its chunk, however many lines a decorator has."""
    text = body("first", 1200) + "\n\n# why\n@cache(\n    size=1,\n)\n" + body("second", 1200)
    chunks = chunked(text, "python", ChunkLimits(1500, 750, 1000))

    assert ["first", "second"] == [chunk.name for chunk in chunks]
    assert "# why" == text.split("\n")[chunks[1].start_line - 1]


def test_a_trailing_comment_stays_with_its_line():
    """A comment behind code on the line above a definition does not belong to that definition."""
    text = f"x = '{'a' * 80}'  # one\n" + body("f", 800) + "\n\n" + body("g", 1200)
    chunks = chunked(text, "python", ChunkLimits(1000, 100, 700))

    assert (1, "") == (chunks[0].start_line, chunks[0].name)
    assert [(2, "f")] == [(c.start_line, c.name) for c in chunks[1:2]]


def test_a_whole_definition_is_shown_with_kind_signature_and_scope():
    """A chunk that is one definition carries its name, kind, signature and scope."""
    text = "class Client:\n" + "".join("    " + line + "\n" for line in body("retry", 1200).split("\n"))
    chunk = next(c for c in chunked(text, "python", ChunkLimits(1300, 750, 1000)) if c.name == "retry")

    assert ("method", "def retry(value)", "Client") == (chunk.kind, chunk.signature, chunk.scope)


def test_a_long_class_is_opened_into_head_and_members():
    """A class above the limit gives its head, then its methods; its small methods are merged."""
    methods = "".join(f"    def m{n}(self):\n        return self.value + {n}\n\n" for n in range(40))
    text = 'class Client:\n    """Talks."""\n\n    value = 1\n\n' + methods
    chunks = chunked(text, "python", ChunkLimits(1500, 750, 1000))

    assert ("Client", "class") == (chunks[0].name, chunks[0].kind)
    assert {"Client"} == {chunk.scope for chunk in chunks[1:]}
    assert all(350 < len("\n".join(text.split("\n")[c.start_line - 1 : c.end_line])) <= 750 for c in chunks[:-1])


def test_a_bare_class_line_joins_its_first_method():
    """A head of a few characters does not stand alone: it shows the class together with the first method."""
    methods = "".join("    " + line + "\n" for name in ("one", "two") for line in body(name, 900).split("\n"))
    first = chunked("class Client:\n" + methods, "python", ChunkLimits(1500, 750, 1000))[0]

    assert ("Client", "class", ["Client", "one"]) == (first.name, first.kind, [d.name for d in first.definitions])


def test_small_neighbours_are_merged_without_a_name():
    """Several small functions in one chunk: the chunk has no name of its own but lists them all."""
    text = "\n\n".join(f"def f{n}():\n    return {n}\n" for n in range(5))
    (chunk,) = chunked(text, "python", ChunkLimits(1500, 750, 1000))

    assert ("", "lines") == (chunk.name, chunk.kind)
    assert ["f0", "f1", "f2", "f3", "f4"] == [definition.name for definition in chunk.definitions]


def test_neighbours_of_different_scopes_are_not_merged():
    """The last method of a long class and the function after the class stay apart."""
    text = (
        "class A:\n"
        + "".join(f"    def m{n}(self):\n        return {n}\n\n" for n in range(60))
        + "\ndef after():\n    pass\n"
    )
    chunks = chunked(text, "python", ChunkLimits(1500, 750, 1000))

    assert ("after", "") == (chunks[-1].name, chunks[-1].scope)


@pytest.mark.parametrize(
    ("language", "head", "statement", "tail"),
    [
        pytest.param(
            "python", "def f(value):\n", "    value = compute(\n        value,\n        1)\n", "", id="python"
        ),
        pytest.param(
            "c", "int f(int value)\n{\n", "    value = compute(\n        value,\n        1);\n", "}\n", id="c"
        ),
        pytest.param("rust", "fn f() {\n", "    value = compute(\n        value,\n        1);\n", "}\n", id="rust"),
        pytest.param("ruby", "def f\n", "  value = compute(\n        value,\n        1)\n", "end\n", id="ruby"),
    ],
)
def test_a_long_function_is_cut_between_statements(language, head, statement, tail):
    """Every piece of a long function begins where a statement begins, and shows the function."""
    text = head + "".join(statement.replace("1)", f"{n})") for n in range(120)) + tail
    chunks = chunked(text, language, ChunkLimits(1500, 750, 1000))
    lines = text.split("\n")

    assert len(chunks) > 3
    assert {"f"} == {chunk.name for chunk in chunks}
    assert {statement.split("\n")[0]} == {lines[chunk.start_line - 1] for chunk in chunks[1:]}


def test_a_long_statement_is_cut_rather_than_kept():
    """A table of 200 lines in one statement is cut between its rows; no piece is above the limit."""
    text = "TABLE = [\n" + "".join(f"    ('row {n}', {n}, {n}),\n" for n in range(200)) + "]\n"
    chunks = chunked(text, "python", ChunkLimits(1500, 750, 1000))

    assert max(len("\n".join(text.split("\n")[c.start_line - 1 : c.end_line])) for c in chunks) <= 1500


def test_a_line_of_any_length_stays_one_chunk():
    """A line is never cut, even when it is many times the limit."""
    text = "x = 1\n\ny = '" + "a" * 9000 + "'\n\nz = 2\n"

    assert (3, 3) in spans(chunked(text, "python", ChunkLimits(1500, 750, 1000)))


def test_comments_are_cut_to_their_chunk():
    """A comment of many lines that is spread over chunks is listed in each with the lines that lie there."""
    text = "\n".join(f"# remark number {n} about nothing in particular" for n in range(100)) + "\n"
    chunks = chunked(text, "python", ChunkLimits(1500, 750, 1000))

    assert spans(chunks) == [(span.start_line, span.end_line) for chunk in chunks for span in chunk.comments]


@pytest.mark.parametrize("name", sorted(SAMPLES))
@pytest.mark.parametrize("limits", [ChunkLimits(1500, 750, 1000), SMALL], ids=["shipped", "small"])
def test_chunks_of_the_samples_tile_them(name, limits):
    """For every sample language and for large and small limits, no line is lost and none is in two chunks."""
    chunks = chunked(SAMPLES[name], LANGUAGES[name], limits)

    assert_tiles(SAMPLES[name], chunks)
    assert all(c.start_line <= d.start_line <= c.end_line for c in chunks for d in c.definitions)


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_every_definition_is_listed_once(name):
    """Each definition of a sample is listed by exactly one chunk."""
    listed = [d for c in chunked(SAMPLES[name], LANGUAGES[name], SMALL) for d in c.definitions]

    assert len(set(listed)) == len(listed) >= 10


MUTATIONS = st.tuples(
    st.sampled_from(sorted(SAMPLES)),
    st.lists(
        st.tuples(st.integers(0, 2500), st.integers(0, 60), st.text("{}()[]\"'\n :;=#/*@é", max_size=4)), max_size=5
    ),
)


@examples(150)
@given(MUTATIONS)
def test_chunks_of_broken_sources_tile_them(mutation):
    """Sources with pieces cut out and brackets put in are still tiled."""
    name, edits = mutation
    text = SAMPLES[name]
    for position, length, inserted in edits:
        at = position % (len(text) + 1)
        text = text[:at] + inserted + text[at + length :]

    assert_tiles(text, chunked(text, LANGUAGES[name], SMALL))


@examples(150)
@given(
    st.text(st.one_of(st.sampled_from("{}()\n\n\n \t#'\"=:;<>/"), st.characters())),
    st.sampled_from(
        [*sorted(set(LANGUAGES.values())), "css", "sql", "toml", "yaml", "json", "html", "vue", "nix", "perl"]
    ),
)
def test_chunks_of_any_text_tile_it(text, language):
    """Any text in any language is tiled; nothing raises."""
    assert_tiles(text, chunked(text, language, SMALL))
