"""The sample catalogue: invented products, personas, topics and phrase banks, in both languages.

Products and phrases are kept apart by split, so that a held-out dialogue is about an unseen product
*and* worded in unseen phrases.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal, get_args

import yaml

from salesllm.dialogue import Language
from salesllm.scenario import Difficulty, Domain, Persona

Split = Literal["train", "test"]

_TEST_PLACES = (3, 6, 9)
"""Which of every ten phrases of a list are held out."""


@dataclass(frozen=True)
class Goods:
    """One product of the catalogue, in one language.

    Attributes:
        kind: What it is in everyday words, e.g. `headset`.
        a_kind: The same with its article, where the language has one.
        measure: The Chinese measure word.
        facts: Topic key (`delivery`) to what is true of it.
        specs: Label to (what is true of it, how people ask).
        needs: Why people want it, in their own words.
        worries: What keeps them from it, in their own words.
        tags: What the `<tag>` of a phrase refers to.
        household: The tag a persona must bear, if any.
    """

    id: str
    domain: Domain
    category: str
    split: Split
    name: str
    kind: str
    a_kind: str
    measure: str
    price: str
    points: tuple[str, ...]
    facts: dict[str, str]
    specs: dict[str, tuple[str, str]]
    needs: tuple[str, ...]
    worries: tuple[str, ...]
    tags: frozenset[str]
    household: str | None


@dataclass(frozen=True)
class Person:
    """A persona, whom they ask before they decide, and their tags."""

    persona: Persona
    confidant: str
    tags: frozenset[str]


@dataclass(frozen=True)
class Topic:
    """Something that can be asked about a product.

    Attributes:
        label: Its name among a product's facts.
        short: The words for it in half a sentence.
        words: What a question about it contains.
    """

    label: str
    short: str
    words: re.Pattern[str]


@dataclass(frozen=True)
class Manner:
    """How a customer writes; every rate is a probability a message, 0-1.

    Attributes:
        text: The manner in words, as the customer's script has it.
        lower: All in lower case (English).
        unstopped: Punctuation at the end is left out.
        typo: There is a slip in it.
        emoji: It ends with an emoji.
    """

    text: str
    lower: float
    unstopped: float
    typo: float
    emoji: float


@cache
def goods(language: Language, split: Split | None = None) -> dict[str, Goods]:
    """Products by id; all of them without a `split`."""
    found = {}
    for domain in get_args(Domain):
        for row in _read(domain):
            if split in (None, row["split"]):
                found[row["id"]] = _goods(row, domain, language)
    return found


@cache
def people(language: Language) -> dict[str, Person]:
    """Personas by id."""
    found = {}
    for key, age, gender, occupation, city, household, confidant, tags in _read("personas")[
        language
    ]:
        persona = Persona(
            id=key,
            age_group=age,
            gender=gender,
            occupation=occupation,
            city=city,
            household=household,
        )
        found[key] = Person(persona, confidant, frozenset(tags))
    return found


@cache
def topics(language: Language) -> dict[str, Topic]:
    """Topics by key, e.g. `warranty`."""
    return {
        key: Topic(row["label"], row["short"], re.compile(row["words"], re.IGNORECASE))
        for key, row in _read("topics")[language].items()
    }


@cache
def questions(language: Language, topic: str, split: Split) -> tuple[str, ...]:
    """How people of that split ask about a topic."""
    return _of_split(_read("topics")[language][topic]["ask"], split)


@cache
def phrases(language: Language, key: str, split: Split) -> tuple[str, ...]:
    """One list of the phrase banks, e.g. `objection_trust`; empty where there is no such list.

    `[a|b|]` in a phrase picks a branch, `{slot}` is filled in, and a leading `<tag>` restricts it
    to products that bear the tag.
    """
    return _of_split(_bank(language).get(key, ()), split)


def phrase_keys(language: Language) -> list[str]:
    """The names that `phrases` takes."""
    return [
        key
        for key, items in _bank(language).items()
        if isinstance(items, list) and isinstance(items[0], str)
    ]


@cache
def signals(language: Language) -> dict[str, re.Pattern[str]]:
    """What a customer's message can mean to the salesperson, the most telling first."""
    return {
        name: re.compile("|".join(f"(?:{p})" for p in patterns) or r"(?!)", re.IGNORECASE)
        for name, patterns in _bank(language)["signals"].items()
    }


@cache
def manners(language: Language) -> tuple[Manner, ...]:
    return tuple(Manner(*row) for row in _bank(language)["manners"])


def tone(language: Language, difficulty: Difficulty) -> tuple[str, ...]:
    """How a customer of that difficulty likes to be talked to."""
    return tuple(_bank(language)["tones"][difficulty.value])


def _of_split(items: list[str], split: Split) -> tuple[str, ...]:
    held_out = split == "test"
    return tuple(p for i, p in enumerate(items, 1) if (i % 10 in _TEST_PLACES) == held_out)


def _goods(row: dict[str, Any], domain: Domain, language: Language) -> Goods:
    text = row[language]
    kind = text["kind"]
    article = "an" if kind[0] in "aeiou" else "a"
    return Goods(
        id=row["id"],
        domain=domain,
        category=row["category"],
        split=row["split"],
        name=text["name"],
        kind=kind,
        a_kind=text.get("article", f"{article} {kind}" if language == "en" else kind),
        measure=text.get("measure", ""),
        price=text["price"],
        points=tuple(text["points"]),
        facts=text["facts"],
        specs={label: (fact, question) for label, fact, question in text["specs"]},
        needs=tuple(text["needs"]),
        worries=tuple(text["worries"]),
        tags=frozenset(row["tags"]),
        household=row.get("household"),
    )


@cache
def _bank(language: Language) -> dict[str, Any]:
    return {**_read(f"customer_{language}"), **_read(f"seller_{language}")}


@cache
def _read(name: str) -> Any:
    text = resources.files(__name__).joinpath(f"{name}.yaml").read_text(encoding="utf-8")
    # libyaml's loader is ten times as fast where PyYAML was built with it.
    return yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
