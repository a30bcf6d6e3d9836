from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from hybrid.records.memory.types import (
    Extracted,
    Observation,
    Owner,
    SessionSummary,
    Summarised,
    body_lines,
    full_lines,
    index_line,
    name_of,
    parse_name,
    record_of,
    searched_lines,
    title_of,
)
from tests.support.cases import Case, cases

if TYPE_CHECKING:
    pass

HERE, THERE = "a" * 16, "b" * 16
AT_MS = int(time.mktime((2026, 2, 14, 10, 31, 0, 0, 0, -1))) * 1000


def observation(told: Extracted | None = None, *, key: str = HERE) -> Observation:
    """Number 42 of a project."""
    told = told or Extracted(
        "bugfix",
        "Fix auth timeout",
        narrative="In login(): wait 30 s instead of 5.",
        facts=("5 → 30",),
        concepts=("problem-solution",),
        files_read=("src/auth.py", "src/config.py"),
        files_modified=("src/auth.py",),
    )
    return Observation(42, Owner("s1", key, "shop" if key == HERE else "other"), told, 1, 10, 0, AT_MS, "d" * 64)


def summary(told: Summarised) -> SessionSummary:
    """Number 7 of a project."""
    return SessionSummary(7, Owner("s1", HERE, "shop"), told, 1, AT_MS)


def test_index_line_tells_number_time_type_title_and_size() -> None:
    """One line: number, local time, type, title, and about how many tokens the whole has."""
    assert "o42 2026-02-14 10:31 bugfix Fix auth timeout (~31 tokens)" == index_line(observation())


def test_another_projects_row_is_marked() -> None:
    """Only seen from another project, with the name of its own, after the title."""
    assert " Fix auth timeout [from: other] (~" in index_line(observation(key=THERE), here=HERE)
    assert "[from:" not in index_line(observation(key=THERE))
    assert record_of(observation(key=THERE), here=HERE).shown.endswith("bugfix Fix auth timeout [from: other]")


def test_full_form_has_title_narrative_facts_and_files() -> None:
    """In this order; a file that was changed is not told as read too."""
    assert [
        "Fix auth timeout",
        "In login(): wait 30 s instead of 5.",
        "- 5 → 30",
        "Concepts: problem-solution",
        "Changed: src/auth.py",
        "Read: src/config.py",
    ] == full_lines(observation())


def test_a_summary_is_told_by_its_parts() -> None:
    """What was asked for is its title; empty parts are left out."""
    row = summary(Summarised(request="Fix  the\nlogin", completed="Waits longer.", next_steps="Test it."))

    assert "Fix the login" == title_of(row)
    assert ("Completed: Waits longer.", "Next steps: Test it.") == body_lines(row)
    assert "s7 2026-02-14 10:31 summary Fix the login (~" in index_line(row)


def test_what_is_searched_holds_everything_that_was_told() -> None:
    """Narrative, facts and files of an observation; every part of a summary."""
    text = "\n".join(searched_lines(observation()))
    parts = Summarised("r1", "i2", "l3", "c4", "n5", "m6")

    assert all(word in text for word in ("login()", "5 → 30", "src/config.py"))
    assert ["r1", "i2", "l3", "c4", "n5", "m6"] == searched_lines(summary(parts))


@pytest.mark.parametrize(
    "text", ["x" * 2_000, "Fix " + "x" * 2_000, "word " * 400], ids=["one word", "a long word", "words"]
)
def test_titles_and_bodies_have_their_length_whatever_the_words(text: str) -> None:
    """They end with a word where there is one, and never reach beyond their bound."""
    title, (line, *_) = (
        title_of(summary(Summarised(request=text))),
        body_lines(observation(Extracted("change", "x", narrative=text))),
    )

    assert (len(title) <= 100, len(line) <= 280) == (True, True)
    assert title.endswith("…")
    assert line.endswith("…")
    assert "wor…" not in f"{title} {line}"


def test_a_long_narrative_is_cut_at_a_sentence_in_the_frame() -> None:
    """An injection has room for several rows: what is shown of one is short, and ends where a sentence does."""
    told = Extracted("change", "T", narrative="First sentence here. " + "Another one of some length follows it. " * 20)

    (line,) = body_lines(observation(told))
    assert line.startswith("First sentence here. Another")
    assert line.endswith((".", "…"))
    assert 300 >= len(line)


@cases("memory/names.txt")
def test_names_of_rows(case: Case) -> None:
    """`42`, `#42`, `o42` and `s7` name a row; anything else does not."""
    assert case.expected == "{} {}".format(*(parse_name(case.text) or ("", ""))).strip()


def test_a_row_is_named_as_it_is_read() -> None:
    """The name of a row leads back to it."""
    assert ("observation", 42) == parse_name(name_of(observation()))
    assert ("summary", 7) == parse_name(name_of(summary(Summarised("r"))))
