"""What a clause does in closing a talk: how the phrases of a language are put together.

A clause comes in lower case, with straight apostrophes and half-width forms, without punctuation
at its ends. Thanks and fillers are taken off it; what is left has to be a phrase from its first
word to its last.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum, auto

LONGEST_CLAUSE = 80
"""Characters: no closing clause is longer."""


class Clause(Enum):
    """What a clause does.

    COURTESY says nothing that calls for an answer: thanks, acknowledgements, "later". REFUSAL
    refuses, perhaps only what was offered last. FINAL refuses for good: "any more", "不……了".
    FAREWELL leaves.
    """

    COURTESY = auto()
    REFUSAL = auto()
    FINAL = auto()
    FAREWELL = auto()


@dataclass(frozen=True)
class Phrases:
    """One language's patterns.

    Attributes:
        thanks: Taken out of a clause.
        lead: Fillers, taken off the beginning of a clause.
        tails: Fillers, taken off its end.
        clauses: What a clause is, the first that matches all of what is left.
        parting: Found in thanks for the whole talk, which say with a refusal that it is over.
        later: Found in a clause that leaves the door open, a farewell in the same breath or not.
        open: Found in a clause that asks or makes a condition.
        settles: Found in a clause that decides or names something beside a refusal.
        reports: Found at the end of a clause before somebody else's words.
        more: Found in a question that offers something besides the product.
        leave: Found at the end of a salesperson's message that says goodbye.
    """

    thanks: re.Pattern[str]
    lead: re.Pattern[str]
    tails: tuple[str, ...]
    clauses: tuple[tuple[Clause, re.Pattern[str]], ...]
    parting: re.Pattern[str]
    later: re.Pattern[str]
    open: re.Pattern[str]
    settles: re.Pattern[str]
    reports: re.Pattern[str]
    more: re.Pattern[str]
    leave: re.Pattern[str]

    def read(self, clause: str) -> Clause | None:
        """What a clause does in closing a talk; None if it does anything else."""
        if len(clause) > LONGEST_CLAUSE:
            return None
        if kind := self._kind(clause):  # first as it is: "no thanks" is more than "no"
            return kind
        bare = self.thanks.sub(" ", clause).strip()
        if lead := self.lead.match(bare):
            bare = bare[lead.end() :]
        while bare.endswith(self.tails):
            bare = next(bare.removesuffix(t) for t in self.tails if bare.endswith(t))
        if not bare:
            return Clause.COURTESY
        return self._kind(bare) if bare != clause else None

    def _kind(self, words: str) -> Clause | None:
        return next((kind for kind, pattern in self.clauses if pattern.fullmatch(words)), None)


def any_of(*phrases: str) -> re.Pattern[str]:
    """A pattern of alternatives; case is ignored."""
    return re.compile("|".join(phrases), re.IGNORECASE)
