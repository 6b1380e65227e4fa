"""An LLM as the annotator of how a dialogue ends: one label of an intent schema."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from salesllm.chat.base import Chat, Sampling, Usage
from salesllm.dialogue import Dialogue, Language
from salesllm.prompts import load_prompt
from salesllm.scoring.ask import OffFormat, ask, json_objects
from salesllm.scoring.judge import transcript

PROMPT = "intent_label"

Schema = Literal["binary", "saleintent"]

MEANING: dict[Schema, dict[Language, dict[str, str]]] = {
    "binary": {
        "en": {
            "buy": "The customer has decided to buy, or has agreed to a step that leads straight "
            "to it (an order, a contract, a payment).",
            "not": "Everything else: declined, put off, undecided, broken off.",
        },
        "zh": {
            "buy": "客户决定买了，或者答应了直接通向成交的一步（下单、签约、付款）。",
            "not": "其余情况：拒绝、推后、没拿定主意、聊到一半断了。",
        },
    },
    "saleintent": {
        "en": {
            "A": "Strong intention: agrees to buy or to a fixed next step, or asks how to buy.",
            "B": "Some intention: interested, asks about price, terms or use, nothing fixed yet.",
            "C": "No intention: says plainly that they do not want or need it.",
            "X": "Perfunctory: short, evasive or off the point; takes up nothing that is said.",
            "F": "Hostile: complains, insults, threatens to report, or forbids further contact.",
        },
        "zh": {
            "A": "意向强：答应购买或敲定了下一步，或者主动问怎么买。",
            "B": "有意向：感兴趣，问价格、条款或用法，但什么都还没定。",
            "C": "无意向：明确说不想要、不需要。",
            "X": "敷衍：话很短、躲闪或答非所问，对方说什么都不接。",
            "F": "反感：投诉、骂人、扬言举报，或要求不要再联系。",
        },
    },
}
"""What the labels of each schema mean, as the annotator reads it."""


@dataclass(frozen=True)
class Labelling:
    """What the annotator says of one dialogue.

    Attributes:
        label: None where the answer could not be read.
        reason: Why, or why there is no label.
        failed: Whether the annotator could not be reached: worth asking again later.
    """

    label: str | None
    reason: str
    failed: bool = False
    usage: Usage = field(default_factory=Usage)


def question(dialogue: Dialogue, schema: Schema, prompts_dir: str | Path | None = None) -> str:
    """The whole prompt about one dialogue."""
    prompt = load_prompt(PROMPT, dialogue.language, prompts_dir)
    history = transcript(dialogue.turns, dialogue.language)
    return prompt.render(history=history, labels=MEANING[schema][dialogue.language])


async def label(
    chat: Chat, text: str, schema: Schema, *, sampling: Sampling, attempts: int, seed: int
) -> Labelling:
    """Answers a `question`; never raises for what the annotator does or fails to do."""
    names = MEANING[schema]["en"]
    answer = await ask(
        chat,
        text,
        lambda said: parse(said, names),
        sampling=sampling,
        attempts=attempts,
        seed=seed,
    )
    if answer.value is None:
        return Labelling(None, answer.problem, failed=answer.failed, usage=answer.usage)
    return Labelling(*answer.value, usage=answer.usage)


def parse(answer: str, labels: Collection[str]) -> tuple[str, str]:
    """Label and reason from the JSON object of an answer, or from a label alone.

    Raises:
        OffFormat: There is none of the schema's labels, or there are two that differ.
    """
    found = [value for value in json_objects(answer) if "label" in value]
    given = [value["label"] for value in found] or [answer]
    known = {name.casefold(): name for name in labels}
    named = {known.get(str(value).strip(" \n*`\"'.。").casefold()) for value in given}
    if len(named) > 1:
        raise OffFormat("several labels that differ")
    name = named.pop()
    if name is None:
        raise OffFormat(f"no label in {answer[:80]!r}" if answer else "an empty answer")
    return name, str(found[-1].get("reason") or "") if found else ""
