"""Which arrays a segment of format 2 has, and how their lengths hang together; `segment` checks by it on opening.

`index/README.md` says what the arrays mean, `encoding` and `naming` make them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hybrid.arrays import Arrays

Layout = dict[str, tuple[str, tuple[str, ...]]]
"""Name of an array → its type in the file, and for each dimension what it has one of, `+1` for one more."""

ANY = "any"
"""A dimension whose length no other array tells: only the places where strings and lists begin do."""

_STRINGS = {
    "doc_path": "documents",
    "language": "languages",
    "stem_word": "words of stems",
    "path_word": "words of paths",
    "chunk_name": "chunks",
    "chunk_kind": "chunks",
    "chunk_signature": "chunks",
    "chunk_scope": "chunks",
    "term": "terms",
    "def_name": "definitions",
    "def_scope": "definitions",
    "def_kinds": "kinds of definitions",
    "name": "names",
    "name_fold": "names",
    "name_word": "words of names",
}
"""Tables of strings, and what each has one of."""

_LISTS = {
    "name_definition": "names",
    "name_word_name": "words of names",
    "stem_word_doc": "words of stems",
    "path_word_doc": "words of paths",
}
"""Lists of numbers, and what each has one of."""

_COLUMNS: Layout = {
    "doc_content": ("I64", ("documents",)),
    "doc_kind": ("U8", ("documents",)),
    "doc_language": ("U16", ("documents",)),
    "doc_role": ("U8", ("documents",)),
    "doc_vector_length": ("F32", ("documents",)),
    "doc_stem_letters": ("U16", ("documents",)),
    "chunk_doc": ("I32", ("chunks",)),
    "chunk_start": ("I32", ("chunks",)),
    "chunk_end": ("I32", ("chunks",)),
    "chunk_digest": ("U8", ("chunks", "bytes of a digest")),
    "chunk_length": ("F32", ("chunks",)),
    "chunk_body_length": ("F32", ("chunks",)),
    "chunk_remark_length": ("F32", ("chunks",)),
    "chunk_is_cut": ("U8", ("chunks",)),
    "chunk_hub": ("F32", ("chunks",)),
    "vector": ("I8", ("chunks", "numbers of a vector")),
    "vector_scale": ("F32", ("chunks",)),
    "vector_sum": ("F32", ("numbers of a vector",)),
    "term_start": ("U32", ("terms+1",)),
    "post_row": ("I32", ("postings",)),
    "post_tf": ("U16", ("postings",)),
    "field_start": ("U32", ("terms+1",)),
    "field_post": ("U32", ("named postings",)),
    "field_tf": ("U8", ("fields of names", "named postings")),
    "remark_start": ("U32", ("terms+1",)),
    "remark_row": ("I32", ("remarks",)),
    "remark_tf": ("U8", ("remarks",)),
    "def_chunk": ("I32", ("definitions",)),
    "def_start": ("I32", ("definitions",)),
    "def_end": ("I32", ("definitions",)),
    "def_kind": ("U8", ("definitions",)),
    "def_depth": ("U8", ("definitions",)),
    "def_is_value": ("U8", ("definitions",)),
    "def_is_full": ("U8", ("definitions",)),
    "name_letters": ("U16", ("names",)),
}

LAYOUT: Layout = {
    **_COLUMNS,
    **{f"{name}_at": ("U32", (f"{what}+1",)) for name, what in _STRINGS.items()},
    **{f"{name}_text": ("U8", (ANY,)) for name in _STRINGS},
    **{f"{name}_start": ("U32", (f"{what}+1",)) for name, what in _LISTS.items()},
    **dict.fromkeys(_LISTS, ("I32", (ANY,))),
}
"""The arrays that every segment has."""

BACKGROUND: Layout = {
    "background_top": ("F32", (ANY,)),
    "background_df": ("U32", (ANY,)),
    "background_record": ("F32", (ANY,)),
    "term_vector": ("I8", ("terms", "numbers of a vector")),
    "term_vector_scale": ("F32", ("terms",)),
}
"""The arrays that only a segment annotated for the gate has."""

TOLD_BY_PLACES = {
    "term_start": "post_row",
    "name_definition_start": "name_definition",
    "language_at": "language_text",
    "def_kinds_at": "def_kinds_text",
}
"""Array of places → the array whose end its last place is, where a search would otherwise ask for what is not there."""

_FIXED = {"bytes of a digest": 16, "fields of names": 5}
_ALL = tuple((LAYOUT | BACKGROUND).items())


def check_layout(arrays: Arrays) -> None:
    """Are all arrays there, of the right types, and do their lengths agree?

    Only the header of the file is looked at, since this is done whenever an index is opened. Arrays that the format
    does not know are passed over.

    Raises:
        ValueError: An array is missing, of another type or shape, or not as long as others say; the message names it.
    """
    known = dict(_FIXED)
    for name, (dtype, dimensions) in _ALL:
        try:
            found, shape = arrays.described(name)
        except KeyError:
            if name in BACKGROUND:
                continue
            raise ValueError(f"array {name} is missing") from None
        if found != dtype or len(shape) != len(dimensions):
            raise ValueError(f"array {name} is of type {found} and shape {shape}: another than the format's")
        for axis, what in enumerate(dimensions):
            if what != ANY and known.get(what) != shape[axis]:
                _learn(known, name, what, shape[axis])


def _learn(known: dict[str, int], name: str, what: str, length: int) -> None:
    """Take the first length of a kind for the right one, also for the arrays that are one longer."""
    one = what.removesuffix("+1")
    count = length - (what != one)
    if one in known or count < 0:
        first = next(first for first, (_, dimensions) in LAYOUT.items() if {one, f"{one}+1"}.intersection(dimensions))
        raise ValueError(
            f"arrays {first} and {name} disagree: the length {length} is not for {known.get(one, 0)} {one}"
        )
    known[one], known[f"{one}+1"] = count, count + 1
