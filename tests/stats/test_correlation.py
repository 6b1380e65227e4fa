"""Correlations against scipy, and their intervals where there is little to go by."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from salesllm.stats import Coefficient, correlation

GOLDEN = json.loads(Path(__file__).with_name("golden.json").read_text(encoding="utf-8"))
KINDS = get_args(Coefficient)


@pytest.mark.parametrize("case", GOLDEN["correlations"], ids=lambda case: f"n={len(case['x'])}")
def test_golden(case: dict[str, Any]) -> None:
    for kind in KINDS:
        assert correlation(case["x"], case["y"], kind=kind).value == pytest.approx(case[kind])
    fisher = correlation(case["x"], case["y"])
    assert [fisher.low, fisher.high] == pytest.approx(case["fisher"])


@pytest.mark.parametrize("kind", KINDS)
@given(st.lists(st.tuples(st.integers(0, 10), st.integers(0, 10)), min_size=2, max_size=30))
def test_it_is_scipys_with_any_ties(kind: Coefficient, pairs: list[tuple[int, int]]) -> None:
    x, y = zip(*pairs, strict=True)
    assume(len(set(x)) > 1 and len(set(y)) > 1)
    reference = {"pearson": stats.pearsonr, "spearman": stats.spearmanr,
                 "kendall": stats.kendalltau}[kind]  # fmt: skip
    found = correlation(x, y, [i // 2 for i in range(len(x))], kind=kind)
    assert found.value == pytest.approx(reference(x, y).statistic, abs=1e-9)
    assert math.isnan(found.low) or found.low <= found.value + 1e-9 <= found.high + 2e-9
    swapped = correlation(y[::-1], x[::-1], [-(i // 2) for i in range(len(x))][::-1], kind=kind)
    ends = (swapped.low, swapped.high)
    assert ends == pytest.approx((found.low, found.high), abs=1e-7, nan_ok=True)


@pytest.mark.parametrize("kind", KINDS)
def test_the_jackknife_by_hand(kind: Coefficient) -> None:
    rng = np.random.default_rng(1)
    clusters = np.repeat(np.arange(8), [1, 2, 2, 3, 3, 4, 5, 6])
    x = rng.normal(size=len(clusters))
    y = np.round(x + rng.normal(size=len(clusters)))
    z = [
        math.atanh(correlation(x[clusters != c], y[clusters != c], kind=kind).value)
        for c in range(8)
    ]
    found = correlation(x, y, clusters, kind=kind)
    error = math.sqrt(7 / 8 * sum((one - np.mean(z)) ** 2 for one in z))
    ends = stats.t.interval(0.95, 7, math.atanh(found.value), error)
    assert (found.low, found.high) == pytest.approx(np.tanh(ends))


def test_what_does_not_vary_correlates_with_nothing() -> None:
    for x, y in (([0.1] * 6, [1, 2, 3, 4, 5, 6]), ([], []), ([1.0], [2.0])):
        for kind in KINDS:
            found = correlation(x, y, kind=kind)
            assert found.as_dict() == {"value": None, "low": None, "high": None, "n": len(x)}


def test_the_order_of_four_models_has_no_interval() -> None:
    """The paper's rho of 1.0 over four models: one order of 24, and no interval says how sure."""
    found = correlation([5.1, 5.8, 6.2, 6.9], [4.8, 5.5, 6.6, 6.8], kind="spearman")
    assert found.as_dict() == {"value": 1.0, "low": None, "high": None, "n": 4}
    fisher = [math.tanh(math.atanh(0.98) + sign * 1.959964) for sign in (-1, 1)]
    assert fisher == pytest.approx([0.325, 0.9996], abs=1e-3)


def test_one_cluster_less_may_leave_nothing_to_correlate() -> None:
    x = [1, 1, 1, 1, 1, 1, 9]
    assert math.isnan(correlation(x, [3, 1, 2, 4, 6, 5, 7], range(7)).low)


def test_values_that_are_none() -> None:
    with pytest.raises(ValueError, match="finite"):
        correlation([1.0, math.nan], [1.0, 2.0])
    with pytest.raises(ValueError, match="equal lengths"):
        correlation([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="clusters"):
        correlation([1.0, 2.0], [1.0, 2.0], ["a"])
