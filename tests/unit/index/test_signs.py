"""Signs of vectors: how near rows are found by them, and that a search by signs answers as one of all rows does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.arrays import encode_arrays, read_arrays
from hybrid.index.analysis import FIELDS, ChunkRecord
from hybrid.index.backend import Filter
from hybrid.index.columns import ScannedLeg, SiftedLeg
from hybrid.index.drafting import SegmentDocument, encode_segment
from hybrid.index.manifest import FORMAT_VERSION, Manifest
from hybrid.index.segment import Segment
from hybrid.index.snapshot import Snapshot, open_snapshot
from hybrid.index.vectors import distances, nearest, quantise, rotation, sign_words, signs_of_stored
from hybrid.models.registry import HashingEmbedder
from tests.support.builders import ListSource, build_index, default_config, place_in
from tests.support.examples import examples
from tests.support.rankings import ranking

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.index.manifest import Place

DIM = 64
TEXTS = {f"src/part{n % 3}/f{n}.py": f"harbour ship{n} crane{n % 7} tide{n % 5} rope\n" for n in range(40)}


@pytest.fixture
def _signed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every segment has signs, however small."""
    monkeypatch.setattr("hybrid.index.drafting.LEAST_ROWS", 1)


def _grown(tmp_path: Path) -> Place:
    """An index of several segments with dead rows in one, and a file without a vector."""
    place = place_in(tmp_path)
    source = ListSource(dict(list(TEXTS.items())[:25]))
    build_index(place, source, max_segments=100)
    source.texts |= TEXTS | {"src/part0/f3.py": "a lighthouse instead\n", "src/none.txt": "+++\n"}
    build_index(place, source, max_segments=100)
    return place


def _open(place: Place, n_compared: int) -> Snapshot:
    return open_snapshot(place.folder, model=HashingEmbedder().info.key, n_compared=n_compared)


def _vectors(*texts: str) -> NDArray[np.float32]:
    return HashingEmbedder().embed_queries(list(texts))[0]


# --- bits ----------------------------------------------------------------------------------------------------------


def test_signs_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first number is the highest bit of the first byte, an equal number is not above, and the rest is 0."""
    monkeypatch.setattr("hybrid.index.vectors.rotation", lambda dim: np.eye(dim, dtype=np.float32))
    vectors = np.array([[1, -1, 0.5], [0, 0, 0]], np.float32)

    assert [[0b10000000, 0]] == sign_words(vectors, np.array([0.5, 0.5, 0.5], np.float32)).tolist()


@pytest.mark.parametrize("dim", [1, 3, 64, 256, 384])
def test_turned_vectors_keep_their_cosines(dim: int) -> None:
    """The matrix is orthogonal."""
    np.testing.assert_allclose(rotation(dim) @ rotation(dim).T, np.eye(dim), atol=1e-5)


def test_the_turning_stays_what_it_was() -> None:
    """What was stored with another one would say nothing: an index outlives a version."""
    np.testing.assert_allclose(np.array([1, 1, -1, 1]) @ rotation(4), [1, 0.541196, 1, -1.306563], atol=1e-5)
    assert [1, 1, 1, 1, 1, 1, -1, 1] == np.sign(rotation(256)[:8, 0]).tolist()


@pytest.mark.parametrize("dim", [3, 64, 70, 256])
@pytest.mark.parametrize("block_rows", [1, 7, 65_536])
def test_distances_are_the_numbers_of_other_signs(monkeypatch: pytest.MonkeyPatch, dim: int, block_rows: int) -> None:
    """As a comparison of every number counts them, whatever the size of a block."""
    monkeypatch.setattr("hybrid.index.vectors._BLOCK_SIGNS", block_rows)
    random = np.random.default_rng(1)
    vectors, query = random.standard_normal((20, dim), np.float32), random.standard_normal((1, dim), np.float32)
    stored, mean = quantise(vectors, np.zeros(20, np.bool_)), vectors.mean(axis=0)
    kept = stored.data * stored.scale[:, np.newaxis]

    found = distances(signs_of_stored(stored, mean), sign_words(query, mean)[:, 0])

    turn = rotation(dim)
    assert (((kept - mean) @ turn > 0) != ((query - mean) @ turn > 0)).sum(axis=1).tolist() == found.tolist()


@examples(100)
@given(st.lists(st.integers(0, 12), min_size=1, max_size=400), st.integers(1, 60))
def test_the_nearest_rows(values: list[int], n_wanted: int) -> None:
    """At least as many as wanted, at most four times as many, ascending; nothing nearer is left out."""
    found = np.array(values, np.uint16)

    rows = nearest(found, n_wanted)

    assert min(n_wanted, len(values)) <= len(rows) <= max(4 * n_wanted, 1)
    assert sorted({*rows.tolist()}) == rows.tolist()
    assert found[rows].max() <= np.delete(found, rows).min(initial=999)


# --- searches ------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("_signed")
@pytest.mark.parametrize("only", [Filter(), Filter(path="src/part1"), Filter(kinds=("doc",))], ids=str)
def test_with_all_rows_compared_all_is_as_without_signs(tmp_path: Path, only: Filter) -> None:
    """Ranks, scores, figures and the chunks nearest to pieces, over several segments, dead rows and missing vectors."""
    place = _grown(tmp_path)
    by_signs, plain = _open(place, 1_000), _open(place, 0)
    vectors = _vectors("harbour ship7 crane", "lighthouse", "rope tide4", "?!")

    sifted, closest = by_signs.dense_with_pieces(vectors[0], vectors, 10, only)
    scanned, expected = plain.dense_with_pieces(vectors[0], vectors, 10, only)

    assert isinstance(sifted, SiftedLeg)
    assert isinstance(scanned, ScannedLeg)
    rows = np.arange(plain.n_rows)
    files = _live_files(plain)
    assert scanned.rows.tolist() == sifted.rows.tolist()
    np.testing.assert_allclose(scanned.scores, sifted.scores, atol=1e-6)
    assert pytest.approx(scanned.top, abs=1e-6) == sifted.top
    assert [row for row in rows.tolist() if scanned.raw(row) is None] == [
        row for row in rows.tolist() if sifted.raw(row) is None
    ]
    np.testing.assert_allclose(scanned.cosines(rows), sifted.cosines(rows), atol=1e-6)
    np.testing.assert_allclose(scanned.of_files(files), sifted.of_files(files), atol=1e-6)
    assert pytest.approx((scanned.chunks.mean, scanned.chunks.largest), abs=1e-6) == (
        sifted.chunks.mean,
        sifted.chunks.largest,
    )
    assert pytest.approx(scanned.files.mean, abs=1e-6) == sifted.files.mean
    np.testing.assert_allclose(expected, closest, atol=1e-6)


def _record(number: int) -> ChunkRecord:
    return ChunkRecord(1, 1, number.to_bytes(16, "big"), "", "", "", "", {}, {name: {} for name in FIELDS}, (), ())


def _live_files(snapshot: Snapshot) -> NDArray[np.intp]:
    """The numbers of the files of a snapshot that can be found."""
    return np.flatnonzero(snapshot.fields.file_is_live)


@pytest.mark.usefixtures("_signed")
def test_a_filter_comes_before_the_nearest_are_taken(tmp_path: Path) -> None:
    """Of a folder in which nothing is near, the nearest are found all the same; the top stays that of all."""
    place = _grown(tmp_path)
    query = _vectors("a lighthouse instead")[0]

    leg = _open(place, 1).dense(query, 5, Filter(path="src/part2"))

    assert 5 == len(leg.rows)
    assert all(_open(place, 1).get(row).path.startswith("src/part2/") for row in leg.rows.tolist())
    assert pytest.approx(_open(place, 0).dense(query, 5).top, abs=1e-6) == leg.top


@pytest.mark.usefixtures("_signed")
def test_a_query_of_zeros_ranks_nothing(tmp_path: Path) -> None:
    """Its pieces are compared all the same."""
    leg, closest = _open(_grown(tmp_path), 10).dense_with_pieces(np.zeros(DIM, np.float32), _vectors("lighthouse"), 5)

    assert ((), None) == (ranking(leg), leg.top)
    assert closest[0] > 0


@pytest.mark.parametrize("reason", ["setting", "numpy", "small"])
def test_all_rows_are_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str) -> None:
    """With the setting 0, with a numpy that cannot count bits, and in a segment without signs."""
    if reason != "small":
        monkeypatch.setattr("hybrid.index.drafting.LEAST_ROWS", 1)
    if reason == "numpy":
        monkeypatch.setattr("hybrid.index.vectors.CAN_COUNT", False)
    snapshot = _open(_grown(tmp_path), 0 if reason == "setting" else 10)

    assert isinstance(snapshot.dense(_vectors("rope")[0], 5), ScannedLeg)


def test_the_setting_is_what_a_search_takes(tmp_path: Path) -> None:
    """Its default is that of a snapshot."""
    assert 4_000 == default_config(tmp_path).search.compared


@pytest.mark.usefixtures("_signed")
@pytest.mark.parametrize(("n_compared", "least"), [(100, 0.9), (400, 0.99)])
def test_the_nearest_by_signs_are_mostly_the_nearest(tmp_path: Path, n_compared: int, least: float) -> None:
    """Recall of the ten nearest of 3,000 chunks whose vectors gather around some topics, as those of code do."""
    random = np.random.default_rng(1)
    topics = random.standard_normal((60, DIM), np.float32)
    vectors = np.repeat(topics, 50, axis=0) + random.standard_normal((3_000, DIM), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    stored = quantise(vectors, np.zeros(len(vectors), np.bool_))
    documents = [SegmentDocument(f"f{n:04d}.py", n, "code", "python", [_record(n)]) for n in range(3_000)]
    path = tmp_path / "segment"
    path.write_bytes(encode_arrays(encode_segment(documents, stored)))
    manifest = Manifest(FORMAT_VERSION, 1, "any", DIM, "recipe", (), {}, "")
    by_signs = Snapshot(manifest, [Segment(path)], n_compared=n_compared)
    plain = Snapshot(manifest, [Segment(path)], n_compared=0)

    queries = topics + random.standard_normal(topics.shape, np.float32)
    found = [
        len({*by_signs.dense(query, 10).ranks} & {*plain.dense(query, 10).ranks}) / 10
        for query in queries / np.linalg.norm(queries, axis=1, keepdims=True)
    ]

    assert sum(found) / len(found) >= least


# --- what is stored ------------------------------------------------------------------------------------------------


def test_an_unrelated_file_changes_no_place_in_a_large_segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file without a compared row counts as the least of those that signs told, whatever small segments hold."""
    monkeypatch.setattr("hybrid.index.drafting.LEAST_ROWS", 30)
    place, source = place_in(tmp_path), ListSource(TEXTS)
    build_index(place, source, max_segments=100)
    (query,) = _vectors("harbour crane3 tide2")
    found: list[float] = []
    for text in ("", "+++ unrelated words of something else\n"):
        if text:
            source.put("src/zz.txt", text)
            build_index(place, source, max_segments=100)
        leg = _open(place, 5).dense(query, 3)
        assert isinstance(leg, SiftedLeg)
        values = [float(leg.largest(np.array([row]), np.array([0]))[0]) for row in range(40)]
        found.append(min(values))
        assert values.count(found[-1]) > 20

    assert found[0] == found[1]


@pytest.mark.usefixtures("_signed")
@pytest.mark.parametrize("name", ["chunk_sign", "vector_file_sum"])
def test_signs_may_be_missing(tmp_path: Path, name: str) -> None:
    """As in every segment of an earlier version; then all rows are compared, or the mean is worked out."""
    path = _one_segment(tmp_path)
    kept = read_arrays(path)
    arrays = {name: np.array(kept[name]) for name in kept}
    del arrays[name]
    path.write_bytes(encode_arrays(arrays))

    assert Segment(path).n_chunks


@pytest.mark.usefixtures("_signed")
def test_signs_of_another_model_are_damage(tmp_path: Path) -> None:
    """A word of signs more than the vectors have numbers for: said on opening, not by a search that fails."""
    path = _one_segment(tmp_path)
    kept = read_arrays(path)
    arrays = {name: np.array(kept[name]) for name in kept}
    path.write_bytes(encode_arrays(arrays | {"chunk_sign": np.repeat(arrays["chunk_sign"], 2, axis=0)}))

    with pytest.raises(ValueError, match="chunk_sign has 2"):
        Segment(path)


def _one_segment(tmp_path: Path) -> Path:
    place = place_in(tmp_path)
    build_index(place, ListSource(dict(TEXTS)))
    (path,) = place.folder.glob("segment-*.safetensors")
    return path
