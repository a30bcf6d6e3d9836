"""Other engines on the chunks of a snapshot, each with time and recall: two exact ones and four that people use.

All get the same: the terms of each chunk as the index has them, or its vectors; so recall tells how much of the exact
ten an engine finds, not how it cuts words.
"""

from __future__ import annotations

import importlib
import sqlite3
import time
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from hybrid.evaluation.timing import sum_up, timed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from hybrid.index.snapshot import Snapshot

TOP_K = 10
_EQUAL = 1e-6
"""Scores that differ by less are taken for equal: which of two equal chunks comes first is no matter of recall."""


class Engine(Protocol):
    """An engine that finds the best rows for tokens, or for a vector."""

    def best(self, query: Any) -> Sequence[int]:
        """Return the best ten rows, best first."""
        ...


def _module(name: str) -> Any:
    """Return a module of the extra `scale`, which has no types for those who did not install it."""
    return importlib.import_module(name)


class Product:
    """One product of all vectors as float32 with a query, and its largest ten."""

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self.vectors = vectors

    def cosines(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosine to every row, shape (n_rows,)."""
        return self.vectors @ query

    def best(self, query: NDArray[np.float32]) -> Sequence[int]:
        """See `Engine.best`."""
        cosines = self.cosines(query)
        rows = np.argpartition(cosines, -TOP_K)[-TOP_K:]
        return rows[np.argsort(-cosines[rows])].tolist()


class Usearch:
    """A graph of neighbours (HNSW) with the defaults of usearch."""

    def __init__(self, vectors: NDArray[np.float32]) -> None:
        self._index: Any = _module("usearch.index").Index(ndim=vectors.shape[1], metric="cos", dtype="f32")
        self._index.add(np.arange(len(vectors)), vectors, threads=0)

    def best(self, query: NDArray[np.float32]) -> Sequence[int]:
        """See `Engine.best`."""
        return self._index.search(query, TOP_K).keys.tolist()


class Tantivy:
    """BM25 by tantivy, one field of words split at spaces."""

    def __init__(self, texts: Sequence[str], folder: Path) -> None:
        tantivy = self._tantivy = _module("tantivy")
        schema = tantivy.SchemaBuilder()
        schema.add_text_field("body", tokenizer_name="whitespace", index_option="freq")
        schema.add_unsigned_field("row", stored=True)
        self._schema = schema.build()
        folder.mkdir(parents=True)
        index = tantivy.Index(self._schema, path=str(folder))
        writer = index.writer(heap_size=200_000_000)
        for row, text in enumerate(texts):
            writer.add_document(tantivy.Document(body=text, row=row))
        writer.commit()
        writer.wait_merging_threads()
        index.reload()
        self._searcher = index.searcher()

    def best(self, query: Sequence[str]) -> Sequence[int]:
        """See `Engine.best`."""
        module = self._tantivy
        terms = [(module.Occur.Should, module.Query.term_query(self._schema, "body", word)) for word in query]
        hits: list[tuple[float, Any]] = self._searcher.search(module.Query.boolean_query(terms), TOP_K).hits
        return [self._searcher.doc(address)["row"][0] for _, address in hits]


class FullText:
    """BM25 by the FTS5 of SQLite."""

    def __init__(self, texts: Sequence[str], folder: Path) -> None:
        folder.mkdir(parents=True)
        self._db = sqlite3.connect(folder / "words.db")
        self._db.execute("CREATE VIRTUAL TABLE found USING fts5(body, content='', columnsize=1)")
        self._db.executemany("INSERT INTO found(rowid, body) VALUES(?, ?)", enumerate(texts, 1))
        self._db.execute("INSERT INTO found(found) VALUES('optimize')")
        self._db.commit()

    def close(self) -> None:
        """Close the database; no other engine holds a file."""
        self._db.close()

    def best(self, query: Sequence[str]) -> Sequence[int]:
        """See `Engine.best`."""
        sql = f"SELECT rowid FROM found WHERE found MATCH ? ORDER BY rank LIMIT {TOP_K}"
        return [row - 1 for (row,) in self._db.execute(sql, (" OR ".join(query),))]


class Spelled:
    """The chunks of a snapshot as texts of made-up words, one for each term, which every engine cuts alike."""

    def __init__(self, snapshot: Snapshot) -> None:
        numbers: dict[str, int] = {}
        self.texts: list[str] = []
        for _, terms in snapshot.live_terms():
            words = [(f"t{numbers.setdefault(term, len(numbers))}", n) for term, n in terms.items()]
            self.texts.append(" ".join(word for word, n in words for _ in range(n)))
        self._numbers: Mapping[str, int] = numbers

    def query(self, tokens: Sequence[str]) -> list[str]:
        """Return the words of the tokens that a chunk holds, each once."""
        return list(dict.fromkeys(f"t{self._numbers[token]}" for token in tokens if token in self._numbers))


def measured(
    make: Callable[[], Engine], queries: Sequence[Any], exact: Sequence[NDArray[np.floating[Any]]]
) -> dict[str, Any]:
    """Return an engine's time of making, its times of a query, and its recall among the exact ten.

    Args:
        make: Makes the engine.
        queries: What it is asked, at least one.
        exact: For each query the exact score of every row.
    """
    started = time.perf_counter()
    engine = make()
    made = time.perf_counter() - started
    engine.best(queries[0])
    times, found = list[float](), list[float]()
    for query, scores in zip(queries, exact, strict=True):
        rows, ms = timed(lambda query=query: engine.best(query))
        times.append(ms)
        found.append(recall(rows, scores))
    if isinstance(engine, FullText):
        engine.close()
    return sum_up(times).as_json() | {"made_s": round(made, 1), "recall@10": round(float(np.mean(found)), 4)}


def recall(rows: Sequence[int], scores: NDArray[np.floating[Any]]) -> float:
    """Return the share of the exact ten that are among some rows; chunks with the score of the tenth are alike.

    Of fewer than ten chunks with a score above 0, all are the exact ones; 1 when there is none.
    """
    n_wanted = min(TOP_K, int((scores > 0).sum()))
    if not n_wanted:
        return 1.0
    least = float(np.partition(scores, -n_wanted)[-n_wanted])
    return sum(float(scores[row]) >= least - _EQUAL for row in rows[:TOP_K]) / n_wanted
