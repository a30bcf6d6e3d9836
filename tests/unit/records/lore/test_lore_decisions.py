from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from hybrid.records.lore.json_records import DecisionLines, line_of, read_line
from hybrid.records.lore.types import LoreDecision
from tests.unit.records.lore.conftest import decision

if TYPE_CHECKING:
    from tests.unit.records.lore.conftest import Given


def _data(*lines: object) -> bytes:
    return b"".join((one if isinstance(one, bytes) else json.dumps(one).encode()) + b"\n" for one in lines)


def test_the_last_line_of_an_id_wins() -> None:
    """Its place is that of the last line, and keys of earlier lines do not shine through."""
    found = DecisionLines().read(
        _data(decision("dec-1", tags=["a"]), decision("dec-2"), decision("dec-1", "Use SQLite")), "f"
    )

    assert [("dec-2", "Use JSONL for storage"), ("dec-1", "Use SQLite")] == [
        (one.id, one.decision) for one in found.decisions
    ]
    assert "tags" not in found.decisions[1].fields


def test_malformed_lines_are_named_and_hide_nothing() -> None:
    """A half line, text, a list, an object without id: each a problem with its line; blank lines are none."""
    data = b"\xef\xbb\xbf" + _data(decision("dec-1"), b"", b'{"id": "dec-', b"[1]", b"{}", b"\xff", b"[" * 99_999)
    found = DecisionLines().read(data + json.dumps(decision("dec-2")).encode() + b"\r\n" + b'{"id"', "f")

    assert ["dec-1", "dec-2"] == [one.id for one in found.decisions]
    assert [3, 4, 5, 6, 7, 9] == [problem.line for problem in found.problems]
    assert "no JSON object" == found.problems[1].message
    assert "a decision without id" == found.problems[2].message


def test_many_malformed_lines_are_counted() -> None:
    """A file that is something else altogether does not fill the memory with problems."""
    found = DecisionLines().read(b"x\n" * 1000, "f")

    assert 101 == len(found.problems)
    assert "900 further lines are no decisions" == found.problems[-1].message


def test_lines_read_before_are_the_same_objects() -> None:
    """Only new lines are parsed when a file grows."""
    lines = DecisionLines()
    before = lines.read(_data(decision("dec-1"), decision("dec-2")), "f")
    after = lines.read(_data(decision("dec-1"), decision("dec-2"), decision("dec-3")), "f")

    assert all(one is other for one, other in zip(before.decisions, after.decisions[:2], strict=True))
    assert "dec-3" == after.decisions[2].id


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), _JSON, max_size=4))
def test_a_changed_decision_keeps_every_key(fields: dict[str, object]) -> None:
    """The line of a retraction is the whole last object, whatever its keys are, with the two that change."""
    given_fields = {**fields, "id": "dec-1"}
    made = read_line(line_of(given_fields))

    assert isinstance(made, LoreDecision)
    assert given_fields == made.fields
    again = read_line(line_of({**made.fields, "status": "retracted", "retracted_reason": "no"}))
    assert isinstance(again, LoreDecision)
    assert {**given_fields, "status": "retracted", "retracted_reason": "no"} == again.fields
    assert b"\n" not in line_of(given_fields)


def test_bytes_that_are_no_text_survive_a_retraction() -> None:
    """They stand in the new line as they stood in the old one."""
    made = read_line(b'{"id":"dec-1","note":"\xff\xfe"}')

    assert isinstance(made, LoreDecision)
    assert b'{"id":"dec-1","note":"\xff\xfe","status":"retracted","retracted_reason":""}' == line_of(
        {**made.fields, "status": "retracted", "retracted_reason": ""}
    )


def test_which_decisions_are_active(lore: Given) -> None:
    """No status means active; retracted, superseded, abandoned ones and those of an unknown status are not given."""
    lore.decisions(
        decision("dec-1"),
        decision("dec-2", status=None, outcome="accepted"),
        decision("dec-3", status="active"),
        decision("dec-4", status="retracted"),
        decision("dec-5", status="Superseded"),
        decision("dec-6", outcome="abandoned"),
        decision("dec-7", superseded_by="dec-1"),
        decision("dec-8", status="draft"),
        decision("dec-9", "TODO"),
        decision("dec-10", "Superseded by dec-1: use JSONL"),
        decision("dec-11", title="Use Redis (superseded by dec-1)"),
    )

    assert [f"[decision] dec-{n} (2026-02-10) [unattributed]" for n in (3, 2, 1)] == lore.shown()
