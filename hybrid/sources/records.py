"""Records of a store, and the rows of the memory, as documents of one chunk.

The title of a record is what the chunk defines, triggers are names beside it. The engine hands over what may be given
out now; a record that is missing is gone from the index at the next build. A row of the memory lies at `o42/KEY`: what
changed is named by its number alone, and what belongs to a project by its key, so that a part can be read alone.
"""

from __future__ import annotations

import hashlib
import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from hybrid.records.memory.types import MEMORY_KINDS, kind_of, parse_name, record_of, row_name
from hybrid.types import Chunk, Chunked, Definition, Document, FileStamp, Found, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import MemoryKind, Row
    from hybrid.records.types import Record
    from hybrid.types import ChunkLimits


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

    skipped: Mapping[str, int] = MappingProxyType({})
    """Empty: no record is left out."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.by_path = _numbered(records)
        """Path of a document → record; the path is the record's id, for a second one with this id `ID~2`."""

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


MEMORY_VERSION = "memory 2"
"""Changes when the same row becomes another chunk."""


def path_at(kind: MemoryKind, number: int, key: str) -> str:
    """Return the path in the index of a row, by its kind, its number and the key of its project: `o42/KEY`."""
    return f"{row_name(kind, number)}/{key}"


def path_of(row: Row) -> str:
    """Return the path of a row in the index, `o42/KEY`."""
    return path_at(kind_of(row), row.id, row.owner.key)


def project_glob(key: str) -> str:
    """Return the glob that matches the paths of all rows of a project."""
    return f"*/{key}"


class MemorySource:
    """The rows of a store; fulfils `hybrid.types.Source`.

    Args:
        store: The store of the memory.
        key: Only this project's rows; empty for those of all.
    """

    skipped: Mapping[str, int] = MappingProxyType({})
    """Empty: no row is left out."""

    def __init__(self, store: MemoryStore, key: str = "") -> None:
        self._store = store
        self._key = key
        self._read: dict[str, Row] = {}

    def scan(self) -> Iterator[Found]:
        """Yield every row, observations first."""
        for kind in MEMORY_KINDS:
            for row in self._store.all_rows(kind):
                if not self._key or row.owner.key == self._key:
                    yield _found(row)

    def scan_part(self, paths: Sequence[str]) -> list[Found]:
        """Return those rows with these names (`o42`) that are there; for `hybrid.index.build.Part`."""
        found: list[Found] = []
        for kind in MEMORY_KINDS:
            names = [name for path in paths if (name := parse_name(path.partition("/")[0])) and name[0] == kind]
            for row in self._store.rows(kind, [number for _, number in names]).values():
                if not self._key or row.owner.key == self._key:
                    self._read[path_of(row)] = row
                    found.append(_found(row))
        return sorted(found, key=lambda one: one.path)

    def read(self, found: Found) -> Document | Skipped:
        """Return a row as text: title, then everything else."""
        row = self._read.pop(found.path, None) or row_at(self._store, found.path)
        if row is None:
            return Skipped(found.path, "vanished")
        record = record_of(row)
        text = record_text(record)
        return Document(found.path, record.kind, "text", text, hashlib.sha256(text.encode("utf-8")).digest())

    def chunk(self, document: Document, _limits: ChunkLimits) -> Chunked:
        """Return the row as one chunk (`one_chunk`) that is named by the title of the row and defines it."""
        title = document.text.split("\n", 1)[0]
        return one_chunk(document, title, [title])


def row_at(store: MemoryStore, path: str) -> Row | None:
    """Return the row at a path of the index; None when it is gone."""
    return rows_at(store, [path]).get(path)


def rows_at(store: MemoryStore, paths: Iterable[str]) -> dict[str, Row]:
    """Return path of the index → row, without rows that are gone."""
    numbers: dict[MemoryKind, list[int]] = {}
    for path in paths:
        name = parse_name(path.partition("/")[0])
        if name is not None:
            numbers.setdefault(name[0], []).append(name[1])
    rows = [row for kind, row_numbers in numbers.items() for row in store.rows(kind, row_numbers).values()]
    return {path_of(row): row for row in rows}


def _found(row: Row) -> Found:
    return found_as(path_of(row), record_text(record_of(row)))
