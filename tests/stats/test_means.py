"""Means, rates and paired differences of clustered values."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salesllm.stats import (
    holm,
    mean_interval,
    mean_intervals,
    paired_difference,
    proportion,
    wilson,
)

GOLDEN = json.loads(Path(__file__).with_name("golden.json").read_text(encoding="utf-8"))
SCALE = (0.0, 10.0)

scores = st.floats(0, 10).map(lambda score: round(score, 2))
flags = st.lists(st.booleans(), min_size=1, max_size=60)
clustered = st.lists(st.tuples(scores, st.integers(0, 6)), min_size=1, max_size=40)


def standard_error(values: np.ndarray, clusters: np.ndarray) -> tuple[float, float]:
    """CR2 and its degrees of freedom by their definition, in matrices (Bell and McCaffrey 2002)."""
    n = len(values)
    x = np.ones((n, 1))
    hat = x @ x.T / n
    residual = values - values.mean()
    scores, columns = [], []
    for cluster in np.unique(clusters):
        own = np.flatnonzero(clusters == cluster)
        kept = np.eye(len(own)) - hat[np.ix_(own, own)]
        size, vectors = np.linalg.eigh(kept)
        adjust = vectors @ np.diag(size**-0.5) @ vectors.T
        scores.append(x[own].T @ adjust @ residual[own] / n)
        columns.append((np.eye(n) - hat)[:, own] @ adjust @ x[own] / n)
    g = np.hstack(columns)
    spread = np.linalg.eigvalsh(g.T @ g)
    return math.sqrt(np.square(scores).sum()), spread.sum() ** 2 / (spread**2).sum()


@pytest.mark.parametrize("case", GOLDEN["means"], ids=lambda case: case["library"])
def test_golden_means_and_tests(case: dict[str, Any]) -> None:
    zeros = [0.0] * len(case["values"])
    difference = paired_difference(case["values"], zeros, case["clusters"])
    interval = mean_interval(case["values"], case["clusters"])
    assert difference.p_value == pytest.approx(case["p_value"], rel=1e-9)
    for found in (difference, interval):
        figures = (found.value, found.low, found.high)
        assert figures == pytest.approx((case["mean"], case["low"], case["high"]), rel=1e-9)


def test_clusters_of_unequal_size_by_the_definition() -> None:
    from scipy import stats

    rng = np.random.default_rng(0)
    clusters = np.repeat(np.arange(9), [1, 1, 2, 3, 3, 5, 8, 13, 21])
    values = rng.normal(4, 1, 9)[clusters] + rng.normal(0, 1, len(clusters))
    error, freedom = standard_error(values, clusters)
    low, high = stats.t.interval(0.9, freedom, values.mean(), error)
    found = mean_interval(values, clusters, level=0.9)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-9)


def test_golden_holm() -> None:
    assert holm(GOLDEN["holm"]["p_values"]) == pytest.approx(GOLDEN["holm"]["holm"])


@given(st.lists(st.floats(0, 1) | st.just(math.nan), max_size=20))
def test_holm_keeps_the_order_and_lowers_nothing(p_values: list[float]) -> None:
    adjusted = holm(p_values)
    pairs = [(p, h) for p, h in zip(p_values, adjusted, strict=True) if not math.isnan(p)]
    assert all(p <= h <= 1 for p, h in pairs)
    assert all(h == g for (p, h), (q, g) in itertools.combinations(pairs, 2) if p == q)
    assert [h for _, h in sorted(pairs)] == sorted(h for _, h in pairs)
    assert np.isnan(adjusted).tolist() == [math.isnan(p) for p in p_values]


def test_wilson_equals_published_values() -> None:
    # Newcombe (1998), Statistics in Medicine 17: table I, method 3 (score interval).
    for successes, n, low, high in [
        (81, 263, 0.2553, 0.3662),
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ]:
        interval = wilson(successes, n)
        assert interval.low == pytest.approx(low, abs=5e-5)
        assert interval.high == pytest.approx(high, abs=5e-5)


@given(clustered, st.randoms(use_true_random=False))
def test_order_changes_nothing(values: list[tuple[float, int]], random: Random) -> None:
    shuffled = random.sample(values, len(values))
    first, second = (
        mean_interval(*zip(*some, strict=True), bounds=SCALE)  # type: ignore[arg-type]
        for some in (values, shuffled)
    )
    assert _figures(first) == pytest.approx(_figures(second), abs=1e-6, nan_ok=True)


@given(clustered)
def test_a_mean_lies_in_its_interval_and_that_in_its_bounds(
    values: list[tuple[float, int]],
) -> None:
    interval = mean_interval(*zip(*values, strict=True), bounds=SCALE)  # type: ignore[arg-type]
    several = len({cluster for _, cluster in values}) > 1
    assert several == (not math.isnan(interval.low))
    if several:
        assert 0 <= interval.low <= interval.value + 1e-9
        assert interval.value - 1e-9 <= interval.high <= 10


@given(clustered, st.floats(-20, 20))
def test_a_difference_is_the_same_wherever_the_scale_begins(
    values: list[tuple[float, int]], shift: float
) -> None:
    a, clusters = zip(*values, strict=True)
    b = a[::-1]
    here = paired_difference(a, b, clusters)
    there = paired_difference([x + shift for x in a], [x + shift for x in b], clusters)
    assert _figures(here) == pytest.approx(_figures(there), abs=1e-6, nan_ok=True)
    back = paired_difference(b, a, clusters)
    flipped = (-back.value, -back.high, -back.low)
    assert _figures(here) == pytest.approx(flipped, abs=1e-6, nan_ok=True)
    assert here.p_value == pytest.approx(back.p_value, nan_ok=True)


def _figures(interval: Any) -> tuple[float, float, float]:
    return interval.value, interval.low, interval.high


def test_many_columns_at_once_are_the_same_one_by_one() -> None:
    rng = np.random.default_rng(3)
    counts = rng.integers(0, 4, (30, 5)).astype(float)
    counts[:, 4] = 0
    each = rng.uniform(0, 10, counts.shape)
    sums = each * counts
    together = mean_intervals(sums, counts, bounds=SCALE)
    for column, interval in enumerate(together[:4]):
        clusters = np.repeat(np.arange(30), counts[:, column].astype(int))
        values = each[clusters, column]
        alone = mean_interval(values, clusters, bounds=SCALE)
        assert _figures(alone) == pytest.approx(_figures(interval))
        assert alone.n == interval.n
    assert together[4].as_dict() == {"value": None, "low": None, "high": None, "n": 0}


@pytest.mark.parametrize("clusters", [None, []])
def test_nothing_to_estimate_from(clusters: list[int] | None) -> None:
    nothing = {"rate": None, "low": None, "high": None, "turns": 0}
    for interval in (mean_interval([], clusters), proportion([], clusters)):
        assert interval.as_dict("rate", "turns") == nothing
    assert paired_difference([], [], clusters).as_dict() == {
        "value": None, "low": None, "high": None, "n": 0, "p_value": None,
    }  # fmt: skip


def test_equal_values_have_no_width_and_one_cluster_has_no_interval() -> None:
    equal = mean_interval([0.25] * 8, bounds=SCALE)
    assert equal.low == equal.value == equal.high == 0.25
    alone = mean_interval([0.0, 0.5], ["a", "a"])
    assert alone.as_dict() == {"value": 0.25, "low": None, "high": None, "n": 2}
    assert paired_difference([1, 2], [0, 0], ["a", "a"]).as_dict()["p_value"] is None


def test_a_rate_without_variation_gets_wilson_with_clusters_as_sample_size() -> None:
    none_flagged = proportion([0] * 60, [i // 3 for i in range(60)])
    assert (none_flagged.value, none_flagged.low, none_flagged.n) == (0.0, 0.0, 60)
    assert none_flagged.high == wilson(0, 20).high
    half_in_each = proportion([0, 1] * 10, [i // 2 for i in range(20)])
    assert (half_in_each.low, half_in_each.high) == (wilson(5, 10).low, wilson(5, 10).high)
    # A third of each, whose sums are not exact.
    assert proportion([0, 0, 1] * 7, [i // 3 for i in range(21)]).high == wilson(7 / 3, 7).high


@given(flags, st.integers(1, 7))
def test_a_proportion_lies_in_its_interval_and_in_0_to_1(values: list[bool], size: int) -> None:
    for clusters in (None, [i // size for i in range(len(values))]):
        interval = proportion(values, clusters)
        assert 0 <= interval.low <= interval.value <= interval.high <= 1
        assert interval.value == pytest.approx(sum(values) / len(values))


def test_alike_within_their_clusters_flags_count_for_less() -> None:
    values = [i // 6 % 2 for i in range(120)]
    alone, together = proportion(values), proportion(values, [i // 6 for i in range(120)])
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_a_paired_difference_sees_what_unpaired_noise_hides() -> None:
    rng = np.random.default_rng(4)
    base = rng.normal(0, 10, size=300)
    better = paired_difference(base + 0.5 + rng.normal(0, 0.5, size=300), base)
    assert better.low > 0
    assert better.p_value < 1e-20  # a bootstrap's would be 0.001, and Holm's correction the end
    assert paired_difference(base, base).p_value == 1.0


def test_two_products_that_differ_alike_prove_little() -> None:
    assert paired_difference([1, 2], [0, 1]).p_value == 0.5
    assert paired_difference(np.arange(20) + 0.1, np.arange(20)).p_value == 2**-19


def test_values_that_are_none() -> None:
    with pytest.raises(ValueError, match="finite"):
        mean_interval([1.0, math.nan])
    with pytest.raises(ValueError, match="0 or 1"):
        proportion([0, 2])
    with pytest.raises(ValueError, match="equal lengths"):
        paired_difference([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="clusters"):
        mean_interval([1.0, 2.0], ["a"])
