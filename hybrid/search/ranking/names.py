"""Names as evidence: of definitions, by spelling and by their words, and of files; called once a query."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hybrid.base.tokens import folded
from hybrid.search.ranking.morphology import abbreviates, are_kin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.index.backend import Definitions, NamesWithWords
    from hybrid.search.ranking.asked import QueryTerms
    from hybrid.search.ranking.corpus import Candidates, Corpus

_OTHER_SPELLING = 0.7
"""Worth, out of 1, of a name that differs in case or underscores: people remember words better than their form."""
_OTHER_OWNER = 0.5
"""Worth of a definition that belongs to another class than the query names; owners are often guessed."""
_MOST_OWNED = 256
"""Definitions of one name whose owners are looked at; a name with more is seldom asked for by its owner alone."""
_VALUE_DEFINES = 0.3
_NESTED = 0.8
_VALUE_FITS = 0.5
"""Constants, fields and what stands inside of others are seldom what is asked for when something else has the name."""
_KIN_LETTERS = 3
"""First letters that a word of a query and its relative in a file name share at least. Chosen by hand; one fewer than
among the words of texts (`corpus`), which are far more."""
_ALL = 0.99
"""Share of the letters of a name that is all of them, below 1 since it is compared with a sum of floats."""


class NameScores(Struct, frozen=True):
    """The definitions of the symbols that a query names.

    Attributes:
        rows: Chunks that define a symbol that the query names; a row may stand there several times.
        values: How sure each of these definitions is, in (0, 1].
        defining: Symbol of the query, and whether inside of another definition → the rows that define it so; a row may
            stand there several times.
    """

    rows: NDArray[np.intp]
    values: NDArray[np.float32]
    defining: Mapping[tuple[str, bool], NDArray[np.intp]]

    def of_rows(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the surest definition in each of some chunks, 0 without one; every one of `rows` is among them.

        Args:
            rows: Ascending.
        """
        found = np.zeros(len(rows), np.float32)
        np.maximum.at(found, np.searchsorted(rows, self.rows), self.values)
        return found


def shares(words: Sequence[str], idf: Mapping[str, float], n_live: int) -> dict[str, float]:
    """Return word → its share of the query, by idf; the shares add up to 1.

    Args:
        words: Words of the query.
        idf: Term of the query → idf; a word that is not among the terms counts as one that occurs nowhere.
        n_live: Number of chunks of the corpus that can be found.
    """
    unknown = math.log(1 + n_live)
    rarity = {word: idf.get(word, unknown) for word in words}
    total = sum(rarity.values()) or 1.0
    return {word: value / total for word, value in rarity.items()}


def score_names(corpus: Corpus, asked: QueryTerms) -> NameScores:
    """Score the chunks that define a symbol of a query."""
    names = corpus.backend.names
    defining: dict[tuple[str, bool], NDArray[np.intp]] = {}
    every: list[NDArray[np.intp]] = [np.zeros(0, np.intp)]
    scores: list[NDArray[np.float32]] = [np.zeros(0, np.float32)]
    for symbol, strength in asked.symbols.items():
        rows: list[NDArray[np.intp]] = []
        nested: list[NDArray[np.bool_]] = []
        for block in names.definitions(folded(symbol)):
            scores.append(_defined(block, symbol, strength, asked.owners.get(symbol, "")))
            rows.append(block.rows)
            nested.append(block.is_nested)
        if rows:
            every += rows
            of_symbol, is_nested = np.concatenate(rows), np.concatenate(nested)
            defining[symbol, False], defining[symbol, True] = of_symbol[~is_nested], of_symbol[is_nested]
    return NameScores(np.concatenate(every), np.concatenate(scores), defining)


def fit_of_names(corpus: Corpus, share: Mapping[str, float], files: Candidates) -> NDArray[np.float32]:
    """Return the best agreement of a definition's name with a query's words, of each chunk of some files.

    Args:
        corpus: The corpus.
        share: Word of the query → its share, as `shares` gives them.
        files: The files.

    Returns:
        Values in [0, 1], shape (len(files.rows),).
    """
    found = np.zeros(len(files.rows), np.float32)
    for block in corpus.backend.names.with_words(list(share)):
        _fit(block, share, files, found)
    return found


def _defined(block: Definitions, symbol: str, strength: float, owner: str) -> NDArray[np.float32]:
    """Return the worth of each definition, times `strength`: exact spelling 1, other case or underscores 0.7.

    That is times 0.3 for a value or prototype, 0.8 for a nested definition, and 0.5 for one of another owner.
    """
    spelling = 1.0 if block.name == symbol else _OTHER_SPELLING
    weights = np.where(block.is_full, np.float32(1), np.float32(_VALUE_DEFINES))
    weights *= np.where(block.is_nested, np.float32(_NESTED), np.float32(1))
    return weights * np.multiply(_owned(block, owner), np.float32(strength * spelling))


def _owned(block: Definitions, owner: str) -> NDArray[np.float32]:
    """Return 1 for definitions inside of the owner and 0.5 for others; 1 for all if none is, as an inherited method."""
    owned = np.ones(len(block.rows), np.float32)
    if owner and len(block.rows) <= _MOST_OWNED:
        is_inside = np.array([folded(scope.rpartition(".")[2]) == folded(owner) for scope in block.scopes()], np.bool_)
        if is_inside.any():
            owned[~is_inside] = _OTHER_OWNER
    return owned


def _fit(block: NamesWithWords, share: Mapping[str, float], files: Candidates, out: NDArray[np.float32]) -> None:
    """Raise `out` of each chunk of some files to the best fit of a name that it defines; that of a value counts half.

    The fit is the harmonic mean of the share of the query, by idf, that the name covers, and of the share of the name's
    letters that the query covers.
    """
    recall = np.zeros(len(block.letters), np.float32)
    said = np.zeros(len(block.letters), np.float32)
    for (word, of_word), names in zip(share.items(), block.holding, strict=True):
        recall[names] += np.float32(of_word)
        said[names] += np.float32(len(word))
    precision = said / np.maximum(block.letters, 1)
    fit = 2 * precision * recall / (precision + recall)
    kept = np.flatnonzero(files.holds[block.rows])
    values = fit.astype(np.float32)[np.searchsorted(block.starts, kept, side="right") - 1]
    weights = np.where(block.is_full[kept], np.float32(1), np.float32(_VALUE_FITS))
    np.maximum.at(out, np.searchsorted(files.rows, block.rows[kept]), weights * values)


def named_files(corpus: Corpus, words: Sequence[str], files: Candidates) -> NDArray[np.float32]:
    """Return 1 for each candidate whose name has only words of the query, their kin and abbreviations; else 0."""
    said = np.zeros(corpus.n_files, np.float32)
    for stem in _said_stems(corpus, words):
        said[corpus.backend.names.files_with("stem", stem)] += np.float32(len(stem))
    said = said[files.files]
    letters = corpus.fields.of_files("stem_letters", files.files)
    return ((said > _ALL * letters) & (letters > 0)).astype(np.float32)


def path_words(corpus: Corpus, share: Mapping[str, float], files: Candidates) -> NDArray[np.float32]:
    """Return the share of the query, by idf, that the words of each candidate's path cover."""
    covered = np.zeros(corpus.n_files, np.float32)
    for word, of_word in share.items():
        covered[corpus.backend.names.files_with("path", word)] += np.float32(of_word)
    return np.minimum(covered[files.files], np.float32(1))


def _said_stems(corpus: Corpus, words: Sequence[str]) -> set[str]:
    """Return the words of file names that the query says: as they are, as a relative, or written out."""
    stems: set[str] = set()
    for word in words:
        for stem in corpus.backend.names.stems(word[:_KIN_LETTERS]):
            if stem == word or are_kin(word, stem, least=_KIN_LETTERS):
                stems.add(stem)
        stems.update(stem for stem in corpus.abbreviations(word[:1]) if abbreviates(stem, word))
    return stems
