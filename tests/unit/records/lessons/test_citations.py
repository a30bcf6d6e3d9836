import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.records.lessons.messages import MAX_TEXT_CHARS, cited_ids, own_lines
from hybrid.render.frame import Entry, Footer, Format, render_frame
from tests.support.cases import Case, cases

FRAME_ENTRIES = [
    Entry("lesson", "L001 Git commit format (relevance 8/10)", ("See [L004] too",)),
    Entry("lesson", "S002 Tabs", ("In Makefiles, see [L005]",)),
]


@cases("lessons/citations.txt")
def test_ids_in_brackets_are_citations(case: Case) -> None:
    """`L` or `S` and three or more digits in brackets, each once per message, in order of first place."""
    assert case.expected == " ".join(cited_ids(case.text))


@cases("lessons/repeated.txt")
def test_what_an_agent_repeats_is_no_citation(case: Case) -> None:
    """Listings, quotes, code and injected text cite nothing, and do not hide what stands after them."""
    assert () == cited_ids(case.text)
    assert ("L900",) == cited_ids(f"As [L900] says:\n\n{case.text}")


@pytest.mark.parametrize("fmt", ["text", "xml", "json"])
def test_our_frame_is_no_citation(fmt: Format) -> None:
    """The frame in any format is passed over, with all its ids; what the agent writes around it counts."""
    frame = render_frame(FRAME_ENTRIES, fmt=fmt, footer=Footer(cites_lessons=True, search_hint="git"))

    assert ("L900", "L901") == cited_ids(f"I got [L900]:\n{frame}\nand I applied [L901].")


def test_mark_within_a_sentence_hides_nothing() -> None:
    """An agent that writes about the marks still cites what stands after them."""
    text = "The words --- hybrid context and a <system-reminder> open a block; [L001] holds."

    assert ("L001",) == cited_ids(text)


def test_text_after_a_fence_and_a_listing_counts() -> None:
    """Only the listing and the code themselves are left out."""
    text = "```\n[L001]\n```\nDone as [L002] says.\n- [L003] a\n- [L004] b\n\nAlso [L005]."

    assert ("L002", "L005") == cited_ids(text)


def test_own_lines_keep_their_number() -> None:
    """What is left out of plain text becomes a blank line, so that numbers of lines stay."""
    assert ["one", "", "", "", "", "two"] == own_lines("one\n```\ncode\n```\n> quote\ntwo")


@given(st.text(alphabet=st.sampled_from('[]LS0129-> \n`~#|.*<hybrid-context>⭐\t{}":'), max_size=300))
def test_any_text_is_read(text: str) -> None:
    """No text is an error; every id that is found stands in brackets in it, and none is found twice."""
    found = cited_ids(text)

    assert len(found) == len(set(found))
    assert all(name in text for name in found)


@pytest.mark.parametrize(
    "piece",
    [
        "[L001,",
        "- [L001] ",
        "`",
        "<system-reminder>\n",
        "--- hybrid context\n",
        '{"hybrid_context":\n',
        "\n\n",
        " ",
        "[L001]\n",
    ],
)
def test_hostile_text_is_read_to_the_end(piece: str) -> None:
    """Half a megabyte of one repeated piece is read without piling up work, and its beginning only."""
    text = piece * (MAX_TEXT_CHARS // len(piece)) + "\n[L777]" * 10

    assert isinstance(cited_ids(text), tuple)
