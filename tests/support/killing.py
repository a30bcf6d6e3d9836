"""Kills builds of a project at random moments, from a process of its own that has imported everything before.

Run as a script: `python -m tests.support.killing ROOT SEED N`. Prints how many builds were killed and how many
ended before. A forked build needs no start of an interpreter, so that a hundred of them take seconds.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import time
from pathlib import Path

from hybrid.cli.main import run
from hybrid.index import commit

FULL = 400
"""Chunks of a full segment here, so that builds write several."""
_LONGEST_S = 0.7


def build(root: str) -> int:
    """Bring the index of a project up to date, with small segments; return the exit code."""
    commit.MOST_CHUNKS = FULL
    return run(["reindex", "--quiet", "--project", root], started_s=time.perf_counter())


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
    """Edit, build and kill, `N` times."""
    root, seed, n_kills = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    draw = random.Random(seed)
    counts = {"killed": 0, "ended": 0}
    while counts["killed"] < n_kills:
        if draw.random() < 0.2:
            edit(root, draw)
        child = os.fork()
        if child == 0:
            os._exit(build(str(root)))
        time.sleep(draw.random() ** 2 * _LONGEST_S)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        was_killed = os.WIFSIGNALED(status)
        counts["killed" if was_killed else "ended"] += 1
        if not was_killed:
            if os.WEXITSTATUS(status) != 0:
                raise SystemExit(f"a build ended with {os.WEXITSTATUS(status)}")
            edit(root, draw)
    sys.stdout.write(json.dumps(counts))


if __name__ == "__main__":
    main()
