"""Diversity against hand-computed values and sacrebleu's own sentence scores."""

from __future__ import annotations

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from salesllm.fidelity.diversity import distinct_n, mean_pairwise_distance, self_bleu


@pytest.mark.parametrize(
    ("texts", "n", "expected"),
    [
        (["a b c", "a b d"], 2, 3 / 4),  # ab bc ab bd
        (["a b c", "a b d"], 1, 4 / 6),
        (["我要买", "我要卖"], 2, 3 / 4),
        (["a", "b"], 2, 0.0),
        ([], 2, 0.0),
    ],
)
def test_distinct_n_by_hand(texts: list[str], n: int, expected: float) -> None:
    assert distinct_n(texts, n) == pytest.approx(expected)


def test_self_bleu_is_each_against_the_others() -> None:
    texts = ["the cat sat on the mat today", "the cat sat on the sofa", "dogs bark at night often"]
    bleu = BLEU(tokenize="none", smooth_method="exp")
    expected = [
        bleu.corpus_score([texts[i]], [[t] for t in texts if t != texts[i]]).score
        for i in range(len(texts))
    ]
    assert self_bleu(texts) == pytest.approx(sum(expected) / 300)
    assert self_bleu(["我想买一个锅"] * 3) == pytest.approx(1.0)
    assert self_bleu(["one two three four", "five six seven eight"]) < 0.2
    with pytest.raises(ValueError, match="at least two"):
        self_bleu(["alone"])


def test_distance_is_the_mean_over_pairs() -> None:
    class Fixed:
        def encode(self, texts: list[str]) -> np.ndarray:
            return np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0]])

    # Pairs at 90, 180 and 90 degrees: distances 1, 2 and 1.
    assert mean_pairwise_distance(["a", "b", "c"], Fixed()) == pytest.approx(4 / 3)  # type: ignore[arg-type]
