"""The score that a judge's probabilities give, where the endpoint tells them."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence

from salesllm.chat.base import Token

TOP = 20
"""So many of the likeliest tokens are asked for: the most that endpoints tell."""

_NUMBER = re.compile(
    r"(?P<key>(?:score|评分|得分|分数)\W{0,6})?(?<![\d.])(?P<number>\d{1,2})(?!\d)", re.IGNORECASE
)
_SCORE = re.compile(r"[\s\"“:]*(?P<number>10|\d)(?![\d.])(?P<closed>.)?", re.DOTALL)

_OPEN_ONE = -1
"""What a token "1" says: 1, or the first digit of 10."""
_LEAST = 1e-12  # endpoints write -9999 for what they cut off


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
        if _read(_plain(tokens[place].text)) == _OPEN_ONE:
            ten, one = _after_one(tokens[place + 1 : place + 2])
        else:
            mean = sum(value * p for value, p in mass.items()) / sum(mass.values())
            ten = float(10 not in mass and mean > 5.5)  # a token "10" would have said it
            one = 1 - ten
        mass[10] += open_one * ten
        mass[1] += open_one * one
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
    said = _read(_plain(tokens[place].text))
    return place if said == score or (said == _OPEN_ONE and score in (1, 10)) else None


def _masses(token: Token) -> tuple[defaultdict[int, float], float]:
    """Probability of each score that the token may say, and of a "1" that may yet become "10"."""
    mass: defaultdict[int, float] = defaultdict(float)
    for text, p in _probabilities(token):
        if (score := _read(text)) is not None:
            mass[score] += p
    return mass, mass.pop(_OPEN_ONE, 0.0)


def _after_one(following: Sequence[Token]) -> tuple[float, float]:
    """How likely the token after a "1" makes it 10, and how likely it leaves it alone."""
    if not following:
        return 0.0, 1.0
    zero = end = other = 0.0
    for text, p in _probabilities(following[0]):
        if text.startswith("0"):
            zero += p
        elif text[:1].isdigit():
            other += p
        else:
            end += p
    return zero / (zero + end + other), end / (zero + end + other)


def _probabilities(token: Token) -> Iterator[tuple[str, float]]:
    """What may stand in the token's place, and how likely: itself and the likeliest others."""
    for text, logprob in ({token.text: token.logprob} | dict(token.top)).items():
        yield _plain(text), max(math.exp(logprob), _LEAST)


def _read(text: str) -> int | None:
    """The score that a token says."""
    found = _SCORE.match(text)
    if found is None:
        return None
    is_open = found["number"] == "1" and not found["closed"]
    return _OPEN_ONE if is_open else int(found["number"])


def _plain(text: str) -> str:
    return unicodedata.normalize("NFKC", text)
