"""The pieces of evidence that a file is what is asked for: each a small function of what was measured, each in 0 to 1.

A piece has a name, which is its field in `RankingConfig` of `constants`, where its reason and its weight stand.
`ranker` measures once what they share. At last a file yields to one that it stands for (an older version, a
stub, a file that only passes names on), where that holds what is asked and the query does not speak of the file.
"""

from __future__ import annotations

import math
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from msgspec import Struct

from hybrid.base.arrays import distinct
from hybrid.base.tokens import folded, part_terms
from hybrid.index.analysis import ROLES, bit, keys_said
from hybrid.index.backend import EVERYTHING
from hybrid.search.ranking.corpus import abbreviates, are_kin
from hybrid.search.ranking.fields import above, best_by_key, decaying_sum
from hybrid.search.ranking.query_terms import sides_said, without_sides

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.index.backend import Definitions, DenseLeg, FieldTable, NamesWithWords
    from hybrid.index.history import History
    from hybrid.search.ranking.corpus import Candidates, Corpus, PathMarks, PlaceScores, Version
    from hybrid.search.ranking.fields import FileWords
    from hybrid.search.ranking.query_terms import QueryTerms
    from hybrid.types import Hit


# --- names: of definitions, by spelling and by their words, and of files --------------------------------------

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
_MOST_WITH_LITERAL = 8
"""Files with a literal from which on it tells none of them apart; from one to eight serve equally well."""
_ALL = 0.99
"""Share of the letters of a name that is all of them, below 1 since it is compared with a sum of floats."""


class RowScores(Struct, frozen=True):
    """Chunks that hold something a query names.

    Attributes:
        rows: The chunks; a row may stand there several times.
        values: How sure each is, in (0, 1].
    """

    rows: NDArray[np.intp]
    values: NDArray[np.float32]

    def of_rows(self, rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the surest value of each of some chunks, 0 without one; every one of `self.rows` is among them.

        Args:
            rows: Ascending.
        """
        found = np.zeros(len(rows), np.float32)
        np.maximum.at(found, rows.searchsorted(self.rows), self.values)
        return found


class NameScores(RowScores, frozen=True):
    """The definitions of the symbols that a query names.

    Attributes:
        defining: Symbol of the query, and whether inside of another definition → the rows that define it so; a row may
            stand there several times.
    """

    defining: Mapping[tuple[str, bool], NDArray[np.intp]]


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


def score_literals(corpus: Corpus, text: str) -> RowScores:
    """Score the chunks with a string literal that a query says word for word: 1 / number of files with that literal.

    A literal of more than eight files counts nothing.
    """
    keys = keys_said(text)
    places, rows = corpus.backend.names.literals(keys)
    if not len(rows):
        return RowScores(rows, np.zeros(0, np.float32))
    is_live = corpus.backend.allows(EVERYTHING, rows)
    places, rows = places[is_live], rows[is_live]
    of_file = distinct(places.astype(np.int64) << 32 | corpus.fields.of_rows("file", rows))
    n_files = np.bincount(of_file >> 32, minlength=len(keys))[places]
    is_rare = n_files <= _MOST_WITH_LITERAL
    return RowScores(rows[is_rare], (1 / n_files[is_rare]).astype(np.float32))


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
    kept = files.holds[block.rows].nonzero()[0]
    values = fit.astype(np.float32)[block.starts.searchsorted(kept, side="right") - 1]
    weights = np.where(block.is_full[kept], np.float32(1), np.float32(_VALUE_FITS))
    np.maximum.at(out, files.rows.searchsorted(block.rows[kept]), weights * values)


def named_files(corpus: Corpus, words: Sequence[str], files: Candidates) -> NDArray[np.float32]:
    """Return 1 for each candidate whose name has only words of the query, their kin and abbreviations; else 0."""
    said = np.zeros(corpus.n_files, np.float32)
    for stem in _said_stems(corpus, words):
        said[corpus.backend.names.files_with("stem", stem)] += np.float32(len(stem))
    said = said[files.files]
    letters = corpus.fields.of_files("stem_letters", files.files)
    return ((said > _ALL * letters) & (letters > 0)).astype(np.float32)


def words_of_paths(corpus: Corpus, share: Mapping[str, float], files: Candidates) -> NDArray[np.float32]:
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


# --- earlier commits: the subjects said of the candidates, and what changed with them --------------------------
#
# A history is kept by path (`hybrid.index.history`); here its paths meet the numbers that files have in a backend.

_NOT_LOOKED_UP = -2


class ChangesOfFiles:
    """The history of the files of one backend; it remembers which path of the history each file has."""

    def __init__(self, fields: FieldTable, history: History) -> None:
        self._fields = fields
        self._history = history
        self._number_of = np.full(fields.n_files, _NOT_LOOKED_UP, np.int32)

    def of(self, files: NDArray[np.int32]) -> EarlierChanges:
        """Return the earlier changes of some files."""
        known = self._history.numbers
        for file in files[self._number_of[files] == _NOT_LOOKED_UP].tolist():
            self._number_of[file] = known.get(self._fields.path(file), -1)
        return EarlierChanges(self._history, self._number_of[files])


class EarlierChanges(Struct, frozen=True):
    """The earlier changes of some files.

    Attributes:
        history: The history.
        numbers: Number of each file in it, −1 for a file that no commit changed, shape (n_files,).
    """

    history: History
    numbers: NDArray[np.int32]

    def by_words(self, terms: Mapping[str, float]) -> NDArray[np.float32]:
        """Return the score of each file by the subjects of its commits, as `History.scores`; shape (n_files,)."""
        return self._of_files(self.history.scores(terms))

    def with_others(self, strengths: Mapping[int, float]) -> NDArray[np.float32]:
        """Return how often each file changed together with some of them, divided by the best, shape (n_files,).

        Args:
            strengths: Place of a file in `numbers` → what it counts; one below 0 does not.
        """
        found = np.zeros(self.history.n_paths)
        for place, strength in strengths.items():
            number = int(self.numbers[place])
            if number >= 0 and strength > 0:
                found += strength * self.history.together(number)
        top = float(found.max()) if len(found) else 0.0
        return self._of_files((found / top if top > 0 else found).astype(np.float32))

    def _of_files(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the value of each file, given those of the paths of the history."""
        found = np.zeros(len(self.numbers), np.float32)
        is_known = self.numbers >= 0
        found[is_known] = values[self.numbers[is_known]]
        return found


# --- roles of files, which speak against it: a test is not asked for unless the query speaks of tests -----------


def playing(roles: NDArray[np.uint8], role: str, spoken: frozenset[str] = frozenset()) -> NDArray[np.float32]:
    """Return 1 for each file of a role that the query does not speak of, else 0.

    Args:
        roles: Bits of `hybrid.index.analysis.ROLES` of each file.
        role: The role, one of `ROLES`.
        spoken: Roles that the query speaks of: 0 for all files of the role if it is one of these. Examples often lie
            among the tests, so that of these two roles, a file that has both is spared for either.
    """
    kin = _AMONG_ONE_ANOTHER if role in _AMONG_ONE_ANOTHER else {role}
    plays, spared = roles & _BITS[role] > 0, sum(_BITS[one] for one in kin & spoken)
    return (plays & (roles & np.uint8(spared) == 0) if spared else plays).astype(np.float32)


def other_version(corpus: Corpus, files: NDArray[np.int32], said: frozenset[int]) -> NDArray[np.float32]:
    """Return 1 for each file in a folder of another version than the query means, those in `said`, else the newest."""
    versions = corpus.versions
    if not versions:
        return np.zeros(len(files), np.float32)
    folders = [versions.get(file, ()) for file in files.tolist()]
    if said:
        return np.array([bool(of) and all(number not in said for _, number, _ in of) for of in folders], np.float32)
    return np.array([any(number < newest for _, number, newest in of) for of in folders], np.float32)


# --- the pieces ----------------------------------------------------------------------------------------------

DECIMALS = 4
"""Decimals of evidence that are compared: those behind differ with the order in which rows are added up."""
_BEST_FILES = 3
"""Best files whose companions count: the first alone may be wrong, and more of them told nothing."""
_LOOKED_AT = 10
"""Files with the most evidence that are looked at, and for each the files next to it. Chosen by hand."""
_FEW_WORDS = 6
"""Words of a query that name a file on purpose: chosen on halves of questions of 18 words, where names led astray."""
_MOST_DEFINED = 16
"""Definitions of one name at most; a name with more, as `get`, does not tell that two files hold the same."""
_FEW_IN_SCOPE = 12.0
"""Files of a name that count in full; of more, each counts a share of 12: a folder of hundreds says little of one."""
_BESIDE = np.uint8(sum(bit(role) for role in ("test", "example", "generated", "vendored", "aside")))
"""Roles of files that nothing stands for, unless it plays them too."""
_BITS = {role: np.uint8(bit(role)) for role in ROLES}
_AMONG_ONE_ANOTHER = frozenset({"test", "example"})


class Measured(Struct, frozen=True):
    """The measurements that the pieces of evidence for the candidates are made of.

    Attributes:
        asked: The query.
        corpus: The collection that is searched.
        files: The candidates.
        roles: Bits of `hybrid.index.analysis.ROLES` of each candidate.
        in_files: Scores of the candidates by words.
        names: Definitions of what the query names.
        defines: How sure the surest of these in each chunk in `files.rows` is, in [0, 1].
        says: How rare the rarest string literal in each chunk in `files.rows` is that the query says, in [0, 1].
        fit: Best agreement of the name of a definition with the query's words, of each chunk in `files.rows`.
        places: Scores by paths and lines that the query names.
        share: Word → its share of the query; the shares add up to 1.
        dense: The dense leg of the query.
        again: Cosine above the mean to the query and its best chunks together, divided by the best, of each chunk in
            `files.rows`; 0 for one that is among the best rows of neither words nor dense leg.
        answers: Scores by how likely a file answers a question about the project itself.
        earlier: The earlier changes of the candidates; None without a history.
    """

    asked: QueryTerms
    corpus: Corpus
    files: Candidates
    roles: NDArray[np.uint8]
    in_files: FileWords
    names: NameScores
    defines: NDArray[np.float32]
    says: NDArray[np.float32]
    fit: NDArray[np.float32]
    places: PlaceScores
    share: Mapping[str, float]
    dense: DenseLeg
    again: NDArray[np.float32]
    answers: PlaceScores
    earlier: EarlierChanges | None = None

    def sense(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """Return the cosine above the mean, divided by the best of all, of each of some chunks."""
        return above(self.dense.cosines(rows), self.dense.chunks)


def best_words(seen: Measured) -> NDArray[np.float32]:
    """The score by words of the file's best chunk."""
    return seen.files.best(seen.in_files.chunks)


def best_sense(seen: Measured) -> NDArray[np.float32]:
    """The largest cosine of a chunk of the file, above the mean of all."""
    return above(seen.dense.largest(seen.files.rows, seen.files.starts), seen.dense.chunks)


def sum_words(seen: Measured) -> NDArray[np.float32]:
    """The sum of the file's four best chunks by words, each counting half of the one before."""
    files = seen.corpus.fields.of_rows("file", seen.in_files.best)
    return seen.files.take(*decaying_sum(seen.in_files.shares, files))


def sum_sense(seen: Measured) -> NDArray[np.float32]:
    """The sum of the file's four best chunks by sense, each counting half of the one before."""
    files = seen.corpus.fields.of_rows("file", seen.dense.rows)
    return seen.files.take(*decaying_sum(seen.sense(seen.dense.rows), files))


def file_words(seen: Measured) -> NDArray[np.float32]:
    """The score by words of the file as a whole."""
    return seen.in_files.files


def file_sense(seen: Measured) -> NDArray[np.float32]:
    """The cosine of the file's mean vector, above that of all files."""
    return above(seen.dense.of_files(seen.files.files), seen.dense.files)


def file_name(seen: Measured) -> NDArray[np.float32]:
    """1 when the query says every word of the file's name, or its relative or long form; else 0.

    In a query of more than six words it is 6/n: so many words name some file by chance.
    """
    by_chance = min(1.0, _FEW_WORDS / max(len(seen.asked.words), 1))
    return named_files(seen.corpus, seen.asked.words, seen.files) * np.float32(by_chance)


def path(seen: Measured) -> NDArray[np.float32]:
    """The likeness of the file's path to one that the query names, as a stack trace does; 0 for other files."""
    return seen.files.take_some(seen.places.files)


def reported_path(seen: Measured) -> NDArray[np.float32]:
    """`path` once more for a query with a title, which is long: what it says of words weakens what it points at."""
    return path(seen) if seen.asked.is_titled else np.zeros(len(seen.files), np.float32)


def project(seen: Measured) -> NDArray[np.float32]:
    """The likelihood that the file answers the query, if that asks about the project itself; else 0."""
    return seen.files.take_some(seen.answers.files)


def path_words(seen: Measured) -> NDArray[np.float32]:
    """The share of the query that the words of the file's path cover."""
    return words_of_paths(seen.corpus, seen.share, seen.files)


def defines(seen: Measured) -> NDArray[np.float32]:
    """The surest definition in the file of a symbol that the query names; 0 without one."""
    return seen.files.best(seen.defines)


def defines_alone(seen: Measured) -> NDArray[np.float32]:
    """1 for the only source file that defines a symbol which the query spells as code, in its title if it has one."""
    corpus, defining, found = seen.corpus, seen.names.defining, np.zeros(len(seen.files), np.float32)
    for symbol in seen.asked.named:
        if (symbol, False) in defining:
            rows = np.concatenate([defining[symbol, False], defining[symbol, True]])
            files = distinct(corpus.fields.of_rows("file", rows[corpus.backend.allows(EVERYTHING, rows)]))
            is_source = corpus.fields.of_files("role", files) & _BESIDE == 0
            source = [file for file in files[is_source].tolist() if not corpus.beside(file)]
            if len(source) == 1:
                found[seen.files.files == source[0]] = 1
    return found


def scope(seen: Measured) -> NDArray[np.float32]:
    """1 for a file that the query begins with the name of, or of a folder, as `ledger: fix …`; less if many have it."""
    if not seen.asked.scope:
        return np.zeros(len(seen.files), np.float32)
    wanted = "/".join(("", *seen.asked.scope, ""))
    paths = [seen.corpus.fields.path(file).lower().rpartition("/") for file in seen.files.files.tolist()]
    found = np.array([wanted in f"/{above}/{name.rpartition('.')[0] or name}/" for above, _, name in paths], np.float32)
    return found * np.float32(min(1.0, _FEW_IN_SCOPE / max(float(found.sum()), 1.0)))


def literals(seen: Measured) -> NDArray[np.float32]:
    """The rarity of a string literal of the file that the query says word for word; 0 without one."""
    return seen.files.best(seen.says)


def definition_fit(seen: Measured) -> NDArray[np.float32]:
    """The best agreement of the name of a definition in the file with the query's words."""
    return seen.files.best(seen.fit)


def definition_words(seen: Measured) -> NDArray[np.float32]:
    """The score by words of the names of all definitions in the file."""
    return seen.in_files.names


def remarks(seen: Measured) -> NDArray[np.float32]:
    """The best score by words of the comments of a chunk of the file."""
    return seen.files.best(seen.in_files.remarks)


def opening(seen: Measured) -> NDArray[np.float32]:
    """The score by words of the comments in the file's first chunk, which often say what the file is for."""
    return seen.in_files.opening


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


def beside_source(seen: Measured) -> NDArray[np.float32]:
    """1 for a test, a page or a file of data where the query wants something changed, and none of these; else 0."""
    asked = seen.asked
    if not asked.is_change:
        return np.zeros(len(seen.files), np.float32)
    beside = seen.corpus.beside
    found = np.array([bool(kind := beside(file)) and kind not in asked.roles for file in seen.files.files.tolist()])
    return np.maximum(found, playing(seen.roles, "test", asked.roles)).astype(np.float32)


PIECES: dict[str, Callable[[Measured], NDArray[np.float32]]] = {
    "best_words": best_words,
    "best_sense": best_sense,
    "sum_words": sum_words,
    "sum_sense": sum_sense,
    "file_words": file_words,
    "file_sense": file_sense,
    "file_name": file_name,
    "path": path,
    "reported_path": reported_path,
    "project": project,
    "path_words": path_words,
    "defines": defines,
    "defines_alone": defines_alone,
    "scope": scope,
    "literals": literals,
    "definition_fit": definition_fit,
    "definition_words": definition_words,
    "remarks": remarks,
    "opening": opening,
    "feedback": feedback,
    "history": history,
    **{role: _plays(role) for role in ("test", "example", "generated", "vendored", "legacy", "interface")},
    "version": version,
    "aside": _plays("aside"),
    "beside_source": beside_source,
}
"""Name → piece, in the order in which they are added up."""


def changes_with(seen: Measured, total: NDArray[np.float32]) -> NDArray[np.float32]:
    """Share of changes in common with the three best files by the sum of the other pieces; 0 without any.

    A best file counts by its evidence as a share of the first one's, and not for itself.
    """
    nothing = np.zeros(len(total), np.float32)
    if seen.earlier is None or not len(total):
        return nothing
    files, fields = seen.files.files.tolist(), seen.corpus.fields
    best = best_by_key(total, _BEST_FILES, lambda place: fields.path(files[place]))
    top = float(total[best[0]])
    return seen.earlier.with_others({place: float(total[place]) / top for place in best}) if top > 0 else nothing


def tested(seen: Measured, total: NDArray[np.float32]) -> NDArray[np.float32]:
    """Evidence for the best test that is named after the file, as a share of the best file's, for a wished change.

    A test about the very thing has all evidence at its best; what is to be changed is the file that it tests. The ten
    best tests count.
    """
    found = np.zeros(len(total), np.float32)
    top = float(total.max()) if len(total) else 0.0
    if not seen.asked.is_change or top <= 0:
        return found
    tests = playing(seen.roles, "test", seen.asked.roles).nonzero()[0]
    files, fields = seen.files.files.tolist(), seen.corpus.fields
    best = best_by_key(total[tests], _LOOKED_AT, lambda at: fields.path(files[int(tests[at])]))
    place_of = {file: place for place, file in enumerate(files)}
    for test in (int(tests[at]) for at in best if total[tests[at]] > 0):
        value = np.float32(float(total[test]) / top)
        for file in seen.corpus.tested_by(files[test]):
            if (place := place_of.get(file)) is not None:
                found[place] = max(found[place], value)
    return found


def twin(seen: Measured, total: NDArray[np.float32]) -> NDArray[np.float32]:
    """1 for one of the ten best files whose sibling among them is the one that the query asks for; else 0.

    Siblings' paths differ in opposite words only (`posix/`, `nt/`). The one for which most words speak is asked for.
    """
    found, said = np.zeros(len(total), np.float32), sides_said(seen.asked.subject)
    files, fields = seen.files.files.tolist(), seen.corpus.fields
    siblings: dict[str, dict[int, int]] = {}
    for place in best_by_key(total, _LOOKED_AT, lambda place: fields.path(files[place])) if said else ():
        path, sides = without_sides(fields.path(files[place]))
        siblings.setdefault(path, {})[place] = sum(not said.isdisjoint(side) for side in sides)
    for n_said in siblings.values():
        for place, number in n_said.items():
            found[place] = number < max(n_said.values())
    return found


ON_TOP: dict[str, Callable[[Measured, NDArray[np.float32]], NDArray[np.float32]]] = {
    "changes_with": changes_with,
    "tested": tested,
    "twin": twin,
}
"""Name → piece that builds on the sum of `PIECES`; added up last."""


def rounded(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return values with the decimals that are compared; `np.round` takes five times as long for few."""
    return cast("NDArray[np.float32]", values.round(DECIMALS))


def weigh(seen: Measured, weights: Mapping[str, float]) -> tuple[dict[str, NDArray[np.float32]], NDArray[np.float32]]:
    """Return name → weighted value of each candidate, for every piece whose weight is not 0; and their rounded sum.

    Sums of floats differ in their last digits with the order of rows: equal evidence must stay equal.
    """
    names = list(filter(weights.get, PIECES))
    values = np.array([PIECES[name](seen) for name in names], np.float32).reshape(len(names), len(seen.files))
    values *= np.array([[weights[name]] for name in names], np.float32)
    pieces, total = dict(zip(names, values, strict=True)), reduce(np.add, values, np.zeros(len(seen.files), np.float32))
    for name in filter(weights.get, ON_TOP):
        pieces[name] = np.multiply(ON_TOP[name](seen, rounded(total)), np.float32(weights[name]))
        total += pieces[name]
    return pieces, rounded(total)


def yielded(seen: Measured, total: NDArray[np.float32], most: float) -> NDArray[np.float32]:
    """Return what each candidate's evidence changes by: a file that stands for another changes places with it.

    Args:
        seen: The query and its candidates.
        total: Evidence of each candidate, rounded; −∞ for one that may not be shown.
        most: Evidence that a file may be ahead by and still yields. A file that defines a symbol of the query, which
            the other one defines too, yields however far it is ahead.
    """
    pairs = _Pairs(seen)
    now = np.array(total, np.float32)
    for file in best_by_key(total, _LOOKED_AT, pairs.path):
        if not pairs.may_yield(file):
            continue
        others = pairs.that_hold_the_same(file)
        least = 0.0 if pairs.is_named(file) else max(0.0, float(now[file]) - most)
        near = np.where(others & (now > least) & (now <= now[file]), now, np.float32(-np.inf))
        best = (other for other in best_by_key(near, _LOOKED_AT, pairs.path) if pairs.stands_for(file, other))
        if (other := next(best, None)) is not None:
            now[[file, other]] = now[[other, file]]
    changes = np.zeros(len(total), np.float32)
    np.subtract(now, total, out=changes, where=now != total)
    return changes


class _Pairs:
    """Tells of two candidates of one query, given by their places, whether one stands for the other."""

    def __init__(self, seen: Measured) -> None:
        self._seen = seen
        self._files: Sequence[int] = seen.files.files.tolist()
        self._defined = {symbol: self._among(rows) for symbol, rows in seen.names.defining.items() if len(rows)}
        self._shown = cache(self._find_shown)
        self._telling = cache(self._find_telling)

    def path(self, place: int) -> str:
        """Return the path of a file."""
        return self._seen.corpus.fields.path(self._files[place])

    def may_yield(self, place: int) -> bool:
        """Return whether the file may stand for another one, and the query does not speak of it."""
        marks = self._marks(place)
        if self._files[place] in self._seen.places.files:
            return False
        return bool(self._versions(marks)) or self._is_old(marks) or self._is_stub(place) or self._passes_on(place)

    def is_named(self, place: int) -> bool:
        """Return whether the file defines a symbol that the query names for sure."""
        return any(self._seen.asked.symbols[symbol] == 1 for symbol in self._named(place))

    def that_hold_the_same(self, place: int) -> NDArray[np.bool_]:
        """Return for each candidate whether it holds what is asked as the file does; False for the file itself.

        It defines the symbols of the query that the file defines, as openly. When the file defines none, it is the name
        that its best chunk shows, or the one that says most words of the query. Without any name all do, and the paths
        decide. A file that passes names on has those of its candidates that define what the query names, or anything.
        """
        seen = self._seen
        same: NDArray[np.bool_] = np.equal(seen.roles & ~seen.roles[place] & _BESIDE, 0)
        same[place] = False
        if self._passes_on(place):
            named = list(self._defined.values())
            return same & np.logical_or.reduce(named) if named else same
        for symbol, is_nested in self._named(place).items():
            defined = np.zeros(len(same), np.bool_)
            for form in (False, True) if is_nested else (False,):
                defined |= self._defined.get((symbol, form), False)
            same &= defined
        for name in () if self._named(place) else self._telling(place):
            same &= self._definers(name, self._shown(place).scope)
        return same

    def stands_for(self, place: int, other: int) -> bool:
        """Return whether the file stands for the other one, which holds the same, by its path and role."""
        mine, its = self._marks(place), self._marks(other)
        if self._passes_on(place):
            return self._is_below(place, other)
        versions = self._versions(mine)
        is_nameless = not self._named(place) and not self._telling(place)
        if any(one.is_older(newer) for one in versions for newer in its.versions):
            return not is_nameless or mine.versions[-1].rest == its.versions[-1].rest
        if any(self._is_copy(one, its) for one in versions):
            return not is_nameless or any(one.without == its.path for one in versions)
        if self._is_old(mine) and not its.old and not any(one.is_first for one in its.versions):
            return not is_nameless or mine.without_old == its.path
        if self._is_stub(place) and not int(self._seen.roles[other]) & bit("interface"):
            return not is_nameless or mine.without_suffix == its.without_suffix
        return False

    def _marks(self, place: int) -> PathMarks:
        return self._seen.corpus.marks(self._files[place])

    def _versions(self, marks: PathMarks) -> tuple[Version, ...]:
        """Return the versions of a path; none when the query names one of them."""
        said = self._seen.asked.versions
        return () if said and any(one.numbers[0] in said for one in marks.versions) else marks.versions

    def _is_copy(self, one: Version, its: PathMarks) -> bool:
        """Return whether a first version is a copy of what lies beside its folder, where the other file lies."""
        if not one.is_first or its.versions or not its.path.startswith(one.folder):
            return False
        return one.without == its.path or self._seen.corpus.is_copy(one.of, one.numbers)

    def _is_old(self, marks: PathMarks) -> bool:
        asked, said = self._seen.asked, (term for word in marks.old for term in part_terms(word))
        return bool(marks.old) and "legacy" not in asked.roles and not any(term in asked.words for term in said)

    def _is_stub(self, place: int) -> bool:
        return "interface" not in self._seen.asked.roles and bool(int(self._seen.roles[place]) & bit("interface"))

    def _passes_on(self, place: int) -> bool:
        """Return whether the file only passes names on, and the query does not speak of such files."""
        return "facade" not in self._seen.asked.roles and self._seen.corpus.passes_on(self._files[place])

    def _is_below(self, place: int, other: int) -> bool:
        """Return whether the other file is code in the folder of the file or below, and does not only pass names on."""
        path, its = self._marks(place).path, self._marks(other).path
        if self._passes_on(other) or not its.startswith(path[: path.rfind("/") + 1]):
            return False
        return self._shown(other).kind == "code" and bool(self._shown(other).name)

    def _named(self, place: int) -> dict[str, bool]:
        """Return the symbols of the query that the file defines → whether only inside of other definitions."""
        named: dict[str, bool] = {}
        for (symbol, is_nested), is_defined in self._defined.items():
            if is_defined[place]:
                named[symbol] = is_nested and named.get(symbol, True)
        return named

    def _find_shown(self, place: int) -> Hit:
        """Return the chunk of the file with the most evidence of its own."""
        seen, within = self._seen, self._seen.files.places(place)
        rows = seen.files.rows[within]
        own = seen.in_files.chunks[within] + seen.sense(rows) + seen.fit[within]
        return seen.corpus.backend.get(rows.item(int(own.argmax())))

    def _find_telling(self, place: int) -> list[str]:
        """Return those names in the file's best chunk that say most words of the query, mostly one."""
        names = [name for name in self._shown(place).name.split(", ") if name not in ("", "…")]
        said = [len(set(self._seen.asked.words).intersection(part_terms(name))) for name in names]
        return [name for name, n_said in zip(names, said, strict=True) if n_said == max(said)]

    def _definers(self, name: str, scope: str) -> NDArray[np.bool_]:
        """Return which files define a name outside of any scope, or inside of one of the same name."""
        owner, found = _last(scope), np.zeros(len(self._files), np.bool_)
        for block in self._seen.corpus.backend.names.definitions(folded(name)):
            if len(block.rows) <= _MOST_DEFINED:
                is_alike = [not of or not owner or _last(of) == owner for of in block.scopes()]
                found |= self._among(block.rows[np.array(is_alike)])
        return found

    def _among(self, rows: NDArray[np.intp]) -> NDArray[np.bool_]:
        """Return which candidates some rows belong to."""
        is_one = np.zeros(self._seen.corpus.n_files, np.bool_)
        is_one[self._seen.corpus.fields.of_rows("file", rows)] = True
        return is_one[self._seen.files.files]


def _last(scope: str) -> str:
    return scope.rpartition(".")[2]
