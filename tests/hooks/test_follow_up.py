"""A prompt that refers back to its session is answered near the files that the session is about."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hybrid.cli.explain import lines_of
from hybrid.upkeep.indexing import reindex
from tests.support.records import Talk, new_talk

if TYPE_CHECKING:
    from pathlib import Path

CLIENT, SIBLING, TEST = "src/payments/client.py", "src/payments/refunds.py", "tests/test_client.py"
BEST, FAR, NAMED = "lib/ledger/timeouts.py", "ops/restarts/worker.py", "ops/restarts/backoff.py"
FILES = {
    SIBLING: 'def refund(amount):\n    """Send a refund again after a timeout of the bank."""\n    return amount\n',
    TEST: 'def charged_twice():\n    """The bank has a timeout, and the charge is sent again."""\n    assert True\n',
    BEST: '"""Timeout of the bank."""\n\n\ndef bank_timeout(bank):\n    """Timeout of the bank, sent again."""\n    return bank\n',
    FAR: 'def restart(worker):\n    """Send the worker again after a timeout of the bank host."""\n    return worker\n',
    NAMED: 'def wait(seconds):\n    """Wait after a timeout of the bank, then send again."""\n    return seconds\n',
}
PLAIN = "Where is a request sent again after a timeout of the bank?"
FOLLOWING = "and is that sent again after a timeout of the bank, too?"


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    """A session whose agent has read the client of the payments; the gate is open."""
    talk = new_talk(
        tmp_path, {}, is_indexed=True, hooks_gate_threshold=0.0, hooks_threshold=0.0, search_min_cosine=-1.0
    )
    for path, text in FILES.items():
        talk.write(path, text)
    reindex(talk.workspace())
    read(talk, CLIENT)
    return talk


def read(talk: Talk, path: str) -> None:
    """A read of a whole file, by the agent's tool."""
    text = (talk.root / path).read_text()
    talk.tell("PostToolUse", tool="Read", tool_input={"file_path": str(talk.root / path)}, tool_response=text)


def far(talk: Talk, prompt: str, **options: Any) -> set[str]:
    """The files that a prompt would not get because they are far from its session; nothing is recorded."""
    reply = talk.reply("UserPromptSubmit", prompt=prompt, **options)
    reply.drop()
    assert reply.decision.items
    return {entry.hit.path for entry in reply.decision.withheld if entry.reason == "far"}


def test_what_is_neither_near_nor_best_is_left_out(talk: Talk) -> None:
    """The best file stays, and those in the folder or with a word of the name of one at hand; others do not."""
    reply = talk.reply("UserPromptSubmit", prompt=FOLLOWING)
    reply.drop()
    given = [item.hit.path for item in reply.decision.items]

    assert BEST == given[0]
    assert {SIBLING, TEST} <= set(given)
    assert {FAR, NAMED} <= far(talk, FOLLOWING)


@pytest.mark.parametrize(
    ("prompt", "flags"),
    [
        (PLAIN, {}),
        ("Now something else: what is sent again after a timeout of the bank?", {}),
        (FOLLOWING, {"hooks_follow_up": False}),
        (FOLLOWING, {"hooks_dedup_enabled": False}),
    ],
)
def test_other_prompts_get_what_they_got(talk: Talk, prompt: str, flags: dict[str, object]) -> None:
    """A prompt that says by itself what is asked, and one that turns to something else, are not narrowed."""

    assert not far(talk, prompt, flags=flags)


def test_a_file_that_is_named_is_given(talk: Talk) -> None:
    """A file whose name the prompt says is meant, wherever it lies."""
    found = far(talk, "and is there a backoff in that, after a timeout of the bank?")

    assert FAR in found
    assert NAMED not in found


def test_a_session_that_is_about_nothing_narrows_nothing(talk: Talk) -> None:
    """Another session, and this one after a compaction, have no files at hand."""
    elsewhere = far(talk, FOLLOWING, session_id="another")
    talk.start("compact")

    assert not elsewhere
    assert not far(talk, FOLLOWING)


def test_a_follow_up_does_not_open_the_gate(talk: Talk) -> None:
    """What says too little stays silent, whatever the session is about."""
    reply = talk.ask(FOLLOWING, flags={"hooks_gate_threshold": 0.99})

    assert ("gate", "") == (reply.decision.reason, reply.text)


def test_a_follow_up_about_what_was_given_stays_silent(talk: Talk) -> None:
    """The session has the best results, so nothing behind them is given."""
    talk.ask(FOLLOWING)
    again = talk.ask(f"{FOLLOWING} again")

    assert again.decision.reason in ("same_topic", "all_seen")


def test_the_log_says_what_a_prompt_referred_to(talk: Talk) -> None:
    """`hybrid explain` names the files at hand, the newest first, and counts what was far."""
    read(talk, SIBLING)
    talk.ask(FOLLOWING)
    event = talk.log()[0]
    lines = lines_of(event)

    assert [SIBLING, CLIENT] == event["at_hand"]
    assert f"  refers to  {SIBLING}, {CLIENT} (hooks.follow_up)" in lines
    assert event["withheld"]["far"] >= 2
    talk.ask(PLAIN)
    assert talk.log()[0]["at_hand"] is None
