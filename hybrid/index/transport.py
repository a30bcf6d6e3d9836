"""Looked-at files as bytes and back: what a worker sends to the build.

Terms are by far the most of it. A batch has one vocabulary, and each chunk numbers into it: a sixth of the time that
pickling records as they are takes.
"""

from __future__ import annotations

import pickle
from array import array
from itertools import chain
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hybrid.index.analysis import CHUNK_FIELDS, ChunkRecord
from hybrid.index.reading import Analysis, Looked
from hybrid.index.vocabulary import Vocabulary
from hybrid.types import Definition, LineSpan, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


def pack(looked: Sequence[Looked | Skipped]) -> bytes:
    """Files as bytes; the text of a document goes along only where there is no analysis."""
    vocabulary = Vocabulary()
    packed = [_packed(one, vocabulary) for one in looked]
    return pickle.dumps((list(vocabulary), packed), pickle.HIGHEST_PROTOCOL)


def unpack(data: bytes) -> Iterator[Looked | Skipped]:
    """The inverse of `pack`.

    Args:
        data: From a worker of our own; nothing else may come here.
    """
    vocabulary, packed = pickle.loads(data)
    for document, fallback, method, records, details, texts in packed:
        if records is None:
            yield document if isinstance(document, Skipped) else Looked(document, None)
            continue
        restored = [_restored_record(record, vocabulary) for record in records]
        yield Looked(document, Analysis(method, fallback, restored, details, texts))


def _packed(looked: Looked | Skipped, vocabulary: Vocabulary) -> tuple[Any, ...]:
    if isinstance(looked, Skipped):
        return looked, "", "", None, None, None
    analysis = looked.analysis
    if analysis is None:
        return looked.document, "", "", None, None, None
    records = [_packed_record(record, vocabulary) for record in analysis.records]
    document = replace(looked.document, text="")
    return document, analysis.fallback, analysis.method, records, analysis.details, analysis.texts


def _packed_record(record: ChunkRecord, vocabulary: Vocabulary) -> tuple[Any, ...]:
    return (
        record.start_line,
        record.end_line,
        record.digest,
        record.name,
        record.kind,
        record.signature,
        record.scope,
        _packed_counts(record.body, vocabulary),
        [_packed_counts(record.fields[name], vocabulary) for name in CHUNK_FIELDS],
        [
            (d.name, d.kind, d.start_line, d.end_line, d.signature, d.scope, d.depth, d.is_value)
            for d in record.definitions
        ],
        [(span.start_line, span.end_line) for span in record.comments],
        record.masked,
    )


def _restored_record(packed: Sequence[Any], vocabulary: Sequence[str]) -> ChunkRecord:
    *plain, body, fields, definitions, comments, masked = packed
    return ChunkRecord(
        *plain,
        body=_restored_counts(body, vocabulary),
        fields={name: _restored_counts(counts, vocabulary) for name, counts in zip(CHUNK_FIELDS, fields, strict=True)},
        definitions=tuple([Definition(*definition) for definition in definitions]),
        comments=tuple([LineSpan(*span) for span in comments]),
        masked=masked,
    )


def _packed_counts(counts: Mapping[str, int], vocabulary: Vocabulary) -> bytes:
    """Numbers of the terms, then their frequencies, as 32-bit integers."""
    if not counts:
        return b""
    return array("I", chain(map(vocabulary.__getitem__, counts), counts.values())).tobytes()


def _restored_counts(data: bytes, vocabulary: Sequence[str]) -> dict[str, int]:
    if not data:
        return {}
    numbers = array("I", data)
    half = len(numbers) // 2
    return dict(zip(map(vocabulary.__getitem__, numbers[:half]), numbers[half:], strict=True))
