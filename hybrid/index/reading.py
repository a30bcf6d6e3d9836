"""Looks at one file after the other: reads it, cuts it into chunks and makes all that the catalog keeps of them.

What is done here asks neither the catalog nor an embedder, so `workers` can do it in processes of their own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.index.analysis import analysed, encode_detail
from hybrid.types import Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from hybrid.index.analysis import ChunkRecord
    from hybrid.types import Chunked, ChunkLimits, Document, Found, Source


class Analysis(Struct, frozen=True):
    """A text cut into chunks.

    Attributes:
        method: As in `Chunked`.
        fallback: As in `Chunked`.
        records: Records of the text's chunks, in order.
        details: The detail of each record (`encode_detail`), as the catalog stores it.
        texts: The text of each chunk, normalised and without secrets: what is embedded.
    """

    method: str
    fallback: str
    records: Sequence[ChunkRecord]
    details: Sequence[bytes]
    texts: Sequence[str]


class Looked(Struct, frozen=True):
    """A document that was read.

    Attributes:
        document: The document; its text may be empty when there is an analysis.
        analysis: The text cut into chunks; None for a text that is known.
    """

    document: Document
    analysis: Analysis | None


class Reader(Struct, frozen=True):
    """Reads and cuts files; it can be sent to another process as long as its source can.

    Attributes:
        source: Gives the documents.
        chunk: Cuts a document.
        limits: Sizes of chunks.
    """

    source: Source
    chunk: Callable[[Document, ChunkLimits], Chunked]
    limits: ChunkLimits

    def look(self, found: Found, is_known: Callable[[Document], bool]) -> Looked | Skipped:
        """Read a file, and cut it unless its text is known; return `Skipped` for a file that is not indexed."""
        document = self.source.read(found)
        if isinstance(document, Skipped):
            return document
        return Looked(document, None if is_known(document) else self.analyse(document))

    def analyse(self, document: Document) -> Analysis:
        """Cut a document into chunks and return what the catalog keeps of them."""
        chunked = self.chunk(document, self.limits)
        records, texts = analysed(document, chunked.chunks)
        return Analysis(chunked.method, chunked.fallback, records, list(map(encode_detail, records)), texts)


class Task(Struct, frozen=True):
    """The tools and known texts with which a process looks at files for a build.

    Attributes:
        reader: Looks at a file.
        known: Digest and language of the texts that need no cutting.
    """

    reader: Reader
    known: frozenset[tuple[bytes, str]]

    def look(self, found: Found) -> Looked | Skipped:
        """See `Reader.look`."""
        return self.reader.look(found, lambda document: (document.digest, document.language) in self.known)
