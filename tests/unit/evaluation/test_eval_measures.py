import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybrid.evaluation.measures import (
    NAMES,
    FilePassage,
    files_of,
    mean_of,
    ndcg,
    recall,
    reciprocal_rank,
    score,
    summary_of,
    target_ranks,
    tokens_to_hit,
)

LOG3, LOG4 = math.log2(3), math.log2(4)


@pytest.mark.parametrize(
    ("ranks", "expected"),
    [
        pytest.param([1], 1.0, id="on top"),
        pytest.param([2], 1 / LOG3, id="second"),
        pytest.param([3], 1 / LOG4, id="third"),
        pytest.param([10], 1 / math.log2(11), id="last place"),
        pytest.param([11], 0.0, id="too late"),
        pytest.param([None], 0.0, id="not found"),
        pytest.param([], 0.0, id="no targets"),
        pytest.param([1, 2], 1.0, id="two on top"),
        pytest.param([2, 1], 1.0, id="order of targets"),
        pytest.param([1, 1], 1 / (1 + 1 / LOG3), id="one place for two"),
        pytest.param([1, None], 1 / (1 + 1 / LOG3), id="one of two"),
        pytest.param([2, 3, None], (1 / LOG3 + 1 / LOG4) / (1 + 1 / LOG3 + 1 / LOG4), id="three targets"),
        pytest.param(list(range(1, 13)), 1.0, id="more targets than places"),
    ],
)
def test_ndcg_of_hand_worked_ranks(ranks: list[int | None], expected: float) -> None:
    """Each place with a hit gives 1 / log2(place + 1), divided by that of the ideal; a shared place gives it once."""

    assert expected == pytest.approx(ndcg(ranks))


@pytest.mark.parametrize(
    ("passage", "target", "expected"),
    [
        pytest.param(FilePassage("a.py", 1, 5), FilePassage("a.py", 5, 9), True, id="touches"),
        pytest.param(FilePassage("a.py", 5, 9), FilePassage("a.py", 1, 5), True, id="touches from below"),
        pytest.param(FilePassage("a.py", 1, 4), FilePassage("a.py", 5, 9), False, id="above"),
        pytest.param(FilePassage("a.py", 1, 20), FilePassage("a.py", 5, 9), True, id="around"),
        pytest.param(FilePassage("a.py", 1, 4), FilePassage("a.py"), True, id="whole file wanted"),
        pytest.param(FilePassage("a.py"), FilePassage("a.py", 5, 9), True, id="whole file given"),
        pytest.param(FilePassage("b.py", 5, 9), FilePassage("a.py", 5, 9), False, id="file"),
        pytest.param(FilePassage("src/a.py"), FilePassage("a.py"), False, id="folder"),
    ],
)
def test_a_passage_hits_lines_in_common(passage: FilePassage, target: FilePassage, expected: bool) -> None:
    """Paths must be equal, and where both have lines they must share one."""

    assert expected is passage.hits(target)


def test_the_first_hitting_passage_is_the_rank_of_a_target() -> None:
    """Of several chunks of one file only the first that overlaps counts for a target; the eleventh is not looked at."""
    places = [("a.py", 1, 9), ("a.py", 10, 19), ("b.py", 1, 5), ("a.py", 15, 30)]
    targets = [FilePassage("a.py", 12, 14), FilePassage("b.py"), FilePassage("c.py"), FilePassage("a.py")]
    many = [FilePassage(f"{n}.py") for n in range(11)]

    assert [2, 3, None, 1] == target_ranks([FilePassage(*place) for place in places], targets)
    assert [10, None] == target_ranks(many, [FilePassage("9.py"), FilePassage("10.py")])
    assert 25.0 == tokens_to_hit(many, [FilePassage("10.py")], [10] * 11)
    assert 0.0 == tokens_to_hit([], [FilePassage("10.py")], [])


def test_scores_of_a_hand_worked_query() -> None:
    """NDCG counts chunks; recall, reciprocal rank and success count files at their best chunk."""
    ranking = [
        FilePassage("x.py", 1, 9),
        FilePassage("x.py", 10, 19),
        FilePassage("a.py", 1, 9),
        FilePassage("b.py", 1, 9),
    ]
    targets = [FilePassage("a.py", 5, 5), FilePassage("b.py", 50, 60), FilePassage("c.py")]
    expected = {
        "nDCG@10": (1 / LOG4) / (1 + 1 / LOG3 + 1 / LOG4),
        "R@5": 2 / 3,
        "R@10": 2 / 3,
        "RR@10": 1 / 2,
        "Success@1": 0.0,
    }

    assert expected == pytest.approx(score(ranking, targets))


@pytest.mark.parametrize(
    ("targets", "expected"),
    [
        pytest.param([FilePassage("a.py", 10, 10)], 30.0, id="up to the hit"),
        pytest.param([FilePassage("a.py", 10, 10), FilePassage("x.py")], 10.0, id="first of two"),
        pytest.param([FilePassage("a.py", 99, 99)], 100.0, id="miss"),
        pytest.param([], 100.0, id="no target"),
    ],
)
def test_tokens_are_read_up_to_the_first_hit(targets: list[FilePassage], expected: float) -> None:
    """The chunk that hits is read, too; a miss costs all; four characters are a token."""
    ranking = [
        FilePassage("x.py", 1, 9),
        FilePassage("a.py", 1, 9),
        FilePassage("a.py", 10, 19),
        FilePassage("b.py", 1, 9),
    ]

    assert expected == tokens_to_hit(ranking, targets, [40, 20, 60, 280])


def test_the_summary_has_mean_and_median_of_the_tokens() -> None:
    """One long miss moves the mean, not the median."""
    scores = [dict.fromkeys(NAMES, 0.5) | {"tokens": tokens} for tokens in (10.0, 20.0, 600.0)]

    assert dict.fromkeys(NAMES, 0.5) | {"tokens_mean": 210.0, "tokens_median": 20.0} == summary_of(scores)
    assert math.isnan(summary_of([])["tokens_median"])


def test_recall_and_reciprocal_rank() -> None:
    """A rank beyond the depth is as good as none; one over the best rank; nothing without a rank."""
    assert (0.5, 0.0) == (recall([1, 5, 6, None], depth=5), recall([], depth=5))
    assert (0.25, 0.0) == (reciprocal_rank([None, 7, 4]), reciprocal_rank([None]))


def test_files_keep_the_order_of_their_best_chunk() -> None:
    """Each file stands once, where it first appears."""
    passages = [FilePassage("b.py", 1, 2), FilePassage("a.py", 1, 2), FilePassage("b.py", 3, 4)]

    assert [FilePassage("b.py"), FilePassage("a.py")] == files_of(passages)


def test_the_mean_is_taken_of_each_measure() -> None:
    """Every measure has a mean of its own; no scores must not look like bad scores."""
    scores = [dict.fromkeys(NAMES, 1.0), dict.fromkeys(NAMES, 0.0) | {"R@5": 0.5}]

    assert dict.fromkeys(NAMES, 0.5) | {"R@5": 0.75} == mean_of(scores)
    assert all(math.isnan(value) for value in mean_of([]).values())


RANKS = st.lists(st.none() | st.integers(1, 12), min_size=1, max_size=12)


@given(RANKS.flatmap(lambda ranks: st.tuples(st.just(ranks), st.permutations(ranks))))
def test_ndcg_lies_in_zero_to_one(pair: tuple[list[int | None], list[int | None]]) -> None:
    """Whatever the ranks, the measure is a share of the ideal, and all targets weigh the same."""
    assert 0 <= ndcg(pair[0]) <= 1 + 1e-12
    assert ndcg(pair[0]) == ndcg(pair[1])
