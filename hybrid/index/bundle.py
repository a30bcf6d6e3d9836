"""An index in one file: `hybrid index export` writes it, `hybrid index import` begins the index of a tree with it.

The file is a zip with four parts, which `index/README.md` describes. It comes from elsewhere, so that nothing in it is
trusted: sizes and digests are checked before a part is read, types, ranges and places before it is used, and of what it
says of a document only that is taken which the file here says, too (`BundleLender`).
"""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import re
import zipfile
import zlib
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct

from hybrid.base.arrays import encode_arrays, read_arrays, write_arrays
from hybrid.base.atomic import open_private, sync_folder
from hybrid.base.errors import HybridError
from hybrid.base.text import digest_of_normalised, sha256_hex, sha256_of_file
from hybrid.index.analysis import Analysis, ChunkRecord, chunk_text, pack_detail
from hybrid.index.drafting import inputs_of
from hybrid.index.manifest import FORMAT_VERSION, Manifest, SegmentEntry, last_generation
from hybrid.index.segment import KNOWN, Segment
from hybrid.index.snapshot import open_segment
from hybrid.index.vectors import StoredVectors
from hybrid.records.types import HIT_KINDS
from hybrid.redact import mask
from hybrid.types import Definition, LineSpan

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.index.catalog import Catalog
    from hybrid.index.manifest import Place
    from hybrid.index.plan import BuildTools
    from hybrid.types import Document


BUNDLE_FORMAT = 1
"""Number of the format of the file; one with another number is refused."""

HEADER, CONTENTS, DETAILS, SEGMENT = "index.json", "contents.json", "details.jsonl", "segment.safetensors"
_PARTS = (CONTENTS, DETAILS, SEGMENT)
_TIME = (1980, 1, 1, 0, 0, 0)
"""The time of every part, so that equal indexes give equal files."""
_MOST_HEADER_BYTES = 1_000_000
_MOST_GROWTH = 60
"""How many times as large as the file its parts may be together; real ones take some three times as much."""
_BLOCK = 1 << 20
_WORDS = re.compile(r"\w+")
_JOINTS = re.compile(r" > |[.:#\\]+")
_WORD = re.compile(r"[\w +#.-]{0,40}")
"""What kinds and languages look like."""


class PartOf(Struct, frozen=True):
    """Size and SHA-256 of a part, unpacked."""

    size_bytes: Annotated[int, Meta(ge=0)]
    sha256: str


class Header(Struct, frozen=True):
    """What the file says of itself.

    Attributes:
        bundle_format: See `BUNDLE_FORMAT`.
        index_format: Format of the segment.
        model: Key of the embedder.
        recipe: Recipe of the chunks.
        background: Key of what the segment is annotated with.
        project: Name of the project, for people.
        documents: Number of documents.
        chunks: Number of chunks.
        parts: Name → size and digest of the other parts.
    """

    bundle_format: int
    index_format: int
    model: str
    recipe: str
    background: str
    project: str
    documents: int
    chunks: int
    parts: dict[str, PartOf]


_Count = Annotated[int, Meta(ge=0, le=2**31 - 1)]
_Counts = dict[str, _Count]
_Digest = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class _Detail(Struct, frozen=True):
    """What the catalog keeps of a chunk beside its columns (`encode_detail`)."""

    body: tuple[list[str], list[_Count]]
    fields: dict[str, _Counts]
    definitions: list[tuple[str, str, _Count, _Count, str, str, _Count, bool]]
    comments: list[tuple[_Count, _Count]]
    masked: str = ""
    literals: tuple[Annotated[int, Meta(ge=0, le=2**63 - 1)], ...] = ()


_FIELDS = {"name", "scope", "value", "comment"}


# --- writing ----------------------------------------------------------------------------------------------


def write_bundle(file: Path, segment: Path, catalog: Catalog, header: Header) -> Header:
    """Write an index into one file, and return the header that it got; equal indexes give equal bytes.

    Args:
        file: Replaced in one rename when it is whole.
        segment: A segment with all documents of the tree, none of them dead.
        catalog: Holds their contents.
        header: Without parts.

    Raises:
        OSError: The file cannot be written.
    """
    opened = read_arrays(segment)
    arrays = {name: opened[name] for name in opened}
    ids: list[int] = list(dict.fromkeys(arrays["doc_content"].tolist()))
    number = {content: at for at, content in enumerate(ids)}
    arrays["doc_content"] = np.array([number[one] for one in arrays["doc_content"].tolist()], np.int64)
    rows = (catalog.content(content) for content in ids)
    contents = json.dumps([[digest.hex(), *row] for digest, *row in rows], separators=(",", ":")).encode()
    target = file.with_name(f"{file.name}.{os.getpid()}.tmp")
    try:
        with open_private(target) as out:
            with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
                parts = {
                    CONTENTS: _put(archive, CONTENTS, iter([contents])),
                    DETAILS: _put(archive, DETAILS, (_line(catalog.details(content)) for content in ids)),
                    SEGMENT: _put(archive, SEGMENT, iter([encode_arrays(arrays, opened.metadata)])),
                }
                header = msgspec.structs.replace(header, parts=parts)
                _put(archive, HEADER, iter([json.dumps(msgspec.to_builtins(header), indent=1).encode()]))
            out.flush()
            os.fsync(out.fileno())
        target.replace(file)
    except OSError as error:
        if error.filename in (None, str(target)):
            error.filename = str(file)  # Nobody knows the temporary one.
        raise
    finally:
        target.unlink(missing_ok=True)
    sync_folder(file.parent)
    return header


def _line(details: Sequence[bytes]) -> bytes:
    """Return the details of a content's chunks as one line of JSON."""
    return b"[" + b",".join(map(zlib.decompress, details)) + b"]\n"


def _put(archive: zipfile.ZipFile, name: str, blocks: Iterator[bytes]) -> PartOf:
    info = zipfile.ZipInfo(name, _TIME)
    info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, 3, 0o600 << 16
    digest, size = hashlib.sha256(), 0
    with archive.open(info, "w", force_zip64=True) as part:
        for block in blocks:
            digest.update(block)
            size += len(block)
            part.write(block)
    return PartOf(size, digest.hexdigest())


# --- reading ----------------------------------------------------------------------------------------------


class Bundle:
    """An opened file whose parts are whole and well-formed; they were unpacked into a folder.

    Attributes:
        header: What it says of itself.
        segment: Its segment; `doc_content` are places in `contents`.
        contents: Digest in hex, language, method and fallback of each content.
    """

    def __init__(self, header: Header, folder: Path) -> None:
        """Read the unpacked parts.

        Raises:
            ValueError: They are not what a part is; also IndexError and KeyError.
            OSError: They cannot be read.
        """
        self.header = header
        self.contents = msgspec.json.decode(
            (folder / CONTENTS).read_bytes(),
            type=list[tuple[_Digest, str, str, str]],
        )
        self.segment = Segment(folder / SEGMENT)
        check_values(self.segment, n_contents=len(self.contents))
        if (self.segment.n_documents, self.segment.n_chunks) != (header.documents, header.chunks):
            raise ValueError("the header counts other documents or chunks")
        self._file = (folder / DETAILS).open("rb")
        self._at = [0, *itertools.accumulate(map(len, self._file))]
        if len(self._at) != len(self.contents) + 1:
            raise ValueError("not a line of details for each content")

    def close(self) -> None:
        """Close the file of details."""
        self._file.close()

    def details(self, number: int) -> tuple[list[_Detail], list[bytes]]:
        """Return the details of the chunks of a content, and each as the catalog stores it.

        Raises:
            ValueError: They are not what details are.
        """
        self._file.seek(self._at[number])
        raw = msgspec.json.decode(self._file.read(self._at[number + 1] - self._at[number]), type=list[msgspec.Raw])
        found = [msgspec.json.decode(one, type=_Detail) for one in raw]
        if any(one.fields.keys() != _FIELDS or len(one.body[0]) != len(one.body[1]) for one in found):
            raise ValueError("details without a field")
        return found, [pack_detail(bytes(one)) for one in raw]


def open_bundle(file: Path, folder: Path, sha256: str = "") -> Bundle:
    """Unpack a file into a folder and open it; to be closed.

    Args:
        file: As `write_bundle` made it, or anything else.
        folder: An empty folder.
        sha256: The digest that the file must have, in hex; empty for any.

    Raises:
        HybridError: It is no such file, damaged, or of another version; the message says which.
    """
    try:
        if sha256 and sha256_of_file(file) != sha256.lower():
            raise HybridError(f"{file} has another SHA-256 than {sha256}: it is not the file that was meant")
        with zipfile.ZipFile(file) as archive:
            header = _header(file, archive)
            if sum(part.size_bytes for part in header.parts.values()) > _MOST_GROWTH * file.stat().st_size:
                raise ValueError("its parts are too large for the file")
            for name in _PARTS:
                _unpack(archive, name, header.parts[name], folder / name)
        return Bundle(header, folder)
    except FileNotFoundError as error:
        raise HybridError(f"there is no file {file}") from error
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, KeyError, IndexError, RecursionError) as error:
        raise HybridError(f"{file} is no exported index, or damaged ({error}); nothing was imported") from error
    except (NotImplementedError, RuntimeError) as error:  # Another compression, or a password.
        raise HybridError(f"{file} is no exported index ({error}); nothing was imported") from error


def _header(file: Path, archive: zipfile.ZipFile) -> Header:
    with _part(archive, HEADER, _MOST_HEADER_BYTES) as part:
        data = part.read(_MOST_HEADER_BYTES)
    number = msgspec.json.decode(data, type=dict[str, Any]).get("bundle_format")
    if number != BUNDLE_FORMAT:
        raise HybridError(
            f"{file} has format {number}, not {BUNDLE_FORMAT}: export it again with this version of hybrid"
        )
    return msgspec.json.decode(data, type=Header)


def _part(archive: zipfile.ZipFile, name: str, most_bytes: int) -> IO[bytes]:
    info = archive.getinfo(name)
    if info.compress_type != zipfile.ZIP_DEFLATED or info.file_size > most_bytes:
        raise ValueError(f"part {name} is packed another way, or too large")
    return archive.open(info)


def _unpack(archive: zipfile.ZipFile, name: str, wanted: PartOf, target: Path) -> None:
    digest, size = hashlib.sha256(), 0
    with _part(archive, name, wanted.size_bytes) as part, open_private(target) as out:
        while block := part.read(_BLOCK):
            digest.update(block)
            size += len(block)
            out.write(block)
    if (size, digest.hexdigest()) != (wanted.size_bytes, wanted.sha256):
        raise ValueError(f"part {name} has another size or digest than the header says")


# --- taking it over ---------------------------------------------------------------------------------------


class BundleLender:
    """Lends the segment of a file to the first build of a tree: as `plan.Lending`.

    A document is taken when the file here has the digest of its text, every chunk has those of its lines, with secrets
    and without, and each name and signature stands in the text, word by word. So a forged file can rank badly, and show
    nothing that the tree does not say. What is not taken is cut and embedded here.
    """

    def __init__(self, bundle: Bundle, place: Place, catalog: Catalog, tools: BuildTools) -> None:
        self._bundle = bundle
        self._place = place
        self._catalog = catalog
        self._tools = tools
        self._taken: dict[int, int] = {}
        self.known = frozenset((bytes.fromhex(digest), language) for digest, language, *_ in bundle.contents)
        """See `plan.Lending`."""
        segment = bundle.segment
        self._chunks = np.searchsorted(segment.chunk_doc, np.arange(segment.n_documents + 1)).tolist()
        self._definitions = np.searchsorted(segment.arrays["def_chunk"], np.arange(segment.n_chunks + 1)).tolist()

    def content_of(self, document: Document) -> int | None:
        """See `plan.Lending`; content and vectors are stored in the catalog, in the transaction that is open."""
        segment, bundle, catalog = self._bundle.segment, self._bundle, self._catalog
        row = segment.document_at(document.path)
        if row is None:
            return None
        number = int(segment.doc_content[row])
        digest, language, method, fallback = bundle.contents[number]
        told = segment.text("language", int(segment.arrays["doc_language"][row]))
        kind = HIT_KINDS[int(segment.arrays["doc_kind"][row])]
        if (digest, language, told, kind) != (
            document.digest.hex(),
            document.language,
            document.language,
            document.kind,
        ):
            return None
        rows = range(self._chunks[row], self._chunks[row + 1])
        with suppress(ValueError, IndexError, RecursionError):
            details, stored = bundle.details(number)
            records = self._records(rows, details)
            if not _says(document.text, records):
                return None
            recipe, model = self._tools.how.of_chunks, self._tools.embedder.info
            content = catalog.content_of(document, recipe)
            if content is None:
                analysis = Analysis(method, fallback, records, stored, ())
                content = catalog.put_content(document, recipe, analysis)
            keys = [(key, content) for key in inputs_of(document.path, records)]
            catalog.put_vectors(catalog.model_id(model.key), keys, self._vectors(rows))
            self._taken[row] = content
            return content
        return None

    def _records(self, rows: range, details: Sequence[_Detail]) -> list[ChunkRecord]:
        """Return the records of some chunks: what is shown from the segment, the rest from the details.

        Raises:
            ValueError: Both say something else of the definitions.
        """
        segment = self._bundle.segment
        starts, ends = segment.arrays["chunk_start"], segment.arrays["chunk_end"]
        digests = segment.arrays["chunk_digest"]
        records: list[ChunkRecord] = []
        for row, detail in zip(rows, details, strict=True):
            definitions = tuple(Definition(*one) for one in detail.definitions)
            span = range(self._definitions[row], self._definitions[row + 1])
            told = [(segment.text("def_name", one), segment.text("def_scope", one)) for one in span]
            if told != [(one.name, one.scope) for one in definitions]:
                raise ValueError("another definition")
            records.append(
                ChunkRecord(
                    start_line=int(starts[row]),
                    end_line=int(ends[row]),
                    digest=digests[row].tobytes(),
                    name=segment.text("chunk_name", row),
                    kind=segment.text("chunk_kind", row),
                    signature=segment.text("chunk_signature", row),
                    scope=segment.text("chunk_scope", row),
                    body=dict(zip(*detail.body, strict=True)),
                    fields=detail.fields,
                    definitions=definitions,
                    comments=tuple(LineSpan(*one) for one in detail.comments),
                    masked=bytes.fromhex(detail.masked),
                    literals=detail.literals,
                )
            )
        return records

    def _vectors(self, rows: range) -> StoredVectors:
        segment, part = self._bundle.segment, slice(rows.start, rows.stop)
        is_cut: NDArray[np.bool_] = segment.arrays["chunk_is_cut"][part].astype(np.bool_)
        return StoredVectors(segment.vector[part], segment.vector_scale[part], is_cut)

    def snapshot(self) -> tuple[Manifest, list[Segment]]:
        """See `plan.Lending`; the segment is written with the contents of this catalog, 0 for what was not taken."""
        segment, folder, model = self._bundle.segment, self._place.folder, self._tools.embedder.info
        arrays = {name: segment.arrays[name] for name in KNOWN if segment.has(name)}
        contents = np.zeros(segment.n_documents, np.int64)
        contents[list(self._taken)] = list(self._taken.values())
        generation = last_generation(folder) + 1
        target = folder / f"segment-{generation:08d}.safetensors"
        metadata = {"format": str(FORMAT_VERSION), "model": model.key}
        data = write_arrays(target, arrays | {"doc_content": contents}, metadata)
        mtime_ns = target.stat().st_mtime_ns
        entry = SegmentEntry(target.name, len(data), mtime_ns, sha256_hex(data), segment.n_chunks, ())
        recipe, background = self._tools.how.of_chunks, self._tools.background
        manifest = Manifest(FORMAT_VERSION, generation, model.key, model.dim, recipe, (entry,), {}, background)
        return manifest, [open_segment(folder, entry)]


def _says(text: str, records: Sequence[ChunkRecord]) -> bool:
    """Return whether a text says what is shown of its chunks."""
    lines = text.split("\n")
    # Only a chunk with a secret has a digest of its own without it: other documents cost no search for secrets.
    bare = mask(text).split("\n") if any(one.masked for one in records) else lines
    for one in records:
        is_inside = 1 <= one.start_line <= one.end_line <= len(lines)
        if not is_inside or _digest_here(lines, one) != one.digest:
            return False
        # The vector is kept under it: that of another text would be found for that text later.
        if one.masked and _digest_here(bare, one) != one.masked:
            return False
        if not _WORD.fullmatch(one.kind) or not all(_WORD.fullmatch(each.kind) for each in one.definitions):
            return False
    shown = {each for one in records for each in (one.name, one.signature, one.scope)}
    shown |= {each for one in records for d in one.definitions for each in (d.name, d.signature, d.scope)}
    return stands_in(shown, text)


def _digest_here(lines: Sequence[str], record: ChunkRecord) -> bytes:
    """Return the digest of the lines of a chunk."""
    return digest_of_normalised(chunk_text(lines, record.start_line, record.end_line))


def stands_in(told: Iterable[str], text: str) -> bool:
    """Return whether strings stand in a text, each word by word or in parts (`Shop > Prices`)."""
    odd = [one for one in told if one not in text]
    if not odd:
        return True
    flat = f" {_in_words(text)}"
    return all(_is_said(one, flat) or all(_is_said(part, flat) for part in _JOINTS.split(one)) for one in odd)


def _is_said(told: str, flat: str) -> bool:
    """Return whether the words of a string follow one another in a text that `_in_words` made."""
    return f" {_in_words(told)}".rstrip() in flat


def _in_words(text: str) -> str:
    return " ".join(_WORDS.findall(text))


# --- values of its segment: no search may read beyond the end of an array -------------------------------------

_BELOW = {
    "doc_kind": 2,
    "doc_language": "language_at",
    "chunk_doc": "doc_kind",
    "post_row": "chunk_doc",
    "field_post": "post_row",
    "remark_row": "chunk_doc",
    "def_chunk": "chunk_doc",
    "def_kind": "def_kinds_at",
    "name_definition": "def_chunk",
    "name_word_name": "name_letters",
    "stem_word_doc": "doc_kind",
    "path_word_doc": "doc_kind",
}
"""Array of numbers → the array of what they number, or how many there are."""

_TARGETS = {"term_start": "post_row", "field_start": "field_post", "remark_start": "remark_row"}
"""Array of places → the array in which they are; for others the names say so."""

_ROWS = 16_384
_UNIT = 0.02
"""How far the length of a vector may be from 1."""


def check_values(segment: Segment, *, n_contents: int) -> None:
    """Check that every place, number, string, path and vector of an open segment is one that a build could have made.

    Args:
        segment: Its layout was checked when it was opened.
        n_contents: Number of contents that `doc_content` counts.

    Raises:
        ValueError: One is not; the message names the array.
    """
    names = [name for name in KNOWN if segment.has(name)]
    for name in names:
        array = segment.arrays[name]
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise ValueError(f"array {name} holds what is no number")
        if name.endswith(("_start", "_at")) and name != "chunk_start" and name != "def_start":
            target = _TARGETS.get(name) or (
                name.removesuffix("_start") if name.endswith("_start") else f"{name.removesuffix('_at')}_text"
            )
            _check_places(name, array, len(segment.arrays[target]))
    for name, of in _BELOW.items():
        n = of if isinstance(of, int) else len(segment.arrays[of]) - of.endswith("_at")
        _check_below(name, segment.arrays[name], n)
    _check_below("doc_content", segment.doc_content, n_contents)
    if segment.has("literal_row"):
        _check_below("literal_row", segment.arrays["literal_row"], segment.n_chunks)
    for name in filter(segment.has, ("term_docs", "term_naming_docs")):
        _check_below(name, segment.arrays[name], segment.n_documents + 1)
    for name in ("chunk_doc", "def_chunk"):
        if (np.diff(segment.arrays[name]) < 0).any():
            raise ValueError(f"array {name} does not ascend")
    for name in names:
        if name.endswith("_at"):
            _check_strings(name.removesuffix("_at"), segment)
    _check_paths(segment.paths)
    _check_names(segment)
    _check_vectors(segment.vector, segment.vector_scale)
    if segment.has("doc_vector"):
        _check_vectors(segment.arrays["doc_vector"], segment.arrays["doc_vector_scale"])


def _check_places(name: str, places: NDArray[Any], end: int) -> None:
    if int(places[0]) != 0 or int(places[-1]) != end or (places[1:] < places[:-1]).any():
        raise ValueError(f"array {name} does not ascend from 0 to the end")


def _check_below(name: str, numbers: NDArray[Any], n: int) -> None:
    if len(numbers) and (int(numbers.min()) < 0 or int(numbers.max()) >= n):
        raise ValueError(f"array {name} holds a number beyond {n}")


def _check_strings(table: str, segment: Segment) -> None:
    """Check that a table holds UTF-8, and that none of its strings begins within a letter."""
    text, starts = segment.arrays[f"{table}_text"], segment.arrays[f"{table}_at"]
    text.tobytes().decode("utf-8", "surrogatepass")
    if (text[starts[starts < len(text)]] & 0xC0 == 0x80).any():
        raise ValueError(f"table {table} cuts a letter")


def _check_paths(paths: list[str]) -> None:
    for path in paths:
        if "\0" in path or {"", ".", ".."}.intersection(path.split("/")):
            raise ValueError("a path that leads elsewhere")
    if paths != sorted(set(paths)):
        raise ValueError("paths that are not in order")


def _check_names(segment: Segment) -> None:
    """Check that a name leads to definitions of that name only."""
    defined, names = segment.texts("def_name"), segment.texts("name")
    starts: list[int] = segment.arrays["name_definition_start"].tolist()
    definitions: list[int] = segment.arrays["name_definition"].tolist()
    for number, name in enumerate(names):
        if not all(defined[one].endswith(name) for one in definitions[starts[number] : starts[number + 1]]):
            raise ValueError("a name that leads to another definition")


def _check_vectors(vectors: NDArray[np.int8], scales: NDArray[np.float32]) -> None:
    for start in range(0, len(vectors), _ROWS):
        part = slice(start, start + _ROWS)
        rows, scale = vectors[part].astype(np.float32), scales[part]
        is_unit = np.abs(np.sqrt(np.einsum("ij,ij->i", rows, rows)) * scale - 1) < _UNIT
        if not (is_unit | (scale == 0)).all():
            raise ValueError("a vector that is not of unit length")
