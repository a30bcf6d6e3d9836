"""Makes seeded corpora of any size from the text of a real tree; `hybrid eval scale` searches them.

The tree is indexed as any project is. A corpus is made of copies of its documents, each of which differs from all
others: rare words have other letters in each copy, as the names of another project have, a part of the text is left
out, and the vector of each chunk is moved towards that of another one. So words keep the frequencies of real text,
equal scores are as rare as in a real tree, and the number of distinct words grows with the size. The smaller of two
corpora is the beginning of the larger one.
"""

from __future__ import annotations

import hashlib
import itertools
import random
import re
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from hybrid.base.arrays import write_arrays
from hybrid.base.text import sha256_hex
from hybrid.index.analysis import Analysis, encode_detail
from hybrid.index.catalog import Catalog, recipe_of_tree
from hybrid.index.drafting import SegmentDocument, encode_segment, inputs_of
from hybrid.index.manifest import FORMAT_VERSION, Manifest, SegmentEntry, write_manifest
from hybrid.index.vectors import StoredVectors, quantise
from hybrid.types import Document, FileStamp, Found

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.index.analysis import ChunkRecord
    from hybrid.index.manifest import Place
    from hybrid.index.plan import BuildTools
    from hybrid.types import EmbedderInfo

_SEGMENT_CHUNKS = 150_000
"""Chunks of one written segment: a million are seven, one less than a build leaves by default."""
_COMMON = 1_500
"""Words that every copy spells alike, the most frequent ones: the vocabulary that projects share. Chosen by hand."""
_OWN_SHARE = 0.6
"""Share of the other words that a copy spells in its own way."""
_LEFT_OUT = 0.25
"""Share of the words of each chunk that a copy leaves out."""
_MOVED = 0.6
"""Length of what is added to the vector of a chunk, towards another chunk: the cosine to what it was is 0.8 or more."""
_VOWELS, _CONSONANTS = "aeiou", "bcdfghjklmnpqrstvwxyz"
_SENTENCE = re.compile(r"[A-Z][a-z]")
_BARE = re.compile(r"^[\s#*/\"';-]+|[\s*/\"']+$")
_WORDS = 5, 20


class Base:
    """The documents of an indexed tree in an order that a seed gives, their vectors, and sentences of its comments."""

    def __init__(self, place: Place, root: Path, model: EmbedderInfo, *, seed: int) -> None:
        """Read everything from the catalog of a built index."""
        with Catalog(place.catalog, tree=place.tree, root=place.root) as catalog:
            rows = [(path, *row) for path, row in catalog.indexed().items()]
            random.Random(seed).shuffle(rows)
            documents = [SegmentDocument(*row, catalog.records(row[1])) for row in rows]
            self.documents = [document for document in documents if document.records]
            inputs = [key for document in self.documents for key in inputs_of(document.path, document.records)]
            stored = catalog.vectors(catalog.model_id(model.key), inputs, model.dim)
        self.n_chunks = len(inputs)
        self.vectors: NDArray[np.float32] = np.multiply(stored.data, stored.scale[:, np.newaxis], dtype=np.float32)
        self.is_cut = stored.is_cut
        counts: dict[str, int] = {}
        for term in (term for document in self.documents for record in document.records for term in record.body):
            counts[term] = counts.get(term, 0) + 1
        self.common = frozenset(sorted(counts, key=lambda term: (-counts[term], term))[:_COMMON])
        self._root = root

    def sentences(self, n: int) -> list[str]:
        """Return so many sentences from comments of the tree, of 5 to 20 words, at most one a document."""
        return list(itertools.islice(filter(None, map(self._sentence, self.documents)), n))

    def _sentence(self, document: SegmentDocument) -> str:
        lines = (self._root / document.path).read_text(encoding="utf-8", errors="replace").split("\n")
        for span in (span for record in document.records for span in record.comments):
            text = _BARE.sub("", lines[span.start_line - 1]) if span.start_line <= len(lines) else ""
            if _WORDS[0] <= len(text.split()) <= _WORDS[1] and _SENTENCE.match(text):
                return text
        return ""

    def copies(self, n_chunks: int) -> Iterator[Copied]:
        """Yield documents of at least so many chunks in all: copy after copy, the first being the tree as it is."""
        done = 0
        for copy in itertools.count():
            speller, at = _Speller(copy, self.common), 0
            for document in self.documents:
                rows = np.arange(at, at + len(document.records))
                yield Copied(speller.document(document), rows, copy)
                at, done = at + len(rows), done + len(rows)
                if done >= n_chunks:
                    return

    def moved(self, rows: NDArray[np.intp], copies: NDArray[np.intp]) -> StoredVectors:
        """Return the vectors of some chunks of some copies, each moved towards that of another one; not in copy 0."""
        # A multiplier without a common factor gives another partner in each copy.
        partner = (rows * 7919 + copies * 104_729 + 13) % self.n_chunks
        found = self.vectors[rows]
        found += np.where(copies > 0, np.float32(_MOVED), np.float32(0))[:, np.newaxis] * self.vectors[partner]
        found /= np.maximum(np.linalg.norm(found, axis=1, keepdims=True), 1e-9)
        return quantise(found.astype(np.float32), self.is_cut[rows])


class Copied(Struct, frozen=True):
    """A document of a corpus.

    Attributes:
        document: It; its content id is not yet one of the corpus.
        rows: Numbers of its chunks in the tree.
        copy: Number of the copy of the tree.
    """

    document: SegmentDocument
    rows: NDArray[np.intp]
    copy: int


class _Speller:
    """Spells the words of one copy; copy 0 is the tree as it is."""

    def __init__(self, copy: int, common: frozenset[str]) -> None:
        self._copy = copy
        self._common = common
        self._draw = random.Random(copy)
        self._words: dict[str, str] = {}
        by = 1 + copy // 20, 1 + copy % 20
        letters = {a: _VOWELS[(i + by[0]) % len(_VOWELS)] for i, a in enumerate(_VOWELS)}
        letters |= {a: _CONSONANTS[(i + by[1]) % len(_CONSONANTS)] for i, a in enumerate(_CONSONANTS)}
        self._letters = str.maketrans(letters | {a.upper(): b.upper() for a, b in letters.items()})

    def document(self, document: SegmentDocument) -> SegmentDocument:
        if not self._copy:
            return document
        records = [self._record(record) for record in document.records]
        return replace(document, path=f"copy{self._copy}/{document.path}", records=records)

    def _record(self, record: ChunkRecord) -> ChunkRecord:
        definitions = tuple(
            replace(one, name=self._word(one.name), scope=".".join(map(self._word, one.scope.split("."))))
            for one in record.definitions
        )
        body = {self._word(term): n for term, n in record.body.items() if self._draw.random() >= _LEFT_OUT}
        fields = {name: {self._word(term): n for term, n in counts.items()} for name, counts in record.fields.items()}
        for name in ("value", "comment"):  # They stand in the body, too.
            fields[name] = {term: n for term, n in fields[name].items() if term in body}
        return replace(
            record,
            digest=_digest(record.digest, self._copy)[: len(record.digest)],
            masked=b"",
            name=self._word(record.name),
            body=body,
            fields=fields,
            definitions=definitions,
        )

    def _word(self, word: str) -> str:
        known = self._words.get(word)
        if known is None:
            share = int.from_bytes(_digest(word.encode("utf-8", "surrogatepass"), self._copy)[:4], "big") / 2**32
            is_own = word not in self._common and share < _OWN_SHARE
            known = self._words[word] = word.translate(self._letters) if is_own else word
        return known


def _digest(data: bytes, copy: int) -> bytes:
    return hashlib.sha256(data + copy.to_bytes(4, "big")).digest()


class CorpusWriter:
    """Writes a corpus as the index of a tree: catalog and snapshot, as a build would have left them."""

    def __init__(self, base: Base, place: Place, tools: BuildTools) -> None:
        self._base = base
        self._place = place
        self._tools = tools
        self._model = tools.embedder.info
        self._entries: list[SegmentEntry] = []

    def write(self, n_chunks: int) -> int:
        """Write at least so many chunks; return how many."""
        self._place.folder.mkdir(parents=True, exist_ok=True)
        how, model, background = self._tools.how, self._model, self._tools.background
        with Catalog(self._place.catalog, tree=self._place.tree, root=self._place.root) as catalog:
            catalog.begin()
            catalog.require_recipe(recipe_of_tree(how.of_documents, model.key))
            catalog.commit()
            held: list[Copied] = []
            n_held = 0
            for copied in self._base.copies(n_chunks):
                held.append(copied)
                n_held += len(copied.rows)
                if n_held >= _SEGMENT_CHUNKS:
                    self._write_segment(catalog, held)
                    held, n_held = [], 0
            if held:
                self._write_segment(catalog, held)
            entries = tuple(self._entries)
            manifest = Manifest(FORMAT_VERSION, 1, model.key, model.dim, how.of_chunks, entries, {}, background)
            write_manifest(self._place.folder, manifest)
            catalog.begin()
            catalog.finish(1, {})
            catalog.commit()
        return sum(entry.n_chunks for entry in self._entries)

    def _write_segment(self, catalog: Catalog, held: Sequence[Copied]) -> None:
        ordered = sorted(held, key=lambda copied: copied.document.path)
        rows = np.concatenate([copied.rows for copied in ordered])
        copies = np.concatenate([np.full(len(copied.rows), copied.copy) for copied in ordered])
        vectors = self._base.moved(rows, copies)
        documents = self._put(catalog, ordered, vectors)
        arrays = encode_segment(documents, vectors)
        if self._tools.annotator:
            arrays |= self._tools.annotator.annotate(arrays)
        path = self._place.folder / f"segment-{1:08d}-{len(self._entries) + 1:03d}.safetensors"
        data = write_arrays(path, arrays, {"format": str(FORMAT_VERSION), "model": self._model.key})
        stamp = path.stat().st_mtime_ns
        self._entries.append(SegmentEntry(path.name, len(data), stamp, sha256_hex(data), len(rows), ()))

    def _put(self, catalog: Catalog, ordered: Sequence[Copied], vectors: StoredVectors) -> list[SegmentDocument]:
        """Store documents, chunks and vectors in the catalog; return the documents with the ids of their contents."""
        catalog.begin(is_durable=False)
        model_id, recipe = catalog.model_id(self._model.key), self._tools.how.of_chunks
        found: list[SegmentDocument] = []
        inputs: list[tuple[bytes, int]] = []
        for copied in ordered:
            one = copied.document
            digest = _digest(b"".join(record.digest for record in one.records) + one.path.encode(), copied.copy)
            document = Document(one.path, one.kind, one.language, "", digest)
            analysis = Analysis("definitions", "", one.records, [encode_detail(record) for record in one.records], ())
            content_id = catalog.put_content(document, recipe, analysis)
            entry = Found(one.path, FileStamp(1, 1))
            catalog.put_document(entry, 10**18, content_id=content_id, kind=one.kind, reason=None)
            found.append(replace(one, content_id=content_id))
            inputs += [(key, content_id) for key in inputs_of(one.path, one.records)]
        catalog.put_vectors(model_id, inputs, vectors)
        catalog.commit()
        return found
