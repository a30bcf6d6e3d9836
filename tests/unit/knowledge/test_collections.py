from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from hybrid.base.text import chunk_digest
from hybrid.knowledge.collections import TELLING_COSINE, RecordCollection, record_body, record_hit, record_of
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.knowledge.stores import open_stores
from hybrid.prompting.query import make_query
from hybrid.sources.records import record_text
from hybrid.types import Hit, Item
from tests.support.builders import hit
from tests.support.records import DECISION, DECISIONS, HANDOFF, LESSONS, RECORD_FILES, Talk, new_talk

if TYPE_CHECKING:
    from pathlib import Path

FILE = ".hybrid/LESSONS.md"
COMMITS = make_query("How should I format the git commits of this change?")


@pytest.fixture
def talk(tmp_path: Path) -> Talk:
    """A project with records; only evidence counts for their order."""
    return new_talk(tmp_path, model_name="hashing")


def _collection(talk: Talk, kind: str, **options: Any) -> RecordCollection:
    workspace = talk.workspace()
    collection = OpenKinds({}).records(workspace, kind)
    assert collection is not None
    for name, value in options.items():
        setattr(collection, name, value)
    return collection


def _hit(collection: RecordCollection, path: str, **changes: Any) -> Hit:
    """A hit on a record as a search gives it."""
    found = record_hit(path, collection.by_path[path])
    return replace(found, row=list(collection.by_path).index(path), cosine=0.5, **changes)


def test_a_hit_is_compared_with_its_record_as_it_is_now(talk: Talk) -> None:
    """A hit on a record that says something else now, or that is gone, has no text."""
    collection = _collection(talk, "lessons")
    found = _hit(collection, "L001")

    assert "Use conventional commits: type(scope): description" == collection.text(found)
    assert None is collection.text(replace(found, digest=chunk_digest("something else")))
    assert None is collection.text(replace(found, path="L099"))
    assert None is record_of({}, found)


def test_the_share_of_each_kind(talk: Talk) -> None:
    """Lessons have a number of records and of characters, lore characters; a report has its own number of lessons."""
    lessons, lore = _collection(talk, "lessons"), _collection(talk, "lore")

    assert ((5, 1_500), (None, 1_500)) == (
        (lessons.max_items, lessons.budget_chars),
        (lore.max_items, lore.budget_chars),
    )
    assert 3 == _collection(talk, "lessons", max_items=3).max_items


def test_lessons_need_relevance_or_cosine(talk: Talk) -> None:
    """A lesson passes on the integer scale or on its cosine; one that has neither is left out."""
    collection = _collection(talk, "lessons")
    low = {"cosine": collection.min_cosine - 0.01}
    first, second = _hit(collection, "L001", bm25=1.0), _hit(collection, "L002", bm25=1.0)

    assert ["L001"] == [
        one.path for one in collection.ordered([replace(first, **low), replace(second, **low)], COMMITS)
    ]
    assert ["L001", "L002"] == [one.path for one in collection.ordered([first, second], COMMITS)]
    assert ["L001"] == [one.path for one in collection.ordered([first, replace(second, cosine=None)], COMMITS)]


def test_without_a_word_in_common_a_record_must_be_near(talk: Talk) -> None:
    """Among a few short texts one is always somewhat near; a gate that the owner fixed takes all."""
    collection = _collection(talk, "lessons")
    far = replace(_hit(collection, "L001"), bm25=None, cosine=TELLING_COSINE - 0.01)

    assert [] == collection.ordered([far], COMMITS)
    assert ["L001"] == [hit.path for hit in collection.ordered([replace(far, cosine=TELLING_COSINE)], COMMITS)]
    assert ["L001"] == [hit.path for hit in collection.ordered([replace(far, bm25=0.5)], COMMITS)]


@pytest.mark.parametrize(
    ("given", "cited", "relevance", "order"),
    [
        (2, 0, 0.9, ["L001", "L002"]),
        (40, 0, 0.9, ["L002", "L001"]),
        (40, 40, 0.9, ["L001", "L002"]),
        (40, 0, 0.7, ["L001", "L002"]),
    ],
    ids=["given seldom", "never cited", "cited each time", "relevance comes first"],
)
def test_trust_is_a_mild_factor(talk: Talk, given: int, cited: int, relevance: float, order: list[str]) -> None:
    """A lesson that was given often and never cited falls behind one that fits nearly as well, not behind a weak one."""
    store = open_stores(talk.workspace()).project
    assert store is not None
    store.counters.parent.mkdir(parents=True, exist_ok=True)
    store.counters.write_text(json.dumps({"L001": {"injections": given, "citations": cited}}))
    collection = _collection(talk, "lessons")
    hits = [_hit(collection, "L001", relevance=1.0), _hit(collection, "L002", relevance=relevance)]

    assert order == [one.path for one in collection.ordered(hits, COMMITS)]


def test_header_lines(talk: Talk) -> None:
    """A lesson shows its relevance when the scale speaks for it, else its cosine; lore shows what it has of itself."""
    lessons, lore = _collection(talk, "lessons"), _collection(talk, "lore")
    found = [_hit(lessons, "L001"), _hit(lessons, "L002")]
    lessons.ordered(found, COMMITS)

    def header(collection: RecordCollection, one: Hit) -> str:
        return collection.entry(Item(one, collection.text(one) or "", "full")).header

    assert "[lesson] L001 Git commit format (relevance 4/10)" == header(lessons, found[0])
    assert "[lesson] L002 Never edit an applied migration (cosine 0.50)" == header(lessons, found[1])
    assert "[decision] dec-a1b2c3d4 (2026-02-10)" == header(lore, _hit(lore, DECISION))
    assert f"[handoff] {HANDOFF} (2026-02-14)" == header(lore, _hit(lore, HANDOFF))


def test_the_latest_handoff(talk: Talk) -> None:
    """It is given with its time as the limit, and not when it is older; one that names no project never."""
    long_ago, now_s = 0.0, time.time()
    name = next(name for name in RECORD_FILES if name.endswith(".json"))
    found = _collection(talk, "lore").latest_handoff(since_s=long_ago)
    late = _collection(talk, "lore").latest_handoff(since_s=now_s)
    session = json.loads(RECORD_FILES[name]) | {"context": {}}
    talk.write(name, json.dumps(session))

    assert found is not None
    assert (HANDOFF, None) == (found.path, late)
    assert None is _collection(talk, "lore").latest_handoff(since_s=long_ago)


def test_decisions_of_the_project_take_the_first_places(talk: Talk) -> None:
    """Attributed decisions stand before those of nobody; patterns keep their places among them."""
    nobodys = {key: value for key, value in DECISIONS[0].items() if key != "project"} | {"id": "dec-00000001"}
    name = ".hybrid/lore/journal/data/decisions.jsonl"
    talk.write(name, RECORD_FILES[name] + json.dumps(nobodys) + "\n")
    collection = _collection(talk, "lore")
    paths = ["dec-00000001", "pat-000001-aaaaaaaa", DECISION]
    hits = [_hit(collection, path, relevance=1.0 - n / 10) for n, path in enumerate(paths)]

    assert [DECISION, "pat-000001-aaaaaaaa", "dec-00000001"] == [one.path for one in collection.ordered(hits, COMMITS)]


def test_a_secret_in_a_title_is_in_no_hit(talk: Talk) -> None:
    """A hit that was not searched for keeps no secret of its record: it goes into the log."""
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    talk.write(FILE, LESSONS.replace("Git commit format", f"Git commit format {secret}"))
    collection = _collection(talk, "lessons")
    record = collection.by_path["L001"]
    found = record_hit("L001", record)

    assert secret in record.name
    assert secret not in str(found)
    assert chunk_digest(record_text(record)) == found.digest


@pytest.mark.parametrize("is_redacting", [True, False])
def test_the_body_of_a_record(talk: Talk, is_redacting: bool) -> None:
    """Secrets are masked unless the owner wants to see them."""
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    record = replace(_collection(talk, "lessons").by_path["L001"], lines=(f"token {secret}", "more"))
    body = record_body(record, is_redacting=is_redacting)

    assert is_redacting != (secret in body)
    assert body.endswith("\nmore")


def test_what_is_no_record_is_left_alone(talk: Talk) -> None:
    """A hit of an index that is behind, on a record that is gone, breaks neither the order nor the measure."""
    collection = _collection(talk, "lore")
    gone = hit(0, kind="decision", path="dec-99999999", relevance=1.0)
    left = _hit(collection, DECISION, relevance=0.5)

    assert [DECISION] == [one.path for one in collection.ordered([gone, left], COMMITS) if collection.record(one)]
