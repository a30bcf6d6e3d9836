"""Rules of `.gitignore` and `.hybridignore`: does a path of the project match; `listing` and `walk` ask.

A rule of a nearer folder wins over one further up. Not as in git: letter case always matters, and the user's own
global excludes file is not read.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from hybrid.base.atomic import read_regular
from hybrid.sources.patterns import parse_patterns
from hybrid.sources.reading import join

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from hybrid.sources.patterns import Lift, Patterns

_MAX_BYTES = 1_000_000
_MAX_RULES = 10_000
_MAX_RULE_CHARS = 4096
"""Of a longer file the first rules count; a rule that is longer than any path is none. Translating takes 50 µs a rule,
and the square of its length."""


def load_patterns(full_path: str) -> Patterns | None:
    """Rules of a file on disk; None when it is not there, not readable, a link, or without rules."""
    try:
        data = read_regular(full_path, _MAX_BYTES)
    except OSError:
        return None
    text = data[:_MAX_BYTES].decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    lines = (line for line in text.split("\n") if line.strip() and len(line) <= _MAX_RULE_CHARS and "\0" not in line)
    return parse_patterns(islice(lines, _MAX_RULES))


class FolderRules:
    """The rules of all files of one name in a project; each is read once, when its folder is first asked about."""

    def __init__(
        self, root: str, file_name: str, *, first: Patterns | None = None, last: Patterns | None = None
    ) -> None:
        """Rules for one scan.

        Args:
            root: Real path of the project.
            file_name: `.gitignore` or `.hybridignore`.
            first: Rules of the root that every file overrides.
            last: Rules of the root that override every file.
        """
        self._root = root
        self._file_name = file_name
        self._last = last
        start = () if first is None else ((0, first),)
        self._scopes: dict[str, tuple[tuple[int, Patterns], ...]] = {"": (*start, *self._own(""))}

    def decide(self, path: str, *, is_folder: bool) -> bool | None:
        """True to ignore, False to keep, None when no rule matches; the nearest file with a match decides."""
        folder, _, name = path.rpartition("/")
        if self._last is not None:
            verdict = self._last.decide(path, name, is_folder=is_folder)
            if verdict is not None:
                return verdict
        for base, patterns in reversed(self._scope(folder)):
            verdict = patterns.decide(path[base:], name, is_folder=is_folder)
            if verdict is not None:
                return verdict
        return None

    def opens(self, folder: str) -> bool:
        """Return whether a pattern with `!` names a path through this folder, though it is ignored itself."""
        parent = folder.rpartition("/")[0]
        return any(lift.opens(folder[base:]) for base, lift in self._lifts_of(self._scope(parent)))

    def searches(self, folders: Iterable[str]) -> list[str]:
        """Paths at or below which files may be brought back by the rules of these folders; empty = anywhere."""
        found: dict[str, None] = {}
        for folder in folders:
            for base, lift in self._lifts_of(self._scope(folder)):
                prefix = f"{folder}/"[:base]
                found[f"{prefix}{lift.search}".rstrip("/")] = None
        return list(found)

    def lifts_in(self, folder: str) -> bool:
        """Return whether the file of this very folder, not one further up, holds a rule with `!`."""
        base = len(folder) + 1 if folder else 0
        return any(base == at and patterns.lifts for at, patterns in self._scope(folder))

    def is_silent(self, folders: Iterable[str]) -> bool:
        """Return whether no rule applies in any of these folders, so that nothing needs to be asked."""
        return self._last is None and not any(self._scope(folder) for folder in folders)

    def _lifts_of(self, scope: tuple[tuple[int, Patterns], ...]) -> Iterator[tuple[int, Lift]]:
        last = () if self._last is None else ((0, self._last),)
        for base, patterns in (*scope, *last):
            for lift in patterns.lifts:
                yield base, lift

    def _scope(self, folder: str) -> tuple[tuple[int, Patterns], ...]:
        """Rules that apply to entries of a folder, the nearest last, each with the length of its folder's prefix."""
        known = self._scopes.get(folder)
        if known is not None:
            return known
        missing = [folder]
        while (above := missing[-1].rpartition("/")[0]) not in self._scopes:
            missing.append(above)
        scope = self._scopes[above]
        for below in reversed(missing):
            own = self._own(below)
            scope = (*scope, *own) if own else scope
            self._scopes[below] = scope
        return scope

    def _own(self, folder: str) -> tuple[tuple[int, Patterns], ...]:
        prefix = f"{folder}/" if folder else ""
        patterns = load_patterns(join(self._root, prefix + self._file_name))
        return () if patterns is None else ((len(prefix), patterns),)
