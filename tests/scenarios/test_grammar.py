"""Sample dialogues: repeatable, natural in shape, honest about the product, outcome readable."""

from __future__ import annotations

import re
import statistics
from collections import Counter
from functools import cache
from itertools import pairwise
from random import Random
from typing import get_args

import pytest

from salesllm import catalog
from salesllm.dialogue import Dialogue, Language, Speaker, Turn, read_dialogues, write_dialogues
from salesllm.scenario import Difficulty, Scenario
from salesllm.scenarios.grammar import Plan, customer_line, draw_plan, sample_dialogues
from salesllm.scenarios.phrasing import Phrasing
from salesllm.scenarios.salesperson import salesperson_line, understand
from salesllm.scenarios.sampling import sample_scenarios

LANGUAGES = get_args(Language)
SALES_KEYS = ("answer", "benefit", "close", "cold", "confirm", "evidence", "greet", "last_try",
              "pitch", "probe", "trial", "understand", "unknown")  # fmt: skip
CUSTOMER, SALESPERSON = Speaker.CUSTOMER, Speaker.SALESPERSON


@cache
def scenarios(language: Language, split: catalog.Split = "train") -> list[Scenario]:
    return sample_scenarios(language, 200, seed=2, split=split)


@cache
def sample(language: Language, split: catalog.Split = "train") -> list[Dialogue]:
    return sample_dialogues(scenarios(language, split), seed=2, split=split)


def said(dialogue: Dialogue, speaker: Speaker) -> list[str]:
    return [turn.text for turn in dialogue.turns if turn.speaker is speaker]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_same_seed_gives_the_same_bytes(language, tmp_path):
    few = scenarios(language)[:20]
    for name in ("a", "b"):
        dialogues = sample_dialogues(few, seed=3, split="train", per_scenario=2)
        write_dialogues(tmp_path / name, dialogues)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert len(read_dialogues(tmp_path / "a")) == 40  # ids are unique
    assert sample_dialogues(few, seed=4, split="train")[0].turns != dialogues[0].turns


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("split", ["train", "test"])
def test_dialogues_are_whole(language, split):
    for dialogue in sample(language, split):
        speakers = [turn.speaker for turn in dialogue.turns]
        assert 4 <= len(speakers) <= 13
        assert all(a is not b for a, b in pairwise(speakers))
        assert not any(re.search(r"[{}\[\]<>|]", turn.text) for turn in dialogue.turns)
        lines = said(dialogue, SALESPERSON)
        assert len(set(lines)) == len(lines)  # it does not repeat itself


@pytest.mark.parametrize("language", LANGUAGES)
def test_customers_are_short_and_salespeople_are_not(language):
    def length(text: str) -> int:
        return len(text.split()) if language == "en" else len(re.sub(r"\W", "", text))

    customer = [length(t) for d in sample(language) for t in said(d, CUSTOMER)]
    salesperson = [length(t) for d in sample(language) for t in said(d, SALESPERSON)]
    assert 5 <= statistics.median(customer) <= 11
    assert statistics.median(salesperson) > 2 * statistics.median(customer)
    assert max(customer) < 40


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_customer_mostly_opens_with_its_initial_utterance(language):
    pairs = list(zip(scenarios(language), sample(language), strict=True))
    opened = [d.turns[0].text == s.attributes.initial_utterance for s, d in pairs]
    assert 0.8 < statistics.mean(opened) < 0.95
    assert {d.turns[0].speaker for _, d in pairs} == {CUSTOMER, SALESPERSON}


@pytest.mark.parametrize("language", LANGUAGES)
def test_purchases_follow_the_propensity(language):
    for difficulty in Difficulty:
        scenario = next(s for s in scenarios(language) if s.difficulty is difficulty)
        outcomes = Counter(draw_plan(scenario, Random(i)).outcome for i in range(1000))
        assert outcomes["bought"] / 1000 == pytest.approx(difficulty.propensity, abs=0.05)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_last_customer_message_tells_the_outcome(language):
    wrong = 0
    for scenario, dialogue in zip(scenarios(language), sample(language), strict=True):
        meaning, _ = understand(scenario, said(dialogue, CUSTOMER)[-1])
        wrong += (meaning == "agree") != (dialogue.outcome == "bought")
    assert wrong <= 0.03 * len(sample(language))  # slips make a few unreadable for rules


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_earlier_message_does_not_tell_the_outcome(language):
    """Some who said "maybe later" buy, and some who all but agreed do not."""
    ends = Counter()
    for scenario, dialogue in zip(scenarios(language), sample(language), strict=True):
        meanings = [understand(scenario, text)[0] for text in said(dialogue, CUSTOMER)]
        ends.update((m, dialogue.outcome) for m in meanings[:-1])
    for meaning in ("refuse_soft", "conditional", "interest"):
        assert min(ends[meaning, "bought"], ends[meaning, "declined"]) >= 2, meaning


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("split", ["train", "test"])
def test_the_salesperson_states_no_figure_of_its_own(language, split):
    for scenario, dialogue in zip(scenarios(language, split), sample(language, split), strict=True):
        product = scenario.product
        known = " ".join([product.name, product.price, *product.facts.values()])
        known += " ".join(product.selling_points)
        for text in said(dialogue, SALESPERSON):
            assert set(re.findall(r"\d+", text)) <= set(re.findall(r"\d+", known)), text


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_phrase_of_the_salesperson_holds_a_figure(language):
    keys = [k for k in catalog.phrase_keys(language) if k.startswith(SALES_KEYS)]
    assert len(keys) > 20
    for key in keys:
        for split in ("train", "test"):
            assert not [p for p in catalog.phrases(language, key, split) if re.search(r"\d", p)]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("split", ["train", "test"])
def test_a_question_is_answered_with_its_fact(language, split):
    seen = set()
    for scenario in scenarios(language, split):
        if scenario.product.id in seen:
            continue
        seen.add(scenario.product.id)
        asked = {
            topic.label: catalog.questions(language, key, split)
            for key, topic in catalog.topics(language).items()
        }
        specs = catalog.goods(language)[scenario.product.id].specs
        asked |= {label: (question,) for label, (_, question) in specs.items()}
        for label, fact in scenario.product.facts.items():
            right = 0
            for question in asked[label]:
                turns = (Turn(speaker=CUSTOMER, text=question),)
                reply = salesperson_line(scenario, turns, rng=Random(0), split=split)
                right += fact.lower() in reply.lower()
            assert right >= 0.8 * len(asked[label]), (scenario.product.name, label)


ANSWERS = {
    "agree": "close_bought",
    "rude": "close_rude",
    "hangup": "close_declined",
    "conditional": "confirm",
    "haggle": "answer_haggle",
    "objection_trust": "answer_trust",
    "pitch_back": "answer_pitch_back",
}
MESSAGES: dict[Language, dict[str, str]] = {
    "en": {
        "agree": "ok ill take it",
        "rude": "stop wasting my time",
        "hangup": "gotta go. bye",
        "conditional": "if that's really true i'd take it",
        "haggle": "can you do $10?",
        "objection_trust": "never heard of you",
        "pitch_back": "How can I help you today? We offer a wide range of products.",
    },
    "zh": {
        "agree": "行 我要了",
        "rude": "烦不烦啊",
        "hangup": "挂了啊",
        "conditional": "要真像你说的，我就办",
        "haggle": "便宜点呗",
        "objection_trust": "没听说过你们",
        "pitch_back": "请问有什么可以帮您？我们的产品非常适合您。",
    },
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("meaning", ANSWERS)
def test_the_salesperson_answers_what_was_said(language, meaning):
    scenario, rng = scenarios(language)[0], Random(1)
    turns = [Turn(speaker=CUSTOMER, text="Hello." if language == "en" else "你好")]
    text = salesperson_line(scenario, turns, rng=rng)
    turns += [Turn(speaker=SALESPERSON, text=text)]
    turns += [Turn(speaker=CUSTOMER, text=MESSAGES[language][meaning])]
    assert understand(scenario, turns[-1].text)[0] == meaning
    reply = salesperson_line(scenario, turns, rng=rng)
    words = Phrasing.of(scenario, (), SALESPERSON, rng=rng, split="train")
    assert any(words.pick([p]) in reply for p in words.phrases(ANSWERS[meaning]))


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_salesperson_tries_once_more_after_a_soft_refusal(language):
    scenario, rng = scenarios(language)[0], Random(1)
    later = "maybe another time" if language == "en" else "下次再说吧"
    turns = [Turn(speaker=CUSTOMER, text=later)]
    words = Phrasing.of(scenario, (), SALESPERSON, rng=rng, split="train")
    first = salesperson_line(scenario, turns, rng=rng)
    assert first.startswith(words.phrases("last_try"))
    turns += [Turn(speaker=SALESPERSON, text=first), Turn(speaker=CUSTOMER, text=later)]
    assert salesperson_line(scenario, turns, rng=rng) in words.phrases("close_declined")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_salesperson_always_has_something_to_say(language):
    """Even to a customer who only ever repeats itself, over twenty rounds."""
    scenario = scenarios(language)[0].model_copy(deep=True)
    bare = scenario.model_copy(
        update={"product": scenario.product.model_copy(update={"facts": {}, "selling_points": ()})}
    )
    for each in (scenario, bare):
        for text in ("hm", "what?", "嗯", "Would you like to buy our product?"):
            turns: list[Turn] = []
            for _ in range(20):
                turns.append(Turn(speaker=CUSTOMER, text=text))
                reply = salesperson_line(each, turns, rng=Random(len(turns)))
                turns.append(Turn(speaker=SALESPERSON, text=reply))  # refuses a blank one


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_customer_names_no_price_that_was_not_told(language):
    for scenario, dialogue in zip(scenarios(language), sample(language), strict=True):
        told = ""
        for turn in dialogue.turns:
            if turn.speaker is CUSTOMER and scenario.product.price in turn.text:
                assert scenario.product.price in told
            told += turn.text


def test_a_customer_asked_beyond_its_plan_keeps_to_its_end():
    scenario, rng = scenarios("en")[0], Random(0)
    plan = Plan(("opener", "hangup"), "declined")
    turns = [Turn(speaker=CUSTOMER, text="hi")] * 4
    text, last = customer_line(scenario, plan, turns, rng=rng, split="train")
    assert last
    assert text
