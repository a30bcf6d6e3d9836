"""The results of questions and prompts about earlier sessions, and their figures; plain values and arithmetic.

`memory` asks, `hybrid eval memory` prints.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import asdict

from hybrid.evaluation.decisions import finite
from hybrid.evaluation.results import interval

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from hybrid_lab.memory.judged import MemoryPrompt, MemoryQuestion

DEPTH = 10
"""Ranks beyond it count as not found, in every way of answering."""

SEARCH = "hybrid memory search"
RAW = "FTS5 over the raw events"
NEWEST = "the newest of the project"
WAYS = (SEARCH, RAW, NEWEST)


class Shown(Struct, frozen=True):
    """A row for a person: its name, project, title, the parts of its score (none when it was not ranked)."""

    name: str
    project: str
    title: str
    parts: Mapping[str, float] = field(default_factory=dict[str, float])

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return {"id": self.name, "project": self.project, "title": self.title, "parts": dict(self.parts)}


class QuestionAsked(Struct, frozen=True):
    """One question and what came of it.

    Attributes:
        question: Judged.
        ranks: Way → rank of the first right answer among the first `DEPTH`, from 1; None when there is none.
        gold: The rows that tell of the right events; empty when the memory kept none of them.
        top: The first five rows that the search found.
    """

    question: MemoryQuestion
    ranks: Mapping[str, int | None]
    gold: tuple[Shown, ...]
    top: tuple[Shown, ...]

    @property
    def is_missed(self) -> bool:
        """None of the first five rows of the search is right."""
        rank = self.ranks[SEARCH]
        return rank is None or rank > 5

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return {
            "id": self.question.id,
            "project": self.question.project,
            "kind": self.question.kind,
            "question": self.question.text,
            "ranks": dict(self.ranks),
            "is_missed": self.is_missed,
            "gold": [row.as_json() for row in self.gold],
            "top": [row.as_json() for row in self.top],
        }


class PromptAsked(Struct, frozen=True):
    """One prompt and what came of it, through the whole decision of the hook.

    Attributes:
        prompt: Judged.
        reason: Of the decision.
        detail: More about it, for example the prompt rule.
        given: The rows of the memory that were given, best first.
        gold: The rows that tell of the right events.
        is_open: The gate of the memory opened.
        margin: How far it was open, or how much it missed by; None when nothing was compared.
        missed: Why no right row was given: `rule`, `unknown` (none was kept), `gate`, the reason for which it was
            withheld, `rank`, `session`. Empty when one was given, and for prompts that fit none.
    """

    prompt: MemoryPrompt
    reason: str
    detail: str
    given: tuple[Shown, ...]
    gold: tuple[Shown, ...]
    is_open: bool
    margin: float | None
    missed: str

    @property
    def is_found(self) -> bool:
        """A right row was given."""
        return not {row.name for row in self.gold}.isdisjoint(row.name for row in self.given)

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return {
            "id": self.prompt.id,
            "project": self.prompt.project,
            "prompt": self.prompt.text,
            "is_wanted": bool(self.prompt.gold),
            "reason": self.reason,
            "detail": self.detail or None,
            "is_open": self.is_open,
            "margin": None if self.margin is None else finite(self.margin),
            "given": [row.as_json() for row in self.given],
            "gold": [row.as_json() for row in self.gold],
            "missed": self.missed or None,
        }


class WayRow(Struct, frozen=True):
    """The quality of one way of answering, for a group of questions.

    Attributes:
        way: Of `WAYS`.
        group: all, a kind, or a project.
        n: Questions.
        r5: Share with a right answer among the first five, in [0, 1].
        low: Lower end of the 95 % interval of `r5`, by drawing questions.
        high: Upper end.
        r10: As `r5`, of the first ten.
        rr: Mean of 1 / rank, 0 beyond the tenth.
        rr_low: Lower end of its interval.
        rr_high: Upper end.
    """

    way: str
    group: str
    n: int
    r5: float
    low: float
    high: float
    r10: float
    rr: float
    rr_low: float
    rr_high: float

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return asdict(self)


class MemoryReport(Struct, frozen=True):
    """The figures of an evaluation.

    Attributes:
        questions: Every one, in the order of the file.
        prompts: The same; empty when none was asked.
        counts: Events, rows, and events that no row tells of, by project.
        problems: What went wrong, a sentence each.
    """

    questions: tuple[QuestionAsked, ...]
    prompts: tuple[PromptAsked, ...]
    counts: Mapping[str, Mapping[str, int]]
    problems: tuple[str, ...] = ()

    def rows(self) -> list[WayRow]:
        """Every way for all questions, then by kind, then by project; groups in the order of the file."""
        groups: dict[str, list[QuestionAsked]] = {"all": list(self.questions)}
        for prefix, key in _GROUPINGS:
            for one in self.questions:
                groups.setdefault(f"{prefix} {key(one)}", []).append(one)
        order = sorted(groups, key=lambda name: [name != "all", not name.startswith("kind")])
        return [_row(way, name, groups[name]) for name in order for way in WAYS if groups[name]]

    def gains(self) -> dict[str, dict[str, float]]:
        """Way → by how much the search is above it in R@5 over all questions, with the 95 % interval (paired)."""
        found: dict[str, dict[str, float]] = {}
        for way in WAYS[1:] if self.questions else ():
            delta = _scores(self.questions, SEARCH) - _scores(self.questions, way)
            low, high = interval([delta])
            found[way] = {"r5": float(delta[:, 0].mean()), "low": float(low[0]), "high": float(high[0])}
        return found

    def prompt_rows(self) -> list[dict[str, Any]]:
        """Prompts that a row fits and those that none fits: all, and by project.

        `given` is the share that got a right row, of those that none fits the share that got anything of the memory.
        """
        rows: list[dict[str, Any]] = []
        for is_wanted in (True, False):
            chosen = [one for one in self.prompts if bool(one.prompt.gold) is is_wanted]
            names = ["all", *dict.fromkeys(one.prompt.project for one in chosen)] if chosen else []
            for name in names:
                rows.append(_prompt_row(name, [one for one in chosen if name in ("all", one.prompt.project)]))
        return rows

    def as_json(self, *, is_explained: bool = False) -> dict[str, Any]:
        """Stable keys; every question and prompt only when they are to be explained."""
        form: dict[str, Any] = {
            "counts": {name: dict(counts) for name, counts in self.counts.items()},
            "rows": [row.as_json() for row in self.rows()],
            "gains": self.gains(),
            "prompts": self.prompt_rows(),
            "problems": list(self.problems),
        }
        if is_explained:
            form["asked"] = [one.as_json() for one in self.questions]
            form["asked_prompts"] = [one.as_json() for one in self.prompts]
        return form


_GROUPINGS: tuple[tuple[str, Callable[[QuestionAsked], str]], ...] = (
    ("kind", lambda one: one.question.kind),
    ("project", lambda one: one.question.project),
)


def _scores(asked: Sequence[QuestionAsked], way: str) -> NDArray[np.float64]:
    """Found among five, among ten, and 1 / rank, shape (n_questions, 3)."""
    ranks = [one.ranks[way] or math.inf for one in asked]
    return np.array([[rank <= 5, rank <= DEPTH, 1 / rank] for rank in ranks], np.float64).reshape(-1, 3)


def _row(way: str, group: str, asked: Sequence[QuestionAsked]) -> WayRow:
    scores = _scores(asked, way)
    low, high = interval([scores])
    r5, r10, rr = (float(mean) for mean in scores.mean(axis=0))
    return WayRow(way, group, len(asked), r5, float(low[0]), float(high[0]), r10, rr, float(low[2]), float(high[2]))


def _prompt_row(project: str, asked: Sequence[PromptAsked]) -> dict[str, Any]:
    is_wanted = bool(asked[0].prompt.gold)
    given = [one.is_found if is_wanted else bool(one.given) for one in asked]
    low, high = interval([np.array(given, np.float64)[:, None]])
    return {
        "is_wanted": is_wanted,
        "project": project,
        "n": len(asked),
        "given": sum(given) / len(asked),
        "low": float(low[0]),
        "high": float(high[0]),
        "opened": sum(one.is_open for one in asked) / len(asked),
        "anything": sum(bool(one.given) for one in asked) / len(asked),
        "missed": _counted(one.missed for one in asked if one.missed),
    }


def _counted(names: Any) -> dict[str, int]:
    counts: dict[str, int] = {}
    for name in names:
        counts[name] = counts.get(name, 0) + 1
    return counts
