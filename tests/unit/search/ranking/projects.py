"""Small projects as the ranker sees them, and the same words counted the slow way, from texts alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hybrid.base.tokens import query_tokens
from hybrid.chunking.chunker import chunk_document
from hybrid.index.analysis import CHUNK_FIELDS, analysed, path_terms
from hybrid.index.backend import EVERYTHING, Filter
from hybrid.models.registry import HashingEmbedder
from hybrid.prompting.query import make_query
from hybrid.search.ranking.corpus import Candidates, Corpus, candidates
from hybrid.search.ranking.ranker import Ranker
from hybrid.types import Document, Found
from tests.support.builders import LIMITS, ListSource, build_index, default_config, open_index, place_in

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.constants import RankingConfig
    from hybrid.index.snapshot import Snapshot
    from hybrid.types import Hit

EMBEDDER = HashingEmbedder(512)
_LANGUAGES = {
    "c": "c",
    "go": "go",
    "h": "c",
    "java": "java",
    "js": "javascript",
    "pyi": "python",
    "rs": "rust",
    "ts": "typescript",
}


def numbers_in(text: str | None) -> dict[str, float]:
    """Names and their numbers: `a.py 1 b.py 0.5`."""
    words = (text or "").split()
    return dict(zip(words[::2], map(float, words[1::2]), strict=True))


class Texts(ListSource):
    """Texts in memory, in more languages than `ListSource` knows."""

    def read(self, found: Found) -> Document:
        """One text."""
        document = super().read(found)
        assert isinstance(document, Document)
        language = _LANGUAGES.get(found.path.rsplit(".", 1)[-1], document.language)
        return Document(document.path, document.kind, language, document.text, document.digest)


@dataclass(frozen=True)
class Words:
    """A chunk as its text, its definitions and its path spell it, without an index."""

    path: str
    start_line: int
    body: Mapping[str, int]
    fields: Mapping[str, Mapping[str, int]]

    @property
    def place(self) -> tuple[str, int]:
        """Path and first line."""
        return self.path, self.start_line

    @property
    def vocabulary(self) -> set[str]:
        """Every term that it has anywhere."""
        return {*self.body, *(term for counts in self.fields.values() for term in counts)}


def words_of(texts: Mapping[str, str]) -> list[Words]:
    """The chunks of some files, in order of path and line."""
    source = Texts(dict(texts))
    found: list[Words] = []
    for entry in source.scan():
        document = source.read(entry)
        of_path = path_terms(document.path)
        for record in analysed(document, chunk_document(document, LIMITS).chunks)[0]:
            fields = of_path | {name: record.fields[name] for name in CHUNK_FIELDS}
            found.append(Words(document.path, record.start_line, record.body, fields))
    return found


def snapshot_of(folder: Path, *history: Mapping[str, str], max_segments: int = 100) -> Snapshot:
    """The index of a project after its edits: each state of `history` holds all files that there were then."""
    place, source = place_in(folder), Texts({})
    for texts in history:
        for path in source.texts.keys() - texts.keys():
            del source.texts[path]
        for path, text in texts.items():
            if source.texts.get(path) != text:
                source.put(path, text)
        build_index(place, source, EMBEDDER, max_segments=max_segments)
    return open_index(place, EMBEDDER)


def corpus_of(folder: Path, *history: Mapping[str, str]) -> Corpus:
    """The same as the ranker reads it."""
    return Corpus(snapshot_of(folder, *history))


def by_path(corpus: Corpus, values: NDArray[np.float32]) -> dict[str, float]:
    """The values of the files that can be found."""
    firsts = corpus.fields.of_files("first_row", np.arange(corpus.n_files))
    files = np.flatnonzero(corpus.backend.allows(Filter(), firsts)).tolist()
    return {corpus.fields.path(file): float(values[file]) for file in files}


def every_file(corpus: Corpus) -> Candidates:
    """All files as candidates."""
    return candidates(corpus, np.arange(corpus.n_files))


def best_of_files(corpus: Corpus, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """The largest value of each file's chunks."""
    files = every_file(corpus)
    return files.best(values[files.rows])


def by_place(corpus: Corpus, values: NDArray[np.float32]) -> dict[tuple[str, int], float]:
    """The values of the chunks that can be found, by path and first line."""
    views = ((row, corpus.backend.get(row)) for row, _ in corpus.backend.live_terms())
    return {(view.path, view.start_line): float(values[row]) for row, view in views}


def weights(folder: Path, **changes: float) -> RankingConfig:
    """The shipped weights with some changed."""
    return default_config(folder, **{f"ranking_{name}": value for name, value in changes.items()}).ranking


def only(folder: Path, *names: str) -> RankingConfig:
    """Weights of 1 for some pieces and 0 for all others."""
    shipped = weights(folder)
    return weights(folder, **{name: float(name in names) for name in shipped.__struct_fields__})


def rank(
    snapshot: Snapshot,
    text: str,
    settings: RankingConfig,
    *,
    depth: int = 256,
    top_k: int = 20,
    kept: Filter = EVERYTHING,
    ranker: Ranker | None = None,
) -> list[Hit]:
    """What the ranker makes of a query, as a search asks it."""
    query = make_query(text)
    vector = EMBEDDER.embed_query(query.text)
    dense = snapshot.dense(vector, depth)
    lexical = snapshot.lexical(query_tokens(query.text), depth)
    ranker = ranker or Ranker(snapshot, settings)
    return ranker.rank(query, (dense, lexical), depth=depth, top_k=top_k, only=kept)


def places(snapshot: Snapshot, ranked: Sequence[Hit]) -> list[tuple[str, int]]:
    """Path and first line of each."""
    views = [snapshot.get(chunk.row) for chunk in ranked]
    return [(view.path, view.start_line) for view in views]


def paths(snapshot: Snapshot, ranked: Sequence[Hit]) -> list[str]:
    """The path of each."""
    return [path for path, _ in places(snapshot, ranked)]
