"""The frozen index of format 2, which every later version opens or asks to build anew.

`python -m tests.golden.test_format_2` makes the files again; that is done once for a format, never to mend a test.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from msgspec.structs import fields, replace

from hybrid.base.errors import IndexMismatchError
from hybrid.index.analysis import bit
from hybrid.index.backend import Filter
from hybrid.index.manifest import read_manifest
from hybrid.index.snapshot import open_segment, open_snapshot
from hybrid.models.registry import HashingEmbedder
from hybrid.prompting.query import make_query
from hybrid.search.searcher import Searcher
from tests.support.builders import ListSource, build_index, definitions_of, open_index, place_in
from tests.support.rankings import ranking

if TYPE_CHECKING:
    from hybrid.index.snapshot import Snapshot

FROZEN = Path(__file__).parent / "format-2"
DIM = 16
_NOT_READ = "chunk_hub"
"""An array of earlier segments, which nothing reads."""
FILES = {
    "src/ferry.py": '''"""Carries letters over the river."""

CAPACITY = 12


class Ferry:
    """A boat with a captain."""

    def cross(self, letters):
        # At most CAPACITY letters.
        return letters[:CAPACITY]
''',
    "tests/test_ferry.py": "def test_a_ferry_crosses():\n    assert [] == Ferry().cross([])\n",
    "docs/harbour.md": "# Harbour\n\n## Opening hours\n\nThe harbour opens at dawn.\n",
}


def make(folder: Path) -> None:
    """Build the index of the files above with the hashing model of 16 dimensions, and keep only what is read."""
    place = place_in(folder / "making", "format-2")
    build_index(place, ListSource(FILES), HashingEmbedder(DIM))
    for path in sorted(place.folder.iterdir()):
        shutil.copyfile(path, folder / path.name)
    shutil.rmtree(folder / "making")


@pytest.fixture
def frozen() -> Snapshot:
    """The frozen index, opened as its own manifest says."""
    manifest = read_manifest(FROZEN)
    assert 2 == manifest.format_version
    return open_snapshot(FROZEN, model=manifest.model)


def test_the_frozen_files_are_small() -> None:
    """The frozen index is one manifest and one segment of less than 20 KB."""
    files = sorted(FROZEN.iterdir())

    assert ["manifest.json", "segment-00000001.safetensors"] == [path.name for path in files]
    assert sum(path.stat().st_size for path in files) < 20_000


def test_its_bytes_are_those_that_were_written() -> None:
    """The digest in the manifest is that of the segment: neither git nor an editor changed a byte."""
    (entry,) = read_manifest(FROZEN).segments

    assert entry.n_chunks == open_segment(FROZEN, replace(entry, mtime_ns=0)).n_chunks


def test_what_it_holds(frozen: Snapshot) -> None:
    """The chunks of format 2 are read with every field."""
    views = [frozen.get(row) for row in frozen.live_rows()]

    assert ["docs/harbour.md", "src/ferry.py", "tests/test_ferry.py"] == sorted({view.path for view in views})
    (ferry,) = [view for view in views if view.path == "src/ferry.py"]
    assert ("code", "python", 1, 11) == (ferry.kind, ferry.language, ferry.start_line, ferry.end_line)
    row = next(row for row in frozen.live_rows() if frozen.get(row).path == "src/ferry.py")
    assert [("CAPACITY", 3, True), ("Ferry", 6, False), ("cross", 9, False)] == [
        (d.name, d.start_line, d.is_value) for d in definitions_of(frozen.segments[0], row)
    ]


def test_what_it_says_of_files(frozen: Snapshot) -> None:
    """Roles and the words of names and paths stand with each document."""
    (segment,) = frozen.segments
    ferry, test = (segment.paths.index(path) for path in ("src/ferry.py", "tests/test_ferry.py"))

    assert (0, bit("test")) == (segment.arrays["doc_role"][ferry], segment.arrays["doc_role"][test])
    assert [ferry, test] == segment.numbers("stem_word", "stem_word_doc", "ferri").tolist()
    assert [test] == segment.numbers("path_word", "path_word_doc", "test").tolist()
    assert [len("ferri"), len("testferri")] == segment.arrays["doc_stem_letters"][[ferry, test]].tolist()


def test_what_it_says_of_names_and_comments(frozen: Snapshot) -> None:
    """Names lead to their definitions, and terms to the fields and comments that hold them."""
    (segment,) = frozen.segments
    (number,) = segment.numbers_of_equal("name_fold", "capacity")
    (definition,) = segment.entries("name_definition", number).tolist()

    assert ("CAPACITY", "CAPACITY") == (segment.text("name", number), segment.text("def_name", definition))
    assert [0, 1, 1] == segment.arrays["def_is_full"][definition : definition + 3].tolist()
    for term, n_fields, n_comments in (("ferri", 2, 0), ("captain", 0, 1), ("capaciti", 1, 1), ("dawn", 0, 0)):
        found = segment.term_numbers(term)
        assert found is not None
        named, remarks = segment.span("field_start", found), segment.span("remark_start", found)
        assert (n_fields, n_comments) == (named.stop - named.start, remarks.stop - remarks.start), term


@pytest.mark.parametrize(
    ("term", "path"), [("harbour", "docs/harbour.md"), ("captain", "src/ferry.py"), ("boat", "src/ferry.py")]
)
def test_it_answers_by_words(frozen: Snapshot, term: str, path: str) -> None:
    """The lexical leg finds the file that holds a word."""

    assert path == frozen.get(ranking(frozen.lexical([term], 5))[0].row).path
    assert () == ranking(frozen.lexical(["submarin"], 5))


def test_it_answers_by_vectors(frozen: Snapshot) -> None:
    """The dense leg finds a chunk by its own vector, under a filter too."""
    segment = frozen.segments[0]
    for row in frozen.live_rows():
        query = segment.vector[row].astype("float32") * segment.vector_scale[row]
        best = ranking(frozen.dense(query, 5, Filter(path=frozen.get(row).path)))[0]
        assert best.raw == pytest.approx(1, abs=1e-5)
        assert frozen.get(row).path == frozen.get(best.row).path


@pytest.mark.parametrize(
    ("query", "path"),
    [
        ("where does the ferry cross", "src/ferry.py"),
        ("the test of the ferry", "tests/test_ferry.py"),
        ("when does the harbour open", "docs/harbour.md"),
        ("CAPACITY", "src/ferry.py"),
    ],
)
def test_it_answers_by_evidence(tmp_path: Path, frozen: Snapshot, query: str, path: str) -> None:
    """The ranker finds every array that it reads, and the right file first."""
    from tests.support.builders import default_config

    config = default_config(tmp_path)
    searched = Searcher(frozen, HashingEmbedder(DIM), config.search, ranking=config.ranking).search(
        make_query(query), top_k=5
    )

    assert path == searched.hits[0].path
    assert searched.hits[0].evidence


def test_it_is_of_no_background(frozen: Snapshot) -> None:
    """A manifest without the key was not annotated; it opens, and its pieces are compared."""
    row = next(iter(frozen.live_rows()))
    vector = frozen.segments[0].vector[row].astype("float32") * frozen.segments[0].vector_scale[row]

    _, closest = frozen.dense_with_pieces(vector, vector[None], 5)

    assert "" == frozen.manifest.background
    assert pytest.approx([1], abs=1e-3) == closest.tolist()


def test_another_model_asks_for_a_rebuild() -> None:
    """The frozen index is not searched with vectors of another model."""
    with pytest.raises(IndexMismatchError, match="hybrid reindex"):
        open_snapshot(FROZEN, model="other@0123456789abcdef")


@pytest.mark.parametrize("number", [0, 1, 3, 99])
def test_any_other_format_asks_for_a_rebuild(tmp_path: Path, number: int) -> None:
    """A manifest of another format number, older or newer, is refused with the command that builds anew."""
    data = json.loads((FROZEN / "manifest.json").read_bytes())
    (tmp_path / "manifest.json").write_text(json.dumps(data | {"format_version": number}))

    with pytest.raises(IndexMismatchError, match=f"format {number}.*hybrid reindex"):
        open_snapshot(tmp_path, model=data["model"])


def test_a_build_replaces_another_format(tmp_path: Path) -> None:
    """A build over an index of another format writes one of today's, and leaves no segment of the other."""
    place = place_in(tmp_path)
    shutil.copytree(FROZEN, place.folder)
    manifest = place.folder / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_bytes()) | {"format_version": 1}))
    build_index(place, ListSource(dict(FILES)), HashingEmbedder(DIM))
    index = open_index(place, HashingEmbedder(DIM))

    assert sorted(FILES) == sorted(index.live_documents())
    assert {entry.file for entry in index.manifest.segments} == {path.name for path in place.folder.glob("segment-*")}


def test_every_array_of_the_format_is_there() -> None:
    """The frozen segment holds the arrays that a segment written today holds, of the same types, but for later ones."""
    from hybrid.base.arrays import read_arrays
    from hybrid.chunking.chunker import chunk_document
    from hybrid.index.analysis import analysed
    from hybrid.index.drafting import SegmentDocument, encode_segment
    from hybrid.index.segment import COUNTS, SIGNS
    from hybrid.index.vectors import quantise
    from hybrid.types import Document
    from tests.support.builders import LIMITS

    document = Document("src/ferry.py", "code", "python", FILES["src/ferry.py"], b"0" * 32)
    records = analysed(document, chunk_document(document, LIMITS).chunks)[0]
    stored = quantise(np.ones((len(records), DIM), np.float32), np.zeros(len(records), np.bool_))
    today = encode_segment([SegmentDocument(document.path, 1, "code", "python", records)], stored)
    frozen = read_arrays(FROZEN / "segment-00000001.safetensors")

    assert not {*COUNTS, *SIGNS}.intersection(frozen)
    assert {name: (str(a.dtype), a.ndim) for name, a in today.items() if name not in COUNTS} == {
        name: (str(frozen[name].dtype), frozen[name].ndim) for name in frozen if name != _NOT_READ
    }


def test_the_manifest_has_the_keys_of_the_format() -> None:
    """Manifest and segment entries of format 2 hold exactly these keys; one with a default may be missing."""
    data = json.loads((FROZEN / "manifest.json").read_bytes())
    manifest = read_manifest(FROZEN)

    optional = {field.name for field in fields(manifest) if not field.required}
    assert {"background"} == optional
    assert {field.name for field in fields(manifest)} == set(data) | optional
    assert {field.name for field in fields(manifest.segments[0])} == set(data["segments"][0])


if __name__ == "__main__":
    FROZEN.mkdir(exist_ok=True)
    make(FROZEN)
