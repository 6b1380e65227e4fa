"""Masking within a record, the language it says, and repetitions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from salesllm.dialogue import Dialogue
from salesllm.importing.cleaning import (
    clean,
    mask_dialogue,
    rejected_row,
    repetitions,
    wrong_language,
)
from salesllm.importing.readers import Place, Rejected
from salesllm.training.labels import LabelledDialogue

ENGLISH = "hi, is the fund still open to new investors this month?"
CHINESE = "你好，这个基金现在还能买吗？年化大概多少？"


def dialogue(*texts: str, language: str = "en", **fields: Any) -> Dialogue:
    sides = ("customer", "salesperson")
    turns = [{"speaker": sides[i % 2], "text": text} for i, text in enumerate(texts)]
    record = {"id": "d", "language": language, "source": "s", "product_line": "p", "turns": turns}
    return Dialogue.model_validate(record | fields)


def test_turns_and_context_are_masked() -> None:
    given = dialogue(
        "mail ann@example.com",
        "ok",
        context={
            "seller": {"phones": ["+1 415 555 0132", 13800138000]},
            "price": 138.5,
            "new": True,
        },
    )
    masked, found = mask_dialogue(given)
    assert [turn.text for turn in masked.turns] == ["mail [EMAIL]", "ok"]
    assert masked.context == {
        "seller": {"phones": ["[PHONE]", "[PHONE]"]}, "price": 138.5, "new": True,
    }  # fmt: skip
    assert [(one.field, one.kind) for one in found] == [
        ("turns.0.text", "EMAIL"),
        ("context.seller.phones.0", "PHONE"),
        ("context.seller.phones.1", "PHONE"),
    ]
    assert found[0].shown == "mail an************m"


def test_keys_are_masked_and_remain_unique() -> None:
    people = {"13800138000": "Ann", "15900001111": {"ann@example.com": 1}, "[PHONE]#2": 2, "x": 3}
    given = dialogue("hi", "ok", context={"13800138000": 1, "people": people})
    masked, found = mask_dialogue(given)
    assert masked.context == {
        "[PHONE]": 1,
        "people": {"[PHONE]": "Ann", "[PHONE]#3": {"[EMAIL]": 1}, "[PHONE]#2": 2, "x": 3},
    }
    assert [(one.field, one.kind) for one in found] == [
        ("context", "PHONE"),
        ("context.people", "PHONE"),
        ("context.people", "PHONE"),
        ("context.people.[PHONE]#3", "EMAIL"),
    ]


def test_what_is_shown_of_it_is_starred_out() -> None:
    _, found = mask_dialogue(dialogue("13800138000 or\n15900001111", "ok"))
    assert [one.shown for one in found] == ["13********0 or 15******", "*******0 or 15********1"]


def test_a_dialogue_without_any_stays_as_it_is() -> None:
    labelled = LabelledDialogue(**dialogue("hi", "hello").model_dump(), label="buy")
    assert mask_dialogue(labelled) == (labelled, [])


@pytest.mark.parametrize(
    "raw",
    [
        json.dumps({"text": "电话13800138000"}),
        json.dumps({"13800138000": {"ann@example.com": 1}}),
        json.dumps([["a", "\n6222028465632122336"]]),
        '{"text": "broken\\n13800138000',
        '{"half": "\\ud800", "mail": "ann@example.com"}',
    ],
)
def test_a_rejected_record_is_masked(raw: str) -> None:
    reason = "id 13800138000 is taken"
    row = rejected_row(Rejected(Place(Path("f"), 3), None, "context.13800138000", reason, raw))
    text = json.dumps(row, ensure_ascii=False).encode().decode()
    assert not any(secret in text for secret in ("13800138000", "6222028465632122336", "ann@"))
    assert (row["file"], row["line"], row["reason"]) == ("f", 3, "id [PHONE] is taken")


@pytest.mark.parametrize(
    ("texts", "language", "right"),
    [
        ([ENGLISH, "yes"], "en", True),
        ([ENGLISH, "yes"], "zh", False),
        ([CHINESE, "可以的"], "zh", True),
        ([CHINESE, "可以的"], "en", False),
        (["iPhone 15 Pro Max 256G 有现货吗", "有的，黑色和 Space Gray"], "zh", True),
        (["my name is 张伟, can you send the offer to my office", "sure"], "en", True),
        (["ok", "嗯嗯"], "zh", True),
        (["ok", "嗯嗯"], "en", True),
        (["Здравствуйте, сколько стоит?", "Сто рублей"], "en", False),
    ],
)
def test_the_language_is_what_the_record_says(texts: list[str], language: str, right: bool) -> None:
    reason = wrong_language(dialogue(*texts, language=language))
    assert (reason is None) == right, reason


LONG = " ".join(f"word{number}" for number in range(40))


def test_exact_and_near_duplicates() -> None:
    dialogues = [
        dialogue(LONG, "hello"),
        dialogue("no", "thanks"),
        dialogue(f"{LONG} ", "hello"),
        dialogue(f"{LONG} too", "hello"),
        dialogue("thanks", "no"),
    ]
    found = repetitions(dialogues, 0.8)
    assert [(one.index, one.of, one.exact) for one in found] == [(2, 0, True), (3, 0, False)]
    assert 0.8 <= found[1].similarity < 1
    assert [one.index for one in repetitions(dialogues, None)] == [2]


def test_what_became_of_each() -> None:
    places = [Place(Path("f"), line) for line in range(1, 5)]
    records = [
        dialogue(f"{ENGLISH} call 415-555-0132", "ok", id="a"),
        dialogue(f"{ENGLISH} call 415-555-0178", "ok", id="b"),
        dialogue(CHINESE, "好", id="c"),
        dialogue("what does it cost", "ten", id="d", worker_id="ann@example.com"),
    ]
    result = clean(list(zip(places, records, strict=True)))
    assert [d.id for d in result.kept] == ["a", "d"]
    assert [(one.id, one.place.line, one.field) for one in result.rejected] == [
        ("c", 3, "language")
    ]
    assert result.repeated == [
        {"id": "b", "of": "a", "exact": True, "similarity": 1.0, "file": "f", "line": 2}
    ]
    assert [place.line for place, _ in result.masked] == [1, 2]
    assert result.named == ["d"]
    untouched = clean(list(zip(places, records, strict=True)), masking=False, threshold=None)
    assert [d.id for d in untouched.kept] == ["a", "b", "d"]
