"""Products of the scenario space: one draw, rendered in either language."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from random import Random
from typing import Any

from salesllm import catalog
from salesllm.catalog.space import Category, Market, Seed, Text, markets
from salesllm.dialogue import Language
from salesllm.scenario import Product

CHEAP = 80.0
"""Yuan below which nobody talks a purchase over at home."""

POINTS = 4
"""Selling points of one product."""


@dataclass(frozen=True)
class Amount:
    """A term: a number, and whether it is money."""

    value: float
    money: bool = False


@dataclass(frozen=True)
class ProductDraft:
    """A product before it is put into words.

    Attributes:
        market: Name of the market it is sold in, which settles currency and rates.
        facts: Labels and texts in the order of the product's facts.
        terms: What the `{slots}` of its texts stand for.
        price: A text with terms.
    """

    id: str
    category: Category
    seed: Seed
    market: str
    brand: Text
    line: Text | None
    facts: tuple[tuple[str | Text, Text], ...]
    points: tuple[Text, ...]
    channel: Text
    terms: dict[str, Amount]
    price: Text

    @property
    def audience(self) -> tuple[str, ...]:
        """Tags a buyer must have."""
        return self.seed.audience

    @property
    def tags(self) -> frozenset[str]:
        """What a clause may ask of the product: its category, and whether it is `cheap`."""
        price = self.terms.get("price")
        yuan = price.value / markets()[self.market].per_yuan if price else math.inf
        return frozenset({self.category.id} | ({"cheap"} if yuan < CHEAP else set()))

    def say(self, text: Text, language: Language) -> str:
        """A text of the catalogue with this product's terms and names filled in."""
        return fill_in(text.in_(language), language, self.market, self.terms, self._names(language))

    def product(self, language: Language) -> Product:
        """The product in words."""
        zh = language == "zh"
        topics = catalog.topics(language)
        facts = {"品牌" if zh else "Brand": self.brand.in_(language)}
        for label, text in self.facts:
            name = label.in_(language) if isinstance(label, Text) else topics[label].label
            facts[name] = self.say(text, language)
        if self.seed.risk:
            facts["风险等级" if zh else "Risk level"] = self.seed.risk
        return Product(
            id=self.id,
            domain=self.seed.domain,
            category=self.category.id,
            name=self.say(self.seed.title, language),
            price=self.say(self.price, language),
            facts=facts,
            selling_points=tuple(self.say(point, language) for point in self.points),
            channel=self.channel.in_(language),
        )

    def _names(self, language: Language) -> dict[str, str]:
        return {
            "brand": self.brand.in_(language),
            "line": self.line.in_(language) if self.line else "",
            "noun": self.seed.noun.in_(language),
        }


def draw_product(
    key: str, category: Category, seed: Seed, market: str, rng: Random
) -> ProductDraft:
    """Draws one product of a seed."""
    place = markets()[market]
    base_rate = place.bonds if category.id == "bond_fund" else place.deposits
    terms = draw_terms(seed.terms, place, base_rate, rng)
    facts: list[tuple[str | Text, Text]] = []
    factor = 1.0
    for axis in seed.specs:
        value = rng.choice(axis.values)
        factor *= value.factor
        facts.append((axis.label, value))
    facts += [(fact.label, fact.text) for fact in seed.facts]
    for label, options in (category.service | seed.service).items():
        if options:
            facts.append((label, rng.choice(options)))
    if isinstance(seed.price, Text):
        price = seed.price
    else:
        low, high = map(math.log, seed.price)
        yuan = math.exp(rng.uniform(low, high)) * factor
        terms["price"] = Amount(retail_price(yuan, place), money=True)
        unit = seed.unit
        price = Text(
            en="{price}" + (unit.en if unit else ""), zh="{price}" + (unit.zh if unit else "")
        )
    return ProductDraft(
        id=key,
        category=category,
        seed=seed,
        market=market,
        brand=rng.choice(category.brands),
        line=rng.choice(category.lines) if category.lines else None,
        facts=tuple(facts),
        points=tuple(rng.sample(seed.points, min(POINTS, len(seed.points)))),
        channel=rng.choice([c for c in category.channels if c.suits(frozenset({market}))]),
        terms=terms,
        price=price,
    )


def draw_terms(
    terms: dict[str, dict[Any, Any]], market: Market, base_rate: float, rng: Random
) -> dict[str, Amount]:
    """Draws a product's numbers in the order given, so that later ones follow from earlier ones.

    `money` one of the amounts in yuan, in the market's money; `amount` a range of such amounts;
    `rate` percentage points over the base rate; `plus` another term and a draw;
    `times` another term times a number; `range` lo, hi, step; `pick` one of the numbers.
    """
    drawn = {"insured": Amount(market.insured, money=True)}
    for name, spec in terms.items():
        (kind, argument), *_ = spec.items()
        if kind == "money":
            drawn[name] = Amount(round_amount(rng.choice(argument) * market.per_yuan), money=True)
        elif kind == "amount":
            value = _on_grid(rng, *argument) * market.per_yuan
            drawn[name] = Amount(float(f"{value:.4g}"), money=True)
        elif kind == "rate":
            drawn[name] = Amount(round(base_rate + _on_grid(rng, *argument), 4))
        elif kind == "plus":
            other, low, high, step = argument
            drawn[name] = Amount(
                round(drawn[other].value + _on_grid(rng, low, high, step), 4), drawn[other].money
            )
        elif kind == "times":
            other, number = argument
            value = drawn[other].value * number
            drawn[name] = Amount(float(f"{value:.3g}"), drawn[other].money)
        elif kind == "range":
            drawn[name] = Amount(_on_grid(rng, *argument))
        else:
            drawn[name] = Amount(rng.choice(argument))
    return drawn


def _on_grid(rng: Random, low: float, high: float, step: float) -> float:
    """A multiple of `step` above `low`, up to `high`."""
    return round(low + step * rng.randint(0, round((high - low) / step)), 6)


_SLOT = re.compile(r"\{(\w+)(?::([\d.]+))?\}")


def fill_in(
    text: str, language: Language, market: str, terms: dict[str, Amount], names: dict[str, str]
) -> str:
    """Puts terms, names and `{money:200}` into a text.

    Raises:
        KeyError: The text has a slot that nothing fills.
    """

    def value(match: re.Match[str]) -> str:
        name, yuan = match.groups()
        if name == "money":
            amount = round_amount(float(yuan) * markets()[market].per_yuan)
            return money(amount, market, language)
        if name in names:
            return names[name]
        term = terms[name]
        return money(term.value, market, language) if term.money else f"{term.value:.10g}"

    return _SLOT.sub(value, text)


def money(value: float, market: str, language: Language) -> str:
    """An amount as people write it: `¥50,000`, `5万元`."""
    form = markets()[market].money.in_(language)
    if language == "zh" and value >= 10_000 and value % 100 == 0:
        scale, word = (100_000_000, "亿") if value >= 100_000_000 else (10_000, "万")
        return form.format(f"{value / scale:.10g}{word}")
    whole = value == int(value)
    digits = f"{value:.0f}" if whole else f"{value:.2f}"
    return form.format(f"{float(digits):,.{0 if whole else 2}f}" if language == "en" else digits)


def round_amount(value: float) -> float:
    """The nearest amount that a bank would set: 1, 1.5, 2, 3, 5 or 8 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(value))
    return power * min((1, 1.5, 2, 3, 5, 8, 10), key=lambda part: abs(part * power - value))


def retail_price(yuan: float, market: Market) -> float:
    """A price as shops set it, in the market's money."""
    value = yuan * market.per_yuan
    if value < 40 and market.per_yuan < 1:
        return max(math.floor(value), 1) + 0.99
    step = 1 if value < 30 else 5 if value < 100 else 10 if value < 1000 else 100
    return max(round(value / step) * step - 1, 1) if step > 1 else max(round(value), 1)
