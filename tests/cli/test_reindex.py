from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hybrid.base.atomic import locked
from tests.support.builders import PAYMENTS, Shop, git_project

if TYPE_CHECKING:
    from pathlib import Path

KEYS = {
    "documents",
    "chunks",
    "added",
    "changed",
    "removed",
    "embedded",
    "reused",
    "skipped",
    "seconds",
}


def _changes(summary: dict[str, int]) -> tuple[int, int, int, int]:
    return summary["documents"], summary["added"], summary["changed"], summary["removed"]


def test_reindex_reports_every_key_and_costs_only_what_changed(new_project: Shop) -> None:
    """The first build reads all; the next nothing; then only what was edited, renamed or deleted is counted."""
    root = new_project.root
    (root / "logo.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0")
    first = new_project.json("reindex")
    (root / "src/users/store.py").write_text(PAYMENTS["src/users/store.py"] + "\n\ndef count_users():\n    return 0\n")
    edited = new_project.json("reindex")
    (root / "docs/deploy.md").rename(root / "docs/release.md")
    renamed = new_project.json("reindex")
    (root / "README.md").unlink()
    deleted = new_project.json("reindex")
    unchanged = new_project.json("reindex")

    assert set(first) >= KEYS
    assert (4, 4, 0, 0) == _changes(first)
    assert {"binary": 1} == first["skipped"]
    assert first["chunks"] == first["embedded"] + first["reused"]
    assert (4, 0, 1, 0) == _changes(edited)
    assert edited["embedded"] >= 1
    assert (4, 1, 0, 1) == _changes(renamed)
    assert (3, 0, 0, 1) == _changes(deleted)
    assert (3, 0, 0, 0) == _changes(unchanged)
    assert 0 == unchanged["embedded"]
    found = new_project.json("search", "rolling back a release")["hits"][0]
    assert "docs/release.md" == found["path"]
    assert "count_users" in new_project.json("search", "count_users")["hits"][0]["text"]


def test_reindex_tells_people_in_two_lines(new_project: Shop) -> None:
    """The human form counts documents and changes, then what was left out; `--quiet` says nothing."""
    (new_project.root / "empty.py").write_text("")
    said = new_project.out("reindex")
    quiet = new_project.out("reindex", "--quiet")

    head, seconds = said.splitlines()[0].rsplit("; ", 1)
    assert "4 documents, 5 chunks; added 4, changed 0, removed 0; embedded 5, reused 0" == head
    assert seconds.endswith(" s")
    assert "skipped: 1 empty" == said.splitlines()[1]
    assert "" == quiet


def test_reindex_by_hand_makes_the_folder_of_the_project(new_project: Shop) -> None:
    """`reindex` creates `.hybrid/` whose own .gitignore leaves out what hybrid keeps there for itself."""
    new_project.out("reindex", "src", "--quiet")

    folder = new_project.root / ".hybrid"
    assert {".gitignore", "config.toml"} == {path.name for path in folder.iterdir()}
    assert {"hook_state.json", "hot-topics.md"} <= set((folder / ".gitignore").read_text().splitlines())


def test_a_home_directory_is_indexed_by_force_only(tmp_path: Path) -> None:
    """`reindex` and `init` in the home directory end with code 2 and leave nothing there; `--force` does it."""
    home = git_project(tmp_path / "me")
    shop = Shop(home, tmp_path / "hybrid-home")

    said = [shop.error(command, HOME=str(home)) for command in ("reindex", "init")]

    expected = (
        f"hybrid: {home.resolve()} is your home folder: index a folder in it instead; --force indexes it all the same"
    )
    assert [expected, expected] == said
    assert not (home / ".hybrid").exists()
    assert "4 documents" in shop.out("reindex", "--force", HOME=str(home))


def test_clones_of_one_origin_share_key_and_vectors(tmp_path: Path) -> None:
    """A second clone reuses every vector of the first, and each has documents of its own."""
    shops = [Shop(git_project(tmp_path / name), tmp_path / "hybrid-home") for name in ("one", "two")]
    for shop, url in zip(shops, ("git@example.org:team/shop.git", "https://example.org/team/shop"), strict=True):
        with (shop.root / ".git" / "config").open("a") as config:
            config.write(f'[remote "origin"]\n\turl = {url}\n')

    first, second = (shop.json("reindex") for shop in shops)
    (shops[1].root / "README.md").unlink()
    shops[1].out("reindex", "--quiet")

    states = [shop.json("status") for shop in shops]
    assert (4, 4) == (first["added"], second["added"])
    assert (0, second["chunks"]) == (second["embedded"], second["reused"])
    assert 1 == len({state["project"]["key"] for state in states})
    assert ["shop", "shop"] == [state["project"]["name"] for state in states]
    assert [4, 3] == [state["index"]["documents"] for state in states]


def test_a_second_build_says_who_is_building(own_shop: Shop) -> None:
    """While another process holds the build lock, `--wait 0` ends with code 2 and names it; searches go on."""
    key = own_shop.json("status")["project"]["key"]
    folder = own_shop.home / "projects" / key
    holder = json.loads((folder / "build.holder").read_text())

    with locked(folder / "build.lock", 0) as held:
        assert held
        said = own_shop.error("reindex", "--wait", "0")
        found = own_shop.json("search", "retry")
        state = own_shop.json("status")["index"]["state"]

    expected = (
        f"hybrid: another process is indexing this project (process {holder['pid']} on {holder['host']}); "
        "try again when it is done"
    )
    assert expected == said
    assert found["hits"]
    assert "building" == state


def test_a_damaged_index_is_repaired_by_reindex(own_shop: Shop) -> None:
    """A damaged segment is told by search, status and hook without a traceback; `reindex` repairs it from the catalog."""
    [segment] = own_shop.home.rglob("segment-*.safetensors")
    segment.write_bytes(b"\0" * segment.stat().st_size)

    said, index = own_shop.error("search", "retry"), own_shop.json("status")["index"]
    silent = own_shop.hook("How does the payment client retry?")
    summary = own_shop.json("reindex")

    assert said.startswith("hybrid: the index is damaged (")
    assert said.endswith("): run `hybrid reindex`")
    assert "error" == index["state"]
    assert "run `hybrid reindex`" in index["error"]
    assert ("", ["index_corrupt"]) == (silent, own_shop.reasons())
    assert (4, 0) == (summary["documents"], summary["embedded"])
    assert own_shop.json("search", "retry")["hits"]


def test_a_damaged_catalog_is_set_aside_and_reported(own_shop: Shop) -> None:
    """A catalog that is no database is kept under another name, built anew, and named by status."""
    [catalog] = own_shop.home.rglob("catalog.db")
    catalog.write_bytes(b"this is no database" * 100)

    searched = own_shop.json("search", "retry")
    summary = own_shop.json("reindex")

    index = own_shop.json("status")["index"]
    assert searched["hits"]
    assert (4, 4) == (summary["documents"], summary["added"])
    assert "ready" == index["state"]
    assert 1 == len(index["set_aside"])
    assert index["set_aside"][0].startswith("catalog.db.corrupt-")
    assert "Set aside" in own_shop.out("status", "--table")


def test_another_model_is_never_mixed(own_shop: Shop) -> None:
    """An index answers with the model that made it; `reindex` embeds everything with another one; going back is free."""
    other = {"HYBRID_MODEL_NAME": "hashing"}

    own = own_shop.json("search", "retry")["hits"]
    kept = own_shop.json("search", "retry", **other)["hits"]
    changed = own_shop.json("reindex", **other)
    found = own_shop.json("search", "retry", **other)["hits"]
    back = own_shop.json("reindex")

    assert own == kept
    assert [hit["cosine"] for hit in own] != [hit["cosine"] for hit in found]
    assert (changed["chunks"], 0) == (changed["embedded"], changed["reused"])
    assert found
    assert (0, back["chunks"]) == (back["embedded"], back["reused"])
