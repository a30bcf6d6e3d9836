import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.answer.pack import SHORTENED, Candidate, Room, measure_text, pack, shortened
from hybrid.types import FORMS, Form

WIDE = Room(lines=1_000, chars=100_000)


def rendered(full: str, preview: str, pointer: str, forms: tuple[Form, ...] = FORMS) -> Candidate:
    """A record in each form it may be shown in: header and whole text; header, first three lines and `...`; header."""
    texts: dict[Form, str] = {"full": full, "preview": preview, "pointer": pointer}
    return Candidate(texts.__getitem__, forms)


def candidate(n_lines: int, forms: tuple[Form, ...] = FORMS) -> Candidate:
    """A candidate of a header and some body lines of ten characters."""
    body = ["  12345678"] * n_lines
    short = body[:3] + (["  ..."] if n_lines > 3 else [])
    return rendered("\n".join(["[code] a", *body]), "\n".join(["[code] a", *short]), "[code] a", forms)


planned = st.sampled_from([FORMS, FORMS[1:], FORMS[2:], FORMS[:1], FORMS[1:2]])
candidates = st.lists(st.builds(candidate, st.integers(0, 60), planned), max_size=15)
budgets = st.builds(Room, st.integers(0, 120), st.integers(0, 1_500), st.integers(0, 1_500))


def total(chosen: list[Candidate], forms: list[str]) -> Room:
    """The summed size of candidates in their forms."""
    sizes = [measure_text(c.text(form)) for c, form in zip(chosen, forms, strict=True)]  # pyright: ignore[reportArgumentType]
    return Room(sum(s.lines for s in sizes), sum(s.chars for s in sizes), sum(s.size_bytes for s in sizes))


@pytest.mark.parametrize("form", FORMS)
def test_with_room_enough_the_first_form_is_given(form: Form):
    """Everything is shown, in order, as it was planned."""
    packed = pack([candidate(5, FORMS[FORMS.index(form) :]), candidate(9, (form,))], WIDE)

    assert (((0, form), (1, form)), ()) == (packed.chosen, packed.skipped)


def test_what_does_not_fit_is_shown_in_a_lesser_form():
    """As the budget runs out, records are shown shorter and shorter."""
    packed = pack([candidate(20), candidate(20), candidate(20)], Room(lines=27, chars=4_000))

    assert ((0, "full"), (1, "preview"), (2, "pointer")) == packed.chosen


def test_a_record_larger_than_the_whole_budget_does_not_shorten_the_others():
    """A giant that never fits is shown as a preview; the next ones still come in full."""
    packed = pack([candidate(500), candidate(6)], Room(lines=40, chars=4_000))

    assert ((0, "preview"), (1, "full")) == packed.chosen


def test_a_record_that_does_not_fit_is_skipped_and_the_next_is_tried():
    """Whole records only: a long one gives way to a shorter one behind it."""
    packed = pack([candidate(n, ("full",)) for n in (5, 30, 4)], Room(lines=12, chars=4_000))

    assert (((0, "full"), (2, "full")), (1,)) == (packed.chosen, packed.skipped)


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
    assert (1,) == pack([candidate(2, ("full",)), candidate(2, ("full",))], budget).skipped


def test_bytes_are_utf8():
    """Nine thousand bytes are three thousand characters of Chinese."""
    text = "字" * 3_000
    packed = pack([rendered(text, text, "[doc] a", ("full",))], Room(150, 9_000))

    assert (0,) == packed.skipped


@given(candidates, budgets)
def test_the_budget_is_never_exceeded(items: list[Candidate], budget: Room):
    """Lines, characters and bytes stay within the budget; every candidate is chosen or skipped, in order."""
    packed = pack(items, budget)
    used = total([items[i] for i, _ in packed.chosen], [form for _, form in packed.chosen])
    indexes = [i for i, _ in packed.chosen]

    assert used.lines <= budget.lines
    assert used.chars <= budget.chars
    assert not used.size_bytes or used.size_bytes <= budget.size_bytes
    assert sorted(indexes) == indexes
    assert sorted([*indexes, *packed.skipped]) == list(range(len(items)))
    assert list(packed.skipped) == sorted(packed.skipped)


@given(candidates, budgets)
def test_what_is_left_is_what_was_not_used(items: list[Candidate], budget: Room):
    """The next kind gets exactly the rest."""
    packed = pack(items, budget)
    used = total([items[i] for i, _ in packed.chosen], [form for _, form in packed.chosen])

    assert (
        Room(budget.lines - used.lines, budget.chars - used.chars, budget.size_bytes - used.size_bytes) == packed.left
    )


@given(candidates, budgets)
def test_a_candidate_at_the_end_never_changes_the_ones_before(items: list[Candidate], budget: Room):
    """Packing is greedy: a prefix of the candidates is packed as it would be alone."""
    whole, prefix = pack(items, budget), pack(items[:-1], budget)
    n_prefix = max(0, len(items) - 1)

    assert prefix.chosen == tuple(choice for choice in whole.chosen if choice[0] < n_prefix)


@given(candidates, budgets)
def test_more_room_never_shortens_the_best_record(items: list[Candidate], budget: Room):
    """The first record that was shown stays shown, in a form at least as long, when the budget grows."""
    larger = Room(budget.lines * 2 + 1, budget.chars * 2 + 1, budget.size_bytes * 2 + 1)
    first = pack(items[:1], budget).chosen
    first_with_more = pack(items[:1], larger).chosen

    assert len(first) <= len(first_with_more)
    if first:
        assert len(items[0].text(first[0][1])) <= len(items[0].text(first_with_more[0][1]))


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
