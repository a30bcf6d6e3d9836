"""The pieces of evidence that a file is what is asked for: each a small function of what was measured, each in 0 to 1.

A piece has a name, which is its field in `RankingConfig` of `constants`, where its reason and its weight stand.
`ranker` measures once what they share. At last a file yields to one that it stands for (an older version, a
stub, a file that only passes names on), where that holds what is asked and the query does not speak of the file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.base.memo import Memo
from hybrid.base.tokens import folded, part_terms
from hybrid.index.roles import bit
from hybrid.search.ranking.names import named_files
from hybrid.search.ranking.names import path_words as words_of_paths
from hybrid.search.ranking.roles import other_version, playing
from hybrid.search.ranking.scale import above, best_by_key, decaying_sum

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.index.backend import ChunkView, DenseLeg
    from hybrid.search.ranking.asked import QueryTerms
    from hybrid.search.ranking.changes import EarlierChanges
    from hybrid.search.ranking.corpus import Candidates, Corpus, PathMarks, Version
    from hybrid.search.ranking.fields import FileWords
    from hybrid.search.ranking.names import NameScores
    from hybrid.search.ranking.places import PlaceScores

DECIMALS = 4
"""Decimals of evidence that are compared: those behind differ with the order in which rows are added up."""
_BEST_FILES = 3
"""Best files whose companions count: the first alone may be wrong, and more of them told nothing."""
_LOOKED_AT = 10
"""Files with the most evidence that are looked at, and for each the files next to it. Chosen by hand."""
_MOST_DEFINED = 16
"""Definitions of one name at most; a name with more, as `get`, does not tell that two files hold the same."""
_BESIDE = np.uint8(sum(bit(role) for role in ("test", "example", "generated", "vendored", "aside")))
"""Roles of files that nothing stands for, unless it plays them too."""


class Measured(Struct, frozen=True):
    """The measurements that the pieces of evidence for the candidates are made of.

    Attributes:
        asked: The query.
        corpus: The collection that is searched.
        files: The candidates.
        roles: Bits of `hybrid.index.roles.ROLES` of each candidate.
        words: Scores of all chunks by words.
        in_files: Scores of the candidates by words.
        names: Definitions of what the query names.
        defines: How sure the surest of these in each chunk in `files.rows` is, in [0, 1].
        fit: Best agreement of the name of a definition with the query's words, of each chunk in `files.rows`.
        places: Scores by paths and lines that the query names.
        share: Word → its share of the query; the shares add up to 1.
        dense: The dense leg of the query.
        again: Cosine above the mean to the query and its best chunks together, divided by the best, of each chunk in
            `files.rows`; 0 for one that is among the best rows of neither words nor dense leg.
        earlier: The earlier changes of the candidates; None without a history.
    """

    asked: QueryTerms
    corpus: Corpus
    files: Candidates
    roles: NDArray[np.uint8]
    in_files: FileWords
    names: NameScores
    defines: NDArray[np.float32]
    fit: NDArray[np.float32]
    places: PlaceScores
    share: Mapping[str, float]
    dense: DenseLeg
    again: NDArray[np.float32]
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
    """1 when the query says every word of the file's name, or its relative or long form; else 0."""
    return named_files(seen.corpus, seen.asked.words, seen.files)


def path(seen: Measured) -> NDArray[np.float32]:
    """The likeness of the file's path to one that the query names, as a stack trace does; 0 for other files."""
    named = seen.places.files
    return np.array([named.get(file, 0.0) for file in seen.files.files.tolist()], np.float32)


def reported_path(seen: Measured) -> NDArray[np.float32]:
    """`path` once more for a query with a title, which is long: what it says of words weakens what it points at."""
    return path(seen) if seen.asked.is_titled else np.zeros(len(seen.files), np.float32)


def path_words(seen: Measured) -> NDArray[np.float32]:
    """The share of the query that the words of the file's path cover."""
    return words_of_paths(seen.corpus, seen.share, seen.files)


def defines(seen: Measured) -> NDArray[np.float32]:
    """The surest definition in the file of a symbol that the query names; 0 without one."""
    return seen.files.best(seen.defines)


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

        self._shown: Memo[int, ChunkView] = Memo(self._find_shown)
        self._telling: Memo[int, list[str]] = Memo(self._find_telling)

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
        for name in () if self._named(place) else self._telling[place]:
            same &= self._definers(name, self._shown[place].scope)
        return same

    def stands_for(self, place: int, other: int) -> bool:
        """Return whether the file stands for the other one, which holds the same, by its path and role."""
        mine, its = self._marks(place), self._marks(other)
        if self._passes_on(place):
            return self._is_below(place, other)
        versions = self._versions(mine)
        is_nameless = not self._named(place) and not self._telling[place]
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
        return self._seen.corpus.marks[self._files[place]]

    def _versions(self, marks: PathMarks) -> tuple[Version, ...]:
        """Return the versions of a path; none when the query names one of them."""
        said = self._seen.asked.versions
        return () if any(one.numbers[0] in said for one in marks.versions) else marks.versions

    def _is_copy(self, one: Version, its: PathMarks) -> bool:
        """Return whether a first version is a copy of what lies beside its folder, where the other file lies."""
        if not one.is_first or its.versions or not its.path.startswith(one.folder):
            return False
        return one.without == its.path or self._seen.corpus.is_copy(one)

    def _is_old(self, marks: PathMarks) -> bool:
        asked = self._seen.asked
        is_said = "legacy" in asked.roles or any(term in asked.words for word in marks.old for term in part_terms(word))
        return bool(marks.old) and not is_said

    def _is_stub(self, place: int) -> bool:
        return "interface" not in self._seen.asked.roles and bool(int(self._seen.roles[place]) & bit("interface"))

    def _passes_on(self, place: int) -> bool:
        """Return whether the file only passes names on, and the query does not speak of such files."""
        return "facade" not in self._seen.asked.roles and self._seen.corpus.passes_on[self._files[place]]

    def _is_below(self, place: int, other: int) -> bool:
        """Return whether the other file is code in the folder of the file or below, and does not only pass names on."""
        path, its = self._marks(place).path, self._marks(other).path
        if self._passes_on(other) or not its.startswith(path[: path.rfind("/") + 1]):
            return False
        return self._shown[other].kind == "code" and bool(self._shown[other].name)

    def _named(self, place: int) -> dict[str, bool]:
        """Return the symbols of the query that the file defines → whether only inside of other definitions."""
        named: dict[str, bool] = {}
        for (symbol, is_nested), is_defined in self._defined.items():
            if is_defined[place]:
                named[symbol] = is_nested and named.get(symbol, True)
        return named

    def _find_shown(self, place: int) -> ChunkView:
        """Return the chunk of the file with the most evidence of its own."""
        seen, within = self._seen, self._seen.files.places(place)
        rows = seen.files.rows[within]
        own = seen.in_files.chunks[within] + seen.sense(rows) + seen.fit[within]
        return seen.corpus.backend.get(int(rows[int(np.argmax(own))]))

    def _find_telling(self, place: int) -> list[str]:
        """Return those names in the file's best chunk that say most words of the query, mostly one."""
        names = [name for name in self._shown[place].name.split(", ") if name not in ("", "…")]
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
        return np.isin(self._seen.files.files, self._seen.corpus.fields.of_rows("file", rows))


def _last(scope: str) -> str:
    return scope.rpartition(".")[2]
