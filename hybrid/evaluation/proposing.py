"""Proposes judged queries from a project's own comments, headings and names; `hybrid eval init` calls it.

A comment's first sentence asks for what it explains, a heading for its section, a name for its definition. What a query
was made of is held out, so that it is not found by its own words.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from pathlib import PurePosixPath
from random import Random
from typing import TYPE_CHECKING

from msgspec import Struct

from hybrid.chunking.chunker import chunk_document
from hybrid.chunking.prose import headings_of
from hybrid.evaluation.measures import Passage
from hybrid.evaluation.remarks import is_docstring, is_remark, n_words, question_of, without_markup
from hybrid.index.roles import bit, roles
from hybrid.redact import mask
from hybrid.types import Skipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeVar

    from hybrid.types import ChunkLimits, Definition, Document, LineSpan, Source

    T = TypeVar("T")

_SHARES = {"semantic": 0.5, "heading": 0.25, "symbol": 0.25}
"""Categories with their share of the proposals; what one lacks, the others give, in this order."""
_NOT_ASKED_FOR = sum(map(bit, ("test", "example", "generated", "vendored", "legacy")))
_SEED = 7
_FEWEST_TITLE_WORDS = 2
_FEWEST_NAME_CHARS = 4
_FEWEST_SECTION_CHARS = 120
_LEADS = ("@", "#[", "[", "template")
"""Beginnings of lines that may stand between a comment and what it explains."""
_NO_PROSE = re.compile(r"change|history|news|release|licen[cs]e|author|contributor|conduct|security", re.IGNORECASE)
_VERSION = re.compile(r"\d[.\-/]\d")
_NAME = re.compile(r"[A-Za-z]\w*\Z")


class Proposal(Struct, frozen=True):
    """A query that a project asks of itself.

    Attributes:
        query: As it will be asked.
        category: semantic, heading or symbol.
        language: Of the file.
        target: What answers it.
        held_out: Lines that it was made of; None for a symbol, whose name is what is asked.
    """

    query: str
    category: str
    language: str
    target: Passage
    held_out: Passage | None = None


def propose(source: Source, limits: ChunkLimits, *, n: int, seed: int = _SEED) -> list[Proposal]:
    """Queries spread over languages and folders, in order of category and path; the same for the same files and seed.

    Tests, examples and what is generated or vendored are not asked for. A text that two places share is not asked.

    Args:
        source: Of the project's documents.
        limits: Of chunks.
        n: How many at most.
        seed: Of the choice among those that are alike.
    """
    found = _unambiguous(itertools.chain.from_iterable(_of_document(each, limits) for each in _documents(source)))
    by_category = {category: [each for each in found if each.category == category] for category in _SHARES}
    spread = {category: _spread(each, Random(seed)) for category, each in by_category.items()}
    chosen = {category: each[: int(n * _SHARES[category])] for category, each in spread.items()}
    for category, each in spread.items():
        room = n - sum(map(len, chosen.values()))
        chosen[category] += each[len(chosen[category]) :][: max(0, room)]
    rows = itertools.chain.from_iterable(chosen.values())
    order = list(_SHARES)
    return sorted(rows, key=lambda each: (order.index(each.category), each.target.path, each.target.start_line or 0))


def _documents(source: Source) -> Iterator[Document]:
    for found in source.scan():
        if roles(found.path, ()) & _NOT_ASKED_FOR or not found.path.isprintable():
            continue
        document = source.read(found)
        if not isinstance(document, Skipped):
            yield document


def _of_document(document: Document, limits: ChunkLimits) -> Iterator[Proposal]:
    chunked = chunk_document(document, limits)
    definitions = [each for chunk in chunked.chunks for each in chunk.definitions]
    lines = mask(document.text).split("\n")
    if chunked.method == "headings":
        yield from _of_headings(document, lines)
    elif chunked.method == "definitions":
        comments = [each for chunk in chunked.chunks for each in chunk.comments]
        yield from _of_remarks(document, lines, definitions, comments)
        yield from _of_names(document, definitions)


# --- comments and docstrings -------------------------------------------------------------------------------


def _of_remarks(
    document: Document, lines: Sequence[str], definitions: Sequence[Definition], comments: Sequence[LineSpan]
) -> Iterator[Proposal]:
    by_end = {comment.end_line: comment for comment in comments}
    by_start = {comment.start_line: comment for comment in comments}
    for definition in definitions:
        if definition.is_value:
            continue
        span = _docstring(definition, lines, by_start) or _leading(definition, lines, by_end)
        if span is None or not is_remark(lines[span.start_line - 1 : span.end_line]):
            continue
        query = question_of(lines[span.start_line - 1 : span.end_line], definition.name)
        if query:
            target = Passage(document.path, definition.start_line, definition.end_line)
            held_out = Passage(document.path, span.start_line, span.end_line)
            yield Proposal(query, "semantic", document.language, target, held_out)


def _docstring(definition: Definition, lines: Sequence[str], by_start: dict[int, LineSpan]) -> LineSpan | None:
    """The string right below the head of a definition, when something else follows it."""
    for number in range(definition.start_line + 1, definition.end_line):
        if lines[number - 2].rstrip().endswith(":"):
            span = by_start.get(number)
            is_whole = span is not None and span.end_line < definition.end_line and is_docstring(lines[number - 1])
            return span if is_whole else None
    return None


def _leading(definition: Definition, lines: Sequence[str], by_end: dict[int, LineSpan]) -> LineSpan | None:
    """The comment that ends right above a definition, or above its decorators."""
    above = definition.start_line - 1
    while above > 0 and lines[above - 1].lstrip().startswith(_LEADS) and above not in by_end:
        above -= 1
    return by_end.get(above)


# --- headings and names ------------------------------------------------------------------------------------


def _of_headings(document: Document, lines: Sequence[str]) -> Iterator[Proposal]:
    if _NO_PROSE.search(PurePosixPath(document.path).name):
        return
    headings = headings_of(lines, document.language)
    ends = [*(heading.start_line - 1 for heading in headings[1:]), len(lines)]
    for heading, end in zip(headings, ends, strict=True):
        title = without_markup(heading.title).strip(" #:.")
        body = "\n".join(lines[heading.end_line : end]).strip()
        if n_words(title) < _FEWEST_TITLE_WORDS or len(body) < _FEWEST_SECTION_CHARS or _VERSION.search(title):
            continue
        target = Passage(document.path, heading.end_line + 1, end)
        held_out = Passage(document.path, heading.start_line, heading.end_line)
        yield Proposal(title, "heading", document.language, target, held_out)


def _of_names(document: Document, definitions: Iterable[Definition]) -> Iterator[Proposal]:
    for definition in definitions:
        name = definition.name
        if definition.is_full and len(name) >= _FEWEST_NAME_CHARS and _NAME.match(name):
            target = Passage(document.path, definition.start_line, definition.end_line)
            yield Proposal(name, "symbol", document.language, target)


# --- choice ------------------------------------------------------------------------------------------------


def _unambiguous(proposals: Iterable[Proposal]) -> list[Proposal]:
    """Those whose query no other one of their category asks."""
    found = list(proposals)
    counts = Counter((each.category, each.query.lower()) for each in found)
    return [each for each in found if counts[each.category, each.query.lower()] == 1]


def _spread(proposals: Sequence[Proposal], random: Random) -> list[Proposal]:
    """All of them, so ordered that any beginning holds languages, then folders, then files in equal shares."""
    return _in_turn(proposals, [lambda each: each.language, _folder, lambda each: each.target.path], random)


def _folder(proposal: Proposal) -> str:
    return "/".join(PurePosixPath(proposal.target.path).parts[:-1][:2])


def _in_turn(entries: Sequence[T], keys: Sequence[Callable[[T], str]], random: Random) -> list[T]:
    if not keys:
        return random.sample(entries, len(entries))
    groups: dict[str, list[T]] = defaultdict(list)
    for entry in entries:
        groups[keys[0](entry)].append(entry)
    ordered = [_in_turn(groups[name], keys[1:], random) for name in sorted(groups)]
    random.shuffle(ordered)
    return [entry for row in itertools.zip_longest(*ordered) for entry in row if entry is not None]
