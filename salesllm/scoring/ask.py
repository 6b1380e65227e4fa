"""One question to an LLM, asked until its answer can be read."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

from salesllm.chat.base import Chat, Reply, Sampling, Usage
from salesllm.dialogue import Message

T = TypeVar("T")

_RETRY_TEMPERATURE = 0.5  # at 0 the same question only gets the same answer
_NUMERALS = "零一二三四五六七八九十"
_BARE = re.compile(
    r"[\s*_#]*(?:(?:the |your |final |overall )?score(?: is)?|总?(?:评分|得分|分数?)[为是]?)?"
    rf"[\s*_:]*(\d{{1,4}}|[{_NUMERALS}])(?: ?/ ?10| out of 10| ?分)?[\s*_.。]*",
    re.IGNORECASE,
)


class OffFormat(ValueError):
    """The answer does not hold what was asked for."""


@dataclass(frozen=True)
class Answer(Generic[T]):
    """What came of a question.

    Attributes:
        value: None where there is no readable answer, which says nothing of what was asked about.
        problem: Why there is none.
        failed: Whether nobody could be reached: worth asking again later.
        usage: Tokens of all attempts.
        reply: The reply that the value was read from.
    """

    value: T | None
    problem: str = ""
    failed: bool = False
    usage: Usage = field(default_factory=Usage)
    reply: Reply | None = None


async def ask(
    chat: Chat,
    question: str,
    parse: Callable[[str], T],
    *,
    sampling: Sampling,
    attempts: int,
    seed: int,
    correct: Callable[[str], str] | None = None,
) -> Answer[T]:
    """Asks up to `attempts` times; never raises for what the other side does or fails to do.

    Args:
        parse: Reads an answer; raises `OffFormat` for one that cannot be read.
        sampling: Its seed is replaced by `seed`, and by the next ones in further attempts, which
            are also drawn a little warmer.
        correct: What is said to an answer that cannot be read, given what is wrong with it; else
            the question is asked again as if for the first time.
    """
    used, problem = Usage(), ""
    asked = [Message(role="user", content=question)]
    for attempt in range(attempts):
        drawn = replace(sampling, seed=seed + attempt)
        if attempt:
            drawn = replace(drawn, temperature=max(drawn.temperature, _RETRY_TEMPERATURE))
        try:
            reply = await chat.reply(asked, drawn)
        except Exception as error:  # of whatever kind, it says nothing of what was asked about
            return Answer(None, f"{type(error).__name__}: {error}", failed=True, usage=used)
        used += reply.usage
        answer = without_thinking(reply.text)
        try:
            return Answer(parse(answer), usage=used, reply=reply)
        except OffFormat as error:
            problem = str(error)
        if correct is not None:
            said = [Message(role="assistant", content=answer)] if answer else []
            asked = [asked[0], *said, Message(role="user", content=correct(problem))]
    return Answer(None, problem, usage=used)


def without_thinking(text: str) -> str:
    """The answer alone: thoughts are none, least of all those that never came to an end."""
    return text.rpartition("</think>")[2].partition("<think>")[0].strip()


def json_objects(text: str) -> list[dict[str, Any]]:
    """Every JSON object in a text, outermost ones only."""
    decoder, found, start = json.JSONDecoder(strict=False), [], text.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):  # a number of 5,000 digits is a plain ValueError
            end = start + 1
        else:
            found.append(value)
        start = text.find("{", end)
    return found


def bare_score(text: str) -> int | None:
    """The score in a text that holds nothing else: "7", "７", "八分", "Score: 7/10"; else None."""
    bare = _BARE.fullmatch(unicodedata.normalize("NFKC", text))
    if bare is None:
        return None
    return _NUMERALS.index(bare[1]) if bare[1] in _NUMERALS else int(bare[1])


def score_0_to_10(value: Any) -> int:
    """0-10 from 7, 7.0, "7", "７" or "7/10"; raises `OffFormat`."""
    if isinstance(value, str):
        bare = bare_score(value)
        value = value if bare is None else bare
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value // 1:
        raise OffFormat(f"the score is no integer: {value!r}")
    if not 0 <= value <= 10:
        raise OffFormat(f"the score is not between 0 and 10: {value!r}")
    return int(value)
