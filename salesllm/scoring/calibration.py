"""Whether probabilities mean what they say: reliability, calibration error, temperature."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

COLDEST, WARMEST = 0.05, 20.0


@dataclass(frozen=True)
class Bin:
    """Events of nearly one probability.

    Attributes:
        said: Their mean probability.
        happened: The share of them that happened.
    """

    said: float
    happened: float
    n: int


def reliability(probabilities: npt.ArrayLike, happened: npt.ArrayLike, bins: int = 10) -> list[Bin]:
    """Bins of equal mass: edges at the quantiles, so that equal probabilities share a bin.

    Args:
        probabilities: Shape (n,).
        happened: Shape (n,), booleans or 0 / 1.

    Returns:
        From the lowest probability to the highest; fewer than `bins` where many are equal.
    """
    p, y = np.asarray(probabilities, float), np.asarray(happened, float)
    if not len(p):
        return []
    edges = np.unique(np.quantile(p, np.arange(1, bins) / bins, method="inverted_cdf"))
    number = np.searchsorted(edges, p)  # an edge belongs to the bin below it
    return [
        Bin(float(p[inside].mean()), float(y[inside].mean()), int(inside.sum()))
        for inside in (number == i for i in range(len(edges) + 1))
        if inside.any()
    ]


def calibration_error(bins: list[Bin]) -> float:
    """Expected calibration error: mean distance of `said` and `happened`, weighted by size."""
    total = sum(each.n for each in bins)
    return sum(each.n * abs(each.said - each.happened) for each in bins) / total


def error_by_chance(
    probabilities: npt.ArrayLike, bins: int = 10, *, draws: int = 200, seed: int = 0
) -> float:
    """The mean calibration error of as many events that do happen as often as they are said to.

    It is above zero, the more so the fewer there are: an error below it shows no miscalibration.
    """
    p, rng = np.asarray(probabilities, float), np.random.default_rng(seed)
    errors = [calibration_error(reliability(p, rng.random(len(p)) < p, bins)) for _ in range(draws)]
    return float(np.mean(errors))


def brier(probabilities: npt.ArrayLike, happened: npt.ArrayLike) -> Array:
    """Squared distance of each probability from what happened, shape (n,)."""
    return np.square(np.asarray(probabilities, float) - np.asarray(happened, float))


def tempered(probabilities: npt.ArrayLike, temperature: float) -> Array:
    """Probabilities, shape (n, labels), as if their logits were divided by the temperature."""
    logits = _logits(probabilities) / temperature
    odds = np.exp(logits - logits.max(-1, keepdims=True))
    return np.asarray(odds / odds.sum(-1, keepdims=True))


def log_loss(probabilities: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """Mean negative log-probability of the labels.

    Args:
        probabilities: Shape (n, labels).
        labels: Shape (n,): the index of the true one.
    """
    logits, truth = _logits(probabilities), np.asarray(labels)
    return float(-logits[np.arange(len(truth)), truth].mean())


def fit_temperature(probabilities: npt.ArrayLike, labels: npt.ArrayLike) -> float:
    """The temperature of least log loss, from `COLDEST` to `WARMEST`.

    Labels that are all predicted rightly end at the coldest: they know no limit.

    Args:
        probabilities: Shape (n, labels), at temperature 1.
        labels: Shape (n,): the index of the true one.
    """
    low, high = math.log(COLDEST), math.log(WARMEST)
    golden = (math.sqrt(5) - 1) / 2
    while high - low > 1e-6:  # the loss is convex in 1 / T, so it has one valley in log T
        width = golden * (high - low)
        left, right = high - width, low + width
        if _loss(probabilities, labels, left) <= _loss(probabilities, labels, right):
            high = right
        else:
            low = left
    return math.exp((low + high) / 2)


def _loss(probabilities: npt.ArrayLike, labels: npt.ArrayLike, log_temperature: float) -> float:
    return log_loss(tempered(probabilities, math.exp(log_temperature)), labels)


def _logits(probabilities: npt.ArrayLike) -> Array:
    tiniest = np.finfo(np.float64).tiny
    return np.asarray(np.log(np.maximum(np.asarray(probabilities, float), tiniest)))
