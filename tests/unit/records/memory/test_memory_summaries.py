"""One summary of a session: made of its turns, found by its present words alone, forgotten and moved as one."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from hybrid.records.memory.store import MemoryStore
from hybrid.records.memory.types import Owner, RowFilter, SessionSummary, Summarised
from hybrid.records.memory.writing import insert_summary, open_session, summary_of
from tests.support.memories import HERE, NOW_MS, THERE, bytes_on_disk, matching, told

if TYPE_CHECKING:
    from pathlib import Path

MINUTE_MS = 60_000


def turn(store: MemoryStore, number: int, owner: Owner = HERE, **parts: str) -> SessionSummary:
    """The end of a turn of a session; the number is its minute, too."""
    store.add_prompt(owner, f"prompt {number}", NOW_MS + number * MINUTE_MS)
    row = store.add_summary(owner, Summarised(**parts), NOW_MS + number * MINUTE_MS + 1)
    assert row is not None
    return row


def summaries(store: MemoryStore) -> list[SessionSummary]:
    """All of them, oldest first."""
    return [row for row in store.all_rows("summary") if isinstance(row, SessionSummary)]


def old_row(store: MemoryStore, number: int, text: str) -> None:
    """A summary of one turn, as older versions stored them."""
    row = SessionSummary(0, HERE, Summarised(request=text, learned="It was so. " * 9), number, NOW_MS + number)
    store.database.write(lambda db: insert_summary(db, open_session(db, HERE, NOW_MS)[0], row))


def test_a_session_has_one_summary(store: MemoryStore) -> None:
    """Each of its turns goes into it, the last one says when it was."""
    first = turn(
        store, 1, request="Mend the cap", learned="It was missing.", notes="Tests: 1 failed.\nCommitted: Half."
    )
    turn(store, 2, request="And the key", learned="It is old.", notes="Tests: 8 passed.")
    [row] = summaries(store)

    assert (first.id, {1, 2}, NOW_MS + 2 * MINUTE_MS + 1) == (row.id, row.prompt_numbers, row.created_ms)
    assert ("Mend the cap; then: And the key", "It was missing. It is old.") == (row.told.request, row.told.learned)
    assert "Committed: Half. Tests: 8 passed." == row.told.notes


def test_the_end_of_a_turn_that_comes_again_counts_once(store: MemoryStore) -> None:
    """Also late, after the next turn; its old words are found no more."""
    turn(store, 1, learned="half")
    turn(store, 2, learned="more")
    store.add_summary(HERE, Summarised(learned="whole"), NOW_MS + MINUTE_MS + 5)
    [row] = summaries(store)

    assert "whole more" == row.told.learned
    assert ([], [row.id]) == (matching(store, "half", "summaries_fts"), matching(store, "whole", "summaries_fts"))


def test_what_an_earlier_turn_left_open_may_be_done_since() -> None:
    """Where a later one changed something; one that only asked or committed leaves it open."""
    opened, asked = Summarised(completed="a", next_steps="Log it."), Summarised(learned="b")
    changed = Summarised(completed="c")

    assert ["Log it.", "", "Log it."] == [
        summary_of(turns, []).next_steps for turns in ([opened, asked], [opened, changed], [changed, opened])
    ]


def test_the_files_of_a_session_come_from_what_it_did(store: MemoryStore) -> None:
    """In the order of their first change, by name and folder; none that lies elsewhere, and none that was only read."""
    files = ("src/pay/client.py", "/tmp/try.py", "README.md", "~/x.py")
    for place, path in enumerate(files):
        store.add_observation(HERE, told(f"Change {path}", files_modified=(path,)), NOW_MS + place)
    store.add_observation(HERE, told("Read it", files_read=("src/pay/bank.py",)), NOW_MS + 9)

    assert "Changed pay/client.py, README.md. Capped it." == turn(store, 1, completed="Capped it.").told.completed


def test_many_turns_leave_a_small_row(store: MemoryStore) -> None:
    """The first one and the last ones stay, each with a sentence."""
    for number in range(1, 41):
        turn(store, number, request=f"Ask {number}", learned=f"Answer {number} says this. " + "And much more. " * 40)
    [row] = summaries(store)

    assert {1, *range(22, 41)} == row.prompt_numbers
    assert row.told.request.startswith("Ask 1; then: Ask 37;")
    assert "Answer 1 says this." in row.told.learned
    assert "Answer 40 says this." in row.told.learned
    assert len(row.told.learned) <= 600


def test_each_project_of_a_session_has_its_own(store: MemoryStore) -> None:
    """A session that went on in another one says there what it did there."""
    turn(store, 1, learned="of the shop")
    turn(store, 2, Owner(HERE.session_id, THERE.key, THERE.project), learned="of the bank")
    turn(store, 3, learned="of the shop again")

    assert [(HERE.key, "of the shop of the shop again"), (THERE.key, "of the bank")] == [
        (row.owner.key, row.told.learned) for row in summaries(store)
    ]


def test_turns_that_end_at_once_are_all_there(tmp_path: Path) -> None:
    """Several processes write to one session; none takes back what another one wrote."""
    path = tmp_path / "memory.db"
    with MemoryStore(path) as store:
        for number in range(1, 17):
            store.add_prompt(HERE, f"prompt {number}", NOW_MS + number * MINUTE_MS)

    def end(number: int) -> None:
        with MemoryStore(path) as store:
            store.add_summary(HERE, Summarised(learned=f"Answer {number}."), NOW_MS + number * MINUTE_MS + 1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(end, range(1, 17)))
    with MemoryStore(path) as store:
        assert [{*range(1, 17)}] == [row.prompt_numbers for row in summaries(store)]


def test_rows_of_older_versions_stay(store: MemoryStore) -> None:
    """One for each turn, and of the last sessions one each is given; the session that goes on takes the newest into its."""
    for number in (1, 2):
        store.add_prompt(HERE, f"prompt {number}", NOW_MS + number * MINUTE_MS)
        old_row(store, number, f"old {number}")
    last = [row.prompt_number for row in store.last_summaries(HERE.key, 2)]
    turn(store, 3, request="new")

    assert [2] == last
    assert ["old 1", "old 2; then: new"] == [row.told.request for row in summaries(store)]


def test_a_forgotten_summary_stays_forgotten(store: MemoryStore) -> None:
    """Also what it said earlier: an export from before, or from between, does not bring it back."""
    turn(store, 1, learned="quagmire one")
    before = list(store.export(RowFilter()))
    turn(store, 2, learned="quagmire two")
    [row] = summaries(store)
    store.forget([("summary", row.id)])

    assert b"quagmire" not in bytes_on_disk(store.path)
    assert 1 == store.import_lines(before, NOW_MS).n_forgotten
    assert [] == summaries(store)


def test_a_summary_moves_with_its_turns(store: MemoryStore, tmp_path: Path) -> None:
    """The session goes on elsewhere; a state of it that is here already is not stored beside it."""
    turn(store, 1, learned="first")
    early = list(store.export(RowFilter()))
    turn(store, 2, learned="second")
    late = list(store.export(RowFilter()))
    with MemoryStore(tmp_path / "other.db") as other:
        other.import_lines(late, NOW_MS)
        again = other.import_lines(early, NOW_MS)
        turn(other, 3, learned="third")

        assert (1, 0) == (again.n_duplicates - 2, again.n_summaries)
        assert ["first second third"] == [row.told.learned for row in summaries(other)]


def test_turns_of_another_form_are_not_read(store: MemoryStore, tmp_path: Path) -> None:
    """The line is reported, the others are taken."""
    turn(store, 1, learned="first")
    *others, line = store.export(RowFilter())
    for wrong in ([[1, "too short"]], [["x", *"abcdef"]], ["no list"]):
        with MemoryStore(tmp_path / f"{len(str(wrong))}.db") as other:
            found = other.import_lines([*others, json.dumps(json.loads(line) | {"turns": wrong})], NOW_MS)

            assert (0, 1, 1) == (found.n_summaries, found.n_unread, found.n_prompts)
