"""The score that a judge's probabilities give, where the endpoint tells them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence

from salesllm.chat.base import Token

TOP = 20
"""So many of the likeliest tokens are asked for: the most that endpoints tell."""

_NUMBER = re.compile(r"(?P<key>(?:score|评分|得分|分数)\W{0,6})?(?P<number>\d+)", re.IGNORECASE)
_SCORE = re.compile(r"[\s\"“:]*(?P<number>10|\d)(?P<closed>[^\d.])?(?![\d.])", re.DOTALL)


def weighted_score(tokens: Sequence[Token], score: int) -> float | None:
    """The mean of 0-10 under the probabilities at the token that says the score.

    What is likely there and is no score is left out, and the rest renormalised. Where "10" is two
    tokens, the mass of "1" is shared between 1 and 10 as the token after it says. Nothing says it
    where the judge wrote another digit: "1" then counts as whichever is nearer to the others.

    Args:
        tokens: Those of the whole reply.
        score: What was read from it.

    Returns:
        0-10; None where the tokens do not show this score, or none of those beside it.
    """
    place = _place(tokens, score)
    if place is None or not tokens[place].top:
        return None
    mass, open_one = _masses(tokens[place])
    if open_one:
        if _number(tokens[place].text) == 1:
            ten = _share_of_ten(tokens[place + 1 : place + 2])
        else:
            others = sum(mass.values())
            mean = sum(value * p for value, p in mass.items()) / others
            ten = float(10 not in mass and mean > 5.5)  # a token "10" would have said it
        mass[10] += open_one * ten
        mass[1] += open_one * (1 - ten)
    return sum(value * p for value, p in mass.items()) / sum(mass.values())


def _place(tokens: Sequence[Token], score: int) -> int | None:
    """Index of the token where the score begins: the last one under its key, else the first."""
    text = "".join(token.text for token in tokens)
    thought = text.rfind("</think>") + 1
    numbers = [m for m in _NUMBER.finditer(text, thought) if int(m["number"]) == score]
    keyed = [m for m in numbers if m["key"]]
    if not numbers:
        return None
    start = (keyed[-1] if keyed else numbers[0]).start("number")
    place, end = 0, len(tokens[0].text)
    while end <= start:
        place += 1
        end += len(tokens[place].text)
    said = _number(tokens[place].text)
    return place if said == score or (said, score) == (1, 10) else None


def _masses(token: Token) -> tuple[defaultdict[int, float], float]:
    """Probability of each score that the token may say, and of a "1" that may yet become "10"."""
    mass: defaultdict[int, float] = defaultdict(float)
    open_one = 0.0
    for text, logprob in ({token.text: token.logprob} | dict(token.top)).items():
        found = _SCORE.match(_plain(text))
        if found is None:
            continue
        if found["number"] == "1" and not found["closed"]:
            open_one += math.exp(logprob)
        else:
            mass[int(found["number"])] += math.exp(logprob)
    return mass, open_one


def _share_of_ten(following: Sequence[Token]) -> float:
    """How likely a "0" follows a "1", among what leaves a score: "0" or no digit at all."""
    zero = end = 0.0
    for token in following:
        for text, logprob in ({token.text: token.logprob} | dict(token.top)).items():
            if _plain(text).startswith("0"):
                zero += math.exp(logprob)
            elif not _plain(text)[:1].isdigit():
                end += math.exp(logprob)
    return zero / (zero + end) if zero else 0.0


def _number(text: str) -> int | None:
    found = _SCORE.match(_plain(text))
    return int(found["number"]) if found else None


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text)
