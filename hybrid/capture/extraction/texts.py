"""Says in few words what a text says, and so tells of reads and searches; clips, lists and joins for all tellers. Pure.

A read tells what a file or a part of it says, a search what was searched for and what was hit.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import chain, dropwhile, groupby, takewhile
from math import fsum
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.base.text import one_line
from hybrid.base.tokens import FUNCTION_WORDS, part_terms
from hybrid.capture.definitions import DefinitionLine, definitions, is_prose
from hybrid.records.memory.types import MAX_TITLE_CHARS, NOTHING_FOUND
from hybrid.render.numbers import amount

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from hybrid.capture.tools import ToolUse
    from hybrid.records.memory.types import ObservationType


_MAX_LINES = 800
_LEAST_TELLING = 10
"""Letters and digits of the shortest line of code that says something in a title."""

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
        is_failed: A command that failed.
        is_vain: A search that found nothing.
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
    is_failed: bool = False
    is_vain: bool = False


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
    opened = head.rfind("(")
    if ")" not in head[opened:] and opened > max_chars * 0.6 and "`" not in head[opened:]:
        head = head[:opened]  # A remark that has just begun.
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


# --- Reads -----------------------------------------------------------------------------------------------------------

_SHORT_LINES = 30
_DEEPEST = 9
"""Columns of indent up to which definitions are told; what is further in is text within text, or of no interest."""

_HEADS = ("source: ", "expression: ", "---", "snapshot_kind: ", "input_file: ", "import ", "from ", "use ")
_ATTRIBUTES = ("#[", "@", "pub use", "///", "//", "#", "*", "/*")


def tell_read(use: ToolUse, prompt: str) -> ObservationDraft | None:
    """Return a draft of what a read showed, or of why it failed; None when no file is known."""
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
    best = [line.lstrip("/#* ") or line for line in best if sum(map(str.isalnum, line)) >= _LEAST_TELLING]
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


# --- Searches --------------------------------------------------------------------------------------------------------

_MAX_HIT_FILES = 5
_LONGEST_LINE = 400
_LONG_FOLDER = 28
_SUFFIX = re.compile(r"[*.]")
_PATH = r"(?P<path>(?:[\w.@$~+-]*/)*[\w.@$+ -]*\w\.[A-Za-z]\w{0,9}|(?:[\w.@$~+-]+/)+[\w.@$+-]+)"
_HIT = re.compile(
    rf"^(?:\s*\d+\. )?{_PATH}(?P<mark>[:-])(?P<line>\d+)(?:[:-]\d+)?"
    r"(?:[:-](?P<text>.*)|\s+\((?P<name>[^)\n]+)\)\s*|\s*)$"
)
_FILE = re.compile(rf"^(?:\./)?{_PATH}(?::(?P<text>.*))?$")
_NUMBERED = re.compile(r"^(?P<line>\d+)(?P<mark>[:-])(?P<text>.*)$")
_NONE = re.compile(r"(?i)^\s*(?:no (?:files?|matches|results?)(?: found)?|0 (?:matches|results|files)|found 0 \w+)\b")


class SearchMatch(Struct, frozen=True):
    """One place that a search found.

    Attributes:
        path: Path of the file.
        line: Number of the line, from 1; 0 for the file as a whole.
        text: Text of the line; empty when it was not printed.
        is_context: Whether the line only stands around a match.
    """

    path: str
    line: int
    text: str
    is_context: bool = False


class SearchRun(Struct, frozen=True):
    """A search and what it printed.

    Attributes:
        query: Pattern or words.
        output: The text that was printed.
        scope: Folder or kind of files, for the title; empty for all.
        file: The one file that was searched; empty for several.
        tool: Name of the tool, for the narrative.
        error: Text of the failure; empty without one.
    """

    query: str
    output: str
    scope: str = ""
    file: str = ""
    tool: str = ""
    error: str = ""


class _Result(Struct, frozen=True):
    """The content of a search's output.

    Attributes:
        matches: All matches, in order.
        files: The files of the matches, each once.
        text: Lines that are not blank, of an output without a match.
    """

    matches: list[SearchMatch]
    files: tuple[str, ...]
    text: list[str]

    @property
    def lines(self) -> list[SearchMatch]:
        """The matches that are single lines, without context lines and whole files."""
        return [match for match in self.matches if match.line and not match.is_context]


def matches_of(output: str, file: str = "") -> list[SearchMatch]:
    """Return the places in the output of a search, in order.

    Args:
        output: `path:line:text`, `line:text` of one file, or names of files; other lines are passed over, and all
            after the first 2,000.
        file: The one file that was searched.
    """
    matches: list[SearchMatch] = []
    for whole in output.split("\n")[:2_000]:
        line = whole[:_LONGEST_LINE]
        numbered = _NUMBERED.match(line) if file else None
        if numbered:
            is_context = numbered["mark"] == "-"
            matches.append(SearchMatch(file, int(numbered["line"]), numbered["text"].strip(), is_context))
        elif hit := _HIT.match(line):
            text = (hit["text"] or hit["name"] or "").strip()
            matches.append(SearchMatch(hit["path"].strip(), int(hit["line"]), text, hit["mark"] == "-"))
        elif (named := _FILE.match(line.strip())) and " " not in named["path"]:
            matches.append(SearchMatch(named["path"], 0, (named["text"] or "").strip()))
    return matches


def tell_search(use: ToolUse, prompt: str) -> ObservationDraft | None:
    """Return a draft of what a search by a tool found, also when that is nothing; None without a pattern."""
    if not use.query.strip():
        return None
    scope = next(iter(use.files_read), "")
    file = scope if "." in scope.rpartition("/")[2] else ""
    where = squeeze(base(file) if file else folder_name(scope), 40) if scope and scope != "." else ""
    only = use.description
    where = where or (f"{only} files" if only and not _SUFFIX.search(only) else only)
    return draft_of_search(SearchRun(use.query, use.output, where, file, use.tool, use.error), prompt)


def draft_of_search(search: SearchRun, prompt: str) -> ObservationDraft:
    """Return a draft of what a search found, also when a command searched."""
    query, scope, file, output = search.query, search.scope, search.file, search.output
    is_nothing = not output.strip() or _NONE.match(output) is not None
    matches = [] if search.error or is_nothing else matches_of(output, file)
    files = once(match.path for match in matches)
    result = _Result(matches, files, [] if matches else [line for line in output.split("\n") if line.strip()])
    ended = clip(search.error, 60) if search.error else NOTHING_FOUND if is_nothing else ""
    brief = ended or _brief(result, bool(file))
    verb = "Find" if search.tool.lower() in ("glob", "find", "fd", "file_search") else "Search"
    place = f" in {scope}" if scope and scope not in query else ""
    room = MAX_TITLE_CHARS - len(verb) - len(place) - len(": ") - 3 - min(len(brief), 34)
    pattern = query if len(query) <= room or verb == "Search" else _last_parts(query, room)
    searched = f"Searched {file or scope or 'the project'} for {code(query, 200)}"
    tool = f" with {search.tool}" if search.tool else ""
    shown = [match for match in result.lines if match.text][:4]
    return ObservationDraft(
        type="discovery",
        verb=verb,
        subject=f"{code(pattern, max(room, 24))}{place}: {brief}",
        parts=[f"{searched}{tool}: {ended or _count(result)}.", *_findings(result, terms_of(f"{query} {prompt}"))],
        facts=once([f"{clip(query, 80)}: {brief}", *(f"{m.path}:{m.line} {clip(m.text, 100)}" for m in shown)]),
        concepts=("gotcha",) if search.error else ("how-it-works",) if matches else (),
        files_read=once([file, *files]) if len(files) <= _MAX_HIT_FILES else once([file]),
        is_vain=is_nothing and not search.error,
    )


def folder_name(path: str) -> str:
    """Return the last part of a folder's path, or the last two where these are short."""
    parts = path.rstrip("/").split("/")
    return parts[-1] if len("/".join(parts[-2:])) > _LONG_FOLDER else "/".join(parts[-2:])


def _last_parts(pattern: str, room: int) -> str:
    """Return the end of a pattern of paths, from a folder on, as far as there is room."""
    parts = pattern.split("/")
    while len(parts) > 1 and len("/".join(parts)) > room - 2:
        parts = parts[1:]
    return "…/" + "/".join(parts)


def _count(result: _Result) -> str:
    if not result.matches:
        return "this came back"
    files, lines = len(result.files), len(result.lines)
    n_files = f"{files} file{'s' * (files != 1)}"
    return f"{lines} line{'s' * (lines != 1)} in {n_files}" if lines else n_files


def _brief(result: _Result, is_one_file: bool) -> str:
    """Return what a search found in a few words: lines of one file, names of several, or the first line printed."""
    files = result.files
    if len(files) == 1:
        lines = [str(match.line) for match in result.lines]
        if is_one_file and lines:
            return f"line{'s' * (len(lines) != 1)} {listed(lines, 24)}"
        where = f":{lines[0]}" if len(lines) == 1 else f" lines {listed(lines, 16)}" if lines else ""
        return base(files[0]) + where
    if files:
        return f"{len(files)} files, {listed(map(base, files), 60)}"
    return clip(result.text[0], 60) if result.text else "no lines"


def _findings(result: _Result, wanted: frozenset[str]) -> list[str]:
    """Return the sentences of a search's narrative: the files, and the matches or printed lines that say most."""
    files, text = result.files, result.text
    is_one = len(files) == 1
    found = [match for match in result.matches if match.text]
    shown = [f"{'' if is_one else f'{match.path}:'}{match.line} {match.text}" for match in found]
    return [
        f"All in {files[0]}." if is_one else f"Files: {listed(files, 320 if shown else 640)}." if files else "",
        f"Lines: {' / '.join(telling(shown, wanted, 8, max_chars=130) or shown[:8])}" if shown else "",
        f"Text: {' / '.join(telling(text, wanted, 6, max_chars=130) or text[:6])}" if text else "",
    ]
