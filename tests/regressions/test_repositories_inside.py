"""Repositories inside a project and submodules were invisible, and nothing said so."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import Shop, write_files
from tests.support.repositories import Repository

if TYPE_CHECKING:
    from pathlib import Path

QUESTION = "How do we compute the tax of an invoice for a country?"
BILLING = {
    "src/billing.py": (
        'def compute_tax(invoice):\n    """Compute the tax of an invoice by country."""\n    return invoice.tax\n'
    )
}
FOUND = "inner/src/billing.py:1-3 compute_tax"


def _project(tmp_path: Path, shape: str) -> Shop:
    """A project with a repository in it, in one of four shapes; nothing is indexed."""
    root = tmp_path / "workspace"
    if shape == "submodule":
        library = Repository(tmp_path / "library")
        library.commit("files", BILLING)
        outer = Repository(root)
        outer.commit("readme", {"README.md": "# Workspace\n"})
        outer.git("submodule", "--quiet", "add", str(library.root), "inner")
        outer.commit("submodule")
        return Shop(root, tmp_path / "home")
    write_files(root, {"README.md": "# Workspace\n"})
    if shape != "plain":
        Repository(root).commit("files", {".gitignore": "inner/\n"} if shape == "ignored" else {})
    Repository(root / "inner").commit("files", BILLING)
    return Shop(root, tmp_path / "home")


@pytest.mark.parametrize("shape", ["plain", "submodule"])
def test_files_of_a_repository_inside_are_part_of_the_index(tmp_path: Path, shape: str) -> None:
    """`hybrid init` indexes them and says so, and a prompt of the outer project gets them."""
    shop = _project(tmp_path, shape)
    told = shop.out("init")

    assert "Repositories inside: inner (indexed with this project)\n" in told
    assert FOUND in shop.hook(QUESTION)
    assert ["inner"] == shop.json("status")["index"]["inner_repositories"]
    assert "inner (indexed with this project)" in shop.out("status", "--table")
    assert [] == [each for each in shop.json("doctor", "--no-trial")["findings"] if each["area"] == "files"]


def test_an_ignored_one_is_named_and_can_be_included(tmp_path: Path) -> None:
    """`index.include` was accepted without effect; init, status and doctor say what is left out and how to decide."""
    shop = _project(tmp_path, "ignored")
    told = shop.out("init")
    left_out = shop.json("status")["index"]["inner_left_out"]
    shown = shop.out("status", "--table")
    findings = [each for each in shop.json("doctor", "--no-trial")["findings"] if each["area"] == "files"]
    before = shop.hook(QUESTION)
    shop.out("config", "set", "index.include", '["inner/"]')
    shop.out("reindex", "--quiet")

    assert "left out: inner (ignored by git); index.include brings one in" in told
    assert {"inner": "ignored"} == left_out
    assert "left out: inner (ignored by git)" in shown
    assert ["warning"] == [each["level"] for each in findings]
    assert "inner (ignored by git)" in findings[0]["what"]
    assert "" == before
    assert FOUND in shop.hook(QUESTION)
    assert ["inner"] == shop.json("status")["index"]["inner_repositories"]


def test_a_setting_leaves_them_out(tmp_path: Path) -> None:
    """With `index.inner_max_files = 0` none comes in, which status and doctor say without a warning."""
    shop = _project(tmp_path, "untracked")
    shop.out("config", "set", "index.inner_max_files", "0")
    told = shop.out("init")
    findings = [each for each in shop.json("doctor", "--no-trial")["findings"] if each["area"] == "files"]

    assert "inner (index.inner_max_files is 0)" in told
    assert "" == shop.hook(QUESTION)
    assert [("ok", True)] == [(each["level"], "index.inner_max_files is 0" in each["what"]) for each in findings]


class TestInsideIt:
    """The inner one is a project of its own; until it has an index, that of the outer one answers there."""

    def test_a_hook_is_answered_from_the_outer_index(self, tmp_path: Path) -> None:
        """Its own files come with their paths in the inner project; what lies elsewhere in the outer one does not."""
        shop = _project(tmp_path, "untracked")
        write_files(shop.root, {"outer.py": BILLING["src/billing.py"].replace("compute_tax", "outer_tax")})
        shop.out("init", "--quiet")
        inner = Shop(shop.root / "inner", shop.home)
        answer = inner.hook(QUESTION, HYBRID_INDEX_AUTO="false")
        found = inner.run("search", QUESTION)

        assert "[code] src/billing.py:1-3 compute_tax" in answer
        assert "outer" not in answer
        assert b"the index of the project around this one answers until this one is indexed" in found.stderr
        assert b"src/billing.py" in found.stdout
        assert ("missing", True) == tuple(inner.json("status")["index"][key] for key in ("state", "stands_in"))

    def test_its_own_index_answers_once_there_is_one(self, tmp_path: Path) -> None:
        """After `hybrid reindex` in it, the index of the outer one has no part in its answers."""
        shop = _project(tmp_path, "submodule")
        shop.out("init", "--quiet")
        inner = Shop(shop.root / "inner", shop.home)
        inner.out("reindex", "--quiet")
        found = inner.run("search", QUESTION)

        assert "src/billing.py" in inner.hook(QUESTION)
        assert b"" == found.stderr
        assert "library" == inner.json("project")["name"]

    def test_without_its_files_the_outer_index_does_not_answer(self, tmp_path: Path) -> None:
        """An outer project that leaves it out has nothing to say in it."""
        shop = _project(tmp_path, "ignored")
        shop.out("init", "--quiet")
        inner = Shop(shop.root / "inner", shop.home)
        event = {"session_id": "s", "cwd": str(inner.root), "hook_event_name": "UserPromptSubmit", "prompt": QUESTION}
        inner.out("hook", "inject-context", stdin=json.dumps(event).encode(), HYBRID_INDEX_AUTO="false")

        assert "no_index" == shop.reasons()[-1]
        assert inner.json("status")["index"]["stands_in"] is False
