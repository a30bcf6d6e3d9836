"""No text takes much longer to cut than ordinary source of its length, and ordinary source stays as it is."""

from __future__ import annotations

from functools import cache
from itertools import count

import pytest

from hybrid.chunking import grammars
from hybrid.chunking.chunker import chunk_document, headings_of, prose_chunks
from hybrid.chunking.definitions import parse
from hybrid.chunking.grammars import masked
from hybrid.models.registry import HashingEmbedder
from hybrid.types import ChunkLimits, Document
from hybrid_lab.speed.worst import indexing_s, ordinary, shapes
from tests.support.cases import Case, cases

LIMITS = ChunkLimits(1500, 750, 1000)
EMBEDDER = HashingEmbedder(256)
N_CHARS = 60_000


@pytest.mark.slow
@cases("chunks/worst.txt")
def test_no_text_takes_much_longer_than_ordinary_source(case: Case) -> None:
    """Processor time is at most 10 times that of ordinary source in the same run; it was up to 10,000 times."""
    language, shape = case.text.split(" ", 1)
    indexing_s("a", language, EMBEDDER)
    ratios: list[float] = []
    while len(ratios) < 3 and not (ratios and min(ratios) <= 10):  # What runs beside it disturbs the caches.
        ordinary_s = (_ordinary_s if ratios else _first_ordinary_s)()
        ratios.append(indexing_s(shapes()[shape](N_CHARS)[:N_CHARS], language, EMBEDDER)[0] / ordinary_s)

    assert min(ratios) <= 10


def _ordinary_s() -> float:
    text = ordinary(N_CHARS)
    return max(indexing_s(text, "python", EMBEDDER)[0] for _ in range(2))


_first_ordinary_s = cache(_ordinary_s)
"""Measured once for all cases; a case that fails measures it anew."""


@pytest.mark.parametrize(
    ("language", "text", "fallback"),
    [
        pytest.param("markdown", "# a\n" * 5_000, "too_many", id="headings"),
        pytest.param("markdown", "".join(f"{'#' * (1 + i % 6)} h{i}\n" for i in range(5_000)), "too_many", id="levels"),
        pytest.param("python", "a=1\n" * 5_000, "repetitive", id="values"),
        pytest.param("python", "<!--" * 5_000, "repetitive", id="no language"),
        pytest.param("vue", "<p>a</p>\n" * 5_000, "repetitive", id="component"),
        pytest.param("python", ordinary(40_000) + "a=1\n" * 10_000, "repetitive", id="a part"),
        pytest.param("bash", "()" * 10_000, "repetitive", id="scanner"),
        pytest.param("c", "".join(f"{i}%w(" for i in range(3_000)), "parse_failed", id="errors"),
        pytest.param("c", shapes()["random words"](20_000), "parse_failed", id="words"),
        pytest.param("python", shapes()["numbered '<!--'"](20_000), "parse_failed", id="numbered"),
    ],
)
def test_what_would_take_long_is_cut_by_lines_and_says_so(language: str, text: str, fallback: str) -> None:
    """The method is `lines`, the fallback is named, and no line is lost."""
    chunked = chunk_document(Document("a", "code", language, text, bytes(32)), LIMITS)

    assert ("lines", fallback) == (chunked.method, chunked.fallback)
    assert text.rstrip("\n").count("\n") + 1 == chunked.chunks[-1].end_line


def test_what_has_no_errors_but_takes_long_is_cut_by_lines_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parser stops when the time of its thread is over, and the chunks are those of the lines."""
    text = ordinary(20_000)
    document = Document("a.py", "code", "python", text, bytes(32))
    seconds = count()
    monkeypatch.setattr(grammars, "thread_time", lambda: next(seconds))
    chunked = chunk_document(document, LIMITS)

    assert ("lines", "parse_failed") == (chunked.method, chunked.fallback)
    assert text.rstrip().count("\n") + 1 == chunked.chunks[-1].end_line


def test_names_of_any_place_in_a_long_text_are_read() -> None:
    """The parser reads the text in slices; names that lie on their borders, and behind the last one, are whole."""
    text = "".join(f"def name_of_a_function_{i}(): pass\n" for i in range(2_000))
    names = [definition.name for definition in parse(text, "python").definitions]

    assert [f"name_of_a_function_{i}" for i in range(2_000)] == names


def test_a_table_among_source_stays_source() -> None:
    """Rows that differ are no repetition, and a short one does not count."""
    table = "".join(f"    ({i}, {i * i % 97}, 'row{i}'),\n" for i in range(3_000))
    rest = "# ---\n" * 100 + "\ndef last():\n    return ROWS\n"
    text = f"import os\n\nROWS = [\n{table}]\n\n{rest}"
    parsed = parse(text, "python")

    assert "" == parsed.failure
    assert "last" == parsed.definitions[-1].name


def test_ordinary_source_is_cut_along_its_definitions() -> None:
    """The bounds do not touch ordinary source of half a megabyte."""
    chunked = chunk_document(Document("a.py", "code", "python", ordinary(500_000), bytes(32)), LIMITS)

    assert ("definitions", "") == (chunked.method, chunked.fallback)


def test_a_scanner_that_looks_ahead_often_is_ordinary() -> None:
    """Scala's scanner asks for its text again and again; its definitions are found in a file of any length."""
    text = "".join(f"class A{i}(val x: Int) {{\n  def f{i}: Int =\n    x + {i}\n}}\n\n" for i in range(600))
    parsed = parse(text, "scala")

    assert ("", 1200) == (parsed.failure, sum(d.kind in ("class", "method") for d in parsed.definitions))


def test_headings_reach_to_the_next_of_their_level() -> None:
    """A heading's definition ends before the next heading of its own or a higher level, the last at the end."""
    chunks = prose_chunks("# a\n\n## b\n\n### c\n\n## d\n\n# e\n", "markdown", LIMITS)
    spans = {d.name: (d.start_line, d.end_line) for chunk in chunks for d in chunk.definitions}

    assert {"a": (1, 8), "b": (3, 6), "c": (5, 6), "d": (7, 8), "e": (9, 10)} == spans


def test_a_very_long_line_is_no_heading() -> None:
    """Titles have an end; what follows is read as before."""
    lines = ["# " + "x" * 500, "a" * 500, "===", "<!-- " + "x" * 500 + " -->", "# b"]

    assert ["b"] == [heading.title for heading in headings_of(lines, "markdown")]


def test_scopes_are_bounded() -> None:
    """Classes in classes with long names do not store all of them with each method: the nearest ones count."""
    text = "".join(f"{'  ' * i}class {'ABCDEF'[i] * 100}:\n" for i in range(6)) + "            def f(self): pass\n"
    (method,) = [definition for definition in parse(text, "python").definitions if definition.name == "f"]

    assert f"{'E' * 100}.{'F' * 100}" == method.scope[-201:]
    assert 400 == len(method.scope)


@pytest.mark.parametrize(
    ("text", "script"),
    [
        ("<p>\n<script setup>\nlet a\n</script>", "let a"),
        ("<SCRIPT>let a</SCRIPT >", "let a"),
        ("<script type='application/json'>{}</script><script>let b</script>", "let b"),
        ("<script>let a", ""),
        ("<script ", ""),
    ],
)
def test_scripts_of_components_are_found(text: str, script: str) -> None:
    """What stands between the tags of a script stays; the rest is blank, and the lines are the same."""
    plain, _, language = masked(text, "vue")

    assert (script, "typescript", text.count("\n")) == (plain.strip(), language, plain.count("\n"))
