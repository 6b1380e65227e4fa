"""The paper's tables, counted by hand."""

from __future__ import annotations

from typing import Any

from salesllm.dialogue import Dialogue
from salesllm.importing.statistics import languages, product_lines


def dialogue(line: str, language: str, *turns: str) -> Dialogue:
    said = [{"speaker": "customer" if t[0] == "c" else "salesperson", "text": t[2:]} for t in turns]
    record: dict[str, Any] = {"id": "d", "source": "s", "product_line": line}
    return Dialogue.model_validate(record | {"language": language, "turns": said})


DIALOGUES = [
    dialogue("Fund", "en", "c:how much is it", "s:ten", "c:too much", "s:oh"),
    dialogue("Fund", "en", "s:hi", "c:hi"),
    dialogue("Fund", "zh", "c:多少 钱？", "s:十块"),
    dialogue("Banking", "zh", "s:您好", "s:在吗", "c:不要"),
]


def test_by_product_line() -> None:
    assert product_lines(DIALOGUES) == {
        "Banking": {
            "dialogues": 1, "avg_turns": 3, "avg_customer_messages": 1, "avg_words_en": None,
            "avg_characters_zh": 2, "avg_characters": 2,
        },
        "Fund": {
            "dialogues": 3, "avg_turns": 2.67, "avg_customer_messages": 1.33,
            "avg_words_en": 2.33, "avg_characters_zh": 4, "avg_characters": 7.25,
        },
    }  # fmt: skip


def test_by_language() -> None:
    assert languages(DIALOGUES) == {
        "en": {"dialogues": 2, "avg_turns": 3, "avg_customer_messages": 1.5},
        "zh": {"dialogues": 2, "avg_turns": 2.5, "avg_customer_messages": 1},
    }
