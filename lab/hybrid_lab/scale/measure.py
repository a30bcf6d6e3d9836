"""Measures searches at several sizes, beside the code of another checkout and other engines; `hybrid eval scale`.

Every time stands beside something timed in the same run, in turn with it where the two are compared. Nothing here
judges a time.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from hybrid.base.errors import HybridError
from hybrid.base.tokens import query_tokens
from hybrid.evaluation.measures import read_lines
from hybrid.evaluation.retrieval import build_index, workspace_at
from hybrid.evaluation.timing import machine, runner, sum_up, time_each, timed
from hybrid.index.build import build
from hybrid.index.plan import BuildTask, BuildTools, Part
from hybrid.models.registry import load_embedder
from hybrid.prompting.query import make_query
from hybrid.search.gate.annotator import GateAnnotator
from hybrid.search.reference import ReferenceLexical
from hybrid.search.searcher import Searcher
from hybrid.upkeep.indexing import file_source, recipe_of
from hybrid_lab.scale import asking, engines
from hybrid_lab.scale.corpus import Base, CorpusWriter
from hybrid_lab.speed.search import open_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid.config import Loaded
    from hybrid.index.snapshot import Snapshot
    from hybrid.types import Embedder
    from hybrid.workspace import Workspace

ENGINES = ("rank_bm25", "tantivy", "fts5", "usearch")
_N_REFERENCE = 5
"""Queries that rank-bm25 is asked: at a million chunks each takes a second."""
_EDITS = 5
_SHOWN_CHARS = 100
_WORDS_OF_EDIT = "quibblewort", "zanderfluke", "mumblecroft", "snickerbane", "thistlewick"


class ScalePlan(Struct, frozen=True):
    """The sizes and comparisons to measure.

    Attributes:
        tree: Folder with the real text.
        sizes: Chunks of each corpus.
        before: Top of a checkout whose code answers the same prompts in turn; None for none.
        engines: Of `ENGINES`.
        n_queries: Prompts: sentences from comments of the tree.
        rounds: Times that each prompt is asked in a new process; its shortest time counts.
        gate: A file of JSON lines with a `prompt` each, of which the decision of the gate is compared with that of a
            search that compares every chunk; None for none.
    """

    tree: Path
    sizes: tuple[int, ...]
    before: Path | None = None
    engines: tuple[str, ...] = ENGINES
    n_queries: int = 100
    rounds: int = 3
    gate: Path | None = None


def measure_scale(
    plan: ScalePlan, scratch: Path, loaded: Loaded, *, report_part: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """Return the figures of each size; times in milliseconds unless the key says otherwise.

    Args:
        plan: What to measure.
        scratch: Folder for the corpora; those that a run before left there are taken as they are.
        loaded: Settings in force.
        report_part: Hears the name of each part before it begins.

    Raises:
        HybridError: The tree has no text, or a process of the product failed.
    """
    home = scratch / "home"
    home.mkdir(parents=True, exist_ok=True)
    embedder = load_embedder(loaded.config.model.name, home=home)
    report_part(f"index of {plan.tree}")
    real = workspace_at(plan.tree, home, loaded)
    build_index(real, embedder=embedder)
    base = Base(real.place, plan.tree, embedder.info, seed=1)
    if not base.n_chunks:
        raise HybridError(f"{plan.tree} holds nothing that would be indexed")
    prompts = base.sentences(plan.n_queries)
    if not prompts:
        raise HybridError(f"{plan.tree} holds no comment of five words or more: name a tree of code")
    judged = list(read_lines(plan.gate, lambda line: str(line["prompt"]))) if plan.gate else []
    figures: dict[str, Any] = {
        "machine": machine(),
        "model": embedder.info.key,
        "tree": {"documents": len(base.documents), "chunks": base.n_chunks, "prompts": len(prompts)},
    }
    for size in plan.sizes:
        corpus = _Corpus(plan, scratch / f"corpus-{size}", loaded, embedder)
        report_part(f"corpus of {size:,} chunks")
        corpus.write(base, size)
        figures[str(size)] = corpus.measure(prompts, report_part)
        if judged:
            report_part("decisions of the gate")
            figures[str(size)]["gate"] = corpus.decisions(judged)
    return figures


class _Corpus:
    """One corpus, written and measured."""

    def __init__(self, plan: ScalePlan, folder: Path, loaded: Loaded, embedder: Embedder) -> None:
        self._plan = plan
        self._scratch = folder
        self._loaded = loaded
        self._embedder = embedder
        self._home = folder.parent / "home"
        self._root = folder / "tree"
        self._root.mkdir(parents=True, exist_ok=True)
        self._workspace: Workspace = workspace_at(self._root, folder, loaded)

    def _tools(self) -> BuildTools:
        config = self._loaded.config
        annotator = GateAnnotator(self._embedder, self._home)
        source = file_source(self._root, config.index, self._home)
        return BuildTools(source, self._embedder, recipe_of(config.index), annotator)

    def write(self, base: Base, n_chunks: int) -> None:
        if not (self._workspace.place.folder / "manifest.json").exists():
            CorpusWriter(base, self._workspace.place, self._tools()).write(n_chunks)

    def measure(self, prompts: Sequence[str], report_part: Callable[[str], None]) -> dict[str, Any]:
        folder = self._workspace.place.folder
        report_part("searches")
        figures = self._searches(prompts)
        snapshot = open_folder(folder, self._embedder, self._loaded.config.search)
        report_part("legs and engines")
        figures |= self._legs(snapshot, prompts)
        figures["per_product"] = round(figures["search"]["median_ms"] / figures["exact_float32"]["median_ms"], 3)
        del snapshot
        report_part("edits")
        figures["edit_to_searchable_s"] = self._edits()
        figures["index_bytes"] = sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
        return figures

    # --- whole searches ----------------------------------------------------------------------------------

    def _searches(self, prompts: Sequence[str]) -> dict[str, Any]:
        """Ask this code, and that before, the same prompts in turn, each in a process of its own."""
        checkouts = {"search": _here()} | ({"before": _checkout(self._plan.before)} if self._plan.before else {})
        answers: dict[str, list[list[Mapping[str, Any]]]] = {name: [[] for _ in prompts] for name in checkouts}
        opened: dict[str, list[Mapping[str, Any]]] = {name: [] for name in checkouts}
        for number in range(self._plan.rounds):
            with contextlib.ExitStack() as stack:
                askers = {name: stack.enter_context(self._asker(path)) for name, path in checkouts.items()}
                for name, asker in askers.items():
                    opened[name].append({**asker.read(), "first_ms": asker.ask(prompts[-1])["ms"]})
                for place, prompt in enumerate(prompts):
                    for name in sorted(askers, reverse=bool((place + number) % 2)):
                        answers[name][place].append(askers[name].ask(prompt))
        found = {name: self._summed(opened[name], answers[name]) for name in checkouts}
        if self._plan.before:
            found["per_before"] = round(found["search"]["cpu_median_ms"] / found["before"]["cpu_median_ms"], 3)
        return found

    def _asker(self, search_path: str, more: Sequence[str] = ()) -> _Asker:
        """Return a process that searches the corpus, with more constants; BLAS has one thread, as in the service."""
        one_thread = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        own = runner(self._home, self._loaded, takes_constants=True)
        environ = {**own.environ, **one_thread, "PYTHONPATH": search_path}
        command = [sys.executable, asking.__file__, str(self._workspace.place.folder), str(self._home)]
        command += [*own.constants, *more]
        return _Asker(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environ))

    def _summed(
        self, opened: Sequence[Mapping[str, Any]], answers: Sequence[Sequence[Mapping[str, Any]]]
    ) -> dict[str, Any]:
        of_prompts = sum_up([min(answer["ms"] for answer in of_prompt) for of_prompt in answers])
        cpu = sum_up([min(answer["cpu_ms"] for answer in of_prompt) for of_prompt in answers])
        return of_prompts.as_json() | {
            "cpu_median_ms": round(cpu.median_ms, 3),
            "cpu_p95_ms": round(cpu.p95_ms, 3),
            "open_ms": round(min(one["open_ms"] for one in opened), 2),
            "first_ms": round(min(one["first_ms"] for one in opened), 2),
            "chunks": opened[0]["chunks"],
            "has_gate": opened[0]["has_gate"],
            "more_resident_mb": round(max(one["more_bytes"] for of in answers for one in of) / 1e6, 1),
        }

    # --- decisions -----------------------------------------------------------------------------------------

    def decisions(self, prompts: Sequence[str]) -> dict[str, Any]:
        """Return for how many prompts the gate decides as it does when every chunk is compared, and the others."""
        opens: list[list[bool | None]] = []
        for more in ((), ("search.compared=0",)):
            with self._asker(_here(), more) as asker:
                asker.read()
                opens.append([asker.ask(prompt)["opens"] for prompt in prompts])
        others = [prompt for prompt, ours, exact in zip(prompts, *opens, strict=True) if ours != exact]
        return {
            "prompts": len(prompts),
            "opened": sum(map(bool, opens[0])),
            "equal": round(1 - len(others) / max(len(prompts), 1), 4),
            "others": [prompt[:_SHOWN_CHARS] for prompt in others],
        }

    # --- the legs beside other engines ---------------------------------------------------------------------

    def _legs(self, snapshot: Snapshot, prompts: Sequence[str]) -> dict[str, Any]:
        depth = self._loaded.config.search.depth
        vectors = [self._embedder.embed_query(make_query(text).focus) for text in prompts]
        tokens = [query_tokens(text) for text in prompts]
        stored = snapshot.vectors(np.arange(snapshot.n_rows))
        product = engines.Product(stored)
        exact = [product.cosines(vector) for vector in vectors]
        dense = [snapshot.dense(vector, depth) for vector in vectors]
        found: dict[str, Any] = {
            "exact_float32": sum_up(self._shortest(product.cosines, vectors)).as_json(),
            "dense_leg": sum_up(time_each(lambda vector: snapshot.dense(vector, depth), vectors)).as_json()
            | {"recall@10": _mean(engines.recall(leg.rows.tolist(), of) for leg, of in zip(dense, exact, strict=True))},
            "lexical_leg": sum_up(time_each(lambda words: snapshot.lexical(words, depth), tokens)).as_json(),
        }
        if "usearch" in self._plan.engines:
            found["usearch"] = engines.measured(lambda: engines.Usearch(stored), vectors, exact)
        return found | self._lexical(snapshot, tokens)

    def _shortest(self, ask: Callable[[Any], object], queries: Sequence[Any]) -> list[float]:
        """Return the shortest time of each query, as of whole searches."""
        rounds = [time_each(ask, queries) for _ in range(self._plan.rounds)]
        return [min(times) for times in zip(*rounds, strict=True)]

    def _lexical(self, snapshot: Snapshot, tokens: Sequence[Sequence[str]]) -> dict[str, Any]:
        """Our lexical leg is rank-bm25 exactly, so that its whole list is what the recall of others is taken of."""
        whole = [_all_scores(snapshot, words) for words in tokens]
        spelled = engines.Spelled(snapshot) if {"tantivy", "fts5"}.intersection(self._plan.engines) else None
        found: dict[str, Any] = {}
        for name, make in (("tantivy", engines.Tantivy), ("fts5", engines.FullText)):
            if spelled is not None and name in self._plan.engines:
                asked = [spelled.query(words) for words in tokens]
                kept = [place for place, words in enumerate(asked) if words]
                folder = self._scratch / f"{name}-{time.time_ns()}"
                found[name] = engines.measured(
                    lambda make=make, folder=folder: make(spelled.texts, folder),
                    [asked[place] for place in kept],
                    [whole[place] for place in kept],
                )
        if "rank_bm25" in self._plan.engines:
            search = self._loaded.config.search
            started = time.perf_counter()
            reference = ReferenceLexical(snapshot, k1=search.bm25_k1, b=search.bm25_b)
            made = time.perf_counter() - started
            times, apart = list[float](), 0.0
            for words, scores in list(zip(tokens, whole, strict=True))[:_N_REFERENCE]:
                theirs, ms = timed(lambda words=words: reference.scores(words))
                times.append(ms)
                apart = max(apart, float(np.abs(theirs - scores).max(initial=0)))
            found["rank_bm25"] = sum_up(times).as_json() | {
                "made_s": round(made, 1),
                "largest_score_difference": apart,
            }
        return found

    # --- edits ---------------------------------------------------------------------------------------------

    def _edits(self) -> dict[str, float]:
        """Write a file, bring the index up to date with it, and find it: what a save costs until it is searchable."""
        taken: list[float] = []
        search = self._loaded.config.search
        path = self._root / "fresh.py"
        for number, word in enumerate(_WORDS_OF_EDIT[:_EDITS]):
            path.write_text(f'def {word}():\n    """Return the {word} of edit {number}."""\n    return {number}\n')
            tools = self._tools()
            source: Any = tools.source
            started = time.perf_counter()
            build(self._workspace.place, tools, BuildTask(part=Part((path.name,), source.scan_paths)))
            backend = open_folder(self._workspace.place.folder, self._embedder, search)
            searcher = Searcher(backend, self._embedder, search, ranking=self._loaded.config.ranking)
            hits = searcher.search(make_query(word), top_k=1).hits
            taken.append(time.perf_counter() - started)
            if not hits or hits[0].path != path.name:
                raise HybridError(f"the edit of {path} was not found: {hits}")
        return {"median": round(median(taken), 3), "longest": round(max(taken), 3)}


def _all_scores(snapshot: Snapshot, words: Sequence[str]) -> NDArray[np.float64]:
    """Return the bm25 of every row."""
    leg = snapshot.lexical(words, snapshot.n_rows)
    scores = np.zeros(snapshot.n_rows)
    scores[leg.rows] = leg.scores
    return scores


def _mean(values: Any) -> float:
    listed = list(values)
    return round(sum(listed) / len(listed), 4)


# --- processes that answer -----------------------------------------------------------------------------------


def _here() -> str:
    """Return the search path of this code."""
    tops = (Path(recipe_of.__code__.co_filename).resolve().parents[2], Path(asking.__file__).resolve().parents[2])
    return os.pathsep.join(map(str, tops))


def _checkout(path: Path | None) -> str:
    """Return the search path of a checkout.

    Raises:
        HybridError: It is none.
    """
    if path is None or not (path / "hybrid" / "__init__.py").is_file():
        raise HybridError(f"{path} is no checkout of hybrid: --before takes the top folder of one")
    return str(path.resolve())


class _Asker:
    """A process that answers prompts, line by line; it ends with the block."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def __enter__(self) -> _Asker:
        return self

    def __exit__(self, *_: object) -> None:
        # Closes the pipes too; without input the process ends.
        with self._process:
            pass

    def ask(self, prompt: str) -> Mapping[str, Any]:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(prompt) + "\n")
        self._process.stdin.flush()
        return self.read()

    def read(self) -> Mapping[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise HybridError(f"a process that searches ended with code {self._process.wait()}")
        return json.loads(line)
