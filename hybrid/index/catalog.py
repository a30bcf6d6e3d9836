"""The catalog: one SQLite database per project with its documents, chunks and vectors; the build writes it.

Everything a snapshot needs can be made again from here without reading a file of the project.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.base.errors import BusyError
from hybrid.base.sqlite import open_database, open_for_reading
from hybrid.index.analysis import REDACT_RULES, ChunkRecord, decode_record
from hybrid.types import FileStamp

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from hybrid.index.analysis import Analysis
    from hybrid.index.vectors import StoredVectors
    from hybrid.types import Document, Found

DocumentRow = tuple[int, str, str]
"""Content id, kind and language of an indexed document."""

_SQL_VARIABLES = 500
"""Values of one SQL statement at most: old builds of SQLite allow 999."""
_IS_UNUSED = "id NOT IN (SELECT content_id FROM documents WHERE content_id IS NOT NULL)"
_OTHER_RULES = f"instr(recipe || ';', '; {REDACT_RULES};') = 0"
"""SQL condition: a recipe does not have the present rules for secrets, which are one of its parts."""
_RACY_NS = 2_000_000_000
"""Nanoseconds that the coarsest clock of a file system (FAT) cannot tell apart."""
_LOOSE_BYTES = 1_000_000
"""Free bytes in the database file above which it is compacted: below, the work costs more than the space."""


class KnownDocument(Struct, frozen=True):
    """A document of a tree as the catalog knows it.

    Attributes:
        stamp: Size and time of the file when it was last read.
        checked_ns: Time of that reading, nanoseconds since the epoch.
        content_id: Id of the document's content, or None when it was skipped.
        kind: `code`, `doc`, or empty when skipped.
    """

    stamp: FileStamp
    checked_ns: int
    content_id: int | None
    kind: str

    def is_unchanged(self, stamp: FileStamp) -> bool:
        """True when the stamp proves that the file is the one that was read.

        A file written within two seconds of its reading may change again without a new stamp on a coarse clock, so
        its stamp proves nothing (git calls such an entry racy).
        """
        return self.stamp == stamp and self.stamp.mtime_ns < self.checked_ns - _RACY_NS


_MODEL = "; model "
"""Separates the recipe of the documents from the key of the model."""


def recipe_of_tree(of_documents: str, model: str) -> str:
    """Return what a tree's documents were made by, as `Catalog.require_recipe` takes it: recipe and key of a model."""
    return f"{of_documents}{_MODEL}{model}"


def encode_path(path: str) -> bytes:
    """A path as the catalog stores it."""
    return path.encode("utf-8", "surrogatepass")


def decode_path(data: bytes) -> str:
    """The inverse of `encode_path`."""
    return data.decode("utf-8", "surrogatepass")


def _stored(root: str) -> str | bytes:
    """The path of a working tree as a value of SQLite: text, or bytes for a path that is not valid UTF-8."""
    try:
        root.encode()
    except UnicodeEncodeError:
        return os.fsencode(root)
    return root


class Catalog:
    """The open catalog of a project, seen from one of its working trees; the writer must hold the build lock."""

    def __init__(self, path: Path, *, tree: str, root: str, is_read_only: bool = False) -> None:
        """Open the catalog.

        Args:
            path: The database; it is made when missing, unless it is only read.
            tree: Id of the working tree.
            root: Path of the working tree, for people.
            is_read_only: Change nothing, not even a damaged file.

        Raises:
            IndexMismatchError: The database was written by another version.
            IndexCorruptError: The database is damaged and only read; otherwise it is set aside and made anew.
            BusyError: Another process holds the database.
            OSError: The folder cannot be written or read.
        """
        self._db = (open_for_reading if is_read_only else open_database)(path, "catalog")
        if not is_read_only:
            self.begin(is_durable=False)
            self._db.execute(
                "INSERT INTO trees(tree, root) VALUES(?, ?) ON CONFLICT(tree) DO UPDATE SET root = excluded.root "
                "WHERE root IS NOT excluded.root",
                (tree, _stored(root)),
            )
            self.commit()
        self._tree_id: int = self._value("SELECT id FROM trees WHERE tree = ?", tree) or 0

    def close(self) -> None:
        """Release the database."""
        self._db.close()

    def __enter__(self) -> Catalog:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def begin(self, *, is_durable: bool = True) -> None:
        """Start a transaction, if none is open; what is written until `commit` is kept whole or not at all.

        Args:
            is_durable: `commit` waits until the transaction, and all before it, is on disk. Without, a power failure
                may take it back, but not the end of this process; where there is no write-ahead log, `commit` waits
                for most of it anyway.
        """
        if not self._db.in_transaction:
            self._db.execute(f"PRAGMA synchronous = {'FULL' if is_durable else 'NORMAL'}")
            self._db.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """End the transaction that `begin` started and keep what it wrote; without one, do nothing."""
        if self._db.in_transaction:
            self._db.execute("COMMIT")

    def _value(self, sql: str, *values: object) -> Any:
        """The first column of the first row of an answer; None when the answer has no row."""
        row = self._db.execute(sql, values).fetchone()
        return row[0] if row else None

    def _of_tree(self, column: str) -> Any:
        """A column of this tree's row; None when a catalog that is only read does not know the tree."""
        return self._value(f"SELECT {column} FROM trees WHERE id = ?", self._tree_id)

    # --- documents -----------------------------------------------------------------------------------------

    def known(self) -> dict[str, KnownDocument]:
        """Every document of this tree by path, skipped ones too."""
        return self._known("1")

    def known_within(self, paths: Iterable[str]) -> dict[str, KnownDocument]:
        """The known documents at some paths and below them, as `known` gives them; costs one look-up a path."""
        found: dict[str, KnownDocument] = {}
        for path in map(encode_path, paths):
            # In UTF-8, what begins with `path/` lies between `path/` and `path0`.
            found |= self._known("(path = ? OR (path > ? AND path < ?))", path, path + b"/", path + b"0")
        return found

    def _known(self, condition: str, *values: bytes) -> dict[str, KnownDocument]:
        rows = self._db.execute(
            "SELECT path, size_bytes, mtime_ns, checked_ns, content_id, kind FROM documents "
            f"WHERE tree_id = ? AND {condition}",
            (self._tree_id, *values),
        )
        return {
            decode_path(path): KnownDocument(FileStamp(size, mtime), checked, content_id, kind)
            for path, size, mtime, checked, content_id, kind in rows
        }

    def put_document(
        self, found: Found, checked_ns: int, *, content_id: int | None, kind: str, reason: str | None
    ) -> None:
        """Store a document's row in place of an older one; `reason` says why it is skipped, None that it is not."""
        self._db.execute(
            "INSERT OR REPLACE INTO documents VALUES(?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._tree_id,
                encode_path(found.path),
                found.stamp.size_bytes,
                found.stamp.mtime_ns,
                checked_ns,
                content_id,
                kind,
                reason,
            ),
        )

    def remove_documents(self, paths: Iterable[str]) -> None:
        """Delete the rows of documents of this tree; their contents stay until `collect`."""
        rows = [(self._tree_id, encode_path(path)) for path in paths]
        self._db.executemany("DELETE FROM documents WHERE tree_id = ? AND path = ?", rows)

    def forget_trees(self, trees: Iterable[str]) -> None:
        """Delete working trees, perhaps this one, with the rows of their documents; contents stay until `collect`."""
        self._db.executemany("DELETE FROM trees WHERE tree = ?", [(tree,) for tree in trees])

    def indexed(self) -> dict[str, DocumentRow]:
        """Path → row of every indexed document of this tree, in order of path; skipped ones are left out."""
        rows = self._db.execute(
            "SELECT d.path, d.content_id, d.kind, c.language FROM documents d JOIN contents c ON c.id = d.content_id "
            "WHERE d.tree_id = ? ORDER BY d.path",
            (self._tree_id,),
        )
        return {decode_path(path): (content_id, kind, language) for path, content_id, kind, language in rows}

    def listed(self, show: str, contains: str, after: str, limit: int) -> list[tuple[str, str, str, int, str]]:
        """Return path, kind, language, bytes and reason of a skip of documents of this tree, in order of path.

        Args:
            show: `indexed`, `skipped` or `all`.
            contains: A part of the path, case aside in ASCII; empty for any.
            after: The path before the first one; empty for the beginning.
            limit: So many at most.
        """
        only = {"indexed": " AND d.content_id IS NOT NULL", "skipped": " AND d.skip_reason IS NOT NULL"}.get(show, "")
        values: list[object] = [self._tree_id, encode_path(after)]
        if contains:
            only += " AND instr(lower(CAST(d.path AS TEXT)), ?) > 0"
            values.append(contains.lower())
        rows = self._db.execute(
            "SELECT d.path, d.kind, coalesce(c.language, ''), d.size_bytes, coalesce(d.skip_reason, '') FROM documents "
            f"AS d LEFT JOIN contents AS c ON c.id = d.content_id WHERE d.tree_id = ? AND d.path > ?{only} "
            "ORDER BY d.path LIMIT ?",
            (*values, limit),
        )
        return [(decode_path(path), *rest) for path, *rest in rows]  # pyright: ignore[reportReturnType] - as selected

    def digest_of(self, content_id: int) -> bytes:
        """The digest of the text of a content, as of `hybrid.types.Document`; empty for an unknown id."""
        return self._value("SELECT digest FROM contents WHERE id = ?", content_id) or b""

    def recipe(self) -> str:
        """The recipe by which this tree's documents were read, chunked and embedded; empty before the first build."""
        return self._of_tree("recipe")

    def model(self) -> str:
        """The key of the model that this tree's documents are embedded with; empty before the first build."""
        return (self.recipe() or "").rpartition(_MODEL)[2]

    def require_recipe(self, recipe: str) -> bool:
        """Store the recipe of this tree, and forget its documents when they were made by another one.

        Texts, chunks and vectors stay known, so that going back costs reading only.

        Returns:
            True when the documents were forgotten.
        """
        if self.recipe() == recipe:
            return False
        self._db.execute("DELETE FROM documents WHERE tree_id = ?", (self._tree_id,))
        self._db.execute("UPDATE trees SET recipe = ?, is_dirty = 1 WHERE id = ?", (recipe, self._tree_id))
        return True

    # --- contents and chunks -------------------------------------------------------------------------------

    def content_of(self, document: Document, recipe: str) -> int | None:
        """The content id of a document's text; None when the text was not chunked by this recipe yet."""
        sql = "SELECT id FROM contents WHERE digest = ? AND language = ? AND recipe = ?"
        return self._value(sql, document.digest, document.language, recipe)

    def known_contents(self, recipe: str) -> frozenset[tuple[bytes, str]]:
        """Digest and language of every text that was chunked by this recipe."""
        rows = self._db.execute("SELECT digest, language FROM contents WHERE recipe = ?", (recipe,))
        return frozenset(rows.fetchall())

    def put_content(self, document: Document, recipe: str, analysis: Analysis) -> int:
        """Store a text and its chunks as a new content; return the content id."""
        records, details = analysis.records, analysis.details
        cursor = self._db.execute(
            "INSERT INTO contents(digest, language, recipe, method, fallback, n_chunks) VALUES(?, ?, ?, ?, ?, ?)",
            (document.digest, document.language, recipe, analysis.method, analysis.fallback, len(records)),
        )
        content_id = cursor.lastrowid or 0
        self._db.executemany(
            "INSERT INTO chunks VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (content_id, n, r.start_line, r.end_line, r.digest, r.name, r.kind, r.signature, r.scope, detail)
                for n, (r, detail) in enumerate(zip(records, details, strict=True))
            ],
        )
        return content_id

    def records(self, content_id: int) -> list[ChunkRecord]:
        """The chunks of a content, in order."""
        rows = self._db.execute(
            "SELECT start_line, end_line, digest, name, kind, signature, scope, detail FROM chunks "
            "WHERE content_id = ? ORDER BY ordinal",
            (content_id,),
        )
        return [decode_record(row) for row in rows]

    def content(self, content_id: int) -> tuple[bytes, str, str, str]:
        """Digest, language, method and fallback of a content."""
        sql = "SELECT digest, language, method, fallback FROM contents WHERE id = ?"
        return self._db.execute(sql, (content_id,)).fetchone()

    def details(self, content_id: int) -> list[bytes]:
        """The details (`encode_detail`) of the chunks of a content, in order."""
        sql = "SELECT detail FROM chunks WHERE content_id = ? ORDER BY ordinal"
        return [detail for (detail,) in self._db.execute(sql, (content_id,))]

    def lines_of(self, path: str, digest: bytes, *, near: int) -> tuple[int, int] | None:
        """First and last line of the chunk of a document that has this digest; None without one.

        Of several the one that begins nearest to the line `near`.
        """
        return self._db.execute(
            "SELECT c.start_line, c.end_line FROM documents d JOIN chunks c ON c.content_id = d.content_id "
            "WHERE d.tree_id = ? AND d.path = ? AND c.digest = ? ORDER BY abs(c.start_line - ?), c.start_line LIMIT 1",
            (self._tree_id, encode_path(path), digest, near),
        ).fetchone()

    def n_chunks(self, content_id: int | None) -> int:
        """Return how many chunks a content has; 0 for None or an unknown id."""
        return self._value("SELECT n_chunks FROM contents WHERE id = ?", content_id) or 0

    # --- vectors -------------------------------------------------------------------------------------------

    def model_id(self, key: str) -> int:
        """The id of a model key; a new key is stored and gets one."""
        self._db.execute("INSERT OR IGNORE INTO models(key) VALUES(?)", (key,))
        return self._value("SELECT id FROM models WHERE key = ?", key)

    def forget_models(self, is_gone: Callable[[str], bool]) -> None:
        """Delete the vectors of the models, by key, that are gone: no snapshot can be made with them again."""
        gone = [row for row in self._db.execute("SELECT key FROM models ORDER BY key").fetchall() if is_gone(row[0])]
        self._db.executemany("DELETE FROM models WHERE key = ?", gone)

    def known_inputs(self, model_id: int, inputs: Sequence[bytes]) -> set[bytes]:
        """Those of the inputs that have a vector of this model."""
        found: set[bytes] = set()
        for part, marks in _parts(inputs):
            sql = f"SELECT input FROM vectors WHERE model_id = ? AND input IN ({marks})"
            found.update(row[0] for row in self._db.execute(sql, (model_id, *part)))
        return found

    def keep_vectors(self, model_id: int, inputs: Sequence[bytes], content_id: int) -> None:
        """Make vectors belong to another content than before: they are deleted with that one."""
        for part, marks in _parts(inputs):
            sql = f"UPDATE vectors SET content_id = ? WHERE content_id <> ? AND model_id = ? AND input IN ({marks})"
            self._db.execute(sql, (content_id, content_id, model_id, *part))

    def put_vectors(self, model_id: int, inputs: Sequence[tuple[bytes, int]], vectors: StoredVectors) -> None:
        """Store one vector for each (input, content id); an input that has a vector of this model keeps it."""
        rows = zip(inputs, vectors.is_cut.tolist(), vectors.scale.tolist(), vectors.rows(), strict=True)
        self._db.executemany(
            "INSERT OR IGNORE INTO vectors VALUES(?, ?, ?, ?, ?, ?)",
            [(model_id, key, content_id, is_cut, scale, row) for (key, content_id), is_cut, scale, row in rows],
        )

    def vectors(self, model_id: int, inputs: Sequence[bytes], dim: int) -> StoredVectors:
        """The vectors of some inputs, in their order; for an unknown input zeros with scale 0."""
        from hybrid.index.vectors import from_rows  # Brings numpy, which a build without a change never needs.

        found: dict[bytes, tuple[float, bytes, int]] = {}
        for part, marks in _parts(inputs):
            sql = f"SELECT input, scale, data, is_cut FROM vectors WHERE model_id = ? AND input IN ({marks})"
            for key, scale, data, is_cut in self._db.execute(sql, (model_id, *part)):
                found[key] = (scale, data, is_cut)
        nothing = (0.0, bytes(dim), 0)
        return from_rows([found.get(key, nothing) for key in inputs], dim)

    # --- generations ---------------------------------------------------------------------------------------

    def generation(self) -> int:
        """The generation of the last snapshot that was made from this catalog; 0 before the first."""
        return self._of_tree("generation")

    def generation_of(self, tree: str) -> int:
        """As `generation`, of any working tree by its id; 0 for an unknown one."""
        return self._value("SELECT generation FROM trees WHERE tree = ?", tree) or 0

    def is_dirty(self) -> bool:
        """Return whether documents changed since the last snapshot of this tree."""
        return bool(self._of_tree("is_dirty"))

    def mark_dirty(self) -> None:
        """Say, within the transaction that changes documents, that the snapshot is behind.

        It is written even if it stands there already: only a transaction that writes makes others before it durable.
        """
        self._db.execute("UPDATE trees SET is_dirty = 1 WHERE id = ?", (self._tree_id,))

    def finish(self, generation: int, summary: Mapping[str, Any]) -> None:
        """Note that a snapshot of this generation holds every document, and keep the summary of its build.

        Summaries of a hundred generations are kept; older ones are deleted.
        """
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._db.execute(
            "UPDATE trees SET is_dirty = 0, generation = ?, built_at = ? WHERE id = ?", (generation, now, self._tree_id)
        )
        self._db.execute(
            "INSERT OR REPLACE INTO generations VALUES(?, ?, ?, ?)",
            (self._tree_id, generation, now, json.dumps(dict(summary))),
        )
        self._db.execute(
            "DELETE FROM generations WHERE tree_id = ? AND generation <= ?", (self._tree_id, generation - 100)
        )

    def summary_of(self, generation: int) -> dict[str, Any]:
        """The summary that `finish` was given for a generation; empty when it is not kept any more."""
        sql = "SELECT summary FROM generations WHERE tree_id = ? AND generation = ?"
        return json.loads(self._value(sql, self._tree_id, generation) or "{}")

    def touch(self) -> None:
        """Note that the tree was found up to date at this moment."""
        now = datetime.now(timezone.utc).isoformat(timespec="seconds")
        self._db.execute("UPDATE trees SET built_at = ? WHERE id = ?", (now, self._tree_id))

    def collect(self, *, spare: int) -> int:
        """Delete all contents that no document of any tree has, with their vectors, if there are more than `spare`.

        Contents of other branches are worth keeping for a while: up to `spare` of them, none is deleted. Those from
        other rules for secrets are of no use: they go in any case, and their bytes are overwritten.

        Returns:
            The number of contents deleted.
        """
        self._db.execute("PRAGMA secure_delete = ON")
        n_older = self._delete_contents(f"{_IS_UNUSED} AND {_OTHER_RULES}")
        self._db.execute("PRAGMA secure_delete = OFF")
        count: int = self._value(f"SELECT count(*) FROM contents WHERE {_IS_UNUSED}")
        return n_older + (self._delete_contents(_IS_UNUSED) if count > spare else 0)

    def _delete_contents(self, condition: str) -> int:
        self._db.execute(f"DELETE FROM vectors WHERE content_id IN (SELECT id FROM contents WHERE {condition})")
        return self._db.execute(f"DELETE FROM contents WHERE {condition}").rowcount

    def compact(self) -> None:
        """Write the file anew without what was deleted, and empty its log: no byte of a deleted text stays in either.

        To be called outside of a transaction; costs a copy of the file.

        Raises:
            BusyError: Another process reads the file, so that its log cannot be emptied.
        """
        self._db.execute("VACUUM")
        if self._value("PRAGMA wal_checkpoint(TRUNCATE)"):
            raise BusyError("another process reads the index")

    def compact_if_loose(self) -> None:
        """Compact the file if more than a megabyte and more than half of it is free; leave it if somebody reads it."""
        n_free: int = self._value("PRAGMA freelist_count")
        is_loose = n_free * self._value("PRAGMA page_size") > _LOOSE_BYTES
        if is_loose and 2 * n_free > self._value("PRAGMA page_count"):
            # The build is done, whatever becomes of this: the next one tries again.
            with contextlib.suppress(sqlite3.OperationalError, BusyError):
                self.compact()

    # --- figures -------------------------------------------------------------------------------------------

    def languages(self) -> dict[str, int]:
        """Language → number of indexed documents of this tree, the largest number first."""
        rows = self._db.execute(
            "SELECT c.language, count(*) FROM documents d JOIN contents c ON c.id = d.content_id WHERE d.tree_id = ? "
            "GROUP BY 1 ORDER BY 2 DESC, 1",
            (self._tree_id,),
        )
        return dict(rows.fetchall())

    def figures(self) -> dict[str, Any]:
        """Counts of the tree for `hybrid status`: documents, chunks, kinds, languages, skips, fallbacks; build time."""
        tree = (self._tree_id,)
        joined = "FROM documents d JOIN contents c ON c.id = d.content_id WHERE d.tree_id = ?"
        skips = "SELECT skip_reason, count(*) FROM documents WHERE tree_id = ? AND skip_reason IS NOT NULL GROUP BY 1"
        fallbacks = f"SELECT c.fallback, count(*) {joined} AND c.fallback != '' GROUP BY 1 ORDER BY 1"
        return {
            "documents": self._value(f"SELECT count(*) {joined}", *tree),
            "chunks": self._value(f"SELECT coalesce(sum(c.n_chunks), 0) {joined}", *tree),
            "by_kind": dict(self._db.execute(f"SELECT d.kind, count(*) {joined} GROUP BY 1 ORDER BY 1", tree)),
            "languages": self.languages(),
            "skipped": dict(self._db.execute(f"{skips} ORDER BY 2 DESC, 1", tree)),
            "fallbacks": dict(self._db.execute(fallbacks, tree)),
            "last_built_at": self._of_tree("built_at"),
        }


def _parts(values: Sequence[bytes]) -> Iterator[tuple[Sequence[bytes], str]]:
    """Yield slices of at most `_SQL_VARIABLES` values, each with its question marks for SQL (`?,?,…`)."""
    for at in range(0, len(values), _SQL_VARIABLES):
        part = values[at : at + _SQL_VARIABLES]
        yield part, ",".join("?" * len(part))
