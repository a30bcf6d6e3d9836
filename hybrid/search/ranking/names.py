"""Names as evidence: of definitions, by spelling and by their words, and of files; called once a query."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hybrid.index.naming import folded
from hybrid.search.ranking.morphology import abbreviates, are_kin

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.index.segment import Segment
    from hybrid.search.ranking.asked import Asked
    from hybrid.search.ranking.corpus import Corpus, SegmentPart

_OTHER_SPELLING = 0.7
_OTHER_OWNER = 0.5
_MOST_OWNED = 256
"""Definitions of one name whose owners are looked at; a name with more is seldom asked for by its owner alone."""
_VALUE_DEFINES = 0.3
_NESTED = 0.8
_VALUE_FITS = 0.5
_KIN_LETTERS = 3
_ALL = 0.99


class NameScores(Struct, frozen=True):
    """What the names of definitions say; every array in [0, 1].

    Attributes:
        defines: Of each chunk: it defines a symbol that the query names, shape (n_rows,).
        fit: Of each chunk: best agreement of a definition's name with the query's words, shape (n_rows,).
    """

    defines: NDArray[np.float32]
    fit: NDArray[np.float32]


def shares(words: Sequence[str], idf: Mapping[str, float], n_live: int) -> dict[str, float]:
    """How much of a query each of its words is, by idf; they add up to 1.

    Args:
        words: Of the query.
        idf: Of its terms; a word that is not among them counts as one that occurs nowhere.
        n_live: Chunks of the corpus.
    """
    unknown = math.log(1 + n_live)
    rarity = {word: idf.get(word, unknown) for word in words}
    total = sum(rarity.values()) or 1.0
    return {word: value / total for word, value in rarity.items()}


def score_names(corpus: Corpus, asked: Asked, share: Mapping[str, float]) -> NameScores:
    """Score every chunk by the names that it defines.

    Args:
        corpus: To score.
        asked: The query.
        share: Of each of its words, as `shares` gives them.
    """
    found = NameScores(np.zeros(corpus.n_rows, np.float32), np.zeros(corpus.n_rows, np.float32))
    for part in corpus.parts:
        if part.segment.n_chunks:
            rows = slice(part.first_row, part.first_row + part.segment.n_chunks)
            _defined(part.segment, asked, found.defines[rows])
            _fitting(part.segment, share, found.fit[rows])
    return found


def _defined(segment: Segment, asked: Asked, out: NDArray[np.float32]) -> None:
    """Exact spelling 1, other case or underscores 0.7; a value × 0.3, nested × 0.8, of another owner × 0.5."""
    for symbol, strength in asked.symbols.items():
        for number in segment.numbers_of_equal("name_fold", folded(symbol)):
            spelling = 1.0 if segment.text("name", number) == symbol else _OTHER_SPELLING
            definitions = segment.entries("name_definition", number)
            owned = _owned(segment, definitions, asked.owners.get(symbol, ""))
            values = np.multiply(owned, np.float32(strength * spelling))
            _keep_largest(segment, definitions, values, _VALUE_DEFINES, out, is_nesting_told=True)


def _owned(segment: Segment, definitions: NDArray[np.int32], owner: str) -> NDArray[np.float32]:
    """1 for definitions inside of an owner and 0.5 for others; 1 for all when none is, as for an inherited method."""
    found = np.ones(len(definitions), np.float32)
    if owner and len(definitions) <= _MOST_OWNED:
        scopes = (segment.text("def_scope", number) for number in definitions.tolist())
        is_inside = np.array([folded(scope.rpartition(".")[2]) == folded(owner) for scope in scopes], np.bool_)
        if is_inside.any():
            found[~is_inside] = _OTHER_OWNER
    return found


def _fitting(segment: Segment, share: Mapping[str, float], out: NDArray[np.float32]) -> None:
    """The harmonic mean of two shares: of the query, by idf, that a name covers; of its letters, the other way."""
    letters = segment.array("name_letters")
    recall = np.zeros(len(letters), np.float32)
    said = np.zeros(len(letters), np.float32)
    for word, of_word in share.items():
        names = segment.numbers("name_word", "name_word_name", word)
        recall[names] += np.float32(of_word)
        said[names] += np.float32(len(word))
    names = np.flatnonzero(said > 0)
    if not len(names):
        return
    precision = said[names] / np.maximum(letters[names], 1)
    fit = 2 * precision * recall[names] / (precision + recall[names])
    start = segment.array("name_definition_start")
    starts = start[names].astype(np.int64)
    counts = start[names + 1].astype(np.int64) - starts
    first = np.repeat(starts - np.concatenate(([0], np.cumsum(counts)[:-1])), counts)
    definitions = segment.array("name_definition")[first + np.arange(len(first))]
    _keep_largest(
        segment, definitions, np.repeat(fit.astype(np.float32), counts), _VALUE_FITS, out, is_nesting_told=False
    )


def _keep_largest(
    segment: Segment,
    definitions: NDArray[np.int32],
    values: NDArray[np.float32],
    of_value: float,
    out: NDArray[np.float32],
    *,
    is_nesting_told: bool,
) -> None:
    """Give every chunk the largest value of its definitions, those of constants and fields scaled."""
    weights = np.where(segment.array("def_is_full")[definitions] > 0, np.float32(1), np.float32(of_value))
    if is_nesting_told:
        weights *= np.where(segment.array("def_depth")[definitions] > 0, np.float32(_NESTED), np.float32(1))
    np.maximum.at(out, segment.array("def_chunk")[definitions], weights * values)


def named_files(corpus: Corpus, words: Sequence[str]) -> NDArray[np.float32]:
    """1 for each file whose whole name consists of words of the query, of their relatives and abbreviations, else 0."""
    n_docs = len(corpus.file_of_doc)
    said = np.zeros(n_docs, np.float32)
    for part in corpus.parts:
        for number, letters in _said_stems(part, words):
            docs = part.segment.entries("stem_word_doc", number)
            said[docs + part.first_doc] += np.float32(letters)
    return _all_said(corpus, said)


def path_words(corpus: Corpus, share: Mapping[str, float]) -> NDArray[np.float32]:
    """The share of the query, by idf, that the words of each file's path cover."""
    found = np.zeros(len(corpus.file_of_doc), np.float32)
    for part in corpus.parts:
        for word, of_word in share.items():
            docs = part.segment.numbers("path_word", "path_word_doc", word)
            found[docs + part.first_doc] += np.float32(of_word)
    return np.minimum(found[corpus.doc_of_file], np.float32(1))


def _all_said(corpus: Corpus, said: NDArray[np.float32]) -> NDArray[np.float32]:
    letters = corpus.stem_letters
    of_file = said[corpus.doc_of_file]
    return ((of_file > _ALL * letters) & (letters > 0)).astype(np.float32)


def _said_stems(part: SegmentPart, words: Sequence[str]) -> list[tuple[int, int]]:
    """Number and letters of each word of the segment's file names that the query says, as it is or nearly."""
    found: dict[int, int] = {}
    for word in words:
        for number, stem in part.segment.strings_with_prefix("stem_word", word[:_KIN_LETTERS]):
            if stem == word or are_kin(word, stem, least=_KIN_LETTERS):
                found[number] = len(stem)
        for number, stem in part.abbreviations.get(word[:1], ()):
            if abbreviates(stem, word):
                found[number] = len(stem)
    return list(found.items())
