"""Makes the arrays of the next segment, one document at a time, while a build reads the documents.

So the commit need not decode them again: it takes a draft if that holds exactly the documents that the segment is to
hold, in their order, and makes another one from the catalog if not. Postings are gathered in compact arrays, so that
memory grows with the segment's size on disk, not with Python objects.
"""

from __future__ import annotations

import itertools
import re
from array import array
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.base.arrays import distinct, runs, string_table
from hybrid.base.tokens import folded, part_terms
from hybrid.index.analysis import (
    CHUNK_FIELDS,
    FIELDS,
    NAME_FIELDS,
    OKAPI_FIELDS,
    Vocabulary,
    bit,
    head_line,
    input_key,
    path_folders,
    path_stem,
    path_terms,
    postings_of,
    roles,
)
from hybrid.index.vectors import LEAST_LENGTH, LEAST_ROWS, StoredVectors, quantise, signs_of_stored
from hybrid.records.types import HIT_KINDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.index.analysis import ChunkRecord, TermColumns
    from hybrid.index.catalog import Catalog
    from hybrid.types import EmbedderInfo


_WITHOUT_LITERALS = sum(bit(role) for role in ("test", "example", "generated", "aside"))
"""Roles of files that say what others print: only the file that a message is from is asked for."""
_COLUMNS = ("body", *FIELDS)
_UINT8_MAX = 255
_UINT16_MAX = 65_535
_TIMES = 1 << 20
"""One more than the times that a term counts in a chunk: a file of two megabytes may say it so often."""


class SegmentDocument(Struct, frozen=True):
    """One document that goes into a segment: where it is, and its chunks.

    Attributes:
        path: Relative to the working tree.
        content_id: Id of the document's content in the catalog.
        kind: `code` or `doc`.
        language: Language of the document.
        records: Its chunks in order.
        postings: The terms of the records; None to take those that they hold.
    """

    path: str
    content_id: int
    kind: str
    language: str
    records: Sequence[ChunkRecord]
    postings: TermColumns | None = None


def encode_segment(documents: Iterable[SegmentDocument], vectors: StoredVectors) -> dict[str, NDArray[Any]]:
    """Return the arrays of a segment, name → array, from all its documents in one call.

    Args:
        documents: In order of path.
        vectors: One row per chunk, in the order of the documents' records.
    """
    encoder = SegmentEncoder()
    for document in documents:
        encoder.add(document)
    return encoder.finish(vectors)


class SegmentEncoder:
    """Gathers documents; `finish` gives the arrays. Documents are added in order of path and then forgotten."""

    def __init__(self) -> None:
        self._documents = _Table(("doc_path",), {"doc_content": "q", "doc_kind": "B", "doc_role": "B"})
        self._languages: list[str] = []
        self._chunks = _Table(
            ("chunk_name", "chunk_kind", "chunk_signature", "chunk_scope"),
            {"chunk_doc": "i", "chunk_start": "i", "chunk_end": "i"},
        )
        self._digests = bytearray()
        self._definitions = _Table(
            ("def_name", "def_scope"),
            {
                "def_chunk": "i",
                "def_start": "i",
                "def_end": "i",
                "def_depth": "B",
                "def_is_value": "B",
                "def_is_full": "B",
            },
        )
        self._definition_kinds: list[str] = []
        self._literals = array("Q"), array("i")
        self._postings = _PostingColumns()

    def add(self, document: SegmentDocument) -> None:
        """Add one document with its chunks."""
        path, records = document.path, document.records
        definitions = [definition for record in records for definition in record.definitions]
        role = roles(path, definitions)
        doc, first_row = self._documents.n_rows, self._chunks.n_rows
        self._documents.extend([(path, document.content_id, HIT_KINDS.index(document.kind), role)])
        self._languages.append(document.language)
        self._chunks.extend([(r.name, r.kind, r.signature, r.scope, doc, r.start_line, r.end_line) for r in records])
        self._digests += b"".join([record.digest for record in records])
        self._definitions.extend(
            [
                (d.name, d.scope, row, d.start_line, d.end_line, min(d.depth, _UINT8_MAX), d.is_value, d.is_full)
                for row, record in enumerate(records, first_row)
                for d in record.definitions
            ]
        )
        self._definition_kinds += [definition.kind for definition in definitions]
        if not role & _WITHOUT_LITERALS:
            for row, record in enumerate(records, first_row):
                self._literals[0].extend(record.literals)
                self._literals[1].extend(itertools.repeat(row, len(record.literals)))
        self._postings.add(range(first_row, self._chunks.n_rows), document)

    def finish(self, vectors: StoredVectors) -> dict[str, NDArray[Any]]:
        """Return the segment's arrays by name; `vectors` has one row a chunk, in the order of their adding."""
        chunks, n_chunks = self._chunks.arrays(), self._chunks.n_rows
        postings = self._postings.arrays(n_chunks)
        paths = self._documents.texts["doc_path"]
        languages, language_numbers = _numbered(self._languages)
        kinds, kind_numbers = _numbered(self._definition_kinds)
        return {
            **self._documents.arrays(),
            **string_table("language", languages),
            "doc_language": np.array(language_numbers, np.uint16),
            **path_arrays([path_stem(path) for path in paths], [path_folders(path) for path in paths]),
            **chunks,
            "chunk_digest": np.array(self._digests, np.uint8).reshape(n_chunks, 16),
            **self._definitions.arrays(),
            **string_table("def_kinds", kinds),
            "def_kind": np.array(kind_numbers, np.uint8),
            **name_arrays(self._definitions.texts["def_name"]),
            **postings,
            **self._literal_arrays(),
            "vector": vectors.data,
            "vector_scale": vectors.scale,
            "chunk_is_cut": vectors.is_cut.astype(np.uint8),
            **_vector_sums(chunks["chunk_doc"], self._documents.n_rows, vectors),
            **_documents_of_terms(postings, chunks["chunk_doc"]),
        }

    def _literal_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the keys of all literals, ascending, and the row of each, ascending within a key."""
        keys, rows = np.array(self._literals[0], np.uint64), np.array(self._literals[1], np.int32)
        order = np.argsort(keys, kind="stable")
        return {"literal": keys[order], "literal_row": rows[order]}


def _documents_of_terms(postings: Mapping[str, NDArray[Any]], chunk_doc: NDArray[Any]) -> dict[str, NDArray[np.uint32]]:
    """Return in how many documents each term stands, and in the names that how many of them define."""
    rows, in_names = postings["post_row"], postings["field_tf"][[NAME_FIELDS.index("name"), NAME_FIELDS.index("value")]]
    naming = np.flatnonzero(in_names.any(axis=0))
    return {
        "term_docs": _distinct(chunk_doc[rows], postings["term_start"]),
        "term_naming_docs": _distinct(
            chunk_doc[rows[postings["field_post"][naming]]], np.searchsorted(naming, postings["field_start"])
        ),
    }


def _distinct(docs: NDArray[Any], starts: NDArray[np.integer[Any]]) -> NDArray[np.uint32]:
    """Return the number of distinct documents of each term; `starts` tells where those of each begin, ascending."""
    is_new = np.ones(len(docs) + 1, np.bool_)
    np.not_equal(docs[1:], docs[:-1], out=is_new[1:-1])
    is_new[starts] = True
    n_before = np.zeros(len(docs) + 1, np.intp)
    np.cumsum(is_new[:-1], out=n_before[1:])
    return np.diff(n_before[starts]).astype(np.uint32)


class _Table:
    """Columns of texts and of numbers that grow row by row; the numbers stand in compact arrays.

    Args:
        texts: Names of the columns of texts.
        numbers: Name of a column of numbers → its type, as `array` spells it.
    """

    def __init__(self, texts: Sequence[str], numbers: Mapping[str, str]) -> None:
        self.texts: dict[str, list[str]] = {name: [] for name in texts}
        self._numbers: dict[str, array[float]] = {name: array(code, ()) for name, code in numbers.items()}
        self.n_rows = 0

    def extend(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Add rows, each with its values in the order of the columns."""
        columns = (*self.texts.values(), *self._numbers.values())
        for column, values in zip(columns, zip(*rows, strict=True), strict=True) if rows else ():
            column.extend(values)
        self.n_rows += len(rows)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the columns by name, those of texts as string tables."""
        found: dict[str, NDArray[Any]] = {name: np.array(column) for name, column in self._numbers.items()}
        for name, texts in self.texts.items():
            found |= string_table(name, texts)
        return found


class _PostingColumns:
    """(term, chunk, frequency) triples, one set for the body and one for each field."""

    def __init__(self) -> None:
        self._vocabulary = Vocabulary()
        self._columns: list[list[tuple[NDArray[np.int32], ...]]] = [[] for _ in range(1 + len(FIELDS))]
        self._translated: tuple[Sequence[str] | Vocabulary, NDArray[np.int32]] = (), np.zeros(0, np.int32)
        """The vocabulary of a batch of documents, and the number of each of its terms here."""

    def add(self, rows: range, document: SegmentDocument) -> None:
        """Add the terms of a document whose chunks have these rows."""
        vocabulary = self._vocabulary
        postings = document.postings or postings_of(document.records, vocabulary)
        others = postings.vocabulary
        if others is not vocabulary and others is not self._translated[0]:
            self._translated = others, np.array([vocabulary[term] for term in others], np.int32)
        for column, name in zip(postings.columns, ("body", *CHUNK_FIELDS), strict=True):
            if column[0]:
                terms, places, frequencies = (np.array(values, np.int32) for values in column)
                numbers = terms if others is vocabulary else self._translated[1][terms]
                self._columns[_COLUMNS.index(name)].append((numbers, places + rows.start, frequencies))
        for name, counts in path_terms(document.path).items():
            terms = np.array([vocabulary[term] for term in counts], np.int32)
            frequencies = np.array(list(counts.values()), np.int32)
            each = np.arange(rows.start, rows.stop, dtype=np.int32).repeat(len(counts))
            column, n_rows = self._columns[_COLUMNS.index(name)], len(rows)
            column.append((np.tile(terms, n_rows), each, np.tile(frequencies, n_rows)))

    def arrays(self, n_chunks: int) -> dict[str, NDArray[Any]]:
        """Return the arrays of terms and postings: terms sorted by their bytes, rows ascending within a term (CSR)."""
        nothing = (np.zeros(0, np.int32),) * 3
        columns = [[np.concatenate(part) for part in zip(nothing, *parts, strict=True)] for parts in self._columns]
        place = np.zeros(len(self._vocabulary), np.int64)
        for terms, _, _ in columns:
            place[terms] = 1  # Other documents of a batch may have terms that no document here has.
        # By code points, which is the order of their bytes in UTF-8.
        names = sorted(itertools.compress(self._vocabulary, place.tolist()))
        place[[self._vocabulary[name] for name in names]] = np.arange(len(names))
        width = max(n_chunks, 1)
        keys = [place[terms] * width + rows for terms, rows, _ in columns]
        times = [frequencies for _, _, frequencies in columns]
        most = [(_TIMES - 1) * (name in ("body", *OKAPI_FIELDS)) for name in _COLUMNS]
        packed = [key * _TIMES + np.minimum(times[n], most[n]) for n, key in enumerate(keys)]
        # To sort numbers that hold key and frequency takes a sixth of looking up each key among the sorted ones.
        every = np.sort(np.concatenate(packed))
        starts = runs(every // _TIMES)
        postings, total = every[starts] // _TIMES, np.add.reduceat(every % _TIMES, starts)
        rows = (postings % width).astype(np.int32)
        borders = np.arange(len(names) + 1, dtype=np.int64) * width
        return {
            **string_table("term", names),
            "term_start": np.searchsorted(postings, borders).astype(np.uint32),
            "post_row": rows,
            "post_tf": np.minimum(total, _UINT16_MAX).astype(np.uint16),
            **_fields(keys, times, postings, borders),
            **_remarks(keys[_COLUMNS.index("comment")], times[_COLUMNS.index("comment")], width, borders),
            "chunk_length": _lengths(rows, total, n_chunks),
            "chunk_body_length": _lengths(columns[0][1], times[0], n_chunks),
            "chunk_remark_length": _lengths(columns[-1][1], times[-1], n_chunks),
        }


def _lengths(rows: NDArray[np.int32], frequencies: NDArray[Any], n_chunks: int) -> NDArray[np.float32]:
    return np.bincount(rows, weights=frequencies, minlength=n_chunks).astype(np.float32)


def _fields(
    keys: Sequence[NDArray[Any]], times: Sequence[NDArray[Any]], postings: NDArray[Any], borders: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """Return the frequencies in the fields of names and paths, for the few postings that have any there."""
    found = distinct(np.concatenate(keys[1 : 1 + len(NAME_FIELDS)]))
    counts = np.zeros((len(NAME_FIELDS), len(found)), np.uint8)
    for column in range(len(NAME_FIELDS)):
        counts[column, np.searchsorted(found, keys[1 + column])] = np.minimum(times[1 + column], _UINT8_MAX)
    return {
        "field_start": np.searchsorted(found, borders).astype(np.uint32),
        "field_post": np.searchsorted(postings, found).astype(np.uint32),
        "field_tf": counts,
    }


def _remarks(
    keys: NDArray[np.int64], times: NDArray[np.int32], width: int, borders: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """Return the arrays of the postings of comments: where each term begins, rows and frequencies."""
    order = np.argsort(keys, kind="stable")
    return {
        "remark_start": np.searchsorted(keys[order], borders).astype(np.uint32),
        "remark_row": (keys[order] % width).astype(np.int32),
        "remark_tf": np.minimum(times[order], _UINT8_MAX).astype(np.uint8),
    }


def _numbered(values: Sequence[str]) -> tuple[list[str], list[int]]:
    """Return the distinct values, sorted, and for each value its place among them."""
    names = sorted(set(values))
    number = {name: i for i, name in enumerate(names)}
    return names, [number[value] for value in values]


def _vector_sums(chunk_doc: NDArray[Any], n_documents: int, vectors: StoredVectors) -> dict[str, NDArray[Any]]:
    """Return the sum of all vectors, and for each document the length of the sum of its vectors.

    The cosine of a query to the mean vector of a document is the sum of the cosines to its chunks through this length.
    A large segment gets the unit vector of each document's sum, the sum of these, and the signs of all vectors, too.
    """
    dim = vectors.data.shape[1]
    total, of_docs = np.zeros(dim, np.float32), np.zeros((n_documents, dim), np.float32)
    lengths = np.zeros(n_documents, np.float32)
    bounds = np.searchsorted(chunk_doc, np.arange(n_documents + 1)).tolist()
    for doc, (start, end) in enumerate(itertools.pairwise(bounds)):
        if start < end:
            of_doc = vectors.scale[start:end] @ vectors.data[start:end].astype(np.float32)
            lengths[doc] = np.sqrt(of_doc @ of_doc)
            total += of_doc
            of_docs[doc] = of_doc / max(float(lengths[doc]), LEAST_LENGTH)
    found: dict[str, NDArray[Any]] = {"vector_sum": total, "doc_vector_length": lengths}
    if len(chunk_doc) >= LEAST_ROWS:
        signs = signs_of_stored(vectors, np.divide(total, len(chunk_doc), dtype=np.float32))
        kept = quantise(of_docs, np.zeros(n_documents, np.bool_))
        found |= {
            "chunk_sign": signs,
            "vector_file_sum": of_docs.sum(axis=0),
            "doc_vector": kept.data,
            "doc_vector_scale": kept.scale,
        }
    return found


class SegmentDraft:
    """The documents of a segment that is not written yet, in order of path, and the vectors made for them so far."""

    def __init__(self) -> None:
        self._encoder = SegmentEncoder()
        self.rows: list[tuple[str, int, str, str]] = []
        """Path, content id, kind and language of the documents added so far."""
        self._inputs: list[bytes] = []
        self._vectors: list[StoredVectors] = []
        self._places: dict[bytes, int] = {}

    @property
    def n_chunks(self) -> int:
        """Number of chunks of the documents added so far."""
        return len(self._inputs)

    def add(
        self,
        row: tuple[str, int, str, str],
        records: Sequence[ChunkRecord],
        inputs: Sequence[bytes] | None = None,
        postings: TermColumns | None = None,
    ) -> None:
        """Add a document.

        Args:
            row: Path, content id, kind and language of the document.
            records: The document's chunks, in order.
            inputs: Key of the vector of each chunk; worked out when None.
            postings: See `SegmentDocument`.
        """
        self._encoder.add(SegmentDocument(*row, records, postings))
        self.rows.append(row)
        self._inputs += inputs_of(row[0], records) if inputs is None else inputs

    def add_vectors(self, inputs: Sequence[bytes], vectors: StoredVectors) -> None:
        """Keep vectors that were just made, one for each input."""
        start = sum(len(part.scale) for part in self._vectors)
        self._places.update(zip(inputs, range(start, start + len(inputs)), strict=True))
        self._vectors.append(vectors)

    def holds(self, rows: Sequence[tuple[str, int, str, str]]) -> bool:
        """Return whether the draft holds exactly these documents, in this order."""
        return self.rows == list(rows)

    def arrays(self, catalog: Catalog, model: EmbedderInfo) -> dict[str, NDArray[Any]]:
        """Return the arrays of the segment by name; vectors that were not added are read from the catalog."""
        missing = list(dict.fromkeys(key for key in self._inputs if key not in self._places))
        if missing:
            self.add_vectors(missing, catalog.vectors(catalog.model_id(model.key), missing, model.dim))
        return self._encoder.finish(self._ordered(model.dim))

    def _ordered(self, dim: int) -> StoredVectors:
        """Return the vector of every chunk, in the order of the chunks."""
        at = np.array([self._places[key] for key in self._inputs], np.int64)
        parts = self._vectors or [
            StoredVectors(np.zeros((0, dim), np.int8), np.zeros(0, np.float32), np.zeros(0, np.bool_))
        ]
        return StoredVectors(
            data=np.concatenate([part.data for part in parts])[at],
            scale=np.concatenate([part.scale for part in parts])[at],
            is_cut=np.concatenate([part.is_cut for part in parts])[at],
        )


def inputs_of(path: str, records: Sequence[ChunkRecord]) -> list[bytes]:
    """Return the key (`input_key`) of the vector of each chunk of a document."""
    return [input_key(head_line(path, record.scope, record.definitions), record.embedded) for record in records]


# --- by which the ranker finds names: of definitions, by spelling and by word, and of files -------------------

_JOINT = re.compile(r"::|\.|\\|#")


def name_arrays(definition_names: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of the names of definitions, by spelling and by word.

    A qualified name (`Router::add`) stands also as its last part. Names are in order of their folded form.

    Args:
        definition_names: Name of each definition of the segment, in order.
    """
    places: dict[str, list[int]] = {}
    for number, name in enumerate(definition_names):
        places.setdefault(name, []).append(number)
        last = _JOINT.split(name)[-1]
        if last != name and last:
            places.setdefault(last, []).append(number)
    fold_of = {name: folded(name) for name in places}
    names = [name for _, name in sorted((fold, name) for name, fold in fold_of.items())]
    terms = [list(dict.fromkeys(part_terms(name))) for name in names]
    return {
        **string_table("name", names),
        **string_table("name_fold", [fold_of[name] for name in names]),
        "name_letters": np.array([_letters(of_name) for of_name in terms], np.uint16),
        **_lists("name_definition", [places[name] for name in names]),
        **_inverted("name_word", "name_word_name", terms),
    }


def path_arrays(stems: Sequence[str], folders: Sequence[str]) -> dict[str, NDArray[Any]]:
    """Return the arrays of the words of file names, and of those of whole paths, with the documents that have them.

    Args:
        stems: Name of each document of the segment without its suffix, in order.
        folders: Path of the folder of each document, in the same order.
    """
    of_stem = [dict.fromkeys(part_terms(stem)) for stem in stems]
    of_path = [dict.fromkeys((*part_terms(above), *terms)) for above, terms in zip(folders, of_stem, strict=True)]
    return {
        "doc_stem_letters": np.array([_letters(terms) for terms in of_stem], np.uint16),
        **_inverted("stem_word", "stem_word_doc", of_stem),
        **_inverted("path_word", "path_word_doc", of_path),
    }


def _letters(terms: Iterable[str]) -> int:
    return min(sum(map(len, terms)), _UINT16_MAX)


def _inverted(table: str, entries: str, terms_of: Sequence[Iterable[str]]) -> dict[str, NDArray[Any]]:
    """Return a string table of the terms, sorted by bytes, and for each the numbers of the entries that have it."""
    holders: dict[str, list[int]] = {}
    for number, terms in enumerate(terms_of):
        for term in terms:
            holders.setdefault(term, []).append(number)
    names = sorted(holders)  # By code points, which is the order of their bytes in UTF-8.
    return {**string_table(table, names), **_lists(entries, [holders[name] for name in names])}


def _lists(name: str, lists: Sequence[Sequence[int]]) -> dict[str, NDArray[Any]]:
    """Return lists of numbers as one array, and where each begins in it, with the end behind the last."""
    flat = array("i")
    for numbers in lists:
        flat.extend(numbers)
    starts = np.zeros(len(lists) + 1, np.uint32)
    np.cumsum([len(numbers) for numbers in lists], out=starts[1:])
    return {name: np.array(flat, np.int32), f"{name}_start": starts}
