"""Kills builds of a project at random moments, from a process of its own that has imported everything before.

Run as a script: `python -m tests.support.killing ROOT SEED N`. Prints how many builds were killed and how many
ended before. A forked build needs no start of an interpreter, so that a hundred of them take seconds. After each
kill the index is searched for `WANTED`, which a first build has and no edit touches.
"""

from __future__ import annotations

import io
import json
import os
import random
import signal
import sys
import time
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING

from hybrid.cli.main import run
from hybrid.index import commit
from tests.support.backgrounds import remember_backgrounds, remember_models
from tests.support.forked import run_some

if TYPE_CHECKING:
    from collections.abc import Callable

WANTED = "settle_invoice"
"""Name of a function in `kept.py`, at the top of the project."""
FULL = 400
"""Chunks of a full segment here, so that builds write several."""
_LONGEST_S = 0.7


def build(root: str) -> int:
    """Bring the index of a project up to date, with small segments; return the exit code."""
    commit.MOST_CHUNKS = FULL
    return run(["reindex", "--quiet", "--project", root], started_s=time.perf_counter())


def search(root: str) -> int:
    """Search for what every build has kept; return 0 when it is found."""
    with redirect_stdout(io.StringIO()) as printed:
        code = run(["search", WANTED, "--json", "--project", root], started_s=time.perf_counter())
    return code or "kept.py" not in {hit["path"] for hit in json.loads(printed.getvalue())["hits"]}


def _fork(work: Callable[[str], int], root: Path) -> int:
    child = os.fork()
    if child == 0:
        os._exit(work(str(root)))
    return child


def _see_done(what: str, child: int) -> None:
    _, status = os.waitpid(child, 0)
    if code := os.waitstatus_to_exitcode(status):
        raise SystemExit(f"a {what} ended with {code}")


def edit(root: Path, draw: random.Random) -> None:
    """Change, add and remove some files of a project, so that there is something to do."""
    paths = sorted(root.glob("src/*.py"))
    for path in draw.sample(paths, min(len(paths), 40)):
        path.write_text(path.read_text(encoding="utf-8") + f"\n\ndef more_{draw.randrange(10**6)}():\n    return 1\n")
    for path in draw.sample(paths, 3):
        path.unlink()
    for number in range(3):
        text = f"def added_{draw.randrange(10**6)}(order):\n    return order.lines[{number}]\n"
        (root / "src" / f"added_{draw.randrange(10**6)}.py").write_text(text)


def main() -> None:
    """Build; then edit, build, kill and search, `N` times."""
    root, seed, n_kills = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    remember_backgrounds()
    remember_models()
    run_some()
    draw = random.Random(seed)
    counts = {"killed": 0, "ended": 0}
    _see_done("build", _fork(build, root))
    edit(root, draw)
    while counts["killed"] < n_kills:
        if draw.random() < 0.2:
            edit(root, draw)
        child = _fork(build, root)
        time.sleep(draw.random() ** 2 * _LONGEST_S)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        if os.WIFSIGNALED(status):
            counts["killed"] += 1
            _see_done("search", _fork(search, root))
        else:
            counts["ended"] += 1
            if os.WEXITSTATUS(status) != 0:
                raise SystemExit(f"a build ended with {os.WEXITSTATUS(status)}")
            edit(root, draw)
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main()
