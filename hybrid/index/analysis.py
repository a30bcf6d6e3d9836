"""What the index keeps of a chunk: digest, head line and term frequencies per field; pure, called by the build."""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from hybrid.digest import DIGEST_BYTES, chunk_digest, normalise
from hybrid.redact import REDACT_VERSION, mask, masker, redact
from hybrid.tokens import TOKENS_VERSION, term_counts
from hybrid.types import Definition, LineSpan

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hybrid.types import Chunk, ChunkLimits, Document

HEAD_NAMES = 6
"""Definition names that the head line of an embedded chunk holds at most; more drown the path."""
_DIRECTORIES = 3

PATH_FIELDS = ("stem", "dir")
CHUNK_FIELDS = ("name", "scope", "value", "comment")
FIELDS = PATH_FIELDS + CHUNK_FIELDS
"""Fields kept beside the body, in the order of the columns of `post_field`."""
OKAPI_FIELDS = ("stem", "dir", "name", "scope")
"""Fields whose frequencies Okapi adds to the body's; values and comments stand in the body already."""


@dataclass(frozen=True, slots=True)
class ChunkRecord:
    """A chunk as the catalog keeps it: independent of the path of its document.

    Attributes:
        start_line: 1-based.
        end_line: Inclusive.
        digest: Of the normalised text, 16 bytes.
        name: As in `Chunk`.
        kind: As in `Chunk`.
        signature: As in `Chunk`.
        scope: As in `Chunk`.
        body: Term → frequency in the text.
        fields: For each of `CHUNK_FIELDS`: term → frequency.
        definitions: Those that start inside.
        comments: Spans inside.
    """

    start_line: int
    end_line: int
    digest: bytes
    name: str
    kind: str
    signature: str
    scope: str
    body: dict[str, int]
    fields: dict[str, dict[str, int]]
    definitions: tuple[Definition, ...]
    comments: tuple[LineSpan, ...]


def recipe(chunker_version: str, limits: ChunkLimits) -> str:
    """What a chunk depends on besides the text: when it changes, every document is chunked anew."""
    sizes = f"{limits.max_chars},{limits.merge_chars},{limits.cut_chars}"
    return f"chunker {chunker_version}; limits {sizes}; tokens {TOKENS_VERSION}; redact {REDACT_VERSION}"


def chunk_text(lines: Sequence[str], start_line: int, end_line: int) -> str:
    """The normalised text of a range of lines of a document."""
    return normalise("\n".join(lines[start_line - 1 : end_line]))


def analyse(document: Document, chunks: Sequence[Chunk], *, masked: str | None = None) -> list[ChunkRecord]:
    """The records of a document's chunks, in order.

    A secret in a file must not live on in the index, neither as a term nor in a name: secrets are looked for in the
    whole document, since a chunk may hold the middle of one. Digests alone are those of the text as it is.

    Args:
        document: With its text as it is.
        chunks: Of it.
        masked: What `mask` made of its text, when that is known.
    """
    lines = document.text.split("\n")
    masked = mask(document.text) if masked is None else masked
    is_clean = masked == document.text
    shown = lines if is_clean else masked.split("\n")
    clean = cache(masker("" if is_clean else document.text))
    return [_record(chunk, lines, shown, clean) for chunk in chunks]


def _record(chunk: Chunk, lines: list[str], shown: list[str], clean: Callable[[str], str]) -> ChunkRecord:
    text = chunk_text(lines, chunk.start_line, chunk.end_line)
    body = text if shown is lines else chunk_text(shown, chunk.start_line, chunk.end_line)
    remarks = "\n".join("\n".join(shown[span.start_line - 1 : span.end_line]) for span in chunk.comments)
    definitions = tuple(_without_secrets(definition, clean) for definition in chunk.definitions)
    scope = clean(chunk.scope)
    return ChunkRecord(
        start_line=chunk.start_line,
        end_line=chunk.end_line,
        digest=chunk_digest(text),
        name=clean(chunk.name),
        kind=chunk.kind,
        signature=clean(chunk.signature),
        scope=scope,
        body=term_counts(body),
        fields={
            "name": term_counts(" ".join(d.name for d in definitions if not d.is_value)),
            "scope": term_counts(scope),
            "value": term_counts(" ".join(d.name for d in definitions if d.is_value)),
            "comment": term_counts(remarks),
        },
        definitions=definitions,
        comments=chunk.comments,
    )


def _without_secrets(definition: Definition, clean: Callable[[str], str]) -> Definition:
    """A definition as it may be kept; it is the same object when there is nothing to hide."""
    name, signature, scope = clean(definition.name), clean(definition.signature), clean(definition.scope)
    if (name, signature, scope) == (definition.name, definition.signature, definition.scope):
        return definition
    return replace(definition, name=name, signature=signature, scope=scope)


def path_terms(path: str) -> dict[str, dict[str, int]]:
    """For each of `PATH_FIELDS`: term → frequency; the file's name without suffix, and its last three folders."""
    *folders, name = _shown_path(path).split("/")
    stem, dot, _ = name.rpartition(".")
    return {"stem": term_counts(stem if dot and stem else name), "dir": term_counts(" ".join(folders[-_DIRECTORIES:]))}


def head_line(path: str, scope: str, definitions: Sequence[Definition]) -> str:
    """The first line of what is embedded: path, scope and at most six names."""
    names = [d.name for d in definitions if not d.is_value][:HEAD_NAMES]
    return " ".join(part for part in (_shown_path(path), scope, *names) if part)


@lru_cache(maxsize=64)
def _shown_path(path: str) -> str:
    """A path without secrets; kept because the chunks of a document ask for it one after the other."""
    return redact(path)


def input_key(head: str, digest: bytes) -> bytes:
    """Key of a vector within a model: 16 bytes of the SHA-256 of head line and chunk digest."""
    material = head.encode("utf-8", "surrogatepass") + b"\0" + digest
    return hashlib.sha256(material).digest()[:DIGEST_BYTES]


def encode_detail(record: ChunkRecord) -> bytes:
    """The parts of a record that SQL never asks for, as compressed JSON."""
    detail = {
        "body": [list(record.body), list(record.body.values())],
        "fields": record.fields,
        "definitions": [
            [d.name, d.kind, d.start_line, d.end_line, d.signature, d.scope, d.depth, d.is_value]
            for d in record.definitions
        ],
        "comments": [[span.start_line, span.end_line] for span in record.comments],
    }
    return zlib.compress(json.dumps(detail, separators=(",", ":"), ensure_ascii=True).encode(), 1)


def decode_record(row: Sequence[Any]) -> ChunkRecord:
    """A record from (start_line, end_line, digest, name, kind, signature, scope, detail) of the catalog."""
    start_line, end_line, digest, name, kind, signature, scope, blob = row
    detail = json.loads(zlib.decompress(blob))
    terms, counts = detail["body"]
    return ChunkRecord(
        start_line=start_line,
        end_line=end_line,
        digest=digest,
        name=name,
        kind=kind,
        signature=signature,
        scope=scope,
        body=dict(zip(terms, counts, strict=True)),
        fields=detail["fields"],
        definitions=tuple(Definition(*entry) for entry in detail["definitions"]),
        comments=tuple(LineSpan(*span) for span in detail["comments"]),
    )
