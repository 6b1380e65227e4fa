"""The rule-based rater on cases judged by hand."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenes import turns

from salesllm.dialogue import Language
from salesllm.scoring.rules import Kind, find_evidence, rate

# Short answers and what the customer did, labelled by hand: language -> outcome -> answers.
GOLDEN: dict[Language, dict[str, list[str]]] = json.loads(
    Path(__file__).with_name("rules_golden.json").read_text(encoding="utf-8")
)


def kinds(answer: str, language: Language) -> list[str | None]:
    pitch = "It is a good one." if language == "en" else "这款不错的。"
    return [e.kind for e in find_evidence(turns("hello", pitch, answer), language)]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("OK, I'll take it.", [Kind.COMMITMENT]),
        ("Alright, sign me up", [Kind.COMMITMENT]),
        ("Great. Where do I pay?", [Kind.COMMITMENT]),
        ("A warranty is not needed, I’ll take it.", [Kind.COMMITMENT]),
        ("Could you call me back on Monday", [Kind.NEXT_STEP]),
        ("Tomorrow at 5 then", [Kind.NEXT_STEP]),
        ("My budget is $3.50 a day.", [Kind.INFORMATION]),
        ("It's for my mother", [Kind.INFORMATION]),
        ("Ah, that makes sense.", [Kind.RESOLVED]),
        ("No, thanks.", [Kind.REFUSAL]),
        ("Sorry, I'm not interested", [Kind.REFUSAL]),
        ("We don't need it.", [Kind.REFUSAL]),
        ("I'll take it. Wait, I changed my mind.", [Kind.COMMITMENT, Kind.WITHDRAWAL]),
        ("I'll take it. Hm, actually it's not for me.", [Kind.COMMITMENT, Kind.WITHDRAWAL]),
        # and what is none of it
        ("Is there a goodbye gift?", []),
        ("If it were cheaper, I'd take it, maybe I'll buy it.", []),
        ("Should I go ahead and buy it?", []),
        ("Can I cancel it later?", []),
        ("If I changed my mind, could I return it?", []),
        ("Not right now, sorry.", []),
        ("How much is it?", []),
        ("My neighbour bought one.", []),
    ],
)
def test_english_answers(answer: str, expected: list[Kind]) -> None:
    assert kinds(answer, "en") == expected


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ("行，我要了", [Kind.COMMITMENT]),
        ("那就这么定了", [Kind.COMMITMENT]),
        ("好，怎么付款？", [Kind.COMMITMENT]),
        ("成交！", [Kind.COMMITMENT]),
        ("明天下午我过去看看", [Kind.NEXT_STEP]),
        ("你加我微信吧", [Kind.NEXT_STEP]),
        ("我预算也就三千", [Kind.INFORMATION]),
        ("这个得老婆说了算", [Kind.INFORMATION]),
        ("那我就放心了", [Kind.RESOLVED]),
        ("嗯，有道理", [Kind.RESOLVED]),
        ("我不需要了", [Kind.REFUSAL]),
        ("谢谢，没兴趣", [Kind.REFUSAL]),
        ("我要了。哎，还是不要了", [Kind.COMMITMENT, Kind.WITHDRAWAL]),
        ("我买了！算了", [Kind.COMMITMENT, Kind.WITHDRAWAL]),
        # and what is none of it
        ("我要了解一下再说", []),
        ("便宜点我就要了", []),
        ("要是能送货，那就定了", []),
        ("同事买了一个", []),
        ("还没下单呢", []),
        ("买了以后能退吗？", []),
        ("先不买，再看看", []),
        ("多少钱", []),
    ],
)
def test_chinese_answers(answer: str, expected: list[Kind]) -> None:
    assert kinds(answer, "zh") == expected


def outcome(answer: str, language: Language) -> str:
    pitch = "It is a good one." if language == "en" else "这款不错的。"
    score = rate(turns("hello", pitch, answer), language).score
    assert score is not None
    return "bought" if score >= 8 else "refused" if score <= 1 else "neither"


@pytest.mark.parametrize(
    ("answer", "language", "expected"),
    [
        (answer, language, expected)
        for language, outcomes in GOLDEN.items()
        for expected, answers in outcomes.items()
        for answer in answers
    ],
)
def test_golden_answers(answer: str, language: Language, expected: str) -> None:
    assert outcome(answer, language) == expected


@pytest.mark.parametrize(
    ("answer", "language"),
    [  # refusals without a word of refusing: no evidence, so they rate as undecided
        ("Yeah right, like I'd buy that.", "en"),  # sarcasm
        ("Oh sure, I'll buy it when hell freezes over.", "en"),  # a condition that is none
        ("You must be joking, bye", "en"),  # may be about the price
        ("谁爱买谁买", "zh"),  # "whoever likes may buy it"
        ("傻子才买", "zh"),  # "only fools buy this"
        ("你留着自己用吧", "zh"),  # "keep it for yourself"
        ("当我冤大头啊", "zh"),  # "do you take me for a sucker"
    ],
)
def test_known_limits(answer: str, language: Language) -> None:
    assert outcome(answer, language) == "neither"


@pytest.mark.parametrize(
    ("answers", "language", "score"),
    [
        (["No thanks."], "en", 0),
        (["It's for my mother.", "Sorry, not interested."], "en", 1),
        (["I'll take it.", "Wait, I changed my mind."], "en", 0),
        (["Hm.", "And the colour?"], "en", 2),
        (["It's for my mother."], "en", 3),
        (["Fair enough."], "en", 4),
        (["It's for my mother.", "Fair enough."], "en", 5),
        (["Call me tomorrow."], "en", 6),
        (["It's for my mother.", "Call me tomorrow."], "en", 7),
        (["I'll take it."], "en", 8),
        (["Fair enough.", "I'll take it."], "en", 9),
        (["I'll take it.", "Tomorrow at 5 then."], "en", 10),
        (["Not interested.", "Fair enough.", "OK, I'll take it."], "en", 9),
        (["Call me tomorrow.", "No thanks.", "OK, I'll take it."], "en", 8),
        (["Hm.", "No."], "en", 0),
        (["No.", "And the colour?"], "en", 2),  # it answered some question
        (["I'll take it.", "No."], "en", 8),  # nothing else, that is
        (["Call me tomorrow.", "No."], "en", 6),
        (["No thanks.", "Yes please"], "en", 0),
        (["OK, I’ll take it 🙂"], "en", 8),
        (["I won't take it if it is used"], "en", 2),
        (["不用", "多少钱"], "zh", 2),
        (["行，我要了", "不用了", "不"], "zh", 0),
        (["行，我要了", "不"], "zh", 8),
        (["那就定一个👌"], "zh", 8),
        (["不用谢"], "zh", 2),
        (["那我想不想买呢"], "zh", 2),
        (["滚筒的多少钱"], "zh", 2),
        (["不了解这个"], "zh", 2),
        (["不需要"], "zh", 0),
        (["给我妈用的", "算了"], "zh", 1),
        (["哦", "还有呢"], "zh", 2),
        (["那我就放心了"], "zh", 4),
        (["周六我过去看看"], "zh", 6),
        (["行，我要了"], "zh", 8),
        (["我预算三千", "行，我要了"], "zh", 9),
        (["行，我要了", "合同发我"], "zh", 10),
    ],
)
def test_bands(answers: list[str], language: Language, score: int) -> None:
    said = [text for answer in answers for text in ("And what do you say?", answer)]
    rated = rate(turns("hello", *said), language)
    assert rated.score == score
    for evidence in rated.evidence:
        assert evidence.turn is not None
        assert evidence.turn % 2 == 0  # a turn of the customer's


def test_only_the_customers_answers_are_evidence() -> None:
    pushy = turns("I'll take it, my budget is $50", "I'll take it! Sign me up! Deal!", "hm")
    assert rate(pushy, "en").score == 2
    assert rate(pushy, "en").evidence == ()
    assert rate(pushy, "en").reason == "no evidence"


@given(st.lists(st.text(min_size=1).filter(str.strip)), st.sampled_from(["zh", "en"]))
def test_any_text_has_a_score_on_the_scale(texts: list[str], language: Language) -> None:
    rated = rate(turns(*texts), language)
    assert rated.score in range(11)
    assert rated == rate(turns(*texts), language)
