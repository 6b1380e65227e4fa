"""What every rater of the selling says of a dialogue, whether it is a model or a set of rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from salesllm.chat.base import Usage
from salesllm.dialogue import Speaker, Turn


@dataclass(frozen=True)
class Evidence:
    """Words of the customer that a score rests on.

    Attributes:
        quote: The words.
        turn: Index of the turn that holds them; None where no turn of the customer's does, so
            that the rater has quoted somebody else, or nobody.
        kind: What they show, where the rater says.
    """

    quote: str
    turn: int | None
    kind: str | None = None


@dataclass(frozen=True)
class SellingScore:
    """One dialogue's selling score.

    Attributes:
        score: 0-10, an integer unless it is a mean or a median of several; None where the dialogue
            could not be judged, which is not a zero.
        reason: Why this score, or why there is none.
        failed: Whether the rater could not be reached: worth asking again later.
        usage: Tokens of all attempts.
        samples: The integer of every answer that was asked for; None for an unreadable one.
        weighted: Whether the score weighs every integer by the probability that the rater gave it.
    """

    score: float | None
    reason: str
    evidence: tuple[Evidence, ...] = ()
    failed: bool = False
    usage: Usage = field(default_factory=Usage)
    samples: tuple[int | None, ...] = ()
    weighted: bool = False


def customers_answers(turns: Sequence[Turn]) -> list[tuple[int, str]]:
    """Index and text of the customer's turns that answer somebody.

    What a customer says before the salesperson has spoken is no merit of the salesperson's.
    """
    first = next((i for i, t in enumerate(turns) if t.speaker is Speaker.SALESPERSON), len(turns))
    return [
        (i, turn.text)
        for i, turn in enumerate(turns)
        if turn.speaker is Speaker.CUSTOMER and i > first
    ]
