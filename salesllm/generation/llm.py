"""The scenario space as an LLM writes it: products after examples, then attributes `a | p, u`.

As in the paper's 3.1, a financial product is shown seeds of its category, a consumer product one
target item and some neighbours; personas are drawn. Both scripts are rendered by the templates.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count
from random import Random
from typing import Any

from salesllm.catalog.space import Category, Seed
from salesllm.chat.base import Usage
from salesllm.dialogue import Language
from salesllm.generation.amazon import Sample, sample_items
from salesllm.generation.answers import ProductAnswer, read_attributes, read_product
from salesllm.generation.recipe import WrittenSpaceRecipe
from salesllm.generation.writer import Task, Writer, estimate
from salesllm.prompts import load_prompt, prompt_versions
from salesllm.scenario import Attributes, DecisionFactor, Product
from salesllm.scenarios.attributes import draw_attributes
from salesllm.scenarios.distinct import distinct
from salesllm.scenarios.personas import PersonaDraft
from salesllm.scenarios.products import draw_product, money
from salesllm.scenarios.scripts import FACTOR_NAME, customer_information, product_text
from salesllm.scenarios.space import (
    AnyProduct,
    ScenarioDraft,
    Space,
    draft_text,
    draw_personas,
    persona_text,
    product_slots,
    scenario_slots,
)

PROMPTS = ("product_consumer", "product_financial", "customer_attributes")
_PROBE = 40
"""Prompts that a dry run renders of each kind."""


@dataclass(frozen=True)
class WrittenProduct:
    """A product in the one language that it was written in."""

    id: str
    category: Category
    market: str
    audience: tuple[str, ...]
    written: Product

    def product(self, language: Language) -> Product:
        return self.written


@dataclass(frozen=True)
class WrittenAttributes:
    written: Attributes

    def attributes(self, product: Any, language: Language) -> Attributes:
        return self.written


@dataclass(frozen=True)
class _Slot:
    """A product to be written.

    Attributes:
        target: Number of the target among the items of its category; None for the catalogue's.
    """

    id: str
    category: Category
    seed: Seed
    market: str
    target: int | None


class SpaceWriter:
    """The tasks of one recipe.

    Raises:
        InputError: A file of Amazon metadata cannot be read.
    """

    def __init__(self, recipe: WrittenSpaceRecipe) -> None:
        self.recipe = recipe
        counts = recipe.by_domain()
        self.samples: dict[str, Sample] = {
            name: sample_items(path, counts["consumer"][name] + recipe.neighbours, recipe.seed)
            for name, path in sorted(recipe.amazon.items())
        }
        numbers: dict[str, count[int]] = {}
        self.slots = []
        for _, category, seed, market in product_slots(counts, recipe.seed):
            number = next(numbers.setdefault(category.id, count()))
            sample = self.samples.get(category.id)
            target = number % len(sample.items) if sample else None
            key = f"{category.id.lower()}-llm-{number + 1:05d}"
            self.slots.append(_Slot(key, category, seed, market, target))

    def settings(self) -> dict[str, Any]:
        """All that the answers depend on."""
        recipe = self.recipe
        return {
            "recipe": recipe.settings(),
            "prompts": prompt_versions(PROMPTS, [recipe.language], recipe.prompts_dir),
            "amazon": {name: sample.as_dict() for name, sample in self.samples.items()},
        }

    def product_task(self, slot: _Slot, attempt: int) -> Task:
        """The product of a slot; every attempt shows other examples."""
        return Task(
            (slot.id, str(attempt)),
            lambda: self._product_question(slot, attempt),
            partial(read_product, language=self.recipe.language),
            ProductAnswer.model_json_schema(),
            self.recipe.language,
        )

    def attributes_task(
        self, key: str, product: AnyProduct, person: PersonaDraft, attempt: int
    ) -> Task:
        """What a person brings to a product."""
        return Task(
            (key, str(attempt)),
            lambda: self._attributes_question(product, person),
            partial(read_attributes, language=self.recipe.language),
            Attributes.model_json_schema(),
            self.recipe.language,
        )

    def _product_question(self, slot: _Slot, attempt: int) -> str:
        recipe, category = self.recipe, slot.category
        rng = Random(f"{recipe.seed} {slot.id} {attempt}")
        shown: dict[str, Any] = {
            "category": category.name.in_(recipe.language),
            "price_form": money(100, slot.market, recipe.language),
        }
        if category.domain == "financial":
            seeds = rng.sample(category.seeds, min(recipe.examples, len(category.seeds)))
            shown["examples"] = [self._catalogued(slot, seed, rng) for seed in seeds]
        elif slot.target is not None:
            items = self.samples[category.id].items
            rest = [item for n, item in enumerate(items) if n != slot.target]
            near = rng.sample(rest, min(recipe.neighbours, len(rest)))
            shown["target"] = items[slot.target].text()
            shown["neighbours"] = [item.text() for item in near]
        else:
            others = [seed for seed in category.seeds if seed.id != slot.seed.id]
            seeds = rng.sample(others, min(recipe.neighbours, len(others)))
            shown["target"] = self._catalogued(slot, slot.seed, rng)
            shown["neighbours"] = [self._catalogued(slot, seed, rng) for seed in seeds]
        prompt = load_prompt(f"product_{category.domain}", recipe.language, recipe.prompts_dir)
        return prompt.render(**shown)

    def _attributes_question(self, product: AnyProduct, person: PersonaDraft) -> str:
        language = self.recipe.language
        names = FACTOR_NAME[language]
        prompt = load_prompt("customer_attributes", language, self.recipe.prompts_dir)
        return prompt.render(
            product=product_text(product.product(language), language),
            persona=persona_text(person.persona(language)),
            factors=", ".join(f"{factor.value} ({names[factor]})" for factor in DecisionFactor),
        )

    def _catalogued(self, slot: _Slot, seed: Seed, rng: Random) -> str:
        draft = draw_product(slot.id, slot.category, seed, slot.market, rng)
        return draft_text(draft, self.recipe.language)


def write_space(tasks: SpaceWriter, writer: Writer) -> Space:
    """Has products and attributes written until the counts are full.

    Raises:
        InputError: The endpoint gave no answer, or too many answers cannot be used.
    """
    recipe, space = tasks.recipe, Space()
    rounds = recipe.redraws + 1
    attempts = count()

    def write_products(pending: Sequence[int]) -> list[WrittenProduct | None]:
        attempt = next(attempts)
        slots = [tasks.slots[slot] for slot in pending]
        name = f"products, round {attempt + 1}"
        records = writer.write("product", [tasks.product_task(s, attempt) for s in slots], name)
        return [
            _product(slot, record) if record else None
            for slot, record in zip(slots, records, strict=True)
        ]

    products = distinct(
        space, "product", len(tasks.slots), write_products,
        lambda product: draft_text(product, recipe.language),
        threshold=recipe.threshold, most_rounds=rounds, limit="redraws",
    )  # fmt: skip
    people = draw_personas(space, recipe.personas, recipe.language, recipe.seed, recipe.threshold)
    deals = scenario_slots(products, people, recipe.seed)
    again = count()

    def write_scenarios(pending: Sequence[int]) -> list[ScenarioDraft | None]:
        attempt = next(again)
        chosen = [deals[slot] for slot in pending]
        written = writer.write(
            "attributes",
            [tasks.attributes_task(key, p, u, attempt) for key, p, u, _ in chosen],
            f"attributes, round {attempt + 1}",
        )
        return [
            ScenarioDraft(*deal, WrittenAttributes(Attributes.model_validate(record)))
            if record
            else None
            for deal, record in zip(chosen, written, strict=True)
        ]

    scenarios = distinct(
        space, "scenario", len(deals), write_scenarios,
        lambda draft: customer_information(draft.scenario(recipe.language, scripts=False)),
        threshold=recipe.threshold, most_rounds=rounds, limit="redraws",
    )  # fmt: skip
    space.products, space.personas, space.scenarios = products, people, scenarios
    return space


def _product(slot: _Slot, record: Mapping[str, Any]) -> WrittenProduct:
    product = Product(
        id=slot.id,
        domain=slot.category.domain,
        category=slot.category.id,
        name=record["name"],
        price=record["price"],
        facts={fact["label"]: fact["value"] for fact in record["facts"]},
        selling_points=tuple(record["selling_points"]),
        channel=record["channel"],
    )
    consumer = slot.category.domain == "consumer" and slot.target is None
    audience = slot.seed.audience if consumer else ()
    return WrittenProduct(slot.id, slot.category, slot.market, audience, product)


def estimate_space(tasks: SpaceWriter) -> tuple[int, Usage]:
    """Calls and tokens that a recipe will take without redraws.

    Some prompts are rendered; the answers are taken to be as long as the catalogue's records.
    """
    recipe, rng = tasks.recipe, Random(tasks.recipe.seed)
    probe = rng.sample(tasks.slots, min(_PROBE, len(tasks.slots)))
    drafts = [draw_product(s.id, s.category, s.seed, s.market, rng) for s in probe]
    people = draw_personas(Space(), 2000, recipe.language, recipe.seed, 1.0)
    prompts = [tasks.product_task(slot, 0).render() for slot in probe]
    answers = [draft.product(recipe.language).model_dump_json() for draft in drafts]
    for key, product, person, level in scenario_slots(drafts, people, recipe.seed):
        prompts.append(tasks.attributes_task(key, product, person, 0).render())
        draft = ScenarioDraft(key, product, person, level, draw_attributes(product, person, rng))
        words = draft.scenario(recipe.language, scripts=False).attributes
        answers.append(words.model_dump_json())
    scale = len(tasks.slots) / len(probe)
    usage = Usage(round(estimate(prompts) * scale), round(estimate(answers) * scale))
    return 2 * len(tasks.slots), usage
