"""Makes the history beside an index from git's log; builds in the background and `hybrid reindex` call it.

What is read again is what changed: new commits are put before those that are kept.
"""

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.base.arrays import encode_arrays, string_table, unpack_strings
from hybrid.base.atomic import write_atomic
from hybrid.base.tokens import term_counts
from hybrid.index.history import NAME, RULES, History, open_history, spans
from hybrid.sources.git import MOST_COMMITS, CommitLog, GitUnavailableError, boundary, newest, read_commits, read_newer

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from numpy.typing import NDArray

_MOST_MOVED = 20_000
"""Former names of files that are kept, the last ones that git saw; a move of a whole tree has as many."""


def update_history(folder: Path, root: str, *, is_anew: bool = False) -> History | None:
    """Bring the history in the folder of a tree's index up to the commit that is checked out, and return it.

    Only new commits are read, when the commit read last is an ancestor of the present one; otherwise, as after a
    rebase, the newest `MOST_COMMITS`. Without git, or before the first commit, there is none, and an old one goes.

    Args:
        folder: Folder of the index; without it nothing is written.
        root: Real path of the top of the working tree.
        is_anew: Read everything again.
    """
    old = open_history(folder)
    try:
        new = _read(root, None if is_anew else old)
    except GitUnavailableError:
        new = old if (Path(root) / ".git").exists() else None
    with contextlib.suppress(OSError):
        if new is None:
            (folder / NAME).unlink(missing_ok=True)
        elif new is not old and folder.is_dir():
            metadata = {"tip": new.tip, "boundary": new.boundary, "rules": RULES}
            write_atomic(folder / NAME, encode_arrays(new.arrays, metadata), durable=False)
    return new


def _read(root: str, old: History | None) -> History | None:
    tip, begin = newest(root), boundary(root)
    if not tip:
        return None
    if old is not None and begin == old.boundary:
        if tip == old.tip:
            return old
        if log := read_newer(root, tip, old.tip):
            return History(assemble(log, old), {"tip": tip, "boundary": begin})
    return History(assemble(read_commits(root, tip)), {"tip": tip, "boundary": begin})


def known_at(log: CommitLog, allowed: Iterable[str], said: str = "") -> History:
    """Return what was known when only some commits were there; for evaluation, which must not look ahead.

    Args:
        log: Of all commits up to the tree that is searched, so that its names are those of that tree.
        allowed: Ids of the commits that were there.
        said: A text, of which no commit with this subject may tell.
    """
    there = set(allowed)
    kept = [one for one in log.commits if one.key in there and one.subject.lower() != said.lower()]
    return History(assemble(CommitLog(kept[:MOST_COMMITS], {}, log.is_there)), {})


# --- arrays -----------------------------------------------------------------------------------------------


class _Lists(Struct, frozen=True):
    """Commits as numbers of paths and terms, newest first.

    Attributes:
        touched: Number of paths that each commit touched, shape (n_commits,).
        paths: Commit and path, ascending by commit, shape (2, n).
        terms: Commit, term and its frequency in the subject, ascending by commit, shape (3, n).
    """

    touched: NDArray[np.uint8]
    paths: NDArray[np.int64]
    terms: NDArray[np.int64]


def assemble(log: CommitLog, older: History | None = None, *, most: int = MOST_COMMITS) -> dict[str, NDArray[Any]]:
    """Return the arrays of a log, behind which come the commits of a history that ends where the log begins.

    Args:
        log: The newest commits.
        older: A history whose commits are all older than those of the log.
        most: Commits that are kept, the newest.
    """
    paths: dict[str, int] = {}
    terms: dict[str, int] = {}
    lists = _of_log(log, paths, terms)
    is_there, moved = dict(log.is_there), dict(log.moved)
    if older is not None:
        lists = _joined(lists, _of_history(older, log.moved, paths, terms), most)
        was_there = older.arrays["path_is_there"].tolist()
        for path, was in zip(older.paths, was_there, strict=True):
            is_there.setdefault(log.moved.get(path, path), bool(was))
        moved |= {old: log.moved.get(now, now) for old, now in older.moved}
    return _arrays(lists, list(paths), list(terms), is_there) | _moves(moved)


def _moves(moved: Mapping[str, str]) -> dict[str, NDArray[Any]]:
    """Return the names that files had before they moved, in order of their bytes, and the names they have now."""
    pairs = [(old, now) for old, now in itertools.islice(moved.items(), _MOST_MOVED) if old != now]
    pairs.sort(key=lambda pair: pair[0].encode("utf-8", "surrogatepass"))
    return string_table("old", [old for old, _ in pairs]) | string_table("now", [now for _, now in pairs])


def _of_log(log: CommitLog, paths: dict[str, int], terms: dict[str, int]) -> _Lists:
    touched: list[tuple[int, int]] = []
    said: list[tuple[int, int, int]] = []
    for number, commit in enumerate(log.commits):
        touched += [(number, paths.setdefault(path, len(paths))) for path in commit.paths]
        counts = term_counts(commit.subject)
        said += [(number, terms.setdefault(term, len(terms)), min(count, 255)) for term, count in counts.items()]
    return _Lists(
        np.array([commit.n_touched for commit in log.commits], np.uint8), _columns(touched, 2), _columns(said, 3)
    )


def _columns(rows: Sequence[tuple[int, ...]], n_columns: int) -> NDArray[np.int64]:
    """Return rows of numbers as columns, shape (n_columns, len(rows))."""
    return np.swapaxes(np.array(rows, np.int64).reshape(len(rows), n_columns), 0, 1)


def _of_history(history: History, moved: Mapping[str, str], paths: dict[str, int], terms: dict[str, int]) -> _Lists:
    """Return the commits of a history with the numbers that paths and terms have, or get, in the new tables."""
    arrays = history.arrays
    names = history.paths
    new_paths = np.array([paths.setdefault(moved.get(path, path), len(paths)) for path in names], np.int64)
    old_terms = unpack_strings(arrays["term_text"], arrays["term_at"])
    new_terms = np.array([terms.setdefault(term, len(terms)) for term in old_terms], np.int64)
    numbers = np.arange(history.n_commits)
    of_paths = np.repeat(numbers, np.diff(arrays["commit_path_start"].astype(np.int64)))
    of_terms = np.repeat(numbers, np.diff(arrays["commit_term_start"].astype(np.int64)))
    return _Lists(
        arrays["commit_touched"],
        np.stack([of_paths, new_paths[arrays["commit_path"]]]),
        np.stack([of_terms, new_terms[arrays["commit_term"]], arrays["commit_frequency"]]),
    )


def _joined(newer: _Lists, older: _Lists, most: int) -> _Lists:
    """Return two lists of commits as one, the newest `most` of them."""
    n_newer = len(newer.touched)
    n_older = max(most - n_newer, 0)
    paths, terms = older.paths[:, older.paths[0] < n_older], older.terms[:, older.terms[0] < n_older]
    paths[0] += n_newer
    terms[0] += n_newer
    return _Lists(
        np.concatenate([newer.touched, older.touched[:n_older]]),
        np.concatenate([newer.paths, paths], axis=1),
        np.concatenate([newer.terms, terms], axis=1),
    )


def _arrays(lists: _Lists, paths: list[str], terms: list[str], is_there: Mapping[str, bool]) -> dict[str, NDArray[Any]]:
    """Return the arrays of commits, with paths and terms that no commit has left out, in order of their bytes."""
    n_commits = len(lists.touched)
    path_names, path_of = _table(paths, lists.paths[1])
    term_names, term_of = _table(terms, lists.terms[1])
    n_paths = len(path_names)
    # Two names that became one may stand in one commit.
    commit_path = np.unique(lists.paths[0] * max(n_paths, 1) + path_of) if n_paths else np.zeros(0, np.int64)
    commit, path = np.divmod(commit_path, max(n_paths, 1))
    by_path = np.argsort(path, kind="stable")
    alive = np.array([is_there.get(name, True) for name in path_names], np.uint8)
    found = {
        **string_table("path", path_names),
        "path_is_there": alive,
        **_grouped("path_commit", path, n_paths, commit[by_path].astype(np.int32)),
        "commit_touched": lists.touched,
        **_grouped("commit_path", commit, n_commits, path.astype(np.int32)),
        **_grouped("commit_term", lists.terms[0], n_commits, term_of.astype(np.int32)),
        "commit_frequency": lists.terms[2].astype(np.uint8),
        **string_table("term", term_names),
    }
    return found | _weights(found, alive)


def _table(names: list[str], used: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the names that are used, sorted by bytes, and the number of each use in them."""
    is_used = np.zeros(len(names), np.bool_)
    is_used[used] = True
    kept: list[int] = np.flatnonzero(is_used).tolist()
    kept.sort(key=lambda number: names[number].encode("utf-8", "surrogatepass"))
    place = np.zeros(len(names), np.int64)
    place[kept] = np.arange(len(kept))
    return [names[number] for number in kept], place[used]


def _grouped(name: str, keys: NDArray[np.int64], n_lists: int, values: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Return values, which stand in order of their keys, as lists: one for each key from 0."""
    starts = np.zeros(n_lists + 1, np.uint32)
    np.cumsum(np.bincount(keys, minlength=n_lists), out=starts[1:])
    return {name: values, f"{name}_start": starts}


def _weights(arrays: Mapping[str, NDArray[Any]], alive: NDArray[np.uint8]) -> dict[str, NDArray[Any]]:
    """Return L of each path, and f of each term and path, for paths that are there: see the head of this module."""
    n_paths, n_terms = len(alive), len(arrays["term_at"]) - 1
    worth = 1.0 / np.sqrt(arrays["commit_touched"].astype(np.float64))
    starts, paths = arrays["commit_path_start"], arrays["commit_path"]
    term_commit = np.repeat(np.arange(len(worth)), np.diff(arrays["commit_term_start"].astype(np.int64)))
    places, said = spans(starts[term_commit], starts[term_commit + 1])
    said, held = said[alive[paths[places]] > 0], paths[places][alive[paths[places]] > 0]
    values = worth[term_commit[said]] * arrays["commit_frequency"][said]
    keys = arrays["commit_term"][said].astype(np.int64) * max(n_paths, 1) + held
    order = np.argsort(keys, kind="stable")
    keys, sums = keys[order], values[order]
    firsts = np.flatnonzero(np.diff(keys, prepend=-1))
    term, path = np.divmod(keys[firsts], max(n_paths, 1))
    weight = np.add.reduceat(sums, firsts) if len(firsts) else sums
    return {
        "path_length": np.bincount(held, values, n_paths).astype(np.float32),
        **_grouped("term_path", term, n_terms, path.astype(np.int32)),
        "term_weight": weight.astype(np.float32),
    }
