"""What the linter's rules look at: a line of a file, taken apart, and what was found on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import ValidationError

from salesllm.dialogue import Language, Speaker, validation_error
from salesllm.scenario import (
    AUTHORS_FIELD,
    Difficulty,
    PartialProduct,
    PartialScenario,
    Product,
    Scenario,
)
from salesllm.scenarios.authors import OPENER_FIELD, SELLER_FIELD, AuthorsRow
from salesllm.scenarios.lint.language import language_of
from salesllm.scenarios.prompt_fields import CUSTOMER_BLOCK
from salesllm.scenarios.scripts import customer_information

Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Finding:
    """One fault.

    Attributes:
        line: 1-based, in the file.
        scenario: The scenario's id, blank where it has none.
        field: Dotted name of the field, blank where the whole line is meant.
        fix: What to do about it, as an imperative sentence without a trailing full stop.
    """

    rule: str
    severity: Severity
    line: int
    scenario: str
    field: str
    message: str
    fix: str


@dataclass(frozen=True)
class Row:
    """One line, whatever its format.

    Attributes:
        language: What its texts should be in: what our record or the run says. A released row
            says it unreliably; without a run, its texts decide.
        persona: Basic information of the customer on one line, blank where there is none.
        attributes: Field to text; of a row without any customer block, nothing.
        openers: Field to opening line, one for each language that the row has one for.
        opener: Field of the opening line of `language`.
        prose: Field to text for everything that is in the row's language.
        raw: Field to text for everything a person wrote or a program filled in.
        customer: All that is the customer's own: what near duplicates are measured on.
        scripts: Field to script of each side, where the row has one.
        authors: The row, if it is one of the released benchmark.
        scenario: The record, if it is one of ours.
    """

    line: int
    id: str
    language: Language
    product: Product
    difficulty: Difficulty
    propensity: float
    persona: str
    attributes: Mapping[str, str]
    openers: Mapping[str, str]
    opener: str
    prose: Mapping[str, str]
    raw: Mapping[str, str]
    customer: str
    scripts: Mapping[Speaker, tuple[str, str]] = field(default_factory=dict)
    authors: AuthorsRow | None = None
    scenario: Scenario | None = None

    def found(
        self, rule: str, field: str, message: str, fix: str, severity: Severity = "error"
    ) -> Finding:
        return Finding(rule, severity, self.line, self.id, field, message, fix)


def read_row(line: int, value: dict[str, Any], language: Language | None) -> Row:
    """Takes a line's object apart.

    Raises:
        InputError: It is no scenario, even with blanks where texts should be.
    """
    if AUTHORS_FIELD in value or SELLER_FIELD in value:
        return _authors_row(line, AuthorsRow(value), language)
    try:
        return _own_row(line, Scenario.model_validate(value))
    except ValidationError as error:
        try:
            return _own_row(line, PartialScenario.model_validate(value))
        except ValidationError:
            raise validation_error(error) from None


def _own_row(line: int, scenario: Scenario) -> Row:
    product, persona, attributes = scenario.product, scenario.persona, scenario.attributes
    basics = (persona.age_group, persona.gender, persona.occupation, persona.city)
    said = {
        f"attributes.{name}": getattr(attributes, name)
        for name in ("motivations", "pain_points", "communication_preferences")
    }
    opener = {"attributes.initial_utterance": attributes.initial_utterance}
    prose = {
        "product.name": product.name,
        "product.price": product.price,
        **{f"product.facts.{label}": f"{label}: {v}" for label, v in product.facts.items()},
        **{f"product.selling_points.{n}": p for n, p in enumerate(product.selling_points)},
        "product.channel": product.channel,
        **{
            f"persona.{name}": getattr(persona, name)
            for name in ("age_group", "gender", "occupation", "city", "household")
        },
        **said,
        **opener,
    }
    return Row(
        line=line,
        id=scenario.id,
        language=scenario.language,
        product=product,
        difficulty=scenario.difficulty,
        propensity=scenario.propensity,
        persona="".join(basics).strip() and ", ".join(basics),
        attributes=said | {"attributes.decision_factors": " ".join(attributes.decision_factors)},
        openers=opener,
        opener="attributes.initial_utterance",
        prose=prose,
        raw=prose,
        customer=customer_information(scenario),
        scripts={side: (f"scripts.{side}", text) for side, text in scenario.scripts.items()},
        scenario=scenario,
    )


def _authors_row(line: int, row: AuthorsRow, language: Language | None) -> Row:
    key = row.id or f"row-{line}"
    product = PartialProduct.model_validate(row.product_values(key))
    openers = {name: text for name in OPENER_FIELD.values() if (text := row.text(name).strip())}
    block = {name: row.customer[name] for name in CUSTOMER_BLOCK if name in row.customer}
    attributes = {
        f"{AUTHORS_FIELD}.{name}": row.customer.get(name, "")
        for name in CUSTOMER_BLOCK
        if block and name != "basic_info"
    }
    texts = [product.name, *product.facts.values(), *product.selling_points]
    prose = attributes | {SELLER_FIELD: "\n".join(texts)}
    wanted = language or language_of(prose.values(), row.own_language or "zh")
    scripts = {
        side: (name, row.text(name))
        for side, name in ((Speaker.CUSTOMER, AUTHORS_FIELD), (Speaker.SALESPERSON, SELLER_FIELD))
    }
    return Row(
        line=line,
        id=row.id,
        language=wanted,
        product=product,
        difficulty=row.difficulty,
        propensity=row.propensity,
        persona=row.customer.get("basic_info", ""),
        attributes=attributes,
        openers=openers,
        opener=OPENER_FIELD[wanted],
        prose=prose,
        raw=dict(scripts.values()) | openers,
        customer="\n".join(block.values()),
        scripts=scripts,
        authors=row,
    )
