"""The plain values of a build: its tools, its request, its progress and its summary.

`build` and `commit` share them; they call one another.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field
from msgspec.structs import asdict

from hybrid.index.analysis import recipe
from hybrid.index.manifest import FORMAT_VERSION

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.index.catalog import Catalog
    from hybrid.index.manifest import Manifest, Place
    from hybrid.index.segment import Segment
    from hybrid.types import Chunked, ChunkLimits, Document, Embedder, Found, Source


class Progress(Protocol):
    """Hears how far a build is."""

    def __call__(self, step: str, done: int, total: int, share: float = 0.0) -> None:
        """Take how many of `total` files are done; `step` is scan, read, write or merge; `total` is 0 while unknown.

        `share` is the part of the whole build that is done, 0 to 1, as its time goes; 0 while unknown.
        """
        ...


def silent(step: str, done: int, total: int, share: float = 0.0) -> None:
    """A `Progress` that says nothing."""


class Recipe(Struct, frozen=True):
    """The way from documents to chunks: the cutter with its version and limits, and how the source reads files."""

    chunk: Callable[[Document, ChunkLimits], Chunked]
    limits: ChunkLimits
    chunker_version: str
    source_version: str

    @property
    def of_chunks(self) -> str:
        """The key of how texts become chunks: when it changes, every document is chunked anew."""
        return recipe(self.chunker_version, self.limits)

    @property
    def of_documents(self) -> str:
        """The key of how files become documents and chunks: `of_chunks` with the version of the source."""
        return f"{self.of_chunks}; source {self.source_version}"


class Annotator(Protocol):
    """Adds arrays to every segment that is written, for a gate that compares chunks with a background."""

    @property
    def key(self) -> str:
        """The key of what `annotate` adds: segments that were annotated under another one are written anew."""
        ...

    def prepare(self) -> None:
        """Load what `annotate` needs; called early in a build that is sure to write a segment."""
        ...

    def annotate(self, arrays: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
        """Return arrays by name, to add to those of a segment or to put in the place of those with the same name."""
        ...


class Part(Struct, frozen=True):
    """A part of a source that is looked at alone.

    Attributes:
        paths: Paths of documents, or of folders with everything below them; they may be gone.
        scan: As `Source.scan`, of these paths only; None when only a full scan can tell.
    """

    paths: tuple[str, ...]
    scan: Callable[[Sequence[str]], Sequence[Found] | None]


class BuildTools(Struct, frozen=True):
    """The things that a build works with.

    Attributes:
        source: Gives the documents.
        embedder: Embeds the chunks; another one than last time re-embeds everything.
        how: The way from documents to chunks.
        annotator: Adds arrays to the segments that are written; None adds none.
        workers: Processes that read and cut files when much changed; 0: as many as are fast, 1: none but this one.
        progress: Hears how far the build is.
        now_ns: Clock, nanoseconds since the epoch.
        is_gone: Tells of the key of a model whether that very model is not there any more: its vectors are dropped.
    """

    source: Source
    embedder: Embedder
    how: Recipe
    annotator: Annotator | None = None
    workers: int = 1
    progress: Progress = silent
    now_ns: Callable[[], int] = time.time_ns
    is_gone: Callable[[str], bool] = lambda _key: False

    @property
    def background(self) -> str:
        """Key of what the segments are annotated with; empty when they are not."""
        return self.annotator.key if self.annotator else ""

    def made(self, manifest: Manifest) -> bool:
        """Return whether a generation is of this format and of the model, recipe and background of these tools."""
        found = (manifest.format_version, manifest.model, manifest.recipe, manifest.background)
        return found == (FORMAT_VERSION, self.embedder.info.key, self.how.of_chunks, self.background)


class Lending(Protocol):
    """A snapshot from elsewhere, with which the first one of a tree begins.

    Attributes:
        known: Digest and language of texts that may turn out to be known, besides those of the catalog.
    """

    known: frozenset[tuple[bytes, str]]

    def content_of(self, document: Document) -> int | None:
        """Return the content id of a document that the snapshot holds as it is, with its vectors; None for another."""
        ...

    def snapshot(self) -> tuple[Manifest, list[Segment]]:
        """Return manifest and open segments once all documents were asked for.

        The files lie in the folder of the tree, and no manifest names them yet.
        """
        ...


class BuildTask(Struct, frozen=True):
    """The work that a build is asked for.

    Attributes:
        part: Look at this part only, if the index is whole and current; `Summary.is_full` says whether that was so.
        full: Read every file again and write every segment anew.
        is_purged: Write every segment anew, and drop what no document of any tree has, without reading again what
            did not change: no file of the index holds any more what is gone.
        max_segments: Number of segments beyond which small ones are merged.
        most_merged: Number of chunks that a merge writes at most; a larger one is left to a build that may take longer.
        wait_s: Seconds to wait for another build of this project.
        lend: Gives what a first snapshot begins with, as `lending.take_over` does; None begins with nothing.
        begin: Called once the lock is held, before anything is written; what it raises ends the build.
    """

    part: Part | None = None
    full: bool = False
    is_purged: bool = False
    max_segments: int = 8
    most_merged: float = math.inf
    wait_s: float = 0.0
    lend: Callable[[Place, Catalog, BuildTools], Lending | None] | None = None
    begin: Callable[[], None] = lambda: None


EVERYTHING = BuildTask()
"""Look at everything, and do what changed."""


class Summary(Struct):
    """The result of a build; the JSON of `hybrid reindex`.

    Attributes:
        documents: Documents that are indexed now.
        chunks: Chunks of the indexed documents.
        added: Documents that are new.
        changed: Documents whose text is another.
        removed: Documents that are gone or no longer indexed.
        embedded: Inputs that were embedded.
        reused: Chunks of added and changed documents whose vector was known.
        skipped: Reason → files left out, by the last look at everything.
        seconds: Wall time.
        generation: Generation of the snapshot that is current now.
        is_full: False when only a part was looked at.
    """

    documents: int = 0
    chunks: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    embedded: int = 0
    reused: int = 0
    skipped: dict[str, int] = field(default_factory=dict[str, int])
    seconds: float = 0.0
    generation: int = 0
    is_full: bool = True

    def as_json(self) -> dict[str, Any]:
        """Return the attributes as JSON, under keys that stay the same; seconds are rounded to milliseconds."""
        return asdict(self) | {"seconds": round(self.seconds, 3)}
