"""`hybrid index`, through the real command; with a store only in `make milvus`."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import PAYMENTS, Shop, new_shop

if TYPE_CHECKING:
    from pathlib import Path

    from tests.team.conftest import Desk

WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A project with a commit and an origin."""
    shop = new_shop(tmp_path, is_indexed=False)
    git(shop, "remote", "add", "origin", "https://ada:pw@git.example.com/acme/shop.git")
    git(shop, "add", "--all")
    git(shop, *WHO, "commit", "--quiet", "-m", "first")
    return shop


def git(shop: Shop, *arguments: str) -> None:
    """Run git in the project."""
    subprocess.run(["git", *arguments], cwd=shop.root, check=True, capture_output=True)


def test_without_a_store_the_setting_is_named(shop: Shop) -> None:
    """Every action says how to name a store."""
    for action in (["push"], ["drop", "--everything"]):
        assert "hybrid config set index.uri" in shop.error("index", *action)
    assert "hybrid config set index.uri" in shop.out("index", "status", code=1)


def test_a_project_names_no_store(shop: Shop) -> None:
    """A clone cannot send code to a stranger: its own file may not choose the store."""
    (shop.root / ".hybrid").mkdir(exist_ok=True)
    (shop.root / ".hybrid" / "config.toml").write_text('[index]\nuri = "https://stranger.example.com"\n')
    shop.run("trust", "--quiet")

    assert b"stranger" not in shop.run("index", "status").stdout


@pytest.mark.milvus
def test_a_commit_is_pushed_shown_and_dropped(shop: Shop, desk: Desk) -> None:
    """A push writes the files of the commit, a second one none; status shows it; drop deletes it."""
    if desk.server is None or not desk.open().capabilities.lexical:
        pytest.skip("the command opens a Milvus that searches by words")
    (shop.root / "not_in_git.py").write_text("SECRET_PLACE = 1\n")
    where = {"HYBRID_INDEX_URI": desk.server.uri, "HYBRID_INDEX_COLLECTION": "of_the_command"}
    first = shop.json("index", "push", **where)
    second = shop.json("index", "push", **where)
    changed = next(iter(PAYMENTS))
    (shop.root / changed).write_text("x = 1\n")
    refused = shop.error("index", "push", **where)
    shown = shop.json("index", "status", **where)
    shop.run("index", "drop", "--commit", first["commit"][:8], **where)
    after = shop.json("index", "status", code=1, **where)
    shop.run("index", "drop", "--everything", **where)

    assert ("git.example.com/acme/shop", len(PAYMENTS), len(PAYMENTS)) == (
        first["repository"],
        first["files"],
        first["written"],
    )
    assert (len(PAYMENTS), 0) == (second["files"], second["written"])
    assert changed in refused
    assert [first["commit"]] == [commit for commit, _ in shown["repositories"][0]["generations"]]
    assert [] == after["repositories"]
