from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from tests.support.builders import Shop

FITS = "How does the payment client retry?"
WINE = "Which wine goes with grilled salmon tonight?"
PROJECT = "no key of a real project"


def _log(shop: Shop, *events: dict[str, Any]) -> None:
    """Write an event log by hand, oldest first."""
    path = shop.home / "log" / "events.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"at": "2026-11-22T10:00:00+00:00"} | event) + "\n" for event in events))


@pytest.mark.parametrize(
    ("prompt", "word", "expected"),
    [
        (FITS, "good", "speaking was good"),
        (FITS, "noise", "it should have been silent"),
        (WINE, "good", "it should have spoken"),
        (WINE, "noise", "silence was right"),
    ],
    ids=["spoke-good", "spoke-noise", "silent-good", "silent-noise"],
)
def test_a_mark_says_what_it_means(own_shop: Shop, prompt: str, word: str, expected: str) -> None:
    """`good` means that context was wanted, of a silent decision too; the answer says so, for who meant it otherwise."""
    own_shop.hook(prompt)
    event_id = own_shop.json("log")["events"][0]["id"]

    assert f"{event_id}  {word}: {expected}\n" == own_shop.out("mark", event_id, word)


def test_last_is_the_answer_to_the_last_prompt_here(own_shop: Shop) -> None:
    """`--last` passes over other projects, failures and events that are no prompt."""
    own_shop.hook(FITS)
    own_shop.hook(WINE)
    last = own_shop.json("log")["events"][0]
    foreign = [
        {"id": "aaaaaaaaaa", "project": PROJECT, "reason": "injected", "event": "UserPromptSubmit"},
        {"id": "bbbbbbbbbb", "project": last["project"], "reason": "oriented", "event": "SessionStart"},
        {"id": "cccccccccc", "project": last["project"], "reason": "error", "error": "no luck"},
    ]
    with (own_shop.home / "log" / "events.jsonl").open("a") as log:
        log.writelines(json.dumps(event) + "\n" for event in foreign)

    assert last["id"] == own_shop.json("mark", "--last", "noise")["mark"]["id"]


def test_list_shows_the_marks_of_this_project(own_shop: Shop) -> None:
    """Newest first, as `hybrid log` shows events, with word and note; `--all` adds other projects."""
    own_shop.hook(FITS)
    own_shop.out("mark", "--last", "good", "--quiet")
    own_shop.hook(WINE)
    own_shop.out("mark", "--last", "noise", "--note", "not\nabout code", "--quiet")
    _log(own_shop, {"id": "eeeeeeeeee", "project": PROJECT, "reason": "gate", "prompt": "elsewhere"})
    own_shop.out("mark", "eeeeeeeeee", "good")

    first, second = own_shop.out("mark", "list").splitlines()
    assert first.startswith("noise  ")
    assert first.endswith(f'"{WINE}"  (not about code)')
    assert second.startswith("good   ")
    assert "injected" in second
    assert f'"{FITS}"' in second
    assert ["noise", "good"] == [mark["mark"] for mark in own_shop.json("mark", "list")["marks"]]
    assert ["good", "noise", "good"] == [mark["mark"] for mark in own_shop.json("mark", "list", "--all")["marks"]]


def test_remove_takes_a_mark_back(own_shop: Shop) -> None:
    """A removed mark is no longer listed, nor its prompt kept; removing what is not marked ends with code 1."""
    own_shop.hook(FITS)
    event_id = own_shop.json("mark", "--last", "good")["mark"]["id"]

    assert f"{event_id}  no longer marked\n" == own_shop.out("mark", "remove", event_id[:8])
    assert "" == (own_shop.home / "log" / "marks.jsonl").read_text()
    assert "No decision was marked yet; `hybrid mark ID good` or `noise` marks one.\n" == own_shop.out(
        "mark", "list", code=1
    )
    assert f"No mark of an event {event_id}.\n" == own_shop.out("mark", "remove", event_id, code=1)
    assert {"mark": None} == own_shop.json("mark", "remove", event_id, code=1)


def test_what_is_not_in_the_log_ends_with_code_one(shop: Shop) -> None:
    """Without such an event nothing is written."""
    assert "No prompt was answered here yet.\n" == shop.out("mark", "--last", "good", code=1)
    assert "No event ffffffffff.\n" == shop.out("mark", "ffffffffff", "good", code=1)
    assert {"mark": None} == shop.json("mark", "ffffffffff", "good", code=1)
    assert {"marks": []} == shop.json("mark", "list", code=1)
    assert not (shop.home / "log" / "marks.jsonl").exists()


def test_an_id_must_mean_one_decision(own_shop: Shop) -> None:
    """A beginning that several ids share is refused: the wrong decision would be judged."""
    _log(own_shop, {"id": "abc0000000", "reason": "gate"}, {"id": "abc1111111", "reason": "gate"})

    error = "hybrid: 2 events begin with 'abc'; give more of the ID, `hybrid log` shows it"
    assert error == own_shop.error("mark", "abc", "good")
    assert "abc1111111" == own_shop.json("mark", "abc1", "good")["mark"]["id"]


def test_an_empty_id_means_no_decision(own_shop: Shop) -> None:
    """Every id begins with nothing, so an empty one is refused where there is one event, and to remove marks too."""
    _log(own_shop, {"id": "abc0000000", "reason": "gate"})
    own_shop.out("mark", "abc0000000", "good")

    for words in (("", "noise"), ("remove", "")):
        assert own_shop.error("mark", *words).startswith("hybrid: an empty ID means no event; `hybrid log` shows ids")
    assert ["good"] == [mark["mark"] for mark in own_shop.json("mark", "list", "--all")["marks"]]


@pytest.mark.parametrize(
    "event",
    [{"reason": "error", "error": "no luck"}, {"reason": "reset", "event": "PreCompact"}],
    ids=["failure", "bookkeeping"],
)
def test_what_was_no_decision_cannot_be_marked(own_shop: Shop, event: dict[str, Any]) -> None:
    """A failure chose nothing, nor did an event that is only noted."""
    _log(own_shop, {"id": "abc0000000"} | event)

    error = own_shop.error("mark", "abc0000000", "good")
    assert f"hybrid: event abc0000000 ({event['reason']}) was no decision; `hybrid log` shows others" == error


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("good",), "an ID as `hybrid log` shows it"),
        (("0123456789",), "'0123456789' is no mark; write `hybrid mark ID good` or `hybrid mark ID noise`"),
        (("0123456789", "great"), "'great' is no mark; write `hybrid mark ID good` or `hybrid mark ID noise`"),
        (("--last", "0123456789", "good"), "--last takes the place of the ID"),
        (("one", "other", "good"), "one decision is marked at a time, and 'one', 'other' are 2"),
        (("remove",), "`hybrid mark remove` takes one ID and no --last"),
        (("list", "x"), "`hybrid mark list` takes no further word"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_words_that_are_no_mark_are_an_error(shop: Shop, words: tuple[str, ...], told: str) -> None:
    """One line says what is wrong with them."""
    assert told in shop.error("mark", *words)
