"""What a benchmark run comes to: means with intervals, what failed, what could not be scored."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from rich.table import Table

from salesllm.benchmark.recipe import BenchmarkRecipe
from salesllm.scoring import rules
from salesllm.stats import mean_interval

SCORES = ("buying", "selling", "final")
OVERALL = "overall"
Row = Mapping[str, Any]

_AGAIN = "The same command tries them again."


def summarise(recipe: BenchmarkRecipe, rows: Sequence[Row]) -> dict[str, Any]:
    """All of `summary.json` but the provenance.

    `incomplete` counts the cells where a speaker or the judge broke down: another try may do.
    `results[salesperson][customer][group]` holds the figures; a group is `overall` or a language.
    Intervals are 95 % intervals clustered by product: scenarios about the same product resemble
    each other. One product alone gives none.
    """
    groups = [OVERALL, *sorted({row["language"] for row in rows})]
    return {
        "name": recipe.name,
        "rater": recipe.rater,
        "alpha": recipe.alpha,
        "rounds": recipe.rounds,
        "seed": recipe.seed,
        "cells": len(rows),
        "failures": sum(row["failed"] for row in rows),
        "incomplete": sum(
            row["judge_failed"] or row["termination"].endswith("_failed") for row in rows
        ),
        "terminations": dict(sorted(Counter(row["termination"] for row in rows).items())),
        "results": {
            salesperson.name: {
                customer.name: {
                    group: _figures(
                        [
                            row
                            for row in rows
                            if (row["salesperson"], row["customer"])
                            == (salesperson.name, customer.name)
                            and group in (OVERALL, row["language"])
                        ],
                    )
                    for group in groups
                }
                for customer in recipe.customers
            }
            for salesperson in recipe.salespeople
        },
        "usage": _usage(rows),
        "unscored": {
            score: dict(
                Counter(_gist(r["unscored"][score]) for r in rows if score in r["unscored"])
            )
            for score in ("buying", "selling")
        },
        "notes": list(_notes(recipe, rows)),
    }


def _figures(rows: Sequence[Row]) -> dict[str, Any]:
    finished = [row for row in rows if not row["failed"]]
    figures: dict[str, Any] = {}
    for score in SCORES:
        scored = [row for row in rows if row[score] is not None]
        interval = mean_interval(
            [row[score] for row in scored],
            [row["product_id"] for row in scored],
            bounds=(0, 10),
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
            name = row["rater"] if side == "judge" else row[side]
            total.setdefault(side, {}).setdefault(name, Counter()).update(tokens)
    return {
        side: {name: dict(tokens) for name, tokens in names.items()}
        for side, names in total.items()
    }


def _gist(reason: str) -> str:
    """A reason without its particulars, which differ from dialogue to dialogue."""
    return re.split("[:;]", reason)[0]


def _notes(recipe: BenchmarkRecipe, rows: Sequence[Row]) -> Iterable[str]:
    if recipe.judge is None:
        yield (
            f"The selling score is by `{rules.NAME}`, a rule-based stand-in that counts phrases: "
            "do not compare it with an LLM judge's."
        )
    for language in sorted({row["language"] for row in rows} - set(recipe.intent)):
        yield f"No buying score in {language}: the recipe names no intent scorer for it."
    failures = sum(row["failed"] for row in rows)
    if failures:
        yield f"{failures} of {len(rows)} dialogues failed and are not scored. {_AGAIN}"
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
    if figure["low"] is not None:
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
