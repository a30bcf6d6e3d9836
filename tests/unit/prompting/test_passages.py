from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.prompting.query import WEIGHTS, Passage, passages
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
    """Title and sentences count most; code, logs, versions, headings less, the tracker's form not at all."""

    assert [
        ("prose", "Cart totals are wrong for Norway"),
        ("form", "<!-- A short summary, please. -->"),
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
    """The passages hold the lines of the text in order, but for blank ones and fences."""
    text = "\n".join(lines)
    kept = [line for line in text.split("\n") if line.strip() and "```" not in line]
    if len(text.strip().split("\n")) < 2:
        return

    found = passages(text)

    assert (Passage(text, 1.0),) == found or kept == [line for part in found for line in part.text.split("\n")]


@pytest.mark.parametrize(
    "text",
    [
        "<!-- where is the header rendered\n-->",
        "- [x] I searched for retry handling\n_No response_",
        "<!-- retry -->\n<!--\n```\nbackoff\n```\n-->",
        "```\n```",
    ],
    ids=["comment", "form", "comments", "empty fence"],
)
def test_a_text_of_forms_alone_is_what_is_asked(text: str) -> None:
    """Where nothing would count, all counts."""

    assert (Passage(text, 1.0),) == passages(text)


def test_comments_count_nothing_and_part_nothing() -> None:
    """What stands around a comment is told as if there were none: the title, a line, a table."""

    assert [
        ("form", "<!-- Title\nbelow -->"),
        ("prose", "# Cart"),
        ("environment", "python: 3.9.7\nnumpy: 1.21.4"),
        ("form", "<!-- more -->"),
        ("environment", "sphinx: None\nbyteorder: little"),
        ("form", "<!-- and -->"),
    ] == _kinds(
        "<!-- Title\nbelow -->\n# Cart\npython: 3.9.7\nnumpy: 1.21.4\n<!-- more -->\nsphinx: None\nbyteorder: little<!-- and -->"
    )


def test_a_comment_in_code_is_code() -> None:
    """Within fences a comment is what someone asks about."""

    assert [("prose", "Why is this shown?"), ("code", "<p>\n<!-- header\n-->\n</p>")] == _kinds(
        "Why is this shown?\n```html\n<p>\n<!-- header\n-->\n</p>\n```"
    )


def test_a_comment_that_nothing_closes_is_text() -> None:
    """It hides nothing, whatever was closed before it."""

    assert [("prose", "cart"), ("form", "<!-- a -->"), ("prose", " of\n<!-- Norway\nis wrong")] == _kinds(
        "cart\n<!-- a --> of\n<!-- Norway\nis wrong"
    )


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("==== rates ====", "environment"),
        ("-" * 299, "environment"),
        ("=" * 299 + "a", "code"),
        ("---- " + "rate " * 30 + "----", "prose"),
        ("\t" * 150 + "a(b", "prose"),
        (" " * 290 + "total();", "code"),
        ("os" + " " * 200 + "linux", "environment"),
        ("## " + " " * 200 + "Rates", "environment"),
    ],
    ids=["title", "rule", "open rule", "sentence", "tabs", "indented code", "gap", "heading"],
)
def test_wide_lines_are_told_like_narrow_ones(line: str, kind: str) -> None:
    """Indentation, gaps and rules of any width change nothing, in a text with many such lines."""

    found = _kinds("\n".join(["Cart totals", *[line] * 400, "are wrong"]))

    assert [kind] * 400 == [name for name, part in found for told in part.split("\n") if told == line]


def test_of_very_many_lines_both_ends_are_read() -> None:
    """The question before and after a flood of short lines counts, the flood hardly."""
    found = passages("\n".join(["Why so many?", *map(str, range(10_000)), "They were few."]))

    assert (1.0, 0.2, 1.0) == tuple(part.weight for part in found)
    assert found[0].text.startswith("Why so many?")
    assert found[-1].text.endswith("They were few.")
    assert 7_000 < len(found[1].text.split("\n"))
