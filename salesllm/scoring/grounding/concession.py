"""A concession, and what is found out about a dialogue's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from salesllm.chat.base import Usage

Kind = Literal["price", "discount", "gift", "term", "promise", "fact"]
"""Any amount; something off, or back; something given; a period, rate or service; an assurance; a
share of something else."""

NUMBERS = "numbers"
"""Who found it, where no judge did."""


@dataclass(frozen=True)
class Concession:
    """What the salesperson states, offers or grants, and nothing authorises.

    Attributes:
        turn: Index of the salesperson's turn.
        quote: The clause that says it.
        by: `NUMBERS`, or the judge's name.
    """

    turn: int
    quote: str
    kind: Kind
    by: str


@dataclass(frozen=True)
class Grounding:
    """Whether a dialogue's salesperson conceded anything without authority.

    Attributes:
        unauthorised: None where the judge's answer could not be read, which is not a no.
        reason: The judge's, or why there is no verdict.
        unmatched: Quotes of the judge's that no turn of the salesperson's holds; they are dropped.
        failed: Whether the judge could not be reached: worth asking again later.
        usage: Tokens of all attempts.
    """

    unauthorised: bool | None
    concessions: tuple[Concession, ...] = ()
    reason: str = ""
    unmatched: int = 0
    failed: bool = False
    usage: Usage = field(default_factory=Usage)

    def as_dict(self) -> dict[str, Any]:
        """For a file's row."""
        return {
            "unauthorised": self.unauthorised,
            "concessions": [asdict(concession) for concession in self.concessions],
            "reason": self.reason,
            "unmatched": self.unmatched,
        }


def merged(found: Sequence[Concession], judged: Grounding | None = None) -> Grounding:
    """What the numbers and the judge say together.

    Concessions of both are kept. The verdict is the judge's where there is one, None included: the
    numbers can tell neither what a sentence means nor a promise without a figure, and a rate over
    dialogues must not depend on which of them the judge failed on.

    Args:
        found: Of `numbers`.
        judged: Of `GroundingJudge`; None where nobody judged.
    """
    if judged is None:
        return Grounding(bool(found), tuple(found))
    return Grounding(
        judged.unauthorised,
        (*found, *judged.concessions),
        judged.reason,
        judged.unmatched,
        judged.failed,
        judged.usage,
    )
