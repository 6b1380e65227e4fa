"""A live guard: whoever judges a customer's drafts before the salesperson hears them."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

from salesllm.dialogue import Language, Turn


class Guard(Protocol):
    """Flags drafts that no customer would say.

    Attributes:
        redraws: How often a flagged draft is drawn again, with another seed, before the last one
            is kept as it is.
    """

    redraws: int

    def flags(
        self, turns: Sequence[Turn], draft: str, language: Language
    ) -> bool | Awaitable[bool]:
        """Whether to draw again.

        Args:
            turns: The dialogue so far.
            draft: What the customer would say next, cleaned and without the marker.
        """
        ...


@dataclass
class GuardCounts:
    """A guard's work in one dialogue; sums over dialogues give a run's rates.

    Attributes:
        drafts: Drafts judged.
        turns: Turns they were for: all of the customer's but its opener.
        flagged: Turns whose first draft was flagged: over `turns`, the rate without the guard.
        kept_flagged: Turns kept although flagged: over `turns`, the rate with it.
    """

    drafts: int = 0
    turns: int = 0
    flagged: int = 0
    kept_flagged: int = 0

    def as_dict(self) -> dict[str, int]:
        return asdict(self)
