"""Builds that share their reading with processes of their own, which may be lost or killed."""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from msgspec.structs import replace

from hybrid.base.arrays import read_arrays
from hybrid.index.analysis import Analysis, Looked, TermColumns, Vocabulary, encode_detail, postings_of
from hybrid.index.workers import automatic_workers, pack, unpack
from hybrid.types import Document, Found, Skipped
from tests.support.builders import PAYMENTS, ListSource, build_index, open_index, place_in, python_process

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hybrid.index.manifest import Place

TEXTS = {
    f"part{n:03d}/{path}": text.replace("retry", f"retry{n}") for n in range(20) for path, text in PAYMENTS.items()
}


@dataclass
class TroubledSource(ListSource):
    """A source with trouble in every process but the one that made it, at its tenth file there."""

    trouble: str = ""
    owner: int = field(default_factory=os.getpid)

    def read(self, found: Found) -> Document | Skipped:
        """As `ListSource`, until the trouble."""
        if os.getpid() != self.owner and len(self.reads) == 9:
            if self.trouble == "dies":
                os._exit(139)
            raise RuntimeError(self.trouble)
        return super().read(found)


@dataclass
class ReportingSource(ListSource):
    """A source that notes which processes read it."""

    pids: str = ""

    def read(self, found: Found) -> Document | Skipped:
        """As `ListSource`."""
        with open(self.pids, "a", encoding="utf-8") as file:  # noqa: PTH123 - one write for each line
            file.write(f"{os.getpid()}\n")
        return super().read(found)


@dataclass
class DescribingSource(ListSource):
    """A source that notes which files the process that reads it has open."""

    out: str = ""

    def read(self, found: Found) -> Document | Skipped:
        """As `ListSource`."""
        links = [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
        with open(self.out, "a", encoding="utf-8") as file:  # noqa: PTH123 - one write for each file
            file.write("".join(f"{link}\n" for link in links))
        return super().read(found)


@pytest.fixture(autouse=True)
def _workers_for_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other processes start for any amount of text."""

    def always(size_bytes: int) -> bool:
        return True

    monkeypatch.setattr("hybrid.index.build.are_worth_it", always)


@pytest.fixture
def _never_forks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every worker is an interpreter of its own."""
    monkeypatch.setattr("hybrid.index.workers._may_fork", lambda: False)


@pytest.fixture(params=["fork", "interpreter"])
def _both_ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers are forks of the build, where that is possible, and then interpreters of their own."""
    if request.param == "interpreter":
        monkeypatch.setattr("hybrid.index.workers._may_fork", lambda: False)
    elif sys.platform != "linux":
        pytest.skip("workers are forks on Linux only")


def _arrays(place: Place) -> dict[str, NDArray[Any]]:
    (path,) = place.folder.glob("segment-*.safetensors")
    arrays = read_arrays(path)
    return {name: arrays[name] for name in arrays}


def _rows(place: Place) -> list[list[Any]]:
    """Everything that a build stores, but for times."""
    with contextlib.closing(sqlite3.connect(place.catalog)) as catalog:
        queries = (
            "SELECT path, size_bytes, content_id, kind, skip_reason FROM documents ORDER BY path",
            "SELECT * FROM contents ORDER BY id",
            "SELECT * FROM chunks ORDER BY content_id, ordinal",
            "SELECT * FROM vectors ORDER BY input",
        )
        found = [catalog.execute(query).fetchall() for query in queries]
    catalog.close()
    return found


def _assert_same(one: Place, other: Place) -> None:
    ours, theirs = _arrays(one), _arrays(other)

    assert ours.keys() == theirs.keys()
    assert [] == [name for name in ours if not np.array_equal(ours[name], theirs[name])]
    assert _rows(one) == _rows(other)


@pytest.mark.usefixtures("_both_ways")
@pytest.mark.parametrize("workers", [2, 3])
def test_workers_make_the_same_index(tmp_path: Path, workers: int) -> None:
    """An index does not tell how many processes read its files, and the build itself reads none of them."""
    texts = {**TEXTS, "part007/blob.py": "binary \0", "part008/copy.py": TEXTS["part003/README.md"]}
    alone, together = ListSource(texts), ListSource(texts)
    build_index(place_in(tmp_path / "alone"), alone)

    summary = build_index(place_in(tmp_path / "together"), together, workers=workers)

    assert len(texts) == len(alone.reads)
    assert [] == together.reads
    assert {"binary": 1} == summary.skipped
    _assert_same(place_in(tmp_path / "alone"), place_in(tmp_path / "together"))


@pytest.mark.usefixtures("_both_ways")
@pytest.mark.parametrize("trouble", ["dies", "raises"])
def test_a_lost_worker_loses_nothing(tmp_path: Path, trouble: str) -> None:
    """When a worker ends in the middle, the build reads the rest by itself."""
    build_index(place_in(tmp_path / "alone"), ListSource(TEXTS))
    source = TroubledSource(TEXTS, trouble=trouble)

    build_index(place_in(tmp_path / "together"), source, workers=2)

    assert 0 < len(source.reads) <= len(TEXTS)
    _assert_same(place_in(tmp_path / "alone"), place_in(tmp_path / "together"))


@pytest.mark.usefixtures("_never_forks")
def test_a_source_that_cannot_be_sent_is_read_here(tmp_path: Path) -> None:
    """A source that no other process can have is read by the build."""
    source = ListSource(TEXTS)
    source.put = lambda path, text: None  # type: ignore[method-assign]

    summary = build_index(place_in(tmp_path), source, workers=2)

    assert len(TEXTS) == summary.documents == len(source.reads)


@pytest.mark.usefixtures("_never_forks")
def test_an_interpreter_that_does_not_start_costs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no process can be started, the build reads alone."""
    monkeypatch.setattr("sys.executable", str(tmp_path / "missing"))
    source = ListSource(TEXTS)

    summary = build_index(place_in(tmp_path), source, workers=2)

    assert len(TEXTS) == summary.documents == len(source.reads)


def test_workers_leave_known_texts_alone(tmp_path: Path) -> None:
    """Texts that another tree of the project has are neither cut nor embedded again."""
    place, other = place_in(tmp_path), place_in(tmp_path, "t2")
    build_index(place, ListSource(TEXTS))
    before = _rows(place)[1:]

    summary = build_index(other, ListSource(TEXTS), workers=2)

    assert (len(TEXTS), 0) == (summary.documents, summary.embedded)
    assert before == _rows(other)[1:]
    assert open_index(place).n_chunks == open_index(other).n_chunks


@pytest.mark.usefixtures("_both_ways")
def test_an_interrupted_build_ends_its_workers(tmp_path: Path) -> None:
    """Ctrl-C ends the workers with the build, and the next build goes on."""
    pids = tmp_path / "pids"
    source = ReportingSource(TEXTS, pids=str(pids))

    def interrupted(step: str, done: int, total: int, share: float = 0.0) -> None:
        if step == "read":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_index(place_in(tmp_path), source, workers=2, progress=interrupted)

    assert [] == [pid for pid in noted(pids) if _is_alive(pid)]
    assert len(TEXTS) == build_index(place_in(tmp_path), source, workers=2).documents


def noted(path: Path) -> list[int]:
    """The processes that a `ReportingSource` noted so far."""
    return sorted({int(line) for line in path.read_text().split()})


def _is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and that nobody has asked for yet does not."""
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    status = Path(f"/proc/{pid}/stat")
    return not (status.exists() and " Z " in status.read_text())


KILLED = """
import os, signal, sys, time
from pathlib import Path
import hybrid.index.build
from tests.support.builders import build_index, place_in
from tests.processes.test_workers import TEXTS, ReportingSource, noted

hybrid.index.build.are_worth_it = lambda size_bytes: True
if sys.argv[2] == "interpreter":
    hybrid.index.workers._may_fork = lambda: False

def killed(step, done, total, share):
    if step == "read":
        until_s = time.monotonic() + 50  # the second worker may start much later than the first
        while len(noted(folder / "pids")) < 2 and time.monotonic() < until_s:
            time.sleep(0.02)
        os.kill(os.getpid(), signal.SIGKILL)

folder = Path(sys.argv[1])
build_index(place_in(folder), ReportingSource(TEXTS, pids=str(folder / "pids")), workers=2, progress=killed)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no such signal here")
@pytest.mark.parametrize("way", ["fork", "interpreter"])
def test_workers_end_when_their_build_is_killed(tmp_path: Path, way: str) -> None:
    """A worker whose build is gone ends by itself, and the next build begins at once."""
    with python_process(KILLED, tmp_path, way) as build:
        assert -signal.SIGKILL == build.wait(timeout=60)

    workers = noted(tmp_path / "pids")
    until_s = time.monotonic() + 120
    while any(map(_is_alive, workers)) and time.monotonic() < until_s:
        time.sleep(0.02)

    assert 2 == len(workers)
    assert [] == [pid for pid in workers if _is_alive(pid)]


@pytest.mark.skipif(sys.platform != "linux", reason="workers are forks on Linux only")
def test_a_fork_does_not_hold_what_the_build_holds(tmp_path: Path) -> None:
    """A worker that outlives its build keeps neither the lock nor any other file of it open."""
    held = (tmp_path / "held").open("w")
    source = DescribingSource(TEXTS, out=str(tmp_path / "open"))

    with held:
        build_index(place_in(tmp_path), source, workers=2)

    opened = set((tmp_path / "open").read_text().splitlines())
    assert opened
    assert [] == [name for name in opened if name.startswith(str(tmp_path)) and name != str(tmp_path / "open")]


def test_a_looked_at_file_survives_the_way(payments_source: ListSource) -> None:
    """What a worker packs is what the build unpacks, but for what stays there: texts, comments, terms by chunk."""
    from hybrid.chunking.chunker import chunk_document
    from hybrid.index.analysis import analysed
    from tests.support.builders import LIMITS

    looked: list[Looked | Skipped] = [Skipped("a.bin", "binary")]
    for found in payments_source.scan():
        document = payments_source.read(found)
        assert isinstance(document, Document)
        records, texts = analysed(document, chunk_document(document, LIMITS).chunks)
        analysis = Analysis("definitions", "", records, [encode_detail(record) for record in records], texts)
        looked += [Looked(document, analysis), Looked(document, None)]

    back = list(unpack(pack(looked)))

    assert looked[0] == back[0]
    assert looked[2::2] == back[2::2]
    for ours, theirs in zip(looked[1::2], back[1::2], strict=True):
        assert isinstance(ours, Looked)
        assert isinstance(theirs, Looked)
        assert ours.analysis is not None
        assert theirs.analysis is not None
        bare = [replace(record, body={}, fields={}, comments=()) for record in ours.analysis.records]
        assert replace(ours.analysis, records=bare) == replace(theirs.analysis, postings=None)
        assert _spelled(postings_of(ours.analysis.records, Vocabulary())) == _spelled(theirs.analysis.postings)
        assert (ours.document.path, ours.document.digest, "") == (
            theirs.document.path,
            theirs.document.digest,
            theirs.document.text,
        )


def _spelled(postings: TermColumns | None) -> list[list[tuple[str, int, int]]]:
    """Term, place and frequency of all postings of each column."""
    assert postings is not None
    terms = list(postings.vocabulary)
    return [
        [(terms[number], place, times) for number, place, times in zip(*column, strict=True)]
        for column in postings.columns
    ]


def test_automatic_workers_are_few() -> None:
    """Automatic means as many as cores, at most four."""
    assert 1 <= automatic_workers() <= min(4, os.cpu_count() or 1)
