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

from hybrid.base.arrays import string_table
from hybrid.base.tokens import folded, part_terms
from hybrid.index.analysis import (
    CHUNK_FIELDS,
    FIELDS,
    NAME_FIELDS,
    OKAPI_FIELDS,
    Vocabulary,
    head_line,
    input_key,
    path_folders,
    path_stem,
    path_terms,
)
from hybrid.index.roles import bit, roles
from hybrid.index.segment import DOCUMENT_KINDS
from hybrid.index.sorting import distinct, runs
from hybrid.index.vectors import LEAST_LENGTH, LEAST_ROWS, StoredVectors, quantise, signs_of_stored

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.index.analysis import ChunkRecord
    from hybrid.index.catalog import Catalog
    from hybrid.types import EmbedderInfo


_WITHOUT_LITERALS = sum(bit(role) for role in ("test", "example", "generated", "aside"))
"""Roles of files that say what others print: only the file that a message is from is asked for."""
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
    """

    path: str
    content_id: int
    kind: str
    language: str
    records: Sequence[ChunkRecord]


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
            {
                "chunk_doc": "i",
                "chunk_start": "i",
                "chunk_end": "i",
                "chunk_body_length": "f",
                "chunk_remark_length": "f",
            },
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
        path = document.path
        role = roles(path, (definition for record in document.records for definition in record.definitions))
        doc = self._documents.add((path,), (document.content_id, DOCUMENT_KINDS.index(document.kind), role))
        self._languages.append(document.language)
        of_path = path_terms(path)
        for record in document.records:
            lengths = sum(record.body.values()), sum(record.fields["comment"].values())
            row = self._chunks.add(
                (record.name, record.kind, record.signature, record.scope),
                (doc, record.start_line, record.end_line, *lengths),
            )
            self._digests += record.digest
            for d in record.definitions:
                numbers = row, d.start_line, d.end_line, min(d.depth, _UINT8_MAX), d.is_value, d.is_full
                self._definitions.add((d.name, d.scope), numbers)
                self._definition_kinds.append(d.kind)
            if not role & _WITHOUT_LITERALS:
                self._literals[0].extend(record.literals)
                self._literals[1].extend(itertools.repeat(row, len(record.literals)))
            self._postings.add(row, record, of_path)

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

    def add(self, texts: Sequence[str], numbers: Sequence[float]) -> int:
        """Add a row, its values in the order of the columns; return its number, from 0."""
        for column, text in zip(self.texts.values(), texts, strict=True):
            column.append(text)
        for column, number in zip(self._numbers.values(), numbers, strict=True):
            column.append(number)
        self.n_rows += 1
        return self.n_rows - 1

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
        self._triples = [(array("i"), array("i"), array("i")) for _ in range(1 + len(FIELDS))]
        self._of_path: Mapping[str, Mapping[str, int]] = {}
        self._first_row = 0
        self._end_row = 0

    def add(self, row: int, record: ChunkRecord, of_path: Mapping[str, Mapping[str, int]]) -> None:
        if of_path is not self._of_path:
            self._put_path()
            self._of_path, self._first_row = of_path, row
        self._end_row = row + 1
        self._put(0, row, record.body)
        for column, name in enumerate(FIELDS, 1):
            if name in CHUNK_FIELDS and (counts := record.fields[name]):
                self._put(column, row, counts)

    def _put_path(self) -> None:
        """Add the terms of the last document's path to each of its chunks."""
        n_rows = self._end_row - self._first_row
        for column, name in enumerate(FIELDS, 1):
            if name not in CHUNK_FIELDS and (counts := self._of_path.get(name)):
                terms, rows, frequencies = self._triples[column]
                terms.extend([self._vocabulary[term] for term in counts] * n_rows)
                rows.extend([row for row in range(self._first_row, self._end_row) for _ in counts])
                frequencies.extend(list(counts.values()) * n_rows)

    def _put(self, column: int, row: int, counts: Mapping[str, int]) -> None:
        terms, rows, frequencies = self._triples[column]
        terms.fromlist(list(map(self._vocabulary.__getitem__, counts)))
        rows.extend(array("i", (row,)) * len(counts))
        frequencies.fromlist(list(counts.values()))

    def arrays(self, n_chunks: int) -> dict[str, NDArray[Any]]:
        """Return the arrays of terms and postings: terms sorted by their bytes, rows ascending within a term (CSR)."""
        self._put_path()
        self._of_path = {}
        names = sorted(self._vocabulary)  # By code points, which is the order of their bytes in UTF-8.
        place = np.zeros(len(names), np.int64)
        place[[self._vocabulary[name] for name in names]] = np.arange(len(names))
        width = max(n_chunks, 1)
        keys = [place[np.array(terms, np.int32)] * width + np.array(rows, np.int32) for terms, rows, _ in self._triples]
        most = [(_TIMES - 1) * (name in ("body", *OKAPI_FIELDS)) for name in ("body", *FIELDS)]
        packed = [key * _TIMES + np.minimum(self._frequencies(n), most[n]) for n, key in enumerate(keys)]
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
            **self._fields(keys, postings, borders),
            **self._remarks(keys[1 + FIELDS.index("comment")], width, borders),
            "chunk_length": np.bincount(rows, weights=total, minlength=n_chunks).astype(np.float32),
        }

    def _fields(
        self, keys: Sequence[NDArray[np.int64]], postings: NDArray[np.int64], borders: NDArray[np.int64]
    ) -> dict[str, NDArray[Any]]:
        """Return the frequencies in the fields of names and paths, for the few postings that have any there."""
        found = distinct(np.concatenate(keys[1 : 1 + len(NAME_FIELDS)]))
        counts = np.zeros((len(NAME_FIELDS), len(found)), np.uint8)
        for column in range(len(NAME_FIELDS)):
            frequencies = np.minimum(self._frequencies(1 + column), _UINT8_MAX)
            counts[column, np.searchsorted(found, keys[1 + column])] = frequencies
        return {
            "field_start": np.searchsorted(found, borders).astype(np.uint32),
            "field_post": np.searchsorted(postings, found).astype(np.uint32),
            "field_tf": counts,
        }

    def _remarks(self, keys: NDArray[np.int64], width: int, borders: NDArray[np.int64]) -> dict[str, NDArray[Any]]:
        """Return the arrays of the postings of comments: where each term begins, rows and frequencies."""
        order = np.argsort(keys, kind="stable")
        frequencies = self._frequencies(1 + FIELDS.index("comment"))[order]
        return {
            "remark_start": np.searchsorted(keys[order], borders).astype(np.uint32),
            "remark_row": (keys[order] % width).astype(np.int32),
            "remark_tf": np.minimum(frequencies, _UINT8_MAX).astype(np.uint8),
        }

    def _frequencies(self, column: int) -> NDArray[np.int32]:
        return np.array(self._triples[column][2], np.int32)


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
        self, row: tuple[str, int, str, str], records: Sequence[ChunkRecord], inputs: Sequence[bytes] | None = None
    ) -> None:
        """Add a document.

        Args:
            row: Path, content id, kind and language of the document.
            records: The document's chunks, in order.
            inputs: Key of the vector of each chunk; worked out when None.
        """
        self._encoder.add(SegmentDocument(*row, records))
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
