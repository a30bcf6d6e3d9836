from __future__ import annotations

import math

import numpy as np
import pytest

from hybrid.search.gate.statistic import (
    TOGETHER_TERMS,
    chat_closeness,
    code_logit,
    gain,
    hubness,
    length_penalty,
    null_factor,
    rarest,
    rarity,
)


def _row(*values: float) -> np.ndarray:
    return np.array([values], np.float32)


@pytest.mark.parametrize(("length", "factor"), [(0, 0), (0.75, 0.6), (1, math.sqrt(0.5)), (2.4, 12 / 13)])
def test_null_factor(length: float, factor: float) -> None:
    """A query's length n becomes n / √(n² + 1)."""

    assert [pytest.approx(factor, abs=1e-7)] == null_factor(np.array([length], np.float32)).tolist()


def test_null_factor_stays_below_one() -> None:
    """However much a query says, its factor is at most 1; the numbers stay float32."""
    found = null_factor(np.array([1, 10, 1e4], np.float32))

    assert np.float32 == found.dtype
    assert (np.diff(found) > 0).all()
    assert found.max() <= 1


def test_hubness_is_the_mean_of_the_ten_nearest() -> None:
    """Of twelve prompts the two farthest do not count, wherever they stand."""

    assert [pytest.approx(0.65)] == hubness(_row(0.2, 0.3, 0.4, 0.5, 0.1, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 0.0)).tolist()


def test_chat_closeness_is_the_mean_of_the_three_nearest() -> None:
    """Each row is judged by itself."""
    cosines = np.array([[0.1, 0.9, 0.5, 0.4], [-0.5, -0.1, -0.3, -0.2]], np.float32)

    assert [pytest.approx(0.6), pytest.approx(-0.2)] == chat_closeness(cosines).tolist()


def test_fewer_neighbours_than_wanted_give_their_mean() -> None:
    """A background of two prompts has no third one; without a background nothing is subtracted; no rows give none."""
    assert [pytest.approx(0.3)] == chat_closeness(_row(0.2, 0.4)).tolist()
    assert [pytest.approx(0.3)] == hubness(_row(0.2, 0.4)).tolist()
    assert [0, 0] == hubness(np.zeros((2, 0), np.float32)).tolist()
    assert [] == chat_closeness(np.zeros((0, 5), np.float32)).tolist()


def _logit(*point: float) -> float:
    (found,) = code_logit(_row(*point), np.array([2, -2], np.float32), 0.5).tolist()
    return found


@pytest.mark.parametrize(("point", "logit"), [((1, 0), 2.5), ((0, 1), -1.5), ((0, 0), 0.5)])
def test_code_logit(point: tuple[float, float], logit: float) -> None:
    """W · q + b."""

    assert pytest.approx(logit) == _logit(*point)


def test_code_logit_has_two_ends() -> None:
    """It counts 4 at most; against code it counts no more than for it."""

    assert 4 == _logit(9, 0) == _logit(99, 0)
    assert -4 <= _logit(0, 9) == _logit(0, 99) < -1.5


def _gain(n_here: float, n_chunks: int, n_generic: float, n_documents: int) -> float:
    (found,) = gain(np.array([n_here]), n_chunks, np.array([n_generic]), n_documents).tolist()
    return found


@pytest.mark.parametrize(
    ("n_here", "n_chunks", "n_generic", "n_documents", "expected"),
    [
        pytest.param(10, 99, 99.5, 9_999, math.log((10.5 / 100) / (100 / 10_000)), id="ratio of shares"),
        pytest.param(0, 10, 0, 16_000, 0, id="not here, however rare elsewhere"),
        pytest.param(1, 1_000, 8_000, 16_000, 0, id="more common elsewhere"),
        pytest.param(1_000_000, 1_000_000, 1, 10**9, 8, id="upper end"),
    ],
)
def test_gain(n_here: float, n_chunks: int, n_generic: float, n_documents: int, expected: float) -> None:
    """The logarithm of a term's share here by its share elsewhere, within 0 to 8."""
    assert pytest.approx(expected) == _gain(n_here, n_chunks, n_generic, n_documents)


def test_gain_of_an_unlisted_term_is_that_of_the_end_of_the_list() -> None:
    """A term that the counts do not list may stand in one of 8,000 documents."""

    assert _gain(3, 100, 2, 16_000) == _gain(3, 100, 0, 16_000) == _gain(3, 100, 1, 16_000)
    assert _gain(3, 100, 3, 16_000) < _gain(3, 100, 2, 16_000)


def test_rarity_is_the_log_of_a_share() -> None:
    """−ln of the documents that hold a term; 0 for one of every document, and 8 for all that are hardly ever seen."""
    found = rarity(np.array([16_000.0, 8_000, 40, 3, 2, 0]), 16_000)

    assert pytest.approx([0, math.log(2), math.log(400), 8, 8, 8]) == found.tolist()


def test_the_rarest_terms_come_first() -> None:
    """Equal ones stand in their order, and only so many are looked at."""

    assert [2, 0, 1, 3] == rarest(np.array([3.0, 3, 7, 1])).tolist()
    assert TOGETHER_TERMS == len(rarest(np.zeros(99)))


@pytest.mark.parametrize(("n_words", "penalty"), [(0, 0), (59, 0), (60, 0), (120, math.log(2)), (600, math.log(10))])
def test_length_penalty(n_words: int, penalty: float) -> None:
    """Nothing up to 60 words, then the logarithm."""

    assert pytest.approx(penalty) == length_penalty(n_words)
