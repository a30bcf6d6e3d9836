"""Counts the work of a regular expression: the steps that Python's matcher takes over a text, by backtracking as it does.

The clock says what one machine did once; steps are the same everywhere. Tests compare them on texts that grow. The
matcher here reads the tree that `re` compiles, and makes hostile texts of it: each repeat run on and on, alone and
behind what has to stand before it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import Any

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # Its name until Python 3.10 is an alias of this one later.
    try:
        from re import _parser as parser  # type: ignore[attr-defined] - there is no public way to the tree
    except ImportError:
        import sre_parse as parser  # type: ignore[no-redef]

RUNS = (
    *(" ", "\t", "\n", "\r", "\r\n", "\v", "\f", "\u00a0", "\u2028", "\u3000", "\n ", " \n", "\n\n ", "\t\n"),
    *(
        "a",
        "A",
        "aA",
        "z",
        "0",
        "7",
        "_",
        "é",
        "密",
        "a ",
        "a\n",
        "aa ",
        "a.",
        "a-",
        "a/",
        "a=",
        "a:",
        "a, ",
        "0.",
        "0a",
    ),
    *("(", ")", "[", "]", "{", "}", "<", ">", '"', "'", "`", "()", "[]", "[a", "<a", "<a>", "(a", '"a', "```", "```\n"),
    *("-", ".", "/", "=", "#", "*", ",", ":", ";", "~", "\\", "|", "+", "!", "?", "%", "&", "$", "@", "^", "…", "//"),
    *("- ", "* ", "# ", "> ", "/*", "<!--", "&&", "||", "\\\\", "\\n", "..", "../", "::", "->", "=>", "\x1b[", "\0"),
)
"""Runs of one short piece: white space, line ends, letters, digits, brackets, quotes, marks, and pairs of them."""

_MAX = 1 << 20  # From here on a repeat counts as without end.
_SPAN = 24
"""Most repeats from which on a bounded repeat is made to run too."""


_Match = Callable[[int, Callable[[int], bool]], bool]
"""Whether a part matches at a place; it asks, at each end that it may have, whether what follows does."""

_OF_ONE = frozenset(("LITERAL", "NOT_LITERAL", "ANY", "IN"))
"""Nodes of one character."""


class TooMuchWorkError(Exception):
    """More steps were taken than allowed."""


class Matcher:
    """A matcher that counts its steps.

    Args:
        pattern: A compiled pattern, of texts or of bytes.
    """

    def __init__(self, pattern: re.Pattern[Any]) -> None:
        self._is_bytes = isinstance(pattern.pattern, bytes)
        self.tree = parser.parse(pattern.pattern, pattern.flags)
        self._checks: list[Callable[[str], bool]] = []
        self._groups: dict[int, tuple[int, int]] = {}
        self._kinds, self._numbers = dict[str, int](), dict[tuple[bool, ...], int]()
        self._text = ""
        self._left = self.n_steps = 0
        self._start = self._sequence(self.tree, pattern.flags | self.tree.state.flags)

    def work(self, text: str, *, limit: int, is_searching: bool) -> int:
        """Return the steps of finding all matches in a text, or of the match at its start.

        Raises:
            TooMuchWorkError: There are more than `limit`.
        """
        self._text, self._left = text, limit
        at = 0
        while at <= len(text):
            self._groups = {}
            end = -1

            def done(stop: int) -> bool:
                nonlocal end
                end = stop
                return True

            self._step()
            found = self._start(at, done)
            if not is_searching:
                break
            at = max(end, at + 1) if found else at + 1
        return limit - self._left

    def alike(self, piece: str) -> tuple[int, ...]:
        """Return a key that is the same for pieces that no part of the pattern can tell apart."""
        return tuple(map(self._kind, piece))

    def _kind(self, char: str) -> int:
        if char not in self._kinds:
            seen = *(check(char) for check in self._checks), char == "\n", char.isalnum() or char == "_"
            self._kinds[char] = self._numbers.setdefault(seen, len(self._numbers))
        return self._kinds[char]

    def _step(self, n: int = 1) -> None:
        self._left -= n
        if self._left < 0:
            raise TooMuchWorkError

    def _sequence(self, items: Any, flags: int) -> _Match:
        nodes = [] if items else [self._ones([])]
        for is_one, group in groupby(items, lambda item: str(item[0]) in _OF_ONE):
            if is_one:
                nodes.append(self._ones([self.check(op, value, flags) for op, value in group]))
            else:
                nodes.extend(self._node(op, value, flags) for op, value in group)
        match = nodes[-1]
        for node in reversed(nodes[:-1]):
            match = _behind(node, match)
        return match

    def _node(self, op: Any, value: Any, flags: int) -> _Match:
        name = str(op)
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            return self._repeat(name, *value, flags)
        if name == "BRANCH":
            return self._branch([self._sequence(items, flags) for items in value[1]])
        if name == "SUBPATTERN":
            group, added, removed, items = value
            return self._group(group, self._sequence(items, (flags | added) & ~removed))
        if name == "ATOMIC_GROUP":
            return self._atomic(self._sequence(value, flags))
        if name in ("ASSERT", "ASSERT_NOT"):
            return self._assertion(value[0], self._sequence(value[1], flags), is_wanted=name == "ASSERT")
        if name == "AT":
            return self._place(str(value), flags)
        if name == "GROUPREF":
            return self._back(value)
        raise NotImplementedError(name)

    def check(self, op: Any, value: Any, flags: int) -> Callable[[str], bool]:
        """Return the function that says whether a character fits a node of one character."""
        ignores, known = bool(flags & re.IGNORECASE), dict[str, bool]()

        def fits(char: str) -> bool:
            if char not in known:
                forms = {char, char.lower(), char.upper()} if ignores else {char}
                known[char] = any(_fits(str(op), value, form, flags) for form in forms)
            return known[char]

        self._checks.append(fits)
        return fits

    def _ones(self, fitting: Sequence[Callable[[str], bool]]) -> _Match:
        """Return the matcher of nodes of one character that stand one behind the other: a step each."""

        def match(at: int, then: Callable[[int], bool]) -> bool:
            text = self._text
            for end, fits in enumerate(fitting, at):
                self._left -= 1
                if self._left < 0:
                    raise TooMuchWorkError
                if end >= len(text) or not fits(text[end]):
                    return False
            return then(at + len(fitting))

        return match

    def _repeat(self, name: str, least: int, most: Any, items: Any, flags: int) -> _Match:
        most = min(int(most), _MAX)
        if len(items) == 1 and str(items[0][0]) in _OF_ONE:
            return self._run(name, least, most, self.check(*items[0], flags))
        body = self._sequence(items, flags)

        def match(at: int, then: Callable[[int], bool], n: int = 0, before: int = -1) -> bool:
            self._step()
            if name == "MIN_REPEAT" and n >= least and then(at):
                return True
            is_more = n < most and (at != before or n < least)
            if is_more and body(at, lambda end: match(end, then, n + 1, at)):
                return True
            return name == "MAX_REPEAT" and n >= least and then(at)

        if name == "POSSESSIVE_REPEAT":
            name = "MAX_REPEAT"
            return self._atomic(match)
        return match

    def _run(self, name: str, least: int, most: int, fits: Callable[[str], bool]) -> Any:
        def match(at: int, then: Callable[[int], bool]) -> bool:
            text, end, last = self._text, at, min(len(self._text), at + most)
            if name == "MIN_REPEAT":
                while True:
                    self._step()
                    if end - at >= least and then(end):
                        return True
                    if end >= last or not fits(text[end]):
                        return False
                    end += 1
            while end < last and fits(text[end]):
                end += 1
            self._step(end - at + 1)
            while end - at >= least:
                if then(end):
                    return True
                if name == "POSSESSIVE_REPEAT":
                    return False
                self._left -= 1
                if self._left < 0:
                    raise TooMuchWorkError
                end -= 1
            return False

        return match

    def _branch(self, ways: Sequence[_Match]) -> _Match:
        def match(at: int, then: Callable[[int], bool]) -> bool:
            for way in ways:  # noqa: SIM110 - `any` takes twice as long
                if way(at, then):
                    return True
            return False

        return match

    def _group(self, group: int | None, inner: Any) -> Any:
        if group is None:
            return inner

        def match(at: int, then: Callable[[int], bool]) -> bool:
            before = self._groups.get(group)

            def after(end: int) -> bool:
                self._groups[group] = (at, end)
                return then(end)

            if inner(at, after):
                return True
            if before is not None:
                self._groups[group] = before
            return False

        return match

    def _atomic(self, inner: Any) -> Any:
        def match(at: int, then: Callable[[int], bool]) -> bool:
            ends: list[int] = []
            return inner(at, lambda end: not ends.append(end)) and then(ends[0])

        return match

    def _assertion(self, direction: int, inner: Any, *, is_wanted: bool) -> Any:
        def match(at: int, then: Callable[[int], bool]) -> bool:
            self._step()
            if direction > 0:
                found = inner(at, lambda _: True)
            else:  # Its width is fixed, and small.
                found = any(inner(begin, lambda end: end == at) for begin in range(at, max(at - 12, -1), -1))
            return found == is_wanted and then(at)

        return match

    def _place(self, name: str, flags: int) -> Any:
        is_of_lines = bool(flags & re.MULTILINE)

        def match(at: int, then: Callable[[int], bool]) -> bool:
            self._step()
            text = self._text
            if name == "AT_BEGINNING":
                here = at == 0 or (is_of_lines and text[at - 1] == "\n")
            elif name == "AT_END":
                here = at >= len(text) - (text[-1:] == "\n") or (is_of_lines and text[at] == "\n")
                here = here and (at == len(text) or text[at] == "\n")
            elif name == "AT_BEGINNING_STRING":
                here = at == 0
            elif name == "AT_END_STRING":
                here = at == len(text)
            else:
                sides = [0 <= one < len(text) and _is_word(text[one], flags) for one in (at - 1, at)]
                here = (sides[0] != sides[1]) == (name == "AT_BOUNDARY")
            return here and then(at)

        return match

    def _back(self, group: int) -> Any:
        def match(at: int, then: Callable[[int], bool]) -> bool:
            self._step()
            if group not in self._groups:
                return False
            said = self._text[slice(*self._groups[group])]
            self._step(len(said))
            return self._text.startswith(said, at) and then(at + len(said))

        return match

    # --- hostile texts -----------------------------------------------------------------------------------------

    def hostile(self, flags: int) -> Iterator[tuple[str, str]]:
        """Yield (what stands before, the piece that is repeated) for each repeat of the pattern."""
        yield from self._hostile(self.tree, "", flags)

    def _hostile(self, items: Any, before: str, flags: int) -> Iterator[tuple[str, str]]:
        for op, value in items:
            name = str(op)
            if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
                inner = value[2]
                if int(value[1]) >= _SPAN:
                    yield from ((before, piece) for piece in self._pieces(inner, flags))
                yield from self._hostile(inner, before, flags)
            elif name == "BRANCH":
                for way in value[1]:
                    yield from self._hostile(way, before, flags)
            elif name == "SUBPATTERN":
                yield from self._hostile(value[3], before, flags)
            elif name == "ATOMIC_GROUP":
                yield from self._hostile(value, before, flags)
            elif name == "ASSERT" and value[0] > 0:
                yield from self._hostile(value[1], before, flags)
            before += self._sample([(op, value)], flags)
        if before:
            yield "", before
            yield before, before

    def _pieces(self, items: Any, flags: int) -> Iterator[str]:
        """Yield what may be repeated for a body: one text for each of its ways, and of one character each kind."""
        if len(items) == 1 and str(items[0][0]) in ("IN", "ANY", "NOT_LITERAL"):
            yield from (char for char in _ALPHABET if _fits_any(items[0], char, flags))
        elif len(items) == 1 and str(items[0][0]) == "BRANCH":
            for way in items[0][1][1]:
                yield self._sample(way, flags)
        elif len(items) == 1 and str(items[0][0]) == "SUBPATTERN":
            yield from self._pieces(items[0][1][3], flags)
        yield self._sample(items, flags)

    def _sample(self, items: Any, flags: int) -> str:
        """Return a short text that the items match."""
        return "".join(self._sample_of(str(op), value, flags) for op, value in items)

    def _sample_of(self, name: str, value: Any, flags: int) -> str:
        if name == "LITERAL":
            return chr(value)
        if name in ("IN", "ANY", "NOT_LITERAL"):
            return next((char for char in _ALPHABET if _fits(name, value, char, flags)), _first_of(name, value))
        if name in ("MAX_REPEAT", "MIN_REPEAT", "POSSESSIVE_REPEAT"):
            return self._sample(value[2], flags) * value[0]
        if name == "BRANCH":
            return self._sample(value[1][0], flags)
        if name == "SUBPATTERN":
            return self._sample(value[3], flags)
        if name == "ATOMIC_GROUP":
            return self._sample(value, flags)
        return ""


def _behind(first: _Match, second: _Match) -> _Match:
    return lambda at, then: first(at, lambda end: second(end, then))


_ALPHABET = "a A0_ \n\t.-/=:,#*<([\"'`;$é"


def _first_of(name: str, value: Any) -> str:
    """Return a character of a set of rare ones."""
    for op, one in value if name == "IN" else ():
        if str(op) in ("LITERAL", "RANGE"):
            return chr(one if isinstance(one, int) else one[0])
    return ""


def _fits_any(item: Any, char: str, flags: int) -> bool:
    return _fits(str(item[0]), item[1], char, flags)


def _fits(name: str, value: Any, char: str, flags: int) -> bool:
    if name == "LITERAL":
        return ord(char) == value
    if name == "NOT_LITERAL":
        return ord(char) != value
    if name == "ANY":
        return bool(flags & re.DOTALL) or char != "\n"
    is_negated = str(value[0][0]) == "NEGATE"
    return is_negated != any(_is_in(str(op), one, char, flags) for op, one in value[is_negated:])


def _is_in(name: str, one: Any, char: str, flags: int) -> bool:
    if name == "LITERAL":
        return ord(char) == one
    if name == "RANGE":
        return one[0] <= ord(char) <= one[1]
    kind = {"DIGIT": r"\d", "SPACE": r"\s", "WORD": r"\w"}[str(one).removeprefix("CATEGORY_").removeprefix("NOT_")]
    found = re.match(kind, char, flags & re.ASCII) is not None
    return found != str(one).startswith("CATEGORY_NOT_")


@cache
def _is_word(char: str, flags: int) -> bool:
    return re.match(r"\w", char, flags & re.ASCII) is not None


@cache  # Several places share a pattern.
def hostile_text(pattern: re.Pattern[Any], *, is_searching: bool) -> str | None:
    """Return the beginning of a text on which the work of a pattern grows faster than the text; None without one.

    Args:
        pattern: The pattern.
        is_searching: All matches of a text are looked for, and not the one at its start alone.
    """
    matcher, seen = Matcher(pattern), set[object]()
    for before, piece in (*(("", run) for run in RUNS), *matcher.hostile(pattern.flags)):
        key = matcher.alike(before), matcher.alike(piece)
        if not piece or key in seen:
            continue
        seen.add(key)
        for unit in dict.fromkeys((piece, before + piece)):
            if _is_much(matcher, before, unit, is_searching=is_searching):
                return _text(before, unit, _SMALL)
    return None


_SMALL, _LARGE = 20, 400
_MOST_STEPS = 300
"""Steps for each character that a pattern may take; one whose repeats have bounds of a hundred takes two hundred."""


def _is_much(matcher: Matcher, before: str, unit: str, *, is_searching: bool) -> bool:
    """Return whether a text that is two or three times as long takes clearly more than so many times the steps.

    The work of a repeat that has a bound grows at first, and no more where the text is longer than the bound.
    """

    def grows(size: int, limit: int, times: int, factor: float) -> bool:
        try:
            steps = matcher.work(_text(before, unit, size), limit=limit, is_searching=is_searching)
            limit = int(factor * steps) + 8 * size
            matcher.work(_text(before, unit, times * size), limit=limit, is_searching=is_searching)
        except TooMuchWorkError:
            return True
        return False

    return grows(_SMALL, _SMALL**3, 3, 5) and grows(_LARGE, _LARGE * _MOST_STEPS, 2, 2.6)


def _text(before: str, unit: str, size: int) -> str:
    """Return a piece again and again behind a text, and a character that fits nothing."""
    return before + (unit * (size // len(unit) + 1))[:size] + "\x01"
