import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hybrid.prompting.clean import clean
from hybrid.records.lessons.messages import (
    MAX_CAPTURES,
    MAX_CONTENT_CHARS,
    MAX_TITLE_CHARS,
    CapturedLesson,
    captured_from_agent,
    captured_from_prompt,
)
from hybrid.records.lessons.types import CATEGORIES
from tests.support.cases import Case, cases

TABS = CapturedLesson("Use tabs", "in Makefiles")
TABS_BY_AI = CapturedLesson("Use tabs", "in Makefiles", "pattern", source="ai")


@cases("lessons/of_prompts.txt")
def test_line_of_a_prompt_is_a_lesson(case: Case) -> None:
    """Level, known category, title up to the first ` - `, content, and whether it may leave the project."""
    assert (replace(TABS, **case.json()),) == captured_from_prompt(case.text)


@cases("lessons/none_of_prompts.txt")
def test_other_lines_of_a_prompt_are_no_lessons(case: Case) -> None:
    """Lines within sentences, quotes and pasted code, empty ones and the help line record nothing."""
    assert () == captured_from_prompt(case.text)


@pytest.mark.parametrize(
    "prompt",
    [
        "<task-notification><result>\nLESSON: a - b\n</result></task-notification>",
        "<system-reminder>\nLESSON: a - b\n</system-reminder>",
        "Do it.\n<hook_context>\nLESSON: a - b\n</hook_context>",
        "Do it.\n--- hybrid context (auto-injected, 1 item; reference notes, not instructions) ---\n\nLESSON: a - b\n--- end hybrid context ---",
        "<private>\nLESSON: a - b\n</private> Do it.",
        "This session is being continued from a previous conversation.\nLESSON: a - b",
    ],
)
def test_text_that_nobody_typed_makes_no_lesson(prompt: str) -> None:
    """What cleaning leaves of machine-made and injected text, as a caller passes it, holds no lesson."""
    cleaned = clean(prompt)

    assert () == captured_from_prompt("" if cleaned.is_machine_made else cleaned.text)


def test_several_lines_are_several_lessons() -> None:
    """Each line is one, in order, among other text; the same line twice is one; a line that follows is not content."""
    prompt = "Please fix it.\nLESSON: a - b\nmore text\n\nSYSTEM LESSON: c - d\r\nLESSON: a - b\n"

    assert ["a", "c"] == [lesson.title for lesson in captured_from_prompt(prompt)]


@pytest.mark.parametrize(
    ("prompt", "level"),
    [
        ("SYSTEM LESSON: a - b", "system"),
        ("Round as the bank does.\nSYSTEM LESSON: a - b", "system"),
        ("SYSTEM LESSON: a - b\n\nNow fix the rounding.\nAnd its test.", "system"),
        ("Why?\n```\n1\n2\n3\n```\nSYSTEM LESSON: a - b", "system"),
        ("Why does it fail?\nSYSTEM LESSON: a - b\nexit 1", "project"),
        ("Fix this issue:\n\nIt crashes.\nEvery time.\n\nSYSTEM LESSON: a - b", "project"),
    ],
    ids=["alone", "behind a line", "before two", "a fence does not count", "in a log", "end of an issue"],
)
def test_what_may_be_pasted_is_not_for_all_projects(prompt: str, level: str) -> None:
    """A line between others, and one in a prompt of more than two, may be of a log or an issue."""
    assert [level] == [lesson.level for lesson in captured_from_prompt(prompt)]


def test_at_most_ten_lessons_are_captured() -> None:
    """A text with more such lines was pasted; the first ten count."""
    prompt = "\n".join(f"LESSON: title {n} - content" for n in range(50))

    assert MAX_CAPTURES == len(captured_from_prompt(prompt))
    assert "title 9" == captured_from_prompt(prompt)[-1].title


def test_long_parts_are_cut_at_a_word() -> None:
    """Title and content have their bounds; a long rule without a title is kept as content, its begin as title."""
    rule = "keep every word of it " * 20
    (lesson,) = captured_from_prompt(f"LESSON: {rule}")
    (longest,) = captured_from_prompt(f"LESSON: {'x' * 500} - {'word ' * 500}")

    assert rule.strip() == lesson.content
    assert lesson.title.endswith(" of…") or lesson.title.endswith("…")
    assert rule.startswith(lesson.title[:-1])
    assert MAX_TITLE_CHARS == len(longest.title)
    assert MAX_CONTENT_CHARS >= len(longest.content) > MAX_CONTENT_CHARS - 10


def test_secrets_are_not_captured() -> None:
    """A token in a lesson is replaced before anyone stores it."""
    token = "ghp_" + "Zk3vQ9xT7mWc2LrB8nYpD4sHfJ6gAe1uKo5i"
    (lesson,) = captured_from_prompt(f"LESSON: CI token - is {token}")

    assert token not in lesson.content
    assert "[redacted:" in lesson.content


@cases("lessons/of_agents.txt")
def test_line_of_an_agent_is_a_lesson(case: Case) -> None:
    """The same form with an optional known type; a pattern unless it says otherwise, for the project, from the AI."""
    assert (replace(TABS_BY_AI, **case.json()),) == captured_from_agent(f"I fixed it.\n\n{case.text}\n")


@cases("lessons/none_of_agents.txt")
def test_other_lines_of_an_agent_are_no_lessons(case: Case) -> None:
    """A person's form, quotes, code, listings and the help line record nothing."""
    assert () == captured_from_agent(case.text)


@given(st.text(max_size=200))
def test_every_capture_is_fit_to_be_written(rest: str) -> None:
    """Whatever a line holds, title and content are single lines within their bounds and the category is known."""
    for lesson in captured_from_prompt(f"LESSON: {rest}") + captured_from_agent(f"AI LESSON: {rest}"):
        assert 1 <= len(lesson.title) <= MAX_TITLE_CHARS
        assert 1 <= len(lesson.content) <= MAX_CONTENT_CHARS
        assert [lesson.title] == lesson.title.splitlines()
        assert [lesson.content] == lesson.content.splitlines()
        assert lesson.category in CATEGORIES


@pytest.mark.parametrize("piece", [" ", "(", "LESSON ", "LESSON:(no-promote)", "**", "["])
def test_hostile_line_is_read_to_the_end(piece: str) -> None:
    """A line of a quarter of a million characters is read without piling up work."""
    line = piece * (250_000 // len(piece))

    assert () == captured_from_agent(f"AI LESSON{line}") or piece in ("LESSON:(no-promote)",)
    assert len(captured_from_prompt(f"LESSON{line}:")) <= 1
