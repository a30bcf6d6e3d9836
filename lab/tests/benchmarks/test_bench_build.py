from pathlib import Path
from typing import Any

import pytest

from hybrid.evaluation.retrieval import build_index, settings_in_force, workspace_at
from hybrid_lab.synthetic import write_tree

pytestmark = pytest.mark.bench

N_FILES = 200


def test_bench_build_200_files(benchmark: Any, tmp_path: Path) -> None:
    """Read, chunk, embed and write a tree of small files, each round into a home of its own."""
    write_tree(tmp_path / "tree", N_FILES)
    loaded = settings_in_force(["model.name=hashing-64"], environ={"HYBRID_HOME": str(tmp_path / "user")})
    homes = (tmp_path / f"home-{n}" for n in range(100))

    def build() -> int:
        return build_index(workspace_at(tmp_path / "tree", next(homes), loaded)).documents

    assert N_FILES == benchmark.pedantic(build, rounds=5, warmup_rounds=1)


def test_bench_rebuild_without_a_change(benchmark: Any, tmp_path: Path) -> None:
    """Find that nothing has changed: one stat a file."""
    write_tree(tmp_path / "tree", N_FILES)
    loaded = settings_in_force(["model.name=hashing-64"], environ={"HYBRID_HOME": str(tmp_path / "user")})
    workspace = workspace_at(tmp_path / "tree", tmp_path / "home", loaded)
    build_index(workspace)
    summary = benchmark(lambda: build_index(workspace))

    assert (N_FILES, 0, 0) == (summary.documents, summary.changed, summary.embedded)
