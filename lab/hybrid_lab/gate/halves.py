"""Tells how much the figures of a gate depend on the sample: counts them again on random halves of it.

`hybrid eval gate --halves` calls it. A random half of a sample scatters about the whole as the whole does about what it
was drawn from. Repositories and prompts are both halved, so the ranges are rather too wide than too narrow.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from hybrid.evaluation.decisions import Spread, at_false_rate, finite, spread

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeVar

    from hybrid_lab.gate.prompts import GateReport

    T = TypeVar("T")

FALSE_RATES = (0.01, 0.02)
_SEED = 5


def halves(report: GateReport, n_halves: int) -> dict[str, Spread]:
    """The usual figures on random halves, always the same ones; NaN when no half has wanted and unwanted prompts.

    Returns:
        `true_rate` and `false_rate` of the whole decision, and the true rate at each of `FALSE_RATES`.
    """
    random = Random(_SEED)
    drawn = [random_half(report, random) for _ in range(n_halves)]
    usable = [half for half in drawn if half.wanted and half.unwanted]
    return {
        "true_rate": spread([half.true_rate for half in usable]),
        "false_rate": spread([half.false_rate for half in usable]),
        **{
            f"true_rate_at_{rate:.0%}": spread([at_false_rate(rate, *half.scores).true_rate for half in usable])
            for rate in FALSE_RATES
        },
    }


def as_json(figures: Mapping[str, Spread], n_halves: int) -> dict[str, Any]:
    """Stable keys; what is not a number is None."""
    return {
        "n": n_halves,
        "of": {
            name: {"mean": finite(of.mean), "low": finite(of.low), "high": finite(of.high)}
            for name, of in figures.items()
        },
    }


def random_half(report: GateReport, random: Random) -> GateReport:
    """Return the decisions on half of the prompts in half of the repositories: about a quarter of all."""
    repos = _half(report.repos, random)
    prompts = _half(sorted({one.prompt.id for one in report.asked}), random)
    return replace(report, asked=tuple(one for one in report.asked if one.repo in repos and one.prompt.id in prompts))


def _half(entries: Sequence[T], random: Random) -> set[T]:
    return set(random.sample(entries, (len(entries) + 1) // 2))
