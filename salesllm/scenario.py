"""Scenarios: product x persona x difficulty, the customer's attributes, and the two scripts.

The fields follow the paper's section 3.1: a configuration `(p, u, k)` (Eq. 1), attributes
`a | p, u` (Eq. 2), and one script a side (Eq. 3). A script is the system prompt of that side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from salesllm.dialogue import (
    Dialogue,
    Language,
    NonBlank,
    Speaker,
    Unmarked,
    validation_error,
)
from salesllm.errors import InputError
from salesllm.files import read_jsonl, write_jsonl

Domain = Literal["consumer", "financial"]


class Difficulty(StrEnum):
    """The five customer profiles of Table 1, each with a prior propensity to buy."""

    EASY = "easy"
    MEDIUM = "medium"
    HARD = "hard"
    VERY_HARD = "very_hard"
    ADVERSARIAL = "adversarial"

    @property
    def propensity(self) -> float:
        return PROPENSITY[self]


PROPENSITY: dict[Difficulty, float] = {
    Difficulty.EASY: 0.80,
    Difficulty.MEDIUM: 0.50,
    Difficulty.HARD: 0.20,
    Difficulty.VERY_HARD: 0.10,
    Difficulty.ADVERSARIAL: 0.05,
}


class DecisionFactor(StrEnum):
    """What a customer decides by (B.2)."""

    RETURNS_AND_TOTAL_COST = "returns_and_total_cost"
    SAFETY_AND_PROTECTION = "safety_and_protection"
    BRAND_TRUST = "brand_trust"
    CORE_QUALITY = "core_quality"
    TRANSPARENCY_AND_TERMS = "transparency_and_terms"
    SUPPORT_AND_AFTERSALES = "support_and_aftersales"
    CONVENIENCE_AND_DIGITAL = "convenience_and_digital"
    AVAILABILITY_AND_DELIVERY = "availability_and_delivery"
    SOCIAL_PROOF = "social_proof"
    FIT_AND_FLEXIBILITY = "fit_and_flexibility"


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Product(_Record):
    """What is for sale, in one language.

    Attributes:
        facts: Everything a salesperson may state as fact, e.g. `{"Price": "$39"}`; a claim that
            is not here (a discount, a term) is the salesperson's invention.
        channel: Where a customer who agreed can buy.
    """

    id: NonBlank
    domain: Domain
    category: NonBlank
    name: NonBlank
    price: str
    facts: dict[str, str] = Field(default_factory=dict)
    selling_points: tuple[str, ...] = ()
    channel: str = ""


class Persona(_Record):
    id: NonBlank
    age_group: str
    gender: str
    occupation: str
    city: str
    household: str = ""


class Attributes(_Record):
    """What the customer brings to this product (Eq. 2). Never shown to the salesperson."""

    motivations: NonBlank
    pain_points: NonBlank
    decision_factors: tuple[DecisionFactor, ...]
    communication_preferences: NonBlank
    initial_utterance: Unmarked


class Scenario(_Record):
    """One configuration with both scripts.

    Attributes:
        propensity: Prior probability of buying, 0-1: Table 1's value or the record's own.
        scripts: The system prompt of each side.
    """

    id: NonBlank
    language: Language
    product: Product
    persona: Persona
    difficulty: Difficulty
    propensity: float = Field(ge=0.0, le=1.0)
    attributes: Attributes
    scripts: dict[Speaker, str] = Field(default_factory=dict)

    def script(self, speaker: Speaker) -> str:
        if speaker not in self.scripts:
            raise InputError(
                f"scenario {self.id} has no {speaker.value} script",
                field=f"scripts.{speaker.value}",
                fix="Render the scripts with salesllm.scenarios.with_scripts",
            )
        return self.scripts[speaker]


class PartialProduct(Product):
    """A product of which not everything is known; what is not is blank."""

    category: str = ""
    name: str = ""
    price: str = ""


class PartialAttributes(Attributes):
    """Attributes of which not everything is known but the initial utterance."""

    motivations: str = ""
    pain_points: str = ""
    decision_factors: tuple[DecisionFactor, ...] = ()
    communication_preferences: str = ""


class PartialScenario(Scenario):
    """A scenario that is played by the scripts it brings: they may say what its fields do not."""

    product: PartialProduct
    attributes: PartialAttributes


def require_fields(scenario: Scenario, what: str) -> None:
    """Raises InputError where something needs the fields of a scenario that has its scripts only.

    Args:
        what: Who needs them, as the message's subject.
    """
    if isinstance(scenario, PartialScenario):
        raise InputError(
            f"{what} needs all fields of a scenario, and {scenario.id!r} lacks some",
            fix="Take a speaker that follows a whole script, or leave such scenarios out",
        )


AUTHORS_FIELD = "user_system_prompt"
"""A row of the paper's released benchmark has it (`salesllm.scenarios.authors`)."""


def parse_scenario(value: dict[str, Any]) -> Scenario:
    """A record as a scenario; raises `InputError` without its place."""
    if AUTHORS_FIELD in value:
        raise InputError(
            "a row of the paper's released benchmark, which does not say its language",
            field=AUTHORS_FIELD,
            fix="Use it in eval/benchmark.py, whose recipe has the key `language` for it",
        )
    try:
        return Scenario.model_validate(value)
    except ValidationError as error:
        raise validation_error(error) from None


def iter_scenarios(
    path: str | Path, parse: Callable[[dict[str, Any]], Scenario] = parse_scenario
) -> Iterator[Scenario]:
    """Reads scenario records; an `InputError` names file, line and field of the first bad one.

    Args:
        parse: Makes a scenario of a line's object.
    """
    seen: dict[str, int] = {}
    for number, value in read_jsonl(path):
        try:
            scenario = parse(value)
        except InputError as error:
            raise error.at(path, number) from None
        if scenario.id in seen:
            problem = f"id {scenario.id!r} is already on line {seen[scenario.id]}"
            raise InputError(problem, path=path, line=number, field="id", fix="Make ids unique")
        seen[scenario.id] = number
        yield scenario


def read_scenarios(path: str | Path) -> list[Scenario]:
    return list(iter_scenarios(path))


def read_scenarios_by_id(path: str | Path | None) -> dict[str, Scenario] | None:
    """Scenarios by id; None where there is no file, for dialogues without scenarios."""
    return {scenario.id: scenario for scenario in iter_scenarios(path)} if path else None


def find_scenario(
    dialogue: Dialogue,
    scenarios: Mapping[str, Scenario] | None,
    source: str | Path | None = None,
) -> Scenario | None:
    """The scenario that a dialogue names; None where it names none or no scenarios were given.

    Args:
        source: The dialogue's file, for the message.

    Raises:
        InputError: It names one that is not among those given.
    """
    if dialogue.scenario_id is None or scenarios is None:
        return None
    if dialogue.scenario_id not in scenarios:
        raise InputError(
            f"dialogue {dialogue.id!r} names the unknown scenario {dialogue.scenario_id!r}",
            path=source,
            field="scenario_id",
            fix="Give the file of scenarios that the dialogues were made from",
        )
    return scenarios[dialogue.scenario_id]


def write_scenarios(path: str | Path, scenarios: Sequence[Scenario]) -> None:
    write_jsonl(path, (s.model_dump(mode="json") for s in scenarios))
