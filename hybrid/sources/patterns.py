"""Patterns of ignore files: `pathspec` translates all but plain names, `ignore` asks each on the way down.

Only a match of the entry itself counts, not that of a folder above it: whether a folder is entered at all was decided
there, and a rule further down may have brought an entry back. This is how git decides.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, cast

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_WILDCARDS = re.compile(r"[*?\[\\]")
_PLAIN = re.compile(r"[\w.-]+", re.ASCII)
"""A name without anything that a pattern may mean otherwise than itself."""
_FOLDER_GROUP = "ps_d"
"""Group that pathspec's expressions set when a folder above the path matched, not the path itself."""


class Rule(Struct, frozen=True):
    """One pattern.

    Attributes:
        expression: The pattern, to be searched in a name or path.
        by_name: Looks at the last part of a path only, since the pattern holds no slash.
        folders_only: The pattern ended in a slash.
        ignores: False for a pattern with `!`.
    """

    expression: re.Pattern[str]
    by_name: bool
    folders_only: bool
    ignores: bool

    def matches(self, path: str, name: str, *, is_folder: bool) -> bool:
        """Return whether this very entry is meant."""
        if self.folders_only and not is_folder:
            return False
        match = self.expression.search(name if self.by_name else path)
        return match is not None and match.groupdict().get(_FOLDER_GROUP) is None


class Lift(Struct, frozen=True):
    """Where a pattern with `!` may bring files back.

    Attributes:
        search: Literal beginning of the pattern: matches lie there or below; empty when they may lie anywhere.
        open: Folder that the pattern names before its last part; empty when it names none.
        is_deep: Matches may lie in folders below `open` too.
    """

    search: str
    open: str
    is_deep: bool

    def opens(self, folder: str) -> bool:
        """Return whether an ignored folder is entered nevertheless, because the pattern names a path through it."""
        if not self.open:
            return False
        return (self.open + "/").startswith(folder + "/") or (self.is_deep and folder.startswith(self.open + "/"))


class Patterns(Struct, frozen=True):
    """The rules of one file, in its order.

    Attributes:
        rules: As written; the last match decides.
        lifts: Of the rules with `!`.
        name_probe: Finds whether any rule by name may match; None when that cannot be said in one expression.
        path_probe: The same for rules by path.
    """

    rules: tuple[Rule, ...]
    lifts: tuple[Lift, ...]
    name_probe: Callable[[str], object] | None
    path_probe: Callable[[str], object] | None

    def decide(self, path: str, name: str, *, is_folder: bool) -> bool | None:
        """True to ignore, False to keep, None when no rule matches.

        Args:
            path: Relative to the folder of the file.
            name: Last part of the path.
            is_folder: Links to folders are not folders.
        """
        if self._surely_none(path, name):
            return None
        for rule in reversed(self.rules):
            if rule.matches(path, name, is_folder=is_folder):
                return rule.ignores
        return None

    def _surely_none(self, path: str, name: str) -> bool:
        if self.name_probe is None or self.path_probe is None:
            return False
        return self.name_probe(name) is None and self.path_probe(path) is None


def parse_patterns(lines: Iterable[str]) -> Patterns | None:
    """Rules from the lines of an ignore file; None when there are none. Lines that git would not take are left out."""
    kept = [line for line in (_trimmed(raw) for raw in lines) if line and not line.startswith("#")]
    pairs = [(rule, line) for line in kept if (rule := _rule(line)) is not None]
    if not pairs:
        return None
    return Patterns(
        rules=tuple(rule for rule, _ in pairs),
        lifts=tuple(_lift(line[1:]) for rule, line in pairs if not rule.ignores),
        name_probe=_probe(rule.expression.pattern for rule, _ in pairs if rule.by_name),
        path_probe=_probe(rule.expression.pattern for rule, _ in pairs if not rule.by_name),
    )


def _trimmed(line: str) -> str:
    line = line.removesuffix("\n").removesuffix("\r")
    bare = line.rstrip(" ")
    return bare + " " if bare.endswith("\\") and bare != line else bare


def _rule(line: str) -> Rule | None:
    is_negated = line.startswith("!")
    body = line[1:] if is_negated else line
    folders_only = len(body) > 1 and body.endswith("/")
    body = body[:-1] if folders_only else body
    expression = _translate(body) if body else None
    if expression is None:
        return None
    return Rule(expression, "/" not in body, folders_only, ignores=not is_negated)


def _translate(body: str) -> re.Pattern[str] | None:
    if _PLAIN.fullmatch(body):
        return re.compile(rf"\A{re.escape(body)}\Z")
    from pathspec import GitIgnoreSpec  # Costs 50 ms; a project without such rules does not pay.

    # A leading `!` or `#` can only be meant literally here: the caller took the sign and the comments away.
    literal = "\\" + body if body[0] in "!#" else body
    try:
        patterns = GitIgnoreSpec.from_lines([literal]).patterns
    except (ValueError, re.error):  # such as `[z-a]`, which matches nothing for git
        return None
    return cast("re.Pattern[str] | None", patterns[0].regex) if patterns else None


def _lift(body: str) -> Lift:
    segments = body.rstrip("/").split("/")
    if len(segments) == 1:
        return Lift("", "", is_deep=False)
    segments = segments[1:] if not segments[0] else segments
    n_literal = next((n for n, part in enumerate(segments) if _WILDCARDS.search(part)), len(segments))
    n_open = min(n_literal, len(segments) - 1)
    return Lift("/".join(segments[:n_literal]), "/".join(segments[:n_open]), is_deep=len(segments) - n_open > 1)


def _probe(expressions: Iterable[str]) -> Callable[[str], object] | None:
    """One search for all expressions; a group name may stand once only, so names are taken out."""
    joined = "|".join(f"(?:{expression.replace(f'?P<{_FOLDER_GROUP}>', '?:')})" for expression in expressions)
    if not joined:
        return _never
    try:
        return re.compile(joined).search
    except re.error:
        return None


def _never(_: str) -> None:
    return None
