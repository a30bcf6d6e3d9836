"""Keeps what was made for the next time: compiled regular expressions, and answers that many prompts look up."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


@cache
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return the compiled pattern, which is kept: compiling all at import takes longer than a cold prompt may."""
    return re.compile(pattern, flags)


class Memo(dict[_Key, _Value]):
    """A dictionary that makes and keeps the value of a missing key; when it is full, it drops all values first.

    Args:
        make: Gives the value of a key, the same each time.
        most: Values that are kept at most.
    """

    def __init__(self, make: Callable[[_Key], _Value], most: int = 10_000) -> None:
        super().__init__()
        self._make = make
        self._most = most

    def __missing__(self, key: _Key) -> _Value:
        value = self._make(key)
        if len(self) >= self._most:
            self.clear()
        self[key] = value
        return value
