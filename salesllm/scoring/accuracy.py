"""Labels beside the true ones: accuracy, F1 and confusion, with intervals clustered by dialogue."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from salesllm.stats import Interval, paired_difference, proportion

Array = npt.NDArray[Any]

_DRAWS_AT_ONCE = 2_000_000  # bounds the memory of a bootstrap


def figures(
    truth: Sequence[str],
    guess: Sequence[str | None],
    clusters: Sequence[Hashable],
    labels: Sequence[str],
    purchase: str,
) -> dict[str, Any]:
    """What `summary.json` says of one who labels.

    Args:
        guess: None where there is no readable label: unscored, so neither right nor wrong.
        clusters: Of each dialogue; whole clusters are resampled.
        purchase: The label whose F1 is given beside the mean over labels.

    Returns:
        `accuracy`, `f1` (macro) and `f1_purchase` with 95 % intervals, over the `answered`;
        `confusion` with a row for each true label; all None or zero where nothing is answered.
    """
    known = [i for i, label in enumerate(guess) if label is not None]
    place = {label: i for i, label in enumerate(labels)}
    told = [(place[truth[i]], place[str(guess[i])]) for i in known]
    groups = [clusters[i] for i in known]
    confusion, by_cluster = _confusions(told, groups, len(labels))
    resampled = _resampled(by_cluster)
    hits = proportion([a == b for a, b in told], groups).as_dict()
    return {
        "n": len(truth),
        "answered": len(known),
        "unscored": len(truth) - len(known),
        "accuracy": hits,
        "f1": _interval(macro_f1(confusion), macro_f1(resampled), len(known)),
        "f1_purchase": _interval(
            f1(confusion)[place[purchase]], f1(resampled)[:, place[purchase]], len(known)
        ),
        "confusion": confusion.tolist(),
    }


def accuracy_difference(
    truth: Sequence[str],
    first: Sequence[str | None],
    second: Sequence[str | None],
    clusters: Sequence[Hashable],
) -> dict[str, Any]:
    """Accuracy of the first minus that of the second, on the dialogues that both have labelled.

    Returns:
        `difference`, `low`, `high`, `p_value` and `n`; None and 0 where they share none.
    """
    both = [i for i, pair in enumerate(zip(first, second, strict=True)) if None not in pair]
    if not both:
        return {"difference": None, "low": None, "high": None, "p_value": None, "n": 0}
    a, b = ([given[i] == truth[i] for i in both] for given in (first, second))
    return paired_difference(a, b, [clusters[i] for i in both]).as_dict("difference")


def f1(confusion: Array) -> Array:
    """F1 of each label; NaN for a label that is neither true nor given.

    Args:
        confusion: Shape (..., labels, labels): true label by given label.
    """
    hits = np.diagonal(confusion, axis1=-2, axis2=-1)
    size = confusion.sum(-1) + confusion.sum(-2)
    return np.divide(2.0 * hits, size, out=np.full(hits.shape, np.nan), where=size > 0)


def macro_f1(confusion: Array) -> Array:
    """Mean F1 of the labels that are true or given; NaN where there is none."""
    each = f1(confusion)
    there = ~np.isnan(each)
    count = there.sum(-1)
    total = np.where(there, each, 0.0).sum(-1)
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


def _confusions(
    told: Sequence[tuple[int, int]], clusters: Sequence[Hashable], size: int
) -> tuple[Array, Array]:
    """All, shape (labels, labels), and by cluster, shape (clusters, labels, labels)."""
    number: dict[Hashable, int] = {}
    member = [number.setdefault(cluster, len(number)) for cluster in clusters]
    counts = np.zeros((len(number), size, size), dtype=np.int64)
    for cluster, (true, given) in zip(member, told, strict=True):
        counts[cluster, true, given] += 1
    return counts.sum(0), counts


def _resampled(by_cluster: Array, n_boot: int = 2000, seed: int = 0) -> Array:
    """Confusions of resamples of whole clusters, shape (n_boot, labels, labels)."""
    k, size, _ = by_cluster.shape
    if not k:
        return np.zeros((n_boot, size, size))
    rng, rows = np.random.default_rng(seed), max(1, _DRAWS_AT_ONCE // k)
    flat, pooled = by_cluster.reshape(k, -1), []
    for start in range(0, n_boot, rows):
        times = rng.multinomial(k, np.full(k, 1 / k), size=min(rows, n_boot - start))
        pooled.append(times @ flat)
    return np.concatenate(pooled).reshape(n_boot, size, size)


def _interval(value: Any, resampled: Array, n: int) -> dict[str, Any]:
    there = resampled[~np.isnan(resampled)]
    low, high = np.quantile(there, [0.025, 0.975]) if len(there) else (np.nan, np.nan)
    return Interval(float(value), float(low), float(high), n).as_dict()
