"""How unlike one another a set of texts is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sacrebleu.metrics import BLEU

from salesllm.fidelity.similarity import Embedder, tokenize


def distinct_n(texts: Sequence[str], n: int = 2) -> float:
    """Different n-grams among all n-grams of the texts, 0-1 (Li et al. 2016); 0 without any."""
    grams = [
        gram
        for tokens in map(tokenize, texts)
        for gram in zip(*(tokens[shift:] for shift in range(n)), strict=False)
    ]
    return len(set(grams)) / len(grams) if grams else 0.0


def self_bleu(texts: Sequence[str]) -> float:
    """Mean BLEU-4 of each text against all the others, 0-1 (Zhu et al. 2018): low if diverse.

    It grows with the number of texts: compare sets of equal size only.

    Raises:
        ValueError: There are fewer than two texts.
    """
    if len(texts) < 2:
        raise ValueError("self-BLEU compares texts with one another: give at least two")
    bleu = BLEU(tokenize="none", smooth_method="exp")
    spaced = [" ".join(tokenize(text)) for text in texts]
    scores = [
        bleu.corpus_score([text], [[other] for j, other in enumerate(spaced) if j != i]).score
        for i, text in enumerate(spaced)
    ]
    return float(np.mean(scores)) / 100


def mean_pairwise_distance(texts: Sequence[str], embedder: Embedder) -> float:
    """Mean cosine distance over all pairs of texts, 0-2."""
    vectors = embedder.encode(texts)
    similarity = vectors @ vectors.T
    return float(1 - similarity[np.triu_indices(len(texts), 1)].mean())
