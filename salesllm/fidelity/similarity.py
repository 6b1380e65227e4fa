"""User-likeness: how close predicted customer turns come to what the customer really said.

BLEU-4, ROUGE-1/2/L and embedding cosine per turn, then mean ± sd over turns (Tables 3 and 6).
All are on the 0-1 scale of the paper; a cosine can fall below 0.

* BLEU is sacrebleu's sentence BLEU with its own tokenizers (`zh`, `13a`), exponential smoothing
  and no effective order: a candidate of fewer than four tokens scores 0, even against itself. The
  effective order would give "ok" against "ok, but why?" a precision of 1. Corpus BLEU, which pools
  the n-grams of all turns, stands beside it because so many customer turns are short.
* ROUGE is rouge-score's F measure over `tokenize`, which keeps what its own tokenizer drops:
  Chinese, accented letters, emoji. On ASCII the two are the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from logging import ERROR, getLogger
from typing import Any

import numpy as np
import numpy.typing as npt
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics import BLEU

from salesllm.dialogue import Language
from salesllm.errors import InputError

LEXICAL = ("bleu4", "rouge1", "rouge2", "rougeL")
METRICS = (*LEXICAL, "cosine")

_HAN = "\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_TOKEN = re.compile(rf"[{_HAN}]|[^\W_{_HAN}]+|\S")


def tokenize(text: str) -> list[str]:
    """Tokens of Chinese, English or mixed text: single Han characters, words, emoji.

    Chinese is split into characters, as is usual for Chinese ROUGE and as sacrebleu's `zh` does:
    the score then depends on no segmenter's dictionary. Text is lowercased and full-width letters
    and digits become plain ones; punctuation is dropped.
    """
    text = unicodedata.normalize("NFKC", text).lower()
    return [t for t in _TOKEN.findall(text) if t[0].isalnum() or unicodedata.category(t[0]) == "So"]


class _Tokenizer:
    """`tokenize` in the shape that rouge-score takes."""

    def tokenize(self, text: str) -> list[str]:
        return tokenize(text)


_ROUGE = RougeScorer(["rouge1", "rouge2", "rougeL"], tokenizer=_Tokenizer())


@cache
def _bleu(language: Language) -> BLEU:
    return BLEU(tokenize="zh" if language == "zh" else "13a", smooth_method="exp")


def turn_scores(prediction: str, reference: str, language: Language) -> dict[str, float]:
    """The lexical metrics of one turn, each 0-1; an empty prediction scores 0."""
    rouge = _ROUGE.score(reference, prediction)
    # A corpus of one segment: the sentence score, without its advice to use the effective order.
    bleu = _bleu(language).corpus_score([prediction], [[reference]]).score
    return {"bleu4": min(bleu / 100, 1.0)} | {k: float(v.fmeasure) for k, v in rouge.items()}


def corpus_bleu(
    predictions: Sequence[str], references: Sequence[str], language: Language
) -> float | None:
    """BLEU-4 over the pooled n-grams of all turns of one language, 0-1; None without turns."""
    if not predictions:
        return None
    return _bleu(language).corpus_score(list(predictions), [list(references)]).score / 100


def is_short(reference: str, max_short_chars: int = 5) -> bool:
    """Whether a true turn is left out as a bare acknowledgement (A.1: at most 5 characters)."""
    return len(reference.strip()) <= max_short_chars


class Embedder:
    """Sentence embeddings for the cosine, by a sentence-transformers model.

    Args:
        model: Folder or Hub id; the paper's is `BAAI/bge-m3`.

    Raises:
        InputError: The model cannot be loaded.
    """

    def __init__(self, model: str, *, device: str | None = None) -> None:
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()  # of loading weights: the display is the caller's
        # It warns of a model that is not there before it raises, and one message is enough.
        getLogger("sentence_transformers.util.file_io").setLevel(ERROR)
        try:
            self._model = SentenceTransformer(model, device=device)
        except (OSError, ValueError) as error:
            first = str(error).splitlines()[0].rstrip(".")
            raise InputError(
                f"cannot load the sentence encoder {model!r}: {first}",
                field="embedding_model",
                fix="Give a folder or a Hub id, or leave it out to go without the cosine",
            ) from None
        self._vectors: dict[str, npt.NDArray[np.float32]] = {}

    def encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Unit vectors, (texts, dimensions)."""
        vectors: npt.NDArray[np.float32] = self._model.encode(
            list(texts), batch_size=64, normalize_embeddings=True, show_progress_bar=False
        )
        return vectors

    def cosine(self, predictions: Sequence[str], references: Sequence[str]) -> list[float]:
        """Cosine of each pair, -1 to 1; an empty prediction, which has no meaning, scores 0."""
        # Every customer is compared with the same references, and many say the same short things.
        new = sorted({*predictions, *references} - self._vectors.keys())
        self._vectors.update(zip(new, self.encode(new), strict=True))
        return [
            float(np.clip(self._vectors[p] @ self._vectors[r], -1, 1)) if p.strip() else 0.0
            for p, r in zip(predictions, references, strict=True)
        ]


def mean_sd(values: Sequence[float]) -> dict[str, Any]:
    """Mean, sample standard deviation and number; None where there are too few values."""
    return {
        "mean": float(np.mean(values)) if len(values) else None,
        "sd": float(np.std(values, ddof=1)) if len(values) > 1 else None,
        "n": len(values),
    }
