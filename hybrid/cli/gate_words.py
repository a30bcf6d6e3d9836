"""The gate's verdict in words: what was compared with what, and the parts of the score; for `explain` and `context`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

BARS = {"talk": "talk", "tasks": "tasks of other projects"}
"""What the bar of a calibration keeps out."""

_EVIDENCE = {
    "cosine": "best piece to closest chunk",
    "hub": "which is close to anything",
    "null": "vague words",
    "lexical": "telling word",
    "names": "identifiers known here",
    "absent": "words unknown here",
    "length": "long prompt",
}
_TALK = {"chat": "like small talk", "probe": "is it about code"}


def gate_rows(said: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The verdict as (label, text), a line each; none when the gate was not asked.

    Args:
        said: With the keys that `hybrid.engine.noting.gate_part` gives to a line of the event log; lines of earlier
            versions have no `score`.
    """
    source, score, threshold = said.get("threshold_source"), said.get("score"), said.get("threshold")
    if source is None:
        return []
    if not said.get("bar"):
        return [("gate", _raw(said.get("top_cosine"), threshold, source))]
    if score is None or threshold is None:
        return [("gate", f"nothing to compare ({source})")]
    digits = 2 if f"{score:.2f}" != f"{threshold:.2f}" else 4
    bar = BARS.get(said["bar"], said["bar"])
    compared = f"score {_number(score, digits)}, opens above {_number(threshold, digits)} ({bar}, {source})"
    return [("gate", compared), *_parts(said.get("parts") or {}, is_talk=said["bar"] == "talk")]


def _raw(top: float | None, threshold: float | None, source: str) -> str:
    shown = "no vector" if top is None else f"raw top cosine {top:.4f}"
    opens = "no threshold was measured for this model" if threshold is None else f"opens from {threshold}"
    return f"{shown}, {opens} ({source})"


def _parts(parts: Mapping[str, float], *, is_talk: bool) -> list[tuple[str, str]]:
    """What the score is made of: one line with the evidence, one with what counts for the bar of talk alone."""
    evidence, talk = _named(parts, _EVIDENCE), _named(parts, _TALK)
    if talk and not is_talk:
        talk += " – these count for talk only"
    return [(label, text) for label, text in (("parts", evidence), ("", talk)) if text]


def _named(parts: Mapping[str, float], words: Mapping[str, str]) -> str:
    """The parts that changed something; one that is switched off is 0."""
    shown = [(name, f"{parts.get(name, 0):+.2f}") for name in words]
    return ", ".join(
        f"{name} {_typeset(number.removeprefix('+') if name == 'cosine' else number)} ({words[name]})"
        for name, number in shown
        if float(number)
    )


def _number(value: float, digits: int) -> str:
    return _typeset(f"{value:.{digits}f}")


def _typeset(number: str) -> str:
    return number.replace("-", "−")
