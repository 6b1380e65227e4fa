"""Accuracy and F1 of labels, against scikit-learn, and their intervals."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

from salesllm.scoring.accuracy import f1_values, figures, lead

LABELS = ["A", "B", "C"]


def _labelled(count: int, seed: int, right: float = 0.7) -> tuple[list[str], list[str]]:
    rng = random.Random(seed)
    truth = rng.choices(LABELS, (5, 3, 2), k=count)
    guess = [t if rng.random() < right else rng.choice(LABELS) for t in truth]
    return truth, guess


def test_the_figures_are_sklearns() -> None:
    truth, guess = _labelled(200, 0)
    found = figures(truth, guess, range(200), LABELS, "B")
    assert found["accuracy"]["value"] == pytest.approx(accuracy_score(truth, guess))
    assert found["f1"]["value"] == pytest.approx(f1_score(truth, guess, average="macro"))
    each = f1_score(truth, guess, labels=LABELS, average=None)
    assert found["f1_purchase"]["value"] == pytest.approx(each[1])
    assert found["confusion"] == confusion_matrix(truth, guess, labels=LABELS).tolist()
    for name in ("accuracy", "f1", "f1_purchase"):
        assert found[name]["low"] < found[name]["value"] < found[name]["high"]
        assert found[name]["n"] == 200


pairs = st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1)


@given(pairs)
def test_f1_is_the_mean_of_its_values(labelled: list[tuple[str, str]]) -> None:
    truth, guess = map(list, zip(*labelled, strict=True))
    values = f1_values(truth, guess, LABELS)
    assert values is not None
    assert values.mean() == pytest.approx(f1_score(truth, guess, average="macro"))
    of_a = f1_values(truth, guess, "A")
    if of_a is None:  # a label that nobody gives or has does not count
        assert "A" not in truth + guess
    else:
        one = f1_score(truth, guess, labels=["A"], average="macro", zero_division=0)
        assert of_a.mean() == pytest.approx(one)


@pytest.mark.parametrize("guess", [["A", "B"] * 10, ["B", "A"] * 10])
def test_f1_has_no_interval_where_all_is_right_or_wrong(guess: list[str]) -> None:
    found = figures(["A", "B"] * 10, guess, range(20), LABELS, "A")
    for name in ("f1", "f1_purchase"):
        value = float(guess[0] == "A")
        assert found[name] == {"value": value, "low": None, "high": None, "n": 20}
    assert found["accuracy"]["high"] - found["accuracy"]["low"] > 0.1


def test_what_is_unscored_is_neither_right_nor_wrong() -> None:
    truth, guess = ["A", "A", "B", "C"], ["A", None, "B", None]
    found = figures(truth, guess, "wxyz", LABELS, "A")
    assert (found["n"], found["answered"], found["unscored"]) == (4, 2, 2)
    assert found["accuracy"]["value"] == 1.0
    assert np.sum(found["confusion"]) == 2
    nothing = figures(truth, [None] * 4, "wxyz", LABELS, "A")
    assert nothing["answered"] == 0
    for name in ("accuracy", "f1", "f1_purchase"):
        assert nothing[name] == {"value": None, "low": None, "high": None, "n": 0}


def test_dialogues_of_one_cluster_are_no_evidence_of_their_own() -> None:
    truth, guess = _labelled(60, 1)
    alone = figures(truth, guess, range(60), LABELS, "A")
    copied = figures(truth * 5, guess * 5, list(range(60)) * 5, LABELS, "A")
    naive = figures(truth * 5, guess * 5, range(300), LABELS, "A")

    def width(found: dict[str, dict[str, float]]) -> float:
        return found["f1"]["high"] - found["f1"]["low"]

    assert copied["f1"]["value"] == pytest.approx(alone["f1"]["value"])
    assert width(copied) == pytest.approx(width(alone))
    assert width(naive) < 0.6 * width(alone)


def test_the_interval_of_f1_covers_the_truth_from_ten_clusters_on() -> None:
    rng = np.random.default_rng(0)

    def drawn(clusters: int) -> tuple[list[str], list[str]]:
        """15 dialogues a cluster, each of which is as hard as it is."""
        bought = rng.random((clusters, 15)) < rng.uniform(0.2, 0.6, (clusters, 1))
        wrong = rng.random((clusters, 15)) < rng.beta(2, 6, (clusters, 1))
        truth, guess = (np.where(b, "A", "B").ravel().tolist() for b in (bought, bought ^ wrong))
        return truth, guess

    true = f1_score(*drawn(5_000), average="macro")
    covered, clusters = 0, np.repeat(np.arange(10), 15).tolist()
    for _ in range(200):
        found = figures(*drawn(10), clusters, ["A", "B"], "A")["f1"]
        covered += found["low"] <= true <= found["high"]
    assert 0.92 <= covered / 200 <= 0.985  # a percentile bootstrap of clusters covers 89 %


def test_the_difference_is_over_what_both_have_labelled() -> None:
    truth = ["A"] * 40
    first = ["A"] * 30 + [None] * 10
    second = ["B"] * 15 + ["A"] * 25
    found = lead(truth, first, second, range(40), LABELS, "A")
    assert found["answered"] == 30
    assert found["accuracy"]["value"] == pytest.approx(0.5)
    assert 0 < found["accuracy"]["low"] < 0.5 < found["accuracy"]["high"]
    assert found["accuracy"]["p_value"] < 0.01
    none = lead(truth, first, [None] * 40, range(40), LABELS, "A")
    assert (none["answered"], none["accuracy"]["value"], none["f1"]["p_value"]) == (0, None, None)


def test_the_difference_of_f1_is_that_of_a_bootstrap() -> None:
    truth, first = _labelled(300, 3, right=0.8)
    second = _labelled(300, 4)[1]
    clusters = [i // 5 for i in range(300)]

    def apart(rows: list[int]) -> float:
        true, a, b = ([given[i] for i in rows] for given in (truth, first, second))
        of_a, of_b = (f1_values(true, given, LABELS) for given in (a, b))
        return float(of_a.mean() - of_b.mean())  # type: ignore[union-attr]

    found = lead(truth, first, second, clusters, LABELS, "A")["f1"]
    assert found["value"] == pytest.approx(apart(list(range(300))))
    rng = np.random.default_rng(0)
    draws = [
        [5 * int(c) + i for c in rng.integers(0, 60, 60) for i in range(5)] for _ in range(300)
    ]
    spread = np.std([apart(rows) for rows in draws])
    assert (found["high"] - found["low"]) / 4 == pytest.approx(spread, rel=0.15)
