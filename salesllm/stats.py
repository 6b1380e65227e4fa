"""Intervals and paired tests for results that come in clusters, and agreement of annotators.

Turns of one dialogue resemble each other, so an interval over turns that ignores the dialogue is
too narrow. Given `clusters`, every function resamples whole clusters: draw as many clusters as
there are, with replacement, pool their values, take the mean (percentile bootstrap).
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

Values = Sequence[float] | npt.NDArray[Any]
Clusters = Sequence[Hashable] | npt.NDArray[Any]

_DRAWS_AT_ONCE = 2_000_000  # bounds the memory of a bootstrap to tens of megabytes


@dataclass(frozen=True)
class Interval:
    """An estimate with its confidence interval.

    Attributes:
        value: The estimate; NaN, as are `low` and `high`, where there is nothing to estimate from.
        n: Number of values (not of clusters) behind it.
    """

    value: float
    low: float
    high: float
    n: int

    def as_dict(self, value: str = "value", n: str = "n") -> dict[str, Any]:
        """For JSON: NaN becomes None. The arguments rename the keys (`rate`, `turns`)."""
        numbers = {value: self.value, "low": self.low, "high": self.high}
        return {k: None if math.isnan(v) else v for k, v in numbers.items()} | {n: self.n}


@dataclass(frozen=True)
class Difference(Interval):
    """A paired difference of means, first minus second.

    Attributes:
        p_value: Two-sided bootstrap p-value of "no difference"; 1 where every pair is equal.
    """

    p_value: float

    def as_dict(self, value: str = "value", n: str = "n") -> dict[str, float]:
        return super().as_dict(value, n) | {"p_value": self.p_value}


def bootstrap_mean(
    values: Values,
    clusters: Clusters | None = None,
    *,
    n_boot: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """The mean with a percentile bootstrap interval.

    Args:
        values: Shape (n,).
        clusters: Shape (n,): the cluster of each value. None: every value is its own.
        n_boot: Number of resamples.
        level: Coverage of the interval.

    Returns:
        No value: NaN throughout. One cluster, or all values equal: low = value = high.

    Raises:
        ValueError: A value is not finite, or the lengths differ.
    """
    sums, counts = _per_cluster(values, clusters)
    if not len(sums):
        return Interval(math.nan, math.nan, math.nan, 0)
    low, high = _percentiles(_resampled_means(sums, counts, n_boot, seed), level)
    return Interval(float(sums.sum() / counts.sum()), low, high, int(counts.sum()))


def proportion(
    flags: Values,
    clusters: Clusters | None = None,
    *,
    n_boot: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> Interval:
    """A rate with its interval: Wilson's without clusters, the cluster bootstrap with them.

    A bootstrap cannot see beyond its sample: of 40 dialogues without a single flag it says 0 to 0.
    Where it has no width, the interval is Wilson's for as many observations as there are clusters,
    which is right if turns of a dialogue are fully alike and too wide otherwise.

    Args:
        flags: Shape (n,), booleans or 0 / 1.
        clusters: As in `bootstrap_mean`.

    Raises:
        ValueError: A flag is neither 0 nor 1, or the lengths differ.
    """
    flags = np.asarray(flags, dtype=float)
    if not np.isin(flags, (0.0, 1.0)).all():
        raise ValueError("flags must be 0 or 1")
    if clusters is None:
        return wilson(int(flags.sum()), len(flags), level=level)
    interval = bootstrap_mean(flags, clusters, n_boot=n_boot, seed=seed, level=level)
    if interval.n and interval.low == interval.high:
        k = len(set(clusters))
        exact = wilson(interval.value * k, k, level=level)
        return Interval(interval.value, exact.low, exact.high, interval.n)
    return interval


def wilson(successes: float, n: int, *, level: float = 0.95) -> Interval:
    """Wilson's score interval of a rate; NaN throughout for n = 0."""
    if n == 0:
        return Interval(math.nan, math.nan, math.nan, 0)
    z2 = NormalDist().inv_cdf((1 + level) / 2) ** 2
    rate = successes / n
    centre = (rate + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (rate * (1 - rate) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    # At rates 0 and 1 one end is the rate itself; rounding must not push it past.
    return Interval(rate, min(max(centre - half, 0.0), rate), max(min(centre + half, 1.0), rate), n)


def paired_difference(
    a: Values,
    b: Values,
    clusters: Clusters | None = None,
    *,
    n_boot: int = 2000,
    seed: int = 0,
    level: float = 0.95,
) -> Difference:
    """Mean of `a - b` over pairs (the same turns, two models), with interval and p-value.

    The p-value is twice the smaller share of resampled differences on either side of zero, each
    counted with one extra, so it is never below 2 / (n_boot + 1).

    Args:
        a: Shape (n,).
        b: Shape (n,): the partner of each value of `a`.
        clusters: As in `bootstrap_mean`.

    Raises:
        ValueError: The lengths differ, or a value is not finite.
    """
    a, b = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if a.shape != b.shape:
        raise ValueError(f"pairs need equal lengths, not {len(a)} and {len(b)}")
    sums, counts = _per_cluster(a - b, clusters)
    if not len(sums):
        return Difference(math.nan, math.nan, math.nan, 0, math.nan)
    means = _resampled_means(sums, counts, n_boot, seed)
    low, high = _percentiles(means, level)
    tail = min((means <= 0).sum(), (means >= 0).sum())
    p_value = min(1.0, 2 * (tail + 1) / (n_boot + 1))
    value = float(sums.sum() / counts.sum())
    return Difference(value, low, high, int(counts.sum()), float(p_value))


def krippendorff_alpha(
    units: Iterable[Sequence[Hashable]],
    level: Literal["nominal", "ordinal", "interval"] = "nominal",
) -> float:
    """Krippendorff's alpha: 1 minus observed over expected disagreement, any number of annotators.

    Args:
        units: The values that each unit was given, by however many annotators; a unit with fewer
            than two says nothing of agreement.
        level: How two values differ: `nominal` equal or not, `ordinal` by the ranks between them,
            `interval` by their squared difference. The latter two need numbers.

    Returns:
        1 for perfect agreement, about 0 for chance, below 0 for worse. NaN where no unit has two
        values, or where all values are the same: nothing tells agreement from habit there.
    """
    pairable = [unit for unit in map(list, units) if len(unit) > 1]
    found = {value for unit in pairable for value in unit}
    values: list[Any] = list(found) if level == "nominal" else sorted(found)
    if len(values) < 2:
        return math.nan
    place = {value: index for index, value in enumerate(values)}
    coincidences = np.zeros((len(values), len(values)))
    for unit in pairable:
        counts = np.bincount([place[value] for value in unit], minlength=len(values))
        coincidences += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    totals = coincidences.sum(axis=1)
    if level == "nominal":
        distance = 1.0 - np.eye(len(values))
    else:  # ordinal: a value stands in the middle of its ranks
        scale = totals.cumsum() - totals / 2 if level == "ordinal" else np.asarray(values, float)
        distance = (scale[:, None] - scale[None, :]) ** 2
    expected = (np.outer(totals, totals) * distance).sum() / (totals.sum() - 1)
    return float(1 - (coincidences * distance).sum() / expected)


def _per_cluster(
    values: Values, clusters: Clusters | None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Sum and count of each cluster's values: all that a mean needs of them."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not np.isfinite(array).all():
        raise ValueError("values must be one-dimensional and finite")
    if clusters is None:
        return array, np.ones_like(array)
    if len(clusters) != len(array):
        raise ValueError(f"{len(array)} values, but {len(clusters)} clusters")
    index: dict[Hashable, int] = {}
    member = [index.setdefault(cluster, len(index)) for cluster in clusters]
    sums, counts = np.zeros(len(index)), np.zeros(len(index))
    np.add.at(sums, member, array)
    np.add.at(counts, member, 1.0)
    return sums, counts


def _resampled_means(
    sums: npt.NDArray[np.float64], counts: npt.NDArray[np.float64], n_boot: int, seed: int
) -> npt.NDArray[np.float64]:
    """Means of `n_boot` resamples of the clusters, shape (n_boot,)."""
    rng, k = np.random.default_rng(seed), len(sums)
    means = np.empty(n_boot)
    rows = max(1, _DRAWS_AT_ONCE // k)
    for start in range(0, n_boot, rows):
        drawn = rng.integers(k, size=(min(rows, n_boot - start), k), dtype=np.int32)
        means[start : start + rows] = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    return means


def _percentiles(means: npt.NDArray[np.float64], level: float) -> tuple[float, float]:
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
