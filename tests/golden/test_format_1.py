"""The frozen index of format 1, which this version builds anew."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from hybrid.base.errors import IndexMismatchError
from hybrid.index.manifest import FORMAT_VERSION, read_manifest
from hybrid.index.snapshot import open_snapshot
from hybrid.models.hashing import HashingEmbedder
from tests.golden.test_format_2 import DIM, FILES
from tests.support.builders import ListSource, build_index, open_index, place_in

FROZEN = Path(__file__).parent / "format-1"


def test_it_is_of_format_1() -> None:
    """The frozen manifest is read by this version and says that it is of the first format."""

    assert 1 == read_manifest(FROZEN).format_version < FORMAT_VERSION


def test_it_asks_for_a_rebuild() -> None:
    """An index of format 1 is refused with the command that builds anew, before a segment is looked at."""
    with pytest.raises(IndexMismatchError, match=r"format 1, not 2.*hybrid reindex"):
        open_snapshot(FROZEN, model=read_manifest(FROZEN).model)


def test_a_build_replaces_it(tmp_path: Path) -> None:
    """A build over an index of format 1 writes one of today's, with a generation of its own, and removes the old segment."""
    place = place_in(tmp_path)
    shutil.copytree(FROZEN, place.folder)
    before = read_manifest(place.folder)
    build_index(place, ListSource(dict(FILES)), HashingEmbedder(DIM))
    index = open_index(place, HashingEmbedder(DIM))

    assert FORMAT_VERSION == index.manifest.format_version
    assert before.generation < index.manifest.generation
    assert sorted(FILES) == sorted(index.live_documents())
    assert {entry.file for entry in index.manifest.segments} == {path.name for path in place.folder.glob("segment-*")}


@pytest.mark.parametrize("number", [0, 1, 3, 99])
def test_any_other_format_asks_for_a_rebuild(tmp_path: Path, number: int) -> None:
    """A manifest of another format number, older or newer, is refused with the command that builds anew."""
    data = json.loads((FROZEN / "manifest.json").read_bytes())
    (tmp_path / "manifest.json").write_text(json.dumps(data | {"format_version": number}))

    with pytest.raises(IndexMismatchError, match=f"format {number}.*hybrid reindex"):
        open_snapshot(tmp_path, model=data["model"])
