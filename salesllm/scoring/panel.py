"""Several judges of one dialogue."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean

from salesllm.chat.base import Usage
from salesllm.scoring.selling import SellingScore


def combine(scores: Mapping[str, SellingScore]) -> SellingScore:
    """The judges' mean: unscored where one of them gave no score, so that all means are alike.

    Args:
        scores: By judge, at least one. A single judge's score is returned as it is.

    Returns:
        Its `samples` are empty: each judge keeps its own.
    """
    if len(scores) == 1:
        return next(iter(scores.values()))
    missing = [name for name, rated in scores.items() if rated.score is None]
    return SellingScore(
        None if missing else fmean(rated.score or 0 for rated in scores.values()),
        "; ".join(f"{name}: {scores[name].reason}" for name in missing[:1] or scores),
        tuple(dict.fromkeys(each for rated in scores.values() for each in rated.evidence)),
        failed=any(rated.failed for rated in scores.values()),
        usage=sum((rated.usage for rated in scores.values()), Usage()),
        weighted=all(rated.weighted for rated in scores.values()),
    )
