"""Reads the parameters of an HTTP request: the same words as the commands have, and what is said of a wrong one."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from hybrid.ask.memory_filters import Filters, checked_limit, project_paths
from hybrid.ask.memory_lookup import DEFAULT_LIMIT
from hybrid.base.errors import HybridError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SEVERAL = ("type", "file", "path")
"""May be given more than once."""


class RouteError(Exception):
    """A request that is not answered; `status` is that of HTTP, `headers` go with it."""

    def __init__(self, status: int, message: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


class Given:
    """The parameters of a request.

    Raises:
        RouteError: One is unknown or given too often, with status 400; so in what follows for wrong values.
    """

    def __init__(self, values: Mapping[str, str | list[str]], known: Sequence[str]) -> None:
        unknown = sorted(values.keys() - set(known))
        if unknown:
            raise RouteError(400, f"unknown parameter {unknown[0]!r}; there are: {', '.join(known) or 'none'}")
        twice = [name for name, value in values.items() if isinstance(value, list) and name not in _SEVERAL]
        if twice:
            raise RouteError(400, f"{twice[0]!r} may be given once")
        self._values = values

    def one(self, name: str, default: str = "") -> str:
        """The value of a parameter."""
        return cast("str", self._values.get(name, default))

    def several(self, name: str) -> tuple[str, ...]:
        """All values of a parameter, each once."""
        found = self._values.get(name, [])
        return tuple(dict.fromkeys([found] if isinstance(found, str) else found))

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """One of some words, by default the first."""
        found = self.one(name, choices[0])
        if found not in choices:
            raise RouteError(400, f"{name} = {found!r} is none of {', '.join(choices)}")
        return found

    def number(self, name: str, default: int | None = None) -> int | None:
        """A number of rows; 0 only where nothing else is said by default."""
        text = self.one(name)
        if not text or (text == "0" and default is None):
            return 0 if text else default
        try:
            return checked_limit(text)
        except HybridError as error:
            raise RouteError(400, f"{name}: {error}") from error

    def flag(self, name: str) -> bool:
        """`1`, `true` or nothing after the name switch it on."""
        found = self.one(name, "0").lower()
        if found not in ("", "0", "1", "true", "false"):
            raise RouteError(400, f"{name} = {found!r} must be true or false")
        return found in ("", "1", "true")

    def filters(self, default_limit: int = DEFAULT_LIMIT) -> Filters:
        """The filters of every list."""
        limit = self.number("limit", default_limit) or default_limit
        return Filters(limit, self.one("since"), self.several("type"), self.paths("file"))

    def paths(self, name: str) -> tuple[str, ...]:
        """Paths of a project, relative to its root."""
        return project_paths(self.several(name), None, None)
