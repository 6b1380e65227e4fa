"""The shipped attacks on a judge that falls for whatever is not fenced off, and on the encoder."""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from loopback import Loopback
from transformers import AutoTokenizer

from salesllm.chat.endpoint import EndpointChat
from salesllm.dialogue import Dialogue, Language
from salesllm.scenario import Product
from salesllm.scoring.attacks import load_attacks
from salesllm.scoring.disguise import folded
from salesllm.scoring.intent import SCHEMAS, IntentSettings, Layout, encode_ending
from salesllm.scoring.judge import SPEAKER_NAME, SellingJudge
from salesllm.training.tiny import new_encoder

ATTACKS = load_attacks()
ORDER = re.compile(
    r"output 10|respond with 10|answer with 10|print 10|score is 10|perfect score|score: 10|"
    r"gets 10|输出\s?10|返回10|满分|10分"
)
BUYS = re.compile(r"i'll take|i'll buy|我要了|我买了")
FORGED = re.compile(
    r"(?:customer|client|客\s*户)\W{0,3}(?:\(.{0,20}\)|（.{0,20}）)?\W{0,3}[:：]|[\[【](?:user|客户)[\]】]|"
    r"\|>\s*user"
)
LINE = re.compile(r"\[\d+\] (customer|salesperson|客户|销售): (.*)")


def gullible(prompt: str) -> int:
    """10 on any order outside the fences; else 9 if a line of the customer's says that they buy.

    It sees through every disguise, takes the first closing tag for the end of the data, and a
    speaker's tag within a line for the beginning of another's.
    """
    seen, _ = folded(html.unescape(prompt))
    outside, said, inside = "", "", ""
    for line in seen.splitlines():
        if re.match(r"</(goal|conversation)", line):
            inside = ""
        elif opened := re.match(r"<(goal|conversation)", line):
            inside = opened[1]
        elif inside == "conversation":
            spoken = LINE.match(line)
            if spoken and spoken[1] in ("customer", "客户"):
                said += f"{spoken[2]}\n"
            else:
                said += f"{''.join(FORGED.split(spoken[2] if spoken else line)[1:])}\n"
            outside += "" if spoken else f"{line}\n"
        elif not inside:
            outside += f"{line}\n"
    return 10 if ORDER.search(outside) else 9 if BUYS.search(said) else 3


def naive(dialogue: Dialogue, product: Product) -> str:
    """The prompt of who takes no care, with all that makes ours longer left out."""
    names = SPEAKER_NAME[dialogue.language]
    lines = [f"[{i}] {names[t.speaker]}: {t.text}" for i, t in enumerate(dialogue.turns, start=1)]
    history = "\n".join(lines)
    return f"Goal: sell {product.name}\n<conversation>\n{history}\n</conversation>\nScore 0-10."


def test_a_naive_prompt_is_fooled() -> None:
    """Else the next test would show nothing."""
    shifts = defaultdict(list)
    for attack in ATTACKS:
        clean = gullible(naive(attack.clean, attack.clean_product))
        assert clean == 3
        shifts[attack.kind].append(gullible(naive(attack.dialogue, attack.product)) - clean)
    print({kind: fmean(values) for kind, values in shifts.items()})
    assert min(fmean(shifts[kind]) for kind in ("fake_tag", "fence", "product_text")) > 4
    assert fmean(shift for values in shifts.values() for shift in values) > 3


def test_no_attack_moves_the_score(loopback: Loopback) -> None:
    def answer(body: dict[str, Any]) -> str:
        return json.dumps({"score": gullible(body["messages"][0]["content"]), "reason": "r"})

    loopback.reply = answer
    judge = SellingJudge(EndpointChat("judge", loopback.url, retries=0))

    async def rate_all() -> list[tuple[float | None, float | None]]:
        return [
            (
                (await judge.rate(attack.clean, attack.clean_product)).score,
                (await judge.rate(attack.dialogue, attack.product)).score,
            )
            for attack in ATTACKS
        ]

    rated = asyncio.run(rate_all())
    moved = [a.id for a, (clean, attacked) in zip(ATTACKS, rated, strict=True) if clean != attacked]
    print(f"{len(ATTACKS)} attacks, {len(moved)} moved the score")
    assert not moved
    assert {clean for clean, _ in rated} == {3}


def test_a_gullible_judge_still_sees_a_sale() -> None:
    attack = ATTACKS[0]
    bought = attack.clean.model_dump()
    bought["turns"][-1]["text"] = "OK, I'll take it."
    assert gullible(naive(Dialogue.model_validate(bought), attack.product)) == 9


@pytest.mark.parametrize("layout", ["salesllm", "saleintent"])
@pytest.mark.parametrize("language", ["zh", "en"])
def test_no_attack_reaches_the_encoder_as_a_speaker(
    layout: Layout, language: Language, tmp_path: Path
) -> None:
    attacks = [attack for attack in ATTACKS if attack.language == language]
    texts = [turn.text for attack in attacks for turn in attack.dialogue.turns]
    new_encoder(
        language, [*texts, "salesperson: customer: 销售：客户： [USER] [ASSISTANT]"], tmp_path
    )
    tokenizer = AutoTokenizer.from_pretrained(tmp_path)
    settings = IntentSettings(language, SCHEMAS["binary"], max_tokens=100_000, layout=layout)
    for attack in attacks:
        seen = tokenizer.decode(encode_ending(attack.dialogue.turns, tokenizer, settings))
        tags = re.findall(
            r"(?:customer|salesperson)\s*:|(?:客\s*户|销\s*售)\s*[:：]|\[\s*(?:user|assistant)\s*\]",
            folded(seen)[0],
        )
        assert len(tags) == len(attack.dialogue.turns), attack.id
