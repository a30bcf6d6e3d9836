from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.builders import Shop, git_project

if TYPE_CHECKING:
    from collections.abc import Callable
needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A real folder to make projects in."""
    return Path(os.path.realpath(tmp_path))


@pytest.fixture
def ask(place: Path) -> Callable[..., dict[str, Any]]:
    """What `hybrid project --json` says in a folder."""
    shop = Shop(place, place / "hybrid-home")
    (place / "hybrid-home" / "user").mkdir(parents=True)

    def ask_in(folder: Path, *args: str, code: int = 0, **environ: str) -> dict[str, Any]:
        return shop.json("project", *args, cwd=folder, code=code, **environ)

    return ask_in


@pytest.fixture
def shop_of(place: Path) -> Callable[[Path], Shop]:
    """A project to give other commands to, with the same `HYBRID_HOME` as `ask`."""
    return lambda root: Shop(root, place / "hybrid-home")


def git(folder: Path, *arguments: str) -> None:
    """Run git in a folder, which is made; without the developer's settings."""
    folder.mkdir(parents=True, exist_ok=True)
    who = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always")
    environ = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True, env=environ)


def project(root: Path, origin: str = "") -> Path:
    """A working tree, as git leaves it, with a remote `origin` if one is given."""
    git_project(root, {"a.py": "def add(a, b):\n    return a + b\n"})
    (root / ".git" / "description").write_text("made once\n")
    if origin:
        set_origin(root, origin)
    return root


def set_origin(root: Path, origin: str) -> None:
    """Point the remote `origin` somewhere else."""
    (root / ".git" / "config").write_text(f'[core]\n\tbare = false\n[remote "origin"]\n\turl = {origin}\n')


def repository(root: Path) -> Path:
    """A repository that git made, with a commit."""
    git(root, "init", "-q", "-b", "main")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    return root


def test_without_an_origin_path_and_folder_decide(place: Path, ask: Any) -> None:
    """The command says that there is no origin, and what was taken instead; dots and spaces stay in the name."""
    root = project(place / "my old.app 2")
    (root / "src" / "deep").mkdir(parents=True)
    said = ask(root / "src" / "deep")

    assert ("my old.app 2", None, str(root), str(root)) == (
        said["name"],
        said["origin"],
        said["root"],
        said["main_root"],
    )
    assert ("path", "folder") == (said["key_from"], said["name_from"])
    assert str(root) in said["key_why"]
    assert f"name of the main working tree {root}, as there is no origin" == said["name_why"]


def test_a_plain_folder_needs_a_hybrid_folder(place: Path, ask: Any) -> None:
    """It is a project by its `.hybrid/`, and never indexed unasked."""
    (place / "notes" / ".hybrid").mkdir(parents=True)
    (place / "notes" / "deep").mkdir()
    said = ask(place / "notes" / "deep")

    assert ("notes", False, True) == (said["name"], said["git"], said["has_folder"])
    assert (False, "not_git") == (said["auto_index"], said["auto_index_reason"])


def test_no_project_is_explained(place: Path, ask: Any) -> None:
    """The exit code is 1, and everything but the folder and the reason is null."""
    (place / "plain").mkdir()
    said = ask(place / "plain", code=1)

    assert "no git working tree here or above, and no .hybrid folder" == said["reason"]
    assert str(place / "plain") == said["path"]
    assert {None} == {said[key] for key in said if key not in ("reason", "path", "home")}


def test_no_project_is_explained_to_people(place: Path) -> None:
    """One line on standard output, with what to do."""
    (place / "plain").mkdir()
    said = Shop(place / "plain", place / "home").out("project", code=1)

    assert (
        "no project: no git working tree here or above, and no .hybrid folder; run `hybrid init` to make one\n" == said
    )


def test_the_home_that_is_a_repository_is_not_indexed(place: Path, ask: Any) -> None:
    """It is a project, and too wide; a folder with `.hybrid/` in it comes first."""
    home = project(place / "ada")
    (home / "notes" / ".hybrid").mkdir(parents=True)
    said = ask(home, HOME=str(home), USERPROFILE=str(home))
    notes = ask(home / "notes", HOME=str(home), USERPROFILE=str(home))

    assert (str(home), False, "home_folder") == (said["root"], said["auto_index"], said["auto_index_reason"])
    assert "is your home folder" in said["refusal"]
    assert str(home / "notes") == notes["root"]


@needs_git
def test_a_bare_repository_is_no_project(place: Path, ask: Any) -> None:
    """The command names it as the reason."""
    git(place / "store.git", "init", "-q", "--bare")
    said = ask(place / "store.git", code=1)

    assert f"{place / 'store.git'} is a bare repository: it has no files" == said["reason"]


def test_a_broken_git_file_is_named(place: Path, ask: Any) -> None:
    """Somebody who moved a worktree by hand sees what is wrong."""
    (place / "moved").mkdir()
    (place / "moved" / ".git").write_text("gitdir: /nowhere/at/all\n")

    assert f"{place / 'moved' / '.git'} leads to no repository with files" == ask(place / "moved", code=1)["reason"]


def test_an_earlier_key_is_kept_for_a_new_remote(place: Path, ask: Any, shop_of: Any) -> None:
    """A project that is published later keeps its key, and the command says that the registry kept it."""
    root = project(place / "app")
    before = ask(root)
    shop_of(root).out("reindex", "--quiet")
    set_origin(root, "git@github.com:ada/published.git")
    said = ask(root)

    assert (before["key"], "published", "registry") == (said["key"], said["name"], said["key_from"])
    assert "kept from before: the repository is known by its identity" in said["key_why"]
    assert [str(root)] == said["known_paths"]
    assert (True, True, True) == (said["indexed"], said["accepted"], said["has_folder"])


def test_a_renamed_remote_keeps_the_key_for_clones_too(place: Path, ask: Any, shop_of: Any) -> None:
    """A clone with the new address is known by it, once the first one was indexed."""
    root = project(place / "app", "https://github.com/ada/old")
    first = ask(root)
    shop_of(root).out("reindex", "--quiet")
    set_origin(root, "https://github.com/ada/new")
    shop_of(root).out("reindex", "--quiet")
    clone = ask(project(place / "clone", "https://github.com/ada/new"))

    assert first["key"] == ask(root)["key"] == clone["key"]
    assert ["github.com/ada/old", "github.com/ada/new"] == clone["known_origins"]
    assert "a project with the origin github.com/ada/new is known" in clone["key_why"]
    assert not clone["accepted"]


def test_people_see_the_same(place: Path, ask: Any, shop_of: Any) -> None:
    """Every line has a label, with the reason in brackets; what is not accepted comes with a remedy."""
    root = project(place / "app", "https://github.com/ada/tool.git")
    said = ask(root)
    lines = dict(line.split("  ", 1) for line in shop_of(root).out("project").splitlines())

    assert "tool (last part of the origin github.com/ada/tool)" == lines["name"].strip()
    assert f"{said['key']} (made from the origin github.com/ada/tool)" == lines["key"].strip()
    assert "no; `hybrid trust` accepts them" == lines["records accepted"].strip()
    assert "yes" == lines["indexed automatically"].strip()


def test_asking_writes_nothing(place: Path) -> None:
    """Neither in the tree nor in `$HYBRID_HOME`."""
    root = project(place / "app")
    before = sorted(root.rglob("*"))
    for command in ("project", "status"):
        Shop(root, place / "home").json(command)

    assert before == sorted(root.rglob("*"))
    assert not (place / "home").exists()
