"""Measures how fast and how large the product is, in parts that can be asked for one by one; `hybrid eval speed`.

Every time stands beside something timed in the same run. Nothing here judges a time.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.evaluation.timing import BARE, Runner, machine, runner, sum_up, time_ms
from hybrid.models.registry import load_embedder
from hybrid.project.find import hybrid_home
from hybrid_lab.speed.build import (
    Tree,
    build_figures,
    copy_repository,
    generate_tree,
    workspace_of_tree,
)
from hybrid_lab.speed.cold import cold_figures
from hybrid_lab.speed.gate import gate_figures
from hybrid_lab.speed.hook import hook_figures
from hybrid_lab.speed.load import load_figures
from hybrid_lab.speed.memory import memory_figures
from hybrid_lab.speed.records import records_figures
from hybrid_lab.speed.search import (
    lexical_figures,
    open_folder,
    queries_of,
    search_figures,
    synthetic_figures,
)
from hybrid_lab.speed.service import ServiceMeasurement
from hybrid_lab.speed.tools import ToolMeasurement
from hybrid_lab.speed.worst import worst_figures

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hybrid.config import Loaded
    from hybrid.index.snapshot import Snapshot

PARTS = (
    "build",
    "search",
    "synthetic",
    "gate",
    "lexical",
    "hook",
    "service",
    "cold",
    "load",
    "mcp",
    "files",
    "records",
    "memory",
    "worst",
)
_N_QUERIES = 200


class SpeedPlan(Struct, frozen=True):
    """The parts to measure, and the repository.

    Attributes:
        repo: Repository that is copied and measured; never written to.
        parts: Of `PARTS`.
        queries: Texts to search for; empty takes seeded ones from the repository.
        n_synthetic: Seeded chunks of the parts `synthetic` and `gate`.
        n_lexical: Chunks of the part `lexical`.
        n_records: Lessons of the part `records`, and as many decisions.
        n_observations: Of the part `memory`.
        n_worst_chars: Length of each text of the part `worst`.
        n_files: Files of the generated tree of the part `files`.
        rounds: Of what is repeated as a whole process.
        idle_s: Seconds of rest in which the service's cost is taken, in the part `service`.
        n_beside: Busy processes beside the part `cold`.
    """

    repo: Path
    parts: tuple[str, ...] = PARTS
    queries: tuple[str, ...] = ()
    n_synthetic: int = 100_000
    n_lexical: int = 50_000
    n_files: int = 10_000
    n_records: int = 10_000
    n_observations: int = 100_000
    n_worst_chars: int = 30_000
    rounds: int = 15
    idle_s: float = 20.0
    n_beside: int = 0


def measure_speed(
    plan: SpeedPlan, scratch: Path, loaded: Loaded, *, report_part: Callable[[str], None] = lambda _: None
) -> dict[str, Any]:
    """The figures of every part of a plan, by part; times in milliseconds unless the key says otherwise.

    Args:
        plan: What to measure.
        scratch: Folder for copies and indexes.
        loaded: Settings in force.
        report_part: Hears the name of each part before it begins.

    Raises:
        HybridError: A process of the product failed, or the embedder cannot be loaded.
    """
    figures: dict[str, Any] = {"machine": machine(), "model": loaded.config.model.name}
    session = _Session(plan, scratch, loaded)
    figures["bare_start"] = session.bare
    for part in PARTS:
        if part in plan.parts:
            report_part(part)
            figures[part] = session.measure(part)
    return figures


class _Session:
    """One run: what several parts need is made once."""

    def __init__(self, plan: SpeedPlan, scratch: Path, loaded: Loaded) -> None:
        self._plan = plan
        self._scratch = scratch
        self._loaded = loaded
        self._search = loaded.config.search
        self._runner = self._new_runner("home")
        self._embedder = load_embedder(loaded.config.model.name, home=scratch / "home")
        bare = sum_up([time_ms(lambda: self._runner.run(*BARE)) for _ in range(plan.rounds)])
        self.bare = bare.as_json()
        self._bare_ms = bare.median_ms
        self._built: dict[str, Any] | None = None
        self._copied: Tree | None = None

    def measure(self, part: str) -> dict[str, Any]:
        return {
            "build": self._build,
            "search": self._search_repository,
            "synthetic": self._synthetic,
            "gate": self._gate,
            "lexical": self._lexical,
            "hook": self._hook,
            "service": self._service,
            "cold": self._cold,
            "load": self._load,
            "mcp": self._mcp,
            "files": self._files,
            "records": self._records,
            "memory": self._memory,
            "worst": self._worst,
        }[part]()

    def _new_runner(self, name: str) -> Runner:
        home = self._scratch / name
        home.mkdir(parents=True, exist_ok=True)
        return runner(home, self._loaded)

    def _build(self) -> dict[str, Any]:
        if self._built is None:
            root = self._scratch / "copy" / (self._plan.repo.name or "root")
            self._copied = copy_repository(self._plan.repo, root, self._loaded.config.index, hybrid_home(os.environ))
            self._built = build_figures(self._copied, self._runner, rounds=self._plan.rounds)
        return self._built

    def _tree(self) -> Tree:
        self._build()
        assert self._copied is not None
        return self._copied

    def _folder(self) -> Path:
        return workspace_of_tree(self._tree(), self._runner).place.folder

    def _snapshot(self) -> Snapshot:
        return open_folder(self._folder(), self._embedder, self._search)

    def _queries(self) -> Sequence[str]:
        return self._plan.queries or queries_of(self._snapshot(), _N_QUERIES)

    def _search_repository(self) -> dict[str, Any]:
        return search_figures(
            self._folder(), self._embedder, self._loaded.config, self._queries(), bare_ms=self._bare_ms
        )

    def _synthetic(self) -> dict[str, Any]:
        return synthetic_figures(
            self._scratch / "synthetic",
            self._embedder,
            self._loaded.config,
            n_chunks=self._plan.n_synthetic,
            n_queries=_N_QUERIES,
            bare_ms=self._bare_ms,
        )

    def _gate(self) -> dict[str, Any]:
        return gate_figures(
            self._scratch / "gate",
            self._embedder,
            self._scratch / "home",
            self._loaded.config,
            n_chunks=self._plan.n_synthetic,
            n_queries=_N_QUERIES,
            bare_ms=self._bare_ms,
        )

    def _lexical(self) -> dict[str, Any]:
        return lexical_figures(
            self._scratch / "lexical",
            self._embedder,
            self._search,
            like=self._snapshot(),
            n_chunks=self._plan.n_lexical,
            queries=self._queries(),
        )

    def _hook(self) -> dict[str, Any]:
        return hook_figures(self._tree().root, self._runner, self._prompts(), rounds=2 * self._plan.rounds)

    def _prompts(self) -> Sequence[str]:
        # A bare name may be too short for a prompt, which would time the way into silence.
        return self._plan.queries or [f"where is {text} and how does it work" for text in self._queries()]

    def _service(self) -> dict[str, Any]:
        return ServiceMeasurement(
            tree=self._tree(),
            runner=self._runner,
            loaded=self._loaded,
            embedder=self._embedder,
            prompts=self._prompts(),
            scratch=self._scratch / "service",
            rounds=4 * self._plan.rounds,
            n_files=self._plan.n_files,
            idle_s=self._plan.idle_s,
        ).figures()

    def _cold(self) -> dict[str, Any]:
        rounds, n_beside = self._plan.rounds, self._plan.n_beside
        return cold_figures(self._tree(), self._runner, self._prompts(), rounds=rounds, n_beside=n_beside)

    def _load(self) -> dict[str, Any]:
        return load_figures(self._scratch / "load", self._new_runner("home-load"))

    def _mcp(self) -> dict[str, Any]:
        return ToolMeasurement(self._tree().root, self._runner, self._queries(), rounds=self._plan.rounds).figures()

    def _files(self) -> dict[str, Any]:
        own = self._new_runner("home-files")
        home = hybrid_home(own.environ)
        tree = generate_tree(self._scratch / "files", self._plan.n_files, self._loaded.config.index, home)
        return build_figures(tree, own, rounds=self._plan.rounds)

    def _records(self) -> dict[str, Any]:
        return records_figures(
            self._scratch / "records",
            self._new_runner("home-records"),
            self._embedder,
            n_records=self._plan.n_records,
            n_queries=_N_QUERIES,
            bare_ms=self._bare_ms,
        )

    def _memory(self) -> dict[str, Any]:
        return memory_figures(
            self._scratch / "memory",
            self._new_runner("home-memory"),
            self._embedder,
            n_observations=self._plan.n_observations,
            n_queries=_N_QUERIES,
            bare_ms=self._bare_ms,
        )

    def _worst(self) -> dict[str, Any]:
        return worst_figures(self._embedder, n_chars=self._plan.n_worst_chars)
