"""The scenario space: products, personas, and one scenario a product (the paper's 3.1).

`(p, u, k)` is drawn first (Eq. 1), then the attributes `a | p, u` (Eq. 2); rendering a scenario
makes both scripts (Eq. 3). A draw has no language: it is rendered into Chinese, English or both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, Protocol, TypeVar

from salesllm.catalog.space import Category, Seed, category, markets, suits
from salesllm.dialogue import Language
from salesllm.errors import InputError
from salesllm.scenario import Attributes, Difficulty, Domain, Persona, Product, Scenario
from salesllm.scenarios.attributes import draw_attributes
from salesllm.scenarios.distinct import Drawn, Draws, distinct
from salesllm.scenarios.personas import PersonaDraft, draw_persona
from salesllm.scenarios.products import draw_product
from salesllm.scenarios.sampling import rounds
from salesllm.scenarios.scripts import customer_information, product_text, with_scripts


class AnyProduct(Drawn, Protocol):
    """What a scenario asks of its product, wherever that comes from."""

    @property
    def category(self) -> Category: ...
    @property
    def market(self) -> str: ...
    @property
    def audience(self) -> tuple[str, ...]: ...
    def product(self, language: Language) -> Product: ...


class AnyAttributes(Protocol):
    """What a scenario asks of its attributes."""

    def attributes(self, product: Any, language: Language) -> Attributes: ...


P = TypeVar("P", bound=AnyProduct)


@dataclass(frozen=True)
class ScenarioDraft:
    """A scenario before it is put into words."""

    id: str
    product: AnyProduct
    person: PersonaDraft
    difficulty: Difficulty
    attributes: AnyAttributes

    def scenario(
        self, language: Language, prompts_dir: str | Path | None = None, *, scripts: bool = True
    ) -> Scenario:
        """The scenario in words, with both scripts."""
        scenario = Scenario(
            id=self.id,
            language=language,
            product=self.product.product(language),
            persona=self.person.persona(language),
            difficulty=self.difficulty,
            propensity=self.difficulty.propensity,
            attributes=self.attributes.attributes(self.product, language),
        )
        return with_scripts(scenario, prompts_dir) if scripts else scenario


@dataclass
class Space(Draws):
    """Everything that was drawn."""

    products: Sequence[AnyProduct] = ()
    personas: Sequence[PersonaDraft] = ()
    scenarios: Sequence[ScenarioDraft] = ()


def draw_space(
    counts: Mapping[Domain, Mapping[str, int]],
    personas: int,
    *,
    language: Language,
    seed: int,
    threshold: float = 0.8,
    advance: Callable[[int], object] = lambda count: None,
) -> Space:
    """Draws products, personas and scenarios without near duplicates.

    Args:
        counts: Products of each category; every product gets one scenario.
        personas: Size of the pool. Nobody is used twice before all have been, but for those who
            are the few of a market that a product is for.
        language: In which near duplicates are looked for.
        threshold: Jaccard index of 3-shingles from which two texts are near duplicates.
        advance: Told how many were drawn and kept.

    Raises:
        InputError: The catalogue does not hold so many distinct ones.
    """
    space = Space()
    slots = list(product_slots(counts, seed))
    goods = Random(f"product {seed}")
    products = distinct(
        space,
        "product",
        len(slots),
        lambda pending: [draw_product(*slots[slot], goods) for slot in pending],
        lambda draft: draft_text(draft, language),
        threshold=threshold,
        advance=advance,
    )
    people = draw_personas(space, personas, language, seed, threshold, advance)
    deals = scenario_slots(products, people, seed)
    rng = Random(f"scenario {seed}")

    def draw_scenario(slot: int) -> ScenarioDraft:
        key, product, person, difficulty = deals[slot]
        attributes = draw_attributes(product, person, rng)
        return ScenarioDraft(key, product, person, difficulty, attributes)

    scenarios = distinct(
        space,
        "scenario",
        len(deals),
        lambda pending: [draw_scenario(slot) for slot in pending],
        lambda draft: customer_information(draft.scenario(language, scripts=False)),
        threshold=threshold,
        advance=advance,
    )
    space.products, space.personas, space.scenarios = products, people, scenarios
    return space


def draw_personas(
    space: Space,
    count: int,
    language: Language,
    seed: int,
    threshold: float,
    advance: Callable[[int], object] = lambda count: None,
) -> list[PersonaDraft]:
    """The pool of people, each market with its share of them."""
    slots = [(f"u{n:05d}", market) for n, market in enumerate(_deal_markets(count, seed), 1)]
    rng = Random(f"persona {seed}")
    return distinct(
        space,
        "persona",
        count,
        lambda pending: [draw_persona(*slots[slot], rng) for slot in pending],
        lambda draft: persona_text(draft.persona(language)),
        threshold=threshold,
        advance=advance,
    )


def table(space: Space) -> dict[str, Any]:
    """The paper's Tables 7 to 9, and how many draws were near duplicates."""
    categories = Counter(draft.category.id for draft in space.products)
    return {
        "products": len(space.products),
        "personas": len(space.personas),
        "scenarios": len(space.scenarios),
        "categories": dict(categories.most_common()),
        "difficulties": dict(Counter(draft.difficulty.value for draft in space.scenarios)),
        "personas_used": len({draft.person.id for draft in space.scenarios}),
        "near_duplicates": {
            what: {
                "dropped": sum(d.what == what for d in space.dropped),
                "unreadable": space.unreadable[what],
                "drawn": drawn,
            }
            for what, drawn in space.drawn.items()
        },
    }


def persona_text(persona: Persona) -> str:
    """A persona's basic information on one line."""
    parts = (persona.age_group, persona.gender, persona.occupation, persona.city, persona.household)
    return ", ".join(parts)


def draft_text(draft: AnyProduct, language: Language) -> str:
    """What a product's near duplicates are looked for in."""
    return product_text(draft.product(language), language)


def product_slots(
    counts: Mapping[Domain, Mapping[str, int]], seed: int
) -> Iterator[tuple[str, Category, Seed, str]]:
    """Id, category, seed and market of every product; a category's seeds share evenly."""
    for domain, of_domain in counts.items():
        for name, count in of_domain.items():
            found = category(domain, name)
            places = _deal_markets(count, f"{seed} {name}")
            for number, place in enumerate(places):
                item = found.seeds[number % len(found.seeds)]
                yield f"{name.lower()}-{item.id}-{number + 1:05d}", found, item, place


def _deal_markets(count: int, seed: int | str) -> list[str]:
    """Market names, each as often as its share says, shuffled."""
    shares = {name: market.share * count for name, market in markets().items()}
    whole = {name: int(share) for name, share in shares.items()}
    short = sorted(shares, key=lambda name: whole[name] - shares[name])
    for name in short[: count - sum(whole.values())]:
        whole[name] += 1
    dealt = [name for name, number in whole.items() for _ in range(number)]
    Random(f"markets {seed}").shuffle(dealt)
    return dealt


def scenario_slots(
    products: Sequence[P], personas: Sequence[PersonaDraft], seed: int
) -> list[tuple[str, P, PersonaDraft, Difficulty]]:
    """`(p, u, k)`: a person of the product's market and audience, difficulties in equal shares."""
    rng = Random(f"scenarios {seed}")
    order = rng.sample(products, len(products))
    buyers: dict[str, PersonaDraft] = {}
    pools: dict[tuple[str, tuple[str, ...]], Iterator[PersonaDraft]] = {}
    # Products for few choose first, and the others take who is left before anybody again.
    for product in sorted(order, key=lambda product: not product.audience):
        place = (product.market, product.audience)
        if place not in pools:
            used = {person.id for person in buyers.values()}
            pool = _audience(product, personas)
            first = sorted(rng.sample(pool, len(pool)), key=lambda person: person.id in used)
            pools[place] = chain(first, rounds(pool, rng))
        buyers[product.id] = next(pools[place])
    levels = rounds(list(Difficulty), rng)
    return [
        (f"s{number:05d}", product, buyers[product.id], next(levels))
        for number, product in enumerate(order, 1)
    ]


def _audience(product: AnyProduct, personas: Sequence[PersonaDraft]) -> list[PersonaDraft]:
    """Who may buy it: people of its market, else of any."""
    right = [p for p in personas if suits(product.audience, p.tags)]
    near = [p for p in right if p.city.market == product.market]
    if not right:
        raise InputError(
            f"no persona is of the audience {', '.join(product.audience)} of {product.id}",
            field="personas",
            fix="Ask for more personas",
        )
    return near or right
