"""Drawing the scenario space: counts, strata, fit, and the same bytes from the same seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from salesllm.catalog.space import markets, suits
from salesllm.dedup import near_duplicates
from salesllm.errors import InputError
from salesllm.scenario import Domain
from salesllm.scenarios.distinct import Draws, distinct
from salesllm.scenarios.evaluation import evaluation_set, render, stratified, subset
from salesllm.scenarios.personas import PersonaDraft, draw_persona
from salesllm.scenarios.products import fill_in, money, retail_price, round_amount
from salesllm.scenarios.scripts import customer_information
from salesllm.scenarios.space import Space, draw_space

COUNTS: dict[Domain, dict[str, int]] = {
    "consumer": {"Books": 40, "Baby_Products": 30},
    "financial": {"stocks": 60, "bank_deposits": 80},
}


def draw(seed: int = 0) -> Space:
    return draw_space(COUNTS, 150, language="zh", seed=seed)


@pytest.fixture(scope="module")
def space() -> Space:
    return draw()


def test_every_product_gets_one_scenario(space: Space) -> None:
    assert len(space.personas) == 150
    assert Counter(p.category.id for p in space.products) == {
        "Books": 40, "Baby_Products": 30, "stocks": 60, "bank_deposits": 80,
    }  # fmt: skip
    assert {s.product.id for s in space.scenarios} == {p.id for p in space.products}
    assert len({s.id for s in space.scenarios}) == len(space.scenarios) == 210
    assert max(Counter(s.difficulty for s in space.scenarios).values()) == 42
    seeds = Counter(p.seed.id for p in space.products if p.category.id == "Books")
    assert max(seeds.values()) - min(seeds.values()) <= 1


def test_customers_fit_their_product(space: Space) -> None:
    for scenario in space.scenarios:
        person, product = scenario.person, scenario.product
        assert suits(product.seed.audience, person.tags)
        a = scenario.attributes
        for text in (*a.motivations, *a.pain_points, *a.communication, a.opener):
            assert text.suits(person.tags | product.tags)
        assert len(set(a.factors)) == len(a.factors) >= 3


def test_most_customers_live_in_the_products_market(space: Space) -> None:
    alike = sum(s.person.city.market == s.product.market for s in space.scenarios)
    assert alike / len(space.scenarios) > 0.9  # a small pool may lack a parent abroad


def test_no_two_customers_are_near_duplicates(space: Space) -> None:
    texts = [customer_information(s.scenario("zh", scripts=False)) for s in space.scenarios]
    assert near_duplicates(texts) == []
    assert space.drawn["scenario"] == 210 + sum(d.what == "scenario" for d in space.dropped)


def test_the_same_seed_gives_the_same_and_another_does_not(space: Space) -> None:
    again, other = draw(), draw(1)
    ours = [s.scenario("en").model_dump_json() for s in space.scenarios]
    assert ours == [s.scenario("en").model_dump_json() for s in again.scenarios]
    assert ours != [s.scenario("en").model_dump_json() for s in other.scenarios]


def test_both_languages_say_the_same(space: Space) -> None:
    for draft in space.scenarios[:40]:
        zh, en = draft.scenario("zh"), draft.scenario("en")
        assert (zh.id, zh.difficulty) == (en.id, en.difficulty)
        assert len(zh.product.facts) == len(en.product.facts)
        assert zh.attributes.decision_factors == en.attributes.decision_factors
        assert zh.scripts.keys() == en.scripts.keys()


def test_an_exhausted_catalogue_is_an_error() -> None:
    with pytest.raises(InputError, match="near duplicates"):
        draw_space({"consumer": {"Books": 60}}, 10, language="en", seed=0, threshold=0.05)


def test_hopeless_rounds_are_not_all_drawn() -> None:
    asked: list[int] = []

    def draw(pending: Sequence[int]) -> list[PersonaDraft]:
        asked.append(len(pending))
        return [person] * len(pending)

    person = draw_persona("u1", "cn", Random(0))
    with pytest.raises(InputError, match=r"after 1 rounds 1999 of 2000 .* raise `personas`"):
        distinct(Draws(), "persona", 2000, draw, str, threshold=0.8, limit="personas")
    assert asked == [2000]


def test_an_evaluation_set_is_parallel_and_keeps_the_shares(space: Space) -> None:
    chosen = evaluation_set(space.scenarios, 100, 60, version="v9", seed=0)
    rows = render(chosen)
    assert [r.language for r in rows] == ["zh"] * 100 + ["en"] * 60
    zh = {r.id.removesuffix("-zh"): r for r in rows if r.language == "zh"}
    for row in rows[100:]:
        twin = zh[row.id.removesuffix("-en")]
        assert (row.product.id, row.persona.id, row.difficulty) == (
            twin.product.id, twin.persona.id, twin.difficulty,
        )  # fmt: skip
    for part, n in ((rows[:100], 100), (rows[100:], 60)):
        of = Counter(r.product.category for r in part)
        for name, share in {"Books": 40, "Baby_Products": 30, "stocks": 60}.items():
            assert of[name] == pytest.approx(share / 210 * n, abs=1)
        assert set(Counter(r.difficulty for r in part).values()) == {n // 5}
    small = render(subset(chosen, 20, seed=0))
    assert Counter(r.language for r in small) == {"zh": 10, "en": 10}
    assert {r.id for r in small} <= {r.id for r in rows}


def test_strata_at_their_limits() -> None:
    items = [(a, b) for a in "xy" for b in range(4)]
    assert stratified(items, 8, lambda item: item, Random(0)) == items
    four = stratified(items, 4, lambda item: item, Random(0))
    assert Counter(a for a, _ in four) == {"x": 2, "y": 2}
    assert {b for _, b in four} == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("value", "market", "zh", "en"),
    [
        (50_000, "cn", "5万元", "¥50,000"),
        (1_280, "cn", "1280元", "¥1,280"),
        (15_000, "us", "1.5万美元", "$15,000"),
        (300_000_000, "cn", "3亿元", "¥300,000,000"),
        (18.64, "uk", "18.64英镑", "£18.64"),
        (9.9, "eu", "9.90欧元", "€9.90"),
    ],
)
def test_money_as_people_write_it(value: float, market: str, zh: str, en: str) -> None:
    assert (money(value, market, "zh"), money(value, market, "en")) == (zh, en)


def test_amounts_and_prices() -> None:
    assert [round_amount(v) for v in (11, 44, 990, 1_700, 26_000)] == [10, 50, 1000, 1500, 30_000]
    cn, us = markets()["cn"], markets()["us"]
    assert [retail_price(v, cn) for v in (12.4, 61, 433, 2210)] == [12, 59, 429, 2199]
    assert [retail_price(v, us) for v in (50, 1000)] == [11.99, 219]


def test_slots() -> None:
    said = fill_in("{brand}: {money:200}", "en", "us", {}, {"brand": "Halden"})
    assert said == "Halden: $50"
    with pytest.raises(KeyError):
        fill_in("{nothing}", "en", "us", {}, {})


def test_nobody_is_impossible() -> None:
    rng = Random(0)
    for number in range(2000):
        person = draw_persona(str(number), "cn", rng)
        assert person.city.market == "cn"
        assert person.age in person.occupation.ages
        assert person.age in person.household.ages
        assert person.household.text.suits(person.tags)
        assert not {"student", "retired"} <= person.tags
        assert not {"man", "woman"} <= person.tags
