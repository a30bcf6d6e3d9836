"""Rules of `.gitignore` and `.hybridignore`: whether a path of the project matches; `listing` asks.

Only a match of the entry itself counts, not that of a folder above it: whether a folder is entered at all was decided
there, and a rule further down may have brought an entry back. This is how git decides. `pathspec` translates all but
plain names. A rule of a nearer folder wins over one further up. Not as in git: letter case always matters.
"""

from __future__ import annotations

import re
from itertools import count, islice
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from hybrid.base.atomic import read_regular
from hybrid.sources.file_rules import join

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Sequence
    from pathlib import Path

    from hybrid.config import IndexConfig


_WILDCARDS = re.compile(r"[*?\[\\]")
_PLAIN = re.compile(r"[\w.-]+", re.ASCII)
"""A name without anything that a pattern may mean otherwise than itself."""
_FOLDER_GROUP = "ps_d"
"""Name of the group that an expression of pathspec sets when a folder above the path matched, not the path itself."""
_STAR, _FOLDERS = "[^/]*", re.compile(r"(\(\?:\.\+/\)\?|\(\?:/\.\+\)\?)")
"""How pathspec translates `*` and `**`."""


class ListingOptions(Struct, frozen=True):
    """Rules beside those of the tree that say which files are listed.

    Attributes:
        include: Patterns of files to list although a rule ignores them.
        exclude: Patterns of files never to list; these win over everything.
        record_paths: Files and folders that are never documents, relative to the project. A single name with a slash
            at its end means folders of that name at every depth.
        follow_gitignore: False lists what `.gitignore` names too.
        use_git: False never runs git.
        inner_max_files: A repository inside with more files is left out, unless `include` names it; 0 leaves all out.
            None sets no limit.
    """

    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    record_paths: tuple[str, ...] = ()
    follow_gitignore: bool = True
    use_git: bool = True
    inner_max_files: int | None = None


EVERY_FILE = ListingOptions()
"""Every file that no rule of the project itself ignores."""


def listing_options(root: Path, settings: IndexConfig, home: Path, records: Sequence[str]) -> ListingOptions:
    """Return the rules for the files of a working tree; `$HYBRID_HOME`, which may lie in the tree, holds none.

    Args:
        root: Top of the tree.
        settings: What is a document.
        home: `$HYBRID_HOME`.
        records: See `stores.record_paths`: they are given out as records, not as documents.
    """
    own, top = home.resolve(), root.resolve()
    return ListingOptions(
        include=tuple(settings.include),
        exclude=tuple(settings.exclude),
        record_paths=(*records, own.relative_to(top).as_posix()) if top in own.parents else tuple(records),
        follow_gitignore=settings.follow_gitignore,
        inner_max_files=settings.inner_max_files,
    )


class Rule(Struct, frozen=True):
    """One pattern.

    Attributes:
        expression: The pattern as an expression that is searched in a name or path.
        by_name: True if the pattern holds no slash, so that it is searched in the last part of a path only.
        folders_only: True if the pattern ended in a slash, so that it matches folders only.
        ignores: False for a pattern with `!`.
    """

    expression: re.Pattern[str]
    by_name: bool
    folders_only: bool
    ignores: bool

    def matches(self, path: str, name: str, *, is_folder: bool) -> bool:
        """Return whether the rule matches this entry itself, not a folder above it."""
        if self.folders_only and not is_folder:
            return False
        match = self.expression.search(name if self.by_name else path)
        return match is not None and match.groupdict().get(_FOLDER_GROUP) is None


class Lift(Struct, frozen=True):
    """The place where a pattern with `!` may bring files back.

    Attributes:
        search: Literal beginning of the pattern: matches lie there or below; empty when they may lie anywhere.
        open: Folder that the pattern names literally before its last part; empty when it names none.
        is_deep: True if matches may lie in folders below `open` too.
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
        rules: The rules in the order of the file; the last match decides.
        lifts: A lift for each rule with `!`.
        name_probe: Returns None for a name that no rule by name matches; None when that takes more than one expression.
        path_probe: The same for paths and rules by path.
    """

    rules: tuple[Rule, ...]
    lifts: tuple[Lift, ...]
    name_probe: Callable[[str], object] | None
    path_probe: Callable[[str], object] | None

    def decide(self, path: str, name: str, *, is_folder: bool) -> bool | None:
        """Return True to ignore, False to keep, None when no rule matches.

        Args:
            path: Relative to the folder of the file.
            name: Last part of the path.
            is_folder: True for a folder; False for a link to one.
        """
        if self.name_probe and self.path_probe and self.name_probe(name) is None and self.path_probe(path) is None:
            return None
        for rule in reversed(self.rules):
            if rule.matches(path, name, is_folder=is_folder):
                return rule.ignores
        return None


def parse_patterns(lines: Iterable[str]) -> Patterns | None:
    """Parse the lines of an ignore file; None when they hold no rule. Lines that git would not take are left out."""
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
    expression = cast("re.Pattern[str] | None", patterns[0].regex) if patterns else None
    return re.compile(_linear(expression.pattern)) if expression else None


def _linear(expression: str) -> str:
    """Return an expression of pathspec whose work on a path does not grow with the power of its wildcards.

    `*a*a*a*b` takes the first `a`, then the next, and never tries another one: all but the last `*` of a name, and the
    last `**`, may take the fewest characters, as the next takes what is left. A group that is looked ahead for and then
    repeated cannot be tried again; atomic groups say the same from Python 3.11 on.
    """
    names = (f"w{number}" for number in count())

    def once(text: str) -> str:
        name = next(names)
        return f"(?=(?P<{name}>{text}))(?P={name})"

    def names_once(text: str) -> str:
        first, *others = text.split(_STAR)
        parts = [first]
        for number, part in enumerate(others, 1):
            is_followed = number < len(others) and "/" not in part.replace("[^/]", "")
            parts.append(once(f"{_STAR}?{part}") if is_followed else _STAR + part)
        return "".join(parts)

    head, *rest = _FOLDERS.split(expression)
    parts = [names_once(head)]
    for number in range(0, len(rest), 2):
        folders, text = rest[number], names_once(rest[number + 1])
        is_followed = number + 2 < len(rest)
        parts.append(once(f"{folders.replace('.+', '.+?')}?{text}(?=/)") if is_followed else folders + text)
    return "".join(parts)


def _lift(body: str) -> Lift:
    segments = body.rstrip("/").split("/")
    if len(segments) == 1:
        return Lift("", "", is_deep=False)
    segments = segments[1:] if not segments[0] else segments
    n_literal = next((n for n, part in enumerate(segments) if _WILDCARDS.search(part)), len(segments))
    n_open = min(n_literal, len(segments) - 1)
    return Lift("/".join(segments[:n_literal]), "/".join(segments[:n_open]), is_deep=len(segments) - n_open > 1)


def _probe(expressions: Iterable[str]) -> Callable[[str], object] | None:
    """Return the search of one expression for all; None when it cannot be compiled. Names of groups are made unique."""
    joined = "|".join(f"(?:{_renamed(expression, number)})" for number, expression in enumerate(expressions))
    if not joined:
        return lambda _: None
    try:
        return re.compile(joined).search
    except re.error:
        return None


def _renamed(expression: str, number: int) -> str:
    for begins in ("(?P<", "(?P="):
        expression = expression.replace(f"{begins}w", f"{begins}r{number}w")
    return expression.replace(f"(?P<{_FOLDER_GROUP}>", "(?:")


# --- Rules by folder -----------------------------------------------------------------------------------------------

_MAX_BYTES = 1_000_000
_MAX_RULES = 10_000
_MAX_RULE_CHARS = 4096
"""Characters above which a line is no rule: no path is longer. Of a file the first 1 MB and 10,000 rules count, since
translating takes 50 µs a rule, and time by the square of its length."""


def load_patterns(full_path: str) -> Patterns | None:
    """Return the rules of a file on disk; None when it is not there, not readable, a link, or without rules."""
    try:
        data = read_regular(full_path, _MAX_BYTES)
    except OSError:
        return None
    text = data[:_MAX_BYTES].decode("utf-8", "surrogateescape").removeprefix("\ufeff")
    lines = (line for line in text.split("\n") if line.strip() and len(line) <= _MAX_RULE_CHARS and "\0" not in line)
    return parse_patterns(islice(lines, _MAX_RULES))


def unknown_folders(folder: str, known: Container[str]) -> list[str]:
    """Return a folder and those above it up to the first known one, without that one, outermost first.

    Empty when the folder is known itself; the empty path, which is the project, must be known.
    """
    missing: list[str] = []
    while folder not in known:
        missing.append(folder)
        folder = folder.rpartition("/")[0]
    return missing[::-1]


class FolderRules:
    """The rules of all files of one name in a project; each is read once, when its folder is first asked about."""

    def __init__(
        self, root: str, file_name: str, *, first: Iterable[Patterns] = (), last: Patterns | None = None
    ) -> None:
        """Set the project and the rules around its files for one scan.

        Args:
            root: Real path of the project.
            file_name: `.gitignore` or `.hybridignore`.
            first: Rules for paths from the root that every file overrides, and each of them those before it.
            last: Rules for paths from the root that override every file; None for none.
        """
        self._root = root
        self._file_name = file_name
        self._last = last
        start = tuple((0, patterns) for patterns in first)
        self._scopes: dict[str, tuple[tuple[int, Patterns], ...]] = {"": (*start, *self._own(""))}

    def add(self, folder: str, patterns: Patterns) -> None:
        """Have more rules count in a folder, over those of its file; nothing below it was asked about yet."""
        self._scopes[folder] = (*self._scope(folder), (len(folder) + 1, patterns))

    def decide(self, path: str, *, is_folder: bool) -> bool | None:
        """Return True to ignore a path, False to keep it, None when no rule matches.

        `last` decides first, then the nearest file with a match, then `first`.
        """
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
        """Return whether a pattern with `!` names a path through this folder, which is then entered though ignored."""
        parent = folder.rpartition("/")[0]
        return any(lift.opens(folder[base:]) for base, lift in self._lifts_of(self._scope(parent)))

    def searches(self, folders: Iterable[str]) -> list[str]:
        """Return the paths at or below which rules of these folders may bring files back; an empty path is the project.

        No path at all means that no rule can bring a file back.
        """
        paths: dict[str, None] = {}
        for folder in folders:
            for base, lift in self._lifts_of(self._scope(folder)):
                prefix = f"{folder}/"[:base]
                paths[f"{prefix}{lift.search}".rstrip("/")] = None
        return list(paths)

    def lifts_in(self, folder: str) -> bool:
        """Return whether the file of this very folder, not one further up, holds a rule with `!`."""
        base = len(folder) + 1 if folder else 0
        return any(base == at and patterns.lifts for at, patterns in self._scope(folder))

    def is_silent(self, folders: Iterable[str]) -> bool:
        """Return whether no file of rules and no `last` rule applies to entries of these folders."""
        return self._last is None and not any(self._scope(folder) for folder in folders)

    def _lifts_of(self, scope: tuple[tuple[int, Patterns], ...]) -> Iterator[tuple[int, Lift]]:
        last = () if self._last is None else ((0, self._last),)
        for base, patterns in (*scope, *last):
            for lift in patterns.lifts:
                yield base, lift

    def _scope(self, folder: str) -> tuple[tuple[int, Patterns], ...]:
        """Return the rules for entries of a folder, the nearest last, each after the length of its own `FOLDER/`."""
        for below in unknown_folders(folder, self._scopes):
            above, own = self._scopes[below.rpartition("/")[0]], self._own(below)
            self._scopes[below] = (*above, *own) if own else above
        return self._scopes[folder]

    def _own(self, folder: str) -> tuple[tuple[int, Patterns], ...]:
        prefix = f"{folder}/" if folder else ""
        patterns = load_patterns(join(self._root, prefix + self._file_name))
        return () if patterns is None else ((len(prefix), patterns),)
