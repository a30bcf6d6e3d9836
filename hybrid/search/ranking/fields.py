"""BM25 over fields of chunks and files: what the ranker takes words from; called once a query."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.index.analysis import NAME_FIELDS
from hybrid.index.lexical import idf
from hybrid.index.sorting import distinct
from hybrid.search.ranking.scale import best_of, divide_by_best

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.index.backend import Postings
    from hybrid.search.ranking.corpus import Corpus

_NAME, _VALUE = map(NAME_FIELDS.index, ("name", "value"))
_KIN = 0.4
"""Weight of a relative of a query term: between half and a third as telling as the term itself."""
_WIDENED = 16
"""Terms of a query whose relatives count, at most: a question has fewer, and a pasted log has words enough."""
_K1_FIELDS = 3.0
_K1_NAMES = 2.0
_K1_REMARKS = 1.5
"""Saturation of a term: higher where weighted fields are added before, so that a name still counts beside the text.

This, the weights of fields below and `_KIN` were chosen by hand. Decision 28 (equal weights) is about pieces of
evidence, which lie in 0 to 1 each; within one BM25 a word of a name counts more than a word of the text.
"""

_OF_CHUNK = np.array([4, 2, 4, 2, 0], np.float32)
"""Weights of stem, folders, names and scopes beside the text of a chunk; values and comments stand in it."""
_OF_FILE = np.array([8, 4, 0, 0, 0], np.float32)
"""Weights of stem and folders beside the text of a file."""
_FILE_NAME = 3.0
"""Weight of the names of definitions beside the text of a file."""
_FILE_VALUE = 0.3
"""Weight of the names of values beside those of other definitions, which are asked for more often."""


class WordScores(Struct, frozen=True):
    """The scores by the words of a query; every value in [0, 1], the best being 1 where any term was found.

    Attributes:
        chunks: Field-weighted BM25 of each chunk with the relatives of the terms, shape (n_rows,).
        remarks: BM25 of each chunk's comments, shape (n_rows,).
        remarked: The rows with a value in `remarks`.
        files: Field-weighted BM25 of each file as a whole, shape (n_files,).
        names: BM25 of the names that each file defines, shape (n_files,).
        best: Rows with the highest `chunks`, best first.
        idf: Term of the query → inverse document frequency, over chunks.
    """

    chunks: NDArray[np.float32]
    remarks: NDArray[np.float32]
    remarked: NDArray[np.intp]
    files: NDArray[np.float32]
    names: NDArray[np.float32]
    best: NDArray[np.intp]
    idf: Mapping[str, float]


def score_words(corpus: Corpus, terms: Mapping[str, float], depth: int) -> WordScores:
    """Score every chunk and file by the terms of a query.

    Args:
        corpus: The corpus to score.
        terms: Index term → how much the query says it.
        depth: Length of `WordScores.best` at most.

    Source: BM25F, Robertson, Zaragoza, Taylor (CIKM 2004): frequencies of the fields are weighted and added before they
    saturate. A term and its relatives share one document frequency.
    """
    run = _Run(corpus, terms)
    chunks, found = run.chunks.scores()
    best = found[best_of(chunks[found], depth)]
    divide_by_best(chunks, found)
    remarks, remarked = run.remarks.scores()
    divide_by_best(remarks, remarked)
    files, names = run.files.scores(), run.names.scores()
    divide_by_best(*files)
    divide_by_best(*names)
    return WordScores(chunks, remarks, remarked, files[0], names[0], best, run.idf)


def _widened(corpus: Corpus, terms: Mapping[str, float]) -> set[str]:
    """Return the terms whose relatives count: all, or of a long query the 16 that are said most and held least."""
    if len(terms) <= _WIDENED:
        return set(terms)
    frequency = corpus.backend.terms.document_frequency
    worth = {term: -count * math.log(1 + corpus.n_live / (frequency(term) + 1)) for term, count in terms.items()}
    return set(sorted(worth, key=lambda term: (worth[term], term))[:_WIDENED])


class _Sum:
    """Adds up the BM25 of chunks or files over the terms of a query; `gather` takes the frequencies in blocks."""

    def __init__(self, counts: Sequence[float], n_places: int, n_live: int, k1: float) -> None:
        """Take how much the query says each term, the number of chunks or files, that of live ones, and saturation."""
        self._counts = counts
        self._n_places = n_places
        self._n_live = n_live
        self._k1 = np.float32(k1)
        self._n_matching = [0] * len(counts)
        self._terms: list[int] = []
        self._lengths: list[int] = []
        self._places: list[NDArray[Any]] = []
        self._values: list[NDArray[np.float32]] = []

    def gather(
        self, terms: Sequence[int], lengths: Sequence[int], places: NDArray[Any], values: NDArray[np.float32]
    ) -> None:
        """Take the frequencies `values` at `places`, term after term: `lengths[i]` of them belong to `terms[i]`."""
        for term, length in zip(terms, lengths, strict=True):
            self._n_matching[term] += length
        self._terms += terms
        self._lengths += lengths
        self._places.append(places)
        self._values.append(values)

    def scores(self) -> tuple[NDArray[np.float32], NDArray[np.intp]]:
        """Return the sums, shape (n_places,), and the places, ascending, whose sum is above 0."""
        # Memory that is not written costs nothing, and adding in place is faster than sorting the places.
        found = np.zeros(self._n_places, np.float32)
        if not self._places:
            return found, np.zeros(0, np.intp)
        weights = np.array(
            [self._counts[term] * idf(self._n_live, self._n_matching[term]) for term in self._terms], np.float32
        )
        values = np.concatenate(self._values)
        weighted = np.repeat(weights, self._lengths) * values / (values + self._k1)
        np.add.at(found, np.concatenate(self._places, dtype=np.intp), weighted)
        return found, np.flatnonzero(found > 0)


class _Run:
    """Reads the postings of one query into the sums of chunks, comments, files and names."""

    def __init__(self, corpus: Corpus, terms: Mapping[str, float]) -> None:
        self._corpus = corpus
        counts = list(terms.values())
        n_live_files = corpus.fields.n_live_files
        self.chunks = _Sum(counts, corpus.n_rows, corpus.n_live, _K1_FIELDS)
        self.remarks = _Sum(counts, corpus.n_rows, corpus.n_live, _K1_REMARKS)
        self.files = _Sum(counts, corpus.n_files, n_live_files, _K1_FIELDS)
        self.names = _Sum(counts, corpus.n_files, n_live_files, _K1_NAMES)
        self._frequency = np.zeros(corpus.n_rows, np.float32)
        widened = _widened(corpus, terms)
        relatives = [(term, kin) for term, said in enumerate(terms) if said in widened for kin in corpus.kin(said)]
        said = list(terms)
        self._term_of = [*range(len(said)), *(term for term, _ in relatives)]
        self._n_terms = len(said)
        self._n_holding = [0] * len(said)
        index = corpus.backend.terms
        for postings in index.postings([*said, *(kin for _, kin in relatives)]):
            self._gather(postings)
        for remarks in index.remarks(said):
            norms: NDArray[np.float32] = corpus.fields.of_rows("remark_norm", remarks.rows)
            values: NDArray[np.float32] = remarks.counts / norms
            self.remarks.gather(remarks.terms, np.diff(remarks.starts).tolist(), remarks.rows, values)
        self.idf = {term: idf(corpus.n_live, n) for term, n in zip(said, self._n_holding, strict=True)}

    def _gather(self, postings: Postings) -> None:
        """Take a block of postings: those of the terms that are said, then those of their relatives."""
        own = [term for term in postings.terms if term < self._n_terms]
        for term, n in zip(own, np.diff(postings.starts).tolist(), strict=False):
            self._n_holding[term] += n
        self._gather_chunks(postings, len(own))
        if own:
            self._gather_files(own, postings)

    def _gather_chunks(self, postings: Postings, n_own: int) -> None:
        norms: NDArray[np.float32] = self._corpus.fields.of_rows("text_norm", postings.rows)
        values: NDArray[np.float32] = np.divide(postings.body, norms, dtype=np.float32)
        values[postings.named] += _OF_CHUNK @ postings.fields
        starts: list[int] = postings.starts.tolist()
        values[starts[n_own] :] *= np.float32(_KIN)
        spans: dict[int, list[slice]] = {}
        for place, start, end in zip(postings.terms, starts[:-1], starts[1:], strict=True):
            spans.setdefault(self._term_of[place], []).append(slice(start, end))
        for term, variants in sorted(spans.items()):  # In the order of the query, for the same sums.
            rows, frequencies = self._together(postings.rows, values, variants)
            self.chunks.gather([term], [len(rows)], rows, frequencies)

    def _together(
        self, rows: NDArray[np.intp], values: NDArray[np.float32], variants: Sequence[slice]
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the chunks that hold a term or a relative of it, and for each the sum of both's values."""
        if len(variants) == 1:
            return rows[variants[0]], values[variants[0]]
        for span in variants:
            np.add.at(self._frequency, rows[span], values[span])
        found = distinct(np.concatenate([rows[span] for span in variants]))
        total = self._frequency[found]
        self._frequency[found] = 0
        return found, total

    def _gather_files(self, terms: Sequence[int], postings: Postings) -> None:
        ends = postings.starts[: len(terms) + 1]
        n = int(ends[-1])
        if not n:
            return
        named = postings.named[: np.searchsorted(postings.named, n)]
        fields = postings.fields[:, : len(named)]
        files = self._corpus.fields.of_rows("file", postings.rows[:n])
        # A run is what one term has in one file.
        is_new = np.ones(n, np.bool_)
        np.not_equal(files[1:], files[:-1], out=is_new[1:])
        is_new[ends[ends < n]] = True
        first = np.flatnonzero(is_new)
        files, bounds = files[first], np.searchsorted(first, ends)
        values = np.add.reduceat(postings.body[:n], first)
        values /= self._corpus.fields.of_files("text_norm", files)
        of_run = np.searchsorted(first, named, side="right") - 1
        in_names = _per_run(of_run, fields[_NAME], len(first))
        values += in_names * np.float32(_FILE_NAME)
        # Every chunk of a file has the words of its path: one of them counts.
        in_path = np.zeros(len(first), np.float32)
        in_path[of_run] = _OF_FILE @ fields
        values += in_path
        self.files.gather(terms, np.diff(bounds).tolist(), files, values)
        in_names += _per_run(of_run, fields[_VALUE], len(first)) * np.float32(_FILE_VALUE)
        defined = np.flatnonzero(in_names)
        lengths = np.diff(np.searchsorted(defined, bounds)).tolist()
        self.names.gather(terms, lengths, files[defined], in_names[defined])


def _per_run(of_run: NDArray[np.intp], counts: NDArray[np.float32], n_runs: int) -> NDArray[np.float32]:
    """Return the sum of the counts of each run, shape (n_runs,); `of_run` is the run of each count."""
    return np.bincount(of_run, counts, n_runs).astype(np.float32)
