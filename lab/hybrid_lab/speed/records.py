"""Times lessons and lore: scored, read, indexed, opened again, added to, searched; and the memory they take.

`speed` calls it. The records are seeded ones, written by the stores as users have them.
"""

from __future__ import annotations

import json
import os
import sys
import time
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hybrid.answer.decide import Turn, decide
from hybrid.evaluation.timing import sum_up, time_each, time_ms, timed
from hybrid.knowledge.open_indexes import LoadedModels, OpenIndexes
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.knowledge.stores import COUNTERS, RecordStores, open_stores
from hybrid.prompting.clean import prompt_event
from hybrid.prompting.query import make_query
from hybrid.records.lessons.types import Draft
from hybrid.records.lore.store import LoreFolder
from hybrid.records.scoring import LessonScorer
from hybrid.records.types import OF_TREES
from hybrid.search.searcher import Judging
from hybrid.workspace import open_workspace
from hybrid_lab.records.setup import GivenRecord, make_project, write_lore, write_records
from hybrid_lab.synthetic import Shape, Words, make_older

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from hybrid.evaluation.timing import Runner
    from hybrid.records.lessons.types import Lesson
    from hybrid.search.searcher import Searcher
    from hybrid.types import Embedder
    from hybrid.workspace import Workspace

_FEW = 100
"""Lessons that a project has: the size the scorer is specified for."""
_ROUNDS = 3
_TITLE_WORDS = 6
_TOP_K = 30
_SHAPE = Shape(seed=7, n_words=20_000, mean_tokens=25.0)
_HOUR_S = 3600.0
_TODAY = date(2026, 1, 15)
_SUBJECTS = ("walrus", "cedar", "copper", "falcon", "harbour")
"""What added records speak of; nothing else does."""

_MEMORY = """
import json, sys
from hybrid_lab.speed.records import resident_figures
print(json.dumps(resident_figures(sys.argv[1])))
"""


def records_figures(
    folder: Path, runner: Runner, embedder: Embedder, *, n_records: int, n_queries: int, bare_ms: float
) -> dict[str, Any]:
    """Times in milliseconds, and bytes.

    Args:
        folder: For the project.
        runner: Of processes, with a home of its own.
        embedder: Of the settings in force; loaded, as a service has it.
        n_records: Lessons, and as many decisions; at least 100.
        n_queries: Seeded ones.
        bare_ms: Median of a bare interpreter start in the same run.

    Raises:
        HybridError: A record cannot be written, or a process failed.
    """
    return _Measurement(folder, runner, embedder, n_records, bare_ms).figures(n_queries)


class _Measurement:
    def __init__(self, folder: Path, runner: Runner, embedder: Embedder, n_records: int, bare_ms: float) -> None:
        self._words = Words(_SHAPE)
        self._runner = runner
        self._embedder = embedder
        self._bare_ms = bare_ms
        self._n_records = n_records
        self._workspace = make_project(folder / "recorded", runner.environ)

    def figures(self, n_queries: int) -> dict[str, Any]:
        _, write_ms = timed(lambda: write_records(self._workspace, seeded_records(self._words, self._n_records)))
        self._let_age()
        queries = self._words.queries(n_queries)
        stores = RecordStores(self._runner.environ)
        lessons = tuple(stores.lessons(self._workspace).active.values())
        return {
            "lessons": len(lessons),
            "decisions": len(stores.lore(self._workspace)),
            "queries": len(queries),
            "written_ms": round(write_ms, 1),
            "scored": {str(n): self._scored(lessons[:n], queries) for n in (_FEW, len(lessons))},
            "read": {kind: self._read(kind) for kind in OF_TREES},
            "indexed": self._indexed(),
            "opened": self._opened(),
            "added": self._added(),
            "searched": self._searched(queries),
            "memory": json.loads(self._runner.run("-c", _MEMORY, str(self._workspace.require_project().root))),
        }

    def _scored(self, lessons: Sequence[Lesson], queries: Sequence[str]) -> dict[str, Any]:
        """Counting the words of all, and a query with these counts; a command does both once."""
        counting = [time_ms(lambda: LessonScorer(lessons)) for _ in range(_ROUNDS)]
        scorer = LessonScorer(lessons)
        return {"count": self._times(counting), "score": self._times(time_each(scorer.score, queries))}

    def _read(self, kind: str) -> dict[str, Any]:
        """The files parsed for the first time, and looked at again when nothing changed."""
        first: list[float] = []
        stores = RecordStores(self._runner.environ)
        for _ in range(_ROUNDS):
            stores = RecordStores(self._runner.environ)
            first.append(time_ms(lambda stores=stores: self._records_of(stores, kind)))
        again = [time_ms(lambda: self._records_of(stores, kind)) for _ in range(10 * _ROUNDS)]
        return {"first": self._times(first), "unchanged": self._times(again)}

    def _records_of(self, stores: RecordStores, kind: str) -> object:
        return stores.lessons(self._workspace) if kind == "lessons" else stores.lore(self._workspace)

    def _indexed(self) -> dict[str, Any]:
        """The first build of each kind, reading included."""
        kinds = self._kinds()
        return {kind: round(time_ms(lambda kind=kind: kinds.records(self._workspace, kind)), 1) for kind in OF_TREES}

    def _opened(self) -> dict[str, Any]:
        """Both kinds, already indexed: by a process that starts, and by one that has them open."""
        kinds = self._kinds()
        starting = [time_ms(lambda: self._kinds().open(self._workspace, OF_TREES)) for _ in range(_ROUNDS)]
        kinds.open(self._workspace, OF_TREES)
        resident = [time_ms(lambda: kinds.open(self._workspace, OF_TREES)) for _ in range(10 * _ROUNDS)]
        return {"starting": self._times(starting), "resident": self._times(resident)}

    def _added(self) -> dict[str, Any]:
        """One record more: what writing it takes, and the next prompt of a service, which is to get it."""
        kinds = OpenKinds(self._runner.environ)
        self._decide(kinds, "warm up with a first prompt about anything")
        ways: dict[str, Callable[[str], str]] = {"lesson": self._add_lesson, "decision": self._add_decision}
        return {name: self._adding(kinds, add) for name, add in ways.items()}

    def _adding(self, kinds: OpenKinds, add: Callable[[str], str]) -> dict[str, Any]:
        writing, prompting, is_given = list[float](), list[float](), list[bool]()
        for subject in _SUBJECTS:
            wanted, ms = timed(lambda subject=subject: add(subject))
            writing.append(ms)
            given, ms = timed(
                lambda subject=subject: self._decide(kinds, f"when do I rotate the {subject} certificate?")
            )
            prompting.append(ms)
            is_given.append(wanted in given)
        return {
            "write": self._times(writing),
            "prompt_after": self._times(prompting),
            "given": sum(is_given) / len(is_given),
        }

    def _add_lesson(self, subject: str) -> str:
        store = open_stores(self._workspace).of("L")
        assert store is not None
        draft = Draft(
            f"Rotate the {subject} certificate", f"Rotate the {subject} certificate before the gateway starts."
        )
        added = store.add(draft, today=_TODAY, is_forced=True)
        return added.lesson.record().name if added.lesson else ""

    def _add_decision(self, subject: str) -> str:
        name = f"The {subject} certificate is rotated on Mondays"
        project = self._workspace.require_project()
        folder = LoreFolder(project.root / ".hybrid" / "lore", "project")
        record = GivenRecord("decision", f"dec-{subject}", name, f"A {subject} certificate expires on Tuesdays.")
        write_lore(folder, [record], project.name)
        return name

    def _searched(self, queries: Sequence[str]) -> dict[str, Any]:
        """Gate and ranking of each kind, whatever the gate says; and the whole decision over both."""
        kinds = OpenKinds(self._runner.environ)
        figures: dict[str, Any] = {}
        for records in kinds.open(self._workspace, OF_TREES)[0]:

            def ask(text: str, searcher: Searcher = records.searcher) -> None:
                searcher.search(make_query(text), top_k=_TOP_K, judging=Judging())

            figures[records.kind] = self._times(time_each(ask, queries))
        prompts = [f"where do we need {query} and how does it work" for query in queries]
        return figures | {"decision": self._times(time_each(lambda text: self._decide(kinds, text), prompts))}

    def _decide(self, kinds: OpenKinds, prompt: str) -> list[str]:
        """Names of what a prompt gets."""
        return decide_names(self._workspace, kinds, prompt, self._runner.environ)

    def _kinds(self) -> OpenKinds:
        models = LoadedModels(lambda _name, _home: self._embedder)
        return OpenKinds(self._runner.environ, OpenIndexes(models))

    def _times(self, times_ms: Sequence[float]) -> dict[str, Any]:
        return sum_up(times_ms).as_json(per_bare_start=self._bare_ms)

    def _let_age(self) -> None:
        """A stamp of just now proves nothing; users' files are older."""
        root = self._workspace.require_project().root
        for path in [*(root / ".hybrid").rglob("*"), *self._workspace.home.rglob(COUNTERS)]:
            if path.is_file():
                make_older(path, _HOUR_S)


def decide_names(workspace: Workspace, kinds: OpenKinds, prompt: str, environ: Mapping[str, str]) -> list[str]:
    """Names of what a prompt gets in a session of its own, where no files are indexed."""
    root = str(workspace.require_project().root)
    event = prompt_event("claude", f"speed-{time.time_ns()}", root, prompt)
    decision = decide(Turn(workspace, event, kinds, environ))
    return [item.hit.name for item in decision.items]


def seeded_records(words: Words, n: int) -> Iterator[GivenRecord]:
    """So many lessons and as many decisions, of words of the law of a corpus."""
    for number, bag in enumerate(words.bags(2 * n)):
        names = list(bag)
        title, rest = " ".join(names[:_TITLE_WORDS]), " ".join(names[_TITLE_WORDS:])
        if number < n:
            yield GivenRecord("lesson", f"L{number + 1:03d}", title, rest)
        else:
            yield GivenRecord("decision", f"dec-{number:08x}", title, rest)


def resident_figures(root: str) -> dict[str, int | None]:
    """Resident bytes of this process: with the model alone, and what records that are read and open add to it."""
    workspace, kinds = open_workspace(Path(root)), OpenKinds()
    from hybrid.models.registry import load_embedder

    load_embedder(workspace.config.model.name, home=workspace.home).embed_query("so that numbers are there")
    bare = resident_bytes()
    kinds.stores.lessons(workspace)
    kinds.stores.lore(workspace)
    read = resident_bytes()
    decide_names(workspace, kinds, "where is the walrus certificate rotated?", os.environ)
    opened = resident_bytes()
    if bare is None or read is None or opened is None:
        return {"model": None, "read": None, "open": None}
    return {"model": bare, "read": read - bare, "open": opened - bare}


def resident_bytes() -> int | None:
    """Return the memory of this process in bytes; None where the system does not tell."""
    if sys.platform == "win32":
        return None
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")
