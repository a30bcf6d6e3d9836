"""The builder brings indexes up to date in a process of its own, one build at a time."""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from hybrid.daemon.freshness import Builder, Result, Waits
from hybrid.daemon.worker import spawn_worker
from hybrid.prompting.query import make_query
from hybrid.search.searcher import open_searcher
from hybrid.workspace import Workspace, open_workspace
from tests.support.builders import git_project, write_files

if TYPE_CHECKING:
    from collections.abc import Generator

LONG_S = 60.0
ENVIRON = {"HYBRID_MODEL_NAME": "hashing"}
SOON = Waits(first=0.05, longest=0.2, refused=30.0, busy=0.05, tries=3)


class Building:
    """A builder with what it told, over a home of its own."""

    def __init__(self, folder: Path, **options: object) -> None:
        self.home = folder / "home"
        self.told: queue.Queue[tuple[Path, Result]] = queue.Queue()
        self.workers: list[subprocess.Popen[bytes]] = []
        self.builder = Builder(
            self.home,
            on_done=lambda root, result: self.told.put((root, result)),
            **({"spawn": self.spawn, "waits": SOON} | options),  # type: ignore[arg-type]
        )

    def spawn(self) -> subprocess.Popen[bytes]:
        """A real worker that is remembered."""
        self.workers.append(spawn_worker())
        return self.workers[-1]

    def built(self, root: Path, paths: list[str] | None = None, **environ: str) -> Result:
        """The result of a build that is asked for now."""
        self.builder.request(root, ENVIRON | environ, paths)
        told, result = self.told.get(timeout=LONG_S)
        assert (root, True) == (told, result.state != "failed"), result
        return result

    def rest(self, root: Path) -> dict[str, object]:
        """The last result when nothing runs or waits any more."""
        until_s = time.monotonic() + LONG_S
        while self.builder.is_pending(root):
            assert time.monotonic() < until_s
            time.sleep(0.02)
        return self.builder.last_result(root) or {}

    def workspace(self, root: Path) -> Workspace:
        """The project as the worker sees it."""
        return open_workspace(root, environ=ENVIRON | {"HYBRID_HOME": str(self.home)})

    def found(self, root: Path, query: str) -> list[str]:
        """Paths of what a search finds."""
        searcher = open_searcher(self.workspace(root))
        return [hit.path for hit in searcher.search(make_query(query), top_k=3, mode="lexical").hits]


@pytest.fixture
def building(tmp_path: Path) -> Generator[Building]:
    """A builder; its worker ends with the test."""
    found = Building(tmp_path)
    yield found
    found.builder.close()
    assert all(worker.poll() is not None for worker in found.workers)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The payments project, not indexed."""
    return git_project(tmp_path / "shop")


def test_a_first_index(building: Building, root: Path) -> None:
    """The first request makes an index, names the folders worth watching, and writes nothing into the tree."""
    result = building.built(root)

    assert (4, ("docs", "src", "src/payments", "src/users")) == (result.summary["documents"], result.folders)
    assert not (root / ".hybrid").exists()


def test_a_changed_file_alone(building: Building, root: Path) -> None:
    """A request with paths looks at these only, in the process that already runs, and its text can be found."""
    building.built(root)
    write_files(root, {"src/payments/refund.py": "def refund_overpayment(): pass\n"})
    result = building.built(root, ["src/payments/refund.py"])

    assert (False, 1, 5) == (result.is_full, result.summary["added"], result.summary["documents"])
    assert ["src/payments/refund.py"] == building.found(root, "refund_overpayment")
    assert 1 == len(building.workers)


def test_requests_that_wait_are_one(tmp_path: Path, root: Path) -> None:
    """Requests for a project that is being built wait as one request, and everything wins over some paths."""
    is_taken, may_go_on = threading.Event(), threading.Event()

    def spawn() -> subprocess.Popen[bytes]:
        is_taken.set()
        assert may_go_on.wait(LONG_S)
        return building.spawn()

    building = Building(tmp_path, spawn=spawn)
    building.builder.request(root, ENVIRON)
    assert is_taken.wait(LONG_S)
    for paths in (["README.md"], ["docs/deploy.md"], None, ["src"]):
        building.builder.request(root, ENVIRON, paths)
    may_go_on.set()
    building.rest(root)
    results = [building.told.get_nowait()[1] for _ in range(building.told.qsize())]
    building.builder.close()

    assert 2 == len(results)
    assert all(result.is_full for result in results), results


def test_a_file_that_never_matters(tmp_path: Path, root: Path) -> None:
    """A file that changes all the time and is no document is looked at less often; one that matters never waits."""
    building = Building(tmp_path, waits=Waits(noisy=1000.0))
    write_files(root, {".gitignore": "*.log\n"})
    building.built(root)
    for n in range(5):
        write_files(root, {"server.log": "line\n" * n})
        building.built(root, ["server.log"])
    building.builder.request(root, ENVIRON, ["server.log"])
    is_waiting = building.builder.is_pending(root) and building.told.empty()
    write_files(root, {"README.md": "# Another\n"})
    result = building.built(root, ["README.md"])
    building.builder.close()

    assert (True, {"server.log", "README.md"}) == (is_waiting, result.paths)


def test_the_worker_is_killed(building: Building, root: Path) -> None:
    """A worker that was killed is started again, and the index stays whole."""
    building.built(root)
    building.workers[0].kill()
    building.workers[0].wait()
    write_files(root, {"README.md": "# Shop\n\nSells zebrawood.\n"})
    result = building.built(root, ["README.md"])

    assert (1, 2) == (result.summary["changed"], len(building.workers))
    assert "README.md" in building.found(root, "zebrawood")


@pytest.mark.parametrize("damage", ["segment", "model"])
def test_a_damaged_index_is_rebuilt(building: Building, root: Path, damage: str) -> None:
    """An index that is damaged or of another model is made again, also when only a path was asked for."""
    building.built(root)
    place = building.workspace(root).place
    if damage == "segment":
        next(place.folder.glob("segment-*")).write_bytes(b"nothing")
    result = building.built(root, ["README.md"], **({"HYBRID_MODEL_NAME": "hashing-64"} if damage == "model" else {}))

    assert (True, 4) == (result.is_full, result.summary["documents"])


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"HYBRID_INDEX_AUTO": "false"}, "off"),
        ({"HYBRID_INDEX_AUTO_MAX_FILES": "3"}, "too_many_files"),
    ],
    ids=["switched off", "too many files"],
)
def test_refused(building: Building, root: Path, settings: dict[str, str], reason: str) -> None:
    """A project that may not be indexed unasked is not, and the reason is kept."""
    building.builder.request(root, ENVIRON | settings)
    last = building.rest(root)

    assert ("refused", reason) == (last["state"], last["reason"])
    assert not (building.workspace(root).place.folder / "manifest.json").exists()


def test_a_project_inside_another_one_that_is_gone(building: Building, root: Path) -> None:
    """The folder of a repository that was removed lies in the outer one, which is not built in its place."""
    inner = git_project(root / "vendor/inner", {"a.py": "a = 1\n"})
    building.built(inner)
    shutil.rmtree(inner / ".git")

    assert "no_project" == building.built(inner).reason


def test_a_folder_without_git(building: Building, tmp_path: Path) -> None:
    """The first index of a folder without git is made by hand only; then it is kept fresh like any other."""
    root = write_files(tmp_path / "plain", {"a.md": "# Alpha\n", ".hybrid/config.toml": ""})
    building.builder.request(root, ENVIRON)

    assert "not_git" == building.rest(root)["reason"]


def test_too_many_files_by_hand(tmp_path: Path, root: Path) -> None:
    """What was indexed by hand is kept fresh whatever its size."""
    from hybrid.upkeep.indexing import reindex

    building = Building(tmp_path)
    reindex(building.workspace(root))
    result = building.built(root, None, HYBRID_INDEX_AUTO_MAX_FILES="1")
    building.builder.close()

    assert 4 == result.summary["documents"]


def test_a_failure_is_tried_again_and_given_up(tmp_path: Path, root: Path) -> None:
    """A build that keeps failing is tried a few times, ever later, and then left until somebody asks again."""

    def spawn() -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    building = Building(tmp_path, spawn=spawn)
    building.builder.request(root, ENVIRON, ["README.md"])
    last = building.rest(root)
    building.builder.close()

    assert ("failed", 3, 3) == (last["state"], last["failures"], building.told.qsize())


def test_another_process_builds(building: Building, root: Path) -> None:
    """While another process builds, the builder waits its turn and says nothing of it."""
    from hybrid.base.atomic import locked

    place = building.workspace(root).place
    place.folder.mkdir(parents=True)
    with locked(place.lock, 1.0) as held:
        building.builder.request(root, ENVIRON)
        until_s = time.monotonic() + LONG_S
        while (building.builder.last_result(root) or {"failures": 0})["failures"] <= SOON.tries:
            assert held
            assert time.monotonic() < until_s
            time.sleep(0.01)
    told, result = building.told.get(timeout=LONG_S)

    assert (root, "built") == (told, result.state)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_the_service_is_killed(tmp_path: Path) -> None:
    """A worker whose service was killed ends by itself, in the middle of a build too."""
    root = git_project(tmp_path / "big", {f"src/m{n}.py": f"def f{n}(): return {n}\n" * 40 for n in range(600)})
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path\nfrom hybrid.daemon.freshness import Builder\nfrom hybrid.daemon import worker\n"
        "def spawn():\n    process = worker.spawn_worker(); print(process.pid, flush=True); return process\n"
        "Builder(Path(sys.argv[2]), spawn=spawn).request(Path(sys.argv[3]), {})\ntime.sleep(60)\n"
    )
    checkout = str(Path(__file__).resolve().parent.parent.parent)
    command = [sys.executable, "-c", code, checkout, str(tmp_path / "home"), str(root)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as service:
        assert service.stdout is not None
        worker = int(service.stdout.readline())
        until_s = time.monotonic() + LONG_S
        while not list((tmp_path / "home").glob("projects/*/catalog.db")):
            assert time.monotonic() < until_s
            time.sleep(0.01)
        os.kill(service.pid, signal.SIGKILL)

    assert _ends(worker)


def _ends(pid: int) -> bool:
    """Whether a process that is nobody's child any more ends soon."""
    until_s = time.monotonic() + 120
    while time.monotonic() < until_s:
        try:
            os.kill(pid, 0)
            if Path(f"/proc/{pid}/stat").exists() and " Z " in Path(f"/proc/{pid}/stat").read_text():
                return True
        except ProcessLookupError:
            return True
        time.sleep(0.02)
    return False
