"""What a build is asked for and what it did: the recipe of its chunks, a part of a source, its progress, its summary.

Plain values of `build`, `documents` and `commit`, which call one another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field
from msgspec.structs import asdict

from hybrid.index.analysis import recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hybrid.types import Chunked, ChunkLimits, Document, Found


class Progress(Protocol):
    """Hears how far a build is."""

    def __call__(self, step: str, done: int, total: int) -> None:
        """`step` is scan, read or write; `total` is 0 while it is not known."""
        ...


def silent(step: str, done: int, total: int) -> None:
    """A `Progress` that says nothing."""


class Recipe(Struct, frozen=True):
    """How documents become chunks: the cutter with its version and limits, and how the source reads files."""

    chunk: Callable[[Document, ChunkLimits], Chunked]
    limits: ChunkLimits
    chunker_version: str
    source_version: str

    @property
    def of_chunks(self) -> str:
        """Key of the chunks of a text."""
        return recipe(self.chunker_version, self.limits)

    @property
    def of_documents(self) -> str:
        """Key of the documents of a tree."""
        return f"{self.of_chunks}; source {self.source_version}"


class Part(Struct, frozen=True):
    """A part of a source that is looked at alone.

    Attributes:
        paths: Of documents, or of folders with everything below them; there or gone.
        scan: As `Source.scan`, of these paths only; None when only a full scan can tell.
    """

    paths: tuple[str, ...]
    scan: Callable[[Sequence[str]], Sequence[Found] | None]


class Summary(Struct):
    """What a build did; the JSON of `hybrid reindex`.

    Attributes:
        documents: Indexed now.
        chunks: Of them.
        added: Documents that are new.
        changed: Documents whose text is another.
        removed: Documents that are gone or no longer indexed.
        embedded: Inputs that were embedded.
        reused: Chunks of added and changed documents whose vector was known.
        skipped: Reason → files left out, by the last look at everything.
        seconds: Wall time.
        generation: Of the snapshot.
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
        """Stable keys."""
        return asdict(self) | {"seconds": round(self.seconds, 3)}
