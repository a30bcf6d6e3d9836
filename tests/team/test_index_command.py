"""`hybrid index`, through the real command; with a store only in `make milvus`."""

from __future__ import annotations

import subprocess
import time
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import PAYMENTS, Shop, git_project, new_shop

if TYPE_CHECKING:
    from pathlib import Path

    from tests.team.conftest import Desk

WHO = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    """A project with a commit and an origin."""
    return committed(new_shop(tmp_path, is_indexed=False), "shop")


def committed(shop: Shop, name: str) -> Shop:
    """Give a project a commit and an origin."""
    git(shop, "remote", "add", "origin", f"https://ada:pw@git.example.com/acme/{name}.git")
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


def test_what_is_missing_is_said_once(shop: Shop) -> None:
    """The status without a store is one sentence."""
    assert 1 == shop.out("index", "status", code=1).count("no team")


def test_a_password_in_an_address_is_shown_nowhere(shop: Shop) -> None:
    """Both commands that print the address print it without user and password, for people and as JSON."""
    where = {"HYBRID_INDEX_URI": "https://me:hidden@127.0.0.1:1", "HYBRID_INDEX_BACKEND": "milvus"}
    said = [shop.run(*args, **where) for args in (["index", "status"], ["index", "status", "--json"])]
    said += [shop.run(*args, **where) for args in (["status", "--table"], ["status", "--json"])]

    assert all(b"127.0.0.1:1" in one.stdout for one in said)
    assert not any(b"hidden" in one.stdout + one.stderr for one in said)


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


def test_other_repositories_need_a_store(shop: Shop) -> None:
    """`hybrid search --team` says how to name one, goes with no other choice of projects, and searches files alone."""
    assert "hybrid config set index.uri" in shop.error("search", "--team", "retry")
    assert "not allowed with" in shop.run("search", "--team", "--all", "retry").stderr.decode()
    assert "--team searches files" in shop.error("search", "--team", "--kind", "lore", "retry")


@pytest.mark.milvus
def test_other_repositories_are_searched(shop: Shop, desk: Desk, tmp_path: Path) -> None:
    """A repository that is only in the store is found by its place, and shown once its owner stores texts."""
    if desk.server is None or not desk.open().capabilities.lexical:
        pytest.skip("the command opens a Milvus that searches by words")
    where = {"HYBRID_INDEX_URI": desk.server.uri, "HYBRID_INDEX_COLLECTION": "of_others"}
    tickets = "class TicketCounter:\n    '''Counts the tickets that were sold for the zebra crossing.'''\n" + "".join(
        f"\n    def sold_{n}(self, day):\n        return self.tickets[day] * {n}\n" for n in range(9)
    )
    zoo = committed(Shop(git_project(tmp_path / "zoo", {"zoo/tickets.py": tickets}), tmp_path / "of-ci"), "zoo")
    query = "which class counts the tickets sold for the zebra crossing"
    shop.run("reindex", "--quiet")
    shop.run("index", "push", **where)
    zoo.run("index", "push", **where)
    [by_place, *_] = shop.json("search", "--team", query, **where)["hits"]
    assert 1 == zoo.json("index", "push", **where, HYBRID_INDEX_STORE_TEXT="true")["texts"]
    [shown, *_] = shop.json("search", "--team", query, **where)["hits"]
    status = shop.out("index", "status", **where)
    zoo.run("index", "push", **where)
    [gone, *_] = shop.json("search", "--team", query, **where)["hits"]
    own = shop.json("search", "--team", "how does the payment client retry after a timeout", **where)["hits"][0]
    shop.run("index", "drop", "--everything", **where)

    place = ("git.example.com/acme/zoo", "zoo/tickets.py")
    assert [place] * 3 == [(hit["project"], hit["path"]) for hit in (by_place, shown, gone)]
    assert (None, None) == (by_place["text"], by_place["name"])
    assert "class TicketCounter" in shown["text"]
    assert "git.example.com/acme/zoo: 1 text of 1 commit, of which 1 can be shown" in status
    assert None is gone["text"]
    assert ("shop", str(shop.root)) == (own["project"], own["root"])


@pytest.mark.milvus
def test_a_frozen_store_leaves_the_project(shop: Shop, desk: Desk) -> None:
    """A store that answers nothing costs a search by hand less than half a minute, and one warning."""
    if desk.server is None or not desk.open().capabilities.lexical:
        pytest.skip("the command opens a Milvus that searches by words")
    where = {"HYBRID_INDEX_URI": desk.server.uri, "HYBRID_INDEX_COLLECTION": "of_others"}
    shop.run("reindex", "--quiet")
    desk.server.freeze()
    started = time.monotonic()
    try:
        done = shop.run("search", "--team", "how does the payment client retry after a timeout", **where)
    finally:
        took_s = time.monotonic() - started
        desk.server.thaw()

    assert (0, 1) == (done.returncode, len(done.stderr.decode().splitlines()))
    assert "the team's index was not searched" in done.stderr.decode()
    assert " 1  shop: [code] src/payments/client.py:" in done.stdout.decode()
    assert took_s < 30  # Ten seconds for connecting, and the start of the process on a busy machine.
