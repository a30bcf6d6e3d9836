"""Draws ROC curves of gates into a file; `hybrid eval gate --plot` calls it. It and `plot_bars` alone use matplotlib.

The axis of the false rate is logarithmic from 0.1 %: a gate works at its left end, where a linear axis shows a wall.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import HybridError
from hybrid.evaluation.rates import auc, rates_at, share_from

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Margins = tuple[Sequence[float], Sequence[float]]
    """Of the wanted and of the unwanted."""

_LOWEST = 0.001
"""Left end of the axis; false rates below it, zero too, are drawn on it."""

_METADATA: dict[str, dict[str, Any]] = {".svg": {"Date": None}, ".png": {}}
"""Suffixes that are drawn, with the metadata that would differ from run to run."""


def check_plot(path: Path) -> None:
    """Find out before a long evaluation whether its plot can be drawn.

    Raises:
        HybridError: The file's name ends in something else than .svg or .png, or matplotlib is not installed.
    """
    if path.suffix.lower() not in _METADATA:
        raise HybridError(f"{path} is no plot that can be drawn; its name must end in {' or '.join(_METADATA)}")
    try:
        import matplotlib.figure  # noqa: F401 # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        raise HybridError("a plot needs the extra `plot`: pip install 'hybrid-retrieval[plot]'") from error


def write_roc(path: Path, curves: Mapping[str, Margins]) -> None:
    """Draw one curve for each label; a dot marks what the thresholds in force do (margin 0).

    The same curves give the same file, but for the version that matplotlib writes into it.

    Args:
        path: Ends in .svg or .png.
        curves: Label → score − threshold of wanted and of unwanted prompts; −∞ for what a rule silenced.

    Raises:
        HybridError: As `check_plot`, or a curve has no wanted or no unwanted prompts.
        OSError: The file cannot be written.
    """
    check_plot(path)
    for label, (wanted, unwanted) in curves.items():
        if not wanted or not unwanted:
            raise HybridError(f"{label}: a curve needs wanted and unwanted prompts; judge some of both")

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for label, margins in curves.items():
            _draw(axes, label, *margins)
        _label(axes)

    write_figure(path, (7, 5), draw)


def write_figure(path: Path, size_inches: tuple[float, float], draw: Callable[[Figure], None]) -> None:
    """Draw a figure into a file: the same drawing gives the same bytes, on a machine without a display too.

    Args:
        path: Ends in .svg or .png.
        size_inches: Width and height.
        draw: Fills the empty figure.

    Raises:
        HybridError: As `check_plot`.
        OSError: The file cannot be written.
    """
    check_plot(path)
    from matplotlib import style
    from matplotlib.figure import Figure

    # The defaults of matplotlib, whatever the user's own file says; the salt makes the names inside an SVG repeatable.
    with style.context(["default", {"svg.hashsalt": "hybrid"}]):
        figure = Figure(figsize=size_inches, layout="constrained")
        draw(figure)
        kind = path.suffix.lower()
        figure.savefig(path, format=kind[1:], dpi=150, metadata=_METADATA[kind])


def roc_points(wanted: Sequence[float], unwanted: Sequence[float]) -> list[tuple[float, float]]:
    """The corners of the curve as (false rate, true rate), ascending: where the true rate rises, and its right end.

    The end lies left of 1 when some of the unwanted have the score −∞, which no threshold opens.
    """
    ordered, others = sorted(wanted), sorted(unwanted)
    thresholds = sorted({score for score in (*ordered, *others) if math.isfinite(score)}, reverse=True)
    points: list[tuple[float, float]] = []
    for threshold in thresholds:
        point = share_from(others, threshold), share_from(ordered, threshold)
        if not points or point[1] > points[-1][1] or threshold == thresholds[-1]:
            points.append(point)
    return points


def _draw(axes: Axes, label: str, wanted: Sequence[float], unwanted: Sequence[float]) -> None:
    points = roc_points(wanted, unwanted)
    falses, trues = [max(false, _LOWEST) for false, _ in points], [true for _, true in points]
    (line,) = axes.plot(
        falses, trues, drawstyle="steps-post", label=f"{label} (AUC {auc(wanted, unwanted):.3f})", linewidth=1.5
    )
    rates = rates_at(0.0, wanted, unwanted)
    axes.plot([max(rates.false_rate, _LOWEST)], [rates.true_rate], "o", color=line.get_color(), clip_on=False)


def _label(axes: Axes) -> None:
    axes.plot([], [], "o", color="black", label="with the thresholds in force")
    axes.set_xscale("log")
    axes.set_xlim(_LOWEST, 1)
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("false rate: share of unwanted prompts that open")
    axes.set_ylabel("true rate: share of wanted prompts that open")
    ticks = (0.001, 0.01, 0.02, 0.05, 0.1, 1.0)
    axes.set_xticks(ticks, [f"{tick:.1%}" if tick < 0.01 else f"{tick:.0%}" for tick in ticks])
    axes.grid(visible=True, alpha=0.3)
    axes.legend(loc="lower right")
