from __future__ import annotations

import json
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.records.memory import writing
from hybrid.records.memory.types import Extracted, Owner, PendingEvent, short_key
from hybrid.records.memory.writing import MAX_BATCH_EVENTS, Waiting, batches
from hybrid.records.memory.writing import REPEAT_WINDOW_MS as HOUR_MS
from tests.support.memories import DAY_MS, HERE, NOW_MS, THERE, WINDOW_MS, event, fails, make, titles

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import Flushed


def _add(store: MemoryStore, name: str, tool: str = "Edit", after_ms: int = 0, owner: Owner = HERE) -> bool:
    return store.add_event(owner, event(name, tool, NOW_MS + after_ms), window_ms=WINDOW_MS, make=make)


def _flush(store: MemoryStore, session_id: str = "", after_ms: int = 0) -> Flushed:
    return store.flush(make=make, now_ms=NOW_MS + after_ms, window_ms=WINDOW_MS, session_id=session_id)


def test_uses_of_one_tool_within_the_window_become_one(store: MemoryStore) -> None:
    """3,000 ms after the one before is within the window, 3,001 ms is not."""
    for name, after_ms in (("a", 0), ("b", 3_000), ("c", 6_000), ("d", 9_001)):
        _add(store, name, after_ms=after_ms)
    _flush(store, "s1")

    assert ["a b c", "d"] == titles(store)


def test_another_tool_ends_a_batch_in_order(store: MemoryStore) -> None:
    """A use of another tool stores what came before it, and order is kept when the first tool comes again."""
    for name, tool in (("a", "Edit"), ("b", "Read"), ("c", "Read"), ("d", "Edit")):
        _add(store, name, tool)

    assert ["a", "b c"] == titles(store)
    _flush(store, "s1")
    assert ["a", "b c", "d"] == titles(store)


def test_sessions_do_not_end_each_others_batches(store: MemoryStore) -> None:
    """Two sessions that work at once have a batch each."""
    for number in range(3):
        _add(store, f"a{number}", "Edit", number)
        _add(store, f"b{number}", "Read", number, THERE)
    _flush(store, after_ms=WINDOW_MS + 3)

    assert ["a0 a1 a2", "b0 b1 b2"] == titles(store)


def test_a_batch_belongs_to_one_prompt(store: MemoryStore) -> None:
    """A new prompt ends a batch; each observation has the number of its prompt, and its extractor the text."""
    store.add_prompt(HERE, "first", NOW_MS)
    _add(store, "a")
    store.add_prompt(HERE, "second", NOW_MS + 1)
    _add(store, "b", after_ms=2)
    _flush(store, "s1")

    rows = [(row.prompt_number, row.told.narrative) for row in store.all_rows("observation")]
    assert [(1, "first"), (2, "second")] == rows


def test_what_is_younger_than_the_window_goes_on_waiting(store: MemoryStore) -> None:
    """A flush of all sessions leaves a batch that the next use may still join; of one session it takes all."""
    _add(store, "a")

    assert 0 == _flush(store, after_ms=WINDOW_MS).n
    assert 1 == store.stats().n_pending
    assert 1 == _flush(store, "s1").n
    assert 0 == store.stats().n_pending


def test_an_event_counts_once(store: MemoryStore) -> None:
    """A use that is waiting, was stored, or told nothing is ignored when it comes again."""
    assert [True, False] == [_add(store, "a"), _add(store, "a")]
    _flush(store, "s1")
    assert not _add(store, "a")
    assert _add(store, "n", "Nothing")
    _flush(store, "s1")
    assert not _add(store, "n", "Nothing")

    assert ["a"] == titles(store)


def test_an_extractor_that_raises_loses_nothing(store: MemoryStore) -> None:
    """Its batch is stored under the tool's name with what it was given, the failure is told, others go on."""
    _add(store, "a", "Bash")
    _add(store, "b", "Read", owner=THERE)

    def fails_on_bash(events: list[PendingEvent], prompt: str) -> object:
        return (fails if events[0].tool == "Bash" else make)(events, prompt)

    flushed = store.flush(make=fails_on_bash, now_ms=NOW_MS + 9_999, window_ms=WINDOW_MS)  # pyright: ignore

    assert (2, ("Bash: LookupError: no rule for Bash",)) == (flushed.n, flushed.failures)
    assert ["Use Bash", "b"] == titles(store)
    bare = next(iter(store.all_rows("observation")))
    assert ("change", '{"name": "a"}') == (bare.told.type, bare.told.narrative)


def test_two_batches_that_failed_are_two(store: MemoryStore) -> None:
    """The bare title alone does not make them repeats of one another."""
    for number in range(3):
        use = event(f"e{number}", "Bash", NOW_MS + 10_000 * number)
        store.add_event(HERE, use, window_ms=WINDOW_MS, make=fails)

    assert ["Use Bash", "Use Bash"] == titles(store)


def test_a_batch_has_an_end(store: MemoryStore) -> None:
    """However closely uses follow, after so many the batch is stored."""
    for number in range(MAX_BATCH_EVENTS + 1):
        _add(store, f"e{number}", after_ms=number)

    assert 1 == len(titles(store))
    assert 1 == store.stats().n_pending


def test_a_use_that_comes_tells_one_batch(store: MemoryStore) -> None:
    """Whatever waits, a hook tells the first; a flush tells as many as it is asked for, in order, none for zero."""
    for number in range(6):
        use = event(f"e{number}", "ER"[number % 2], NOW_MS + number)
        store.database.write(lambda db, use=use: writing.add_event(db, HERE, use))
    _add(store, "last", "Edit", 6)
    assert ["e0"] == titles(store)

    def told(most: int | None) -> int:
        return store.flush(make=make, now_ms=NOW_MS, window_ms=WINDOW_MS, session_id="s1", most=most).n

    assert [0, 2, 4, 0] == [told(0), told(2), told(None), told(None)]
    assert ["e0", "e1", "e2", "e3", "e4", "e5", "last"] == titles(store)


@pytest.mark.parametrize(("after_ms", "is_new"), [(HOUR_MS, False), (HOUR_MS + 1, True)])
@pytest.mark.parametrize("tool", ["Edit", "Nothing"])
def test_the_same_event_counts_again_after_an_hour(store: MemoryStore, tool: str, after_ms: int, is_new: bool) -> None:
    """A client without ids sends the same digest when the same is done later; each of them is an observation then."""
    for at_ms in (0, after_ms, 2 * after_ms):
        assert (at_ms != after_ms or is_new) == _add(store, "a", tool, at_ms)
        _flush(store, "s1")

    n = 0 if tool == "Nothing" else 3 if is_new else 2
    assert ["a"] * n == titles(store)


def test_what_is_forgotten_never_counts_again(store: MemoryStore) -> None:
    """However much later it comes, and when it was told twice."""
    for at_ms in (0, 2 * HOUR_MS):
        _add(store, "a", after_ms=at_ms)
        _flush(store, "s1")
    store.forget([("observation", 2)])

    assert not _add(store, "a", after_ms=99 * HOUR_MS)
    assert ["a"] == titles(store)


def test_what_is_forgotten_while_it_waits_again_stays_forgotten(store: MemoryStore) -> None:
    """The use that waits is told of no more, and no later one counts."""
    _add(store, "a")
    _flush(store, "s1")
    _add(store, "a", after_ms=2 * HOUR_MS)
    store.forget([("observation", 1)])
    _flush(store, "s1")

    assert [] == titles(store)
    assert not _add(store, "a", after_ms=4 * HOUR_MS)


def test_what_was_seen_long_ago_is_dropped(store: MemoryStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table of events that were seen does not grow for ever; what was forgotten stays in it."""
    monkeypatch.setattr(writing, "_DROP_EACH", 1)
    for name, after_ms in (("old", 0), ("gone", 1), ("lately", 29 * DAY_MS), ("now", 31 * DAY_MS)):
        _add(store, name, after_ms=after_ms)
        _flush(store, "s1")
        if name == "gone":
            store.forget([("observation", 2)])
    seen = store.database.read(lambda db: {row[0] for row in db.execute("SELECT event FROM seen_events")}, set[bytes]())

    assert {short_key(event(name).digest) for name in ("gone", "lately", "now")} == seen


def test_tokens_are_added_up(store: MemoryStore) -> None:
    """A batch stands for the tokens of all its uses."""
    for number in range(3):
        store.add_event(HERE, event(f"e{number}", tokens=100), window_ms=WINDOW_MS, make=make)
    _flush(store, "s1")

    assert [300] == [row.discovery_tokens for row in store.all_rows("observation")]


class Ended(BaseException):
    """The end of the process that tells of a batch, as far as the memory knows it."""


def test_a_use_that_ends_its_reader_is_set_aside(store: MemoryStore) -> None:
    """After two tries the uses of its batch are told of alone, so it alone is set aside after the third."""

    def ends(events: Sequence[PendingEvent], prompt: str) -> Extracted | None:
        if any("bad" in one.payload for one in events):
            raise Ended
        return make(events, prompt)

    for name in ("good", "bad", "fine"):
        _add(store, name)
    for _ in range(3):
        with pytest.raises(Ended):
            store.flush(make=ends, now_ms=NOW_MS, window_ms=WINDOW_MS, session_id="s1")
    said = store.flush(make=ends, now_ms=NOW_MS, window_ms=WINDOW_MS, session_id="s1").failures
    stats = store.stats()

    assert ("Edit (use 2): telling of it did not come to an end 3 times; it is set aside",) == said
    assert (0, 1, 0) == (stats.n_pending, stats.n_aside, store.n_waiting())
    assert ["good", "fine"] == titles(store)
    assert (0, ()) == (_flush(store, "s1").n, _flush(store, "s1").failures)


def test_another_version_tries_a_use_again(store: MemoryStore) -> None:
    """A use that was set aside waits again once a version that may know better reads the memory."""
    _add(store, "bad")
    store.database.write(lambda db: db.execute("UPDATE pending_events SET n_tries = 4, tried_by = '0.0.1'"))

    assert 1 == store.n_waiting()
    assert 1 == _flush(store, "s1").n
    assert ["bad"] == titles(store)


_STEPS = st.lists(st.tuples(st.sampled_from("ERB"), st.integers(0, 6_000), st.integers(0, 1)), max_size=60)


@given(_STEPS)
def test_batches_are_the_given_order_cut(steps: list[tuple[str, int, int]]) -> None:
    """Nothing is lost, doubled or moved; within a batch tool and prompt are one and pauses short; it ends for a cause."""
    at_ms, waiting = 0, []
    for number, (tool, pause_ms, prompt) in enumerate(steps):
        at_ms += pause_ms
        waiting.append(Waiting(number, 1, HERE, prompt, PendingEvent(tool, "", str(number), 0, at_ms)))
    found = batches(waiting, WINDOW_MS)

    def goes_on(last: Waiting, one: Waiting) -> bool:
        is_close = one.event.created_ms - last.event.created_ms <= WINDOW_MS
        return is_close and (last.event.tool, last.prompt_number) == (one.event.tool, one.prompt_number)

    assert waiting == [one for batch in found for one in batch]
    assert all(goes_on(last, one) for batch in found for last, one in pairwise(batch))
    assert not any(goes_on(batch[-1], following[0]) for batch, following in pairwise(found))


def _cut(events: Sequence[PendingEvent], prompt: str) -> list[tuple[int, Extracted | None]]:
    """A row of each use; an upper-case name is that of a search that found nothing, `-` tells nothing."""
    return [(1, None if name == "-" else _told(name)) for name in (json.loads(one.payload)["name"] for one in events)]


def _told(name: str) -> Extracted:
    title = f"Search `{name}`: nothing found" if name.isupper() else f"Do {name}"
    return Extracted("discovery", title, facts=(f"{name}: said",))


def _cut_all(store: MemoryStore, *names: str, tool: str = "Bash", after_ms: int = 0) -> None:
    for name in names:
        store.add_event(HERE, event(name, tool, NOW_MS + after_ms), window_ms=WINDOW_MS, make=_cut)
    store.flush(make=_cut, now_ms=NOW_MS + after_ms, window_ms=WINDOW_MS, session_id="s1")


def test_a_batch_may_become_several_rows(store: MemoryStore) -> None:
    """Each with the digest of its own uses; each use counts once, whatever row it became."""
    _cut_all(store, "one", "-", "two")

    assert ["Do one", "Do two"] == titles(store)
    assert 2 == len({row.digest for row in store.all_rows("observation")})
    assert not any(
        store.add_event(HERE, event(name, "Bash", NOW_MS), window_ms=WINDOW_MS, make=_cut)
        for name in ("one", "-", "two")
    )


def test_uses_that_an_extractor_leaves_out_tell_nothing(store: MemoryStore) -> None:
    """They do not wait for ever."""
    for name in ("one", "two"):
        _add(store, name)
    store.flush(
        make=lambda events, prompt: _cut(events, prompt)[:1], now_ms=NOW_MS, window_ms=WINDOW_MS, session_id="s1"
    )

    assert (["Do one"], 0) == (titles(store), store.n_waiting())


def test_a_search_in_vain_goes_into_the_row_of_the_step_after_it(store: MemoryStore) -> None:
    """Also from an earlier batch; its uses belong to that row, and its facts are found there."""
    store.add_prompt(HERE, "first", NOW_MS - 1)
    _cut_all(store, "OLD", tool="Grep")
    _cut_all(store, "NEW", tool="Grep", after_ms=9_000)
    _cut_all(store, "hit", tool="Read", after_ms=18_000)
    (row,) = store.all_rows("observation")

    assert ("Do hit", ("hit: said", "NEW: said", "OLD: said")) == (row.told.title, row.told.facts)
    seen = store.database.read(lambda db: db.execute("SELECT DISTINCT observation_id FROM seen_events").fetchall(), [])
    assert [(row.id,)] == seen


def test_a_search_in_vain_stays_without_a_step_after_it(store: MemoryStore) -> None:
    """Another turn is no step after it."""
    _cut_all(store, "OLD", tool="Grep")
    store.add_prompt(HERE, "next", NOW_MS + 1)
    _cut_all(store, "hit", tool="Read", after_ms=9_000)

    assert ["Search `OLD`: nothing found", "Do hit"] == titles(store)
