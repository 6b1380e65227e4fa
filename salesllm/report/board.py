"""The parts of a benchmark's report that are drawn or arranged, from the leaderboard's dict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from salesllm.report.charts import Mark, Row, interval_plot, shortened, ticks
from salesllm.report.figures import Estimate, estimate
from salesllm.report.lines import Axes, point_chart, rank_chart
from salesllm.report.scores import NONE, OVERALL, Score, Table, languages, whole
from salesllm.scenario import Difficulty

Leaderboard = Mapping[str, Any]

_FIFTHS = [i / 5 for i in range(6)]


@dataclass(frozen=True)
class Difference:
    """One salesperson's mean minus another's, on the same scenarios.

    Attributes:
        certain: Whether it is told from zero at 5 %, all comparisons of the customer considered.
    """

    value: float
    text: str
    certain: bool


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
            # The interval is drawn; on a phone there is no room to write it as well.
            end = f"{score.text}, rank {score.rank_text}" if score.ranks else score.text
            rows.append(Row(shortened(name, 22), [Mark(OVERALL, score.mean, text)], end))
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
        for language in languages(leaderboard)
    }
    axes = Axes("propensity in the customer's script", "share that bought", _FIFTHS, _FIFTHS)
    label = f"Buy rate with the customer {customer}"
    return point_chart(series, axes, label=label, diagonal=True)


def score_by_turns(leaderboard: Leaderboard, customer: str) -> dict[str, Markup]:
    """A chart a salesperson: mean score by the length of the dialogue (Figure 5)."""
    groups = leaderboard["turns"][customer]
    points = {
        name: {
            language: [
                (sum(each["turns"]) / 2, mean)
                for each in groups.get(language, {}).get(name, ())
                if (mean := estimate(each, "mean", "n")) is not None
            ]
            for language in languages(leaderboard)
        }
        for name in leaderboard["salespeople"]
    }
    every = [p for series in points.values() for line in series.values() for p in line]
    last = max((turns for turns, _ in every), default=1.0)
    low = min((mean.value for _, mean in every), default=0.0)
    high = max((mean.value for _, mean in every), default=10.0)
    axes = Axes("turns", "score", ticks(0, last, 4), ticks(low, high, 3), height=100)
    return {
        name: point_chart(series, axes, label=f"{name}, {customer}", joined=True)
        for name, series in points.items()
    }


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


def mean_turns(
    leaderboard: Leaderboard, customer: str, salesperson: str, group: str
) -> float | None:
    raw = leaderboard["turns"]["mean_turns"][customer].get(group, {}).get(salesperson)
    mean = estimate(raw, "mean", "n")
    return None if mean is None else mean.value


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


def buy_rates(leaderboard: Leaderboard, customer: str) -> Iterator[tuple[str, float, Estimate]]:
    """(difficulty, propensity, buy rate), over all languages."""
    for point in leaderboard["calibration"][customer].get(whole(leaderboard), ()):
        bought = estimate(point, "bought", "n")
        if bought is not None:
            yield point["difficulty"], point["propensity"], bought
