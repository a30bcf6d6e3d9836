from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from hybrid.base.arrays import read_arrays
from hybrid.models.registry import HashingEmbedder
from hybrid.search.gate.annotator import GateAnnotator
from hybrid.search.gate.background import FOLDER, calibrate, load_background, segment_arrays
from hybrid.search.gate.identity import annotation_key, background_key
from tests.support.builders import CHECKOUT, PAYMENTS, ListSource, build_index, open_index, place_in
from tests.support.worlds import SETTINGS

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from hybrid.index.segment import Segment
    from hybrid.types import Embedder

ADDED = ("background_top", "background_df", "background_together")
READ = ("vector", "vector_scale", "term_text", "term_at", "term_start", "post_row")


def _arrays(segment: Segment) -> dict[str, np.ndarray]:
    return {name: segment.arrays[name] for name in READ}


def test_an_index_is_annotated_as_it_is_built(tmp_path: Path, hashing_home: Path) -> None:
    """The manifest names the background, and every segment holds what it says of the segment's chunks."""
    annotator = GateAnnotator(HashingEmbedder(), hashing_home)
    build_index(place_in(tmp_path), ListSource(dict(PAYMENTS)), annotator=annotator)
    index = open_index(place_in(tmp_path))
    (segment,) = index.segments

    background = load_background(HashingEmbedder(), hashing_home)
    expected = segment_arrays(_arrays(segment), background)
    key = annotation_key(background_key(HashingEmbedder().info))
    assert key == annotator.key == index.manifest.background
    assert set(ADDED) == set(expected)
    for name in ADDED:
        np.testing.assert_array_equal(expected[name], segment.arrays[name])


def test_every_array_of_a_segment_is_specified(
    tmp_path: Path, static_embedder: Embedder, static_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The specification of the index names each array that a segment of records written today holds, and no other."""
    monkeypatch.setattr("hybrid.index.drafting.LEAST_ROWS", 1)
    annotator = GateAnnotator(static_embedder, static_home, records=SETTINGS)
    build_index(place_in(tmp_path), ListSource(dict(PAYMENTS)), static_embedder, annotator=annotator)
    (path,) = place_in(tmp_path).folder.glob("segment-*.safetensors")
    table = (CHECKOUT / "index" / "README.md").read_text(encoding="utf-8").split("## Format ", 1)[1].split("\n## ")[0]
    rows: list[str] = re.findall(r"^\| (`\w.*?`) \| (?:strings|u?int|float)", table, re.MULTILINE)
    named: set[str] = {name for row in rows for name in re.findall(r"`(\w+)(?:_\*)?`", row)}

    assert named == {re.sub("_(text|at)$", "", name) for name in read_arrays(path)}


def test_terms_of_the_background_are_counted_in_the_index(tmp_path: Path, hashing_home: Path) -> None:
    """What a segment keeps of a term is what a prompt that asks for it would find."""
    annotator = GateAnnotator(HashingEmbedder(), hashing_home)
    build_index(place_in(tmp_path), ListSource(dict(PAYMENTS)), annotator=annotator)
    index = open_index(place_in(tmp_path))
    terms = load_background(HashingEmbedder(), hashing_home).terms

    kept = index.segments[0].arrays["background_df"].tolist()

    assert [index.terms.document_frequency(term) for term in terms] == kept
    assert 0 < sum(n > 0 for n in kept) < len(kept)


def test_the_background_is_loaded_when_a_segment_is_written(tmp_path: Path) -> None:
    """A build that finds nothing to do asks for the key only: no background is embedded."""
    place, source, home = place_in(tmp_path), ListSource(dict(PAYMENTS)), tmp_path / "home"
    build_index(place, source, annotator=GateAnnotator(HashingEmbedder(), home))
    (kept,) = (home / FOLDER).iterdir()
    kept.unlink()

    build_index(place, source, annotator=GateAnnotator(HashingEmbedder(), home))
    assert [] == list((home / FOLDER).iterdir())
    source.put("a.py", "def more():\n    pass\n")
    build_index(place, source, annotator=GateAnnotator(HashingEmbedder(), home))

    assert [kept] == list((home / FOLDER).iterdir())


def test_bars_of_documents_that_came_one_by_one_are_those_of_one_build(tmp_path: Path, hashing_home: Path) -> None:
    """Segments of one document each give the bars of one segment, as long as nothing was edited or removed.

    A document that was edited or removed counts in the bars until its segment is written anew.
    """
    annotator = GateAnnotator(HashingEmbedder(), hashing_home)
    background = load_background(HashingEmbedder(), hashing_home)
    whole, grown = place_in(tmp_path / "whole"), place_in(tmp_path / "grown")
    build_index(whole, ListSource(dict(PAYMENTS)), annotator=annotator)
    source = ListSource({})
    for path, text in PAYMENTS.items():
        source.put(path, text)
        build_index(grown, source, annotator=annotator, max_segments=100)

    found = [calibrate(background, open_index(place).background.figures(), SETTINGS) for place in (whole, grown)]

    assert (1, 4) == tuple(len(open_index(place).segments) for place in (whole, grown))
    np.testing.assert_allclose((found[0].talk, found[0].tasks), (found[1].talk, found[1].tasks), atol=1e-6)
