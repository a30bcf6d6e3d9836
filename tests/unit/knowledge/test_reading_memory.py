"""A sentence transformer reads the newest rows of the memory: what that changes in their order, and what is kept."""

from __future__ import annotations

import stat
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from hybrid.ask import memory_lookup
from hybrid.base.arrays import read_arrays
from hybrid.base.errors import BusyError, ModelError
from hybrid.cli.explain import lines_of
from hybrid.daemon.worker import RecordsReader
from hybrid.knowledge import memory_views, reading
from hybrid.knowledge.memory_collection import present_of
from hybrid.knowledge.memory_intake import keep_small
from hybrid.knowledge.open_kinds import OpenFiles, OpenKinds
from hybrid.knowledge.reading import MemoryReader
from hybrid.knowledge.record_figures import records_status
from hybrid.knowledge.record_files import memory_name, reading_of
from hybrid.models.hashing import HashingEmbedder
from hybrid.models.registry import load_embedder
from hybrid.records.memory.types import Extracted, Owner, RowFilter
from hybrid.upkeep.cleaning_indexes import purge_index
from tests.support.builders import hit
from tests.support.records import Talk, new_talk

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.records.memory.store import MemoryStore
    from hybrid.types import Embedder, EmbedInput

READER = "hashing-128"
OLD_MS = 1_780_000_000_000
OIL, RATS = "Clean the harbour of oil", "Clean the harbour of rats"
QUERY = "clean the harbour"


class Meaning(HashingEmbedder):
    """A reader for which every query means rats, and that notes the texts that it was given."""

    def __init__(self) -> None:
        super().__init__(128)
        self.texts: list[str] = []
        self.asked: list[str] = []
        self.failure: Exception | None = None

    def embed_documents(self, inputs: Sequence[EmbedInput]) -> NDArray[np.float32]:
        """As the hashing embedder, of a word or two."""
        self.texts += [one.body for one in inputs]
        return self.embed_queries(["rats" if "rats" in one.body else "rats of another kind" for one in inputs])[0]

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """As the hashing embedder, of one word."""
        self.asked.append(text)
        if self.failure:
            raise self.failure
        return super().embed_query("rats")


@pytest.fixture
def reader() -> Meaning:
    """The reader of the talk."""
    return Meaning()


@pytest.fixture
def talk(tmp_path: Path, reader: Meaning) -> Talk:
    """A project with two rows, the second of which the reader finds, and nothing read yet."""

    def load(name: str, home: Path) -> Embedder:
        return reader if name == READER else load_embedder(name, home=home)

    talk = new_talk(tmp_path, {}, model_reader=READER, memory_cross_project=True)
    talk = Talk(talk.root, talk.home, flags=talk.flags, kinds=OpenKinds({}, OpenFiles(load)))
    add(talk, RATS, at_ms=OLD_MS)
    add(talk, OIL, at_ms=OLD_MS + 1)
    return talk


def add(talk: Talk, title: str, *, key: str = "", at_ms: int = OLD_MS) -> int:
    """An observation of this project, or of another one; returns its number."""
    owner = Owner("s0", key or talk.workspace().require_project().key, "shop")
    row = store_of(talk).add_observation(owner, Extracted("change", title), at_ms)
    assert row is not None
    return row.id


def store_of(talk: Talk) -> MemoryStore:
    """The memory."""
    return talk.kinds.stores.memory(talk.workspace())


def found(talk: Talk, query: str = QUERY) -> list[memory_lookup.RankedRow]:
    """What `hybrid memory search` finds, best first."""
    workspace = talk.workspace()
    request = memory_lookup.RowRequest(RowFilter(), present_of(workspace, store_of(talk)), 5)
    return memory_lookup.search(workspace, talk.kinds, query, request)


def titles(talk: Talk) -> list[str]:
    """Their titles."""
    return [str(getattr(one.row.told, "title", "")) for one in found(talk)]


def file_of(talk: Talk) -> Path:
    """What was read."""
    return reading_of(talk.home, memory_name(store_of(talk).path, ""))


def n_read(talk: Talk) -> int:
    """Number of rows of which there is a vector."""
    return len(read_arrays(file_of(talk))["digest"])


def with_flags(talk: Talk, **flags: object) -> Talk:
    """The same project, opened anew with other settings."""
    changed = {**talk.flags, **{name.replace("_", ".", 1): value for name, value in flags.items()}}
    return Talk(talk.root, talk.home, flags=changed, kinds=talk.kinds)


def test_the_reader_orders_what_the_memory_finds(talk: Talk) -> None:
    """Rows alike in words come in the order of their meaning as soon as they were read."""
    before, was_read = found(talk), talk.kinds.is_read(talk.workspace())
    read = talk.kinds.read(talk.workspace())
    after = found(talk)

    assert [OIL, RATS] == [getattr(one.row.told, "title", "") for one in before]
    assert [RATS, OIL] == [getattr(one.row.told, "title", "") for one in after]
    assert (False, ["memory"], True) == (was_read, read, talk.kinds.is_read(talk.workspace()))
    assert all(one.parts and not one.parts.reader for one in before)
    best = after[0].parts
    assert best
    assert best.reader == pytest.approx(1 / 2 / 1.5)  # All of the largest cosine, half of the relevance.
    assert "reader 0.333" in memory_lookup.parts_line(best)
    assert [] == talk.kinds.read(talk.workspace())


def test_the_gate_of_the_memory_does_not_ask_the_reader(talk: Talk, reader: Meaning) -> None:
    """What the memory gives is ordered; whether it speaks is judged as without a reader, which a closed gate spares."""
    add(talk, "Fix walrus feeding in the harbour at noon")

    def ask(prompt: str) -> tuple[float | None, str]:
        decision = talk.tell("UserPromptSubmit", prompt=prompt).decision
        [memory] = [one for one in decision.kinds if one.kind == "memory"]
        return memory.verdict.score if memory.verdict.is_open else None, "\n".join(lines_of(talk.log()[0]))

    prompt = "why does the walrus feeding in the harbour fail at noon?"
    before, without = ask(prompt)
    talk.kinds.read(talk.workspace())
    (talk.home / "sessions").rename(talk.home / "sessions-before")
    after, given = ask(prompt)
    closed, _ = ask("write a poem about spring for my aunt")

    assert before is not None
    assert (before, None) == (after, closed)
    assert "reader" not in without
    assert "reader 0.33" in given
    assert [prompt] == reader.asked


def test_only_new_rows_are_read(talk: Talk, reader: Meaning, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few changes wait for others, and their rows keep their own relevance; then they alone are embedded."""
    talk.kinds.read(talk.workspace())
    monkeypatch.setattr(memory_views, "FEW_ROWS", 2)
    add(talk, "Feed the harbour seals", at_ms=OLD_MS + 2)
    is_read, unread = talk.kinds.is_read(talk.workspace()), [one.parts.reader for one in found(talk) if one.parts]
    add(talk, "Measure the harbour wall", at_ms=OLD_MS + 3)
    known = len(reader.texts)

    assert is_read
    assert 1 == unread.count(0.0)
    assert ["memory"] == talk.kinds.read(talk.workspace())
    assert (2, 4) == (known, n_read(talk))
    assert {"Feed the harbour seals", "Measure the harbour wall"} == set(reader.texts[known:])


def test_an_unread_row_counts_as_the_mean_of_the_read_ones() -> None:
    """Hand-worked, weight 1: halves of the relevance and of 1 and 0.5, the shares of the largest cosine; their mean."""
    vectors = np.array([[1, 0], [1, 2]], np.int8)
    axis = np.array([1, 0], np.float32)

    class First(HashingEmbedder):
        def embed_query(self, text: str) -> NDArray[np.float32]:
            return axis

    read = MemoryReader(First(2), 1.0, {b"a": 0, b"b": 1}, vectors, np.array([1.0, 0.5], np.float32))
    hits = [hit(digest=digest, relevance=relevance) for digest, relevance in ((b"a", 0.25), (b"b", 1.0), (b"c", 0.75))]

    assert ([0.125, 0.5, 0.375 + 0.375], [0.5, 0.25, 0.0]) == read.shared("anything", hits)


@pytest.mark.parametrize(
    ("is_on", "asked"),
    [(True, "harbor delete"), (False, "Hafen löschen")],
    ids=["said in English", "as typed"],
)
def test_the_reader_is_asked_in_english(talk: Talk, reader: Meaning, *, is_on: bool, asked: str) -> None:
    """It knows English, and so it gets the English words of a query in another language, unless that is switched off."""
    talk = with_flags(talk, search_languages=is_on)
    add(talk, "Hafen löschen nach dem Sturm")
    talk.kinds.read(talk.workspace())
    reader.asked.clear()
    found(talk, "Hafen löschen")

    assert {asked} == {" ".join(text.split()) for text in reader.asked}


def test_no_more_than_the_newest_rows_are_read(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Time and bytes are bounded; older rows keep their own relevance."""
    monkeypatch.setattr(memory_views, "MOST_ROWS", 1)
    talk.kinds.read(talk.workspace())

    assert 1 == n_read(talk)
    assert [True, False] == [bool(one.parts and one.parts.reader) for one in found(talk)]


@pytest.mark.parametrize("how", ["forget", "prune"])
def test_vectors_of_what_is_forgotten_go(talk: Talk, reader: Meaning, how: str) -> None:
    """By a command as by the age of the settings; what is left is not read again."""
    number = add(talk, "Zanzibar is the password of the harbour", at_ms=OLD_MS - 90 * 86_400_000)
    talk.kinds.read(talk.workspace())
    known = len(reader.texts)
    before = n_read(talk)
    if how == "forget":
        store_of(talk).forget("observation", [number])
        assert () == purge_index(talk.workspace(), store_of(talk))
    else:
        assert 1 == keep_small(talk.workspace(memory_retention_days=30), store_of(talk), OLD_MS)

    assert (3, 2) == (before, n_read(talk))
    assert [RATS, OIL] == titles(talk)
    assert talk.kinds.is_read(talk.workspace())
    assert known == len(reader.texts)


def test_what_is_forgotten_while_it_is_read_is_not_kept(talk: Talk, reader: Meaning) -> None:
    """The reading of many rows takes a minute, in which one of them may be forgotten."""
    number = add(talk, "Zanzibar is the password of the harbour")
    embed = reader.embed_documents

    def forget(inputs: Sequence[EmbedInput]) -> NDArray[np.float32]:
        store_of(talk).forget("observation", [number])
        purge_index(talk.workspace(), store_of(talk))
        return embed(inputs)

    reader.embed_documents = forget  # type: ignore[method-assign]
    talk.kinds.read(talk.workspace())

    assert 2 == n_read(talk)


def test_the_last_row_that_is_forgotten_leaves_no_vector(talk: Talk) -> None:
    """Nothing is left, and nothing is to be read."""
    talk.kinds.read(talk.workspace())
    store_of(talk).forget_everything()
    purge_index(talk.workspace(), store_of(talk))

    assert 0 == n_read(talk)
    assert talk.kinds.is_read(talk.workspace())
    assert [] == titles(talk)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such rights")
def test_only_the_owner_reads_the_vectors(talk: Talk) -> None:
    """As the other files of the index."""
    talk.kinds.read(talk.workspace())

    assert 0o600 == stat.S_IMODE(file_of(talk).stat().st_mode)
    assert 0o700 == stat.S_IMODE(file_of(talk).parent.stat().st_mode)


@pytest.mark.parametrize("flags", [{"model_reader": ""}, {"memory_reader": 0.0}, {"memory_enabled": False}])
def test_without_a_reader_no_row_is_read(talk: Talk, flags: dict[str, object]) -> None:
    """Switched off by its name, its weight, or with the memory."""
    other = with_flags(talk, **flags)

    assert [] == other.kinds.read(other.workspace())
    assert other.kinds.is_read(other.workspace())
    assert not file_of(talk).exists()


def test_a_weight_of_zero_orders_as_without_a_reader(talk: Talk) -> None:
    """Also where rows were read before."""
    talk.kinds.read(talk.workspace())

    assert [RATS, OIL] == titles(talk)
    assert [OIL, RATS] == titles(with_flags(talk, memory_reader=0.0))


@pytest.mark.parametrize("failure", [ModelError("damaged"), BusyError("is being loaded")])
def test_a_reader_that_cannot_answer_changes_nothing(talk: Talk, reader: Meaning, failure: Exception) -> None:
    """The rows come in the order that they have without it."""
    talk.kinds.read(talk.workspace())
    reader.failure = failure

    assert [OIL, RATS] == titles(talk)


@pytest.mark.parametrize("damage", [b"", b"\0" * 64])
def test_a_damaged_reading_of_the_memory_is_made_again(talk: Talk, damage: bytes) -> None:
    """It counts as none; to forget something deletes it."""
    talk.kinds.read(talk.workspace())
    file_of(talk).write_bytes(damage)
    order, is_read = titles(talk), talk.kinds.is_read(talk.workspace())
    memory_views.forget_gone(talk.home, store_of(talk))
    exists = file_of(talk).exists()

    assert ([OIL, RATS], False, False) == (order, is_read, exists)
    assert ["memory"] == talk.kinds.read(talk.workspace())
    assert [RATS, OIL] == titles(talk)


def test_another_reader_reads_the_memory_anew(talk: Talk) -> None:
    """Its vectors are of another space; those of the one before count no more."""
    talk.kinds.read(talk.workspace())
    other = with_flags(talk, model_reader="hashing-64")

    assert not other.kinds.is_read(other.workspace())
    assert [OIL, RATS] == titles(other)
    assert ["memory"] == other.kinds.read(other.workspace())
    assert 64 == read_arrays(file_of(talk))["vector"].shape[1]


def test_a_memory_that_was_replaced_is_read_anew(talk: Talk) -> None:
    """The number of its last change may be lower than that of the file before."""
    talk.kinds.read(talk.workspace())
    change = store_of(talk).last_change()
    embedder = HashingEmbedder(128)
    reading.read_rows(file_of(talk).parent, embedder, ["Fix walrus"], change + 1000)

    assert not talk.kinds.is_read(talk.workspace())


def test_a_memory_of_one_project_is_read_by_itself(talk: Talk) -> None:
    """Without rows of others, and beside that of all projects."""
    add(talk, "Feed the harbour seals", key="b" * 16)
    talk.kinds.read(talk.workspace())
    own = with_flags(talk, memory_cross_project=False)
    own.kinds.read(own.workspace())
    file = reading_of(talk.home, memory_name(store_of(talk).path, talk.workspace().require_project().key))
    [number] = [one.row.id for one in found(own) if getattr(one.row.told, "title", "") == RATS]
    store_of(talk).forget("observation", [number])
    purge_index(talk.workspace(), store_of(talk))

    assert (2, 1) == (n_read(talk), len(read_arrays(file)["digest"]))


def test_the_service_reads_the_memory_in_its_process(talk: Talk) -> None:
    """It is the same process that reads lessons and lore."""
    started = RecordsReader()
    environ = {
        "HYBRID_HOME": str(talk.home),
        "HYBRID_MODEL_READER": READER,
        "LORE_DATA_DIR": "",
        "HYBRID_CROSS_PROJECT": "true",
    }
    started.read(str(talk.root), environ)
    process = started._process
    assert process is not None
    process.wait()
    started.close()

    assert 0 == process.returncode
    assert 2 == n_read(talk)


def test_the_status_tells_that_the_memory_was_read(talk: Talk) -> None:
    """Beside the kinds of records; not where its part weighs nothing."""
    before = records_status(talk.workspace())["reader"]["read"]
    talk.kinds.read(talk.workspace())

    assert ([], ["memory"]) == (before, records_status(talk.workspace())["reader"]["read"])
    assert [] == records_status(talk.workspace(memory_reader=0.0))["reader"]["read"]
