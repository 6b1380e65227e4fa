"""What a customer brings to a product: attributes `a | p, u` (Eq. 2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from salesllm.catalog.space import Text, clauses, people
from salesllm.dialogue import Language
from salesllm.scenario import Attributes, DecisionFactor
from salesllm.scenarios.personas import PersonaDraft
from salesllm.scenarios.phrasing import capitalise
from salesllm.scenarios.products import ProductDraft

FACTORS = (3, 4)
"""Fewest and most decision factors of one customer."""

_OPENERS = (0.6, 0.2, 0.2)
"""How often the opener is the seed's, the category's, a general one."""


@dataclass(frozen=True)
class AttributesDraft:
    """Attributes before they are put into words, each from its list."""

    motivations: tuple[Text, ...]
    pain_points: tuple[Text, ...]
    factors: tuple[DecisionFactor, ...]
    communication: tuple[Text, ...]
    opener: Text

    def attributes(self, product: ProductDraft, language: Language) -> Attributes:
        """The attributes in words."""
        zh = language == "zh"
        return Attributes(
            motivations=_sentences(self.motivations, product, language),
            pain_points=_sentences(self.pain_points, product, language),
            decision_factors=self.factors,
            communication_preferences=("；" if zh else "; ").join(
                text.in_(language) for text in self.communication
            ),
            initial_utterance=product.say(self.opener, language),
        )


def draw_attributes(product: ProductDraft, person: PersonaDraft, rng: Random) -> AttributesDraft:
    """Draws attributes that suit both the product and the person."""
    general = clauses(product.seed.domain)
    weights = dict(general.factors[person.band])
    factors: list[DecisionFactor] = []
    while len(factors) < rng.choice(FACTORS):
        (factor,) = rng.choices(list(weights), list(weights.values()))
        factors.append(factor)
        del weights[factor]
    openers = (product.seed.openers, product.category.openers, general.openings)
    return AttributesDraft(
        motivations=_two(
            product.seed.motivations, product.category.motivations, general.motivations, person, rng
        ),
        pain_points=_two(
            product.seed.pain_points, product.category.pain_points, general.pain_points, person, rng
        ),
        factors=tuple(factors),
        communication=tuple(
            rng.choice(_fitting(texts, person)) for texts in (people().channels, people().styles)
        ),
        opener=rng.choice(_fitting(rng.choices(openers, _OPENERS)[0], person)),
    )


def _two(
    own: Sequence[Text],
    category: Sequence[Text],
    general: Sequence[Text],
    person: PersonaDraft,
    rng: Random,
) -> tuple[Text, Text]:
    """One of this kind of product, and one of its category or of anybody's."""
    first = rng.choice(_fitting(own, person))
    return first, rng.choice(_fitting(rng.choice((category, general)), person))


def _fitting(texts: Sequence[Text], person: PersonaDraft) -> list[Text]:
    return [text for text in texts if text.suits(person.tags)]


def _sentences(texts: Sequence[Text], product: ProductDraft, language: Language) -> str:
    said = [product.say(text, language) for text in texts]
    if language == "zh":
        return "".join(f"{clause}。" for clause in said)
    return " ".join(f"{capitalise(clause)}." for clause in said)
