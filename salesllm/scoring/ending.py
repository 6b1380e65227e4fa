"""The end of a dialogue as an encoder reads it: turns with their speakers' tags, in token ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from salesllm.dialogue import Language, Speaker, Turn
from salesllm.errors import InputError
from salesllm.scoring.injection import defused

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

SCHEMAS: dict[str, dict[str, float]] = {
    "binary": {"not": 0.0, "buy": 10.0},
    # The released scorer's classes: strong, some and no intention, perfunctory, abusive.
    "saleintent": {"A": 10.0, "B": 8.0, "C": 6.0, "X": 4.0, "F": 2.0},
}
"""Label names with their worth, 0-10; the order is that of the classifier's outputs."""

Layout = Literal["salesllm", "saleintent"]

_TAGS: dict[tuple[Layout, Language], dict[Speaker, str]] = {
    ("salesllm", "en"): {Speaker.SALESPERSON: "salesperson:", Speaker.CUSTOMER: "customer:"},
    ("salesllm", "zh"): {Speaker.SALESPERSON: "销售：", Speaker.CUSTOMER: "客户："},
    ("saleintent", "en"): {Speaker.SALESPERSON: "[ASSISTANT]", Speaker.CUSTOMER: "[USER]"},
    ("saleintent", "zh"): {Speaker.SALESPERSON: "[ASSISTANT]", Speaker.CUSTOMER: "[USER]"},
}


@dataclass(frozen=True)
class IntentSettings:
    """How a scorer reads and counts; saved in its model config as `salesllm_intent`.

    Attributes:
        labels: Label to worth, 0-10, in the order of the classifier's outputs.
        score: `expected` sums probability times worth, which for the binary schema is
            10 * P(buy); `argmax` takes the likeliest label's worth, as the released scorer does.
        max_tokens: Tokens read from the end of the dialogue, special tokens included.
        layout: `salesllm` keeps whole turns where they fit; `saleintent` is the released scorer's
            flat text, cut at the token.
        temperature: Logits are divided by it, which changes no label; `eval/intent.py` fits it.
    """

    language: Language
    labels: dict[str, float]
    score: Literal["expected", "argmax"] = "expected"
    max_tokens: int = 128
    layout: Layout = "salesllm"
    temperature: float = 1.0

    @property
    def purchase(self) -> str:
        """The label that means a purchase, the one worth most: `buy`, or A, but not B.

        B of the released scorer's classes is an interest in which nothing is agreed.
        """
        return max(self.labels, key=self.labels.__getitem__)


def encode_ending(
    turns: Sequence[Turn], tokenizer: PreTrainedTokenizerBase, settings: IntentSettings
) -> list[int]:
    """`encode_endings` of one dialogue."""
    return encode_endings([turns], tokenizer, settings)[0]


def encode_endings(
    dialogues: Sequence[Sequence[Turn]],
    tokenizer: PreTrainedTokenizerBase,
    settings: IntentSettings,
) -> list[list[int]]:
    """Input ids of each dialogue's end: training rows and scoring inputs both come from here.

    Truncation drops the beginning. With the `salesllm` layout the kept part starts at a turn
    unless the last turn alone is too long, which then keeps its tag and its own end. No turn can
    pass for two: what reads as a speaker's tag or as a special token in a turn's text is none.

    Raises:
        InputError: The tokenizer is not an encoder's, or `max_tokens` leaves no room for a turn.
    """
    first, last = tokenizer.cls_token_id, tokenizer.sep_token_id  # <s> and </s> in RoBERTa's
    if first is None or last is None:
        raise InputError(
            "the tokenizer marks no start and end of a text",
            path=tokenizer.name_or_path,
            field="model_name_or_path",
            fix="Take an encoder of the BERT or RoBERTa kind",
        )
    tags = {
        speaker: tokenizer.encode(tag, add_special_tokens=False)
        for speaker, tag in _TAGS[settings.layout, settings.language].items()
    }
    budget = settings.max_tokens - 2
    if budget <= max(map(len, tags.values())):
        problem = f"{settings.max_tokens} tokens have no room for a turn"
        raise InputError(problem, field="max_tokens", fix="Raise max_tokens")
    kept: list[list[int]] = [[] for _ in dialogues]
    # Turn by turn from the end, all dialogues at once: no more is tokenised than has room.
    unfilled, full, back = list(range(len(dialogues))), set[int](), 0
    while unfilled := [i for i in unfilled if i not in full and back < len(dialogues[i])]:
        back += 1
        turns = [dialogues[i][-back] for i in unfilled]
        texts = tokenizer(
            [f" {defused(turn.text.strip())}\n" for turn in turns],
            add_special_tokens=False,
            split_special_tokens=True,
            return_attention_mask=False,
            return_token_type_ids=False,
            verbose=False,  # of a turn longer than the model's positions, which is cut below
        )["input_ids"]
        for i, turn, text in zip(unfilled, turns, texts, strict=True):
            tag = tags[turn.speaker]
            whole = [*tag, *text, *kept[i]]
            if len(whole) <= budget:
                kept[i] = whole
                continue
            full.add(i)
            if settings.layout == "saleintent":
                kept[i] = whole[-budget:]
            elif not kept[i]:
                kept[i] = [*tag, *text[len(tag) - budget :]]
    return [[first, *ids, last] for ids in kept]
