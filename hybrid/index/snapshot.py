"""An immutable view of one generation of an index: opened in milliseconds, searched by both legs, never changed."""

from __future__ import annotations

import fnmatch
import re
from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.base.arrays import largest
from hybrid.base.errors import IndexCorruptError, IndexMismatchError
from hybrid.base.text import sha256_hex
from hybrid.index.backend import EVERYTHING, BackendFigures, Filter
from hybrid.index.columns import Columns, ScannedLeg, SiftedLeg, WordLeg
from hybrid.index.lexical import Okapi, Weighing
from hybrid.index.lookup import SegmentGate, SegmentNames, SegmentTerms
from hybrid.index.manifest import FORMAT_VERSION, Manifest, SegmentEntry, read_manifest
from hybrid.index.segment import Segment
from hybrid.index.vectors import NO_VECTOR, can_sift, cosines, products, scan, sift
from hybrid.records.types import HIT_KINDS
from hybrid.types import Hit

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.index.backend import DenseLeg, Leg
    from hybrid.index.vectors import Scan

_GLOB_MARKS = re.compile(r"[*?\[]")
_OPEN_ATTEMPTS = 3
"""Times that opening is tried, since a build may replace the generation meanwhile; a second try nearly always works."""
_NAMES_SHOWN = 3
N_COMPARED = 4_000
"""The value of `search.compared`."""


def open_snapshot(
    folder: Path, *, model: str | None, k1: float = 1.5, b: float = 0.75, n_compared: int = N_COMPARED
) -> Snapshot:
    """Open the current generation of a tree's folder.

    Args:
        folder: The folder with the manifest and the segments.
        model: Key of the embedder that queries will be embedded with; None when none will be, for any model.
        k1: Okapi's term saturation.
        b: Okapi's length normalisation.
        n_compared: Chunks of a large segment that a query is compared with at least, see `dense.sift`; 0 for all.

    Raises:
        IndexMissingError: Nothing was built yet.
        IndexMismatchError: Built by another format or model.
        IndexCorruptError: Files are damaged.
    """
    for attempt in range(_OPEN_ATTEMPTS):
        manifest = read_manifest(folder)
        if manifest.format_version != FORMAT_VERSION:
            raise IndexMismatchError(
                f"the index has format {manifest.format_version}, not {FORMAT_VERSION}: run `hybrid reindex`"
            )
        if model not in (None, manifest.model):
            raise IndexMismatchError(f"the index was built with {manifest.model}, not {model}: run `hybrid reindex`")
        try:
            segments = [open_segment(folder, entry) for entry in manifest.segments]
        except FileNotFoundError as error:
            # A build replaced the generation between the two reads: the new manifest names the new files.
            if attempt + 1 < _OPEN_ATTEMPTS:
                continue
            raise IndexCorruptError(f"{error.filename} is missing: run `hybrid reindex`") from error
        except (OSError, ValueError, IndexError) as error:
            raise IndexCorruptError(f"the index is damaged ({error}): run `hybrid reindex`") from error
        return Snapshot(manifest, segments, k1=k1, b=b, n_compared=n_compared)
    raise AssertionError("unreachable")


def open_segment(folder: Path, entry: SegmentEntry) -> Segment:
    """Open one segment file; its digest is checked when its time is not the one at which it was written.

    Raises:
        ValueError: The file is not the one that was written, or not a segment.
        OSError: It is gone or unreadable.
    """
    path = folder / entry.file
    stat = path.stat()
    if stat.st_size != entry.size_bytes:
        raise ValueError(f"{path} has {stat.st_size} bytes instead of {entry.size_bytes}")
    if stat.st_mtime_ns != entry.mtime_ns and sha256_hex(path.read_bytes()) != entry.sha256:
        raise ValueError(f"{path} is not what was written")
    return Segment(path, entry.dead_documents)


class Snapshot:
    """One open generation of an index, a `SearchBackend`; rows are numbered through its segments."""

    def __init__(
        self,
        manifest: Manifest,
        segments: Sequence[Segment],
        *,
        k1: float = 1.5,
        b: float = 0.75,
        n_compared: int = N_COMPARED,
    ) -> None:
        self.manifest = manifest
        self.generation, self.dim = manifest.generation, manifest.dim
        self.segments = tuple(segments)
        self._k1 = k1
        self._b = b
        self._n_compared = n_compared
        self.fields = Columns(self.segments)
        self._starts = [*(part.first_row for part in self.fields.parts), self.fields.n_rows]
        self.terms = SegmentTerms(self.fields)
        self.names = SegmentNames(self.fields)
        self.background = SegmentGate(manifest.background, self.fields.parts)

    @property
    def n_rows(self) -> int:
        """Number of rows, tombstoned ones too."""
        return self.fields.n_rows

    @property
    def n_chunks(self) -> int:
        """Number of chunks that can be found."""
        return self.fields.n_live

    @cached_property
    def _weighing(self) -> Weighing:
        mean = sum(segment.live_length for segment in self.segments) / max(self.n_chunks, 1)
        return Weighing(self.n_chunks, mean, lambda term: self.terms.n_holding((term,)), self._k1, self._b)

    def dense(self, query: NDArray[np.float32], depth: int, only: Filter = EVERYTHING) -> DenseLeg:
        """See `SearchBackend.dense`; a query of zeros ranks nothing."""
        return self.dense_with_pieces(query, query[np.newaxis, :][:0], depth, only)[0]

    def dense_with_pieces(
        self, query: NDArray[np.float32], pieces: NDArray[np.float32], depth: int, only: Filter = EVERYTHING
    ) -> tuple[DenseLeg, NDArray[np.float32]]:
        """See `SearchBackend.dense_with_pieces`."""
        if not self.segments or not (query.any() or pieces.any()):
            return self._nothing(), _closest([], pieces)
        allowed = None if only == EVERYTHING else self.mask(only)
        scans = self._scans(query, pieces, depth, allowed)
        closest = _closest(scans, pieces)
        if not query.any():
            return self._nothing(), closest
        scores = np.concatenate([one.cosines for one in scans], dtype=np.float64)
        if any(one.compared is not None for one in scans):
            return self._sifted(query, scans, scores, depth, allowed), closest
        is_missing = scores == NO_VECTOR
        rows = None
        if is_missing.any():
            scores[is_missing] = np.nan
            rows = (~is_missing).nonzero()[0]
        ranked = self._best(rows, scores if rows is None else scores[rows], depth, allowed)
        return self._scanned(query, ranked, scores), closest

    def _scanned(self, query: NDArray[np.float32], rows: NDArray[np.int64], scores: NDArray[np.float64]) -> DenseLeg:
        """Return the leg of a query that was compared with every row."""
        return ScannedLeg(rows, scores, self.fields)

    def _scans(
        self,
        query: NDArray[np.float32],
        pieces: NDArray[np.float32],
        depth: int,
        allowed: NDArray[np.bool_] | None,
    ) -> list[Scan]:
        """Compare query and pieces with the chunks of each segment: with all of them, or those that signs tell."""
        large = [n for n, segment in enumerate(self.segments) if self._n_compared and can_sift(segment)]
        masks = None if allowed is None else [allowed[self._starts[n] : self._starts[n + 1]] for n in large]
        segments = [self.segments[n] for n in large]
        sifted = iter(sift(segments, query, pieces, max(self._n_compared, depth), masks) if large else ())
        return [next(sifted) if n in large else scan(one, query, pieces) for n, one in enumerate(self.segments)]

    def _sifted(
        self,
        query: NDArray[np.float32],
        scans: Sequence[Scan],
        scores: NDArray[np.float64],
        depth: int,
        allowed: NDArray[np.bool_] | None,
    ) -> DenseLeg:
        """Return the leg of scans that did not compare all rows, with the cosines of those that they did."""
        every = [
            start + (np.arange(segment.n_chunks) if one.compared is None else one.compared)
            for segment, start, one in zip(self.segments, self._starts, scans, strict=False)
        ]
        has_vector = scores != NO_VECTOR
        rows, scores = np.concatenate(every)[has_vector], scores[has_vector]
        if not len(rows):
            return self._nothing()
        # Where all rows are compared none is left out: what was left out lies below the rows that signs told.
        told = [one.cosines[one.cosines != NO_VECTOR] for one in scans if one.compared is not None]
        return SiftedLeg(
            self._best(rows, scores, depth, allowed),
            compared=rows,
            cosines=scores.astype(np.float32),
            nearest=rows[largest(scores, depth)],
            least=min((float(some.min()) for some in told if len(some)), default=0.0),
            cosine_of=lambda some: self._cosines(query, some),
            query=query,
            columns=self.fields,
        )

    def _cosines(self, query: NDArray[np.float32], rows: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """The cosine of a query to each of some rows; NaN for one without a vector or that cannot be found."""
        found = np.full(len(rows), np.nan, np.float32)
        for segment, mine, local in self._segments_of(rows):
            of_rows = cosines(segment, query, local)
            has_vector = of_rows != NO_VECTOR
            is_there = has_vector if segment.is_live is None else has_vector & segment.is_live[local]
            found[mine[is_there]] = of_rows[is_there]
        return found

    def _nothing(self) -> ScannedLeg:
        return ScannedLeg(np.zeros(0, np.int64), np.full(self.n_rows, np.nan), self.fields)

    def lexical(self, tokens: Sequence[str], depth: int, only: Filter = EVERYTHING) -> Leg:
        """See `SearchBackend.lexical`."""
        if not self.segments or not tokens:
            return self._nothing()
        allowed = None if only == EVERYTHING else self.mask(only)
        okapi = Okapi(self.segments, tokens, self._weighing, depth if allowed is None else self.n_rows)
        return WordLeg(self._best(okapi.rows, okapi.scores, depth, allowed), okapi)

    def get(self, row: int) -> Hit:
        """See `SearchBackend.get`."""
        segment, local = self._locate(row)
        arrays, text, doc = segment.arrays, segment.strings, segment.chunk_doc.item(local)
        return Hit(
            row=row,
            kind=HIT_KINDS[int(arrays["doc_kind"][doc])],
            path=text("doc_path")[doc],
            start_line=arrays["chunk_start"].item(local),
            end_line=arrays["chunk_end"].item(local),
            name=text("chunk_name")[local] or _names(segment, local),
            chunk_kind=text("chunk_kind")[local],
            scope=text("chunk_scope")[local],
            signature=text("chunk_signature")[local],
            language=text("language")[arrays["doc_language"].item(doc)],
            digest=arrays["chunk_digest"][local].tobytes(),
        )

    def vectors(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """See `SearchBackend.vectors`."""
        found = np.zeros((len(rows), self.manifest.dim), np.float32)
        for segment, mine, local in self._segments_of(rows):
            found[mine] = segment.vector[local] * segment.vector_scale[local, np.newaxis]
        return found

    def products(self, vector: NDArray[np.float32], rows: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """See `SearchBackend.products`."""
        found = np.zeros(len(rows), np.float32)
        for segment, mine, local in self._segments_of(rows):
            found[mine] = products(segment.vector, local, vector) * segment.vector_scale[local]
        return found

    def allows(self, only: Filter, rows: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """See `SearchBackend.allows`."""
        is_live = self.fields.is_live
        found = np.ones(len(rows), np.bool_) if is_live is None else is_live[rows]
        return found if only == EVERYTHING else found & self.mask(only)[rows]

    def live_terms(self) -> Iterator[tuple[int, dict[str, int]]]:
        """See `SearchBackend.live_terms`; one pass over the postings."""
        terms = (of_chunk for segment in self.segments for of_chunk in segment.terms_of_chunks())
        yield from zip(self.live_rows(), terms, strict=True)

    def live_rows(self) -> Iterator[int]:
        """Rows that can be found, ascending."""
        is_live = self.fields.is_live
        yield from range(self.n_rows) if is_live is None else is_live.nonzero()[0].tolist()

    def live_documents(self) -> dict[str, int]:
        """See `SearchBackend.live_documents`."""
        return {
            path: int(content)
            for segment in self.segments
            for path, content, is_live in zip(segment.paths, segment.doc_content, segment.doc_is_live, strict=True)
            if is_live
        }

    def figures(self) -> BackendFigures:
        """See `SearchBackend.figures`."""
        cut = missing = 0
        for segment in self.segments:
            live = np.ones(segment.n_chunks, np.bool_) if segment.is_live is None else segment.is_live
            cut += int(segment.arrays["chunk_is_cut"][live].sum())
            missing += int((segment.vector_scale[live] == 0).sum())
        size_bytes = sum(entry.size_bytes for entry in self.manifest.segments)
        return BackendFigures(size_bytes, len(self.segments), cut, missing)

    def _locate(self, row: int) -> tuple[Segment, int]:
        """The segment that holds a row, and the number of the row in it."""
        number = bisect_right(self._starts, row) - 1
        return self.segments[number], row - self._starts[number]

    def _segments_of(
        self, rows: NDArray[np.integer[Any]]
    ) -> Iterator[tuple[Segment, NDArray[np.intp], NDArray[np.integer[Any]]]]:
        """Yield each segment that holds some of the rows, with their places among them and their numbers in it."""
        numbers = np.array(self._starts).searchsorted(rows, side="right") - 1
        for number, segment in enumerate(self.segments):
            mine = (numbers == number).nonzero()[0]
            if len(mine):
                yield segment, mine, rows[mine] - self._starts[number]

    def _best(
        self,
        rows: NDArray[np.int64] | None,
        values: NDArray[np.float64],
        depth: int,
        allowed: NDArray[np.bool_] | None,
    ) -> NDArray[np.int64]:
        """The best `depth` rows by score; equal scores by digest, then path and line.

        Args:
            rows: The rows that have a score, ascending; None when all have one.
            values: Score of each of these.
            depth: Number of rows to return at most.
            allowed: For each row of the snapshot, whether it may be returned; None when all may.
        """
        if allowed is not None:
            kept = allowed if rows is None else allowed[rows]
            rows, values = kept.nonzero()[0] if rows is None else rows[kept], values[kept]
        if len(values) > depth:
            rows, values = self._cut(rows, values, depth)
        elif rows is None:
            rows = np.arange(len(values))
        order = (-values).argsort(kind="stable")
        rows, values = rows[order], values[order]
        is_equal = values[1:] == values[:-1]
        if not is_equal.any():
            return rows[:depth]
        tied = _in_pairs(is_equal)
        digests, scores = self._digests[rows[tied]], values[tied]
        order = np.lexsort((digests[:, 1], digests[:, 0], -scores))
        rows[tied], digests = rows[tied[order]], digests[order]
        is_copy = (scores[1:] == scores[:-1]) & (digests[1:] == digests[:-1]).all(axis=1)
        if is_copy.any():
            copies = tied[_in_pairs(is_copy)]
            numbers = rows[copies].tolist()
            keys = {
                row: (-score, self.tie_key(row)) for row, score in zip(numbers, values[copies].tolist(), strict=True)
            }
            rows[copies] = sorted(numbers, key=lambda row: keys[row])
        return rows[:depth]

    def _cut(
        self, rows: NDArray[np.int64] | None, values: NDArray[np.float64], depth: int
    ) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """The rows that may be among the best `depth`: a few more than that when scores and digests are equal.

        Thousands of rows can share the score at the cut (copies, boilerplate), so they are told apart by digest here.
        """
        places = largest(values, depth)
        rows, values = places if rows is None else rows[places], values[places]
        if len(rows) == depth:
            return rows, values
        is_last = values == values.min()
        above, at_limit = (~is_last).nonzero()[0], is_last.nonzero()[0]
        n_wanted = depth - len(above)
        if len(at_limit) > n_wanted:
            digests = self._digests[rows[at_limit]]
            last = digests[np.lexsort((digests[:, 1], digests[:, 0]))[n_wanted - 1]]
            is_before = digests[:, 0] < last[0]
            is_before |= (digests[:, 0] == last[0]) & (digests[:, 1] <= last[1])
            at_limit = at_limit[is_before]
        kept = np.concatenate([above, at_limit])
        return rows[kept], values[kept]

    @cached_property
    def _digests(self) -> NDArray[np.uint64]:
        """Digest of each row as two numbers that order as its bytes do, shape (n_rows, 2)."""
        found = [segment.arrays["chunk_digest"].view(">u8") for segment in self.segments]
        return found[0] if len(found) == 1 else np.concatenate(found) if found else np.zeros((0, 2), ">u8")

    def tie_key(self, row: int) -> tuple[bytes, str, int]:
        """See `SearchBackend.tie_key`."""
        segment, local = self._locate(row)
        path = segment.text("doc_path", int(segment.chunk_doc[local]))
        return segment.arrays["chunk_digest"][local].tobytes(), path, int(segment.arrays["chunk_start"][local])

    def mask(self, only: Filter) -> NDArray[np.bool_]:
        """Return for each row whether the filter keeps it."""
        if not self.segments:
            return np.zeros(0, np.bool_)
        return np.concatenate([_segment_mask(segment, only) for segment in self.segments])


def _closest(scans: Sequence[Scan], pieces: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the largest cosine of each piece; NaN for one without a vector, or when nothing can be compared."""
    best = np.full(len(pieces), NO_VECTOR, np.float32)
    for one in scans:
        np.maximum(best, one.best, out=best)
    best[(best == NO_VECTOR) | ~pieces.any(axis=1)] = np.nan
    return best


def _in_pairs(is_pair: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the places that are in a pair, given for each place but the last whether it and the next are one."""
    found = np.zeros(len(is_pair) + 1, np.bool_)
    found[:-1] = is_pair
    found[1:] |= is_pair
    return found.nonzero()[0]


def _names(segment: Segment, row: int) -> str:
    """Return a name for a chunk of several small definitions: the first three of their names, and `…` for more."""
    span = segment.definition_span(row)
    is_told = (segment.arrays["def_depth"][span] == 0) | (segment.arrays["def_is_value"][span] == 0)
    told = (segment.text("def_name", number) for number in (span.start + is_told.nonzero()[0]).tolist())
    names = list(dict.fromkeys(told))
    return ", ".join([*names[:_NAMES_SHOWN], "…"] if len(names) > _NAMES_SHOWN else names)


def _segment_mask(segment: Segment, only: Filter) -> NDArray[np.bool_]:
    keep = np.ones(segment.n_documents, np.bool_)
    if only.kinds:
        keep &= np.isin(segment.arrays["doc_kind"], [i for i, kind in enumerate(HIT_KINDS) if kind in only.kinds])
    if only.documents is not None:
        documents = only.documents
        keep &= np.fromiter((path in documents for path in segment.paths), np.bool_, segment.n_documents)
    if only.path.startswith("*/") and not _GLOB_MARKS.search(only.path, 1):
        keep &= _ends_with(segment, only.path[1:].encode("utf-8", "surrogatepass"))
    elif only.path:
        matches = _path_matcher(only.path)
        keep &= np.fromiter((bool(matches.match(path)) for path in segment.paths), np.bool_, segment.n_documents)
    return keep[segment.chunk_doc]


def _ends_with(segment: Segment, ending: bytes) -> NDArray[np.bool_]:
    """Return for each document whether its path ends in these bytes, without making a string of each path."""
    text, starts = segment.arrays["doc_path_text"], segment.arrays["doc_path_at"].astype(np.int64)
    ends, lengths = starts[1:], np.diff(starts)
    found = lengths >= len(ending)
    at = ends[found, np.newaxis] + np.arange(-len(ending), 0)
    found[found] = (text[at] == np.frombuffer(ending, np.uint8)).all(axis=1)
    return found


def _path_matcher(glob: str) -> re.Pattern[str]:
    """Return a pattern of the paths that a glob matches, or that are this file or lie below this folder.

    `app/[id]` is a folder of that name as well as a glob; an empty path, or `.`, matches everything.
    """
    glob = glob.removeprefix("./").rstrip("/")
    if glob in ("", "."):
        return re.compile("")
    literal = rf"{re.escape(glob)}(?:/(?s:.*))?\Z"
    return re.compile(f"(?:{literal})|(?:{fnmatch.translate(glob)})")
