from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.prompting.query import WEIGHTS, Passage, passages
from tests.support.cases import cases, read

if TYPE_CHECKING:
    from tests.support.cases import Case

LINES = [
    line
    for case in read("prompting/passages.txt")
    if case.name in ("an issue", "a trace of python")
    for line in case.text.split("\n")
]


def _kinds(text: str) -> list[tuple[str, str]]:
    names = {weight: kind for kind, weight in reversed(WEIGHTS.items())}
    return [(names[part.weight], part.text) for part in passages(text)]


@cases("prompting/passages.txt")
def test_a_prompt_is_taken_apart(case: Case) -> None:
    """What stands around a comment is told as if there were none; where nothing would count, all counts."""
    assert case.expected == "\n".join(f"{kind}: {text}" for kind, text in _kinds(case.text))


@given(st.text(alphabet=st.characters(exclude_characters="\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), max_size=80))
def test_a_line_is_one_passage(text: str) -> None:
    """A prompt of one line counts fully, whatever it looks like."""

    assert (Passage(text, 1.0),) == passages(text)


@given(st.lists(st.sampled_from([*LINES, "```"]), max_size=40))
def test_nothing_is_lost(lines: list[str]) -> None:
    """The passages hold the lines of the text in order, but for blank ones and fences."""
    text = "\n".join(lines)
    kept = [line for line in text.split("\n") if line.strip() and "```" not in line]
    if len(text.strip().split("\n")) < 2:
        return

    found = passages(text)

    assert (Passage(text, 1.0),) == found or kept == [line for part in found for line in part.text.split("\n")]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("==== rates ====", "environment"),
        ("-" * 299, "environment"),
        ("=" * 299 + "a", "code"),
        ("---- " + "rate " * 30 + "----", "prose"),
        ("\t" * 150 + "a(b", "prose"),
        (" " * 290 + "total();", "code"),
        ("os" + " " * 200 + "linux", "environment"),
        ("## " + " " * 200 + "Rates", "environment"),
    ],
    ids=["title", "rule", "open rule", "sentence", "tabs", "indented code", "gap", "heading"],
)
def test_wide_lines_are_told_like_narrow_ones(line: str, kind: str) -> None:
    """Indentation, gaps and rules of any width change nothing, in a text with many such lines."""

    found = _kinds("\n".join(["Cart totals", *[line] * 400, "are wrong"]))

    assert [kind] * 400 == [name for name, part in found for told in part.split("\n") if told == line]


def test_of_very_many_lines_both_ends_are_read() -> None:
    """The question before and after a flood of short lines counts, the flood hardly."""
    found = passages("\n".join(["Why so many?", *map(str, range(10_000)), "They were few."]))

    assert (1.0, 0.2, 1.0) == tuple(part.weight for part in found)
    assert found[0].text.startswith("Why so many?")
    assert found[-1].text.endswith("They were few.")
    assert 7_000 < len(found[1].text.split("\n"))
