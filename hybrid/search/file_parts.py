"""Tells the parts of the files that a search found: definitions, and chunks that hold none, each with its evidence.

A hit is a chunk, cut for the index. What answers a question is a definition, which may be smaller than a chunk or
stretch over several; `answer.excerpts` chooses among them. Of a file that a prompt is about as a whole it also tells
the outline, and the files that use it.
"""

from __future__ import annotations

from itertools import islice
from operator import itemgetter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hybrid.base.tokens import folded, is_plain_word, tokens_of_word
from hybrid.index.analysis import OF_FOLDERS, bit, lines_digest
from hybrid.index.backend import EVERYTHING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from hybrid.index.backend import DenseLeg, Leg, Outline, SearchBackend

MOST_CHUNKS = 4
"""Chunks without a definition among these, at most."""
_HOLDERS = frozenset("class enum extension impl interface object protocol struct trait union".split())
_MORE_OF = ("impl", "extension")
"""Kinds that hold members of what is defined elsewhere: no more important than a member."""
_AROUND = frozenset("heading module namespace package".split())
"""Kinds that only stand around what is defined in them: their own lines say nothing, or are those of a chunk."""
_MOST_NAMES = 8
"""Names of a file that are looked for in other files, at most."""
_NAMES_ASKED = 50
"""Names of a file of which it is asked whether other files define them too, at most."""
_OF_NO_FILE = "default"
"""What an export without a name is called: it says nothing."""
_SHORTEST = 3
"""Letters of a name that is looked for, at least."""
_MOST_ROWS = 150
"""Chunks with a name, at most: of a name of several words the first ones; one of a single word says nothing then."""
_FEW_ROWS = 100
"""Chunks from which on that hold a name, it says nothing of one of them."""
_WORD_ALONE = 0.3
"""What a name of one plain word counts as, beside one of several: it stands in other senses too."""
_IMPORTS = ("import", "requir", "includ", "use", "mod")
"""Terms of lines that import another file."""
_MOST_HOLDING = 5_000
"""Chunks with the name of a file, at most: among more, who imports it is not looked for."""
_CANDIDATES = 16
"""Files that may use a file, at most: of some, their text says that they import another one of that name."""
_CHUNKS = 2
"""Chunks of each of these that are looked at: the first ones."""


class ListedDefinition(Struct, frozen=True):
    """A definition in the outline of a file.

    Attributes:
        start_line: First line, 1-based.
        end_line: Last line, inclusive.
        name: As in `hybrid.types.Hit`.
        kind: As in `hybrid.types.Definition`.
        scope: Names around it, without modules and packages.
        depth: How many of the file's definitions it is in.
    """

    start_line: int
    end_line: int
    name: str
    kind: str
    scope: str
    depth: int


class User(Struct, frozen=True):
    """A file that may use another one.

    Attributes:
        path: Its path.
        names: Names of definitions of the other file that this one has.
        module: The name, or folder and name, by which it seems to import the other one; empty when it does not.
        spans: First and last lines of its chunks that do.
    """

    path: str
    names: tuple[str, ...]
    module: str
    spans: tuple[tuple[int, int], ...]


class FilePart(Struct, frozen=True):
    """A definition in a file, or a chunk that holds none.

    Attributes:
        start_line: First line, 1-based; comments above a definition are not counted.
        end_line: Last line, inclusive.
        own_end: Last line before the first definition inside it: what is shown of a class. Else `end_line`.
        name: As in `hybrid.types.Hit`.
        kind: Of the definition, or the chunk's.
        scope: As in `hybrid.types.Hit`.
        is_definition: False for a chunk.
        evidence: The most that speaks for one of its chunks: the mean of bm25 and of the cosine above the mean of the
            project, each divided by the best.
        rows: First and last row of the chunks that it lies in.
    """

    start_line: int
    end_line: int
    own_end: int
    name: str
    kind: str
    scope: str
    is_definition: bool
    evidence: float
    rows: tuple[int, int]

    @property
    def is_holder(self) -> bool:
        """True for a class and its like, whose members are parts by themselves."""
        return self.kind in _HOLDERS


class FileParts:
    """Tells the parts of the files that one search found.

    Args:
        backend: What was searched.
        dense: Gives the cosine of any chunk.
        lexical: Gives the bm25 of any chunk.
        within: The folder that was searched, with a slash at its end; empty for all.
    """

    def __init__(self, backend: SearchBackend, dense: DenseLeg, lexical: Leg, within: str = "") -> None:
        self._backend = backend
        self._dense = dense
        self._lexical = lexical
        self._within = within
        self._outlines: list[Outline] = []

    def chunk(self, row: int) -> tuple[int, int, bytes]:
        """Return first and last line and the digest of a chunk of one of the files, as it was indexed."""
        outline = next(one for one in self._outlines if 0 <= row - one.first_row < len(one.chunk_starts))
        at = row - outline.first_row
        return int(outline.chunk_starts[at]), int(outline.chunk_ends[at]), outline.digest(at)

    def of_file_at(self, row: int, most_parts: int) -> list[FilePart]:
        """Return the parts of the file of a chunk, those with the most evidence; in the order of the file."""
        fields = self._backend.fields
        outline = fields.outline(self.file_of(row))
        self._outlines.append(outline)
        by_chunk, first = self._evidence(outline), outline.first_row
        kept = np.flatnonzero([kind not in _AROUND for kind in outline.kinds])
        starts, ends = outline.starts[kept], outline.ends[kept]
        own = _own_ends(starts, ends, np.array([kind in _HOLDERS for kind in outline.kinds], np.bool_)[kept])
        low = np.searchsorted(outline.chunk_ends, starts)
        high = np.maximum(np.searchsorted(outline.chunk_starts, own, side="right") - 1, low)
        bare = np.flatnonzero(~_covered(low, high, len(by_chunk)))
        bare = np.sort(bare[np.argsort(-by_chunk[bare], kind="stable")[:MOST_CHUNKS]])
        most = np.concatenate([_largest(by_chunk, low, high), by_chunk[bare]])
        best = np.sort(np.argsort(-most, kind="stable")[:most_parts])
        taken, rest = best[best < len(kept)], best[best >= len(kept)]
        columns = starts[taken], ends[taken], own[taken], kept[taken], low[taken], high[taken]
        places: list[list[int]] = np.stack(columns, axis=1).tolist()
        found: list[FilePart] = []
        for (start, end, to, n, at, last), worth in zip(places, most[taken].tolist(), strict=True):
            said = outline.name(n), outline.kinds[n], outline.scope(n)
            found.append(FilePart(start, end, to, *said, True, worth, (first + at, first + last)))
        for at, worth in zip(bare[rest - len(kept)].tolist(), most[rest].tolist(), strict=True):
            view = self._backend.get(first + at)
            place = view.start_line, view.end_line, view.end_line
            said = view.name, view.chunk_kind, view.scope
            found.append(FilePart(*place, *said, False, worth, (first + at, first + at)))
        return found

    def outline_of(self, row: int, lines: Sequence[str]) -> list[ListedDefinition]:
        """Return the definitions of the file of a chunk, but those within functions: the most important ones first.

        What encloses more comes first, then what is public, then what is longer. What begins or ends in a chunk that
        changed is left out: nobody knows where it is now.

        Args:
            row: The chunk.
            lines: The lines of the file as it is now, with secrets.
        """
        outline = self._backend.fields.outline(self.file_of(row))
        found: list[ListedDefinition] = []
        chunks = enumerate(zip(outline.chunk_starts.tolist(), outline.chunk_ends.tolist(), strict=True))
        is_same = [lines_digest(lines, *span) == outline.digest(at) for at, span in chunks]
        first = np.searchsorted(outline.chunk_ends, outline.starts).tolist()
        last = (np.searchsorted(outline.chunk_starts, outline.ends, side="right") - 1).tolist()
        around: list[tuple[int, str, str]] = []  # Last line, kind and name of what a definition is in, outermost first.
        for at, (start, end) in enumerate(zip(outline.starts.tolist(), outline.ends.tolist(), strict=True)):
            while around and around[-1][0] < start:
                around.pop()
            kind, name = outline.kinds[at], outline.name(at)
            if (
                all(outer in _HOLDERS or outer in _AROUND for _, outer, _ in around)
                and (kind == "heading" or kind not in _AROUND)
                and all(is_same[first[at] : first[at] + 1] + is_same[last[at] : last[at] + 1])
            ):
                owners = [name for _, outer, name in around if outer not in _AROUND or outer == "heading"]
                found.append(ListedDefinition(start, end, name, kind, ".".join(owners), len(owners)))
            around.append((end, kind, name))

        def rank(one: ListedDefinition) -> tuple[int, bool, int]:
            return one.depth + (one.kind in _MORE_OF), one.name.startswith("_"), one.start_line - one.end_line

        return sorted(found, key=rank)

    def users_of(self, row: int, names: Sequence[str]) -> list[User]:
        """Return the files that seem to use the file of a chunk, likeliest first: source before tests, then pages.

        Args:
            row: The chunk.
            names: Names that the file defines; those that other files define too, or that many mention, say nothing.
        """
        backend, own = self._backend, self.file_of(row)
        fields, worth = backend.fields, dict[int, float]()
        naming: dict[int, list[str]] = {}
        holding: dict[int, list[tuple[bool, int]]] = {}
        module, importing = self._importing(own)
        plain = (name for name in dict.fromkeys(names) if len(name) >= _SHORTEST and name.strip("$").isidentifier())
        told = (name for name in islice(plain, _NAMES_ASKED) if self.home_of(name) == own)
        for name in ["", *islice(told, _MOST_NAMES)]:  # First the name of the file itself.
            is_plain = is_plain_word(name)
            rows = self._rows_of(_whole(name), _MOST_ROWS if is_plain else _MOST_HOLDING) if name else importing
            rows = rows[backend.allows(EVERYTHING, rows)][:_MOST_ROWS]
            files: list[int] = fields.of_rows("file", rows).tolist()
            share = (_WORD_ALONE if is_plain else 1.0) / max(len(set(files)), 1)
            for file, at in zip(files, rows.tolist(), strict=True):
                if file != own and not (is_plain and "" not in naming.get(file, ())):
                    if name not in naming.setdefault(file, []):
                        naming[file].append(name)
                        worth[file] = worth.get(file, 0.0) + share
                    holding.setdefault(file, []).append((not name, at))
        roles = dict(zip(worth, fields.of_files("role", np.array(list(worth), np.int32)).tolist(), strict=True))
        files = sorted(worth, key=lambda file: (roles[file] & bit("test") > 0, -worth[file], file))
        source = (file for file in files if not roles[file] & bit("aside"))
        found: list[tuple[bool, User]] = []
        for file in islice((file for file in source if fields.path(file).startswith(self._within)), _CANDIDATES):
            chunks = dict.fromkeys(at for _, at in sorted(holding[file]))  # First those with the name of a definition.
            views = [backend.get(at) for at in islice(chunks, _CHUNKS)]
            spans = tuple(sorted((view.start_line, view.end_line) for view in views))
            names = tuple(filter(None, naming[file]))
            path = views[0].path.removeprefix(self._within)
            found.append((views[0].kind == "doc", User(path, names, module if "" in naming[file] else "", spans)))
        return [user for _, user in sorted(found, key=itemgetter(0))]

    def _importing(self, file: int) -> tuple[str, NDArray[np.intp]]:
        """Return the name by which files import a file, behind its folder's if others have it, and their chunks."""
        path = self._backend.fields.path(file)
        (folder, name), called = _module(path), PurePosixPath(path).name
        parts = [called] if PurePosixPath(path).stem == name else [name, called]
        alike = [
            one
            for _, one in self._backend.names.files_called(parts)
            if PurePosixPath(one).name == called and _module(one)[1] == name
        ]
        is_shared = alike != [path]  # None at all are told of a name that too many have.
        rows = self._rows_of(_whole(name), _MOST_HOLDING)
        for terms in (_whole(folder), _IMPORTS)[not is_shared :]:
            if len(rows):
                is_held = np.zeros(self._backend.n_rows, np.bool_)
                is_held[self._rows_of(terms)] = True
                rows = rows[is_held[rows]]
        if len(rows) > _MOST_ROWS:  # Most files import at their beginning.
            fields = self._backend.fields
            rows = rows[fields.of_files("first_row", fields.of_rows("file", rows)) == rows][:_MOST_ROWS]
        return f"{folder} {name}" if is_shared else name, rows

    def _rows_of(self, terms: Sequence[str], most: int | None = None) -> NDArray[np.intp]:
        """Return the chunks that hold any of some terms; of a term that more than `most` hold, none."""
        held = self._backend.terms
        kept = [term for term in terms if most is None or held.document_frequency(term) <= most]
        return np.concatenate([np.zeros(0, np.intp), *map(held.rows_of, kept)])

    def file_of(self, row: int) -> int:
        """Return the number of the file of a chunk."""
        return int(self._backend.fields.of_rows("file", np.array([row]))[0])

    def home_of(self, name: str) -> int | None:
        """Return the only file that defines a name; None for none or several."""
        files = set[int]()
        for block in self._backend.names.definitions(folded(name)) if name != _OF_NO_FILE else ():
            if len(files) > 1:
                break
            if block.name == name:
                rows = block.rows[block.is_full]
                files.update(
                    self._backend.fields.of_rows("file", rows[self._backend.allows(EVERYTHING, rows)]).tolist()
                )
        return files.pop() if len(files) == 1 else None

    def rows_naming(self, name: str) -> Sequence[int]:
        """Return the chunks that hold a name; none when many do."""
        return self._rows_of(_whole(name), _FEW_ROWS - 1).tolist() if name != _OF_NO_FILE else ()

    def _evidence(self, outline: Outline) -> NDArray[np.float64]:
        """Return what speaks for each chunk of a file, as `FilePart.evidence`."""
        rows = np.arange(outline.first_row, outline.first_row + len(outline.chunk_starts))
        figures = self._dense.chunks
        cosines = (self._dense.cosines(rows) - figures.mean) / max(figures.largest - figures.mean, 1e-6)
        words = self._lexical.raws(outline.first_row, outline.first_row + len(rows)) / max(self._lexical.best, 1e-6)
        return (cosines + words) / 2


def _whole(name: str) -> list[str]:
    """Return the index term that is all of a name; none for a name in a script without spaces."""
    name = name.strip("$")
    tokens = tokens_of_word(name)
    return [token for token in tokens if len(tokens) == 1 or token == name.lower().strip("_")][:1]


def _module(path: str) -> tuple[str, str]:
    """Return the name by which files import a file, and before it the folder around it; empty ones for none."""
    *folders, name = PurePosixPath(path).with_suffix("").parts
    while name in OF_FOLDERS:
        *folders, name = folders or [""]
    return folders[-1] if folders else "", name


def _own_ends(starts: NDArray[np.int32], ends: NDArray[np.int32], is_holder: NDArray[np.bool_]) -> NDArray[np.int32]:
    """Return the last line of each definition; of a holder, the last one before what is first defined inside it."""
    following = np.append(starts[1:], np.iinfo(np.int32).max)[: len(starts)]
    return np.where(is_holder & (following <= ends), np.maximum(following - 1, starts), ends).astype(np.int32)


def _covered(low: NDArray[np.intp], high: NDArray[np.intp], n_chunks: int) -> NDArray[np.bool_]:
    """Return for each chunk whether a definition lies in it; `low` and `high` are first and last chunk of each."""
    begun, ended = np.bincount(low, minlength=n_chunks + 1), np.bincount(high + 1, minlength=n_chunks + 1)
    return np.cumsum(begun - ended)[:-1] > 0


def _largest(values: NDArray[np.float64], low: NDArray[np.intp], high: NDArray[np.intp]) -> NDArray[np.float64]:
    """Return the largest of the values in each range, its last one included."""
    if not len(low):
        return values[:0]
    padded = np.append(values, -np.inf)
    return np.maximum.reduceat(padded, np.stack([low, high + 1], axis=1).ravel())[::2]
