"""An LLM that writes and translates scenarios, for the loopback endpoint."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterable, Mapping
from random import Random
from typing import Any

from loopback import Fault

from salesllm.generation.faithful import texts
from salesllm.scenario import DecisionFactor, Scenario

_SYLLABLES = "安宁江岭松柏云帆禾谷星桥月湾青石雨林海川竹溪枫原鹿泉麦田晨光南山"
_THINGS = ("保温杯", "牵引绳", "定期存款", "重疾险", "书架", "吹风机", "键盘", "遮阳伞")


def write(body: dict[str, Any]) -> str:
    """A record of the schema it is asked for; every fourth product is the same one."""
    properties = body["response_format"]["json_schema"]["schema"]["properties"]
    rng = Random(body["seed"])
    if "selling_points" in properties:
        return json.dumps(_product(Random(0) if body["seed"] % 4 == 0 else rng), ensure_ascii=False)
    return json.dumps(_attributes(rng), ensure_ascii=False)


def _words(rng: Random, n: int) -> str:
    return "".join(rng.choice(_SYLLABLES) for _ in range(n))


def _product(rng: Random) -> dict[str, Any]:
    brand = _words(rng, 2)
    facts = {
        "品牌": brand,
        "规格": _words(rng, 8),
        "质保": f"{rng.randint(1, 5)}年，{_words(rng, 5)}",
    }
    return {
        "name": f"{brand}{rng.choice(_THINGS)}",
        "price": f"{rng.randint(20, 900)}元",
        "facts": [{"label": label, "value": value} for label, value in facts.items()],
        "selling_points": [_words(rng, 12) for _ in range(3)],
        "channel": "官方网店",
    }


def _attributes(rng: Random) -> dict[str, Any]:
    return {
        "motivations": f"{_words(rng, 14)}。",
        "pain_points": f"{_words(rng, 14)}。",
        "decision_factors": [f.value for f in rng.sample(list(DecisionFactor), 3)],
        "communication_preferences": _words(rng, 10),
        "initial_utterance": f"你好，{_words(rng, 8)}怎么卖？",
    }


def in_english(pairs: Iterable[tuple[Scenario, Scenario]]) -> dict[str, str]:
    """What every text of these scenarios is in English, the first time it is said."""
    found: dict[str, str] = {}
    for zh, en in pairs:
        for text, english in zip(texts(zh).values(), texts(en).values(), strict=True):
            found.setdefault(text, english)
    return found


def translator(
    english: Mapping[str, str], change: Mapping[str, str]
) -> Callable[[dict[str, Any]], str]:
    """One that knows these texts, but gets some wrong.

    Args:
        change: Chinese texts to what it writes instead.
    """

    def translate(body: dict[str, Any]) -> str:
        question = body["messages"][0]["content"]
        source, _ = json.JSONDecoder().raw_decode(question, question.index("{"))
        return json.dumps({key: change.get(text, english[text]) for key, text in source.items()})

    return translate


def sloppy(answer: Callable[[dict[str, Any]], str]) -> Callable[[dict[str, Any]], str]:
    """The same answers, in a fence or after a preface now and then, and some cut off."""
    number = itertools.count()

    def said(body: dict[str, Any]) -> str:
        text = answer(body)
        return (
            text,
            f"```json\n{text}\n```",
            f"Here it is: {text} I hope it helps.",
            text[: len(text) // 2],
            f"<think>{{...}}</think>{text}",
        )[next(number) % 5]

    return said


def troubled() -> Callable[[dict[str, Any]], Fault | None]:
    """Faults now and then, of every kind that is tried again."""
    number = itertools.count()
    faults = {5: Fault(status=429), 11: Fault(status=500), 17: Fault("cut"), 23: Fault("malformed")}
    return lambda body: faults.get(next(number) % 29)
