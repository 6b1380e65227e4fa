"""The filter of translations, on scenarios that our catalogue has in both languages."""

from __future__ import annotations

import re

import pytest

from salesllm.generation.faithful import faults, in_language, placeholders, texts, with_texts
from salesllm.generation.recipe import TranslationRecipe
from salesllm.scenario import Scenario
from salesllm.scenarios.space import draw_space

RATIO: tuple[float, float] = TranslationRecipe.model_fields["length_ratio"].default
FIGURE = re.compile(r"\d+")


@pytest.fixture(scope="module")
def pairs() -> list[tuple[Scenario, Scenario]]:
    counts = dict.fromkeys(("Books", "Pet_Supplies", "Electronics", "Video_Games"), 65)
    space = draw_space(
        {"consumer": counts, "financial": {"stocks": 130, "insurance": 130}},
        300, language="zh", seed=7,
    )  # fmt: skip
    drafts = space.scenarios
    return [(d.scenario("zh", scripts=False), d.scenario("en", scripts=False)) for d in drafts]


def found(zh: Scenario, english: dict[str, str], en: Scenario) -> list[str]:
    names = {zh.product.facts["品牌"]: en.product.facts["Brand"]}
    return faults(texts(zh), english, names, RATIO)


def test_most_of_what_our_catalogue_says_twice_is_faithful(
    pairs: list[tuple[Scenario, Scenario]],
) -> None:
    assert len(pairs) >= 500
    passed = sum(not found(zh, texts(en), en) for zh, en in pairs)
    # What fails says different things in the two languages ("over-55s").
    assert passed / len(pairs) > 0.93


def test_a_changed_figure_is_found(pairs: list[tuple[Scenario, Scenario]]) -> None:
    tried = 0
    for zh, en in pairs:
        english = texts(en)
        before = found(zh, english, en)
        place = next((p for p, t in english.items() if len(FIGURE.findall(t)) == 1), None)
        if place is None:
            continue
        changed = FIGURE.sub(lambda m: str(int(m[0]) + 1007), english[place])
        assert set(found(zh, english | {place: changed}, en)) - set(before), changed
        tried += 1
    assert tried > 400


def test_another_name_for_the_brand_is_found(pairs: list[tuple[Scenario, Scenario]]) -> None:
    zh, en = pairs[0]
    brand = zh.product.facts["品牌"]
    problems = faults(texts(zh), texts(en), {brand: "Otherwise"}, RATIO)
    assert any(p.endswith(f"{brand} is not called Otherwise") for p in problems)


@pytest.mark.parametrize(
    ("zh", "en", "problem"),
    [
        ("当天发货", "", "it is empty"),
        ("当天发货", "ships 当天", "it is not in English"),
        ("当天发货", "ships from {city}", "{city} is not filled in"),
        ("当天发货", "ships from [city name]", "[city name] is not filled in"),
        ("一到周末就想出去走走，不想在家待着", "Yes.", "4 characters for 17"),
    ],
)
def test_what_else_is_wrong(zh: str, en: str, problem: str) -> None:
    assert faults({"t": zh}, {"t": en}, {}, RATIO) == [f"t: {problem}"]


def test_ordinary_brackets_are_no_placeholders() -> None:
    assert placeholders("[NEW] 5 < 6, {}_ x XL sizes, <3") == []
    assert in_language("8 GB", "en")
    assert not in_language("8 GB", "zh")


def test_texts_go_back_where_they_came_from(pairs: list[tuple[Scenario, Scenario]]) -> None:
    for zh, en in pairs[:50]:
        assert with_texts(zh, texts(en), en.id, "en") == en
