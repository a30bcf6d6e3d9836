"""Rows and expressions of a team's store in Milvus: what `milvus` writes, and asks with."""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_PART_CHARS = 60_000
"""Characters of a part of a blob: Milvus takes texts of 65,535 bytes."""
PATH_BYTES = 1_024
_ROWS = 500
_BATCH_BYTES = 8_000_000
"""Rows, and bytes of their texts, that one call writes: a server takes messages of 64 MB, a proxy before it less."""
_IDS = 500
"""Ids that one call asks for, or deletes."""


def blob_rows(
    repository: str, kind: str, name: str, data: bytes, *, path: str = "", n_chunks: int = 0, at_s: int = 0
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a blob, the first one last: who finds that one finds all."""
    text = base64.b85encode(data).decode()
    parts = [text[at : at + _PART_CHARS] for at in range(0, len(text), _PART_CHARS)] or [""]
    for part in reversed(range(len(parts))):
        yield {
            "id": blob_id(repository, kind, name, part),
            "repository": repository,
            "kind": kind,
            "name": name,
            "path": clipped(path),
            "part": part,
            "n_parts": len(parts),
            "n_chunks": n_chunks,
            "at_s": at_s,
            "payload": parts[part],
            "vector": [1.0, 0.0],
        }


def blob_id(repository: str, kind: str, name: str, part: int) -> str:
    """Return the id of a part of a blob: hexadecimal, so that ids can be listed letter by letter."""
    name = name if kind == "file" else hashlib.sha256(f"{repository}\0{kind}\0{name}".encode()).hexdigest()[:32]
    return f"{name}{part:08x}"


def newest_first(generations: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return generations, commit and time, in the order of their pushes, the last first; equal times by commit."""
    return sorted(generations, key=lambda one: (-one[1], one[0]))


def clipped(path: str) -> str:
    """Return a path as a store keeps it beside a row, for filters: valid UTF-8, at most `PATH_BYTES`."""
    return path.encode("utf-8", "replace")[:PATH_BYTES].decode("utf-8", "ignore")


def quoted(text: str) -> str:
    """Return a text as a string of Milvus' expressions."""
    escaped = text.encode("utf-8", "replace").decode().replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


def begins(field: str, beginning: str) -> str:
    """Return the condition that a field begins so; milvus-lite knows no escapes in the patterns of `like`."""
    low = clipped(beginning)
    return f"{field} >= {quoted(low)} and {field} < {quoted(low[:-1] + chr(ord(low[-1]) + 1))}"


def equals(field: str, text: str) -> str:
    """Return the condition that a field has this value."""
    return f"{field} == {quoted(text)}"


def one_of(field: str, texts: Iterable[str]) -> str:
    """Return the condition that a field has one of these values."""
    return f"{field} in [{', '.join(map(quoted, texts))}]"


def batches(values: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield ids in lists that one call may name."""
    for at in range(0, len(values), _IDS):
        yield values[at : at + _IDS]


def in_batches(rows: Iterable[Mapping[str, Any]]) -> Iterator[list[Mapping[str, Any]]]:
    """Yield rows in lists that one call may write."""
    batch: list[Mapping[str, Any]] = []
    size = 0
    for row in rows:
        n_bytes = 4 * len(row["vector"]) + len(row.get("words", "")) + len(row.get("payload", ""))
        if batch and (len(batch) == _ROWS or size + n_bytes > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(row)
        size += n_bytes
    if batch:
        yield batch
