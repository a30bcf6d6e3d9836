"""Finds terms, names and what the gate asks for in the segments of a snapshot, segment by segment."""

from __future__ import annotations

import sys
from functools import lru_cache, partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from hybrid.base.arrays import common, ranges, runs
from hybrid.base.tokens import part_terms
from hybrid.index.analysis import NAME_FIELDS, bit
from hybrid.index.backend import BackgroundFigures, Definitions, NamesWithWords, Postings, RecordBlock, Remarks
from hybrid.index.lexical import live_postings, n_holding
from hybrid.index.vectors import LEAST_ROWS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.index.columns import Columns, SegmentPart
    from hybrid.index.segment import Segment


_NAME, _VALUE = map(NAME_FIELDS.index, ("name", "value"))
_MOST_ALIKE = 64
"""Files of one name that are compared with a path; a name that more files bear tells none of them."""


class SegmentTerms:
    """Fulfils `hybrid.index.backend.TermIndex`: a block of postings for each segment."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._parts = columns.parts
        self._frequencies = lru_cache(1 << 14)(self._count)
        self._holding = lru_cache(1 << 14)(self._count_holding)
        self._file_frequencies = lru_cache(1 << 14)(self._count_files)
        self._naming_frequencies = lru_cache(1 << 14)(self._count_naming)

    def document_frequency(self, term: str) -> int:
        """See `TermIndex.document_frequency`; the answer is kept, since a prompt asks for a term several times."""
        return self._frequencies(term)

    def _count(self, term: str) -> int:
        return sum(span.stop - span.start for span in (part.segment.postings(term) for part in self._parts))

    def n_holding(self, terms: Sequence[str]) -> int:
        """See `TermIndex.n_holding`; the answer is kept."""
        return self._holding(*terms)

    def _count_holding(self, *terms: str) -> int:
        if len(terms) == 1 and self._columns.is_live is None:
            return self._frequencies(terms[0])
        return sum(n_holding(part.segment, terms) for part in self._parts)

    def remark_frequency(self, term: str) -> int:
        """See `TermIndex.remark_frequency`."""
        return sum(_n_remarked(part.segment, term) for part in self._parts)

    def file_frequency(self, term: str) -> int:
        """See `TermIndex.file_frequency`; the answer is kept."""
        return self._file_frequencies(term)

    def _count_files(self, term: str) -> int:
        return sum(_n_files(part.segment, term) for part in self._parts)

    def naming_frequency(self, term: str) -> int:
        """See `TermIndex.naming_frequency`; the answer is kept."""
        return self._naming_frequencies(term)

    def _count_naming(self, term: str) -> int:
        return sum(_n_naming(part.segment, term) for part in self._parts)

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

    def postings(self, terms: Sequence[str], among: NDArray[np.bool_] | None = None) -> Iterator[Postings]:
        """See `TermIndex.postings`."""
        for part in self._parts:
            places, numbers = _held(part.segment, terms)
            if numbers:
                yield _postings(part, places, numbers, _wanted(part, among))

    def remarks(self, terms: Sequence[str], among: NDArray[np.bool_] | None = None) -> Iterator[Remarks]:
        """Yield, for each segment, the chunks whose comments hold some of the terms; see `TermIndex.remarks`."""
        for part in self._parts:
            places, numbers = _held(part.segment, terms)
            if numbers:
                yield _remarks(part, places, numbers, _wanted(part, among))


def _wanted(part: SegmentPart, among: NDArray[np.bool_] | None) -> NDArray[np.bool_] | None:
    """Return for each chunk of a segment whether it can be found and is wanted; None when all are."""
    is_live = part.segment.is_live
    if among is None:
        return is_live
    mine = among[part.first_row : part.first_row + part.segment.n_chunks]
    return mine if is_live is None else mine & is_live


def _counts(segment: Segment, name: str) -> bool:
    """Return whether a segment has an array of counts over its documents that is exact, or that is near in a large one.

    The counts hold removed documents, too: `_of_live`. An index of an earlier version has none.
    """
    return segment.has(name) and (segment.is_live is None or segment.n_chunks >= LEAST_ROWS)


def _of_live(segment: Segment, count: int) -> int:
    """Return how many of so many documents of a segment can be found, as if each were removed as often as any other."""
    if segment.is_live is None:
        return count
    return round(count * float(np.count_nonzero(segment.doc_is_live)) / max(segment.n_documents, 1))


def _n_files(segment: Segment, term: str) -> int:
    """Return how many files of a segment that can be found hold a term; of a large one, about so many."""
    number = segment.term_numbers(term)
    if number is None:
        return 0
    if _counts(segment, "term_docs"):
        return _of_live(segment, int(segment.arrays["term_docs"][number]))
    return len(runs(segment.chunk_doc[live_postings(segment, term)[0]]))


def _n_naming(segment: Segment, term: str) -> int:
    """Return how many files of a segment that can be found define a name with a term; of a large one, about so many."""
    number = segment.term_numbers(term)
    if number is None:
        return 0
    if _counts(segment, "term_naming_docs"):
        return _of_live(segment, int(segment.arrays["term_naming_docs"][number]))
    span = segment.span("field_start", number)
    counts = segment.arrays["field_tf"][:, span]
    posts = segment.arrays["field_post"][span][(counts[_NAME] > 0) | (counts[_VALUE] > 0)]
    rows = segment.post_row[posts]
    return len(runs(segment.chunk_doc[rows if segment.is_live is None else rows[segment.is_live[rows]]]))


def _n_remarked(segment: Segment, term: str) -> int:
    """Return how many chunks of a segment that can be found have a term in their comments."""
    number = segment.term_numbers(term)
    if number is None:
        return 0
    span = segment.span("remark_start", number)
    if segment.is_live is None:
        return span.stop - span.start
    return int(np.count_nonzero(segment.is_live[segment.arrays["remark_row"][span]]))


def _with_prefix(parts: Sequence[SegmentPart], table: str, prefix: str, longest: int = sys.maxsize) -> list[str]:
    """Return the strings of a table with a prefix and at most `longest` letters, each once, segment by segment."""
    found = (text for part in parts for text in part.segment.strings(table).beginning_with(prefix, longest))
    return list(dict.fromkeys(found))


def _held(segment: Segment, terms: Sequence[str]) -> tuple[list[int], list[int]]:
    """The terms that a segment holds: their places among `terms`, and their numbers in the segment."""
    found = [(place, number) for place, term in enumerate(terms) if (number := segment.term_numbers(term)) is not None]
    return [place for place, _ in found], [number for _, number in found]


def _postings(
    part: SegmentPart, places: Sequence[int], numbers: Sequence[int], wanted: NDArray[np.bool_] | None
) -> Postings:
    segment = part.segment
    spans = [segment.span("term_start", number) for number in numbers]
    of_fields = [segment.span("field_start", number) for number in numbers]
    starts = _from_zero([span.stop - span.start for span in spans])
    rows = np.concatenate([segment.post_row[span] for span in spans])
    body = np.concatenate([segment.post_tf[span] for span in spans])
    field_post, field_tf = segment.arrays["field_post"], segment.arrays["field_tf"]
    # Where a term's postings begin in the segment, and where here.
    shifts = [start - span.start for start, span in zip(starts.tolist(), spans, strict=False)]
    named = np.concatenate([field_post[some] for some in of_fields], dtype=np.intp)
    named += np.array(shifts).repeat([some.stop - some.start for some in of_fields])
    fields = np.concatenate([field_tf[:, some] for some in of_fields], axis=1)
    if wanted is not None:
        # All at once: a term at a time takes longer for the many that few chunks hold.
        is_kept = wanted[rows]
        kept, kept_named = is_kept.nonzero()[0], is_kept[named].nonzero()[0]
        starts, named = kept.searchsorted(starts), kept.searchsorted(named[kept_named])
        rows, body, fields = rows[kept], body[kept], fields[:, kept_named]
    rows, body, fields = rows.astype(np.intp), body.astype(np.float32), fields.astype(np.float32)
    body[named] -= fields[:_VALUE].sum(axis=0)  # Values stand in the body already.
    np.maximum(body, 0, out=body)
    return Postings(places, starts, rows + part.first_row if part.first_row else rows, body, named, fields)


def _remarks(
    part: SegmentPart, places: Sequence[int], numbers: Sequence[int], wanted: NDArray[np.bool_] | None
) -> Remarks:
    segment = part.segment
    spans = [segment.span("remark_start", number) for number in numbers]
    starts = _from_zero([span.stop - span.start for span in spans])
    rows = np.concatenate([segment.arrays["remark_row"][span] for span in spans])
    counts = np.concatenate([segment.arrays["remark_tf"][span] for span in spans])
    if wanted is not None:
        kept = wanted[rows].nonzero()[0]
        starts, rows, counts = kept.searchsorted(starts), rows[kept], counts[kept]
    return Remarks(places, starts, np.add(rows, part.first_row, dtype=np.intp), counts.astype(np.float32))


def _from_zero(lengths: Iterable[int]) -> NDArray[np.intp]:
    """Return where each of several runs of these lengths begins, one after another from 0, and where the last ends."""
    return np.array([0, *accumulate(lengths)], np.intp)


class SegmentNames:
    """Fulfils `hybrid.index.backend.NameIndex`: a block for each segment."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._parts = columns.parts
        self._stems = lru_cache(1 << 14)(partial(_with_prefix, self._parts, "stem_word"))
        self._files = lru_cache(1 << 14)(self._find_files)

    def definitions(self, folded: str) -> Iterator[Definitions]:
        """See `NameIndex.definitions`."""
        for part in self._parts:
            segment = part.segment
            for number in segment.numbers_of_equal("name_fold", folded):
                held = segment.entries("name_definition", number)
                yield Definitions(
                    name=segment.text("name", number),
                    rows=np.add(segment.arrays["def_chunk"][held], part.first_row, dtype=np.intp),
                    is_full=segment.arrays["def_is_full"][held] > 0,
                    is_nested=segment.arrays["def_depth"][held] > 0,
                    scopes=lambda segment=segment, held=held: [segment.text("def_scope", at) for at in held.tolist()],
                )

    def with_words(self, words: Sequence[str]) -> Iterator[NamesWithWords]:
        """See `NameIndex.with_words`."""
        for part in self._parts:
            segment = part.segment
            of_word = [segment.numbers("name_word", "name_word_name", word) for word in words]
            names, holding = _united(of_word, len(segment.arrays["name_letters"]))
            if not len(names):
                continue
            start = segment.arrays["name_definition_start"]
            places, counts = ranges(start[names].astype(np.intp), start[names + 1].astype(np.intp))
            starts = np.concatenate([(0,), counts.cumsum()])
            held = segment.arrays["name_definition"][places]
            yield NamesWithWords(
                letters=segment.arrays["name_letters"][names],
                holding=holding,
                starts=starts,
                rows=np.add(segment.arrays["def_chunk"][held], part.first_row, dtype=np.intp),
                is_full=segment.arrays["def_is_full"][held] > 0,
            )

    def stems(self, prefix: str) -> Sequence[str]:
        """See `NameIndex.stems`; the answer is kept."""
        return self._stems(prefix)

    def files_with(self, part: Literal["stem", "path"], word: str) -> NDArray[np.int32]:
        """See `NameIndex.files_with`."""
        return self._files(part, word)

    def _find_files(self, part: str, word: str) -> NDArray[np.int32]:
        table = f"{part}_word"
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

    def literals(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """See `NameIndex.literals`."""
        places, rows = [np.zeros(0, np.intp)], [np.zeros(0, np.intp)]
        for part in self._parts:
            if not part.segment.has("literal"):
                continue
            held = part.segment.arrays["literal"]
            starts, ends = (held.searchsorted(keys, side=side) for side in ("left", "right"))
            at = (ends > starts).nonzero()[0]
            found, counts = ranges(starts[at], ends[at])
            places.append(at.repeat(counts))
            rows.append(np.add(part.segment.arrays["literal_row"][found], part.first_row, dtype=np.intp))
        return np.concatenate(places), np.concatenate(rows)

    def versioned(self) -> Mapping[int, str]:
        """See `NameIndex.versioned`."""
        columns = self._columns
        files = ((columns.roles & np.uint8(bit("versioned")) > 0) & columns.file_is_live).nonzero()[0].tolist()
        return {file: columns.path(file) for file in files}


def _united(lists: Sequence[NDArray[np.int32]], end: int) -> tuple[NDArray[np.intp], list[NDArray[np.intp]]]:
    """Return the numbers that some lists hold, ascending, and for each list where its numbers stand among these.

    A table of all numbers below `end` is faster than sorting them.
    """
    is_held = np.zeros(end, np.bool_)
    for numbers in lists:
        is_held[numbers] = True
    found = is_held.nonzero()[0]
    place = np.empty(end, np.intp)
    place[found] = np.arange(len(found))
    return found, [place[numbers] for numbers in lists]


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


# --- for the gate --------------------------------------------------------------------------------------------


class SegmentGate:
    """Gives the figures of some segments that the gate compares prompts with; see `hybrid.index.backend.GateFigures`.

    Args:
        key: Key of the background; empty for segments that were built without one.
        parts: The segments, annotated with it when the key is not empty.
    """

    def __init__(self, key: str, parts: Sequence[SegmentPart]) -> None:
        self.key = key
        self._parts = parts

    @property
    def has_records(self) -> bool:
        """See `GateFigures.has_records`; segments written for a model without lengths hold no evidence for records."""
        return bool(self._parts) and all(part.segment.has("background_record") for part in self._parts)

    def figures(self) -> BackgroundFigures:
        """See `GateFigures.figures`: the largest values of all segments, and the sums of the frequencies.

        Raises:
            KeyError: A segment is not annotated; ask only when the key is not empty.
        """
        tops = self._arrays("background_top")
        # Segments that an earlier version annotated lack it until the next build.
        is_whole = all(part.segment.has("background_together") for part in self._parts)
        together = self._arrays("background_together") if is_whole else []
        records = self._arrays("background_record") if self.has_records else []
        return BackgroundFigures(
            n_rows=sum(part.segment.n_chunks for part in self._parts),
            top=np.max(tops, axis=0) if tops else None,
            frequencies=np.asarray(np.sum(self._arrays("background_df"), axis=0, dtype=np.float64)),
            together=np.max(together, axis=0) if together else None,
            records=np.max(records, axis=0) if records else None,
        )

    def records(self) -> list[RecordBlock]:
        """See `GateFigures.records`."""
        return [record_block(part.segment.arrays, part.segment.is_live) for part in self._parts]

    def triggers(self) -> Iterator[tuple[int, str]]:
        """See `GateFigures.triggers`; the first name that a record defines is its title, and is left out."""
        for part in self._parts:
            chunks: NDArray[np.int32] = part.segment.arrays["def_chunk"]
            for number in ((np.diff(chunks) == 0).nonzero()[0] + 1).tolist():
                yield part.first_row + int(chunks[number]), part.segment.text("def_name", number)

    def _arrays(self, name: str) -> list[NDArray[Any]]:
        return [part.segment.arrays[name] for part in self._parts]


def record_block(arrays: Mapping[str, NDArray[Any]], is_live: NDArray[np.bool_] | None = None) -> RecordBlock:
    """The records of one segment.

    Args:
        arrays: Name → array of the segment, those of its terms' vectors too.
        is_live: For each record, whether it can be found; None when all can.
    """
    return RecordBlock(
        vectors=arrays["vector"],
        scales=arrays["vector_scale"],
        term_vectors=arrays["term_vector"],
        term_scales=arrays["term_vector_scale"],
        term_starts=arrays["term_start"],
        holders=arrays["post_row"],
        is_live=is_live,
    )
