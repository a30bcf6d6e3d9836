from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.base.errors import HybridError
from hybrid.evaluation.plot import write_bars
from hybrid.evaluation.results import compare
from tests.unit.evaluation.rankings import FIRST, SECOND, results

if TYPE_CHECKING:
    from pathlib import Path


def form(*, is_compared: bool = False, has_ablation: bool = False) -> dict[str, Any]:
    """What was found, as `--json` prints it."""
    found = results({"a": [(0.5, 0.7), (0.2, 0.9)], "b": [(0.4, 0.4)]})
    differences = {measure: each.as_json() for measure, each in compare(found, FIRST, SECOND).items()}
    return {
        **found.as_json(bare_ms=median([1.0, 2.0, 3.0])),
        "in_force": [FIRST],
        "against": {SECOND: differences} if is_compared else {},
        "ablation": {"no remarks": differences, "no test": differences} if has_ablation else {},
    }


def drawn(path: Path, sets: dict[str, dict[str, Any]]) -> str:
    """The SVG of these sets."""
    write_bars(path, sets)
    return path.read_text(encoding="utf-8")


def test_a_plot_has_a_panel_for_everything_that_was_found(tmp_path: Path) -> None:
    """Languages and times always; what each part is worth, and the second configuration, only when they were asked."""
    plain = drawn(tmp_path / "a.svg", {"mine": form()})
    full = drawn(tmp_path / "b.svg", {"mine": form(is_compared=True, has_ablation=True)})

    for part in (
        "nDCG@10 by language",
        "time of a query, ms",
        "<!-- go -->",
        f"<!-- {FIRST} (mean of repositories 0.375)",
    ):
        assert part in plain
        assert part in full
    for part in ("change of nDCG@10 without it", "<!-- no remarks -->", f"<!-- {SECOND} (mean of repositories 0.600)"):
        assert part not in plain
        assert part in full


def test_each_set_has_a_row(tmp_path: Path) -> None:
    """Its name stands in the titles; a set that was not asked has none."""
    asked_nothing = {**form(), "queries": 0}
    text = drawn(tmp_path / "a.svg", {"code": form(), "tasks": form(has_ablation=True), "none": asked_nothing})

    assert {"code": 2, "tasks": 3, "none": 0} == {
        name: text.count(f"<!-- {name}: ") for name in ("code", "tasks", "none")
    }


def test_the_same_figures_give_the_same_plot(tmp_path: Path) -> None:
    """A plot in a repository changes only when the figures do."""
    write_bars(tmp_path / "a.png", {"mine": form(has_ablation=True)})
    write_bars(tmp_path / "b.png", {"mine": form(has_ablation=True)})

    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_nothing_cannot_be_drawn(tmp_path: Path) -> None:
    """The message says why, and no file is left."""
    with pytest.raises(HybridError, match="nothing to draw"):
        write_bars(tmp_path / "a.svg", {"mine": {**form(), "queries": 0}})

    assert not (tmp_path / "a.svg").exists()
