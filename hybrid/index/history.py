"""Keeps earlier commits as arrays in one file beside an index: what they say about files; `reading_history` makes it.

    w(c) = 1/√k       a commit c that touched k paths
    f(t, d) = Σ w(c) · frequency of the term t in the subject of c, over the commits c of the file d
    L(d) = Σ w(c) · terms of the subject of c

It is kept by path: numbers of files belong to a backend, and a commit changes no file of the index. So a backend of any
make goes with it, and has nothing to do for it but to name its files (`FieldTable.path`).
"""

from __future__ import annotations

from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hybrid.base.arrays import Arrays, Strings, read_arrays, unpack_strings
from hybrid.base.tokens import TOKENS_VERSION
from hybrid.redact import REDACT_VERSION

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from numpy.typing import NDArray


NAME = "history.safetensors"
"""Name of the file in the folder of a tree's index."""
RULES = f"2, tokens {TOKENS_VERSION}, redact {REDACT_VERSION}"
"""The rules by which it is made; under others it is read anew."""
_K1 = 1.2
_B = 0.5
"""Okapi's saturation and length normalisation: a file that changed often has long texts because it matters, so that
length counts half. Chosen on halves of the data; neither is sensitive."""

_COMMON_COMMITS = 3
_COMMON_SHARE = 1 / 3
_LEAST_SHARE = 0.1
"""What two files of `History.companions` have in common at least: commits, as a share of all, and as in `Together`."""


class Together(NamedTuple):
    """A file that changed together with another one.

    Attributes:
        path: Its path.
        commits: Number of commits that touched both.
        share: The share of the other file's changes that touched this one too, in (0, 1): a commit of k paths counts
            1/k, and one more change is added to those of the other file, so that a single common one is no rule.
    """

    path: str
    commits: int
    share: float


def _table(arrays: Mapping[str, NDArray[Any]], name: str) -> Strings:
    return Strings(arrays[f"{name}_text"], arrays[f"{name}_at"])


class History:
    """The subjects and files of earlier commits; immutable.

    Attributes:
        tip: Id of the newest commit that was read.
        boundary: As `sources.git.boundary` gave it.
        n_commits: Number of commits that say something.
        n_paths: Number of paths that these commits touched, those that are gone too.
    """

    def __init__(self, arrays: Arrays | Mapping[str, NDArray[Any]], metadata: Mapping[str, str]) -> None:
        """Take arrays as `assemble` makes them.

        Raises:
            KeyError: An array is missing.
            ValueError: Arrays do not go together.
        """
        self.arrays = of = {name: arrays[name] for name in _NAMES}
        self.tip, self.boundary = metadata.get("tip", ""), metadata.get("boundary", "")
        self.n_commits, self.n_paths = len(self.arrays["commit_touched"]), len(self.arrays["path_is_there"])
        _check(self.arrays)
        # It must not hold `self`: a history that was replaced is unmapped at once.
        self._tables = cache(partial(_table, of))

    @cached_property
    def numbers(self) -> dict[str, int]:
        """Path → its number here, of the paths that are still there."""
        paths, is_there = self.paths, self.arrays["path_is_there"].tolist()
        return {path: number for number, path in enumerate(paths) if is_there[number]}

    @cached_property
    def paths(self) -> list[str]:
        """The paths in order of their bytes."""
        return unpack_strings(self.arrays["path_text"], self.arrays["path_at"])

    @property
    def moved(self) -> Iterator[tuple[str, str]]:
        """The former names of files that moved, each with its name now."""
        named = (unpack_strings(self.arrays[f"{name}_text"], self.arrays[f"{name}_at"]) for name in ("old", "now"))
        return zip(*named, strict=True)

    @cached_property
    def _norm(self) -> NDArray[np.float32]:
        """The number that saturates a term's frequency for each path, shape (n_paths,)."""
        length = self.arrays["path_length"]
        mean = float(length[length > 0].mean()) if self._n_told else 1.0
        return (_K1 * (1 - _B + _B * length / np.float32(mean))).astype(np.float32)

    @cached_property
    def _n_told(self) -> int:
        return int((self.arrays["path_length"] > 0).sum())

    def renamed(self, path: str) -> str:
        """Return the name that a path has now by the moves that git saw, be it there or not; empty without a move."""
        number = self._tables("old").find(path)
        return "" if number is None else self._tables("now")[number]

    def was_deleted(self, path: str) -> bool:
        """Return whether commits that are kept touched a path, and the last commit that touched it took it away."""
        number = self._tables("path").find(path)
        return number is not None and not self.arrays["path_is_there"][number]

    def scores(self, terms: Mapping[str, float]) -> NDArray[np.float32]:
        """Return BM25 of the subjects of each path's commits, divided by the best, shape (n_paths,).

        Args:
            terms: Term → how much the query says it.
        """
        starts, paths, weights = (self.arrays[name] for name in ("term_path_start", "term_path", "term_weight"))
        found = [
            (said, number) for term, said in terms.items() if (number := self._tables("term").find(term)) is not None
        ]
        slices = [slice(int(starts[number]), int(starts[number + 1])) for _, number in found]
        if not any(span.stop > span.start for span in slices):
            return np.zeros(self.n_paths, np.float32)
        counts = np.array([span.stop - span.start for span in slices])
        idf = np.log1p((self._n_told - counts + 0.5) / (counts + 0.5))
        factors = np.repeat(idf * [said for said, _ in found], counts)
        held = np.concatenate([paths[span] for span in slices])
        frequency = np.concatenate([weights[span] for span in slices])
        scores = np.bincount(held, factors * frequency / (frequency + self._norm[held]), self.n_paths)
        return (scores / scores.max()).astype(np.float32)

    def together(self, number: int) -> NDArray[np.float64]:
        """Return the share of a path's changes that touched each path too, as in `Together`, shape (n_paths,).

        It is 0 for the path itself, and for paths that are gone.
        """
        return self._with(number)[0]

    def changed_with(self, path: str, limit: int) -> list[Together]:
        """Return the files that changed together with a file, most often first, equal ones by path; empty if none."""
        number = self.numbers.get(path)
        if number is None:
            return []
        share, n_commits = self._with(number)
        found = [
            Together(self.paths[other], int(n_commits[other]), float(share[other]))
            for other in np.flatnonzero(share).tolist()
        ]
        return sorted(found, key=lambda one: (-round(one.share, 9), one.path))[:limit]

    def companions(self, path: str) -> list[Together]:
        """Return the files of which it is clear that they change with a file, as `changed_with`; mostly few or none.

        They changed in at least three of its commits and in a third of them, and not by commits of many files alone.
        """
        number = self.numbers.get(path)
        if number is None:
            return []
        share, n_commits = self._with(number)
        is_often = n_commits >= max(_COMMON_COMMITS, len(self._commits(number)) * _COMMON_SHARE)
        others = np.flatnonzero(is_often & (share >= _LEAST_SHARE))
        best = others[np.argsort(-share[others], kind="stable")]
        return [Together(self.paths[other], int(n_commits[other]), float(share[other])) for other in best.tolist()]

    def n_commits_of(self, path: str) -> int:
        """Return the number of commits that touched a file."""
        number = self.numbers.get(path)
        return 0 if number is None else len(self._commits(number))

    def _commits(self, number: int) -> NDArray[np.int32]:
        starts = self.arrays["path_commit_start"]
        return self.arrays["path_commit"][int(starts[number]) : int(starts[number + 1])]

    def _with(self, number: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return for each path the share of a path's changes that touched it too, and the number of these commits."""
        commits = self._commits(number)
        starts = self.arrays["commit_path_start"]
        places, of_commit = spans(starts[commits], starts[commits + 1])
        others = self.arrays["commit_path"][places]
        worth = 1.0 / self.arrays["commit_touched"][commits]
        share = np.bincount(others, worth[of_commit], self.n_paths) / (1.0 + worth.sum())
        n_commits = np.bincount(others, minlength=self.n_paths)
        share[number] = 0
        share[self.arrays["path_is_there"] == 0] = 0
        return share, n_commits


_NAMES = (
    *("path_text", "path_at", "path_is_there", "path_length", "path_commit_start", "path_commit"),
    *("commit_touched", "commit_path_start", "commit_path", "commit_term_start", "commit_term", "commit_frequency"),
    *("term_text", "term_at", "term_path_start", "term_path", "term_weight"),
    *("old_text", "old_at", "now_text", "now_at"),
)


def _check(arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise when lists do not lie in their arrays, or numbers name nothing.

    Raises:
        ValueError: That is so.
    """
    n_paths, n_commits, n_terms = (len(arrays[name]) for name in ("path_is_there", "commit_touched", "term_at"))
    n_moved = len(arrays["old_at"]) - 1
    for starts, entries, n_lists, n_values in (
        ("path_at", "path_text", n_paths, 256),
        ("term_at", "term_text", n_terms - 1, 256),
        ("old_at", "old_text", n_moved, 256),
        ("now_at", "now_text", n_moved, 256),
        ("path_commit_start", "path_commit", n_paths, n_commits),
        ("commit_path_start", "commit_path", n_commits, n_paths),
        ("commit_term_start", "commit_term", n_commits, n_terms - 1),
        ("term_path_start", "term_path", n_terms - 1, n_paths),
    ):
        begins, values = arrays[starts], arrays[entries]
        is_whole = len(begins) == n_lists + 1 and begins[0] == 0 and begins[-1] == len(values)
        if not is_whole or (np.diff(begins.astype(np.int64)) < 0).any():
            raise ValueError(f"{starts} and {entries} do not go together")
        if len(values) and not 0 <= int(values.min()) <= int(values.max()) < n_values:
            raise ValueError(f"{entries} names what is not there")
    n_alike = (("path_length", n_paths), ("term_weight", len(arrays["term_path"])))
    for name, length in (*n_alike, ("commit_frequency", len(arrays["commit_term"]))):
        if len(arrays[name]) != length:
            raise ValueError(f"{name} has {len(arrays[name])} values instead of {length}")
    if n_commits and not arrays["commit_touched"].all():
        raise ValueError("a commit touched nothing")


def spans(begins: NDArray[Any], ends: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the places of some spans, one after another, and the number of the span that each belongs to."""
    counts = ends.astype(np.intp) - begins.astype(np.intp)
    of_span = np.repeat(np.arange(len(counts)), counts)
    firsts = begins.astype(np.intp) - (np.cumsum(counts) - counts)
    return np.arange(int(counts.sum())) + firsts[of_span], of_span


# --- on disk ----------------------------------------------------------------------------------------------


def open_history(folder: Path) -> History | None:
    """Open the history in the folder of a tree's index; None when there is none, or it cannot be used.

    What is damaged or made by other rules is read anew by the next build.
    """
    try:
        arrays = read_arrays(folder / NAME)
        return History(arrays, arrays.metadata) if arrays.metadata.get("rules") == RULES else None
    except (OSError, ValueError, KeyError, IndexError):
        return None
