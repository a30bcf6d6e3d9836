from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.project.find import find_project
from hybrid.project.trust import NAME, accept, accepted_trees, is_accepted, is_damaged, refuse, refuse_all
from tests.support.builders import git_project, python_process

if TYPE_CHECKING:
    from pathlib import Path

    from hybrid.project.find import Project

DAMAGED = {
    "no JSON": b"{half",
    "empty": b"",
    "a list": b"[1, 2]",
    "no trees": b'{"version": 1}',
    "trees of another type": b'{"trees": [1]}',
    "binary": b"\x00\xff" * 100,
    "deep": b"[" * 100_000,
}


def _project(folder: Path, name: str = "shop") -> Project:
    project = find_project(git_project(folder / name, {"README.md": "x"}), folder / "home", folder / "user")
    assert project is not None
    return project


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty `$HYBRID_HOME`."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def test_accepting_and_taking_it_back(tmp_path: Path, home: Path) -> None:
    """Nothing is accepted by itself; accepting tells whether it is new, counts for this tree alone, and can be taken back."""
    project, other = _project(tmp_path), _project(tmp_path, "kiosk")
    before = is_accepted(project, home), refuse(project, home), list(home.iterdir())
    told = [accept(project, home), accept(project, home)]
    is_there = is_accepted(project, home), is_accepted(other, home)
    back = [refuse(project, home), refuse(project, home)]

    assert (False, False, []) == before
    assert ([True, False], (True, False), [True, False]) == (told, is_there, back)
    assert not is_accepted(project, home)


def test_another_project_in_its_place(tmp_path: Path, home: Path) -> None:
    """A repository with another origin at an accepted path is another project: it is not accepted."""
    project = _project(tmp_path)
    accept(project, home)
    config = project.root / ".git" / "config"
    config.write_text(config.read_text() + '[remote "origin"]\n\turl = https://example.org/else/where.git\n')
    moved_in = find_project(project.root, home, tmp_path / "user")

    assert moved_in is not None
    assert project.tree == moved_in.tree
    assert not is_accepted(moved_in, home)


@pytest.mark.parametrize("case", DAMAGED)
def test_a_damaged_file_accepts_nothing(tmp_path: Path, home: Path, case: str) -> None:
    """A file that cannot be read accepts no tree; the next acceptance keeps it under another name and begins anew."""
    project = _project(tmp_path)
    (home / NAME).write_bytes(DAMAGED[case])
    before = (is_damaged(home), is_accepted(project, home), accepted_trees(project.key, home))
    accept(project, home)

    assert (True, False, ()) == before
    assert (False, True) == (is_damaged(home), is_accepted(project, home))
    assert [DAMAGED[case]] == [path.read_bytes() for path in home.iterdir() if path.name.startswith(f"{NAME}.")]


@pytest.mark.parametrize("entry", [None, 7, "text", [], {}, {"key": None}, {"key": 7}])
def test_a_damaged_entry_accepts_nothing(tmp_path: Path, home: Path, entry: Any) -> None:
    """An entry of another form is no acceptance."""
    project = _project(tmp_path)
    (home / NAME).write_text(json.dumps({"version": 1, "trees": {project.tree: entry}}))

    assert not is_accepted(project, home)
    assert () == accepted_trees(project.key, home)


def test_a_link_to_elsewhere_is_not_read(tmp_path: Path, home: Path) -> None:
    """A link in the place of the file accepts nothing: what it leads to may be in a repository."""
    project = _project(tmp_path)
    accept(project, home)
    (home / NAME).rename(tmp_path / "elsewhere.json")
    (home / NAME).symlink_to(tmp_path / "elsewhere.json")

    assert not is_accepted(project, home)


def test_all_trees_of_a_project_are_refused(tmp_path: Path, home: Path) -> None:
    """Forgetting a project takes back every acceptance of it and leaves those of others."""
    project, other = _project(tmp_path), _project(tmp_path, "kiosk")
    accept(project, home)
    accept(other, home)
    refuse_all(project.key, home)

    assert ((), (other.tree,)) == (accepted_trees(project.key, home), accepted_trees(other.key, home))


def test_acceptances_at_the_same_time(tmp_path: Path, home: Path) -> None:
    """Eight trees that are accepted at once are all accepted."""
    projects = [_project(tmp_path, f"shop{number}") for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda project: accept(project, home), projects))

    assert all(is_accepted(project, home) for project in projects)


def test_acceptances_of_several_processes(tmp_path: Path, home: Path) -> None:
    """So are those of processes at the same time."""
    projects = [_project(tmp_path, f"shop{number}") for number in range(3)]
    script = """
        import sys
        from pathlib import Path
        from hybrid.project.find import find_project
        from hybrid.project.trust import accept
        root, home = map(Path, sys.argv[1:])
        accept(find_project(root, home, home / "user"), home)
    """
    started = [python_process(script, project.root, home) for project in projects]
    codes = [(process.communicate(timeout=60), process.returncode)[1] for process in started]

    assert [0, 0, 0] == codes
    assert all(is_accepted(project, home) for project in projects)


def test_a_path_that_is_no_utf8(tmp_path: Path, home: Path) -> None:
    """A tree whose path holds other bytes can be accepted."""
    try:
        project = _project(tmp_path, "caf\udce9")
    except (OSError, UnicodeError):
        pytest.skip("this file system has no such names")
    accept(project, home)

    assert is_accepted(project, home)
    assert (home / NAME).read_bytes().isascii()
