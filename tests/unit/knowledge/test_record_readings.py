"""A sentence transformer reads the records of a tree: what that changes, and when it reads anew."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from hybrid.base.errors import ModelError
from hybrid.daemon.worker import BackgroundProcess
from hybrid.knowledge.open_indexes import LoadedModels, OpenIndexes
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.knowledge.stores import reading_of, records_status
from hybrid.models.registry import HashingEmbedder, load_embedder
from hybrid.records.types import OF_TREES
from tests.support.builders import CHECKOUT
from tests.support.records import LESSONS, RECORD_FILES, Talk, new_talk
from tests.support.successors import SHIPPED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.types import Embedder, EmbedInput

READER = "hashing-128"
PROMPTS = (
    "Which shape do commit messages have here?",
    "my shell script stops when a counter is raised",
    "write a new migration instead of an edit of the applied one",
    "Which wine goes with grilled salmon tonight?",
)
PROMPT = "write a new migration instead of an edit of the applied one"
FILE = ".hybrid/LESSONS.md"


class Counting(HashingEmbedder):
    """A reader that notes the texts of records and the prompts that it was given."""

    def __init__(self) -> None:
        super().__init__(128)
        self.texts: list[str] = []
        self.asked: list[str] = []

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """As the hashing embedder."""
        self.asked.append(text)
        return super().embed_query(text)

    def embed_documents(self, inputs: Sequence[EmbedInput]) -> NDArray[np.float32]:
        """As the hashing embedder."""
        self.texts += [one.body for one in inputs]
        return super().embed_documents(inputs)


@pytest.fixture
def reader() -> Counting:
    """The reader of the talk."""
    return Counting()


@pytest.fixture
def talk(tmp_path: Path, reader: Counting) -> Talk:
    """A project with records, and a quick reader beside the shipped model."""

    def load(name: str, home: Path) -> Embedder:
        return reader if name == READER else load_embedder(name, home=home)

    talk = new_talk(tmp_path, {FILE: LESSONS}, model_reader=READER)
    return Talk(talk.root, talk.home, flags=talk.flags, kinds=OpenKinds({}, OpenIndexes(LoadedModels(load))))


def _parts(talk: Talk) -> set[str]:
    """The parts of the lessons' score for the prompt."""
    kinds = talk.reply("UserPromptSubmit", prompt=PROMPT).decision.kinds
    [lessons] = [one for one in kinds if one.kind == "lessons"]
    return set(lessons.verdict.parts)


def _reading(talk: Talk) -> Path:
    return reading_of(talk.home, f"lessons-{talk.workspace().require_project().tree}")


def test_records_that_were_read_have_one_more_part(talk: Talk) -> None:
    """Until the reader has read them, records are judged as without it; afterwards the next prompt counts it."""
    before, is_read = _parts(talk), talk.kinds.is_read(talk.workspace())
    read = talk.kinds.read(talk.workspace())

    assert ("reader" in before, is_read) == (False, False)
    assert ["lessons"] == read
    assert {"reader"} == _parts(talk) - before
    assert talk.kinds.is_read(talk.workspace())
    assert [] == talk.kinds.read(talk.workspace())
    assert {"model": READER, "problem": None, "read": ["lessons"]} == records_status(talk.workspace())["reader"]


def test_the_reader_finds_what_the_table_alone_does_not(talk: Talk) -> None:
    """Bars and evidence move together, and the prompt's record gets the reader's cosine."""
    [lessons] = talk.kinds.open(talk.workspace(), OF_TREES)[0]
    assert lessons.searcher.gate is not None
    plain = lessons.searcher.gate.evidence(PROMPT)
    talk.kinds.read(talk.workspace())
    [lessons] = talk.kinds.open(talk.workspace(), OF_TREES)[0]
    gate = lessons.searcher.gate

    assert gate is not None
    assert gate.reader is not None
    added = 1.5 * gate.reader.evidence(PROMPT)
    assert [plain[row] + float(added[row]) for row in plain] == pytest.approx(
        [*gate.evidence(PROMPT).values()], abs=1e-4
    )
    assert 0.4 * 0.15 == gate.calibration.task_rate


def test_the_reader_is_asked_in_english(talk: Talk, reader: Counting) -> None:
    """It knows English, and so it gets the English words of a prompt in another language."""
    talk.kinds.read(talk.workspace())
    reader.asked.clear()
    talk.ask("Wie wird der Schlüssel aus dem Speicher gelöscht?")

    assert {"key memory deleted?"} == {" ".join(text.split()) for text in reader.asked}


def test_only_new_records_are_read(talk: Talk, reader: Counting) -> None:
    """Without a new record's vector the records answer as before any reading; then that one record is read."""
    talk.kinds.read(talk.workspace())
    n_read = len(reader.texts)
    talk.write(
        FILE,
        LESSONS.replace(
            "### [L003]", "### [L004] Pin the base image\n- **Learned**: 2026-01-05\n> By digest\n\n### [L003]"
        ),
    )
    parts = _parts(talk)
    talk.kinds.read(talk.workspace())

    assert 2 == n_read
    assert "reader" not in parts
    assert ["Pin the base image\nBy digest"] == reader.texts[n_read:]
    assert "reader" in _parts(talk)


def test_a_removed_record_leaves_the_reading(talk: Talk, reader: Counting) -> None:
    """What is left is known: nothing is embedded, and the bars are those of the records that are there."""
    talk.kinds.read(talk.workspace())
    n_read = len(reader.texts)
    talk.write(FILE, LESSONS[: LESSONS.index("### [L002]")])
    parts = _parts(talk)
    talk.kinds.read(talk.workspace())

    assert "reader" not in parts
    assert n_read == len(reader.texts)
    assert "reader" in _parts(talk)


def test_copies_are_read_once(tmp_path: Path) -> None:
    """Two records with one text share a vector, and are both known."""
    twin = LESSONS[LESSONS.index("### [L002]") : LESSONS.index("### [L003]")].replace("L002", "L005")
    talk = new_talk(tmp_path, {FILE: LESSONS.replace("### [L003]", f"{twin}### [L003]")}, model_reader=READER)
    talk.kinds.read(talk.workspace())

    assert talk.kinds.is_read(talk.workspace())


@pytest.mark.parametrize("flags", [{"model_reader": ""}, {"gate_reader": 0.0}, {"model_reader": "./nowhere"}])
def test_without_a_reader_nothing_is_read(tmp_path: Path, flags: dict[str, object]) -> None:
    """Switched off, or named and not on this machine, it leaves no file, and records are judged as without it."""
    talk = new_talk(tmp_path, **flags)

    assert [] == talk.kinds.read(talk.workspace())
    assert talk.kinds.is_read(talk.workspace())
    assert not _reading(talk).exists()
    assert "reader" not in _parts(talk)


def test_a_damaged_reader_is_told(tmp_path: Path) -> None:
    """Its files are compared with its manifest whenever somebody asks for the status."""
    folder = tmp_path / "reader"
    shutil.copytree(CHECKOUT / "models" / SHIPPED, folder)
    talk = new_talk(tmp_path, model_reader=str(folder))
    whole = records_status(talk.workspace())["reader"]["problem"]
    with (folder / "model.safetensors").open("r+b") as file:
        file.truncate(1000)

    problem = records_status(talk.workspace())["reader"]["problem"]
    assert whole is None
    assert "model.safetensors differs; install hybrid again" in problem


def test_another_reader_or_weight_reads_anew(talk: Talk) -> None:
    """A reading belongs to its model and to the weight of its part."""
    talk.kinds.read(talk.workspace())
    other = Talk(talk.root, talk.home, flags=talk.flags | {"model.reader": "hashing-64"})
    heavier = Talk(talk.root, talk.home, flags=talk.flags | {"gate.reader": 2.0})

    assert not other.kinds.is_read(other.workspace())
    assert not heavier.kinds.is_read(heavier.workspace())


@pytest.mark.parametrize("damage", [b"", b"\0" * 64])
def test_a_damaged_reading_is_made_again(talk: Talk, damage: bytes) -> None:
    """It is passed over as if it were not there."""
    talk.kinds.read(talk.workspace())
    _reading(talk).write_bytes(damage)
    parts = _parts(talk)

    assert "reader" not in parts
    assert ["lessons"] == talk.kinds.read(talk.workspace())
    assert "reader" in _parts(talk)


def test_a_reader_that_is_not_there_is_told(tmp_path: Path) -> None:
    """The status says why records are judged without it."""
    talk = new_talk(tmp_path, model_reader="/nowhere/model")

    told = records_status(talk.workspace())["reader"]
    assert "/nowhere/model" in told["problem"]
    assert [] == told["read"]


def test_a_reader_that_cannot_be_loaded_changes_nothing(talk: Talk) -> None:
    """What was read before its files were damaged does not count: the verdict is that without a reader."""

    def load(name: str, home: Path) -> Embedder:
        if name == READER:
            raise ModelError("damaged")
        return load_embedder(name, home=home)

    plain = talk.reply("UserPromptSubmit", prompt=PROMPT).decision.kinds
    talk.kinds.read(talk.workspace())
    broken = Talk(talk.root, talk.home, flags=talk.flags, kinds=OpenKinds({}, OpenIndexes(LoadedModels(load))))
    [lessons] = broken.kinds.open(broken.workspace(), OF_TREES)[0]
    [unread] = Talk(talk.root, talk.home, flags=talk.flags | {"model.reader": ""}).kinds.open(
        talk.workspace(), OF_TREES
    )[0]

    assert lessons.searcher.gate is not None
    assert lessons.searcher.gate.reader is not None
    assert [one.verdict for one in plain] == [
        one.verdict for one in broken.reply("UserPromptSubmit", prompt=PROMPT).decision.kinds
    ]
    assert unread.searcher.gate is not None
    assert unread.searcher.gate.evidence(PROMPT).keys() == lessons.searcher.gate.evidence(PROMPT).keys()
    with pytest.raises(ModelError):
        broken.kinds.warm_reader(broken.workspace())


def test_a_hook_without_the_service_has_no_reader(talk: Talk) -> None:
    """It would load the weights for one prompt."""
    talk.kinds.read(talk.workspace())
    alone = Talk(talk.root, talk.home, flags=talk.flags, kinds=OpenKinds({}, OpenIndexes(most_new=100)))

    assert "reader" not in _parts(alone)
    assert alone.kinds.is_read(alone.workspace())


def test_records_for_a_model_without_lengths_are_not_read(tmp_path: Path) -> None:
    """They are judged as files are, with no part for each record."""
    talk = new_talk(tmp_path, model_name="hashing", model_reader=READER)

    assert [] == talk.kinds.read(talk.workspace())
    assert talk.kinds.is_read(talk.workspace())


def test_the_first_minute_gives_what_the_hour_gives(tmp_path: Path) -> None:
    """Records of a new project are read when its first session starts; later prompts get the same for the same reasons.

    The reader is the one that ships. A hundred records take about two seconds on a quiet machine; nothing else is read.
    """
    talk = new_talk(tmp_path, RECORD_FILES)
    environ = {"HYBRID_HOME": str(talk.home), "LORE_DATA_DIR": ""}
    process = BackgroundProcess()
    replace(talk, session_id="s0").start("startup")
    process.start("read_and_end", str(talk.root), environ)
    assert process._process is not None
    assert 0 == process._process.wait(timeout=60)
    first = [_given(talk, prompt) for prompt in PROMPTS]
    later = replace(talk, session_id="s2", kinds=OpenKinds({}))
    read_again = later.kinds.read(later.workspace())

    assert [] == read_again
    assert all("reader" in parts for _, kinds in first for parts in kinds.values())
    assert first == [_given(later, prompt) for prompt in PROMPTS]
    assert not list((talk.home / "background").glob("reader-*"))


def _given(talk: Talk, prompt: str) -> tuple[str, dict[str, dict[str, float]]]:
    """The text for a prompt, and the parts of the evidence of each kind of records."""
    decision = talk.reply("UserPromptSubmit", prompt=prompt).decision
    return decision.text, {one.kind: dict(one.verdict.parts) for one in decision.kinds}


def test_the_service_reads_in_a_process_of_its_own(tmp_path: Path) -> None:
    """The process writes what it read; a second one of the same tree does not follow at once."""
    talk = new_talk(tmp_path, RECORD_FILES)
    started = BackgroundProcess()
    environ = {"HYBRID_HOME": str(talk.home), "HYBRID_MODEL_READER": READER, "LORE_DATA_DIR": ""}
    started.start("read_and_end", str(talk.root), environ)
    process = started._process
    assert process is not None
    process.wait()
    started.start("read_and_end", str(talk.root), environ)

    assert 0 == process.returncode
    assert started._process is process
    assert _reading(talk).exists()
    started.close()
    started.start("read_and_end", str(tmp_path), environ)
    assert started._process is None


def test_a_reading_that_failed_is_not_begun_again_soon(tmp_path: Path) -> None:
    """Its tree waits an hour; another tree is read at once."""
    talk = new_talk(tmp_path, RECORD_FILES)
    started = BackgroundProcess()
    environ = {"HYBRID_HOME": str(talk.home), "HYBRID_MODEL_READER": READER, "LORE_DATA_DIR": ""}
    _reading(talk).mkdir(parents=True)
    started.start("read_and_end", str(talk.root), environ)
    failed = started._process
    assert failed is not None
    assert failed.wait() != 0
    started._next_s[str(talk.root)] = 0.0
    started.start("read_and_end", str(talk.root), environ)
    is_waiting = started._process is None
    started.start("read_and_end", str(tmp_path), environ)
    other = started._process
    started.close()

    assert is_waiting
    assert other is not None
