"""What a customer brings to a product: attributes `a | p, u` (Eq. 2)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
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
    tags = person.tags | product.tags
    openers = (product.seed.openers, product.category.openers, general.openings)
    levels = (product.seed, product.category, general)
    return AttributesDraft(
        motivations=_two([level.motivations for level in levels], tags, rng),
        pain_points=_two([level.pain_points for level in levels], tags, rng),
        factors=tuple(factors),
        communication=tuple(
            rng.choice(_fitting(texts, tags)) for texts in (people().channels, people().styles)
        ),
        opener=rng.choice(_fitting(rng.choices(openers, _OPENERS)[0], tags)),
    )


def _two(levels: Sequence[Sequence[Text]], tags: frozenset[str], rng: Random) -> tuple[Text, Text]:
    """One of this kind of product, and one of its category or of anybody's about something else."""
    own, category, general = (_fitting(texts, tags) for texts in levels)
    first = rng.choice(own)
    others = rng.choice((category, general))
    apart = [text for text in others if not _words(text) & _words(first)]
    return first, rng.choice(apart or others)


def _fitting(texts: Sequence[Text], tags: frozenset[str]) -> list[Text]:
    return [text for text in texts if text.suits(tags)]


@cache
def _words(text: Text) -> frozenset[str]:
    """What an English clause is about, roughly: its longer words, without their endings."""
    return frozenset(word[:5] for word in re.findall(r"[a-z]{5,}", text.en)) - _COMMON


_COMMON = {
    "about", "after", "again", "alway", "befor", "could", "every", "first", "never", "other",
    "quite", "rathe", "reall", "right", "somet", "still", "their", "there", "these", "thing",
    "think", "those", "where", "which", "would", "wheth",
}  # fmt: skip


def _sentences(texts: Sequence[Text], product: ProductDraft, language: Language) -> str:
    """Clauses closed with a full stop, but for those that are questions."""
    stop, joint = ("。", "") if language == "zh" else (".", " ")
    said = [capitalise(product.say(text, language)) for text in texts]
    return joint.join(text if text[-1] in "?？" else f"{text}{stop}" for text in said)
