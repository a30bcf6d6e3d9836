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
    assert told.learned.startswith("The loop had no end")
    assert "count attempts" in told.completed
    assert "Added a test for the cap." in told.completed
    assert "attempts = 5" not in told.completed
    assert "All 8 tests pass." == told.notes
    assert "Release it. Tell the bank." == told.next_steps


def test_without_headings_sentences_speak_for_themselves() -> None:
    """A plain answer is picked apart by its wording; questions are no deeds."""
    told = summarise("Why?", "I fixed the loop. It failed because the cap was missing. Shall I release it?", [])

    assert "I fixed the loop." == told.completed
    assert "It failed because the cap was missing." == told.learned
    assert "" == told.next_steps


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
