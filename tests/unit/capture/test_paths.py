from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from hybrid.capture.tools import PathRoots
from tests.support.builders import write_files
from tests.support.cases import cases, read

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.cases import Case

WINDOWS = "C:\\Users\\me\\shop"


@cases("capture/windows_paths.txt")
def test_paths_of_windows_become_relative_in_every_form(case: Case) -> None:
    """Letter case, slashes and the spelling of the drive differ between tools; a folder that only begins alike is another one."""
    for root in (WINDOWS, "c:/Users/me/shop", WINDOWS + "\\"):
        assert case.expected == PathRoots(root, "c:\\users\\me\\shop", "C:\\Users\\me").relative(case.text)


def test_a_share_is_a_root_too() -> None:
    """A project on a server."""
    roots = PathRoots("\\\\server\\share\\shop", "", "")

    assert "src/a.py" == roots.relative("//SERVER/share/shop/src/a.py")
    assert "at src/a.py:3" == roots.shortened("at \\\\server\\share\\shop\\src\\a.py:3")


def test_texts_lose_the_root_of_windows() -> None:
    """In the text of a command or a result; the rest of the path has forward slashes, other backslashes stay."""
    roots = PathRoots(WINDOWS, WINDOWS, "C:\\Users\\me")
    inside = [
        case.text
        for case in read("capture/windows_paths.txt")
        if case.text.lower().replace("\\", "/").endswith("shop/src/a.py")
    ]

    for path in (path for path in inside if not path.startswith("file:")):
        assert 'type "src/a.py" | findstr \\d+' == roots.shortened(f'type "{path}" | findstr \\d+')
    assert "see ~/x/y.txt" == roots.shortened("see c:\\users\\me\\x\\y.txt")
    assert "abc/c/Users/me/shop/x" == roots.shortened("abc/c/Users/me/shop/x")


def test_elsewhere_such_forms_are_paths_as_any_other() -> None:
    """`/c` is a folder where the project has no drive, and letter case counts."""
    roots = PathRoots("/c/shop", "/c/shop", "")

    assert "a.py" == roots.relative("/c/shop/a.py")
    assert "/c/Shop/a.py" == roots.relative("/c/Shop/a.py")
    assert "C:/shop/a.py" == roots.relative("C:\\shop\\a.py")


@pytest.fixture
def linked(tmp_path: Path) -> tuple[Path, Path]:
    """A project, and a link to it elsewhere."""
    if sys.platform == "win32":
        pytest.skip("links need rights there")
    root, link = tmp_path / "real" / "shop", tmp_path / "work"
    write_files(root, {"src/a.py": "", "packages/one/b.py": ""})
    link.symlink_to(root)
    (root / "outside.txt").symlink_to("/etc/hosts")
    (tmp_path / "one").symlink_to(root / "packages" / "one")
    return root, link


def test_paths_by_a_link_to_the_project_are_relative(linked: tuple[Path, Path], tmp_path: Path) -> None:
    """Whichever of tool and project went by the link; a file that is not there yet, the project itself, a part of it."""
    root, link = linked
    by_link, by_root = PathRoots(str(root), str(link)), PathRoots(str(link), str(link))

    assert "src/a.py" == by_link.relative(f"{link}/src/a.py") == by_root.relative(f"{root}/src/a.py")
    assert "src/a.py" == by_link.relative("src/a.py")
    assert "src/new/c.py" == by_link.relative(f"{link}/src/new/c.py")
    assert ["."] * 2 == [by_link.relative("."), by_link.relative(str(link))]
    assert "packages/one/b.py" == by_link.relative(f"{tmp_path}/one/b.py")
    assert "packages/one" == by_link.relative(f"{tmp_path}/one")
    assert "outside.txt" == by_link.relative(f"{link}/outside.txt")
    assert f"{tmp_path}/other/a.py" == by_link.relative(f"{tmp_path}/other/a.py")


def test_texts_lose_the_name_of_the_link_too(linked: tuple[Path, Path]) -> None:
    """Where the use took place below the link."""
    root, link = linked
    roots = PathRoots(str(root), f"{link}/src")

    assert "cat src/a.py src/a.py" == roots.shortened(f"cat {link}/src/a.py {root}/src/a.py")
    assert f"cat {link}/src/a.py" == PathRoots(str(root), str(root)).shortened(f"cat {link}/src/a.py")


def test_a_path_below_the_root_is_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Links are followed only where that can change something, and each folder once."""
    asked: list[str] = []

    def realpath(path: str) -> str:
        asked.append(path)
        return path

    monkeypatch.setattr(os.path, "realpath", realpath)
    roots = PathRoots("/srv/shop", "/srv/shop", "/home/me")

    roots.relative("/srv/shop/src/a.py")
    roots.relative("src/b.py")
    roots.shortened("cat /srv/shop/src/a.py")
    roots.relative("\\\\server\\share\\x")
    assert [] == asked
    if os.name != "nt":
        roots.relative("/other/a.py")
        roots.relative("/other/a.py")
        assert ["/srv/shop", "/other", "/other/a.py"] == asked


def test_what_cannot_be_looked_up_stays() -> None:
    """A null byte, a circle of links: no error."""
    assert "/x\0y/a.py" == PathRoots("/srv/shop", "", "").relative("/x\0y/a.py")
