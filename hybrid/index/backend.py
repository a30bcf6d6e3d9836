"""The search side of an index, whatever stores it: what `hybrid.search` and all above it are written against.

A chunk is a *row*, a number from 0 up to `n_rows`. The rows of a file stand together, and files are numbered in the
order of their rows. Numbers of what was removed are not given again within a generation; nothing gives them back.

A search asks a backend for

1. the dense leg and the lexical leg: the best rows and their scores, the highest score of all, and afterwards the
   scores of whatever rows it needs (`dense`, `lexical`, `DenseLeg.cosines`);
2. the nearest chunk of each piece of a prompt, in the same pass;
3. what stands at given rows and files: places, vectors, lengths, roles, paths (`get`, `vectors`, `FieldTable`), and
   which of them a filter lets through (`allows`);
4. figures of the collection: counts, document frequencies, mean cosines, the mean vector;
5. `terms`, `names` and `background`: postings of the query's terms, who defines or is called what it names, and what
   the gate compares a prompt with.

What earlier commits tell (`hybrid.index.history`) is kept by path beside any backend, which has no part in it.

Fusion, ranking, gate and floor are never the backend's: it answers with rows and raw figures. No answer has an entry
for every row; its size goes by what matches. Three things must be exact over everything, or rankings change. A backend
that cannot have them has to come near them, which is its own affair:

- mean and largest cosine, of chunks and of the mean vectors of files (`DenseLeg`): a statistic each, not a list;
- all postings of a query's terms (`TermIndex`): the ranker counts in them how many chunks and files hold a term or a
  relative of it, and a term of average rarity is held by a few in a hundred chunks;
- all records of a collection that is judged record by record (`GateFigures.records`): each needs its own evidence.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from hybrid.types import Hit

ChunkField = Literal["file", "text_norm", "remark_norm"]
"""Fields of a chunk: the number of its file; what BM25 divides a frequency in its text, or in its comments, by."""

FileField = Literal["first_row", "end_row", "role", "text_norm", "vector_length", "stem_letters"]
"""Fields of a file: its first row and the one behind its last; bits of `hybrid.index.analysis.ROLES`; what BM25 divides
a frequency in its text by; the length of the sum of its vectors; letters of the distinct words of its name."""


class Filter(Struct, frozen=True):
    """Restricts a search before its top k are taken; statistics stay those of the whole collection.

    Attributes:
        kinds: Kinds to keep, for example ("code",); empty for all.
        path: A glob such as `src/*.py`, where `*` crosses folders, or a folder; empty for all.
        documents: Paths of the documents to keep, exactly; None for all.
    """

    kinds: tuple[str, ...] = ()
    path: str = ""
    documents: frozenset[str] | None = None


EVERYTHING = Filter()


class Leg(ABC):
    """The answer of one leg of a search, dense or lexical.

    Attributes:
        rows: The ranked rows, best first; ties by digest, then path and line; shape (n_ranked,).
        scores: The raw score of each of `rows`, a cosine or a bm25, shape (n_ranked,).
        top: The highest raw score of any row, whatever the filter of the ranking; None when no row has one.
    """

    def __init__(self, rows: NDArray[np.int64], scores: NDArray[np.float64], top: float | None) -> None:
        self.rows = rows
        self.scores = scores
        self.top = top

    @abstractmethod
    def raw(self, row: int) -> float | None:
        """The raw score of any row, ranked or not; None for a row without a score."""
        ...

    def raws(self, first_row: int, end_row: int) -> NDArray[np.float64]:
        """The raw scores of the rows of one file, from one up to another, shape (end − first,); 0 for none."""
        return np.array([self.raw(row) or 0.0 for row in range(first_row, end_row)], np.float64)

    @cached_property
    def ranks(self) -> dict[int, int]:
        """Row → rank, from 1, of the ranked rows."""
        return {row: rank for rank, row in enumerate(self.rows.tolist(), 1)}

    @property
    def best(self) -> float:
        """The raw score of the first ranked row; 0 when no row is ranked."""
        return float(self.scores[0]) if len(self.rows) else 0.0


class CosineFigures(Struct, frozen=True):
    """Figures of the cosines of a query to all chunks, or files, that can be found; 0 counts for one without a vector.

    Attributes:
        mean: In [−1, 1]; 0 for an empty collection.
        largest: In [−1, 1]; 0 for an empty collection.
    """

    mean: float
    largest: float


class DenseLeg(Leg):
    """The dense leg; it also gives the cosines of rows and files that it did not rank."""

    @property
    @abstractmethod
    def chunks(self) -> CosineFigures:
        """Mean and largest cosine of the query to a chunk that can be found."""
        ...

    @property
    @abstractmethod
    def files(self) -> CosineFigures:
        """Mean and largest cosine of the query to a file that can be found, as `of_files` gives them."""
        ...

    @abstractmethod
    def cosines(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """The cosine of the query to some rows, ranked or not, shape (len(rows),); 0 for a row without a vector."""
        ...

    @abstractmethod
    def largest(self, rows: NDArray[np.integer[Any]], starts: NDArray[np.intp]) -> NDArray[np.float32]:
        """The largest cosine of the query to a row of each of some files; 0 for a row without a vector.

        Args:
            rows: All rows of the files, file after file.
            starts: Where the rows of each file begin, shape (n_files,).
        """
        ...

    @abstractmethod
    def of_files(self, files: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """The cosine of the query to the mean vector of each file, shape (len(files),)."""
        ...


class Outline(Struct, frozen=True):
    """The chunks of a file and the definitions in it, as the index knows them.

    Attributes:
        first_row: Row of the first chunk.
        chunk_starts: First line of each chunk, ascending, shape (n_chunks,).
        chunk_ends: Last line of each, inclusive.
        starts: First line of each definition that is more than a value or an announcement, ascending, shape (n,).
        ends: Last line of each, inclusive.
        kinds: Kind of each definition, as in `hybrid.types.Definition`.
        name: Returns the name of one of the definitions, by its place.
        scope: Returns its scope.
        digest: Returns the digest of one of the chunks, by its place.
    """

    first_row: int
    chunk_starts: NDArray[np.int32]
    chunk_ends: NDArray[np.int32]
    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    kinds: Sequence[str]
    name: Callable[[int], str]
    scope: Callable[[int], str]
    digest: Callable[[int], bytes]


class FieldTable(Protocol):
    """Fields of given rows and files."""

    @property
    def n_files(self) -> int:
        """One more than the largest number of a file."""
        ...

    @property
    def n_live_files(self) -> int:
        """Files that can be found."""
        ...

    @property
    def mean_vector(self) -> NDArray[np.float32]:
        """Mean of the vectors that can be found, shape (dim,)."""
        ...

    def of_rows(self, field: ChunkField, rows: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """A field of some rows, shape (len(rows),)."""
        ...

    def of_files(self, field: FileField, files: NDArray[np.integer[Any]]) -> NDArray[Any]:
        """A field of some files, shape (len(files),)."""
        ...

    def path(self, file: int) -> str:
        """Path of a file."""
        ...

    def row_at(self, file: int, line: int) -> int | None:
        """The row of the first chunk of a file that holds a line (from 1); None when no chunk holds the line."""
        ...

    def outline(self, file: int) -> Outline:
        """The chunks of a file and the definitions in it."""
        ...


class Postings(Struct, frozen=True):
    """Chunks that hold some of the terms asked for, and can be found; term after term.

    Attributes:
        terms: The terms held, by their place in the question, ascending.
        starts: Where the chunks of each of `terms` begin, and where the last end, shape (len(terms) + 1,).
        rows: Ascending within a term, shape (n,).
        body: Frequency in the text, shape (n,).
        named: Places in `rows` of those that hold the term in a name or path, ascending.
        fields: Frequency in each of `hybrid.index.analysis.NAME_FIELDS` of those at `named`, shape (5, len(named)).
    """

    terms: Sequence[int]
    starts: NDArray[np.intp]
    rows: NDArray[np.intp]
    body: NDArray[np.float32]
    named: NDArray[np.intp]
    fields: NDArray[np.float32]


class Remarks(Struct, frozen=True):
    """Chunks whose comments hold some of the terms asked for, as `Postings` has those of the text.

    Attributes:
        terms: As in `Postings`.
        starts: Shape (len(terms) + 1,).
        rows: Shape (n,).
        counts: Frequency in the comments, shape (n,).
    """

    terms: Sequence[int]
    starts: NDArray[np.intp]
    rows: NDArray[np.intp]
    counts: NDArray[np.float32]


class TermIndex(Protocol):
    """The terms of the chunks.

    Postings come in blocks. A row, and so a file, has all its postings in one block: what is added up over a row comes
    in the order of the terms, so that sums of floats are the same however an index is split.
    """

    def document_frequency(self, term: str) -> int:
        """Chunks that hold a term; a backend may count those that were removed, too."""
        ...

    def n_holding(self, terms: Sequence[str]) -> int:
        """Chunks that can be found and hold any of some terms."""
        ...

    def remark_frequency(self, term: str) -> int:
        """Chunks that can be found and whose comments hold a term."""
        ...

    def file_frequency(self, term: str) -> int:
        """Files that hold a term; a backend may count those that were removed, too."""
        ...

    def naming_frequency(self, term: str) -> int:
        """Files that define a name with a term; a backend may count those that were removed, too."""
        ...

    def beginning_with(self, prefix: str, longest: int) -> Sequence[str]:
        """The distinct terms with a prefix and at most `longest` letters, in any order."""
        ...

    def is_held(self, term: str) -> bool:
        """Return whether a chunk that can be found holds a term."""
        ...

    def rows_of(self, term: str) -> NDArray[np.intp]:
        """The rows that hold a term, those that cannot be found too."""
        ...

    def postings(self, terms: Sequence[str], among: NDArray[np.bool_] | None = None) -> Iterator[Postings]:
        """Yield, in blocks, the chunks that can be found and hold some of the terms.

        Args:
            terms: The terms.
            among: For each row whether it is wanted, shape (n_rows,); None for all.
        """
        ...

    def remarks(self, terms: Sequence[str], among: NDArray[np.bool_] | None = None) -> Iterator[Remarks]:
        """Yield, in blocks, the chunks that can be found and whose comments hold some of the terms; as `postings`."""
        ...


class Definitions(Struct, frozen=True):
    """Definitions of one spelling of a name.

    Attributes:
        name: Its spelling.
        rows: The chunk that each starts in, shape (n,).
        is_full: False for constants and fields, shape (n,).
        is_nested: It stands inside of another, shape (n,).
        scopes: Gives the scope of each definition, the names around it; called only when the query names an owner.
    """

    name: str
    rows: NDArray[np.intp]
    is_full: NDArray[np.bool_]
    is_nested: NDArray[np.bool_]
    scopes: Callable[[], Sequence[str]]


class NamesWithWords(Struct, frozen=True):
    """Names of definitions that hold some of the words asked for.

    Attributes:
        letters: Number of letters of the words of each name, shape (n_names,).
        holding: For each word asked for, the places in `letters` of the names that hold it, each once.
        starts: Where the definitions of each name begin, and where the last end, shape (n_names + 1,).
        rows: The chunk that each definition starts in, shape (n_definitions,).
        is_full: As in `Definitions`, shape (n_definitions,).
    """

    letters: NDArray[np.uint16]
    holding: Sequence[NDArray[np.intp]]
    starts: NDArray[np.intp]
    rows: NDArray[np.intp]
    is_full: NDArray[np.bool_]


class NameIndex(Protocol):
    """Names of definitions and files. Answers may hold removed chunks and files; the ranker shows none of these."""

    def definitions(self, folded: str) -> Iterator[Definitions]:
        """The definitions whose names are equal in folded form (`tokens.folded`), spelling by spelling."""
        ...

    def with_words(self, words: Sequence[str]) -> Iterator[NamesWithWords]:
        """The names of definitions that hold any of some words, in blocks; a name may come in several."""
        ...

    def stems(self, prefix: str) -> Sequence[str]:
        """The distinct words of file names with a prefix, in any order."""
        ...

    def files_with(self, part: Literal["stem", "path"], word: str) -> NDArray[np.int32]:
        """The files that have a word in their name, or anywhere in their path; each once."""
        ...

    def files_called(self, parts: Sequence[str]) -> Iterator[tuple[int, str]]:
        """Yield the files that can be found whose name has all words of the last part of a path, each with its path.

        Of more than 64 such files in a block, only those are given whose folders have the words of the path's folders;
        none are given when they are more than 64 even so.
        """
        ...

    def literals(self, keys: NDArray[np.uint64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """The chunks with a string literal of some keys: places in `keys`, and rows, each of shape (n,).

        Args:
            keys: As `hybrid.base.tokens.keys_said` gives them.
        """
        ...

    def versioned(self) -> Mapping[int, str]:
        """File → path, of the findable files in a folder of one version (`v3/`); callers keep the answer."""
        ...


class RecordBlock(Struct, frozen=True):
    """Some records of a collection that is judged record by record.

    Attributes:
        vectors: int8, shape (n_records, dim).
        scales: Scale of each vector, 0 where there is none, shape (n_records,).
        term_vectors: int8, shape (n_terms, dim).
        term_scales: 0 for a term that the model does not know, shape (n_terms,).
        term_starts: Where the postings of each term begin, and where the last end, shape (n_terms + 1,).
        holders: The record of each posting, shape (n_postings,).
        is_live: For each record, whether it can be found; None when all can.
    """

    vectors: NDArray[np.int8]
    scales: NDArray[np.float32]
    term_vectors: NDArray[np.int8]
    term_scales: NDArray[np.float32]
    term_starts: NDArray[np.uint32]
    holders: NDArray[np.int32]
    is_live: NDArray[np.bool_] | None


class BackgroundFigures(Struct, frozen=True):
    """Figures of how near the background's prompts come to a collection; the gate's bars are made of them.

    Attributes:
        n_rows: Chunks, removed ones too.
        top: Largest cosine of each calibration piece, shape (n_pieces,); None without anything to compare.
        frequencies: Chunks that hold each term of the background, shape (n_terms,); a single 0 for an empty index.
        together: Largest sum of the rarities of the words of each calibration piece that stand together in one chunk,
            shape (n_pieces,); None without anything to compare, or before a first build by this version.
        records: Largest evidence of each calibration piece for one record, shape (n_pieces,); None for collections
            that are not judged record by record.
    """

    n_rows: int
    top: NDArray[np.float32] | None
    frequencies: NDArray[np.float64]
    together: NDArray[np.float32] | None
    records: NDArray[np.float32] | None


class GateFigures(Protocol):
    """Figures that the gate compares prompts with, as the annotator of the build left them."""

    @property
    def key(self) -> str:
        """The key of the background; empty for an index that was built without one."""
        ...

    @property
    def has_records(self) -> bool:
        """Return whether the collection is one of records, each of which is judged by itself."""
        ...

    def figures(self) -> BackgroundFigures:
        """Return the figures that the gate's bars are made of; callers keep the answer."""
        ...

    def records(self) -> Sequence[RecordBlock]:
        """Return all records in blocks, in the order of their rows; such a collection is small enough for that."""
        ...

    def triggers(self) -> Iterator[tuple[int, str]]:
        """Yield row and name of each trigger: a name that a record defines, but for the first, which is its title."""
        ...


class BackendFigures(Struct, frozen=True):
    """Figures of an index that `hybrid status` shows and the service counts.

    Attributes:
        size_bytes: Bytes that are mapped or held for searching.
        n_segments: Pieces that it is stored in.
        n_cut: Chunks that the model read only in part.
        n_without_vector: Chunks without a vector.
    """

    size_bytes: int
    n_segments: int
    n_cut: int
    n_without_vector: int


class SearchBackend(Protocol):
    """An open, immutable view of one collection."""

    @property
    def generation(self) -> int:
        """The number of the generation that is open; each commit makes a larger one."""
        ...

    @property
    def dim(self) -> int:
        """Length of a vector, the number of its dimensions."""
        ...

    @property
    def n_rows(self) -> int:
        """One more than the largest row."""
        ...

    @property
    def n_chunks(self) -> int:
        """Chunks that can be found."""
        ...

    @property
    def fields(self) -> FieldTable:
        """The fields of the backend's chunks and files."""
        ...

    @property
    def terms(self) -> TermIndex:
        """The index of the terms of the backend's chunks."""
        ...

    @property
    def names(self) -> NameIndex:
        """The index of the names of the backend's definitions and files."""
        ...

    @property
    def background(self) -> GateFigures:
        """The figures that the gate compares prompts with."""
        ...

    def figures(self) -> BackendFigures:
        """Return size and counts of the index, as `hybrid status` shows them."""
        ...

    def dense(self, query: NDArray[np.float32], depth: int, only: Filter = ...) -> DenseLeg:
        """The `depth` chunks nearest to a unit vector, by true cosine; a query of zeros ranks nothing."""
        ...

    def dense_with_pieces(
        self, query: NDArray[np.float32], pieces: NDArray[np.float32], depth: int, only: Filter = ...
    ) -> tuple[DenseLeg, NDArray[np.float32]]:
        """The dense leg of a query, and the cosine of each of its pieces to the closest chunk, in the same pass.

        Args:
            query: Unit vector or zeros, shape (dim,).
            pieces: Unit vectors or zeros, shape (n_pieces, dim).
            depth: Rows of the leg at most.
            only: Restricts the rows of the leg; the closest chunks are those of the whole collection.

        Returns:
            The leg; and the cosines, shape (n_pieces,): NaN for a piece without a vector, or with nothing to compare.
        """
        ...

    def lexical(self, tokens: Sequence[str], depth: int, only: Filter = ...) -> Leg:
        """The `depth` chunks with the highest bm25; a chunk without a query term is not ranked."""
        ...

    def get(self, row: int) -> Hit:
        """A chunk as a result shows it, without the figures of a search."""
        ...

    def tie_key(self, row: int) -> tuple[bytes, str, int]:
        """Digest, path and first line: the order of rows with equal scores."""
        ...

    def vectors(self, rows: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """The vectors of some rows, shape (len(rows), dim); zeros for a row without one."""
        ...

    def products(self, vector: NDArray[np.float32], rows: NDArray[np.integer[Any]]) -> NDArray[np.float32]:
        """The product of a vector, shape (dim,), with the vectors of some rows; 0 for a row without one."""
        ...

    def allows(self, only: Filter, rows: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Return for each of some rows whether it can be found and the filter keeps it."""
        ...

    def live_documents(self) -> Mapping[str, int]:
        """Path → content id of every document that can be found."""
        ...

    def live_terms(self) -> Iterator[tuple[int, Mapping[str, int]]]:
        """Every row that can be found with its terms and frequencies, ascending: for reference engines only."""
        ...
