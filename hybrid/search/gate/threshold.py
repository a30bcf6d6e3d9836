"""The plain gate: the raw top cosine against one number, fixed by the owner or measured once for a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid.types import EmbedderInfo


class Verdict(Struct, frozen=True):
    """The judgement of a gate.

    Attributes:
        is_open: True when something may be injected.
        top_cosine: The raw top cosine, before fusion; None when the query has no vector.
        threshold: The number that `score` was compared with; None when there was nothing to compare.
        source: `auto`, `config` or `flag`: where the threshold came from.
        score: The number that was compared: the raw top cosine, or the sum of `parts`, without `chat` and `probe` when
            `bar` is `tasks`; None when there was nothing to compare.
        bar: The bar that decided in a calibration: `talk`, or `tasks` for tasks of other projects.
        parts: Named parts of the prompt's best piece, empty when the raw cosine alone decided.
        subject: The pieces of the prompt that rose above their bars, joined; empty for the whole prompt, or if closed.
        rows: Of a collection that is judged record by record: rows whose own evidence rose above the bars → that
            evidence. None for other collections, and when a fixed number decided.
    """

    is_open: bool
    top_cosine: float | None
    threshold: float | None
    source: str
    score: float | None = None
    bar: str = ""
    parts: Mapping[str, float] = field(default_factory=dict[str, float])
    subject: str = ""
    rows: Mapping[int, float] | None = None

    @property
    def margin(self) -> float | None:
        """Score − threshold, negative when the score missed it; None when nothing was compared."""
        return None if self.score is None or self.threshold is None else self.score - self.threshold


class Threshold(Struct, frozen=True):
    """The bar of the raw top cosine when no calibration decides.

    Attributes:
        value: In [−1, 1]; None when nobody measured one for this model: the gate then stays closed.
        source: `auto`, `config` or `flag`.
        expected_false_open_rate: Share of unfitting prompts that the threshold let pass when measured, or None.
    """

    value: float | None
    source: str
    expected_false_open_rate: float | None = None


def fixed_threshold(setting: float | Literal["auto"], *, origin: str, model: EmbedderInfo) -> Threshold:
    """Return the threshold on the raw top cosine.

    Args:
        setting: A number fixes it; `auto` takes the model's measured default.
        origin: Where the setting came from: `flag` for the command line, anything else is configuration.
        model: The model of the index.
    """
    if setting != "auto":
        return Threshold(setting, "flag" if origin == "flag" else "config")
    return Threshold(model.gate_threshold, "auto", model.expected_false_open_rate)


def compare(top_cosine: float | None, threshold: Threshold) -> Verdict:
    """Return a verdict that is open when the raw top cosine reaches the threshold; closed when either is None."""
    is_open = top_cosine is not None and threshold.value is not None and top_cosine >= threshold.value
    return Verdict(is_open, top_cosine, threshold.value, threshold.source, score=top_cosine)
