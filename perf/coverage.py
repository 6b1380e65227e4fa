"""How often the 95 % intervals of `salesllm.stats` hold the truth, on simulated scores.

    python perf/coverage.py

Clusters (products) of unequal size; scores of 0-10, 0.6 x buying + 0.4 x selling, where buying is
near 0 or near 10. In `even` customers are of all kinds, in `crowded` hardly anybody buys, in
`telling` products that sell well have more dialogues. `percentile` is the percentile bootstrap on
the same data, for comparison. The last line is JSON: shares of the runs, by clusters.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from salesllm.stats import (
    Coefficient,
    Interval,
    correlation,
    mean_intervals,
    paired_differences,
    proportion,
    rank_intervals,
)

Array = npt.NDArray[np.float64]
SHAPES = ("even", "crowded", "telling")
CLUSTERS = (20, 50, 200)
_SCALE = (0.0, 10.0)


def products(rng: np.random.Generator, shape: str, size: tuple[int, ...]) -> tuple[Array, Any]:
    """How readily each product sells, 0-1, and how many dialogues are about it."""
    if shape == "telling":
        ready = rng.beta(1.2, 2.5, size)
        return ready, 1 + rng.poisson(12 * ready)
    ready = rng.beta(1.5, 2.0, size) if shape == "even" else rng.beta(0.5, 4.0, size)
    return ready, 1 + rng.geometric(0.2, size)


def final_scores(rng: np.random.Generator, ready: Array) -> Array:
    """A dialogue each."""
    bought = rng.random(ready.shape) < 0.01 + 0.97 * ready
    buying = np.where(bought, rng.uniform(8, 10, ready.shape), rng.uniform(0, 1, ready.shape))
    return 0.6 * buying + 0.4 * rng.binomial(10, 0.2 + 0.6 * ready)


def sums(rng: np.random.Generator, ready: Array, n: Any) -> Array:
    """Sum of each product's scores."""
    owner = np.repeat(np.arange(n.size), n.ravel())
    scores = final_scores(rng, ready.ravel()[owner])
    return np.bincount(owner, scores, n.size).reshape(n.shape)


def holds(intervals: Sequence[Interval], truth: float) -> float:
    """Share of the intervals that hold the truth; one without ends does not."""
    return float(np.mean([i.low <= truth <= i.high for i in intervals]))


@cache
def true_mean(shape: str) -> float:
    rng = np.random.default_rng(0)
    ready, n = products(rng, shape, (1_000_000,))
    return float(sums(rng, ready, n).sum() / n.sum())


def means(shape: str, clusters: int, runs: int, seed: int = 1) -> float:
    rng = np.random.default_rng(seed)
    ready, n = products(rng, shape, (clusters, runs))
    found = mean_intervals(sums(rng, ready, n), n.astype(float), bounds=_SCALE)
    return holds(found, true_mean(shape))


def percentile_bootstrap(shape: str, clusters: int, runs: int, seed: int = 1) -> float:
    rng, truth, held = np.random.default_rng(seed), true_mean(shape), 0
    ready, n = products(rng, shape, (clusters, runs))
    totals = sums(rng, ready, n)
    for column in range(runs):
        times = rng.multinomial(clusters, np.full(clusters, 1 / clusters), size=1000)
        drawn = (times @ totals[:, column]) / (times @ n[:, column])
        low, high = np.quantile(drawn, (0.025, 0.975))
        held += low <= truth <= high
    return float(held / runs)


def false_alarms(shape: str, clusters: int, runs: int, seed: int = 2) -> float:
    """Share of p-values below 0.05 where two salespeople are equally good.

    Each suits products of its own, and each lacks one score in twenty.
    """
    rng = np.random.default_rng(seed)
    ready, n = products(rng, shape, (clusters, runs))
    owner = np.repeat(np.arange(n.size), n.ravel())
    suits = (np.clip(ready.ravel() + rng.normal(0, 0.1, n.size), 0, 1)[owner] for _ in range(2))
    a, b = (final_scores(rng, own) for own in suits)
    both = (rng.random((2, len(owner))) > 0.05).all(axis=0)
    gaps = np.bincount(owner[both], (a - b)[both], n.size).reshape(n.shape)
    counts = np.bincount(owner[both], minlength=n.size).reshape(n.shape).astype(float)
    return float(np.mean([d.p_value < 0.05 for d in paired_differences(gaps, counts)]))


def rates(rate: float, clusters: int, runs: int, seed: int = 3) -> float:
    rng, found = np.random.default_rng(seed), []
    for _ in range(runs):
        n = 1 + rng.geometric(0.25, clusters)
        own = rng.beta(2 * rate, 2 * (1 - rate), clusters)
        product = np.repeat(np.arange(clusters), n)
        found.append(proportion(rng.random(len(product)) < own[product], product))
    return holds(found, rate)


def correlations(kind: Coefficient, clusters: int, runs: int, seed: int = 4) -> float:
    """Scores and ratings that share a product's ease and a dialogue's course."""
    rng = np.random.default_rng(seed)

    def draw(clusters: int) -> tuple[Array, Array, Any]:
        product = np.repeat(np.arange(clusters), rng.integers(1, 5, clusters))
        course = rng.normal(0, 1, clusters)[product] + rng.normal(0, 0.6, len(product))
        score = course + rng.normal(0, 0.7, clusters)[product] + rng.normal(0, 0.5, len(product))
        return score, np.round(2 * course + rng.normal(0, 0.7, len(product))), product

    coefficient = {"pearson": stats.pearsonr, "spearman": stats.spearmanr,
                   "kendall": stats.kendalltau}[kind]  # fmt: skip
    truth = float(coefficient(*draw(100_000)[:2]).statistic)
    return holds([correlation(*draw(clusters), kind=kind) for _ in range(runs)], truth)


def ranks(clusters: int, runs: int, seed: int = 5) -> float:
    """Share of six salespeople's rank intervals that hold the true rank."""
    rng, held = np.random.default_rng(seed), 0
    skill = np.linspace(0.12, 0, 6)
    for _ in range(runs):
        ready, n = products(rng, "even", (clusters,))
        own = np.clip(ready[:, None] * 0.8 + skill, 0, 1)
        totals = sums(rng, own, np.tile(n[:, None], 6))
        counts = np.tile(n[:, None], 6).astype(float)
        found = rank_intervals(totals, counts, n_boot=500, seed=int(rng.integers(2**31)))
        held += sum(r.low <= true <= r.high for true, r in enumerate(found, start=1))  # type: ignore[operator]
    return float(held / (6 * runs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--runs", type=int, default=10_000)
    runs = parser.parse_args().runs
    result: dict[str, Any] = {"runs": runs}
    for shape in SHAPES:
        result[shape] = {
            "mean": {k: means(shape, k, runs) for k in CLUSTERS},
            "percentile": {k: percentile_bootstrap(shape, k, runs // 10) for k in CLUSTERS},
            "false_alarms": {k: false_alarms(shape, k, runs) for k in CLUSTERS},
        }
        print(shape, result[shape])
    for rate in (0.05, 0.2, 0.5):
        result[f"rate_{rate}"] = {k: rates(rate, k, runs // 5) for k in CLUSTERS}
        print(f"rate {rate}", result[f"rate_{rate}"])
    kinds: tuple[Coefficient, ...] = ("pearson", "spearman", "kendall")
    for kind in kinds:
        result[kind] = {k: correlations(kind, k, runs // 20) for k in CLUSTERS}
        print(kind, result[kind])
    result["ranks"] = {k: ranks(k, runs // 20) for k in CLUSTERS}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
