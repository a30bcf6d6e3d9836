"""BM25 over fields of chunks and files: what the ranker takes words from; called once a query."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.index.analysis import NAME_FIELDS
from hybrid.index.backend import Postings
from hybrid.index.lexical import idf
from hybrid.index.pruning import largest_sums
from hybrid.search.ranking.scale import best_of, by_best

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.search.ranking.corpus import Candidates, Corpus

_STEM, _DIR, _NAME, _VALUE = map(NAME_FIELDS.index, ("stem", "dir", "name", "value"))
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

_OF_CHUNK = np.array([[4], [2], [4], [2], [0]], np.float32)
"""Weights of stem, folders, names and scopes beside the text of a chunk; values and comments stand in it."""
_FILE_STEM = 8.0
_FILE_DIR = 4.0
"""Weights of stem and folders beside the text of a file."""
_FILE_NAME = 3.0
"""Weight of the names of definitions beside the text of a file."""
_FILE_VALUE = 0.3
"""Weight of the names of values beside those of other definitions, which are asked for more often."""


class FileWords(Struct, frozen=True):
    """The scores of some files by the words of a query; every value in [0, 1].

    Attributes:
        chunks: Field-weighted BM25 of each of their chunks with the relatives of the terms, as a share of that of the
            best chunk of all, shape (len(Candidates.rows),).
        remarks: BM25 of the comments of each of their chunks, as a share of the best of them, the same shape.
        opening: BM25 of the comments of each file's first chunk, as a share of the largest of all files'; shape
            (n_candidates,).
        files: Field-weighted BM25 of each file as a whole, as a share of the best of them, shape (n_candidates,).
        names: BM25 of the names that each file defines, the same.
    """

    chunks: NDArray[np.float32]
    remarks: NDArray[np.float32]
    opening: NDArray[np.float32]
    files: NDArray[np.float32]
    names: NDArray[np.float32]


def _widened(corpus: Corpus, terms: Mapping[str, float]) -> set[str]:
    """Return the terms whose relatives count: all, or of a long query the 16 that are said most and held least."""
    if len(terms) <= _WIDENED:
        return set(terms)
    frequency = corpus.backend.terms.document_frequency
    worth = {term: -count * math.log(1 + corpus.n_live / (frequency(term) + 1)) for term, count in terms.items()}
    return set(sorted(worth, key=lambda term: (worth[term], term))[:_WIDENED])


class _Sum:
    """Adds up the BM25 of chunks or files over the terms of a query; `gather` takes the frequencies in blocks."""

    def __init__(self, weights: Sequence[float], n_places: int, k1: float) -> None:
        """Take the weight of each term, the number of chunks or files, and saturation."""
        self._weights = np.array(weights, np.float32)
        self._k1 = np.float32(k1)
        # Memory that is not written costs nothing, and adding in place is faster than sorting the places.
        self.scores = np.zeros(n_places, np.float32)

    def gather(
        self, terms: Sequence[int], lengths: Sequence[int], places: NDArray[Any], values: NDArray[np.float32]
    ) -> None:
        """Take the frequencies `values` at `places`, term after term: `lengths[i]` of them belong to `terms[i]`."""
        weights = np.repeat(self._weights[list(terms)], lengths)
        np.add.at(self.scores, places, weights * values / (values + self._k1))


class _Block(Struct, frozen=True):
    """Postings of some terms of a query and of their relatives.

    Attributes:
        postings: The postings; those of terms that the query says come first.
        term_of: For each place that `postings.terms` may have, the term of the query that it belongs to.
        n_said: The places below are those of terms that the query says.
        n_alone: The places below are those of terms without relatives.
    """

    postings: Postings
    term_of: Sequence[int]
    n_said: int
    n_alone: int

    @property
    def said(self) -> list[int]:
        """The terms of the query that the block holds themselves, in order."""
        return [self.term_of[place] for place in self.postings.terms if place < self.n_said]


class WordScores:
    """The scores of one collection by the words of a query.

    Attributes:
        best: Rows with the highest field-weighted BM25 with the relatives of the terms, best first; each above 0.
        scores: Their BM25 as a share of the highest, shape (len(best),).
        idf: Term of the query → inverse document frequency, over chunks.

    Source: BM25F, Robertson, Zaragoza, Taylor (CIKM 2004): frequencies of the fields are weighted and added before they
    saturate. A term and its relatives share one document frequency.
    """

    def __init__(self, corpus: Corpus, terms: Mapping[str, float], depth: int) -> None:
        """Find the best chunks by the terms of a query.

        Args:
            corpus: The corpus to score.
            terms: Index term → how much the query says it.
            depth: Length of `best` at most.
        """
        self._corpus = corpus
        self._index = corpus.backend.terms
        self._said = list(terms)
        self._counts = list(terms.values())
        widened = _widened(corpus, terms)
        self._kin = [corpus.kin(term) if term in widened else () for term in terms]
        self._blocks: list[_Block] = []
        self._frequency = np.zeros(corpus.n_rows, np.float32)
        self._place = np.zeros(corpus.n_rows, np.intp)
        sizes = [self._index.n_holding((term, *kin)) for term, kin in zip(terms, self._kin, strict=True)]
        self._weights = self._weighted(sizes, corpus.n_live)
        self._found = largest_sums(self._add, self._weights, sizes, np.zeros(corpus.n_rows, np.float32), depth)
        sums = self._found.sums
        order = best_of(sums, depth)
        self._top = sums[order[0]] if len(order) else np.float32(1)
        self.best, self.scores = self._found.rows[order], np.divide(sums[order], self._top, dtype=np.float32)
        self.idf = {term: idf(corpus.n_live, self._index.n_holding((term,))) for term in terms}

    def _weighted(self, sizes: Iterable[int], n_live: int) -> list[float]:
        """Return the weight of each term, given how many of the live chunks or files hold it."""
        return [count * idf(n_live, size) for count, size in zip(self._counts, sizes, strict=True)]

    def _read(self, terms: Sequence[int], among: NDArray[np.bool_] | None) -> Iterator[_Block]:
        """Yield the postings of some terms and their relatives in some rows, None being all.

        Terms without relatives come first, then those with, then the relatives.
        """
        terms = sorted(terms, key=lambda term: bool(self._kin[term]))
        kin = [(term, word) for term in terms for word in self._kin[term]]
        words = [*(self._said[term] for term in terms), *(word for _, word in kin)]
        term_of = [*terms, *(term for term, _ in kin)]
        for postings in self._index.postings(words, among):
            yield _Block(postings, term_of, len(terms), sum(not self._kin[term] for term in terms))

    def _add(self, terms: Sequence[int], among: NDArray[np.bool_] | None, scores: NDArray[np.float32]) -> None:
        for block in self._read(terms, among):
            if among is None:
                self._blocks.append(block)
            self._add_chunks(block, scores)

    def _add_chunks(self, block: _Block, scores: NDArray[np.float32]) -> None:
        postings = block.postings
        norms: NDArray[np.float32] = self._corpus.fields.of_rows("text_norm", postings.rows)
        values: NDArray[np.float32] = np.divide(postings.body, norms, dtype=np.float32)
        # Not as a product of matrices: BLAS may warn of values that stand behind the last column.
        values[postings.named] += (postings.fields * _OF_CHUNK).sum(axis=0)
        starts: list[int] = postings.starts.tolist()
        values[starts[len(block.said)] :] *= np.float32(_KIN)
        # In the order of the terms, for the same sums however an index is split.
        alone = [block.term_of[place] for place in postings.terms if place < block.n_alone]
        end = starts[len(alone)]
        of_terms = np.array([self._weights[term] for term in alone], np.float32)
        weights: NDArray[np.float32] = of_terms.repeat(np.diff(postings.starts[: len(alone) + 1]))
        np.add.at(scores, postings.rows[:end], np.multiply(weights, values[:end] / (values[:end] + _K1_FIELDS)))
        spans: dict[int, list[slice]] = {}
        for place, start, stop in zip(
            postings.terms[len(alone) :], starts[len(alone) :], starts[len(alone) + 1 :], strict=False
        ):
            spans.setdefault(block.term_of[place], []).append(slice(start, stop))
        for term, variants in sorted(spans.items()):
            rows, frequencies = self._together(postings.rows, values, variants)
            saturated = np.divide(frequencies, frequencies + _K1_FIELDS, dtype=np.float32)
            np.add.at(scores, rows, np.multiply(saturated, np.float32(self._weights[term]), dtype=np.float32))

    def _together(
        self, rows: NDArray[np.intp], values: NDArray[np.float32], variants: Sequence[slice]
    ) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
        """Return the chunks that hold a term or a relative of it, each once, and for each the sum of their values."""
        if len(variants) == 1:
            return rows[variants[0]], values[variants[0]]
        every = np.concatenate([rows[span] for span in variants])
        np.add.at(self._frequency, every, np.concatenate([values[span] for span in variants]))
        places = np.arange(len(every))
        self._place[every] = places
        found = every[self._place[every] == places]  # Of a row that stands there several times, the last place.
        totals = self._frequency[found]
        self._frequency[found] = 0
        return found, totals

    def of_files(self, candidates: Candidates) -> FileWords:
        """Score some files, those of `best` among them: each as a whole, and its chunks."""
        fields, index = self._corpus.fields, self._index
        n_files = fields.n_files
        files = _Sum(self._weighted(map(index.file_frequency, self._said), fields.n_live_files), n_files, _K1_FIELDS)
        names = _Sum(self._weighted(map(index.naming_frequency, self._said), fields.n_live_files), n_files, _K1_NAMES)
        left = np.zeros(self._corpus.n_rows, np.float32)
        more = list(self._read(self._found.left, candidates.holds))
        for block in more:
            self._add_chunks(block, left)
        for block in (*self._blocks, *more):
            said = block.said
            if said:
                held = _within(block.postings, len(said), candidates.holds)
                self._gather_files(said, held, files)
                self._gather_names(said, held, names)
        chunks = np.divide(self._found.partial[candidates.rows] + left[candidates.rows], self._top, dtype=np.float32)
        remarks, opening = self._remarks(candidates)
        in_files, in_names = files.scores[candidates.files], names.scores[candidates.files]
        return FileWords(chunks, remarks, opening, by_best(in_files), by_best(in_names))

    def _remarks(self, candidates: Candidates) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return `FileWords.remarks` and `FileWords.opening`."""
        index, fields, firsts = self._index, self._corpus.fields, self._corpus.firsts
        weights = self._weighted(map(index.remark_frequency, self._said), self._corpus.n_live)
        found = _Sum(weights, self._corpus.n_rows, _K1_REMARKS)
        for block in index.remarks(self._said, candidates.holds | self._corpus.is_first):
            values = np.divide(block.counts, fields.of_rows("remark_norm", block.rows), dtype=np.float32)
            found.gather(block.terms, np.diff(block.starts).tolist(), block.rows, values)
        remarks, opening = found.scores[candidates.rows], by_best(found.scores[firsts])
        return by_best(remarks), opening[candidates.files]

    def _gather_files(self, terms: Sequence[int], postings: Postings, found: _Sum) -> None:
        """Take the frequencies of terms that are said in the files of all postings of a block."""
        if not len(postings.rows):
            return
        files, first, bounds = self._runs(postings.rows, postings.starts)
        values = np.add.reduceat(postings.body, first)
        values /= self._corpus.fields.of_files("text_norm", files)
        of_run = np.searchsorted(first, postings.named, side="right") - 1
        values += _per_run(of_run, postings.fields[_NAME], len(first)) * np.float32(_FILE_NAME)
        # Every chunk of a file has the words of its path: one of them counts.
        in_path = np.zeros(len(first), np.float32)
        in_path[of_run] = postings.fields[_STEM] * np.float32(_FILE_STEM) + postings.fields[_DIR] * np.float32(
            _FILE_DIR
        )
        values += in_path
        found.gather(terms, np.diff(bounds).tolist(), files, values)

    def _gather_names(self, terms: Sequence[int], postings: Postings, found: _Sum) -> None:
        """Take the frequencies of terms that are said in the names that the files of all postings of a block define."""
        named, in_names, in_values = postings.named, postings.fields[_NAME], postings.fields[_VALUE]
        kept = np.flatnonzero(in_names + in_values > 0)
        if not len(kept):
            return
        files, first, bounds = self._runs(postings.rows[named[kept]], np.searchsorted(named[kept], postings.starts))
        values = np.add.reduceat(in_names[kept], first)
        values += np.add.reduceat(in_values[kept], first) * np.float32(_FILE_VALUE)
        found.gather(terms, np.diff(bounds).tolist(), files, values)

    def _runs(
        self, rows: NDArray[np.intp], starts: NDArray[np.intp]
    ) -> tuple[NDArray[np.int32], NDArray[np.intp], NDArray[np.intp]]:
        """Return runs of what one term has in one file: their files, where each begins, and where each term's do.

        Args:
            rows: Ascending within a term, one at least.
            starts: Where the rows of each term begin, and where the last end.
        """
        files: NDArray[np.int32] = self._corpus.fields.of_rows("file", rows)
        is_new = np.ones(len(rows), np.bool_)
        np.not_equal(files[1:], files[:-1], out=is_new[1:])
        is_new[starts[starts < len(rows)]] = True
        first = np.flatnonzero(is_new)
        return files[first], first, np.searchsorted(first, starts)


def _within(postings: Postings, n_terms: int, holds: NDArray[np.bool_]) -> Postings:
    """Return the postings of the first terms of a block in some rows; `holds` tells of each row whether it is one."""
    starts = postings.starts[: n_terms + 1]
    end = int(starts[-1])
    is_kept = holds[postings.rows[:end]]
    kept_before = _kept_before(is_kept)
    named = postings.named[: np.searchsorted(postings.named, end)]
    is_named = is_kept[named]
    return Postings(
        postings.terms[:n_terms],
        kept_before[starts],
        postings.rows[:end][is_kept],
        postings.body[:end][is_kept],
        kept_before[named[is_named]],
        postings.fields[:, : len(named)][:, is_named],
    )


def _kept_before(is_kept: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return how many are kept before each place, and in all, shape (len(is_kept) + 1,)."""
    found = np.zeros(len(is_kept) + 1, np.intp)
    np.cumsum(is_kept, out=found[1:])
    return found


def _per_run(of_run: NDArray[np.intp], counts: NDArray[np.float32], n_runs: int) -> NDArray[np.float32]:
    """Return the sum of the counts of each run, shape (n_runs,); `of_run` is the run of each count."""
    return np.bincount(of_run, counts, n_runs).astype(np.float32)
