"""Reports of a gate from a few hand-made decisions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hybrid.search.gate.background import Calibration
from hybrid_lab.gate.prompts import Asked, GateReport
from hybrid_lab.judged_prompts import JudgedPrompt

if TYPE_CHECKING:
    from collections.abc import Mapping


def asked(
    margin: float,
    *,
    of: str = "p",
    repo: str = "boats",
    is_wanted: bool = False,
    kind: str = "small_talk",
    top_cosine: float | None = None,
) -> Asked:
    """A decision that follows the gate: a margin above 0 was injected, and −∞ was silenced by a rule."""
    is_silenced = margin == -math.inf
    reason = "prompt" if is_silenced else "injected" if margin > 0 else "gate"
    prompt = JudgedPrompt(of, None, "text", is_wanted, kind, is_strict=True)
    return Asked(prompt, repo, margin, margin > 0, reason, "", None if is_silenced else 0.25, top_cosine)


def wanted(margin: float, *, of: str = "w", repo: str = "boats", top_cosine: float | None = None) -> Asked:
    """The same of a prompt that deserves context."""
    return asked(margin, of=of, repo=repo, is_wanted=True, kind="task", top_cosine=top_cosine)


def report(
    *decisions: Asked,
    repos: tuple[str, ...] = ("boats",),
    model_threshold: float | None = None,
    bars: Mapping[str, Calibration] | None = None,
) -> GateReport:
    """What an evaluation with these decisions found."""
    return GateReport(decisions, repos, (), "model@1", model_threshold, bars or {})
