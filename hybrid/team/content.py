"""What the team's store keeps of a file and of a generation, as bytes; made by `pushing`, read by whoever searches.

A file is stored by what it says: its id follows from repository, path and text, so that two pushes of one text write
the same rows, and a generation is a list of ids. Nothing of what was stored is ever changed.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from typing import TYPE_CHECKING, TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from hybrid.base.errors import IndexCorruptError
from hybrid.index.analysis import CHUNK_FIELDS, OKAPI_FIELDS, ChunkRecord, path_terms
from hybrid.index.vectors import StoredVectors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

SCHEMA = 1
"""Version of what this module writes. A store keeps each version in tables of its own, side by side."""

_MOST_BYTES = 256_000_000
"""Bytes that a payload may have when it is unpacked: what a stranger stored must not fill the memory."""
_MOST_LENGTH = 1.001
"""Length of a unit vector, rounding included: a longer one would be nearer to everything than it can be."""
_MOST_LINES = 2**31 - 1
_MOST_COUNT = 2**24
"""Lines of a file, and occurrences of a term in a chunk: what a segment has room for, sums included."""
_ID_BYTES = 16
_CHUNK_FIELDS = frozenset(CHUNK_FIELDS)
_Form = TypeVar("_Form")
_PLAIN = re.compile(r"[a-z0-9]{1,40}\Z")
_MOST_WORDS = 6_000
"""Occurrences of terms of a chunk that its text for the store's own BM25 has at most; that text is below 64 kB then."""


class StoredFile(Struct, frozen=True, array_like=True):
    """A file as the team's store keeps it.

    Attributes:
        path: Relative to the working tree.
        digest: SHA-256 of its text, as of `hybrid.types.Document`.
        kind: `code` or `doc`.
        language: Language of the file.
        records: Its chunks in order.
        data: int8 vectors of the chunks, one row after another.
        scale: float32 scale of each vector.
        is_cut: A byte for each chunk, 1 where the model read only a part.
    """

    path: str
    digest: bytes
    kind: str
    language: str
    records: tuple[ChunkRecord, ...]
    data: bytes
    scale: bytes
    is_cut: bytes

    def vectors(self, dim: int) -> StoredVectors:
        """The vectors of the chunks, zeros or of unit length; zeros for numbers that are none of such vectors."""
        n = len(self.records)
        nothing = StoredVectors(np.zeros((n, dim), np.int8), np.zeros(n, np.float32), np.zeros(n, np.bool_))
        if (len(self.data), len(self.scale), len(self.is_cut)) != (n * dim, n * 4, n):
            return nothing
        data = np.frombuffer(self.data, np.int8).reshape(n, dim)
        scale = np.frombuffer(self.scale, "<f4").astype(np.float32, copy=False)
        longest = _MOST_LENGTH / np.maximum(np.linalg.norm(data.astype(np.float32), axis=1), 1)
        if not ((scale >= 0) & (scale <= longest)).all():
            return nothing
        return StoredVectors(data, scale, np.frombuffer(self.is_cut, np.uint8) > 0)


class StoredText(Struct, frozen=True):
    """The text of a file, as a team's store keeps it where its owner chose that (`index.store_text`).

    Attributes:
        path: Relative to the working tree.
        text: Its lines with secrets masked, as many as the file has.
    """

    path: str
    text: str


class Generation(Struct, frozen=True):
    """What a repository holds at a commit.

    Attributes:
        commit: Id of the commit.
        at_s: When it was pushed, seconds since the epoch.
        files: Path → id of the file's text (`file_id`).
        figures: Figures of all of it, as `hybrid.team.figures` makes them; empty for none.
    """

    commit: str
    at_s: int
    files: Mapping[str, str]
    figures: bytes = b""


def file_id(repository: str, path: str, digest: bytes, kind: str, language: str) -> str:
    """Return the id of a file's text at a place: 32 hex digits, the same for everyone who pushes it."""
    parts = (repository.encode(), _bytes(path), digest, kind.encode(), language.encode())
    return hashlib.sha256(b"\0".join(parts)).digest()[:_ID_BYTES].hex()


def chunk_id(file: str, ordinal: int) -> str:
    """Return the id of a chunk of a file: `split_id` takes it apart."""
    return f"{file}.{ordinal}"


def split_id(chunk: str) -> tuple[str, int]:
    """Return the id of the file and the place in it of a chunk.

    Raises:
        ValueError: It is no id of a chunk.
    """
    file, _, ordinal = chunk.partition(".")
    return file, int(ordinal)


# --- as bytes ---------------------------------------------------------------------------------------------------


def encode_file(file: StoredFile) -> bytes:
    """Return a file as bytes; equal files have equal bytes."""
    return zlib.compress(msgspec.msgpack.encode(file), 6)


def decode_file(data: bytes) -> StoredFile:
    """The inverse of `encode_file`.

    Raises:
        IndexCorruptError: It is no file, or one of another make, or holds numbers that no chunk has.
    """
    file = _decoded(data, StoredFile)
    if not _is_sound(file):
        raise IndexCorruptError("the team's index holds a file with chunks that cannot be: push it again")
    return file


def _is_sound(file: StoredFile) -> bool:
    """Return whether a segment can be made of a file's records."""
    lines: list[int] = []
    counts: list[int] = []
    for record in file.records:
        if len(record.digest) != _ID_BYTES or len(record.masked) not in (0, _ID_BYTES):
            return False
        if record.fields.keys() != _CHUNK_FIELDS:
            return False
        lines += (record.start_line, record.end_line)
        counts += record.body.values()
        for field in record.fields.values():
            counts += field.values()
        for definition in record.definitions:
            lines += (definition.start_line, definition.end_line)
            if definition.depth < 0:
                return False
    return _are_between(lines, _MOST_LINES) and _are_between(counts, _MOST_COUNT)


def _are_between(numbers: Sequence[int], most: int) -> bool:
    return not numbers or (min(numbers) >= 1 and max(numbers) <= most)


def encode_text(stored: StoredText) -> bytes:
    """Return the text of a file as bytes; equal ones have equal bytes."""
    return zlib.compress(msgspec.msgpack.encode((_bytes(stored.path), _bytes(stored.text))), 6)


def decode_text(data: bytes) -> StoredText:
    """The inverse of `encode_text`.

    Raises:
        IndexCorruptError: It is none.
    """
    path, text = _decoded(data, tuple[bytes, bytes])
    try:
        return StoredText(path.decode("utf-8", "surrogatepass"), text.decode("utf-8", "surrogatepass"))
    except UnicodeError as error:
        raise IndexCorruptError(f"the team's index holds a text that is none ({error}): push it again") from error


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def encode_files(files: Mapping[str, str]) -> bytes:
    """Return the files of a generation, path → id, as bytes."""
    paths = sorted(files)
    ids = b"".join(bytes.fromhex(files[path]) for path in paths)
    names = list(map(_bytes, paths))
    return zlib.compress(msgspec.msgpack.encode((names, ids)), 6)


def decode_files(data: bytes) -> dict[str, str]:
    """The inverse of `encode_files`.

    Raises:
        IndexCorruptError: It is none.
    """
    names, ids = _decoded(data, tuple[list[bytes], bytes])
    if len(ids) != len(names) * _ID_BYTES:
        raise IndexCorruptError("the team's index names files without a text: push it again")
    found = (ids[at : at + _ID_BYTES].hex() for at in range(0, len(ids), _ID_BYTES))
    try:
        return dict(zip([name.decode("utf-8", "surrogatepass") for name in names], found, strict=True))
    except UnicodeError as error:
        raise IndexCorruptError(f"the team's index holds a path that is none ({error}): push it again") from error


def _decoded(data: bytes, form: type[_Form]) -> _Form:
    try:
        unpacking = zlib.decompressobj()
        plain = unpacking.decompress(data, _MOST_BYTES)
        if unpacking.unconsumed_tail:
            raise ValueError(f"more than {_MOST_BYTES} bytes")
        return msgspec.msgpack.decode(plain, type=form)
    except (zlib.error, msgspec.DecodeError, ValueError, RecursionError) as error:
        raise IndexCorruptError(f"the team's index holds something unreadable ({error}): push it again") from error


# --- for the store's own search ---------------------------------------------------------------------------------


def words_of(terms: Sequence[str]) -> str:
    """Return index terms as a text that every analyzer of a store takes apart in the same way: at the blanks.

    A term of small Latin letters and digits stays as it is. Others (umlauts, ideograms, very long ones) become a word
    made of their digest: an analyzer would cut them, or know a language.
    """
    return " ".join(term if _PLAIN.match(term) else f"u{_digest(term)}" for term in terms)


def _digest(term: str) -> str:
    return hashlib.sha256(term.encode("utf-8", "surrogatepass")).hexdigest()[:20]


def texts_of(file: StoredFile) -> Iterator[str]:
    """Yield for each chunk the words that the store's BM25 counts: each term as often as Okapi counts it here."""
    of_path = path_terms(file.path)
    for record in file.records:
        fields = {**record.fields, **of_path}
        words: list[str] = []
        for counts in (record.body, *(fields[name] for name in OKAPI_FIELDS)):
            for term, count in counts.items():
                words += [term] * count
        yield words_of(words[:_MOST_WORDS])


def floats_of(file: StoredFile, dim: int) -> NDArray[np.float32]:
    """Return the vectors of a file's chunks as a store searches them: unit length or zeros, shape (n_chunks, dim)."""
    vectors = file.vectors(dim)
    return vectors.data.astype(np.float32) * vectors.scale[:, np.newaxis]
