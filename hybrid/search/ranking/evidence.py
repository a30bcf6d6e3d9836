"""The pieces of evidence that a file is what is asked for: each a small function of what was measured, each in 0 to 1.

A piece has a name, which is its key in `[ranking]` of `config.toml`, where its reason and its weight stand. `ranker`
measures once what they share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hybrid.search.ranking.names import named_files
from hybrid.search.ranking.names import path_words as words_of_paths
from hybrid.search.ranking.roles import other_version, playing
from hybrid.search.ranking.scale import above, best_by_key, by_best, decaying_sum

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from hybrid.index.backend import DenseLeg
    from hybrid.search.ranking.asked import QueryTerms
    from hybrid.search.ranking.changes import EarlierChanges
    from hybrid.search.ranking.corpus import Candidates, Corpus
    from hybrid.search.ranking.fields import WordScores
    from hybrid.search.ranking.names import NameScores
    from hybrid.search.ranking.places import PlaceScores

DECIMALS = 4
"""Decimals of evidence that are compared: those behind differ with the order in which rows are added up."""
_BEST_FILES = 3
"""Best files whose companions count: the first alone may be wrong, and more of them told nothing."""


class Measured(Struct, frozen=True):
    """The measurements that the pieces of evidence for the candidates are made of.

    Attributes:
        asked: The query.
        corpus: The collection that is searched.
        files: The candidates.
        roles: Bits of `hybrid.index.roles.ROLES` of each candidate.
        words: Scores by words.
        names: Scores by names.
        places: Scores by paths and lines that the query names.
        share: Word → its share of the query; the shares add up to 1.
        dense: The dense leg of the query.
        sense: Cosine above the mean, divided by the best of all, of each chunk in `files.rows`.
        best_sense: The same for each row of the dense leg, best first.
        again: Cosine above the mean to the query and its best chunks together, divided by the best, of each chunk in
            `files.rows`; 0 for one that is among the best rows of neither words nor dense leg.
        earlier: The earlier changes of the candidates; None without a history.
    """

    asked: QueryTerms
    corpus: Corpus
    files: Candidates
    roles: NDArray[np.uint8]
    words: WordScores
    names: NameScores
    places: PlaceScores
    share: Mapping[str, float]
    dense: DenseLeg
    sense: NDArray[np.float32]
    best_sense: NDArray[np.float32]
    again: NDArray[np.float32]
    earlier: EarlierChanges | None = None

    def best_of(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the largest value of each candidate's chunks; values have the shape (n_rows,)."""
        return self.files.best(values[self.files.rows])


def best_words(seen: Measured) -> NDArray[np.float32]:
    """The score by words of the file's best chunk."""
    return seen.best_of(seen.words.chunks)


def best_sense(seen: Measured) -> NDArray[np.float32]:
    """The largest cosine of a chunk of the file, above the mean of all."""
    return seen.files.best(seen.sense)


def sum_words(seen: Measured) -> NDArray[np.float32]:
    """The sum of the file's four best chunks by words, each counting half of the one before."""
    rows = seen.words.best
    return seen.files.take(*decaying_sum(seen.words.chunks[rows], seen.corpus.fields.of_rows("file", rows)))


def sum_sense(seen: Measured) -> NDArray[np.float32]:
    """The sum of the file's four best chunks by sense, each counting half of the one before."""
    files = seen.corpus.fields.of_rows("file", seen.dense.rows)
    return seen.files.take(*decaying_sum(seen.best_sense, files))


def file_words(seen: Measured) -> NDArray[np.float32]:
    """The score by words of the file as a whole."""
    return seen.words.files[seen.files.files]


def file_sense(seen: Measured) -> NDArray[np.float32]:
    """The cosine of the file's mean vector, above that of all files."""
    return above(seen.dense.of_files(seen.files.files), seen.dense.files)


def file_name(seen: Measured) -> NDArray[np.float32]:
    """1 when the query says every word of the file's name, or its relative or long form; else 0."""
    return named_files(seen.corpus, seen.asked.words, seen.files)


def path(seen: Measured) -> NDArray[np.float32]:
    """The likeness of the file's path to one that the query names, as a stack trace does; 0 for other files."""
    named = seen.places.files
    return np.array([named.get(file, 0.0) for file in seen.files.files.tolist()], np.float32)


def path_words(seen: Measured) -> NDArray[np.float32]:
    """The share of the query that the words of the file's path cover."""
    return words_of_paths(seen.corpus, seen.share, seen.files)


def defines(seen: Measured) -> NDArray[np.float32]:
    """The surest definition in the file of a symbol that the query names; 0 without one."""
    return seen.best_of(seen.names.defines)


def definition_fit(seen: Measured) -> NDArray[np.float32]:
    """The best agreement of the name of a definition in the file with the query's words."""
    return seen.best_of(seen.names.fit)


def definition_words(seen: Measured) -> NDArray[np.float32]:
    """The score by words of the names of all definitions in the file."""
    return seen.words.names[seen.files.files]


def remarks(seen: Measured) -> NDArray[np.float32]:
    """The best score by words of the comments of a chunk of the file."""
    return seen.best_of(seen.words.remarks)


def opening(seen: Measured) -> NDArray[np.float32]:
    """The score by words of the comments in the file's first chunk, which often say what the file is for."""
    rows, fields = seen.words.remarked, seen.corpus.fields
    files = fields.of_rows("file", rows)
    is_first = fields.of_files("first_row", files) == rows
    return seen.files.take(files[is_first], by_best(seen.words.remarks[rows[is_first]]))


def feedback(seen: Measured) -> NDArray[np.float32]:
    """The closeness of the file's best chunk to the query together with the query's best chunks.

    Source: Rocchio's relevance feedback (1971), with the first results taken for relevant ones.
    """
    return seen.files.best(seen.again)


def history(seen: Measured) -> NDArray[np.float32]:
    """The score by words of the subjects of the commits that changed the file; 0 without a history."""
    return np.zeros(len(seen.files), np.float32) if seen.earlier is None else seen.earlier.by_words(seen.asked.terms)


def version(seen: Measured) -> NDArray[np.float32]:
    """1 for a file in a folder of another version than the query means; else 0."""
    return other_version(seen.corpus, seen.files.files, seen.asked.versions)


def _plays(role: str) -> Callable[[Measured], NDArray[np.float32]]:
    """Return the piece of a role: 1 for a file that plays it, unless the query speaks of the role; else 0."""
    return lambda seen: playing(seen.roles, role, seen.asked.roles)


PIECES: dict[str, Callable[[Measured], NDArray[np.float32]]] = {
    "best_words": best_words,
    "best_sense": best_sense,
    "sum_words": sum_words,
    "sum_sense": sum_sense,
    "file_words": file_words,
    "file_sense": file_sense,
    "file_name": file_name,
    "path": path,
    "path_words": path_words,
    "defines": defines,
    "definition_fit": definition_fit,
    "definition_words": definition_words,
    "remarks": remarks,
    "opening": opening,
    "feedback": feedback,
    "history": history,
    "test": _plays("test"),
    "example": _plays("example"),
    "generated": _plays("generated"),
    "vendored": _plays("vendored"),
    "legacy": _plays("legacy"),
    "interface": _plays("interface"),
    "version": version,
    "aside": _plays("aside"),
}
"""Name → piece, in the order in which they are added up."""


def changes_with(seen: Measured, total: NDArray[np.float32]) -> NDArray[np.float32]:
    """How often the file changed together with the three best files, by the sum of the other pieces; 0 without any.

    A best file counts by its evidence as a share of the first one's, and not for itself.
    """
    nothing = np.zeros(len(total), np.float32)
    if seen.earlier is None or not len(total):
        return nothing
    files, fields = seen.files.files.tolist(), seen.corpus.fields
    best = best_by_key(total, _BEST_FILES, lambda place: fields.path(files[place]))
    top = float(total[best[0]])
    return seen.earlier.with_others({place: float(total[place]) / top for place in best}) if top > 0 else nothing


ON_TOP: dict[str, Callable[[Measured, NDArray[np.float32]], NDArray[np.float32]]] = {"changes_with": changes_with}
"""Name → piece that builds on the sum of `PIECES`; added up last."""


def weigh(seen: Measured, weights: Mapping[str, float]) -> tuple[dict[str, NDArray[np.float32]], NDArray[np.float32]]:
    """Return name → weighted value of each candidate, for every piece whose weight is not 0; and their rounded sum.

    Sums of floats differ in their last digits with the order of rows: equal evidence must stay equal.
    """
    pieces: dict[str, NDArray[np.float32]] = {}
    total = np.zeros(len(seen.files), np.float32)

    def add(name: str, values: NDArray[np.float32]) -> None:
        pieces[name] = np.multiply(values, np.float32(weights[name]))
        np.add(total, pieces[name], out=total)

    for name, piece in PIECES.items():
        if weights[name]:
            add(name, piece(seen))
    for name, on_top in ON_TOP.items():
        if weights[name]:
            add(name, on_top(seen, np.round(total, DECIMALS)))
    return pieces, np.round(total, DECIMALS)
