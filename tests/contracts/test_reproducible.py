"""Whoever builds the wheel from the same files gets the same bytes."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.contracts.conftest import EPOCH_S
from tests.release.build import BASE_BYTES, MORE_BYTES, Built, by_area, size_table, sums
from tests.support.builders import CHECKOUT

pytestmark = pytest.mark.slow


def test_the_source_archive_gives_the_same_bytes_elsewhere(archives: Built, tmp_path: Path) -> None:
    """Who has no checkout builds from it, with the time of its own files; another folder, umask, locale, zone, modes."""
    folder = tmp_path / "an other pläce"
    with tarfile.open(archives.sdist) as archive:
        archive.extractall(folder, filter="data")
    [tree] = folder.iterdir()
    for path in tree.rglob("*"):
        path.chmod(0o700)
        if path.name != "pyproject.toml":
            os.utime(path, (86_400, 86_400))
    command = [sys.executable, "-m", "tests.release.build", "--outdir", str(tmp_path / "dist")]
    environ = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"} | {
        "PYTHONPATH": "",
        "LC_ALL": "C",
        "TZ": "Asia/Kathmandu",
        "PYTHONHASHSEED": "7",
        "HOME": str(tmp_path),
    }

    done = subprocess.run(
        command, cwd=tree, env=environ, capture_output=True, text=True, timeout=300, check=False, umask=0o077
    )

    assert 0 == done.returncode, done.stdout + done.stderr
    assert EPOCH_S == int((tree / "pyproject.toml").stat().st_mtime)
    assert sums(archives) == (tmp_path / "dist" / "SHA256SUMS").read_text(encoding="ascii")


def test_every_entry_has_the_time_of_the_build(archives: Built) -> None:
    """Neither archive holds the time at which a file was written, nor who wrote it."""
    with zipfile.ZipFile(archives.wheel) as wheel:
        times = {entry.date_time for entry in wheel.infolist()}
        modes = {entry.external_attr >> 16 & 0o777 for entry in wheel.infolist()}
    with tarfile.open(archives.sdist) as archive:
        members = archive.getmembers()

    assert {(2023, 11, 14, 22, 13, 20)} == times
    assert {0o644} == modes
    assert {(EPOCH_S, 0, "", 0o644)} == {(each.mtime, each.uid, each.uname, each.mode) for each in members}


def test_the_wheel_holds_its_list_of_parts(archives: Built) -> None:
    """It lies where PEP 770 has it, and is the file of the repository."""
    with zipfile.ZipFile(archives.wheel) as wheel:
        [name] = [name for name in wheel.namelist() if ".dist-info/sboms/" in name]
        text = wheel.read(name)

    assert (CHECKOUT / "hybrid-retrieval.cdx.json").read_bytes() == text


def test_the_wheel_stays_small(archives: Built) -> None:
    """Without extras it has at most 300,000 bytes more than before tools and pages came; a table says what takes them."""
    parts = by_area(archives.wheel)

    assert archives.wheel.stat().st_size <= BASE_BYTES + MORE_BYTES, size_table(archives.wheel)
    assert sum(parts.values()) <= archives.wheel.stat().st_size
    assert all(parts.values())
    assert parts["code"] < parts["embedding model"] < parts["model that reads records"]
