"""Times builds as whole processes, on a copy of a repository or on a generated tree; `speed` calls it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.evaluation.timing import BARE, sum_up, time_ms, timed
from hybrid.project.find import FOLDER_NAME
from hybrid.upkeep.indexing import file_source
from hybrid.workspace import open_workspace
from hybrid_lab.synthetic import make_older, write_tree

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hybrid.config import IndexConfig
    from hybrid.evaluation.timing import Runner
    from hybrid.workspace import Workspace

_HOUR_S = 3600.0
_MAX_ROUNDS = 200


class Tree(Struct, frozen=True):
    """A tree that may be changed.

    Attributes:
        root: Its top.
        paths: Its files, relative.
    """

    root: Path
    paths: tuple[str, ...]


def copy_repository(repo: Path, root: Path, settings: IndexConfig, home: Path) -> Tree:
    """Copy what would be indexed of a repository; a git working tree becomes one again, with every file tracked."""
    paths = tuple(found.path for found in file_source(repo, settings, home).scan())
    for path in paths:
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(repo / path, target)
        make_older(target, _HOUR_S)
    root.mkdir(parents=True, exist_ok=True)
    _mark_project(root, is_git=(repo / ".git").exists())
    return Tree(root, paths)


def generate_tree(root: Path, n_files: int, settings: IndexConfig, home: Path) -> Tree:
    """A git working tree of small source files; without git, a plain project."""
    write_tree(root, n_files)
    _mark_project(root, is_git=True)
    return Tree(root, tuple(found.path for found in file_source(root, settings, home).scan()))


def _mark_project(root: Path, *, is_git: bool) -> None:
    """Make a folder a project: a repository if git is here and wanted, and a `.hybrid` folder."""
    (root / FOLDER_NAME).mkdir()
    if is_git and shutil.which("git"):
        for arguments in (["init", "--quiet"], ["add", "--all"]):
            subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


def workspace_of_tree(tree: Tree, runner: Runner) -> Workspace:
    """The workspace of a tree as the processes of a runner see it."""
    return open_workspace(tree.root, environ=runner.environ)


def build_figures(tree: Tree, runner: Runner, *, rounds: int) -> dict[str, Any]:
    """The first build of a tree, and what it costs to build again after nothing and after one file has changed.

    Rounds are in turn: a bare interpreter, no change, one changed file; all as whole processes.

    Args:
        tree: Not indexed yet in the runner's home; files of it are changed.
        runner: Of processes.
        rounds: Of the repeated builds.
    """
    command = ("-m", "hybrid", "reindex", str(tree.root), "--json", "--force")
    first = runner.watch(*command)
    summary = json.loads(first.output)
    bare_ms, same_ms, changed_ms = list[float](), list[float](), list[float]()
    inside: dict[str, list[float]] = {"same": [], "changed": []}
    for number in range(min(rounds, _MAX_ROUNDS) + 1):
        took = [time_ms(lambda: runner.run(*BARE))]
        took.append(_rebuild_ms(runner, command, inside["same"]))
        _change_one(tree, number)
        took.append(_rebuild_ms(runner, command, inside["changed"]))
        if number > 0:
            for times, ms in zip((bare_ms, same_ms, changed_ms), took, strict=True):
                times.append(ms)
    bare, same, changed = sum_up(bare_ms), sum_up(same_ms), sum_up(changed_ms)
    return {
        "documents": summary["documents"],
        "chunks": summary["chunks"],
        "build": {
            "wall_s": round(first.seconds, 3),
            "inside_s": summary["seconds"],
            "chunks_per_s": round(summary["chunks"] / max(summary["seconds"], 1e-9)),
            "peak_bytes": first.peak_bytes,
            "per_bare_start": round(first.seconds * 1000 / bare.median_ms, 1),
        },
        "bare_start": bare.as_json(),
        "unchanged": same.as_json(per_bare_start=bare.median_ms)
        | {"inside_ms": round(sum_up(inside["same"][1:]).median_ms, 2)},
        "one_changed": changed.as_json(per_bare_start=bare.median_ms, per_unchanged=same.median_ms)
        | {"inside_ms": round(sum_up(inside["changed"][1:]).median_ms, 2)},
        "size": size_figures(workspace_of_tree(tree, runner), summary["chunks"]),
    }


def _rebuild_ms(runner: Runner, command: Sequence[str], inside_ms: list[float]) -> float:
    output, took = timed(lambda: runner.run(*command))
    inside_ms.append(json.loads(output)["seconds"] * 1000)
    return took


def _change_one(tree: Tree, number: int) -> None:
    """Add a line to the file in the middle, whose time moves on, but stays long enough ago to prove something."""
    path = tree.root / tree.paths[len(tree.paths) // 2]
    with path.open("a", encoding="utf-8") as file:
        file.write(f"\n# changed {number}\n")
    make_older(path, _HOUR_S / 2 - number)


def size_figures(workspace: Workspace, n_chunks: int) -> dict[str, Any]:
    """Bytes of an index on disk, in all and per chunk: what a search maps, and what builds keep."""
    place = workspace.place
    snapshot = sum(path.stat().st_size for path in place.folder.iterdir() if path.is_file())
    catalog = sum(path.stat().st_size for path in place.catalog.parent.glob(f"{place.catalog.name}*"))
    return {
        "snapshot_bytes": snapshot,
        "catalog_bytes": catalog,
        "snapshot_bytes_per_chunk": round(snapshot / max(n_chunks, 1), 1),
        "total_bytes_per_chunk": round((snapshot + catalog) / max(n_chunks, 1), 1),
    }
