"""Ranks and how sure they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from salesllm.stats import Rank, places, rank_intervals


def made(gap: float, clusters: int = 60, people: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Column 0 the best, each next one worse by `gap`; products differ far more than that."""
    rng = np.random.default_rng(0)
    scores = rng.normal(5, 3, (clusters, 1)) + rng.normal(0, 1, (clusters, people))
    scores -= gap * np.arange(people)
    counts = rng.integers(1, 4, (clusters, 1)) * np.ones((1, people))
    return scores * counts, counts


def test_hard_products_do_not_blur_the_order() -> None:
    assert rank_intervals(*made(1.0)) == [Rank(i, i, i) for i in (1, 2, 3, 4)]


def test_who_cannot_be_told_apart_may_have_any_place() -> None:
    for rank in rank_intervals(*made(0.0)):
        assert rank.low is not None
        assert rank.high is not None
        assert rank.high - rank.low >= 2


def test_a_seed_makes_a_rank_interval() -> None:
    table = made(0.1)
    assert rank_intervals(*table, seed=1) == rank_intervals(*table, seed=1)


def test_those_who_did_the_same_share_their_place() -> None:
    sums, counts = made(1.0, people=2)
    sums, counts = np.repeat(sums, 2, axis=1), np.repeat(counts, 2, axis=1)
    assert rank_intervals(sums, counts) == [Rank(1, 1, 1)] * 2 + [Rank(3, 3, 3)] * 2


def test_who_has_no_score_has_no_place() -> None:
    sums, counts = made(1.0)
    sums[:, 1], counts[:, 1] = 0, 0
    assert rank_intervals(sums, counts) == [
        Rank(1, 1, 1), Rank(None, None, None), Rank(2, 2, 2), Rank(3, 3, 3),
    ]  # fmt: skip
    assert rank_intervals(sums[:0], counts[:0]) == [Rank(None, None, None)] * 4


def test_one_product_does_not_say_how_sure_it_is() -> None:
    sums, counts = made(0.0)
    for rank in rank_intervals(sums[:1], counts[:1]):
        assert rank.rank in (1, 2, 3, 4)
        assert rank.low is rank.high is None


def test_a_resample_that_leaves_somebody_out_is_passed_over() -> None:
    sums, counts = made(1.0)
    sums[1:, 3], counts[1:, 3] = 0, 0
    sums[0, 3] = -100
    assert rank_intervals(sums, counts)[3] == Rank(4, 4, 4)


@given(st.lists(st.integers(0, 10).map(float), min_size=1, max_size=12))
def test_places_are_those_of_a_contest(means: list[float]) -> None:
    expected = stats.rankdata([-mean for mean in means], method="min")
    assert places(np.array(means)) == pytest.approx(expected)
    assert places(np.array([*means, np.nan]))[-1] is None
