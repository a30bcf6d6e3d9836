"""The worth of each part of the gate: the same prompts with one part switched off; `hybrid eval gate --ablation`.

A row counts as the report does; `gate` asks the prompts.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hybrid.evaluation.decisions import FALSE_RATES, Rates, at_false_rate, auc, finite, open_rate
from hybrid_lab.gate.prompts import IN_FORCE, Asked, GateReport, Variant

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_OFF: dict[str, tuple[str, ...]] = {
    "pieces": ("gate.pieces=0",),
    "null": ("gate.null=false",),
    "chat": ("gate.chat=0", "gate.chat_without_probe=0"),
    "probe": ("gate.probe=0",),
    "lexical": ("gate.lexical=0",),
    "together": ("gate.together=0",),
    "names": ("gate.names=0",),
    "alone": ("gate.alone=0",),
    "absent": ("gate.absent=0",),
    "lacking": ("gate.lacking=0",),
    "project": ("gate.project=0",),
    "length": ("gate.length=0",),
}
_NO_RULES = Variant("no rules", has_rules=False)
_CHATTY_AT = 0.02
"""False rate whose shift the chatty rate is given at."""


class AblationRow(Struct, frozen=True):
    """One way to decide.

    Attributes:
        label: What is off.
        wanted: Margins of the wanted prompts.
        unwanted: Of the strict unwanted.
        chatty: Of the wanted in chatty wording; may be empty.
        true_rate: Share of the wanted that got a text with the bars found without labels; NaN for a raw cosine.
        false_rate: The same of the strict unwanted.
        other_rate: The same of tasks of other projects.
    """

    label: str
    wanted: Sequence[float]
    unwanted: Sequence[float]
    chatty: Sequence[float]
    true_rate: float = math.nan
    false_rate: float = math.nan
    other_rate: float = math.nan

    def at(self, rate: float) -> Rates:
        """The rates at a false rate."""
        return at_false_rate(rate, self.wanted, self.unwanted)

    @property
    def chatty_rate(self) -> float:
        """Share of the chatty that opens at the shift for 2 % false; NaN without any."""
        return open_rate(self.chatty, self.at(_CHATTY_AT).threshold)

    def as_json(self) -> dict[str, Any]:
        """Stable keys."""
        return {
            "label": self.label,
            "auc": finite(auc(self.wanted, self.unwanted)),
            "at": [{"label": f"{rate:.0%} false", "true_rate": self.at(rate).true_rate} for rate in FALSE_RATES],
            "chatty_rate": finite(self.chatty_rate),
            "true_rate": finite(self.true_rate),
            "false_rate": finite(self.false_rate),
            "other_repo_rate": finite(self.other_rate),
        }


def variants() -> tuple[Variant, ...]:
    """All parts, and one part off each."""
    return IN_FORCE, _NO_RULES, *(Variant(f"no {part}", off) for part, off in _OFF.items())


def ablation(reports: Mapping[str, Mapping[str, GateReport]], *, prompts: str, chatty: str) -> list[AblationRow]:
    """A row for each variant, all parts first, then the raw top cosine with and without the rules.

    Args:
        reports: From `evaluate_gate` with `variants`.
        prompts: Name of the set that is counted.
        chatty: Name of the one in chatty wording; it may be missing.
    """
    rows = [_row(label, found[prompts], found.get(chatty)) for label, found in reports.items()]
    for label, variant in (("raw top cosine", IN_FORCE), ("raw top cosine, no rules", _NO_RULES)):
        found = reports[variant.label]
        rows.append(_raw_row(label, found[prompts], found.get(chatty)))
    return rows


def _row(label: str, report: GateReport, chatty: GateReport | None) -> AblationRow:
    return AblationRow(
        label,
        *report.scores,
        chatty.scores[0] if chatty else (),
        true_rate=report.true_rate,
        false_rate=report.false_rate,
        other_rate=report.other_rate,
    )


def _raw_row(label: str, report: GateReport, chatty: GateReport | None) -> AblationRow:
    """The raw top cosine, less the model's default where one was measured: 0 is an operating point here, too."""
    default = report.model_threshold or 0.0
    return AblationRow(
        label,
        _raw(report.wanted, default),
        _raw(report.unwanted, default),
        _raw(chatty.wanted, default) if chatty else (),
    )


def _raw(asked: Sequence[Asked], default: float) -> list[float]:
    return [-math.inf if one.top_cosine is None else one.top_cosine - default for one in asked]
