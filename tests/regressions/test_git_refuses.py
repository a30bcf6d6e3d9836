"""Where git refused to list files, private ones came in, tracked ones were lost, and nothing said so."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import Shop, write_files
from tests.support.repositories import Repository

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    ".gitignore": "generated/\n",
    "generated/kept.py": "def kept_by_hand():\n    return 1\n",
    "private_notes/card.md": "# The vault code is on the blue card\n",
    "vault.py": 'def open_vault():\n    """Open the vault."""\n',
}


@pytest.fixture
def refused(tmp_path: Path) -> tuple[Shop, dict[str, str]]:
    """An indexed project with a global ignore file, and the environment that names it."""
    repository = Repository(tmp_path / "tree")
    write_files(repository.root, FILES)
    repository.git("add", "-f", ".gitignore", "vault.py", "generated/kept.py")
    repository.git("commit", "-qm", "files")
    write_files(tmp_path, {"ignore": "private_notes/\n"})
    (tmp_path / "config").write_text(f"[core]\n\texcludesFile = {(tmp_path / 'ignore').as_posix()}\n")
    environ = {"GIT_CONFIG_GLOBAL": str(tmp_path / "config"), "GIT_CONFIG_NOSYSTEM": "1"}
    shop = Shop(repository.root, tmp_path / "home")
    shop.out("init", "--quiet", **environ)
    return shop, environ


def _files(shop: Shop, environ: dict[str, str]) -> list[dict[str, str]]:
    findings = shop.json("doctor", "--no-trial", **environ)["findings"]
    return [each for each in findings if each["area"] == "files"]


def _damage(root: Path) -> None:
    with (root / ".git" / "config").open("a") as file:
        file.write("[core\n")


def test_every_ignore_rule_holds_without_git(refused: tuple[Shop, dict[str, str]]) -> None:
    """The same files are indexed when git fails: neither a private one more nor a tracked one less."""
    shop, environ = refused
    before = shop.json("status", **environ)["index"]
    _damage(shop.root)
    summary = shop.json("reindex", **environ)
    after = shop.json("status", **environ)["index"]

    assert (3, {}) == (before["documents"], before["git_refused"])
    assert (3, 0, 0) == (summary["documents"], summary["added"], summary["removed"])
    assert "bad config line" in after["git_refused"][""]


def test_init_status_and_doctor_say_that_git_refused(refused: tuple[Shop, dict[str, str]]) -> None:
    """Each gives the first line of git's message, and doctor a command that shows what is wrong."""
    shop, environ = refused
    assert [] == _files(shop, environ)
    _damage(shop.root)
    (finding,) = _files(shop, environ)

    assert "bad config line" in shop.out("init", **environ)
    assert "bad config line" in " ".join(shop.out("status", "--table", **environ).split())
    assert ("warning", True) == (finding["level"], "bad config line" in finding["what"])
    assert f"git -C {shop.root} status" in finding["remedy"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_a_tree_of_another_owner_is_listed_by_its_rules(refused: tuple[Shop, dict[str, str]]) -> None:
    """Git's refusal is not overridden; doctor names the command with which a person may do that."""
    shop, environ = refused
    for path in (shop.root, *shop.root.rglob("*")):
        os.lchown(path, 1234, 1234)
    summary = shop.json("reindex", **environ)
    (finding,) = _files(shop, environ)

    assert (3, 0, 0) == (summary["documents"], summary["added"], summary["removed"])
    assert "dubious ownership" in finding["what"]
    assert finding["remedy"].endswith(f"git config --global --add safe.directory {shop.root}")
    with (shop.root.parent / "config").open("a") as file:
        file.write(f"[safe]\n\tdirectory = {shop.root}\n")
    assert [] == _files(shop, environ)
