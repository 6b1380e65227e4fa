"""The seeds of the scenario space: categories of products, people, and what people say of both.

Every entry is written twice, natively; the two languages say the same, so that one draw has a
Chinese and an English rendering (`salesllm.scenarios.space`). `consumer/` and `financial/` hold a
file a category, `people/` the rest.
"""

from __future__ import annotations

import math
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, model_validator

from salesllm.dialogue import Language
from salesllm.scenario import DecisionFactor, Domain

AGE_GROUPS = ("18-24", "25-34", "35-44", "45-54", "55-64", "65+")
AGE_BANDS = {
    "young": ("18-24", "25-34"),
    "middle": ("35-44", "45-54"),
    "older": ("55-64", "65+"),
}
CONSUMER_COUNTS: dict[str, int] = {
    "Pet_Supplies": 392, "Magazine_Subscriptions": 367, "Patio_Lawn_and_Garden": 364,
    "Office_Products": 361, "Health_and_Personal_Care": 358, "Sports_and_Outdoors": 351,
    "Gift_Cards": 351, "Grocery_and_Gourmet_Food": 346, "Clothing_Shoes_and_Jewelry": 341,
    "Beauty_and_Personal_Care": 330, "Automotive": 322, "Handmade_Products": 321,
    "Tools_and_Home_Improvement": 321, "Amazon_Fashion": 319, "Toys_and_Games": 317,
    "Industrial_and_Scientific": 313, "CDs_and_Vinyl": 301, "Home_and_Kitchen": 298,
    "Health_and_Household": 296, "Cell_Phones_and_Accessories": 296, "Baby_Products": 291,
    "Musical_Instruments": 284, "Video_Games": 279, "Subscription_Boxes": 271, "Books": 271,
    "Digital_Music": 270, "Arts_Crafts_and_Sewing": 268, "Kindle_Store": 266, "Software": 260,
    "All_Beauty": 251, "Electronics": 235, "Movies_and_TV": 232, "Appliances": 231,
}  # fmt: skip
"""The paper's Table 8: products of each category."""

FINANCIAL_COUNTS: dict[str, int] = {
    "bank_deposits": 10521, "stocks": 6109, "insurance": 2858, "bond_fund": 512,
}  # fmt: skip
"""The paper's Table 9."""

PERSONAS = 19138
"""The paper's Table 7."""


MARKETS = ("cn", "hk", "sg", "us", "uk", "eu", "ca", "au")

TAGS = {
    *AGE_GROUPS, *AGE_BANDS, "man", "woman",
    "student", "working", "retired", "office", "manual", "business", "shift",
    "partner", "single", "kids", "baby", "small", "school", "grown", "grandparent",
    "alone", "flatmates", "parents", "owner", "renter", "garden", "car", "dog", "cat",
    *MARKETS, *CONSUMER_COUNTS, *FINANCIAL_COUNTS, "cheap",
}  # fmt: skip
"""What a condition may ask of a person, of their market, and of the product."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Text(_Entry):
    """One thing said in both languages: `[en, zh]`, `[en, zh, needs]` or `[en, zh, factor]`.

    Attributes:
        needs: Tags of which the customer must have every one; `a|b` either, `!a` not.
        factor: What a choice does to the price.
    """

    en: str = Field(min_length=1)
    zh: str = Field(min_length=1)
    needs: tuple[str, ...] = ()
    factor: float = Field(default=1.0, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _from_list(cls, value: Any) -> Any:
        if not isinstance(value, list):
            return value
        names = ["en", "zh"]
        if len(value) > 2:
            names.append("needs" if isinstance(value[2], list) else "factor")
        return dict(zip(names, value, strict=True))

    @model_validator(mode="after")
    def _known_tags(self) -> Text:
        check_tags(self.needs)
        return self

    def in_(self, language: Language) -> str:
        return self.en if language == "en" else self.zh

    def suits(self, tags: frozenset[str]) -> bool:
        return suits(self.needs, tags)


def suits(needs: tuple[str, ...], tags: frozenset[str]) -> bool:
    """Whether someone with those tags meets every condition."""
    return all(
        any((part[1:] not in tags) if part[0] == "!" else part in tags for part in need.split("|"))
        for need in needs
    )


def check_tags(needs: tuple[str, ...]) -> None:
    for part in (part.lstrip("!") for need in needs for part in need.split("|")):
        if part not in TAGS:
            raise ValueError(f"unknown tag {part!r}")


class Axis(_Entry):
    """A property of which a product has one value: `[label, label, [values]]`."""

    label: Text
    values: tuple[Text, ...] = Field(min_length=2)

    @model_validator(mode="before")
    @classmethod
    def _from_list(cls, value: Any) -> Any:
        return {"label": value[:2], "values": value[2]} if isinstance(value, list) else value


class Fact(_Entry):
    """A fact with terms in it: `[key or [label, label], text, text]`."""

    label: str | Text
    text: Text

    @model_validator(mode="before")
    @classmethod
    def _from_list(cls, value: Any) -> Any:
        return {"label": value[0], "text": value[1:]} if isinstance(value, list) else value


TermKind = Literal["money", "amount", "rate", "plus", "times", "range", "pick"]


class _Lists(_Entry):
    """What a category, a kind and a seed may each add to a product."""

    motivations: tuple[Text, ...] = ()
    pain_points: tuple[Text, ...] = ()
    openers: tuple[Text, ...] = ()
    service: dict[str, tuple[Text, ...] | None] = {}


class _Offer(_Lists):
    audience: tuple[str, ...] = ()
    specs: tuple[Axis, ...] = ()
    terms: dict[str, dict[TermKind, Any]] = {}
    facts: tuple[Fact, ...] = ()
    points: tuple[Text, ...] = ()
    price: Any = None
    risk: str | None = None

    @model_validator(mode="after")
    def _known_audience(self) -> _Offer:
        check_tags(self.audience)
        return self


class Kind(_Offer):
    """What several seeds have in common."""

    id: str


class _SeedRow(_Offer):
    id: str
    kind: str | None = None
    en: str
    zh: str
    title: Text
    unit: Text | None = None


class Seed(_Offer):
    """A kind of thing for sale, with its category's and its kind's entries merged in.

    Attributes:
        noun: What a customer calls it.
        title: The product's full name, with `{brand}` and `{line}`.
        price: CNY range in mainland China (goods), or a text with terms (`a minimum of {min}`).
        unit: Follows the price of a subscription: ` a year`.
        audience: Tags a buyer must have.
        terms: Numbers drawn once a product, in order.
    """

    id: str
    category: str
    domain: Domain
    noun: Text
    title: Text
    unit: Text | None
    price: tuple[float, float] | Text


class Category(_Lists):
    """One category of the paper's Table 8 or 9."""

    id: str
    domain: Domain
    name: Text
    brands: tuple[Text, ...]
    lines: tuple[Text, ...]
    channels: tuple[Text, ...]
    seeds: tuple[Seed, ...]


class Market(_Entry):
    """Where a customer lives, as far as money goes.

    Attributes:
        share: Of the personas, 0-1.
        per_yuan: What stands for one yuan: a price level, not an exchange rate.
        money: How an amount is written; `{}` is the number.
        deposits, bonds: What a plain product yields, % a year.
        insured: Limit of deposit insurance, in its own currency.
    """

    share: float
    per_yuan: float
    money: Text
    deposits: float
    bonds: float
    insured: float


class City(_Entry):
    name: Text
    market: str


class Occupation(_Entry):
    name: Text
    ages: tuple[str, ...]
    tags: frozenset[str]


class Household(_Entry):
    """Whom someone lives with, and where; also any further detail of everyday life."""

    text: Text
    ages: tuple[str, ...] = AGE_GROUPS
    tags: frozenset[str] = frozenset()


class People(_Entry):
    """Whom personas are drawn from."""

    cities: tuple[City, ...]
    occupations: tuple[Occupation, ...]
    households: tuple[Household, ...]
    details: tuple[Household, ...]
    channels: tuple[Text, ...]
    styles: tuple[Text, ...]


class Clauses(_Entry):
    """What anybody might say of anything of a domain; `{noun}` in openings."""

    motivations: tuple[Text, ...]
    pain_points: tuple[Text, ...]
    openings: tuple[Text, ...]
    factors: dict[str, dict[DecisionFactor, float]]


@cache
def category(domain: Domain, name: str) -> Category:
    """A category with its seeds.

    Raises:
        KeyError: There is none of that name.
    """
    if name not in counts(domain):
        raise KeyError(name)
    return parse_category(_read(f"{domain}/{name}"), domain, name)


def counts(domain: Domain) -> dict[str, int]:
    """The paper's number of products of each category (Tables 8 and 9)."""
    return CONSUMER_COUNTS if domain == "consumer" else FINANCIAL_COUNTS


def parse_category(row: dict[str, Any], domain: Domain, name: str) -> Category:
    """Reads a category file and merges what its seeds inherit."""
    row = dict(row)
    label = {"en": row.pop("en"), "zh": row.pop("zh")}
    service = row.setdefault("service", {})
    kinds = {kind["id"]: Kind.model_validate(kind) for kind in row.pop("kinds", ())}
    seeds = [
        _merge(_SeedRow.model_validate(seed), kinds, domain, name) for seed in row.pop("seeds")
    ]
    fields = {"id": name, "domain": domain, "name": label, "lines": (), "service": service}
    return Category.model_validate(fields | row | {"seeds": seeds})


def _merge(row: _SeedRow, kinds: dict[str, Kind], domain: Domain, category: str) -> Seed:
    kind = kinds[row.kind] if row.kind else Kind(id="")
    own = {key(f.label) for f in row.facts}
    fields: dict[str, Any] = {
        name: (*getattr(kind, name), *getattr(row, name))
        for name in ("motivations", "pain_points", "openers", "points", "audience")
    }
    # A seed's own axis, term or fact takes the place of its kind's of the same name.
    axes = {key(axis.label): axis for axis in (*kind.specs, *row.specs)}
    fields |= {
        "id": row.id,
        "category": category,
        "domain": domain,
        "noun": {"en": row.en, "zh": row.zh},
        "title": row.title,
        "unit": row.unit,
        "price": _price(row.price if row.price is not None else kind.price),
        "risk": row.risk or kind.risk,
        "specs": tuple(axes.values()),
        "terms": kind.terms | row.terms,
        "facts": (*(f for f in kind.facts if key(f.label) not in own), *row.facts),
        "service": kind.service | row.service,
    }
    return Seed.model_validate(fields)


def key(label: str | Text) -> str:
    """A label's name: the topic's key, or its English words."""
    return label if isinstance(label, str) else label.en


def _price(value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(part, int | float) for part in value):
        return tuple(value)
    return Text.model_validate(value)


@cache
def markets() -> dict[str, Market]:
    found = {name: Market.model_validate(row) for name, row in _read("markets").items()}
    assert math.isclose(sum(market.share for market in found.values()), 1.0)
    return found


@cache
def people() -> People:
    manner = _read("people/communication")
    return People(
        cities=tuple(
            City(name=Text(en=en, zh=zh), market=m) for en, zh, m in _read("people/cities")
        ),
        occupations=tuple(
            Occupation(name=Text(en=en, zh=zh), ages=tuple(ages), tags=frozenset(tags))
            for en, zh, ages, tags in _read("people/occupations")
        ),
        households=tuple(
            Household(text=_with(en, zh, *rest), ages=tuple(ages), tags=frozenset(tags))
            for en, zh, ages, tags, *rest in _read("people/households")
        ),
        details=tuple(
            Household(text=_with(en, zh, *rest), tags=frozenset(tags))
            for en, zh, tags, *rest in _read("people/details")
        ),
        channels=manner["channels"],
        styles=manner["styles"],
    )


def _with(en: str, zh: str, *rest: Any) -> Text:
    """A text and its conditions: `man`, `woman`, or `{needs: [...]}`."""
    needs: list[str] = []
    for part in rest:
        needs += [part] if isinstance(part, str) else part["needs"]
    return Text(en=en, zh=zh, needs=tuple(needs))


@cache
def clauses(domain: Domain) -> Clauses:
    rows = _read("people/clauses")
    factors = {
        band: dict(zip(DecisionFactor, weights, strict=True))
        for band, weights in rows["factors"][domain].items()
    }
    return Clauses.model_validate(
        rows[domain] | {"openings": rows["openings"][domain], "factors": factors}
    )


def read_yaml(path: Path) -> Any:
    # libyaml's loader is ten times as fast where PyYAML was built with it.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return yaml.load(path.read_text(encoding="utf-8"), loader)


@cache
def _read(name: str) -> Any:
    return read_yaml(Path(str(resources.files(__name__).joinpath(f"{name}.yaml"))))
