"""Tells of edits: which file and function, what was added, removed, renamed or exchanged, and why. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from hybrid.capture.definitions import is_prose
from hybrid.capture.extraction.diffs import Change, Swap, change_of
from hybrid.capture.extraction.kinds import concepts_of_edit, is_test_file, type_of_edit
from hybrid.capture.extraction.wording import (
    Told,
    base,
    clip,
    code,
    joined,
    listed,
    once,
    reason,
    sentences,
    squeeze,
    telling,
    terms_of,
)

if TYPE_CHECKING:
    from hybrid.capture.tools import Edit, ToolUse
    from hybrid.records.memory.types import ObservationType

_TITLE_ROOM = 80
_PUNCTUATION = re.compile(r"^[\W_]*$")
_QUOTED_CHARS = 90
_ALIKE_CHARS = 8
_OPENING = re.compile(r"(?i)^(?:however|but|so|note that|also|first|then|otherwise),? ")


def tell_edit(use: ToolUse, prompt: str) -> list[Told]:
    """One told per file that a use edited or wrote."""
    if use.is_failed:
        return [_failed(use, prompt)]
    by_file: dict[str, list[Edit]] = {}
    for edit in use.edits:
        by_file.setdefault(edit.file, []).append(edit)
    return [_of_file(file, [change_of(edit) for edit in edits], prompt) for file, edits in by_file.items() if file]


def _failed(use: ToolUse, prompt: str) -> Told:
    file = next(iter(use.files_written), "a file")
    why = clip(use.error or use.output, 200)
    wanted = [f"It was to put {code(edit.new, 120)} for {code(edit.old, 120)}." for edit in use.edits[:2] if edit.new]
    narrative = joined([f"Editing {file} failed: {why}.", *wanted, reason(prompt)])
    subject = f"{base(file)} failed: {why}"
    return Told("discovery", "Edit of", subject, narrative, facts=(why,), concepts=("gotcha",), files_read=(file,))


def _of_file(file: str, changes: list[Change], prompt: str) -> Told:
    kind = type_of_edit(file, changes, prompt)
    where = listed(once(change.where for change in changes), 60)
    verb, subject = _title(file, changes, kind, terms_of(prompt))
    parts = [sentence for change in changes for sentence in _sentences(change, prompt)]
    opening = f"{'Created' if changes[0].edit.is_new else 'Edited'} {file}" + (f", in {where}" if where else "") + "."
    return Told(
        type=kind,
        verb=verb,
        subject=subject,
        narrative=joined([opening, *parts, reason(prompt)]),
        subtitle=clip(next((sentence for change in changes for sentence in sentences(change.comment)), ""), 160),
        facts=_facts(file, changes),
        concepts=concepts_of_edit(kind, changes),
        files_modified=(file,),
        place=file,
    )


# The title


def _title(file: str, changes: list[Change], kind: ObservationType, wanted: frozenset[str]) -> tuple[str, str]:
    name = base(file)
    says = next((one for change in changes for one in sentences(change.comment) if len(one) > 20), "")
    if (
        is_test_file(file)
        and says
        and not changes[0].edit.is_new
        and not any(change.removed or change.defined for change in changes)
    ):
        return "Extend", f"{name}: {says}"
    if changes[0].edit.is_new:
        return "Create", _of_new_file(name, changes[0], wanted)
    if all(not change.added and not change.removed for change in changes):
        return ("Delete", name) if not any(change.edit.new for change in changes) else ("Touch", name)
    where = next((change.where for change in changes if change.where), "")
    if kind == "bugfix" and not is_test_file(file) and not _is_renaming(changes):
        place = squeeze(_last(where) if len(where) > 24 else where, 40) or squeeze(name, 40)
        room = _TITLE_ROOM - len("Fix : ") - len(place)
        phrase = _phrases(changes, wanted, max(room, 24), is_fix=True)
        spare = room - len(phrase) - 3
        if where and spare >= min(len(name), 16):
            place = f"{place} ({squeeze(name, spare)})"
        return "Fix", f"{place}: {phrase}"
    return _of_change(changes, name, where, wanted)


def _last(where: str) -> str:
    return where.replace("::", ".").rpartition(".")[2]


def _is_renaming(changes: list[Change]) -> bool:
    return all(change.renamed for change in changes)


def _of_change(changes: list[Change], name: str, where: str, wanted: frozenset[str]) -> tuple[str, str]:
    short = name.rpartition("/")[2]
    room = _TITLE_ROOM - len(" from ") - min(len(short), 30)
    phrase = _phrases(changes, wanted, max(room, 30))
    verb, _, rest = phrase.partition(" ")
    preposition = {"add": "to", "remove": "from", "change": "in"}.get(verb, "in")
    spare = _TITLE_ROOM - len(phrase) - 6
    where = "" if where in phrase else where
    places = [f"{one} ({name})" for one in (where, _last(where)) if one]
    places += [_last(where), name] if preposition == "from" and where else [name]
    place = next((one for one in places if len(one) <= spare), squeeze(short, max(spare, 20)))
    return verb.capitalize(), f"{rest} {preposition} {place}"


def _of_new_file(name: str, change: Change, wanted: frozenset[str]) -> str:
    room = _TITLE_ROOM - len("Create : ") - len(name)
    names = [_called(one.name, one.word) for one in change.defined if one.indent == 0 or one.is_test]
    says = next(iter(sentences(change.comment)), "")
    if is_prose(change.edit.file):
        return f"{name}: {listed((one.name for one in change.defined), room) or clip(' '.join(change.added[:2]), room)}"
    if names:
        return f"{name} with {listed(names, room)}"
    if says:
        return f"{name}: {clip(says, room)}"
    lines = change.added_code or change.added
    return f"{name}: {clip(' '.join(lines), room)}" if lines else name


def _phrases(changes: list[Change], wanted: frozenset[str], room: int, *, is_fix: bool = False) -> str:
    """What was changed, each thing once, as many as there is room for."""
    every = once(_phrase(change, wanted, room, is_fix=is_fix) for change in changes)
    shown = ""
    for phrase in every:
        if shown and len(shown) + len(phrase) + 2 > room:
            break
        shown += f"; {phrase}" if shown else phrase
    return shown


def _phrase(change: Change, wanted: frozenset[str], room: int, *, is_fix: bool) -> str:
    """What one edit changed, beginning with a verb."""
    if change.renamed:
        return f"rename {code(change.renamed[0], room)} to {code(change.renamed[1], room)}"
    if change.defined:
        kind = "tests " if len(change.defined) > 1 else "test "
        called = [_called(one.name, one.word) for one in change.defined]
        prefix = kind if all(one.is_test for one in change.defined) else ""
        if len(change.undefined) == 1 and len(change.defined) == 1:
            return f"rename {change.undefined[0]} to {change.defined[0].name}"
        return f"add {prefix}{listed(called, max(room - 4 - len(prefix), 16))}"
    if change.undefined and not change.added_code:
        return f"remove {listed(change.undefined, room - 7)}"
    swap = _telling_swap(change, room)
    if swap is not None:
        return _of_swap(swap, room)
    says = next((one for one in sentences(change.comment) if len(one) > 20), "")
    if is_fix and says and len(change.added_code) > 1:
        says = _OPENING.sub("", says)
        return clip(says[0].lower() + says[1:].removesuffix("."), room)
    if not change.added_code and change.comment:
        return f"comment: {clip(next(iter(sentences(change.comment)), ''), room - 9)}"
    if not change.added:
        return f"remove {code(_best(change.removed, wanted), room - 9)}"
    return f"add {code(_best(change.added_code or change.added, wanted), room - 6)}"


def _of_swap(swap: Swap, room: int) -> str:
    if swap.name:
        return f"set {squeeze(swap.name, 30)} {clip(swap.old, 24)} → {clip(swap.new, 24)}"
    if not swap.old:
        return f"add {code(swap.new, room - 6)}"
    if not swap.new:
        return f"remove {code(swap.old, room - 9)}"
    if swap.old[:_ALIKE_CHARS] == swap.new[:_ALIKE_CHARS]:
        return f"change to {code(swap.new, room - 12)}"
    half = max(12, (room - len("replace `` with ``")) // 2)
    new = code(swap.new, max(half, room - 18 - len(swap.old)))
    return f"replace {code(swap.old, max(half, room - 16 - len(new)))} with {new}"


def _telling_swap(change: Change, room: int) -> Swap | None:
    """The exchange that says most about the edit; None when new lines say more."""
    useful = [
        swap
        for swap in change.swaps
        if not (_PUNCTUATION.match(swap.old) and _PUNCTUATION.match(swap.new))
        and len(swap.old) <= 2 * room
        and len(swap.new) <= 2 * room
    ]
    if not useful or len(change.added_code) > 4 or (change.comment and len(change.added_code) > 2):
        return None
    named = [swap for swap in useful if swap.name]
    return (named or [min(useful, key=lambda swap: abs(len(swap.old) + len(swap.new) - 40))])[0]


def _best(lines: tuple[str, ...], wanted: frozenset[str]) -> str:
    """The line that says most: one that shares words with the prompt, else the longest of the first."""
    found = telling(lines, wanted, 1, max_chars=300)
    return found[0] if found else max(lines[:6], key=len, default="")


def _called(name: str, word: str) -> str:
    return f"{name}()" if word in ("fn", "def", "function", "func", "fun", "defp") else name


# The narrative


def _sentences(change: Change, prompt: str) -> list[str]:
    found: list[str] = []
    if change.renamed:
        found.append(f"Renamed {change.renamed[0]} to {change.renamed[1]}.")
    if change.undefined and not change.renamed:
        found.append(f"Removed {listed(change.undefined, 160)}.")
    if change.defined and not change.renamed:
        found.append(f"Added {', '.join(code(one.line, 120) for one in change.defined[:5])}.")
    if change.comment:
        found.append(f"Comment: {clip(change.comment, 320)}")
    if change.beside:
        found.append(f"Beside: {clip(change.beside, 200)}")
    for swap in change.swaps[:4]:
        if swap.old and swap.new and len(swap.old) + len(swap.new) < 240:
            found.append(f"{swap.name + ': ' if swap.name else ''}{code(swap.old, 120)} became {code(swap.new, 120)}.")
    return found + _quoted("Removed", change.removed, prompt, 3) + _quoted("New", change.added_code, prompt, 6)


def _quoted(word: str, lines: tuple[str, ...], prompt: str, n: int) -> list[str]:
    long = [line for line in lines if len(line) > 3]
    chosen = long if len(long) <= n else telling(long, terms_of(prompt), n, max_chars=_QUOTED_CHARS) or long[:n]
    return [f"{word} lines: {' / '.join(clip(line, _QUOTED_CHARS) for line in chosen)}."] if chosen else []


def _facts(file: str, changes: list[Change]) -> tuple[str, ...]:
    facts = [f"+{sum(len(c.added) for c in changes)} −{sum(len(c.removed) for c in changes)} lines in {file}"]
    for change in changes:
        if change.renamed:
            facts.append(f"{change.renamed[0]} → {change.renamed[1]}")
        facts += [f"{swap.name}: {swap.old} → {swap.new}" for swap in change.swaps if swap.name]
        facts += [f"defines {_called(one.name, one.word)}" for one in change.defined[:6]]
        facts += [f"removes {name}" for name in change.undefined[:6]]
    return once(clip(fact, 160) for fact in facts)[:10]
