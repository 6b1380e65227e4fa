"""Pearson's, Spearman's and Kendall's correlation with intervals for values that come in clusters.

The interval is Student's t on Fisher's z, with the standard error of the cluster jackknife (leave
out one cluster at a time), which needs no normality and takes all three alike. `perf/coverage.py`
measures it; Fisher's own, which takes pairs for independent, covers 65 to 73 % in clusters of four.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Literal

import numpy as np

from salesllm.stats.distributions import Array, t_critical
from salesllm.stats.means import Clusters, Interval, Values, cluster_numbers

Coefficient = Literal["pearson", "spearman", "kendall"]


def correlation(
    x: Values,
    y: Values,
    clusters: Clusters | None = None,
    *,
    kind: Coefficient = "pearson",
    level: float = 0.95,
) -> Interval:
    """A coefficient with its interval.

    Args:
        x: Shape (n,).
        y: Shape (n,): the partner of each value of `x`. Kendall's tau (tau-b) takes memory of
            n x n.
        clusters: Shape (n,): the cluster of each pair. None: every pair is its own, and Pearson's
            interval is Fisher's, which serves from 4 pairs on if both are about normal.

    Returns:
        NaN throughout where x or y does not vary. `low` and `high` are NaN where so few pairs
        cannot tell: fewer than 5 clusters, or perfectly correlated but for one cluster.

    Raises:
        ValueError: The lengths differ, or a value is not finite.
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    groups = cluster_numbers(clusters, len(x))
    if x.shape != y.shape:
        raise ValueError(f"pairs need equal lengths, not {len(x)} and {len(y)}")
    if not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise ValueError("values must be finite")
    if not len(x) or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Interval(math.nan, math.nan, math.nan, len(x))
    # Row 0 has everybody, each other row leaves one cluster out.
    k = int(groups.max()) + 1
    weights = (np.arange(-1, k if k >= _FEWEST else 0)[:, None] != groups).astype(float)
    values = _COEFFICIENTS[kind](x, y, weights)
    low = high = math.nan
    with np.errstate(divide="ignore"):
        z, *others = np.arctanh(values).tolist()
    reach = math.nan
    if kind == "pearson" and clusters is None and k > 3:
        reach = NormalDist().inv_cdf((1 + level) / 2) / math.sqrt(k - 3)
    elif others and all(map(math.isfinite, others)):
        reach = float(t_critical(level, k - 1)) * math.sqrt((k - 1) * float(np.var(others)))
    if math.isfinite(z):
        low, high = math.tanh(z - reach), math.tanh(z + reach)
    return Interval(float(values[0]), low, high, len(x))


def _pearson(x: Array, y: Array, weights: Array) -> Array:
    """Coefficients under each row of weights; x and y have one row, or as many."""
    total = weights.sum(axis=1, keepdims=True)
    dx = x - (weights * x).sum(axis=1, keepdims=True) / total
    dy = y - (weights * y).sum(axis=1, keepdims=True) / total
    return _ratio(*((weights * u * v).sum(axis=1) for u, v in ((dx, dy), (dx, dx), (dy, dy))))


def _spearman(x: Array, y: Array, weights: Array) -> Array:
    return _pearson(_ranks(x, weights), _ranks(y, weights), weights)


def _ranks(values: Array, weights: Array) -> Array:
    """The middle rank of each value among the weighted ones, shape of the weights."""
    order = np.argsort(values)
    distinct, place = np.unique(values, return_inverse=True)
    starts = np.searchsorted(values[order], distinct)
    counts = np.add.reduceat(weights[:, order], starts, axis=1)
    return (counts.cumsum(axis=1) - counts / 2)[:, place]


def _kendall(x: Array, y: Array, weights: Array) -> Array:
    a, b = (np.sign(values[:, None] - values).astype(float) for values in (x, y))
    return _ratio(*(((weights @ form) * weights).sum(axis=1) for form in (a * b, a * a, b * b)))


def _ratio(joint: Array, one: Array, other: Array) -> Array:
    """A coefficient; NaN where one side does not vary, but for rounding."""
    varies = (one > 1e-12 * one.max()) & (other > 1e-12 * other.max())
    ratio = np.divide(joint, np.sqrt(one * other), out=joint * np.nan, where=varies)
    # What rounding leaves between a perfect correlation and 1 would be an interval of no width.
    return np.where(1 - np.abs(ratio) < 1e-12, np.sign(ratio), ratio)


_COEFFICIENTS: dict[Coefficient, Callable[[Array, Array, Array], Array]] = {
    "pearson": _pearson,
    "spearman": _spearman,
    "kendall": _kendall,
}
_FEWEST = 5
"""Clusters that the jackknife needs: three of four models are too often in one order."""
