"""A build that looks at a few paths ends where a build that looks at everything ends."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.errors import RefusedError
from hybrid.index.catalog import Catalog
from hybrid.index.snapshot import open_snapshot
from hybrid.upkeep.indexing import (
    BuildRequest,
    bring_up_to_date,
    file_source,
    reason_against,
    refused,
    reindex,
    was_forgotten,
)
from hybrid.upkeep.projects import forget, indexed_projects
from hybrid.workspace import Workspace, open_workspace
from tests.support.builders import PAYMENTS, git_project, write_files
from tests.support.cases import Case, cases
from tests.support.examples import examples

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDERS = ["", "src/", "src/deep/", "docs/", "build/", "build/keep/", "vendor/lib/"]
FILES = ["a.py", "b.py", "c.md", "notes.txt", "skip.py", "x.log"]
RULES = ["skip.py", "build/", "*.log", "!skip.py", "/src/deep/", "docs/*", "!docs/c.md", "!/build/keep/", "!*.log"]
paths = st.builds(str.__add__, st.sampled_from(FOLDERS), st.sampled_from(FILES))
rule_files = st.builds(str.__add__, st.sampled_from(FOLDERS[:4]), st.sampled_from([".gitignore", ".hybridignore"]))
steps = st.one_of(
    st.tuples(st.just("write"), paths, st.integers(0, 99)),
    st.tuples(st.just("write"), paths, st.integers(0, 99)),
    st.tuples(st.just("delete"), paths, st.just(0)),
    st.tuples(st.just("delete folder"), st.sampled_from(FOLDERS[1:]), st.just(0)),
    st.tuples(st.just("rename"), paths, st.integers(0, len(FOLDERS) - 1)),
    st.tuples(st.just("track"), paths, st.just(0)),
    st.tuples(st.just("link"), paths, st.integers(0, len(FILES) - 1)),
    st.tuples(st.just("rules"), rule_files, st.integers(0, len(RULES) - 1)),
    st.tuples(st.just("repository"), st.sampled_from(FOLDERS[1:]), st.just(0)),
)


def _git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, capture_output=True, check=False, env=_environment(root))


def _environment(root: Path) -> dict[str, str]:
    nothing = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return {"PATH": os.environ["PATH"], "HOME": str(root.parent)} | nothing


@pytest.fixture(autouse=True)
def _no_settings_of_the_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


def _workspace(root: Path, home: Path, **flags: object) -> Workspace:
    values = {"model.name": "hashing"} | {key.replace("_", ".", 1): value for key, value in flags.items()}
    user = home.parent / "user"
    workspace = open_workspace(root, environ={"HYBRID_HOME": str(home)}, flags=values, user_home=user)
    workspace.require_valid_settings()
    return workspace


def _take(root: Path, step: tuple[str, str, int]) -> set[str]:
    """Do one step on disk; returns the paths that a watcher would report."""
    what, name, number = step
    path = root / name.rstrip("/")
    try:
        return _STEPS[what](root, path, number)
    except OSError:
        return set()


def _write(root: Path, path: Path, number: int) -> set[str]:
    new = _missing_folder(root, path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"def found_{number}():\n    return {number}\n" * (number % 3 + 1))
    return {new or _name(root, path)}


def _missing_folder(root: Path, path: Path) -> str:
    """The outermost folder that a file needs anew: its appearance is what the watcher sees."""
    above = [folder for folder in reversed(path.parents) if root in folder.parents and not folder.exists()]
    return _name(root, above[0]) if above else ""


def _delete(root: Path, path: Path, _: int) -> set[str]:
    path.unlink()
    return {_name(root, path)}


def _delete_folder(root: Path, path: Path, _: int) -> set[str]:
    shutil.rmtree(path)
    return {_name(root, path)}


def _rename(root: Path, path: Path, number: int) -> set[str]:
    target = root / FOLDERS[number] / path.name
    target.parent.mkdir(parents=True, exist_ok=True)
    path.replace(target)
    return {_name(root, path), _name(root, target)}


def _track(root: Path, path: Path, _: int) -> set[str]:
    _git(root, "add", "-f", _name(root, path))
    return {".git/index"}


def _link(root: Path, path: Path, number: int) -> set[str]:
    path.symlink_to(root / FILES[number])
    return {_name(root, path)}


def _rules(root: Path, path: Path, number: int) -> set[str]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(RULES[number] + "\n")
    return {_name(root, path)}


def _repository(root: Path, path: Path, _: int) -> set[str]:
    _git(path, "init", "-q") if path.is_dir() else None
    return {f"{_name(root, path)}/.git"}


def _name(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix()


_STEPS: dict[str, Callable[[Path, Path, int], set[str]]] = {
    "write": _write,
    "delete": _delete,
    "delete folder": _delete_folder,
    "rename": _rename,
    "track": _track,
    "link": _link,
    "rules": _rules,
    "repository": _repository,
}


def _indexed(workspace: Workspace) -> dict[str, bytes]:
    """What can be found: path → digest of its text, from the snapshot."""
    place = workspace.place
    snapshot = open_snapshot(place.folder, model="hashing@" + _model_digest(place.folder))
    with Catalog(place.catalog, tree=place.tree, root=place.root, is_read_only=True) as catalog:
        rows = catalog._db.execute("SELECT id, digest FROM contents").fetchall()
    digests = dict(rows)
    return {path: digests[content] for path, content in snapshot.live_documents().items()}


def _model_digest(folder: Path) -> str:
    return json.loads((folder / "manifest.json").read_bytes())["model"].partition("@")[2]


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
@pytest.mark.parametrize("uses_git", [True, False], ids=["git", "no git"])
@examples(25)
@given(batches=st.lists(st.lists(steps, min_size=1, max_size=4), min_size=1, max_size=5))
def test_the_same_as_a_look_at_everything(
    batches: list[list[tuple[str, str, int]]], tmp_path_factory: pytest.TempPathFactory, *, uses_git: bool
) -> None:
    """After any edits, an index that looked only at what was reported holds what a fresh index of the tree holds."""
    tmp = tmp_path_factory.mktemp("p")
    root = tmp / "tree"
    write_files(root, {"src/a.py": "def a(): pass\n", "docs/c.md": "# C\n", ".gitignore": "*.tmp\n"})
    _git(root, "init", "-q") if uses_git else (root / ".hybrid").mkdir()
    kept = _workspace(root, tmp / "kept")
    reindex(kept)
    for batch in batches:
        changed = set().union(*(_take(root, step) for step in batch))
        if changed:
            reindex(kept, BuildRequest(changed))
    fresh = _workspace(root, tmp / "fresh")
    reindex(fresh)

    assert _indexed(fresh) == _indexed(kept)


@pytest.fixture
def shop(tmp_path: Path) -> Workspace:
    """The payments project, indexed."""
    workspace = _workspace(git_project(tmp_path / "shop"), tmp_path / "home")
    reindex(workspace)
    return workspace


@cases("upkeep/whole.txt")
def test_what_decides_on_others(shop: Workspace, case: Case) -> None:
    """Rules, settings and git's own state lead to a look at everything, any other path to a look at itself."""
    summary = reindex(shop, BuildRequest([case.text]))

    assert (case.json(), 4) == (summary.is_full, summary.documents)


@pytest.mark.parametrize("path", ["/etc/hostname", "../elsewhere.py", ".git/objects/ab"])
def test_paths_of_others(shop: Workspace, path: str) -> None:
    """A path outside of the project, or of git's own, leads to no look at all."""
    assert (False, 0) == (reindex(shop, BuildRequest([path])).is_full, reindex(shop, BuildRequest([path])).documents)


def test_an_absolute_path_through_a_link(shop: Workspace, tmp_path: Path) -> None:
    """A file that an editor names through a link to the project is found."""
    root = shop.require_project().root
    (tmp_path / "link").symlink_to(root)
    write_files(root, {"src/new.py": "def fresh(): pass\n"})
    summary = reindex(shop, BuildRequest([str(tmp_path / "link/src/new.py")]))

    assert (False, 1) == (summary.is_full, summary.added)


def test_many_paths(shop: Workspace) -> None:
    """Hundreds of changed paths are a reason to look at everything."""
    assert reindex(shop, BuildRequest([f"src/m{n}.py" for n in range(500)])).is_full


def test_figures_of_a_part(shop: Workspace) -> None:
    """After a look at a part, the summary has the figures that a look at everything gives."""
    root = shop.require_project().root
    (root / "src/users/store.py").unlink()
    write_files(root, {"docs/more.md": "# More\n\n" + "Many words. " * 400, "README.md": "# Short\n"})
    part = reindex(shop, BuildRequest(["src/users", "docs/more.md", "README.md"]))
    everything = reindex(shop)

    assert (1, 1, 1) == (part.added, part.changed, part.removed)
    assert (everything.documents, everything.chunks) == (part.documents, part.chunks)


def test_folders_to_watch(shop: Workspace) -> None:
    """A look at everything names the folders of all files; a look at a new folder those in it that are not ignored."""
    root = shop.require_project().root
    whole = bring_up_to_date(shop).folders
    write_files(root, {"lib/a/b.py": "b = 1\n", "lib/node_modules/x/y.js": "y\n"})
    (root / "lib/empty").mkdir()

    assert ("docs", "src", "src/payments", "src/users") == whole
    assert ("lib", "lib/a", "lib/empty") == bring_up_to_date(shop, BuildRequest(["lib"])).folders


def test_too_many_files_are_remembered(tmp_path: Path) -> None:
    """A project beyond the limit is not indexed unasked, which is remembered until it is indexed by hand."""
    workspace = _workspace(git_project(tmp_path / "shop"), tmp_path / "home", index_auto_max_files=3)

    assert None is refused(workspace)
    assert "too_many_files" == reason_against(workspace)
    assert ("too_many_files", 3) == tuple((refused(workspace) or {}).values())[:2]
    reindex(workspace)
    assert (None, "") == (refused(workspace), reason_against(workspace))


def test_forgotten_between_the_look_and_the_lock(shop: Workspace) -> None:
    """A build in the background had asked, and indexed what its owner forgot a moment later: it was back for good."""
    project = shop.require_project()
    reindex(shop)
    asked: list[str] = []

    def reason() -> str:
        asked.append(reason_against(shop))
        return asked[-1]

    assert "" == reason_against(shop)
    forget(shop.home, next(found for found in indexed_projects(shop.home) if found.key == project.key), stamp="now")
    with pytest.raises(RefusedError):
        bring_up_to_date(shop, reason_against=reason)

    assert (["forgotten"], True) == (asked, was_forgotten(shop))
    assert not shop.place.catalog.exists()


@pytest.mark.parametrize(("limit", "has_more"), [(3, True), (4, False)])
@pytest.mark.parametrize("uses_git", [True, False], ids=["git", "walk"])
def test_counting(tmp_path: Path, limit: int, *, has_more: bool, uses_git: bool) -> None:
    """Files are counted up to the limit, by git or without it."""
    root = write_files(tmp_path / "shop", PAYMENTS)
    if uses_git:
        _git(root, "init", "-q")
    settings = _workspace(root, tmp_path / "home").config.index

    assert has_more == file_source(root, settings, tmp_path / "home").has_more_files(limit)
