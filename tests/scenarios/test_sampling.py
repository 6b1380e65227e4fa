"""Sample scenarios: repeatable, apart by split, nothing left unfilled."""

from __future__ import annotations

import re
from typing import get_args

import pytest

from salesllm import catalog
from salesllm.catalog import Split
from salesllm.dialogue import Language, Speaker
from salesllm.scenario import Difficulty, Scenario, read_scenarios, write_scenarios
from salesllm.scenarios.sampling import sample_scenarios

LANGUAGES = get_args(Language)
SPLITS: tuple[Split, ...] = get_args(Split)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_same_seed_gives_the_same_bytes(language, tmp_path):
    for name in ("a", "b"):
        write_scenarios(tmp_path / name, sample_scenarios(language, 30, seed=4))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert read_scenarios(tmp_path / "a") == sample_scenarios(language, 30, seed=4)
    assert sample_scenarios(language, 30, seed=5) != sample_scenarios(language, 30, seed=4)


def test_a_shorter_draw_is_the_beginning_of_a_longer_one():
    assert sample_scenarios("en", 40)[:7] == sample_scenarios("en", 7)


@pytest.mark.parametrize("language", LANGUAGES)
def test_splits_share_no_product(language):
    products = {
        split: {s.product.id for s in sample_scenarios(language, 80, split=split)}
        for split in SPLITS
    }
    assert products["train"] == set(catalog.goods(language, "train"))
    assert products["test"] == set(catalog.goods(language, "test"))
    assert not products["train"] & products["test"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_splits_share_no_phrase(language):
    def words(text: str) -> str:
        return re.sub(r"[\W_]+", "", text.lower()) or text

    phrases = {
        split: {
            words(p)
            for key in catalog.phrase_keys(language)
            if not key.startswith("channel")
            for p in catalog.phrases(language, key, split)
        }
        | {
            words(q)
            for k in catalog.topics(language)
            for q in catalog.questions(language, k, split)
        }
        for split in SPLITS
    }
    assert not phrases["train"] & phrases["test"]
    assert len(phrases["test"]) > 100


@pytest.mark.parametrize("language", LANGUAGES)
def test_both_splits_have_phrases_of_every_kind(language):
    for key in catalog.phrase_keys(language):
        for split in SPLITS:
            assert catalog.phrases(language, key, split), (key, split)


def test_difficulties_take_turns_and_can_be_chosen():
    drawn = [s.difficulty for s in sample_scenarios("zh", 50)]
    assert {d: drawn.count(d) for d in Difficulty} == dict.fromkeys(Difficulty, 10)
    hard = sample_scenarios("zh", 6, difficulties=[Difficulty.HARD])
    assert {(s.difficulty, s.propensity) for s in hard} == {(Difficulty.HARD, 0.2)}


def test_baby_goods_go_to_parents():
    for language in LANGUAGES:
        for scenario in sample_scenarios(language, 150):
            wanted = catalog.goods(language)[scenario.product.id].household
            assert wanted in (None, *catalog.people(language)[scenario.persona.id].tags)


def texts(scenario: Scenario) -> list[str]:
    product, attributes = scenario.product, scenario.attributes
    return [
        attributes.initial_utterance,
        attributes.motivations,
        attributes.pain_points,
        attributes.communication_preferences,
        *product.facts.values(),
        *product.selling_points,
        *scenario.scripts.values(),
    ]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("split", SPLITS)
def test_scenarios_are_whole_and_in_one_language(language, split):
    scenarios = sample_scenarios(language, 120, seed=1, split=split)
    assert len({s.id for s in scenarios}) == 120
    for scenario in scenarios:
        for text in texts(scenario):
            assert text.strip()
            assert not re.search(r"[{}<>|]", text)
            assert language == "zh" or not re.search(r"[\u4e00-\u9fff]", text)
        assert scenario.product.price in scenario.script(Speaker.SALESPERSON)
        assert scenario.attributes.motivations in scenario.script(Speaker.CUSTOMER)
        assert scenario.attributes.motivations not in scenario.script(Speaker.SALESPERSON)
