"""Small pieces of wording that titles and narratives are made of: clipped texts, names of files, the purpose. Pure."""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain, groupby
from math import fsum
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.text import one_line
from hybrid.base.tokens import FUNCTION_WORDS, part_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hybrid.records.memory.types import ObservationType

_MAX_LINES = 800

_SENTENCE_END = re.compile(r"(?<=[^\s.][.!?])\s+(?=[A-Z`\"'(*_\[0-9-])|\n\s*\n")
_PLAIN_FILES = frozenset(
    "mod.rs lib.rs main.rs build.rs __init__.py __main__.py main.py index.ts index.tsx index.js index.jsx main.go "
    "README.md helpers.rs utils.py utils.ts test.rs tests.rs types.ts types.py config.py config.toml Cargo.toml "
    "package.json pyproject.toml Makefile Dockerfile settings.py models.py views.py conftest.py CHANGELOG.md".split()
)
_COMMENT = re.compile(r"^\s*(?:///?!?|#+!?|/\*+|\*+/?|--|;;|<!--|%)\s?")
_LICENCE = re.compile(
    r"(?i)\bcopyright (?:\(c\)|©|\d{4})|\(c\) copyright|\bspdx-|\blicensed (?:under|to)\b|\ball rights reserved\b|"
    r"\bpermission is hereby granted\b"
)
_LICENCE_CHARS = 400
_CONCEPTS = {
    "why-it-exists": re.compile(r"(?i)\b(?:because|since|so that|otherwise|in order to|to avoid|reason|must|why)\b"),
    "trade-off": re.compile(
        r"(?i)\b(?:trade-?offs?|at the cost of|slower but|faster but|instead of|rather than|compromise)\b"
    ),
    "pattern": re.compile(
        r"(?i)\b(?:pattern|convention|idiom|always|never|as elsewhere|the same way as|best practice)\b"
    ),
}
"""Concept → pattern of the words by which prose names it."""


class ObservationDraft(Struct, frozen=True):
    """The draft of an observation: one use told, before those of a batch become one.

    Attributes:
        type: Type of the observation.
        verb: Word that opens the title: Read, Run, Fix, …
        subject: The title after the verb.
        parts: Sentences of the narrative, in order, without the purpose of the prompt; empty ones do not count.
        subtitle: One line that says more.
        facts: Single statements, each for itself.
        concepts: Names of concepts, of the known ones.
        files_read: Files that the use read, as of an observation.
        files_modified: Files that the use changed, as of an observation.
        place: File of an edit, to join batches of edits of one file; empty for other uses.
    """

    type: ObservationType
    verb: str
    subject: str
    parts: Sequence[str]
    subtitle: str = ""
    facts: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    files_read: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    place: str = ""


def clip(text: str, max_chars: int) -> str:
    """Cut a text to one line of at most that many characters; `…` at a word's border stands for the rest.

    A back-tick that was opened in what is left is closed, where there is room.
    """
    text = one_line(text)
    if len(text) <= max_chars:
        return text
    if max_chars <= 1:
        return text[:max_chars]
    head = text[: max_chars - 1]
    border = max(head.rfind(mark) for mark in " ,;:/.(")
    head = head[:border] if border > max_chars * 0.6 else head
    head = head.rstrip(" ,;:.(-—→`")
    return head + ("`" if head.count("`") % 2 and len(head) + 2 <= max_chars else "") + "…"


def squeeze(name: str, max_chars: int) -> str:
    """Return a name or path of at most that many characters, the middle left out."""
    name = one_line(name)
    if len(name) <= max_chars:
        return name
    tail = max(4, (max_chars - 1) // 2)
    return name[: max_chars - 1 - tail] + "…" + name[-tail:]


def code(text: str, max_chars: int = 60) -> str:
    """Return a short piece of code in back-ticks."""
    return f"`{clip(text.replace('`', ''), max_chars)}`"


def base(path: str, max_chars: int = 44) -> str:
    """Return the name of a file, shortened in the middle; with its folder where the name says little."""
    parts = [part for part in path.rstrip("/").split("/") if part]
    if not parts:
        return path
    name = parts[-1]
    if len(parts) > 1 and (name in _PLAIN_FILES or len(name) <= 6):
        name = f"{parts[-2]}/{name}"
    return squeeze(name, max_chars)


def listed(names: Iterable[str], max_chars: int, *, total: int = 0) -> str:
    """Join names by commas, each once, as many as there is room for; `+N` stands for the rest.

    The first name is always there, clipped if it must be. Empty without a name.

    Args:
        names: Names in order; empty ones do not count.
        max_chars: Room for the text; a long first name with `+N` may pass it by a few characters.
        total: Number of the names, if more are known than given.
    """
    every = list(dict.fromkeys(name for name in names if name))
    rest, shown = max(total, len(every)), ""
    for name in every:
        longer = f"{shown}, {name}" if shown else name
        if not shown or len(longer) + (len(f", +{rest - 1}") if rest > 1 else 0) <= max_chars:
            shown, rest = longer, rest - 1
    more = f", +{rest}" if rest and shown else ""
    return clip(shown, max(max_chars - len(more), 8)) + more


def sentences(text: str) -> list[str]:
    """Return the sentences and paragraphs of a text, each on one line."""
    return [line for part in _SENTENCE_END.split(text) if (line := one_line(part))]


def first_sentence(text: str) -> str:
    """Return the first sentence or paragraph of a text on one line; empty for a blank text."""
    return next(iter(sentences(text)), "")


def terms_of(text: str) -> frozenset[str]:
    """Return the terms of a text that count when lines to show are chosen."""
    return frozenset(term for term in part_terms(text[:4_000]) if len(term) > 2 and term not in FUNCTION_WORDS)


def telling(lines: Sequence[str], wanted: frozenset[str], n: int, *, max_chars: int = 160) -> list[str]:
    """Return the lines that share most with what is wanted, in their order, at most `n`, each clipped and once.

    A wanted term that many lines have counts less. Lines that share nothing are left out, so the list may be empty;
    only the first 800 lines are looked at.
    """
    # A term is a stem: being in the line is enough, and cheap on long files.
    heads = [line[:300].lower() for line in lines[:_MAX_LINES]]
    terms = [[term for term in wanted if term in head] for head in heads]
    counts = Counter(chain.from_iterable(terms))
    scores = [fsum(1 / counts[term] ** 0.5 for term in found) for found in terms]
    best = sorted((number for number, score in enumerate(scores) if score > 0), key=lambda number: -scores[number])
    shown: dict[str, int] = {}
    for number in best[: n * 3]:
        shown.setdefault(clip(lines[number], max_chars), number)
        if len(shown) == n:
            break
    return sorted(shown, key=shown.__getitem__)


def is_comment(line: str) -> bool:
    """Return whether a line is a comment by its first characters, in most languages; an attribute is none."""
    line = line.lstrip()
    if line.startswith(("#[", "#!", "#include", "#define", "#if", "#end", "#else", "--- ", "*args", "**")):
        return False
    return line.startswith(("//", "#", "/*", "* ", "*/", "-- ", ";;", "<!--", '"""', "'''"))


def comment_text(lines: Iterable[str]) -> str:
    """Return the prose of comment lines, without marks and examples of code; empty for a licence."""
    parts: list[str] = []
    is_example = False
    for line in lines:
        text = _COMMENT.sub("", line.strip()).strip().removesuffix("*/").removesuffix("-->").strip(" \"'")
        if text.startswith("```"):
            is_example = not is_example
        elif not is_example and text and not set(text) <= set("-=*#/ "):
            parts.append(text)
    text = one_line(" ".join(parts))
    return "" if _LICENCE.search(text[:_LICENCE_CHARS]) else text


def remarks(lines: Sequence[str]) -> str:
    """Return the prose of the comments among some lines, each block of them once and as a sentence of its own."""
    blocks = [list(block) for of_comments, block in groupby(lines, is_comment) if of_comments]
    texts = once(map(comment_text, blocks))
    return " ".join(f"{text}." if text[-1].isalnum() or text[-1] in ")`" else text for text in texts)


def once(items: Iterable[str]) -> tuple[str, ...]:
    """Return each item once, in order, without empty ones."""
    return tuple(dict.fromkeys(item for item in items if item))


def concepts_of_text(text: str) -> list[str]:
    """Return the concepts that prose, such as a comment, names by its words."""
    return [concept for concept, pattern in _CONCEPTS.items() if pattern.search(text)]
