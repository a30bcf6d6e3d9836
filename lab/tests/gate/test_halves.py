from __future__ import annotations

import json
import math
from random import Random

from hybrid_lab.gate.halves import as_json, halves, random_half
from lab.tests.gate.reports import asked, report, wanted

REPOS = ("bakery", "boats", "mill", "yard")
ASKED = [
    decision
    for repo in REPOS
    for n in range(6)
    for decision in (wanted(0.1 * n, of=f"w{n}", repo=repo), asked(0.05 * n - 0.2, of=f"u{n}", repo=repo))
]


def test_a_half_has_half_of_the_repositories_and_half_of_the_prompts() -> None:
    """Each prompt that stays was asked of each repository that stays."""
    half = random_half(report(*ASKED, repos=REPOS), Random(0))
    repos, prompts = {one.repo for one in half.asked}, {one.prompt.id for one in half.asked}

    assert (2, 6) == (len(repos), len(prompts))
    assert 12 == len(half.asked)


def test_one_repository_stays() -> None:
    """Only its prompts are halved; of an odd number the greater part stays."""
    half = random_half(report(*(wanted(0.1, of=f"w{n}") for n in range(5))), Random(0))

    assert 3 == len(half.asked)


def test_the_halves_scatter_about_the_whole() -> None:
    """The figures of the whole lie within the range; the same call gives the same figures."""
    whole = report(*ASKED, repos=REPOS)
    found = halves(whole, 50)

    assert found == halves(whole, 50)
    assert ["true_rate", "false_rate", "true_rate_at_1%", "true_rate_at_2%"] == list(found)
    for name, rate in (("true_rate", whole.true_rate), ("false_rate", whole.false_rate)):
        assert found[name].low < rate < found[name].high
        assert found[name].low < found[name].mean < found[name].high


def test_figures_that_do_not_vary_have_no_range() -> None:
    """When every wanted prompt opens and no other one does, each half says so."""
    decisions = [one for n in range(40) for one in (wanted(0.5, of=f"w{n}"), asked(-0.5, of=f"u{n}"))]
    found = halves(report(*decisions), 10)

    assert {(1.0, 1.0, 1.0)} == {(of.mean, of.low, of.high) for name, of in found.items() if name != "false_rate"}
    assert (0.0, 0.0, 0.0) == (found["false_rate"].mean, found["false_rate"].low, found["false_rate"].high)


def test_wanted_prompts_alone_have_no_figures() -> None:
    """Without unwanted prompts there is no false rate to hold; the JSON says null."""
    found = halves(report(*(wanted(0.1, of=f"w{n}") for n in range(4))), 3)
    form = as_json(found, 3)

    assert all(math.isnan(of.mean) for of in found.values())
    assert form == json.loads(json.dumps(form, allow_nan=False))
    assert (3, {"mean": None, "low": None, "high": None}) == (form["n"], form["of"]["true_rate"])
