import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.answer.pack import SHORTENED, Room, measure_text, pack, shortened


def text_of(n_lines: int) -> str:
    """A header and some body lines of ten characters."""
    return "\n".join(["[code] a", *["  12345678"] * n_lines])


rendered = st.lists(st.builds(text_of, st.integers(0, 60)), max_size=15)
budgets = st.builds(Room, st.integers(0, 120), st.integers(0, 1_500), st.integers(0, 1_500))


def total(chosen: list[str]) -> Room:
    """The summed size of texts."""
    sizes = [measure_text(text) for text in chosen]
    return Room(sum(s.lines for s in sizes), sum(s.chars for s in sizes), sum(s.size_bytes for s in sizes))


def test_a_record_that_does_not_fit_is_skipped_and_the_next_is_tried():
    """Whole records only: a long one gives way to a shorter one behind it."""
    packed = pack([text_of(n) for n in (5, 30, 4)], Room(lines=12, chars=4_000))

    assert ((0, 2), (1,)) == (packed.chosen, packed.skipped)


@pytest.mark.parametrize(
    "budget",
    [
        pytest.param(Room(lines=5, chars=4_000), id="lines"),
        pytest.param(Room(lines=150, chars=61), id="chars"),
        pytest.param(Room(lines=150, chars=4_000, size_bytes=61), id="bytes"),
    ],
)
def test_lines_characters_and_bytes_each_bind(budget: Room):
    """One unit less than needed in any of the three, and the second record is left out."""
    assert (1,) == pack([text_of(2), text_of(2)], budget).skipped


def test_bytes_are_utf8():
    """Nine thousand bytes are three thousand characters of Chinese."""
    assert (0,) == pack(["字" * 3_000], Room(150, 9_000)).skipped


@given(rendered, budgets)
def test_the_budget_is_never_exceeded(texts: list[str], budget: Room):
    """Lines, characters and bytes stay within it; every text is chosen or skipped, in order; the rest is left."""
    packed = pack(texts, budget)
    used = total([texts[index] for index in packed.chosen])

    assert used.lines <= budget.lines
    assert used.chars <= budget.chars
    assert not used.size_bytes or used.size_bytes <= budget.size_bytes
    assert sorted([*packed.chosen, *packed.skipped]) == list(range(len(texts)))
    assert [sorted(packed.chosen), sorted(packed.skipped)] == [[*packed.chosen], [*packed.skipped]]
    assert budget.without(used) == packed.left


@given(rendered, budgets)
def test_a_text_at_the_end_never_changes_the_ones_before(texts: list[str], budget: Room):
    """Packing is greedy: the first texts are packed as they would be alone."""
    whole, prefix = pack(texts, budget), pack(texts[:-1], budget)

    assert prefix.chosen == tuple(index for index in whole.chosen if index < len(texts) - 1)


def shortened_to(text: str, most: int, notes: str = "") -> str:
    """A record's text in so many characters."""
    return shortened(text, lambda part: len(part) <= most, most=most, notes=notes)


SENTENCES = "The journal is a file of lines. It is never changed by anybody. "
COMMANDS = "Check the tree:\n```sh\nmake lint types layers\nmake test\n```\n"


@pytest.mark.parametrize(
    ("text", "end"),
    [
        pytest.param(SENTENCES * 9, r"(lines|anybody)\.", id="sentence"),
        pytest.param("- a line of a list\n" * 20, r"- a line of a list", id="line"),
        pytest.param("words without an end " * 20, r" (words|without|an|end)", id="word"),
        pytest.param("x" * 400, r"xxx", id="no words"),
        pytest.param("\u53e5\u5b50\u3002" * 99, r"\u53e5\u5b50\u3002", id="no spaces"),
        pytest.param(COMMANDS * 5, r"(```|tree:)", id="code block"),
        pytest.param("Run `make lint types` first " * 9, r"(Run|types`|first)", id="inline code"),
        pytest.param("See [the page](docs/a page.md) now " * 9, r"(See|\.md\)|now)", id="link"),
        pytest.param("It is **of great weight** here " * 9, r"(It|is|\*\*|here)", id="emphasis"),
        pytest.param("Put [redacted: api key] in a file " * 9, r"(Put|\]|in|a|file)", id="masked secret"),
    ],
)
def test_a_text_is_cut_where_it_reads_well(text: str, end: str) -> None:
    """After a sentence or a line that ends late, else after a word; never within code, a link or emphasis."""
    for most in range(150, 220):
        found = shortened_to(text, most)

        assert re.search(rf"{end}\s{re.escape(SHORTENED)}\Z", found)
        assert most * 0.6 < len(found) <= most
        assert 0 == found.count("```") % 2


def test_notes_stay_below_the_cut() -> None:
    """They need their room too."""
    found = shortened_to(SENTENCES * 9, 200, notes="(old.py is not there)")

    assert found.endswith(f". {SHORTENED}\n(old.py is not there)")
    assert len(found) <= 200


@pytest.mark.parametrize("most", [0, 20, 90])
def test_too_little_is_nothing(most: int) -> None:
    """With fewer than 80 characters of the text, the title would say as much."""
    assert "" == shortened_to("words " * 60, most)


@given(st.text(st.sampled_from("ab .`*[(\n~\u3002"), max_size=900), st.integers(0, 900), st.sampled_from(["", "(n)"]))
def test_what_is_shortened_fits_and_begins_the_text(text: str, most: int, notes: str) -> None:
    """Whatever the text is: it fits, at least 80 characters of it are there, and no code block stays open."""
    found = shortened_to(text, most, notes)
    begin = found.partition(SHORTENED)[0].rstrip()

    assert len(found) <= most
    assert not found or len(begin) >= 80
    assert text.startswith((begin, begin.rpartition("\n")[0].rstrip()))  # A fence may close it.
