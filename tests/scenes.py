"""Scenarios that tests need, made by hand."""

from __future__ import annotations

from typing import Any

from salesllm.dialogue import Language, Speaker, Turn
from salesllm.scenario import Scenario

_TEXTS: dict[Language, dict[str, Any]] = {
    "en": {
        "product": {"category": "Kitchen", "name": "Halo kettle", "price": "$39"},
        "persona": {"age_group": "30s", "gender": "female", "occupation": "nurse", "city": "Leeds"},
        "attributes": {
            "motivations": "Tea before the night shift.",
            "pain_points": "The old one leaks.",
            "communication_preferences": "Short answers.",
            "initial_utterance": "Hi, is the kettle any good?",
        },
    },
    "zh": {
        "product": {"category": "厨房", "name": "晨光电水壶", "price": "199元"},
        "persona": {"age_group": "30多岁", "gender": "女", "occupation": "护士", "city": "苏州"},
        "attributes": {
            "motivations": "上夜班前想喝口热的。",
            "pain_points": "旧的漏水。",
            "communication_preferences": "别啰嗦。",
            "initial_utterance": "你好，这个水壶怎么样？",
        },
    },
}


def scene(language: Language = "en", number: int = 0) -> Scenario:
    """Scenario `<language>-<number>`, whose product's name ends in its number."""
    texts = _TEXTS[language]
    product = texts["product"] | {"id": f"kettle-{number}", "domain": "consumer"}
    return Scenario.model_validate(
        {
            "id": f"{language}-{number}",
            "language": language,
            "product": product | {"name": f"{product['name']} {number}"},
            "persona": texts["persona"] | {"id": "nurse"},
            "difficulty": "medium",
            "propensity": 0.5,
            "attributes": texts["attributes"] | {"decision_factors": ["core_quality"]},
        }
    )


def turns(*texts: str) -> list[Turn]:
    """Turns of both sides by turns, the customer's first."""
    sides = (Speaker.CUSTOMER, Speaker.SALESPERSON)
    return [Turn(speaker=sides[i % 2], text=text) for i, text in enumerate(texts)]
