"""Small dialogues for the detector and the ablation: two sides that differ, but not cleanly."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from salesllm.dialogue import Dialogue, Language, Speaker

_SAYS: dict[Language, dict[Speaker, tuple[list[str], list[str]]]] = {
    "en": {
        Speaker.SALESPERSON: (
            ["Our {} comes with", "I can offer you the {} with", "Let me recommend the {}:",
             "You will love the {},", "As our customer you get the {} with"],
            ["a two-year warranty.", "free delivery this week.", "ten percent off today.",
             "everything included, shall I reserve one?", "a full refund within 30 days."],
        ),
        Speaker.CUSTOMER: (
            ["hm, the {}?", "not sure about the {},", "how much is the {}?", "ok so the {},",
             "my brother had a {},"],
            ["is that firm?", "i only have 50", "sounds pricey", "let me think", "ok i'll take it"],
        ),
    },
    "zh": {
        Speaker.SALESPERSON: (
            ["我们这款{}", "给您推荐{}，", "您看这个{}", "作为老客户，您的{}", "现在买{}"],
            ["质保两年。", "这周免费送货上门。", "今天下单打九折。",
             "配件齐全，给您留一台？", "三十天无理由退货。"],
        ),
        Speaker.CUSTOMER: (
            ["{}啊，", "我再想想{}吧，", "{}多少钱？", "那{}呢，", "我朋友也买过{}，"],
            ["有点贵", "能便宜点不", "先不要了", "行吧就这个", "靠谱吗？"],
        ),
    },
}  # fmt: skip
_THINGS: dict[Language, list[str]] = {
    "en": ["kettle", "blender", "lamp", "bike", "heater", "camera", "chair", "drill"],
    "zh": ["水壶", "搅拌机", "台灯", "自行车", "取暖器", "相机", "椅子", "电钻"],
}


@pytest.fixture
def make_dialogues() -> Callable[..., list[Dialogue]]:
    """`make_dialogues(language, count, seed)`: one turn in ten is what the other side would say."""

    def make(language: Language, count: int, seed: int, rounds: int = 4) -> list[Dialogue]:
        rng, dialogues = random.Random(seed), []
        for number in range(count):
            turns = []
            for index in range(2 * rounds):
                speaker = (Speaker.CUSTOMER, Speaker.SALESPERSON)[index % 2]
                style = speaker.other if rng.random() < 0.1 else speaker
                opening, closing = (rng.choice(part) for part in _SAYS[language][style])
                space = "" if language == "zh" else " "
                text = opening.format(rng.choice(_THINGS[language])) + space + closing
                turns.append({"speaker": speaker, "text": text})
            dialogues.append(
                Dialogue(
                    id=f"{language}-{seed}-{number}",
                    language=language,
                    source="test",
                    product_line="household",
                    turns=turns,  # type: ignore[arg-type]
                )
            )
        return dialogues

    return make
