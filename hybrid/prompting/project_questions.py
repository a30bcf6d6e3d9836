"""Recognises questions about the project itself, and tells which files answer them; the rules and the ranker call it.

"How do I run the tests here?" means a page, a Makefile or a workflow, while its words stand in code everywhere. And it
tells that a prompt such as "refactor client.py" says nothing beside the file, so that it is about the file as a whole.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import tomli
from msgspec import Struct

from hybrid.base.text import compiled
from hybrid.base.tokens import FUNCTION_WORDS, part_terms, query_tokens
from hybrid.prompting.content import content_words

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

_TABLES_FILE = Path(__file__).with_name("project_questions.toml")
_MOST_CHARS = 200
"""Characters of the longest question about a project: a longer prompt says itself what it is about."""
_DEEPEST = 3
"""Folders above a file that answers, at most."""
_ASKS = (
    r"\b(?:how|what|which|where|who|there|steps|instructions|overview|summar\w+|explain|describe|tell|introduc\w+)\b"
)
_OF_A_FILE = """
refactor refactoring explain explanation split review clean cleanup up document documentation rename port rewrite
simplify describe description summarize summarise summary outline overview understand read look open show tell give
improve modernize modernise restructure reorganize reorganise audit check convert migrate translate optimize optimise
speed move delete remove replace test lint format reformat fix update change edit add write make need want like think
about help please let take go through over walk work structure inside purpose content contain define definition export
exist happen responsible role file module code class function method component package source script page header
docstring comment type hint annotation bug issue problem readability readable performance usage unit coverage smaller
small several part piece whole entire full all each every any some first new now also better good big long large too
much more just not no here there project repo repository am me one two
"""
"""Words of a task or a question that say nothing about a part of the file that it names."""
_AT = r"^(?:\.github/|docs?/(?:[^/]+/){0,2})?"
_PAGE = r"(?:\.(?:md|mdx|rst|adoc|txt|markdown|org|rdoc|textile))?$"


class _Topic(Struct, frozen=True):
    """A topic of questions about a project.

    Attributes:
        asks: Patterns; a question has all of them.
        words: Words; a question has no telling word but these and those of `_Tables.common`.
        files: Kind of file → how likely such a file answers, in (0, 1].
        terms: Words; a file that answers has one of them.
        telling: Kinds of files that answer whatever words they have.
    """

    asks: tuple[str, ...]
    words: str
    files: dict[str, float]
    terms: str
    telling: tuple[str, ...] = ()


class _Tables(Struct, frozen=True):
    """The tables of `project_questions.toml`, which says what they mean."""

    never: str
    common: str
    forms: dict[str, str]
    topics: dict[str, _Topic]
    files: dict[str, tuple[str, ...]]


@cache
def _tables() -> _Tables:
    return msgspec.convert(tomli.loads(_TABLES_FILE.read_text(encoding="utf-8")), _Tables)


@cache
def _words(topic: str) -> frozenset[str]:
    return frozenset(part_terms(f"{_tables().common} {_tables().topics[topic].words}"))


@cache
def _asks(topic: str) -> tuple[re.Pattern[str], ...]:
    def written_out(pattern: str) -> str:
        return re.sub(r"HOW|WHAT|HERE|RUNTIME", lambda form: _tables().forms[form.group()], pattern)

    return tuple(re.compile(written_out(pattern), re.IGNORECASE) for pattern in _tables().topics[topic].asks)


@cache
def _paths(kinds: Sequence[str]) -> re.Pattern[str]:
    every = "|".join(pattern for kind in kinds for pattern in _tables().files[kind])
    return re.compile(every.replace("AT", _AT).replace("PAGE", _PAGE), re.IGNORECASE)


@lru_cache(1 << 6)
def topic_of(text: str) -> str:
    """Return the topic of a question about the project itself, such as `tests`; empty for any other text."""
    if len(text) > _MOST_CHARS or not compiled(_ASKS, re.IGNORECASE).search(text):
        return ""
    telling = frozenset(part_terms(content_words(text).lower()))
    for name in _tables().topics:
        if telling <= _words(name) and all(pattern.search(text) for pattern in _asks(name)):
            return "" if compiled(_tables().never, re.IGNORECASE).search(text) else name
    return ""


def said_beside(text: str, paths: Iterable[str]) -> frozenset[str]:
    """Return the index terms of a prompt that may say which part of a file is meant, without the paths that it has."""
    for path in paths:
        text = text.replace(path, " ")
    said = frozenset(query_tokens(text)) - _terms_of_tasks() - frozenset(part_terms(" ".join(paths)))
    return frozenset(term for term in said if not term.isdecimal())


@cache
def _terms_of_tasks() -> frozenset[str]:
    return frozenset(part_terms(" ".join((_OF_A_FILE, *FUNCTION_WORDS))))


def may_answer(path: str) -> bool:
    """Return whether a file may answer a question about the project, by its path."""
    return path.count("/") <= _DEEPEST and _paths(tuple(_tables().files)).search(path) is not None


def files_that_answer(topic: str, paths: Mapping[int, str], holding: Container[int]) -> dict[int, float]:
    """Return file → how likely it answers a question about the project, in (0, 1]; files that do not are left out.

    Args:
        topic: As `topic_of` gives it.
        paths: File → path, of the files that may answer any question.
        holding: The files with one of `terms_of`.
    """
    asked, found = _tables().topics[topic], dict[int, float]()
    for kind, worth in asked.files.items():
        for file, path in paths.items():
            if (kind in asked.telling or file in holding) and _paths((kind,)).search(path):
                found[file] = max(found.get(file, 0.0), worth)
    return found


def terms_of(topic: str) -> frozenset[str]:
    """Return the index terms of which a file that answers a question of a topic has one; empty when any will do."""
    return frozenset(part_terms(_tables().topics[topic].terms))
