"""Draws without near duplicates, and the record of what was dropped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from salesllm.dedup import Deduplicator
from salesllm.errors import InputError


class Drawn(Protocol):
    """Whatever is drawn has an id."""

    @property
    def id(self) -> str: ...


D = TypeVar("D", bound=Drawn)

MOST_ROUNDS = 40
"""How often what was dropped is drawn anew before the space counts as exhausted."""
_LUCK = 25
"""How many more than in this round may be kept in any of those to come."""


@dataclass(frozen=True)
class Dropped:
    """A draw that was a near duplicate of an earlier one.

    Attributes:
        what: `product`, `persona` or `scenario`.
        of: Id of the one that was kept.
        similarity: Jaccard index of their texts, 0-1.
    """

    what: str
    of: str
    similarity: float
    text: str


@dataclass
class Draws:
    """The record of what was drawn.

    Attributes:
        drawn: How many draws each kind took, those dropped included.
        unreadable: How many of them came to nothing.
    """

    dropped: list[Dropped] = field(default_factory=list)
    drawn: dict[str, int] = field(default_factory=dict)
    unreadable: dict[str, int] = field(default_factory=dict)


def distinct(
    draws: Draws,
    what: str,
    count: int,
    draw: Callable[[Sequence[int]], Sequence[D | None]],
    text: Callable[[D], str],
    *,
    threshold: float,
    advance: Callable[[int], object] = lambda count: None,
    most_rounds: int = MOST_ROUNDS,
    limit: str = "threshold",
) -> list[D]:
    """One draw for each of `count` slots, redrawn until no two of them are near duplicates.

    Args:
        draws: Takes the record of what was drawn and dropped.
        draw: Draws for these slots, in order; None where a draw came to nothing.
        limit: The recipe's key that may be raised where there are too few.

    Raises:
        InputError: There are not so many distinct ones, or rounds like the last cannot find them.
    """
    unlike = Deduplicator(threshold)
    kept: dict[int, D] = {}
    tried: list[D] = []
    pending = list(range(count))
    draws.drawn[what] = draws.unreadable[what] = 0
    for round_ in range(1, most_rounds + 1):
        drafts = draw(pending)
        found = [(slot, d) for slot, d in zip(pending, drafts, strict=True) if d is not None]
        draws.drawn[what] += len(pending)
        draws.unreadable[what] += len(pending) - len(found)
        first = len(tried)
        tried += [draft for _, draft in found]
        texts = [text(draft) for _, draft in found]
        duplicates = {d.index - first: d for d in unlike.add(texts)}
        for number, (slot, draft) in enumerate(found):
            if duplicate := duplicates.get(number):
                of, similarity = tried[duplicate.of].id, round(duplicate.similarity, 4)
                draws.dropped.append(Dropped(what, of, similarity, texts[number]))
            else:
                kept[slot] = draft
        gained = len(found) - len(duplicates)
        advance(gained)
        pending = [slot for slot in pending if slot not in kept]
        if not pending:
            return [kept[slot] for slot in range(count)]
        if (most_rounds - round_) * (gained + _LUCK) < len(pending):
            break
    raise InputError(
        f"after {round_} rounds {len(pending)} of {count} {what}s are still near duplicates"
        + (" or unreadable" if draws.unreadable[what] else ""),
        field=limit,
        fix=f"Ask for fewer, or raise `{limit}`",
    )
