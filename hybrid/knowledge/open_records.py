"""Opens the records of any number of working trees, and their indexes once something is searched."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.base.errors import HybridError
from hybrid.knowledge.stores import RecordStores
from hybrid.records.lessons.errors import LessonsError
from hybrid.records.memory.forms import record_of as record_of_row
from hybrid.records.memory.store import MemoryStore
from hybrid.sources.memory import row_at
from hybrid.sources.records import RecordSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from hybrid.knowledge.memory_views import MemoryView, MemoryViews
    from hybrid.knowledge.views import RecordView, RecordViews
    from hybrid.records.types import Record
    from hybrid.types import Embedder
    from hybrid.workspace import Workspace


class Records:
    """The records of any number of working trees, and their indexes once something is searched.

    Args:
        environ: Environment variables.
        load: Gives the embedder of a name, from `$HYBRID_HOME`; by default it is loaded anew.
        most_new: As of `record_views.RecordViews`.
        is_lagging: As of `memory_views.MemoryViews`.
    """

    def __init__(
        self,
        environ: Mapping[str, str] = os.environ,
        load: Callable[[str, Path], Embedder] | None = None,
        *,
        most_new: int | None = None,
        is_lagging: bool = False,
    ) -> None:
        self.stores = RecordStores(environ)
        self._is_lagging = is_lagging
        self._load = load
        self._most_new = most_new
        self._views: RecordViews | None = None
        self._memory: MemoryViews | None = None

    def views(self, workspace: Workspace) -> tuple[Sequence[RecordView], Sequence[str]]:
        """See `record_views.RecordViews.open_all`."""
        from hybrid.knowledge.views import RecordViews  # Brings numpy: a session's start has no need of it.

        if self._views is None:
            self._views = RecordViews(self.stores, self._load, most_new=self._most_new)
        return self._views.open_all(workspace)

    def memory(self, workspace: Workspace) -> tuple[MemoryView | None, Sequence[str]]:
        """The memory, open for searching, and what went wrong with it, a sentence each."""
        from hybrid.knowledge.memory_views import MemoryViews

        if self._memory is None:
            self._memory = MemoryViews(self.stores, self._load, most_new=self._most_new, is_lagging=self._is_lagging)
        try:
            return self._memory.open(workspace), ()
        except (HybridError, OSError, ValueError) as error:
            return None, (f"memory: {error}",)

    def by_path(self, workspace: Workspace) -> Mapping[str, Record]:
        """Every record that may be given out here, as the indexes name them; nothing is opened for it.

        Lessons that cannot be read are left out.
        """
        lessons: Sequence[Record] = ()
        with contextlib.suppress(LessonsError):
            lessons = self.stores.lessons(workspace).records
        known = {**RecordSource(lessons).by_path, **RecordSource(self.stores.lore(workspace)).by_path}
        project = workspace.project
        return RecordsHere(known, self.stores.memory(workspace), project.key if project else "")


class RecordsHere(Mapping[str, "Record"]):
    """Path in an index → record: those of the files at hand, those of the memory read when they are asked for.

    Args:
        known: Lessons and lore.
        memory: The store of the memory.
        key: Of the present project; what is another one's is marked.
    """

    def __init__(self, known: Mapping[str, Record], memory: MemoryStore, key: str) -> None:
        self._known = known
        self._memory = memory
        self._key = key

    def __getitem__(self, path: str) -> Record:
        found = self._known.get(path)
        if found is not None:
            return found
        row = row_at(self._memory, path)
        if row is None:
            raise KeyError(path)
        return record_of_row(row, here=self._key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)
