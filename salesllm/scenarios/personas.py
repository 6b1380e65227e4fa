"""Personas of the scenario space: age, sex, occupation, city, and how they live."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from salesllm.catalog.space import AGE_BANDS, AGE_GROUPS, City, Household, Occupation, people
from salesllm.dialogue import Language
from salesllm.scenario import Persona

_AGE_WEIGHTS = (12, 24, 22, 18, 14, 10)
"""Of AGE_GROUPS: who shops, roughly."""


@dataclass(frozen=True)
class PersonaDraft:
    """A persona before it is put into words.

    Attributes:
        tags: Everything that a clause may ask of this person.
    """

    id: str
    age: str
    gender: str
    occupation: Occupation
    city: City
    household: Household
    detail: Household
    tags: frozenset[str]

    @property
    def band(self) -> str:
        return next(band for band, ages in AGE_BANDS.items() if self.age in ages)

    def persona(self, language: Language) -> Persona:
        """The persona in words."""
        zh = language == "zh"
        life = (self.household.text, self.detail.text)
        return Persona(
            id=self.id,
            age_group=_AGES_ZH[self.age] if zh else self.age,
            gender=_GENDERS_ZH[self.gender] if zh else self.gender,
            occupation=self.occupation.name.in_(language),
            city=self.city.name.in_(language),
            household=("，" if zh else "; ").join(text.in_(language) for text in life),
        )


_AGES_ZH = {age: f"{age}岁" for age in AGE_GROUPS} | {"65+": "65岁以上"}
_GENDERS_ZH = {"female": "女", "male": "男"}


def draw_persona(key: str, market: str, rng: Random) -> PersonaDraft:
    """Draws one person who lives in that market."""
    pool = people()
    city = rng.choice([city for city in pool.cities if city.market == market])
    while True:
        (age,) = rng.choices(AGE_GROUPS, _AGE_WEIGHTS)
        gender = rng.choice(("female", "male"))
        occupation = rng.choice([job for job in pool.occupations if age in job.ages])
        tags = frozenset(occupation.tags | {age, market, "woman" if gender == "female" else "man"})
        tags |= {band for band, ages in AGE_BANDS.items() if age in ages}
        homes = [h for h in pool.households if age in h.ages and h.text.suits(tags)]
        if not homes:
            continue
        household = rng.choice(homes)
        tags |= household.tags
        # One detail: two may be at odds.
        detail = rng.choice([d for d in pool.details if d.text.suits(tags)])
        return PersonaDraft(
            key, age, gender, occupation, city, household, detail, tags | detail.tags
        )
