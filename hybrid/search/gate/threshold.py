"""The plain gate: the raw top cosine against one number, fixed by the owner or measured once for a model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from msgspec import Struct

from hybrid.types import Verdict

if TYPE_CHECKING:
    from hybrid.types import EmbedderInfo


class Threshold(Struct, frozen=True):
    """The bar of the raw top cosine when no calibration decides.

    Attributes:
        value: In [−1, 1]; None when nobody measured one for this model: the gate then stays closed.
        source: `auto`, `config` or `flag`.
        expected_false_open_rate: Share of unfitting prompts it lets pass, as measured, or None.
    """

    value: float | None
    source: str
    expected_false_open_rate: float | None = None


def fixed_threshold(setting: float | Literal["auto"], *, origin: str, model: EmbedderInfo) -> Threshold:
    """The threshold on the raw top cosine.

    Args:
        setting: A number fixes it; `auto` takes the model's measured default.
        origin: Where the setting came from: `flag` for the command line, anything else is configuration.
        model: Of the index.
    """
    if setting != "auto":
        return Threshold(setting, "flag" if origin == "flag" else "config")
    return Threshold(model.gate_threshold, "auto", model.expected_false_open_rate)


def compare(top_cosine: float | None, threshold: Threshold) -> Verdict:
    """Open when the raw top cosine reaches the threshold; without a vector or a threshold it stays closed."""
    is_open = top_cosine is not None and threshold.value is not None and top_cosine >= threshold.value
    return Verdict(is_open, top_cosine, threshold.value, threshold.source, score=top_cosine)
