"""Answers the jobs of `peer` with semble; run as a script by an interpreter in whose environment semble is installed.

hybrid is not installed there: of hybrid the script uses `hybrid.models` alone, found at the path in the job, so that
both sides have the same vectors. What semble calls a model is a thin coat over our embedder.
"""

# semble is installed in the other environment only.
# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import importlib.util
import json
import platform
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from hybrid.types import Embedder


class Documents:
    """The model that semble uses while it builds: chunk texts are bodies of documents, with an empty head."""

    def __init__(self, embedder: Embedder) -> None:
        self.dim = embedder.info.dim
        self._embedder = embedder

    def encode(self, sentences: Sequence[str], **_: Any) -> NDArray[np.float32]:
        """Unit vectors, shape (n_sentences, dim)."""
        from hybrid.types import EmbedInput

        return self._embedder.embed_documents([EmbedInput("", text) for text in sentences])


class Queries:
    """The model that semble uses while it searches: texts are queries."""

    def __init__(self, embedder: Embedder) -> None:
        self.dim = embedder.info.dim
        self._embedder = embedder

    def encode(self, sentences: Sequence[str], **_: Any) -> NDArray[np.float32]:
        """Unit vectors, shape (n_sentences, dim)."""
        import numpy as np

        return np.stack([self._embedder.embed_query(text) for text in sentences])


def describe(_: dict[str, Any]) -> dict[str, Any]:
    """Return name, version and interpreter of this side.

    Raises:
        ImportError: semble is not installed.
    """
    from semble.version import __version__

    return {"name": "semble", "version": __version__, "python": platform.python_version()}


def build(job: dict[str, Any]) -> dict[str, Any]:
    """Index a tree, and one file before it, and write the index; paths are relative to the top of the repository."""
    embedder, load_s = _embedder(job)
    from semble.index import SembleIndex
    from semble.index.create import create_index_from_path

    def made(top: Path, folder: Path, target: Path) -> tuple[Any, float]:
        started = time.perf_counter()
        bm25, dense, chunks, manifest = create_index_from_path(folder, model, display_root=top)
        index = SembleIndex(model, bm25, dense, chunks, job["model"], root=top, manifest=manifest)
        index.save(target)
        return chunks, time.perf_counter() - started

    top, first, model = Path(job["root"]), Path(job["first"]), Documents(embedder)
    # semble takes a folder without a file for an error.
    start_s = made(first, first, Path(job["index"]).with_name("first"))[1] if any(first.iterdir()) else 0.0
    chunks, build_s = made(top, top / job["folder"], Path(job["index"]))
    files = sorted({chunk.file_path.replace("\\", "/") for chunk in chunks})
    size = sum(path.stat().st_size for path in Path(job["index"]).rglob("*") if path.is_file())
    times = {"load_s": load_s, "start_s": start_s, "build_s": build_s}
    return {**times, "files": files, "chunks": len(chunks), "index_bytes": size}


def query(job: dict[str, Any]) -> dict[str, Any]:
    """Open the index, ask what is not counted, then each query once."""
    embedder, load_s = _embedder(job)
    from semble.index import SembleIndex
    from semble.index import index as opening

    def loaded(path: str) -> tuple[Queries, str]:
        return Queries(embedder), path

    opening.load_model = loaded
    started = time.perf_counter()
    index = SembleIndex.load_from_disk(job["index"])
    open_s = time.perf_counter() - started
    for text in job["warm_up"]:
        index.search(text, top_k=job["top_k"])
    times_ms, rankings = list[float](), list[list[list[Any]]]()
    for text in job["queries"]:
        started = time.perf_counter()
        found = index.search(text, top_k=job["top_k"])
        times_ms.append((time.perf_counter() - started) * 1000)
        chunks = [result.chunk for result in found]
        rankings.append([[chunk.file_path.replace("\\", "/"), chunk.start_line, chunk.end_line] for chunk in chunks])
    return {"load_s": load_s, "open_s": open_s, "times_ms": times_ms, "rankings": rankings}


def _embedder(job: dict[str, Any]) -> tuple[Embedder, float]:
    """The embedder that the job names, and how many seconds it took to load."""
    _find_hybrid(Path(job["source"]))
    from hybrid.models.registry import load_embedder

    started = time.perf_counter()
    embedder = load_embedder(job["model"], home=Path(job["home"]))
    return embedder, time.perf_counter() - started


def _find_hybrid(package: Path) -> None:
    """Make the package in a folder importable, and nothing that lies beside it: those may be another environment's."""
    if "hybrid" not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            "hybrid", package / "__init__.py", submodule_search_locations=[str(package)]
        )
        assert spec is not None
        assert spec.loader is not None
        sys.modules["hybrid"] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    if importlib.util.find_spec("tomli") is None and sys.version_info >= (3, 11):
        import tomllib

        sys.modules["tomli"] = tomllib


def _main(path: str) -> None:
    """Answer the job in a file with one line of JSON on standard output."""
    job = json.loads(Path(path).read_text(encoding="utf-8"))
    try:
        answer = {"describe": describe, "build": build, "query": query}[job["action"]](job)
    except ModuleNotFoundError as error:
        answer = {"missing": (error.name or str(error)).partition(".")[0]}
    sys.stdout.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    # Python puts the script's folder first, where modules of ours could be taken for others of the same name.
    sys.path = [entry for entry in sys.path if entry != str(Path(__file__).resolve().parent)]
    _main(sys.argv[1])
