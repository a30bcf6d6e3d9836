"""A build writes segments of a bounded size, so that its memory does not grow with the tree."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.tokens import query_tokens
from hybrid.index import commit
from hybrid.index.build import take_over
from hybrid.index.manifest import read_manifest
from hybrid.models.registry import HashingEmbedder
from tests.support.builders import ListSource, build_index, open_index, place_in
from tests.support.examples import examples
from tests.support.rankings import ranking

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.index.manifest import Place

N_FILES = 30


@pytest.fixture(autouse=True)
def _small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight chunks fill a segment."""
    monkeypatch.setattr(commit, "MOST_CHUNKS", 8)


def _source() -> ListSource:
    return ListSource({f"f{i:02d}.py": f"def function_{i}():\n    return {i}\n" for i in range(N_FILES)})


def _files(place: Place) -> list[str]:
    return sorted(path.name for path in place.folder.glob("segment-*"))


def test_a_large_first_build_makes_several_segments(tmp_path: Path) -> None:
    """Each is written as soon as it is full, holds the documents that follow those of the one before, and is named."""
    place = place_in(tmp_path)
    build_index(place, _source())
    snapshot = open_index(place)

    assert [8, 8, 8, 6] == [segment.n_chunks for segment in snapshot.segments]
    assert sorted(path for segment in snapshot.segments for path in segment.paths) == [
        path for segment in snapshot.segments for path in segment.paths
    ]
    assert sorted(entry.file for entry in read_manifest(place.folder).segments) == _files(place)
    assert {f"f{i:02d}.py" for i in range(N_FILES)} == set(snapshot.live_documents())


def test_what_was_read_is_not_decoded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Full segments are made of what was read; the catalog is asked for no record."""
    monkeypatch.setattr("hybrid.index.catalog.Catalog.records", lambda *_: pytest.fail("a record was decoded"))
    place = place_in(tmp_path)
    build_index(place, _source())

    assert 4 == len(open_index(place).segments)


@pytest.mark.parametrize("n_written", [0, 1, 2])
def test_a_build_that_ends_between_segments_goes_on(tmp_path: Path, n_written: int) -> None:
    """What it wrote is in no manifest; the next build makes the same index, and leaves no file that nobody names."""
    place, source = place_in(tmp_path / "cut"), _source()

    def seal(catalog: Any, target: Path, *how: Any) -> commit.Sealed:
        if len(_files(place)) == n_written:
            raise OSError("the disk is full")
        return real(catalog, target, *how)

    real = commit.seal
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commit, "seal", seal)
        with pytest.raises(OSError, match="full"):
            build_index(place, source)

    assert not (place.folder / "manifest.json").exists()
    assert n_written == len(_files(place))
    build_index(place, source)
    build_index(place_in(tmp_path / "whole"), source)
    assert _answers(place_in(tmp_path / "whole")) == _answers(place)
    assert sorted(entry.file for entry in read_manifest(place.folder).segments) == _files(place)


def test_full_segments_are_not_merged(tmp_path: Path) -> None:
    """Edits merge small segments alone: a full one stays until half of it is dead."""
    place, source = place_in(tmp_path), _source()
    build_index(place, source)
    full = [entry.file for entry in read_manifest(place.folder).segments if entry.n_chunks == 8]
    for i in range(24, 30):
        source.put(f"f{i:02d}.py", f"def other_{i}():\n    return {i}\n")
        build_index(place, source, max_segments=2)

        kept = [entry.file for entry in read_manifest(place.folder).segments]
        assert set(full) <= set(kept)
        assert len(kept) <= len(full) + 3  # What was merged may be full by now.
    assert {f"f{i:02d}.py" for i in range(N_FILES)} == set(open_index(place).live_documents())


def test_what_changed_is_found_before_segments_are_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A merge is a generation after that of the change, so that a search does not wait for it."""
    place, source = place_in(tmp_path), _source()
    build_index(place, source)
    seen: list[set[str]] = []
    real = commit.merge_segments

    def merge(*arguments: object) -> int:
        seen.append(set(open_index(place).live_documents()))
        return real(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(commit, "merge_segments", merge)
    n_before = len(read_manifest(place.folder).segments)
    for i in range(4):
        source.put(f"new_{i}.py", f"def new_{i}():\n    return {i}\n")
        summary = build_index(place, source, max_segments=2)

        assert f"new_{i}.py" in seen[-1]
        assert summary.generation == read_manifest(place.folder).generation
    assert len(read_manifest(place.folder).segments) < n_before + 4


@pytest.mark.parametrize("error", [OSError("the disk is full"), KeyboardInterrupt()], ids=["full", "interrupted"])
def test_a_merge_that_ends_early_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    """The change stands; the next build merges."""
    place, source = place_in(tmp_path), _source()
    build_index(place, source)
    for i in range(3):
        source.put(f"new_{i}.py", f"def new_{i}():\n    return {i}\n")
        build_index(place, source)
    n_before = len(read_manifest(place.folder).segments)
    source.put("last.py", "def last():\n    return 1\n")
    with monkeypatch.context() as patch:
        patch.setattr(commit, "_choose_merges", lambda *_: (_ for _ in ()).throw(error))
        with contextlib.suppress(KeyboardInterrupt):
            build_index(place, source, max_segments=2)

    assert "last.py" in open_index(place).live_documents()
    assert n_before + 1 == len(read_manifest(place.folder).segments)
    source.put("last.py", "def last():\n    return 2\n")
    build_index(place, source, max_segments=2)
    assert len(read_manifest(place.folder).segments) < n_before
    assert {"last.py", *source.texts} == set(open_index(place).live_documents())


def test_a_half_dead_full_segment_is_written_anew(tmp_path: Path) -> None:
    """When half of its documents are gone, a full segment is replaced by one of those that are left."""
    place, source = place_in(tmp_path), _source()
    build_index(place, source)
    first = read_manifest(place.folder).segments[0].file
    for i in range(4):
        del source.texts[f"f{i:02d}.py"]
    build_index(place, source)

    assert first not in [entry.file for entry in read_manifest(place.folder).segments]
    assert N_FILES - 4 == open_index(place).n_chunks == open_index(place).n_rows


def test_a_purge_makes_several_segments_too(tmp_path: Path) -> None:
    """Everything written anew from the catalog is split in the same way."""
    place, source = place_in(tmp_path), _source()
    build_index(place, source)
    before = _files(place)
    build_index(place, source, is_purged=True)

    assert [8, 8, 8, 6] == [segment.n_chunks for segment in open_index(place).segments]
    assert not set(before).intersection(_files(place))


def test_a_large_build_writes_over_no_segment_of_a_taken_over_snapshot(tmp_path: Path) -> None:
    """Its segments have higher numbers than all that the manifest names, however many it writes."""
    source = _source()
    build_index(place_in(tmp_path), source)
    second = place_in(tmp_path, "t2")
    for i in range(40):
        source.put(f"own{i:02d}.py", f"def own_{i}():\n    return {i}\n")
    build_index(second, source, lend=take_over)
    named = [entry.file for entry in read_manifest(second.folder).segments]
    before = {name: (second.folder / name).read_bytes() for name in named}
    for i in range(40):
        source.put(f"g{i:02d}.py", f"def later_{i}():\n    return {i}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commit, "write_manifest", _fail)
        with pytest.raises(KeyboardInterrupt):
            build_index(second, source, lend=take_over)

    assert before == {name: (second.folder / name).read_bytes() for name in named}


def _fail(*_: object) -> None:
    raise KeyboardInterrupt


_texts = st.dictionaries(
    st.sampled_from(["a.py", "b.py", "c.md", "d/e.py", "d/f.txt", "g.txt", "h.txt"]),
    st.lists(
        st.sampled_from(["alpha", "beta gamma", "def f():", "    return delta", "# Title", "", "ε ζ"]), max_size=8
    ).map("\n".join),
    max_size=7,
)


@examples(40)
@given(st.lists(_texts, min_size=1, max_size=4), st.sampled_from([1, 2, 3, 4, 1_000]))
def test_split_and_incremental_builds_equal_a_fresh_whole_one(
    tmp_path_factory: pytest.TempPathFactory, history: list[dict[str, str]], size: int
) -> None:
    """After any edits, with segments of any size, the index answers as one that was built from nothing in one segment."""
    folder, source = tmp_path_factory.mktemp("split"), ListSource({})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commit, "MOST_CHUNKS", size)
        for texts in history:
            for path in set(source.texts) - set(texts):
                del source.texts[path]
            for path, text in texts.items():
                source.put(path, text)
            build_index(place_in(folder / "split"), source, max_segments=2)
        patch.setattr(commit, "MOST_CHUNKS", 1_000)
        build_index(place_in(folder / "whole"), source)

    assert _answers(place_in(folder / "whole")) == _answers(place_in(folder / "split"))


def _answers(place: Place) -> list[object]:
    snapshot = open_index(place)
    query, terms = (
        HashingEmbedder().embed_query("alpha delta function title"),
        "alpha delta return function_3 gamma title",
    )
    return [
        [((view := snapshot.get(entry.row)).path, view.start_line, round(entry.raw, 5)) for entry in ranking(leg)]
        for leg in (snapshot.dense(query, 50), snapshot.lexical(query_tokens(terms), 50))
    ]


def test_an_edit_leaves_large_merges_to_others(tmp_path: Path) -> None:
    """With a limit, segments stay that are too large for it, and half-dead ones too; without it the next build merges."""
    place, source = place_in(tmp_path), ListSource({})
    for number in range(4):
        for n in range(3):
            source.put(f"g{number}_{n}.py", f"def other_{number}_{n}():\n    return {n}\n")
        build_index(place, source, max_segments=100)
    before = {entry.file for entry in read_manifest(place.folder).segments}
    for n in range(2):
        del source.texts[f"g0_{n}.py"]
    build_index(place, source, max_segments=2, most_merged=0)
    assert before == {entry.file for entry in read_manifest(place.folder).segments}
    source.put("small.py", "def small():\n    return 1\n")
    build_index(place, source, max_segments=2, most_merged=2)
    left = {entry.file for entry in read_manifest(place.folder).segments}
    build_index(place, source, max_segments=2)

    assert 3 == len(before & left)
    assert 2 >= len(read_manifest(place.folder).segments)
    assert set(source.texts) == set(open_index(place).live_documents())
