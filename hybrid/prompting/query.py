"""Makes the query of a prompt: its text cut to size, and what in it names code; the engine and the commands call it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from hybrid.prompting import symbols

MAX_NAMES = 50
"""Identifiers and paths of one query that are kept: a pasted log names hundreds, and the first ones matter."""

_HEAD_SHARE = 0.7
_JOINT = "\n…\n"
_SYMBOL_QUERY_WORDS = 6
_NAME = re.compile(r"[A-Za-z_$@][\w$]*[!?]?")
_EDGES = "\"'`.,;:!?()[]{}<>*"
# Words people put around a name when all they want is to find it.
_AROUND_NAMES = frozenset(
    """
    where is are the a an what does do find show me definition of defined class function method def fn func struct
    enum interface trait type module file in and or for how to usage usages use used call calls callers test tests
    """.split()
)


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched for.

    Attributes:
        text: Of the prompt; at most the limit, in characters.
        is_symbol_like: True for a short query of little else than identifiers and paths; it leans lexical.
        identifiers: In order of appearance, each once.
        paths: The same for paths and file names.
    """

    text: str
    is_symbol_like: bool
    identifiers: tuple[str, ...]
    paths: tuple[str, ...]


def make_query(cleaned_text: str, limit_chars: int = 5_000) -> Query:
    """The query of a cleaned prompt.

    A longer prompt keeps its beginning (70 %) and its end, cut at word borders: what is asked stands at either.
    A single word counts as an identifier whatever its spelling.
    """
    text = _cut(cleaned_text, limit_chars)
    names, found_paths = symbols.identifiers(text), symbols.paths(text)
    alone = text.strip().strip(_EDGES)
    if not names and not found_paths and _NAME.fullmatch(alone):
        names = (alone,)
    return Query(text, _is_symbol_like(text, names, found_paths), names[:MAX_NAMES], found_paths[:MAX_NAMES])


def _cut(text: str, limit_chars: int) -> str:
    if len(text) <= limit_chars:
        return text
    room = limit_chars - len(_JOINT)
    if room < 2:
        return text[: max(0, limit_chars)]
    head_chars = int(room * _HEAD_SHARE)
    head, tail = text[: head_chars + 1], text[-(room - head_chars + 1) :]
    return _up_to_space(head).rstrip() + _JOINT + _from_space(tail).lstrip()


def _up_to_space(text: str) -> str:
    """Without the word that the cut broke; the last character only says whether one was. One giant word is cut hard."""
    border = max(text.rfind(" "), text.rfind("\n"))
    return text[:border] if border > len(text) // 2 else text[:-1]


def _from_space(text: str) -> str:
    borders = [border for border in (text.find(" "), text.find("\n")) if border >= 0]
    border = min(borders, default=len(text))
    return text[border:] if border < len(text) // 2 else text[1:]


def _is_symbol_like(text: str, names: tuple[str, ...], found_paths: tuple[str, ...]) -> bool:
    words = text.split()
    if not (names or found_paths) or len(words) > 2 * _SYMBOL_QUERY_WORDS:
        return False
    telling = [word for word in (word.strip(_EDGES) for word in words) if word.lower() not in _AROUND_NAMES and word]
    known = {*names, *found_paths}
    n_known = sum(word in known or word.lstrip("@") in known for word in telling)
    return len(telling) <= _SYMBOL_QUERY_WORDS and 3 * n_known >= 2 * len(telling) and n_known > 0
