import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.records.lessons.messages import MAX_TEXT_CHARS, cited_ids, own_lines
from hybrid.render.frame import Entry, Footer, Format, render_frame

FRAME_ENTRIES = [
    Entry("lesson", "L001 Git commit format (relevance 8/10)", ("See [L004] too",)),
    Entry("lesson", "S002 Tabs", ("In Makefiles, see [L005]",)),
]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("I wrote the message as [L001] says.", ("L001",), id="in a sentence"),
        pytest.param("[S012] and [L1234] apply; [S012] twice.", ("S012", "L1234"), id="each once, in order"),
        pytest.param("Following [L001], [L002].", ("L001", "L002"), id="two in a row"),
        pytest.param("Both [L001][L002] and [L003, S004/L005].", ("L001", "L002", "L003", "S004", "L005"), id="groups"),
        pytest.param("- [L001] I used conventional commits", ("L001",), id="one bullet"),
        pytest.param("**[L001]** and `[L002]` hold.", ("L001", "L002"), id="marked up"),
        pytest.param("First.\r\nSee [L001]\r\n", ("L001",), id="CRLF"),
        pytest.param("", (), id="empty"),
        pytest.param("[L01] [X001] [l001] L001 (L001) [L001", (), id="other forms"),
        pytest.param("labels[L001] and \\[L002] and [L٠٠١]", (), id="code, escapes, other digits"),
    ],
)
def test_ids_in_brackets_are_citations(text: str, expected: tuple[str, ...]) -> None:
    """`L` or `S` and three or more digits in brackets, each once per message, in order of first place."""
    assert expected == cited_ids(text)


@pytest.mark.parametrize(
    "listing",
    [
        pytest.param("### [L001] Git commit format\n- **Learned**: 2026-01-02\n> Use [L002]", id="LESSONS.md"),
        pytest.param("### [L001] [***--|*----] Older form", id="older form of an entry"),
        pytest.param("[L001] ⭐⭐ (relevance: 8/10) Git commit format\n    -> as [L002] says", id="score"),
        pytest.param("[L001] (relevance: 1/10) No uses yet", id="score without stars"),
        pytest.param("- [L001] [**---|-----] Entry", id="stars of the older form"),
        pytest.param("[lesson] L001 Git commit format\n  Use [L003]", id="line of the frame"),
        pytest.param("LESSON RECORDED: [L007] title", id="our answer"),
        pytest.param("Cite a lesson you apply as [L001].", id="footer of the frame"),
        pytest.param("- [L001] One\n- [L002] Two\n- [L003] Three", id="bullets in a row"),
        pytest.param("1. [L001] One\n   see [L009]\n2. [L002] Two", id="numbered, with indented lines"),
        pytest.param("| [L001] | One |\n| [L002] | Two |", id="table"),
        pytest.param("[L001] One\n[L002] Two", id="bare ids in a row"),
        pytest.param("```\n[L001]\n```", id="fence"),
        pytest.param("~~~text\n[L001]\n```\n[L002]\n~~~", id="fence of the other kind"),
        pytest.param("````\n```\n[L001]\n```\n````", id="fence within a fence"),
        pytest.param("```\n```py\n[L001]\n```", id="fence with a language does not close"),
        pytest.param("- see\n  ```py\n  x = [L001]\n  ```", id="indented fence"),
        pytest.param("```\n[L001] in a fence never closed", id="open fence"),
        pytest.param("> [L001] was quoted", id="quote"),
        pytest.param("<system-reminder>\nuse [L001]\n</system-reminder>", id="reminder"),
        pytest.param('<hybrid-context items="1">\n[L001]', id="open frame"),
    ],
)
def test_what_an_agent_repeats_is_no_citation(listing: str) -> None:
    """Listings, quotes, code and injected text cite nothing, and do not hide what stands after them."""
    assert () == cited_ids(listing)
    assert ("L900",) == cited_ids(f"As [L900] says:\n\n{listing}")


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
