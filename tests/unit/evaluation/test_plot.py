"""Plots: files that matplotlib draws, the same for the same figures."""

from __future__ import annotations

import math
import sys
from statistics import median
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.base.errors import HybridError
from hybrid.cli.main import run
from hybrid.evaluation.decisions import at_false_rate
from hybrid.evaluation.plot import check_plot, roc_points, write_bars, write_roc
from hybrid.evaluation.results import compare
from tests.unit.evaluation.rankings import FIRST, SECOND, results

if TYPE_CHECKING:
    from pathlib import Path


WANTED = [0.3, 0.2, 0.1, -0.1, -math.inf]
UNWANTED = [0.15, -0.05, -0.1, -0.2, -math.inf]
CURVES = {"all parts": (WANTED, UNWANTED), "raw top cosine": (UNWANTED, WANTED)}
SCORES = st.lists(st.sampled_from([-math.inf, -0.2, -0.1, 0.0, 0.1, 0.2]), min_size=1, max_size=8)


def test_the_corners_of_a_curve() -> None:
    """Hand-worked: from the top score down, a point where the true rate rises, and the right end; −∞ never opens."""
    found = [(round(false, 9), round(true, 9)) for false, true in roc_points(WANTED, UNWANTED)]

    assert [(0.0, 0.2), (0.0, 0.4), (0.2, 0.6), (0.6, 0.8), (0.8, 0.8)] == found
    assert [] == roc_points([-math.inf], [-math.inf])


@given(wanted=SCORES, unwanted=SCORES, limit=st.floats(0, 1))
def test_the_curve_is_that_of_the_rates(wanted: list[float], unwanted: list[float], limit: float) -> None:
    """Left of any false rate the highest point of the curve is the true rate that the table of rates gives for it."""
    reached = [true for false, true in roc_points(wanted, unwanted) if false <= limit]

    assert at_false_rate(limit, wanted, unwanted).true_rate == max(reached, default=0.0)


def test_a_plot_is_the_same_each_time(tmp_path: Path) -> None:
    """Two runs give the same bytes, as SVG and as PNG: a plot in a repository changes only when the figures do."""
    for suffix, magic in ((".svg", b"<?xml"), (".PNG", b"\x89PNG")):
        drawn = [tmp_path / f"{name}{suffix}" for name in "abcd"]
        for path in drawn[:2]:
            write_roc(path, CURVES)
        for path in drawn[2:]:
            write_bars(path, {"mine": form(has_ablation=True)})

        first, second, bars, again = (path.read_bytes() for path in drawn)
        assert (first, bars) == (second, again)
        assert first.startswith(magic)


def test_a_plot_has_a_curve_and_a_dot_for_each_label(tmp_path: Path) -> None:
    """More curves draw more; another operating point moves the dot alone; no date is written."""
    shifted = {"all parts": ([score + 0.12 for score in WANTED], [score + 0.12 for score in UNWANTED])}
    texts: dict[str, str] = {}
    for name, curves in (("one", {"all parts": CURVES["all parts"]}), ("two", CURVES), ("shifted", shifted)):
        write_roc(tmp_path / f"{name}.svg", curves)
        texts[name] = (tmp_path / f"{name}.svg").read_text(encoding="utf-8")

    legends = {name: text.count("<!-- all parts (AUC 0.680) -->") for name, text in texts.items()}
    assert {"one": 1, "two": 1, "shifted": 1} == legends
    assert 1 == texts["two"].count("<!-- raw top cosine (AUC 0.320) -->")
    one, moved = ([line for line in texts[name].splitlines() if "<use " in line] for name in ("one", "shifted"))
    assert 1 == sum(a != b for a, b in zip(one, moved, strict=True))
    assert "<dc:date>" not in texts["one"]
    assert ET.fromstring(texts["one"]).tag.endswith("svg")


def test_a_plot_needs_no_display(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing leaves pyplot, which looks for a display, alone, and follows no settings of the user's matplotlib."""
    from matplotlib import rcParams

    monkeypatch.setitem(rcParams, "axes.facecolor", "red")
    write_roc(tmp_path / "a.svg", CURVES)

    assert "matplotlib.pyplot" not in sys.modules
    assert "#ff0000" not in (tmp_path / "a.svg").read_text(encoding="utf-8")


def test_a_plot_of_one_class_is_an_error(tmp_path: Path) -> None:
    """Without unwanted prompts there is no curve; nothing is written."""
    with pytest.raises(HybridError, match="mine: a curve needs wanted and unwanted prompts"):
        write_roc(tmp_path / "a.svg", {"mine": ([0.1], [])})

    assert not (tmp_path / "a.svg").exists()


def test_what_cannot_be_drawn_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another suffix names the two that can be drawn; without matplotlib the extra is named."""
    with pytest.raises(HybridError, match=r"roc\.pdf .* must end in \.svg or \.png"):
        check_plot(tmp_path / "roc.pdf")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(HybridError, match=r"pip install .*\[plot\]"):
        check_plot(tmp_path / "roc.svg")


def test_gate_draws_its_curve(
    repos: Path, prompts_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--plot` draws a curve of each judged file, besides the report; chatty ones may all be wanted."""
    monkeypatch.setenv("HYBRID_HOME", str(tmp_path / "user"))
    chatty = tmp_path / "chatty.jsonl"
    chatty.write_text("".join(f"{line}\n" for line in prompts_file.read_text().splitlines() if '"inject"' in line))
    arguments = ["--repos", str(repos), "--chatty", str(chatty), "--plot", str(tmp_path / "roc.svg")]

    code = run(["eval", "gate", str(prompts_file), *arguments, "--set", "model.name=hashing-64"], started_s=0.0)

    assert 0 == code, capsys.readouterr().err
    assert "by kind" in capsys.readouterr().out
    drawn = (tmp_path / "roc.svg").read_text(encoding="utf-8")
    assert all(f"<!-- {name} (AUC " in drawn for name in ("prompts", "chatty"))


def test_a_plot_that_cannot_be_drawn_is_refused_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Before minutes of building indexes: the judged file is not even read."""
    code = run(["eval", "gate", "nowhere.jsonl", "--repos", str(tmp_path), "--plot", "roc.gif"], started_s=0.0)

    assert 2 == code
    assert "must end in .svg or .png" in capsys.readouterr().err


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


def test_nothing_cannot_be_drawn(tmp_path: Path) -> None:
    """The message says why, and no file is left."""
    with pytest.raises(HybridError, match="nothing to draw"):
        write_bars(tmp_path / "a.svg", {"mine": {**form(), "queries": 0}})

    assert not (tmp_path / "a.svg").exists()
