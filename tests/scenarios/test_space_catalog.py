"""The seeds of the scenario space: all there, and usable in every combination."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, cycle
from random import Random
from typing import get_args

import pytest

from salesllm.catalog.space import (
    AGE_GROUPS,
    CONSUMER_COUNTS,
    FINANCIAL_COUNTS,
    Category,
    Seed,
    Text,
    category,
    clauses,
    counts,
    markets,
    people,
    suits,
)
from salesllm.dialogue import Language
from salesllm.scenario import Domain
from salesllm.scenarios.products import draw_product

CATEGORIES: list[tuple[Domain, str]] = [
    *(("consumer", name) for name in CONSUMER_COUNTS),
    *(("financial", name) for name in FINANCIAL_COUNTS),
]
EVERY = pytest.mark.parametrize(("domain", "name"), CATEGORIES)
HAN = re.compile(r"[\u4e00-\u9fff]")


def said(level: Category | Seed) -> Iterator[tuple[str, Text]]:
    for name in ("motivations", "pain_points", "openers"):
        yield from ((name, text) for text in getattr(level, name))


def test_counts_are_the_papers() -> None:
    assert (len(CONSUMER_COUNTS), sum(CONSUMER_COUNTS.values())) == (33, 10_074)
    assert sum(FINANCIAL_COUNTS.values()) == 20_000
    assert counts("financial")["bank_deposits"] == 10_521


def test_there_is_enough_of_everything() -> None:
    assert all(len(category("consumer", name).seeds) >= 6 for name in CONSUMER_COUNTS)
    assert sum(len(category("financial", name).seeds) for name in FINANCIAL_COUNTS) == 300
    assert len({job.name.en for job in people().occupations}) >= 150
    assert len({city.name.en for city in people().cities}) >= 120
    assert {city.market for city in people().cities} == set(markets())
    for age in AGE_GROUPS:
        assert sum(age in home.ages for home in people().households) >= 14


@EVERY
def test_every_text_has_both_languages_and_no_amount_of_money(domain: Domain, name: str) -> None:
    found = category(domain, name)
    for kind, text in chain.from_iterable(map(said, (found, *found.seeds))):
        assert not HAN.search(text.en), text.en
        assert HAN.search(text.zh), text.zh
        assert not re.search(r"[¥$€£]\s?\d|\d\s?(?:yuan|dollars|元|美元)", text.en + text.zh), text
        if kind != "openers":
            assert not text.en.endswith("."), text.en
            assert not text.zh.endswith("。"), text.zh


@EVERY
def test_whoever_may_buy_has_something_to_say(domain: Domain, name: str) -> None:
    found = category(domain, name)
    assert len({seed.id for seed in found.seeds}) == len(found.seeds)
    general = clauses(domain)
    for level in (*found.seeds, found, general):
        for kind in ("motivations", "pain_points"):
            assert any(not text.needs for text in getattr(level, kind)), (level, kind)
    for openers in (found.openers, general.openings, *(seed.openers for seed in found.seeds)):
        assert any(not text.needs for text in openers)


@EVERY
def test_products_are_whole_in_every_market(domain: Domain, name: str) -> None:
    found, rng = category(domain, name), Random(0)
    places = cycle(markets())
    for seed in found.seeds:
        draft = draw_product("p", found, seed, next(places), rng)
        for language in get_args(Language):
            product = draft.product(language)
            texts = [product.name, product.price, *product.facts.values(), *product.selling_points]
            for level in (found, seed):
                texts += [draft.say(text, language) for _, text in said(level)]
            for text in texts:
                assert text.strip(), (seed.id, text)
                assert "{" not in text, (seed.id, text)
            assert len(product.facts) >= 4
            assert len(set(product.selling_points)) == len(product.selling_points) >= 3


def test_rates_rise_with_the_tenor() -> None:
    rng = Random(0)
    ladder = re.compile(r"([\d.]+)%")
    found, ladders = category("financial", "bank_deposits"), 0
    for seed in found.seeds:
        for _ in range(20):
            draft = draw_product("p", found, seed, rng.choice(list(markets())), rng)
            rates = [
                float(r) for r in ladder.findall(draft.product("en").facts.get("Interest rate", ""))
            ]
            terms = [name for name in draft.terms if re.fullmatch(r"r\d", name)]
            if len(terms) > 1:
                drawn = [draft.terms[name].value for name in sorted(terms)]
                assert drawn == sorted(drawn), (seed.id, drawn)
                ladders += 1
            assert all(0 < rate < 8 for rate in rates), (seed.id, rates)
    assert ladders


@pytest.mark.parametrize(
    ("needs", "tags", "expected"),
    [
        ((), set(), True),
        (("kids",), {"kids"}, True),
        (("kids", "woman"), {"kids"}, False),
        (("student|retired",), {"retired"}, True),
        (("!car",), {"car"}, False),
        (("!car|owner",), {"car", "owner"}, True),
    ],
)
def test_conditions(needs: tuple[str, ...], tags: set[str], expected: bool) -> None:
    assert suits(needs, frozenset(tags)) is expected
