"""`hybrid changes-with`, and how a project gets its history."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from hybrid.index.history import open_history
from hybrid.index.history_build import update_history
from hybrid.knowledge.open_indexes import OpenIndexes
from hybrid.prompting.query import make_query
from hybrid.upkeep.indexing import BuildRequest, reindex
from hybrid.workspace import open_workspace
from tests.support.builders import PAYMENTS, Shop, write_files
from tests.support.repositories import Repository

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
USERS, CLIENT = "src/users/store.py", "src/payments/client.py"


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """A shop whose users and payments changed together twice."""
    made = Repository(tmp_path / "shop")
    write_files(made.root, PAYMENTS)
    made.commit("Make a shop")
    for number in range(2):
        text = PAYMENTS[USERS], PAYMENTS[CLIENT]
        made.commit(
            f"Keep loyalty points {number}", {USERS: f"{text[0]}# {number}\n", CLIENT: f"{text[1]}# {number}\n"}
        )
    made.commit("Say more", {"README.md": "# Shop\n\nMore.\n"})
    return made


@pytest.fixture
def shop(repository: Repository, tmp_path: Path) -> Shop:
    """The command in that shop, not indexed yet."""
    return Shop(repository.root, tmp_path / "home")


def test_the_files_that_changed_together_are_shown(shop: Shop) -> None:
    """By share, with the numbers of commits; a file by itself has none, and a stranger is an error.

    Without an index nothing is said of tests.
    """
    form = shop.json("changes-with", USERS)

    assert {"path": USERS, "commits": 2, "read": 3} == {key: form[key] for key in ("path", "commits", "read")}
    assert [{"path": CLIENT, "commits": 2, "share": 0.5}] == form["files"]
    head = f"{USERS}: in 2 commits of the 3 read"
    assert [head, "Changes with:", f"   50%  {CLIENT} (2)"] == shop.out("changes-with", USERS).splitlines()
    assert ["Changes with:", "  nothing known"] == shop.out("changes-with", "README.md", code=1).splitlines()[1:]
    assert "know a file 'no.py'" in shop.error("changes-with", "no.py")
    assert "lies outside of the project" in shop.error("changes-with", "../other.py")


def test_a_new_commit_is_known_at_once(shop: Shop, repository: Repository) -> None:
    """In an indexed project too; a search knows it after the next look at the files."""
    shop.run("reindex")
    asked = ("search", "loyalty points and vouchers", "--limit", "5", "--explain", "--json")

    def told() -> dict[str, float]:
        hits = shop.json(*asked)["hits"]
        return {hit["path"]: (hit["steps"]["evidence"] or {}).get("history", 0) for hit in hits}

    before = told()
    repository.commit("Print vouchers for loyalty", {"README.md": "# Shop\n\nMore and more.\n"})
    shop.run("reindex")
    after = told()

    assert (0.0, 1.0) == (before["README.md"], before[USERS])
    assert 0 < after["README.md"] < after[USERS] == 1.0
    assert 4 == shop.json("changes-with", USERS)["read"]


def test_without_commits_it_says_so(tmp_path: Path) -> None:
    """A folder that is no repository, and one without a commit."""
    write_files(tmp_path / "plain", {".hybrid/config.toml": "", "a.py": "x = 1\n"})
    Repository(tmp_path / "new")

    for name in ("plain", "new"):
        assert "has no commits" in Shop(tmp_path / name, tmp_path / "home").error("changes-with", "a.py")


def test_an_open_index_is_opened_again_for_a_new_history(repository: Repository, tmp_path: Path) -> None:
    """The service keeps indexes open: a commit makes no new generation, and is known all the same."""
    environ = {"HYBRID_HOME": str(tmp_path / "home"), "HYBRID_MODEL_NAME": "hashing-64"}
    workspace = open_workspace(repository.root, environ=environ)
    reindex(workspace)
    indexes = OpenIndexes()
    first = indexes.files(workspace)
    repository.touch("Print vouchers", "README.md")
    update_history(workspace.place.folder, str(repository.root))
    second = indexes.files(workspace)
    told = [one.search(make_query("vouchers"), top_k=9).hits for one in (first, second)]

    assert first.backend.generation == second.backend.generation
    assert [[], ["README.md"]] == [[hit.path for hit in hits if hit.evidence.get("history")] for hits in told]
    assert second is indexes.files(workspace)


def test_a_build_of_a_part_does_not_read_the_log(repository: Repository, tmp_path: Path) -> None:
    """An edit costs no look at the log; a commit writes git's index, which asks for a look at everything."""
    environ = {"HYBRID_HOME": str(tmp_path / "home"), "HYBRID_MODEL_NAME": "hashing-64"}
    workspace = open_workspace(repository.root, environ=environ)
    reindex(workspace)
    repository.touch("Print vouchers", "README.md")
    reindex(workspace, BuildRequest(["README.md"]))
    behind = open_history(workspace.place.folder)
    reindex(workspace, BuildRequest(["README.md", ".git/index"]))
    after = open_history(workspace.place.folder)

    assert (3, 4) == (behind.n_commits if behind else 0, after.n_commits if after else 0)


def test_the_status_counts_the_commits_that_were_read(shop: Shop) -> None:
    """Before the first build there is none."""
    before = shop.json("status")["index"]["commits"]
    shop.out("reindex")

    assert (0, 3) == (before, shop.json("status")["index"]["commits"])
