"""BM25 over fields of the candidates and their chunks, and scores of any size brought into 0 to 1.

This is what the ranker takes words from, called once a query, and how values of chunks become those of their files.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.base.arrays import largest, runs
from hybrid.index.analysis import NAME_FIELDS
from hybrid.index.lexical import idf

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from hybrid.index.backend import CosineFigures
    from hybrid.search.ranking.corpus import Candidates, Corpus


_SHARES = np.array([1, 1 / 2, 1 / 4, 1 / 8, 0], np.float32)
"""Shares of their values that the best chunk of a file, the second, … add to the file's sum."""
_SUMMED = len(_SHARES) - 1
_FEW = 256
"""Number of values up to which sorting all is faster than finding the largest first."""


def by_best(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return values ≥ 0 divided by the largest; if all are 0, the same array."""
    top = float(values.max()) if len(values) else 0.0
    return np.divide(values, np.float32(top), dtype=np.float32) if top > 0 else values


def above(cosines: NDArray[np.float32], over_all: CosineFigures) -> NDArray[np.float32]:
    """Return how far each cosine lies above the mean of all, at least 0, as a share of how far the largest does."""
    excess = np.maximum(cosines - np.float32(over_all.mean), np.float32(0))
    top = float(np.subtract(over_all.largest, over_all.mean, dtype=np.float32))
    return np.divide(excess, np.float32(top), dtype=np.float32) if top > 0 else excess


def best_of(values: NDArray[np.float32], depth: int) -> NDArray[np.intp]:
    """The places of the largest `depth` values, largest first, equal ones in order of place."""
    if depth <= 0:
        return np.zeros(0, np.intp)
    if len(values) <= _FEW:
        return (-values).argsort(kind="stable")[:depth]
    places = largest(values, depth)
    return places[(-values[places]).argsort(kind="stable")][:depth]


def best_by_key(values: NDArray[np.float32], depth: int, key: Callable[[int], Any]) -> list[int]:
    """The places of the largest `depth` values, largest first, equal ones in order of a key; −∞ is never among them.

    Args:
        values: Rounded, so that equal ones are equal.
        depth: Number of places to return at most.
        key: Returns the key of a place; called only where values are equal.
    """
    best = best_of(values, depth)
    if not len(best):
        return []
    near, top = ((values >= values[best[-1]]) & (values > -np.inf)).nonzero()[0], values[best]
    if len(near) == len(best) and (top[1:] < top[:-1]).all():
        return best.tolist()
    value_of = dict(zip(near.tolist(), values[near].tolist(), strict=True))
    n_equal = Counter(value_of.values())
    keys = {place: key(place) for place, value in value_of.items() if n_equal[value] > 1}
    # A value that stands alone never has its key compared.
    return sorted(value_of, key=lambda place: (-value_of[place], keys.get(place)))[:depth]


def decaying_sum(
    values: NDArray[np.float32], files: NDArray[np.int32]
) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
    """Return for each file its best value, plus ½ the second, ¼ the third, ⅛ the fourth; divided by the best sum.

    Args:
        values: Values of some chunks, best first.
        files: File of each value.

    Returns:
        The files, ascending, and the sum of each.
    """
    order = files.argsort(kind="stable")  # Stays best first within a file.
    files, values = files[order], values[order]
    starts = runs(files)
    place = np.arange(len(files))
    number = starts.searchsorted(place, side="right") - 1
    shares = _SHARES[np.minimum(place - starts[number], _SUMMED)]
    sums = np.bincount(number, np.multiply(values, shares), len(starts)).astype(np.float32)
    return files[starts], by_best(sums)


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

_NO_PLACES = np.zeros(0, np.intp)
_NO_VALUES = np.zeros(0, np.float32)
_NO_FIELDS = np.zeros((len(NAME_FIELDS), 0), np.float32)


class FileWords(Struct, frozen=True):
    """The scores of some files by the words of a query; every value in [0, 1].

    Attributes:
        chunks: Field-weighted BM25 of each of their chunks with the relatives of the terms, as a share of that of the
            best of them, shape (len(Candidates.rows),).
        best: The rows with the highest of these, best first; each above 0.
        shares: Their values in `chunks`, shape (len(best),).
        remarks: BM25 of the comments of each of their chunks, as a share of the best of them, the shape of `chunks`.
        opening: BM25 of the comments of each file's first chunk, as a share of the largest of all files'; shape
            (n_candidates,).
        files: Field-weighted BM25 of each file as a whole, as a share of the best of them, shape (n_candidates,).
        names: BM25 of the names that each file defines, the same.
    """

    chunks: NDArray[np.float32]
    best: NDArray[np.intp]
    shares: NDArray[np.float32]
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


class _Held(Struct, frozen=True):
    """The words of a query that the chunks of some files hold; the values of one chunk stand in order of the words.

    Attributes:
        term: The term of the query that each value belongs to, shape (n,).
        is_said: Whether the query says that word itself, shape (n,); relatives of its terms are not said.
        place: The chunk, by its place in `Candidates.rows`, shape (n,).
        body: Frequency in the text, shape (n,).
        named: Places of those that hold the word in a name or path, ascending.
        fields: Frequency in each of `NAME_FIELDS` of these, shape (5, len(named)).
    """

    term: NDArray[np.intp]
    is_said: NDArray[np.bool_]
    place: NDArray[np.intp]
    body: NDArray[np.float32]
    named: NDArray[np.intp]
    fields: NDArray[np.float32]


class WordScores:
    """Scores files of one collection by the words of a query.

    Attributes:
        idf: Term of the query → inverse document frequency, over chunks.

    Source: BM25F, Robertson, Zaragoza, Taylor (CIKM 2004): frequencies of the fields are weighted and added before they
    saturate. A term and its relatives share one document frequency.
    """

    def __init__(self, corpus: Corpus, terms: Mapping[str, float]) -> None:
        """Take a corpus and index terms, each with how much the query says it."""
        self._corpus = corpus
        self._index = corpus.backend.terms
        self._said = list(terms)
        self._counts = list(terms.values())
        widened = _widened(corpus, terms)
        self._kin = [corpus.kin(term) if term in widened else () for term in terms]
        self.idf = {term: idf(corpus.n_live, self._index.n_holding((term,))) for term in terms}

    def of_files(self, candidates: Candidates, depth: int) -> FileWords:
        """Score some files, each as a whole, and their chunks; `depth` is the length of `FileWords.best` at most."""
        held = self._held(candidates)
        sums = self._of_chunks(held, candidates)
        order = best_of(sums, depth)
        order = order[sums[order] > 0]
        chunks = by_best(sums)
        remarks, opening = self._remarks(candidates)
        files, names = self._as_wholes(held, candidates)
        return FileWords(chunks, candidates.rows[order], chunks[order], remarks, opening, files, names)

    def _weighted(self, sizes: Iterable[int], n_live: int) -> NDArray[np.float32]:
        """Return the weight of each term, given how many of the live chunks or files hold it."""
        # Of a large index with removed files a size is an estimate, which may be more than are left.
        weights = [count * idf(n_live, min(size, n_live)) for count, size in zip(self._counts, sizes, strict=True)]
        return np.array(weights, np.float32)

    def _held(self, candidates: Candidates) -> _Held:
        """Read the postings of the terms and their relatives in the chunks of some files."""
        kin = [(term, word) for term, words in enumerate(self._kin) for word in words]
        words = [*self._said, *(word for _, word in kin)]
        blocks = list(self._index.postings(words, candidates.holds))
        starts = accumulate((len(block.rows) for block in blocks), initial=0)
        word = np.concatenate([_NO_PLACES, *(np.array(block.terms).repeat(np.diff(block.starts)) for block in blocks)])
        rows = np.concatenate([_NO_PLACES, *(block.rows for block in blocks)])
        named = [block.named + start for block, start in zip(blocks, starts, strict=False)]
        return _Held(
            term=np.array([*range(len(self._said)), *(term for term, _ in kin)], np.intp)[word],
            is_said=word < len(self._said),
            place=candidates.rows.searchsorted(rows),
            body=np.concatenate([_NO_VALUES, *(block.body for block in blocks)]),
            named=np.concatenate([_NO_PLACES, *named]),
            fields=np.concatenate([_NO_FIELDS, *(block.fields for block in blocks)], axis=1),
        )

    def _of_chunks(self, held: _Held, candidates: Candidates) -> NDArray[np.float32]:
        """Return the BM25 of each chunk with the relatives of the terms, shape (len(candidates.rows),)."""
        n_rows = len(candidates.rows)
        norms: NDArray[np.float32] = self._corpus.fields.of_rows("text_norm", candidates.rows)
        values: NDArray[np.float32] = np.divide(held.body, norms[held.place], dtype=np.float32)
        # Not as a product of matrices: BLAS may warn of values that stand behind the last column.
        values[held.named] += (held.fields * _OF_CHUNK).sum(axis=0)
        values[~held.is_said] *= np.float32(_KIN)
        sizes = [self._index.n_holding((term, *kin)) for term, kin in zip(self._said, self._kin, strict=True)]
        weights = self._weighted(sizes, self._corpus.n_live)
        has_kin = np.array([bool(kin) for kin in self._kin], np.bool_)
        is_wide = has_kin[held.term]
        alone = (~is_wide).nonzero()[0]
        sums = _sums(held.place[alone], weights[held.term[alone]] * _saturated(values[alone], _K1_FIELDS), n_rows)
        if len(alone) < len(is_wide):
            # A term and its relatives in one chunk count as one word.
            wide = is_wide.nonzero()[0]
            number = has_kin.cumsum() - 1
            together = _table((number[held.term[wide]], held.place[wide]), values[wide], (int(has_kin.sum()), n_rows))
            sums += _added_up(together, weights[has_kin], _K1_FIELDS)
        return sums

    def _as_wholes(self, held: _Held, candidates: Candidates) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return `FileWords.files` and `FileWords.names`, for which only words count that are said."""
        index, fields = self._index, self._corpus.fields
        shape = len(self._said), len(candidates)
        n_chunks = np.diff(np.concatenate([candidates.starts, (len(candidates.rows),)]))
        file = np.arange(len(candidates)).repeat(n_chunks)[held.place]
        said, of_names = held.is_said.nonzero()[0], held.is_said[held.named].nonzero()[0]
        in_text = _table((held.term[said], file[said]), held.body[said], shape)
        named, in_fields = held.named[of_names], held.fields[:, of_names]
        at = held.term[named], file[named]
        in_names, in_values = (_table(at, in_fields[number], shape) for number in (_NAME, _VALUE))
        # Every chunk of a file has the words of its path: one of them counts.
        in_path = np.zeros(shape, np.float32)
        in_path[at] = in_fields[_STEM] * np.float32(_FILE_STEM) + in_fields[_DIR] * np.float32(_FILE_DIR)
        norms: NDArray[np.float32] = fields.of_files("text_norm", candidates.files)
        as_whole = np.add(in_text / norms + in_names * np.float32(_FILE_NAME), in_path, dtype=np.float32)
        n_live = fields.n_live_files
        files = _added_up(as_whole, self._weighted(map(index.file_frequency, self._said), n_live), _K1_FIELDS)
        in_names += in_values * np.float32(_FILE_VALUE)
        names = _added_up(in_names, self._weighted(map(index.naming_frequency, self._said), n_live), _K1_NAMES)
        return by_best(files), by_best(names)

    def _remarks(self, candidates: Candidates) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Return `FileWords.remarks` and `FileWords.opening`."""
        index, fields, is_first = self._index, self._corpus.fields, self._corpus.is_first
        weights = self._weighted(map(index.remark_frequency, self._said), self._corpus.n_live)
        blocks = list(index.remarks(self._said, candidates.holds | is_first))
        terms = np.concatenate([_NO_PLACES, *(np.array(block.terms).repeat(np.diff(block.starts)) for block in blocks)])
        rows = np.concatenate([_NO_PLACES, *(block.rows for block in blocks)])
        counts = np.concatenate([_NO_VALUES, *(block.counts for block in blocks)])
        values = np.divide(counts, fields.of_rows("remark_norm", rows), dtype=np.float32)
        scores = weights[terms] * _saturated(values, _K1_REMARKS)
        here, firsts = candidates.holds[rows].nonzero()[0], is_first[rows].nonzero()[0]
        places = candidates.rows.searchsorted(rows[here])
        remarks = _sums(places, scores[here], len(candidates.rows))
        opening = _sums(fields.of_rows("file", rows[firsts]), scores[firsts], fields.n_files)
        return by_best(remarks), by_best(opening)[candidates.files]


def _saturated(values: NDArray[np.float32], k1: float) -> NDArray[np.float32]:
    return values / (values + np.float32(k1))


def _sums(places: NDArray[np.integer[Any]], values: NDArray[np.float32], n_places: int) -> NDArray[np.float32]:
    """Return the sum of the values at each of some places."""
    return np.bincount(places, values, n_places).astype(np.float32)


def _table(
    at: tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]]], values: NDArray[np.float32], shape: tuple[int, int]
) -> NDArray[np.float32]:
    """Return the sums of the values at each place of a table."""
    return _sums(at[0] * shape[1] + at[1], values, shape[0] * shape[1]).reshape(shape)


def _added_up(values: NDArray[np.float32], weights: NDArray[np.float32], k1: float) -> NDArray[np.float32]:
    """Return the sum over the terms, which are the rows of a table, of what they add to each chunk or file."""
    return (_saturated(values, k1) * weights[:, np.newaxis]).sum(axis=0)
