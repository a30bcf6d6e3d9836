from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.ask.search import SearchRequest, best_lore, find
from hybrid.base.errors import HybridError, IndexMissingError
from hybrid.knowledge.open_indexes import LoadedModels, OpenIndexes
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.models.registry import HashingEmbedder, load_embedder
from hybrid.prompting.query import make_query
from hybrid.records.types import KINDS, OF_TREES
from hybrid.sources.records import RecordSource, record_id
from hybrid.upkeep.indexing import reindex
from hybrid.workspace import Workspace, open_workspace
from tests.support.builders import git_project
from tests.support.records import DECISION, new_talk, write_records

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from hybrid.knowledge.collections import RecordCollection
    from hybrid.types import Embedder, EmbedInput

COMMITS = make_query("How should I format git commits?")


@dataclass(frozen=True)
class Behind:
    """Records as a process sees them whose index is behind: all but those whose text was withdrawn meanwhile."""

    kinds: OpenKinds
    withdrawn: str

    def open(
        self, workspace: Workspace, kinds: Sequence[str], **options: Any
    ) -> tuple[Sequence[RecordCollection], Sequence[str]]:
        """The records with less in them than their index holds."""
        opened, problems = self.kinds.open(workspace, kinds, **options)
        for one in opened:
            one.by_path = {key: value for key, value in one.by_path.items() if value.id != self.withdrawn}
        return opened, problems


class Understanding(HashingEmbedder):
    """A reader that understands that stripes have to do with JSONL and with commits."""

    def embed_documents(self, inputs: Sequence[EmbedInput]) -> NDArray[np.float32]:
        """As the hashing embedder, of a word or two."""
        meant = ("JSONL", "conventional commits")
        return self.embed_queries(["zebras" if any(one in text.body for one in meant) else "else" for text in inputs])[
            0
        ]

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """As the hashing embedder, of one word."""
        return super().embed_query("zebras")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """The payments project with records, searched with the hashing model; its files have no index."""
    root, home = git_project(tmp_path / "shop"), tmp_path / "home"
    write_records(root, home)
    environ = {"HYBRID_HOME": str(home)}
    return open_workspace(root, environ=environ, flags={"model.name": "hashing"}, user_home=home / "user")


def _names(workspace: Workspace, kinds: OpenKinds, wanted: SearchRequest) -> list[str]:
    found = find(workspace, COMMITS, wanted, kinds)
    return [one.record.id for part in found.lists for one in part.hits if one.record]


def test_what_was_withdrawn_is_never_shown(workspace: Workspace) -> None:
    """A record that an index still holds but its file does not is left out, and the ranks close up."""
    kinds = OpenKinds({})
    behind: OpenKinds = Behind(kinds, "L001")  # pyright: ignore[reportAssignmentType]
    wanted = SearchRequest(("lesson",))

    before, after = _names(workspace, kinds, wanted), _names(workspace, behind, wanted)

    assert (["L001", "L002"], ["L002"]) == (before, after)
    (part,) = find(workspace, COMMITS, wanted, behind).lists
    assert [1] == [one.hit.rank for one in part.hits]


def test_a_retracted_decision_does_not_come_by_the_engine(workspace: Workspace) -> None:
    """What is no longer there is no match of the lore either."""
    kinds = OpenKinds({})
    behind: OpenKinds = Behind(kinds, DECISION)  # pyright: ignore[reportAssignmentType]
    query = make_query("audit journal")

    found = [best_lore(workspace, query, one, top_k=5) for one in (kinds, behind)]

    assert [True, False] == [DECISION in {record.id for record in one} for one in found]


def test_only_the_records_that_are_wanted_matter(workspace: Workspace) -> None:
    """What cannot be searched is an error when nothing else was wanted, and of no interest when it was not."""
    (workspace.home / "records").write_text("not a folder")
    kinds = OpenKinds({})

    with pytest.raises(HybridError, match=r"^lessons: "):
        find(workspace, COMMITS, SearchRequest(("lesson",)), kinds)
    with pytest.raises(IndexMissingError):
        find(workspace, COMMITS, SearchRequest(), kinds)
    with pytest.raises(HybridError, match=r"^lore: "):
        best_lore(workspace, COMMITS, kinds, top_k=5)


def test_the_id_of_a_numbered_record(workspace: Workspace) -> None:
    """Of two records with one id both paths lead back to it; an id of any form stays as it is."""
    records = OpenKinds({}).stores.lessons(workspace).records

    paths = RecordSource([*records, *records]).by_path

    assert {path: record.id for path, record in paths.items()} == {path: record_id(path) for path in paths}
    assert ["~2", "a~", "a~b", "dec-a1b2c3d4"] == [record_id(path) for path in ("~2", "a~", "a~b", "dec-a1b2c3d4")]


def test_what_only_the_reader_understands_is_found(tmp_path: Path) -> None:
    """A record without a word of the query, and far from it for the index's model, comes first once it was read."""
    talk = new_talk(tmp_path, model_reader="hashing-128")
    query = make_query("stripes of equids")

    def load(name: str, home: Path) -> Embedder:
        return Understanding(128) if name == "hashing-128" else load_embedder(name, home=home)

    def asked(kinds: OpenKinds) -> list[list[str]]:
        workspace = talk.workspace()
        wanted = [SearchRequest(), *(SearchRequest(KINDS[kind].hits) for kind in OF_TREES)]
        lists = [part for one in wanted for part in find(workspace, query, one, kinds).lists if part.kind in OF_TREES]
        found = [[one.record.id for one in part.hits[:1] if one.record] for part in lists]
        return [[record.id for record in best_lore(workspace, query, kinds, top_k=3)[:1]], *found]

    reindex(talk.workspace())
    kinds = OpenKinds({}, OpenIndexes(LoadedModels(load)))
    before = asked(kinds)
    kinds.read(talk.workspace())
    after = asked(kinds)

    assert [] == before[0]
    assert [[DECISION], ["L001"], [DECISION], ["L001"], [DECISION]] == after
    assert before != after
