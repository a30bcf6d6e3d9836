"""Tells of edits: what they changed line by line, of which type that is, and how it is said. Pure."""

from __future__ import annotations

import re
from difflib import SequenceMatcher
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.text import one_line
from hybrid.capture.definitions import DefinitionLine, definitions, is_prose
from hybrid.capture.extraction import texts
from hybrid.records.memory.types import MAX_TITLE_CHARS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.capture.tools import Edit, ToolUse
    from hybrid.records.memory.types import ObservationType


# --- What changed --------------------------------------------------------------------------------------------------

_MAX_LINES = 400
"""Number of lines of each side that are compared: the cost of a comparison grows with their product."""
_LINES_ABOVE, _LINES_BELOW = 4, 2
"""Numbers of unchanged lines above and below a change whose comments speak of the change."""
_MAX_BRACKETS = 100
"""Pieces by which two lines are widened to whole brackets: each costs a look at all of both."""
_PIECE = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|[A-Za-z_$][\w$]*|\d[\w.]*|\s+|.', re.DOTALL)
_NAME = re.compile(r"^[A-Za-z_$][\w$]*$")
_VALUE = re.compile(r"""^(?:-?\d[\w.]*|"[^"]*"|'[^']*'|true|false|True|False|None|null|nil)$""")
_ASSIGNED = re.compile(r"(?<![\w$.\-\[\]\"'])([\w$.\-\[\]\"']+)\s*(?::[^=:]{0,40})?[=:]\s*$")
_OPENING_BRACKETS, _CLOSING_BRACKETS = ("(", "[", "{"), (")", "]", "}")
_JOINTS = ("&&", "||", ",", "+", "|")
_KEYWORDS = frozenset("if else for while return let const var pub fn def class self this true false None null".split())
_ATTRIBUTE = re.compile(r"^\s*(?:#\[|#!\[|@\w)")


class Swap(Struct, frozen=True):
    """One expression that took the place of another.

    Attributes:
        old: Expression before; empty when something was only added.
        new: Expression now; empty when something was only removed.
        name: Name that a changed value was assigned to; empty when it is no value.
    """

    old: str
    new: str
    name: str = ""


class EditDiff(Struct, frozen=True):
    """The difference that one edit made.

    Attributes:
        edit: The edit.
        added: Lines that are new, stripped, without blank ones.
        removed: Lines that are gone, stripped, without blank ones.
        comment: The prose of the new comments.
        beside: The prose of the comments that were there before, right above or below what changed.
        swaps: Expressions that were exchanged, one per place.
        defined: Definitions that are new.
        undefined: Names of definitions that are gone.
        where: The function or class around the change, or the one below changed attributes.
    """

    edit: Edit
    added: tuple[str, ...]
    removed: tuple[str, ...]
    comment: str
    beside: str
    swaps: tuple[Swap, ...]
    defined: tuple[DefinitionLine, ...]
    undefined: tuple[str, ...]
    where: str

    @property
    def added_code(self) -> tuple[str, ...]:
        """The new lines that are no comments; in prose all new lines."""
        return (
            self.added if is_prose(self.edit.file) else tuple(line for line in self.added if not texts.is_comment(line))
        )

    @property
    def renamed(self) -> tuple[str, str] | None:
        """(old, new) when all that changed is one name, everywhere alike; else None."""
        pairs = {(swap.old, swap.new) for swap in self.swaps}
        if len(pairs) != 1:
            return None
        old, new = next(iter(pairs))
        is_rename = _NAME.match(old) and _NAME.match(new) and not {old, new} & _KEYWORDS
        return (old, new) if is_rename and not any(swap.name for swap in self.swaps) else None


def diff_of(edit: Edit) -> EditDiff:
    """Compare the old and the new text of an edit."""
    old = edit.old.split("\n")[:_MAX_LINES] if edit.old else []
    new = edit.new.split("\n")[:_MAX_LINES] if edit.new else []
    added, removed, beside, swaps = list[str](), list[str](), list[str](), list[Swap]()
    following = ""
    keys_old, keys_new = [line.strip() for line in old], [line.strip() for line in new]
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, keys_old, keys_new, autojunk=False).get_opcodes():
        if tag == "equal":
            above = new[max(j1, j2 - _LINES_ABOVE) : j2] if j2 < len(new) or i2 < len(old) else []
            below = new[j1 : min(j2, j1 + _LINES_BELOW)] if i1 or j1 else []
            beside += [texts.remarks(below), texts.remarks(above)]
            continue
        removed += old[i1:i2]
        added += new[j1:j2]
        code_old, code_new = _code(old[i1:i2]), _code(new[j1:j2])
        if code_old and code_new:
            swaps += _swaps(code_old, code_new)
        elif code_old and len(code_old) <= 2:
            swaps.append(Swap(_flat(code_old), ""))
        below = (line for line in new[j2 : j2 + 4] if line.strip() and not _ATTRIBUTE.match(line))
        following = following or next(below, "")
    before, after = list(definitions(edit.old, edit.file)), list(definitions(edit.new, edit.file))
    names_before, names_after = {definition.name for definition in before}, {definition.name for definition in after}
    return EditDiff(
        edit=edit,
        added=_telling(added),
        removed=_telling(removed),
        comment="" if is_prose(edit.file) else texts.remarks(added),
        beside="" if is_prose(edit.file) else " ".join(texts.once(beside)),
        swaps=tuple(swaps),
        defined=tuple(definition for definition in after if definition.name not in names_before),
        undefined=texts.once(definition.name for definition in before if definition.name not in names_after),
        where=_where(edit, added + removed, following),
    )


def _telling(lines: list[str]) -> tuple[str, ...]:
    return tuple(line.strip() for line in lines if line.strip())


def _code(lines: list[str]) -> list[str]:
    return [line.strip() for line in lines if line.strip() and not texts.is_comment(line)]


def _flat(lines: list[str]) -> str:
    """Return the lines joined to one; the lines of a chained call are joined without a space."""
    text = ""
    for line in lines:
        text += line if not text or line.startswith((".", "?", ")", ",")) or text.endswith(("(", ".")) else " " + line
    return text


def _swaps(old: list[str], new: list[str]) -> list[Swap]:
    """Return the exchanges of expressions between two places, without what both begin and end with."""
    if len(old) == len(new) and 1 < len(old) <= 12:
        return [swap for one, other in zip(old, new, strict=True) if one != other for swap in _swaps([one], [other])]
    a, b = _PIECE.findall(_flat(old)[:2_000]), _PIECE.findall(_flat(new)[:2_000])
    start = _n_same(a, b)
    end = _n_same(a[start:][::-1], b[start:][::-1])
    for _ in range(_MAX_BRACKETS):  # Brackets are taken in whole.
        depths = _open_brackets(a[start : len(a) - end]), _open_brackets(b[start : len(b) - end])
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


def _n_same(a: list[str], b: list[str]) -> int:
    """Return with how many equal pieces both begin."""
    return next((n for n, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))


def _open_brackets(pieces: list[str]) -> int:
    """Return the number of brackets that stay open; below zero when one is closed that was not opened."""
    depth = 0
    for piece in pieces:
        depth += (piece in _OPENING_BRACKETS) - (piece in _CLOSING_BRACKETS)
        if depth < 0:
            return -1
    return depth


def _where(edit: Edit, changed: list[str], following: str) -> str:
    """Return the name of the definition below, if only its attributes or comments changed; else of the one around."""
    filled = [line for line in changed if line.strip()]
    if following and filled and all(_ATTRIBUTE.match(line) or texts.is_comment(line) for line in filled):
        below = next(definitions(following, edit.file), None)
        if below is not None:
            return below.name
    if edit.where or is_prose(edit.file):
        return edit.where
    lines = set(changed)
    new = edit.new.split("\n")
    first = next((number for number, line in enumerate(new) if line in lines), 0)
    around = list(definitions("\n".join(new[:first]), edit.file))
    return around[-1].name if around else ""


# --- Of which type it is -------------------------------------------------------------------------------------------

_FIXING = re.compile(
    r"(?i)\b(?:fix(?:e[sd]|ing)?|bug(?:s|gy|fix)?|repair|broken|crash(?:es|ed|ing)?|panics?|regression|wrong(?:ly)?|"
    r"fail(?:s|ed|ing|ure)?|incorrect(?:ly)?|hotfix|resolve[sd]? (?:the |an? )?(?:issue|error|problem)|work ?around|"
    r"does(?: not|n't) work|leak(?:s|ed|ing)?|hangs?|endless(?:ly)?|never (?:stop|end|return|finish)(?:s|es)?|"
    r"race condition|deadlock|off.by.one)\b"
)
_ADDING = re.compile(
    r"(?i)\b(?:add(?:s|ed|ing)?|implement(?:s|ed|ing)?|support(?:s|ed)?|introduc\w+|creat(?:e|es|ing)|build|new|feature|"
    r"extend|allow|enable|expose|write a)\b"
)
_REFACTORING = re.compile(
    r"(?i)\b(?:refactor\w*|renam\w+|extract\w*|mov(?:e|es|ing)|split(?:ting)?|clean ?up|simplif\w+|restructur\w+|"
    r"deduplicat\w+|inline|reorgani[sz]\w+)\b"
)
_DECIDING = re.compile(r"(?i)\b(?:decided?|decision|we (?:choose|chose|use)|chosen|instead of|rather than|opted)\b")
_DECISION_FILE = re.compile(r"(?i)(?:^|[/_-])(?:adrs?|decisions?|rfcs?)(?:[/_.-]|$)")
_TEST_FILE = re.compile(
    r"(?i)(?:^|/)(?:tests?|__tests__|specs?|fixtures?|testdata|testing|testsuite)/|(?:^|/)test_[^/]+$|"
    r"[._-](?:test|spec|tests)\.[^/]+$|(?:^|/)conftest\.py$|\.snap(?:\.new)?$"
)
_CONFIG_FILE = re.compile(r"(?i)\.(?:toml|ya?ml|ini|cfg|conf|json|env|properties)$|(?:^|/)(?:Dockerfile|Makefile)$")
_FIRST_VERB_CHARS = 60


def is_test_file(path: str) -> bool:
    """Return whether a file holds tests, or what tests read, by its path."""
    return bool(_TEST_FILE.search(path))


def is_fix(prompt: str) -> bool:
    """Return whether a prompt asks for something to be mended; its first words count most: `Add a fix page` adds."""
    head = prompt.strip()[:_FIRST_VERB_CHARS]
    first = _first(head)
    return first == "fix" if first else bool(_FIXING.search(prompt[:600]))


def type_of_edit(file: str, changes: Sequence[EditDiff], prompt: str) -> ObservationType:
    """Return the type of observation that the edits of a file are; `change` when no rule fits.

    The first rule that fits decides. A file of decisions, and prose that tells of one, is a `decision`; other prose and
    files outside of the project are a `change`, whatever the prompt says. Else the changes and the prompt decide.
    """
    comment = " ".join(change.comment for change in changes)
    added = " ".join(" ".join(change.added[:20]) for change in changes)
    if _DECISION_FILE.search(file) or (is_prose(file) and _DECIDING.search(added)):
        return "decision"
    if file.startswith(("/", "~")) or is_prose(file):
        return "change"
    if all(change.renamed for change in changes):
        return "refactor"
    if _CONFIG_FILE.search(file) and not is_test_file(file) and any(swap.name for c in changes for swap in c.swaps):
        return "decision"
    if is_fix(prompt) or (_FIXING.search(comment) and any(change.removed for change in changes)):
        return "bugfix"
    if _first(prompt.strip()[:_FIRST_VERB_CHARS]) == "refactor":
        return "refactor"
    has_new = any(change.defined or change.edit.is_new or len(change.added) >= 3 for change in changes)
    if has_new and _ADDING.search(prompt[:400]):
        return "feature"
    moved = any(change.undefined for change in changes) and any(change.defined for change in changes)
    return "refactor" if moved else "change"


def concepts_of_edit(kind: str, changes: Sequence[EditDiff]) -> tuple[str, ...]:
    """Return the concepts that an edit teaches, from its comments or new prose and from its kind."""
    text = " ".join(
        change.comment or " ".join(change.added[:30] if is_prose(change.edit.file) else ()) for change in changes
    )
    concepts = ["what-changed", "problem-solution" if kind == "bugfix" else ""]
    return texts.once([*concepts, *texts.concepts_of_text(text)])


def _first(head: str) -> str:
    """Return `fix`, `add` or `refactor`, the first that the opening words of a prompt ask for; empty for none."""
    matches = {"fix": _FIXING.search(head), "add": _ADDING.search(head), "refactor": _REFACTORING.search(head)}
    places = [(match.start(), name) for name, match in matches.items() if match]
    return min(places)[1] if places else ""


# --- How it is said ------------------------------------------------------------------------------------------------

_PUNCTUATION = re.compile(r"^[\W_]*$")
_QUOTED_CHARS = 90
_ALIKE_CHARS = 8
_OPENING = re.compile(r"(?i)^(?:however|but|so|note that|also|first|then|otherwise),? ")


def tell_edit(use: ToolUse, prompt: str) -> list[texts.ObservationDraft]:
    """Return one draft for each file that a use edited or wrote."""
    if use.is_failed:
        return [_failed(use)]
    by_file: dict[str, list[Edit]] = {}
    for edit in use.edits:
        by_file.setdefault(edit.file, []).append(edit)
    return [_of_file(file, [diff_of(edit) for edit in edits], prompt) for file, edits in by_file.items() if file]


def _failed(use: ToolUse) -> texts.ObservationDraft:
    file = next(iter(use.files_written), "a file")
    why = texts.clip(use.error or use.output, 200)
    wanted = [
        f"It was to put {texts.code(edit.new, 120)} for {texts.code(edit.old, 120)}."
        for edit in use.edits[:2]
        if edit.new
    ]
    parts = [f"Editing {file} failed: {why}.", *wanted]
    subject = f"{texts.base(file)} failed: {why}"
    return texts.ObservationDraft("discovery", "Edit of", subject, parts, "", (why,), ("gotcha",), (file,))


def _of_file(file: str, changes: list[EditDiff], prompt: str) -> texts.ObservationDraft:
    kind = type_of_edit(file, changes, prompt)
    where = texts.listed(texts.once(change.where for change in changes), 60)
    verb, subject = _title(file, changes, kind, texts.terms_of(prompt))
    opening = f"{'Created' if changes[0].edit.is_new else 'Edited'} {file}" + (f", in {where}" if where else "") + "."
    return texts.ObservationDraft(
        type=kind,
        verb=verb,
        subject=subject,
        parts=[opening, *(sentence for change in changes for sentence in _sentences(change, prompt))],
        subtitle=texts.clip(texts.first_sentence("\n\n".join(change.comment for change in changes)), 160),
        facts=_facts(file, changes),
        concepts=concepts_of_edit(kind, changes),
        files_modified=(file,),
        place=file,
    )


# The title


def _title(file: str, changes: list[EditDiff], kind: ObservationType, wanted: frozenset[str]) -> tuple[str, str]:
    name = texts.base(file)
    says = next(
        (sentence for change in changes for sentence in texts.sentences(change.comment) if len(sentence) > 20), ""
    )
    if changes[0].edit.is_new:
        return "Create", _of_new_file(name, changes[0], wanted)
    if is_test_file(file) and says and not any(change.removed or change.defined for change in changes):
        return "Extend", f"{name}: {says}"
    if all(not change.added and not change.removed for change in changes):
        return ("Delete", name) if not any(change.edit.new for change in changes) else ("Touch", name)
    where = next((change.where for change in changes if change.where), "")
    if kind == "bugfix" and not is_test_file(file) and not all(change.renamed for change in changes):
        place = texts.squeeze(_last(where) if len(where) > 24 else where, 40) or texts.squeeze(name, 40)
        room = MAX_TITLE_CHARS - len("Fix : ") - len(place)
        phrase = _phrases(changes, wanted, max(room, 24), is_fix=True)
        spare = room - len(phrase) - 3
        if where and spare >= min(len(name), 16):
            place = f"{place} ({texts.squeeze(name, spare)})"
        return "Fix", f"{place}: {phrase}"
    return _of_change(changes, name, where, wanted)


def _last(where: str) -> str:
    return where.replace("::", ".").rpartition(".")[2]


def _of_change(changes: list[EditDiff], name: str, where: str, wanted: frozenset[str]) -> tuple[str, str]:
    short = name.rpartition("/")[2]
    room = MAX_TITLE_CHARS - len(" from ") - min(len(short), 30)
    phrase = _phrases(changes, wanted, max(room, 30))
    verb, _, rest = phrase.partition(" ")
    preposition = {"add": "to", "remove": "from", "change": "in"}.get(verb, "in")
    spare = MAX_TITLE_CHARS - len(phrase) - 6
    where = "" if where in phrase else where
    places = [f"{scope} ({name})" for scope in (where, _last(where)) if scope]
    places += [_last(where), name] if preposition == "from" and where else [name]
    place = next((scope for scope in places if len(scope) <= spare), texts.squeeze(short, max(spare, 20)))
    return verb.capitalize(), f"{rest} {preposition} {place}"


def _of_new_file(name: str, change: EditDiff, wanted: frozenset[str]) -> str:
    room = MAX_TITLE_CHARS - len("Create : ") - len(name)
    names = [_called(definition) for definition in change.defined if definition.indent == 0 or definition.is_test]
    if is_prose(change.edit.file):
        headings = texts.listed((heading.name for heading in change.defined), room)
        return f"{name}: {headings or texts.clip(' '.join(change.added[:2]), room)}"
    if names:
        return f"{name} with {texts.listed(names, room)}"
    if says := texts.first_sentence(change.comment):
        return f"{name}: {texts.clip(says, room)}"
    lines = change.added_code or change.added
    return f"{name}: {texts.clip(' '.join(lines), room)}" if lines else name


def _phrases(changes: list[EditDiff], wanted: frozenset[str], room: int, *, is_fix: bool = False) -> str:
    """Return a phrase for each change, each phrase once and joined by `; `, as many as there is room for."""
    every = texts.once(_phrase(change, wanted, room, is_fix=is_fix) for change in changes)
    shown = ""
    for phrase in every:
        if shown and len(shown) + len(phrase) + 2 > room:
            break
        shown += f"; {phrase}" if shown else phrase
    return shown


def _phrase(change: EditDiff, wanted: frozenset[str], room: int, *, is_fix: bool) -> str:
    """Return a phrase for one edit, beginning with a verb."""
    if change.renamed:
        return f"rename {texts.code(change.renamed[0], room)} to {texts.code(change.renamed[1], room)}"
    if change.defined:
        kind = "tests " if len(change.defined) > 1 else "test "
        prefix = kind if all(definition.is_test for definition in change.defined) else ""
        if len(change.undefined) == 1 and len(change.defined) == 1:
            return f"rename {change.undefined[0]} to {change.defined[0].name}"
        return f"add {prefix}{texts.listed(map(_called, change.defined), max(room - 4 - len(prefix), 16))}"
    if change.undefined and not change.added_code:
        return f"remove {texts.listed(change.undefined, room - 7)}"
    swap = _telling_swap(change, room)
    if swap is not None:
        return _of_swap(swap, room)
    says = next((sentence for sentence in texts.sentences(change.comment) if len(sentence) > 20), "")
    if is_fix and says and len(change.added_code) > 1:
        says = _OPENING.sub("", says)
        return texts.clip(says[0].lower() + says[1:].removesuffix("."), room)
    if not change.added_code and change.comment:
        return f"comment: {texts.clip(texts.first_sentence(change.comment), room - 9)}"
    if not change.added:
        return f"remove {texts.code(_best(change.removed, wanted), room - 9)}"
    return f"add {texts.code(_best(change.added_code or change.added, wanted), room - 6)}"


def _of_swap(swap: Swap, room: int) -> str:
    if swap.name:
        return f"set {texts.squeeze(swap.name, 30)} {texts.clip(swap.old, 24)} → {texts.clip(swap.new, 24)}"
    if not swap.old:
        return f"add {texts.code(swap.new, room - 6)}"
    if not swap.new:
        return f"remove {texts.code(swap.old, room - 9)}"
    if swap.old[:_ALIKE_CHARS] == swap.new[:_ALIKE_CHARS]:
        return f"change to {texts.code(swap.new, room - 12)}"
    half = max(12, (room - len("replace `` with ``")) // 2)
    new = texts.code(swap.new, max(half, room - 18 - len(swap.old)))
    return f"replace {texts.code(swap.old, max(half, room - 16 - len(new)))} with {new}"


def _telling_swap(change: EditDiff, room: int) -> Swap | None:
    """Return the exchange that says most about the edit; None when there is none or new lines say more."""
    short = [swap for swap in change.swaps if max(len(swap.old), len(swap.new)) <= 2 * room]
    useful = [swap for swap in short if not (_PUNCTUATION.match(swap.old) and _PUNCTUATION.match(swap.new))]
    if not useful or len(change.added_code) > 4 or (change.comment and len(change.added_code) > 2):
        return None
    named = (swap for swap in useful if swap.name)
    return next(named, None) or min(useful, key=lambda swap: abs(len(swap.old) + len(swap.new) - 40))


def _best(lines: tuple[str, ...], wanted: frozenset[str]) -> str:
    """Return the line that says most: one that shares words with the prompt, else the longest of the first six."""
    best = texts.telling(lines, wanted, 1, max_chars=300)
    return best[0] if best else max(lines[:6], key=len, default="")


def _called(definition: DefinitionLine) -> str:
    is_function = definition.word in ("fn", "def", "function", "func", "fun", "defp")
    return f"{definition.name}()" if is_function else definition.name


# The narrative


def _sentences(change: EditDiff, prompt: str) -> list[str]:
    """Return the sentences of one edit in a narrative; empty ones do not count."""
    added = ", ".join(texts.code(definition.line, 120) for definition in change.defined[:5])
    parts = [
        f"Renamed {change.renamed[0]} to {change.renamed[1]}." if change.renamed else "",
        f"Removed {texts.listed(change.undefined, 160)}." if change.undefined and not change.renamed else "",
        f"Added {added}." if added and not change.renamed else "",
        f"Comment: {texts.clip(change.comment, 320)}" if change.comment else "",
        f"Beside: {texts.clip(change.beside, 200)}" if change.beside else "",
    ]
    for swap in change.swaps[:4]:
        if swap.old and swap.new and len(swap.old) + len(swap.new) < 240:
            name = f"{swap.name}: " if swap.name else ""
            parts.append(f"{name}{texts.code(swap.old, 120)} became {texts.code(swap.new, 120)}.")
    return parts + _quoted("Removed", change.removed, prompt, 3) + _quoted("New", change.added_code, prompt, 6)


def _quoted(word: str, lines: tuple[str, ...], prompt: str, n: int) -> list[str]:
    long = [line for line in lines if len(line) > 3]
    chosen = (
        long if len(long) <= n else texts.telling(long, texts.terms_of(prompt), n, max_chars=_QUOTED_CHARS) or long[:n]
    )
    return [f"{word} lines: {' / '.join(texts.clip(line, _QUOTED_CHARS) for line in chosen)}."] if chosen else []


def _facts(file: str, changes: list[EditDiff]) -> tuple[str, ...]:
    facts = [f"+{sum(len(c.added) for c in changes)} −{sum(len(c.removed) for c in changes)} lines in {file}"]
    for change in changes:
        if change.renamed:
            facts.append(f"{change.renamed[0]} → {change.renamed[1]}")
        facts += [f"{swap.name}: {swap.old} → {swap.new}" for swap in change.swaps if swap.name]
        facts += [f"defines {_called(definition)}" for definition in change.defined[:6]]
        facts += [f"removes {name}" for name in change.undefined[:6]]
    return texts.once(texts.clip(fact, 160) for fact in facts)[:10]
