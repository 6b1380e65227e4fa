"""Whether probabilities mean what they say: reliability, calibration error, temperature."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from salesllm.stats import mean_interval

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
    """The temperature of least log loss (Guo et al. 2017), between `COLDEST` and `WARMEST`.

    The loss is convex in the temperature's inverse: its slope is zero once, found by bisection.

    Args:
        probabilities: Shape (n, labels), at temperature 1.
        labels: Shape (n,): the index of the true one.

    Returns:
        NaN where there is none: every label is right, and the colder the better, or they are no
        better than chance, and the warmer the better.
    """
    logits, truth = _logits(probabilities), np.asarray(labels)
    true_logits = logits[np.arange(len(truth)), truth]

    def slope(temperature: float) -> float:
        expected = (tempered(probabilities, temperature) * logits).sum(-1)
        return float((expected - true_logits).mean())

    if not slope(COLDEST) > 0 > slope(WARMEST):
        return math.nan
    cold, warm = math.log(COLDEST), math.log(WARMEST)
    for _ in range(60):
        middle = (cold + warm) / 2
        cold, warm = (middle, warm) if slope(math.exp(middle)) > 0 else (cold, middle)
    return math.exp((cold + warm) / 2)


def figures(
    probabilities: npt.ArrayLike,
    labels: npt.ArrayLike,
    purchase: int,
    clusters: Sequence[Hashable],
    bins: int,
) -> dict[str, Any]:
    """What `summary.json` says of the probabilities.

    Args:
        probabilities: Shape (n, labels).
        labels: Shape (n,): the index of the true one.
        purchase: The index of the label whose probability is looked at.
        clusters: Shape (n,): what the interval of the Brier score takes as one.

    Returns:
        `ece` and `brier` of P(purchase), `log_loss` of all labels, `reliability` by bins; beside
        the `ece` what it is on as few dialogues by chance.
    """
    said, bought = np.asarray(probabilities, float)[:, purchase], np.asarray(labels) == purchase
    found = reliability(said, bought, bins)
    return {
        "ece": calibration_error(found),
        "ece_by_chance": error_by_chance(said, bins),
        "brier": mean_interval(np.square(said - bought), clusters, bounds=(0, 1)).as_dict(),
        "log_loss": log_loss(probabilities, labels),
        "reliability": [asdict(each) for each in found],
    }


def _logits(probabilities: npt.ArrayLike) -> Array:
    tiniest = np.finfo(np.float64).tiny
    return np.asarray(np.log(np.maximum(np.asarray(probabilities, float), tiniest)))
