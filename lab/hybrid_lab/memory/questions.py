"""Asks judged questions and prompts of a memory that recorded sessions were replayed into; `hybrid eval memory`.

Beside the search stand two plain ways with the same judgements: full text over the raw events, and the newest rows.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from typing import TYPE_CHECKING

from hybrid.answer.decide import Turn, decide
from hybrid.evaluation.measures import QrelsError
from hybrid.knowledge.open_kinds import OpenKinds
from hybrid.prompting.clean import prompt_event
from hybrid.prompting.query import make_query
from hybrid.records.memory.types import RowFilter, name_of, title_of
from hybrid.search.ranking.memory import Present
from hybrid_lab.memory.replay import rows_by_name
from hybrid_lab.memory.report import DEPTH, NEWEST, RAW, SEARCH, MemoryReport, PromptAsked, QuestionAsked, Shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from hybrid.answer.decide import Decision
    from hybrid.records.memory.types import Row
    from hybrid.search.ranking.memory import Parts
    from hybrid_lab.memory.judged import MemoryPrompt, MemoryQuestion
    from hybrid_lab.memory.replay import Replayed

_SHOWN = 5
_WORD = re.compile(r"\w+")


def evaluate_memory(
    replayed: Replayed,
    questions: Sequence[MemoryQuestion],
    prompts: Sequence[MemoryPrompt],
    environ: Mapping[str, str],
    *,
    report_id: Callable[[str], None] = lambda _: None,
) -> MemoryReport:
    """Ask every question of the search and of the plain ways, and every prompt of the hook's decision.

    Args:
        replayed: The memory.
        questions: Judged; asked in their project, over the sessions of all.
        prompts: Judged; each asked in a session of its own in its project, which has no index of files.
        environ: As the memory was made with.
        report_id: Hears the id of each before it is asked.

    Raises:
        QrelsError: A judgement names a project or an event that was not replayed.
        HybridError: The index of the memory cannot be used.
    """
    _check(replayed, [*questions, *prompts])
    engine = _Engine(replayed, environ)
    asked: list[QuestionAsked] = []
    with contextlib.closing(RawEvents(replayed.texts)) as raw:
        for question in questions:
            report_id(question.id)
            asked.append(engine.ask(question, raw))
    decided: list[PromptAsked] = []
    for prompt in prompts:
        report_id(prompt.id)
        decided.append(engine.decide(prompt))
    return MemoryReport(tuple(asked), tuple(decided), engine.counts(), replayed.problems)


def _check(replayed: Replayed, judged: Iterable[MemoryQuestion | MemoryPrompt]) -> None:
    for one in judged:
        if one.project not in replayed.workspaces:
            raise QrelsError(f"{one.id}: no session of the project {one.project!r} was replayed")
        if missing := [ref for ref in one.gold if ref not in replayed.rows]:
            raise QrelsError(f"{one.id}: {', '.join(missing)} is no event; events are FILE:LINE, lines from 0")


class RawEvents:
    """Full text over what events say, a document each: SQLite's FTS5 as it comes (unicode61, bm25 with its defaults).

    Args:
        texts: Name of an event → what it says.
    """

    def __init__(self, texts: Mapping[str, str]) -> None:
        self._names = list(texts)
        self._db = sqlite3.connect(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE events USING fts5(text, tokenize='unicode61')")
        self._db.executemany("INSERT INTO events(rowid, text) VALUES (?, ?)", enumerate(texts.values(), 1))

    def close(self) -> None:
        """Free the memory that the texts take."""
        self._db.close()

    def search(self, query: str, limit: int) -> list[str]:
        """The events with any word of the query, best bm25 first; words are runs of letters, digits and `_`."""
        words = dict.fromkeys(_WORD.findall(query.lower()))
        if not words:
            return []
        found = self._db.execute(
            "SELECT rowid FROM events WHERE events MATCH ? ORDER BY bm25(events), rowid LIMIT ?",
            (" OR ".join(f'"{word}"' for word in words), limit),
        )
        return [self._names[row[0] - 1] for row in found]


class _Engine:
    """The memory as commands and hooks ask it."""

    def __init__(self, replayed: Replayed, environ: Mapping[str, str]) -> None:
        self._replayed = replayed
        self._environ = environ
        self._kinds = OpenKinds(environ)
        for workspace in replayed.workspaces.values():
            self._kinds.read(workspace)
        self._store = self._kinds.stores.memory(next(iter(replayed.workspaces.values())))
        self._rows = rows_by_name(self._store)

    def ask(self, question: MemoryQuestion, raw: RawEvents) -> QuestionAsked:
        workspace = self._replayed.workspaces[question.project]
        key = workspace.require_project().key
        present = Present(self._replayed.ended_ms, key, (), workspace.config.memory.half_life_days)
        memory = self._kinds.memory(workspace, waits=True)
        found = memory.found(make_query(question.text), RowFilter(key=key), present, DEPTH) if memory else []
        newest = self._store.newest(RowFilter(key=key), DEPTH)
        gold = self._gold(question.gold)
        ranks = {
            SEARCH: _rank([name_of(one.row) for one in found], gold),
            RAW: _rank(raw.search(question.text, DEPTH), question.gold),
            NEWEST: _rank([name_of(row) for row in newest], gold),
        }
        top = tuple(_shown(one.row, one.parts) for one in found[:_SHOWN])
        return QuestionAsked(question, ranks, self._shown(gold), top)

    def decide(self, prompt: MemoryPrompt) -> PromptAsked:
        workspace = self._replayed.workspaces[prompt.project]
        root = str(workspace.require_project().root)
        event = prompt_event("claude", f"evaluation-{prompt.id}", root, prompt.text)
        decision = decide(Turn(workspace, event, self._kinds, self._environ))
        gold = self._gold(prompt.gold)
        given = [name for item in decision.items if (name := _name(item.hit.path)) in self._rows]
        verdict = next((one.verdict for one in decision.kinds if one.kind == "memory"), None)
        is_open = verdict is not None and verdict.is_open
        return PromptAsked(
            prompt=prompt,
            reason=decision.reason,
            detail="; ".join([*([decision.detail] if decision.detail else []), *decision.problems]),
            given=self._shown(given),
            gold=self._shown(gold),
            is_open=is_open,
            margin=verdict.margin if verdict else None,
            missed=_missed(prompt, decision, gold, given, is_open=is_open),
        )

    def counts(self) -> dict[str, dict[str, int]]:
        """Project → its events that say something, those of them that no row tells of, and its rows."""
        found: dict[str, dict[str, int]] = {}
        for project, workspace in self._replayed.workspaces.items():
            refs = [ref for ref in self._replayed.texts if ref.partition("-")[0] == project]
            key = workspace.require_project().key
            found[project] = {
                "events": len(refs),
                "untold": sum(not self._replayed.rows[ref] for ref in refs),
                "rows": sum(row.owner.key == key for row in self._rows.values()),
            }
        return found

    def _gold(self, refs: Iterable[str]) -> list[str]:
        """The rows that tell of some events, each once."""
        return list(dict.fromkeys(name for ref in refs for name in self._replayed.rows[ref]))

    def _shown(self, names: Iterable[str]) -> tuple[Shown, ...]:
        return tuple(_shown(self._rows[name]) for name in names)


def _shown(row: Row, parts: Parts | None = None) -> Shown:
    return Shown(name_of(row), row.owner.project, title_of(row), parts.as_json() if parts else {})


def _name(path: str) -> str:
    """`o42` of the path of a row in the index."""
    return path.partition("/")[0]


def _rank(found: Sequence[str], gold: Iterable[str]) -> int | None:
    wanted = set(gold)
    return next((rank for rank, name in enumerate(found, 1) if name in wanted), None)


def _missed(
    prompt: MemoryPrompt, decision: Decision, gold: Sequence[str], given: Sequence[str], *, is_open: bool
) -> str:
    if not prompt.gold or not set(gold).isdisjoint(given):
        return ""
    if not gold:
        return "unknown"
    if decision.reason == "prompt":
        return "rule"
    if not is_open:
        return "gate"
    why = [entry.reason for entry in decision.withheld if _name(entry.hit.path) in gold]
    return why[0] if why else "rank" if decision.is_injected else "session"
