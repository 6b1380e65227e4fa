"""The figures by which the paper describes its dialogues (Tables 2, 4 and 5)."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import mean
from typing import Any

from salesllm.dialogue import Dialogue, Speaker


def product_lines(dialogues: Iterable[Dialogue]) -> dict[str, dict[str, Any]]:
    """Tables 2 and 4: by product line, how many dialogues, how long, and how wordy the customer is.

    The paper's average turns are the customer's (`avg_customer_messages`); a turn here is a message
    of either side (`avg_turns`). Lengths are per customer message: words in English, characters
    without spaces in Chinese, and characters of any kind for both.
    """
    return _by(lambda d: d.product_line, dialogues, _product_line)


def languages(dialogues: Iterable[Dialogue]) -> dict[str, dict[str, Any]]:
    """Table 5: by language, how many dialogues, messages a dialogue, customer messages a dialogue.

    A system prompt is no message.
    """
    return _by(lambda d: d.language, dialogues, _conversation)


def _by(
    key: Callable[[Dialogue], str],
    dialogues: Iterable[Dialogue],
    figures: Callable[[Sequence[Dialogue]], dict[str, Any]],
) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[Dialogue]] = defaultdict(list)
    for dialogue in dialogues:
        groups[key(dialogue)].append(dialogue)
    return {name: figures(groups[name]) for name in sorted(groups)}


def _conversation(dialogues: Sequence[Dialogue]) -> dict[str, Any]:
    return {
        "dialogues": len(dialogues),
        "avg_turns": round(mean(len(d.turns) for d in dialogues), 2),
        "avg_customer_messages": round(mean(len(_customer(d)) for d in dialogues), 2),
    }


def _product_line(dialogues: Sequence[Dialogue]) -> dict[str, Any]:
    said = [(d.language, text) for d in dialogues for text in _customer(d)]
    english = [len(text.split()) for language, text in said if language == "en"]
    chinese = [len(re.sub(r"\s", "", text)) for language, text in said if language == "zh"]
    return _conversation(dialogues) | {
        "avg_words_en": round(mean(english), 2) if english else None,
        "avg_characters_zh": round(mean(chinese), 2) if chinese else None,
        "avg_characters": round(mean(len(text) for _, text in said), 2),
    }


def _customer(dialogue: Dialogue) -> list[str]:
    return [turn.text for turn in dialogue.turns if turn.speaker is Speaker.CUSTOMER]
