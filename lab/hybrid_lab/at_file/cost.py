"""Times a use of a tool through a service, with and without records at files, in turn; `at-file --rounds` prints it."""

from __future__ import annotations

import itertools
import time
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from hybrid.evaluation.retrieval import settings_in_force
from hybrid.evaluation.timing import alternate, runner
from hybrid.upkeep.indexing import reindex
from hybrid.workspace import open_workspace
from hybrid_lab.service_process import ServiceProcess

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from hybrid_lab.at_file.given import FileRecord

_SETTINGS = ("memory.path=", "memory.enabled=false", "lore.data_dir=")
_RESAMPLES = 2_000
_REST_S = 0.005
"""What is recorded after an answer must not be taken for a part of the next one."""


def cost_of(home: Path, records: Sequence[FileRecord], rounds: int, settings: Sequence[str]) -> dict[str, Any]:
    """Return the times of a read that no record is about, and of one that brings a record, each in a new session.

    Args:
        home: Of a replay; its trees and records are there still.
        records: Of projects with real trees; the tree with the most files of them is timed.
        rounds: Pairs of each.
        settings: Assignments.

    Raises:
        HybridError: The service does not start.
    """
    trees = {home / "trees" / one.project.replace("/", "+"): one.project for one in records}
    root = max(trees, key=lambda tree: sum(1 for _ in tree.rglob("*.py")))
    about = {file for one in records if one.project == trees[root] and one.names_file for file in one.about}
    other = next(path for path in sorted(root.rglob("*.py")) if str(path.relative_to(root)) not in about)
    environ = {"HYBRID_HOME": str(home)}
    reindex(open_workspace(root, environ=environ))
    of = runner(home, settings_in_force([*_SETTINGS, *settings], environ={}))
    service, numbers = ServiceProcess(of), itertools.count()

    def read(path: Path, is_on: bool) -> None:
        time.sleep(_REST_S)
        answered = {"type": "text", "file": {"filePath": str(path), "content": "x\n" * 20, "numLines": 20}}
        fields = {"tool_name": "Read", "tool_input": {"file_path": str(path)}, "tool_response": answered}
        flags = dict(of.environ) | {"HYBRID_HOOKS_AT_FILE": str(is_on).lower()}
        service.tell(root, "PostToolUse", fields, session=f"cost-{next(numbers)}", environ=flags)

    found: dict[str, Any] = {}
    with service.running(root):
        for name, path in (("no record", other), ("a record", root / min(about))):
            off, on = alternate(lambda p=path: read(p, False), lambda p=path: read(p, True), rounds)
            found[name] = _compared(off, on)
    return found


def _compared(off: Sequence[float], on: Sequence[float]) -> dict[str, Any]:
    differences = np.array(on) - np.array(off)
    drawn = np.random.default_rng(1).choice(differences, (_RESAMPLES, len(differences)))
    low, high = np.quantile(np.median(drawn, axis=1), (0.025, 0.975))
    rest = _REST_S * 1000
    without, with_ = median(off) - rest, median(on) - rest
    return {
        "n": len(off),
        "without_ms": round(without, 3),
        "with_ms": round(with_, 3),
        "added_ms": round(float(np.median(differences)), 3),
        "low_ms": round(float(low), 3),
        "high_ms": round(float(high), 3),
        "ratio": round(with_ / without, 3),
    }
