"""The rules that need no index, over prompts as people write them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.prompting.clean import clean
from hybrid.prompting.rules import prompt_verdict
from tests.gate.test_decisions import PROJECT
from tests.support.cases import cases, read

if TYPE_CHECKING:
    from tests.support.cases import Case


@cases("gate/fitting.txt")
def test_no_prompt_that_fits_is_silenced_by_the_rules(case: Case):
    """Politeness, a greeting, a deadline, a request about style or the length never keep a prompt from being searched."""
    assert "search" == prompt_verdict(clean(case.text))


def test_the_prompts_cover_what_people_write():
    """Thirty prompts each way without a repetition, from six to three hundred words, six of the fitting ones long."""
    fitting, unfitting = read("gate/fitting.txt"), read("gate/unfitting.txt")
    lengths = [len(case.text.split()) for case in fitting]

    assert (30, 30, 60) == (len(fitting), len(unfitting), len({case.text for case in fitting + unfitting}))
    assert 6 == min(lengths)
    assert max(lengths) <= 300
    assert sum(length >= 150 for length in lengths) >= 6


def test_every_fitting_prompt_names_a_file_of_the_project():
    """What should be found exists."""
    assert [] == [case.expected for case in read("gate/fitting.txt") if not (PROJECT / str(case.expected)).is_file()]
