"""The scenario space: products, personas, and one scenario a product (the paper's 3.1).

`(p, u, k)` is drawn first (Eq. 1), then the attributes `a | p, u` (Eq. 2); rendering a scenario
makes both scripts (Eq. 3). A draw has no language: it is rendered into Chinese, English or both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from random import Random
from typing import Protocol, TypeVar

from salesllm.catalog.space import Category, Seed, category, markets, suits
from salesllm.dedup import Deduplicator
from salesllm.dialogue import Language
from salesllm.errors import InputError
from salesllm.scenario import Difficulty, Domain, Persona, Scenario
from salesllm.scenarios.attributes import AttributesDraft, draw_attributes
from salesllm.scenarios.personas import PersonaDraft, draw_persona
from salesllm.scenarios.products import ProductDraft, draw_product
from salesllm.scenarios.sampling import rounds
from salesllm.scenarios.scripts import customer_information, product_text, with_scripts

S = TypeVar("S")


class _Draft(Protocol):
    @property
    def id(self) -> str: ...


D = TypeVar("D", bound=_Draft)

MOST_ROUNDS = 40
"""How often what was dropped is drawn anew before the space counts as exhausted."""


@dataclass(frozen=True)
class ScenarioDraft:
    """A scenario before it is put into words."""

    id: str
    product: ProductDraft
    person: PersonaDraft
    difficulty: Difficulty
    attributes: AttributesDraft

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


@dataclass(frozen=True)
class Dropped:
    """A draw that was a near duplicate of an earlier one.

    Attributes:
        what: `product`, `persona` or `scenario`.
        of: Id of the one that was kept.
        similarity: Jaccard index of their texts, 0-1.
    """

    what: str
    of: str
    similarity: float
    text: str


@dataclass
class Space:
    """Everything that was drawn.

    Attributes:
        drawn: How many draws each kind took, those dropped included.
    """

    products: list[ProductDraft]
    personas: list[PersonaDraft]
    scenarios: list[ScenarioDraft]
    dropped: list[Dropped] = field(default_factory=list)
    drawn: dict[str, int] = field(default_factory=dict)

    def near_duplicate_rate(self, what: str) -> float:
        """Share of the draws of `what` that were dropped, 0-1."""
        return sum(d.what == what for d in self.dropped) / max(1, self.drawn[what])


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
    space = Space([], [], [])

    def distinct(
        what: str, slots: Sequence[S], draw: Callable[[S, Random], D], text: Callable[[D], str]
    ) -> list[D]:
        """One draw a slot, redrawn until no two of them are near duplicates."""
        rng = Random(f"{what} {seed}")
        unlike = Deduplicator(threshold)
        kept: dict[int, D] = {}
        tried: list[int] = []
        pending = list(range(len(slots)))
        for _ in range(MOST_ROUNDS):
            drafts = [draw(slots[slot], rng) for slot in pending]
            texts = [text(draft) for draft in drafts]
            first, tried = len(tried), tried + pending
            duplicates = {d.index - first: d for d in unlike.add(texts)}
            for number, draft in enumerate(drafts):
                if duplicate := duplicates.get(number):
                    of = kept.get(tried[duplicate.of]) or drafts[duplicate.of - first]
                    space.dropped.append(
                        Dropped(what, of.id, round(duplicate.similarity, 4), texts[number])
                    )
                else:
                    kept[pending[number]] = draft
            advance(len(pending) - len(duplicates))
            pending = [pending[number] for number in sorted(duplicates)]
            if not pending:
                space.drawn[what] = len(tried)
                return [kept[slot] for slot in range(len(slots))]
        raise InputError(
            f"after {MOST_ROUNDS} rounds {len(pending)} of {len(slots)} {what}s are still near "
            "duplicates",
            field="threshold",
            fix="Ask for fewer, or raise the threshold",
        )

    space.products = distinct(
        "product",
        list(_product_slots(counts, seed)),
        lambda slot, rng: draw_product(*slot, rng),
        lambda draft: _product_text(draft, language),
    )
    space.personas = distinct(
        "persona",
        [(f"u{n:05d}", market) for n, market in enumerate(_deal_markets(personas, seed), 1)],
        lambda slot, rng: draw_persona(*slot, rng),
        lambda draft: persona_text(draft.persona(language)),
    )
    slots = _scenario_slots(space.products, space.personas, seed)
    space.scenarios = distinct(
        "scenario",
        slots,
        lambda slot, rng: ScenarioDraft(*slot, draw_attributes(slot[1], slot[2], rng)),
        lambda draft: customer_information(draft.scenario(language, scripts=False)),
    )
    return space


def persona_text(persona: Persona) -> str:
    """A persona's basic information on one line."""
    parts = (persona.age_group, persona.gender, persona.occupation, persona.city, persona.household)
    return ", ".join(parts)


def _product_text(draft: ProductDraft, language: Language) -> str:
    return product_text(draft.product(language), language)


def _product_slots(
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


def _scenario_slots(
    products: Sequence[ProductDraft], personas: Sequence[PersonaDraft], seed: int
) -> list[tuple[str, ProductDraft, PersonaDraft, Difficulty]]:
    """`(p, u, k)`: a person of the product's market and audience, difficulties in equal shares."""
    rng = Random(f"scenarios {seed}")
    order = rng.sample(products, len(products))
    buyers: dict[str, PersonaDraft] = {}
    pools: dict[tuple[str, tuple[str, ...]], Iterator[PersonaDraft]] = {}
    # Products for few choose first, and the others take who is left before anybody again.
    for product in sorted(order, key=lambda product: not product.seed.audience):
        place = (product.market, product.seed.audience)
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


def _audience(product: ProductDraft, personas: Sequence[PersonaDraft]) -> list[PersonaDraft]:
    """Who may buy it: people of its market, else of any."""
    right = [p for p in personas if suits(product.seed.audience, p.tags)]
    near = [p for p in right if p.city.market == product.market]
    if not right:
        raise InputError(
            f"no persona is of the audience {', '.join(product.seed.audience)} of {product.id}",
            field="personas",
            fix="Ask for more personas",
        )
    return near or right
