from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.capture.shell import is_ours
from hybrid.capture.tools import is_our_tool
from tests.support.cases import cases

if TYPE_CHECKING:
    from tests.support.cases import Case


@cases("capture/own_commands.txt")
def test_a_command_that_only_calls_us_is_ours(case: Case) -> None:
    """Behind a change of folder, settings, wrappers and a shell; not what shares the name, nor what does anything besides."""
    assert (case.expected == "yes") == is_ours(case.text)


@cases("capture/own_tools.txt")
def test_our_tools_are_known_by_their_whole_name(case: Case) -> None:
    """A foreign tool that only has the word in its name is kept."""
    assert (case.expected == "yes") == is_our_tool(case.text)
