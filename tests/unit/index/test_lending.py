from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from hybrid.index import commit
from hybrid.index.build import take_over
from hybrid.index.manifest import lenders, read_manifest, write_manifest
from hybrid.models.registry import HashingEmbedder
from tests.support.builders import PAYMENTS, open_index, place_in
from tests.support.builders import build_index as build_alone

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.index.manifest import Place
    from tests.support.builders import ListSource


build_index = partial(build_alone, lend=take_over)


def test_without_a_lender_a_first_snapshot_begins_with_nothing(built_place: Place, payments_source: ListSource) -> None:
    """Other builds, as those of records, take over nothing of another tree."""
    second = _second(built_place)
    build_alone(second, payments_source)

    assert "segment-00000001.safetensors" == read_manifest(second.folder).segments[0].file
    assert 1 == (second.folder / "segment-00000001.safetensors").stat().st_nlink


def _second(place: Place, tree: str = "t2") -> Place:
    return place_in(place.catalog.parent, tree)


def test_a_first_snapshot_begins_with_that_of_another_tree(built_place: Place, payments_source: ListSource) -> None:
    """Equal files are neither cut nor embedded nor written again, and the summary counts them as added and reused."""
    second = _second(built_place)

    summary = build_index(second, payments_source)

    assert (4, 0, summary.chunks) == (summary.added, summary.embedded, summary.reused)
    assert [entry.file for entry in read_manifest(built_place.folder).segments] == [
        entry.file for entry in read_manifest(second.folder).segments
    ]
    assert open_index(built_place).live_documents() == open_index(second).live_documents()


def test_what_differs_is_written_or_dead(built_place: Place, payments_source: ListSource) -> None:
    """A changed, a new and a missing file: the snapshot holds just the documents of the tree."""
    payments_source.put("docs/new.md", "# New\n\nA page.\n")
    payments_source.put("README.md", "# Another\n\nA page.\n")
    gone = next(path for path in PAYMENTS if path.endswith("client.py"))
    del payments_source.texts[gone]
    second = _second(built_place)

    build_index(second, payments_source)

    assert set(payments_source.texts) == set(open_index(second).live_documents())
    assert set(PAYMENTS) == set(open_index(built_place).live_documents())


def test_a_killed_first_build_goes_on(
    built_place: Place, payments_source: ListSource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed before its manifest is written, the next build ends as one never killed, and the lender keeps its files."""
    second, kept = _second(built_place), open_index(built_place).live_documents()
    payments_source.put("docs/new.md", "# New\n\nA page.\n")

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(commit, "write_manifest", killed)
        with pytest.raises(KeyboardInterrupt):
            build_index(second, payments_source)
    build_index(second, payments_source)

    assert set(payments_source.texts) == set(open_index(second).live_documents())
    assert kept == open_index(built_place).live_documents()


@pytest.mark.parametrize("what", ["model", "catalog", "generation"])
def test_what_cannot_be_built_upon_is_not_taken_over(
    built_place: Place, payments_source: ListSource, what: str
) -> None:
    """A snapshot of another model, of a lost catalog, or that the catalog does not know: all is written anew."""
    second, embedder = _second(built_place), HashingEmbedder(256 if what == "model" else 64)
    if what == "catalog":
        for path in built_place.catalog.parent.glob("catalog.db*"):
            path.unlink()
    if what == "generation":
        manifest = read_manifest(built_place.folder)
        write_manifest(built_place.folder, replace(manifest, generation=9))

    build_index(second, payments_source, embedder)

    snapshot = open_index(second, embedder)
    assert set(PAYMENTS) == set(snapshot.live_documents())
    assert "segment-00000001.safetensors" == snapshot.manifest.segments[0].file
    assert 1 == (second.folder / snapshot.manifest.segments[0].file).stat().st_nlink


def test_the_newest_tree_lends_first(built_place: Place, payments_source: ListSource, tmp_path: Path) -> None:
    """Lenders are the other trees with a snapshot, the newest first."""
    second, third = _second(built_place), _second(built_place, "t3")
    build_index(second, payments_source)
    (third.folder).mkdir(parents=True)

    assert ["t2", "t1"] == [place.tree for place in lenders(third)]
    assert ["t1"] == [place.tree for place in lenders(second)]
    assert [] == lenders(place_in(tmp_path / "nowhere"))
