"""The archives of this checkout, built once in a run."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from hybrid.base.atomic import locked
from tests.release.build import Built, build
from tests.support.builders import CHECKOUT

if TYPE_CHECKING:
    from pathlib import Path

EPOCH_S = 1_700_000_000
"""Time of every entry of the archives."""


@pytest.fixture(scope="session")
def archives(folder_of_the_run: Path) -> Built:
    """The sdist of this checkout, and the wheel built from the sdist alone; made by the first worker that asks."""
    folder = folder_of_the_run / "dist"
    with locked(folder_of_the_run / "dist.lock", timeout_s=300):
        if not folder.exists():
            tree = folder_of_the_run / "dist-tree"
            for name in _names():
                target = tree / name
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(CHECKOUT / name, target)
            build(tree, folder, EPOCH_S)
    [sdist], [wheel] = folder.glob("*.tar.gz"), folder.glob("*.whl")
    return Built(sdist, wheel)


def _names() -> list[str]:
    """The files of this checkout, as git lists them with those that are new; of an unpacked archive, all."""
    listed = subprocess.run(
        ["git", "-C", str(CHECKOUT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        check=False,
    )
    if listed.returncode:
        left_out = {"__pycache__", ".venv", "dist"}
        every = (path.relative_to(CHECKOUT) for path in CHECKOUT.rglob("*") if path.is_file())
        return sorted(str(path) for path in every if not left_out & set(path.parts))
    return sorted(name for name in os.fsdecode(listed.stdout).split("\0") if name and (CHECKOUT / name).is_file())
