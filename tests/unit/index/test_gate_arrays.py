"""What an index keeps and answers for the gate: annotation of segments, pieces of a query, frequencies of terms."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hybrid.index.backend import Filter
from hybrid.index.manifest import NAME, read_manifest
from hybrid.index.vectors import NO_VECTOR, scan
from hybrid.models.registry import HashingEmbedder
from tests.support.builders import PAYMENTS, ListSource, build_index, open_index, place_in, terms_of
from tests.support.rankings import ranking

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.index.snapshot import Snapshot

TEXTS = {
    "a.txt": "alpha one shared\n",
    "b.txt": "beta two shared\n",
    "c.txt": "gamma three shared\n",
    "d.txt": "delta four shared\n",
    "_": "+++\n",
}
TERMS = ("alpha", "beta", "gamma", "delta")


@dataclass
class Counting:
    """An annotator: counts the chunks of each segment it is asked for."""

    key: str = "background-1"
    annotated: list[int] = field(default_factory=list)

    def annotate(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Lengths in the place of ours, and an array of its own."""
        n_chunks = len(arrays["vector"])
        self.annotated.append(n_chunks)
        lengths = 0.1 * np.arange(1, n_chunks + 1, dtype=np.float32)
        return {"chunk_remark_length": lengths, "background_top": np.full(2, n_chunks, np.float32)}


@pytest.fixture
def source() -> ListSource:
    """Five texts of one chunk each, of which one has no vector."""
    return ListSource(dict(TEXTS))


# --- annotation ------------------------------------------------------------------------------------------------


def test_an_annotator_adds_to_every_segment_that_is_written(tmp_path: Path, source: ListSource) -> None:
    """Its arrays stand in the segment, in the place of ours where they have the same name; the manifest holds its key."""
    annotator = Counting()
    build_index(place_in(tmp_path), source, annotator=annotator)
    index = open_index(place_in(tmp_path))

    assert [5] == annotator.annotated
    assert "background-1" == index.manifest.background
    assert pytest.approx([0.1, 0.2, 0.3, 0.4, 0.5]) == index.segments[0].arrays["chunk_remark_length"].tolist()
    assert [5, 5] == index.segments[0].arrays["background_top"].tolist()


def test_without_an_annotator_nothing_is_added(tmp_path: Path, source: ListSource) -> None:
    """The manifest names no background then."""
    build_index(place_in(tmp_path), source)
    index = open_index(place_in(tmp_path))

    assert "" == index.manifest.background
    with pytest.raises(KeyError):
        index.segments[0].arrays["background_top"]


def test_an_edit_annotates_the_new_segment_only(tmp_path: Path, source: ListSource) -> None:
    """What the other segments keep stays as it is."""
    annotator = Counting()
    build_index(place_in(tmp_path), source, annotator=annotator)
    source.put("a.txt", "alpha changed\n")

    build_index(place_in(tmp_path), source, annotator=annotator)
    build_index(place_in(tmp_path), source, annotator=annotator)

    assert [5, 1] == annotator.annotated


@pytest.mark.parametrize("later", [Counting("background-2"), None], ids=["another key", "no annotator"])
def test_segments_of_another_background_are_written_anew(
    tmp_path: Path, source: ListSource, later: Counting | None
) -> None:
    """Nothing is read or embedded again for that; the generation grows."""
    place = place_in(tmp_path)
    build_index(place, source, annotator=Counting())
    source.reads.clear()
    before = open_index(place).generation

    summary = build_index(place, source, annotator=later)

    after = open_index(place)
    assert ([], 0, before + 1) == (source.reads, summary.embedded, after.generation)
    assert (later.key if later else "") == after.manifest.background
    assert sorted(TEXTS) == sorted(after.live_documents())


def test_a_full_build_keeps_the_annotation(tmp_path: Path, source: ListSource) -> None:
    """A build from the start is annotated like the first one."""
    build_index(place_in(tmp_path), source, annotator=Counting())

    build_index(place_in(tmp_path), source, annotator=Counting(), full=True)

    assert "background-1" == open_index(place_in(tmp_path)).manifest.background


def test_a_manifest_of_an_older_version_has_no_background(tmp_path: Path, source: ListSource) -> None:
    """It opens and is searched; the next build annotates its segments without reading or embedding a file."""
    place = place_in(tmp_path)
    build_index(place, source)
    path = place.folder / NAME
    data = json.loads(path.read_bytes())
    del data["background"]
    path.write_text(json.dumps(data), encoding="utf-8")
    source.reads.clear()

    assert "" == read_manifest(place.folder).background
    assert 5 == open_index(place).n_chunks
    summary = build_index(place, source, annotator=Counting())
    assert ([], 0, "background-1") == (source.reads, summary.embedded, open_index(place).manifest.background)


def test_a_manifest_of_a_newer_version_may_say_more(tmp_path: Path, source: ListSource) -> None:
    """What this version does not know is passed over: the index opens as it is and is built upon."""
    place = place_in(tmp_path)
    build_index(place, source, annotator=Counting())
    before = read_manifest(place.folder)
    path = place.folder / NAME
    path.write_text(json.dumps({**json.loads(path.read_bytes()), "later": {"on": [1]}, "zeal": 2}), encoding="utf-8")
    source.reads.clear()

    assert before == read_manifest(place.folder)
    summary = build_index(place, source, annotator=Counting())
    assert ([], 0, 5) == (source.reads, summary.embedded, open_index(place).n_chunks)


# --- pieces of a query -----------------------------------------------------------------------------------------


def _grown(folder: Path, *, annotator: Counting | None = None) -> Snapshot:
    """Three segments: of four texts, one without a vector, one dead; of one text; of one text and the new `b.txt`."""
    place = place_in(folder)
    source = ListSource({path: TEXTS[path] for path in ("a.txt", "b.txt", "_")} | {"f.txt": "filler words here\n"})
    options: dict[str, Any] = {"annotator": annotator, "max_segments": 99}
    build_index(place, source, **options)
    source.put("c.txt", TEXTS["c.txt"])
    build_index(place, source, **options)
    source.put("d.txt", TEXTS["d.txt"])
    source.put("b.txt", "beta renewed\n")
    build_index(place, source, **options)
    index = open_index(place)
    assert (3, 7, 6) == (len(index.segments), index.n_rows, index.n_chunks)
    return index


def _vectors(*texts: str) -> NDArray[np.float32]:
    return HashingEmbedder().embed_queries(texts)[0]


def _slow_closest(index: Snapshot, piece: NDArray[np.float32]) -> float:
    """The largest cosine to a live chunk, in a plain loop; NaN without one."""
    best = math.nan
    live, start = set(index.live_rows()), 0
    for segment in index.segments:
        for local in range(segment.n_chunks):
            scale = float(segment.vector_scale[local])
            if start + local not in live or not scale or not piece.any():
                continue
            vector = segment.vector[local].tolist()
            cosine = sum(v * scale * p for v, p in zip(vector, piece.tolist(), strict=True))
            best = cosine if math.isnan(best) else max(best, cosine)
        start += segment.n_chunks
    return best


@pytest.mark.parametrize("block_rows", [1, 2, 4096])
def test_the_closest_chunk_of_each_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block_rows: int) -> None:
    """As a plain loop over live chunks finds them: by cosine, over all segments, never a tombstoned one."""
    monkeypatch.setattr("hybrid.index.vectors._BLOCK_ROWS", block_rows)
    index = _grown(tmp_path)
    texts = (
        "alpha one shared",
        "beta two shared",
        "beta renewed",
        "gamma shared",
        "delta",
        "filler words",
        "?!",
        "zeta",
    )
    vectors = _vectors(*texts)

    _, found = index.dense_with_pieces(vectors[0], vectors, 10)

    for i, vector in enumerate(vectors):
        assert pytest.approx(_slow_closest(index, vector), abs=1e-5, nan_ok=True) == float(found[i])
    assert math.isnan(found[6])


def test_a_replaced_text_is_closest_to_nothing(tmp_path: Path) -> None:
    """The row of the old `b.txt` is dead: its own words lead elsewhere."""
    index = _grown(tmp_path)
    vectors = _vectors("beta two shared")

    _, found = index.dense_with_pieces(vectors[0], vectors, 10)

    assert pytest.approx(_slow_closest(index, vectors[0]), abs=1e-5) == float(found[0])


def test_the_leg_is_the_same_with_pieces_and_without(tmp_path: Path) -> None:
    """Pieces ride along: they change no score and no rank of the query itself."""
    index = _grown(tmp_path, annotator=Counting())
    query = _vectors("gamma shared")[0]
    alone = index.dense(query, 10)

    leg, _ = index.dense_with_pieces(query, _vectors("alpha", "beta"), 10)

    assert ranking(alone) == ranking(leg)
    assert [alone.raw(row) for row in range(index.n_rows)] == [leg.raw(row) for row in range(index.n_rows)]


def test_a_filter_restricts_the_leg_and_not_the_pieces(tmp_path: Path) -> None:
    """The gate asks what the whole project knows."""
    index = _grown(tmp_path)
    vectors = _vectors("alpha one shared")

    leg, found = index.dense_with_pieces(vectors[0], vectors, 10, Filter(path="c.txt"))

    assert ["c.txt"] == [index.get(entry.row).path for entry in ranking(leg)]
    assert found[0] > leg.scores.max()


def test_pieces_count_where_the_whole_has_no_vector(tmp_path: Path) -> None:
    """A query of zeros ranks nothing; its pieces are compared all the same."""
    index = _grown(tmp_path)
    zeros = np.zeros(64, np.float32)

    leg, found = index.dense_with_pieces(zeros, _vectors("gamma three shared"), 10)

    assert ((), None) == (ranking(leg), leg.top)
    assert pytest.approx(_slow_closest(index, _vectors("gamma three shared")[0]), abs=1e-5) == float(found[0])


@pytest.mark.parametrize("texts", [{}, {"_": "+++\n"}], ids=["no segment", "no vector"])
def test_an_index_without_a_vector(tmp_path: Path, texts: dict[str, str]) -> None:
    """No piece is close to anything."""
    build_index(place_in(tmp_path), ListSource(texts), annotator=Counting())
    vectors = _vectors("alpha", "?!")

    leg, found = open_index(place_in(tmp_path)).dense_with_pieces(vectors[0], vectors, 10)

    assert () == ranking(leg)
    assert np.isnan(found).tolist() == [True, True]


def test_no_pieces(tmp_path: Path) -> None:
    """A query without pieces gives empty arrays."""
    _, found = _grown(tmp_path).dense_with_pieces(_vectors("alpha")[0], np.zeros((0, 64), np.float32), 10)

    assert 0 == len(found)


def test_a_scan_of_one_segment(tmp_path: Path) -> None:
    """Cosines of the query, `NO_VECTOR` for dead chunks and for those without one; best of each piece."""
    index = _grown(tmp_path)
    segment = index.segments[0]
    paths = [segment.paths[int(doc)] for doc in segment.chunk_doc]
    vectors = _vectors("alpha one shared", "filler words here")

    found = scan(segment, vectors[0], vectors)

    assert [path in ("b.txt", "_") for path in paths] == (found.cosines == NO_VECTOR).tolist()
    assert pytest.approx(float(found.cosines.max()), abs=1e-6) == float(found.best[0])
    assert np.float32 == found.cosines.dtype == found.best.dtype


# --- frequencies -----------------------------------------------------------------------------------------------


def test_document_frequency_counts_chunks_of_all_segments(tmp_path: Path) -> None:
    """Dead chunks too, as the bars count them, until their segment is written anew; a term counts once in a chunk."""
    index = _grown(tmp_path)
    expected = [sum(term in terms_of(index, row) for row in range(index.n_rows)) for term in (*TERMS, "shar", "none")]

    assert expected == [index.terms.document_frequency(term) for term in (*TERMS, "shar", "none")]
    assert [1, 2, 1, 1, 4, 0] == expected


def test_document_frequency_of_an_empty_index(tmp_path: Path) -> None:
    """No segment holds no term."""
    build_index(place_in(tmp_path), ListSource({}))

    assert 0 == open_index(place_in(tmp_path)).terms.document_frequency("alpha")


def test_frequencies_follow_the_real_tokens(tmp_path: Path) -> None:
    """A term of the code is found as a query would ask for it."""
    build_index(place_in(tmp_path), ListSource(dict(PAYMENTS)))
    index = open_index(place_in(tmp_path))

    assert index.terms.document_frequency("paymentclient") > 0
    assert 0 == index.terms.document_frequency("PaymentClient")
