"""An index whose arrays are not those of the format is damaged; which array it is, is said."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from hybrid.base.arrays import Arrays, read_arrays, write_arrays
from hybrid.base.errors import IndexCorruptError
from hybrid.base.text import sha256_hex
from hybrid.index.drafting import encode_segment
from hybrid.index.manifest import NAME
from hybrid.index.segment import ANY, BACKGROUND, COUNTS, LAYOUT, TOLD_BY_PLACES, Segment, check_layout
from hybrid.index.vectors import quantise
from tests.support.builders import PAYMENTS, ListSource, build_index, open_index, place_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hybrid.index.manifest import Place

COUNTED = [name for name, (_, dimensions) in LAYOUT.items() if ANY not in dimensions]


@dataclass
class Pieces:
    """An annotator that gives a segment the arrays of a background of three pieces and two terms."""

    key: str = "pieces-1"

    def annotate(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """The arrays of the background, and those of records."""
        dim, n_terms = arrays["vector"].shape[1], len(arrays["term_start"]) - 1
        assert dim
        return {
            "background_top": np.zeros(3, np.float32),
            "background_df": np.zeros(2, np.uint32),
            "background_together": np.zeros(3, np.float32),
            "background_record": np.zeros(3, np.float32),
            "term_vector": np.zeros((n_terms, dim), np.int8),
            "term_vector_scale": np.zeros(n_terms, np.float32),
        }


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an annotated index of one segment."""
    folder = tmp_path_factory.mktemp("built")
    texts = {**PAYMENTS, "notes.md": "# Retries\n\nThey wait.\n"}
    build_index(place_in(folder), ListSource(texts), annotator=Pieces())
    return folder


@pytest.fixture
def place(built: Path, tmp_path: Path) -> Place:
    """A copy of that index, to be damaged."""
    shutil.copytree(built, tmp_path / "copy")
    return place_in(tmp_path / "copy")


def _arrays(place: Place) -> dict[str, NDArray[Any]]:
    """The arrays of the one segment, in memory."""
    (path,) = place.folder.glob("segment-*")
    stored = read_arrays(path)
    return {name: np.array(stored[name]) for name in stored}


def _put(place: Place, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the one segment anew and sign it, as if it had been built so."""
    (path,) = place.folder.glob("segment-*")
    path.unlink()
    data = write_arrays(path, arrays)
    manifest = json.loads((place.folder / NAME).read_bytes())
    signed = {"size_bytes": len(data), "mtime_ns": path.stat().st_mtime_ns, "sha256": sha256_hex(data)}
    manifest["segments"][0] |= signed
    (place.folder / NAME).write_text(json.dumps(manifest), encoding="utf-8")


def _fails_over(place: Place, name: str) -> None:
    """Opening fails over this array: the message holds its name."""
    with pytest.raises(IndexCorruptError, match=rf"damaged.*\b{re.escape(name)}\b.*hybrid reindex"):
        open_index(place)


def test_the_layout_is_what_is_written() -> None:
    """Names, types and numbers of dimensions are those of a segment written today, one without documents too."""
    written = encode_segment([], quantise(np.zeros((0, 8), np.float32), np.zeros(0, np.bool_)))
    codes = {"U8": "uint8", "I8": "int8", "U16": "uint16", "I32": "int32", "U32": "uint32", "I64": "int64"}
    codes["F32"], codes["U64"] = "float32", "uint64"

    assert {name: (codes[code], len(shape)) for name, (code, shape) in (LAYOUT | COUNTS).items()} == {
        name: (str(array.dtype), array.ndim) for name, array in written.items()
    }


def test_a_segment_without_documents_opens(tmp_path: Path) -> None:
    """No chunk, no term and no name is a valid segment."""
    write_arrays(tmp_path / "s", encode_segment([], quantise(np.zeros((0, 8), np.float32), np.zeros(0, np.bool_))))

    assert 0 == Segment(tmp_path / "s").n_chunks


def test_an_index_that_is_whole_opens(place: Place) -> None:
    """Written anew as it was, or with an array that the format does not know, it opens: the damage below is damage."""
    arrays = _arrays(place)
    assert {*LAYOUT, *COUNTS, *BACKGROUND} == set(arrays)
    assert not [name for name in COUNTED if not arrays[name].size]

    _put(place, arrays | {"later": np.zeros(3, np.float64)})

    assert len(arrays["chunk_doc"]) == open_index(place).n_chunks


@pytest.mark.parametrize("name", LAYOUT)
def test_an_array_is_missing(place: Place, name: str) -> None:
    """Any of them."""
    arrays = _arrays(place)
    del arrays[name]
    _put(place, arrays)

    _fails_over(place, name)


@pytest.mark.parametrize("name", BACKGROUND)
def test_an_index_that_was_not_annotated_opens(place: Place, name: str) -> None:
    """The arrays of the background may be missing."""
    arrays = _arrays(place)
    del arrays[name]
    _put(place, arrays)

    assert open_index(place).n_chunks


@pytest.mark.parametrize("name", {**LAYOUT, **BACKGROUND})
@pytest.mark.parametrize("change", ["type", "signed", "dimensions"])
def test_an_array_is_of_another_type(place: Place, name: str, change: str) -> None:
    """Wider numbers, another kind of the same width, or one dimension more."""
    arrays = _arrays(place)
    array = arrays[name]
    other = {"i": "u", "u": "i", "f": "i"}[array.dtype.kind] + str(array.dtype.itemsize)
    changed = {"type": array.astype(np.float64), "signed": array.view(other), "dimensions": array[np.newaxis]}
    _put(place, arrays | {name: changed[change]})

    _fails_over(place, name)


@pytest.mark.parametrize("name", COUNTED)
def test_an_array_is_one_element_short(place: Place, name: str) -> None:
    """In any of its dimensions."""
    arrays = _arrays(place)
    shorter = [np.delete(arrays[name], -1, axis) for axis in range(arrays[name].ndim)]
    for array in shorter:
        _put(place, arrays | {name: array})

        _fails_over(place, name)


@pytest.mark.parametrize("name", COUNTED)
def test_an_array_is_empty(place: Place, name: str) -> None:
    """Places have one element even where nothing begins."""
    arrays = _arrays(place)
    _put(place, arrays | {name: arrays[name][:0]})

    _fails_over(place, name)


def test_lengths_that_no_other_array_tells() -> None:
    """Letters of strings and entries of lists, which begin where another array says; everything else is counted."""
    begins = {"U8": ("_text", "_at"), "I32": ("", "_start")}

    for name in LAYOUT.keys() - COUNTED:
        own, places = begins[LAYOUT[name][0]]
        assert name.removesuffix(own) + places in COUNTED


@pytest.mark.parametrize("name", TOLD_BY_PLACES)
def test_the_last_place_is_elsewhere(place: Place, name: str) -> None:
    """Postings, languages and kinds end where their array ends."""
    arrays = _arrays(place)
    arrays[name][-1] += 1
    _put(place, arrays)

    _fails_over(place, name)


def test_a_chunk_of_no_document(place: Place) -> None:
    """Chunks belong to documents that are there."""
    arrays = _arrays(place)
    arrays["chunk_doc"][-1] = len(arrays["doc_content"])
    _put(place, arrays)

    _fails_over(place, "chunk_doc")


def test_shape_and_bytes_disagree(place: Place) -> None:
    """A header whose shape asks for more bytes than the array has is found on opening, not in a search."""
    (path,) = place.folder.glob("segment-*")
    before = path.stat()
    path.write_bytes(path.read_bytes().replace(b'"chunk_length":{"dtype":"F32"', b'"chunk_length":{"dtype":"F64"'))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))

    _fails_over(place, "chunk_length")


def test_no_view_is_made(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index of many arrays opens as quickly as one of few: they are compared by the header alone."""
    (path,) = place.folder.glob("segment-*")
    arrays = read_arrays(path)

    def refuse(_: Arrays, name: str) -> None:
        pytest.fail(f"a view of {name} was made")

    monkeypatch.setattr(Arrays, "__getitem__", refuse)

    check_layout(arrays)
