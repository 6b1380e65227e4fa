"""Do automatic scores say what people say? A run's scores beside human ratings of its dialogues."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any, get_args

from salesllm.errors import InputError
from salesllm.files import read_jsonl
from salesllm.sheets import read_opinions
from salesllm.stats import (
    Coefficient,
    correlation,
    intraclass_correlation,
    krippendorff_alpha,
)

COLUMNS = ("dialogue_id", "rater", "score")
SCORES = ("final", "buying", "selling")
LEVELS = ("dialogues", "salespeople")
FEW = 10
"""Points below which a correlation is shown with a warning."""

PAPER: dict[str, Any] = {"pearson": 0.98, "spearman": 1.0, "raters": 8, "dialogues": 100}
"""The paper's 4.3 and Figure 6. Four model means reproduce the 0.98: it is no dialogue's level."""

Ratings = Mapping[str, Mapping[str, float]]
"""Dialogue to rater to score, 0-10."""


@dataclass(frozen=True)
class Scored:
    """What a run says of one dialogue.

    Attributes:
        scores: By the names of `SCORES`; None is unscored.
    """

    salesperson: str
    product_id: str
    scores: dict[str, float | None]


def read_scored(path: str | Path) -> dict[str, Scored]:
    """Reads the `scores.jsonl` of a run, by dialogue.

    Raises:
        InputError: A line is no such row.
    """
    found = {}
    for line, row in read_jsonl(path):
        for name in ("id", "salesperson", "product_id", *SCORES):
            if name not in row:
                fix = "Give the folder of a benchmark run"
                raise InputError("is missing", path=path, line=line, field=name, fix=fix)
        scores = {name: row[name] for name in SCORES}
        found[row["id"]] = Scored(row["salesperson"], row["product_id"], scores)
    return found


def read_ratings(path: str | Path, dialogues: Collection[str]) -> dict[str, dict[str, float]]:
    """Reads human ratings: CSV or JSONL with `dialogue_id`, `rater`, `score` (0-10).

    A blank score is none, and goes uncounted.

    Args:
        dialogues: Ids that there are.

    Raises:
        InputError: Names line and field of the first row with an unknown dialogue, no rater, a
            second score of the same rater, or a score that is none; or there is no score at all.
    """
    ratings: dict[str, dict[str, float]] = {}
    for line, dialogue, rater, text in read_opinions(path, COLUMNS, dialogues):
        try:
            score = float(text or "nan")
        except ValueError:
            score = math.inf
        if math.isnan(score) and not text:
            continue
        if not 0 <= score <= 10:
            problem = f"{text!r} is no score"
            fix = "Write a number from 0 to 10"
            raise InputError(problem, path=path, line=line, field="score", fix=fix)
        ratings.setdefault(dialogue, {})[rater] = score
    if not ratings:
        raise InputError("no row has a score", path=path, field="score", fix="Fill the column in")
    return ratings


def agreement_of(run: Mapping[str, Scored], ratings: Ratings) -> dict[str, Any]:
    """How far automatic scores follow the mean of a dialogue's human ratings.

    Dialogues that were rated but are unscored are left out and counted.

    Returns:
        - `rated`: `dialogues`, `raters`, `ratings`.
        - `scores[final|buying|selling]`: `unscored`, and for both levels (`LEVELS`), `pearson`,
          `spearman` and `kendall` as `value`, `low`, `high`, `n`. Intervals over dialogues are
          clustered by product; over salespeople, the means of their rated dialogues are compared.
        - `raters`: see `raters_of`.
        - `points`: the rated dialogues: `id`, `salesperson`, `product_id`, `people` (the mean of
          their ratings), and the scores.
        - `salespeople`: `salesperson`, `n`, `people` and `final`, of dialogues that have both.
        - `paper`, `notes`.
    """
    points: list[dict[str, Any]] = [
        {
            "id": name,
            "salesperson": run[name].salesperson,
            "product_id": run[name].product_id,
            "people": fmean(given.values()),
            **run[name].scores,
        }
        for name, given in sorted(ratings.items())
    ]
    scores = {}
    for score in SCORES:
        scored = [point for point in points if point[score] is not None]
        products = [point["product_id"] for point in scored]
        scores[score] = {
            "unscored": len(points) - len(scored),
            "dialogues": _correlations(scored, score, products),
            "salespeople": _correlations(_means(scored, score), score, None),
        }
    raters = raters_of(ratings)
    return {
        "rated": {
            "dialogues": len(ratings),
            "raters": len({rater for given in ratings.values() for rater in given}),
            "ratings": sum(map(len, ratings.values())),
        },
        "scores": scores,
        "raters": raters,
        "points": points,
        "salespeople": _means([p for p in points if p["final"] is not None], "final"),
        "paper": PAPER,
        "notes": list(_notes(scores, raters)),
    }


def raters_of(ratings: Ratings) -> dict[str, Any]:
    """How far the raters agree.

    Returns:
        `krippendorff_alpha` (interval level) over the `n` dialogues that several rated; `icc_2_1`
        and `icc_2_k` over those that all of the raters rated (`value`, `low`, `high`, `n`).
    """
    several = [list(given.values()) for given in ratings.values() if len(given) > 1]
    alpha = krippendorff_alpha(several, "interval")
    everybody = sorted({rater for given in ratings.values() for rater in given})
    whole = [
        [given[rater] for rater in everybody]
        for given in ratings.values()
        if len(given) == len(everybody)
    ]
    icc = intraclass_correlation(whole or [[]])
    return {
        "krippendorff_alpha": None if math.isnan(alpha) else alpha,
        "n": len(several),
        "icc_2_1": icc.single.as_dict() | {"n": len(whole)},
        "icc_2_k": icc.average.as_dict() | {"n": len(whole)},
    }


def _means(points: Iterable[Mapping[str, Any]], score: str) -> list[dict[str, Any]]:
    """The salespeople's means over their dialogues, of people's ratings and of a score."""
    own = defaultdict(list)
    for point in points:
        own[point["salesperson"]].append(point)
    return [
        {
            "salesperson": name,
            "n": len(group),
            "people": fmean(p["people"] for p in group),
            score: fmean(p[score] for p in group),
        }
        for name, group in sorted(own.items())
    ]


def _correlations(
    points: Sequence[Mapping[str, Any]], score: str, clusters: list[str] | None
) -> dict[str, Any]:
    automatic, people = ([point[name] for point in points] for name in (score, "people"))
    return {
        kind: correlation(automatic, people, clusters, kind=kind).as_dict()
        for kind in get_args(Coefficient)
    }


def _notes(scores: Mapping[str, Any], raters: Mapping[str, Any]) -> Iterator[str]:
    for level in LEVELS:
        n = min(scores[score][level]["pearson"]["n"] for score in SCORES)
        if n < FEW:
            yield (
                f"Correlations over {level} rest on {n} points: that few say little of others, "
                "however high the coefficient."
            )
    if not raters["n"]:
        yield "No dialogue has two raters: nothing says how far people agree."
    elif not raters["icc_2_k"]["n"]:
        yield "No dialogue was rated by all raters: there is no ICC; Krippendorff's alpha stands."
