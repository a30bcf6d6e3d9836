"""Times the service as agents meet it: round trips of hook processes, start, memory, idle cost, freshness; for `speed`.

The unit is an interpreter that imports what any client needs, timed in turn with the hook.
"""

from __future__ import annotations

import itertools
import json
import time
from typing import TYPE_CHECKING, Any

from hybrid.evaluation.service_process import ServiceProcess
from hybrid.evaluation.speed_build import generate_tree, workspace_of_tree
from hybrid.evaluation.speed_search import open_folder
from hybrid.evaluation.timing import alternate, sum_up, time_each, time_ms
from hybrid.project.places import hybrid_home

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from hybrid.config import Loaded
    from hybrid.evaluation.processes import Runner
    from hybrid.evaluation.speed_build import Tree
    from hybrid.types import Embedder

_IDLE_S = 20.0
_N_PROJECTS = 3
_FILES_OF_A_PROJECT = 1_250
_N_SAVES = 10
_LONGEST_SAVE_S = 30.0
_OPEN_GATE = {"HYBRID_HOOKS_GATE_THRESHOLD": "-1"}


def service_figures(
    tree: Tree,
    runner: Runner,
    loaded: Loaded,
    embedder: Embedder,
    prompts: Sequence[str],
    *,
    rounds: int,
    scratch: Path,
) -> dict[str, Any]:
    """Round trips warm and cold, the answer inside, start, memory, idle cost, freshness.

    Args:
        tree: Of an indexed project; a file is saved in it and taken out again.
        runner: Of processes, with the home of its index.
        loaded: Settings in force.
        embedder: That of the index.
        prompts: At least one; used in turn, each in a session of its own, with the gate held open.
        rounds: Of hook processes; a third of them cold.
        scratch: Folder for the three projects.
    """
    service, root = ServiceProcess(runner), tree.root
    numbers = itertools.count()

    def call(**environ: str) -> str:
        number = next(numbers)
        return service.hook(root, prompts[number % len(prompts)], session=f"speed-{number}", **_OPEN_GATE, **environ)

    with service.running(root) as start_s:
        idle_bytes = service.status()["rss_bytes"]
        injected: list[bool] = []
        warm_ms, bare_ms = alternate(lambda: injected.append(bool(call())), service.bare, rounds)
        asks = [(prompts[n % len(prompts)], f"inside-{n}") for n in range(rounds)]
        inside_ms = time_each(lambda ask: service.ask(root, ask[0], session=ask[1]), asks)
        saved_s = _seconds_to_find(tree, service, loaded, embedder, runner)
        loaded_bytes = _with_more_projects(service, runner, loaded, scratch)
        cpu = _idle_cpu(service)
    cold_ms = [time_ms(lambda: call(HYBRID_DAEMON_ENABLED="false")) for _ in range(max(rounds // 3, 3))]
    bare = sum_up(bare_ms)
    return {
        "bare_client": bare.as_json(),
        "hook_warm": sum_up(warm_ms).as_json(per_bare_client=bare.median_ms),
        "hook_cold": sum_up(cold_ms).as_json(per_bare_client=bare.median_ms),
        "injected": sum(injected) / len(injected),
        "answer_inside": sum_up(inside_ms).as_json(per_bare_client=bare.median_ms),
        "start_to_first_answer_s": round(start_s, 3),
        "idle_rss_bytes": idle_bytes,
        "loaded_rss_bytes": loaded_bytes,
        "idle_cpu_share": cpu,
        "saved_to_found_s": saved_s,
    }


def _idle_cpu(service: ServiceProcess) -> float | None:
    """Processor seconds for each second in which nobody asks anything."""
    before = service.cpu_s()
    time.sleep(_IDLE_S)
    after = service.cpu_s()
    return None if before is None or after is None else round((after - before) / _IDLE_S, 5)


def _with_more_projects(service: ServiceProcess, runner: Runner, loaded: Loaded, scratch: Path) -> dict[str, Any]:
    """Memory after prompts in three more projects of about 5,000 chunks, all open at once."""
    chunks: list[int] = []
    for number in range(_N_PROJECTS):
        tree = generate_tree(
            scratch / f"project-{number}", _FILES_OF_A_PROJECT, loaded.config.index, hybrid_home(runner.environ)
        )
        built = runner.run("-m", "hybrid", "reindex", "--json", "--project", str(tree.root))
        chunks.append(_chunks(built))
        for turn in range(10):
            service.ask(
                tree.root, f"how is part {turn} of the registry filled and read?", session=f"more-{number}-{turn}"
            )
    status = service.status()
    return {"chunks": chunks, "rss_bytes": status["rss_bytes"], "open_indexes": status["indexes"]["open"]}


def _chunks(built: str) -> int:
    return int(json.loads(built)["chunks"])


def _seconds_to_find(
    tree: Tree, service: ServiceProcess, loaded: Loaded, embedder: Embedder, runner: Runner
) -> dict[str, Any]:
    """From saving a file with a new word until a search finds the word; the service watches the project."""
    root, folder = tree.root, workspace_of_tree(tree, runner).place.folder
    _wait(lambda: all(p["is_watched"] and not p["is_building"] for p in service.status()["projects"]))
    seconds: list[float] = []
    for number in range(_N_SAVES):
        word = f"quokkavariant{number}x{time.time_ns()}"
        started_s = time.perf_counter()
        (root / "speed_of_saving.py").write_text(f"def {word}():\n    return {number}\n", encoding="utf-8")
        _wait(lambda word=word: _finds(folder, embedder, loaded, word))
        seconds.append(time.perf_counter() - started_s)
        _wait(lambda: not any(p["is_building"] for p in service.status()["projects"]))
    (root / "speed_of_saving.py").unlink()
    seconds.sort()
    return {"n": len(seconds), "median": round(seconds[len(seconds) // 2], 3), "longest": round(seconds[-1], 3)}


def _finds(folder: Path, embedder: Embedder, loaded: Loaded, word: str) -> bool:
    return bool(open_folder(folder, embedder, loaded.config.search).lexical([word], 1).ranking)


def _wait(is_so: Callable[[], bool]) -> None:
    until_s = time.monotonic() + _LONGEST_SAVE_S
    while not is_so() and time.monotonic() < until_s:
        time.sleep(0.02)
