"""BM25 over fields of chunks and files: what the ranker takes words from; called once a query."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.index.lexical import idf
from hybrid.index.sorting import runs
from hybrid.ranking.corpus import NAME, VALUE
from hybrid.ranking.scale import best_of, by_best

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hybrid.ranking.corpus import Corpus, Postings

_KIN = 0.4
"""Weight of a relative of a query term: between half and a third as telling as the term itself."""
_WIDENED = 16
"""Terms of a query whose relatives count: a question has fewer, and a pasted log is not short of words."""
_K1_FIELDS = 3.0
_K1_NAMES = 2.0
_K1_REMARKS = 1.5

_OF_CHUNK = np.array([4, 2, 4, 2, 0], np.float32)
"""Weights of stem, folders, names and scopes beside the text of a chunk; values and comments stand in it."""
_OF_FILE = np.array([8, 4, 0, 0, 0], np.float32)
"""Weights of stem and folders beside the text of a file."""
_FILE_NAME = 3.0
_FILE_VALUE = 0.3


@dataclass(frozen=True, slots=True)
class WordScores:
    """What the words of a query find; every array in [0, 1], its best being 1 where any term was found.

    Attributes:
        chunks: Field-weighted BM25 of each chunk with the relatives of the terms, shape (n_rows,).
        remarks: BM25 of each chunk's comments, shape (n_rows,).
        files: Field-weighted BM25 of each file as a whole, shape (n_files,).
        names: BM25 of the names that each file defines, shape (n_files,).
        best: Rows with the highest `chunks`, best first.
        idf: Of each term, over chunks.
    """

    chunks: NDArray[np.float32]
    remarks: NDArray[np.float32]
    files: NDArray[np.float32]
    names: NDArray[np.float32]
    best: NDArray[np.intp]
    idf: Mapping[str, float]


def score_words(corpus: Corpus, terms: Mapping[str, float], depth: int) -> WordScores:
    """Score every chunk and file by the terms of a query.

    Args:
        corpus: To score.
        terms: Index term → how often the query says it.
        depth: Length of `best` at most.

    Source: BM25F, Robertson, Zaragoza, Taylor (CIKM 2004): frequencies of the fields are weighted and added before they
    saturate. A term and its relatives share one document frequency.
    """
    run = _Run(corpus)
    widened = _widened(corpus, terms)
    for term, count in terms.items():
        run.add(term, count, with_kin=term in widened)
    found = np.flatnonzero(run.chunks > 0)
    best = found[best_of(run.chunks[found], depth)]
    return WordScores(by_best(run.chunks), by_best(run.remarks), by_best(run.files), by_best(run.names), best, run.idf)


def _widened(corpus: Corpus, terms: Mapping[str, float]) -> set[str]:
    """The terms whose relatives are looked for: of a long query those that are said most and held least."""
    if len(terms) <= _WIDENED:
        return set(terms)
    frequency = corpus.snapshot.document_frequency
    worth = {term: -count * math.log(1 + corpus.n_live / (frequency(term) + 1)) for term, count in terms.items()}
    return set(sorted(worth, key=lambda term: (worth[term], term))[:_WIDENED])


class _Run:
    """Adds up one query."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self.chunks = np.zeros(corpus.n_rows, np.float32)
        self.remarks = np.zeros(corpus.n_rows, np.float32)
        self.files = np.zeros(corpus.n_files, np.float32)
        self.names = np.zeros(corpus.n_files, np.float32)
        self.idf: dict[str, float] = {}
        self._frequency = np.zeros(corpus.n_rows, np.float32)
        self._is_found = np.zeros(corpus.n_rows, np.bool_)

    def add(self, term: str, count: float, *, with_kin: bool) -> None:
        corpus = self._corpus
        own = corpus.postings(term)
        self.idf[term] = idf(corpus.n_live, sum(len(one.rows) for one in own))
        variants = [(one, 1.0) for one in own]
        if with_kin:
            variants += [(one, _KIN) for relative in corpus.kin(term) for one in relative]
        if variants:
            self._add_chunks(variants, count)
        if own:
            self._add_remarks(corpus.remarks(term), count)
            self._add_files(own, count)

    def _add_chunks(self, variants: list[tuple[Postings, float]], count: float) -> None:
        frequency, is_found = self._frequency, self._is_found
        for one, weight in variants:
            values = one.body / self._corpus.text_norm[one.rows]
            if len(one.named):
                values[one.named] += _OF_CHUNK @ one.fields
            frequency[one.rows] += values * np.float32(weight)
            is_found[one.rows] = True
        rows = variants[0][0].rows if len(variants) == 1 else np.flatnonzero(is_found)
        values = frequency[rows]
        weight = np.float32(count * idf(self._corpus.n_live, len(rows)))
        self.chunks[rows] += weight * values / (values + np.float32(_K1_FIELDS))
        frequency[rows] = 0
        is_found[rows] = False

    def _add_remarks(self, found: list[tuple[NDArray[np.intp], NDArray[np.float32]]], count: float) -> None:
        weight = np.float32(count * idf(self._corpus.n_live, sum(len(rows) for rows, _ in found)))
        for rows, counts in found:
            values = counts / self._corpus.remark_norm[rows]
            self.remarks[rows] += weight * values / (values + np.float32(_K1_REMARKS))

    def _add_files(self, own: list[Postings], count: float) -> None:
        texts: list[tuple[NDArray[np.int32], NDArray[np.float32]]] = []
        names: list[tuple[NDArray[np.int32], NDArray[np.float32]]] = []
        for one in own:
            files = self._corpus.file_of_row[one.rows]
            starts = runs(files)
            values = _sums(one.body, starts)
            np.divide(values, self._corpus.file_norm[files[starts]], out=values)
            if len(one.named):
                of_run = np.searchsorted(starts, one.named, side="right") - 1
                in_names = _per_run(of_run, one.fields[NAME], len(starts))
                np.add(values, np.multiply(in_names, np.float32(_FILE_NAME)), out=values)
                # Every chunk of a file has the words of its path: one of them counts.
                in_path = np.zeros(len(starts), np.float32)
                in_path[of_run] = _OF_FILE @ one.fields
                np.add(values, in_path, out=values)
                in_values = _per_run(of_run, one.fields[VALUE], len(starts))
                np.add(in_names, np.multiply(in_values, np.float32(_FILE_VALUE)), out=in_names)
                defined = np.flatnonzero(in_names)
                names.append((files[starts][defined], in_names[defined]))
            texts.append((files[starts], values))
        self._add(self.files, texts, count, _K1_FIELDS)
        self._add(self.names, names, count, _K1_NAMES)

    def _add(
        self,
        scores: NDArray[np.float32],
        found: list[tuple[NDArray[np.int32], NDArray[np.float32]]],
        count: float,
        k1: float,
    ) -> None:
        """Add what a term of these frequencies gives to these files."""
        weight = np.float32(count * idf(self._corpus.n_live_files, sum(len(files) for files, _ in found)))
        for files, values in found:
            scores[files] += weight * values / (values + np.float32(k1))


def _per_run(of_run: NDArray[np.intp], counts: NDArray[np.float32], n_runs: int) -> NDArray[np.float32]:
    """The sum of the counts of each run."""
    return np.bincount(of_run, counts, n_runs).astype(np.float32)


def _sums(values: NDArray[Any], starts: NDArray[np.intp]) -> NDArray[np.float32]:
    """The sum of each run."""
    return np.asarray(np.add.reduceat(values, starts, dtype=np.float32), np.float32)
