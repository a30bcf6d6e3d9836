from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hybrid.records.types import Record
from hybrid.sources.records import RecordSource, record_id, record_text
from hybrid.types import ChunkLimits, Document

LESSON = Record(
    "lesson", "L001", "Git commit format", "Use type(scope)", "L001 Git commit format", ("Use it",), ("changelog",)
)
LIMITS = ChunkLimits(10, 1, 10)


def _document(source: RecordSource, path: str) -> Document:
    [found] = [found for found in source.scan() if found.path == path]
    document = source.read(found)
    assert isinstance(document, Document)
    return document


def test_a_record_is_a_document_of_one_chunk() -> None:
    """However long it is: title and text; the title and each trigger are names that it defines."""
    long = replace(LESSON, text="a line\n" * 500)
    source = RecordSource([long])
    document = _document(source, "L001")
    [chunk] = source.chunk(document, LIMITS).chunks

    assert document.text.startswith("Git commit format\na line\n")
    assert ("lesson", "Git commit format") == (chunk.kind, chunk.name)
    assert (1, document.text.count("\n") + 1) == (chunk.start_line, chunk.end_line)
    assert ["Git commit format", "changelog"] == [definition.name for definition in chunk.definitions]


@pytest.mark.parametrize(
    "changes",
    [{"name": "Other"}, {"text": "Other"}, {"triggers": ("other",)}, {"triggers": ()}, {"kind": "pattern"}],
    ids=["name", "text", "triggers", "no triggers", "kind"],
)
def test_what_is_indexed_changes_the_stamp(changes: dict[str, object]) -> None:
    """A change of anything that is searched shows in the stamp, so that the next build reads the record again."""
    [before], [after] = (list(RecordSource([one]).scan()) for one in (LESSON, replace(LESSON, **changes)))

    assert before.path == after.path
    assert before.stamp != after.stamp


def test_what_is_only_shown_does_not_change_the_stamp() -> None:
    """The lines of the frame are read from the record itself: nothing is built anew for them."""
    [before], [after] = (
        list(RecordSource([one]).scan())
        for one in (LESSON, replace(LESSON, shown="L001 *", lines=("x",), created_at="2026"))
    )

    assert before == after


def test_two_records_with_one_id_are_both_there() -> None:
    """After a merge of branches both are documents, told apart by a number; their id is the same."""
    source = RecordSource([LESSON, replace(LESSON, name="Another"), replace(LESSON, name="Third")])

    assert ["L001", "L001~2", "L001~3"] == list(source.by_path)
    assert ["L001"] * 3 == [record_id(path) for path in source.by_path]
    assert "Another\nUse type(scope)" == _document(source, "L001~2").text


@pytest.mark.parametrize(
    ("path", "identity"), [("L001~2", "L001"), ("a~b", "a~b"), ("~2", "~2"), ("x~", "x~"), ("x", "x")]
)
def test_the_id_at_a_path(path: str, identity: str) -> None:
    """Only a number after the last `~` is ours."""
    assert identity == record_id(path)


@pytest.mark.parametrize("text", ["", " \n\t", "\n\n"])
def test_an_empty_record_has_no_chunk(text: str) -> None:
    """Nothing to search is no chunk."""
    source = RecordSource([replace(LESSON, name="", text=text)])

    assert () == source.chunk(_document(source, "L001"), LIMITS).chunks


@given(
    st.lists(
        st.builds(
            lambda n, name, text: replace(LESSON, id=f"L{n:03d}", name=name, text=text),
            st.integers(1, 4),
            st.text(),
            st.text(),
        )
    )
)
def test_every_record_is_a_document(records: list[Record]) -> None:
    """Whatever ids, names and texts they have: each record is one document, and its text one that can be stored."""
    source = RecordSource(records)
    found = list(source.scan())

    assert len(records) == len(found) == len({one.path for one in found})
    for one in found:
        document = source.read(one)
        assert isinstance(document, Document)
        assert record_text(source.by_path[one.path]) == document.text
        assert 1 >= len(source.chunk(document, LIMITS).chunks)
        assert 0 <= one.stamp.mtime_ns < 2**63
