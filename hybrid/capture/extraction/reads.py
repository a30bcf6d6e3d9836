"""Tells of reads: which part of which file, and what it defines and says. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hybrid.base.tokens import part_terms
from hybrid.capture.definitions import Definition, definitions, is_prose
from hybrid.capture.extraction.wording import (
    Told,
    base,
    clip,
    code,
    comment_text,
    concepts_of_text,
    is_comment,
    joined,
    listed,
    once,
    reason,
    sentences,
    telling,
    terms_of,
)
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from hybrid.capture.tools import ToolUse

_TITLE_ROOM = 80
_SHORT_LINES = 30
_DEEPEST = 9
"""Columns; what is further in is text within text, or of no interest."""

_MAX_NAMES = 8
_HEADS = ("source: ", "expression: ", "---", "snapshot_kind: ", "input_file: ", "import ", "from ", "use ")
_ATTRIBUTES = ("#[", "@", "pub use", "///", "//", "#", "*", "/*")


def tell_read(use: ToolUse, prompt: str) -> Told | None:
    """What a read showed; None when neither a file nor a text is known."""
    files = use.files_read
    if not files:
        return None
    if use.is_failed or (use.error and not use.output):
        why = clip(use.error or use.output, 160)
        narrative = joined([f"Reading {files[0]} failed: {why}.", reason(prompt)])
        subject = f"{base(files[0])} failed: {why}"
        return Told("discovery", "Read", subject, narrative, "", (why,), ("gotcha",), files)
    return told_of_text(files, use.output, prompt, start=use.start_line, end=use.end_line, total=use.total_lines)


def told_of_text(
    files: tuple[str, ...], text: str, prompt: str, *, start: int = 0, end: int = 0, total: int = 0, how: str = "Read"
) -> Told:
    """What a text read from files says, also when a command read it."""
    file = files[0]
    wanted = terms_of(prompt)
    every = [one for one in definitions(text, file) if len(one.name) > 2 and one.indent <= _DEEPEST]
    chosen = _chosen(every, wanted)
    is_part = bool(total and (start > 1 or end < total))
    subject = _subject(file, text, chosen, every, wanted, f":{start}-{end}" if is_part and end else "")
    lines = f"lines {start}-{end} of {total} of " if is_part and end else ""
    size = f" ({amount(total, 'line')})" if total and not is_part else ""
    opening = f"{how} {lines}{file}{size}."
    return Told(
        type="discovery",
        verb="Read",
        subject=subject,
        narrative=joined([opening, *_sentences(text, file, chosen, every, wanted), reason(prompt)]),
        subtitle=clip(next(iter(sentences(_opening_comment(text, file))), ""), 160),
        facts=once([f"{file} defines {listed((one.name for one in every), 140)}"] if every else []),
        concepts=once(["how-it-works", *concepts_of_text(comment_text(filter(is_comment, text.split("\n")[:40])))]),
        files_read=files,
    )


def _chosen(every: list[Definition], wanted: frozenset[str]) -> list[Definition]:
    """The definitions to name first: those that share words with the prompt, then containers, then the rest."""
    first: dict[str, Definition] = {}
    for one in every:
        first.setdefault(one.name, one)
    counts: dict[str, int] = {}
    shared = {name: wanted.intersection(part_terms(name)) for name in first}
    for terms in shared.values():
        for term in terms:
            counts[term] = counts.get(term, 0) + 1
    weight = {name: sum(1 / counts[term] for term in terms) for name, terms in shared.items()}
    return sorted(first.values(), key=lambda one: (-weight[one.name], not one.is_container, one.start))


def _subject(
    file: str, text: str, chosen: list[Definition], every: list[Definition], wanted: frozenset[str], span: str
) -> str:
    name = base(file)
    if span and 0 < len({one.name for one in every}) <= 2:
        return f"{listed((one.name for one in chosen), _TITLE_ROOM - len(name) - 10)} in {name}{span}"
    room = _TITLE_ROOM - len(f"Read {name}{span}: ")
    if chosen:
        return f"{name}{span}: {listed((one.name for one in chosen), room, total=len(chosen))}"
    says = next(iter(sentences(_opening_comment(text, file))), "")
    if says and not span:
        return f"{name}: {clip(says, room)}"
    lines = [line for line in text.split("\n") if len(line.strip()) > 3 and not line.startswith(_HEADS)]
    best = telling(lines, wanted, 1, max_chars=room - 2) or [clip(line, room - 2) for line in lines[:1]]
    best = [line.lstrip("/#* ") or line for line in best]
    return f"{name}{span}: {code(best[0], room - 2)}" if best and room > 20 else f"{name}{span}"


def _sentences(
    text: str, file: str, chosen: list[Definition], every: list[Definition], wanted: frozenset[str]
) -> list[str]:
    lines = [line for line in text.split("\n") if line.strip() and line.strip() != "…"]
    found: list[str] = []
    says = _opening_comment(text, file)
    if says:
        found.append(f"It says: {clip(says, 200)}")
    if chosen and is_prose(file):
        found.append(f"Headings: {listed((one.name for one in every), 320)}.")
    elif chosen:
        told = [_of_definition(one, text) for one in chosen[:4]]
        found.append(f"It defines {'; '.join(told)}.")
        rest = [one.name for one in every if one not in chosen[:4]]
        found += [f"Also: {listed(rest, 220)}."] if rest else []
    if len(lines) <= _SHORT_LINES // 3:
        return [*found, f"Text: {' / '.join(clip(line, 120) for line in lines)}"]
    key = telling(
        [line for line in lines if len(line.strip()) > 8 and not line.startswith(_HEADS)], wanted, 6, max_chars=110
    )
    return [*found, *([f"Key lines: {' / '.join(key)}"] if key else [])]


def _of_definition(one: Definition, text: str) -> str:
    doc = _doc(one, text)
    line = clip(one.line.rstrip("{: "), 90)
    return f"`{line}`" + (f" ({clip(doc, 110)})" if doc else "")


def _doc(one: Definition, text: str) -> str:
    """First sentence of the comment above a definition, or of the docstring below it."""
    above = text[max(0, one.start - 1_500) : one.start].rstrip("\n").split("\n")
    block: list[str] = []
    for line in reversed(above):
        if not line.strip().startswith(_ATTRIBUTES):
            break
        if is_comment(line):
            block.insert(0, line)
    found = comment_text(block)
    if not found:
        below = text[one.start : one.start + 600].split("\n", 2)
        doc = below[1].strip() if len(below) > 1 else ""
        found = doc.strip("\"' ") if doc.startswith(('"""', "'''")) else ""
    return next(iter(sentences(found)), "")


def _opening_comment(text: str, file: str) -> str:
    """The prose at the head of a file."""
    if is_prose(file):
        return ""
    block: list[str] = []
    for line in text.split("\n", 12)[:12]:
        if not line.strip() and not block:
            continue
        if not is_comment(line):
            break
        block.append(line)
    found = comment_text(block)
    return "" if "copyright" in found.lower()[:80] or "licen" in found.lower()[:80] else found
