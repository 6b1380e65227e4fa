"""Sample scenarios from the catalogue: `(p, u, k)` (Eq. 1), then attributes `a | p, u` (Eq. 2)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import TypeVar

from salesllm import catalog
from salesllm.catalog import Goods, Split
from salesllm.dialogue import Language
from salesllm.scenario import Attributes, DecisionFactor, Difficulty, Domain, Product, Scenario
from salesllm.scenarios.phrasing import (
    Phrasing,
    blemish,
    persona_slots,
    product_slots,
    product_tags,
)
from salesllm.scenarios.scripts import with_scripts

T = TypeVar("T")

_FACTORS: dict[Domain, tuple[DecisionFactor, ...]] = {
    "consumer": (
        DecisionFactor.CORE_QUALITY,
        DecisionFactor.SUPPORT_AND_AFTERSALES,
        DecisionFactor.AVAILABILITY_AND_DELIVERY,
        DecisionFactor.SOCIAL_PROOF,
        DecisionFactor.CONVENIENCE_AND_DIGITAL,
        DecisionFactor.RETURNS_AND_TOTAL_COST,
        DecisionFactor.BRAND_TRUST,
        DecisionFactor.FIT_AND_FLEXIBILITY,
    ),
    "financial": (
        DecisionFactor.RETURNS_AND_TOTAL_COST,
        DecisionFactor.SAFETY_AND_PROTECTION,
        DecisionFactor.TRANSPARENCY_AND_TERMS,
        DecisionFactor.BRAND_TRUST,
        DecisionFactor.CONVENIENCE_AND_DIGITAL,
        DecisionFactor.FIT_AND_FLEXIBILITY,
    ),
}


def sample_scenarios(
    language: Language,
    n: int,
    *,
    seed: int = 0,
    split: Split = "train",
    difficulties: Sequence[Difficulty] = tuple(Difficulty),
) -> list[Scenario]:
    """Draws scenarios with both scripts rendered.

    Every product comes up once before any comes up again, and the difficulties take turns, so a
    few scenarios already cover much. The first `m` of `n` are those of a call with `m`.

    Args:
        split: Which products and phrasings to draw from; the two splits share neither.

    Returns:
        Scenarios with ids like `sample-en-train-0-0001` (language, split, seed, number).
    """
    rng = Random(f"scenarios {language} {split} {seed}")
    products = rounds(list(catalog.goods(language, split).values()), rng)
    levels = rounds(list(difficulties), rng)
    return [
        _scenario(
            f"sample-{language}-{split}-{seed}-{number:04d}",
            language,
            split,
            next(products),
            next(levels),
            rng,
        )
        for number in range(1, n + 1)
    ]


def rounds(items: list[T], rng: Random) -> Iterator[T]:
    """Shuffles the items and deals them out, again and again."""
    while True:
        yield from rng.sample(items, len(items))


def _scenario(
    key: str, language: Language, split: Split, goods: Goods, difficulty: Difficulty, rng: Random
) -> Scenario:
    people = catalog.people(language).values()
    person = rng.choice([p for p in people if goods.household in (None, *p.tags)])
    channel = catalog.phrases(language, f"channel_{goods.domain}", split)
    manner = rng.choice(catalog.manners(language))
    separator = "；" if language == "zh" else "; "
    product = _product(goods, language, rng.choice(channel))
    needs = rng.sample(goods.needs, 2)
    slots = product_slots(product, language) | persona_slots(person.persona, language)
    slots["need"] = needs[0]
    words = Phrasing(language, split, rng, slots, product_tags(product, language))
    opener = words.say("opener")
    return with_scripts(
        Scenario(
            id=key,
            language=language,
            product=product,
            persona=person.persona,
            difficulty=difficulty,
            propensity=difficulty.propensity,
            attributes=Attributes(
                motivations=_sentences(needs, language),
                pain_points=_sentences(goods.worries, language),
                decision_factors=tuple(rng.sample(_FACTORS[goods.domain], 3)),
                communication_preferences=separator.join(
                    (rng.choice(catalog.tone(language, difficulty)), manner.text)
                ),
                initial_utterance=blemish(
                    opener, manner, language=language, glad=True, split=split, rng=rng
                ),
            ),
        )
    )


def _product(goods: Goods, language: Language, channel: str) -> Product:
    topics = catalog.topics(language)
    facts = {topics[key].label: fact for key, fact in goods.facts.items()}
    facts |= {label: fact for label, (fact, _) in goods.specs.items()}
    return Product(
        id=goods.id,
        domain=goods.domain,
        category=goods.category,
        name=goods.name,
        price=goods.price,
        facts=facts,
        selling_points=goods.points,
        channel=channel,
    )


def _sentences(clauses: Sequence[str], language: Language) -> str:
    if language == "zh":
        return "".join(f"{clause}。" for clause in clauses)
    return " ".join(f"{clause[0].upper()}{clause[1:]}." for clause in clauses)
