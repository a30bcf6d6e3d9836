"""Chunks and files of a snapshot numbered through its segments, with the fields that a search asks for by number.

`Snapshot` answers from here; columns are joined when they are first asked for. A file is a document that has a chunk.
What was removed keeps its numbers.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.base.arrays import distinct, ranges, runs
from hybrid.index.backend import ChunkField, CosineFigures, DenseLeg, FileField, Leg, Outline
from hybrid.index.vectors import LEAST_LENGTH, products

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from hybrid.index.lexical import Okapi
    from hybrid.index.segment import Segment

_LENGTH_SHARE = 0.75
"""How much of a length counts in `text_norm` and `remark_norm`: the b of BM25, with the value of rank-bm25."""

_CHUNK_COLUMNS: dict[ChunkField, str] = {
    "file": "file_of_row",
    "text_norm": "_text_norm",
    "remark_norm": "_remark_norm",
}
_FILE_COLUMNS: dict[FileField, str] = {
    "first_row": "first_rows",
    "end_row": "_end_rows",
    "role": "roles",
    "text_norm": "_file_norm",
    "vector_length": "_vector_lengths",
    "stem_letters": "_stem_letters",
}


class SegmentPart(Struct, frozen=True):
    """A segment and where its chunks and documents begin in the snapshot."""

    segment: Segment
    first_row: int
    first_doc: int


class Columns:
    """Fulfils `hybrid.index.backend.FieldTable` for some segments."""

    def __init__(self, segments: Sequence[Segment]) -> None:
        parts: list[SegmentPart] = []
        row = doc = 0
        for segment in segments:
            parts.append(SegmentPart(segment, row, doc))
            row, doc = row + segment.n_chunks, doc + segment.n_documents
        self.parts = tuple(parts)
        """The segments in the order of their rows."""
        self.n_rows = row
        self.n_live = sum(segment.n_live for segment in segments)
        self._n_documents = doc

    @cached_property
    def _doc_of_row(self) -> NDArray[np.int32]:
        return self._joined(lambda part: part.segment.chunk_doc + np.int32(part.first_doc))

    @cached_property
    def first_rows(self) -> NDArray[np.intp]:
        """The first chunk of each file, shape (n_files,)."""
        return runs(self._doc_of_row)

    @cached_property
    def _end_rows(self) -> NDArray[np.intp]:
        return np.append(self.first_rows[1:], self.n_rows) if len(self.first_rows) else self.first_rows

    @property
    def n_files(self) -> int:
        """Documents that have a chunk, tombstoned ones too."""
        return len(self.first_rows)

    @property
    def n_live_files(self) -> int:
        """See `FieldTable.n_live_files`."""
        return int(np.count_nonzero(self.file_is_live))

    @cached_property
    def doc_of_file(self) -> NDArray[np.int32]:
        """The number of each file's document, counted through all segments, shape (n_files,)."""
        return self._doc_of_row[self.first_rows]

    @cached_property
    def file_of_doc(self) -> NDArray[np.int32]:
        """The number of each document's file; −1 for a document without chunks."""
        found = np.full(self._n_documents, -1, np.int32)
        found[self.doc_of_file] = np.arange(self.n_files, dtype=np.int32)
        return found

    @cached_property
    def file_of_row(self) -> NDArray[np.int32]:
        """The number of the file that each row belongs to, shape (n_rows,), ascending."""
        return self.file_of_doc[self._doc_of_row]

    @cached_property
    def is_live(self) -> NDArray[np.bool_] | None:
        """True for each chunk that can be found; None when all can."""
        if all(part.segment.is_live is None for part in self.parts):
            return None
        return self._joined(lambda part: part.segment.doc_is_live[part.segment.chunk_doc])

    @cached_property
    def file_is_live(self) -> NDArray[np.bool_]:
        """True for each file that can be found."""
        return self._of_docs(lambda segment: segment.doc_is_live)

    def of_rows(self, field: ChunkField, rows: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """See `FieldTable.of_rows`."""
        column: NDArray[Any] = getattr(self, _CHUNK_COLUMNS[field])
        return column[rows]

    def of_files(self, field: FileField, files: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """See `FieldTable.of_files`."""
        column: NDArray[Any] = getattr(self, _FILE_COLUMNS[field])
        return column[files]

    @cached_property
    def roles(self) -> NDArray[np.uint8]:
        """Bits of `hybrid.index.analysis.ROLES` of each file."""
        return self._of_docs(lambda segment: segment.arrays["doc_role"])

    @cached_property
    def _vector_lengths(self) -> NDArray[np.float32]:
        return self._of_docs(lambda segment: segment.arrays["doc_vector_length"])

    @cached_property
    def _stem_letters(self) -> NDArray[np.uint16]:
        return self._of_docs(lambda segment: segment.arrays["doc_stem_letters"])

    @cached_property
    def _text_norm(self) -> NDArray[np.float32]:
        lengths = self._of_rows("chunk_body_length")
        return _length_norm(lengths, self.mean_lengths[0])

    @cached_property
    def _remark_norm(self) -> NDArray[np.float32]:
        lengths = self._of_rows("chunk_remark_length")
        return _length_norm(lengths, self.mean_lengths[1])

    @cached_property
    def _file_norm(self) -> NDArray[np.float32]:
        lengths = self.sum_of_files(self._of_rows("chunk_body_length"))
        return _length_norm(lengths, self.mean_lengths[2])

    @cached_property
    def mean_lengths(self) -> tuple[float, float, float]:
        """Mean tokens of the text of a chunk, of the comments of a chunk, and of the text of a file; live ones only."""
        text, remarks = self._of_rows("chunk_body_length"), self._of_rows("chunk_remark_length")
        return (
            _mean(self.live(text)),
            _mean(self.live(remarks)),
            _mean(self.sum_of_files(text)[self.file_is_live]),
        )

    def path(self, file: int) -> str:
        """See `FieldTable.path`."""
        doc = int(self.doc_of_file[file])
        part = next(part for part in reversed(self.parts) if part.first_doc <= doc)
        return part.segment.text("doc_path", doc - part.first_doc)

    def cosines_of_files(self, cosines: NDArray[np.float32]) -> NDArray[np.float32]:
        """The cosine of a query to the mean vector of each file, worked out from its cosine to each chunk.

        The cosine to a mean vector is the sum of the cosines to its parts through the length of their sum.
        """
        lengths = np.maximum(self._vector_lengths, np.float32(LEAST_LENGTH))
        return np.divide(self.sum_of_files(cosines), lengths, dtype=np.float32)

    def cosines_to_files(
        self,
        files: NDArray[np.integer[Any]],
        query: NDArray[np.float32],
        cosines: Callable[[NDArray[np.integer[Any]]], NDArray[np.float32]],
    ) -> NDArray[np.float32]:
        """The same for some files; `cosines` gives the cosine to each of some rows, where no vector of a file is kept.

        A kept vector is int8: with it a cosine is off by less than 5e-3.
        """
        found = np.zeros(len(files), np.float32)
        docs, is_left = self.doc_of_file[files], np.ones(len(files), np.bool_)
        for part in self.parts:
            segment = part.segment
            if segment.has("doc_vector"):
                mine = ((part.first_doc <= docs) & (docs < part.first_doc + segment.n_documents)).nonzero()[0]
                kept, local = segment.arrays["doc_vector"], docs[mine] - part.first_doc
                found[mine] = products(kept, local, query) * segment.arrays["doc_vector_scale"][local]
                is_left[mine] = False
        left = is_left.nonzero()[0]
        if len(left):
            rows, counts = ranges(self.first_rows[files[left]], self._end_rows[files[left]])
            lengths = np.maximum(self._vector_lengths[files[left]], np.float32(LEAST_LENGTH))
            found[left] = np.add.reduceat(cosines(rows), np.cumsum(counts) - counts) / lengths
        return found

    def sum_of_files(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The sum over each file's chunks; values have the shape (n_rows,)."""
        return np.asarray(np.add.reduceat(values, self.first_rows) if self.n_files else values[:0], np.float32)

    def live(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The values of the chunks that can be found; values have the shape (n_rows,)."""
        return values if self.is_live is None else values[self.is_live]

    @property
    def mean_vector(self) -> NDArray[np.float32]:
        """See `FieldTable.mean_vector`."""
        return self._mean_vector

    @cached_property
    def _mean_vector(self) -> NDArray[np.float32]:
        total: NDArray[np.float32] = np.zeros(self.parts[0].segment.vector.shape[1] if self.parts else 0, np.float32)
        for part in self.parts:
            segment = part.segment
            total += segment.arrays["vector_sum"]
            if segment.is_live is not None:
                dead = (~segment.is_live).nonzero()[0]
                total -= segment.vector_scale[dead] @ segment.vector[dead].astype(np.float32)
        return np.divide(total, max(self.n_live, 1), dtype=np.float32)

    @cached_property
    def mean_file_vector(self) -> NDArray[np.float32]:
        """Mean over the files that can be found of the unit vectors of their sums, shape (dim,).

        Its product with a query is the mean of the query's cosines to the mean vectors of files.
        """
        total: NDArray[np.float32] = np.zeros(self.parts[0].segment.vector.shape[1] if self.parts else 0, np.float32)
        for part in self.parts:
            segment = part.segment
            is_summed = segment.has("vector_file_sum")
            if is_summed:
                total += segment.arrays["vector_file_sum"]
                taken = np.zeros(0, np.intp) if segment.is_live is None else (~segment.is_live).nonzero()[0]
            else:
                taken = np.arange(segment.n_chunks) if segment.is_live is None else segment.is_live.nonzero()[0]
            lengths = np.maximum(
                segment.arrays["doc_vector_length"][segment.chunk_doc[taken]], np.float32(LEAST_LENGTH)
            )
            more = (segment.vector_scale[taken] / lengths) @ segment.vector[taken].astype(np.float32)
            total += -more if is_summed else more
        return np.divide(total, max(self.n_live_files, 1), dtype=np.float32)

    def row_at(self, file: int, line: int) -> int | None:
        """See `FieldTable.row_at`."""
        part, local = self._rows_of(file)
        starts, ends = part.segment.arrays["chunk_start"][local], part.segment.arrays["chunk_end"][local]
        holding = ((starts <= line) & (line <= ends)).nonzero()[0]
        return part.first_row + local.start + int(holding[0]) if len(holding) else None

    def outline(self, file: int) -> Outline:
        """See `FieldTable.outline`."""
        part, local = self._rows_of(file)
        segment = part.segment
        chunks = segment.arrays["def_chunk"]
        low, high = chunks.searchsorted(np.array([local.start, local.stop], chunks.dtype)).tolist()
        held = low + segment.arrays["def_is_full"][low:high].nonzero()[0]
        starts, ends = segment.arrays["def_start"][held], segment.arrays["def_end"][held]
        held = held[np.lexsort((-ends, starts))]
        kinds = segment.texts("def_kinds")
        return Outline(
            first_row=part.first_row + local.start,
            chunk_starts=segment.arrays["chunk_start"][local],
            chunk_ends=segment.arrays["chunk_end"][local],
            starts=segment.arrays["def_start"][held],
            ends=segment.arrays["def_end"][held],
            kinds=list(map(kinds.__getitem__, segment.arrays["def_kind"][held].tolist())),
            name=lambda at: segment.text("def_name", int(held[at])),
            scope=lambda at: segment.text("def_scope", int(held[at])),
            digest=lambda at: segment.arrays["chunk_digest"][local.start + at].tobytes(),
        )

    def _rows_of(self, file: int) -> tuple[SegmentPart, slice]:
        """Return the segment of a file, and the range of the file's chunks in it."""
        first, end = int(self.first_rows[file]), int(self._end_rows[file])
        part = next(part for part in reversed(self.parts) if part.first_row <= first)
        return part, slice(first - part.first_row, end - part.first_row)

    def _of_rows(self, name: str) -> NDArray[np.float32]:
        return self._joined(lambda part: part.segment.arrays[name])

    def _of_docs(self, get: Callable[[Segment], NDArray[Any]]) -> NDArray[Any]:
        return self._joined(lambda part: get(part.segment))[self.doc_of_file]

    def _joined(self, get: Callable[[SegmentPart], NDArray[Any]]) -> NDArray[Any]:
        arrays = [get(part) for part in self.parts]
        return arrays[0] if len(arrays) == 1 else np.concatenate(arrays) if arrays else np.zeros(0, np.int32)


class ScannedLeg(DenseLeg):
    """A leg of which the score of every row was worked out: a scan knows all cosines, postings all bm25.

    Args:
        rows: The ranked rows, as in `Leg`.
        scores: Score of every row of the snapshot, shape (n_rows,); NaN for a row without one.
        columns: The columns of the snapshot.
    """

    def __init__(self, rows: NDArray[np.int64], scores: NDArray[np.float64], columns: Columns) -> None:
        top = float(np.fmax.reduce(scores)) if len(scores) else math.nan  # NaN only when all are.
        super().__init__(rows, scores[rows], None if math.isnan(top) else top)
        self._all = scores
        self._columns = columns

    def raw(self, row: int) -> float | None:
        """See `Leg.raw`."""
        score = float(self._all[row])
        return None if math.isnan(score) else score

    @cached_property
    def _cosines(self) -> NDArray[np.float32]:
        cosines = self._all.astype(np.float32)
        cosines[np.isnan(cosines)] = 0
        return cosines

    @cached_property
    def _file_cosines(self) -> NDArray[np.float32]:
        return self._columns.cosines_of_files(self._cosines)

    @cached_property
    def _chunk_figures(self) -> CosineFigures:
        return _cosine_figures(self._columns.live(self._cosines))

    @property
    def chunks(self) -> CosineFigures:
        """See `DenseLeg.chunks`."""
        return self._chunk_figures

    @property
    def files(self) -> CosineFigures:
        """See `DenseLeg.files`."""
        return _cosine_figures(self._file_cosines[self._columns.file_is_live])

    def cosines(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """See `DenseLeg.cosines`."""
        return self._cosines[rows]

    def largest(self, rows: NDArray[np.integer[Any]], starts: NDArray[np.intp]) -> NDArray[np.float32]:
        """See `DenseLeg.largest`."""
        return _largest(self._cosines[rows], starts)

    def of_files(self, files: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """See `DenseLeg.of_files`."""
        return self._file_cosines[files]


class WordLeg(Leg):
    """A lexical leg.

    Args:
        rows: The ranked rows, as in `Leg`.
        okapi: Gives the bm25 of every row.
    """

    def __init__(self, rows: NDArray[np.int64], okapi: Okapi) -> None:
        top = float(okapi.scores.max()) if len(okapi.scores) else None
        super().__init__(rows, okapi.scores[okapi.rows.searchsorted(rows)], top)
        self._okapi = okapi

    def raw(self, row: int) -> float | None:
        """See `Leg.raw`."""
        return self._okapi.score(row) or None

    def raws(self, first_row: int, end_row: int) -> NDArray[np.float64]:
        """See `Leg.raws`."""
        return self._okapi.scores_within(first_row, end_row)


class SiftedLeg(DenseLeg):
    """A leg of which only the cosines of likely rows were worked out; others are when they are asked for.

    The means are those over all chunks and files; the largest cosines are those among the nearest rows and their files.

    Args:
        rows: The ranked rows, as in `Leg`; all of them were compared.
        compared: The rows that the query was compared with, ascending.
        cosines: Of these, none missing.
        nearest: Those of them with the largest cosines, whatever the filter of the ranking.
        least: The least cosine of the rows that signs told; rows that were not compared lie below it.
        cosine_of: Gives the cosine of the query to each of some rows; NaN for a row without one.
        query: Unit vector, shape (dim,).
        columns: The columns of the snapshot.
    """

    def __init__(
        self,
        rows: NDArray[np.int64],
        *,
        compared: NDArray[np.int64],
        cosines: NDArray[np.float32],
        nearest: NDArray[np.int64],
        least: float,
        cosine_of: Callable[[NDArray[np.integer[Any]]], NDArray[np.float32]],
        query: NDArray[np.float32],
        columns: Columns,
    ) -> None:
        super().__init__(rows, cosines[compared.searchsorted(rows)].astype(np.float64), float(cosines.max()))
        self._is_compared = np.zeros(columns.n_rows, np.bool_)
        self._is_compared[compared] = True
        self._compared, self._cosines_of_compared = compared, cosines
        self._nearest = nearest
        self._least = least
        self._cosine_of = cosine_of
        self._query = query
        self._columns = columns

    def raw(self, row: int) -> float | None:
        """See `Leg.raw`."""
        cosine = float(self._raw(np.array([row]))[0])
        return None if math.isnan(cosine) else cosine

    def _raw(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """The cosine to each of some rows; NaN for one without."""
        found = np.empty(len(rows), np.float32)
        is_compared = self._is_compared[rows]
        found[is_compared] = self._of_compared(rows[is_compared])
        if not is_compared.all():
            found[~is_compared] = self._cosine_of(rows[~is_compared])
        return found

    def _of_compared(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        return self._cosines_of_compared[self._compared.searchsorted(rows)]

    @property
    def chunks(self) -> CosineFigures:
        """See `DenseLeg.chunks`."""
        return CosineFigures(float(self._columns.mean_vector @ self._query), max(self.top or 0.0, 0.0))

    @cached_property
    def _file_figures(self) -> CosineFigures:
        files = distinct(self._columns.file_of_row[self._nearest])
        largest = float(self.of_files(files).max(initial=0.0))
        return CosineFigures(float(self._columns.mean_file_vector @ self._query), largest)

    @property
    def files(self) -> CosineFigures:
        """See `DenseLeg.files`."""
        return self._file_figures

    def cosines(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """See `DenseLeg.cosines`."""
        return np.nan_to_num(self._raw(rows), nan=0.0)

    def largest(self, rows: NDArray[np.integer[Any]], starts: NDArray[np.intp]) -> NDArray[np.float32]:
        """See `DenseLeg.largest`; of a file that has rows among those compared, its largest is taken to be there.

        Of a file without one it is the least of the rows that signs told.
        """
        if not len(starts):
            return np.zeros(0, np.float32)
        is_compared = self._is_compared[rows]
        found = np.full(len(rows), -1, np.float32)
        found[is_compared] = self._of_compared(rows[is_compared])
        largest = _largest(found, starts)
        largest[~np.logical_or.reduceat(is_compared, starts)] = self._least
        return largest

    def of_files(self, files: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """See `DenseLeg.of_files`."""
        return self._columns.cosines_to_files(files, self._query, self.cosines)


def _largest(values: NDArray[np.float32], starts: NDArray[np.intp]) -> NDArray[np.float32]:
    """Return the largest value of each run."""
    return np.maximum.reduceat(values, starts) if len(starts) else values[:0]


def _cosine_figures(values: NDArray[np.float32]) -> CosineFigures:
    return CosineFigures(_mean(values), float(values.max()) if len(values) else 0.0)


def _mean(values: NDArray[np.float32]) -> float:
    return float(np.float32(values.sum() / len(values))) if len(values) else 0.0  # As `mean`, five times faster.


def _length_norm(lengths: NDArray[np.float32], mean: float) -> NDArray[np.float32]:
    """Return 1 − b + b · length / mean length for each length, b being `_LENGTH_SHARE`."""
    return (1 - _LENGTH_SHARE + _LENGTH_SHARE * lengths / max(mean, 1e-9)).astype(np.float32)
