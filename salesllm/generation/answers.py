"""Which answers of a writer are taken as products and attributes."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from salesllm.dialogue import Language, NonBlank
from salesllm.generation.faithful import in_language, placeholders
from salesllm.generation.writer import read_record
from salesllm.scenario import Attributes
from salesllm.scoring.ask import OffFormat

_BRAND: dict[Language, str] = {"en": "Brand", "zh": "品牌"}


class FactAnswer(BaseModel):
    model_config = ConfigDict(extra="forbid")

    label: NonBlank
    value: NonBlank


class ProductAnswer(BaseModel):
    """What the writer says of a product; id and category are not its to say."""

    model_config = ConfigDict(extra="forbid")

    name: NonBlank
    price: NonBlank
    facts: list[FactAnswer] = Field(min_length=3)
    selling_points: list[NonBlank] = Field(min_length=3, max_length=6)
    channel: NonBlank


def read_product(text: str, language: Language) -> dict[str, Any]:
    """A `ProductAnswer` in JSON values; raises `OffFormat` for one that cannot be used."""
    answer = read_record(text, ProductAnswer)
    labels = [fact.label for fact in answer.facts]
    if _BRAND[language] not in labels:
        raise OffFormat(f"`facts` has none labelled {_BRAND[language]}")
    if len(set(labels)) < len(labels):
        raise OffFormat("`facts` has a label twice")
    values = [fact.value for fact in answer.facts]
    _check([answer.name, *labels, *values, *answer.selling_points, answer.channel], language)
    return answer.model_dump()


def read_attributes(text: str, language: Language) -> dict[str, Any]:
    """`Attributes` in JSON values; raises `OffFormat` for those that cannot be used."""
    answer = read_record(text, Attributes)
    factors = answer.decision_factors
    if not 3 <= len(set(factors)) == len(factors) <= 4:
        raise OffFormat("`decision_factors` are not three or four different ones")
    _check([*answer.model_dump(exclude={"decision_factors"}).values()], language)
    return answer.model_dump(mode="json")


def _check(texts: list[str], language: Language) -> None:
    if found := placeholders("\n".join(texts)):
        raise OffFormat(found[0])
    # A Chinese record may hold "8 GB, USB-C", an English one no Chinese character.
    long = 0 if language == "en" else 20
    if any(len(text) > long and not in_language(text, language) for text in texts):
        raise OffFormat(f"it is not in {'Chinese' if language == 'zh' else 'English'}")
