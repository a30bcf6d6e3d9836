"""Draws evaluations into files, with matplotlib: ROC curves of gates, and bars and intervals of rankings.

The axis of the false rate is logarithmic from 0.1 %: a gate works at its left end, where a linear axis shows a wall.
`--plot` of the subcommands of `hybrid eval` calls it; nothing else imports matplotlib.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import HybridError
from hybrid.base.lasting import how_to_add
from hybrid.evaluation.decisions import auc, rates_at, sweep_rates

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Margins = tuple[Sequence[float], Sequence[float]]
    """Margins of the wanted and of the unwanted prompts."""
    Form = Mapping[str, Any]
    """The results for one set of queries, as `--json` prints them."""


_LOWEST = 0.001
"""Left end of the axis of the false rate; smaller false rates, zero too, are drawn on it."""

_METADATA: dict[str, dict[str, Any]] = {".svg": {"Date": None}, ".png": {}}
"""Suffix of a file that can be drawn → the metadata that would differ from run to run."""


def check_plot(path: Path) -> None:
    """Raise an error, before a long evaluation, if its plot cannot be drawn.

    Raises:
        HybridError: The file's name ends in something else than .svg or .png, or matplotlib is not installed.
    """
    if path.suffix.lower() not in _METADATA:
        raise HybridError(f"{path} is no plot that can be drawn; its name must end in {' or '.join(_METADATA)}")
    try:
        import matplotlib.figure  # noqa: F401 # pyright: ignore[reportUnusedImport]
    except ImportError as error:
        raise HybridError(f"a plot needs the extra `plot`: {how_to_add('plot')}") from error


def write_roc(path: Path, curves: Mapping[str, Margins]) -> None:
    """Draw one curve for each label; a dot marks what the thresholds in force do (margin 0).

    The same curves give the same file, but for the version that matplotlib writes into it.

    Args:
        path: Ends in .svg or .png.
        curves: Label → score − threshold of wanted and of unwanted prompts; −∞ for what a rule silenced.

    Raises:
        HybridError: The file cannot be drawn, or a curve has no wanted or no unwanted prompts.
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
    """Draw a figure into a file; the same drawing gives the same bytes, on a machine without a display too.

    Args:
        path: Ends in .svg or .png.
        size_inches: Width and height.
        draw: Fills the empty figure.

    Raises:
        HybridError: The file cannot be drawn, see `check_plot`.
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
    """Return the corners of the curve as (false rate, true rate), ascending: each rise of the true rate, and the end.

    The end lies left of 1 when some of the unwanted have the score −∞, which no threshold opens.
    """
    swept = sweep_rates(wanted, unwanted)
    points: list[tuple[float, float]] = []
    for rates in reversed(swept):
        if not points or rates.true_rate > points[-1][1] or rates is swept[0]:
            points.append((rates.false_rate, rates.true_rate))
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


# --- rankings ---------------------------------------------------------------------------------------------


_MEASURE = "nDCG@10"
_WIDTH, _HEIGHT = 6.5, 4.5
"""Width and height of one panel, in inches."""
_LEVEL_NAMES = 4
"""Number of names below an axis from which on they are slanted."""
_ROW_INCHES = 0.28
"""Height of one part's row in the panel of the ablation, in inches."""


def write_bars(path: Path, sets: Mapping[str, Form]) -> None:
    """Draw the figures of an evaluation, a row of panels for each set of queries.

    Args:
        path: Ends in .svg or .png.
        sets: Name of the set → its part of the evaluation's JSON.

    Raises:
        HybridError: The file cannot be drawn, or no query was asked.
        OSError: The file cannot be written.
    """
    asked = {name: form for name, form in sets.items() if form["queries"]}
    if not asked:
        raise HybridError(f"{path}: nothing to draw, no query is about a repository that is there")
    rows = {name: _panels(form) for name, form in asked.items()}
    n_columns = max(map(len, rows.values()))
    n_parts = max(len(form["ablation"]) for form in asked.values())
    height = max(_HEIGHT, 1.5 + _ROW_INCHES * n_parts)

    def draw(figure: Figure) -> None:
        grid = figure.subplots(len(rows), n_columns, squeeze=False)
        for (name, panels), line in zip(rows.items(), grid, strict=True):
            for axes, panel in zip(line, panels, strict=False):
                panel(axes)
                if len(rows) > 1:
                    axes.set_title(f"{name}: {axes.get_title()}")
            for axes in line[len(panels) :]:
                axes.set_axis_off()

    write_figure(path, (_WIDTH * n_columns, height * len(rows)), draw)


def _panels(form: Form) -> list[Callable[[Axes], None]]:
    configurations = form["configurations"]
    shown = {label: configurations[label] for label in (*form["in_force"], *form["against"])}
    panels: list[Callable[[Axes], None]] = [partial(_draw_languages, shown)]
    if form["ablation"]:
        panels.append(partial(_draw_ablation, form["ablation"]))
    panels.append(partial(_draw_latency, {label: each["latency"] for label, each in shown.items()}))
    return panels


def _draw_languages(shown: Mapping[str, Form], axes: Axes) -> None:
    """Draw the main measure of the configurations side by side, language by language."""
    languages = list(next(iter(shown.values()))["languages"])
    rows = {label: [each["languages"][language][_MEASURE] for language in languages] for label, each in shown.items()}
    _draw_bars(axes, languages, rows)
    for (label, each), container in zip(shown.items(), axes.containers, strict=True):
        container.set_label(f"{label} (mean of repositories {each['overall'][_MEASURE]:.3f})")
    axes.set_ylim(0, 1)
    axes.set_title(f"{_MEASURE} by language")
    axes.legend(loc="lower right", fontsize="small")


def _draw_latency(shown: Mapping[str, Form], axes: Axes) -> None:
    """Draw the median and the 95th percentile of the time of a query in each configuration."""
    rows = {
        name: [times[key] for times in shown.values()]
        for name, key in (("median", "median_ms"), ("95th percentile", "p95_ms"))
    }
    _draw_bars(axes, list(shown), rows)
    axes.set_title("time of a query, ms")
    axes.legend(loc="upper left", fontsize="small")


def _draw_bars(axes: Axes, groups: Sequence[str], rows: Mapping[str, Sequence[float]]) -> None:
    width = 0.8 / len(rows)
    for at, (label, heights) in enumerate(rows.items()):
        places = [group - 0.4 + width * (at + 0.5) for group in range(len(groups))]
        axes.bar(places, heights, width, label=label)
    if len(groups) > _LEVEL_NAMES:
        axes.set_xticks(range(len(groups)), groups, rotation=45, ha="right")
    else:
        axes.set_xticks(range(len(groups)), groups)
    axes.grid(visible=True, axis="y", alpha=0.3)
    axes.set_axisbelow(True)


def _draw_ablation(rows: Mapping[str, Form], axes: Axes) -> None:
    """Draw a dot with its interval for each part, in the order of the table; left of 0 the part was worth it."""
    of = {label: each[_MEASURE] for label, each in rows.items()}
    places = range(len(of))
    values = [each["difference"] for each in of.values()]
    below = [each["difference"] - each["low"] for each in of.values()]
    above = [each["high"] - each["difference"] for each in of.values()]
    axes.errorbar(values, places, xerr=[_lengths(below), _lengths(above)], fmt="o", capsize=3)
    axes.axvline(0, color="black", linewidth=0.8)
    axes.set_yticks(places, list(of))
    axes.invert_yaxis()
    axes.set_title(f"change of {_MEASURE} without it, 95 % interval")
    axes.grid(visible=True, axis="x", alpha=0.3)


def _lengths(values: Sequence[float]) -> list[float]:
    """Return the lengths of error bars, none of them below 0 by a rounding error."""
    return [max(0.0, value) for value in values]
