"""Two tiny repositories with judged queries and prompts, written here and nowhere else."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

FILES = {
    "boats": {
        "src/anchor.py": 'def drop_anchor(depth):\n    """Lower the anchor to the sea floor."""\n    return depth\n',
        "src/sails.py": 'def hoist_sail(mast):\n    """Raise the mainsail along its mast."""\n    return mast\n',
        "docs/anchor.md": "# Anchor\n\nLower the anchor slowly, the sea floor may be rocky.\n",
    },
    "bakery": {
        "oven.go": "package bakery\n\n// HeatOven warms the oven for bread.\nfunc HeatOven(degrees int) int {\n\treturn degrees\n}\n",
        "dough.go": "package bakery\n\n// KneadDough works flour and water.\nfunc KneadDough(minutes int) int {\n\treturn minutes\n}\n",
    },
}
QUERIES: list[dict[str, Any]] = [
    {"id": "q1", "repo": "boats", "query": "lower the anchor", "category": "semantic", "language": "python", "gold": [{"path": "src/anchor.py", "start_line": 1, "end_line": 3}]},
    {"id": "q2", "repo": "boats", "query": "hoist_sail", "category": "symbol", "language": "python", "gold": [{"path": "src/sails.py"}]},
    {"id": "q3", "repo": "bakery", "query": "warm the oven", "category": "semantic", "language": "go", "gold": [{"path": "oven.go"}, {"path": "absent.go"}]},
    {"id": "q4", "repo": "far-away", "query": "anything", "gold": [{"path": "x.c"}]},
]  # fmt: skip
PROMPTS: list[dict[str, Any]] = [
    {"id": "p1", "prompt": "lower the anchor to the sea floor", "repo": "boats", "expect": "inject", "kind": "task"},
    {"id": "p2", "prompt": "warms the oven for bread, where is that", "repo": "bakery", "expect": "inject", "kind": "task"},
    {"id": "p3", "prompt": "yes, please go on", "repo": None, "expect": "stay_silent", "kind": "session_turn"},
    {"id": "p4", "prompt": "which planets have rings around them", "repo": None, "expect": "stay_silent", "kind": "small_talk"},
    {"id": "p5", "prompt": "sort a linked list in linear time", "repo": None, "expect": "stay_silent", "kind": "generic", "strict": False},
    {"id": "p6", "prompt": "paint the far away harbour", "repo": "far-away", "expect": "inject", "kind": "task"},
]  # fmt: skip


def write_lines(path: Path, entries: Iterable[object]) -> Path:
    """A JSONL file of the entries."""
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in entries), encoding="utf-8")
    return path


@pytest.fixture
def repos(tmp_path: Path) -> Path:
    """A folder with the repositories boats and bakery."""
    for repo, files in FILES.items():
        for name, text in files.items():
            path = tmp_path / "repos" / repo / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return tmp_path / "repos"


@pytest.fixture
def queries_file(tmp_path: Path) -> Path:
    """Three queries that can be asked, and one of a repository that is not there."""
    return write_lines(tmp_path / "queries.jsonl", QUERIES)


@pytest.fixture
def prompts_file(tmp_path: Path) -> Path:
    """Wanted and unwanted prompts, some of them for every repository."""
    return write_lines(tmp_path / "gate.jsonl", PROMPTS)


@pytest.fixture
def manifest_file(tmp_path: Path) -> Path:
    """Compares only the folder src of boats, and all of bakery."""
    repos = [{"name": "boats", "benchmark_root": "src"}, {"name": "bakery", "benchmark_root": None}]
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps({"repos": repos}), encoding="utf-8")
    return path
