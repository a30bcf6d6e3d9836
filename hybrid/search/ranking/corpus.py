"""A collection as the ranker reads it: what it remembers of a backend between queries, and the files of one query.

Here too: relatives and long forms of a query's words, and the files and lines that a query names. A file is compared
with a query only if it is a candidate; nothing here has an entry for every chunk or file.
"""

from __future__ import annotations

import itertools
import math
import re
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hybrid.base.arrays import distinct, ranges
from hybrid.base.tokens import part_terms
from hybrid.index.analysis import bit
from hybrid.index.backend import EVERYTHING
from hybrid.prompting import project_questions
from hybrid.prompting.content import parts_of_path

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from numpy.typing import NDArray

    from hybrid.index.backend import SearchBackend
    from hybrid.prompting.content import SourceLine


# --- relatives among words, and abbreviations ----------------------------------------------------------------

LONGER = 5
"""Letters that a relative may have more than the term itself."""
_SHARED = 5
"""First letters that two relatives share at least, when neither begins with the other; and ¾ of the shorter."""
_SHARED_SHARE = 0.75
_VOWEL = re.compile("[aeiou]")


def are_kin(a: str, b: str, *, least: int) -> bool:
    """Return whether one term begins with the other, or they share five first letters and ¾ of the shorter.

    Args:
        a: A term.
        b: Another.
        least: Letters that the shorter must have.
    """
    short, long = (a, b) if len(a) <= len(b) else (b, a)
    if len(short) >= least and long.startswith(short):
        return True
    n_shared = max(_SHARED, math.ceil(_SHARED_SHARE * len(short)))
    return len(short) >= n_shared and long.startswith(short[:n_shared])


def may_have_kin(term: str, *, least: int) -> bool:
    """Return whether a term is a plain word of at least `least` letters: numbers and compounds have no relatives."""
    return len(term) >= least and term.isalpha()


def kin_among(term: str, candidates: Sequence[str], *, least: int) -> list[str]:
    """Return those candidates that are relatives of a term, at most `LONGER` letters longer; nearest in length first.

    Args:
        term: A stem.
        candidates: Terms that share its first letters.
        least: Letters that the shorter of two must have.
    """
    longest = len(term) + LONGER
    found = [
        other
        for other in candidates
        if len(other) <= longest and other != term and other.isalpha() and are_kin(term, other, least=least)
    ]
    return sorted(found, key=lambda other: (abs(len(other) - len(term)), other))


def may_abbreviate(short: str) -> bool:
    """Return whether a term is spelled like an abbreviation: three letters or more, no vowel but the first."""
    return len(short) > 2 and short.isalpha() and not _VOWEL.search(short, 1)


def abbreviates(short: str, word: str) -> bool:
    """Return whether `short` is `word` with letters left out: `cfg` of config, `msg` of message.

    It has three letters or more, fewer than the word, and the same first one. No vowel follows that, and all its
    letters stand in the word in this order.
    """
    if len(short) >= len(word) or short[0] != word[0]:
        return False
    at = 0
    for letter in short:
        at = word.find(letter, at) + 1
        if not at:
            return False
    return may_abbreviate(short)


# --- the collection ------------------------------------------------------------------------------------------

_KIN_LETTERS = 4
"""First letters that relatives among the words of texts share at least. Chosen by hand; among the words of file names,
which are few, three are enough (`evidence`)."""
_LOOKED_AT = 16
"""Files of a version folder of which most must have a counterpart outside. Chosen by hand."""
_MOST_PASSING = 8
"""Chunks of a file that only passes names on, at most. Chosen by hand."""
_MOST_KIN = 8
"""Relatives of one term: each costs its postings in every query. Chosen by hand."""
_VERSION = re.compile(
    r"(?:^|(?<=[/._-]))(?:(v|ver|version|api|rev?|r)[-_]?(\d{1,9}(?:[._]\d{1,9}){0,3})((?:alpha|beta|rc)\d{0,4})?(?=/)"
    r"|(\d{1,9}(?:\.\d{1,9}){1,3})(?=/)|(v|ver|version)[-_]?(\d{1,9})(?=\.\w+$))",
    re.IGNORECASE,
)
"""A folder or file of one version of something: `v2/`, `client-v2/`, `v1beta1/`, `1.4/`, `client_v2.py`."""
_OLD = re.compile(r"[-_.]?(?<![^/._-])(legacy|old|deprecated|obsolete|attic|compat)(?![^/._-])[-_]?", re.IGNORECASE)
"""A word that calls a folder or file an older one: `legacy/`, `shop_old/`, `billing_old.py`, `_compat.py`."""
_SUFFIX = re.compile(r"(?:\.d)?\.\w+$")
_ENDING = re.compile(r"\.\w+$")
_OF_TEST = re.compile(r"^(?:tests?[-_]|[Tt]est(?=[A-Z]))|(?:[-_.](?:tests?|spec)|(?:Tests?|Spec|Suite))$")
"""What makes the name of a file that of its test."""
_PAGES = frozenset({"md", "mdx", "markdown", "mdown", "rst", "adoc", "asciidoc", "textile"})
_DATA = frozenset({"json", "yaml", "yml", "toml", "ini", "cfg", "csv", "lock"})
"""Endings of pages and of files of data; a `.html`, `.txt` or `.xml` is as often what a program is made of."""
_PASSING_ON = re.compile(r"(?:^|/)(?:index\.[cm]?[jt]sx?|__init__\.py|(?:mod|lib)\.rs)$")


class Corpus:
    """A backend, with memory of the relatives and abbreviations that the ranker asks for again and again.

    Attributes:
        backend: The backend; it does not change.
        fields: Its fields of rows and files.
        n_rows: One more than the largest row.
        n_files: One more than the largest number of a file.
        n_live: Number of chunks that can be found.
        kin: Term → its morphological relatives, the nearest in length first; at most eight. A term that only removed
            chunks hold is nobody's relative.
        abbreviations: Letter → the words of file names that begin with it and are spelled like an abbreviation.
        marks: File → what its path tells about its standing for another.
        is_copy: Name and numbers of a version folder → whether most of its files have the same path, but for
            the folder, as another file.
        passes_on: File → whether it only passes on what others define: it defines nothing but names as `__all__`.
        tested_by: Test → the files that it is named after: `test_store.py` after each `store.py`.
        beside: File → `doc` for a page, `data` for a file of data; empty for another.
    """

    def __init__(self, backend: SearchBackend) -> None:
        self.backend = backend
        self.fields = backend.fields
        self.n_rows, self.n_files, self.n_live = backend.n_rows, backend.fields.n_files, backend.n_chunks
        self.kin = lru_cache(1 << 14)(self._find_kin)
        self.abbreviations = lru_cache(1 << 14)(self._find_abbreviations)
        self.marks = lru_cache(1 << 14)(self._find_marks)
        self.is_copy = lru_cache(1 << 14)(self._find_copy)
        self.passes_on = lru_cache(1 << 14)(self._find_passes_on)
        self.tested_by = lru_cache(1 << 14)(self._find_tested)
        self.beside = lru_cache(1 << 14)(self._find_beside)

    @cached_property
    def firsts(self) -> NDArray[np.intp]:
        """The first row of each file, shape (n_files,)."""
        return np.asarray(self.fields.of_files("first_row", np.arange(self.n_files)), np.intp)

    @cached_property
    def is_first(self) -> NDArray[np.bool_]:
        """For each row, whether it is the first of its file, shape (n_rows,)."""
        found = np.zeros(self.n_rows, np.bool_)
        found[self.firsts] = True
        return found

    @cached_property
    def versions(self) -> dict[int, tuple[tuple[str, int, int], ...]]:
        """File → its version folders, of the files that lie in one, as `versions_of` gives them."""
        return versions_of(dict(self.backend.names.versioned()))

    @cached_property
    def telling(self) -> dict[int, str]:
        """File → path, of the files that may tell of the project itself and can be found."""
        may_answer = project_questions.may_answer
        paths = {file: path for file in range(self.n_files) if may_answer(path := self.fields.path(file))}
        files = np.array(list(paths), np.int32)
        is_live = self.backend.allows(EVERYTHING, np.asarray(self.fields.of_files("first_row", files), np.intp))
        return {file: paths[file] for file in files[is_live].tolist()}

    def _find_abbreviations(self, letter: str) -> tuple[str, ...]:
        return tuple(filter(may_abbreviate, self.backend.names.stems(letter)))

    def _find_marks(self, file: int) -> PathMarks:
        return marks_of(self.fields.path(file))

    def _find_beside(self, file: int) -> str:
        path = self.fields.path(file)
        ending = path[path.rfind(".") + 1 :].lower()
        return "doc" if ending in _PAGES else "data" if ending in _DATA else ""

    def _find_copy(self, of: str, numbers: tuple[int, ...]) -> bool:
        marks = (self.marks(file) for file in self.versions)
        of_it = (one for mark in marks for one in mark.versions if (one.of, one.numbers) == (of, numbers))
        looked_at = [one.without for one in itertools.islice(of_it, _LOOKED_AT)]
        called = self.backend.names.files_called
        n_beside = sum(any(path == without for _, path in called(without.split("/"))) for without in looked_at)
        return 2 * n_beside > len(looked_at)

    def _find_tested(self, test: int) -> tuple[int, ...]:
        name = self.fields.path(test).rsplit("/", 1)[-1].rpartition(".")[0]
        of = _OF_TEST.sub("", name)
        words = part_terms(of)
        if not words or of == name:
            return ()
        found = self.backend.names.files_with("stem", words[0])
        is_test = self.fields.of_files("role", found) & np.uint8(bit("test")) > 0
        alike = [int(file) for file in found[~is_test]]
        return tuple(file for file in alike if _name(self.fields.path(file)) == of.lower() and not self.beside(file))

    def _find_passes_on(self, file: int) -> bool:
        first, end = (int(self.fields.of_files(field, np.array([file]))[0]) for field in ("first_row", "end_row"))
        if not self.marks(file).may_pass_on or end - first > _MOST_PASSING:
            return False
        names = (name for row in range(first, end) for name in self.backend.get(row).name.split(", "))
        return all(not name or name.startswith("__") for name in names)

    def _find_kin(self, term: str) -> tuple[str, ...]:
        if not may_have_kin(term, least=_KIN_LETTERS):
            return ()
        terms = self.backend.terms
        others = terms.beginning_with(term[:_KIN_LETTERS], len(term) + LONGER)
        kin = kin_among(term, others, least=_KIN_LETTERS)
        return tuple(itertools.islice((other for other in kin if terms.is_held(other)), _MOST_KIN))


class Candidates(Struct, frozen=True):
    """The files that are compared with a query, with their chunks one file after another.

    Attributes:
        files: Numbers of the files, ascending, shape (n_candidates,).
        starts: Where the chunks of each file begin in `rows`, shape (n_candidates,).
        rows: Rows of the chunks of all files, ascending, shape (n,).
        holds: For each row of the collection, whether it is one of `rows`, shape (n_rows,).
    """

    files: NDArray[np.int32]
    starts: NDArray[np.intp]
    rows: NDArray[np.intp]
    holds: NDArray[np.bool_]

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
        at = np.minimum(files.searchsorted(self.files), len(files) - 1)
        return np.where(files[at] == self.files, values[at], np.float32(0))

    def take_some(self, values: Mapping[int, float]) -> NDArray[np.float32]:
        """Return the value of each candidate, given file → value; 0 for one not among these files."""
        files = sorted(values)
        return self.take(np.array(files, np.int32), np.array([values[file] for file in files], np.float32))


def _name(path: str) -> str:
    return path.rsplit("/", 1)[-1].partition(".")[0].strip("_").lower()


def candidates(corpus: Corpus, files: NDArray[np.integer[Any]]) -> Candidates:
    """Return some files, each once, with their chunks.

    Args:
        corpus: The corpus of the files.
        files: Numbers of files, in any order and any number of times.
    """
    chosen = distinct(np.asarray(files, np.int32))
    firsts = np.asarray(corpus.fields.of_files("first_row", chosen), np.intp)
    rows, counts = ranges(firsts, corpus.fields.of_files("end_row", chosen))
    holds = np.zeros(corpus.n_rows, np.bool_)
    holds[rows] = True
    return Candidates(chosen, counts.cumsum() - counts, rows, holds)


def versions_of(paths: dict[int, str]) -> dict[int, tuple[tuple[str, int, int], ...]]:
    """Return file → for each version folder in its path: what it is a version of, its number, the newest beside it.

    Files without a version folder are left out.

    Args:
        paths: File → path, of files that lie in such folders.
    """
    folders = {file: [(one.of, one.numbers[0]) for one in marks_of(path).versions] for file, path in paths.items()}
    newest: dict[str, int] = {}
    for of_file in folders.values():
        for name, number in of_file:
            newest[name] = max(newest.get(name, 0), number)
    return {
        file: tuple((name, number, newest[name]) for name, number in of_file)
        for file, of_file in folders.items()
        if of_file
    }


class Version(Struct, frozen=True):
    """A version in a path.

    Attributes:
        of: What stands before the numbers, the word in lower case: `api/v` of `api/V2/a.py`.
        numbers: Its numbers: 1, 4 of `1.4/`.
        stage: What follows them in a version that is no release, as `beta1`; empty for a release.
        rest: What stands behind it.
        without: The path without it.
    """

    of: str
    numbers: tuple[int, ...]
    stage: str
    rest: str
    without: str

    @property
    def folder(self) -> str:
        """The folder that the version lies in, with a slash; empty at the top."""
        return self.of[: self.of.rfind("/") + 1]

    @property
    def is_first(self) -> bool:
        """Return whether it is a first release: the same without a version is newer, which is not sure of a second."""
        return not self.stage and self.numbers[0] <= 1

    def is_older(self, other: Version) -> bool:
        """Return whether the other is a newer version of the same thing."""
        mine, its = ((one.numbers, not one.stage, one.stage) for one in (self, other))
        return self.of == other.of and mine < its


class PathMarks(Struct, frozen=True):
    """Marks of a path that tell whether its file stands for another.

    Attributes:
        path: The path.
        versions: The versions in it, outermost first.
        old: Words that call it old, in lower case.
        without_old: The path without these words.
        without_suffix: The path without its suffix, or that of a stub.
        may_pass_on: It is named as files are that often do nothing but pass on what others define.
    """

    path: str
    versions: tuple[Version, ...]
    old: tuple[str, ...]
    without_old: str
    without_suffix: str
    may_pass_on: bool


def marks_of(path: str) -> PathMarks:
    """Return what a path, relative and with forward slashes, tells about its file standing for another."""
    ending = _ENDING.search(path)  # An ending is no mark of an older file: `notes.old`.
    head = path[: ending.start()] if ending else ""
    old = tuple(word.lower() for word in _OLD.findall(head))
    return PathMarks(
        path=path,
        versions=tuple(_version(path, match) for match in _VERSION.finditer(path)),
        old=old,
        without_old=re.sub(r"/{2,}", "/", _OLD.sub("", head) + path[len(head) :]).lstrip("/") if old else path,
        without_suffix=_SUFFIX.sub("", path),
        may_pass_on=bool(_PASSING_ON.search(path)),
    )


def _version(path: str, match: re.Match[str]) -> Version:
    word, digits = match[1] or match[5] or "", match[2] or match[4] or match[6]
    before, rest = path[: match.start()], path[match.end() :]
    is_whole = not before or before.endswith("/")
    return Version(
        of=before + word.lower(),
        numbers=tuple(int(number) for number in re.split(r"[._]", digits)),
        stage=(match[3] or "").lower(),
        rest=rest,
        without=before + rest.removeprefix("/") if is_whole else before.rstrip("._-") + rest,
    )


# --- files that a query names by path, and the chunks that hold the lines it points at -----------------------

_OUTER_FRAME = 0.5
"""Worth of a frame of a trace as a share of that of the project's frame within it; the innermost has 1."""
_OF_TOPIC = 0.5
"""Worth of a word of the topic of a question about the project, in a chunk and again in its name. Chosen by hand."""
_OPENING = 2.0
"""Worth of the first chunks of a file where the question is what the project is. Chosen by hand."""
_OTHER_FOLDERS = 0.3
"""Likeness of a path to a file that shares its last parts alone: it has moved, or is another project's."""


class PlaceScores(Struct, frozen=True):
    """The scores by the places of a query; every value in (0, 1].

    Attributes:
        files: File → how surely the query names it by its path; files that it does not name are left out.
        chunks: Row → the same, for the chunk of such a file that holds the line that the query points at.
    """

    files: dict[int, float]
    chunks: dict[int, float]


def score_places(corpus: Corpus, places: Sequence[SourceLine]) -> PlaceScores:
    """Score every file and chunk by the places that a query names.

    A path counts 1 when it ends in the whole path of a file, or a file's path ends in all of it; files that it fits
    alike share that. A file at the top counts half for a path with folders. Of a trace the innermost frame that is in
    the project counts most.

    Args:
        corpus: To score.
        places: The places that the query names; of each trace the frame that failed first.
    """
    scores = PlaceScores({}, {})
    weight_in: dict[int, float] = {}
    files_of: dict[tuple[str, bool], list[tuple[int, float]]] = {}
    for place in places:
        path = place.path, place.is_installed
        if path not in files_of:
            files_of[path] = _files_named(corpus, place)
        if not files_of[path]:
            continue
        weight = 1.0
        if place.trace is not None:
            weight = weight_in.get(place.trace, 1.0)
            weight_in[place.trace] = weight * _OUTER_FRAME
        for file, likeness in files_of[path]:
            value = weight * likeness
            scores.files[file] = max(scores.files.get(file, 0.0), value)
            row = None if place.line is None else corpus.fields.row_at(file, place.line)
            if row is not None:
                scores.chunks[row] = max(scores.chunks.get(row, 0.0), value)
    return scores


def score_answers(corpus: Corpus, topic: str) -> PlaceScores:
    """Score the files that answer a question of a topic about the project itself, and their chunks.

    A chunk counts by the words of the topic that it has, and once more if one of them is in its name, as in a heading.
    Where the question is what the project is, the first two chunks of a file count.
    """
    terms, fields = project_questions.terms_of(topic), corpus.fields
    rows = np.concatenate([corpus.firsts[:0], *(corpus.backend.terms.rows_of(term) for term in sorted(terms))])
    files = fields.of_rows("file", rows)
    holding: list[int] = files.tolist()
    scores = PlaceScores(project_questions.files_that_answer(topic, corpus.telling, frozenset(holding)), {})
    of_answers = np.array(list(scores.files), np.int32)
    for row in rows[np.isin(files, of_answers)].tolist():
        scores.chunks[row] = scores.chunks.get(row, 0.0) + _OF_TOPIC
    for row in scores.chunks:
        if not terms.isdisjoint(part_terms(corpus.backend.get(row).name)):
            scores.chunks[row] += _OF_TOPIC
    if not terms:
        firsts = corpus.firsts[of_answers]
        seconds = firsts[fields.of_files("end_row", of_answers) > firsts + 1] + 1
        scores.chunks.update(dict.fromkeys((*firsts.tolist(), *seconds.tolist()), _OPENING))
    return scores


def _files_named(corpus: Corpus, place: SourceLine) -> list[tuple[int, float]]:
    """Return the files that a path fits best, all alike, each with its share of the likeness, at most 1 together."""
    wanted, _ = parts_of_path(place.path)
    called = corpus.backend.names.files_called(wanted)
    likeness = {file: _likeness(wanted, tuple(path.split("/")), place) for file, path in called}
    top = max(likeness.values(), default=0.0)
    closest = [file for file, value in likeness.items() if value == top > 0]
    return [(file, min(1.0, top) / len(closest)) for file in closest]


def _likeness(wanted: tuple[str, ...], path: tuple[str, ...], place: SourceLine) -> float:
    """Return how well the path that a query names fits the path of a file.

    Args:
        wanted: Parts of the named path.
        path: Parts of the file's path.
        place: The place that the query names.

    Returns:
        1 and a little more for each equal part when one path ends in the whole of the other; 0.5 for a file at the top
        that shares its name alone with a path with folders; `_OTHER_FOLDERS` when several last parts agree, unless
        the place is in an installed package; else 0.
    """
    n = _n_agreeing(wanted, path)
    if not n:
        return 0.0
    agreement = 1 + n / 1_000
    if n == len(path):
        return agreement if n > 1 or len(wanted) == 1 else 0.5
    if n == len(wanted):
        return agreement
    return _OTHER_FOLDERS if n > 1 and not place.is_installed else 0.0


def _n_agreeing(a: tuple[str, ...], b: tuple[str, ...]) -> int:
    """Return the number of parts, counted from the end, that are the same."""
    pairs = zip(reversed(a), reversed(b), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
