from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from hybrid.index.snapshot import open_snapshot
from hybrid.workspace import open_workspace
from tests.support.builders import CHECKOUT, hear_interrupts, hybrid_command, write_files

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there is no kill -9 on Windows")


def _many_files(n_files: int, word: str) -> dict[str, str]:
    return {
        f"src/module_{i:03}.py": "\n\n\n".join(
            f'def {word}_{i}_{k}(request):\n    """Handle {word} number {k} of module {i}."""\n    return request.{word}[{k}] + {i}'
            for k in range(20)
        )
        for i in range(n_files)
    }


def _start(root: Path, home: Path) -> subprocess.Popen[bytes]:
    environ = os.environ | {"HYBRID_HOME": str(home), "PYTHONPATH": str(CHECKOUT)}
    command = [sys.executable, "-m", "hybrid", "reindex", "--json"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=root, env=environ, stdout=pipe, stderr=pipe, preexec_fn=hear_interrupts)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="killing many builds takes forks")
def test_builds_killed_at_any_moment_leave_a_searchable_index_and_end_equal_to_one_never_killed(tmp_path: Path) -> None:
    """Files change meanwhile, and full segments are written; at the end the index says what a first build says."""
    root, home, fresh = tmp_path / "project", tmp_path / "home", tmp_path / "fresh"
    kept = {"kept.py": "def settle_invoice(invoice):\n    return invoice.total\n"}
    write_files(root, {".hybrid/.gitignore": "*\n", **kept, **_many_files(30, "refund")})
    command = [sys.executable, "-m", "tests.support.killing", str(root), "1", "10"]
    environ = os.environ | {"HYBRID_HOME": str(home), "PYTHONPATH": str(CHECKOUT)}
    killed = subprocess.run(command, cwd=CHECKOUT, env=environ, capture_output=True, check=False)
    assert 0 == killed.returncode, killed.stderr.decode()
    for place in (home, fresh):
        assert 0 == hybrid_command("reindex", cwd=root, home=place).returncode

    assert 10 == json.loads(killed.stdout)["killed"]
    assert _contents(root, fresh) == _contents(root, home)
    state = json.loads(hybrid_command("status", "--json", cwd=root, home=home).stdout)["index"]
    assert ("ready", 0, None) == (state["state"], state["stale_documents"], state["error"])


def _contents(root: Path, home: Path) -> dict[str, list[tuple[object, ...]]]:
    """Path → what the index holds of each chunk: its lines, digest, name, vector and terms."""
    workspace = open_workspace(root, environ={"HYBRID_HOME": str(home)})
    snapshot = open_snapshot(workspace.place.folder, model=None)
    found: dict[str, list[tuple[object, ...]]] = {path: [] for path in snapshot.live_documents()}
    for row, terms in snapshot.live_terms():
        chunk, vector = snapshot.get(row), snapshot.vectors(np.array([row]))[0]
        found[chunk.path].append(
            (chunk.start_line, chunk.end_line, chunk.digest, chunk.name, vector.tobytes(), sorted(terms.items()))
        )
    return found


@pytest.mark.slow
def test_an_interrupted_build_says_so_and_keeps_what_was_done(tmp_path: Path) -> None:
    """Ctrl-C ends a build with one line and exit code 2; the next run finishes."""
    root, home = tmp_path / "project", tmp_path / "home"
    write_files(root, {".hybrid/.gitignore": "*\n", **_many_files(120, "refund")})
    build = _start(root, home)
    while build.poll() is None and not list(home.glob("projects/*/catalog.db")):
        time.sleep(0.01)
    time.sleep(0.05)
    build.send_signal(signal.SIGINT)
    _, errors = build.communicate(timeout=120)

    if build.returncode != 0:  # A fast machine may have finished before the signal.
        assert 2 == build.returncode
        assert b"Traceback" not in errors
    assert 0 == hybrid_command("reindex", cwd=root, home=home).returncode


_LATE = """
import os, signal, sys
from hybrid.__main__ import main
class Late:
    def __del__(self, kill=os.kill, process=os.getpid(), number=signal.SIGINT):
        kill(process, number)
late = Late()
sys.argv = ["hybrid", *sys.argv[1:]]
sys.exit(main())
"""


@pytest.mark.parametrize(("argument", "code"), [("--version", 0), ("nosuch", 2)])
def test_an_interrupt_after_the_work_changes_no_exit_code(argument: str, code: int) -> None:
    """Ctrl-C while the interpreter takes itself apart ended the process by the signal, whatever the command had done."""
    command = [sys.executable, "-c", _LATE, argument]
    environ = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    ended = subprocess.run(command, env=environ, capture_output=True, check=False, preexec_fn=hear_interrupts)

    assert code == ended.returncode
    assert b"Traceback" not in ended.stderr
