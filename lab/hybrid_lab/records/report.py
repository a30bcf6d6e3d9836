"""Prompts judged by the records that fit them, what came of each, and the figures of all; plain values and arithmetic.

`records` asks, `hybrid eval records` prints.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct
from msgspec.structs import asdict

from hybrid.evaluation.decisions import finite
from hybrid.evaluation.measures import read_lines, unique
from hybrid.evaluation.results import interval

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

ALL = "all"
"""In place of a kind: the prompts of every kind."""

_FITS = "fits"


class RecordPrompt(Struct, frozen=True):
    """A prompt and the records that fit it.

    Attributes:
        id: Unique in its file.
        text: As typed.
        gold: Ids of which one should be given; empty when nothing should.
        kind: Of the prompt: that of the records, how it fits them, or why none fits.
        only: `lessons` or `lore` when it was judged by these alone: others that are given do not count. Else empty.
        half: `dev` or `kept`, when its file tells; else empty.
    """

    id: str
    text: str
    gold: tuple[str, ...]
    kind: str
    only: str = ""
    half: str = ""

    def counts(self, kind: str) -> bool:
        """Return whether a record of this kind counts, `lesson` or one of lore."""
        return not self.only or (self.only == "lessons") == (kind == "lesson")


class RecordAsked(Struct, frozen=True):
    """One prompt and what came of it.

    Attributes:
        prompt: Judged.
        reason: Of the decision.
        detail: More about it, for example the prompt rule.
        given: Ids of the records that were given, best first.
        margins: Kind → how far its gate was open, or how much it missed by; None when nothing was compared.
        is_open: The gate of a kind that holds a fitting record opened; for a prompt that fits none, any gate.
        rank: Of the best fitting record among the hits of its kind, also when the gate is closed; None when it is not
            among the first 30.
        relevance: Of that record, beside the best of its kind, in 0 to 1; the floor looks at it.
        cosine: Its raw cosine.
        missed: Why no fitting record was given: `rule`, `gate`, `rank`, the reason for which it was withheld, `unknown`
            when there is no such record here, `session` when the answer was silent as a whole. Empty when one was
            given, and for prompts that fit none.
    """

    prompt: RecordPrompt
    reason: str
    detail: str
    given: tuple[str, ...]
    margins: Mapping[str, float | None]
    is_open: bool
    rank: int | None
    relevance: float | None
    cosine: float | None
    missed: str

    @property
    def is_found(self) -> bool:
        """A fitting record was given."""
        return not set(self.prompt.gold).isdisjoint(self.given)

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return {
            "id": self.prompt.id,
            "kind": self.prompt.kind,
            "gold": list(self.prompt.gold),
            "given": list(self.given),
            "missed": self.missed or None,
            "reason": self.reason,
            "detail": self.detail or None,
            "margins": {kind: None if margin is None else finite(margin) for kind, margin in self.margins.items()},
            "rank": self.rank,
            "relevance": None if self.relevance is None else round(self.relevance, 4),
            "cosine": None if self.cosine is None else round(self.cosine, 4),
        }


class RecordRow(Struct, frozen=True):
    """The decisions on the prompts of one kind.

    Attributes:
        kind: Of the prompts, or `ALL`.
        is_wanted: Whether a record fits them.
        n: Prompts.
        given: Of the wanted the share that got a fitting record, of the others the share that got anything; in [0, 1].
        low: Lower end of the 95 % interval of `given`.
        high: Upper end.
        opened: Share for which the gate opened: of the fitting record's kind, or any for those that fit none.
        recall: Share of the fitting records that were given; NaN for those that fit none.
        precision: Share of the given records that fit; NaN likewise, and when nothing was given.
        first: Share whose fitting record is the first hit of its kind; NaN for those that fit none.
        reciprocal: Mean reciprocal rank of the fitting record in its kind, whatever its gate says; NaN likewise.
    """

    kind: str
    is_wanted: bool
    n: int
    given: float
    low: float
    high: float
    opened: float
    recall: float
    precision: float
    first: float
    reciprocal: float

    def as_json(self) -> dict[str, Any]:
        """Stable keys; a figure that does not exist is None."""
        values = asdict(self)
        return {name: finite(value) if isinstance(value, float) else value for name, value in values.items()}


class RecordsReport(Struct, frozen=True):
    """The figures of an evaluation.

    Attributes:
        asked: Every prompt, in the order of the file.
        records: Kind of record → how many may be given in the project.
        differs: Ids of prompts to which a hook gave other records than the engine in this process.
        problems: What went wrong with a kind that was left out, a sentence each.
    """

    asked: tuple[RecordAsked, ...]
    records: Mapping[str, int]
    differs: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def rows(self) -> list[RecordRow]:
        """All wanted, the wanted by kind, then the same of the others; kinds in the order of the file."""
        rows: list[RecordRow] = []
        for is_wanted in (True, False):
            chosen = [one for one in self.asked if bool(one.prompt.gold) is is_wanted]
            kinds = dict.fromkeys(one.prompt.kind for one in chosen)
            rows += [_row(ALL, chosen)] if chosen else []
            rows += [_row(kind, [one for one in chosen if one.prompt.kind == kind]) for kind in kinds]
        return rows

    def as_json(self, *, is_explained: bool = False) -> dict[str, Any]:
        """Stable keys; every prompt only when it is to be explained."""
        form: dict[str, Any] = {
            "records": dict(self.records),
            "rows": [row.as_json() for row in self.rows()],
            "differs": list(self.differs),
            "problems": list(self.problems),
        }
        return form | ({"asked": [one.as_json() for one in self.asked]} if is_explained else {})


def joined(reports: Sequence[RecordsReport]) -> RecordsReport:
    """The reports of several projects as one."""
    counts: dict[str, int] = {}
    for report in reports:
        for kind, n_records in report.records.items():
            counts[kind] = counts.get(kind, 0) + n_records
    return RecordsReport(
        tuple(one for report in reports for one in report.asked),
        counts,
        tuple(one for report in reports for one in report.differs),
        tuple(one for report in reports for one in report.problems),
    )


def read_record_prompts(path: Path) -> list[RecordPrompt]:
    """The prompts of a JSONL file: `{id, prompt, gold: [record ids], kind, how?, set?, half?}`.

    A prompt whose kind is `fits` is counted by `how` it does; the set `lessons` or `lore` says by what it was judged.

    Raises:
        QrelsError: The file cannot be read, a line is not of this form, or an id stands twice.
    """
    return unique(path, read_lines(path, _prompt), lambda prompt: prompt.id)


def _prompt(fields: Mapping[str, Any]) -> RecordPrompt:
    gold = fields["gold"]
    if not isinstance(gold, list):
        raise TypeError("gold is no list of ids")
    ids = tuple(str(one) for one in gold)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
    kind, judged = str(fields["kind"]), str(fields.get("set") or "")
    return RecordPrompt(
        id=str(fields["id"]),
        text=str(fields["prompt"]),
        gold=ids,
        kind=str(fields.get("how") or kind) if kind == _FITS else kind,
        only=judged if judged in ("lessons", "lore") else "",
        half=str(fields.get("half") or ""),
    )


def _row(kind: str, asked: Sequence[RecordAsked]) -> RecordRow:
    is_wanted = bool(asked[0].prompt.gold)
    given = [one.is_found if is_wanted else bool(one.given) for one in asked]
    low, high = interval([np.array(given, np.float64)[:, None]])
    ranks = [one.rank for one in asked]
    n_gold, n_given = sum(len(one.prompt.gold) for one in asked), sum(len(one.given) for one in asked)
    n_right = sum(len(set(one.prompt.gold).intersection(one.given)) for one in asked)
    return RecordRow(
        kind=kind,
        is_wanted=is_wanted,
        n=len(asked),
        given=sum(given) / len(asked),
        low=float(low[0]),
        high=float(high[0]),
        opened=sum(one.is_open for one in asked) / len(asked),
        recall=n_right / n_gold if is_wanted else math.nan,
        precision=n_right / n_given if is_wanted and n_given else math.nan,
        first=sum(rank == 1 for rank in ranks) / len(asked) if is_wanted else math.nan,
        reciprocal=sum(1 / rank for rank in ranks if rank) / len(asked) if is_wanted else math.nan,
    )
