"""Times the first prompt after the service slept, beside busy processes; `speed` calls it.

Each round starts a bare interpreter, then a whole hook process that finds no service, and ends the service again.
Files, lessons, lore and memory are there and indexed, and every prompt gets a text from a service that runs.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.base.atomic import locked
from hybrid.base.errors import HybridError
from hybrid.evaluation.timing import sum_up, timed
from hybrid.ipc.start import stop
from hybrid.ipc.wire import endpoint_path, run_folder
from hybrid.knowledge.stores import RecordStores
from hybrid.project.trust import accept
from hybrid.records.memory.types import Owner
from hybrid_lab.records.setup import GivenRecord, write_records
from hybrid_lab.service_process import ServiceProcess
from hybrid_lab.speed.build import workspace_of_tree
from hybrid_lab.speed.memory import seeded_observations
from hybrid_lab.speed.records import seeded_records
from hybrid_lab.synthetic import Shape, Words

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from hybrid.evaluation.timing import Runner
    from hybrid.workspace import Workspace
    from hybrid_lab.speed.build import Tree

_N_RECORDS = 20
_N_OBSERVATIONS = 2_000
_FIRST_OF_PROMPTS = 0xC01D0000
"""Number of the first decision on a prompt, beyond those of the seeded ones."""
_TITLE_CHARS = 80
_OF_RECORDS = ("[lesson]", "[decision]", "[memory]")
_APART_MS = 600_000
_SHAPE = Shape(seed=5, n_words=20_000, mean_tokens=40.0)
_STOP_S = 10.0
_SETTLE_S = 60.0
_LOOK_S = 0.05
_MOST_TRIED = 60
_LATE_ERRORS = ("not done after", "too late")
_BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    for _ in range(100_000): pass"
"""A process that only counts, and ends with its parent."""


class _Start(Struct, frozen=True):
    """One cold start, in milliseconds.

    Attributes:
        bare_ms: A bare interpreter just before.
        whole_ms: The hook process.
        listening_ms: From the hook's start until the service listened; None when it did not.
        text: What the agent got.
        late: Lines in the log that tell of lateness.
    """

    bare_ms: float
    whole_ms: float
    listening_ms: float | None
    text: str
    late: int


def cold_figures(tree: Tree, runner: Runner, prompts: Sequence[str], *, rounds: int, n_beside: int) -> dict[str, Any]:
    """Ratios of cold starts to bare interpreters, how many were silent, and where the time went.

    Args:
        tree: Of an indexed project; records are written into it.
        runner: Of processes, with the home of its index.
        prompts: Those that get a text from a warm service are asked in turn, each in a session of its own.
        rounds: Cold starts.
        n_beside: Busy processes beside them.

    Raises:
        HybridError: No prompt gets a text, or the service does not start or end.
    """
    return _Measurement(tree, runner).figures(prompts, rounds=rounds, n_beside=n_beside)


class _Measurement:
    def __init__(self, tree: Tree, runner: Runner) -> None:
        self._tree = tree
        self._runner = runner
        self._workspace = workspace_of_tree(tree, runner)
        self._service = ServiceProcess(runner)

    def figures(self, prompts: Sequence[str], *, rounds: int, n_beside: int) -> dict[str, Any]:
        _fill(self._workspace, RecordStores(self._runner.environ), prompts[:_MOST_TRIED])
        fitting = self._fitting(prompts)
        with _busy(n_beside):
            starts = [self._start(fitting[n % len(fitting)], f"cold-{n}-{time.time_ns()}") for n in range(rounds)]
        bare = sum_up([start.bare_ms for start in starts])
        whole = sum_up([start.whole_ms for start in starts])
        listening = [start.listening_ms for start in starts if start.listening_ms is not None]
        return {
            "beside": n_beside,
            "prompts": len(fitting),
            "bare_client": bare.as_json(),
            "cold_start": whole.as_json(),
            "median_per_bare_median": round(whole.median_ms / bare.median_ms, 2),
            "p95_per_bare_median": round(whole.p95_ms / bare.median_ms, 2),
            "p95_per_bare_p95": round(whole.p95_ms / bare.p95_ms, 2),
            "listening_per_bare": round(sum_up(listening).median_ms / bare.median_ms, 2) if listening else None,
            "silent": sum(not start.text for start in starts),
            "silent_for_lateness": sum(not start.text and start.late > 0 for start in starts),
            "with_records": sum(any(mark in start.text for mark in _OF_RECORDS) for start in starts),
            "answered_by": dict(Counter(self._answered_by)),
        }

    def _fitting(self, prompts: Sequence[str]) -> list[str]:
        """Prompts that get a text from a service that has everything open."""
        with self._service.running(self._tree.root):
            self._settle()
            tried = prompts[:_MOST_TRIED]
            fitting = [
                text for n, text in enumerate(tried) if self._service.hook(self._tree.root, text, session=f"w{n}")
            ]
            self._settle()
        if not fitting:
            raise HybridError("no prompt gets a text; --queries names a file of those that do")
        self._answered_by: list[str] = []
        return fitting

    def _start(self, prompt: str, session: str) -> _Start:
        _, bare_ms = timed(self._service.bare)
        n_lines = len(self._late_lines())
        started_s = time.time()
        text, whole_ms = timed(lambda: self._service.hook(self._tree.root, prompt, session=session))
        status = self._wait_for_status()  # The hook starts it after its answer.
        listening_ms = self._listening_ms(started_s)
        self._answered_by.append("service" if status.get("answers") else "hook" if text else "nobody")
        late = len(self._late_lines()) - n_lines
        self._end()
        return _Start(bare_ms, whole_ms, listening_ms, text, late)

    def _listening_ms(self, started_s: float) -> float | None:
        """The service writes where it listens as soon as it does: the time of that file tells when."""
        with contextlib.suppress(OSError):
            return (Path(endpoint_path(str(self._workspace.home))).stat().st_mtime - started_s) * 1000
        return None

    def _wait_for_status(self) -> dict[str, Any]:
        until_s = time.monotonic() + _STOP_S
        while not (status := self._service.status())["running"] and time.monotonic() < until_s:
            time.sleep(_LOOK_S)
        return status

    def _late_lines(self) -> list[str]:
        """Lines of the event log that tell of an answer that was not given in time."""
        try:
            lines = (self._workspace.home / "log" / "events.jsonl").read_text(encoding="utf-8").splitlines()
        except OSError:
            return []
        entries = (json.loads(line) for line in lines)
        return [
            str(entry.get("error") or entry["reason"])
            for entry in entries
            if entry.get("reason") == "late" or any(mark in str(entry.get("error")) for mark in _LATE_ERRORS)
        ]

    def _settle(self) -> None:
        """Wait until nothing is built any more."""
        until_s = time.monotonic() + _SETTLE_S
        while (
            any(project["is_building"] for project in self._service.status()["projects"]) and time.monotonic() < until_s
        ):
            time.sleep(_LOOK_S)

    def _end(self) -> None:
        """Stop the service, and wait until its process has let go of its lock."""
        home = str(self._workspace.home)
        stop(home, timeout_s=_STOP_S)
        with locked(Path(run_folder(home)) / "daemon.lock", _STOP_S) as is_over:
            if not is_over:
                raise HybridError("the service of the measurement does not end")


def _fill(workspace: Workspace, stores: RecordStores, prompts: Sequence[str]) -> None:
    """Lessons, decisions and a memory, as a project has them after some weeks; every second prompt has a decision."""
    project, words = workspace.require_project(), Words(_SHAPE)
    accept(project, workspace.home)
    write_records(workspace, [*seeded_records(words, _N_RECORDS), *_decisions_of(prompts[::2])])
    store = stores.memory(workspace)
    first_ms = time.time_ns() // 1_000_000 - (_N_OBSERVATIONS + 1) * _APART_MS
    for number, observation in enumerate(seeded_observations(words, _N_OBSERVATIONS)):
        owner = Owner(f"seeded-{number // 50}", project.key, project.name)
        store.add_observation(owner, observation, first_ms + number * _APART_MS, digest=f"seeded {number}")
    store.close()


def _decisions_of(prompts: Sequence[str]) -> list[GivenRecord]:
    """A decision on each prompt, in its own words: what seeded words say fits no prompt of a real project."""
    return [
        GivenRecord(
            "decision", f"dec-{_FIRST_OF_PROMPTS + number:08x}", " ".join(prompt.split())[:_TITLE_CHARS], prompt
        )
        for number, prompt in enumerate(prompts)
    ]


@contextlib.contextmanager
def _busy(n: int) -> Generator[None]:
    """So many processes that keep a processor busy, for the block."""
    processes = [
        subprocess.Popen([sys.executable, "-I", "-S", "-c", _BUSY], stdin=subprocess.DEVNULL, start_new_session=True)
        for _ in range(n)
    ]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()
