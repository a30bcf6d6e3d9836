"""A segment: the immutable arrays of some documents, opened through a memory map; `drafting` makes them.

`index/README.md` lists every array with its type and meaning.
"""

from __future__ import annotations

from functools import cache, cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.base.arrays import Arrays, Strings, read_arrays, unpack_strings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray


# Which arrays a segment of format 2 has, and how their lengths hang together; `segment` checks by it on opening.
#
# `index/README.md` says what the arrays mean, `drafting` makes them.

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
"""Name of a table of strings → the things of which each has one string."""

_LISTS = {
    "name_definition": "names",
    "name_word_name": "words of names",
    "stem_word_doc": "words of stems",
    "path_word_doc": "words of paths",
}
"""Name of an array of lists of numbers → the things of which each has one list."""

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
    "background_together": ("F32", (ANY,)),
    "background_record": ("F32", (ANY,)),
    "term_vector": ("I8", ("terms", "numbers of a vector")),
    "term_vector_scale": ("F32", ("terms",)),
}
"""The arrays that only a segment annotated for the gate has."""

COUNTS: Layout = {
    "term_docs": ("U32", ("terms",)),
    "term_naming_docs": ("U32", ("terms",)),
    "literal": ("U64", ("literals",)),
    "literal_row": ("I32", ("literals",)),
}
"""The arrays that every segment has but those of an earlier version."""

SIGNS: Layout = {
    "chunk_sign": ("U64", ("words of signs", "chunks")),
    "vector_file_sum": ("F32", ("numbers of a vector",)),
    "doc_vector": ("I8", ("documents", "numbers of a vector")),
    "doc_vector_scale": ("F32", ("documents",)),
}
"""The arrays that only a large segment has."""

TOLD_BY_PLACES = {
    "term_start": "post_row",
    "name_definition_start": "name_definition",
    "language_at": "language_text",
    "def_kinds_at": "def_kinds_text",
}
"""Array of places → array whose length its last place must equal, or a search would read beyond the end."""

_FIXED = {"bytes of a digest": 16, "fields of names": 5}
_MAY_MISS = BACKGROUND | COUNTS | SIGNS
KNOWN: Layout = LAYOUT | _MAY_MISS
"""Every array of the format."""
_ALL = tuple(KNOWN.items())


def check_layout(arrays: Arrays) -> None:
    """Check that all arrays are there, of the right types, and that their lengths agree.

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
            if name in _MAY_MISS:
                continue
            raise ValueError(f"array {name} is missing") from None
        if found != dtype or len(shape) != len(dimensions):
            raise ValueError(f"array {name} is of type {found} and shape {shape}: another than the format's")
        for axis, what in enumerate(dimensions):
            if what != ANY and known.get(what) != shape[axis]:
                _learn(known, name, what, shape[axis])


def _learn(known: dict[str, int], name: str, what: str, length: int) -> None:
    """Note the first length of a kind as the right one, also for the arrays that are one longer.

    Raises:
        ValueError: Another length was noted for this kind; the message names both arrays.
    """
    one = what.removesuffix("+1")
    count = length - (what != one)
    if one in known or count < 0:
        first = next(first for first, (_, dimensions) in LAYOUT.items() if {one, f"{one}+1"}.intersection(dimensions))
        raise ValueError(
            f"arrays {first} and {name} disagree: the length {length} is not for {known.get(one, 0)} {one}"
        )
    known[one], known[f"{one}+1"] = count, count + 1


class _Views(dict[str, "NDArray[Any]"]):
    """Name → the view of an array, made once."""

    def __init__(self, arrays: Arrays) -> None:
        super().__init__()
        self._arrays = arrays

    def __missing__(self, name: str) -> NDArray[Any]:
        self[name] = view = self._arrays[name]
        return view


class Segment:
    """An open segment; arrays are views of the file, read when touched.

    Raises on opening:
        ValueError: The file is damaged, or its arrays are not those of the format.
        OSError: The file is gone.
    """

    def __init__(self, path: Path | Arrays, dead_documents: Sequence[int] = ()) -> None:
        """Open a file, or arrays that are in memory."""
        arrays = path if isinstance(path, Arrays) else read_arrays(path)
        try:
            check_layout(arrays)
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        self._names = frozenset(arrays)
        self.arrays = _Views(arrays)
        """Any array of the segment by name."""
        self.chunk_doc: NDArray[np.int32] = arrays["chunk_doc"]
        self.vector: NDArray[np.int8] = arrays["vector"]
        self.vector_scale: NDArray[np.float32] = arrays["vector_scale"]
        self.chunk_length: NDArray[np.float32] = arrays["chunk_length"]
        self.term_start: NDArray[np.uint32] = arrays["term_start"]
        self.post_row: NDArray[np.int32] = arrays["post_row"]
        self.post_tf: NDArray[np.uint16] = arrays["post_tf"]
        self.doc_content: NDArray[np.int64] = arrays["doc_content"]
        self.n_chunks = len(self.chunk_doc)
        self.n_documents = len(self.doc_content)
        for starts, ends in TOLD_BY_PLACES.items():
            if int(arrays[starts][-1]) != arrays.described(ends)[1][0]:
                raise ValueError(f"{path}: array {starts} does not end where {ends} does")
        if self.n_chunks and int(self.chunk_doc[-1]) >= self.n_documents:
            raise ValueError(f"{path}: array chunk_doc names a document beyond the last")
        n_words, dim = arrays.described("chunk_sign")[1][0] if self.has("chunk_sign") else None, self.vector.shape[1]
        if n_words not in (None, -(-dim // 64)):
            raise ValueError(f"{path}: array chunk_sign has {n_words} words for {dim} numbers of a vector")
        self.strings = cache(self._table)
        """Any table of strings by name."""
        self.term_numbers = lru_cache(1 << 14)(self.strings("term").find)
        """Term → its number, None when it does not occur: both legs, the gate and the ranker ask for the same terms."""
        dead = np.zeros(self.n_documents, np.bool_)
        dead[list(dead_documents)] = True
        self.doc_is_live: NDArray[np.bool_] = ~dead
        self.is_live: NDArray[np.bool_] | None = self.doc_is_live[self.chunk_doc] if dead.any() else None
        """True for each chunk that is live; None when every chunk is."""

    @property
    def n_live(self) -> int:
        """Number of chunks that are not tombstoned."""
        return self.n_chunks if self.is_live is None else int(self.is_live.sum())

    @property
    def live_length(self) -> float:
        """Sum of the lengths of the live chunks, in tokens."""
        lengths = self.chunk_length if self.is_live is None else self.chunk_length[self.is_live]
        return float(lengths.sum(dtype=np.float64))

    def has(self, name: str) -> bool:
        """Return whether the segment has an array that not every segment has."""
        return name in self._names

    def text(self, name: str, row: int) -> str:
        """Return one string of a string table, for example `text("chunk_name", 3)`."""
        return self.strings(name)[row]

    def texts(self, name: str) -> list[str]:
        """Every string of a string table."""
        return unpack_strings(self.arrays[f"{name}_text"], self.arrays[f"{name}_at"])

    @cached_property
    def paths(self) -> list[str]:
        """Path of each document row, dead ones too."""
        return self.texts("doc_path")

    def postings(self, term: str) -> slice:
        """Return where the postings of a term stand in `post_row` and `post_tf`; empty when it does not occur."""
        number = self.term_numbers(term)
        if number is None:
            return slice(0, 0)
        return slice(self.term_start.item(number), self.term_start.item(number + 1))

    def span(self, starts: str, number: int) -> slice:
        """Return the places from `starts[number]` up to `starts[number + 1]`, `starts` being the name of an array."""
        start = self.arrays[starts]
        return slice(start.item(number), start.item(number + 1))

    def numbers(self, table: str, entries: str, wanted: str) -> NDArray[np.int32]:
        """The list of numbers that belongs to a string of a sorted table; empty when the table does not hold it."""
        number = self.strings(table).find(wanted)
        return self.arrays[entries][:0] if number is None else self.entries(entries, number)

    def entries(self, entries: str, number: int) -> NDArray[np.int32]:
        """Return the list at place `number` of the array of lists called `entries`."""
        return self.arrays[entries][self.span(f"{entries}_start", number)]

    def numbers_of_equal(self, table: str, wanted: str) -> range:
        """Return the numbers of all strings of a sorted table that equal `wanted`; empty when none does."""
        if (first := self.strings(table).find(wanted)) is None:
            return range(0)
        return range(first, self.strings(table).lower_bound(wanted.encode("utf-8", "surrogatepass") + b"\0"))

    def document_at(self, path: str) -> int | None:
        """The row of the document at a path, dead or not; None when the segment has none."""
        return self.strings("doc_path").find(path)

    def _table(self, name: str) -> Strings:
        return Strings(self.arrays[f"{name}_text"], self.arrays[f"{name}_at"])

    def terms_of_chunks(self) -> Iterator[dict[str, int]]:
        """Yield term → frequency of each live chunk, in order of chunks, as the lexical search counts them."""
        names = self.texts("term")
        of_term = np.repeat(np.arange(len(names)), np.diff(self.term_start.astype(np.int64)))
        order = np.argsort(self.post_row, kind="stable")
        ends = np.cumsum(np.bincount(self.post_row, minlength=self.n_chunks)).tolist()
        terms, counts = of_term[order].tolist(), self.post_tf[order].tolist()
        for row, (start, end) in enumerate(zip([0, *ends], ends, strict=False)):
            if self.is_live is None or self.is_live[row]:
                yield {names[terms[i]]: counts[i] for i in range(start, end)}

    def definition_span(self, row: int) -> slice:
        """Return the range of the numbers of the definitions that start in a chunk."""
        chunks = self.arrays["def_chunk"]
        # Of another type than the array they would make a copy of it.
        low, high = np.searchsorted(chunks, np.array([row, row + 1], chunks.dtype)).tolist()
        return slice(low, high)
