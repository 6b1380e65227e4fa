"""What a benchmark run comes to: means with intervals, what failed, what could not be scored."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from rich.table import Table

from salesllm.benchmark.recipe import BenchmarkRecipe
from salesllm.scoring import rules
from salesllm.simulate import Termination
from salesllm.stats import mean_interval

SCORES = ("buying", "selling", "final")
OVERALL = "overall"
Row = Mapping[str, Any]

_AGAIN = "The same command tries them again."
_CONTINUES = "The same command continues."
_LONG = {
    "selling_reason", "selling_evidence", "intent", "error", "by", "product_name",
}  # fmt: skip


def slim(row: Row) -> Row:
    """A row without what only its reader needs: tens of thousands fit into memory."""
    return {key: value for key, value in row.items() if key not in _LONG}


def summarise(recipe: BenchmarkRecipe, rows: Sequence[Row], planned: int) -> dict[str, Any]:
    """All of `summary.json` but the provenance and the leaderboard.

    `incomplete` counts the cells where a speaker or a judge broke down, and those not tried yet:
    the same command again may do. `results[salesperson][customer][group]` holds the figures; a
    group is `overall` or a language. Intervals are 95 % intervals that resample whole products:
    scenarios about the same product resemble each other.

    Args:
        planned: How many cells the run has, tried or not.
    """
    groups = [OVERALL, *sorted({row["language"] for row in rows})]
    of_group: dict[tuple[str, str, str], list[Row]] = defaultdict(list)
    for row in rows:
        for group in (OVERALL, row["language"]):
            of_group[row["salesperson"], row["customer"], group].append(row)
    return {
        "name": recipe.name,
        "rater": recipe.rater,
        "alpha": recipe.alpha,
        "rounds": recipe.rounds,
        "seed": recipe.seed,
        "cells": planned,
        "untried": planned - len(rows),
        "failures": sum(row["failed"] for row in rows),
        "incomplete": planned
        - len(rows)
        + sum(row["judge_failed"] or row["termination"] == Termination.ERROR for row in rows),
        "terminations": dict(sorted(Counter(row["termination"] for row in rows).items())),
        "results": {
            salesperson.name: {
                customer.name: {
                    group: _figures(of_group[salesperson.name, customer.name, group])
                    for group in groups
                }
                for customer in recipe.customers
            }
            for salesperson in recipe.salespeople
        },
        "usage": _usage(rows),
        "cost": _costs(rows),
        "cleaned": _cleaned(rows),
        "guard": _guard(rows),
        "injection": sum(bool(row["injection"]) for row in rows),
        "unscored": {
            score: dict(
                Counter(_gist(r["unscored"][score]) for r in rows if score in r["unscored"])
            )
            for score in ("buying", "selling", "grounding")
        },
        "notes": list(_notes(recipe, rows, planned)),
    }


def _figures(rows: Sequence[Row]) -> dict[str, Any]:
    finished = [row for row in rows if not row["failed"]]
    figures: dict[str, Any] = {}
    for score in SCORES:
        scored = [row for row in rows if row[score] is not None]
        interval = mean_interval(
            [row[score] for row in scored], [row["product_id"] for row in scored]
        )
        figures[score] = interval.as_dict("mean") | {"unscored": len(rows) - len(scored)}
    return figures | {
        "dialogues": len(finished),
        "failures": len(rows) - len(finished),
        "turns": fmean(row["turns"] for row in finished) if finished else None,
        "terminations": dict(sorted(Counter(row["termination"] for row in rows).items())),
        "cut_replies": sum(row["cut_replies"] for row in rows),
    }


def _usage(rows: Iterable[Row]) -> dict[str, dict[str, dict[str, int]]]:
    """Tokens by side and name; those of attempts that were made again are not among them."""
    total: dict[str, dict[str, Counter[str]]] = {}
    for row in rows:
        for side, tokens in row["usage"].items():
            total.setdefault(side, {}).setdefault(_named(row, side), Counter()).update(tokens)
    return {
        side: {name: dict(tokens) for name, tokens in names.items()}
        for side, names in total.items()
    }


def _costs(rows: Iterable[Row]) -> dict[str, dict[str, float | None]]:
    """USD by side and name; None where a price is not known."""
    total: dict[str, dict[str, float | None]] = {}
    for row in rows:
        for side, cost in row["cost"].items():
            names = total.setdefault(side, {})
            so_far = names.setdefault(_named(row, side), 0.0)
            names[_named(row, side)] = None if cost is None or so_far is None else so_far + cost
    return total


def _named(row: Row, side: str) -> str:
    return str(row["rater"] if side == "judge" else row[side])


def _cleaned(rows: Iterable[Row]) -> dict[str, dict[str, dict[str, int]]]:
    """What was stripped from replies, by side, name and kind."""
    total: dict[str, dict[str, Counter[str]]] = {}
    for row in rows:
        for side, counts in row["cleaned"].items():
            total.setdefault(side, {}).setdefault(row[side], Counter()).update(counts)
    return {
        side: {name: dict(counts) for name, counts in names.items() if counts}
        for side, names in total.items()
    }


def _guard(rows: Iterable[Row]) -> dict[str, dict[str, Any]] | None:
    """Each customer's rate of flagged turns, before the guard and after it; None without one."""
    counts: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["guard"] is not None:
            counts[row["customer"]].append(row["guard"])
    if not counts:
        return None
    from salesllm.benchmark.guard import guard_rates  # scikit-learn takes its time

    return {
        name: {key: rate.as_dict("rate", "turns") for key, rate in guard_rates(each).items()}
        | {"drafts": sum(count["drafts"] for count in each)}
        for name, each in counts.items()
    }


def _gist(reason: str) -> str:
    """A reason without its particulars, which differ from dialogue to dialogue."""
    return re.split("[:;]", reason)[0]


def _notes(recipe: BenchmarkRecipe, rows: Sequence[Row], planned: int) -> Iterable[str]:
    if len(rows) < planned:
        yield f"{planned - len(rows)} of {planned} dialogues are still to come. {_CONTINUES}"
    if not recipe.judge:
        yield (
            f"The selling score is by `{rules.NAME}`, a rule-based stand-in that counts phrases: "
            "do not compare it with an LLM judge's."
        )
    for language in sorted({row["language"] for row in rows} - set(recipe.intent)):
        yield f"No buying score in {language}: the recipe names no intent scorer for it."
    ends = Counter(row["termination"] for row in rows)
    if failures := ends[Termination.ERROR]:
        yield f"{failures} of {len(rows)} dialogues failed and are not scored. {_AGAIN}"
    if refused := ends[Termination.REFUSED]:
        yield f"{refused} dialogues were refused by an endpoint and are not scored."
    unreached = sum(row["judge_failed"] for row in rows)
    if unreached:
        yield f"The judge failed on {unreached} dialogues, which are unscored. {_AGAIN}"
    silent = sum(not row["failed"] and row["selling"] is None for row in rows) - unreached
    if silent:
        yield f"The judge gave {silent} finished dialogues no score."
    cut = sum(row["cut_replies"] for row in rows)
    if cut:
        yield f"{cut} replies were cut off at max_tokens."


def table_of(summary: Mapping[str, Any]) -> Table:
    """The terminal's table: figures whole at 80 columns, where names fold."""
    table = Table(
        title=f"{summary['name']}: alpha {summary['alpha']:g}, selling by {summary['rater']}, "
        "95 % intervals",
        caption="Failed dialogues are among the unscored." if summary["failures"] else None,
    )
    table.add_column("Salesperson\nCustomer", overflow="fold")
    table.add_column("Language", no_wrap=True)
    for column in ("Buying", "Selling", "Final", "Dialogues"):
        table.add_column(column, justify="right", no_wrap=True)
    for salesperson, customers in summary["results"].items():
        for customer, groups in customers.items():
            for group, figures in groups.items():
                if len(groups) == 2 and group == OVERALL:  # one language: the same row twice
                    continue
                table.add_row(
                    f"{salesperson}\n{customer}",
                    group,
                    *(_score(figures[score]) for score in SCORES),
                    _dialogues(figures),
                )
            table.add_section()
    return table


def _score(figure: Mapping[str, Any]) -> str:
    lines = ["–"]
    if figure["mean"] is not None:
        lines = [f"{figure['mean']:.2f}"]
    if figure["low"] is not None:  # one product alone gives no interval
        lines.append(f"{figure['low']:.2f}–{figure['high']:.2f}")
    if figure["unscored"]:
        lines.append(f"{figure['unscored']} unscored")
    return "\n".join(lines)


def _dialogues(figures: Mapping[str, Any]) -> str:
    lines = [str(figures["dialogues"])]
    if figures["turns"] is not None:
        lines.append(f"{figures['turns']:.1f} turns")
    if figures["failures"]:
        lines.append(f"{figures['failures']} failed")
    return "\n".join(lines)
