"""What makes a translation of a scenario faithful: the filter between Chinese and English."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from salesllm.dialogue import Language
from salesllm.quantities.numerals_en import english
from salesllm.quantities.numerals_zh import chinese
from salesllm.quantities.quantity import disagreements
from salesllm.scenario import Scenario
from salesllm.scenarios.lint.fields import PLACEHOLDER

_HAN = re.compile(r"[\u3400-\u9fff]")
_LONG = 12
"""Characters from which a single text's length says something."""

RATIO = (1.0, 7.0)
"""Characters of English a Chinese character, least and most."""


def texts(scenario: Scenario) -> dict[str, str]:
    """Everything of a scenario that has to be translated, by the place it is in."""
    product, persona, attributes = scenario.product, scenario.persona, scenario.attributes
    found = {"product.name": product.name, "product.price": product.price}
    for number, (label, value) in enumerate(product.facts.items()):
        found |= {f"fact.{number}.label": label, f"fact.{number}.value": value}
    found |= {f"point.{n}": point for n, point in enumerate(product.selling_points)}
    found["product.channel"] = product.channel
    found |= {f"persona.{k}": v for k, v in persona.model_dump(exclude={"id"}).items()}
    rest = attributes.model_dump(exclude={"decision_factors"})
    found |= {f"customer.{k}": v for k, v in rest.items()}
    return {place: text for place, text in found.items() if text.strip()}


def with_texts(
    scenario: Scenario, translated: Mapping[str, str], key: str, language: Language
) -> Scenario:
    """The scenario with other texts in the places of `texts`; it bears no scripts.

    Args:
        key: Its new id.
    """

    def said(place: str) -> str:
        return translated.get(place, "")

    def update(prefix: str, record: Any) -> Any:
        fields = [p.removeprefix(prefix) for p in translated if p.startswith(prefix)]
        return {f: said(f"{prefix}{f}") for f in fields if f in type(record).model_fields}

    product = scenario.product
    facts = {said(f"fact.{n}.label"): said(f"fact.{n}.value") for n in range(len(product.facts))}
    points = tuple(said(f"point.{n}") for n in range(len(product.selling_points)))
    return Scenario(
        id=key,
        language=language,
        product=product.model_copy(
            update=update("product.", product) | {"facts": facts, "selling_points": points}
        ),
        persona=scenario.persona.model_copy(update=update("persona.", scenario.persona)),
        difficulty=scenario.difficulty,
        propensity=scenario.propensity,
        attributes=scenario.attributes.model_copy(update=update("customer.", scenario.attributes)),
    )


def faults(
    source: Mapping[str, str],
    target: Mapping[str, str],
    names: Mapping[str, str],
    ratio: tuple[float, float] = RATIO,
) -> list[str]:
    """What is wrong with an English translation, as `place: problem`; nothing if it is faithful.

    Args:
        source: Chinese texts by place.
        target: Their translations, for the same places.
        names: How every brand of the source is written in English.
        ratio: Fewest and most English characters a Chinese one, of any text of some length.
    """
    found = []
    for place, text in source.items():
        found += [f"{place}: {problem}" for problem in _faults(text, target[place], names, ratio)]
    return found


def _faults(
    source: str, target: str, names: Mapping[str, str], ratio: tuple[float, float]
) -> list[str]:
    if not target.strip():
        return ["it is empty"]
    found = placeholders(target)
    if not in_language(target, "en"):
        found.append("it is not in English")
    for name, called in names.items():
        if name in source:
            if called.casefold() not in target.casefold():
                found.append(f"{name} is not called {called}")
            # A name's own numerals count nothing.
            source = source.replace(name, " ")
            target = re.sub(re.escape(called), " ", target, flags=re.IGNORECASE)
    found += disagreements([*chinese(source)], [*english(target)])
    if len(source) >= _LONG and not ratio[0] <= len(target) / len(source) <= ratio[1]:
        found.append(f"{len(target)} characters for {len(source)}")
    return found


def placeholders(text: str) -> list[str]:
    """What somebody was to fill in and did not."""
    return [f"{match[0]} is not filled in" for match in PLACEHOLDER.finditer(text)]


def in_language(text: str, language: Language) -> bool:
    """Whether a text can be of that language: Chinese has Chinese characters, English has none."""
    has = _HAN.search(text) is not None
    return has if language == "zh" else not has
