"""A view of the team's index and the overlay for one query: the candidates' files, with the figures of everything.

The candidates become one segment in memory, before the segments of the overlay. So search, ranking and gate work as on
any snapshot, and only what no candidate can tell is asked of the generation's figures: how many chunks and files hold
a term, mean lengths and vectors, and how near the background comes. Those of generation and overlay are added up; of
the background's largest values the larger one counts. Files that the overlay replaces are counted twice.
"""

from __future__ import annotations

import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec.structs import replace

from hybrid.base.arrays import encode_arrays, parse_arrays
from hybrid.base.errors import IndexCorruptError
from hybrid.index.backend import BackgroundFigures, CosineFigures
from hybrid.index.columns import Columns, ScannedLeg
from hybrid.index.drafting import SegmentDocument, encode_segment
from hybrid.index.lexical import Weighing
from hybrid.index.lookup import SegmentGate, SegmentNames, SegmentTerms
from hybrid.index.segment import Segment
from hybrid.index.snapshot import Snapshot
from hybrid.index.vectors import StoredVectors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hybrid.index.backend import DenseLeg
    from hybrid.team.base import BaseFigures
    from hybrid.team.store import StoredFile


def segment_of(files: Sequence[StoredFile], dim: int) -> Segment:
    """Return files as a segment in memory; each path once.

    Raises:
        IndexCorruptError: What they hold together has no room in one, which no single file tells.
    """
    ordered = sorted(files, key=lambda file: file.path)
    documents = [SegmentDocument(file.path, 0, file.kind, file.language, file.records) for file in ordered]
    vectors = [file.vectors(dim) for file in ordered]
    nothing = StoredVectors(np.zeros((0, dim), np.int8), np.zeros(0, np.float32), np.zeros(0, np.bool_))
    together = StoredVectors(
        np.concatenate([nothing.data, *(one.data for one in vectors)]),
        np.concatenate([nothing.scale, *(one.scale for one in vectors)]),
        np.concatenate([nothing.is_cut, *(one.is_cut for one in vectors)]),
    )
    try:
        arrays = encode_arrays(encode_segment(documents, together))
    except (OverflowError, ValueError) as error:
        raise IndexCorruptError(f"the team's index holds files that cannot be ({error}): push it again") from error
    return Segment(parse_arrays(arrays, "the candidates of a query"))


class JoinedSnapshot(Snapshot):
    """Candidates of the team's index and an overlay, as one snapshot.

    Args:
        files: The candidates, none at a path that the overlay holds.
        overlay: The index of what differs in the working tree.
        base: The figures of the generation that the candidates are of.
        k1: Okapi's term saturation.
        b: Okapi's length normalisation.
    """

    def __init__(
        self, files: Sequence[StoredFile], overlay: Snapshot, base: BaseFigures, *, k1: float = 1.5, b: float = 0.75
    ) -> None:
        own = [segment_of(files, overlay.dim)] if files else []
        manifest = overlay.manifest
        if overlay.background.key != base.background_key:
            manifest = replace(manifest, background="")  # Without figures of both there are no bars.
        super().__init__(manifest, [*own, *overlay.segments], k1=k1, b=b, n_compared=0)
        self._overlay = overlay
        self._base = base
        self.fields = _Columns(self.segments, overlay, base)
        self.terms = _Terms(self.fields, overlay, base)
        self.names = _Names(self.fields, base)
        self.background = _Gate(manifest.background, overlay, base)

    @cached_property
    def _weighing(self) -> Weighing:
        length = self._base.lengths[0] + sum(segment.live_length for segment in self._overlay.segments)
        return Weighing(self.n_chunks, length / max(self.n_chunks, 1), self.terms.document_frequency, self._k1, self._b)

    def _scanned(self, query: NDArray[np.float32], rows: NDArray[np.int64], scores: NDArray[np.float64]) -> DenseLeg:
        return _Leg(rows, scores, self.fields, query)


class _Columns(Columns):
    """The fields of the rows that are there, with counts and means of everything."""

    def __init__(self, segments: Sequence[Segment], overlay: Snapshot, base: BaseFigures) -> None:
        super().__init__(segments)
        self._overlay = overlay.fields
        self._base = base
        self.n_live = base.n_chunks + overlay.n_chunks

    @property
    def n_live_files(self) -> int:
        return self._base.n_files + self._overlay.n_live_files

    @cached_property
    def mean_lengths(self) -> tuple[float, float, float]:
        text, remarks, of_file = self._overlay.mean_lengths
        n_chunks, n_files = self._overlay.n_live, self._overlay.n_live_files
        _, base_text, base_remarks = self._base.lengths
        return (
            (base_text + text * n_chunks) / max(self.n_live, 1),
            (base_remarks + remarks * n_chunks) / max(self.n_live, 1),
            (base_text + of_file * n_files) / max(self.n_live_files, 1),
        )

    @property
    def mean_vector(self) -> NDArray[np.float32]:
        return self._means[0]

    @cached_property
    def mean_file_vector(self) -> NDArray[np.float32]:
        return self._means[1]

    @cached_property
    def _means(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        base, overlay = self._base, self._overlay
        if not overlay.n_live:
            return base.mean_vector, base.mean_file_vector
        chunks = base.mean_vector * base.n_chunks + overlay.mean_vector * overlay.n_live
        files = base.mean_file_vector * base.n_files + overlay.mean_file_vector * overlay.n_live_files
        return (
            np.divide(chunks, max(self.n_live, 1), dtype=np.float32),
            np.divide(files, max(self.n_live_files, 1), dtype=np.float32),
        )


class _Leg(ScannedLeg):
    """A leg whose mean cosines are those of everything, and whose largest are those of the rows that are there."""

    def __init__(
        self, rows: NDArray[np.int64], scores: NDArray[np.float64], columns: Columns, query: NDArray[np.float32]
    ) -> None:
        super().__init__(rows, scores, columns)
        self._query = query
        self._of = columns

    @property
    def chunks(self) -> CosineFigures:
        return CosineFigures(float(self._of.mean_vector @ self._query), max(self.top or 0.0, 0.0))

    @property
    def files(self) -> CosineFigures:
        return CosineFigures(float(self._of.mean_file_vector @ self._query), super().files.largest)


class _Terms(SegmentTerms):
    """The postings of the rows that are there, with frequencies of everything."""

    def __init__(self, columns: Columns, overlay: Snapshot, base: BaseFigures) -> None:
        super().__init__(columns)
        self._overlay = overlay.terms
        self._base = base

    def document_frequency(self, term: str) -> int:
        return int(self._base.counts(term)[0]) + self._overlay.n_holding((term,))

    def n_holding(self, terms: Sequence[str]) -> int:
        """See `TermIndex.n_holding`; how many hold two of them is judged by the rows that are there."""
        counts = [int(self._base.counts(term)[0]) for term in terms]
        n_chunks = max(counts, default=0)
        if n_chunks < sum(counts):
            n_seen = sum(super(_Terms, self).n_holding((term,)) for term in terms)
            share = super().n_holding(terms) / n_seen if n_seen else 1.0
            n_chunks = max(n_chunks, min(round(sum(counts) * share), self._base.n_chunks))
        return n_chunks + self._overlay.n_holding(terms)

    def file_frequency(self, term: str) -> int:
        return int(self._base.counts(term)[1]) + self._overlay.file_frequency(term)

    def naming_frequency(self, term: str) -> int:
        return int(self._base.counts(term)[2]) + self._overlay.naming_frequency(term)

    def remark_frequency(self, term: str) -> int:
        return int(self._base.counts(term)[3]) + self._overlay.remark_frequency(term)

    def beginning_with(self, prefix: str, longest: int) -> list[str]:
        found = [*self._base.terms.beginning_with(prefix, longest), *self._overlay.beginning_with(prefix, longest)]
        return list(dict.fromkeys(found))

    def is_held(self, term: str) -> bool:
        return bool(self._base.counts(term)[0]) or self._overlay.is_held(term)


class _Names(SegmentNames):
    """The names of the rows that are there, with the words of all file names."""

    def __init__(self, columns: Columns, base: BaseFigures) -> None:
        super().__init__(columns)
        self._base = base

    def stems(self, prefix: str) -> Sequence[str]:
        return list(dict.fromkeys([*self._base.stems.beginning_with(prefix, sys.maxsize), *super().stems(prefix)]))


class _Gate(SegmentGate):
    """The figures of generation and overlay; a collection of files is not judged record by record."""

    def __init__(self, key: str, overlay: Snapshot, base: BaseFigures) -> None:
        super().__init__(key, overlay.fields.parts)
        self._base = base

    @property
    def has_records(self) -> bool:
        return False

    def figures(self) -> BackgroundFigures:
        """See `GateFigures.figures`."""
        own = super().figures()
        base = self._base
        frequencies = base.background("background_df")
        n_rows = base.background("background_rows")
        return BackgroundFigures(
            n_rows=own.n_rows + (int(n_rows[0]) if n_rows is not None else base.n_chunks),
            top=_larger(own.top, base.background("background_top")),
            frequencies=own.frequencies if frequencies is None else own.frequencies + frequencies,
            together=_larger(own.together, base.background("background_together")),
            records=None,
        )


def _larger(one: NDArray[Any] | None, other: NDArray[Any] | None) -> NDArray[Any] | None:
    if one is None or other is None:
        return other if one is None else one
    return np.maximum(one, other)
