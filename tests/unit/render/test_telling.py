"""The lines of a text that tell most about a query."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from hybrid.render.telling import FIRST_LINES, GAP, PART_LINES, PARTS, telling_lines

CODE = "\n".join(
    [
        "def charge(self, amount):",
        '    """Charge a card."""',
        "    self.log(amount)",
        "    self.count += 1",
        "    if amount < 0:",
        "        raise ValueError(amount)",
        "    for attempt in range(5):",
        "        try:",
        "            return self.session.post(amount)",
        "        except TimeoutError:",
        "            wait(attempt)",
        "    self.close()",
        "    self.session = None",
        "    return None",
    ]
)
words = st.sampled_from(["retry", "payment", "timeout", "the", "x", "", "value"])
texts = st.lists(st.lists(words, max_size=5).map(" ".join), min_size=1, max_size=40).map("\n".join)
weights = st.dictionaries(st.sampled_from(["retri", "retry", "payment", "timeout"]), st.floats(0.1, 9))


def test_the_first_line_and_the_lines_of_the_query_are_shown() -> None:
    """What lies between them is left out, and said to be."""
    shown = telling_lines(CODE, {"timeout": 3.0, "error": 1.0, "wait": 2.0}).split("\n")

    assert ["def charge(self, amount):", GAP] == shown[:2]
    assert "        except TimeoutError:" in shown
    assert "            wait(attempt)" in shown
    assert "    self.count += 1" not in shown
    assert GAP == shown[-1]


def test_without_a_query_the_first_lines_are_shown() -> None:
    """As after a compaction: what was asked is not known any more."""
    assert [*CODE.split("\n")[:FIRST_LINES], GAP] == telling_lines(CODE, {}).split("\n")


def test_the_signature_is_shown_where_something_stands_above_it() -> None:
    """Comments and decorators may; a signature of several lines is known by its first."""
    text = "# One of many.\n@cached\n" + CODE.replace("(self, amount)", "(\n    self,\n    amount,\n)")
    shown = telling_lines(text, {"wait": 2.0}, "def charge( self, amount, )").split("\n")

    assert [GAP, "def charge(", GAP] == shown[:3]
    assert "            wait(attempt)" in shown


def test_a_single_line_is_not_left_out() -> None:
    """The mark would take as much room."""
    assert "a\nb\nc\nd" == telling_lines("a\nb\nc\nd", {})
    assert f"a\nb\nc\n{GAP}" == telling_lines("a\nb\nc\nd\ne", {})


def test_an_over_long_line_is_cut() -> None:
    """One minified line does not make a preview long."""
    assert 200 == len(telling_lines("x" * 5_000, {}))


def test_new_words_tell_more_than_the_same_again() -> None:
    """A part with another word of the query goes before the fourth part with the same word."""
    text = "\n".join(["head", *["retry = 1", "a = 2", "b = 3", "c = 4"] * 6, "timeout = 5", "d = 6", "e = 7"])

    assert "timeout = 5" in telling_lines(text, {"retry": 3.0, "timeout": 2.0}).split("\n")


@given(texts, weights)
def test_what_is_shown_is_the_text_with_gaps(text: str, worth: dict[str, float]) -> None:
    """Lines stand in their order; the first one is there; parts are few; nothing is hidden without a mark."""
    lines, shown = text.split("\n"), telling_lines(text, worth).split("\n")
    kept = [line for line in shown if line != GAP]
    rest = iter(lines)

    assert lines[0] == shown[0]
    assert all(line in rest for line in kept)
    assert len(kept) == len(lines) or GAP in shown
    assert len(kept) <= 1 + (PARTS + 1) * PART_LINES + PARTS
