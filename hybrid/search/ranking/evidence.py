"""The pieces of evidence that a file is what is asked for: each a small function of what was measured, each in 0 to 1.

A piece has a name, which is its key in `[ranking]` of `config.toml`, where its reason and its weight stand. `ranker`
measures once what they share and adds them up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hybrid.search.ranking.names import named_files
from hybrid.search.ranking.names import path_words as words_of_paths
from hybrid.search.ranking.roles import other_version, playing
from hybrid.search.ranking.scale import above, by_best, decaying_sum

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from hybrid.index.backend import DenseLeg
    from hybrid.search.ranking.asked import QueryTerms
    from hybrid.search.ranking.corpus import Candidates, Corpus
    from hybrid.search.ranking.fields import WordScores
    from hybrid.search.ranking.names import NameScores
    from hybrid.search.ranking.places import PlaceScores


class Measured(Struct, frozen=True):
    """The measurements that the pieces are made of, for the candidates alone.

    Attributes:
        asked: The query.
        corpus: What is searched.
        files: The candidates.
        words: Scores by words.
        names: Scores by names.
        places: Scores by paths and lines that the query names.
        share: How much of the query each of its words is.
        dense: The dense leg of the query.
        sense: Cosine above the mean of each chunk of the candidates, by the best of all, in the order of `files.rows`.
        best_sense: The same of the rows of the dense leg, best first.
        again: Cosine above the mean to the query and its best chunks together, by the best; 0 outside both pools;
            in the order of `files.rows`.
    """

    asked: QueryTerms
    corpus: Corpus
    files: Candidates
    words: WordScores
    names: NameScores
    places: PlaceScores
    share: Mapping[str, float]
    dense: DenseLeg
    sense: NDArray[np.float32]
    best_sense: NDArray[np.float32]
    again: NDArray[np.float32]

    def best_of(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """The largest value of each candidate's chunks; values have the shape (n_rows,)."""
        return self.files.best(values[self.files.rows])


def best_words(seen: Measured) -> NDArray[np.float32]:
    """The file's best chunk by words."""
    return seen.best_of(seen.words.chunks)


def best_sense(seen: Measured) -> NDArray[np.float32]:
    """The file's best chunk by sense."""
    return seen.files.best(seen.sense)


def sum_words(seen: Measured) -> NDArray[np.float32]:
    """The file's four best chunks by words."""
    rows = seen.words.best
    return seen.files.take(*decaying_sum(seen.words.chunks[rows], seen.corpus.fields.of_rows("file", rows)))


def sum_sense(seen: Measured) -> NDArray[np.float32]:
    """The file's four best chunks by sense."""
    files = seen.corpus.fields.of_rows("file", seen.dense.rows)
    return seen.files.take(*decaying_sum(seen.best_sense, files))


def file_words(seen: Measured) -> NDArray[np.float32]:
    """The file as a whole by words."""
    return seen.words.files[seen.files.files]


def file_sense(seen: Measured) -> NDArray[np.float32]:
    """The cosine of the file's mean vector, above that of all files."""
    return above(seen.dense.of_files(seen.files.files), seen.dense.files)


def file_name(seen: Measured) -> NDArray[np.float32]:
    """1 when the query says every word of the file's name."""
    return named_files(seen.corpus, seen.asked.words, seen.files)


def path(seen: Measured) -> NDArray[np.float32]:
    """The query names it by its path, as a stack trace does."""
    named = seen.places.files
    return np.array([named.get(file, 0.0) for file in seen.files.files.tolist()], np.float32)


def path_words(seen: Measured) -> NDArray[np.float32]:
    """The share of the query that the words of the file's path cover."""
    return words_of_paths(seen.corpus, seen.share, seen.files)


def defines(seen: Measured) -> NDArray[np.float32]:
    """It defines a symbol that the query names."""
    return seen.best_of(seen.names.defines)


def definition_fit(seen: Measured) -> NDArray[np.float32]:
    """The best agreement of a definition's name with the query's words."""
    return seen.best_of(seen.names.fit)


def definition_words(seen: Measured) -> NDArray[np.float32]:
    """The names of all its definitions by words."""
    return seen.words.names[seen.files.files]


def remarks(seen: Measured) -> NDArray[np.float32]:
    """The file's best comment by words."""
    return seen.best_of(seen.words.remarks)


def opening(seen: Measured) -> NDArray[np.float32]:
    """The comment that the file begins with, by words: it often says what the file is for."""
    rows, fields = seen.words.remarked, seen.corpus.fields
    files = fields.of_rows("file", rows)
    is_first = fields.of_files("first_row", files) == rows
    return seen.files.take(files[is_first], by_best(seen.words.remarks[rows[is_first]]))


def feedback(seen: Measured) -> NDArray[np.float32]:
    """Closeness to the query together with its best chunks.

    Source: Rocchio's relevance feedback (1971), with the first results taken for relevant ones.
    """
    return seen.files.best(seen.again)


def test(seen: Measured) -> NDArray[np.float32]:
    """1 for a test, when the query does not speak of tests."""
    return _plays(seen, "test")


def example(seen: Measured) -> NDArray[np.float32]:
    """1 for an example or a benchmark, when the query does not speak of those."""
    return _plays(seen, "example")


def generated(seen: Measured) -> NDArray[np.float32]:
    """1 for what a tool made of other files."""
    return _plays(seen, "generated")


def vendored(seen: Measured) -> NDArray[np.float32]:
    """1 for other people's code."""
    return _plays(seen, "vendored")


def legacy(seen: Measured) -> NDArray[np.float32]:
    """1 for compatibility and deprecated code."""
    return _plays(seen, "legacy")


def interface(seen: Measured) -> NDArray[np.float32]:
    """1 for a header or a type stub: what it announces is defined elsewhere."""
    return _plays(seen, "interface")


def version(seen: Measured) -> NDArray[np.float32]:
    """1 for a file in the folder of another version than the one that is meant."""
    return other_version(seen.corpus, seen.files.files, seen.asked.versions)


def aside(seen: Measured) -> NDArray[np.float32]:
    """1 for what is about the project and not of it, as a changelog or a licence is."""
    return _plays(seen, "aside")


def _plays(seen: Measured, role: str) -> NDArray[np.float32]:
    return playing(seen.corpus.fields.of_files("role", seen.files.files), role, seen.asked.roles)


PIECES: tuple[Callable[[Measured], NDArray[np.float32]], ...] = (
    best_words,
    best_sense,
    sum_words,
    sum_sense,
    file_words,
    file_sense,
    file_name,
    path,
    path_words,
    defines,
    definition_fit,
    definition_words,
    remarks,
    opening,
    feedback,
    test,
    example,
    generated,
    vendored,
    legacy,
    interface,
    version,
    aside,
)


def collect(seen: Measured, weights: Mapping[str, float]) -> dict[str, NDArray[np.float32]]:
    """Every piece that is switched on: name → value of each candidate, before its weight."""
    return {piece.__name__: piece(seen) for piece in PIECES if weights[piece.__name__]}
