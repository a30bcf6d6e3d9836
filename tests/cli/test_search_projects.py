"""`hybrid search --all` and `--group`: the files of several projects, each behind its own gate."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.builders import Shop, git_project, new_shop

if TYPE_CHECKING:
    from pathlib import Path

TARIFFS = {
    "zoo/crossing.py": '''"""Tariffs of the zebra crossing."""


def zebra_tariff(animal, weight_kg):
    """Calculate the tariff of an animal at the zebra crossing by its weight."""
    base_cents = 250 if animal == "zebra" else 400
    return base_cents + 3 * weight_kg


def open_barrier(ticket):
    """Open the barrier of the crossing for a valid ticket."""
    return ticket.is_valid and not ticket.is_used
''',
    "README.md": "# Zoo\n\nTickets, tariffs and barriers of a zoo.\n",
}
RETRY = "how does the payment client retry a request after a timeout"
ZEBRA = "how is the tariff of the zebra crossing calculated by weight"


def _two(folder: Path) -> tuple[Shop, Shop]:
    """Two projects that share a home."""
    shop = new_shop(folder)
    zoo = Shop(git_project(folder / "zoo", TARIFFS), shop.home)
    zoo.out("reindex", "--quiet")
    return shop, zoo


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[Shop, Shop]:
    """Two projects that share a home; only for searches."""
    return _two(tmp_path_factory.mktemp("both"))


@pytest.fixture
def two(tmp_path: Path) -> tuple[Shop, Shop]:
    """The same for one test alone."""
    return _two(tmp_path)


def _hits(shop: Shop, query: str, *options: str, code: int = 0) -> list[tuple[str, str]]:
    found = shop.json("search", query, *options, code=code)
    return [(hit["project"], hit["path"]) for hit in found["hits"]]


def test_every_project_is_searched(both: tuple[Shop, Shop]) -> None:
    """Each query finds the project that it is about first, from whichever folder it is asked."""
    shop, zoo = both

    assert [("zoo", "zoo/crossing.py")] == _hits(shop, ZEBRA, "--all")[:1]
    assert [("shop", "src/payments/client.py")] == _hits(zoo, RETRY, "--all")[:1]
    assert zoo.out("search", "--all", "--quiet", "-n", "1", ZEBRA).startswith(" 1  zoo: [code] zoo/crossing.py:")


def test_where_a_gate_opens_none_is_blamed(both: tuple[Shop, Shop]) -> None:
    """A path that nothing lies below finds nothing, although a gate opens."""
    shop, _ = both

    assert "Nothing found.\n" == shop.out("search", "--all", ZEBRA, "--path", "nowhere/", code=1)


def test_a_project_with_a_closed_gate_gives_no_hit(both: tuple[Shop, Shop]) -> None:
    """Of a query about one project the other says nothing; of one about none, nothing is found."""
    shop, _ = both
    found = shop.json("search", "--all", ZEBRA)

    assert {"zoo"} == {hit["project"] for hit in found["hits"]}
    assert {"shop": False, "zoo": True} == {one["name"]: one["gate"]["is_open"] for one in found["projects"]}
    cooking = "what should I cook for dinner tonight?"
    assert "Nothing found: no gate of 2 projects opens.\n" == shop.out("search", "--all", cooking, code=1)


def test_ranks_run_through_all_projects(both: tuple[Shop, Shop]) -> None:
    """Ranks count from 1, worth never rises, and the order within a project is that of its own search."""
    shop, zoo = both
    asked = f"{RETRY}, and {ZEBRA}"
    hits = shop.json("search", "--all", asked)["hits"]

    assert {"shop", "zoo"} == {hit["project"] for hit in hits}
    assert list(range(1, len(hits) + 1)) == [hit["rank"] for hit in hits]
    worth = [hit["worth"] for hit in hits]
    assert sorted(worth, reverse=True) == worth
    own = [hit["path"] for hit in zoo.json("search", asked)["hits"]]
    mixed = [hit["path"] for hit in hits if hit["project"] == "zoo"]
    assert mixed == own[: len(mixed)]


def test_each_project_has_its_own_settings(two: tuple[Shop, Shop]) -> None:
    """A gate that a project's own settings close stays closed for it alone."""
    shop, zoo = two
    (zoo.root / ".hybrid" / "config.toml").write_text("[hooks]\ngate_threshold = 0.99\n")

    assert "zoo" not in {name for name, _ in _hits(shop, f"{RETRY}, and {ZEBRA}", "--all")}


def test_options_of_a_search_hold_for_each_project(both: tuple[Shop, Shop]) -> None:
    """`--path`, `--kind` and `--limit` count everywhere; records are searched in one project only."""
    shop, _ = both

    assert {"README.md"} == {path for _, path in _hits(shop, f"{ZEBRA} tickets", "--all", "--kind", "doc")}
    assert 1 == len(_hits(shop, f"{RETRY}, and {ZEBRA}", "--all", "-n", "1"))
    assert [] == _hits(shop, ZEBRA, "--all", "--path", "src", code=1)
    assert "--all searches files" in shop.error("search", "--all", "--kind", "lessons", ZEBRA)


def test_what_cannot_be_searched_is_told(two: tuple[Shop, Shop]) -> None:
    """A damaged index is named and the others answer; a project whose folder is gone is left out."""
    shop, zoo = two
    key = zoo.json("status")["project"]["key"]
    [segment] = shop.home.glob(f"projects/{key}/trees/*/segment-*")
    segment.write_bytes(b"damaged")
    damaged = shop.json("search", "--all", "--quiet", RETRY)
    shutil.rmtree(zoo.root)
    gone = shop.json("search", "--all", RETRY)

    assert [True] == [problem.startswith("zoo: ") for problem in damaged["problems"]]
    assert damaged["hits"] == gone["hits"] != []
    assert ["shop"] == [one["name"] for one in gone["projects"]]


def test_a_file_that_changed_is_not_shown(two: tuple[Shop, Shop]) -> None:
    """What another project's file does not say any more is left out."""
    shop, zoo = two
    (zoo.root / "zoo/crossing.py").write_text("def other():\n    return 1\n")

    assert "zoo/crossing.py" not in {path for _, path in _hits(shop, ZEBRA, "--all", code=1)}


def _groups(shop: Shop, *args: str, code: int = 0) -> dict[str, list[str]]:
    found: dict[str, Any] = shop.json("projects", "group", *args, code=code)
    return {group["name"]: [one["name"] for one in group["projects"]] for group in found["groups"]}


def test_groups_are_kept(two: tuple[Shop, Shop]) -> None:
    """A group is stored, replaced, listed and deleted; its projects stay."""
    shop, zoo = two
    key = zoo.json("status")["project"]["key"]

    assert {} == _groups(shop, code=1)
    assert {"animals": ["zoo"]} == _groups(shop, "animals", "zoo")
    assert {"animals": ["zoo", "shop"]} == _groups(shop, "animals", key, "shop", "zoo")
    assert {"animals": ["zoo", "shop"], "pay": ["shop"]} == {**_groups(shop, "pay", "shop"), **_groups(shop)}
    assert "animals: zoo, shop\npay: shop\n" == shop.out("projects", "group")
    assert "deleted the group animals\n" == shop.out("projects", "group", "animals", "--delete")
    assert {"pay": ["shop"]} == _groups(shop)
    assert 2 == len(shop.json("projects")["projects"])


def test_a_group_is_searched(two: tuple[Shop, Shop]) -> None:
    """Only its projects answer, also from a folder outside of it."""
    shop, zoo = two
    shop.out("projects", "group", "pay", "shop", "--quiet")

    assert {"shop"} == {name for name, _ in _hits(zoo, f"{RETRY}, and {ZEBRA}", "--group", "pay")}


@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("search", "--group", "none", "retry"), "no group is called none"),
        (("projects", "group", "pay", "nothing"), "no project is called nothing"),
        (("projects", "group", "none", "--delete"), "no group is called none"),
        (("projects", "group", "pay", "shop", "--delete"), "give the projects of the group, or --delete"),
        (("projects", "forget", "shop", "zoo"), "`hybrid projects forget` takes one NAME at most"),
        (("projects", "group", "--delete"), "needs the NAME of a group"),
    ],
)
def test_mistakes_are_told(shop: Shop, args: tuple[str, ...], told: str) -> None:
    """A group or project that is not there, and arguments that do not go together, are named."""

    assert told in shop.error(*args)


def test_a_forgotten_member_is_passed_over(two: tuple[Shop, Shop]) -> None:
    """The group lists its key, and searches the others."""
    shop, zoo = two
    shop.out("projects", "group", "both", "shop", "zoo", "--quiet")
    key = zoo.json("status")["project"]["key"]
    shop.out("projects", "forget", "zoo", "--quiet")

    assert f"both: shop, {key} (forgotten)\n" == shop.out("projects", "group")
    assert {"shop"} == {name for name, _ in _hits(shop, RETRY, "--group", "both")}
