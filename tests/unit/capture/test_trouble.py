"""Which uses of tools are a search that found nothing, or a command that failed, in the six clients."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from hybrid.capture.cleaning import cleaned_call
from hybrid.capture.shown import trouble_of, words_of
from hybrid.types import ToolCall
from tests.support.cases import cases
from tests.support.uses import use_of

if TYPE_CHECKING:
    from tests.support.cases import Case


def trouble(tool: str, given: object, answer: object, error: str = "") -> tuple[str, str] | None:
    """Cause and text of the trouble of a use."""
    found = trouble_of(cleaned_call(ToolCall(tool, given, answer, error)))
    return (found.cause, found.text) if found else None


@cases("capture/trouble.txt")
def test_searches_in_vain_and_failures_of_every_client(case: Case) -> None:
    """Empty output, the clients' own sentences and exit code 1 of a search all say that nothing was found.

    Results, mistakes in a pattern, commands that print nothing, and tools of other kinds are no trouble.
    """
    _, _, use = case.text.partition(" ")

    assert case.expected == ": ".join(trouble(*use_of(use)) or ())


@cases("capture/words_of_patterns.txt")
def test_words_of_a_pattern(case: Case) -> None:
    """Words and names stay, what only patterns have goes."""
    assert case.expected == words_of(case.text)


@pytest.mark.parametrize(
    "pattern",
    ["https://bob:s3cr3tpwXY@host/x", "key ghp_" + "a1B2" * 9, "Authorization: Bearer s3cr3tabcdefghij0123456789"],
)
def test_a_search_for_a_secret_is_no_trouble(pattern: str) -> None:
    """Words of it alone would not be known as a secret any more."""
    assert trouble("Grep", {"pattern": pattern}, {"filenames": [], "numFiles": 0}) is None


@pytest.mark.parametrize(
    ("error", "output", "kept"),
    [("Exit code 1", "AssertionError: src/a.py", "AssertionError: src/a.py"), ("", "AssertionError: src/a.py", "")],
)
def test_a_command_that_failed_keeps_its_output(error: str, output: str, kept: str) -> None:
    """Its output says what failed; a command that went well is no trouble."""
    found = trouble("Bash", {"command": "pytest"}, {"stdout": output, "stderr": ""}, error)

    assert (kept in found[1] and found[0] == "failure") if found else not kept


@pytest.mark.parametrize(
    "output", ["No files found.\n" * 12 + "src: E501", "no files " * 20 + "\nfoo", "No files found\nfoo"]
)
def test_an_output_is_read_line_by_line(output: str) -> None:
    """A line that says something else ends the look: nothing is tried again and again."""
    assert trouble("Bash", {"command": "rg a"}, output) is None
