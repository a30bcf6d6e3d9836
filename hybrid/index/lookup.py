"""Finds terms and names in the segments of a snapshot: what the ranker asks for, segment by segment."""

from __future__ import annotations

import sys
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from hybrid.base.memo import Memo
from hybrid.base.tokens import part_terms
from hybrid.index.analysis import NAME_FIELDS
from hybrid.index.backend import Definitions, NamesWithWords, Postings, Remarks
from hybrid.index.lexical import live_postings
from hybrid.index.roles import bit
from hybrid.index.sorting import common, distinct

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.index.columns import Columns, SegmentPart
    from hybrid.index.segment import Segment

_VALUE = NAME_FIELDS.index("value")
_MOST_ALIKE = 64
"""Files of one name that are compared with a path; a name that more files bear tells none of them."""


class SegmentTerms:
    """Fulfils `hybrid.index.backend.TermIndex`: a block of postings for each segment."""

    def __init__(self, columns: Columns) -> None:
        self._parts = columns.parts
        self._frequencies: Memo[str, int] = Memo(self._count)

    def document_frequency(self, term: str) -> int:
        """See `TermIndex.document_frequency`; the answer is kept, since a prompt asks for a term several times."""
        return self._frequencies[term]

    def _count(self, term: str) -> int:
        spans = [part.segment.postings(term) for part in self._parts]
        return sum(span.stop - span.start for span in spans)

    def beginning_with(self, prefix: str, longest: int) -> list[str]:
        """See `TermIndex.beginning_with`."""
        return _with_prefix(self._parts, "term", prefix, longest)

    def is_held(self, term: str) -> bool:
        """See `TermIndex.is_held`."""
        return any(len(live_postings(part.segment, term)[0]) for part in self._parts)

    def rows_of(self, term: str) -> NDArray[np.intp]:
        """See `TermIndex.rows_of`."""
        rows = [part.segment.post_row[part.segment.postings(term)] + part.first_row for part in self._parts]
        return np.concatenate(rows, dtype=np.intp) if rows else np.zeros(0, np.intp)

    def postings(self, terms: Sequence[str]) -> Iterator[Postings]:
        """See `TermIndex.postings`."""
        for part in self._parts:
            places, numbers = _held(part.segment, terms)
            if numbers:
                yield _postings(part, places, numbers)

    def remarks(self, terms: Sequence[str]) -> Iterator[Remarks]:
        """Yield, for each segment, the chunks whose comments hold some of the terms; see `TermIndex.remarks`."""
        for part in self._parts:
            places, numbers = _held(part.segment, terms)
            if numbers:
                yield _remarks(part, places, numbers)


def _with_prefix(parts: Sequence[SegmentPart], table: str, prefix: str, longest: int = sys.maxsize) -> list[str]:
    """Return the strings of a table with a prefix and at most `longest` letters, each once, segment by segment."""
    found = (text for part in parts for text in part.segment.strings_with_prefix(table, prefix, longest))
    return list(dict.fromkeys(found))


def _held(segment: Segment, terms: Sequence[str]) -> tuple[list[int], list[int]]:
    """The terms that a segment holds: their places among `terms`, and their numbers in the segment."""
    found = [(place, number) for place, term in enumerate(terms) if (number := segment.term_number(term)) is not None]
    return [place for place, _ in found], [number for _, number in found]


def _postings(part: SegmentPart, places: Sequence[int], numbers: Sequence[int]) -> Postings:
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
    body[named] -= fields[:_VALUE].sum(axis=0)  # Values stand in the body already.
    np.maximum(body, 0, out=body)
    if segment.is_live is not None:
        keep = segment.is_live[rows]
        kept_before = _from_zero(keep)
        starts, rows, body = kept_before[starts], rows[keep], body[keep]
        is_kept = keep[named]
        named, fields = kept_before[named[is_kept]], fields[:, is_kept]
    return Postings(places, starts, rows + part.first_row if part.first_row else rows, body, named, fields)


def _remarks(part: SegmentPart, places: Sequence[int], numbers: Sequence[int]) -> Remarks:
    segment = part.segment
    spans = [segment.span("remark_start", number) for number in numbers]
    starts = _starts(spans)
    rows = np.concatenate([segment.array("remark_row")[span] for span in spans], dtype=np.intp)
    counts = np.concatenate([segment.array("remark_tf")[span] for span in spans], dtype=np.float32)
    if segment.is_live is not None:
        keep = segment.is_live[rows]
        starts, rows, counts = _from_zero(keep)[starts], rows[keep], counts[keep]
    return Remarks(places, starts, rows + part.first_row, counts)


def _starts(spans: Sequence[slice]) -> NDArray[np.intp]:
    return _from_zero([span.stop - span.start for span in spans])


def _from_zero(lengths: Sequence[int] | NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return where each of several runs of these lengths begins, one after another from 0, and where the last ends."""
    found = np.zeros(len(lengths) + 1, np.intp)
    np.cumsum(lengths, out=found[1:])
    return found


class SegmentNames:
    """Fulfils `hybrid.index.backend.NameIndex`: a block for each segment."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._parts = columns.parts
        self._stems: Memo[str, list[str]] = Memo(partial(_with_prefix, self._parts, "stem_word"))
        self._files: Memo[tuple[str, str], NDArray[np.int32]] = Memo(self._find_files)

    def definitions(self, folded: str) -> Iterator[Definitions]:
        """See `NameIndex.definitions`."""
        for part in self._parts:
            segment = part.segment
            for number in segment.numbers_of_equal("name_fold", folded):
                held = segment.entries("name_definition", number)
                yield Definitions(
                    name=segment.text("name", number),
                    rows=np.add(segment.array("def_chunk")[held], part.first_row, dtype=np.intp),
                    is_full=segment.array("def_is_full")[held] > 0,
                    is_nested=segment.array("def_depth")[held] > 0,
                    scopes=lambda segment=segment, held=held: [segment.text("def_scope", at) for at in held.tolist()],
                )

    def with_words(self, words: Sequence[str]) -> Iterator[NamesWithWords]:
        """See `NameIndex.with_words`."""
        for part in self._parts:
            segment = part.segment
            of_word = [segment.numbers("name_word", "name_word_name", word) for word in words]
            names = distinct(np.concatenate(of_word)) if of_word else np.zeros(0, np.int32)
            if not len(names):
                continue
            start = segment.array("name_definition_start")
            firsts = start[names].astype(np.intp)
            starts = _from_zero((start[names + 1].astype(np.intp) - firsts).tolist())
            moved = np.repeat(firsts - starts[:-1], np.diff(starts))
            held = segment.array("name_definition")[np.arange(starts[-1]) + moved]
            yield NamesWithWords(
                letters=segment.array("name_letters")[names],
                holding=[np.searchsorted(names, numbers) for numbers in of_word],
                starts=starts,
                rows=np.add(segment.array("def_chunk")[held], part.first_row, dtype=np.intp),
                is_full=segment.array("def_is_full")[held] > 0,
            )

    def stems(self, prefix: str) -> Sequence[str]:
        """See `NameIndex.stems`; the answer is kept."""
        return self._stems[prefix]

    def files_with(self, part: Literal["stem", "path"], word: str) -> NDArray[np.int32]:
        """See `NameIndex.files_with`."""
        return self._files[part, word]

    def _find_files(self, key: tuple[str, str]) -> NDArray[np.int32]:
        table, word = f"{key[0]}_word", key[1]
        docs = [held.segment.numbers(table, f"{table}_doc", word) + held.first_doc for held in self._parts]
        files = self._columns.file_of_doc[np.concatenate(docs)] if docs else np.zeros(0, np.int32)
        return files[files >= 0]

    def files_called(self, parts: Sequence[str]) -> Iterator[tuple[int, str]]:
        """See `NameIndex.files_called`; files of one name are counted in each segment by itself."""
        for part in self._parts:
            for doc in _alike(part.segment, parts):
                file = int(self._columns.file_of_doc[part.first_doc + doc])
                # An empty file has no chunk to show.
                if file >= 0 and part.segment.doc_is_live[doc]:
                    yield file, part.segment.text("doc_path", doc)

    def versioned(self) -> Mapping[int, str]:
        """See `NameIndex.versioned`."""
        columns = self._columns
        files = np.flatnonzero((columns.roles & np.uint8(bit("versioned")) > 0) & columns.file_is_live).tolist()
        return {file: columns.path(file) for file in files}


def _alike(segment: Segment, parts: Sequence[str]) -> list[int]:
    """Return documents, dead ones too, whose name has all words of a path's last part, at most `_MOST_ALIKE`.

    Of more, only those are kept whose path has the words of the path's folders; none when they are still more.
    """
    docs: NDArray[np.int32] | None = None
    stem, _, suffix = parts[-1].rpartition(".")
    for word in dict.fromkeys(part_terms(stem or suffix)):
        held = segment.numbers("stem_word", "stem_word_doc", word)
        docs = held if docs is None else common(docs, held)
    if docs is None:
        return []
    for word in reversed(part_terms("/".join(parts[:-1]))):
        if len(docs) <= _MOST_ALIKE:
            break
        inside = common(docs, segment.numbers("path_word", "path_word_doc", word))
        docs = inside if len(inside) else docs
    return docs.tolist() if len(docs) <= _MOST_ALIKE else []
