"""What becomes of a dialogue."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from salesllm.chat.base import Usage
from salesllm.dialogue import Speaker, Turn
from salesllm.simulate.guard import GuardCounts


class Termination(StrEnum):
    """Why a dialogue ended; `Simulated.by` names the side."""

    CUSTOMER_ENDED = "customer_ended"
    SALESPERSON_ENDED = "salesperson_ended"
    ROUND_LIMIT = "round_limit"
    REPETITION = "repetition"
    REFUSED = "refused"
    ERROR = "error"

    @property
    def failed(self) -> bool:
        """Whether somebody did not speak: such a dialogue is counted, and never scored."""
        return self in (Termination.REFUSED, Termination.ERROR)

    @property
    def worth_retrying(self) -> bool:
        """Whether another try may do better. A refusal is final: it was drawn again already."""
        return self is Termination.ERROR


@dataclass(frozen=True)
class Simulated:
    """A dialogue as it went.

    Attributes:
        turns: The opener first; without `END_MARKER`. Those before the failure if it failed.
        usage: Tokens of each side, redrawn replies included.
        finish_reasons: One a turn; None for the opener, which nobody generated.
        cleaned: What was cut out of the turns of each side, by kind (`salesllm.simulate.cleaning`).
        by: Who ended it, refused or failed; None where it was nobody or both.
        marked: Whether `END_MARKER` ended it; else an end was read from what was said.
        error: What went wrong, if the termination is a failure.
        guard: What the guard made of the customer's drafts; None without one.
    """

    turns: tuple[Turn, ...]
    termination: Termination
    usage: dict[Speaker, Usage]
    finish_reasons: tuple[str | None, ...]
    cleaned: dict[Speaker, dict[str, int]]
    by: Speaker | None = None
    marked: bool = False
    error: str | None = None
    guard: GuardCounts | None = None
