from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.support.builders import Shop, git_project

if TYPE_CHECKING:
    from pathlib import Path

PROMPT = "How does the payment client retry?"
needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="links need rights, and there are no named pipes")


@pytest.mark.parametrize("has_git", [True, False], ids=["git", "walk"])
def test_the_home_of_hybrid_in_a_project_is_not_indexed(tmp_path: Path, *, has_git: bool) -> None:
    """With `HYBRID_HOME` inside of the project, the log of prompts became a document of the index."""
    if has_git and shutil.which("git") is None:
        pytest.skip("git is not installed")
    root = git_project(tmp_path / "shop")
    shop = Shop(root, root / "data" / "hybrid-home")
    if has_git:
        shutil.rmtree(root / ".git")
        subprocess.run(["git", "init", "--quiet"], cwd=root, check=True)
    user = str(tmp_path)
    before = shop.json("reindex", HOME=user)
    (shop.home / "notes.md").write_text("# The payment client retries five times\n")
    (root / "data" / "of_the_project.md").write_text("# Data\n")
    shop.hook(PROMPT)

    after = shop.json("reindex", HOME=user)

    assert before["documents"] + 1 == after["documents"]
    assert 0 == shop.json("status")["index"]["stale_documents"]


def test_the_home_of_hybrid_is_no_project(tmp_path: Path) -> None:
    """A repository that is `HYBRID_HOME` itself was indexed with all its logs."""
    root = git_project(tmp_path / "shop")

    said = Shop(root, root).error("reindex", HOME=str(tmp_path / "user"))

    assert f"hybrid: {root} is where hybrid keeps its own files: set HYBRID_HOME to a folder of its own" == said


@needs_posix
def test_hooks_follow_no_link_out_of_the_folder(own_shop: Shop, tmp_path: Path) -> None:
    """A link at the place of the state's lock made a hook create the file outside that it names."""
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "state.json").write_text(json.dumps({"injection_count": 7}))
    folder = own_shop.root / ".hybrid"
    (folder / "hook_state.json.lock").symlink_to(outside / "created")
    (folder / "hook_state.json").symlink_to(outside / "state.json")

    assert own_shop.hook(PROMPT)
    assert ["state.json"] == [path.name for path in outside.iterdir()]
    assert 0 == own_shop.json("status")["hooks"]["injection_count"]

    (folder / "hook_state.json.lock").unlink()

    assert own_shop.hook(PROMPT, session="s2")
    assert 1 == own_shop.json("status")["hooks"]["injection_count"]
    assert {"injection_count": 7} == json.loads((outside / "state.json").read_text())


@needs_posix
def test_settings_of_a_project_are_not_read_or_written_through_a_link(own_shop: Shop, tmp_path: Path) -> None:
    """A link in place of the settings led outside: names of settings there came into the log."""
    (tmp_path / "outside.toml").write_text("[hooks]\nprivate_name = 1\n")
    path = own_shop.root / ".hybrid" / "config.toml"
    path.unlink(missing_ok=True)
    path.symlink_to(tmp_path / "outside.toml")

    assert own_shop.hook(PROMPT)
    assert "private_name" not in (own_shop.home / "log" / "events.jsonl").read_text()
    assert f"hybrid: {path} is no file of the project; remove it first" == own_shop.error(
        "config", "set", "hooks.budget", "80"
    )
    assert "[hooks]\nprivate_name = 1\n" == (tmp_path / "outside.toml").read_text()


def test_settings_of_a_project_stop_no_command(own_shop: Shop) -> None:
    """A setting that a project may not choose, or that this version does not know, made every command fail."""
    path = own_shop.root / ".hybrid" / "config.toml"
    path.write_text("[log]\nkeep = 1\n[search]\nsoon = 1\n")
    problems = [
        f"{path}: unknown setting search.soon; `hybrid config` lists all",
        f"{path}: log.keep = 1: is not a project's to choose",
    ]

    loud, quiet = own_shop.run("search", "retry"), own_shop.run("search", "retry", "--quiet")

    assert (0, f"hybrid: warning: {'; '.join(problems)}\n") == (loud.returncode, loud.stderr.decode())
    assert (0, b"") == (quiet.returncode, quiet.stderr)
    assert f"hybrid: {'; '.join(problems)}" == own_shop.error("config", "check")
    assert 1 == own_shop.run("init").stderr.count(b"warning")


def test_a_mistake_of_the_user_still_stops_commands(own_shop: Shop) -> None:
    """What the user can mend is an error, also beside a mistake in the project's file."""
    (own_shop.home / "config.toml").write_text("[search]\nsoon = 1\n")
    (own_shop.root / ".hybrid" / "config.toml").write_text("[search]\nlater = 1\n")

    said = own_shop.error("search", "retry")

    assert f"hybrid: {own_shop.home / 'config.toml'}: unknown setting search.soon; `hybrid config` lists all" == said
