"""What git is made to read is regular and of a size that somebody wrote; all else is listed by a walk, at once."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest

from hybrid.sources.git import GitUnavailableError, has_more_files, list_files
from hybrid.sources.patterns import load_patterns
from tests.support.builders import Shop, git_project

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes in folders here")


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(3 << 30)


def _pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


@needs_pipes
@pytest.mark.parametrize(
    ("name", "make"),
    [
        (".gitignore", _sparse),
        (".gitignore", _pipe),
        (".git/index", _pipe),
        (".git/HEAD", _pipe),
        (".git/config", _pipe),
        (".git/info/exclude", _pipe),
        (".git/info/exclude", _sparse),
        (".git/packed-refs", _sparse),
    ],
)
def test_git_is_not_asked_where_it_would_wait_or_read_gigabytes(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    """The reason names the file, and no process is started."""
    root = git_project(tmp_path / "p")
    (root / ".git/info").mkdir(exist_ok=True)
    make(root / name)

    for ask in (list_files, lambda path: has_more_files(path, 1)):
        with pytest.raises(GitUnavailableError, match=r"regular file|larger than"):
            ask(str(root))


@needs_pipes
@pytest.mark.parametrize("line", ["[core]\nexcludesFile = {}", "[include]\npath = {}", '[includeIf "a"]\npath = {}'])
def test_files_that_settings_name_are_looked_at_too(tmp_path: Path, line: str) -> None:
    """A repository's settings cannot have git wait for a pipe."""
    root = git_project(tmp_path / "p")
    _pipe(tmp_path / "pipe")
    (root / ".git/config").write_text(f"[core]\nbare = false\n{line.format(tmp_path / 'pipe')}\n")

    with pytest.raises(GitUnavailableError, match="regular file"):
        list_files(str(root))


@pytest.mark.skipif(
    os.uname().sysname != "Linux" if hasattr(os, "uname") else True, reason="memory is bounded on Linux"
)
def test_rules_of_gigabytes_further_down_end_git(tmp_path: Path) -> None:
    """Git's memory is bounded, so it gives up at once."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.py").write_text("a = 1\n")
    _sparse(tmp_path / "d" / ".gitignore")

    with pytest.raises(GitUnavailableError, match="memory"):
        list_files(str(tmp_path))


@needs_pipes
@pytest.mark.parametrize(
    "ask", [lambda root: list_files(root, timeout_s=1e6), lambda root: has_more_files(root, 9, timeout_s=1e6)]
)
def test_git_does_not_wait_for_a_pipe_further_down(tmp_path: Path, ask: Callable[[str], object]) -> None:
    """The pipe is found while git waits, long before its time is over, and named; without it, git is asked again."""
    root = git_project(tmp_path / "p")
    (root / "d").mkdir()
    (root / "d" / "a.py").write_text("a = 1\n")
    _pipe(root / "d" / ".gitignore")

    with pytest.raises(GitUnavailableError):
        ask(str(root))
    with pytest.raises(GitUnavailableError, match=r"d/\.gitignore is no regular file"):
        ask(str(root))
    (root / "d" / ".gitignore").unlink()

    assert "d/a.py" in list_files(str(root)).files


@needs_pipes
def test_a_folder_with_a_pipe_is_indexed_by_a_walk(tmp_path: Path) -> None:
    """`hybrid reindex` lists the folder by a walk, and `hybrid search` finds what lies beside the pipe."""
    shop = Shop(git_project(tmp_path / "shop"), tmp_path / "home")
    (shop.root / "d").mkdir()
    (shop.root / "d" / "zebra.py").write_text("def zebra_stripes():\n    return 1\n")
    _pipe(shop.root / "d" / ".gitignore")
    shop.out("reindex", "--quiet")

    assert "d/zebra.py" == shop.json("search", "zebra stripes")["hits"][0]["path"]


@needs_pipes
@pytest.mark.parametrize(("name", "make"), [(".gitignore", _sparse), (".git/index", _pipe)])
def test_a_project_with_such_a_file_is_indexed_by_a_walk(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    """`hybrid reindex` finds the files, `hybrid search` finds in them."""
    shop = Shop(git_project(tmp_path / "shop"), tmp_path / "home")
    make(shop.root / name)
    shop.out("reindex", "--quiet")

    assert shop.json("search", "payment")["hits"]


def test_rules_longer_than_a_path_and_endless_rules_are_left_out(tmp_path: Path) -> None:
    """A file of rules is read up to its first ten thousand rules; bytes without a line end are no rule."""
    path = tmp_path / ".gitignore"
    path.write_bytes(b"\0" * 800_000 + b"\n" + b"a*" * 50_000 + b"\n*.log\n")
    patterns = load_patterns(str(path))

    assert patterns is not None
    assert 1 == len(patterns.rules)
    assert patterns.decide("x.log", "x.log", is_folder=False)
