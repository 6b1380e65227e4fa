"""Labels beside the true ones: accuracy, F1 and confusion, with intervals clustered by dialogue."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from salesllm.stats import Difference, Interval, mean_interval, paired_difference, proportion

Array = npt.NDArray[Any]


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
        clusters: Of each dialogue; those of one cluster resemble each other.
        purchase: The label whose F1 is given beside the mean over labels.

    Returns:
        `accuracy`, `f1` (macro) and `f1_purchase` with 95 % intervals, over the `answered`;
        `confusion` with a row for each true label; all None or zero where nothing is answered.
    """
    known = [i for i, label in enumerate(guess) if label is not None]
    true, told = [truth[i] for i in known], [str(guess[i]) for i in known]
    groups, pairs = [clusters[i] for i in known], list(zip(true, told, strict=True))
    return {
        "n": len(truth),
        "answered": len(known),
        "unscored": len(truth) - len(known),
        "accuracy": proportion([a == b for a, b in pairs], groups).as_dict(),
        "f1": _f1(f1_values(true, told, labels), groups).as_dict(),
        "f1_purchase": _f1(f1_values(true, told, [purchase]), groups).as_dict(),
        "confusion": [[pairs.count((a, b)) for b in labels] for a in labels],
    }


def lead(
    truth: Sequence[str],
    first: Sequence[str | None],
    second: Sequence[str | None],
    clusters: Sequence[Hashable],
    labels: Sequence[str],
    purchase: str,
) -> dict[str, Any]:
    """The measures of `figures`, those of the first minus those of the second.

    Returns:
        The measures with their p-values, on the dialogues that both have labelled: `answered`.
    """
    both = [i for i, pair in enumerate(zip(first, second, strict=True)) if None not in pair]
    true, groups = [truth[i] for i in both], [clusters[i] for i in both]
    a, b = ([str(given[i]) for i in both] for given in (first, second))

    def apart(x: Any, y: Any) -> dict[str, Any]:
        if not both or x is None or y is None:
            return Difference(np.nan, np.nan, np.nan, 0, np.nan).as_dict()
        return paired_difference(x, y, groups).as_dict()

    right = ([t == g for t, g in zip(true, given, strict=True)] for given in (a, b))
    return {
        "n": len(truth),
        "answered": len(both),
        "accuracy": apart(*right),
        "f1": apart(*(f1_values(true, given, labels) for given in (a, b))),
        "f1_purchase": apart(*(f1_values(true, given, [purchase]) for given in (a, b))),
    }


def f1_values(truth: Sequence[str], guess: Sequence[str], labels: Iterable[str]) -> Array | None:
    """Values whose mean is F1, and whose spread is that of F1 by the delta method.

    F1 of a label, 2 TP / (true + guessed), is a ratio of two means; each value is F1 plus the
    dialogue's influence on it, so that what serves means serves it, clusters and pairs included.
    (Takahashi et al. 2022 have the intervals of independent dialogues.)

    Args:
        truth: Shape (n,).
        guess: Shape (n,).
        labels: Averaged over (macro F1); those that neither has do not count.

    Returns:
        Shape (n,); None where no label counts.
    """
    true, guessed = np.asarray(truth), np.asarray(guess)
    found = []
    for label in labels:
        hits = (true == label) & (guessed == label)
        named = (true == label).astype(float) + (guessed == label)
        if named.any():
            f1 = 2 * hits.mean() / named.mean()
            found.append(f1 + (2 * hits - f1 * named) / named.mean())
    return np.mean(found, axis=0) if found else None


def _f1(values: Array | None, clusters: Sequence[Hashable]) -> Interval:
    if values is None:
        return Interval(np.nan, np.nan, np.nan, len(clusters))
    found = mean_interval(values, clusters, bounds=(0, 1))
    if found.high - found.low < 1e-9:  # all right or all wrong: no spread tells how sure that is
        return replace(found, low=np.nan, high=np.nan)
    return found
