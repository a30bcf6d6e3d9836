"""A snapshot as the ranker reads it: files and chunks numbered through all segments, postings with their fields.

A file is a document that has a chunk; its chunks stand together. Tombstoned ones keep their numbers and get nothing.
"""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hybrid.index.analysis import NAME_FIELDS
from hybrid.index.roles import VERSION_FOLDER, bit
from hybrid.index.sorting import runs
from hybrid.search.ranking.morphology import LONGER, kin_among, may_abbreviate, may_have_kin

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from hybrid.index.segment import Segment
    from hybrid.index.snapshot import Snapshot

NAME, VALUE = map(NAME_FIELDS.index, ("name", "value"))
_B = 0.75
"""How much of a length counts, the value of rank-bm25."""
_REMEMBERED = 4_096
_MANY = 0.1
"""Share of values above 0 from which on it is faster to go through all of them than to pick these out."""
_KIN_LETTERS = 4
_MOST_KIN = 8


class Postings(Struct, frozen=True):
    """The chunks of one segment that hold some terms, and can be found; term after term.

    Attributes:
        starts: Where those of each term begin, and where the last ends, shape (n_terms + 1,).
        rows: Of the corpus, ascending within a term, shape (n,).
        body: Frequency in the text, shape (n,).
        named: Places in `rows` of those that hold the term in a name or path, ascending.
        fields: Frequency there in each of `hybrid.index.analysis.NAME_FIELDS`, shape (5, len(named)).
    """

    starts: NDArray[np.intp]
    rows: NDArray[np.intp]
    body: NDArray[np.float32]
    named: NDArray[np.intp]
    fields: NDArray[np.float32]


class Remarks(Struct, frozen=True):
    """The chunks of one segment whose comments hold some terms, as `Postings` has those of the text.

    Attributes:
        starts: Shape (n_terms + 1,).
        rows: Shape (n,).
        counts: Frequency in the comments, shape (n,).
    """

    starts: NDArray[np.intp]
    rows: NDArray[np.intp]
    counts: NDArray[np.float32]


class SegmentPart(Struct, frozen=True, dict=True):
    """A segment and where its chunks and documents begin in the corpus."""

    segment: Segment
    first_row: int
    first_doc: int

    @cached_property
    def abbreviations(self) -> dict[str, list[tuple[int, str]]]:
        """Words of file names that are spelled like an abbreviation, with their numbers, by their first letter."""
        found: dict[str, list[tuple[int, str]]] = {}
        for number, word in enumerate(self.segment.texts("stem_word")):
            if may_abbreviate(word):
                found.setdefault(word[0], []).append((number, word))
        return found


class Corpus:
    """Arrays of one snapshot; made when they are first asked for."""

    def __init__(self, snapshot: Snapshot) -> None:
        self.snapshot = snapshot
        self._segments = snapshot.segments
        self._kin: dict[str, list[list[tuple[int, int]]]] = {}
        self.playing: dict[tuple[str, int], NDArray[np.float32]] = {}
        """By role and bits of spared roles, what `roles.playing` found."""

    @cached_property
    def parts(self) -> tuple[SegmentPart, ...]:
        """The segments in the order of their rows."""
        found: list[SegmentPart] = []
        row = doc = 0
        for segment in self._segments:
            found.append(SegmentPart(segment, row, doc))
            row, doc = row + segment.n_chunks, doc + segment.n_documents
        return tuple(found)

    @property
    def n_rows(self) -> int:
        """Chunks, tombstoned ones too."""
        return self.snapshot.n_rows

    @cached_property
    def _doc_of_row(self) -> NDArray[np.int32]:
        return self._joined(lambda part: part.segment.chunk_doc + np.int32(part.first_doc))

    @cached_property
    def first_rows(self) -> NDArray[np.intp]:
        """The first chunk of each file, shape (n_files,)."""
        return runs(self._doc_of_row)

    @property
    def n_files(self) -> int:
        """Documents that have a chunk."""
        return len(self.first_rows)

    @cached_property
    def doc_of_file(self) -> NDArray[np.int32]:
        """For each file its document, numbered through all segments."""
        return self._doc_of_row[self.first_rows]

    @cached_property
    def file_of_doc(self) -> NDArray[np.int32]:
        """For each document its file; 0 for one without chunks, which nothing refers to."""
        n_docs = sum(segment.n_documents for segment in self._segments)
        found = np.zeros(n_docs, np.int32)
        found[self.doc_of_file] = np.arange(self.n_files, dtype=np.int32)
        return found

    @cached_property
    def file_of_row(self) -> NDArray[np.int32]:
        """Shape (n_rows,), ascending."""
        return self.file_of_doc[self._doc_of_row]

    @cached_property
    def is_live(self) -> NDArray[np.bool_] | None:
        """For each chunk: can it be found? None when all can."""
        if all(segment.is_live is None for segment in self._segments):
            return None
        return self._joined(lambda part: part.segment.doc_is_live[part.segment.chunk_doc])

    @cached_property
    def file_is_live(self) -> NDArray[np.bool_]:
        """For each file: can it be found?"""
        return self._of_docs(lambda segment: segment.doc_is_live)

    @property
    def n_live(self) -> int:
        """Chunks that can be found."""
        return self.snapshot.n_chunks

    @cached_property
    def n_live_files(self) -> int:
        """Files that can be found."""
        return int(self.file_is_live.sum())

    @cached_property
    def roles(self) -> NDArray[np.uint8]:
        """Bits of `hybrid.index.roles.ROLES` of each file."""
        return self._of_docs(lambda segment: segment.array("doc_role"))

    @cached_property
    def versions(self) -> dict[int, tuple[tuple[str, int, int], ...]]:
        """Version folders of the files that lie in some, as `versions_of` gives them."""
        files = np.flatnonzero((self.roles & np.uint8(bit("versioned")) > 0) & self.file_is_live).tolist()
        return versions_of({file: self.path(file) for file in files})

    def path(self, file: int) -> str:
        """Path of a file."""
        return self.snapshot.path(int(self.first_rows[file]))

    def rows_of(self, file: int) -> slice:
        """The chunks of a file."""
        first = self.first_rows
        return slice(int(first[file]), int(first[file + 1]) if file + 1 < len(first) else self.n_rows)

    @cached_property
    def file_vector_length(self) -> NDArray[np.float32]:
        """Length of the sum of the file's vectors, shape (n_files,); 0 for a file without any."""
        return self._of_docs(lambda segment: segment.array("doc_vector_length"))

    @cached_property
    def stem_letters(self) -> NDArray[np.uint16]:
        """Letters of the distinct words of each file's name."""
        return self._of_docs(lambda segment: segment.array("doc_stem_letters"))

    @cached_property
    def mean_vector(self) -> NDArray[np.float32]:
        """Mean of the vectors that can be found, shape (dim,)."""
        total = np.zeros(self.snapshot.manifest.dim, np.float32)
        for segment in self._segments:
            total += segment.array("vector_sum")
            if segment.is_live is not None:
                dead = np.flatnonzero(~segment.is_live)
                total -= segment.vector_scale[dead] @ segment.vector[dead].astype(np.float32)
        return np.divide(total, max(self.n_live, 1), dtype=np.float32)

    @cached_property
    def text_norm(self) -> NDArray[np.float32]:
        """What the length of its text does to the frequencies of each chunk, as BM25 has it; 1 at the mean length."""
        lengths = self._of_rows("chunk_body_length")
        return _length_norm(lengths, self.live_mean(lengths))

    @cached_property
    def remark_norm(self) -> NDArray[np.float32]:
        """The same of the comments of each chunk."""
        lengths = self._of_rows("chunk_remark_length")
        return _length_norm(lengths, self.live_mean(lengths))

    @cached_property
    def file_norm(self) -> NDArray[np.float32]:
        """The same of each file."""
        lengths = self.sum_of_files(self._of_rows("chunk_body_length"))
        return _length_norm(lengths, self.live_file_mean(lengths))

    def sum_of_files(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The sum over each file's chunks; values have the shape (n_rows,)."""
        return np.asarray(np.add.reduceat(values, self.first_rows) if self.n_files else values[:0], np.float32)

    def best_of_files(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The largest over each file's chunks; values ≥ 0 of the shape (n_rows,)."""
        is_above = values > 0
        n_above = np.count_nonzero(is_above)
        if n_above > _MANY * len(values):
            return np.maximum.reduceat(values, self.first_rows)
        found = np.zeros(self.n_files, np.float32)
        if n_above:
            rows = np.flatnonzero(is_above)  # Of bool it is ten times as fast as of float32.
            files = self.file_of_row[rows]
            starts = runs(files)
            found[files[starts]] = np.maximum.reduceat(values[rows], starts)
        return found

    def live_mean(self, values: NDArray[np.float32]) -> float:
        """The mean over the chunks that can be found."""
        kept = values if self.is_live is None else values[self.is_live]
        return float(kept.mean()) if len(kept) else 0.0

    def live_file_mean(self, values: NDArray[np.float32]) -> float:
        """The mean over the files that can be found."""
        kept = values[self.file_is_live]
        return float(kept.mean()) if len(kept) else 0.0

    def kin(self, term: str) -> list[list[tuple[int, int]]]:
        """The morphological relatives of a term, the nearest in length first; at most eight.

        Each as the places in `parts` of the segments that hold it, and its number there. A term that only tombstoned
        chunks hold is nobody's relative.
        """
        found = self._kin.get(term)
        if found is None:
            if len(self._kin) >= _REMEMBERED:
                self._kin.clear()
            found = self._kin[term] = self._find_kin(term)
        return found

    def _find_kin(self, term: str) -> list[list[tuple[int, int]]]:
        if not may_have_kin(term, least=_KIN_LETTERS):
            return []
        places: dict[str, list[tuple[int, int]]] = {}
        for at, segment in enumerate(self._segments):
            for number, other in segment.strings_with_prefix("term", term[:_KIN_LETTERS], len(term) + LONGER):
                places.setdefault(other, []).append((at, number))
        kin = kin_among(term, list(places), least=_KIN_LETTERS)
        live = (held for other in kin if (held := [one for one in places[other] if self._is_live(*one)]))
        return list(itertools.islice(live, _MOST_KIN))

    def _is_live(self, at: int, number: int) -> bool:
        """Does a chunk that can be found hold the term with a number?"""
        segment = self._segments[at]
        is_live = segment.is_live
        return is_live is None or bool(is_live[segment.post_row[segment.span("term_start", number)]].any())

    def _of_rows(self, name: str) -> NDArray[np.float32]:
        return self._joined(lambda part: part.segment.array(name))

    def _of_docs(self, get: Callable[[Segment], NDArray[Any]]) -> NDArray[Any]:
        return self._joined(lambda part: get(part.segment))[self.doc_of_file]

    def _joined(self, get: Callable[[SegmentPart], NDArray[Any]]) -> NDArray[Any]:
        arrays = [get(part) for part in self.parts]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays) if arrays else np.zeros(0, np.int32)


def _length_norm(lengths: NDArray[np.float32], mean: float) -> NDArray[np.float32]:
    """1 − b + b · length / mean length."""
    return (1 - _B + _B * lengths / max(mean, 1e-9)).astype(np.float32)


def read_postings(part: SegmentPart, numbers: Sequence[int]) -> Postings:
    """Where some terms stand in a segment.

    Args:
        part: The segment.
        numbers: Of the terms; at least one.
    """
    segment = part.segment
    spans = [segment.span("term_start", number) for number in numbers]
    of_fields = [segment.span("field_start", number) for number in numbers]
    starts = _starts(spans)
    rows = np.concatenate([segment.post_row[span] for span in spans], dtype=np.intp)
    body = np.concatenate([segment.post_tf[span] for span in spans], dtype=np.float32)
    named = np.concatenate([segment.array("field_post")[span] for span in of_fields], dtype=np.intp)
    moved = starts[:-1] - [span.start for span in spans]
    named += np.repeat(moved, [span.stop - span.start for span in of_fields])
    fields = np.concatenate([segment.array("field_tf")[:, span] for span in of_fields], axis=1, dtype=np.float32)
    body[named] -= fields[:VALUE].sum(axis=0)  # Values stand in the body already.
    np.maximum(body, 0, out=body)
    if segment.is_live is not None:
        keep = segment.is_live[rows]
        kept_before = _from_zero(keep)
        starts, rows, body = kept_before[starts], rows[keep], body[keep]
        is_kept = keep[named]
        named, fields = kept_before[named[is_kept]], fields[:, is_kept]
    return Postings(starts, rows + part.first_row if part.first_row else rows, body, named, fields)


def read_remarks(part: SegmentPart, numbers: Sequence[int]) -> Remarks:
    """Where some terms stand in the comments of a segment; the arguments as in `read_postings`."""
    segment = part.segment
    spans = [segment.span("remark_start", number) for number in numbers]
    starts = _starts(spans)
    rows = np.concatenate([segment.array("remark_row")[span] for span in spans], dtype=np.intp)
    counts = np.concatenate([segment.array("remark_tf")[span] for span in spans], dtype=np.float32)
    if segment.is_live is not None:
        keep = segment.is_live[rows]
        starts, rows, counts = _from_zero(keep)[starts], rows[keep], counts[keep]
    return Remarks(starts, rows + part.first_row, counts)


def _starts(spans: Sequence[slice]) -> NDArray[np.intp]:
    return _from_zero([span.stop - span.start for span in spans])


def _from_zero(lengths: Sequence[int] | NDArray[np.bool_]) -> NDArray[np.intp]:
    """Where each of several lengths begins when they stand one after another, and where the last ends."""
    found = np.zeros(len(lengths) + 1, np.intp)
    np.cumsum(lengths, out=found[1:])
    return found


def versions_of(paths: dict[int, str]) -> dict[int, tuple[tuple[str, int, int], ...]]:
    """For each of some files its version folders: what they are versions of, number, and the newest number beside it.

    Args:
        paths: File → path, of files that lie in such folders.
    """
    folders = {
        file: [
            (path[: match.start()] + (match.group(1) or "").lower(), int(match.group(2) or match.group(3)))
            for match in VERSION_FOLDER.finditer(path)
        ]
        for file, path in paths.items()
    }
    newest: dict[str, int] = {}
    for of_file in folders.values():
        for name, number in of_file:
            newest[name] = max(newest.get(name, 0), number)
    return {
        file: tuple((name, number, newest[name]) for name, number in of_file)
        for file, of_file in folders.items()
        if of_file
    }
