import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.capture.summaries import summarise
from hybrid.records.memory.types import Extracted

TEXT = """The retry works now.

## Root cause
The loop had no end: `attempts` was never counted.

## Changes made
- **`client.py`**: count attempts
- Added a test for the cap

```python
attempts = 5
```

**Verification:**
✅ All 8 tests pass

## Next steps
1. Release it
2. Tell the bank
"""


def test_headings_name_the_fields() -> None:
    """What stands below a heading goes to the field that the heading names; code blocks are left out."""
    told = summarise("Fix the retry. It never ends!", TEXT, [])

    assert "Fix the retry. It never ends!" == told.request
    assert "The retry works now. The loop had no end: `attempts` was never counted." == told.learned
    assert "count attempts" in told.completed
    assert "Added a test for the cap." in told.completed
    assert "attempts = 5" not in told.completed
    assert "All 8 tests pass." == told.notes
    assert "Release it. Tell the bank." == told.next_steps


def test_without_headings_sentences_speak_for_themselves() -> None:
    """The first ones say what was found out; others are picked by their wording, and questions are no deeds."""
    said = "I fixed the loop. It failed because the cap was missing. I added a test for it, too. Shall I release it?"
    told = summarise("Why?", said, [])

    assert "I fixed the loop. It failed because the cap was missing." == told.learned
    assert "I added a test for it, too." == told.completed
    assert "" == told.next_steps


@pytest.mark.parametrize(
    "opening", ["Perfect!", "Done.", "All 8 tests pass.", "The fix is complete.", "Here's what I found:", "1."]
)
def test_openings_say_nothing(opening: str) -> None:
    """The finding comes after them."""
    assert "The cap was missing." == summarise("Why?", f"{opening}\n\nThe cap was missing.", []).learned


def test_an_answer_that_changed_nothing_is_a_finding_as_a_whole() -> None:
    """Whatever words it has: nothing was fixed, set or made. What is left to do is no finding."""
    read = Extracted("discovery", "Read client.py", files_read=("src/client.py",))
    said = "The key is set at the start. It was moved there in 2.0. Tests set their own. I have not changed it yet."
    told = summarise("Where is the key set?", said, [read])

    assert "The key is set at the start. It was moved there in 2.0. Tests set their own." == told.learned
    assert ("", "I have not changed it yet.") == (told.completed, told.next_steps)


def test_how_a_turn_ended_comes_from_its_commands() -> None:
    """The last run of tests, the last checks and each commit, a line each; not what the agent says of them."""
    outcomes = ("1 failed, 7 passed: test_cap", "1 failed (ruff), 0 passed", "8 passed", "all 2 hooks passed", "done")
    runs = [Extracted("change", f"Run x → {one}", facts=(f"outcome: {one}",)) for one in outcomes]
    commit = Extracted("change", "Commit Cap the attempts", facts=("commit 1234567 on main",))
    edit = Extracted("bugfix", "Fix retry", files_modified=("pay.py",))
    told = summarise("Fix it", "The cap was missing. Here is why. All 9 tests pass.", [edit, *runs, commit])

    assert ["Tests: 8 passed.", "Checks: all 2 hooks passed.", "Committed: Cap the attempts."] == told.notes.split("\n")


def test_points_of_a_list_are_findings_only_without_sentences() -> None:
    """They lack what the sentence above them says."""
    listed = "- the cap was missing\n- the key is old"

    assert (
        "It has two causes. They are old."
        == summarise("Why?", f"It has two causes. They are old.\n{listed}", []).learned
    )
    assert "the cap was missing. the key is old." == summarise("Why?", f"Here:\n{listed}", []).learned


@pytest.mark.parametrize(
    "said",
    [
        "Next, log each attempt.",
        "TODO: log each attempt.",
        "**Next:** log each attempt.",
        "Next steps: log each attempt.",
    ],
)
def test_what_is_left_is_told_without_a_heading_too(said: str) -> None:
    """By its opening words."""
    assert "log each attempt." == summarise("Fix it", f"I fixed the loop. {said}", []).next_steps


def test_what_was_observed_fills_what_the_agent_does_not_say() -> None:
    """Files read and titles of changes stand in for a silent agent."""
    read = Extracted("discovery", "Read client.py", files_read=("src/client.py",))
    fixed = Extracted("bugfix", "Fix retry: cap attempts", files_modified=("src/pay.py",))
    told = summarise("Fix it", "", [read, fixed])

    assert "Read client.py." == told.investigated
    assert "Fix retry: cap attempts" == told.completed


def test_a_long_request_ends_with_a_sentence() -> None:
    """The request is cut at a sentence's end."""
    told = summarise("Fix the retry. " * 100, "", [])

    assert len(told.request) <= 300
    assert told.request.endswith(".")


@given(st.text(max_size=400), st.text(max_size=3_000))
def test_fields_are_bounded(request: str, text: str) -> None:
    """Any text gives fields of at most 300 and 600 characters."""
    told = summarise(request, text, [])

    assert len(told.request) <= 300
    assert all(
        len(field) <= 600 for field in (told.learned, told.completed, told.next_steps, told.notes, told.investigated)
    )
