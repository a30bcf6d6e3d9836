"""Draws an evaluation of rankings into a file: languages, what each part is worth, times of a query.

The option `--plot` of `hybrid eval retrieval` and `run` calls it. Each set of queries has a row of panels.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from hybrid.base.errors import HybridError
from hybrid.evaluation.plot import write_figure

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    Form = Mapping[str, Any]
    """What was found for one set of queries, as `--json` prints it."""

_MEASURE = "nDCG@10"
_WIDTH, _HEIGHT = 6.5, 4.5
"""Of one panel, in inches."""
_LEVEL_NAMES = 4
"""More names below an axis are slanted."""
_ROW_INCHES = 0.28
"""Of one part in the panel of the ablation."""


def write_bars(path: Path, sets: Mapping[str, Form]) -> None:
    """Draw what was found, a row of panels for each set of queries.

    Args:
        path: Ends in .svg or .png.
        sets: Name of the set → what was found.

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
    """The configurations side by side, language by language."""
    languages = list(next(iter(shown.values()))["languages"])
    rows = {label: [each["languages"][language][_MEASURE] for language in languages] for label, each in shown.items()}
    _draw_bars(axes, languages, rows)
    for (label, each), container in zip(shown.items(), axes.containers, strict=True):
        container.set_label(f"{label} (mean of repositories {each['overall'][_MEASURE]:.3f})")
    axes.set_ylim(0, 1)
    axes.set_title(f"{_MEASURE} by language")
    axes.legend(loc="lower right", fontsize="small")


def _draw_latency(shown: Mapping[str, Form], axes: Axes) -> None:
    """Median and 95th percentile."""
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
    """A dot with its interval for each part, in the order of the table; left of 0 the part was worth it."""
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
    """Of error bars, which must not be below 0 by a rounding error."""
    return [max(0.0, value) for value in values]
