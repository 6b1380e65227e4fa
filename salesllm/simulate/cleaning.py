"""What a model writes besides what its side says, cut out before the other side reads it.

All of it errs on the side of the text: what might be said (a price in brackets, an emphasis, a
list) stays.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from salesllm.dialogue import END_MARKER, Speaker
from salesllm.simulate.directions import without_directions
from salesllm.simulate.reasoning import without_reasoning
from salesllm.simulate.tags import own_words


class Kind(StrEnum):
    """What was cut out, in the order in which it is.

    `other_side` is a reply that writes the other side's messages as well: cut where they begin.
    """

    REASONING = "reasoning"
    ROLE_TAG = "role_tag"
    OTHER_SIDE = "other_side"
    STAGE_DIRECTION = "stage_direction"


class Cleaned(NamedTuple):
    """A reply as the other side reads it.

    Attributes:
        text: Without the marker; blank where nothing was said.
        marked: Whether it bore the marker.
        hung_up: Whether a stage direction says that the speaker left.
        removed: How much of each kind was cut out; kinds of which there was none are missing.
    """

    text: str
    marked: bool
    hung_up: bool
    removed: dict[Kind, int]


def clean(reply: str, speaker: Speaker) -> Cleaned:
    """Reads one of the speaker's replies. A marker in what is cut out does not count."""
    reply, thoughts = without_reasoning(reply)
    reply, tags, others = own_words(reply, speaker)
    reply, directions, hung_up = without_directions(reply)
    text, marked = said(reply)
    counts = thoughts, tags, others, directions
    removed = {kind: n for kind, n in zip(Kind, counts, strict=True) if n} if any(counts) else {}
    return Cleaned(text, marked, hung_up, removed)


def said(reply: str) -> tuple[str, bool]:
    """A reply's text, and whether it bore the marker: what follows that was said to nobody."""
    text, marker, _ = reply.partition(END_MARKER)
    return text.strip(), bool(marker)
