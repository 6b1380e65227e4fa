"""A model that runs wild writes one thing over and over; to read that takes no time worth naming.

Thousands of dialogues share one thread: while one reply is read, all of them stand still.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from salesllm.dialogue import Language, Speaker
from salesllm.simulate.cleaning import clean
from salesllm.simulate.closing import ends, takes_leave, winds_down

MANY = 500_000
LONG = {
    "spaces": "(" + " " * MANY + "x",
    "tabs": "*\t" * (MANY // 2),
    "lines": "Thinking:" + "\n" * MANY + "x",
    "quotes": "“" * MANY,
    "brackets": "「" * MANY,
    "parentheses": "(" * MANY,
    "stars": "*a " * (MANY // 3),
    "laughter": "哈" * MANY,
    "tags": "User:\n" * (MANY // 6),
    "thoughts": "<think " * (MANY // 7),
    "question": "a" * MANY + "?x",
}
SHORT = {"拜": "拜" * 70 + "呵", "bye": "bye" * 25 + "呵", "bye ": "bye " * 19 + "x"}


@pytest.fixture(autouse=True)
def _patience() -> Iterator[None]:
    """Far more than it takes; what grows with the square of the length takes many minutes."""

    def give_up(*_: object) -> None:
        raise AssertionError("this would take for ever")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("speaker", list(Speaker))
@pytest.mark.parametrize("reply", LONG.values(), ids=LONG)
def test_a_long_reply_is_cleaned(reply: str, speaker: Speaker) -> None:
    assert not clean(reply, speaker).marked


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("text", [*LONG.values(), *SHORT.values()], ids=[*LONG, *SHORT])
def test_a_long_message_ends_nothing(text: str, language: Language) -> None:
    assert not ends(text, language)
    assert not winds_down(text, language)
    takes_leave(text, language)
    refusal = (
        "不需要，谢谢你的讲解" if language == "zh" else "Not interested, thanks for your time."
    )
    assert ends(refusal, language, answered=text)
