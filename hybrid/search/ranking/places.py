"""Files that a query names by path, and the chunks that hold the lines it points at; `ranker` calls it once a query."""

from __future__ import annotations

from itertools import takewhile
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.prompting.traces import parts_of_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.prompting.traces import SourceLine
    from hybrid.search.ranking.corpus import Corpus

_OUTER_FRAME = 0.5
"""Worth of a frame of a trace as a share of that of the project's frame within it; the innermost has 1."""
_OTHER_FOLDERS = 0.3
"""Likeness of a path to a file that shares its last parts alone: it has moved, or is another project's."""


class PlaceScores(Struct, frozen=True):
    """The scores by the places of a query; every value in (0, 1].

    Attributes:
        files: File → how surely the query names it by its path; files that it does not name are left out.
        chunks: Row → the same, for the chunk of such a file that holds the line that the query points at.
    """

    files: dict[int, float]
    chunks: dict[int, float]


def score_places(corpus: Corpus, places: Sequence[SourceLine]) -> PlaceScores:
    """Score every file and chunk by the places that a query names.

    A path counts 1 when it ends in the whole path of a file, or a file's path ends in all of it; files that it fits
    alike share that. A file at the top counts half for a path with folders. Of a trace the innermost frame that is in
    the project counts most.

    Args:
        corpus: To score.
        places: The places that the query names; of each trace the frame that failed first.
    """
    scores = PlaceScores({}, {})
    weight_in: dict[int, float] = {}
    files_of: dict[tuple[str, bool], list[tuple[int, float]]] = {}
    for place in places:
        path = place.path, place.is_installed
        if path not in files_of:
            files_of[path] = _files_named(corpus, place)
        if not files_of[path]:
            continue
        weight = 1.0
        if place.trace is not None:
            weight = weight_in.get(place.trace, 1.0)
            weight_in[place.trace] = weight * _OUTER_FRAME
        for file, likeness in files_of[path]:
            value = weight * likeness
            scores.files[file] = max(scores.files.get(file, 0.0), value)
            row = None if place.line is None else corpus.fields.row_at(file, place.line)
            if row is not None:
                scores.chunks[row] = max(scores.chunks.get(row, 0.0), value)
    return scores


def _files_named(corpus: Corpus, place: SourceLine) -> list[tuple[int, float]]:
    """Return the files that a path fits best, all alike, each with its share of the likeness, at most 1 together."""
    wanted, _ = parts_of_path(place.path)
    called = corpus.backend.names.files_called(wanted)
    likeness = {file: _likeness(wanted, tuple(path.split("/")), place) for file, path in called}
    top = max(likeness.values(), default=0.0)
    closest = [file for file, value in likeness.items() if value == top > 0]
    return [(file, min(1.0, top) / len(closest)) for file in closest]


def _likeness(wanted: tuple[str, ...], path: tuple[str, ...], place: SourceLine) -> float:
    """Return how well the path that a query names fits the path of a file.

    Args:
        wanted: Parts of the named path.
        path: Parts of the file's path.
        place: The place that the query names.

    Returns:
        1 and a little more for each equal part when one path ends in the whole of the other; 0.5 for a file at the top
        that shares its name alone with a path with folders; `_OTHER_FOLDERS` when several last parts agree, unless
        the place is in an installed package; else 0.
    """
    n = _n_agreeing(wanted, path)
    if not n:
        return 0.0
    agreement = 1 + n / 1_000
    if n == len(path):
        return agreement if n > 1 or len(wanted) == 1 else 0.5
    if n == len(wanted):
        return agreement
    return _OTHER_FOLDERS if n > 1 and not place.is_installed else 0.0


def _n_agreeing(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    """Return the number of parts, counted from the end, that are the same."""
    pairs = zip(reversed(a), reversed(b), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
