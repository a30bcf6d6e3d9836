"""Looks up whether a short prompt names something of a project: an identifier, file, literal, or name of two words."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from hybrid.base.literals import keys_said
from hybrid.base.memo import compiled
from hybrid.base.tokens import folded, part_terms, tokens_of_word
from hybrid.index.backend import EVERYTHING
from hybrid.index.roles import bit
from hybrid.prompting import symbols
from hybrid.prompting.content import content_words

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hybrid.index.backend import SearchBackend

_ASIDE = np.uint8(bit("test") | bit("example") | bit("aside"))
"""Roles of files that name much that the project is not about; two plain words must be found elsewhere."""
_LAST_NAME = re.compile(r"[A-Za-z_]\w+")
_AROUND = r"^(?:\.{0,2}/)+|/+$"
_EDGES = ".,;:!?()[]\"'"


def names_something(backend: SearchBackend, text: str) -> bool:
    """Return whether a prompt names an identifier, a file or a literal here, or is two words of one name."""
    if any(_is_there(backend, name) for name in symbols.identifiers(text)):
        return True
    if any(_is_file(backend, path) for path in symbols.paths(text)):
        return True
    if len(_live(backend, backend.names.literals(keys_said(text))[1])):
        return True
    words = list(dict.fromkeys(word.strip(_EDGES).lower() for word in content_words(text).split()))
    return len(words) == 2 and all(map(str.isalpha, words)) and _is_together(backend, words)


def _is_there(backend: SearchBackend, name: str) -> bool:
    """Return whether an identifier is defined in the project, or occurs there if no other text is spelled like it."""
    parts: list[str] = _LAST_NAME.findall(name.lstrip("-").replace("-", "_"))
    if not parts:
        return False
    if any(len(_live(backend, block.rows)) for block in backend.names.definitions(folded(parts[-1]))):
        return True
    whole, *of_word = tokens_of_word(parts[-1]) or ("",)
    return bool(of_word) and len(_live(backend, backend.terms.rows_of(whole))) > 0


def _is_file(backend: SearchBackend, path: str) -> bool:
    """Return whether a path is one of the project: shortened at its beginning, or with folders above the project."""
    asked = compiled(_AROUND).sub("", path.replace("\\", "/")).lower()
    called = (found.lower() for _, found in backend.names.files_called(asked.split("/"))) if asked else ()
    return any(f"/{found}".endswith(f"/{asked}") or f"/{asked}".endswith(f"/{found}") for found in called)


def _is_together(backend: SearchBackend, words: list[str]) -> bool:
    """Return whether the name of one definition or of one file has some words, apart from tests and pages beside."""
    called = [file for file, _ in backend.names.files_called([" ".join(words)])]
    if (backend.fields.of_files("role", np.array(called, np.int32)) & _ASIDE == 0).any():
        return True
    terms = part_terms(" ".join(words))
    for block in backend.names.with_words(terms):
        held = np.bincount(np.concatenate(block.holding), minlength=len(block.letters)) == len(terms)
        for name in np.flatnonzero(held).tolist():
            rows = _live(backend, block.rows[block.starts[name] : block.starts[name + 1]])
            files = backend.fields.of_rows("file", rows)
            if (backend.fields.of_files("role", files) & _ASIDE == 0).any():
                return True
    return False


def _live(backend: SearchBackend, rows: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the chunks that can be found."""
    return rows[backend.allows(EVERYTHING, rows)] if len(rows) else rows
