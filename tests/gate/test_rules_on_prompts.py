"""The rules that need no index, over prompts as people write them."""

import pytest

from hybrid.prompting.clean import clean
from hybrid.prompting.rules import PromptVerdict, prompt_verdict
from tests.gate.prompts import FITTING, PROJECT, UNFITTING


@pytest.mark.parametrize("prompt", [text for text, _ in FITTING], ids=[text[:40] for text, _ in FITTING])
def test_no_prompt_that_fits_is_silenced_by_the_rules(prompt: str):
    """Politeness, a greeting, a deadline, a request about style or the length never keep a prompt from being searched."""
    assert PromptVerdict(True, "search") == prompt_verdict(clean(prompt), min_prompt_length=20)


def test_the_prompts_cover_what_people_write():
    """Thirty prompts each way without a repetition, from six to three hundred words, six of the fitting ones long."""
    lengths = [len(text.split()) for text, _ in FITTING]
    texts = {*UNFITTING, *(text for text, _ in FITTING)}

    assert (30, 30, 60) == (len(FITTING), len(UNFITTING), len(texts))
    assert 6 == min(lengths)
    assert max(lengths) <= 300
    assert sum(length >= 150 for length in lengths) >= 6


def test_every_fitting_prompt_names_a_file_of_the_project():
    """What should be found exists."""
    assert [] == [path for _, path in FITTING if not (PROJECT / path).is_file()]
