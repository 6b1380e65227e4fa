"""How far several raters agree: Krippendorff's alpha, and the intraclass correlations."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from salesllm.stats.distributions import f_quantile
from salesllm.stats.means import Interval


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
    if len(found) < 2:
        return math.nan
    if level == "interval":
        return _interval_alpha(pairable)
    values: list[Any] = list(found) if level == "nominal" else sorted(found)
    place = {value: index for index, value in enumerate(values)}
    coincidences = np.zeros((len(values), len(values)))
    for unit in pairable:
        counts = np.bincount([place[value] for value in unit], minlength=len(values))
        coincidences += (np.outer(counts, counts) - np.diag(counts)) / (len(unit) - 1)
    totals = coincidences.sum(axis=1)
    if level == "nominal":
        distance = 1.0 - np.eye(len(values))
    else:  # a value stands in the middle of its ranks
        scale = totals.cumsum() - totals / 2
        distance = (scale[:, None] - scale[None, :]) ** 2
    expected = (np.outer(totals, totals) * distance).sum() / (totals.sum() - 1)
    return float(1 - (coincidences * distance).sum() / expected)


def _interval_alpha(units: Sequence[Sequence[Any]]) -> float:
    """Without a table of all values: scores with decimals may be as many as there are dialogues.

    The squared differences of all pairs of n values sum to n times their squared deviations.
    """
    sizes = np.array([len(unit) for unit in units])
    values = np.concatenate([np.asarray(unit, dtype=float) for unit in units])
    values -= values.mean()
    unit_of = np.repeat(np.arange(len(units)), sizes)
    means = np.bincount(unit_of, values) / sizes
    within = np.bincount(unit_of, (values - means[unit_of]) ** 2)
    observed = (sizes / (sizes - 1) * within).sum()
    expected = len(values) / (len(values) - 1) * (values**2).sum()
    return float(1 - observed / expected)


@dataclass(frozen=True)
class IntraclassCorrelation:
    """Two-way random effects, absolute agreement (Shrout and Fleiss 1979).

    Attributes:
        single: ICC(2,1): how far a single rater's score can be trusted.
        average: ICC(2,k): how far the mean of these raters' scores can be.
    """

    single: Interval
    average: Interval


def intraclass_correlation(scores: npt.ArrayLike, *, level: float = 0.95) -> IntraclassCorrelation:
    """ICC(2,1) and ICC(2,k), with intervals by F (McGraw and Wong 1996).

    Args:
        scores: Shape (targets, raters): every rater has rated every target.

    Returns:
        NaN throughout with fewer than two targets or raters, or where all scores are the same.

    Raises:
        ValueError: A score is not finite, or the shape is another.
    """
    table = np.asarray(scores, dtype=float)
    if table.ndim != 2 or not np.isfinite(table).all():
        raise ValueError("scores must be two-dimensional and finite")
    n, k = table.shape
    if n < 2 or k < 2 or np.ptp(table) == 0:
        nothing = Interval(math.nan, math.nan, math.nan, n)
        return IntraclassCorrelation(nothing, nothing)
    table = table - table.mean()
    targets, raters = table.mean(axis=1), table.mean(axis=0)
    rest = table - targets[:, None] - raters
    between = k * float((targets**2).sum()) / (n - 1)
    rater = n * float((raters**2).sum()) / (k - 1)
    error = float((rest**2).sum()) / ((n - 1) * (k - 1))
    single = (between - error) / (between + (k - 1) * error + k * (rater - error) / n)
    low, high = _icc_ends(single, between, rater, error, n, k, level)
    average, lowest, highest = (_of_mean(value, k) for value in (single, low, high))
    return IntraclassCorrelation(
        Interval(single, low, high, n), Interval(average, lowest, highest, n)
    )


def _of_mean(single: float, k: int) -> float:
    """Spearman and Brown: the reliability of the mean of k such raters."""
    return k * single / (1 + (k - 1) * single)


def _icc_ends(
    icc: float, between: float, rater: float, error: float, n: int, k: int, level: float
) -> tuple[float, float]:
    if error < 1e-12 * (between + rater):  # raters differ by a constant, or not at all
        return math.nan, math.nan
    a = k * icc * rater / error
    b = n * (1 + (k - 1) * icc) - k * icc
    freedom = (k - 1) * (n - 1) * (a + b) ** 2 / ((n - 1) * a**2 + b**2)
    upper = f_quantile((1 + level) / 2, n - 1, freedom)
    lower = f_quantile((1 + level) / 2, freedom, n - 1)
    noise = k * rater + (k * n - k - n) * error
    return (
        n * (between - upper * error) / (upper * noise + n * between),
        n * (lower * between - error) / (noise + n * lower * between),
    )
