"""Records of a store as documents of one chunk: the title is what the chunk defines, triggers are names beside it.

The engine hands over what may be given out now; a record that is missing is gone from the index at the next build.
"""

from __future__ import annotations

import hashlib
import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from hybrid.types import Chunk, Chunked, Definition, Document, FileStamp, Found

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hybrid.records.types import Record
    from hybrid.types import ChunkLimits, Skipped

RECORDS_VERSION = "record 1"
"""Changes when the same record becomes another chunk."""

_OF_MEMORY = re.compile(r"[os][0-9]+/[0-9a-f]{16}")
"""A path of a row of the memory in the index: `o42/KEY`."""

_STAMP_BYTES = 7
"""Bytes of a record's digest that stand in its stamp in place of a time in nanoseconds."""


class RecordSource:
    """Some records; fulfils `hybrid.types.Source`.

    Args:
        records: In any order. Of several with one id each is a document, in the order given.
    """

    def __init__(self, records: Sequence[Record]) -> None:
        self.by_path = _numbered(records)
        """Path of a document → record; the path is the record's id, for a second one with this id `ID~2`."""

    @property
    def skipped(self) -> Mapping[str, int]:
        """An empty mapping: no record is left out."""
        return MappingProxyType({})

    def scan(self) -> Iterator[Found]:
        """Yield every record, in order of path; its stamp is made of all that is indexed of it."""
        for path in sorted(self.by_path):
            record = self.by_path[path]
            yield found_as(path, "\0".join((record.kind, record.name, record.text, *record.triggers)))

    def read(self, found: Found) -> Document | Skipped:
        """Return a record as text: title, then everything else."""
        record = self.by_path[found.path]
        text = record_text(record)
        digest = hashlib.sha256("\0".join((text, *record.triggers)).encode("utf-8", "surrogatepass")).digest()
        return Document(found.path, record.kind, "text", text, digest)

    def chunk(self, document: Document, _limits: ChunkLimits) -> Chunked:
        """Return the record as one chunk (`one_chunk`) that defines its title and its triggers."""
        record = self.by_path[document.path]
        names = [" ".join(name.split()) for name in (record.name, *record.triggers) if name.strip()]
        return one_chunk(document, record.name, names)


def found_as(path: str, material: str) -> Found:
    """Return a record to be read, with a stamp that is another for other material: its length and its digest."""
    data = material.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(data).digest()
    return Found(path, FileStamp(len(data), int.from_bytes(digest[:_STAMP_BYTES], "big")))


def one_chunk(document: Document, name: str, defined: Iterable[str]) -> Chunked:
    """Return a record as one chunk with a name, whatever its length; no chunk for a blank text.

    Args:
        document: The record.
        name: Name of the chunk.
        defined: The names that the chunk defines, each a heading in its first line.
    """
    if not document.text.strip():
        return Chunked((), "record")
    definitions = tuple(Definition(one, "heading", 1, 1, "", "", 0, False) for one in defined)
    n_lines = document.text.count("\n") + 1
    return Chunked((Chunk(1, n_lines, name=name, kind=document.kind, definitions=definitions),), "record")


def record_text(record: Record) -> str:
    """Return the text by which a record is searched: its title on one line, then everything else."""
    return "\n".join(part for part in (" ".join(record.name.split()), record.text) if part.strip())


def record_id(path: str) -> str:
    """Return the id of the record at a path of the index."""
    if _OF_MEMORY.fullmatch(path):
        return path.partition("/")[0]
    identity, mark, number = path.rpartition("~")
    return identity if mark and identity and number.isdecimal() else path


def _numbered(records: Sequence[Record]) -> dict[str, Record]:
    by_path: dict[str, Record] = {}
    for record in records:
        path, number = record.id, 1
        while path in by_path:
            number += 1
            path = f"{record.id}~{number}"
        by_path[path] = record
    return by_path
