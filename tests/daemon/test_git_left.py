"""Git ends with the build that asks it, however that ends (#16)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from hybrid.daemon.freshness import Builder
from hybrid.daemon.worker import spawn_worker
from tests.support.agent import until
from tests.support.builders import PAYMENTS, write_files

pytestmark = [
    pytest.mark.skipif(sys.platform != "linux", reason="what runs is read in /proc"),
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed"),
]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A working tree whose rules further down are a pipe: git waits for it for ever."""
    made = tmp_path.resolve() / "project"
    write_files(made, PAYMENTS)
    subprocess.run(["git", "init", "-q"], cwd=made, check=True)
    os.mkfifo(made / "src" / ".gitignore")
    return made


def _at_work(root: Path) -> list[int]:
    """The processes that stand in the tree, as git does."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            found += [int(path.name)] if (path / "cwd").readlink() == root else []
        except OSError:
            continue
    return found


def test_git_ends_with_a_builder_that_is_closed(root: Path, tmp_path: Path) -> None:
    """A service that stopped in the first half second left git behind, which waited for the pipe for ever."""
    with closing(Builder(tmp_path / "home")) as builder:
        builder.request(root, {})
        until(lambda: bool(_at_work(root)) or not builder.is_busy)
        before = _at_work(root)
    until(lambda: not _at_work(root))

    assert before, "git did not wait for the pipe"


def test_git_ends_with_a_worker_whose_service_was_killed(root: Path, tmp_path: Path) -> None:
    """The worker hears of it by the end of its stdin."""
    with spawn_worker() as worker:
        assert worker.stdin is not None
        environ = {"HYBRID_HOME": str(tmp_path / "home")}
        request = {"cwd": str(root), "environ": environ, "paths": None}
        worker.stdin.write(json.dumps(request).encode() + b"\n")
        worker.stdin.flush()
        until(lambda: bool(_at_work(root)) or worker.poll() is not None)
        before = _at_work(root)
        worker.stdin.close()
        worker.wait()
    until(lambda: not _at_work(root))

    assert before, "git did not wait for the pipe"
