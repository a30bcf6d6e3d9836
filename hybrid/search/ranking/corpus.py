"""A collection as the ranker reads it: what it remembers of a backend between queries, and the files of one query.

A file is compared with a query only if it is a candidate; nothing here has an entry for every chunk or file.
"""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hybrid.base.memo import Memo
from hybrid.index.roles import VERSION_FOLDER
from hybrid.index.sorting import distinct
from hybrid.search.ranking.morphology import LONGER, kin_among, may_abbreviate, may_have_kin

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from hybrid.index.backend import SearchBackend

_KIN_LETTERS = 4
"""First letters that relatives among the words of texts share at least. Chosen by hand; among the words of file names,
which are few, three are enough (`names`)."""
_MOST_KIN = 8
"""Relatives of one term: each costs its postings in every query. Chosen by hand."""


class Corpus:
    """A backend, with memory of the relatives and abbreviations that the ranker asks for again and again.

    Attributes:
        backend: The backend; it does not change.
        fields: Its fields of rows and files.
        n_rows: One more than the largest row.
        n_files: One more than the largest number of a file.
        n_live: Number of chunks that can be found.
    """

    def __init__(self, backend: SearchBackend) -> None:
        self.backend = backend
        self.fields = backend.fields
        self.n_rows, self.n_files, self.n_live = backend.n_rows, backend.fields.n_files, backend.n_chunks
        self._kin: Memo[str, tuple[str, ...]] = Memo(self._find_kin)
        self._abbreviations: Memo[str, tuple[str, ...]] = Memo(self._find_abbreviations)

    @cached_property
    def versions(self) -> dict[int, tuple[tuple[str, int, int], ...]]:
        """File → its version folders, of the files that lie in one, as `versions_of` gives them."""
        return versions_of(dict(self.backend.names.versioned()))

    def kin(self, term: str) -> tuple[str, ...]:
        """The morphological relatives of a term, the nearest in length first; at most eight.

        A term that only removed chunks hold is nobody's relative.
        """
        return self._kin[term]

    def _find_kin(self, term: str) -> tuple[str, ...]:
        if not may_have_kin(term, least=_KIN_LETTERS):
            return ()
        terms = self.backend.terms
        others = terms.beginning_with(term[:_KIN_LETTERS], len(term) + LONGER)
        kin = kin_among(term, others, least=_KIN_LETTERS)
        return tuple(itertools.islice((other for other in kin if terms.is_held(other)), _MOST_KIN))

    def abbreviations(self, letter: str) -> tuple[str, ...]:
        """Return the words of file names that begin with this letter and are spelled like an abbreviation."""
        return self._abbreviations[letter]

    def _find_abbreviations(self, letter: str) -> tuple[str, ...]:
        return tuple(word for word in self.backend.names.stems(letter) if may_abbreviate(word))


class Candidates(Struct, frozen=True):
    """The files that are compared with a query, with their chunks one file after another.

    Attributes:
        files: Numbers of the files, ascending, shape (n_candidates,).
        starts: Where the chunks of each file begin in `rows`, shape (n_candidates,).
        rows: Rows of the chunks of all files, shape (n,).
    """

    files: NDArray[np.int32]
    starts: NDArray[np.intp]
    rows: NDArray[np.intp]

    def __len__(self) -> int:
        """Return the number of candidates."""
        return len(self.files)

    def places(self, number: int) -> slice:
        """Return where the chunks of a candidate stand in `rows`; `number` is its place in `files`."""
        end = int(self.starts[number + 1]) if number + 1 < len(self.starts) else len(self.rows)
        return slice(int(self.starts[number]), end)

    def best(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the largest value of each candidate's chunks; values have the shape of `rows`."""
        return np.maximum.reduceat(values, self.starts) if len(self.files) else values[:0]

    def are_any(self, is_so: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return for each candidate whether `is_so` is true for any of its chunks; it has the shape of `rows`."""
        return np.logical_or.reduceat(is_so, self.starts) if len(self.files) else is_so[:0]

    def take(self, files: NDArray[np.int32], values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the value of each candidate, given those of some files, ascending; 0 for one not among these files."""
        if not len(files):
            return np.zeros(len(self.files), np.float32)
        at = np.minimum(np.searchsorted(files, self.files), len(files) - 1)
        return np.where(files[at] == self.files, values[at], np.float32(0))


def candidates(corpus: Corpus, files: NDArray[np.integer[Any]]) -> Candidates:
    """Return some files, each once, with their chunks.

    Args:
        corpus: The corpus of the files.
        files: Numbers of files, in any order and any number of times.
    """
    chosen = distinct(np.asarray(files, np.int32))
    firsts = np.asarray(corpus.fields.of_files("first_row", chosen), np.intp)
    counts = corpus.fields.of_files("end_row", chosen) - firsts
    ends = np.cumsum(counts)
    starts = ends - counts
    rows = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(firsts - starts, counts)
    return Candidates(chosen, starts, rows)


def versions_of(paths: dict[int, str]) -> dict[int, tuple[tuple[str, int, int], ...]]:
    """Return file → for each version folder in its path: what it is a version of, its number, the newest beside it.

    Files without a version folder are left out.

    Args:
        paths: File → path, of files that lie in such folders.
    """
    folders = {
        file: [
            (path[: match.start()] + (match.group(1) or "").lower(), int(match.group(2) or match.group(3)))
            for match in VERSION_FOLDER.finditer(path)
        ]
        for file, path in paths.items()
    }
    newest: dict[str, int] = {}
    for of_file in folders.values():
        for name, number in of_file:
            newest[name] = max(newest.get(name, 0), number)
    return {
        file: tuple((name, number, newest[name]) for name, number in of_file)
        for file, of_file in folders.items()
        if of_file
    }
