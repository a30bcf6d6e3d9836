from __future__ import annotations

import json
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.base.errors import BusyError
from hybrid.base.resources import shipped
from hybrid.knowledge.open_indexes import OpenIndexes
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.knowledge.stores import RecordStores, open_stores
from hybrid.records.types import OF_TREES
from tests.support.agent import until
from tests.support.records import DECISION, LESSONS, PATTERNS, RECORD_FILES, Talk, accept_tree, new_talk
from tests.support.successors import SHIPPED

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.knowledge.collections import RecordsCollection
    from hybrid.workspace import Workspace

FILE = ".hybrid/LESSONS.md"


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    """A project with records, for a small and quick model."""
    return new_talk(tmp_path, model_name="hashing")


def _opened(talk: Talk, kinds: OpenKinds | None = None) -> tuple[list[RecordsCollection], list[str]]:
    """Lessons and lore of a process that starts anew, or that has them open, and what was wrong with them."""
    return (kinds or OpenKinds({})).open(talk.workspace(), OF_TREES)


def _indexed(records: RecordsCollection | None) -> list[str]:
    """Ids in the index of records."""
    assert records is not None
    snapshot = records.searcher.backend
    return sorted(snapshot.get(row).path for row, _ in snapshot.live_terms())


def test_each_kind_has_an_index_of_its_own(talk: Talk) -> None:
    """Lessons and lore have an index each, of the records that may be given out."""
    opened, problems = _opened(talk)

    assert [] == problems
    assert ["lessons", "lore"] == [one.kind for one in opened]
    assert [
        ["L001", "L002"],
        ["anti-000001-bbbbbbbb", DECISION, "pat-000001-aaaaaaaa", "session-20260214-100000-aaaaaaaa"],
    ] == [_indexed(one) for one in opened]


def test_without_records_nothing_is_made(tmp_path: Path) -> None:
    """A project without records opens nothing, and no index of records comes into being."""
    talk = new_talk(tmp_path, {}, model_name="hashing")

    assert ([], []) == _opened(talk)
    assert not (talk.home / "records").exists()


def test_an_index_stays_open_while_nothing_changes(talk: Talk) -> None:
    """The same searcher serves as long as the files say the same, another one as soon as one changed."""
    kinds, workspace = OpenKinds({}), talk.workspace()
    first, second = kinds.records(workspace, "lessons"), kinds.records(workspace, "lessons")
    talk.write(FILE, LESSONS.replace("Never edit", "Never touch"))
    third = kinds.records(workspace, "lessons")

    assert None not in (first, second, third)
    assert first.searcher is second.searcher
    assert first.searcher is not third.searcher
    assert "Never touch an applied migration" == third.by_path["L002"].name


def test_counters_do_not_make_an_index_anew(talk: Talk) -> None:
    """What is counted is seen at once, and nothing is indexed for it."""
    kinds, workspace = OpenKinds({}), talk.workspace()
    before = kinds.records(workspace, "lessons")
    store = open_stores(workspace).project
    assert store is not None
    store.note_injected(["L001"])
    after = kinds.records(workspace, "lessons")

    assert None not in (before, after)
    assert before.searcher is after.searcher
    assert (0, 1) == (before.lessons.active["L001"].injections, after.lessons.active["L001"].injections)


def test_an_edit_within_the_clocks_grain_is_seen(talk: Talk) -> None:
    """A file that was written just now may change again with the same size and time: it is read again."""
    stores, workspace = RecordStores({}), talk.workspace()
    path = talk.root / FILE
    before = stores.lessons(workspace)
    found = path.stat()
    with path.open("r+b") as file:
        file.write(LESSONS.replace("Never edit", "Always do").replace("Always do", "Alway edit").encode())
    os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))
    after = stores.lessons(workspace)

    assert found.st_size == path.stat().st_size
    assert ("Never edit an applied migration", "Alway edit an applied migration") == (
        before.active["L002"].title,
        after.active["L002"].title,
    )


def test_records_are_read_again_only_when_files_change(talk: Talk) -> None:
    """While nothing changes the same objects are given again, with what was worked out of them."""
    stores, workspace = RecordStores({}), talk.workspace()

    assert stores.lessons(workspace) is stores.lessons(workspace)
    assert stores.lore(workspace) is stores.lore(workspace)


def test_trees_do_not_see_one_another(tmp_path: Path) -> None:
    """Each working tree has indexes of its own, although one catalog keeps the texts of all."""
    one = new_talk(tmp_path / "a", {FILE: LESSONS}, model_name="hashing")
    other = new_talk(tmp_path / "b", {FILE: LESSONS.replace("L001", "L007")}, model_name="hashing")
    both = replace(other, home=one.home)
    accept_tree(both.root, both.home)
    kinds = OpenKinds({})
    found = [_indexed(kinds.records(talk.workspace(), "lessons")) for talk in (one, both, one)]

    assert [["L001", "L002"], ["L002", "L007"], ["L001", "L002"]] == found


def test_an_acceptance_is_seen_at_once(tmp_path: Path) -> None:
    """Records of a tree come and go with its acceptance, whatever is open."""
    talk = new_talk(tmp_path, is_accepted=False, model_name="hashing")
    kinds = OpenKinds({})
    before = _opened(talk, kinds)
    accept_tree(talk.root, talk.home)
    accepted = [one.kind for one in _opened(talk, kinds)[0]]
    (talk.home / "accepted.json").unlink()

    assert ([], []) == before == _opened(talk, kinds)
    assert ["lessons", "lore"] == accepted


@pytest.mark.parametrize("kind", ["lessons", "lore"])
def test_a_kind_that_is_switched_off_is_not_opened(talk: Talk, kind: str) -> None:
    """Its files are not even read."""
    opened, _ = OpenKinds({}).open(talk.workspace(**{f"{kind}_enabled": False}), OF_TREES)

    assert [{"lessons": "lore", "lore": "lessons"}[kind]] == [one.kind for one in opened]


def test_threads_open_an_index_together(talk: Talk) -> None:
    """Prompts at the same time get the same open index, or are told that it is being made."""
    kinds = OpenKinds({})
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: _opened(talk, kinds), range(12)))

    searchers = {id(one.searcher) for opened, _ in found for one in opened if one.kind == "lessons"}
    assert 1 == len(searchers)
    assert all("being indexed" in problem for _, problems in found for problem in problems)


def test_a_home_that_is_cleaned_up_is_filled_again(talk: Talk) -> None:
    """When somebody deletes the record index while it is open, the next change makes it again."""
    kinds = OpenKinds({})
    _opened(talk, kinds)
    shutil.rmtree(talk.home / "records")
    talk.write(FILE, LESSONS.replace("L002", "L005"))
    opened, problems = _opened(talk, kinds)

    assert [] == problems
    assert ["L001", "L005"] == _indexed(opened[0])


def test_a_lessons_file_that_cannot_be_read_is_a_problem(talk: Talk) -> None:
    """The other kind goes on, and the sentence names the file."""
    talk.write(FILE, b"x" * 6_000_000)
    opened, problems = _opened(talk)

    assert ["lore"] == [one.kind for one in opened]
    assert [True] == [problem.startswith("lessons: ") and FILE in problem for problem in problems]


def test_lore_from_the_environment(tmp_path: Path, talk: Talk) -> None:
    """`LORE_DATA_DIR` names the user's lore."""
    folder = tmp_path / "mine"
    path = folder / "patterns" / "data" / "patterns.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(PATTERNS.replace("000001", "000009"))
    kinds = OpenKinds({"LORE_DATA_DIR": str(folder)})

    assert "pat-000009-aaaaaaaa" in kinds.by_path(talk.workspace())
    assert "pat-000009-aaaaaaaa" not in OpenKinds({}).by_path(talk.workspace())


def test_environments_of_one_service_keep_their_lore_open(tmp_path: Path, talk: Talk) -> None:
    """Two terminals with another `LORE_DATA_DIR` each do not make one another's index anew with every prompt."""
    indexes, workspace = OpenIndexes(), talk.workspace()
    path = tmp_path / "mine" / "patterns" / "data" / "patterns.yaml"
    path.parent.mkdir(parents=True)
    path.write_text(PATTERNS.replace("000001", "000009"))
    both = [OpenKinds({"LORE_DATA_DIR": str(tmp_path / "mine")}, indexes), OpenKinds({}, indexes)]
    found = [kinds.records(workspace, "lore") for kinds in (*both, *both)]

    assert None not in found
    assert [True, False] == ["pat-000009-aaaaaaaa" in one.by_path for one in found[:2]]
    assert [one.searcher for one in found[:2]] == [one.searcher for one in found[2:]]


def test_by_path_names_records_as_the_indexes_do(talk: Talk) -> None:
    """What the ledger remembers by a path of the index is found there without opening an index."""
    kinds = OpenKinds({})
    opened = [kinds.records(talk.workspace(), kind) for kind in OF_TREES]

    assert dict(kinds.by_path(talk.workspace())) == {
        path: record for one in opened if one for path, record in one.by_path.items()
    }


def test_two_lessons_with_one_id_are_both_found(talk: Talk) -> None:
    """After a merge of branches both are indexed; each is checked against its own text."""
    talk.write(FILE, LESSONS.replace("[L002]", "[L001]"))
    found = OpenKinds({}).records(talk.workspace(), "lessons")

    assert ["L001", "L001~2"] == _indexed(found)


def test_a_retracted_decision_leaves_the_index(talk: Talk) -> None:
    """What is withdrawn is gone from the index too, not only from what is shown."""
    kinds, workspace = OpenKinds({}), talk.workspace()
    before = _indexed(kinds.records(workspace, "lore"))
    name = ".hybrid/lore/journal/data/decisions.jsonl"
    line: dict[str, Any] = json.loads(RECORD_FILES[name].splitlines()[0]) | {"status": "retracted"}
    talk.write(name, RECORD_FILES[name] + json.dumps(line) + "\n")
    after = _indexed(kinds.records(workspace, "lore"))

    assert DECISION in before
    assert sorted({*before} - {DECISION}) == after


def test_an_index_that_holds_the_records_is_opened_without_its_catalog(talk: Talk) -> None:
    """A process that starts anew looks at no database while the records are those of the index."""
    _opened(talk)
    (talk.home / "records" / "catalog.db").unlink()
    opened, problems = _opened(talk)

    assert [] == problems
    assert ["L001", "L002"] == _indexed(opened[0])
    assert not (talk.home / "records" / "catalog.db").exists()


@pytest.mark.parametrize("name", ["seen.json", "manifest.json"])
@pytest.mark.parametrize("damage", [b"", b"[]", b'{"records": 1}'])
def test_a_damaged_note_of_what_an_index_holds_makes_it_be_looked_at(talk: Talk, name: str, damage: bytes) -> None:
    """What stands beside an index is believed only as long as it fits."""
    _opened(talk)
    for folder in (talk.home / "records" / "views").iterdir():
        (folder / name).write_bytes(damage)
    opened, problems = _opened(talk)

    assert [] == problems
    assert ["L001", "L002"] == _indexed(opened[0])


def test_a_record_that_changed_is_found_by_a_process_that_starts_anew(talk: Talk) -> None:
    """The note beside an index fits the records that it was made of alone."""
    _opened(talk)
    talk.write(FILE, LESSONS.replace("Never edit", "Never touch"))
    opened, _ = _opened(talk)

    snapshot = opened[0].searcher.backend
    assert {"Git commit format", "Never touch an applied migration"} == {
        snapshot.get(row).name for row, _ in snapshot.live_terms()
    }


def _of_model(talk: Talk, name: str) -> Workspace:
    """The project as it is with another model in the settings."""
    return replace(talk, flags={**talk.flags, "model.name": name}).workspace()


def test_a_service_answers_with_the_model_before_and_catches_up(talk: Talk) -> None:
    """A prompt does not wait until records are embedded with another model; soon after they are."""
    OpenKinds({}).records(talk.workspace(), "lessons")
    kinds, workspace = OpenKinds({}, OpenIndexes(is_lagging=True)), _of_model(talk, "hashing-32")
    first = kinds.records(workspace, "lessons")

    assert first is not None
    assert "hashing" == first.searcher.embedder.info.name
    assert ["L001", "L002"] == _indexed(first)
    until(lambda: kinds.records(workspace, "lessons").searcher.embedder.info.name == "hashing-32")


def test_a_hook_without_a_service_leaves_the_model_before(talk: Talk) -> None:
    """It has no time to embed records anew: the index serves as it is, and is not written."""
    OpenKinds({}).records(talk.workspace(), "lessons")
    kinds = OpenKinds({}, OpenIndexes(most_new=300))

    for _ in range(2):
        found = kinds.records(_of_model(talk, "hashing-32"), "lessons")
        assert found is not None
        assert "hashing" == found.searcher.embedder.info.name


def test_where_the_model_before_is_gone_no_prompt_waits(talk: Talk, tmp_path: Path) -> None:
    """A service says that records are embedded anew, and has them soon; a hook without one embeds a few at once."""
    model = tmp_path / "model"
    shutil.copytree(shipped("models", SHIPPED), model)
    OpenKinds({}).records(_of_model(talk, str(model)), "lessons")
    shutil.rmtree(model)
    kinds = OpenKinds({}, OpenIndexes(is_lagging=True))
    with pytest.raises(BusyError, match="2 records are being embedded anew"):
        kinds.records(talk.workspace(), "lessons")

    until(lambda: _opened(talk, kinds)[1] == [])
    assert ["L001", "L002"] == _indexed(OpenKinds({}, OpenIndexes(most_new=2)).records(talk.workspace(), "lessons"))


def test_a_hook_alone_does_not_embed_many_records_of_a_model_that_is_gone(talk: Talk, tmp_path: Path) -> None:
    """More of them than it may index are left to the service."""
    model = tmp_path / "model"
    shutil.copytree(shipped("models", SHIPPED), model)
    OpenKinds({}).records(_of_model(talk, str(model)), "lessons")
    shutil.rmtree(model)

    with pytest.raises(BusyError, match="2 records are not indexed yet"):
        OpenKinds({}, OpenIndexes(most_new=1)).records(talk.workspace(), "lessons")
