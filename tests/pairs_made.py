"""Preference pairs and pipelines that tests need, made by hand."""

from __future__ import annotations

from typing import Any

from rich.console import Console

from salesllm.dialogue import Turn
from salesllm.preferences.pairs import Pair, Verdict
from salesllm.preferences.pipeline import Pipeline
from salesllm.preferences.recipe import RolloutRecipe


def pipeline(values: dict[str, Any], **changes: Any) -> Pipeline:
    return Pipeline(RolloutRecipe.model_validate(values | changes), Console(quiet=True))


def pair(number: int = 0, **changes: Any) -> Pair:
    """A pair whose words hold its number."""
    fields: dict[str, Any] = {
        "script": "You are a customer.",
        "history": [
            Turn.model_validate({"speaker": "customer", "text": f"Hi, is kettle {number} quiet?"}),
            Turn.model_validate({"speaker": "salesperson", "text": "Very. Shall I reserve it?"}),
        ],
        "chosen": f"hm, {number} dollars off?",
        "rejected": f"May I offer you {number} dollars off?",
        "chosen_by": "customer",
        "verdicts": {
            "chosen": Verdict(inverted=False, likeness=8, reason="bargains"),
            "rejected": Verdict(inverted=True, likeness=1, reason="offers"),
        },
        "language": "en",
        "scenario_id": f"s{number}",
        "dialogue_id": f"d{number}",
        "turn": 2,
        "salesperson": "A",
        "customer": "C",
        "versions": {"en/turn_judge": "0123456789ab"},
    }
    return Pair.model_validate(fields | changes)
