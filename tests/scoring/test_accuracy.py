"""Accuracy and F1 of labels, against scikit-learn, and their intervals."""

from __future__ import annotations

import random

import numpy as np
import pytest
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score

from salesllm.scoring.accuracy import accuracy_difference, f1, figures, macro_f1

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


def test_a_label_that_nobody_gives_or_has_does_not_count() -> None:
    confusion = np.array([[3, 1, 0], [2, 4, 0], [0, 0, 0]])
    assert f1(confusion)[:2] == pytest.approx([6 / 9, 8 / 11])
    assert np.isnan(f1(confusion)[2])
    assert macro_f1(confusion) == pytest.approx((6 / 9 + 8 / 11) / 2)
    assert np.isnan(macro_f1(np.zeros((3, 3))))


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


def test_the_interval_of_f1_covers_the_truth() -> None:
    truth, guess = _labelled(100_000, 2)
    true = f1_score(truth, guess, average="macro")
    covered = 0
    for start in range(0, 20_000, 100):
        part = slice(start, start + 100)
        found = figures(truth[part], guess[part], range(100), LABELS, "A")["f1"]
        covered += found["low"] <= true <= found["high"]
    assert 0.90 <= covered / 200 <= 0.98


def test_the_difference_is_over_what_both_have_labelled() -> None:
    truth = ["A"] * 40
    first = ["A"] * 30 + [None] * 10
    second = ["B"] * 15 + ["A"] * 25
    found = accuracy_difference(truth, first, second, range(40))
    assert found["n"] == 30
    assert found["difference"] == pytest.approx(0.5)
    assert 0 < found["low"] < 0.5 < found["high"]
    assert found["p_value"] < 0.01
    none = accuracy_difference(truth, first, [None] * 40, range(40))
    assert (none["difference"], none["n"]) == (None, 0)
