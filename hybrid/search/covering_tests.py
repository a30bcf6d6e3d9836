"""Finds the tests of a file where names or earlier commits say so clearly."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import numpy as np

from hybrid.base.tokens import part_terms
from hybrid.index.analysis import bit, roles

if TYPE_CHECKING:
    from hybrid.index.backend import SearchBackend
    from hybrid.search.searcher import Searcher

_MOST_ALIKE = 200
"""Files with the words of one name that are looked at; a name that more have says nothing."""
_OF_TESTS = frozenset(("test", "tests", "spec", "specs"))
"""Words that the name of a test has beside those of what it tests."""
_MOST_NAMED = 3


def is_test(path: str) -> bool:
    """Return whether a file is a test, or serves tests, by its path."""
    return bool(roles(path, ()) & bit("test"))


def covering_tests(searcher: Searcher, path: str) -> list[str]:
    """Return the tests that clearly cover a file: those named after it, then those that change with it.

    Where tests of several files have one name, those with the most folders in common with the file count.
    """
    if is_test(path):
        return []
    named = dict.fromkeys(_named_after(searcher.backend, path))
    _, others = searcher.companions(path)
    return [*(named | dict.fromkeys(one.path for one in others if is_test(one.path)))]


def named_alike(backend: SearchBackend, path: str) -> list[str]:
    """Return the tests in the index whose file name has all words of a file's own name."""
    words = part_terms(PurePosixPath(path).stem)
    if not words:
        return []
    files = backend.names.files_with("stem", words[0])
    for other in words[1:]:
        files = np.intersect1d(files, backend.names.files_with("stem", other))
    found = [backend.fields.path(file) for file in np.unique(files)[:_MOST_ALIKE].tolist()]
    return [test for test in found if test != path and is_test(test)]


def _named_after(backend: SearchBackend, path: str) -> list[str]:
    """Return the tests that are called as a file is, and else only `test`."""
    words, folders = _words(path), _folders(path)
    found = [test for test in named_alike(backend, path) if _words(test) - _OF_TESTS == words]
    common = {test: len(folders & _folders(test)) for test in found}
    best = [test for test in found if common[test] == max(common.values())]
    return sorted(best) if len(best) <= _MOST_NAMED else []


def _words(path: str) -> set[str]:
    return set(part_terms(PurePosixPath(path).stem))


def _folders(path: str) -> set[str]:
    return set(PurePosixPath(path).parts[:-1])
