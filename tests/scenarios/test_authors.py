"""Rows in the released benchmark's format: what is found in their prompts, what is left open."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from scenes import scene

from salesllm.chat.base import Sampling
from salesllm.chat.scripted import ScriptedCustomer, ScriptedSalesperson
from salesllm.dialogue import Message, Speaker
from salesllm.errors import InputError
from salesllm.files import read_jsonl, write_jsonl
from salesllm.scenario import (
    DecisionFactor,
    Difficulty,
    PartialScenario,
    Scenario,
    read_scenarios,
    write_scenarios,
)
from salesllm.scenarios.authors import AuthorsRow, load_scenarios, read_authors_rows
from salesllm.scenarios.prompt_fields import customer_fields, product_fields, read_pairs
from salesllm.scenarios.scripts import customer_script, script_of

ROWS = Path(__file__).parent / "authors_rows.jsonl"


def row(**more: Any) -> dict[str, Any]:
    return {
        "id": "r",
        "language": "english",
        "user_system_prompt": "- Difficulty level: easy\n- Buy-inclination score: 0.9",
        "assistant_system_prompt": "PRODUCT_INFORMATION:\nTitle: Halo\nPrice: $39\nRules:\n-",
        "trigger_sentence_en": "Is the kettle any good?",
        "trigger_sentence_zh": "这个水壶好用吗？",
    } | more


def test_every_row_is_read_and_its_prompts_are_the_scripts() -> None:
    raw = [value for _, value in read_jsonl(ROWS)]
    for language in ("en", "zh"):
        scenarios = read_authors_rows(ROWS, language)
        assert [s.language for s in scenarios] == [language] * 16
        assert len({s.id for s in scenarios}) == 16
        for scenario, value in zip(scenarios, raw, strict=True):
            assert script_of(scenario, Speaker.CUSTOMER) == value["user_system_prompt"]
            assert script_of(scenario, Speaker.SALESPERSON) == value["assistant_system_prompt"]


def test_fields_are_found_in_either_layout() -> None:
    english = read_authors_rows(ROWS, "en")
    chinese = read_authors_rows(ROWS, "zh")

    kettle = english[0]
    assert not isinstance(kettle, PartialScenario)
    assert kettle.product.name == "Brackwell Quiet Boil Electric Kettle, 1.7 L"
    assert (kettle.product.price, kettle.product.category) == ("49.99", "Appliances")
    assert kettle.product.facts["Capacity"] == "1.7 litres"
    assert len(kettle.product.selling_points) == 3
    assert (kettle.persona.age_group, kettle.persona.city) == ("41", "Leeds")
    assert (kettle.difficulty, kettle.propensity) == (Difficulty.MEDIUM, 0.6)
    assert kettle.attributes.decision_factors[0] is DecisionFactor.RETURNS_AND_TOTAL_COST
    assert kettle.attributes.initial_utterance.startswith("Hi, how long")

    headed = english[1]  # headings with the text below, a product in JSON
    assert headed.product.facts["Weight"] == "190 g"
    assert headed.persona.occupation == "delivery rider"
    assert headed.attributes.pain_points == "Cheap power banks he had before got hot."
    assert headed.attributes.communication_preferences == "Chatty, answers quickly."

    bare = english[2]  # "key": "value" pairs without braces
    assert bare.persona.occupation == "bus driver"

    full_width = chinese[10]
    assert (full_width.persona.city, full_width.product.price) == ("苏州", "168元")
    assert full_width.attributes.motivations == "孩子晚上总踢被子，想找个睡袋。"
    assert chinese[14].attributes.pain_points == "以前被人劝着买过看不懂的理财。"
    levels = ["medium", "hard", "easy", "medium", "very_hard", "easy"]
    assert [s.difficulty for s in chinese[10:]] == levels
    assert english[6].product.domain == "financial"


def test_what_is_not_there_stays_blank() -> None:
    _, _, unsold, stranger, unmoved, *_ = read_authors_rows(ROWS, "en")
    assert isinstance(unsold, PartialScenario)
    assert (unsold.product.name, unsold.product.facts) == ("", {})
    assert stranger.persona.occupation == stranger.attributes.motivations == ""
    assert unmoved.attributes.motivations == ""
    assert unmoved.attributes.pain_points


def test_scenarios_about_one_product_share_its_id() -> None:
    scenarios = read_authors_rows(ROWS, "en")
    ids = [s.product.id for s in scenarios]
    assert ids[0] == ids[9]
    assert len(set(ids)) == 15  # two rows without a product are not about the same one


def test_a_repeated_id_gets_a_number() -> None:
    scenarios = read_authors_rows(ROWS, "en")
    assert scenarios[9].id == f"{scenarios[0].id}#2"


def test_the_other_opener_stands_in_for_a_missing_one() -> None:
    scenario = read_authors_rows(ROWS, "en")[7]
    assert scenario.attributes.initial_utterance == "这个遮光窗帘白天拉上够黑吗？"


@pytest.mark.parametrize(
    ("word", "score", "difficulty", "propensity"),
    [
        ("very hard", "0.1", "very_hard", 0.1),
        ("Very_Hard (sceptical)", "0.1", "very_hard", 0.1),
        ("困难", "0.3", "hard", 0.3),
        ("brutal", "0.07", "adversarial", 0.07),
        ("brutal", "0.75", "easy", 0.75),
        ("easy", "80%", "easy", 0.8),
        ("easy", "8/10", "easy", 0.8),
        ("hard", "unknown", "hard", 0.2),
        ("hard", "7", "hard", 0.2),
        ("hard", "1/0", "hard", 0.2),
        ("", "", "medium", 0.5),
    ],
)
def test_difficulty_and_propensity(
    word: str, score: str, difficulty: str, propensity: float
) -> None:
    prompt = f"- Difficulty level: {word}\n- Buy-inclination score: {score}\n- Persona: x"
    found = AuthorsRow(row(user_system_prompt=prompt)).scenario("en", "r")
    assert (found.difficulty, found.propensity) == (difficulty, propensity)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("user_system_prompt", 3),
        ("user_system_prompt", " "),
        ("assistant_system_prompt", None),
        ("trigger_sentence_en", "Bye. [END]"),
    ],
)
def test_a_row_that_cannot_be_played_is_refused(tmp_path: Path, field: str, value: Any) -> None:
    path = tmp_path / "rows.jsonl"
    write_jsonl(path, [row(), row(**{field: value})])
    with pytest.raises(InputError) as caught:
        read_authors_rows(path, "en")
    assert (caught.value.path, caught.value.line, caught.value.field) == (path, 2, field)


def test_a_row_without_any_opener_is_refused() -> None:
    with pytest.raises(InputError, match="holds no text"):
        AuthorsRow(row(trigger_sentence_en="", trigger_sentence_zh=None)).scenario("en", "r")


def test_the_language_is_asked_for_where_it_matters(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="`language`: zh or en"):
        load_scenarios(ROWS)
    ours = tmp_path / "ours.jsonl"
    write_scenarios(ours, [scene("zh")])
    assert load_scenarios(ours) == [scene("zh")]
    with pytest.raises(InputError, match="say their language themselves"):
        load_scenarios(ours, "zh")


def test_other_readers_say_who_takes_such_rows() -> None:
    with pytest.raises(InputError, match=r"eval/benchmark\.py"):
        read_scenarios(ROWS)


def speak(scenario: Scenario) -> list[str]:
    """One line of each scripted side."""
    heard = [Message(role="user", content="Hi, how much is the kettle?")]
    sides = (ScriptedSalesperson(), ScriptedCustomer())
    return [asyncio.run(s.reply(heard, Sampling(seed=1), scenario)).text for s in sides]


def test_scripted_speakers_play_rows_that_are_whole() -> None:
    scenarios = read_authors_rows(ROWS, "en")
    assert all(speak(scenarios[0]))
    with pytest.raises(InputError, match="needs all fields of a scenario"):
        speak(scenarios[4])


def test_nothing_is_rendered_from_fields_that_are_missing() -> None:
    scenario = read_authors_rows(ROWS, "en")[4]
    with pytest.raises(InputError, match="the customer's brief needs all fields"):
        script_of(scenario, Speaker.CUSTOMER, "brief")
    with pytest.raises(InputError, match="needs all fields"):
        customer_script(scenario)


def test_products_in_free_text() -> None:
    fields = product_fields("Halo kettle\nBoils a litre in three minutes.\nComes in blue.")
    assert fields["name"] == "Halo kettle"
    assert fields["selling_points"] == ["Boils a litre in three minutes.", "Comes in blue."]


def test_pairs_of_any_form() -> None:
    person = '{"age": 30, "pets": ["cat", "dog"], "car": null}'
    assert read_pairs(person) == {"age": "30", "pets": "cat, dog"}
    assert read_pairs('"age": 30, "city": "Leeds"') == {"age": "30", "city": "Leeds"}
    assert read_pairs("age: 30, city: Leeds") == {"age": "30", "city": "Leeds"}
    assert read_pairs("just a nurse from Leeds") == {}


def test_rules_are_no_part_of_the_last_section() -> None:
    prompt = "Language\nEnglish\n\nRules:\n- Be brief."
    assert customer_fields(prompt) == {"language": "English"}
