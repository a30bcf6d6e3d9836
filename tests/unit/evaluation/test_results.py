import math
from pathlib import Path

from msgspec.structs import replace

from hybrid.config import load
from hybrid.evaluation.trees import ablations, against, in_force
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
