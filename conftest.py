"""Fixtures that give ready objects; builders live in `tests/support/builders.py`."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.backgrounds import remember_annotations, remember_backgrounds, remember_models
from tests.support.builders import PAYMENTS, ListSource, build_index, git_project, place_in
from tests.support.examples import register_profiles

if TYPE_CHECKING:
    from collections.abc import Iterator

    from hybrid.index.manifest import Place

# For workers and what they start. Threads of one product wait for each other in a loop: tenfold beside a busy process.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
MEMORY = Path("/dev/shm")
if "TMPDIR" not in os.environ and MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > 4 << 30:
    # Ten thousand tests with a folder each, half of them with a database: on a disk they wait more than they compute.
    os.environ["TMPDIR"] = tempfile.tempdir = str(MEMORY)

remember_backgrounds()
remember_models()
remember_annotations()

register_profiles()

# What is imported and collected stays to the end: looking through it again and again is a fourth of collecting.
gc.disable()


def pytest_collection_finish() -> None:
    """From now on garbage is what tests leave."""
    gc.collect()
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def folder_of_the_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that all workers of this run share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.fixture(scope="session", autouse=True)
def _work_that_is_done_once(pytestconfig: pytest.Config) -> Iterator[None]:
    """Grammars are unpacked, modules compiled and fonts looked for once in a checkout, not for each new home."""
    with pytest.MonkeyPatch.context() as patch:
        assert pytestconfig.cache
        patch.setenv("XDG_CACHE_HOME", str(pytestconfig.cache.mkdir("work")))
        patch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
        yield


@pytest.fixture(autouse=True)
def _no_settings_of_the_developer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test reads or writes the settings, indexes and logs of who runs it."""
    monkeypatch.setenv("HYBRID_HOME", str(tmp_path / "hybrid-home"))
    monkeypatch.setenv("HOME", str(tmp_path / "user-home"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")


@pytest.fixture
def payments_source() -> ListSource:
    """The payments project as texts in memory."""
    return ListSource(dict(PAYMENTS))


@pytest.fixture
def built_place(tmp_path: Path, payments_source: ListSource) -> Place:
    """Its index, built with the hashing embedder."""
    place = place_in(tmp_path / "index")
    build_index(place, payments_source)
    return place


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The payments project as a git working tree on disk."""
    return git_project(tmp_path / "shop")
