"""Concessions planted into dialogues that have none, by a generator of its own.

It knows nothing of the detector: it writes phrases of `scoring/grounding_planted.json` into what
the scripted salesperson says, with numbers that no fact of the product bears.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from salesllm.chat.scripted import ScriptedCustomer, ScriptedSalesperson
from salesllm.dialogue import Dialogue, Language, Speaker, Turn
from salesllm.scenario import Scenario
from salesllm.simulate import simulate

PHRASES: dict[str, Any] = json.loads(
    (Path(__file__).parent / "scoring" / "grounding_planted.json").read_text(encoding="utf-8")
)
_GOODS = (
    "price", "discount_percent", "discount_amount", "granted", "gift", "warranty", "delivery",
    "returns", "instalments", "free_shipping",
)  # fmt: skip
_MONEY = ("price", "granted", "gift", "discount_amount", "rate")
_AMOUNT = re.compile(
    r"(?P<sign>[A-Z]*[$¥£€])?(?P<figure>\d[\d,]*(?:\.\d+)?)(?P<unit>万?[^\W\d]?元)?"
)
_ZH = dict(zip(range(1, 11), "一二三四五六七八九十", strict=True))
_WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_EN = dict(zip(_ZH, _WORDS, strict=True))


@dataclass(frozen=True)
class Planted:
    """A dialogue with one planted phrase, in turn `turn`."""

    kind: str
    dialogue: Dialogue
    scenario: Scenario
    turn: int
    phrase: str


def scripted(scenario: Scenario, rounds: int = 8) -> Dialogue:
    """A dialogue of the scripted speakers."""
    told = asyncio.run(simulate(scenario, ScriptedSalesperson(), ScriptedCustomer(), rounds=rounds))
    return dialogue(scenario, told.turns)


def dialogue(scenario: Scenario, turns: Sequence[Turn]) -> Dialogue:
    return Dialogue(
        id=scenario.id,
        language=scenario.language,
        source="test",
        product_line="",
        turns=tuple(turns),
    )


def plant(scenario: Scenario, kind: str, half: str, rng: Random) -> Planted | None:
    """A scripted dialogue of the scenario with a phrase of that kind; None where none fits."""
    phrases = PHRASES["planted"][kind][scenario.language][half]
    return _with(scenario, kind, rng.choice(phrases), rng)


def clean(scenario: Scenario, half: str, rng: Random) -> Planted | None:
    """The same with a phrase that concedes nothing."""
    phrases = PHRASES["clean"][scenario.language][half]
    return _with(scenario, "clean", rng.choice(phrases), rng)


def kinds(scenario: Scenario) -> tuple[str, ...]:
    """What can be promised of such a product without right."""
    if scenario.product.category == "stocks":
        return (*_MONEY, "guarantee")
    return _GOODS if scenario.product.domain == "consumer" else _MONEY


def altered_price(scenario: Scenario, rng: Random) -> Planted | None:
    """A scripted dialogue in which the price that is told is another."""
    turns = list(scripted(scenario).turns)
    found = _amount(scenario.product.price)
    values = _values(scenario, rng)
    for index, turn in enumerate(turns):
        if turn.speaker is Speaker.SALESPERSON and found and found[0] in turn.text and values:
            if (other := values.get(rng.choice(("low", "high")))) is None:
                return None
            turns[index] = Turn(speaker=turn.speaker, text=turn.text.replace(found[0], other))
            return Planted("altered_price", dialogue(scenario, turns), scenario, index, other)
    return None


def _with(scenario: Scenario, kind: str, phrase: str | list[str], rng: Random) -> Planted | None:
    asked, said = ("", phrase) if isinstance(phrase, str) else phrase
    values = _values(scenario, rng)
    if values is None:
        return None
    if kind == "free_shipping" and re.search(
        "free|免|包邮", " ".join(scenario.product.facts.values())
    ):
        return None
    try:
        asked, said = asked.format(**values), said.format(**values)
    except KeyError:  # every number of that kind is one of the facts'
        return None
    turns = list(scripted(scenario).turns)
    index = rng.choice([i for i, t in enumerate(turns) if t.speaker is Speaker.SALESPERSON])
    if asked:
        turns[index - 1] = Turn(speaker=Speaker.CUSTOMER, text=asked)
    space = " " if scenario.language == "en" else ""
    parts = re.split(r"(?<=[.?!])\s|(?<=[。？！])", turns[index].text)
    parts.insert(0 if asked else rng.randint(0, len(parts)), said)
    text = space.join(part for part in parts if part)
    turns[index] = Turn(speaker=Speaker.SALESPERSON, text=text)
    return Planted(kind, dialogue(scenario, turns), scenario, index, said)


def _values(scenario: Scenario, rng: Random) -> dict[str, str] | None:
    """Numbers that no fact of the product bears; those that cannot be found are missing."""
    product, language = scenario.product, scenario.language
    facts = " ".join(
        [product.name, product.price, *product.facts.values(), *product.selling_points]
    )
    found = _amount(product.price)
    if found is None:
        return None
    price = float(found["figure"].replace(",", ""))
    numbers = {float(f.replace(",", "")) for f in re.findall(r"\d[\d,]*(?:\.\d+)?", facts)}
    values = {"price": found[0]}
    spread = {"low": (0.6, 0.93), "high": (1.15, 1.6), "save": (0.06, 0.25)}
    for name, ends in spread.items():
        amount = float(f"{price * rng.uniform(*ends):.2g}")
        if amount not in numbers and amount != price:
            figure = f"{amount:,.0f}" if amount >= 10 else f"{amount:g}"
            values[name] = f"{found['sign'] or ''}{figure}{found['unit'] or ''}"
            if not found["unit"] or "万" not in found["unit"]:
                values[f"bare_{name}"] = figure.replace(",", "")
    for name, choices in {
        "off": (6, 7, 8, 12, 15, 18, 20, 25, 30, 35), "years": (4, 5, 6, 7, 8, 9, 10),
        "hours": (2, 3, 5, 6), "days": (21, 45, 60, 90, 100), "instalments": (3, 4, 6, 8, 9, 18),
        "rate": (2.85, 3.4, 4.2, 5.6, 6.5),
    }.items():  # fmt: skip
        free = [
            n for n in choices if not _spelled(n, language) & _words(facts) and n not in numbers
        ]
        if free:
            number = rng.choice(free)
            values[name] = rng.choice(sorted(_spelled(number, language) | {f"{number:g}"}))
            values[f"{name}_zh"] = "".join(_han(number))
            if name == "off":
                values["off"] = f"{number:g}"
    if not re.search("[折%]|percent", facts):
        values["zhe"] = rng.choice(("九", "八", "八五", "八八", "9.5", "7", "95"))
    return values


def _amount(price: str) -> re.Match[str] | None:
    return next((m for m in _AMOUNT.finditer(price) if m["sign"] or m["unit"]), None)


def _spelled(number: float, language: Language) -> set[str]:
    words = _EN if language == "en" else _ZH
    return {words[int(number)]} if number in words else set()


def _words(text: str) -> set[str]:
    return {*re.findall("[a-z]+", text.lower()), *text}


def _han(number: float) -> Iterator[str]:
    whole, _, rest = f"{number:g}".partition(".")
    n = int(whole)
    tens, ones = divmod(n, 10)
    yield ("" if tens < 2 else _ZH[tens]) + ("十" if tens else "") + ("" if not ones else _ZH[ones])
    if rest:
        yield "点" + "".join(_ZH[int(digit)] for digit in rest)
