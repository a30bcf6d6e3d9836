"""The gate: one verdict per kind from the raw top cosine, taken before fusion; closed means nothing is injected.

`threshold_for` is the one place where a calibration per corpus plugs in; the verdict already carries named parts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hybrid.types import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping

    from hybrid.types import EmbedderInfo


@dataclass(frozen=True, slots=True)
class Threshold:
    """What the raw top cosine is compared with.

    Attributes:
        value: In [−1, 1]; None when nobody measured one for this model: the gate then stays closed.
        source: `auto`, `config` or `flag`.
        calibrated_at: ISO 8601 time of the calibration, or None for the model's own default.
        expected_false_open_rate: Share of unfitting prompts it lets pass, as measured, or None.
    """

    value: float | None
    source: str
    calibrated_at: str | None = None
    expected_false_open_rate: float | None = None


def threshold_for(
    setting: float | Literal["auto"], *, origin: str, model: EmbedderInfo, calibration: Mapping[str, object]
) -> Threshold:
    """The threshold in force.

    Args:
        setting: A number fixes it; `auto` takes the corpus's calibration, else the model's measured default.
        origin: Where the setting came from: `flag` for the command line, anything else is configuration.
        model: Of the index.
        calibration: Of the corpus, as the manifest of the snapshot keeps it: `threshold`, `calibrated_at`,
            `expected_false_open_rate`; empty when there is none.
    """
    if setting != "auto":
        return Threshold(setting, "flag" if origin == "flag" else "config")
    value, at, rate = (calibration.get(key) for key in ("threshold", "calibrated_at", "expected_false_open_rate"))
    if isinstance(value, float):
        return Threshold(
            value,
            "auto",
            at if isinstance(at, str) else None,
            rate if isinstance(rate, float) else None,
        )
    return Threshold(model.gate_threshold, "auto", None, model.expected_false_open_rate)


def verdict(top_cosine: float | None, threshold: Threshold) -> Verdict:
    """Open when the raw top cosine reaches the threshold; without a vector or a threshold it stays closed."""
    is_open = top_cosine is not None and threshold.value is not None and top_cosine >= threshold.value
    return Verdict(is_open, top_cosine, threshold.value, threshold.source)
