from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hybrid.base.atomic import locked
from hybrid.base.errors import BusyError
from hybrid.index.catalog import Catalog
from hybrid.knowledge.record_indexes import place_of
from hybrid.project import registry, trust
from hybrid.project.find import Project
from hybrid.records.types import OF_TREES
from hybrid.upkeep.projects import enforce_quota, forget, indexed_projects
from tests.support.builders import ListSource, build_index, write_files

if TYPE_CHECKING:
    from hybrid.upkeep.projects import IndexedProject

KEY, OTHER = "a" * 16, "b" * 16
TREE = "1" * 16
LESSONS = "### [L001] Retry payments\n> Cap attempts at five.\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Two projects: one with an index, lessons of a tree and counters, and one with an index alone."""
    home = tmp_path / "home"
    for key, name in ((KEY, "shop"), (OTHER, "other")):
        registry.remember(registry.Marks(name, "", f"/src/{name}", ""), key, home)
    write_files(
        home / "projects" / KEY,
        {
            "catalog.db": "x" * 1000,
            "build.lock": "",
            "lessons.stats.json": '{"L007": {"uses": 3}}',
            f"trees/{TREE}/manifest.json": "{}",
            f"trees/{TREE}/LESSONS.md": LESSONS,
            f"trees/{TREE}/LESSONS.md.adopted-20260101T000000": "older",
            f"trees/{TREE}/lessons.stats.json": '{"L001": {"uses": 1}}',
            "trees/2222222222222222/segments/a.bin": "x",
        },
    )
    write_files(home / "projects" / OTHER, {"catalog.db": "x" * 1000})
    return home


def _project(home: Path, key: str = KEY) -> IndexedProject:
    return next(project for project in indexed_projects(home) if project.key == key)


def _tree_of(home: Path, key: str, tree: str) -> Project:
    root = Path("/src/shop")
    return Project(root, "shop", key, False, tree, True, root, True, "")


def _files(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_lessons_are_put_aside_and_everything_else_goes(home: Path) -> None:
    """Each file of lessons, byte for byte, with the counters beside it; locks stay, and the registry forgets."""
    forgotten = forget(home, _project(home), stamp="20260301T120000")

    aside = home / "forgotten" / f"{KEY}-20260301T120000" / "trees" / TREE
    assert [aside / "LESSONS.md", aside / "LESSONS.md.adopted-20260101T000000"] == sorted(forgotten.kept)
    assert LESSONS == (aside / "LESSONS.md").read_text()
    assert (aside / "lessons.stats.json").exists()
    assert {"build.lock", f"trees/{TREE}/lessons.stats.json.lock"} >= {
        name for name in _files(home / "projects" / KEY) if name != "lessons.stats.json.lock"
    }
    assert [OTHER] == list(registry.load_registry(home))
    assert [OTHER] == [project.key for project in indexed_projects(home)]


def test_nothing_that_was_put_aside_is_overwritten(home: Path) -> None:
    """Forgotten again within a second, the lessons go to another folder."""
    forget(home, _project(home), stamp="now")
    write_files(home / "projects" / KEY / "trees" / TREE, {"LESSONS.md": "### [L001] Another\n> Rule.\n"})
    (kept,) = forget(home, _project(home), stamp="now").kept

    assert home / "forgotten" / f"{KEY}-now-2" / "trees" / TREE / "LESSONS.md" == kept
    assert LESSONS == (home / "forgotten" / f"{KEY}-now" / "trees" / TREE / "LESSONS.md").read_text()


def test_views_and_acceptance_of_its_trees_go(home: Path) -> None:
    """Those of other projects stay; what only its records held leaves the catalog."""
    mine, theirs = _tree_of(home, KEY, "3" * 16), _tree_of(home, OTHER, "4" * 16)
    by_root = registry.path_key("/src/shop")
    for project in (mine, theirs):
        trust.accept(project, home)
    trees = [mine.tree, TREE, by_root, theirs.tree]
    for tree in trees:
        for kind in OF_TREES:
            source = ListSource({})
            source.put("L001", f"rule of {kind} {'x' if tree == theirs.tree else 'y'}")
            build_index(place_of(home, f"{kind}-{tree}"), source)

    forgotten = forget(home, _project(home), stamp="now")

    left = place_of(home, f"lessons-{theirs.tree}")
    with Catalog(left.catalog, tree=left.tree, root=left.root, is_read_only=True) as catalog:
        known, contents = catalog.indexed(), len(catalog.known_contents(_recipe(catalog)))
    assert forgotten.was_accepted
    assert (False, True) == (trust.is_accepted(mine, home), trust.is_accepted(theirs, home))
    assert sorted(f"{kind}-{theirs.tree}" for kind in OF_TREES) == sorted(
        path.name for path in (home / "records" / "views").iterdir()
    )
    assert ["L001"] == list(known)
    assert len(OF_TREES) == contents
    for tree in trees[:3]:
        gone = place_of(home, f"lore-{tree}")
        with Catalog(gone.catalog, tree=gone.tree, root=gone.root, is_read_only=True) as catalog:
            assert {} == catalog.known()


@pytest.mark.parametrize(
    "lock", ["projects/{key}/build.lock", "records/build.lock", "projects/{key}/trees/{tree}/lessons.stats.json.lock"]
)
def test_what_is_being_written_is_not_forgotten(home: Path, monkeypatch: pytest.MonkeyPatch, lock: str) -> None:
    """While an index, the records or the lessons are written, it says so; no lesson is lost."""
    monkeypatch.setattr("hybrid.upkeep.projects._WAIT_S", 0.01)
    build_index(place_of(home, f"lessons-{TREE}"), ListSource({"L001": "a rule"}))

    with locked(home / lock.format(key=KEY, tree=TREE), 0) as held, pytest.raises(BusyError, match="try again"):
        forget(home, _project(home), stamp="now")

    assert held
    assert LESSONS == (home / "projects" / KEY / "trees" / TREE / "LESSONS.md").read_text()
    assert KEY in registry.load_registry(home)


def test_a_quota_takes_indexes_and_nothing_that_people_wrote(home: Path) -> None:
    """Lessons, their counters and the key that they belong to stay; a project without any is forgotten."""
    (home / "records").mkdir()
    (home / "records" / "catalog.db").write_text("x" * 5000)

    enforce_quota(home, quota_bytes=10, keep="c" * 16)
    enforce_quota(home, quota_bytes=0, keep="c" * 16)

    assert [("shop", 0)] == [(project.name, project.size_bytes) for project in indexed_projects(home)]
    assert [
        "build.lock",
        "lessons.stats.json",
        f"trees/{TREE}/LESSONS.md",
        f"trees/{TREE}/LESSONS.md.adopted-20260101T000000",
        f"trees/{TREE}/lessons.stats.json",
    ] == _files(home / "projects" / KEY)
    assert [KEY] == list(registry.load_registry(home))
    assert 5000 == (home / "records" / "catalog.db").stat().st_size


def test_a_quota_leaves_the_key_of_an_accepted_tree(home: Path) -> None:
    """Or else its owner would have to accept it again."""
    trust.accept(_tree_of(home, OTHER, "4" * 16), home)

    enforce_quota(home, quota_bytes=10, keep=KEY)

    assert [KEY, OTHER] == list(registry.load_registry(home))


def _recipe(catalog: Catalog) -> str:
    """The key of the chunks in a recipe of documents."""
    return catalog.recipe().split("; source ")[0]


@pytest.mark.parametrize("is_forgotten", [True, False], ids=["forgotten", "taken by the quota"])
def test_a_build_that_begins_meanwhile_has_its_name(
    home: Path, monkeypatch: pytest.MonkeyPatch, is_forgotten: bool
) -> None:
    """Its entry in the registry went after the lock of its index: a build between the two had none for its index."""
    forget_entry = registry.forget

    def forget_late(key: str, home: Path) -> bool:
        with locked(home / "projects" / key / "build.lock", 0) as held:
            if held:  # As a build does.
                registry.remember(registry.Marks("again", "", "/src/again", ""), key, home)
                write_files(home / "projects" / key, {"catalog.db": "x" * 1000})
        return forget_entry(key, home)

    monkeypatch.setattr(registry, "forget", forget_late)
    if is_forgotten:
        forget(home, _project(home, OTHER), stamp="20260301T120000")
    else:
        enforce_quota(home, quota_bytes=1000, keep=KEY)

    assert "" not in [project.name for project in indexed_projects(home)]
    assert OTHER not in registry.load_registry(home)
