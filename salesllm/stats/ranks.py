"""How sure a ranking is: the ranks that other products would have given."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from salesllm.stats.distributions import Array

_DRAWS_AT_ONCE = 2_000_000  # bounds the memory of a bootstrap to tens of megabytes


class Rank(NamedTuple):
    """A place in a ranking, 1 the best, with its interval.

    Attributes:
        rank: None for who has no value. Equal means share the better place.
        low: The best place, and `high` the worst; None where a single cluster has all the values.
    """

    rank: int | None
    low: int | None
    high: int | None


def rank_intervals(
    sums: Array, counts: Array, *, n_boot: int = 2000, seed: int = 0, level: float = 0.95
) -> list[Rank]:
    """Ranks by the mean, the highest first, with percentile intervals of the cluster bootstrap.

    Every resample of the clusters is the same for all columns, as all salespeople sell the same
    products: what makes a product hard for all of them does not blur their order.

    Args:
        sums: Shape (clusters, columns): the sum of each cluster's values.
        counts: Shape (clusters, columns): how many they are.
        n_boot: Number of resamples. One that leaves a column empty is passed over.
    """
    ranks: list[Rank] = [Rank(None, None, None)] * sums.shape[1]
    columns = np.flatnonzero(counts.any(axis=0))
    if not len(columns):
        return ranks
    clusters = counts.any(axis=1)
    sums, counts = sums[clusters][:, columns], counts[clusters][:, columns]
    (place,) = _places(sums.sum(axis=0, keepdims=True) / counts.sum(axis=0))
    drawn = _resampled_means(sums, counts, n_boot, seed)
    drawn = drawn[np.isfinite(drawn).all(axis=1)]
    ends = None
    if len(sums) > 1 and len(drawn):
        shares = [(1 - level) / 2, (1 + level) / 2]
        ends = np.quantile(_places(drawn), shares, axis=0, method="inverted_cdf")
    for i, column in enumerate(columns):
        low, high = (None, None) if ends is None else (int(ends[0, i]), int(ends[1, i]))
        ranks[column] = Rank(int(place[i]), low, high)
    return ranks


def places(means: Array) -> list[int | None]:
    """The rank of each mean, the highest first; None for NaN. Equal means share the better one."""
    return [
        None if np.isnan(mean) else int(place)
        for mean, place in zip(means, _places(means[None])[0], strict=True)
    ]


def _places(means: Array) -> Array:
    """Ranks within each row. Rounded, lest the last bit part those who did the same."""
    rounded = np.round(means, 9)
    return 1.0 + (rounded[:, None, :] > rounded[:, :, None]).sum(axis=2)


def _resampled_means(sums: Array, counts: Array, n_boot: int, seed: int) -> Array:
    """Means of the columns in `n_boot` resamples of the clusters, shape (n_boot, columns)."""
    rng, k = np.random.default_rng(seed), len(sums)
    means = np.empty((n_boot, sums.shape[1]))
    rows = max(1, _DRAWS_AT_ONCE // k)
    for start in range(0, n_boot, rows):
        n = min(rows, n_boot - start)
        drawn = rng.integers(k, size=(n, k)) + k * np.arange(n)[:, None]
        times = np.bincount(drawn.ravel(), minlength=n * k).reshape(n, k).astype(float)
        with np.errstate(invalid="ignore"):
            means[start : start + n] = (times @ sums) / (times @ counts)
    return means
