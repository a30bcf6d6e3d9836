"""Files that a query names by path, and the chunks that hold the lines it points at; `ranker` calls it once a query."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hybrid.base.tokens import part_terms
from hybrid.prompting.traces import parts_of_path
from hybrid.search.ranking.scale import common

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from hybrid.index.segment import Segment
    from hybrid.prompting.traces import SourceLine
    from hybrid.search.ranking.corpus import Corpus

_OUTER_FRAME = 0.5
"""Of what the failing frame of a trace is worth, each frame of the project around it gets so much of the one within."""
_OTHER_FOLDERS = 0.3
"""A path whose last parts are those of a file, and not the parts above them: it has moved, or is another project's."""
_MOST_ALIKE = 64
"""Files of one name that are compared with a path; a name that more files bear tells none of them."""


class PlaceScores(Struct, frozen=True):
    """What the places of a query say; every array in [0, 1].

    Attributes:
        files: How surely the query names each file by its path, shape (n_files,).
        chunks: The same for the chunk that holds the line it points at, shape (n_rows,).
    """

    files: NDArray[np.float32]
    chunks: NDArray[np.float32]


def score_places(corpus: Corpus, places: Sequence[SourceLine]) -> PlaceScores:
    """Score every file and chunk by the places that a query names.

    A path counts 1 when it ends in the whole path of a file, or a file's path ends in all of it; files that it fits
    alike share that. A file at the top counts half for a path with folders. Of a trace the innermost frame that is in
    the project counts most.

    Args:
        corpus: To score.
        places: Of the query; of each trace the frame that failed first.
    """
    found = PlaceScores(np.zeros(corpus.n_files, np.float32), np.zeros(corpus.n_rows, np.float32))
    weight_in: dict[int, float] = {}
    files_of: dict[tuple[str, bool], list[tuple[int, float]]] = {}
    for place in places:
        path = place.path, place.is_installed
        named = files_of.get(path)
        if named is None:
            named = files_of[path] = list(_files_named(corpus, place))
        if not named:
            continue
        weight = 1.0
        if place.trace is not None:
            weight = weight_in.get(place.trace, 1.0)
            weight_in[place.trace] = weight * _OUTER_FRAME
        for file, likeness in named:
            value = weight * likeness
            found.files[file] = max(found.files[file], value)
            row = _row_at(corpus, file, place.line)
            if row is not None:
                found.chunks[row] = max(found.chunks[row], value)
    return found


def _files_named(corpus: Corpus, place: SourceLine) -> Iterator[tuple[int, float]]:
    """The files that a path fits best, each with how well it fits."""
    wanted, _ = parts_of_path(place.path)
    best: list[tuple[int, float]] = []
    for part in corpus.parts:
        for doc in _alike(part.segment, wanted):
            likeness = _likeness(wanted, tuple(part.segment.text("doc_path", doc).split("/")), place)
            file = int(corpus.file_of_doc[part.first_doc + doc])
            # An empty file has no chunk to show.
            has_chunks = corpus.doc_of_file[file] == part.first_doc + doc
            if likeness and has_chunks and part.segment.doc_is_live[doc]:
                best.append((file, likeness))
    top = max((likeness for _, likeness in best), default=0.0)
    closest = [file for file, likeness in best if likeness == top]
    for file in closest:
        yield file, min(1.0, top) / len(closest)


def _likeness(wanted: tuple[str, ...], path: tuple[str, ...], place: SourceLine) -> float:
    """How well a path fits a file's path, in [0, 1] and a little more the more parts agree; 0 for another file."""
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
    """Parts from the end that are the same."""
    count = 0
    for x, y in zip(reversed(a), reversed(b), strict=False):
        if x != y:
            break
        count += 1
    return count


def _alike(segment: Segment, wanted: tuple[str, ...]) -> list[int]:
    """Documents whose name has the words of a path's last part; those of the folders decide when they are many."""
    docs: NDArray[np.int32] | None = None
    stem, _, suffix = wanted[-1].rpartition(".")
    for word in dict.fromkeys(part_terms(stem or suffix)):
        held = segment.numbers("stem_word", "stem_word_doc", word)
        docs = held if docs is None else common(docs, held)
    if docs is None:
        return []
    for word in reversed(part_terms("/".join(wanted[:-1]))):
        if len(docs) <= _MOST_ALIKE:
            break
        inside = common(docs, segment.numbers("path_word", "path_word_doc", word))
        docs = inside if len(inside) else docs
    return docs.tolist() if len(docs) <= _MOST_ALIKE else []


def _row_at(corpus: Corpus, file: int, line: int | None) -> int | None:
    """The first chunk of a file that holds a line; None without a line, or when the file is shorter."""
    if line is None:
        return None
    rows = corpus.rows_of(file)
    segment, first = corpus.snapshot.locate(rows.start)
    local = slice(first, first + rows.stop - rows.start)
    starts, ends = segment.array("chunk_start")[local], segment.array("chunk_end")[local]
    holding = np.flatnonzero((starts <= line) & (line <= ends))
    return rows.start + int(holding[0]) if len(holding) else None
