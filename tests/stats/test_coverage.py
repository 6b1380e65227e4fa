"""95 % intervals hold the truth in 93 to 97 % of simulated runs (`perf/coverage.py` has more)."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture(scope="module")
def coverage(repository: Path) -> Any:
    spec = importlib.util.spec_from_file_location("coverage", repository / "perf" / "coverage.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("clusters", [100, 200])
@pytest.mark.parametrize("shape", ["even", "crowded", "telling"])
def test_of_mean_scores(coverage: Any, shape: str, clusters: int) -> None:
    assert 0.93 <= coverage.means(shape, clusters, 3000) <= 0.97


@pytest.mark.parametrize(("clusters", "least"), [(20, 0.905), (50, 0.925)])
@pytest.mark.parametrize("shape", ["even", "crowded", "telling"])
def test_of_mean_scores_from_few_products(
    coverage: Any, shape: str, clusters: int, least: float
) -> None:
    assert least <= coverage.means(shape, clusters, 3000) <= 0.97


@pytest.mark.parametrize("clusters", [20, 200])
@pytest.mark.parametrize("shape", ["even", "crowded", "telling"])
def test_equally_good_salespeople_rarely_differ(coverage: Any, shape: str, clusters: int) -> None:
    assert 0.04 <= coverage.false_alarms(shape, clusters, 3000) <= 0.06


@pytest.mark.parametrize("rate", [0.05, 0.5])
def test_of_rates(coverage: Any, rate: float) -> None:
    assert 0.93 <= coverage.rates(rate, 200, 400) <= 0.97


@pytest.mark.parametrize("kind", ["pearson", "spearman", "kendall"])
def test_of_correlations(coverage: Any, kind: Any) -> None:
    assert 0.92 <= coverage.correlations(kind, 60, 300) <= 0.98


def test_of_ranks(coverage: Any) -> None:
    assert coverage.ranks(60, 60) >= 0.95


def test_values_taken_for_independent_would_not_do(coverage: Any) -> None:
    """What clustering is for: the plain t-interval of the same scores."""
    from scipy import stats

    rng, truth, held = np.random.default_rng(0), coverage.true_mean("even"), 0
    for _ in range(300):
        ready, n = coverage.products(rng, "even", (100,))
        scores = coverage.final_scores(rng, np.repeat(ready, n))
        low, high = stats.ttest_1samp(scores, 0).confidence_interval()
        held += low <= truth <= high
    assert held / 300 < 0.8
