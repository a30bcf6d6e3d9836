import pytest

from hybrid.prompting.rules import refers_back


@pytest.mark.parametrize(
    "prompt",
    [
        "now do the same for the async client",
        "and where is that tested?",
        "ok, and the write guard",
        "does the unbounded one have that problem too?",
        "same fix for powershell please",
        "not there, look under resources",
        "what do the other modes of that mean?",
    ],
)
def test_prompts_that_speak_of_what_came_before(prompt: str) -> None:
    """A link at the beginning, or a word that stands for something said before."""
    assert refers_back(prompt)


@pytest.mark.parametrize(
    "prompt",
    [
        "Fix the retry loop of the payment client",
        "Now something else: active help should be off by default",
        "Next task: the slow log keeps the whole command, cut it",
        "and please look into JoinSet.abort_all, it should not wait",
        "the same in src/users/store.py",
        "Now make the gate report which bar of the calibration was decisive",
        "Then redact passwords in urls before they are stored",
        "Where is a request sent again after a timeout of the bank?",
        "how are flags handled that accept multiple values",
        "",
    ],
)
def test_prompts_that_say_themselves_what_they_are_about(prompt: str) -> None:
    """A name, a path, a turn to another matter, or enough words to hold what `it` stands for."""
    assert not refers_back(prompt)
