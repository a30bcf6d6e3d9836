import pytest

from hybrid.prompting.rules import looks_back, topic_of


@pytest.mark.parametrize(
    "prompt",
    [
        "where did we stop last time?",
        "continue where the last session left off",
        "what did we do last time",
        "which tests failed last time?",
        "summarise the last session please",
        "What did you do yesterday in this repository?",
        "what was done in the last session?",
        "ok, what's left to do?",
        "what are the next steps",
        "Last time we changed the parser, right? What did you find?",
        "what have we worked on here?",
    ],
)
def test_questions_about_earlier_sessions(prompt: str) -> None:
    """What was done, where it stopped, what is left."""
    assert looks_back(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "Fix the retry loop of the payment client",
        "store the last session token in the cookie",
        "the previous time zone must be kept when the clock changes",
        "Add a column for yesterday's revenue to the report",
        "rename last_time to latest in the scheduler",
        "run the steps of the next migration",
        "thanks, that looks great now",
        "where did we put the handler for refunds? " + "It must be somewhere below src. " * 20,
    ],
)
def test_other_prompts(prompt: str) -> None:
    """Words of time in a task are no question about a session."""
    assert not looks_back(prompt)


@pytest.mark.parametrize(
    ("prompt", "topic"),
    [
        ("where did we stop last time?", ""),
        ("which tests failed last time?", ""),
        ("What did you do yesterday in this repository?", ""),
        ("what did we do last time in the shop?", ""),
        ("continue where we left off, please run the tests and commit", ""),
        ("what hapened in the last session?", ""),
        ("continue where we left off with the beat jitter", "beat jitter"),
        ("did we do anything about yesterday's flaky test?", "flaky test"),
        ("what did we do about the build?", "build"),
        ("what are the next steps for issue 4312?", "4312"),
        ("continue with `retry_request()` where we left off", "`retry_request()`"),
        ("what did we change in src/store.py last week?", "src/store.py"),
    ],
)
def test_the_topic_of_a_question_about_earlier_work(prompt: str, topic: str) -> None:
    """The words that say which work is meant; none where the last is meant, or the project by its name."""
    assert topic == topic_of(prompt, "shop")
