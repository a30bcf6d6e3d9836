"""The store of a team's index, whatever it is, and what it keeps: `hybrid.team` and its tests are written against this.

A store proposes candidates, by vectors and by words; scores, fusion, gate and ranking are made here from what it keeps
of the files. It holds any number of repositories, and of each some generations. A generation is a commit: a list of
files that is written when all of them can be found. So readers see a push whole or not at all, two people may push at
once, and a push that was killed goes on where it stopped. A file is stored by what it says: its id follows from
repository, path and text, so that two pushes of one text write the same rows. Nothing that was stored is ever changed.

Every call has a deadline. What a store cannot do stands in its `Capabilities`.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from typing import TYPE_CHECKING, Protocol, TypeVar

import msgspec
import numpy as np
from msgspec import Struct

from hybrid.base.errors import IndexCorruptError
from hybrid.index.analysis import CHUNK_FIELDS, OKAPI_FIELDS, ChunkRecord, path_terms
from hybrid.index.vectors import StoredVectors

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set

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
_Item = TypeVar("_Item")
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
        figures: Figures of all of it, as `hybrid.team.base` makes them; empty for none.
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


# --- the interface ----------------------------------------------------------------------------------------


class StoreKey(Struct, frozen=True):
    """What everything in a store was made by; what was made by something else is never read.

    Attributes:
        model: Key of the embedder.
        dim: Length of a vector.
        recipe: Versions and limits of chunks, tokens and the rules for secrets.
        schema: Version of what is stored of a file.
    """

    model: str
    dim: int
    recipe: str
    schema: int = SCHEMA


class Capabilities(Struct, frozen=True):
    """What a store can do.

    Attributes:
        product: Name and version, for people.
        lexical: It searches by words.
    """

    product: str
    lexical: bool


class Only(Struct, frozen=True):
    """Restricts a search before its best k are taken.

    Attributes:
        kinds: Kinds of files to keep, for example ("code",); empty for all.
        below: Beginning of the paths to keep, for example `src/`; empty for all.
    """

    kinds: tuple[str, ...] = ()
    below: str = ""


ALL = Only()


class StoredHit(Struct, frozen=True):
    """A chunk that a store found; its place in the answer is its rank.

    Attributes:
        file: Id of the file.
        ordinal: Its place among the chunks of the file, from 0.
        raw: Score of the store: a cosine, or of the lexical leg a number that only the store can compare.
    """

    file: str
    ordinal: int
    raw: float


class Held(Struct, frozen=True):
    """Figures of a repository in a store.

    Attributes:
        repository: Its name.
        generations: Commits that can be searched, the newest push first, each with the time of its push in seconds.
        n_files: Texts of files, of all generations.
        n_texts: Files of which the text itself is stored, to be shown.
    """

    repository: str
    generations: Sequence[tuple[str, int]]
    n_files: int
    n_texts: int = 0


class TeamStore(Protocol):
    """An open store.

    Raises, in every call:
        StoreDownError: It does not answer, or not in time.
        StoreNotReadyError: It answers, and cannot do this yet: what is asked for is not loaded or not there.
        BusyError: It refuses for now, having too much to do.
    """

    @property
    def key(self) -> StoreKey:
        """What all that is read and written here was made by."""
        ...

    @property
    def capabilities(self) -> Capabilities:
        """What this store can do."""
        ...

    def put(self, repository: str, files: Mapping[str, StoredFile], at_s: int, *, timeout_s: float) -> None:
        """Store some files by their ids, with the time of this push; a file is there whole or not at all."""
        ...

    def held(self, repository: str, *, timeout_s: float) -> Mapping[str, int]:
        """Return id → time of the last `put` of all files of a repository, those of no generation too, as of now."""
        ...

    def files(self, repository: str, ids: Collection[str], *, timeout_s: float) -> dict[str, StoredFile]:
        """Return id → file of some files; those that are not there are left out."""
        ...

    def commit(self, repository: str, generation: Generation, *, timeout_s: float) -> None:
        """Make a generation known; one of the same commit is replaced. All its files must be there."""
        ...

    def generations(self, repository: str, *, timeout_s: float) -> Sequence[tuple[str, int]]:
        """Return the commits of a repository, the newest push first, each with the time of its push in seconds."""
        ...

    def generation(self, repository: str, commit: str, *, timeout_s: float) -> Generation:
        """Return a generation.

        Raises:
            StoreNotReadyError: There is none of this commit.
        """
        ...

    def forget(self, repository: str, commit: str, *, timeout_s: float) -> None:
        """Delete a generation; its files stay until they are removed."""
        ...

    def remove(self, repository: str, ids: Collection[str], *, timeout_s: float) -> None:
        """Delete some files with their texts, in whatever generations they are."""
        ...

    def remove_path(self, repository: str, path: str, *, timeout_s: float) -> None:
        """Delete every file that a path ever was, with its texts, in whatever generations it is."""
        ...

    def put_texts(self, repository: str, texts: Mapping[str, StoredText], *, timeout_s: float) -> None:
        """Store the texts of some files by the files' ids; secrets were masked before."""
        ...

    def texts(self, repository: str, ids: Collection[str], *, timeout_s: float) -> dict[str, StoredText]:
        """Return id → text of some files; those without a text are left out."""
        ...

    def with_text(self, repository: str, *, timeout_s: float) -> Set[str]:
        """Return the ids of all files of a repository of which the text is stored, as of now."""
        ...

    def remove_texts(self, repository: str, ids: Collection[str] | None = None, *, timeout_s: float) -> None:
        """Delete the texts of some files, with None all of a repository, also halves of a killed push; files stay."""
        ...

    def wait_visible(self, repository: str, ids: Collection[str], *, timeout_s: float) -> None:
        """Return once searches find all of these files; those without a chunk are found by `files` alone.

        Raises:
            StoreDownError: It does not come to that in time.
        """
        ...

    def dense(
        self, repository: str, vectors: NDArray[np.float32], k: int, only: Only = ALL, *, timeout_s: float
    ) -> list[list[StoredHit]]:
        """Return for each of some unit vectors the k nearest chunks of a repository, of any generation, best first.

        A vector of zeros finds nothing. `StoredHit.raw` is the cosine.
        """
        ...

    def lexical(
        self, repository: str, queries: Sequence[Sequence[str]], k: int, only: Only = ALL, *, timeout_s: float
    ) -> list[list[StoredHit]]:
        """Return for each of some lists of index terms the k best chunks by words, best first.

        A query without terms finds nothing. Only for a store that is `Capabilities.lexical`.
        """
        ...

    def latest(self, *, timeout_s: float) -> Mapping[str, str]:
        """Return repository → commit that was pushed last, of all repositories, in the order of their names."""
        ...

    def repositories(self, *, timeout_s: float) -> Sequence[Held]:
        """Return what is stored, repository by repository, in the order of their names."""
        ...

    def drop(self, repository: str | None = None, *, timeout_s: float) -> None:
        """Delete all of a repository; with None the whole store, what was made by other keys too."""
        ...

    def close(self) -> None:
        """Close the connection; no call may follow."""
        ...


def in_batches(
    items: Iterable[_Item], size_of: Callable[[_Item], int], *, most: int, most_size: int
) -> Iterator[list[_Item]]:
    """Yield items in lists for one call each, which end with the item that reaches a number or a size of all."""
    batch: list[_Item] = []
    size = 0
    for item in items:
        batch.append(item)
        size += size_of(item)
        if len(batch) == most or size >= most_size:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


_HIDDEN = re.compile(r"\A([a-z][a-z0-9+.-]*://)?.*@", re.IGNORECASE | re.DOTALL)


def shown_uri(uri: str) -> str:
    """Return an address for messages, without user, password and query, which it should not have."""
    return re.split("[?#]", _HIDDEN.sub(r"\1", uri), maxsplit=1)[0]
