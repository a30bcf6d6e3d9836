from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hybrid.base.errors import ProjectError
from hybrid.operations.asking import Asking
from hybrid.operations.memory import around
from hybrid.operations.memory_look import MemoryFilters, look_at, project_named, project_paths
from hybrid.project.registry import Marks, remember
from hybrid.records.memory.store import MemoryStore
from hybrid.records.memory.types import Extracted, Owner, RowFilter
from tests.support.records import new_talk

NOW_MS = 1_770_000_000_000


def _known(home: Path) -> MemoryStore:
    """The registry knows two shops and a blog, the memory has rows of one shop and of a project of its own."""
    for key, name, path in (
        ("a" * 16, "shop", "/src/shop"),
        ("b" * 16, "shop", "/old/shop"),
        ("c" * 16, "blog", "/src/blog"),
    ):
        remember(Marks(name, "", path, f"id-{key}"), key, home)
    store = MemoryStore(home / "memory.db")
    for key, name in (("a" * 16, "shop"), ("d" * 16, "imported")):
        store.add_observation(Owner("s", key, name), Extracted("change", f"Change {name}"), NOW_MS)
    return store


def test_a_project_is_named_by_name_key_or_path(tmp_path: Path) -> None:
    """Of two of one name the one that has rows; what only the memory knows counts too."""
    with _known(tmp_path) as store:
        named = [
            project_named(text, tmp_path, store)
            for text in ("blog", "c" * 16, "imported", "shop", "b" * 16, "/src/blog")
        ]

    assert ["c", "c", "d", "a", "b", "c"] == [key[0] for key, _ in named]
    assert ["blog", "blog", "imported", "shop", "shop", "blog"] == [name for _, name in named]


def test_a_project_that_is_not_known_or_not_clear_is_an_error(tmp_path: Path) -> None:
    """It says how to find names, or which keys there are."""
    with _known(tmp_path) as store:
        with pytest.raises(ProjectError, match="no project 'cafe' is known"):
            project_named("cafe", tmp_path, store)
        store.add_observation(Owner("s", "b" * 16, "shop"), Extracted("change", "Another shop"), NOW_MS)
        with pytest.raises(ProjectError, match=f"give a key, {'a' * 16} or {'b' * 16}"):
            project_named("shop", tmp_path, store)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("store.py", ("src/store.py", "store.py")),
        ("./store.py", ("src/store.py", "store.py")),
        ("../docs", ("docs", "{root.parent}/docs")),
        ("{root}/a/b.py", ("a/b.py",)),
        ("{root}", (".",)),
        ("/etc/hosts", ("/etc/hosts",)),
    ],
)
def test_paths_are_those_of_the_project(tmp_path: Path, text: str, expected: tuple[str, ...]) -> None:
    """A relative one may be meant from here or from the root."""
    root = tmp_path / "shop"

    assert tuple(one.format(root=root) for one in expected) == project_paths(
        [text.format(root=root)], root / "src", root
    )


def test_paths_outside_of_a_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As written, those below the home directory as `~`; the same is given once."""
    monkeypatch.setenv("HOME", str(tmp_path))

    assert ("src/a.py", "~/notes.md") == project_paths(["src/a.py", "./src/a.py", "~/notes.md"], None, None)


@pytest.mark.parametrize(
    ("limit", "before", "after", "expected"),
    [
        (10, None, None, (4, 5)),
        (1, None, None, (0, 0)),
        (10, 0, None, (0, 9)),
        (10, 20, None, (20, 0)),
        (10, 2, 3, (2, 3)),
    ],
)
def test_a_limit_is_shared_by_both_sides(
    limit: int, before: int | None, after: int | None, expected: tuple[int, int]
) -> None:
    """With the record itself there are as many as the limit says, unless told otherwise."""
    assert expected == around(limit, before, after)


def test_filters_become_what_the_store_understands(tmp_path: Path) -> None:
    """A time is read; nothing restricts nothing."""
    talk = new_talk(tmp_path, {})
    asking = Asking(talk.workspace(), talk.kinds, {}, "manual", "", NOW_MS)

    def only(**filters: Any) -> RowFilter:
        return look_at(asking, MemoryFilters(project="*", **filters)).only

    assert RowFilter() == only()
    assert RowFilter("", NOW_MS - 2 * 86_400_000, ("bugfix",), ("src",)) == only(
        since="2d", type=["bugfix"], file=["src"]
    )
