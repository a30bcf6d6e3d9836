"""`hybrid log --plot`: times, and distances from the gate's bar with marks, as bars on wide and narrow terminals."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from hybrid.cli.plots import is_utf8, lines_of, plots_of
from tests.support.builders import new_shop

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.builders import Shop


def _event(at: int, latency_ms: float, score: float | None, threshold: float = 0.3, **changes: Any) -> dict[str, Any]:
    """A prompt of the log."""
    fields = {"id": f"{at:010x}", "reason": "gate", "latency_ms": latency_ms, "score": score, "threshold": threshold}
    return fields | changes


EVENTS = [
    *(_event(at, 12, 0.31) for at in range(8)),
    *(_event(at, 30, 0.22) for at in range(8, 12)),
    _event(12, 150, 0.30),
    _event(13, 20_000, 9.0),
    _event(14, 8, -9.0),
    _event(15, 8, 0.5, threshold=-9.0),
    _event(16, 8, None),
    _event(17, 1, 0.9, event="Stop"),
    _event(18, 1, 0.9, error="failed"),
]
MARKS = {"0000000000": "good", "0000000008": "noise", "0000000009": "noise"}


def test_events_are_counted_by_time_and_by_distance_from_the_bar() -> None:
    """Only prompts count; a score at its bar lies below, and a bar that keeps nothing out has no distance."""
    plots = plots_of(EVENTS, MARKS)

    assert (17, 12.0, 20_000.0) == (plots.n_timed, plots.p50_ms, plots.p95_ms)
    assert [(5, 3), (10, 8), (20, 4), (50, 0), (100, 1), (200, 0)] == [(one.low, one.count) for one in plots.latency][
        :6
    ]
    assert (5000, None, 1) == (plots.latency[-1].low, plots.latency[-1].high, plots.latency[-1].count)
    assert (15, 9) == (plots.n_gated, plots.n_open)
    assert {(None, -0.5): 1, (-0.1, -0.05): 4, (-0.05, 0.0): 1, (0.0, 0.05): 8, (0.5, None): 1} == {
        (one.low, one.high): one.count for one in plots.gate if one.count
    }
    assert {(0.0, 1, 0), (-0.1, 0, 2)} == {
        (one.low, one.good, one.noise) for one in plots.gate if one.good or one.noise
    }


@pytest.mark.parametrize("width", [56, 60, 80, 200])
@pytest.mark.parametrize("is_ascii", [False, True])
def test_bars_fit_the_terminal(width: int, is_ascii: bool) -> None:
    """The longest bar is that of the largest count, and what is more than nothing is seen."""
    lines = lines_of(plots_of(EVENTS, MARKS), width=width, is_ascii=is_ascii)
    block = "#" if is_ascii else "█"
    bars = {line.strip(): line.count(block) for line in lines if line.endswith((" 8", " 8 (1 good)"))}

    assert width >= max(map(len, lines))
    assert is_ascii is "".join(lines).isascii()
    assert all(bars.values())
    assert max(line.count(block) for line in lines) in bars.values()
    assert any("#" in line or "▌" in line or "█" in line or "▋" in line for line in lines if line.endswith(" 1"))


def test_the_bar_stands_between_open_and_silent() -> None:
    """Distances fall from line to line, and the line that names the bar stands at 0."""
    lines = lines_of(plots_of(EVENTS, MARKS), width=60, is_ascii=True)
    at = next(place for place, line in enumerate(lines) if line.startswith("--- the bar: silent below"))

    assert "Gate: score minus bar of 15 prompts, 9 (60%) above it" in lines
    assert " 0 to +0.05" in lines[at - 1]
    assert "-0.05 to 0" in lines[at + 1]
    assert lines[at - 1].endswith("8 (1 good)")
    assert lines[at + 2].endswith("4 (2 noise)")


def test_nothing_is_drawn_of_nothing() -> None:
    """A plot without an event is left out."""
    assert [] == lines_of(plots_of([], {}), width=80, is_ascii=False)
    assert ["Time of 1 prompt: p50 8 ms, p95 8 ms"] == lines_of(
        plots_of([_event(1, 8, None)], {}), width=80, is_ascii=True
    )[:1]


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, True),
        ({"LANG": "C.UTF-8"}, True),
        ({"LANG": "en_US.utf8"}, True),
        ({"LC_ALL": "C", "LANG": "C.UTF-8"}, False),
        ({"LANG": "de_DE.ISO-8859-1"}, False),
        ({"LC_CTYPE": "C.UTF-8", "LANG": "C"}, True),
    ],
)
def test_the_locale_says_whether_blocks_are_shown(environ: dict[str, str], expected: bool) -> None:
    """Where none is set, as in many containers, terminals still are of UTF-8."""
    assert expected is is_utf8(environ)


@pytest.fixture(scope="module")
def used(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """A project with a log of two prompts, one of them marked."""
    shop = new_shop(tmp_path_factory.mktemp("plotted"))
    shop.hook("How does the payment client retry a request after a timeout?")
    shop.hook("what should I cook for dinner tonight?")
    shop.out("mark", "--last", "noise", "--quiet")
    return shop


def test_the_command_draws_the_log(used: Shop) -> None:
    """With marks, as wide as the terminal; filters hold, and JSON has the figures."""
    shown = used.out("log", "--plot", COLUMNS="60", LC_ALL="C")

    assert "Time of 2 prompts: p50 " in shown
    assert "Gate: score minus bar of 2 prompts, 1 (50%) above it" in shown
    assert " 1 (1 noise)\n" in shown
    assert 60 >= max(map(len, shown.splitlines()))
    assert shown.isascii()
    assert "█" in used.out("log", "--plot", LC_ALL="C.UTF-8")
    assert 1 == used.json("log", "--plot", "--reason", "gate")["n_timed"]
    assert "No prompt among them was recorded.\n" == used.out("log", "--plot", "--client", "nobody", code=1)


def test_a_mark_outlives_the_log(used: Shop, tmp_path: Path) -> None:
    """What was marked is drawn although the log has rotated it away; it has no time any more."""
    log = used.home / "log" / "events.jsonl"
    kept = log.read_bytes()
    log.write_bytes(kept.splitlines(keepends=True)[0])
    found = used.json("log", "--plot")
    log.write_bytes(kept)

    assert (1, 2) == (found["n_timed"], found["n_gated"])
    assert json.dumps(found).count('"noise": 1') == 1
