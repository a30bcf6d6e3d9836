"""The generation that a working tree stands on: its files and figures, kept beside the overlay in one file of arrays.

A build downloads it (`hybrid.upkeep.indexing`); searches and builds read it without the store. The overlay is what
differs from it: whatever says the same here as there is not indexed here. Those of repositories that are not here stand
on a `Shelf`.
"""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
from msgspec import Struct

from hybrid.base.arrays import Strings, encode_arrays, parse_arrays, read_arrays, string_table
from hybrid.base.atomic import make_private_folder, read_regular, write_atomic
from hybrid.index.analysis import NAME_FIELDS
from hybrid.team.store import file_id
from hybrid.types import Document, Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.base.arrays import Arrays
    from hybrid.index.segment import Segment
    from hybrid.index.snapshot import Snapshot
    from hybrid.sources.files import FileSource
    from hybrid.team.store import Generation
    from hybrid.types import Found


COUNTED = ("chunks", "files", "names", "remarks")
"""What is counted for each term: chunks that hold it, files, files that define a name with it, chunks in comments."""
_NAMED = [NAME_FIELDS.index("name"), NAME_FIELDS.index("value")]


def figures_of(snapshot: Snapshot) -> bytes:
    """Return the figures of an index as the bytes of a file of arrays; only what can be found counts."""
    segments, fields = snapshot.segments, snapshot.fields
    terms = sorted({term for segment in segments for term in segment.texts("term")})
    place = {term: number for number, term in enumerate(terms)}
    counts = np.zeros((len(COUNTED), len(terms)), np.uint32)
    for segment in segments:
        places = np.array([place[term] for term in segment.texts("term")], np.intp)
        counts[:, places] += term_counts(segment)
    joined = (_joined(segments, name) for name in ("chunk_length", "chunk_body_length", "chunk_remark_length"))
    lengths = [float(fields.live(part).sum(dtype=np.float64)) for part in joined]
    stems = sorted({word for segment in segments for word in segment.texts("stem_word")})
    arrays: dict[str, NDArray[Any]] = {
        **string_table("term", terms),
        "term_counts": counts,
        **string_table("stem_word", stems),
        "n_chunks_files": np.array([snapshot.n_chunks, fields.n_live_files], np.int64),
        "lengths": np.array(lengths, np.float64),
        "mean_vector": fields.mean_vector,
        "mean_file_vector": fields.mean_file_vector,
    }
    key = snapshot.background.key
    if key:
        found = snapshot.background.figures()
        arrays["background_df"] = np.atleast_1d(found.frequencies)
        arrays["background_rows"] = np.array([found.n_rows], np.int64)
        for name, values in (("background_top", found.top), ("background_together", found.together)):
            if values is not None:
                arrays[name] = values
    return encode_arrays(arrays, {"background": key, "model": snapshot.manifest.model})


def _joined(segments: Sequence[Segment], name: str) -> NDArray[np.float32]:
    parts = [segment.arrays[name] for segment in segments]
    return np.concatenate(parts) if parts else np.zeros(0, np.float32)


def term_counts(segment: Segment) -> NDArray[np.uint32]:
    """Return how much of a segment that can be found holds each of its terms, shape (len(COUNTED), n_terms)."""
    n_terms, live = len(segment.term_start) - 1, segment.is_live
    term = np.repeat(np.arange(n_terms), np.diff(segment.term_start.astype(np.int64)))
    rows = segment.post_row
    keep = slice(None) if live is None else live[rows]
    named = segment.arrays["field_post"][(segment.arrays["field_tf"][_NAMED] > 0).any(axis=0)]
    named = named if live is None else named[live[rows[named]]]
    remark_rows = segment.arrays["remark_row"]
    of_remark = np.repeat(np.arange(n_terms), np.diff(segment.arrays["remark_start"].astype(np.int64)))
    kept_remarks = slice(None) if live is None else live[remark_rows]
    docs = segment.chunk_doc
    found = (
        np.bincount(term[keep], minlength=n_terms),
        _in_files(term[keep], docs[rows[keep]], n_terms),
        _in_files(term[named], docs[rows[named]], n_terms),
        np.bincount(of_remark[kept_remarks], minlength=n_terms),
    )
    return np.stack(found).astype(np.uint32)


def _in_files(term: NDArray[Any], doc: NDArray[Any], n_terms: int) -> NDArray[np.intp]:
    """Return the number of files of each term; both are ascending, the files within a term."""
    if not len(term):
        return np.zeros(n_terms, np.intp)
    is_new = np.append(True, (term[1:] != term[:-1]) | (doc[1:] != doc[:-1]))
    return np.bincount(term[is_new], minlength=n_terms)


class BaseFigures:
    """The figures of a generation, open for reading.

    Raises on opening:
        ValueError: Arrays are missing, or do not fit each other.

    Attributes:
        terms: All terms.
        stems: The words of all file names.
        background_key: The key of the background that its chunks were compared with; empty for none.
    """

    def __init__(self, arrays: Arrays) -> None:
        try:
            self.terms = _table(arrays, "term")
            self.stems = _table(arrays, "stem_word")
            self._counts: NDArray[np.uint32] = arrays["term_counts"]
            self.n_chunks, self.n_files = map(int, arrays["n_chunks_files"])
            self.lengths = tuple(arrays["lengths"].tolist())
            self.mean_vector: NDArray[np.float32] = arrays["mean_vector"]
            self.mean_file_vector: NDArray[np.float32] = arrays["mean_file_vector"]
        except KeyError as error:
            raise ValueError(f"array {error} is missing") from error
        if self._counts.shape != (len(COUNTED), len(self.terms)) or len(self.lengths) != 3:
            raise ValueError("the figures of the team's index do not fit each other")
        self.background_key = arrays.metadata.get("background", "")
        self._arrays = arrays
        self._places = lru_cache(1 << 14)(self.terms.find)
        self._nothing = np.zeros(len(COUNTED), np.uint32)

    def background(self, name: str) -> NDArray[Any] | None:
        """An array of the background, or None: `background_top`, `background_df`, `background_together`."""
        return self._arrays[name] if name in self._arrays else None  # noqa: SIM401 - it has no `get`

    def counts(self, term: str) -> NDArray[np.uint32]:
        """How much holds a term, in the order of `COUNTED`."""
        place = self._places(term)
        return self._nothing if place is None else self._counts[:, place]


def _table(arrays: Arrays, name: str) -> Strings:
    return Strings(arrays[f"{name}_text"], arrays[f"{name}_at"])


# --- bases ------------------------------------------------------------------------------------------------


NAME = "base.safetensors"
"""Name of the file in the folder of the overlay."""

_NONE = np.zeros(0, np.uint64)
_OUTAGE = "store.json"
_OUTAGE_BYTES = 4_096
SAME = "in_the_team_index"
"""Reason for which a file that says the same as the team's index is skipped here."""


class Base:
    """An open base.

    Raises on opening:
        ValueError: The file is damaged.

    Attributes:
        repository: Name of the repository.
        commit: Commit of the generation.
        figures: Its figures.
    """

    def __init__(self, arrays: Arrays) -> None:
        self.figures = BaseFigures(arrays)
        self.repository = arrays.metadata.get("repository", "")
        self.commit = arrays.metadata.get("commit", "")
        try:
            self._ids = arrays["file_id"].reshape(-1, 16)
            blob, places = arrays["path_text"], arrays["path_at"]
        except KeyError as error:
            raise ValueError(f"array {error} is missing") from error
        if len(places) != len(self._ids) + 1 or int(places[-1]) != len(blob):
            raise ValueError("the base of the team's index names files without a text")
        self._paths = Strings(blob, places)

    def __len__(self) -> int:
        """Return the number of its files."""
        return len(self._ids)

    def id_of(self, path: str) -> str:
        """Return the id of the text at a path; empty for none."""
        place = self._paths.find(path)
        return "" if place is None else self._ids[place].tobytes().hex()

    @cached_property
    def _beginnings(self) -> NDArray[np.uint64]:
        """The first eight bytes of all ids, ascending."""
        return np.sort(np.ascontiguousarray(self._ids).view(">u8")[:, 0].astype(np.uint64)) if len(self) else _NONE

    def may_hold(self, ids: Sequence[str]) -> list[bool]:
        """Return for each of some ids whether it is one of this base, by its first half, which tells nearly always."""
        asked = np.array([int(one[:16], 16) for one in ids], np.uint64)
        places = np.searchsorted(self._beginnings, asked)
        if not len(self):
            return [False] * len(ids)
        return (self._beginnings[np.minimum(places, len(self) - 1)] == asked).tolist()


def read_base(folder: Path) -> Base | None:
    """Open the base in the folder of an overlay; None without one, or when it is damaged."""
    try:
        return Base(read_arrays(folder / NAME))
    except (OSError, ValueError):
        return None


def write_base(folder: Path, repository: str, generation: Generation) -> Base:
    """Keep a generation as the base of an overlay, in one rename.

    Raises:
        ValueError: Its figures are damaged.
        OSError: The disk is full or read-only.
    """
    figures = parse_arrays(generation.figures, "the figures of the team's index")
    paths = sorted(generation.files)
    ids = b"".join(bytes.fromhex(generation.files[path]) for path in paths)
    arrays = {name: figures[name] for name in figures}
    arrays |= {**string_table("path", paths), "file_id": np.frombuffer(ids, np.uint8)}
    data = encode_arrays(arrays, {**figures.metadata, "repository": repository, "commit": generation.commit})
    base = Base(parse_arrays(data, "the base of the team's index"))
    make_private_folder(folder)
    write_atomic(folder / NAME, data)
    return base


def kept_base(folder: Path, repository: str, commit: str, download: Callable[[], Generation]) -> Base:
    """Return the base of a commit in a folder, downloaded when another one or none is there; raises as `write_base`."""
    known = read_base(folder)
    if known is not None and (known.repository, known.commit) == (repository, commit):
        return known
    return write_base(folder, repository, download())


class Shelf:
    """The newest generations of other repositories, in a folder of `$HYBRID_HOME`; whoever searches them fills it.

    Args:
        folder: The folder; it is made when something is put there.
        store: Names the store and what its rows were made by, so that another one's generations are not taken for its.
    """

    def __init__(self, folder: Path, store: str) -> None:
        self._folder = folder
        self._store = store

    def take(self, repository: str, commit: str, download: Callable[[], Generation]) -> Base:
        """Return the base of a commit, downloaded when another one or none is here.

        Raises:
            ValueError: Its figures are damaged.
            OSError: The disk is full or read-only.
        """
        return kept_base(self._folder / self._name(repository), repository, commit, download)

    def keep(self, repositories: Iterable[str]) -> None:
        """Delete what is of other repositories, and of other stores; what cannot be deleted stays, silently."""
        kept = set(map(self._name, repositories))
        with contextlib.suppress(OSError):
            for folder in self._folder.iterdir():
                if folder.name not in kept:
                    shutil.rmtree(folder, ignore_errors=True)

    def _name(self, repository: str) -> str:
        """Name of the folder of a repository: no name that a store gives becomes a path."""
        named = f"{self._store}\0{repository}".encode("utf-8", "surrogatepass")
        return hashlib.sha256(named).hexdigest()[:32]


class Outage(Struct, frozen=True):
    """Why searches of a working tree go without the store, and since when; a file beside the base holds it.

    Attributes:
        problem: A sentence.
        at_s: Seconds since the epoch.
    """

    problem: str
    at_s: float


def read_outage(folder: Path) -> Outage | None:
    """Return what `note_outage` noted in the folder of an overlay; None when the store answers."""
    try:
        return msgspec.json.decode(read_regular(folder / _OUTAGE, _OUTAGE_BYTES), type=Outage)
    except (OSError, msgspec.DecodeError):
        return None


def note_outage(folder: Path, outage: Outage | None) -> None:
    """Note that the store does not answer, or with None that it does; an error of the disk loses it silently."""
    with contextlib.suppress(OSError):
        if outage is None:
            (folder / _OUTAGE).unlink(missing_ok=True)
        else:
            write_atomic(folder / _OUTAGE, msgspec.json.encode(outage), durable=False)


class OverlaySource:
    """Fulfils `hybrid.types.Source`: a source without the documents that the base has as they are.

    Args:
        source: The files of the working tree.
        folder: The folder of the overlay, which holds the base.
    """

    def __init__(self, source: FileSource, folder: Path) -> None:
        self._source = source
        self._folder = folder

    def __reduce__(self) -> tuple[type[OverlaySource], tuple[FileSource, Path]]:
        """Let processes that read files open the base themselves: a file in memory cannot be handed over."""
        return OverlaySource, (self._source, self._folder)

    @cached_property
    def _base(self) -> Base | None:
        return read_base(self._folder)

    def scan(self) -> Iterator[Found]:
        """See `Source.scan`."""
        return self._source.scan()

    def read(self, found: Found) -> Document | Skipped:
        """See `Source.read`."""
        document = self._source.read(found)
        if self._base is None or not isinstance(document, Document):
            return document
        digest, kind, language = document.digest, document.kind, document.language
        same = file_id(self._base.repository, document.path, digest, kind, language)
        return Skipped(found.path, SAME) if self._base.id_of(document.path) == same else document

    @property
    def skipped(self) -> Mapping[str, int]:
        """See `Source.skipped`."""
        return self._source.skipped
