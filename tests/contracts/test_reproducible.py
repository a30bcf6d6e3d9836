"""Whoever builds the wheel from the same files gets the same bytes."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.release.build import BASE_BYTES, MORE_BYTES, Built, build, by_area, size_table, sums
from tests.support.builders import CHECKOUT

pytestmark = pytest.mark.slow

EPOCH_S = 1_700_000_000


def _digests(built: Built) -> list[str]:
    return [hashlib.sha256(path.read_bytes()).hexdigest() for path in built]


def _copied(names: list[str], folder: Path) -> Path:
    """A copy of the checkout's files, made in this order."""
    for name in names:
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(CHECKOUT / name, target)
    return folder


@pytest.fixture(scope="module")
def names() -> list[str]:
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


@pytest.fixture(scope="module")
def first(names: list[str], tmp_path_factory: pytest.TempPathFactory) -> Built:
    """A build in ordinary surroundings."""
    folder = tmp_path_factory.mktemp("first")
    return build(_copied(names, folder / "tree"), folder / "dist", EPOCH_S)


def test_other_surroundings_give_the_same_bytes(
    first: Built, names: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another folder and order of files, other modes and times of files, umask, locale, time zone, order of hashes."""
    tree = _copied(names[::-1], tmp_path / "an other pläce")
    for path in tree.rglob("*"):
        path.chmod(0o700)
        os.utime(path, (86_400, 86_400))
    for name, value in {"LC_ALL": "C", "TZ": "Asia/Kathmandu", "PYTHONHASHSEED": "7", "HOME": str(tmp_path)}.items():
        monkeypatch.setenv(name, value)
    before = os.umask(0o077)
    try:
        second = build(tree, tmp_path / "dist", EPOCH_S)
    finally:
        os.umask(before)

    assert _digests(first) == _digests(second)


def test_the_source_archive_gives_the_same_wheel(first: Built, tmp_path: Path) -> None:
    """Who has no checkout unpacks the source archive and builds from it; its times tell the time to build with."""
    with tarfile.open(first.sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    [tree] = tmp_path.iterdir()
    command = [sys.executable, "-m", "tests.release.build", "--outdir", str(tmp_path / "dist")]
    environ = {name: value for name, value in os.environ.items() if name != "SOURCE_DATE_EPOCH"} | {"PYTHONPATH": ""}

    done = subprocess.run(command, cwd=tree, env=environ, capture_output=True, text=True, timeout=300, check=False)

    assert 0 == done.returncode, done.stdout + done.stderr
    assert EPOCH_S == int((tree / "pyproject.toml").stat().st_mtime)
    assert sums(first) == (tmp_path / "dist" / "SHA256SUMS").read_text(encoding="ascii")


def test_every_entry_has_the_time_of_the_build(first: Built) -> None:
    """Neither archive holds the time at which a file was written, nor who wrote it."""
    with zipfile.ZipFile(first.wheel) as wheel:
        times = {entry.date_time for entry in wheel.infolist()}
        modes = {entry.external_attr >> 16 & 0o777 for entry in wheel.infolist()}
    with tarfile.open(first.sdist) as archive:
        members = archive.getmembers()

    assert {(2023, 11, 14, 22, 13, 20)} == times
    assert {0o644} == modes
    assert {(EPOCH_S, 0, "", 0o644)} == {(each.mtime, each.uid, each.uname, each.mode) for each in members}


def test_the_wheel_holds_its_list_of_parts(first: Built) -> None:
    """It lies where PEP 770 has it, and is the file of the repository."""
    with zipfile.ZipFile(first.wheel) as wheel:
        [name] = [name for name in wheel.namelist() if ".dist-info/sboms/" in name]
        text = wheel.read(name)

    assert (CHECKOUT / "hybrid-retrieval.cdx.json").read_bytes() == text


def test_the_wheel_stays_small(first: Built) -> None:
    """Without extras it has at most 300,000 bytes more than before tools and pages came; a table says what takes them."""
    parts = by_area(first.wheel)

    assert first.wheel.stat().st_size <= BASE_BYTES + MORE_BYTES, size_table(first.wheel)
    assert sum(parts.values()) <= first.wheel.stat().st_size
    assert all(parts.values())
    assert parts["code"] < parts["embedding model"] < parts["model that reads records"]
