from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from hybrid.answer.holdout import is_held_out
from hybrid.evaluation.holdout import FEWEST, compare, items_by_kind, power, report, sessions_of, simulated
from tests.support.records import Talk, lesson_file, new_talk

if TYPE_CHECKING:
    from pathlib import Path


def line(session: str, arm: str = "given", **more: Any) -> dict[str, Any]:
    """What became of one turn of a session that was, or would have been, given a file."""
    usual = {
        "at": "2026-11-29T10:00:00",
        "became": [{"kind": "code", "how": "opened"}],
        "did": {"search": 2, "read": 3},
    }
    return {"project": "p", "session": session, "arm": arm, **usual, **more}


# --- who is held out -----------------------------------------------------------------------------------------


def test_a_fixed_share_is_held_out() -> None:
    """About the share, the same each time, and others for a record of the session; none without an id or a share."""
    names = [f"s{n}" for n in range(2_000)]
    held = [name for name in names if is_held_out(0.1, name)]

    assert 150 < len(held) < 250
    assert held == [name for name in names if is_held_out(0.1, name)]
    assert 5 < sum(is_held_out(0.1, name, "L001") for name in held) < 50
    assert not any(is_held_out(0.0, name) for name in names)
    assert not is_held_out(0.5, "")


# --- what is compared ----------------------------------------------------------------------------------------


def test_turns_of_a_session_are_added_up() -> None:
    """A failure that comes again in a later turn is a repeat; steps are counted until the first edit."""
    first = line("s1", failed={"make test": 1}, before_edit=None, task="change")
    second = line("s1", at="2026-11-29T11:00:00", failed={"make test": 2, "npm": 1}, before_edit=2, task="change")
    [session] = sessions_of([second, first])

    expected = {"searches": 4, "reads": 6, "failed": 4, "repeated": 2, "turns": 2, "before_edit": 7}
    assert (expected, "change", False) == (session.figures, session.task, session.is_held_out)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(line("s1", arm=""), id="of no experiment"),
        pytest.param(line("s1", became=[]), id="nothing to give"),
        pytest.param(line(""), id="no session"),
    ],
)
def test_other_sessions_are_left_out(other: dict[str, Any]) -> None:
    """Those that nothing would have been given to say nothing about injections."""
    assert not sessions_of([other])


def test_nothing_is_compared_with_few_sessions() -> None:
    """However large the difference is."""
    held = [line(f"h{n}", "held_out", did={"search": 90}) for n in range(FEWEST - 1)]
    found = report([*held, *(line(f"g{n}") for n in range(50))])

    assert (59, FEWEST - 1) == (found["sessions"], found["held_out"])
    assert not any(one["is_found"] for one in found["differences"].values())


def test_what_chance_may_have_made_is_not_shown() -> None:
    """Neither ratio nor interval of a difference that was not found; the sessions needed are."""
    found = compare(simulated(200, 0.1, 0.0, seed=3))

    assert [(None, None, None)] * len(found) == [(one.ratio, one.low, one.high) for one in found.values()]
    assert all(one.needed and one.needed > 200 for one in found.values())


def test_a_known_effect_is_found() -> None:
    """A third less of everything, in three thousand sessions: the interval holds it."""
    searches = compare(simulated(3_000, 0.2, 0.33, seed=3))["searches"]

    assert searches.is_found
    assert (searches.low or 1) < 0.67 < (searches.high or 1) < 1


def test_nothing_is_found_where_there_is_nothing() -> None:
    """Of 40 experiments without an effect at most five of a hundred find any difference; with one they find it."""
    assert power(400, 0.2, 0.0, trials=40)[1] <= 0.075
    assert power(400, 0.2, 0.5, trials=10)[0] >= 0.9


def test_items_are_counted_by_side() -> None:
    """Given and held out, and which of them the agent used."""
    became = [{"kind": "lesson", "how": "edited"}, {"kind": "lesson", "how": "ignored", "is_held": True}]
    found = items_by_kind([line("s1", became=became), line("s2", arm="", became=became)])

    assert {"lesson": {"given": 1, "given_used": 1, "held_out": 1, "held_out_used": 0}} == found


# --- in a session --------------------------------------------------------------------------------------------

LESSONS = {".hybrid/LESSONS.md": lesson_file(("L001", "Retries of src/payments/client.py", "Only idempotent ones."))}
QUESTION = "How does the payment client retry a request after a timeout?"


def session_id(*names: str, is_held: bool) -> str:
    """The id of a session that is, or is not, held out at half of all."""
    return next(f"s{n}" for n in range(99) if is_held_out(0.5, f"s{n}", *names) is is_held)


def test_a_session_that_is_held_out_gets_nothing(tmp_path: Path) -> None:
    """What it would have got is in the log and in the outcome, at the prompt, at a file and at its start."""
    made = new_talk(tmp_path, LESSONS, is_indexed=True, experiment_holdout=0.5)
    talk = Talk(made.root, made.home, session_id(is_held=True), flags=made.flags)

    assert not talk.start("startup").text
    assert not talk.ask(QUESTION).text
    read = {"tool": "Read", "tool_input": {"file_path": "src/payments/client.py"}, "tool_response": "x"}
    for _ in range(2):  # Once, as it would have been given once.
        assert not talk.tell("PostToolUse", **read).text
    assert not talk.ask(QUESTION).text
    talk.stop("Done.")

    assert ["same_topic", "held_out", "held_out"] == [one["reason"] for one in talk.log()][:3]
    assert "src/payments/client.py" in {item["path"] for one in talk.log()[1:] for item in one["held"]}
    outcome, first = talk.workspace().outcomes.newest()
    assert ("held_out", []) == (outcome["arm"], outcome["became"])
    assert ("held_out", True) == (first["arm"], all(one["is_held"] for one in first["became"]))


def test_a_record_is_held_out_of_a_share_of_the_sessions(tmp_path: Path) -> None:
    """The files of the prompt come without it, and the file that it names brings nothing, told in the outcome."""
    made = new_talk(tmp_path, LESSONS, is_indexed=True, experiment_holdout=0.5)
    names = (f"s{n}" for n in range(999))
    name = next(one for one in names if not is_held_out(0.5, one) and is_held_out(0.5, one, "L001"))
    talk = Talk(made.root, made.home, name, flags=made.flags)

    given = talk.ask(QUESTION)
    assert ("PaymentClient" in given.text, "L001" in given.text) == (True, False)
    read = {"tool": "Read", "tool_input": {"file_path": "src/payments/client.py"}, "tool_response": "x"}
    assert not talk.tell("PostToolUse", **read).text
    talk.stop("Done.")

    [outcome] = talk.workspace().outcomes.newest()
    assert ["L001"] == [one["place"] for one in outcome["became"] if one.get("is_held")]
    assert "given" == outcome["arm"]
