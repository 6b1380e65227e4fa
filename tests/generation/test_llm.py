"""What the writer of the scenario space is shown, and which of its answers are taken."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from salesllm.dialogue import Language
from salesllm.generation.llm import SpaceWriter, estimate_space
from salesllm.generation.recipe import WrittenSpaceRecipe
from salesllm.scenarios.personas import draw_persona
from salesllm.scenarios.products import draw_product
from salesllm.scoring.ask import OffFormat

PRODUCT: dict[str, Any] = {
    "name": "青禾三年期存款", "price": "1万元起", "channel": "官方App",
    "facts": [{"label": k, "value": v} for k, v in
              {"品牌": "青禾银行", "年利率": "1.9%", "期限": "3年"}.items()],
    "selling_points": ["可以提前取", "到期自动转存", "提前取利息少"],
}  # fmt: skip
ATTRIBUTES: dict[str, Any] = {
    "motivations": "想存点钱。", "pain_points": "怕取不出来。",
    "decision_factors": ["core_quality", "brand_trust", "social_proof"],
    "communication_preferences": "喜欢打字", "initial_utterance": "你好，三年的多少？",
}  # fmt: skip


def tasks(language: Language = "zh", **changes: Any) -> SpaceWriter:
    values: dict[str, Any] = {
        "backend": "llm", "output_dir": "out", "language": language,
        "counts": {"Pet_Supplies": 3, "stocks": 3},
        "writer": {"provider": "endpoint", "model": "m", "base_url": "http://localhost/v1"},
    }  # fmt: skip
    return SpaceWriter(WrittenSpaceRecipe.model_validate(values | changes))


@pytest.mark.parametrize(("language", "label"), [("zh", "名称: "), ("en", "Name: ")])
def test_ten_seeds_or_a_target_and_five_neighbours(language: Language, label: str) -> None:
    writer = tasks(language)
    for slot in writer.slots:
        question = writer.product_task(slot, 0).render()
        assert question.count(label) == (10 if slot.category.domain == "financial" else 6)
        assert question == writer.product_task(slot, 0).render()
        assert question != writer.product_task(slot, 1).render()
    assert len({slot.id for slot in writer.slots}) == len(writer.slots) == 6


def test_amazon_items_take_the_place_of_the_catalogue(tmp_path: Path) -> None:
    path = tmp_path / "meta_Pet_Supplies.jsonl"
    rows = [{"title": f"Bowl {n}", "features": ["steel"]} for n in range(20)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    writer = tasks(amazon=[str(path)])
    consumer = [slot for slot in writer.slots if slot.category.domain == "consumer"]
    questions = [writer.product_task(slot, 0).render() for slot in consumer]
    assert all(question.count("Bowl ") == 6 for question in questions)
    assert len({slot.target for slot in consumer}) == 3
    before = writer.settings()
    path.write_text(path.read_text().replace("steel", "tin"))
    assert tasks(amazon=[str(path)]).settings() != before


def changed(record: dict[str, Any], **changes: Any) -> str:
    return json.dumps(record | changes, ensure_ascii=False)


def test_good_answers_are_taken() -> None:
    writer = tasks()
    assert writer.product_task(writer.slots[0], 0).parse(changed(PRODUCT)) == PRODUCT
    assert _attributes(writer, changed(ATTRIBUTES)) == ATTRIBUTES


def _attributes(writer: SpaceWriter, answer: str) -> dict[str, Any]:
    slot, rng = writer.slots[0], Random(0)
    product = draw_product(slot.id, slot.category, slot.seed, slot.market, rng)
    task = writer.attributes_task("s1", product, draw_persona("u1", slot.market, rng), 0)
    return task.parse(answer)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"facts": PRODUCT["facts"][1:] * 2}, "none labelled 品牌"),
        ({"facts": PRODUCT["facts"] * 2}, "a label twice"),
        ({"facts": []}, "`facts`: has too few items"),
        ({"selling_points": ["好", " ", "行"]}, r"`selling_points.1`: is empty"),
        ({"name": "{brand}三年期存款"}, "{brand} is not filled in"),
        ({"id": "x"}, "`id`: unknown field"),
    ],
)
def test_other_products_are_not(changes: dict[str, Any], problem: str) -> None:
    writer = tasks()
    with pytest.raises(OffFormat, match=problem):
        writer.product_task(writer.slots[0], 0).parse(changed(PRODUCT, **changes))


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"decision_factors": ["core_quality"] * 3}, "three or four different"),
        ({"decision_factors": ["price"]}, "unknown value 'price'"),
        ({"initial_utterance": "好的 [END]"}, "end marker"),
        ({"motivations": ""}, "`motivations`: is empty"),
    ],
)
def test_other_attributes_are_not(changes: dict[str, Any], problem: str) -> None:
    with pytest.raises(OffFormat, match=problem):
        _attributes(tasks(), changed(ATTRIBUTES, **changes))


def test_the_language_is_the_recipes() -> None:
    english = tasks("en")
    with pytest.raises(OffFormat, match="none labelled Brand"):
        english.product_task(english.slots[0], 0).parse(changed(PRODUCT))
    with pytest.raises(OffFormat, match="not in Chinese"):
        _attributes(tasks(), changed(ATTRIBUTES, motivations="I'd like to put some money by."))
    with pytest.raises(OffFormat, match="not in English"):
        _attributes(english, changed(ATTRIBUTES))


def test_an_estimate_counts_both_kinds_of_call() -> None:
    calls, usage = estimate_space(tasks())
    assert calls == 12
    assert usage.prompt_tokens > usage.completion_tokens > 12 * 50
