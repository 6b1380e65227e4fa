"""The parts of a benchmark's report that are drawn or arranged, from the leaderboard's dict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from salesllm.report.charts import Mark, Row, interval_plot
from salesllm.report.figures import Estimate, estimate, percent
from salesllm.report.lines import Axes, point_chart, rank_chart
from salesllm.report.scores import NONE, OVERALL, Score, Table
from salesllm.scenario import Difficulty

Leaderboard = Mapping[str, Any]

_TENTHS = [i / 5 for i in range(6)]


@dataclass(frozen=True)
class Difference:
    """One salesperson's mean minus another's, on the same scenarios.

    Attributes:
        certain: Whether it is told from zero at 5 %, all comparisons of the customer considered.
    """

    value: float
    text: str
    certain: bool


def whole(leaderboard: Leaderboard) -> str:
    """The group that takes in all rows: the only language, or `overall`."""
    languages: list[str] = leaderboard["languages"]
    return languages[0] if len(languages) == 1 else OVERALL


def best(table: Table, customer: str, group: str) -> tuple[str, Score] | None:
    """The salesperson with the highest mean; None where nobody has a score."""
    scores = {name: row.get((customer, group), NONE) for name, row in table.rows.items()}
    means = {name: score.mean.value for name, score in scores.items() if score.mean is not None}
    if not means:
        return None
    name = max(means, key=means.__getitem__)
    return name, scores[name]


def ranking(leaderboard: Leaderboard, table: Table, customer: str) -> Markup:
    """Mean scores with intervals and ranks, the best first."""
    column = (customer, whole(leaderboard))
    scores = {name: row.get(column, NONE) for name, row in table.rows.items()}
    rows, ends = [], list[float]()
    for name, score in scores.items():
        if score.mean is not None:
            text = f"{score.text} ({score.interval})" if score.interval else score.text
            rank = f", rank {score.rank_text}" if score.ranks else ""
            rows.append(Row(name, [Mark(OVERALL, score.mean, text)], text + rank))
            ends += [score.mean.value, *(e for e in (score.mean.low, score.mean.high) if e)]
    rows.sort(key=lambda row: -row.marks[0].estimate.value)
    low, high = (min(ends), max(ends)) if ends else (0.0, 10.0)
    label = f"SalesLLM score with the customer {customer}, 95% intervals"
    return interval_plot(rows, label=label, tick=lambda v: f"{v:g}", start=low, top=high).svg()


def ranks_by_alpha(leaderboard: Leaderboard, customer: str, alpha: float) -> Markup:
    """How the ranking moves with the weight of buying; empty where nobody has both scores."""
    found = leaderboard["alpha"][customer].get(whole(leaderboard), {})
    ranks = {name: each["rank"] for name, each in found.items() if None not in each["rank"]}
    grid = leaderboard["alpha"]["grid"]
    return rank_chart(ranks, grid, x="α, the weight of buying", chosen=alpha) if ranks else Markup()


def calibration(leaderboard: Leaderboard, customer: str) -> Markup:
    """Buy rate against the propensity that the customer's script gives it."""
    groups = leaderboard["calibration"][customer]
    series = {
        language: [
            (point["propensity"], bought)
            for point in groups.get(language, ())
            if (bought := estimate(point, "bought", "n")) is not None
        ]
        for language in leaderboard["languages"]
    }
    axes = Axes("propensity in the customer's script", "share that bought", _TENTHS, _TENTHS)
    label = f"Buy rate with the customer {customer}"
    return point_chart(series, axes, label=label, diagonal=True)


def score_by_turns(leaderboard: Leaderboard, customer: str) -> dict[str, Markup]:
    """A chart a salesperson: mean score by the length of the dialogue (Figure 5)."""
    groups = leaderboard["turns"][customer]
    charts = {}
    for name in leaderboard["salespeople"]:
        series = {
            language: [
                (sum(each["turns"]) / 2, mean)
                for each in groups.get(language, {}).get(name, ())
                if (mean := estimate(each, "mean", "n")) is not None
            ]
            for language in leaderboard["languages"]
        }
        last = max((x for points in series.values() for x, _ in points), default=1.0)
        step = 5 if last <= 25 else 10
        across = range(0, int(-(-last // step)) * step + 1, step)
        axes = Axes("turns", "score", across, (0, 5, 10), height=80)
        charts[name] = point_chart(series, axes, label=f"{name}, {customer}", joined=True)
    return charts


def groups_of(leaderboard: Leaderboard, dimension: str, customer: str) -> list[str]:
    """The groups of a dimension that any salesperson has: difficulties in their order."""
    rows = leaderboard["by"][dimension].get(customer, {}).values()
    found = {group for row in rows for group in row}
    return [d for d in Difficulty if d in found] + sorted(found - set(Difficulty))


def group_mean(
    leaderboard: Leaderboard, dimension: str, customer: str, salesperson: str, group: str
) -> Estimate | None:
    means = leaderboard["by"][dimension][customer].get(salesperson, {})
    return estimate(means.get(group), "mean", "n")


def part(figures: Mapping[str, Any], name: str) -> Estimate | None:
    """Buying, selling or final of the summary's `results`."""
    return estimate(figures.get(name), "mean", "n")


def endings(leaderboard: Leaderboard, customer: str) -> list[str]:
    """How dialogues with a customer ended, the commonest first."""
    total: Counter[str] = Counter()
    for counts in leaderboard["terminations"].get(customer, {}).values():
        total.update(counts)
    return [how for how, _ in total.most_common()]


def mean_turns(leaderboard: Leaderboard, customer: str, salesperson: str) -> float | None:
    groups: Mapping[str, Mapping[str, float | None]] = leaderboard["mean_turns"][customer]
    return groups.get(whole(leaderboard), {}).get(salesperson)


def differences(leaderboard: Leaderboard, customer: str) -> dict[str, dict[str, Difference]]:
    """Salesperson to every other to the difference of their means."""
    found: dict[str, dict[str, Difference]] = {name: {} for name in leaderboard["salespeople"]}
    for pair in leaderboard["comparisons"][customer].get(whole(leaderboard), ()):
        mean = estimate(pair, "difference", "n")
        if mean is not None:
            certain = pair["p_holm"] is not None and pair["p_holm"] < 0.05
            found[pair["a"]][pair["b"]] = _difference(mean, 1, certain)
            found[pair["b"]][pair["a"]] = _difference(mean, -1, certain)
    return found


def _difference(mean: Estimate, sign: int, certain: bool) -> Difference:
    value = sign * mean.value
    ends = sorted(sign * end for end in (mean.low, mean.high) if end is not None)
    span = f" ({ends[0]:+.2f} to {ends[1]:+.2f})" if len(ends) == 2 else ""
    return Difference(value, f"{value:+.2f}{span}, {mean.n} scenarios", certain)


def buy_rates(leaderboard: Leaderboard, customer: str) -> Iterator[tuple[str, float, str, int]]:
    """(difficulty, propensity, buy rate with its interval, dialogues)."""
    for point in leaderboard["calibration"][customer].get(whole(leaderboard), ()):
        bought = estimate(point, "bought", "n")
        if bought is not None:
            span = (
                "" if bought.low is None else f" ({percent(bought.low)} to {percent(bought.high)})"
            )
            yield (
                point["difficulty"],
                point["propensity"],
                percent(bought.value) + span,
                bought.n or 0,
            )
