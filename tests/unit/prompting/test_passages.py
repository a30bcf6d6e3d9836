from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.prompting.passages import WEIGHTS, Passage, passages
from tests.unit.prompting.test_traces import CELLS, GO, JAVA, NODE, PYTHON, RUST

ISSUE = """Cart totals are wrong for Norway
<!-- A short summary, please. -->

### Checklist
- [x] I have searched the existing issues

### Steps to reproduce
1. put something into the cart

```python
cart = Cart(country="no")
print(cart.total())
```

2024-01-08 07:15:23,990 WARN [main] shop - no rate for no

### Environment
- OS: macOS 14.2
_No response_

### Additional context
The tax table has a row for it.
"""


def _kinds(text: str) -> list[tuple[str, str]]:
    names = {weight: kind for kind, weight in reversed(WEIGHTS.items())}
    return [(names[part.weight], part.text) for part in passages(text)]


def test_an_issue_is_taken_apart() -> None:
    """Title and sentences count most; code, logs, versions, headings and the tracker's form less, comments not at all."""

    assert [
        ("prose", "Cart totals are wrong for Norway"),
        ("environment", "### Checklist"),
        ("form", "- [x] I have searched the existing issues"),
        ("environment", "### Steps to reproduce"),
        ("prose", "1. put something into the cart"),
        ("code", 'cart = Cart(country="no")\nprint(cart.total())'),
        ("trace", "2024-01-08 07:15:23,990 WARN [main] shop - no rate for no"),
        ("environment", "### Environment"),
        ("environment", "- OS: macOS 14.2"),
        ("form", "_No response_"),
        ("environment", "### Additional context"),
        ("prose", "The tax table has a row for it."),
    ] == _kinds(ISSUE)


@pytest.mark.parametrize(
    "trace", [PYTHON, CELLS, NODE, JAVA, GO, RUST], ids=["python", "ipython", "node", "jvm", "go", "rust"]
)
def test_of_a_trace_only_the_message_counts_fully(trace: str) -> None:
    """The frames and their code count little, the message of the error as much as a sentence."""
    text = f"Why does the cart fail?{trace}It worked yesterday."
    full = "\n".join(part.text for part in passages(text) if part.weight == 1)

    assert full.startswith("Why does the cart fail?")
    assert full.endswith("It worked yesterday.")
    assert ".py" not in full
    assert 2 <= len(full.splitlines()) <= 3


def test_a_table_of_versions_is_an_environment() -> None:
    """Without a heading, lines of versions are told by their look; other settings stay what they are."""
    table = "python: 3.9.7\nnumpy: 1.21.4\nsphinx: None\nbyteorder: little"
    settings = "retries: three\ntimeout: five"

    assert ("environment", table) in _kinds(f"It fails.\n{table}")
    assert [("prose", f"It fails.\n{settings}")] == _kinds(f"It fails.\n{settings}")


def test_tasks_are_no_form() -> None:
    """A list of what to do is what is asked, whatever its boxes."""

    assert [("prose", "Please:\n- [ ] add a tax table\n- [x] rename Cart")] == _kinds(
        "Please:\n- [ ] add a tax table\n- [x] rename Cart"
    )


@given(st.text(alphabet=st.characters(exclude_characters="\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"), max_size=80))
def test_a_line_is_one_passage(text: str) -> None:
    """A prompt of one line counts fully, whatever it looks like."""

    assert (Passage(text, 1.0),) == passages(text)


@given(st.lists(st.sampled_from([*ISSUE.split("\n"), *PYTHON.split("\n"), "```"]), max_size=40))
def test_nothing_is_lost(lines: list[str]) -> None:
    """The passages hold the lines of the text in order, but for blank ones, fences and comments."""
    text = "\n".join(lines)
    kept = [line for line in text.split("\n") if line.strip() and "```" not in line and "<!--" not in line]
    if len(text.strip().split("\n")) < 2:
        return

    assert kept == [line for part in passages(text) for line in part.text.split("\n")]
