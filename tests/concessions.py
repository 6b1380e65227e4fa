"""Planted concessions: how many of them are found, by kind, and what is found where there is none.

    python tests/concessions.py      # figures over the frozen evaluation set, as JSON

A generator that knows nothing of the detector writes phrases of `scoring/grounding_planted.json`
into what the scripted salesperson says, with numbers that no fact of the product bears. The phrases
under `learned` were written before the detector or against it, and it was fitted to them; those
under `fresh` were written after that and looked at once (docs/grounding.md has what was found
then), before what they taught was put in too.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

from salesllm.catalog import Split
from salesllm.chat.scripted import ScriptedCustomer, ScriptedSalesperson
from salesllm.dialogue import Dialogue, Language, Speaker, Turn
from salesllm.scenario import Scenario, read_scenarios
from salesllm.scenarios.evaluation import scenario_file
from salesllm.scenarios.sampling import sample_scenarios
from salesllm.scoring.grounding import numbers
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
_CHOICES: dict[str, tuple[float, ...]] = {
    "off": (6, 7, 8, 12, 15, 18, 20, 25, 30, 35), "years": (4, 5, 6, 7, 8, 9, 10),
    "hours": (2, 3, 5, 6), "days": (21, 45, 60, 90, 100), "instalments": (3, 4, 6, 8, 9, 18),
    "rate": (2.85, 3.4, 4.2, 5.6, 6.5),
}  # fmt: skip
_ZH = dict(zip(range(1, 11), "一二三四五六七八九十", strict=True))
_WORDS = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
_EN = dict(zip(_ZH, _WORDS, strict=True))


@dataclass(frozen=True)
class Planted:
    """A dialogue with one phrase planted into turn `turn`."""

    kind: str
    dialogue: Dialogue
    scenario: Scenario
    turn: int
    phrase: str

    @property
    def found(self) -> tuple[int, int]:
        """How much is found in the phrase, and how much elsewhere."""
        found = numbers(self.dialogue, self.scenario)
        here = [c for c in found if c.turn == self.turn]
        hits = sum(c.quote in self.phrase or self.phrase in c.quote for c in here)
        return hits, len(found) - hits


def scenarios(language: Language) -> list[Scenario]:
    """The frozen evaluation set in one language."""
    return [s for s in read_scenarios(scenario_file("v1")) if s.language == language]


def scripted(scenario: Scenario, rounds: int = 8) -> Dialogue:
    """A dialogue of the scripted speakers, who state nothing but facts."""
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


def plant(scenario: Scenario, half: str, rng: Random) -> Iterator[Planted]:
    """Scripted dialogues of the scenario, with one phrase of each kind that suits its product.

    The kind `clean` concedes nothing; `altered_price` tells another price than the product's.

    Args:
        half: `learned` or `fresh`.
    """
    if scenario.product.category == "stocks":
        kinds: tuple[str, ...] = (*_MONEY, "guarantee")
    else:
        kinds = _GOODS if scenario.product.domain == "consumer" else _MONEY
    told = list(scripted(scenario).turns)
    phrases = {kind: PHRASES["planted"][kind][scenario.language][half] for kind in kinds}
    phrases["clean"] = PHRASES["clean"][scenario.language][half]
    for kind, choice in phrases.items():
        facts = " ".join(scenario.product.facts.values())
        if kind != "free_shipping" or not re.search("free|免|包邮", facts):
            yield from _with(scenario, kind, told, rng.choice(choice), rng)
    yield from _altered(scenario, told, rng)


def _altered(scenario: Scenario, told: list[Turn], rng: Random) -> Iterator[Planted]:
    turns, price = list(told), _amount(scenario.product.price)
    other = _values(scenario, rng).get(rng.choice(("low", "high")))
    for index, turn in enumerate(turns):
        if price and other and turn.speaker is Speaker.SALESPERSON and price[0] in turn.text:
            turns[index] = Turn(speaker=turn.speaker, text=turn.text.replace(price[0], other))
            yield Planted("altered_price", dialogue(scenario, turns), scenario, index, other)
            return


def _with(
    scenario: Scenario, kind: str, told: list[Turn], phrase: str | list[str], rng: Random
) -> Iterator[Planted]:
    asked, said = ("", phrase) if isinstance(phrase, str) else phrase
    values = _values(scenario, rng)
    try:
        asked, said = asked.format(**values), said.format(**values)
    except KeyError:  # every number of that kind is one of the facts'
        return
    turns = list(told)
    index = rng.choice([i for i, t in enumerate(turns) if t.speaker is Speaker.SALESPERSON])
    if asked:
        turns[index - 1] = Turn(speaker=Speaker.CUSTOMER, text=asked)
    parts = re.split(r"(?<=[.?!])\s|(?<=[。？！])", turns[index].text)
    parts.insert(0 if asked else rng.randint(0, len(parts)), said)
    text = (" " if scenario.language == "en" else "").join(filter(None, parts))
    turns[index] = Turn(speaker=Speaker.SALESPERSON, text=text)
    yield Planted(kind, dialogue(scenario, turns), scenario, index, said)


def _values(scenario: Scenario, rng: Random) -> dict[str, str]:
    """Numbers that no fact of the product bears; those that cannot be found are missing."""
    product, language = scenario.product, scenario.language
    facts = " ".join(
        [product.name, product.price, *product.facts.values(), *product.selling_points]
    )
    numerals = {float(n.replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", facts)}
    words = {*re.findall("[a-z]+", facts.lower()), *facts}
    values: dict[str, str] = {}
    if (found := _amount(product.price)) is not None:
        values["price"] = found[0]
        price = float(found["figure"].replace(",", ""))
        for name, ends in {"low": (0.6, 0.93), "high": (1.15, 1.6), "save": (0.06, 0.25)}.items():
            amount = float(f"{price * rng.uniform(*ends):.2g}")
            if amount in numerals:
                continue
            figure = f"{amount:,.0f}" if amount >= 10 else f"{amount:g}"
            values[name] = f"{found['sign'] or ''}{figure}{found['unit'] or ''}"
            if "万" not in (found["unit"] or ""):
                values[f"bare_{name}"] = figure.replace(",", "")
    for name, choices in _CHOICES.items():
        spelled = _EN if language == "en" else _ZH
        free = [n for n in choices if n not in numerals and spelled.get(int(n)) not in words]
        if free:
            number = rng.choice(free)
            forms = {f"{number:g}"} | ({spelled[int(number)]} if number in spelled else set())
            values[name] = f"{number:g}" if name == "off" else rng.choice(sorted(forms))
            values[f"{name}_zh"] = _han(number)
    if not re.search("[折%]|percent", facts):
        values["zhe"] = rng.choice(("九", "八", "八五", "八八", "9.5", "7", "95"))
    return values


def _amount(price: str) -> re.Match[str] | None:
    return next((m for m in _AMOUNT.finditer(price) if m["sign"] or m["unit"]), None)


def _han(number: float) -> str:
    """A number below a hundred, in Chinese characters."""
    whole, _, rest = f"{number:g}".partition(".")
    tens, ones = divmod(int(whole), 10)
    text = (_ZH[tens] if tens > 1 else "") + ("十" if tens else "") + _ZH.get(ones, "")
    return text + ("点" + "".join(_ZH[int(digit)] for digit in rest) if rest else "")


def recall(language: Language, half: str, sample: int, seed: int = 7) -> dict[str, tuple[int, int]]:
    """By kind: dialogues with a find in the planted phrase, and all; `elsewhere` for the rest."""
    rng, hits, total = Random(seed), Counter[str](), Counter[str]()
    for scenario in rng.sample(scenarios(language), sample):
        for planted in plant(scenario, half, rng):
            here, elsewhere = planted.found
            total.update([planted.kind, "elsewhere"])
            hits.update({planted.kind: bool(here), "elsewhere": bool(elsewhere)})
    return {kind: (hits[kind], total[kind]) for kind in sorted(total)}


def flagged(of: Sequence[Scenario]) -> tuple[int, int]:
    """Scripted dialogues with a find, and all."""
    return sum(bool(numbers(scripted(scenario, 12), scenario)) for scenario in of), len(of)


def unseen(language: Language, n: int) -> list[Scenario]:
    """Scenarios of the sample catalogue, whose facts the check was not fitted to."""
    halves: tuple[Split, Split] = ("train", "test")
    return [s for half in halves for s in sample_scenarios(language, n // 2, seed=99, split=half)]


if __name__ == "__main__":
    figures = {
        language: {
            "scripted": flagged(scenarios(language)),
            "scripted, unseen": flagged(unseen(language, 600)),
            **{half: recall(language, half, sample=400) for half in ("learned", "fresh")},
        }
        for language in ("zh", "en")
    }
    print(json.dumps(figures, indent=2))
