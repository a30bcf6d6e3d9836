"""Checks the values of a segment that comes from elsewhere, so that no search reads beyond the end of an array."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.index.segment import KNOWN

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from hybrid.index.segment import Segment

_BELOW = {
    "doc_kind": 2,
    "doc_language": "language_at",
    "chunk_doc": "doc_kind",
    "post_row": "chunk_doc",
    "field_post": "post_row",
    "remark_row": "chunk_doc",
    "def_chunk": "chunk_doc",
    "def_kind": "def_kinds_at",
    "name_definition": "def_chunk",
    "name_word_name": "name_letters",
    "stem_word_doc": "doc_kind",
    "path_word_doc": "doc_kind",
}
"""Array of numbers → the array of what they number, or how many there are."""

_TARGETS = {"term_start": "post_row", "field_start": "field_post", "remark_start": "remark_row"}
"""Array of places → the array in which they are; for others the names say so."""

_ROWS = 16_384
_UNIT = 0.02
"""How far the length of a vector may be from 1."""


def check_values(segment: Segment, *, n_contents: int) -> None:
    """Check that every place, number, string, path and vector of an open segment is one that a build could have made.

    Args:
        segment: Its layout was checked when it was opened.
        n_contents: Number of contents that `doc_content` counts.

    Raises:
        ValueError: One is not; the message names the array.
    """
    names = [name for name in KNOWN if segment.has(name)]
    for name in names:
        array = segment.array(name)
        if array.dtype.kind == "f" and np.isnan(array).any():
            raise ValueError(f"array {name} holds what is no number")
        if name.endswith(("_start", "_at")) and name != "chunk_start" and name != "def_start":
            target = _TARGETS.get(name) or (
                name.removesuffix("_start") if name.endswith("_start") else f"{name.removesuffix('_at')}_text"
            )
            _check_places(name, array, len(segment.array(target)))
    for name, of in _BELOW.items():
        n = of if isinstance(of, int) else len(segment.array(of)) - of.endswith("_at")
        _check_below(name, segment.array(name), n)
    _check_below("doc_content", segment.doc_content, n_contents)
    for name in filter(segment.has, ("term_docs", "term_naming_docs")):
        _check_below(name, segment.array(name), segment.n_documents + 1)
    for name in ("chunk_doc", "def_chunk"):
        if (np.diff(segment.array(name)) < 0).any():
            raise ValueError(f"array {name} does not ascend")
    for name in names:
        if name.endswith("_at"):
            _check_strings(name.removesuffix("_at"), segment)
    _check_paths(segment.paths)
    _check_names(segment)
    _check_vectors(segment.vector, segment.vector_scale)
    if segment.has("doc_vector"):
        _check_vectors(segment.array("doc_vector"), segment.array("doc_vector_scale"))


def _check_places(name: str, places: NDArray[Any], end: int) -> None:
    if int(places[0]) != 0 or int(places[-1]) != end or (places[1:] < places[:-1]).any():
        raise ValueError(f"array {name} does not ascend from 0 to the end")


def _check_below(name: str, numbers: NDArray[Any], n: int) -> None:
    if len(numbers) and (int(numbers.min()) < 0 or int(numbers.max()) >= n):
        raise ValueError(f"array {name} holds a number beyond {n}")


def _check_strings(table: str, segment: Segment) -> None:
    """Check that a table holds UTF-8, and that none of its strings begins within a letter."""
    text, starts = segment.array(f"{table}_text"), segment.array(f"{table}_at")
    text.tobytes().decode("utf-8", "surrogatepass")
    if (text[starts[starts < len(text)]] & 0xC0 == 0x80).any():
        raise ValueError(f"table {table} cuts a letter")


def _check_paths(paths: list[str]) -> None:
    for path in paths:
        if "\0" in path or {"", ".", ".."}.intersection(path.split("/")):
            raise ValueError("a path that leads elsewhere")
    if paths != sorted(set(paths)):
        raise ValueError("paths that are not in order")


def _check_names(segment: Segment) -> None:
    """Check that a name leads to definitions of that name only."""
    defined, names = segment.texts("def_name"), segment.texts("name")
    starts: list[int] = segment.array("name_definition_start").tolist()
    definitions: list[int] = segment.array("name_definition").tolist()
    for number, name in enumerate(names):
        if not all(defined[one].endswith(name) for one in definitions[starts[number] : starts[number + 1]]):
            raise ValueError("a name that leads to another definition")


def _check_vectors(vectors: NDArray[np.int8], scales: NDArray[np.float32]) -> None:
    for start in range(0, len(vectors), _ROWS):
        part = slice(start, start + _ROWS)
        rows, scale = vectors[part].astype(np.float32), scales[part]
        is_unit = np.abs(np.sqrt(np.einsum("ij,ij->i", rows, rows)) * scale - 1) < _UNIT
        if not (is_unit | (scale == 0)).all():
            raise ValueError("a vector that is not of unit length")
