from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.prompting.clean import clean
from hybrid.prompting.rules import (
    asks_how_to,
    gives_role,
    is_short,
    looks_back,
    must_name,
    prompt_verdict,
    topic_of,
)
from tests.support.cases import cases

if TYPE_CHECKING:
    from tests.support.cases import Case


def verdict(prompt: str, **options: object) -> str:
    """The verdict on a prompt."""
    return prompt_verdict(clean(prompt), **options)  # pyright: ignore[reportArgumentType]


@cases("prompting/verdicts.txt")
def test_a_prompt_is_searched_or_silent_for_a_reason(case: Case) -> None:
    """Each rule names itself, so that the log can explain why nothing was said; what names something of a project is never lost."""
    assert case.expected == verdict(case.text)


@cases("prompting/turns.txt")
def test_turns_of_a_conversation_are_silent(case: Case) -> None:
    """However short a prompt may be."""
    assert case.expected == verdict(case.text)


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
    assert "skip_prefix" == verdict(prompt, skip_prefixes=prefixes)


def test_an_empty_prefix_skips_nothing():
    """An empty string in the settings does not silence everything."""
    assert "search" == verdict("how does the payment client retry?", skip_prefixes=["", " "])


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("parse_args", (True, True)),
        ("where is parse_args defined", (True, False)),
        ("src/ledger/retry_budget.py", (True, False)),
        ("retry budget", (True, True)),
        ("authentication middleware", (True, True)),
        ("fix memory leak", (False, True)),
        ("how does it cache?", (False, True)),
        ("how does authentication work?", (False, False)),
        ("explain the scheduler please", (False, False)),
        ("退款金额在哪里计算的", (True, False)),
    ],
)
def test_very_short_prompts_must_name_something(prompt: str, expected: tuple[bool, bool]) -> None:
    """Under twenty characters, or two words; a prompt that is hardly more than a name may, but need not."""
    assert expected == (is_short(prompt), must_name(prompt))


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("How do I descale the kettle?", True),
        ("what's the best way to fold a map", True),
        ("How to retry a payment", True),
        ("how does the client retry?", False),
    ],
)
def test_a_question_how_the_user_does_something(prompt: str, expected: bool) -> None:
    """The person who asks is the one who does it, not the code."""
    assert expected == asks_how_to(prompt)


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("You are a florist. What lasts a week in a vase?", True),
        ("I want you to act a judge in this quarrel", True),
        ("From now on you are my fitness coach", True),
        ("As an experienced sailor, tell me which knots I need", True),
        ("I need somebody with experience in moving pianos", True),
        ("Hi! We are looking for an expert in medieval law", True),
        ("Let's play twenty questions, you begin", True),
        ("You are a subagent. Find where the budget is spent.", False),
        ("You are a helpful assistant. Where is the ledger closed?", False),
        ("You are an auditor. Look for injection in the query builder", False),
        ("You are a bit off: the ledger is closed before the flush", False),
        ("I need a handler who closes idle connections", False),
        ("Let's play the recorded events through the parser", False),
        ("Act on the warning of the linter", False),
        ("why does the gateway act as a proxy for images?", False),
        ("be a bit stricter when the header is missing", False),
        ("You are a Rust developer. Why does the queue starve?", False),
    ],
)
def test_a_prompt_that_gives_a_role(prompt: str, expected: bool) -> None:
    """A role in work on software is none, and no other silences a prompt: more is asked of it."""
    assert (expected, "search") == (gives_role(prompt), verdict(prompt))


@given(
    st.text(max_size=300), st.sampled_from(["parse_args", "loadConfig", "src/app.py", "`x`", "--dry-run", "a.b.c()"])
)
def test_a_name_from_code_is_never_silenced_by_words(words: str, name: str):
    """Whatever else is said, a prompt with code, an identifier or a path that is long enough is searched."""
    prompt = f"please go on with {name} now, thanks a lot"
    tail = "" if words.strip().startswith("/") else words.replace("<", "").replace("[", "").replace("-", "")

    assert "search" == verdict(f"{prompt} {tail}")


@given(st.text())
def test_any_prompt_gets_a_verdict(prompt: str):
    """No string breaks the rules."""
    assert verdict(prompt)
