"""What follows the vectors of a table: what halves choose, and the floors that as many unrelated texts reach."""

from __future__ import annotations

import json
import sys
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from hybrid_lab.training import refit
from hybrid_lab.training.pairs import HELD_OUT

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

REPOS = ("a", "b", "c", "d")


def _mean_of(figures: Mapping[str, Mapping[str, float]]) -> Callable[[str, frozenset[str]], float]:
    """The worth of an option on a part of the repositories: the mean of its figures there."""
    return lambda option, part: sum(figures[option][repo] for repo in part) / len(part)


def test_halves_share_nothing_and_hold_everything() -> None:
    """The first is the smaller one when the number is odd."""
    half, other = refit.halves("abcde", Random(1))

    assert (2, 3) == (len(half), len(other))
    assert frozenset("abcde") == half | other


def test_an_option_that_is_better_everywhere_is_always_chosen() -> None:
    """Its gain is the same on every half."""
    figures = {"old": dict.fromkeys(REPOS, 0.5), "new": dict.fromkeys(REPOS, 0.75)}
    found = refit.choose(
        ["old", "new"],
        "old",
        _mean_of(figures),
        lambda random: refit.halves(REPOS, random),
        n=20,
    )

    assert ("new", 1.0) == (found.label, found.share)
    assert [0.25] * 3 == [found.gain.mean, found.gain.low, found.gain.high]


def test_an_option_that_is_better_in_one_place_gains_nothing_elsewhere() -> None:
    """Where it is chosen because of one repository, the other half does not have that one."""
    figures = {"old": dict.fromkeys(REPOS, 0.5), "lucky": {"a": 1.0, "b": 0.25, "c": 0.25, "d": 0.25}}
    found = refit.choose(
        ["old", "lucky"],
        "old",
        _mean_of(figures),
        lambda random: refit.halves(REPOS, random),
        n=40,
    )

    assert found.gain.mean < 0
    assert -0.25 == found.gain.low


def test_of_equal_options_the_first_is_chosen_each_time() -> None:
    """So nothing moves without a reason."""
    found = refit.choose(["in force", "same"], "in force", lambda *_: 1.0, lambda r: refit.halves(REPOS, r), n=5)

    assert refit.Choice("in force", 1.0, found.gain) == found
    assert 0 == found.gain.mean


def test_a_floor_moves_to_where_as_many_unrelated_texts_reach_it() -> None:
    """Hand-worked: a quarter lies at or above 0.3 before, and at or above 0.6 now."""
    before = np.array([0.0, 0.1, 0.2, 0.3], np.float32)
    found = refit.floors(before, before * 2, {"search.min_cosine": float(np.float32(0.3))})

    share, now = found["search.min_cosine"]
    assert 0.25 == share
    assert 0.4 <= now <= 0.6


def test_unrelated_are_other_files_of_the_same_repository(tmp_path: Path) -> None:
    """A pair's own document, one of its file and those of other repositories are left out."""
    rows = [("p", "a.py", "read the till"), ("p", "b.py", "count coins"), ("p", "b.py", "weigh"), ("q", "c.py", "open")]
    lines = [
        json.dumps(
            {"q": text, "d": f"def f(): return {text!r}", "lang": "python", "repo": repo, "path": path, "type": "t"}
        )
        for repo, path, text in rows
    ]
    (tmp_path / HELD_OUT).write_text("\n".join(lines), encoding="utf-8")

    cosines = refit.unrelated("hashing", tmp_path, tmp_path)

    assert 4 == len(cosines)
    assert sorted(cosines.tolist()) == cosines.tolist()


def test_the_script_prints_what_halves_chose(
    repos: Path, queries_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of each set a row, and the gate with its rate and the raw threshold."""
    prompts = tmp_path / "gate.jsonl"
    first = json.loads(queries_file.read_text(encoding="utf-8").split("\n")[0])
    rows = [
        {"id": "1", "repo": first["repo"], "prompt": first["query"], "expect": "inject", "kind": "question"},
        {
            "id": "2",
            "repo": None,
            "prompt": "which wine goes with fish tonight?",
            "expect": "stay_silent",
            "kind": "life",
        },
    ]
    prompts.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    args = ["refit", "hashing", str(tmp_path), "--repos", str(repos), "--questions", str(queries_file)]
    monkeypatch.setattr(sys, "argv", [*args, "--gate", str(prompts)])

    refit.main()

    printed = capsys.readouterr().out
    assert "raw top cosine: threshold" in printed
    assert "meaning, questions" in printed
    assert "gate.max_other_task_rate" in printed
