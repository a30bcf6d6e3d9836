"""Figures of a whole generation, which who searches candidates cannot count: made with a push, read from a local file.

They say how many chunks and files hold a term, how long texts are, where their vectors lie on average, and how near the
background's prompts come. `joined` adds those of the overlay to them.
"""

from __future__ import annotations

import sys
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.base.arrays import Strings, encode_arrays, string_table
from hybrid.base.memo import Memo
from hybrid.index.analysis import NAME_FIELDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hybrid.base.arrays import Arrays
    from hybrid.index.segment import Segment
    from hybrid.index.snapshot import Snapshot

COUNTED = ("chunks", "files", "names", "remarks")
"""What is counted for each term: chunks that hold it, files, files that define a name with it, chunks in comments."""
_NAMED = [NAME_FIELDS.index("name"), NAME_FIELDS.index("value")]


def figures_of(snapshot: Snapshot) -> bytes:
    """Return the figures of an index as the bytes of a file of arrays; only what can be found counts."""
    segments, fields = snapshot.segments, snapshot.fields
    terms = sorted({term for segment in segments for term in segment.texts("term")})
    place = {term: number for number, term in enumerate(terms)}
    counts = np.zeros((len(COUNTED), len(terms)), np.uint32)
    for segment in segments:
        places = np.array([place[term] for term in segment.texts("term")], np.intp)
        counts[:, places] += term_counts(segment)
    joined = (_joined(segments, name) for name in ("chunk_length", "chunk_body_length", "chunk_remark_length"))
    lengths = [float(fields.live(part).sum(dtype=np.float64)) for part in joined]
    stems = sorted({word for segment in segments for word in segment.texts("stem_word")})
    arrays: dict[str, NDArray[Any]] = {
        **string_table("term", terms),
        "term_counts": counts,
        **string_table("stem_word", stems),
        "n_chunks_files": np.array([snapshot.n_chunks, fields.n_live_files], np.int64),
        "lengths": np.array(lengths, np.float64),
        "mean_vector": fields.mean_vector,
        "mean_file_vector": fields.mean_file_vector,
    }
    key = snapshot.background.key
    if key:
        found = snapshot.background.figures()
        arrays["background_df"] = np.atleast_1d(found.frequencies)
        arrays["background_rows"] = np.array([found.n_rows], np.int64)
        for name, values in (("background_top", found.top), ("background_together", found.together)):
            if values is not None:
                arrays[name] = values
    return encode_arrays(arrays, {"background": key, "model": snapshot.manifest.model})


def _joined(segments: Sequence[Segment], name: str) -> NDArray[np.float32]:
    parts = [segment.array(name) for segment in segments]
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def term_counts(segment: Segment) -> NDArray[np.uint32]:
    """Return how much of a segment that can be found holds each of its terms, shape (len(COUNTED), n_terms)."""
    n_terms, live = len(segment.term_start) - 1, segment.is_live
    term = np.repeat(np.arange(n_terms), np.diff(segment.term_start.astype(np.int64)))
    rows = segment.post_row
    keep = slice(None) if live is None else live[rows]
    named = segment.array("field_post")[(segment.array("field_tf")[_NAMED] > 0).any(axis=0)]
    named = named if live is None else named[live[rows[named]]]
    remark_rows = segment.array("remark_row")
    of_remark = np.repeat(np.arange(n_terms), np.diff(segment.array("remark_start").astype(np.int64)))
    kept_remarks = slice(None) if live is None else live[remark_rows]
    docs = segment.chunk_doc
    found = (
        np.bincount(term[keep], minlength=n_terms),
        _in_files(term[keep], docs[rows[keep]], n_terms),
        _in_files(term[named], docs[rows[named]], n_terms),
        np.bincount(of_remark[kept_remarks], minlength=n_terms),
    )
    return np.stack(found).astype(np.uint32)


def _in_files(term: NDArray[Any], doc: NDArray[Any], n_terms: int) -> NDArray[np.intp]:
    """Return the number of files of each term; both are ascending, the files within a term."""
    if not len(term):
        return np.zeros(n_terms, np.intp)
    is_new = np.append(True, (term[1:] != term[:-1]) | (doc[1:] != doc[:-1]))
    return np.bincount(term[is_new], minlength=n_terms)


class BaseFigures:
    """The figures of a generation, open for reading.

    Raises on opening:
        ValueError: Arrays are missing, or do not fit each other.
    """

    def __init__(self, arrays: Arrays) -> None:
        try:
            self._table = _table(arrays, "term")
            self._stems = _table(arrays, "stem_word")
            self._counts: NDArray[np.uint32] = arrays["term_counts"]
            self.n_chunks, self.n_files = map(int, arrays["n_chunks_files"])
            self.lengths = tuple(arrays["lengths"].tolist())
            self.mean_vector: NDArray[np.float32] = arrays["mean_vector"]
            self.mean_file_vector: NDArray[np.float32] = arrays["mean_file_vector"]
        except KeyError as error:
            raise ValueError(f"array {error} is missing") from error
        if self._counts.shape != (len(COUNTED), len(self._table)) or len(self.lengths) != 3:
            raise ValueError("the figures of the team's index do not fit each other")
        self._arrays = arrays
        self._places: Memo[str, int | None] = Memo(self._table.find)

    @property
    def background_key(self) -> str:
        """The key of the background that its chunks were compared with; empty for none."""
        return self._arrays.metadata.get("background", "")

    def background(self, name: str) -> NDArray[Any] | None:
        """An array of the background, or None: `background_top`, `background_df`, `background_together`."""
        return self._arrays[name] if name in self._arrays else None  # noqa: SIM401 - it has no `get`

    def counts(self, term: str) -> NDArray[np.uint32]:
        """How much holds a term, in the order of `COUNTED`."""
        place = self._places[term]
        return self._nothing if place is None else self._counts[:, place]

    @cached_property
    def _nothing(self) -> NDArray[np.uint32]:
        return np.zeros(len(COUNTED), np.uint32)

    def terms_with(self, prefix: str, longest: int) -> list[str]:
        """The terms with a prefix and at most `longest` letters."""
        return self._table.beginning_with(prefix, longest)

    def stems_with(self, prefix: str) -> list[str]:
        """The words of file names with a prefix."""
        return self._stems.beginning_with(prefix, sys.maxsize)


def _table(arrays: Arrays, name: str) -> Strings:
    return Strings(arrays[f"{name}_text"], arrays[f"{name}_at"])
