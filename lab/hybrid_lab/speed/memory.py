"""Times the memory at the size of years: taking in uses of tools, prompts, searches, the first index; and its size.

`speed` calls it. The observations are seeded ones of several projects, stored by the store itself.
"""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.answer.decide import Turn, decide
from hybrid.capture.cleaning import cleaned_call
from hybrid.evaluation.timing import sum_up, time_each, time_ms, timed
from hybrid.knowledge.memory_collection import present_of
from hybrid.knowledge.memory_intake import flush, maker, remember
from hybrid.knowledge.open_indexes import LoadedModels, OpenIndexes
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.prompting.clean import prompt_event
from hybrid.prompting.query import make_query
from hybrid.records.memory.types import CONCEPTS, OBSERVATION_TYPES, Extracted, Owner, PendingEvent, RowFilter
from hybrid.types import HookEvent, ToolCall
from hybrid.workspace import open_workspace
from hybrid_lab.memory.replay import make_repository
from hybrid_lab.speed.records import resident_bytes
from hybrid_lab.synthetic import Shape, Words

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from hybrid.evaluation.timing import Runner
    from hybrid.types import Embedder
    from hybrid.workspace import Workspace

N_PROJECTS = 5
_PROJECTS = tuple(f"project-{number}" for number in range(N_PROJECTS))
_A_SESSION = 50
"""Observations of one session."""
_APART_MS = 600_000
"""Between two observations: 100,000 of them are two years."""
_TITLE_WORDS = 7
_FACT_WORDS = 5
_SHAPE = Shape(seed=11, n_words=20_000, mean_tokens=60.0)
_N_EVENTS = 300
_TOP_K = 10
_SUBJECTS = ("walrus", "cedar", "copper", "falcon", "harbour")
"""What added observations speak of; nothing else does."""

_MEMORY = """
import json, sys
from hybrid_lab.speed.memory import memory_resident_figures
print(json.dumps(memory_resident_figures(sys.argv[1])))
"""


def memory_figures(
    folder: Path, runner: Runner, embedder: Embedder, *, n_observations: int, n_queries: int, bare_ms: float
) -> dict[str, Any]:
    """Times in milliseconds, and bytes.

    Args:
        folder: For the projects.
        runner: Of processes, with a home of its own.
        embedder: Of the settings in force; loaded, as a service has it.
        n_observations: Seeded, over all projects.
        n_queries: Seeded.
        bare_ms: Median of a bare interpreter start in the same run.

    Raises:
        HybridError: The memory cannot be written or searched, or a process failed.
    """
    return _Measurement(folder, runner, embedder, n_observations, bare_ms).figures(n_queries)


class _Measurement:
    def __init__(self, folder: Path, runner: Runner, embedder: Embedder, n_observations: int, bare_ms: float) -> None:
        self._words = Words(_SHAPE)
        self._runner = runner
        self._n = n_observations
        self._bare_ms = bare_ms
        self._workspaces = [make_repository(folder / name, runner.environ) for name in _PROJECTS]
        self._kinds = OpenKinds(runner.environ, OpenIndexes(LoadedModels(lambda _name, _home: embedder)))
        self._now_ms = time.time_ns() // 1_000_000

    @property
    def _workspace(self) -> Workspace:
        """The workspace of the present project."""
        return self._workspaces[0]

    def figures(self, n_queries: int) -> dict[str, Any]:
        store = self._kinds.stores.memory(self._workspace)
        _, written_ms = timed(self._write)
        queries = self._words.queries(n_queries)
        (_, problems), indexed_ms = timed(lambda: self._kinds.open(self._workspace, ("memory",)))
        prompts = [f"where did we change {query} and why was it done" for query in queries]
        is_open = self._open_gate()
        figures: dict[str, Any] = {
            "observations": store.stats().n_observations,
            "projects": len(self._workspaces),
            "queries": len(queries),
            "written_ms": round(written_ms, 1),
            "first_index_ms": round(indexed_ms, 1),
            "problems": problems,
            "add_event": self._times(self._adding_events()),
            "remember": self._times(self._remembering()),
            "search": self._times(time_each(self._search, queries)),
            "prompt": self._times(time_each(self._decide, prompts)),
            "prompt_open": self._times(time_each(lambda text: self._decide(text, workspace=is_open), prompts)),
            "newest": self._times(time_each(lambda _: store.newest(RowFilter(), _TOP_K), queries)),
            "one_more": self._one_more(),
        }
        log_bytes = _size_bytes(store.path.with_name(f"{store.path.name}-wal"))
        store.close()
        return figures | {
            "database_bytes": _size_bytes(store.path),
            "database_log_bytes": log_bytes,
            "index_bytes": sum(p.stat().st_size for p in (self._workspace.home / "records").rglob("*") if p.is_file()),
            "memory": json.loads(self._runner.run("-c", _MEMORY, str(self._workspace.require_project().root))),
        }

    def _write(self) -> None:
        store = self._kinds.stores.memory(self._workspace)
        started_ms = self._now_ms - (self._n + 1) * _APART_MS
        owners = [Owner("", one.require_project().key, one.require_project().name) for one in self._workspaces]
        for number, told in enumerate(seeded_observations(self._words, self._n)):
            owner = owners[number % N_PROJECTS]
            session = f"seeded-{number // (_A_SESSION * N_PROJECTS)}-{owner.project}"
            store.add_observation(
                Owner(session, owner.key, owner.project),
                told,
                started_ms + number * _APART_MS,
                digest=f"seeded {number}",
            )

    # --- taking in ---------------------------------------------------------------------------------------------

    def _adding_events(self) -> list[float]:
        """Uses of two tools in turn, so that each ends the batch of the one before and has it extracted."""
        store, make = self._kinds.stores.memory(self._workspace), maker(self._workspace)
        project = self._workspace.require_project()
        owner = Owner("events", project.key, project.name)
        window_ms = self._workspace.config.memory.batch_window_ms
        store.add_prompt(owner, "count the seals of the harbour", self._now_ms)
        payloads = [_payload(self._workspace, self._event(number, "payloads")) for number in range(_N_EVENTS)]
        events = [
            PendingEvent(tool, payload, f"timed {number}", 100, self._now_ms + number)
            for number, (tool, payload) in enumerate(payloads)
        ]
        return time_each(lambda event: store.add_event(owner, event, window_ms=window_ms, make=make), events)

    def _remembering(self) -> list[float]:
        """The whole of it: redaction, reading the use, and storing it."""
        store = self._kinds.stores.memory(self._workspace)
        numbers = range(_N_EVENTS)
        times = time_each(
            lambda number: remember(
                self._workspace, self._event(number, "remembered"), store, self._now_ms + number, is_private=False
            ),
            numbers,
        )
        flush(self._workspace, store, self._now_ms, session_id="remembered")
        return times

    def _event(self, number: int, session: str) -> HookEvent:
        """A command that failed, or a part of a file that was read: some 2,000 characters of result."""
        root = str(self._workspace.require_project().root)
        lines = [f"def seal_{number}_{line}(count): return count + {line}" for line in range(40)]
        if number % 2:
            path = f"{root}/src/seals_{number % 97}.py"
            answer = {"file": {"filePath": path, "content": "\n".join(lines), "startLine": 1, "numLines": len(lines)}}
            tool, given = "Read", {"file_path": path}
        else:
            tool, given = (
                "Bash",
                {"command": f"pytest tests/test_seals_{number % 89}.py", "description": "Run the tests"},
            )
            answer = {"stdout": "\n".join(lines), "stderr": f"1 failed, {number} passed", "interrupted": False}
        call = cleaned_call(ToolCall(tool, given, answer))
        return HookEvent("claude", "PostToolUse", session, "", root, call=call, tool_use_id=f"use-{session}-{number}")

    # --- asking ------------------------------------------------------------------------------------------------

    def _search(self, query: str) -> None:
        store = self._kinds.stores.memory(self._workspace)
        present = present_of(self._workspace, store)
        memory = self._kinds.memory(self._workspace, waits=True)
        assert memory is not None
        memory.found(make_query(query), RowFilter(), present, _TOP_K)

    def _decide(self, prompt: str, *, workspace: Workspace | None = None) -> str:
        return decided_text(workspace or self._workspace, self._kinds, prompt, self._runner.environ)

    def _open_gate(self) -> Workspace:
        """The present project with the gate held open, so that the longest way is timed."""
        root = self._workspace.require_project().root
        return open_workspace(root, environ=self._runner.environ, flags={"hooks.gate_threshold": -1.0})

    def _one_more(self) -> dict[str, Any]:
        """One observation more: what storing it takes, and the next prompt of a service, which is to get it."""
        store, project = self._kinds.stores.memory(self._workspace), self._workspace.require_project()
        self._decide("warm up with a first prompt about anything")
        storing, prompting, is_given = list[float](), list[float](), list[bool]()
        for number, subject in enumerate(_SUBJECTS):
            told = Extracted(
                "bugfix", f"Rotate the {subject} certificate", narrative=f"A {subject} certificate expired."
            )
            owner = Owner(f"more-{number}", project.key, project.name)
            storing.append(time_ms(lambda owner=owner, told=told: store.add_observation(owner, told, self._now_ms)))
            given, ms = timed(lambda subject=subject: self._decide(f"when do I rotate the {subject} certificate?"))
            prompting.append(ms)
            is_given.append(told.title in given)
        return {
            "store": self._times(storing),
            "prompt_after": self._times(prompting),
            "given": sum(is_given) / len(is_given),
        }

    def _times(self, times_ms: Sequence[float]) -> dict[str, Any]:
        return sum_up(times_ms).as_json(per_bare_start=self._bare_ms)


def _size_bytes(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _payload(workspace: Workspace, event: HookEvent) -> tuple[str, str]:
    """The tool of an event, and what the store keeps of its use until the batch ends."""
    from hybrid.capture.tools import PathRoots, own_home, tool_use

    assert event.call is not None
    use = tool_use(event.call, PathRoots(str(workspace.require_project().root), event.cwd, own_home()))
    return use.tool, use.as_json()


def decided_text(workspace: Workspace, kinds: OpenKinds, prompt: str, environ: Mapping[str, str]) -> str:
    """Answer a prompt in a session of its own, where no files are indexed."""
    root = str(workspace.require_project().root)
    event = prompt_event("claude", f"speed-{time.time_ns()}", root, prompt)
    decision = decide(Turn(workspace, event, kinds, environ))
    return decision.text


def seeded_observations(words: Words, n: int) -> Iterator[Extracted]:
    """So many observations of words of the law of a corpus, of all types, each with files and a concept."""
    for number, bag in enumerate(words.bags(n)):
        names = list(bag)
        step = max(len(names) // _TITLE_WORDS, 1)
        # The words of a bag come in the order of their frequency: a title has common and rare ones.
        title, rest = " ".join([*names[::step][:_TITLE_WORDS], str(number)]), names[1::2]
        yield Extracted(
            OBSERVATION_TYPES[number % len(OBSERVATION_TYPES)],
            title[:80],
            narrative=" ".join(rest),
            facts=(" ".join(rest[:_FACT_WORDS]),) if rest else (),
            concepts=(CONCEPTS[number % len(CONCEPTS)],),
            files_read=(f"src/{names[0]}.py",),
            files_modified=(f"src/{names[-1]}_{number % 7}.py",),
        )


def memory_resident_figures(root: str) -> dict[str, int | None]:
    """Resident bytes of this process: with the model alone, and what a memory that is open and searched adds to it."""
    workspace, kinds = open_workspace(Path(root)), OpenKinds()
    from hybrid.models.registry import load_embedder

    load_embedder(workspace.config.model.name, home=workspace.home).embed_query("so that numbers are there")
    bare = resident_bytes()
    decided_text(workspace, kinds, "where is the walrus certificate rotated?", os.environ)
    opened = resident_bytes()
    if bare is None or opened is None:
        return {"model": None, "open": None}
    return {"model": bare, "open": opened - bare}
