"""How scores and the bars that they are compared with are shown, in commands and in the line that debugs a hook."""

from __future__ import annotations

TYPE_CHECKING = False  # `typing` costs a status line four milliseconds.
if TYPE_CHECKING:
    from collections.abc import Mapping

LOWEST_BAR = -2.0
"""A bar from here down lies below every score that compares a vector: it keeps nothing out."""


def number(value: float, digits: int = 2) -> str:
    """A number with so many decimals, never −0."""
    shown = f"{value:.{digits}f}"
    return shown.removeprefix("-") if float(shown) == 0 else shown


def bar(value: float, digits: int = 2) -> str:
    """A bar; `always` for one that keeps nothing out."""
    return "always" if value <= LOWEST_BAR else number(value, digits)


def compared(score: float, threshold: float) -> tuple[str, str]:
    """A score and its bar with two decimals, or with four where two would read the same."""
    digits = 2 if number(score) != number(threshold) else 4
    return number(score, digits), bar(threshold, digits)


def evidence_line(pieces: Mapping[str, float]) -> str:
    """The evidence for a file, strongest piece first; what gave nothing is left out."""
    shown = sorted((-abs(value), name) for name, value in pieces.items() if abs(value) >= 0.005)
    parts = ", ".join(f"{name} {number(pieces[name])}" for _, name in shown)
    return f"evidence {number(sum(pieces.values()))}: {parts}" if parts else "evidence 0"
