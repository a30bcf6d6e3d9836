from __future__ import annotations

import shutil
import time
from typing import TYPE_CHECKING

import pytest

from hybrid.ask import memory_lookup
from hybrid.knowledge.memory_collection import present_of
from hybrid.knowledge.open_records import Records
from hybrid.records.memory.types import Extracted, Owner, Wanted
from tests.support.records import Talk, new_talk

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.records.memory.store import MemoryStore

OTHER = "b" * 16


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    """The payments project, without records."""
    return new_talk(tmp_path, {})


def add(talk: Talk, records: Records, title: str, *, key: str = "", session: str = "s1") -> int:
    """An observation of this project, or of another one; returns its number."""
    workspace = talk.workspace()
    store = records.stores.memory(workspace)
    own = workspace.require_project().key
    row = store.add_observation(Owner(session, key or own, "shop"), Extracted("change", title), 1_780_000_000_000)
    assert row is not None
    return row.id


def found(talk: Talk, records: Records, query: str, **wanted: object) -> list[str]:
    """Titles of what a search finds, best first."""
    workspace = talk.workspace()
    present = present_of(workspace, store_of(talk, records))
    rows = memory_lookup.search(workspace, records, query, Wanted(**wanted), present, limit=5)  # type: ignore[arg-type]
    return [one.row.told.title for one in rows if hasattr(one.row.told, "title")]


def store_of(talk: Talk, records: Records) -> MemoryStore:
    """The memory."""
    return records.stores.memory(talk.workspace())


def test_nothing_is_opened_for_an_empty_memory(talk: Talk) -> None:
    """Without a row there is no index, and no database is made by looking."""
    records = Records({})

    assert (None, ()) == records.memory(talk.workspace())
    assert not store_of(talk, records).exists
    assert not (talk.home / "records").exists()


def test_what_is_new_is_found_at_once(talk: Talk) -> None:
    """Also when the index was open before; only what is new is read."""
    records = Records({})
    add(talk, records, "Fix walrus in the harbour")
    assert ["Fix walrus in the harbour"] == found(talk, records, "walrus harbour")

    add(talk, records, "Paint the copper falcon")
    assert ["Paint the copper falcon"] == found(talk, records, "copper falcon")[:1]


def test_a_service_answers_with_what_is_open_and_catches_up(talk: Talk) -> None:
    """A prompt does not wait for what other sessions did a moment ago; soon after it is there."""
    records = Records({}, is_lagging=True)
    add(talk, records, "Fix walrus in the harbour")
    found(talk, records, "walrus")
    add(talk, records, "Paint the copper falcon")

    titles = found(talk, records, "copper falcon")
    for _ in range(500):
        if "Paint the copper falcon" in titles:
            break
        time.sleep(0.02)
        titles = found(talk, records, "copper falcon")
    assert "Paint the copper falcon" in titles


def test_what_is_forgotten_is_not_found_even_in_an_index_that_has_it(talk: Talk) -> None:
    """What is found is compared with the store first."""
    records = Records({}, is_lagging=True)
    number = add(talk, records, "Fix walrus in the harbour")
    add(talk, records, "Paint the copper falcon")
    found(talk, records, "walrus")
    store_of(talk, records).forget("observation", [number])

    assert "Fix walrus in the harbour" not in found(talk, records, "walrus harbour")


def test_filters_restrict_before_the_limit(talk: Talk) -> None:
    """Of a hundred rows that fit, the one of the wanted session is found."""
    records = Records({})
    for number in range(120):
        add(talk, records, f"Fix walrus number {number}", session="many")
    add(talk, records, "Look at a walrus", session="one")

    assert ["Look at a walrus"] == found(talk, records, "fix walrus number", session_id="one")


def test_other_projects_have_no_part_where_they_are_not_wanted(talk: Talk) -> None:
    """With `cross_project` off the index holds the present project's rows alone."""
    records = Records({})
    add(talk, records, "Fix walrus there", key=OTHER)
    add(talk, records, "Fix walrus here")
    alone = Talk(talk.root, talk.home, flags={"memory.cross_project": False})

    assert {"Fix walrus there", "Fix walrus here"} == set(found(talk, records, "fix walrus"))
    assert ["Fix walrus here"] == found(alone, records, "fix walrus")


def test_rows_that_say_the_same_are_given_once(talk: Talk) -> None:
    """The same of the same files in two sessions is one answer; another line range is no other thing."""
    records = Records({})
    for session, title in (("s1", "Read walrus.py:1-20"), ("s2", "Read walrus.py:5-40"), ("s3", "Paint walrus.py")):
        add(talk, records, title, session=session)

    assert 2 == len(found(talk, records, "walrus.py"))


def test_a_hook_without_a_service_does_not_index_a_large_memory(talk: Talk) -> None:
    """It has no time for that; the service does it."""
    records = Records({}, most_new=3)
    for number in range(5):
        add(talk, records, f"Fix walrus number {number}")

    view, problems = records.memory(talk.workspace())
    assert view is None
    assert "5 rows of the memory are not indexed yet" in problems[0]


def test_an_index_that_was_deleted_is_made_again(talk: Talk) -> None:
    """Whatever the store says of changes."""

    records = Records({})
    add(talk, records, "Fix walrus in the harbour")
    found(talk, records, "walrus")
    shutil.rmtree(talk.home / "records")

    assert ["Fix walrus in the harbour"] == found(talk, Records({}), "walrus")
