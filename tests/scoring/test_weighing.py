"""The score from a judge's token probabilities: golden cases worked out by hand."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scenes import scene, turns

from salesllm.chat.base import Reply, Sampling, Token
from salesllm.dialogue import Dialogue, Message
from salesllm.scenario import Scenario
from salesllm.scoring.judge import SellingJudge
from salesllm.scoring.weighing import TOP, weighted_score

Said = str | Mapping[str, float]


def tokens(*said: Said) -> list[Token]:
    """Each a token, or what might stand there with its probability, the first being said."""
    made = []
    for each in said:
        top = tuple(
            (text, math.log(p)) for text, p in ({} if isinstance(each, str) else each).items()
        )
        text, logprob = top[0] if top else (str(each), 0.0)
        made.append(Token(text, logprob, top))
    return made


JSON = ('{"', "score", '":')
NINE = {"8": 0.6, "9": 0.2, "7": 0.1, "x": 0.1}  # (4.8 + 1.8 + 0.7) / 0.9
ONE = {"1": 0.5, "9": 0.3, "8": 0.2}


@pytest.mark.parametrize(
    ("said", "score", "weighted"),
    [
        ((*JSON, " ", NINE, ',"reason":"8 of 10"}'), 8, 7.3 / 0.9),
        ((*JSON, {" 8": 0.6, " 9": 0.2, " 7": 0.1, ' "': 0.1}, "}"), 8, 7.3 / 0.9),
        ((*JSON, ' "', {"8": 0.5, "9": 0.5}, '/10"}'), 8, 8.5),
        ((*JSON, {' "8"': 0.5, ' "9"': 0.5}, "}"), 8, 8.5),
        (({"8": 0.75, "6": 0.25},), 8, 7.5),
        (({"8": 0.75, "6": 0.25}, "/", "10"), 8, 7.5),
        (({"８": 0.75, "６": 0.25},), 8, 7.5),
        (("评分", "：", {"8": 0.75, "6": 0.25}, "分"), 8, 7.5),
        # Scores that are none: 11, 7.5, 85, -1.
        (({"8": 0.5, "11": 0.2, "7.5": 0.1, "85": 0.1, "-1": 0.1},), 8, 8.0),
        # "10" as one token: "1" is a one.
        (({"10": 0.5, "9": 0.4, "1": 0.1},), 10, 8.7),
        (({"8": 0.5, "10": 0.3, "1": 0.2},), 8, 7.2),
        # "10" as two tokens: the second shares out the mass of the first.
        ((*JSON, " ", ONE, {"0": 0.8, ",": 0.15, "}": 0.05}, "}"), 10, 4.0 + 0.1 + 2.7 + 1.6),
        ((*JSON, " ", ONE, {",": 0.8, "0": 0.2}), 1, 1.0 + 0.4 + 2.7 + 1.6),
        ((*JSON, " ", ONE, {"0}": 0.6, "5": 0.3, "}": 0.1}), 10, 7.35 / 0.85),
        (({"1": 0.5, "9": 0.5}, "0"), 10, 9.5),  # nothing beside the second: what was said
        (({"1": 0.5, "3": 0.5},), 1, 2.0),
        # "1" unsaid: 10 among high scores, 1 among low ones, 1 where it is closed.
        (({"9": 0.5, "1": 0.5},), 9, 9.5),
        (({"2": 0.5, "1": 0.5},), 2, 1.5),
        (({"9}": 0.5, "1}": 0.5},), 9, 5.0),
        (({"1}": 0.5, "1": 0.25, "2": 0.25}, "0"), 1, 1.25),
        # The last score under its name, as `parse` reads it, and not one that was only thought.
        (('{"score": ', {"8": 1.0}, '} no: {"score": ', {"8": 0.5, "9": 0.5}, "}"), 8, 8.5),
        (("<think>", {"8": 1.0}, "</think>", {"8": 0.5, "9": 0.5}), 8, 8.5),
        (("2 things. ", *JSON, {"2": 0.5, "4": 0.5}, "}"), 2, 3.0),
        # Nothing to weigh.
        ((*JSON, " ", "8", "}"), 8, None),
        ((*JSON, " ", NINE, "}"), 5, None),
        (("八", "分"), 8, None),
        ((), 8, None),
    ],
)
def test_golden(said: Sequence[Said], score: int, weighted: float | None) -> None:
    assert weighted_score(tokens(*said), score) == (weighted and pytest.approx(weighted))


@given(
    st.lists(
        st.dictionaries(st.text('0189. "{}:score', min_size=1), st.floats(1e-300, 1), min_size=1)
    ),
    st.integers(0, 10),
)
def test_any_tokens_give_a_score_or_none(said: list[dict[str, float]], score: int) -> None:
    weighted = weighted_score(tokens(*said), score)
    assert weighted is None or 0 <= weighted <= 10 + 1e-9


class Telling:
    """A judge that answers with these tokens, one reply after the other."""

    name = "telling"

    def __init__(self, *replies: Sequence[Token]) -> None:
        self.replies, self.asked = list(replies), list[Sampling]()

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, scenario: Scenario | None = None
    ) -> Reply:
        self.asked.append(sampling)
        told = self.replies.pop(0)
        return Reply("".join(token.text for token in told), tokens=tuple(told))


DIALOGUE = Dialogue(
    id="d", language="en", source="test", product_line="", turns=tuple(turns("Hi", "Hello"))
)


def test_the_judge_weighs_what_the_endpoint_tells() -> None:
    chat = Telling(tokens(*JSON, " ", NINE, "}"), tokens(*JSON, " ", {"6": 1.0}, "}"))
    rater = SellingJudge(chat, samples=2, weighted=True, sampling=Sampling(temperature=0.5))
    rated = asyncio.run(rater.rate(DIALOGUE, scene().product))
    assert rated.weighted
    assert rated.samples == (8, 6)
    assert rated.score == pytest.approx((7.3 / 0.9 + 6) / 2)
    assert {asked.top_logprobs for asked in chat.asked} == {TOP}


def test_without_probabilities_it_is_the_plain_integer() -> None:
    chat = Telling(tokens(*JSON, " ", NINE, "}"), tokens(*JSON, " ", "6", "}"))
    rater = SellingJudge(chat, samples=2, weighted=True, sampling=Sampling(temperature=0.5))
    rated = asyncio.run(rater.rate(DIALOGUE, scene().product))
    assert (rated.score, rated.weighted) == (7, False)


def test_nobody_asked_for_weights() -> None:
    chat = Telling(tokens(*JSON, " ", NINE, "}"))
    rated = asyncio.run(SellingJudge(chat).rate(DIALOGUE, scene().product))
    assert (rated.score, rated.weighted, chat.asked[0].top_logprobs) == (8, False, 0)
