"""A segment: the immutable arrays of some documents, encoded for disk and opened through a memory map.

`index/README.md` lists every array with its type and meaning.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.arrays import pack_strings, read_arrays, unpack_string, unpack_strings
from hybrid.index.analysis import CHUNK_FIELDS, FIELDS, OKAPI_FIELDS, path_terms
from hybrid.types import Definition

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.index.analysis import ChunkRecord
    from hybrid.index.catalog import StoredVectors

DOCUMENT_KINDS = ("code", "doc")
_STRINGS = ("doc_path", "chunk_name", "chunk_kind", "chunk_signature", "chunk_scope", "term", "def_name", "def_scope")
_UINT8_MAX = 255
_UINT16_MAX = 65_535


@dataclass(frozen=True, slots=True)
class SegmentDocument:
    """One document that goes into a segment: where it is, and its chunks with their vectors."""

    path: str
    content_id: int
    kind: str
    language: str
    records: Sequence[ChunkRecord]


# --- encoding ----------------------------------------------------------------------------------------------


def encode_segment(documents: Sequence[SegmentDocument], vectors: StoredVectors) -> dict[str, NDArray[Any]]:
    """The arrays of a segment.

    Args:
        documents: In order of path.
        vectors: One row per chunk, in the order of the documents' records.
    """
    records = [record for document in documents for record in document.records]
    arrays: dict[str, NDArray[Any]] = {}
    arrays |= _document_arrays(documents)
    arrays |= _chunk_arrays(documents, records)
    arrays |= _definition_arrays(records)
    arrays |= _posting_arrays(documents)
    arrays |= {
        "vector": vectors.data,
        "vector_scale": vectors.scale,
        "chunk_is_cut": vectors.is_cut.astype(np.uint8),
        "chunk_hub": np.zeros(len(records), np.float32),
    }
    arrays |= _centroid_arrays(arrays["chunk_doc"], len(documents), vectors)
    return arrays


def _strings(name: str, values: list[str]) -> dict[str, NDArray[Any]]:
    blob, offsets = pack_strings(values)
    return {f"{name}_text": blob, f"{name}_at": offsets}


def _document_arrays(documents: Sequence[SegmentDocument]) -> dict[str, NDArray[Any]]:
    languages = sorted({document.language for document in documents})
    number = {language: i for i, language in enumerate(languages)}
    return {
        **_strings("doc_path", [document.path for document in documents]),
        **_strings("language", languages),
        "doc_content": np.array([document.content_id for document in documents], np.int64),
        "doc_kind": np.array([DOCUMENT_KINDS.index(document.kind) for document in documents], np.uint8),
        "doc_language": np.array([number[document.language] for document in documents], np.uint16),
    }


def _chunk_arrays(documents: Sequence[SegmentDocument], records: list[ChunkRecord]) -> dict[str, NDArray[Any]]:
    owners = [row for row, document in enumerate(documents) for _ in document.records]
    return {
        "chunk_doc": np.array(owners, np.int32),
        "chunk_start": np.array([record.start_line for record in records], np.int32),
        "chunk_end": np.array([record.end_line for record in records], np.int32),
        "chunk_digest": np.frombuffer(b"".join(r.digest for r in records), np.uint8).reshape(len(records), -1)
        if records
        else np.zeros((0, 16), np.uint8),
        **_strings("chunk_name", [record.name for record in records]),
        **_strings("chunk_kind", [record.kind for record in records]),
        **_strings("chunk_signature", [record.signature for record in records]),
        **_strings("chunk_scope", [record.scope for record in records]),
    }


def _definition_arrays(records: list[ChunkRecord]) -> dict[str, NDArray[Any]]:
    rows = [(row, definition) for row, record in enumerate(records) for definition in record.definitions]
    kinds = sorted({definition.kind for _, definition in rows})
    number = {kind: i for i, kind in enumerate(kinds)}
    return {
        **_strings("def_name", [d.name for _, d in rows]),
        **_strings("def_scope", [d.scope for _, d in rows]),
        **_strings("def_kinds", kinds),
        "def_chunk": np.array([row for row, _ in rows], np.int32),
        "def_start": np.array([d.start_line for _, d in rows], np.int32),
        "def_end": np.array([d.end_line for _, d in rows], np.int32),
        "def_kind": np.array([number[d.kind] for _, d in rows], np.uint8),
        "def_depth": np.array([min(d.depth, _UINT8_MAX) for _, d in rows], np.uint8),
        "def_is_value": np.array([d.is_value for _, d in rows], np.uint8),
    }


def _posting_arrays(documents: Sequence[SegmentDocument]) -> dict[str, NDArray[Any]]:
    """Postings in CSR form: terms sorted, rows ascending within a term, frequencies in total and per field."""
    vocabulary: dict[str, int] = {}
    n_columns = 1 + len(FIELDS)
    columns: list[tuple[list[int], list[int], list[int]]] = [([], [], []) for _ in range(n_columns)]

    def add(column: int, row: int, counts: dict[str, int]) -> None:
        terms, rows, frequencies = columns[column]
        terms.extend([vocabulary.setdefault(term, len(vocabulary)) for term in counts])
        rows.extend([row] * len(counts))
        frequencies.extend(counts.values())

    row = 0
    for document in documents:
        of_path = path_terms(document.path)
        for record in document.records:
            add(0, row, record.body)
            for name, counts in of_path.items():
                add(1 + FIELDS.index(name), row, counts)
            for name in CHUNK_FIELDS:
                add(1 + FIELDS.index(name), row, record.fields[name])
            row += 1
    return _merge_columns(vocabulary, columns, row)


def _merge_columns(
    vocabulary: dict[str, int], columns: list[tuple[list[int], list[int], list[int]]], n_chunks: int
) -> dict[str, NDArray[Any]]:
    names = sorted(vocabulary, key=lambda term: term.encode("utf-8", "surrogatepass"))
    place = np.zeros(len(names), np.int64)
    place[[vocabulary[name] for name in names]] = np.arange(len(names))
    keys = [
        place[np.array(terms, np.int64)] * max(n_chunks, 1) + np.array(rows, np.int64) for terms, rows, _ in columns
    ]
    unique = np.unique(np.concatenate(keys)) if keys else np.zeros(0, np.int64)
    per_column = np.zeros((len(columns), len(unique)), np.int64)
    for column, (key, (_, _, frequencies)) in enumerate(zip(keys, columns, strict=True)):
        per_column[column, np.searchsorted(unique, key)] = frequencies
    okapi = per_column[0] + sum(per_column[1 + FIELDS.index(name)] for name in OKAPI_FIELDS)
    rows = (unique % max(n_chunks, 1)).astype(np.int32)
    starts = np.searchsorted(unique, np.arange(len(names) + 1, dtype=np.int64) * max(n_chunks, 1))
    lengths = np.bincount(rows, weights=okapi, minlength=n_chunks)
    return {
        **_strings("term", names),
        "term_start": starts.astype(np.uint32),
        "post_row": rows,
        "post_tf": np.minimum(okapi, _UINT16_MAX).astype(np.uint16),
        "post_field": np.minimum(per_column[1:].transpose(), _UINT8_MAX).astype(np.uint8),
        "chunk_length": lengths.astype(np.float32),
    }


def _centroid_arrays(chunk_doc: NDArray[Any], n_documents: int, vectors: StoredVectors) -> dict[str, NDArray[Any]]:
    """Mean vector of each document's chunks, made unit length: the file-level side of the dense leg."""
    dim = vectors.data.shape[1]
    total = np.zeros((n_documents, dim), np.float32)
    np.add.at(total, chunk_doc, vectors.data.astype(np.float32) * vectors.scale[:, None])
    top = np.abs(total).max(axis=1, keepdims=True) if dim and n_documents else np.zeros((n_documents, 1), np.float32)
    data = np.rint(total / np.maximum(top, 1e-12) * 127).astype(np.int8)
    length = np.sqrt((data.astype(np.float32) ** 2).sum(axis=1))
    scale = np.where(length > 0, 1 / np.maximum(length, 1e-12), 0).astype(np.float32)
    return {"doc_vector": data, "doc_vector_scale": scale}


# --- reading -----------------------------------------------------------------------------------------------


class Segment:
    """An open segment; arrays are views of the file, read when touched.

    Raises on opening:
        ValueError: The file is damaged, or its arrays disagree.
        OSError: The file is gone.
    """

    def __init__(self, path: Path, dead_documents: Sequence[int] = ()) -> None:
        arrays = read_arrays(path)
        self._arrays = arrays
        try:
            self.chunk_doc: NDArray[np.int32] = arrays["chunk_doc"]
            self.vector: NDArray[np.int8] = arrays["vector"]
            self.vector_scale: NDArray[np.float32] = arrays["vector_scale"]
            self.chunk_length: NDArray[np.float32] = arrays["chunk_length"]
            self.term_start: NDArray[np.uint32] = arrays["term_start"]
            self.post_row: NDArray[np.int32] = arrays["post_row"]
            self.post_tf: NDArray[np.uint16] = arrays["post_tf"]
            self.doc_content: NDArray[np.int64] = arrays["doc_content"]
            self.n_chunks = len(self.chunk_doc)
            self.n_documents = len(self.doc_content)
            self._check(path)
        except (KeyError, TypeError) as error:
            raise ValueError(f"{path}: an array is missing or of another shape ({error})") from error
        dead = np.zeros(self.n_documents, np.bool_)
        dead[list(dead_documents)] = True
        self.doc_is_live: NDArray[np.bool_] = ~dead
        self.is_live: NDArray[np.bool_] | None = self.doc_is_live[self.chunk_doc] if dead.any() else None
        """Per chunk, or None when every chunk is live."""

    def _check(self, path: Path) -> None:
        terms = self._arrays["term_at"]
        consistent = (
            self.vector.shape[:1] == (self.n_chunks,)
            and len(self.vector_scale) == self.n_chunks
            and len(self.chunk_length) == self.n_chunks
            and len(self.post_row) == len(self.post_tf)
            and len(terms) == len(self.term_start)
            and (len(self.term_start) > 0 and int(self.term_start[-1]) == len(self.post_row))
            and (self.n_chunks == 0 or int(self.chunk_doc[-1]) < self.n_documents)
        )
        if not consistent:
            raise ValueError(f"{path}: arrays disagree")

    @property
    def n_live(self) -> int:
        """Chunks that are not tombstoned."""
        return self.n_chunks if self.is_live is None else int(self.is_live.sum())

    @property
    def live_length(self) -> float:
        """Sum of the lengths of the live chunks, in tokens."""
        lengths = self.chunk_length if self.is_live is None else self.chunk_length[self.is_live]
        return float(lengths.sum(dtype=np.float64))

    def array(self, name: str) -> NDArray[Any]:
        """Any array of the segment by name."""
        return self._arrays[name]

    def text(self, name: str, row: int) -> str:
        """A string of one of the string tables, for example `text("chunk_name", 3)`."""
        return unpack_string(self._arrays[f"{name}_text"], self._arrays[f"{name}_at"], row)

    def texts(self, name: str) -> list[str]:
        """Every string of a string table."""
        return unpack_strings(self._arrays[f"{name}_text"], self._arrays[f"{name}_at"])

    @cached_property
    def paths(self) -> list[str]:
        """Path of each document row, dead ones too."""
        return self.texts("doc_path")

    @cached_property
    def doc_kind(self) -> NDArray[np.uint8]:
        """Index into `DOCUMENT_KINDS` for each document."""
        return self._arrays["doc_kind"]

    def language(self, doc: int) -> str:
        """Language of a document."""
        return self.text("language", int(self._arrays["doc_language"][doc]))

    def postings(self, term: str) -> slice:
        """Where the postings of a term stand in `post_row` and `post_tf`; an empty slice when it does not occur."""
        blob, offsets = self._arrays["term_text"], self._arrays["term_at"]
        wanted = term.encode("utf-8", "surrogatepass")
        low, high = 0, len(offsets) - 1
        while low < high:
            middle = (low + high) // 2
            if blob[offsets[middle] : offsets[middle + 1]].tobytes() < wanted:
                low = middle + 1
            else:
                high = middle
        if low == len(offsets) - 1 or blob[offsets[low] : offsets[low + 1]].tobytes() != wanted:
            return slice(0, 0)
        return slice(int(self.term_start[low]), int(self.term_start[low + 1]))

    def terms_of_chunks(self) -> Iterator[dict[str, int]]:
        """Terms and frequencies of each live chunk in order, as the lexical search counts them."""
        names = self.texts("term")
        of_term = np.repeat(np.arange(len(names)), np.diff(self.term_start.astype(np.int64)))
        order = np.argsort(self.post_row, kind="stable")
        ends = np.cumsum(np.bincount(self.post_row, minlength=self.n_chunks)).tolist()
        terms, counts = of_term[order].tolist(), self.post_tf[order].tolist()
        for row, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            if self.is_live is None or self.is_live[row]:
                yield {names[terms[i]]: counts[i] for i in range(start, end)}

    def definitions(self, row: int) -> list[Definition]:
        """Definitions that start in a chunk, in order; signatures are not kept here and come empty."""
        chunks = self._arrays["def_chunk"]
        low, high = np.searchsorted(chunks, [row, row + 1])
        return [
            Definition(
                name=self.text("def_name", i),
                kind=self.text("def_kinds", int(self._arrays["def_kind"][i])),
                start_line=int(self._arrays["def_start"][i]),
                end_line=int(self._arrays["def_end"][i]),
                signature="",
                scope=self.text("def_scope", i),
                depth=int(self._arrays["def_depth"][i]),
                is_value=bool(self._arrays["def_is_value"][i]),
            )
            for i in range(int(low), int(high))
        ]

    @cached_property
    def matrix(self) -> NDArray[np.float32]:
        """The vectors before scaling as float32 (n_chunks, dim): four times the file's bytes, kept for many queries."""
        return self.vector.astype(np.float32)
