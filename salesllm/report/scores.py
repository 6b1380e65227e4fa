"""Mean scores of salespeople by customer and language: a run's own, and what others published."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from salesllm.report.figures import LANGUAGES, Estimate, estimate, interval

OVERALL = "overall"
ABSENT = "\N{EM DASH}"

Column = tuple[str, str]
"""A customer and a language, or `overall`."""


@dataclass(frozen=True)
class Score:
    """A salesperson's mean final score (0-10) in one column.

    Attributes:
        mean: None where no dialogue has a score.
        scored: So many dialogues have one, where it is known; `unscored` have none.
        ranks: Its rank among the salespeople, and the interval of that rank, if known.
        place: 1, 2 or 3 where the table marks it so, by the figures as printed.
    """

    mean: Estimate | None
    scored: int | None = None
    unscored: int = 0
    ranks: tuple[int, int, int] | None = None
    place: int | None = None

    @property
    def text(self) -> str:
        return ABSENT if self.mean is None else printed(self.mean.value)

    @property
    def interval(self) -> str:
        return interval(self.mean, digits=2)

    @property
    def rank_text(self) -> str:
        """`2 (1-3)`."""
        if self.ranks is None:
            return ABSENT
        rank, low, high = self.ranks
        return f"{rank} ({low}\N{EN DASH}{high})" if low != high else str(rank)

    @property
    def coverage(self) -> str:
        """`1,790 of 1,805`."""
        if self.scored is None:
            return ABSENT
        return f"{self.scored:,} of {self.scored + self.unscored:,}"


NONE = Score(None)
"""Of what was not measured."""


@dataclass(frozen=True)
class Table:
    """Scores of one source.

    Attributes:
        source: `run`, or who published the figures.
        rows: Salesperson to its scores; a column that it lacks was not measured.
        unauthorised: (salesperson, customer) to the share of dialogues with an unauthorised
            concession, where grounding was checked.
    """

    source: str
    title: str
    columns: Sequence[Column]
    rows: Mapping[str, Mapping[Column, Score]]
    unauthorised: Mapping[tuple[str, str], Estimate] = field(default_factory=dict)
    note: str = ""

    @property
    def customers(self) -> dict[str, list[str]]:
        """Customer to the languages it has columns for."""
        found: dict[str, list[str]] = {}
        for customer, language in self.columns:
            found.setdefault(customer, []).append(language)
        return found


def printed(value: float) -> str:
    return f"{value:.2f}"


def places(means: Mapping[str, float]) -> dict[str, int]:
    """Who is first, second and third by the printed figures.

    Equals share a place, and the next one stands as far down as if they had not. Where all are
    equal there is nothing to rank.
    """
    shown = {name: float(printed(mean)) for name, mean in means.items()}
    if len(set(shown.values())) < 2:
        return {}
    ranked = {name: 1 + sum(v > value for v in shown.values()) for name, value in shown.items()}
    return {name: place for name, place in ranked.items() if place <= 3}


def languages(leaderboard: Mapping[str, Any]) -> list[str]:
    """The languages of a run, Chinese first, as the paper has them."""
    return sorted(leaderboard["languages"], key=list(LANGUAGES).index)


def whole(leaderboard: Mapping[str, Any]) -> str:
    """The group that takes in all rows: the only language, or `overall`."""
    found = languages(leaderboard)
    return found[0] if len(found) == 1 else OVERALL


def table_of(leaderboard: Mapping[str, Any], title: str) -> Table:
    """A run's own table, from `salesllm.benchmark.leaderboard`."""
    groups = list(dict.fromkeys([*languages(leaderboard), whole(leaderboard)]))
    columns = [(customer, group) for customer in leaderboard["customers"] for group in groups]
    found: dict[Column, dict[str, Mapping[str, Any]]] = {
        (customer, group): leaderboard["table"].get(customer, {}).get(group, {})
        for customer, group in columns
    }
    rates = {
        (salesperson, customer): rate
        for customer, salespeople in leaderboard.get("grounding", {}).items()
        for salesperson, raw in salespeople.items()
        if (rate := estimate(raw, "rate", "n")) is not None
    }
    rows = _rows(leaderboard["salespeople"], found)
    return Table("run", title, columns, rows, rates)


@cache
def published() -> tuple[Table, ...]:
    """What the paper and the authors' repository give, a table each."""
    path = Path(__file__).with_name("reference.yaml")
    return tuple(_published(raw) for raw in yaml.safe_load(path.read_text(encoding="utf-8")))


def _published(raw: Mapping[str, Any]) -> Table:
    columns = [(customer, group) for customer in raw["customers"] for group in raw["languages"]]
    found: dict[Column, dict[str, Mapping[str, Any]]] = {
        column: {name: {"mean": means[index]} for name, means in raw["rows"].items()}
        for index, column in enumerate(columns)
    }
    rows = _rows(raw["rows"], found)
    return Table(raw["source"], raw["title"], columns, rows, note=raw["note"])


def _rows(
    salespeople: Iterable[str], found: Mapping[Column, Mapping[str, Mapping[str, Any]]]
) -> dict[str, dict[Column, Score]]:
    rows: dict[str, dict[Column, Score]] = {name: {} for name in salespeople}
    for column, cells in found.items():
        means = {name: estimate(raw, "mean", "n") for name, raw in cells.items()}
        best = places({name: mean.value for name, mean in means.items() if mean is not None})
        for name, raw in cells.items():
            rows[name][column] = Score(
                means[name],
                raw.get("n"),
                raw.get("unscored") or 0,
                _ranks(raw),
                best.get(name),
            )
    return rows


def _ranks(raw: Mapping[str, Any]) -> tuple[int, int, int] | None:
    if raw.get("rank") is None:
        return None
    return raw["rank"], raw["rank_low"], raw["rank_high"]
