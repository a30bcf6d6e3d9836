"""The estimate of what a text defines, and the share of it that the parser finds."""

from __future__ import annotations

import pytest

from hybrid.types import Definition
from hybrid_lab.chunks.coverage import definition_coverage, missed_names
from hybrid_lab.chunks.expected import ExpectedName, expected_languages, expected_names

SAMPLES = ("py js ts tsx go java kt rs c cpp cs php rb swift scala hs ex lua sh zig").split()


def names(text, language):
    """Expected names with their lines."""
    return [(name.name, name.line) for name in expected_names(text, language)]


def test_estimate_reads_definitions_line_by_line():
    """Functions, classes and top-level assignments are expected, on their lines."""
    text = "LIMIT = 3\n\nclass A:\n    def f(self):\n        x = 1\n"

    assert [("LIMIT", 1), ("A", 3), ("f", 4)] == names(text, "python")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        pytest.param("python", '"""\ndef no():\n"""\n# def no():\n', id="python"),
        pytest.param(
            "javascript",
            "// function no() {}\n/*\nfunction no() {}\n*/\nconst = `\nfunction no() {}\n`\n",
            id="javascript",
        ),
        pytest.param("rust", '// fn no() {}\nlet = "\nfn no() {}\n";\n', id="rust"),
        pytest.param("haskell", "-- no :: Int\n{-\nno :: Int\n-}\n", id="haskell"),
        pytest.param("bash", "cat <<EOF\nno() {\nEOF\n", id="bash"),
    ],
)
def test_estimate_skips_comments_and_strings(language, text):
    """What stands in comments and strings is not expected."""
    assert [] == names(text, language)


def test_a_name_far_from_its_definition_is_missed():
    """A definition stands for a name only within two lines of it."""
    definition = Definition("f", "function", 5, 9, "", "", 0, False)
    expected = [ExpectedName("f", 3), ExpectedName("f", 8), ExpectedName("g", 5)]

    assert [ExpectedName("f", 8), ExpectedName("g", 5)] == missed_names(expected, [definition])


@pytest.mark.parametrize("extension", SAMPLES)
def test_everything_expected_of_the_samples_is_found(extension, sample_text):
    """In every sample the estimate expects at least five names, and the parser finds all of them."""
    (row,) = definition_coverage([(f"a.{extension}", sample_text(f"sample.{extension}"))])

    assert () == row.missed
    assert row.expected == row.found >= 5
    assert 1.0 == row.share


def test_rows_count_files_per_language():
    """Rows are sorted by files; unknown and plain text are left out; nothing expected gives no share."""
    rows = definition_coverage(
        [("a.py", "def f(): pass\n"), ("b.py", "x = 1\n"), ("c.json", "{}\n"), ("d.txt", "x\n"), ("e.bin", "x\n")]
    )

    assert [("python", 2, 2, 0, 2, 1.0), ("json", 1, 1, 0, 0, None)] == [
        (row.language, row.files, row.parsed, row.failed, row.found, row.share) for row in rows
    ]


def test_estimates_exist_for_the_main_languages():
    """There is an estimate for each language that has a sample."""
    assert len(SAMPLES) == len(expected_languages())
