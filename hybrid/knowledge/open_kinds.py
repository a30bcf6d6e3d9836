"""Opens every kind of knowledge of working trees for searching, and gives the stores of records."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from operator import is_not
from typing import TYPE_CHECKING

from hybrid.base.errors import HybridError
from hybrid.knowledge.collections import NO_SESSION, LessonCollection, RecordCollection, is_of_project
from hybrid.knowledge.open_indexes import OpenIndexes
from hybrid.knowledge.stores import RecordStores
from hybrid.records.memory.store import MemoryStore
from hybrid.records.memory.types import RowFilter, record_of
from hybrid.records.types import OF_RECORDS, OF_TREES, LessonsError
from hybrid.sources.records import RecordSource, row_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from hybrid.knowledge.collections import AskingSession, RecordsCollection
    from hybrid.knowledge.memory_collection import MemoryCollection
    from hybrid.knowledge.named_code import NamingRecords
    from hybrid.records.types import Record
    from hybrid.search.searcher import Searcher
    from hybrid.workspace import Workspace


class OpenKinds:
    """Files, lessons, lore and memory of any number of working trees, open for searching once they are asked for.

    Args:
        environ: Environment variables; `LORE_DATA_DIR` names the user's lore.
        indexes: The open indexes; a service shares them among all environments.

    Attributes:
        stores: The stores of the records, which need no index.
    """

    def __init__(self, environ: Mapping[str, str] = os.environ, indexes: OpenIndexes | None = None) -> None:
        self.stores = RecordStores(environ)
        self._indexes = indexes or OpenIndexes()
        self._naming: dict[str, tuple[list[Sequence[Record]], NamingRecords]] = {}

    def searcher(self, workspace: Workspace) -> Searcher:
        """Return the searcher of the files; see `OpenIndexes.files`."""
        return self._indexes.files(workspace)

    def open(
        self,
        workspace: Workspace,
        kinds: Iterable[str] = OF_RECORDS,
        *,
        session: AskingSession = NO_SESSION,
        waits: bool = False,
    ) -> tuple[list[RecordsCollection], list[str]]:
        """Return kinds of records that have any, and a sentence for each kind or file that failed.

        Args:
            workspace: With a project.
            kinds: The names of the kinds, in the order wanted.
            session: As of `memory`.
            waits: As of `memory`.
        """
        opened: list[RecordsCollection] = []
        problems: list[str] = []
        for kind in kinds:
            try:
                if kind == "memory":
                    found = self.memory(workspace, session=session, waits=waits)
                else:
                    found = self.records(workspace, kind)
            except (HybridError, OSError, ValueError) as error:  # No kind takes another one's place away.
                problems.append(f"{kind}: {error}")
                continue
            if found is not None:
                opened.append(found)
                problems += [f"{kind}: {problem}" for problem in found.problems]
        return opened, problems

    def records(self, workspace: Workspace, kind: str) -> RecordCollection | None:
        """Return records of a tree as their files are now; None when there is none or the kind is off.

        Raises:
            HybridError: The index of the records cannot be used or made, or another thread makes it for too long.
            OSError: A disk is full or read-only.
        """
        if not getattr(workspace.config, kind).enabled:
            return None
        records = self.stores.records(workspace, kind)
        if not records:
            return None
        from hybrid.knowledge.record_indexes import TreeRecords  # Brings numpy: a session's start has no need of it.

        opened = self._indexes.get(TreeRecords(kind, workspace, records, self.stores))
        if kind == "lessons":
            return LessonCollection(opened, workspace.config, self.stores.lessons(workspace))
        return RecordCollection(kind, opened, workspace.config)

    def memory(
        self, workspace: Workspace, *, session: AskingSession = NO_SESSION, waits: bool = False
    ) -> MemoryCollection | None:
        """Return the memory; None when it is switched off or holds nothing for the project.

        In a service, or while the index cannot be written, the newest rows may be missing.

        Args:
            workspace: The workspace whose memory it is.
            session: The session that asks.
            waits: Have the newest rows indexed first, if they are few; a prompt does not wait for them.

        Raises:
            BusyError: It is being indexed.
            HybridError: It cannot be opened.
            OSError: A disk is full or read-only.
        """
        memory, project, store = workspace.config.memory, workspace.project, self.stores.memory(workspace)
        # The key of the one project that the index holds, if it is one.
        own = "" if memory.cross_project or project is None else project.key
        if not memory.enabled or not store.exists or not store.newest(RowFilter(key=own), 1):
            return None
        from hybrid.knowledge.memory_collection import MemoryCollection  # Brings numpy.
        from hybrid.knowledge.record_indexes import MemoryIndex

        searcher = self._indexes.get(MemoryIndex(workspace, store, own), waits=waits).searcher
        return MemoryCollection(searcher, store, workspace, session) if searcher.backend.n_chunks else None

    def read(self, workspace: Workspace) -> list[str]:
        """Have the reader of the settings read lessons and lore that it has not read; returns the kinds that were new.

        Raises:
            HybridError: An index, or the model that reads, cannot be used.
            OSError: A disk is full or read-only.
        """
        from hybrid.knowledge.record_indexes import read_records_of, reader_of

        reader = reader_of(workspace, self._indexes)
        if reader is None or workspace.project is None:
            return []
        opened = filter(None, (self.records(workspace, kind) for kind in OF_TREES))
        return [one.kind for one in opened if read_records_of(workspace, one, reader)]

    def is_read(self, workspace: Workspace) -> bool:
        """Return whether the reader has read all lessons and lore of a workspace, or has nothing to read."""
        from hybrid.knowledge.record_indexes import reader_of

        if reader_of(workspace, self._indexes) is None:
            return True
        gates = [one.searcher.gate for one in self.open(workspace, OF_TREES)[0]]
        return all(gate is None or not gate.judges_records or gate.reader is not None for gate in gates)

    def warm_reader(self, workspace: Workspace) -> None:
        """Load what reads a prompt beside the records, before the first prompt pays for it.

        Raises:
            ModelError: It cannot be loaded.
        """
        for one in self.open(workspace, OF_TREES)[0]:
            if one.searcher.gate and one.searcher.gate.reader:
                one.searcher.gate.reader.embedder.embed_query("warm up")

    def naming(self, workspace: Workspace) -> NamingRecords:
        """Return the lessons and the lore of the project by the code that they name; the same while nothing changed.

        Lessons that cannot be read are left out.
        """
        records: list[Sequence[Record]] = []
        for kind in OF_TREES:
            with contextlib.suppress(LessonsError):
                if getattr(workspace.config, kind).enabled:
                    records.append(self.stores.records(workspace, kind))
        tree = workspace.require_project().tree
        known = self._naming.get(tree)
        if known is None or len(known[0]) != len(records) or any(map(is_not, known[0], records)):
            from hybrid.knowledge.named_code import NamingRecords  # Brings numpy.

            numbered = (RecordSource(some).by_path for some in records)
            own = {path: one for some in numbered for path, one in some.items() if is_of_project(one)}
            known = self._naming[tree] = records, NamingRecords(own)
        return known[1]

    def by_path(self, workspace: Workspace) -> Mapping[str, Record]:
        """Return path in the indexes → record that may be given out here, without opening an index.

        Lessons that cannot be read are left out. To look a row of the memory up may raise `MemoryDatabaseError`.
        """
        known: dict[str, Record] = {}
        for kind in OF_TREES:
            with contextlib.suppress(LessonsError):
                known |= RecordSource(self.stores.records(workspace, kind)).by_path
        project = workspace.project
        return RecordsHere(known, self.stores.memory(workspace), project.key if project else "")


class RecordsHere(Mapping[str, "Record"]):
    """Path in an index → record; rows of the memory are read one by one, and left out of iteration and length.

    Args:
        known: Path → lesson or record of lore.
        memory: The store of the memory.
        key: Key of the present project; rows of another one are marked with its name.
    """

    def __init__(self, known: Mapping[str, Record], memory: MemoryStore, key: str) -> None:
        self._known = known
        self._memory = memory
        self._key = key

    def __getitem__(self, path: str) -> Record:
        record = self._known.get(path)
        if record is not None:
            return record
        row = row_at(self._memory, path)
        if row is None:
            raise KeyError(path)
        return record_of(row, here=self._key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)
