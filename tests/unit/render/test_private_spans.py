import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.render.marks import cut_private, without_private
from tests.support.cases import cases


@cases("render/private.txt")
def test_private_spans_are_cut(case):
    """A span goes with its tags, whatever their form; one space stands in its place."""
    text, expected = case.given(), case.json()

    assert (expected, True) == cut_private(text)
    assert expected == without_private(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a</private> b", "  b"),
        ("a <private>b</private> c</private> d", "  d"),
        ("a</private> b <private>c", "  b "),
        ("a <private>b</private> c", "a   c"),
    ],
)
def test_a_span_that_was_opened_elsewhere_begins_with_the_text(text: str, expected: str) -> None:
    """Of a part of something longer, what stands before a closing tag alone is private too."""
    assert expected == without_private(text, is_part=True)


@pytest.mark.parametrize("text", ["", "private <p> <privately> <private-key>", "<private_key>x</private_key>", "a < b"])
def test_text_without_private_spans_stays(text: str):
    """The very same text comes back."""
    assert text is without_private(text)


@given(st.lists(st.sampled_from(["<private>", "</private>", "<private x=1>", "keep", "\n"])))
def test_cutting_twice_changes_nothing_more(parts: list[str]):
    """Nothing that is left forms a tag again, and no tag is left."""
    once = without_private("".join(parts))

    assert once == without_private(once)
    assert "private" not in once


def test_hostile_text_takes_linear_time():
    """A megabyte of beginnings of tags is gone through once."""
    text = "<private " * 110_000

    assert text is without_private(text)
