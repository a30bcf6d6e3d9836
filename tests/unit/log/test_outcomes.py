from __future__ import annotations

from typing import Any

import pytest

from hybrid.log.outcomes import figures, in_words, outcome_in_words, outcome_of
from hybrid.types import Use

AT = "2026-11-29T10:00:00.000+00:00"
NOW_S = 1_795_946_400.0
"""The same time in seconds since 1970."""


def item(place: str, kind: str = "code", **more: Any) -> dict[str, Any]:
    """An item as the log has it: a part of a file, or a record."""
    where = {"path": place, "id": None} if kind == "code" else {"path": None, "id": place}
    return {"key": f"{kind}:{place}:aa", "kind": kind, **where, **more}


def prompt(*items: dict[str, Any], reason: str = "injected") -> dict[str, Any]:
    """A decision on a prompt."""
    return {"id": "d1", "at": AT, "event": "UserPromptSubmit", "reason": reason, "items": list(items)}


def ended(decision: dict[str, Any], *uses: Use, cited: tuple[str, ...] = ()) -> dict[str, Any]:
    """What became of one decision; records name the file `src/named.py`."""
    return outcome_of([decision], uses, cited, lambda _: ["named.py"])


@pytest.mark.parametrize(
    ("given", "uses", "how"),
    [
        pytest.param(item("src/a.py"), [Use(NOW_S + 1, "read", ("src/a.py",))], "opened", id="opened"),
        pytest.param(item("src/a.py"), [Use(NOW_S + 1, "edit", (), ("src/a.py",))], "edited", id="edited"),
        pytest.param(item("src/a.py"), [Use(NOW_S - 9, "read", ("src/a.py",))], "ignored", id="opened before"),
        pytest.param(item("src/a.py"), [Use(NOW_S + 1, "read", ("src/b/a.py",))], "ignored", id="another of its name"),
        pytest.param(item("src/a.py"), [], "answered", id="no tool at all"),
        pytest.param(item("L001", "lesson"), [Use(NOW_S + 1, "command")], "cited", id="cited"),
        pytest.param(item("L002", "lesson"), [Use(NOW_S + 1, "read", ("src/named.py",))], "opened", id="a named file"),
        pytest.param(
            item("L002", "lesson"), [Use(NOW_S + 1, "read", ("src/unnamed.py",))], "ignored", id="another file"
        ),
    ],
)
def test_what_became_of_an_item(given: dict[str, Any], uses: list[Use], how: str) -> None:
    """Only what comes after it counts, for the files that it shows or names."""
    [became] = ended(prompt(given), *uses, cited=("L001",))["became"]

    assert how == became["how"]
    assert given["id"] or given["path"] == became["place"]


def test_the_best_use_of_an_item_counts() -> None:
    """An item that came twice in a turn counts once, as it was used most."""
    decisions = [prompt(item("src/a.py")), {**prompt(item("src/a.py")), "at": "2026-11-29T09:00:00.000+00:00"}]
    uses = [Use(NOW_S - 60, "edit", (), ("src/a.py",)), Use(NOW_S + 60, "read", ("src/a.py",))]

    assert ["edited"] == [one["how"] for one in outcome_of(decisions, uses, (), lambda _: ())["became"]]


@pytest.mark.parametrize(
    ("uses", "is_missed"),
    [
        pytest.param([Use(NOW_S, "search"), Use(NOW_S, "read", ("src/a.py",))], True, id="searched, then opened"),
        pytest.param([Use(NOW_S, "search")], False, id="searched in vain"),
        pytest.param([Use(NOW_S, "read", ("src/a.py",))], False, id="knew the file"),
        pytest.param([], False, id="did nothing"),
    ],
)
def test_a_silence_is_missed_where_the_agent_found_something_by_hand(uses: list[Use], is_missed: bool) -> None:
    """It searched, and opened a file of the project."""
    outcome = ended(prompt(reason="gate"), *uses)

    assert (True, is_missed) == (outcome["is_silent"], outcome["is_missed"])
    assert not ended(prompt(reason="prompt"), *uses).get("is_missed")


def test_uses_are_counted_by_kind_and_failures_by_form() -> None:
    """A command of the same form that fails again is told by its number."""
    uses = [Use(NOW_S, "command", failed=form) for form in ("make test", "make test", "npm run", "")]
    outcome = ended(prompt(), *uses, Use(NOW_S, "edit", (), ("src/a.py",)), Use(NOW_S, "read"))

    assert {"command": 4, "edit": 1, "read": 1} == outcome["did"]
    assert {"make test": 2, "npm run": 1} == outcome["failed"]
    assert 4 == outcome["before_edit"]


def test_what_was_held_out_is_told_apart() -> None:
    """It is no item that was given, in figures and words."""
    held = prompt(reason="held_out") | {"held": [item("src/a.py")]}
    held |= {
        "held_back": [{"key": "lesson:L001:aa", "reason": "held_out"}, {"key": "lesson:L002:aa", "reason": "seen"}]
    }
    outcome = {"at": AT} | ended(held, Use(NOW_S, "read", ("src/a.py",)))

    assert {"src/a.py": "opened", "L001": "ignored"} == {one["place"]: one["how"] for one in outcome["became"]}
    assert all(one["is_held"] for one in outcome["became"])
    assert 0 == figures([outcome], days=7, now_s=NOW_S)["total"]["given"]
    assert not outcome_in_words(outcome)


def test_a_turn_that_tells_nothing_has_no_outcome() -> None:
    """Nothing was given, the prompt asked for nothing, and no tool was used."""
    assert not ended(prompt(reason="prompt"))


def test_figures_count_by_day_and_kind() -> None:
    """Older days do not count."""
    used = {"at": AT} | ended(prompt(item("src/a.py")), Use(NOW_S + 1, "read", ("src/a.py",)))
    ignored = {"at": AT} | ended(prompt(item("L002", "lesson")), Use(NOW_S + 1, "command"))
    silent = {"at": "2026-11-28T10:00:00.000+00:00"} | ended(prompt(reason="gate"))
    old = used | {"at": "2026-11-01T10:00:00.000+00:00"}
    found = figures([used, ignored, silent, old], days=7, now_s=NOW_S)

    assert "2 given, 1 used, 1 ignored; 1 silence, 0 missed" == in_words(found["total"])
    assert {"2026-11-29": 2, "2026-11-28": 0} == {day: counts["given"] for day, counts in found["by_day"].items()}
    assert {"code": 1, "lesson": 0} == {kind: counts["used"] for kind, counts in found["by_kind"].items()}


def test_an_outcome_in_words() -> None:
    """What was used comes first; a miss names what was found."""
    line = ended(prompt(item("src/a.py"), item("src/b.py")), Use(NOW_S + 1, "edit", (), ("src/b.py",)))
    missed = ended(prompt(reason="gate"), Use(NOW_S, "search"), Use(NOW_S, "read", ("src/c.py",)))

    assert ["edited src/b.py", "ignored src/a.py"] == outcome_in_words(line)
    assert ["the agent searched by hand and opened src/c.py"] == outcome_in_words(missed)
