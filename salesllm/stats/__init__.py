"""Intervals, paired tests, ranks, correlations and agreement, with numpy alone."""

from salesllm.stats.agreement import (
    IntraclassCorrelation,
    intraclass_correlation,
    krippendorff_alpha,
)
from salesllm.stats.correlation import Coefficient, correlation
from salesllm.stats.means import (
    Difference,
    Interval,
    holm,
    mean_interval,
    mean_intervals,
    paired_difference,
    paired_differences,
    proportion,
    wilson,
)
from salesllm.stats.ranks import Rank, places, rank_intervals

__all__ = [
    "Coefficient",
    "Difference",
    "Interval",
    "IntraclassCorrelation",
    "Rank",
    "correlation",
    "holm",
    "intraclass_correlation",
    "krippendorff_alpha",
    "mean_interval",
    "mean_intervals",
    "paired_difference",
    "paired_differences",
    "places",
    "proportion",
    "rank_intervals",
    "wilson",
]
