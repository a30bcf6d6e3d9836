import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.evaluation.decisions import Rates, Spread, at_false_rate, auc, best_rates, open_rate, rates_at, spread

WANTED = [0.9, 0.6, 0.4, -math.inf]
UNWANTED = [0.5, 0.4, 0.2, 0.1, -math.inf]


@pytest.mark.parametrize(
    ("wanted", "unwanted", "expected"),
    [
        ([0.9, 0.8], [0.1, 0.2], 1.0),
        ([0.1], [0.9], 0.0),
        ([0.5], [0.5], 0.5),
        ([0.9, 0.3], [0.5, 0.1], 0.75),
        ([-math.inf, 0.9], [-math.inf, -math.inf], 0.75),
        (WANTED, UNWANTED, (5 + 5 + 3.5 + 0.5) / 20),
    ],
    ids=["apart", "upside down", "tie", "one pair swapped", "silenced ones tie", "hand-worked"],
)
def test_auc_is_the_share_of_pairs_in_order(wanted: list[float], unwanted: list[float], expected: float) -> None:
    """Of all pairs of a wanted and an unwanted score, those in order count one and ties one half."""

    assert expected == pytest.approx(auc(wanted, unwanted))


def test_auc_of_one_class_is_not_a_number() -> None:
    """There is no pair to count."""

    assert math.isnan(auc([], [0.1]))


def test_a_silenced_score_never_opens() -> None:
    """Even the lowest threshold does not open for what a rule silenced."""

    assert 0.75 == open_rate(WANTED, -1.0)
    assert 0.75 == open_rate(WANTED, -math.inf)


def test_a_score_that_reaches_the_threshold_opens() -> None:
    """Equal is enough."""

    assert Rates(0.4, 0.75, 0.4) == rates_at(0.4, WANTED, UNWANTED)


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (0.0, Rates(0.6, 0.5, 0.0)),
        (0.2, Rates(0.5, 0.5, 0.2)),
        (0.4, Rates(0.4, 0.75, 0.4)),
        (1.0, Rates(0.1, 0.75, 0.8)),
    ],
    ids=["none", "one in five", "two in five", "all"],
)
def test_the_lowest_threshold_within_a_false_rate(limit: float, expected: Rates) -> None:
    """The threshold is an observed score, as low as the false rate allows."""
    found = at_false_rate(limit, WANTED, UNWANTED)

    assert (expected.threshold, expected.true_rate) == (found.threshold, found.true_rate)
    assert expected.false_rate == pytest.approx(found.false_rate)


def test_no_threshold_when_the_top_scores_are_unwanted() -> None:
    """When even the highest score opens too often, nothing may open."""

    assert Rates(math.inf, 0.0, 0.0) == at_false_rate(0.5, [0.1], [0.9])


def test_the_best_threshold_has_the_largest_difference() -> None:
    """True rate minus false rate is 0.5 at 0.6, and less elsewhere."""
    found = best_rates(WANTED, UNWANTED)

    assert (0.6, 0.5, 0.0) == (found.threshold, found.true_rate, found.false_rate)


def test_nothing_to_compare_has_no_threshold() -> None:
    """Silenced prompts alone leave nothing to choose from."""

    assert math.inf == best_rates([-math.inf], []).threshold


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.5], Spread(0.5, 0.5, 0.5)),
        ([1.0, 0.0], Spread(0.5, 0.05, 0.95)),
        ([float(n) for n in range(20, -1, -1)], Spread(10.0, 1.0, 19.0)),
    ],
    ids=["one", "two", "twenty-one"],
)
def test_a_spread_has_mean_and_quantiles(values: list[float], expected: Spread) -> None:
    """The quantiles lie between neighbours, in whatever order the values come."""
    found = spread(values)

    assert (expected.mean, expected.low, expected.high) == pytest.approx((found.mean, found.low, found.high))


def test_the_spread_of_nothing_is_not_a_number() -> None:
    """There is no mean of no value."""
    found = spread([])

    assert all(math.isnan(value) for value in (found.mean, found.low, found.high))


SCORES = st.lists(st.floats(-1, 1) | st.just(-math.inf), min_size=1, max_size=30)


@given(SCORES, SCORES, st.floats(0, 1))
def test_a_false_rate_is_never_exceeded(wanted: list[float], unwanted: list[float], limit: float) -> None:
    """Counting again at the threshold that was found gives rates within the limit, and the same ones."""
    found = at_false_rate(limit, wanted, unwanted)
    again = rates_at(found.threshold, wanted, unwanted)

    assert found.false_rate <= limit
    assert (found.true_rate, found.false_rate) == pytest.approx((again.true_rate, again.false_rate))


@given(SCORES, SCORES)
def test_auc_of_swapped_classes_adds_to_one(wanted: list[float], unwanted: list[float]) -> None:
    """What is above for one is below for the other."""

    assert auc(wanted, unwanted) + auc(unwanted, wanted) == pytest.approx(1)
