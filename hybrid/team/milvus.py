"""A team's store in Milvus, 2.5 or later, with its address; the one module that knows pymilvus.

That is imported when a store is opened.

Each version of what is stored (`StoreKey`) has two collections of its own, `NAME_VERSION_chunks` and
`NAME_VERSION_blobs`: the chunks with what Milvus searches them by, and in parts of 60 kB the files, their texts where
the owner stores them, generations and the note of what the collections were made by. Repositories are partition keys in
both.

Milvus differs by release; `_Server` holds what was found out about it:

- before 2.5 there is no search by words, so that such a server is refused; the tests open one knowingly;
- before 2.3.10 an upsert chooses the wrong partition: rows are deleted and inserted there;
- milvus-lite 2.x cannot filter in a collection with a partition key, and does not tell its version;
- the sign of a score by words differs; only the order of an answer counts.
"""

from __future__ import annotations

import base64
import hashlib
import itertools
import json
import logging
import os
import re
import time
from collections import Counter
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock
from urllib.parse import urlsplit

from msgspec import Struct
from msgspec.structs import asdict

from hybrid.base.errors import (
    BusyError,
    ConfigError,
    HybridError,
    IndexMismatchError,
    StoreDownError,
    StoreNotReadyError,
)
from hybrid.base.lasting import how_to_add
from hybrid.team.store import (
    ALL,
    Capabilities,
    Generation,
    Held,
    Only,
    StoredHit,
    chunk_id,
    decode_file,
    decode_files,
    decode_text,
    encode_file,
    encode_files,
    encode_text,
    floats_of,
    in_batches,
    shown_uri,
    split_id,
    texts_of,
    words_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence, Set

    import numpy as np
    from numpy.typing import NDArray

    from hybrid.team.store import StoredFile, StoredText, StoreKey


_PART_CHARS = 60_000
"""Characters of a part of a blob: Milvus takes texts of 65,535 bytes."""
_PATH_BYTES = 1_024
_ROWS = 500
_BATCH_BYTES = 8_000_000
"""Rows, and bytes of their texts, that one call writes: a server takes messages of 64 MB, a proxy before it less."""
_IDS = 500
"""Ids that one call asks for, or deletes."""


def _blob_rows(
    repository: str, kind: str, name: str, data: bytes, *, path: str = "", n_chunks: int = 0, at_s: int = 0
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a blob, the first one last: who finds that one finds all."""
    text = base64.b85encode(data).decode()
    parts = [text[at : at + _PART_CHARS] for at in range(0, len(text), _PART_CHARS)] or [""]
    for part in reversed(range(len(parts))):
        yield {
            "id": _blob_id(repository, kind, name, part),
            "repository": repository,
            "kind": kind,
            "name": name,
            "path": _clipped(path),
            "part": part,
            "n_parts": len(parts),
            "n_chunks": n_chunks,
            "at_s": at_s,
            "payload": parts[part],
            "vector": [1.0, 0.0],
        }


def _blob_id(repository: str, kind: str, name: str, part: int) -> str:
    """Return the id of a part of a blob: hexadecimal, so that ids can be listed letter by letter."""
    name = name if kind == "file" else hashlib.sha256(f"{repository}\0{kind}\0{name}".encode()).hexdigest()[:32]
    return f"{name}{part:08x}"


def _newest_first(generations: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return generations, commit and time, in the order of their pushes, the last first; equal times by commit."""
    return sorted(generations, key=lambda one: (-one[1], one[0]))


def _clipped(path: str) -> str:
    """Return a path as a store keeps it beside a row, for filters: valid UTF-8, at most `_PATH_BYTES`."""
    return path.encode("utf-8", "replace")[:_PATH_BYTES].decode("utf-8", "ignore")


def _quoted(text: str) -> str:
    """Return a text as a string of Milvus' expressions."""
    escaped = text.encode("utf-8", "replace").decode().replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t") + '"'


def _begins(field: str, beginning: str) -> str:
    """Return the condition that a field begins so; milvus-lite knows no escapes in the patterns of `like`."""
    low = _clipped(beginning)
    return f"{field} >= {_quoted(low)} and {field} < {_quoted(low[:-1] + chr(ord(low[-1]) + 1))}"


def _equals(field: str, text: str) -> str:
    """Return the condition that a field has this value."""
    return f"{field} == {_quoted(text)}"


def _one_of(field: str, texts: Iterable[str]) -> str:
    """Return the condition that a field has one of these values."""
    return f"{field} in [{', '.join(map(_quoted, texts))}]"


def _batches(values: Sequence[str]) -> Iterator[Sequence[str]]:
    """Yield ids in lists that one call may name."""
    for at in range(0, len(values), _IDS):
        yield values[at : at + _IDS]


def _size_of(row: Mapping[str, Any]) -> int:
    return 4 * len(row["vector"]) + len(row.get("words", "")) + len(row.get("payload", ""))


LEAST_VERSION: tuple[int, ...] = (2, 5, 0)
"""The first Milvus that searches by words."""
_LEAST_UPSERT = (2, 3, 10)
_PAGE = 10_000
_LOOK_AGAIN_S = 0.2
_BUSY = frozenset({3, 4, 8, 9})
_NOT_READY = frozenset({1, 100, 101, 103})
_OF_FILES = 'kind in ["file", "text"]'
_OF_TEXTS = 'kind == "text"'

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_NAME = re.compile(r"[A-Za-z_]\w{0,99}\Z", re.ASCII)


class Address(Struct, frozen=True):
    """The address of a store.

    Attributes:
        uri: With scheme, as pymilvus takes it.
        collection: Beginning of the names of the collections.
        token: `user:password` or a key; empty for none. It stands in no message and no log.
    """

    uri: str
    collection: str
    token: str = ""


def address_of(uri: str, collection: str, token: str) -> Address:
    """Return the address that settings name: without a scheme TLS is used, but for this machine.

    Raises:
        ConfigError: The uri or the name is none, or it would send everything across the network in the open.
    """
    if not _NAME.match(collection):
        raise ConfigError(f"index.collection {collection!r} is no name of a collection: use letters, digits and _")
    given = uri if "://" in uri else f"//{uri}"
    try:
        parts = urlsplit(given)
        host, port = parts.hostname or "", parts.port
    except ValueError:
        # The message of the library repeats what stands before the @.
        raise ConfigError(f"index.uri {shown_uri(uri)!r} is no address of a store: use https://HOST:PORT") from None
    is_near = host in _LOOPBACK
    scheme = parts.scheme or ("http" if is_near else "https")
    if not host or scheme not in ("http", "https") or parts.username or parts.query:
        raise ConfigError(f"index.uri {shown_uri(uri)!r} is no address of a store: use https://HOST:PORT")
    if scheme == "http" and not is_near:
        raise ConfigError(f"index.uri would send code to {host} in the open: use https://, or a tunnel to 127.0.0.1")
    shown = f"[{host}]" if ":" in host else host
    return Address(f"{scheme}://{shown}:{port or 19530}{parts.path}", collection, token)


class _Server(Struct, frozen=True):
    """A Milvus, and how it must be used.

    Attributes:
        name: As it calls itself.
        version: Its release; (2, 4, 0) for a milvus-lite that does not tell it.
        has_words: It searches by words.
    """

    name: str
    version: tuple[int, ...]
    has_words: bool
    has_partition_key: bool
    has_upsert: bool


def open_milvus(
    address: Address, key: StoreKey, *, timeout_s: float, makes: bool = False, least: tuple[int, ...] = LEAST_VERSION
) -> MilvusStore:
    """Connect to a Milvus and open what it holds of a key.

    Args:
        address: Where it is.
        key: What the rows must have been made by.
        timeout_s: Seconds until it must have answered.
        makes: Make the collections if they are not there; who only searches never writes.
        least: The oldest release that is accepted.

    Raises:
        ConfigError: pymilvus is not installed.
        StoreDownError: It does not answer in time, or refuses.
        StoreNotReadyError: There is nothing of this name yet.
        IndexMismatchError: It is too old, or holds only what other versions of hybrid or another model made.
    """
    ends_s = time.monotonic() + timeout_s
    library = _library()
    with _told(address):
        client = library.MilvusClient(uri=address.uri, token=address.token, timeout=timeout_s)
    try:
        with _told(address):
            server = _server(client, max(ends_s - time.monotonic(), 0.01))
        if server.version < least:
            needed = ".".join(map(str, least[:2]))
            raise IndexMismatchError(f"the store is {server.name}: it needs Milvus {needed} or later")
        store = MilvusStore(client, library, address, key, server)
        store.prepare(makes=makes, timeout_s=max(ends_s - time.monotonic(), 0.01))
    except BaseException:
        client.close()
        raise
    return store


def _library() -> Any:
    """Import pymilvus, quietly: it reads `.env` files and logs whole calls unless it is told not to.

    Raises:
        ConfigError: It is not installed.
    """
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # It writes to standard error, past Python.
    try:
        with mock.patch.dict(os.environ, {"PYTHON_DOTENV_DISABLED": "1"}):
            import pymilvus  # pyright: ignore[reportMissingImports] - an extra
    except ImportError as error:
        raise ConfigError(f"index.backend is milvus: `{how_to_add('milvus')}` ({error})") from error
    logging.getLogger("pymilvus").setLevel(logging.CRITICAL + 1)
    return pymilvus


def _server(client: Any, timeout_s: float) -> _Server:
    try:
        name = str(client.get_server_version(timeout=timeout_s))
    except Exception as error:  # A milvus-lite of 2.x does not know the question; grpc has no type to ask for here.
        if getattr(getattr(error, "code", lambda: None)(), "name", "") != "UNIMPLEMENTED":
            raise
        return _Server("milvus-lite 2.x", LEAST_VERSION, has_words=True, has_partition_key=False, has_upsert=True)
    found = re.search(r"(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?", name)
    version: tuple[int, ...] = tuple(int(part or 0) for part in found.groups()) if found else LEAST_VERSION
    return _Server(f"Milvus {name}", version, version >= LEAST_VERSION, True, version >= _LEAST_UPSERT)


class MilvusStore:
    """Fulfils `hybrid.team.store.TeamStore`; `open_milvus` makes one."""

    def __init__(self, client: Any, library: Any, address: Address, key: StoreKey, server: _Server) -> None:
        self._client = client
        self._library = library
        self._address = address
        self.key = key
        self._server = server
        self.capabilities = Capabilities(server.name, server.has_words)
        note = json.dumps(asdict(key), sort_keys=True)
        self._beginning = f"{address.collection}_{key.schema}_{hashlib.sha256(note.encode()).hexdigest()[:10]}"
        self._note = note
        self._chunks, self._blobs = f"{self._beginning}_chunks", f"{self._beginning}_blobs"

    # --- opening -------------------------------------------------------------------------------------------

    def prepare(self, *, makes: bool, timeout_s: float) -> None:
        """Find the collections of the key, or make them; have them loaded."""
        ends_s = time.monotonic() + timeout_s
        there = self._tables(ends_s)
        if makes and self._blobs not in there:
            for table in (self._chunks, self._blobs):
                if table not in there:
                    self._make_or_find(table, ends_s)
            # The note comes last: a store without one was not made whole, and is made again.
            self._put_blob("", "note", "", self._note.encode(), ends_s)
        elif self._blobs not in there:
            if any(table.startswith(f"{self._address.collection}_") and table.endswith("_blobs") for table in there):
                raise IndexMismatchError(
                    f"{self._address.collection} was pushed by another hybrid, or with another model, than "
                    f"{self.key.model}: push it with this one; both can stay"
                )
            raise StoreNotReadyError(f"the store has no {self._address.collection} yet: `hybrid index push` makes it")
        for table in (self._chunks, self._blobs):
            self._call(self._client.load_collection, ends_s, collection_name=table)
        found = self._blobs_of("", "note", [""], ends_s, "Strong")
        if found.get("") != self._note.encode():
            raise IndexMismatchError(f"{self._blobs} does not say what it was made by: `hybrid index drop`, and push")

    def _tables(self, ends_s: float) -> set[str]:
        return set(self._call(self._client.list_collections, ends_s))

    def _make_or_find(self, table: str, ends_s: float) -> None:
        """Make a collection; another first push may make it at the same time, and both have it then."""
        try:
            self._make(table, ends_s)
        except StoreNotReadyError:
            if table not in self._tables(ends_s):
                raise

    def _make(self, table: str, ends_s: float) -> None:
        kind = self._library.DataType
        schema = self._client.create_schema(auto_id=False, enable_dynamic_field=False)
        schema.add_field("id", kind.VARCHAR, is_primary=True, max_length=200)
        is_key = {"is_partition_key": True} if self._server.has_partition_key else {}
        schema.add_field("repository", kind.VARCHAR, max_length=300, **is_key)
        schema.add_field("kind", kind.VARCHAR, max_length=20)
        schema.add_field("path", kind.VARCHAR, max_length=_PATH_BYTES)
        indexes = self._client.prepare_index_params()
        if table == self._chunks:
            schema.add_field("vector", kind.FLOAT_VECTOR, dim=self.key.dim)
            indexes.add_index(field_name="vector", index_type="AUTOINDEX", metric_type="IP")
            if self._server.has_words:
                self._add_words(schema, indexes)
        else:
            for name in ("part", "n_parts", "n_chunks", "at_s"):
                schema.add_field(name, kind.INT64)
            schema.add_field("name", kind.VARCHAR, max_length=200)
            schema.add_field("payload", kind.VARCHAR, max_length=65_535)
            # A collection must have a vector.
            schema.add_field("vector", kind.FLOAT_VECTOR, dim=2)
            indexes.add_index(field_name="vector", index_type="FLAT", metric_type="IP")
        self._call(self._client.create_collection, ends_s, collection_name=table, schema=schema, index_params=indexes)

    def _add_words(self, schema: Any, indexes: Any) -> None:
        kind, library = self._library.DataType, self._library
        # The words come taken apart (`words_of`): this analyzer only cuts at the blanks.
        schema.add_field(
            "words", kind.VARCHAR, max_length=65_535, enable_analyzer=True, analyzer_params={"tokenizer": "standard"}
        )
        schema.add_field("by_words", kind.SPARSE_FLOAT_VECTOR)
        schema.add_function(
            library.Function(
                name="bm25",
                function_type=library.FunctionType.BM25,
                input_field_names=["words"],
                output_field_names=["by_words"],
            )
        )
        indexes.add_index(
            field_name="by_words",
            index_type="SPARSE_INVERTED_INDEX",
            metric_type="BM25",
            params={"bm25_k1": 1.5, "bm25_b": 0.75},
        )

    # --- writing -------------------------------------------------------------------------------------------

    def put(self, repository: str, files: Mapping[str, StoredFile], at_s: int, *, timeout_s: float) -> None:
        """See `TeamStore.put`; the chunks come first, so that a file that is held can be found."""
        ends_s = time.monotonic() + timeout_s
        chunks = itertools.chain.from_iterable(self._rows(repository, *entry) for entry in files.items())
        self._write(self._chunks, chunks, ends_s)
        whole = itertools.chain.from_iterable(
            _blob_rows(
                repository, "file", name, encode_file(file), path=file.path, n_chunks=len(file.records), at_s=at_s
            )
            for name, file in files.items()
        )
        self._write(self._blobs, whole, ends_s)

    def _rows(self, repository: str, name: str, file: StoredFile) -> Iterator[dict[str, Any]]:
        texts = texts_of(file) if self._server.has_words else itertools.repeat("")
        for ordinal, (vector, text) in enumerate(zip(floats_of(file, self.key.dim), texts, strict=False)):
            row = {
                "id": chunk_id(name, ordinal),
                "repository": repository,
                "kind": file.kind,
                "path": _clipped(file.path),
                "vector": vector.tolist(),
            }
            yield row | {"words": text} if self._server.has_words else row

    def _write(self, table: str, rows: Iterable[Mapping[str, Any]], ends_s: float) -> None:
        for batch in in_batches(rows, _size_of, most=_ROWS, most_size=_BATCH_BYTES):
            if self._server.has_upsert:
                self._call(self._client.upsert, ends_s, collection_name=table, data=batch)
            else:
                old = _one_of("id", [row["id"] for row in batch])
                self._call(self._client.delete, ends_s, collection_name=table, filter=old)
                self._call(self._client.insert, ends_s, collection_name=table, data=batch)

    def _put_blob(self, repository: str, kind: str, name: str, data: bytes, ends_s: float, at_s: int = 0) -> None:
        self._write(self._blobs, _blob_rows(repository, kind, name, data, at_s=at_s), ends_s)

    def commit(self, repository: str, generation: Generation, *, timeout_s: float) -> None:
        """See `TeamStore.commit`; the row of kind `generation`, which readers look for, is written last."""
        ends_s = time.monotonic() + timeout_s
        commit = generation.commit
        self._put_blob(repository, "figures", commit, generation.figures, ends_s)
        self._put_blob(repository, "list", commit, encode_files(generation.files), ends_s)
        self._put_blob(repository, "generation", commit, b"", ends_s, generation.at_s)

    def forget(self, repository: str, commit: str, *, timeout_s: float) -> None:
        """See `TeamStore.forget`; readers lose sight of it first."""
        ends_s = time.monotonic() + timeout_s
        for kind in ("generation", "list", "figures"):
            self._delete(self._blobs, repository, f"{_equals('kind', kind)} and {_equals('name', commit)}", ends_s)

    def remove(self, repository: str, ids: Collection[str], *, timeout_s: float) -> None:
        """See `TeamStore.remove`."""
        ends_s = time.monotonic() + timeout_s
        for some in _batches(sorted(ids)):
            counts = self._counts(repository, some, ends_s)
            self._delete(self._blobs, repository, f"{_OF_FILES} and {_one_of('name', some)}", ends_s)
            chunks = [chunk_id(name, ordinal) for name, n in counts.items() for ordinal in range(n)]
            for part in _batches(chunks):
                self._delete(self._chunks, repository, _one_of("id", part), ends_s)

    def remove_path(self, repository: str, path: str, *, timeout_s: float) -> None:
        """See `TeamStore.remove_path`."""
        ends_s = time.monotonic() + timeout_s
        for table in (self._blobs, self._chunks):
            self._delete(table, repository, _equals("path", _clipped(path)), ends_s)

    def put_texts(self, repository: str, texts: Mapping[str, StoredText], *, timeout_s: float) -> None:
        """See `TeamStore.put_texts`."""
        rows = (_blob_rows(repository, "text", name, encode_text(one), path=one.path) for name, one in texts.items())
        self._write(self._blobs, itertools.chain.from_iterable(rows), time.monotonic() + timeout_s)

    def remove_texts(self, repository: str, ids: Collection[str] | None = None, *, timeout_s: float) -> None:
        """See `TeamStore.remove_texts`."""
        ends_s = time.monotonic() + timeout_s
        if ids is None:
            self._delete(self._blobs, repository, _OF_TEXTS, ends_s)
            return
        for some in _batches(sorted(ids)):
            self._delete(self._blobs, repository, f"{_OF_TEXTS} and {_one_of('name', some)}", ends_s)

    def _delete(self, table: str, repository: str, condition: str, ends_s: float) -> None:
        expression = f"{_equals('repository', repository)} and {condition}"
        self._call(self._client.delete, ends_s, collection_name=table, filter=expression)

    def drop(self, repository: str | None = None, *, timeout_s: float) -> None:
        """See `TeamStore.drop`."""
        ends_s = time.monotonic() + timeout_s
        if repository is not None:
            for table in (self._blobs, self._chunks):
                self._call(self._client.delete, ends_s, collection_name=table, filter=_equals("repository", repository))
            return
        ours = re.compile(rf"{re.escape(self._address.collection)}_\d+_[0-9a-f]{{10}}_(?:chunks|blobs)\Z")
        for table in sorted(filter(ours.match, self._tables(ends_s))):
            self._call(self._client.drop_collection, ends_s, collection_name=table)

    # --- reading -------------------------------------------------------------------------------------------

    def held(self, repository: str, *, timeout_s: float) -> dict[str, int]:
        """See `TeamStore.held`."""
        return self._whole(repository, "file", timeout_s)

    def with_text(self, repository: str, *, timeout_s: float) -> Set[str]:
        """See `TeamStore.with_text`."""
        return self._whole(repository, "text", timeout_s).keys()

    def _whole(self, repository: str, kind: str, timeout_s: float) -> dict[str, int]:
        """Name → time of the blobs of a kind; one of which a part is missing is left out."""
        n_there: Counter[str] = Counter()
        found: dict[str, tuple[int, int]] = {}
        ends_s = time.monotonic() + timeout_s
        for row in self._all(repository, _equals("kind", kind), ("name", "n_parts", "at_s"), ends_s):
            found[row["name"]] = row["n_parts"], int(row["at_s"])
            n_there[row["name"]] += 1
        return {name: at_s for name, (n_parts, at_s) in found.items() if n_there[name] == n_parts}

    def _all(
        self, repository: str | None, condition: str, fields: Sequence[str], ends_s: float, beginning: str = ""
    ) -> Iterator[dict[str, Any]]:
        """Yield all blobs that a condition fits, as of now; of more than a page, by the next letter of their ids."""
        of_it = [] if repository is None else [_equals("repository", repository)]
        within = [f"id >= {_quoted(beginning)}", f"id < {_quoted(beginning + 'g')}"]
        rows = self._call(
            self._client.query,
            ends_s,
            collection_name=self._blobs,
            filter=" and ".join([*of_it, condition, *within]),
            output_fields=["id", *fields],
            limit=_PAGE,
            consistency_level="Strong",
        )
        if len(rows) < _PAGE:
            yield from rows
            return
        for letter in "0123456789abcdef":
            yield from self._all(repository, condition, fields, ends_s, beginning + letter)

    def files(self, repository: str, ids: Collection[str], *, timeout_s: float) -> dict[str, StoredFile]:
        """See `TeamStore.files`."""
        found = self._blobs_of(repository, "file", sorted(ids), time.monotonic() + timeout_s)
        return {name: decode_file(data) for name, data in found.items()}

    def texts(self, repository: str, ids: Collection[str], *, timeout_s: float) -> dict[str, StoredText]:
        """See `TeamStore.texts`."""
        found = self._blobs_of(repository, "text", sorted(ids), time.monotonic() + timeout_s)
        return {name: decode_text(data) for name, data in found.items()}

    def generations(self, repository: str, *, timeout_s: float) -> list[tuple[str, int]]:
        """See `TeamStore.generations`."""
        rows = self._all(repository, 'kind == "generation"', ("name", "at_s"), time.monotonic() + timeout_s)
        return _newest_first((row["name"], row["at_s"]) for row in rows)

    def generation(self, repository: str, commit: str, *, timeout_s: float) -> Generation:
        """See `TeamStore.generation`."""
        ends_s = time.monotonic() + timeout_s
        noted = self._get([_blob_id(repository, "generation", commit, 0)], ("at_s",), ends_s, "Strong")
        listed = self._blobs_of(repository, "list", [commit], ends_s, "Strong")
        if not noted or not listed:
            raise StoreNotReadyError(f"the store does not hold commit {commit[:12]} of {repository}")
        figures = self._blobs_of(repository, "figures", [commit], ends_s, "Strong").get(commit, b"")
        return Generation(commit, int(noted[0]["at_s"]), decode_files(listed[commit]), figures)

    def wait_visible(self, repository: str, ids: Collection[str], *, timeout_s: float) -> None:
        """See `TeamStore.wait_visible`: polls, since a search may lag behind what was written by seconds."""
        ends_s = time.monotonic() + timeout_s
        for some in _batches(sorted(ids)):
            while missing := self._not_visible(repository, some, ends_s):
                if time.monotonic() + _LOOK_AGAIN_S > ends_s:
                    raise StoreDownError(f"the store does not show {missing} files within {timeout_s:.0f} s")
                time.sleep(_LOOK_AGAIN_S)

    def _not_visible(self, repository: str, ids: Sequence[str], ends_s: float) -> int:
        """Number of files that a search does not find yet, or of their first chunks."""
        counts = self._counts(repository, ids, ends_s, "Bounded")
        first = [chunk_id(name, 0) for name, n in counts.items() if n]
        rows: list[Any] = []
        if first:
            rows = self._call(
                self._client.query,
                ends_s,
                collection_name=self._chunks,
                filter=_one_of("id", first),
                output_fields=["id"],
                consistency_level="Bounded",
            )
        return len(ids) - len(counts) + len(first) - len(rows)

    def _counts(
        self, repository: str, ids: Sequence[str], ends_s: float, consistency: str = "Strong"
    ) -> dict[str, int]:
        """Id → number of chunks, of the files that are there."""
        rows = self._get(
            [_blob_id(repository, "file", name, 0) for name in ids], ("name", "n_chunks"), ends_s, consistency
        )
        return {row["name"]: int(row["n_chunks"]) for row in rows}

    def _blobs_of(
        self, repository: str, kind: str, names: Sequence[str], ends_s: float, consistency: str = "Bounded"
    ) -> dict[str, bytes]:
        """Name → bytes of some blobs, those that are whole."""
        parts: dict[str, dict[int, str]] = {}
        n_parts: dict[str, int] = {}
        more: list[str] = [_blob_id(repository, kind, name, 0) for name in names]
        while more:
            rows = self._get(more, ("name", "part", "n_parts", "payload"), ends_s, consistency)
            more = []
            for row in rows:
                parts.setdefault(row["name"], {})[row["part"]] = row["payload"]
                n_parts[row["name"]] = row["n_parts"]
                if row["part"] == 0:
                    more += [_blob_id(repository, kind, row["name"], part) for part in range(1, row["n_parts"])]
        whole = (name for name in parts if len(parts[name]) == n_parts[name])
        return {name: base64.b85decode("".join(parts[name][part] for part in range(n_parts[name]))) for name in whole}

    def _get(
        self, ids: Sequence[str], fields: Sequence[str], ends_s: float, consistency: str = "Bounded"
    ) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        for some in _batches(ids):
            found += self._call(
                self._client.get,
                ends_s,
                collection_name=self._blobs,
                ids=list(some),
                output_fields=["id", *fields],
                consistency_level=consistency,
            )
        return found

    def latest(self, *, timeout_s: float) -> dict[str, str]:
        """See `TeamStore.latest`."""
        every = self._every_generation(time.monotonic() + timeout_s)
        return {repository: generations[0][0] for repository, generations in every.items()}

    def repositories(self, *, timeout_s: float) -> list[Held]:
        """See `TeamStore.repositories`."""
        ends_s = time.monotonic() + timeout_s
        found: list[Held] = []
        for repository, generations in self._every_generation(ends_s).items():
            n_files = len(self.held(repository, timeout_s=ends_s - time.monotonic()))
            n_texts = len(self.with_text(repository, timeout_s=ends_s - time.monotonic()))
            found.append(Held(repository, generations, n_files, n_texts))
        return found

    def _every_generation(self, ends_s: float) -> dict[str, list[tuple[str, int]]]:
        """Repository → its generations, the newest push first; in the order of the names of the repositories."""
        found: dict[str, list[tuple[str, int]]] = {}
        for row in self._all(None, 'kind == "generation"', ("repository", "name", "at_s"), ends_s):
            found.setdefault(row["repository"], []).append((row["name"], row["at_s"]))
        return {repository: _newest_first(found[repository]) for repository in sorted(found)}

    # --- searching -----------------------------------------------------------------------------------------

    def dense(
        self, repository: str, vectors: NDArray[np.float32], k: int, only: Only = ALL, *, timeout_s: float
    ) -> list[list[StoredHit]]:
        """See `TeamStore.dense`."""
        is_asked = [bool(vector.any()) for vector in vectors]
        asked: list[Any] = [vector.tolist() for vector in vectors if vector.any()]
        return self._search(repository, asked, is_asked, ("vector", "IP"), k, only, timeout_s)

    def lexical(
        self, repository: str, queries: Sequence[Sequence[str]], k: int, only: Only = ALL, *, timeout_s: float
    ) -> list[list[StoredHit]]:
        """See `TeamStore.lexical`."""
        asked = [words_of(query) for query in queries if query]
        return self._search(repository, asked, list(map(bool, queries)), ("by_words", "BM25"), k, only, timeout_s)

    def _search(
        self,
        repository: str,
        asked: Sequence[Any],
        is_asked: Sequence[bool],
        by: tuple[str, str],
        k: int,
        only: Only,
        timeout_s: float,
    ) -> list[list[StoredHit]]:
        if not asked or k < 1:
            return [[] for _ in is_asked]
        condition = [_equals("repository", repository)]
        if only.kinds:
            condition.append(_one_of("kind", only.kinds))
        if only.below:
            condition.append(_begins("path", only.below))
        answers = self._call(
            self._client.search,
            time.monotonic() + timeout_s,
            collection_name=self._chunks,
            data=list(asked),
            anns_field=by[0],
            search_params={"metric_type": by[1], "params": {}},
            limit=k,
            filter=" and ".join(condition),
            output_fields=["id"],
            consistency_level="Bounded",
        )
        found = iter([[StoredHit(*split_id(hit["id"]), float(hit["distance"])) for hit in hits] for hits in answers])
        return [next(found) if is_one else [] for is_one in is_asked]

    def close(self) -> None:
        """See `TeamStore.close`."""
        self._client.close()

    def _call(self, call: Callable[..., Any], ends_s: float, **arguments: Any) -> Any:
        """Make one call of the client within the time that is left.

        A milvus-lite that was started again has its collections to be loaded again.
        """
        try:
            return self._call_once(call, ends_s, arguments)
        except StoreNotReadyError:
            if call == self._client.load_collection or "collection_name" not in arguments:
                raise
            self._call_once(self._client.load_collection, ends_s, {"collection_name": arguments["collection_name"]})
            return self._call_once(call, ends_s, arguments)

    def _call_once(self, call: Callable[..., Any], ends_s: float, arguments: Mapping[str, Any]) -> Any:
        left_s = ends_s - time.monotonic()
        if left_s <= 0:
            raise StoreDownError("the store did not answer in time")
        with _told(self._address):
            return call(timeout=left_s, **arguments)


@contextmanager
def _told(address: Address) -> Generator[None]:
    """Raise errors of pymilvus and grpc as ours, without the token."""
    try:
        yield
    except HybridError:
        raise
    except Exception as error:  # noqa: BLE001 - pymilvus lets errors of grpc, of protobuf and of its own through
        raise _as_ours(error, address.token) from None


def _without(message: str, token: str) -> str:
    """Return a message without a token, and without the user and the password that it may consist of."""
    for secret in sorted({token, *token.split(":", 1)}, key=len, reverse=True):
        message = message.replace(secret, "…") if secret else message
    return message


def _as_ours(error: Exception, token: str) -> HybridError:
    code = getattr(error, "code", None)
    status = getattr(code() if callable(code) else None, "name", "")
    message = str(getattr(error, "message", "") or getattr(error, "details", lambda: "")() or error)
    message = _without(message, token).splitlines()[0][:200] if message else status
    if "Fail connecting" in message:
        return StoreDownError("the store cannot be reached")
    if status in ("DEADLINE_EXCEEDED", "UNAVAILABLE", "CANCELLED") or "imeout" in message:
        return StoreDownError(f"the store does not answer in time: {message}")
    if code in _BUSY:
        return BusyError(f"the store has too much to do: {message}")
    if code in _NOT_READY:
        return StoreNotReadyError(f"the store is not ready: {message}")
    return StoreDownError(f"the store does not do it: {message}")
