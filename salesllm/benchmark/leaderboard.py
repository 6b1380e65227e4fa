"""The analysis of a run: who sells best, how sure that is, and what it depends on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from salesllm.benchmark.columns import Array, Codes, Columns, Row, read_columns
from salesllm.stats import (
    Interval,
    holm,
    krippendorff_alpha,
    mean_intervals,
    paired_differences,
    places,
    proportion,
    rank_intervals,
)

OVERALL = "overall"
ALPHAS = tuple(round(0.1 * step, 1) for step in range(11))
BIN = 2
"""Turns in a bin of score against turns."""

_SCALE = (0.0, 10.0)
Mask = npt.NDArray[np.bool_]


def leaderboard(rows: Iterable[Row], *, alpha: float, seed: int) -> dict[str, Any]:
    """All figures of a run, for JSON.

    Scores are final ones, `alpha` x buying + (1 - alpha) x selling. Intervals are 95 % intervals
    clustered by product (`salesllm.stats`). What is unscored is left out and counted, never a zero.
    A figure that nothing is known of is None; so are `low` and `high` where one product alone says
    it. `group` is a language or "overall"; lists of names are in order.

    Args:
        rows: Of `scores.jsonl`, in any order; read once.
        alpha: Weight of the buying score, 0-1.
        seed: Of the resamples behind the rank intervals.

    Returns:
        - `salespeople`, `customers`, `languages`: names.
        - `table[customer][group][salesperson]`: `mean`, `low`, `high`, `n`, `unscored`, `rank`,
          `rank_low` (the best rank), `rank_high`.
        - `comparisons[customer][group]`: for every two salespeople `a`, `b` on the same scenarios
          and repeats: `difference` (a - b), `low`, `high`, `n`, `missing` (pairs of which one side
          is unscored), `p_value`, `p_holm` (Holm's correction within the list).
        - `by[domain|category|difficulty|termination][customer][salesperson][value]`: `mean`,
          `low`, `high`, `n`.
        - `alpha`: `grid`, and `[customer][group][salesperson]`: `mean` and `rank` for each alpha.
        - `calibration[customer][group]`: for every difficulty, the readiest to buy first,
          `difficulty`, `propensity`, `bought` (the rate), `low`, `high`, `n`.
        - `turns[customer][group][salesperson]`: bins of `turns` (first, last), `mean`, `low`,
          `high`, `n`; and `turns["mean_turns"][customer][group][salesperson]`: of dialogues that
          did not fail.
        - `grounding[customer][salesperson]`: `rate` of dialogues with an unauthorised concession,
          `low`, `high`, `n`, `unscored`.
        - `terminations[customer][salesperson]`: dialogues by how they ended.
        - `agreement`: `judges`, and Krippendorff's `alpha` (interval level) over the `n` dialogues
          that several of them rated; None where that is none.

    Raises:
        InputError: Two rows are of the same dialogue.
        ValueError: `alpha` is out of its range.
    """
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha must be between 0 and 1, not {alpha}")
    columns = read_columns(rows)
    final = _final(columns, alpha)
    names = columns.names
    board: dict[str, Any] = {
        "salespeople": names["salesperson"],
        "customers": names["customer"],
        "languages": names["language"],
        "table": {},
        "comparisons": {},
        "by": {},
        "alpha": {"grid": list(ALPHAS)},
        "calibration": {},
        "turns": {"mean_turns": {}},
        "grounding": {},
        "terminations": {},
        "agreement": _agreement(columns),
    }
    for customer, group, mask in _groups(columns):
        for name, value in (
            ("table", _table(columns, mask, final, seed)),
            ("comparisons", _comparisons(columns, mask, final)),
            ("alpha", _by_alpha(columns, mask)),
            ("calibration", _calibration(columns, mask)),
            ("turns", _by_turns(columns, mask, final)),
        ):
            board[name].setdefault(customer, {})[group] = value
        turns = board["turns"]["mean_turns"].setdefault(customer, {})
        turns[group] = _mean_turns(columns, mask)
        if group == OVERALL:
            for name in ("domain", "category", "difficulty", "termination"):
                board["by"].setdefault(name, {})[customer] = _by(columns, mask, final, name)
            board["grounding"][customer] = _grounding(columns, mask)
            board["terminations"][customer] = _terminations(columns, mask)
    return board


def _final(columns: Columns, alpha: float) -> Array:
    return alpha * columns.numbers["buying"] + (1 - alpha) * columns.numbers["selling"]


def _groups(columns: Columns) -> Iterator[tuple[str, str, Mask]]:
    """Customer, group, and the rows that belong to both."""
    for place, customer in enumerate(columns.names["customer"]):
        own = columns.codes["customer"] == place
        yield customer, OVERALL, own
        for code, language in enumerate(columns.names["language"]):
            yield customer, language, own & (columns.codes["language"] == code)


def _sums(cluster: Codes, column: Codes, values: Array, width: int) -> tuple[Array, Array]:
    """Sums and counts of the values that are there, shape (clusters, width)."""
    scored = ~np.isnan(values)
    flat, height = (cluster * width + column)[scored], cluster.max(initial=-1) + 1
    sums, counts = np.zeros(height * width), np.zeros(height * width)
    np.add.at(sums, flat, values[scored])
    np.add.at(counts, flat, 1.0)
    return sums.reshape(height, width), counts.reshape(height, width)


def _per_salesperson(columns: Columns, mask: Mask, values: Array) -> tuple[Array, Array]:
    cluster, column = (columns.codes[name][mask] for name in ("product_id", "salesperson"))
    return _sums(cluster, column, values[mask], len(columns.names["salesperson"]))


def _split(columns: Columns, mask: Mask, values: Array, part: Codes, parts: int) -> list[Any]:
    """Intervals of each salesperson's mean in each part: a list of `parts` a salesperson."""
    people = len(columns.names["salesperson"])
    column = columns.codes["salesperson"][mask] * parts + part[mask]
    sums = _sums(columns.codes["product_id"][mask], column, values[mask], people * parts)
    found = mean_intervals(*sums, bounds=_SCALE)
    return [found[start : start + parts] for start in range(0, people * parts, parts)]


def _salespeople(columns: Columns, mask: Mask) -> Iterator[tuple[str, int]]:
    """Every salesperson with the number of its rows, scored or not."""
    people = columns.names["salesperson"]
    rows = np.bincount(columns.codes["salesperson"][mask], minlength=len(people))
    return zip(people, rows.tolist(), strict=True)


def _table(columns: Columns, mask: Mask, final: Array, seed: int) -> dict[str, Any]:
    sums, counts = _per_salesperson(columns, mask, final)
    means = mean_intervals(sums, counts, bounds=_SCALE)
    ranks = rank_intervals(sums, counts, seed=seed)
    return {
        name: mean.as_dict("mean")
        | {"unscored": rows - mean.n}
        | {"rank": rank.rank, "rank_low": rank.low, "rank_high": rank.high}
        for (name, rows), mean, rank in zip(_salespeople(columns, mask), means, ranks, strict=True)
    }


def _comparisons(columns: Columns, mask: Mask, final: Array) -> list[dict[str, Any]]:
    names = columns.names["salesperson"]
    units, place = np.unique(columns.unit[mask], return_inverse=True)
    scores = np.full((len(units), len(names)), np.nan)
    scores[place, columns.codes["salesperson"][mask]] = final[mask]
    product = np.zeros(len(units), dtype=np.intp)
    product[place] = columns.codes["product_id"][mask]
    found = []
    for i, a in enumerate(names[:-1]):
        others = scores[:, i + 1 :]
        gaps = scores[:, i : i + 1] - others
        column = np.broadcast_to(np.arange(gaps.shape[1]), gaps.shape)
        cluster = np.broadcast_to(product[:, None], gaps.shape)
        sums = _sums(cluster.ravel(), column.ravel(), gaps.ravel(), gaps.shape[1])
        missing = (np.isnan(scores[:, i : i + 1]) != np.isnan(others)).sum(axis=0).tolist()
        for b, difference, alone in zip(
            names[i + 1 :], paired_differences(*sums), missing, strict=True
        ):
            found.append({"a": a, "b": b, **difference.as_dict("difference"), "missing": alone})
    p_values = np.array([np.nan if f["p_value"] is None else f["p_value"] for f in found])
    for comparison, p in zip(found, holm(p_values).tolist(), strict=True):
        comparison["p_holm"] = None if np.isnan(p) else p
    return found


def _by(columns: Columns, mask: Mask, final: Array, name: str) -> dict[str, Any]:
    parts, part = columns.names[name], columns.codes[name]
    there = set(part[mask].tolist())
    return {
        salesperson: {
            parts[i]: interval.as_dict("mean") for i, interval in enumerate(means) if i in there
        }
        for salesperson, means in zip(
            columns.names["salesperson"],
            _split(columns, mask, final, part, len(parts)),
            strict=True,
        )
    }


def _by_alpha(columns: Columns, mask: Mask) -> dict[str, Any]:
    """Means and ranks at every weight, of the dialogues that have both scores."""
    means = []
    for alpha in ALPHAS:
        sums, counts = _per_salesperson(columns, mask, _final(columns, alpha))
        with np.errstate(invalid="ignore"):
            means.append(sums.sum(axis=0) / counts.sum(axis=0))
    ranks = [places(row) for row in means]
    return {
        name: {
            "mean": [None if np.isnan(row[i]) else float(row[i]) for row in means],
            "rank": [row[i] for row in ranks],
        }
        for i, name in enumerate(columns.names["salesperson"])
    }


def _calibration(columns: Columns, mask: Mask) -> list[dict[str, Any]]:
    """All salespeople together: the customer is asked about, not who sells to it."""
    bought, propensity = (columns.numbers[name] for name in ("bought", "propensity"))
    kinds = {
        (-p, code)
        for p, code in zip(propensity[mask], columns.codes["difficulty"][mask], strict=True)
    }
    found = []
    for minus, code in sorted(kinds):
        of_kind = mask & (columns.codes["difficulty"] == code) & (propensity == -minus)
        rate = _rate(columns, of_kind, bought)
        name = columns.names["difficulty"][code]
        kind = {"difficulty": name, "propensity": float(-minus)}
        found.append(kind | rate.as_dict("bought"))
    return found


def _rate(columns: Columns, mask: Mask, flags: Array) -> Interval:
    known = mask & ~np.isnan(flags)
    return proportion(flags[known], columns.codes["product_id"][known])


def _by_turns(columns: Columns, mask: Mask, final: Array) -> dict[str, Any]:
    bins = ((columns.numbers["turns"] - 1) // BIN).astype(np.intp).clip(0)
    found = _split(columns, mask, final, bins, bins.max(initial=0) + 1)
    return {
        name: [
            {"turns": [BIN * i + 1, BIN * (i + 1)], **interval.as_dict("mean")}
            for i, interval in enumerate(means)
            if interval.n
        ]
        for name, means in zip(columns.names["salesperson"], found, strict=True)
    }


def _mean_turns(columns: Columns, mask: Mask) -> dict[str, float | None]:
    sums, counts = _per_salesperson(columns, mask & ~columns.failed, columns.numbers["turns"])
    return {
        name: float(total / n) if n else None
        for name, total, n in zip(
            columns.names["salesperson"], sums.sum(axis=0), counts.sum(axis=0), strict=True
        )
    }


def _grounding(columns: Columns, mask: Mask) -> dict[str, Any]:
    found = {}
    for code, (name, rows) in enumerate(_salespeople(columns, mask)):
        rate = _rate(columns, mask & (columns.codes["salesperson"] == code), columns.unauthorised)
        found[name] = rate.as_dict("rate") | {"unscored": rows - rate.n}
    return found


def _terminations(columns: Columns, mask: Mask) -> dict[str, dict[str, int]]:
    ends = columns.names["termination"]
    salesperson, end = (columns.codes[name][mask] for name in ("salesperson", "termination"))
    people = columns.names["salesperson"]
    counts = np.zeros((len(people), len(ends)), dtype=int)
    np.add.at(counts, (salesperson, end), 1)
    return {
        name: {end: n for end, n in zip(ends, row, strict=True) if n}
        for name, row in zip(people, counts.tolist(), strict=True)
    }


def _agreement(columns: Columns) -> dict[str, Any]:
    alpha = krippendorff_alpha(columns.ratings, "interval")
    return {
        "judges": columns.judges,
        "alpha": None if np.isnan(alpha) else alpha,
        "n": len(columns.ratings),
    }
