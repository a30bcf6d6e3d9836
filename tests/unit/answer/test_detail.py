"""How much an injection shows of each file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.answer.pack import MOST_NAMED, NAMED, WITH_TEXT, plan, text_in_form
from tests.support.builders import hit

if TYPE_CHECKING:
    from hybrid.answer.pack import Detail
    from hybrid.types import Hit

TASK, QUESTION = "Retry the payment after a timeout", "how is a payment retried?"
LONG = "\n".join(["def pay():", *["    again = payment"] * 45])
"""Some 900 characters: too long to be shown whole for a task, not for a question."""
WORTH = {"payment": 2.0, "timeout": 2.0}


def _plan(hits: list[Hit], texts: dict[int, str] | None = None, prompt: str = TASK) -> tuple[list[Detail], list[Hit]]:
    return plan(hits, lambda one: (texts or {}).get(one.row, "payment"), prompt, WORTH)


def _file(number: int, **changes: Any) -> Hit:
    return hit(number, path=f"f{number}.py", **{"relevance": 0.6, **changes})


def test_two_files_are_shown_and_the_others_named() -> None:
    """Each has a reason that `explain` tells."""
    details, _ = _plan([_file(number) for number in range(4)])

    assert ["full", "full", "pointer", "pointer"] == [detail.form for detail in details]
    assert all(detail.why for detail in details)


@pytest.mark.parametrize(("prompt", "form"), [(TASK, "preview"), (QUESTION, "full"), ("¿y los pagos？", "full")])
def test_a_question_gets_the_text_and_a_task_the_place(prompt: str, form: str) -> None:
    """Of a text of middle length; a longer one is shown by the lines that tell for both."""
    assert form == _plan([_file(0)], {0: LONG}, prompt)[0][0].form
    assert "preview" == _plan([_file(0)], {0: LONG * 3}, prompt)[0][0].form


def test_the_second_file_gets_less_room() -> None:
    """The first is right five times as often."""
    text = "x" * 600

    assert ["full", "preview"] == [one.form for one in _plan([_file(0), _file(1)], {0: text, 1: text})[0]]


def test_a_file_is_one_item() -> None:
    """Its other hits are named by their places, in the order of the file."""
    hits = [hit(row, path="a.py", start_line=line, end_line=line + 5) for row, line in ((0, 50), (1, 90), (2, 10))]
    [detail], left_out = _plan(hits)

    assert (hits[0], (hits[2], hits[1]), []) == (detail.hit, detail.others, left_out)


def test_neighbours_of_a_long_text_are_read_with_it() -> None:
    """The lines that tell are those of all; what lies further away is a place."""
    hits = [hit(row, path="a.py", start_line=at, end_line=at + 46) for row, at in ((0, 50), (1, 98), (2, 3), (3, 300))]
    [detail], _ = _plan(hits, dict.fromkeys(range(4), LONG))

    assert (hits[2], hits[0], hits[1]) == detail.shown
    assert (hits[3],) == detail.others
    assert 3 == detail.text.count("def pay")


def test_behind_the_first_files_only_what_adds_something_is_named() -> None:
    """A file near to the best one does, and one that says more of the prompt; at most ten are named."""
    hits = [*(_file(number) for number in range(NAMED + 1)), _file(7, relevance=0.8), _file(8)]
    details, left_out = _plan(hits, {8: "timeout"})

    assert [*range(NAMED), 7, 8] == [detail.hit.row for detail in details]
    assert [NAMED] == [one.row for one in left_out]


@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 60), st.floats(0, 1)), max_size=15))
def test_every_hit_has_one_place(rows: list[tuple[int, int, float]]) -> None:
    """Shown, named or left out; files with text stand first; the number of files is bounded."""
    hits = [
        hit(row, path=f"f{file}", start_line=20 * at + 1, end_line=20 * at + 18, relevance=share)
        for row, (file, at, share) in enumerate(rows)
    ]
    details, left_out = _plan(hits, dict.fromkeys(range(0, 15, 2), LONG))
    placed = [one.row for detail in details for one in (*detail.shown, *detail.others)] + [one.row for one in left_out]

    assert sorted(placed) == list(range(len(hits)))
    assert all(detail.hit in detail.shown for detail in details)
    assert ["pointer"] * max(0, len(details) - WITH_TEXT) == [one.form for one in details[WITH_TEXT:]]
    assert len(details) <= MOST_NAMED


def test_a_form_shows_all_or_the_telling_lines_or_nothing() -> None:
    """A preview keeps the signature."""
    assert LONG == text_in_form(LONG, "full", WORTH)
    assert text_in_form(LONG, "preview", WORTH).startswith("def pay():\n")
    assert "" == text_in_form(LONG, "pointer", WORTH)
