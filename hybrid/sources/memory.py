"""The rows of the memory as documents of one chunk, filed by their number and project so that a part can be read alone.

A document lies at `o42/KEY`: what changed is named by its number alone, and what belongs to a project by its key.
"""

from __future__ import annotations

import hashlib
from types import MappingProxyType
from typing import TYPE_CHECKING

from hybrid.records.memory.types import MEMORY_KINDS, kind_of, parse_name, record_of, row_name
from hybrid.sources.records import found_as, one_chunk, record_text
from hybrid.types import Document, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from hybrid.records.memory.store import MemoryStore
    from hybrid.records.memory.types import MemoryKind, Row
    from hybrid.types import Chunked, ChunkLimits, Found

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

    def __init__(self, store: MemoryStore, key: str = "") -> None:
        self._store = store
        self._key = key
        self._read: dict[str, Row] = {}

    @property
    def skipped(self) -> Mapping[str, int]:
        """An empty mapping: no row is left out."""
        return MappingProxyType({})

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
