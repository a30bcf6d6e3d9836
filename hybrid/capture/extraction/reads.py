"""Tells of reads: which part of which file, and what it defines and says. Pure."""

from __future__ import annotations

from collections import Counter
from itertools import chain, dropwhile, takewhile
from math import fsum
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.tokens import part_terms
from hybrid.capture.definitions import DefinitionLine, definitions, is_prose
from hybrid.capture.extraction.wording import (
    ObservationDraft,
    base,
    clip,
    code,
    comment_text,
    concepts_of_text,
    first_sentence,
    is_comment,
    listed,
    once,
    telling,
    terms_of,
)
from hybrid.records.memory.types import MAX_TITLE_CHARS
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from hybrid.capture.tools import ToolUse

_SHORT_LINES = 30
_DEEPEST = 9
"""Columns of indent up to which definitions are told; what is further in is text within text, or of no interest."""

_HEADS = ("source: ", "expression: ", "---", "snapshot_kind: ", "input_file: ", "import ", "from ", "use ")
_ATTRIBUTES = ("#[", "@", "pub use", "///", "//", "#", "*", "/*")


def tell_read(use: ToolUse, prompt: str) -> ObservationDraft | None:
    """Return a draft of what a read showed; None when neither a file nor a text is known."""
    files = use.files_read
    if not files:
        return None
    if use.is_failed or (use.error and not use.output):
        why = clip(use.error or use.output, 160)
        subject, says = f"{base(files[0])} failed: {why}", f"Reading {files[0]} failed: {why}."
        return ObservationDraft("discovery", "Read", subject, [says], "", (why,), ("gotcha",), files)
    return draft_of_text(FileText(files, use.output, use.start_line, use.end_line, use.total_lines), prompt)


class FileText(Struct, frozen=True):
    """A text that was read from files.

    Attributes:
        files: The files; the text is treated as that of the first.
        text: The text that was shown.
        start_line: First line that was read, from 1; 0 when unknown.
        end_line: Last line that was read; 0 when unknown.
        total_lines: Lines of the file; 0 when unknown.
    """

    files: tuple[str, ...]
    text: str
    start_line: int = 0
    end_line: int = 0
    total_lines: int = 0

    @property
    def file(self) -> str:
        """The first of the files."""
        return self.files[0]

    @property
    def is_part(self) -> bool:
        """Return whether lines of the file are known to be missing."""
        return bool(self.total_lines and (self.start_line > 1 or self.end_line < self.total_lines))

    @property
    def lines(self) -> tuple[int, int] | None:
        """The numbers of the first and last line of a part; None for a whole file, or where the last one is unknown."""
        return (self.start_line, self.end_line) if self.is_part and self.end_line else None


class _Outline(Struct, frozen=True):
    """The definitions of a text.

    Attributes:
        every: All definitions, in order of the text.
        chosen: The first definition of each name, the most telling ones first.
        wanted: Terms of the prompt, which decide what is telling.
    """

    every: list[DefinitionLine]
    chosen: list[DefinitionLine]
    wanted: frozenset[str]


def draft_of_text(shown: FileText, prompt: str, *, how: str = "Read") -> ObservationDraft:
    """Return a draft of what a text read from files says, also when a command read it."""
    file, text, total = shown.file, shown.text, shown.total_lines
    wanted = terms_of(prompt)
    found = definitions(text, file)
    every = [definition for definition in found if len(definition.name) > 2 and definition.indent <= _DEEPEST]
    outline = _Outline(every, _chosen(every, wanted), wanted)
    lines = f"lines {shown.lines[0]}-{shown.lines[1]} of {total} of " if shown.lines else ""
    size = f" ({amount(total, 'line')})" if total and not shown.is_part else ""
    opening = f"{how} {lines}{file}{size}."
    return ObservationDraft(
        type="discovery",
        verb="Read",
        subject=_subject(shown, outline),
        parts=[opening, *_sentences(shown, outline)],
        subtitle=clip(first_sentence(_opening_comment(text, file)), 160),
        facts=once([f"{file} defines {listed((definition.name for definition in every), 140)}"] if every else []),
        concepts=once(["how-it-works", *concepts_of_text(comment_text(filter(is_comment, text.split("\n")[:40])))]),
        files_read=shown.files,
    )


def _chosen(every: list[DefinitionLine], wanted: frozenset[str]) -> list[DefinitionLine]:
    """Return the definitions to name first: those that share words with the prompt, then containers, then the rest."""
    first: dict[str, DefinitionLine] = {}
    for definition in every:
        first.setdefault(definition.name, definition)
    shared = {name: wanted.intersection(part_terms(name)) for name in first}
    counts = Counter(chain.from_iterable(shared.values()))
    weight = {name: fsum(1 / counts[term] for term in terms) for name, terms in shared.items()}
    return sorted(first.values(), key=lambda found: (-weight[found.name], not found.is_container, found.start))


def _subject(shown: FileText, outline: _Outline) -> str:
    """Return the title of a read, without its verb."""
    name, text = base(shown.file), shown.text
    span = f":{shown.lines[0]}-{shown.lines[1]}" if shown.lines else ""
    names = [definition.name for definition in outline.chosen]
    if span and 0 < len(names) <= 2:
        return f"{listed(names, MAX_TITLE_CHARS - len(name) - 10)} in {name}{span}"
    room = MAX_TITLE_CHARS - len(f"Read {name}{span}: ")
    if names:
        return f"{name}{span}: {listed(names, room, total=len(names))}"
    if says := "" if span else first_sentence(_opening_comment(text, shown.file)):
        return f"{name}: {clip(says, room)}"
    lines = [line for line in text.split("\n") if len(line.strip()) > 3 and not line.startswith(_HEADS)]
    best = telling(lines, outline.wanted, 1, max_chars=room - 2) or [clip(line, room - 2) for line in lines[:1]]
    best = [line.lstrip("/#* ") or line for line in best]
    return f"{name}{span}: {code(best[0], room - 2)}" if best and room > 20 else f"{name}{span}"


def _sentences(shown: FileText, outline: _Outline) -> list[str]:
    """Return the sentences of a read's narrative: opening comment, definitions, the lines that say most."""
    text, chosen = shown.text, outline.chosen
    lines = [line for line in text.split("\n") if line.strip() and line.strip() != "…"]
    says = _opening_comment(text, shown.file)
    parts = [f"It says: {clip(says, 200)}"] if says else []
    if chosen and is_prose(shown.file):
        parts.append(f"Headings: {listed((heading.name for heading in outline.every), 320)}.")
    elif chosen:
        shown_first = [_of_definition(definition, text) for definition in chosen[:4]]
        parts.append(f"It defines {'; '.join(shown_first)}.")
        rest = [definition.name for definition in outline.every if definition not in chosen[:4]]
        parts += [f"Also: {listed(rest, 220)}."] if rest else []
    if len(lines) <= _SHORT_LINES // 3:
        return [*parts, f"Text: {' / '.join(clip(line, 120) for line in lines)}"]
    long_lines = [line for line in lines if len(line.strip()) > 8 and not line.startswith(_HEADS)]
    key = telling(long_lines, outline.wanted, 6, max_chars=110)
    return [*parts, f"Key lines: {' / '.join(key)}" if key else ""]


def _of_definition(definition: DefinitionLine, text: str) -> str:
    doc = _doc(definition, text)
    line = clip(definition.line.rstrip("{: "), 90)
    return f"`{line}`" + (f" ({clip(doc, 110)})" if doc else "")


def _doc(definition: DefinitionLine, text: str) -> str:
    """Return the first sentence of the comment above a definition, or of the docstring below it; empty without."""
    above = text[max(0, definition.start - 1_500) : definition.start].rstrip("\n").split("\n")
    block = takewhile(lambda line: line.strip().startswith(_ATTRIBUTES), reversed(above))
    comment = comment_text(reversed([line for line in block if is_comment(line)]))
    if not comment:
        below = text[definition.start : definition.start + 600].split("\n", 2)
        doc = below[1].strip() if len(below) > 1 else ""
        comment = doc.strip("\"' ") if doc.startswith(('"""', "'''")) else ""
    return first_sentence(comment)


def _opening_comment(text: str, file: str) -> str:
    """Return the prose of the comment at the head of a source file; empty without one, and for a licence."""
    if is_prose(file):
        return ""
    head = dropwhile(lambda line: not line.strip(), text.split("\n", 12)[:12])
    comment = comment_text(takewhile(is_comment, head))
    return "" if "copyright" in comment.lower()[:80] or "licen" in comment.lower()[:80] else comment
