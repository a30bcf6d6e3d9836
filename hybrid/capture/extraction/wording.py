"""Small pieces of wording that titles and narratives are made of: clipped texts, names of files, the purpose. Pure."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING

from msgspec import Struct, field

from hybrid.base.tokens import FUNCTION_WORDS, part_terms

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hybrid.records.memory.types import ObservationType

NARRATIVE_CHARS = 1_200
PURPOSE_CHARS = 110
_MAX_LINES = 800

_SPACES = re.compile(r"\s+")
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
_BECAUSE = re.compile(r"(?i)\b(?:because|since|so that|otherwise|in order to|to avoid|reason|must|why)\b")
_TRADING = re.compile(
    r"(?i)\b(?:trade-?offs?|at the cost of|slower but|faster but|instead of|rather than|compromise)\b"
)
_PATTERN = re.compile(r"(?i)\b(?:pattern|convention|idiom|always|never|as elsewhere|the same way as|best practice)\b")
_POLITE = re.compile(r"(?i)^(?:please|can you|could you|now|ok(?:ay)?|hi|hello|hey|then|also|so|and)[,:]?\s+")


class ObservationDraft(Struct, frozen=True):
    """The draft of an observation: one use told, before those of a batch become one.

    Attributes:
        type: Type of the observation.
        verb: Word that opens the title: Read, Run, Fix, …
        subject: The title after the verb.
        narrative: One or more sentences, at most `NARRATIVE_CHARS`.
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
    narrative: str
    subtitle: str = ""
    facts: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()
    files_read: tuple[str, ...] = ()
    files_modified: tuple[str, ...] = ()
    place: str = field(default="")


def one_line(text: str) -> str:
    """Return text with every run of white space made one space."""
    return _SPACES.sub(" ", text).strip()


def clip(text: str, max_chars: int) -> str:
    """Cut a text to one line of at most that many characters; `…` at a word's border stands for the rest."""
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
    """Join names by commas, as many as there is room for; `+N` stands for the rest."""
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


def purpose(prompt: str, max_chars: int = PURPOSE_CHARS) -> str:
    """Return the gist of a prompt: its first sentence that says something."""
    for sentence in sentences(prompt[:4_000]):
        sentence = _POLITE.sub("", sentence)
        if len(sentence) >= 15:
            return clip(sentence, max_chars)
    return clip(prompt[:400], max_chars)


def reason(prompt: str) -> str:
    """Return `For: ` and the purpose of the prompt, which ends the narrative; empty without a prompt."""
    return f"For: {purpose(prompt)}" if prompt.strip() else ""


def terms_of(text: str) -> frozenset[str]:
    """Return the terms of a text that count when lines to show are chosen."""
    return frozenset(term for term in part_terms(text[:4_000]) if len(term) > 2 and term not in FUNCTION_WORDS)


def telling(lines: Sequence[str], wanted: frozenset[str], n: int, *, max_chars: int = 160) -> list[str]:
    """Return the lines that share most with what is wanted, at most `n`, in order; terms in many lines count less."""
    of_line: list[tuple[str, list[str]]] = []
    for line in lines[:_MAX_LINES]:
        low = line[:300].lower()  # A term is a stem: being in the line is enough, and cheap on long files.
        of_line.append((line, [term for term in wanted if term in low]))
    counts: dict[str, int] = {}
    for _, terms in of_line:
        for term in terms:
            counts[term] = counts.get(term, 0) + 1
    scored = [(sum(1 / counts[term] ** 0.5 for term in terms), -number) for number, (_, terms) in enumerate(of_line)]
    best = sorted((score for score in scored if score[0] > 0), reverse=True)[: n * 3]
    shown: dict[str, int] = {}
    for _, number in best:
        shown.setdefault(clip(of_line[-number][0], max_chars), -number)
        if len(shown) == n:
            break
    return [line for line, _ in sorted(shown.items(), key=lambda score: score[1])]


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


def joined(parts: Iterable[str], max_chars: int = NARRATIVE_CHARS) -> str:
    """Join sentences to one text, as many as fit; the one that does not is clipped."""
    text = ""
    for part in parts:
        part = one_line(part)
        if not part:
            continue
        room = max_chars - len(text) - bool(text)
        if len(part) > room:
            if room < 60:
                break
            part = clip(part, room)
        text = f"{text} {part}" if text else part
    return text


def once(items: Iterable[str]) -> tuple[str, ...]:
    """Return each item once, in order, without empty ones."""
    return tuple(dict.fromkeys(item for item in items if item))


def concepts_of_text(text: str) -> tuple[str, ...]:
    """Return the concepts that prose, such as a comment, names by its words."""
    concepts = [
        "why-it-exists" if _BECAUSE.search(text) else "",
        "trade-off" if _TRADING.search(text) else "",
        "pattern" if _PATTERN.search(text) else "",
    ]
    return once(concepts)
