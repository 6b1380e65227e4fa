import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from salesllm.stats import (
    bootstrap_mean,
    krippendorff_alpha,
    paired_difference,
    proportion,
    wilson,
)

flags = st.lists(st.booleans(), min_size=1, max_size=60)


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


def test_bootstrap_of_independent_values_agrees_with_the_normal_interval() -> None:
    values = np.random.default_rng(1).normal(3.0, 2.0, size=2000)
    half = 1.96 * values.std(ddof=1) / math.sqrt(len(values))
    interval = bootstrap_mean(values)
    assert interval.value == pytest.approx(values.mean())
    assert interval.low == pytest.approx(values.mean() - half, abs=0.01)
    assert interval.high == pytest.approx(values.mean() + half, abs=0.01)


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """60 dialogues of 5 turns that agree within a dialogue: only clusters give honest intervals."""
    rng, clusters = np.random.default_rng(2), np.repeat(np.arange(60), 5)
    covered = {"clustered": 0, "naive": 0}
    for seed in range(200):
        turns = (rng.random(300) < np.repeat(rng.beta(0.6, 1.4, size=60), 5)).astype(float)
        for name, given_clusters in (("clustered", clusters), ("naive", None)):
            interval = bootstrap_mean(turns, given_clusters, n_boot=400, seed=seed)
            covered[name] += interval.low <= 0.3 <= interval.high
    assert 0.90 <= covered["clustered"] / 200 <= 0.99
    assert covered["naive"] / 200 < 0.85


def test_clusters_of_one_change_nothing() -> None:
    values = np.random.default_rng(3).random(50)
    assert bootstrap_mean(values, range(50)) == bootstrap_mean(values)


@pytest.mark.parametrize("clusters", [None, []])
def test_nothing_to_estimate_from(clusters: list[int] | None) -> None:
    for interval in (bootstrap_mean([], clusters), proportion([], clusters)):
        assert interval.n == 0
        assert interval.as_dict("rate", "turns") == {
            "rate": None, "low": None, "high": None, "turns": 0,
        }  # fmt: skip
    assert paired_difference([], [], clusters).as_dict()["value"] is None


def test_equal_values_and_a_single_cluster_have_no_width() -> None:
    for interval in (bootstrap_mean([0.25] * 8), bootstrap_mean([0.0, 0.5], ["a", "a"])):
        assert interval.low == interval.value == interval.high == 0.25


def test_a_rate_without_variation_gets_wilson_with_clusters_as_sample_size() -> None:
    none_flagged = proportion([0] * 60, [i // 3 for i in range(60)])
    assert (none_flagged.value, none_flagged.low, none_flagged.n) == (0.0, 0.0, 60)
    assert none_flagged.high == wilson(0, 20).high
    half_in_each = proportion([0, 1] * 10, [i // 2 for i in range(20)])
    assert (half_in_each.low, half_in_each.high) == (wilson(5, 10).low, wilson(5, 10).high)


@given(flags, st.integers(1, 7))
def test_a_proportion_lies_in_its_interval_and_in_0_to_1(values: list[bool], size: int) -> None:
    for clusters in (None, [i // size for i in range(len(values))]):
        interval = proportion(values, clusters, n_boot=200)
        assert 0 <= interval.low <= interval.value <= interval.high <= 1
        assert interval.value == pytest.approx(sum(values) / len(values))


@given(st.lists(st.floats(-5, 5), min_size=1, max_size=30), st.randoms())
def test_order_of_pairs_does_not_change_the_difference(values: list[float], random: object) -> None:
    order = list(range(len(values)))
    random.shuffle(order)  # type: ignore[attr-defined]
    zeros = [0.0] * len(values)
    shuffled = paired_difference([values[i] for i in order], zeros, n_boot=50)
    assert shuffled.value == pytest.approx(paired_difference(values, zeros, n_boot=50).value)


def test_paired_difference_sees_what_unpaired_noise_hides() -> None:
    rng = np.random.default_rng(4)
    base = rng.normal(0, 10, size=300)
    better = paired_difference(base + 0.5 + rng.normal(0, 0.5, size=300), base)
    assert better.low > 0
    assert better.p_value == pytest.approx(2 / 2001)
    assert paired_difference(base, base).p_value == 1.0


def test_p_values_are_uniform_where_there_is_no_difference() -> None:
    rng = np.random.default_rng(5)
    p_values = [
        paired_difference(rng.normal(size=80), rng.normal(size=80), n_boot=300, seed=i).p_value
        for i in range(300)
    ]
    assert 0.02 <= np.mean(np.array(p_values) < 0.05) <= 0.10


def test_values_that_are_none() -> None:
    with pytest.raises(ValueError, match="finite"):
        bootstrap_mean([1.0, math.nan])
    with pytest.raises(ValueError, match="0 or 1"):
        proportion([0, 2])
    with pytest.raises(ValueError, match="equal lengths"):
        paired_difference([1.0], [1.0, 2.0])
    with pytest.raises(ValueError, match="clusters"):
        bootstrap_mean([1.0, 2.0], ["a"])


def test_alpha_equals_published_values() -> None:
    # Krippendorff (2011), Computing Krippendorff's Alpha-Reliability: example C, with missing data.
    table = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    units = [[v for v in unit if v is not None] for unit in zip(*table, strict=True)]
    assert krippendorff_alpha(units) == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(units, "ordinal") == pytest.approx(0.815, abs=5e-4)
    assert krippendorff_alpha(units, "interval") == pytest.approx(0.849, abs=5e-4)


def test_alpha_by_hand() -> None:
    # Two annotators, 4 units, 3 agreements: values a a a a b b b a, so 5 of a and 3 of b.
    # Observed disagreement 2 / 8; expected 2 * 5 * 3 / (8 * 7). alpha = 1 - (1/4) / (15/28).
    units = [("a", "a"), ("a", "a"), ("b", "b"), ("b", "a")]
    assert krippendorff_alpha(units) == pytest.approx(1 - 0.25 / (15 / 28))
    assert krippendorff_alpha([*units, ("a",), ()]) == krippendorff_alpha(units)
    assert krippendorff_alpha([("a", "a", "a"), ("b", "b")]) == 1.0
    assert krippendorff_alpha([("a", "b"), ("a", "b")]) == pytest.approx(1 - 1 / (8 / 12))
    for nothing in ([], [("a",), ("b",)], [("a", "a"), ("a", "a")]):
        assert math.isnan(krippendorff_alpha(nothing))


def test_alpha_of_chance_is_about_zero() -> None:
    rng = np.random.default_rng(6)
    for level in ("nominal", "ordinal", "interval"):
        units = rng.integers(5, size=(4000, 3)).tolist()
        assert krippendorff_alpha(units, level) == pytest.approx(0, abs=0.03)  # type: ignore[arg-type]
