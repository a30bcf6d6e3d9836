"""Times the service as agents meet it: round trips of hook processes, start, memory, idle cost, freshness; for `speed`.

The unit is an interpreter that imports what any client needs, timed in turn with the hook.
"""

from __future__ import annotations

import itertools
import json
import time
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.evaluation.timing import alternate, sum_up, time_ms
from hybrid.project.find import hybrid_home
from hybrid_lab.service_process import ServiceProcess
from hybrid_lab.speed.build import generate_tree, workspace_of_tree
from hybrid_lab.speed.search import open_folder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hybrid.config import Loaded
    from hybrid.evaluation.timing import Runner
    from hybrid.types import Embedder
    from hybrid_lab.speed.build import Tree

_N_PROJECTS = 3
_FILES_OF_A_PROJECT = 2_850
"""Of a generated tree: about 5,000 chunks."""
_N_SAVES = 10
_RECORDING_S = 0.03
_LONGEST_SAVE_S = 30.0
_OPEN_GATE = {"HYBRID_HOOKS_GATE_THRESHOLD": "-1"}


class ServiceMeasurement(Struct, frozen=True):
    """The repository and settings on which the service is measured.

    Attributes:
        tree: Of an indexed project; a file is saved in it and taken out again.
        runner: Of processes, with the home of its index.
        loaded: Settings in force.
        embedder: That of the index.
        prompts: At least one; used in turn, each in a session of its own, with the gate held open.
        scratch: Folder for three more projects.
        rounds: Of hook processes; a third of them cold.
        n_files: Of each of the three projects, at most 2,850.
        idle_s: How long nobody asks anything, for the idle cost.
    """

    tree: Tree
    runner: Runner
    loaded: Loaded
    embedder: Embedder
    prompts: Sequence[str]
    scratch: Path
    rounds: int
    n_files: int
    idle_s: float

    def figures(self) -> dict[str, Any]:
        """Round trips warm and cold, the answer inside, start, memory, idle cost, freshness."""
        service, root = ServiceProcess(self.runner), self.tree.root
        asks = [(self.prompts[n % len(self.prompts)], f"inside-{n}") for n in range(self.rounds)]
        numbers = itertools.count()

        def call(**environ: str) -> str:
            number = next(numbers)
            prompt = self.prompts[number % len(self.prompts)]
            return service.hook(root, prompt, session=f"speed-{number}", **_OPEN_GATE, **environ)

        with service.running(root) as start_s:
            idle_bytes = service.status()["rss_bytes"]
            injected: list[bool] = []
            warm_ms, bare_ms = alternate(lambda: injected.append(bool(call())), service.bare, self.rounds)
            inside_ms = [self._inside_ms(service, *ask) for ask in asks]
            saved_s = self._seconds_to_find(service)
            loaded = self._with_more_projects(service)
            cpu = self._idle_cpu(service)
        cold_ms = [time_ms(lambda: call(HYBRID_DAEMON_ENABLED="false")) for _ in range(max(self.rounds // 3, 3))]
        bare = sum_up(bare_ms)
        return {
            "bare_client": bare.as_json(),
            "hook_warm": sum_up(warm_ms).as_json(per_bare_client=bare.median_ms),
            "hook_cold": sum_up(cold_ms).as_json(per_bare_client=bare.median_ms),
            "injected": sum(injected) / len(injected),
            "answer_inside": sum_up(inside_ms).as_json(per_bare_client=bare.median_ms),
            "start_to_first_answer_s": round(start_s, 3),
            "idle_rss_bytes": idle_bytes,
            "loaded": loaded,
            "idle_cpu_share": cpu,
            "saved_to_found_s": saved_s,
        }

    def _inside_ms(self, service: ServiceProcess, prompt: str, session: str) -> float:
        taken_ms = time_ms(lambda: service.ask(self.tree.root, prompt, session=session))
        # What is recorded after an answer must not be taken for a part of the next one.
        time.sleep(_RECORDING_S)
        return taken_ms

    def _idle_cpu(self, service: ServiceProcess) -> float | None:
        """Processor seconds for each second in which nobody asks anything."""
        before = service.cpu_s()
        time.sleep(self.idle_s)
        after = service.cpu_s()
        return None if before is None or after is None else round((after - before) / self.idle_s, 5)

    def _with_more_projects(self, service: ServiceProcess) -> dict[str, Any]:
        """Memory after prompts in three more projects, all open at once."""
        home, index = hybrid_home(self.runner.environ), self.loaded.config.index
        chunks: list[int] = []
        for number in range(_N_PROJECTS):
            root = self.scratch / f"project-{number}"
            tree = generate_tree(root, min(self.n_files, _FILES_OF_A_PROJECT), index, home)
            built = self.runner.run("-m", "hybrid", "reindex", "--json", "--project", str(tree.root))
            chunks.append(int(json.loads(built)["chunks"]))
            for turn in range(10):
                prompt = f"how is part {turn} of the registry filled and read?"
                service.ask(tree.root, prompt, session=f"more-{number}-{turn}")
        status = service.status()
        return {"chunks": chunks, "rss_bytes": status["rss_bytes"], "open_indexes": status["indexes"]["open"]}

    def _seconds_to_find(self, service: ServiceProcess) -> dict[str, Any]:
        """From saving a file with a new word until a search finds the word; the service watches the project."""
        path = self.tree.root / "speed_of_saving.py"
        _wait(lambda: all(p["is_watched"] and not p["is_building"] for p in service.status()["projects"]))
        seconds: list[float] = []
        for number in range(_N_SAVES):
            word = f"quokkavariant{number}x{time.time_ns()}"
            started_s = time.perf_counter()
            path.write_text(f"def {word}():\n    return {number}\n", encoding="utf-8")
            _wait(lambda word=word: self._finds(word))
            seconds.append(time.perf_counter() - started_s)
            _wait(lambda: not any(p["is_building"] for p in service.status()["projects"]))
        path.unlink()
        seconds.sort()
        return {"n": len(seconds), "median": round(seconds[len(seconds) // 2], 3), "longest": round(seconds[-1], 3)}

    def _finds(self, word: str) -> bool:
        folder = workspace_of_tree(self.tree, self.runner).place.folder
        return bool(open_folder(folder, self.embedder, self.loaded.config.search).lexical([word], 1).ranks)


def _wait(is_so: Callable[[], bool]) -> None:
    until_s = time.monotonic() + _LONGEST_SAVE_S
    while not is_so() and time.monotonic() < until_s:
        time.sleep(0.02)
