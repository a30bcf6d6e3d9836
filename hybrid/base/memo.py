"""Keeps answers for the next time they are asked for; for look-ups that many prompts repeat."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


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
