from __future__ import annotations

import shutil
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from hybrid.base.errors import BusyError, ModelError
from hybrid.base.resources import shipped
from hybrid.knowledge.memory_collection import present_of
from hybrid.knowledge.open_indexes import OpenIndexes
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.knowledge.record_indexes import MemoryIndex
from hybrid.prompting.query import make_query
from hybrid.records.memory.types import Extracted, Owner, RowFilter
from tests.support.agent import until
from tests.support.records import Talk, new_talk
from tests.support.successors import SHIPPED

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.knowledge.collections import RecordsCollection
    from hybrid.records.memory.store import MemoryStore

OTHER = "b" * 16


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    """The payments project, without records."""
    return new_talk(tmp_path, {})


def add(talk: Talk, kinds: OpenKinds, title: str, *, key: str = "", session: str = "s1") -> int:
    """An observation of this project, or of another one; returns its number."""
    workspace = talk.workspace()
    store = kinds.stores.memory(workspace)
    own = workspace.require_project().key
    row = store.add_observation(Owner(session, key or own, "shop"), Extracted("change", title), 1_780_000_000_000)
    assert row is not None
    return row.id


def found(talk: Talk, kinds: OpenKinds, query: str, **wanted: object) -> list[str]:
    """Titles of what a search finds, best first."""
    workspace = talk.workspace()
    present = present_of(workspace, store_of(talk, kinds))
    memory = kinds.memory(workspace, waits=True)
    rows = memory.found(make_query(query), RowFilter(**wanted), present, 5) if memory else []  # type: ignore[arg-type]
    return [one.row.told.title for one in rows if hasattr(one.row.told, "title")]


def store_of(talk: Talk, kinds: OpenKinds) -> MemoryStore:
    """The memory."""
    return kinds.stores.memory(talk.workspace())


def test_nothing_is_opened_for_an_empty_memory(talk: Talk) -> None:
    """Without a row there is no index, and no database is made by looking."""
    kinds = OpenKinds({})

    assert ([], []) == _opened(talk, kinds)
    assert not store_of(talk, kinds).exists
    assert not (talk.home / "records").exists()


def test_what_is_new_is_found_at_once(talk: Talk) -> None:
    """Also when the index was open before; only what is new is read."""
    kinds = OpenKinds({})
    add(talk, kinds, "Fix walrus in the harbour")
    assert ["Fix walrus in the harbour"] == found(talk, kinds, "walrus harbour")

    add(talk, kinds, "Paint the copper falcon")
    assert ["Paint the copper falcon"] == found(talk, kinds, "copper falcon")[:1]


def test_a_service_answers_with_what_is_open_and_catches_up(talk: Talk) -> None:
    """A prompt does not wait for what other sessions did a moment ago; soon after it is there."""
    kinds = OpenKinds({}, OpenIndexes(is_lagging=True))
    add(talk, kinds, "Fix walrus in the harbour")
    assert 1 == _n_indexed(talk, kinds)
    add(talk, kinds, "Paint the copper falcon")

    until(lambda: _n_indexed(talk, kinds) == 2)
    assert "Paint the copper falcon" in found(talk, kinds, "copper falcon")


def test_a_search_finds_what_was_written_just_before(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who writes a row down and then looks for it finds it, though prompts do not wait; unless there are many."""
    kinds = OpenKinds({}, OpenIndexes(is_lagging=True))
    add(talk, kinds, "Fix walrus in the harbour")
    found(talk, kinds, "walrus")
    add(talk, kinds, "Paint the copper falcon")

    assert "Paint the copper falcon" in found(talk, kinds, "copper falcon")

    def wait(*_: object) -> None:
        pytest.fail("it waited")

    monkeypatch.setattr(OpenIndexes, "_soon", wait)
    monkeypatch.setattr("hybrid.knowledge.record_indexes._FEW_NEW", 1)
    add(talk, kinds, "Sell the silver kestrel")
    add(talk, kinds, "Buy the golden heron")
    assert "Fix walrus in the harbour" in found(talk, kinds, "walrus")


def test_a_search_gets_the_old_rows_while_others_are_indexed(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """The index of another memory may be built for minutes, or not at all: what is open answers."""
    monkeypatch.setattr("hybrid.knowledge.open_indexes._SOON_S", 0.05)
    kinds = OpenKinds({}, OpenIndexes(is_lagging=True))
    add(talk, kinds, "Fix walrus in the harbour")
    found(talk, kinds, "walrus")
    add(talk, kinds, "Paint the copper falcon")

    def fail(*_: object) -> None:
        raise ModelError("the model is gone")

    with monkeypatch.context() as patch:
        patch.setattr(MemoryIndex, "update", fail)
        assert ["Fix walrus in the harbour"] == found(talk, kinds, "walrus")
    is_over, update = threading.Event(), MemoryIndex.update

    def last(index: MemoryIndex, indexes: OpenIndexes) -> None:
        is_over.wait(120)
        update(index, indexes)

    with monkeypatch.context() as patch:
        patch.setattr(MemoryIndex, "update", last)
        assert ["Fix walrus in the harbour"] == found(talk, kinds, "walrus")
        is_over.set()
    until(lambda: "Paint the copper falcon" in found(talk, kinds, "copper falcon"))


def _n_indexed(talk: Talk, kinds: OpenKinds) -> int:
    """The rows in the index that a prompt is answered with."""
    memory = kinds.memory(talk.workspace())
    return memory.searcher.backend.n_chunks if memory else 0


def _opened(talk: Talk, kinds: OpenKinds) -> tuple[list[RecordsCollection], list[str]]:
    """The memory as a prompt gets it, and what was wrong with it."""
    return kinds.open(talk.workspace(), ("memory",))


def test_a_service_catches_up_after_a_build_that_failed(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process was building: the old index served, and was never opened anew until the service ended (#17)."""
    kinds = OpenKinds({}, OpenIndexes(is_lagging=True))
    add(talk, kinds, "Fix walrus in the harbour")
    found(talk, kinds, "walrus")
    add(talk, kinds, "Paint the copper falcon")
    with monkeypatch.context() as patch:
        tries: list[int] = []

        def fail(*_: object) -> None:
            tries.append(1)
            raise BusyError("another process builds")

        patch.setattr(MemoryIndex, "update", fail)
        until(lambda: bool(found(talk, kinds, "walrus")) and len(tries) > 1)

    until(lambda: "Paint the copper falcon" in found(talk, kinds, "copper falcon"))


def test_what_is_forgotten_is_not_found_even_in_an_index_that_has_it(talk: Talk) -> None:
    """What is found is compared with the store first."""
    kinds = OpenKinds({}, OpenIndexes(is_lagging=True))
    number = add(talk, kinds, "Fix walrus in the harbour")
    add(talk, kinds, "Paint the copper falcon")
    found(talk, kinds, "walrus")
    store_of(talk, kinds).forget([("observation", number)])

    assert "Fix walrus in the harbour" not in found(talk, kinds, "walrus harbour")


def test_filters_restrict_before_the_limit(talk: Talk) -> None:
    """Of a hundred rows that fit, the one of the wanted session is found."""
    kinds = OpenKinds({})
    for number in range(120):
        add(talk, kinds, f"Fix walrus number {number}", session="many")
    add(talk, kinds, "Look at a walrus", session="one")

    assert ["Look at a walrus"] == found(talk, kinds, "fix walrus number", session_id="one")


def test_other_projects_have_no_part_where_they_are_not_wanted(talk: Talk) -> None:
    """The index holds the present project's rows alone, unless the settings want those of all."""
    kinds = OpenKinds({})
    add(talk, kinds, "Fix walrus there", key=OTHER)
    add(talk, kinds, "Fix walrus here")
    every = Talk(talk.root, talk.home, flags={"memory.cross_project": True})

    assert {"Fix walrus there", "Fix walrus here"} == set(found(every, kinds, "fix walrus"))
    assert ["Fix walrus here"] == found(talk, kinds, "fix walrus")


def test_rows_that_say_the_same_are_given_once(talk: Talk) -> None:
    """The same of the same files in two sessions is one answer; another line range is no other thing."""
    kinds = OpenKinds({})
    for session, title in (("s1", "Read walrus.py:1-20"), ("s2", "Read walrus.py:5-40"), ("s3", "Paint walrus.py")):
        add(talk, kinds, title, session=session)

    assert 2 == len(found(talk, kinds, "walrus.py"))


def test_a_hook_without_a_service_does_not_index_a_large_memory(talk: Talk) -> None:
    """It has no time for that; the service does it."""
    kinds = OpenKinds({}, OpenIndexes(most_new=3))
    for number in range(5):
        add(talk, kinds, f"Fix walrus number {number}")

    opened, problems = _opened(talk, kinds)
    assert [] == opened
    assert "5 rows of the memory are not indexed yet" in problems[0]


def test_an_index_that_was_deleted_is_made_again(talk: Talk) -> None:
    """Whatever the store says of changes."""

    kinds = OpenKinds({})
    add(talk, kinds, "Fix walrus in the harbour")
    found(talk, kinds, "walrus")
    shutil.rmtree(talk.home / "records")

    assert ["Fix walrus in the harbour"] == found(talk, OpenKinds({}), "walrus")


def test_a_memory_of_another_model_is_embedded_anew(talk: Talk) -> None:
    """Without a new row too; a service answers with the old one meanwhile, and a hook alone leaves it as it is."""
    add(talk, OpenKinds({}), "Fix walrus in the harbour")
    _model(talk, OpenKinds({}))
    other = replace(talk, flags={**talk.flags, "model.name": "hashing-32"})
    alone, served = OpenKinds({}, OpenIndexes(most_new=300)), OpenKinds({}, OpenIndexes(is_lagging=True))

    assert [SHIPPED] * 2 == [_model(other, alone) for _ in range(2)]
    assert (SHIPPED, ["Fix walrus in the harbour"]) == (_model(other, served), found(other, served, "walrus"))
    until(lambda: _model(other, served) == "hashing-32")
    assert ["Fix walrus in the harbour"] == found(other, served, "walrus")
    assert "hashing-32" == _model(other, OpenKinds({}))


def test_a_memory_whose_model_is_gone_keeps_no_prompt_waiting(talk: Talk, tmp_path: Path) -> None:
    """A service leaves the memory out of an answer until it is embedded anew."""
    model = tmp_path / "model"
    shutil.copytree(shipped("models", SHIPPED), model)
    add(talk, OpenKinds({}), "Fix walrus in the harbour")
    _model(replace(talk, flags={**talk.flags, "model.name": str(model)}), OpenKinds({}))
    shutil.rmtree(model)
    served = OpenKinds({}, OpenIndexes(is_lagging=True))

    assert ([], ["memory: the memory is being embedded anew"]) == _opened(talk, served)
    until(lambda: _opened(talk, served)[1] == [])
    assert ["Fix walrus in the harbour"] == found(talk, served, "walrus")


def _model(talk: Talk, kinds: OpenKinds) -> str:
    """The model with which the memory is searched."""
    memory = kinds.memory(talk.workspace())
    assert memory is not None
    return memory.searcher.embedder.info.name
