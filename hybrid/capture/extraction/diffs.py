"""What an edit changed, line by line: lines, definitions, one expression for another, a renamed name. Pure."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.capture.definitions import Definition, definitions, is_prose
from hybrid.capture.extraction.wording import is_comment, once, one_line, remarks

if TYPE_CHECKING:
    from hybrid.capture.tools import Edit

_MAX_LINES = 400
_LINES_ABOVE, _LINES_BELOW = 4, 2
"""Of what stayed, whose comments speak of what changed."""
_PIECE = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[A-Za-z_$][\w$]*|\d[\w.]*|\s+|.', re.DOTALL)
_NAME = re.compile(r"^[A-Za-z_$][\w$]*$")
_VALUE = re.compile(r"""^(?:-?\d[\w.]*|"[^"]*"|'[^']*'|true|false|True|False|None|null|nil)$""")
_ASSIGNED = re.compile(r"([\w$.\-\[\]\"']+)\s*(?::[^=:]{0,40})?[=:]\s*$")
_OPENING, _CLOSING = ("(", "[", "{"), (")", "]", "}")
_JOINTS = ("&&", "||", ",", "+", "|")
_KEYWORDS = frozenset("if else for while return let const var pub fn def class self this true false None null".split())
_ATTRIBUTE = re.compile(r"^\s*(?:#\[|#!\[|@\w)")


class Swap(Struct, frozen=True):
    """One expression that took the place of another.

    Attributes:
        old: Empty when something was only added.
        new: Empty when something was only removed.
        name: What a changed value was assigned to; empty when it is no value.
    """

    old: str
    new: str
    name: str = ""


class Change(Struct, frozen=True):
    """What one edit changed.

    Attributes:
        edit: The edit.
        added: New lines, stripped, without blank ones.
        removed: Lines that are gone, the same.
        comment: The prose of the new comments.
        beside: The prose of the comments that were there before, right above or below what changed.
        swaps: Expressions that were exchanged, one per place.
        defined: Definitions that are new.
        undefined: Names of those that are gone.
        where: What it belongs to: the function or class around it, or the one below its attributes.
    """

    edit: Edit
    added: tuple[str, ...]
    removed: tuple[str, ...]
    comment: str
    beside: str
    swaps: tuple[Swap, ...]
    defined: tuple[Definition, ...]
    undefined: tuple[str, ...]
    where: str

    @property
    def added_code(self) -> tuple[str, ...]:
        """New lines that are no comments; in prose all."""
        return self.added if is_prose(self.edit.file) else tuple(line for line in self.added if not is_comment(line))

    @property
    def renamed(self) -> tuple[str, str] | None:
        """The one name that became another everywhere, and nothing else changed."""
        pairs = {(swap.old, swap.new) for swap in self.swaps}
        if len(pairs) != 1:
            return None
        old, new = next(iter(pairs))
        is_rename = _NAME.match(old) and _NAME.match(new) and not {old, new} & _KEYWORDS
        return (old, new) if is_rename and not any(swap.name for swap in self.swaps) else None


def change_of(edit: Edit) -> Change:
    """What an edit changed."""
    old, new = edit.old.split("\n")[:_MAX_LINES], edit.new.split("\n")[:_MAX_LINES]
    if not edit.old:
        old = []
    if not edit.new:
        new = []
    added, removed, beside, swaps = list[str](), list[str](), list[str](), list[Swap]()
    following = ""
    keys_old, keys_new = [line.strip() for line in old], [line.strip() for line in new]
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, keys_old, keys_new, autojunk=False).get_opcodes():
        if tag == "equal":
            above = new[max(j1, j2 - _LINES_ABOVE) : j2] if j2 < len(new) or i2 < len(old) else []
            below = new[j1 : min(j2, j1 + _LINES_BELOW)] if i1 or j1 else []
            beside += [remarks(below), remarks(above)]
            continue
        removed += old[i1:i2]
        added += new[j1:j2]
        code_old, code_new = _code(old[i1:i2]), _code(new[j1:j2])
        if code_old and code_new:
            swaps += _swaps(code_old, code_new)
        elif code_old and not code_new and len(code_old) <= 2:
            swaps.append(Swap(_flat(code_old), ""))
        following = following or next(
            (line for line in new[j2 : j2 + 4] if line.strip() and not _ATTRIBUTE.match(line)), ""
        )
    before, after = list(definitions(edit.old, edit.file)), list(definitions(edit.new, edit.file))
    names_before, names_after = {one.name for one in before}, {one.name for one in after}
    return Change(
        edit=edit,
        added=_telling(added),
        removed=_telling(removed),
        comment="" if is_prose(edit.file) else remarks(added),
        beside="" if is_prose(edit.file) else " ".join(once(beside)),
        swaps=tuple(swaps),
        defined=tuple(one for one in after if one.name not in names_before),
        undefined=once(one.name for one in before if one.name not in names_after),
        where=_where(edit, added + removed, following),
    )


def _telling(lines: list[str]) -> tuple[str, ...]:
    return tuple(line.strip() for line in lines if line.strip())


def _code(lines: list[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip() and not is_comment(line)]


def _flat(lines: list[str]) -> str:
    """Lines as one; a chained call goes on without a space."""
    text = ""
    for line in lines:
        text += line if not text or line.startswith((".", "?", ")", ",")) or text.endswith(("(", ".")) else " " + line
    return text


def _swaps(old: list[str], new: list[str]) -> list[Swap]:
    """What differs between two places, by the pieces they begin and end alike with."""
    if len(old) == len(new) and 1 < len(old) <= 12:
        return [swap for one, other in zip(old, new, strict=True) if one != other for swap in _swaps([one], [other])]
    a, b = _PIECE.findall(_flat(old)[:2_000]), _PIECE.findall(_flat(new)[:2_000])
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    end = 0
    while end < min(len(a), len(b)) - start and a[-1 - end] == b[-1 - end]:
        end += 1
    while True:  # Brackets are taken in whole.
        depths = _depth(a[start : len(a) - end]), _depth(b[start : len(b) - end])
        if start and min(depths) < 0:
            start -= 1
        elif end and max(depths) > 0:
            end -= 1
        else:
            break
    was, now = "".join(a[start : len(a) - end]).strip(), "".join(b[start : len(b) - end]).strip()
    if not was and now.startswith(_JOINTS):
        now = now.lstrip("&|,+ ")
    if not was and not now:
        return []
    name = ""
    if _VALUE.match(was) and _VALUE.match(now):
        known = _ASSIGNED.search("".join(a[:start]))
        name = known[1].strip("\"'") if known else ""
    return [Swap(one_line(was), one_line(now), name)]


def _depth(pieces: list[str]) -> int:
    """Brackets that stay open; below zero when one is closed that was not opened."""
    depth = 0
    for piece in pieces:
        depth += (piece in _OPENING) - (piece in _CLOSING)
        if depth < 0:
            return -1
    return depth


def _where(edit: Edit, changed: list[str], following: str) -> str:
    """The definition below, when only its attributes or comments changed; else the one around it."""
    told = [line for line in changed if line.strip()]
    if following and told and all(_ATTRIBUTE.match(line) or is_comment(line) for line in told):
        below = next(definitions(following, edit.file), None)
        if below is not None:
            return below.name
    if edit.where or is_prose(edit.file):
        return edit.where
    lines = set(changed)
    first = next((number for number, line in enumerate(edit.new.split("\n")) if line in lines), 0)
    around = list(definitions("\n".join(edit.new.split("\n")[:first]), edit.file))
    return around[-1].name if around else ""
