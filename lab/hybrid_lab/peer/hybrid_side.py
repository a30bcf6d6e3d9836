"""Answers the jobs of `peer` with hybrid, in a process of its own: `python -m hybrid_lab.peer.hybrid_side JOB.json`.

Settings come from the environment and constants from the job, so that they are those in force where `peer` runs.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid import __version__
from hybrid.evaluation.retrieval import IndexScope, build_index, settings_in_force, workspace_at
from hybrid.evaluation.timing import timed
from hybrid.index.snapshot import open_snapshot
from hybrid.models.registry import load_embedder
from hybrid.prompting.query import make_query
from hybrid.search.gate.background import load_background
from hybrid.search.gate.identity import background_key
from hybrid.search.searcher import open_searcher
from hybrid_lab.speed.build import size_figures

if TYPE_CHECKING:
    from hybrid.types import Embedder
    from hybrid.workspace import Workspace


def describe(_: dict[str, Any]) -> dict[str, Any]:
    """Return name, version and interpreter of this side."""
    return {"name": "hybrid", "version": __version__, "python": platform.python_version()}


def build(job: dict[str, Any]) -> dict[str, Any]:
    """Index the code files of a folder, and before them one file, which takes what only a first build costs.

    Before the clock starts, what is made once for each model is loaded, and the modules that the peer imports first.
    """
    import_module("semble_grammars")
    import_module("hybrid.index.commit")
    workspace, scope = _workspace(job)
    started = time.perf_counter()
    embedder = load_embedder(workspace.config.model.name, home=workspace.home)
    load_background(embedder, workspace.home, background_key(embedder.info))
    load_s = time.perf_counter() - started
    first = _workspace({**job, "root": job["first"], "folder": ""})
    _, start_ms = timed(lambda: build_index(*first, embedder=embedder))
    summary, build_ms = timed(lambda: build_index(workspace, scope, embedder=embedder))
    files = sorted(open_snapshot(workspace.place.folder, model=embedder.info.key).live_documents())
    size = size_figures(workspace, summary.chunks)
    return {
        "load_s": load_s,
        "start_s": start_ms / 1000,
        "build_s": build_ms / 1000,
        "files": files,
        "chunks": summary.chunks,
        "index_bytes": size["snapshot_bytes"] + size["catalog_bytes"],
    }


def query(job: dict[str, Any]) -> dict[str, Any]:
    """Open the index, ask what is not counted, then each query once."""
    workspace, _ = _workspace(job)
    embedder, load_ms = timed(lambda: load_embedder(workspace.config.model.name, home=workspace.home))

    def loaded(name: str, home: Path) -> Embedder:
        return embedder

    searcher, open_ms = timed(lambda: open_searcher(workspace, load=loaded))
    for text in job["warm_up"]:
        searcher.search(make_query(text), top_k=job["top_k"])
    times_ms, rankings = list[float](), list[list[list[Any]]]()
    for text in job["queries"]:
        found, ms = timed(lambda text=text: searcher.search(make_query(text), top_k=job["top_k"]))
        times_ms.append(ms)
        rankings.append([[hit.path, hit.start_line, hit.end_line] for hit in found.hits])
    return {"load_s": load_ms / 1000, "open_s": open_ms / 1000, "times_ms": times_ms, "rankings": rankings}


def _workspace(job: dict[str, Any]) -> tuple[Workspace, IndexScope]:
    scope = IndexScope(job["folder"], code_only=True)
    return workspace_at(Path(job["root"]), Path(job["home"]), settings_in_force(job["constants"]), scope), scope


def _main(path: str) -> None:
    job = json.loads(Path(path).read_text(encoding="utf-8"))
    answer = {"describe": describe, "build": build, "query": query}[job["action"]](job)
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    _main(sys.argv[1])
