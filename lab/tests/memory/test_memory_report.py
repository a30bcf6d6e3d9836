"""The figures of `hybrid eval memory`, from ranks alone, and the forms of its files."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.evaluation.measures import QrelsError
from hybrid_lab.memory.judged import (
    MemoryPrompt,
    MemoryQuestion,
    read_memory_prompts,
    read_memory_questions,
)
from hybrid_lab.memory.questions import RawEvents
from hybrid_lab.memory.report import (
    NEWEST,
    RAW,
    SEARCH,
    WAYS,
    MemoryReport,
    PromptAsked,
    QuestionAsked,
    Shown,
)
from tests.unit.evaluation.conftest import write_lines

if TYPE_CHECKING:
    from pathlib import Path

ROW, OTHER = Shown("o1", "shop", "Cap the retries"), Shown("o2", "shop", "Read pay.py")


def question(
    of: str, search: int | None, raw: int | None, *, kind: str = "why", project: str = "shop"
) -> QuestionAsked:
    """A question with these ranks; the newest rows never answer."""
    judged = MemoryQuestion(of, project, "text", kind, ("a.jsonl:1",))
    return QuestionAsked(judged, {SEARCH: search, RAW: raw, NEWEST: None}, (ROW,), (OTHER,))


def prompt(of: str, *given: Shown, is_wanted: bool = True, **changes: Any) -> PromptAsked:
    """A prompt that got these rows; `ROW` is right."""
    judged = MemoryPrompt(of, "shop", "text", ("a.jsonl:1",) if is_wanted else ())
    values: dict[str, Any] = {"reason": "injected", "detail": "", "is_open": bool(given), "margin": None, "missed": ""}
    return PromptAsked(prompt=judged, given=given, gold=(ROW,) if is_wanted else (), **{**values, **changes})


def test_a_way_is_measured_by_the_first_right_answer() -> None:
    """R@5 and R@10 count questions, RR is the mean of 1 / rank; what is not found counts 0."""
    report = MemoryReport(
        (question("a", 1, None), question("b", 5, 2), question("c", 10, 1), question("d", None, 6)), (), {}
    )
    rows = {row.way: row for row in report.rows() if row.group == "all"}

    assert list(WAYS) == list(rows)
    assert (0.5, 0.75, 0.325) == (rows[SEARCH].r5, rows[SEARCH].r10, pytest.approx(rows[SEARCH].rr))
    assert (0.5, 0.75) == (rows[RAW].r5, rows[RAW].r10)
    assert (0.0, 0.0, 0.0, 0.0) == (rows[NEWEST].r5, rows[NEWEST].rr, rows[NEWEST].low, rows[NEWEST].high)
    assert 0 <= rows[SEARCH].low <= 0.5 <= rows[SEARCH].high <= 1


def test_groups_are_kinds_and_projects() -> None:
    """All questions first, kinds before projects, each with every way."""
    report = MemoryReport((question("a", 1, 1, project="ferry"), question("b", None, 1, kind="file")), (), {})
    rows = report.rows()

    assert ["all", "kind why", "kind file", "project ferry", "project shop"] == list(
        dict.fromkeys(row.group for row in rows)
    )
    assert {(SEARCH, "kind file"): 0.0, (SEARCH, "kind why"): 1.0} == {
        (row.way, row.group): row.r5 for row in rows if row.way == SEARCH and row.group.startswith("kind")
    }


def test_the_gain_is_paired() -> None:
    """Questions that both ways answer, or neither, make no difference."""
    report = MemoryReport((*(question(f"a{n}", 1, 1) for n in range(9)), question("b", 1, None)), (), {})
    gain = report.gains()[RAW]

    assert pytest.approx(0.1) == gain["r5"]
    assert 0 == gain["low"] < gain["high"]


def test_no_question_gives_no_figures() -> None:
    """An empty report has no rows and divides by nothing."""
    report = MemoryReport((), (), {})

    assert ([], {}, []) == (report.rows(), report.gains(), report.prompt_rows())


def test_missed_is_what_is_not_among_five() -> None:
    """The sixth is too late."""
    assert [False, True, True] == [question("a", rank, None).is_missed for rank in (5, 6, None)]


def test_prompts_are_told_apart_by_whether_a_row_fits() -> None:
    """Wanted ones count when a right row was given, the others when anything was."""
    asked = (
        prompt("a", ROW, OTHER),
        prompt("b", OTHER, missed="rank"),
        prompt("c", missed="gate", reason="gate"),
        prompt("d", OTHER, is_wanted=False),
        prompt("e", is_wanted=False, reason="gate"),
    )
    rows = MemoryReport((), asked, {}).prompt_rows()
    wanted, unwanted = rows[0], next(row for row in rows if not row["is_wanted"])

    assert (True, "all", 3, 1 / 3, 2 / 3, {"rank": 1, "gate": 1}) == tuple(
        wanted[name] for name in ("is_wanted", "project", "n", "given", "opened", "missed")
    )
    assert (2, 0.5, 0.5) == (unwanted["n"], unwanted["given"], unwanted["opened"])


def test_questions_of_other_projects_are_left_out(tmp_path: Path) -> None:
    """`only` restricts them; without it all are there."""
    lines = [
        {"id": of, "project": project, "question": "why?", "kind": "why", "gold": ["a.jsonl:1"]}
        for of, project in (("a", "shop"), ("b", "ferry"))
    ]
    path = write_lines(tmp_path / "questions.jsonl", lines)

    assert ["a"] == [one.id for one in read_memory_questions(path, ["shop"])]
    assert 2 == len(read_memory_questions(path))


@pytest.mark.parametrize(
    ("line", "match"),
    [
        pytest.param(
            {"id": "a", "project": "p", "question": "q", "kind": "k", "gold": []}, "gold is empty", id="empty"
        ),
        pytest.param({"id": "a", "project": "p", "question": "q", "kind": "k", "gold": "x"}, "no list", id="text"),
        pytest.param({"id": "a", "project": "p", "kind": "k", "gold": ["x"]}, "question", id="no question"),
    ],
)
def test_a_wrong_question_is_named(tmp_path: Path, line: dict[str, Any], match: str) -> None:
    """With its file and line."""
    path = write_lines(tmp_path / "questions.jsonl", [line])

    with pytest.raises(QrelsError, match=f"line 1.*{match}"):
        read_memory_questions(path)


def test_a_prompt_may_fit_nothing(tmp_path: Path) -> None:
    """An empty gold says that nothing should be given."""
    path = write_lines(tmp_path / "prompts.jsonl", [{"id": "a", "project": "shop", "prompt": "hello", "gold": []}])

    assert [MemoryPrompt("a", "shop", "hello", ())] == read_memory_prompts(path)


def test_raw_events_are_found_by_any_word() -> None:
    """More and rarer words come first."""
    texts = {"a": "the oven is hot", "b": "the crane is old", "c": "the oven and the crane", "d": "the sea"}
    with contextlib.closing(RawEvents(texts)) as raw:
        assert "c" == raw.search("Oven, crane?", 5)[0]
        assert {"a", "b", "c"} == set(raw.search("oven crane", 5))
        assert 1 == len(raw.search("oven crane", 1))


@pytest.mark.parametrize("query", ["", "?!", '"', "a OR", "NEAR(", "x*", "col:val", "AND NOT", "-", "'"])
def test_no_question_is_a_syntax_error(query: str) -> None:
    """Words are quoted, everything else is dropped."""
    with contextlib.closing(RawEvents({"a": "bread"})) as raw:
        assert [] == raw.search(query, 5)
