"""The analysis of a run, on rows whose answers are known."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from random import Random
from statistics import fmean
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from salesllm.benchmark.leaderboard import OVERALL, leaderboard
from salesllm.errors import InputError
from salesllm.stats import holm, mean_interval, paired_difference

Row = dict[str, Any]
GROUPS = (OVERALL, "en", "zh")
INTERVAL = {"mean", "low", "high", "n"}


def row(salesperson: str, number: int, language: str, repeat: int, **given: Any) -> Row:
    """A dialogue about product `number`; even ones are easy to sell."""
    easy = number % 2 == 0
    made = {
        "salesperson": salesperson, "customer": "CustomerLM", "language": language,
        "scenario_id": f"{number}-{language}", "repeat": repeat, "product_id": f"p{number}",
        "domain": "consumer" if easy else "financial", "category": f"c{number % 3}",
        "difficulty": "easy" if easy else "hard", "propensity": 0.8 if easy else 0.2,
        "termination": "customer_ended", "failed": False, "turns": 5, "buying": 5.0,
        "selling": 5.0, "bought": False, "judges": {}, "grounding": None,
    }  # fmt: skip
    return made | given


def failed(**given: Any) -> Row:
    return {"failed": True, "termination": "error", "buying": None, "selling": None,
            "bought": None, **given}  # fmt: skip


def run(seed: int = 0, products: int = 12) -> list[Row]:
    """Two customers, two languages, two repeats; `b` sells better than `a`, `c` lacks scores."""
    rng = np.random.default_rng(seed)
    rows = []
    for customer in ("CustomerLM", "GPT-4o"):
        for name, skill in (("a", 0.0), ("b", 1.5), ("c", 0.4)):
            for number in range(products):
                for language in ("zh", "en"):
                    for repeat in range(2):
                        base = 3 + 3 * (number % 2 == 0) + skill
                        buying, selling = np.clip(base + rng.normal(0, 1, 2), 0, 10).tolist()
                        fields: Row = {
                            "customer": customer, "turns": int(rng.integers(2, 9)),
                            "buying": buying, "selling": selling, "bought": buying > 5,
                            "judges": {"x": selling, "y": min(10.0, selling + rng.random())},
                            "grounding": {"unauthorised": bool(rng.random() < 0.2)},
                        }  # fmt: skip
                        if name == "c" and rng.random() < 0.2:
                            fields |= failed(judges={"x": 4.0, "y": None}, grounding=None)
                        rows.append(row(name, number, language, repeat, **fields))
    return rows


def final(row: Row, alpha: float = 0.6) -> float | None:
    if row["buying"] is None or row["selling"] is None:
        return None
    return alpha * row["buying"] + (1 - alpha) * row["selling"]


def select(rows: list[Row], group: str = OVERALL, **fields: Any) -> list[Row]:
    fields = {"customer": "CustomerLM"} | fields
    return [
        r
        for r in rows
        if group in (OVERALL, r["language"]) and all(r[k] == v for k, v in fields.items())
    ]


def close(a: Any, b: Any) -> bool:
    """The same JSON but for rounding."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(close(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(close, a, b))
    if isinstance(a, float):
        return isinstance(b, float) and math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-8)
    return bool(a == b)


def test_the_table_is_of_what_is_scored() -> None:
    rows = run()
    board = leaderboard(iter(rows), alpha=0.6, seed=0)
    for group in GROUPS:
        table = board["table"]["CustomerLM"][group]
        assert list(table) == board["salespeople"] == ["a", "b", "c"]
        for name, cell in table.items():
            own = select(rows, group, salesperson=name)
            scored = [(score, r["product_id"]) for r in own if (score := final(r)) is not None]
            values, clusters = zip(*scored, strict=True)
            expected = mean_interval(values, clusters, bounds=(0, 10))
            assert close({k: cell[k] for k in INTERVAL}, expected.as_dict("mean"))
            assert cell["unscored"] == len(own) - len(scored)
        assert table["c"]["unscored"] > 0
        assert [table[name]["rank"] for name in "abc"] == [3, 1, 2]
        assert table["b"]["rank_low"] == table["b"]["rank_high"] == 1
        assert table["a"]["rank_low"] <= 3 <= table["a"]["rank_high"]


def test_salespeople_are_compared_on_the_same_scenarios() -> None:
    rows = run()
    board = leaderboard(rows, alpha=0.3, seed=0)
    for group in GROUPS:
        comparisons = board["comparisons"]["CustomerLM"][group]
        assert [(c["a"], c["b"]) for c in comparisons] == [("a", "b"), ("a", "c"), ("b", "c")]
        for comparison in comparisons:
            one, other = (
                {
                    (r["scenario_id"], r["repeat"]): final(r, 0.3)
                    for r in select(rows, group, salesperson=comparison[side])
                }
                for side in "ab"
            )
            both = [key for key in one if None not in (one[key], other[key])]
            expected = paired_difference(
                [one[key] for key in both],  # type: ignore[misc]
                [other[key] for key in both],  # type: ignore[misc]
                [key[0].split("-")[0] for key in both],
            )
            figures = {k: v for k, v in comparison.items() if k in expected.as_dict("difference")}
            assert close(figures, expected.as_dict("difference"))
            assert comparison["missing"] == len(one) - len(both)
        p_values = [c["p_value"] for c in comparisons]
        assert [c["p_holm"] for c in comparisons] == pytest.approx(holm(p_values).tolist())
    assert comparisons[0]["difference"] < comparisons[0]["high"] < 0


def test_parts_of_a_run() -> None:
    rows = run()
    board = leaderboard(rows, alpha=0.6, seed=0)
    for name, parts in (
        ("domain", {"consumer", "financial"}),
        ("category", {"c0", "c1", "c2"}),
        ("difficulty", {"easy", "hard"}),
        ("termination", {"customer_ended", "error"}),
    ):
        cells = board["by"][name]["CustomerLM"]["c"]
        assert set(cells) == parts
        for part, cell in cells.items():
            scores = [final(r) for r in select(rows, salesperson="c", **{name: part})]
            scored = [score for score in scores if score is not None]
            assert cell["n"] == len(scored)
            assert cell["mean"] == (pytest.approx(fmean(scored)) if scored else None)
    assert cells["error"] == {"mean": None, "low": None, "high": None, "n": 0}
    ends = board["terminations"]["CustomerLM"]
    assert ends["a"] == {"customer_ended": 48}
    assert ends["c"]["error"] + ends["c"]["customer_ended"] == 48


def test_the_ranking_moves_with_alpha() -> None:
    rows = [
        row(name, number, "zh", 0, buying=buying, selling=selling)
        for name, buying, selling in (("talker", 2.0, 8.0), ("closer", 6.0, 3.0))
        for number in range(4)
    ]
    board = leaderboard(rows, alpha=0.6, seed=0)["alpha"]
    assert board["grid"] == [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    curve = board["CustomerLM"]["zh"]
    assert curve["talker"]["mean"] == pytest.approx([8 - 0.6 * i for i in range(11)])
    # Equal where 8 - 6 alpha = 3 + 3 alpha, at 5 / 9.
    assert curve["talker"]["rank"] == [1] * 6 + [2] * 5
    assert curve["closer"]["rank"] == [2] * 6 + [1] * 5
    assert curve == board["CustomerLM"][OVERALL]


def test_a_customer_is_asked_whether_it_buys_as_readily_as_it_should() -> None:
    rows = [
        row("a", number, "zh", repeat, bought=repeat < (4 if number % 2 == 0 else 1))
        for number in range(20)
        for repeat in range(5)
    ]
    rows.append(row("a", 21, "zh", 0, **failed()))
    easy, hard = leaderboard(rows, alpha=0.6, seed=0)["calibration"]["CustomerLM"]["zh"]
    assert (easy["difficulty"], easy["propensity"], easy["bought"], easy["n"]) == (
        "easy", 0.8, 0.8, 50,
    )  # fmt: skip
    assert (hard["difficulty"], hard["propensity"], hard["bought"], hard["n"]) == (
        "hard", 0.2, 0.2, 50,
    )  # fmt: skip
    assert easy["low"] < 0.8 < easy["high"] <= 1


def test_score_against_turns() -> None:
    turns = [1, 2, 3, 4, 7, 7]
    rows = [
        row("a", number, "zh", 0, turns=n, buying=float(n), selling=float(n))
        for number, n in enumerate(turns)
    ]
    rows.append(row("a", 9, "zh", 0, **failed(turns=40)))
    board = leaderboard(rows, alpha=0.6, seed=0)["turns"]
    bins = board["CustomerLM"]["zh"]["a"]
    assert [(b["turns"], b["mean"], b["n"]) for b in bins] == [
        ([1, 2], 1.5, 2), ([3, 4], 3.5, 2), ([7, 8], 7.0, 2),
    ]  # fmt: skip
    assert board["mean_turns"]["CustomerLM"]["zh"]["a"] == 4.0


def test_grounding_and_judges() -> None:
    verdicts = [True, False, False, False, None]
    rows = [
        row("a", i, "zh", 0, grounding={"unauthorised": verdict}, judges={"x": i, "y": 2 * i})
        for i, verdict in enumerate(verdicts)
    ]
    rows.append(row("a", 7, "zh", 0, **failed(judges={"x": None, "y": 3})))
    board = leaderboard(rows, alpha=0.6, seed=0)
    cell = board["grounding"]["CustomerLM"]["a"]
    assert (cell["rate"], cell["n"], cell["unscored"]) == (0.25, 4, 2)
    assert 0 < cell["low"] < 0.25 < cell["high"] < 1
    # Pairs (i, 2i) for i = 0..4. Observed: 30 / 5 = 6. Expected: 10 values of mean 3 and squared
    # deviations 150 - 90 = 60, so 2 * 10 * 60 / (10 * 9) = 40 / 3. alpha = 1 - 6 / (40 / 3).
    assert board["agreement"] == {"judges": ["x", "y"], "alpha": pytest.approx(0.55), "n": 5}
    alone = leaderboard([row("a", 0, "zh", 0, judges={"x": 3})], alpha=0.6, seed=0)["agreement"]
    assert alone == {"judges": ["x"], "alpha": None, "n": 0}


@settings(max_examples=5, deadline=None)
@given(st.randoms(use_true_random=False))
def test_the_order_of_the_rows_does_not_matter(random: Random) -> None:
    rows = run(products=5)
    board = leaderboard(rows, alpha=0.6, seed=3)
    assert close(board, leaderboard(random.sample(rows, len(rows)), alpha=0.6, seed=3))


def test_it_is_json_also_where_nothing_is_known() -> None:
    def unscored() -> Iterator[Row]:
        for name in ("a", "b"):
            for number in range(3):
                yield row(name, number, "zh", 0, **failed(judges=None))

    board = leaderboard(unscored(), alpha=0.6, seed=0)
    json.dumps(board, allow_nan=False)
    nothing = {"mean": None, "low": None, "high": None, "n": 0, "unscored": 3}
    nothing |= {"rank": None, "rank_low": None, "rank_high": None}
    assert board["table"]["CustomerLM"]["zh"] == {"a": nothing, "b": nothing}
    (pair,) = board["comparisons"]["CustomerLM"]["zh"]
    assert (pair["p_value"], pair["p_holm"], pair["n"], pair["missing"]) == (None, None, 0, 0)
    assert board["turns"]["CustomerLM"]["zh"] == {"a": [], "b": []}
    assert json.dumps(leaderboard([], alpha=0.6, seed=0), allow_nan=False)


def test_one_product_has_means_and_no_intervals() -> None:
    rows = [row(name, 0, "zh", repeat) for name in ("a", "b") for repeat in range(3)]
    board = leaderboard(rows, alpha=0.6, seed=0)
    cell = board["table"]["CustomerLM"]["zh"]["a"]
    assert (cell["mean"], cell["low"], cell["rank"], cell["rank_low"]) == (5.0, None, 1, None)
    assert board["comparisons"]["CustomerLM"]["zh"][0]["p_holm"] is None


def test_a_dialogue_counts_once() -> None:
    with pytest.raises(InputError, match="two rows are of a with CustomerLM about 0-zh"):
        leaderboard([row("a", 0, "zh", 0)] * 2, alpha=0.6, seed=0)
    with pytest.raises(ValueError, match="between 0 and 1"):
        leaderboard([], alpha=1.2, seed=0)
