"""Makes the query of a prompt: its text cut to size, and what in it names code; the engine and the commands call it."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from hybrid.prompting import symbols, traces
from hybrid.prompting.passages import Passage, passages
from hybrid.prompting.traces import Place
from hybrid.tokens import query_tokens

MAX_NAMES = 50
"""Identifiers and paths of one query that are kept: a pasted log names hundreds, and the first ones matter."""

OUTSIDE = 0.2
"""What a word counts outside of the part of a prompt that says what is asked."""

_LOOKED_AT = 8
"""Times the limit that is looked at of a longer prompt; without what programs printed, it may well fit."""

_TELLING = 0.4
_HEAD_SHARE = 0.7
_FEW_TERMS = 4
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
        places: In code, which the prompt points at: of each trace the frame that failed first, then the other paths.
        passages: Of the text, with what their words count.
        focus: What says most: the text to embed.
    """

    text: str
    is_symbol_like: bool
    identifiers: tuple[str, ...]
    paths: tuple[str, ...]
    places: tuple[Place, ...] = ()
    passages: tuple[Passage, ...] = ()
    focus: str = ""


def make_query(cleaned_text: str, limit_chars: int = 5_000) -> Query:
    """The query of a cleaned prompt.

    A longer prompt loses what programs printed, then its middle: it keeps its beginning (70 %) and its end, cut at word
    borders, since what is asked stands at either.
    A single word counts as an identifier whatever its spelling.
    """
    text = _shortened(cleaned_text, limit_chars)
    names, found_paths = symbols.identifiers(text), symbols.paths(text)
    # A trace fails at its end, which a cut text may lack.
    found_places = _with_paths(traces.places(cleaned_text), found_paths[:MAX_NAMES])
    alone = text.strip().strip(_EDGES)
    if not names and not found_paths and _NAME.fullmatch(alone):
        names = (alone,)
    is_symbol_like = _is_symbol_like(text, names, found_paths)
    parts = passages(text)
    return Query(
        text, is_symbol_like, names[:MAX_NAMES], found_paths[:MAX_NAMES], found_places, parts, _focus(text, parts)
    )


def _focus(text: str, parts: tuple[Passage, ...]) -> str:
    """The sentences of a text, and what else it takes to have a few words: `fix this` says nothing by itself."""
    for weight in sorted({part.weight for part in parts}, reverse=True):
        focus = "\n".join(part.text for part in parts if part.weight >= weight)
        if len(set(query_tokens(focus))) >= _FEW_TERMS:
            return focus
    return text


def narrowed(query: Query, subject: str) -> Query:
    """The query when a part of it says what is asked: it is searched for, and the rest counts little.

    Args:
        query: Of the whole prompt; its names and places stay.
        subject: The part.
    """
    part = make_query(subject)
    rest = (Passage(passage.text, OUTSIDE * passage.weight) for passage in query.passages)
    return replace(
        part, identifiers=query.identifiers, places=query.places, passages=(Passage(subject, 1.0), *rest), focus=subject
    )


def _with_paths(found: tuple[Place, ...], paths: tuple[str, ...]) -> tuple[Place, ...]:
    known = {place.path for place in found}
    more: dict[str, Place] = {}
    for path in paths:
        parts, is_installed = traces.parts_of_path(path)
        joined = "/".join(parts)
        if parts and joined not in known:
            more[joined] = Place(joined, is_installed=is_installed)
    return (*found, *more.values())


def _shortened(text: str, limit_chars: int) -> str:
    if len(text) <= limit_chars:
        return text
    parts = passages(_cut(text, _LOOKED_AT * limit_chars))
    telling = [part.text for part in parts if part.weight >= _TELLING]
    return _cut("\n".join(telling) if len(telling) < len(parts) else text, limit_chars)


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
