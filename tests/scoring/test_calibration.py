"""Calibration, worked out by hand and against plain searches."""

from __future__ import annotations

import itertools
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salesllm.scoring.calibration import (
    COLDEST,
    Bin,
    brier,
    calibration_error,
    error_by_chance,
    fit_temperature,
    log_loss,
    reliability,
    tempered,
)

# Ten forecasts. By halves: 0.1 0.1 0.2 0.2 0.4 with 1 event, 0.6 0.7 0.8 0.9 1.0 with 4.
SAID = [0.1, 0.9, 0.2, 0.8, 0.1, 0.7, 0.2, 1.0, 0.4, 0.6]
HAPPENED = [0, 1, 0, 1, 0, 0, 1, 1, 0, 1]


def test_reliability_and_error_by_hand() -> None:
    bins = reliability(SAID, HAPPENED, 2)
    assert [(each.said, each.happened, each.n) for each in bins] == [
        (pytest.approx(0.2), 0.2, 5),
        (pytest.approx(0.8), 0.8, 5),
    ]
    assert calibration_error(bins) == pytest.approx(0.0)
    # By fifths: 0.1 and 0.1; 0.2 and 0.2; 0.4 and 0.6; 0.7 and 0.8; 0.9 and 1.0.
    bins = reliability(SAID, HAPPENED, 5)
    assert [each.happened for each in bins] == [0.0, 0.5, 0.5, 0.5, 1.0]
    expected = (0.1 + 0.3 + 0.0 + 0.25 + 0.05) / 5
    assert calibration_error(bins) == pytest.approx(expected)


def test_bins_of_unequal_size_weigh_by_it() -> None:
    assert calibration_error([Bin(0.5, 0.7, 3), Bin(0.9, 0.5, 1)]) == pytest.approx(0.25)


@given(st.permutations(list(zip(SAID * 2, HAPPENED * 2, strict=True))), st.integers(1, 30))
def test_order_does_not_matter_and_equal_probabilities_share_a_bin(
    pairs: list[tuple[float, int]], bins: int
) -> None:
    found = reliability(*zip(*pairs, strict=True), bins)
    assert found == [
        Bin(pytest.approx(each.said), pytest.approx(each.happened), each.n)
        for each in reliability(SAID * 2, HAPPENED * 2, bins)
    ]
    assert sum(each.n for each in found) == 20
    assert all(a.said < b.said for a, b in itertools.pairwise(found))


def test_one_probability_is_one_bin() -> None:
    assert reliability([0.3] * 4, [1, 0, 0, 0]) == [Bin(pytest.approx(0.3), 0.25, 4)]
    assert reliability([], []) == []


def test_brier_and_log_loss_by_hand() -> None:
    assert brier([0.8, 0.4], [1, 1]) == pytest.approx([0.04, 0.36])
    assert log_loss([[0.5, 0.5], [0.25, 0.75]], [0, 1]) == pytest.approx(
        (np.log(2) + np.log(4 / 3)) / 2
    )


def test_the_error_by_chance_shrinks_with_the_number_of_events() -> None:
    p = np.random.default_rng(0).random(4000)
    small, large = error_by_chance(p[:100]), error_by_chance(p)
    assert 0.06 < small < 0.16
    assert small / large == pytest.approx(np.sqrt(40), rel=0.2)


def test_tempered_divides_the_logits() -> None:
    logits = np.array([[0.0, 2.0, -1.0], [3.0, 0.0, 0.0]])
    odds = np.exp(logits)
    halved = np.exp(logits / 2)
    found = tempered(odds / odds.sum(-1, keepdims=True), 2.0)
    np.testing.assert_allclose(found, halved / halved.sum(-1, keepdims=True))


@pytest.mark.parametrize("true", [0.4, 1.0, 3.0])
def test_the_temperature_that_made_the_labels_is_found(true: float) -> None:
    rng = np.random.default_rng(1)
    logits = rng.normal(0, 3, (20_000, 3))
    odds = np.exp(logits)
    said = odds / odds.sum(-1, keepdims=True)
    meant = tempered(said, true)
    labels = (rng.random((20_000, 1)) > meant.cumsum(-1)).sum(-1)
    found = fit_temperature(said, labels)
    assert found == pytest.approx(true, rel=0.05)
    grid = np.linspace(0.9 * found, 1.1 * found, 21)
    losses = [log_loss(tempered(said, t), labels) for t in grid]
    assert np.argmin(losses) == 10


def test_a_scorer_that_is_always_right_gets_the_coldest() -> None:
    said = [[0.9, 0.1], [0.2, 0.8]]
    assert fit_temperature(said, [0, 1]) == pytest.approx(COLDEST, rel=1e-4)
