"""Sums over judged queries, and the comparison of two configurations."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from hybrid.config import load
from hybrid.evaluation.measures import MEASURES
from hybrid.evaluation.results import compare
from hybrid.evaluation.retrieval import ablations, against, in_force
from tests.unit.evaluation.rankings import FIRST, SECOND, results


def test_the_median_of_tokens_is_of_all_queries() -> None:
    """The mean is that of the repositories' means, the median that of everything that was read."""
    found = results({"a": [(10, 0), (20, 0), (30, 0)], "b": [(1000, 0)]}).overall(FIRST)

    assert (510.0, 25.0) == (found["tokens_mean"], found["tokens_median"])


def test_times_are_told_beside_others_of_the_same_run() -> None:
    """As a ratio to a bare interpreter start, and to the first configuration."""
    form = results({"a": [(0.5, 0.5), (0.5, 0.5)]}).as_json(bare_ms=2.0)
    first, second = (form["configurations"][label]["latency"] for label in (FIRST, SECOND))

    assert (2, 1.0, 1.0, 0.5, 1.0) == tuple(
        first[key] for key in ("n", "median_ms", "p95_ms", "per_bare_start", "per_first")
    )
    assert (1.5, 3.0) == (second["per_bare_start"], second["per_first"])


def test_a_set_without_answers_has_no_figures() -> None:
    """What is not a number is None in JSON, which knows no NaN."""
    found = results({})
    form = found.as_json(bare_ms=2.0)

    assert math.isnan(found.overall(FIRST)["nDCG@10"])
    assert (0, None, None) == (
        form["queries"],
        form["configurations"][FIRST]["overall"]["nDCG@10"],
        form["configurations"][FIRST]["latency"],
    )


def test_an_ablation_switches_every_piece_off_in_turn(tmp_path: Path) -> None:
    """Each leg, the ranker, and each piece that has a weight; one that is off already is not tried."""
    config = load(home=tmp_path, environ={}).config
    config = replace(config, search=replace(config.search, ranker="evidence"))
    all_of_them = {each.label: each for each in ablations(config, "hybrid")}
    fewer = ablations(replace(config, ranking=replace(config.ranking, remarks=0.0)), "hybrid")

    assert ("lexical", "dense") == tuple(all_of_them[f"{leg} leg alone"].mode for leg in ("lexical", "dense"))
    assert ("search.ranker=rrf",) == all_of_them["fusion alone"].settings
    assert ("ranking.test=0",) == all_of_them["no test"].settings
    assert "ranking.feedback=0" in all_of_them["no cosine at all"].settings
    assert {"no remarks"} == all_of_them.keys() - {each.label for each in fewer}


def test_without_the_evidence_ranker_its_pieces_are_not_tried(tmp_path: Path) -> None:
    """They would change nothing; of a single leg there is nothing to switch off at all."""
    config = load(home=tmp_path, environ={}).config
    config = replace(config, search=replace(config.search, ranker="rrf"))

    assert ["lexical leg alone", "dense leg alone"] == [each.label for each in ablations(config, "hybrid")]
    assert [] == ablations(config, "lexical")


def test_labels_say_what_is_compared() -> None:
    """The mode for the settings in force, the settings for another configuration."""

    assert ["dense", "hybrid"] == [each.label for each in in_force(("dense", "hybrid"))]
    assert "search.rrf_k=20, search.depth=50" == against(("search.rrf_k=20", "search.depth=50"), "hybrid").label


SCORES = st.lists(
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=1, max_size=4), min_size=1, max_size=4
).map(lambda repos: {f"r{number}": pairs for number, pairs in enumerate(repos)})


def test_the_difference_is_that_of_the_means_of_repositories() -> None:
    """Hand-worked: +0.2 in a repository of one query and −0.1 in one of three are +0.05, not the mean of the queries."""
    found = compare(results({"a": [(0.5, 0.7)], "b": [(0.4, 0.1), (0.4, 0.4), (0.4, 0.4)]}), FIRST, SECOND)["nDCG@10"]

    assert (0.45, 0.5, 0.05) == pytest.approx((found.first, found.second, found.difference))
    assert (0.5, 0.0, 0.5) == (found.better, found.equal, found.worse)


def test_fewer_tokens_are_better() -> None:
    """Of a cost a negative difference is an improvement, and choosing by it gains."""
    found = compare(results({"a": [(0.9, 0.4)], "b": [(0.9, 0.5)]}), FIRST, SECOND)
    tokens, quality = found["tokens"], found["R@10"]

    assert tokens.difference == quality.difference == pytest.approx(-0.45)
    assert (1.0, 0.0) == (tokens.better, quality.better)
    assert tokens.kept is not None
    assert quality.kept is not None
    assert (1.0, 0.0) == (tokens.kept.second_chosen, quality.kept.second_chosen)
    assert tokens.kept.gain == quality.kept.gain == pytest.approx(0.45, abs=0.02)


def test_the_interval_tells_luck_from_gain() -> None:
    """What is the same everywhere has an interval without width; what differs in sign has one around 0."""
    sure = compare(results({name: [(0.5, 0.6)] * 3 for name in "abcd"}), FIRST, SECOND)["nDCG@10"]
    luck = compare(results({name: [(0.5, 0.9), (0.9, 0.5)] for name in "abcd"}), FIRST, SECOND)["nDCG@10"]

    assert (0.1, 0.1) == pytest.approx((sure.low, sure.high))
    assert sure.low > 0
    assert luck.low < -0.1 < 0.1 < luck.high


def test_the_interval_is_that_of_the_exact_distribution() -> None:
    """Two repositories of one query each: a resample is −1, 0 or +1 with 1/4, 1/2, 1/4, so 95 % reach from −1 to +1."""
    found = compare(results({"a": [(1.0, 0.0)], "b": [(0.0, 1.0)]}), FIRST, SECOND)["RR@10"]

    assert (-1.0, 0.0, 1.0) == (found.low, found.difference, found.high)


def test_queries_are_resampled_inside_repositories() -> None:
    """With one repository the width comes from its queries alone, as the binomial says: 8 of 16 give ± 0.25 or so."""
    found = compare(results({"a": [(0.0, 1.0)] * 8 + [(0.0, 0.0)] * 8}), FIRST, SECOND)["RR@10"]

    assert 0.5 == found.difference
    assert 0.25 <= found.low <= 0.3125
    assert 0.6875 <= found.high <= 0.75


def test_a_choice_that_does_not_hold_elsewhere_loses() -> None:
    """When one repository alone likes the second, whoever chose with it in sight is wrong on the other half."""
    found = compare(results({"a": [(0.0, 1.0)], **{name: [(0.5, 0.3)] for name in "bcd"}}), FIRST, SECOND)["nDCG@10"]

    assert found.kept is not None
    assert "repositories" == found.of
    assert found.difference > 0
    # With `a` in sight (half of the time) the second is chosen and loses 0.2, otherwise the first and loses 0.4.
    assert 0.4 < found.kept.second_chosen < 0.6
    assert found.kept.gain == pytest.approx(-0.2 * found.kept.second_chosen - 0.4 * (1 - found.kept.second_chosen))
    assert 0.0 == found.kept.held


def test_a_single_repository_is_told_by_its_queries() -> None:
    """There is no other repository to count or to choose on; a single query cannot be halved."""
    several = compare(results({"a": [(0.1, 0.2)] * 4}), FIRST, SECOND)["nDCG@10"]
    mixed = compare(results({"a": [(0.1, 0.2), (0.1, 0.1), (0.1, 0.1), (0.2, 0.1)]}), FIRST, SECOND)["nDCG@10"]
    single = compare(results({"a": [(0.1, 0.2)]}), FIRST, SECOND)["nDCG@10"]

    assert several.kept is not None
    assert ("queries", 1.0) == (several.of, several.kept.held)
    assert (0.25, 0.5, 0.25) == (mixed.better, mixed.equal, mixed.worse)
    assert single.kept is None


def test_nothing_asked_is_nothing_compared() -> None:
    """An empty set has no differences."""

    assert {} == compare(results({}), FIRST, SECOND)


@given(SCORES)
def test_swapping_the_two_turns_every_sign(scores: dict[str, list[tuple[float, float]]]) -> None:
    """Neither side is favoured, the mean lies in the interval's reach, and the shares add up to 1."""
    there = compare(results(scores), FIRST, SECOND)
    back = compare(results({repo: [(b, a) for a, b in pairs] for repo, pairs in scores.items()}), FIRST, SECOND)

    for measure in MEASURES:
        one, other = there[measure], back[measure]
        assert one.difference == pytest.approx(-other.difference)
        assert (one.low, one.high) == pytest.approx((-other.high, -other.low), abs=1e-9)
        assert (one.better, one.worse) == (other.worse, other.better)
        assert 1 == pytest.approx(one.better + one.equal + one.worse)
        assert all(map(math.isfinite, (one.low, one.high)))
