from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.prompting.clean import clean
from hybrid.prompting.rules import PromptVerdict, looks_back, prompt_verdict, topic_of
from tests.support.cases import cases

if TYPE_CHECKING:
    from tests.support.cases import Case


def verdict(prompt: str, **options: object) -> PromptVerdict:
    """The verdict on a prompt with the shipped minimum length unless another is given."""
    return prompt_verdict(clean(prompt), **{"min_prompt_length": 20, **options})  # pyright: ignore[reportArgumentType]


@cases("prompting/verdicts.txt")
def test_a_prompt_is_searched_or_silent_for_a_reason(case: Case) -> None:
    """Each rule names itself, so that the log can explain why nothing was said; what names something of a project is never lost."""
    assert PromptVerdict(case.expected == "search", case.expected or "") == verdict(case.text)


@cases("prompting/turns.txt")
def test_turns_of_a_conversation_are_silent(case: Case) -> None:
    """However short a prompt may be."""
    assert case.expected == verdict(case.text, min_prompt_length=0).reason


@cases("prompting/looking_back.txt")
def test_a_question_about_earlier_sessions_has_a_topic_or_none(case: Case) -> None:
    """The words that say which work is meant; none where the last is meant, or the project by its name."""
    assert looks_back(case.text)
    assert case.expected == topic_of(case.text, "shop")


@cases("prompting/not_looking_back.txt")
def test_words_of_time_in_a_task_are_no_question_about_a_session(case: Case) -> None:
    """Nor does a long prompt ask for one."""
    assert not looks_back(case.text)


@pytest.mark.parametrize(
    ("prompt", "prefixes"),
    [
        pytest.param("ship: the new invoice export today", ["ship:"], id="word"),
        pytest.param("/deploy the invoice export to staging", ["/deploy"], id="command"),
        pytest.param("//note the invoice export is slow", ["x", "//"], id="second-of-two"),
    ],
)
def test_configured_prefixes_are_skipped(prompt: str, prefixes: list[str]):
    """A prompt that begins with a configured prefix, as typed, is left alone."""
    assert PromptVerdict(False, "skip_prefix") == verdict(prompt, skip_prefixes=prefixes)


def test_an_empty_prefix_skips_nothing():
    """An empty string in the settings does not silence everything."""
    assert verdict("how does the payment client retry?", skip_prefixes=["", " "]).is_searchable


@pytest.mark.parametrize(("length", "expected"), [(19, False), (20, True)])
def test_the_minimum_length_counts_characters_after_cleaning(length: int, expected: bool):
    """Nineteen characters are silent and twenty are not, whatever was cut around them."""
    prompt = "where is vat computed in it"[:length].strip().ljust(length, "s")

    assert expected == verdict(f"<private>long and secret</private>   {prompt}   ").is_searchable


@given(
    st.text(max_size=300), st.sampled_from(["parse_args", "loadConfig", "src/app.py", "`x`", "--dry-run", "a.b.c()"])
)
def test_a_name_from_code_is_never_silenced_by_words(words: str, name: str):
    """Whatever else is said, a prompt with code, an identifier or a path that is long enough is searched."""
    prompt = f"please go on with {name} now, thanks a lot"
    tail = "" if words.strip().startswith("/") else words.replace("<", "").replace("[", "").replace("-", "")

    assert PromptVerdict(True, "search") == verdict(f"{prompt} {tail}")


@given(st.text())
def test_any_prompt_gets_a_verdict(prompt: str):
    """No string breaks the gate, and a searchable prompt is exactly one with the reason `search`."""
    result = verdict(prompt, min_prompt_length=0)

    assert result.is_searchable == (result.reason == "search")
