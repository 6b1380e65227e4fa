"""User-likeness as one Hugging Face `evaluate` metric, without a script to download."""

from __future__ import annotations

from typing import Any

import datasets
import evaluate

from salesllm.dialogue import Language
from salesllm.fidelity.similarity import (
    LEXICAL,
    Embedder,
    corpus_bleu,
    is_short,
    mean_sd,
    turn_scores,
)


class UserLikeness(evaluate.Metric):
    """BLEU-4, ROUGE-1/2/L, corpus BLEU and, with an embedder, the cosine: mean, sd and n of each.

    Example:
        >>> UserLikeness().compute(
        ...     predictions=["is it still for sale?"],
        ...     references=["is it still available?"],
        ...     language="en",
        ... )["rougeL"]["mean"]
        0.6666666666666666
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**{"keep_in_memory": True} | kwargs)

    def _info(self) -> evaluate.MetricInfo:
        text = datasets.Value("string")
        return evaluate.MetricInfo(
            description="Likeness of predicted customer turns to the true ones.",
            citation="arXiv:2604.07054, section 4.4 and appendix A",
            inputs_description=(
                "predictions and references: one text a turn; language: zh or en; embedder: an "
                "Embedder for the cosine; max_short_chars: references up to this long are left out"
            ),
            features=datasets.Features({"predictions": text, "references": text}),
        )

    def _compute(
        self,
        predictions: list[str],
        references: list[str],
        language: Language = "en",
        embedder: Embedder | None = None,
        max_short_chars: int = 5,
    ) -> dict[str, Any]:
        pairs = [
            pair
            for pair in zip(predictions, references, strict=True)
            if not is_short(pair[1], max_short_chars)
        ]
        rows = [turn_scores(*pair, language) for pair in pairs]
        result: dict[str, Any] = {name: mean_sd([row[name] for row in rows]) for name in LEXICAL}
        kept = [p for p, _ in pairs], [r for _, r in pairs]
        if embedder is not None:
            result["cosine"] = mean_sd(embedder.cosine(*kept))
        return result | {"corpus_bleu4": corpus_bleu(*kept, language)}
