"""A working tree over the team's index, through builds and searches, with the embedded engine as the store."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace

from hybrid.prompting.query import make_query
from hybrid.search.searcher import Judging
from hybrid.search.team import TeamSearcher, open_files
from hybrid.team import asking
from hybrid.team.base import read_outage
from hybrid.team.store import StoreKey, decode_file
from hybrid.types import Definition
from hybrid.upkeep.indexing import BuildRequest, bring_up_to_date
from hybrid.upkeep.sharing import open_team_store, push_here
from hybrid.workspace import Workspace, open_workspace
from tests.support.builders import PAYMENTS, git_project
from tests.support.embedded_store import EmbeddedStore

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.config import IndexConfig
    from hybrid.team.store import StoredFile
    from hybrid.types import Hit

WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
RETRY = "how long do we wait before a retry?"


class Team:
    """A project of a team, its store, and a working tree of it."""

    def __init__(self, folder: Path, store: dict[StoreKey, EmbeddedStore]) -> None:
        self.root = git_project(folder / "shop", PAYMENTS)
        self._folder = folder
        self._stores = store
        self.git("remote", "add", "origin", "git@git.example.com:acme/shop.git")
        self.commit("first")

    def git(self, *arguments: str) -> None:
        """Run git in the working tree."""
        subprocess.run(["git", *WHO, *arguments], cwd=self.root, check=True, capture_output=True)

    def commit(self, subject: str) -> None:
        """Commit all of the working tree."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", subject)

    @property
    def store(self) -> EmbeddedStore:
        """The store, once it is open."""
        (only,) = self._stores.values()
        return only

    def workspace(self, backend: str = "milvus") -> Workspace:
        """The working tree with the settings of a member of the team."""
        environ = {
            "HYBRID_HOME": str(self._folder / "home"),
            "HYBRID_INDEX_BACKEND": backend,
            "HYBRID_INDEX_URI": "near",
        }
        return open_workspace(self.root, environ=environ, user_home=self._folder)

    def push(self) -> None:
        """Push the commit."""
        workspace = self.workspace("embedded")
        store = open_team_store(workspace, makes=True)
        push_here(workspace, store, keep=9, progress=lambda *_: None)

    def build(self, *changed: str) -> int:
        """Bring the overlay up to date; return how many documents it holds."""
        request = BuildRequest(list(changed)) if changed else BuildRequest()
        return bring_up_to_date(self.workspace(), request).summary.documents

    def open(self) -> TeamSearcher:
        """Open it for searching."""
        searcher = open_files(self.workspace())
        assert isinstance(searcher, TeamSearcher)
        return searcher

    def hits(self, text: str = RETRY) -> list[Hit]:
        """Search anew."""
        return list(self.open().search(make_query(text), top_k=20, judging=Judging()).hits)

    def paths(self, text: str = RETRY) -> list[str]:
        """Path of each file found, each once."""
        return list(dict.fromkeys(hit.path for hit in self.hits(text)))


@pytest.fixture
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Team:
    """A team whose first commit was pushed, and whose working tree was built upon it."""
    stores: dict[StoreKey, EmbeddedStore] = {}

    def connect(_settings: IndexConfig, key: StoreKey, **_: object) -> EmbeddedStore:
        return stores.setdefault(key, EmbeddedStore(tmp_path / "store", key))

    monkeypatch.setattr("hybrid.team.asking.connect", connect)
    team = Team(tmp_path, stores)
    team.push()
    team.build()
    return team


def whole(team: Team, text: str = RETRY) -> list[Hit]:
    """What the index of all of the working tree, on this machine, gives."""
    workspace = team.workspace("embedded")
    bring_up_to_date(workspace)
    return list(open_files(workspace).search(make_query(text), top_k=20, judging=Judging()).hits)


def test_a_clean_tree_indexes_nothing_and_finds_everything(team: Team) -> None:
    """What the commit says is found through the store, as the whole index finds it: places, order, scores, evidence."""
    assert 0 == team.build()
    for text in (RETRY, "find a user by email", "PaymentFailed", "what should I cook tonight?"):
        found, expected = team.hits(text), whole(team, text)

        assert [(hit.path, hit.start_line, hit.name) for hit in expected] == [
            (hit.path, hit.start_line, hit.name) for hit in found
        ]
        for one, other in zip(expected, found, strict=True):
            assert one.cosine == pytest.approx(other.cosine, abs=1e-4)
            assert one.bm25 == pytest.approx(other.bm25, abs=1e-3)
            assert one.relevance == pytest.approx(other.relevance, abs=0.02)


def test_verdicts_are_those_of_the_whole_index(team: Team) -> None:
    """The gate gives a prompt the score and the bars that it gives over the whole index."""
    workspace = team.workspace("embedded")
    bring_up_to_date(workspace)
    expected, found = open_files(workspace), team.open()
    for text in (RETRY, "thanks, that looks good", "rename the sprite atlas of the boss level"):
        one, other = (each.search(make_query(text), top_k=3, judging=Judging()).verdict for each in (expected, found))

        assert one is not None
        assert other is not None
        assert one.is_open == other.is_open
        assert one.score == pytest.approx(other.score, abs=1e-3)
        assert one.threshold == pytest.approx(other.threshold, abs=1e-3)


def test_what_differs_here_wins(team: Team) -> None:
    """A changed file is found as it is here, a new one too, and a deleted one never."""
    path = next(one for one in PAYMENTS if one.endswith("client.py"))
    (team.root / path).write_text("def zebra_crossing():\n    return 'zebra'\n")
    (team.root / "src" / "new_zebra.py").write_text("def another_zebra():\n    return 'zebra'\n")
    gone = next(one for one in team.paths("find a user by email") if one != path)
    (team.root / gone).unlink()

    assert 2 == team.build()
    assert {path, "src/new_zebra.py"} == set(team.paths("zebra")[:2])
    assert ["zebra_crossing"] == [hit.name for hit in team.hits("zebra crossing") if hit.path == path]
    assert gone not in team.paths("find a user by email")


def test_an_edit_is_taken_in_alone(team: Team) -> None:
    """A build of one changed file asks the store for nothing, and undoing the change empties the overlay."""
    path = next(one for one in PAYMENTS if one.endswith("client.py"))
    before = (team.root / path).read_text()
    (team.root / path).write_text(before + "\n\ndef zebra():\n    return 1\n")
    team.store.calls.clear()

    assert 1 == team.build(path)
    assert [] == team.store.calls
    assert path == team.paths("zebra")[0]

    (team.root / path).write_text(before)

    assert 0 == team.build(path)
    assert path in team.paths()


def test_a_new_commit_of_the_team_becomes_the_base(team: Team) -> None:
    """After a commit was pushed, the next look at everything differs from that one."""
    (team.root / "src" / "new_zebra.py").write_text("def zebra():\n    return 'zebra'\n")
    assert 1 == team.build()
    team.commit("add a zebra")
    team.push()

    assert 0 == team.build()
    assert "src/new_zebra.py" == team.paths("zebra")[0]


def test_a_store_that_is_down_is_done_without(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the overlay and the last whole index answer; when the store is back it is asked again, by the same searcher."""
    (team.root / "src" / "new_zebra.py").write_text("def zebra_retry():\n    return 'zebra'\n")
    team.build()
    searcher = team.open()
    expected = [hit.path for hit in searcher.search(make_query(RETRY), top_k=20).hits]
    team.store.is_down = True
    found = [hit.path for hit in searcher.search(make_query(RETRY), top_k=20).hits]

    assert "does not answer" in searcher.problem
    assert set(expected) == set(found)  # The push left a whole index of this tree.
    assert "src/new_zebra.py" in found

    team.store.is_down = False
    monkeypatch.setattr(asking, "_RETRY_S", 0.0)
    searcher.team.connection.failed(RuntimeError("again"))

    assert expected == [hit.path for hit in searcher.search(make_query(RETRY), top_k=20).hits]
    assert "" == searcher.problem


def test_a_store_that_answers_with_something_unreadable_is_done_without(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It counts as one that is down: what lies here answers, and the reason is told."""
    searcher = team.open()
    expected = {hit.path for hit in searcher.search(make_query(RETRY), top_k=20).hits}
    another = team.open()
    monkeypatch.setattr(team.store, "files", lambda *_, **__: decode_file(b"damaged"))

    assert expected == {hit.path for hit in another.search(make_query(RETRY), top_k=20).hits}
    assert "push it again" in another.problem
    assert another.problem == another.team.connection.problem


def test_files_that_together_cannot_be_are_done_without(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """Kinds of definitions beyond a byte have no room in a segment: what lies here answers."""
    expected = set(team.paths())
    kinds = tuple(Definition("a", f"kind {number}", 1, 1, "", "", 0, False) for number in range(300))
    files = team.store.files

    def with_kinds(*args: Any, **options: Any) -> dict[str, StoredFile]:
        found = files(*args, **options)
        return {
            name: replace(file, records=tuple(replace(one, definitions=kinds) for one in file.records))
            for name, file in found.items()
        }

    monkeypatch.setattr(team.store, "files", with_kinds)
    searcher = team.open()

    assert expected == {hit.path for hit in searcher.search(make_query(RETRY), top_k=20).hits}
    assert "push it again" in searcher.problem


def test_a_hook_without_a_service_asks_no_store(team: Team) -> None:
    """It has no time to connect: the overlay and the last whole index answer it."""
    expected = set(team.paths())
    team.store.calls.clear()
    searcher = open_files(team.workspace(), is_asking=False)

    assert expected == {hit.path for hit in searcher.search(make_query(RETRY), top_k=20).hits}
    assert [] == team.store.calls


def test_an_outage_is_noted_until_it_is_over(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first search without the store notes why and since when, and the first one with it again deletes the note."""
    searcher, folder = team.open(), team.workspace().place.folder
    searcher.search(make_query(RETRY), top_k=3)
    assert read_outage(folder) is None
    team.store.is_down = True
    searcher.search(make_query(RETRY), top_k=3)
    outage = read_outage(folder)
    searcher.search(make_query(RETRY), top_k=3)

    assert outage is not None
    assert "does not answer" in outage.problem
    assert outage == read_outage(folder)

    team.store.is_down = False
    monkeypatch.setattr(asking, "_RETRY_S", 0.0)
    searcher.team.connection.failed(RuntimeError("again"))
    searcher.search(make_query(RETRY), top_k=3)

    assert read_outage(folder) is None


def test_a_build_without_the_store_keeps_the_base(team: Team) -> None:
    """While the store is down, a look at everything differs from the base that is here."""
    team.store.is_down = True
    (team.root / "src" / "new_zebra.py").write_text("def zebra():\n    return 'zebra'\n")

    assert 1 == team.build()
