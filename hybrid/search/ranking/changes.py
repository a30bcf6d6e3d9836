"""Reads earlier commits for the candidates of a query: the subjects said of them, and what changed with them.

A history is kept by path (`hybrid.index.history`); here its paths meet the numbers that files have in a backend.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from hybrid.index.backend import FieldTable
    from hybrid.index.history import History

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
