"""The watcher tells which files changed, and nothing else."""

from __future__ import annotations

import queue
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hybrid.daemon.watching import Watcher, open_notifier
from tests.support.agent import until
from tests.support.builders import git_project, linked_worktree, write_files

if TYPE_CHECKING:
    from collections.abc import Generator

    from watchfiles._rust_notify import RustNotify

FILES = {"a.py": "a = 1\n", "src/b.py": "b = 1\n", "src/deep/c.py": "c = 1\n", "other/d.bin": "d"}
FOLDERS = ["src", "src/deep"]
LONG_S = 120.0


class Watched:
    """A followed project, and what the watcher told of it."""

    def __init__(self, root: Path, *, is_recursive: bool, folders: list[str]) -> None:
        self.root = root
        self.told: queue.Queue[set[str]] = queue.Queue()
        self.watcher = Watcher(lambda _, paths: self.told.put(paths), is_recursive=is_recursive)
        self.watcher.watch(root, debounce_ms=50)
        self.watcher.learn(root, folders)
        assert self.told.get(timeout=LONG_S) == {""}, "everything may have changed before the watches stood"

    def wait_for(self, *wanted: str) -> set[str]:
        """What is told until all of these were."""
        seen: set[str] = set()
        while not seen.issuperset(wanted):
            seen |= self.told.get(timeout=LONG_S)
        return seen


@pytest.fixture(params=[False, True], ids=["a watch for each folder", "one watch for the tree"])
def watched(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Watched]:
    """A small project, watched in both ways."""
    found = Watched(git_project(tmp_path / "tree", FILES), is_recursive=request.param, folders=FOLDERS)
    yield found
    found.watcher.close()


@pytest.mark.parametrize("path", ["a.py", "src/b.py", "src/deep/c.py", "src/new.py"])
def test_a_write_is_told(watched: Watched, path: str) -> None:
    """A file that is written or made in a known folder is told by its relative path."""
    (watched.root / path).write_text("changed = 2\n")

    assert {path} == watched.wait_for(path)


def test_a_rename_is_told(watched: Watched) -> None:
    """A rename tells the old name and the new one."""
    (watched.root / "src/b.py").rename(watched.root / "src/deep/renamed.py")

    assert {"src/b.py", "src/deep/renamed.py"} == watched.wait_for("src/b.py", "src/deep/renamed.py")


def test_other_folders_are_silent(watched: Watched) -> None:
    """What happens in a folder that holds no document, in `.hybrid` or in git's own folder is not told."""
    write_files(watched.root, {"other/d.bin": "dd", ".git/objects/x": "x", ".git/FETCH_HEAD": "x", "a.py": "a = 2\n"})

    assert {"a.py"} == watched.wait_for("a.py")


@pytest.mark.parametrize("name", ["HEAD", "index"])
def test_git_is_told(watched: Watched, name: str) -> None:
    """A branch switch and a change of what is tracked are told."""
    (watched.root / ".git" / name).write_text("ref: refs/heads/other\n")

    assert {f".git/{name}"} == watched.wait_for(f".git/{name}")


def test_new_folders_are_followed(watched: Watched) -> None:
    """A new folder is told, and so is what is written later into the folders in it."""
    (watched.root / "new/inner").mkdir(parents=True)
    watched.wait_for("new")
    (watched.root / "new/inner/e.py").write_text("e = 1\n")
    seen = watched.wait_for("new/inner/e.py")

    assert "new/inner/e.py" in seen


def test_a_repository_that_appears_is_followed(watched: Watched) -> None:
    """Files of a repository inside are told; its own git folder and further worktrees of a repository are not."""
    git_project(watched.root / "new/inner", {"src/e.py": "e = 1\n"})
    watched.wait_for("new")
    copy = linked_worktree(watched.root, watched.root.parent / "copy", {"src/f.py": "f = 1\n"})
    copy.rename(watched.root / "new/copy")
    (watched.root / "new/copy/src/f.py").write_text("f = 2\n")
    (watched.root / "new/inner/.git/index").write_text("x")
    (watched.root / "new/inner/src/e.py").write_text("e = 2\n")
    seen = watched.wait_for("new/inner/src/e.py")

    assert [] == [path for path in seen if ".git/" in path or path.startswith("new/copy/")]


def test_a_folder_that_comes_back_is_followed(watched: Watched) -> None:
    """A folder that is removed and made again, as by a branch switch, is watched again."""
    shutil.rmtree(watched.root / "src")
    watched.wait_for("src")
    write_files(watched.root, {"src/deep/c.py": "c = 1\n"})
    watched.wait_for("src")
    (watched.root / "src/deep/c.py").write_text("c = 22\n")
    seen = watched.wait_for("src/deep/c.py")

    assert "src/deep/c.py" in seen


@pytest.mark.parametrize("how", ["removed", "moved away", "repository removed"])
def test_a_project_that_is_replaced_is_watched_anew(watched: Watched, how: str) -> None:
    """Watches end with the folder that they stand on: the project is told as a whole, and followed again if learnt."""
    if how == "moved away":
        watched.root.rename(watched.root.with_name("old"))
    else:
        shutil.rmtree(watched.root / (".git" if how == "repository removed" else "."))
    git_project(watched.root, FILES)
    watched.wait_for("")

    assert not watched.watcher.is_watching(watched.root)

    watched.watcher.learn(watched.root, FOLDERS)
    watched.wait_for("")
    (watched.root / "src/b.py").write_text("b = 2\n")
    (watched.root / ".git/HEAD").write_text("ref: refs/heads/other\n")
    watched.wait_for("src/b.py", ".git/HEAD")


def test_new_folders_that_do_not_matter_are_dropped(tmp_path: Path) -> None:
    """A folder that a look found to be ignored is watched no more."""
    watched = Watched(git_project(tmp_path / "tree", FILES), is_recursive=False, folders=FOLDERS)
    (watched.root / "build/out").mkdir(parents=True)
    watched.wait_for("build")
    watched.watcher.learn_below(watched.root, {"build"}, ())
    (watched.root / "a.py").write_text("a = 2\n")
    watched.wait_for("a.py")
    (watched.root / "build/out/x.py").write_text("x = 1\n")
    (watched.root / "a.py").write_text("a = 3\n")
    seen = watched.wait_for("a.py")
    watched.watcher.close()

    assert {"a.py"} == seen


def test_a_linked_working_tree(tmp_path: Path) -> None:
    """The HEAD of a linked working tree lies elsewhere, and its change is told all the same."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    main, tree = tmp_path / "main", tmp_path / "tree"
    write_files(main, FILES)
    git = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "all"], ["worktree", "add", "-q", str(tree)]):
        subprocess.run([*git, *arguments], cwd=main, check=True, capture_output=True)
    watched = Watched(tree.resolve(), is_recursive=False, folders=FOLDERS)
    subprocess.run([*git, "checkout", "-q", "--detach"], cwd=tree, check=True, capture_output=True)
    seen = watched.wait_for(".git/HEAD")
    watched.watcher.close()

    assert ".git/HEAD" in seen


@pytest.mark.parametrize(
    ("message", "told"),
    [
        ("OS file watch limit reached.", "fs.inotify.max_user_watches"),
        ("Too many open files (os error 24)", "fs.inotify.max_user_instances"),
        ("a network file system", "a network file system"),
    ],
    ids=["watches", "watchers", "another reason"],
)
def test_no_watches_left(tmp_path: Path, message: str, told: str) -> None:
    """When the system gives no more watches, the project counts as not watched, and says which limit was met."""
    root = git_project(tmp_path / "tree", FILES)

    def refuse(_: list[str], *, is_recursive: bool) -> None:
        raise OSError(message)

    changes: list[set[str]] = []
    watcher = Watcher(lambda _, paths: changes.append(paths), notify=refuse, is_recursive=False)  # type: ignore[arg-type]
    watcher.watch(root, debounce_ms=50)
    watcher.learn(root, FOLDERS)
    until(lambda: watcher.problem(root))
    problem = watcher.problem(root)
    watcher.close()

    assert (False, []) == (watcher.is_watching(root), changes)
    assert told in problem


def test_a_limit_is_told_with_the_way_to_raise_it(tmp_path: Path) -> None:
    """The problem of a project without watches names limit, folders and command."""
    root = git_project(tmp_path / "tree", FILES)

    def refuse(_: list[str], *, is_recursive: bool) -> None:
        raise RuntimeError('OS file watch limit reached. about ["/p"]')

    watcher = Watcher(lambda *_: None, notify=refuse, is_recursive=False)  # type: ignore[arg-type]
    watcher.watch(root, debounce_ms=50)
    watcher.learn(root, FOLDERS)
    until(lambda: watcher.problem(root))
    problem = watcher.problem(root)
    watcher.close()

    assert "this project has 2 folders" in problem
    assert "`sysctl fs.inotify.max_user_watches=" in problem


def test_too_many_folders(tmp_path: Path) -> None:
    """A project with more folders than are watched is not watched and says so; with fewer it is watched again."""
    root = git_project(tmp_path / "tree", FILES)
    watcher = Watcher(lambda *_: None, is_recursive=False)
    watcher.watch(root, debounce_ms=50)
    watcher.learn(root, [f"d{number}" for number in range(60_000)])
    before = watcher.is_watching(root), watcher.problem(root)
    watcher.learn(root, FOLDERS)
    after = watcher.is_watching(root), watcher.problem(root)
    watcher.close()

    assert (False, "it has 60,000 folders, more than the 50,000 that are watched") == before
    assert (True, "") == after


@pytest.mark.parametrize("how", ["learn", "learn_below"])
def test_a_project_that_grows_too_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: str) -> None:
    """Its watches would miss the new folders: they end, and it says why."""
    monkeypatch.setattr("hybrid.daemon.watching._MAX_FOLDERS", 3)
    root = git_project(tmp_path / "tree", FILES)
    watcher = Watcher(lambda *_: None, is_recursive=False)
    watcher.watch(root, debounce_ms=50)
    watcher.learn(root, FOLDERS)
    assert watcher.is_watching(root)
    more = [*FOLDERS, *(f"src/d{number}" for number in range(6))]
    if how == "learn":
        watcher.learn(root, more)
    else:
        watcher.learn_below(root, ["src"], more)
    found = watcher.is_watching(root), watcher.problem(root)
    watcher.close()

    assert (False, "it has 8 folders, more than the 3 that are watched") == found


def test_a_failed_watch_is_tried_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once the limit was raised, the next look at everything leads to watches, without a new service."""
    monkeypatch.setattr("hybrid.daemon.watching._RETRY_S", 0.0)
    root = git_project(tmp_path / "tree", FILES)
    opened: list[int] = []

    def scarce(paths: list[str], *, is_recursive: bool) -> RustNotify:
        opened.append(len(paths))
        if len(opened) == 1:
            raise OSError("OS file watch limit reached.")
        return open_notifier(paths, is_recursive=is_recursive)

    told: queue.Queue[set[str]] = queue.Queue()
    watcher = Watcher(lambda _, paths: told.put(paths), notify=scarce, is_recursive=False)
    watcher.watch(root, debounce_ms=50)
    watcher.learn(root, FOLDERS)
    until(lambda: watcher.problem(root))
    watcher.learn(root, FOLDERS)
    told.get(timeout=LONG_S)
    found = watcher.is_watching(root), watcher.problem(root)
    watcher.close()

    assert (True, "") == found


def test_watches_that_are_renewed_need_no_more_of_them(tmp_path: Path) -> None:
    """Where new watches cannot stand beside the old ones, these go first, and everything counts as changed."""
    root = git_project(tmp_path / "tree", FILES)
    told: queue.Queue[set[str]] = queue.Queue()
    opened: list[int] = []

    def scarce(paths: list[str], *, is_recursive: bool) -> RustNotify:
        opened.append(len(paths))
        if len(opened) == 2:
            raise OSError("OS file watch limit reached.")
        return open_notifier(paths, is_recursive=is_recursive)

    watcher = Watcher(lambda _, paths: told.put(paths), notify=scarce, is_recursive=False)
    watcher.watch(root, debounce_ms=50)
    watcher.learn(root, FOLDERS)
    told.get(timeout=LONG_S)
    (root / "src" / "new").mkdir()
    seen: set[str] = set()
    while "" not in seen:
        seen |= told.get(timeout=LONG_S)
    is_watching = watcher.is_watching(root)
    watcher.close()

    assert (True, 3) == (is_watching, len(opened))


def test_unwatched(watched: Watched) -> None:
    """A project that is not followed any more is silent."""
    watched.watcher.unwatch(watched.root)
    (watched.root / "a.py").write_text("a = 2\n")
    with pytest.raises(queue.Empty):
        watched.told.get(timeout=0.4)

    assert not watched.watcher.is_watching(watched.root)
