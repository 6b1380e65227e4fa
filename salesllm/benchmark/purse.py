"""A limit in USD that a run keeps to."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Mapping

from salesllm.benchmark.cell import TALK, Cell
from salesllm.journal import Journal

ENOUGH = 10
"""Measured dialogues from which on they are believed."""

Kind = tuple[str, str, bool]
"""Dialogues that cost about the same: of one salesperson and customer, to be held or only rated."""


def kind_of(cell: Cell, journal: Journal) -> Kind:
    return cell.salesperson, cell.customer, journal.done(TALK, cell)


class Purse:
    """Lets dialogues begin as long as the money for them is there.

    A dialogue under way is never broken off, so it is reckoned with beforehand: at the mean of
    those of its kind that have ended, once they are a few, for the short ones end first; until then
    at no less than was assumed.

    Args:
        limit: USD; None for no limit.
        assumed: USD a dialogue of each kind.
        spent: USD, by earlier sessions of the run.
        ended: Dialogues of those sessions.

    Attributes:
        empty: Whether a dialogue could not begin.
    """

    def __init__(
        self,
        limit: float | None,
        assumed: Mapping[Kind, float],
        spent: float = 0.0,
        ended: int = 0,
    ) -> None:
        self.limit, self.spent, self.empty = limit, spent, False
        self._assumed, self._before = assumed, ended
        self._under_way, self._ended = Counter[Kind](), Counter[Kind]()
        self._paid: dict[Kind, float] = defaultdict(float)
        self._news = asyncio.Event()

    async def begin(self, kind: Kind) -> bool:
        """Waits until it is clear whether the money suffices for one more dialogue.

        Returns:
            Whether that begins; else nothing is under way any more, and the run is over.
        """
        while not self._suffices(kind):
            if not self._under_way.total():
                self.empty = True
                return False
            self._news.clear()
            await self._news.wait()
        self._under_way[kind] += 1
        return True

    def end(self, kind: Kind, cost: float) -> None:
        """A dialogue is over, with all its ratings."""
        self._under_way[kind] -= 1
        self._ended[kind] += 1
        self._paid[kind] += cost
        self.spent += cost
        self._news.set()

    def _suffices(self, kind: Kind) -> bool:
        if self.limit is None:
            return True
        if not self._under_way.total():  # one alone shows what they cost
            ended = self._before + self._ended.total()
            known = min(self.spent / max(1, ended), self._assumed.get(kind, 0.0))
            cost = self._mean(kind) if self._ended[kind] else known
            return self.spent < self.limit and self.spent + cost <= self.limit
        expected = sum(number * self._expected(each) for each, number in self._under_way.items())
        return self.spent + expected + self._expected(kind) <= self.limit

    def _mean(self, kind: Kind) -> float:
        return self._paid[kind] / max(1, self._ended[kind])

    def _expected(self, kind: Kind) -> float:
        mean = self._mean(kind)
        return mean if self._ended[kind] >= ENOUGH else max(mean, self._assumed.get(kind, 0.0))
