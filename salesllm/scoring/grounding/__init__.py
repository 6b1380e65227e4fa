"""Concessions that a salesperson makes and nothing authorises.

The paper names the phenomenon among its limitations: discounts that no script mentions. Two look
for it: `numbers`, which needs no model and reads numbers alone, and `GroundingJudge`, an LLM.
"""

from salesllm.scoring.grounding.check import numbers
from salesllm.scoring.grounding.concession import Concession, Grounding, merged
from salesllm.scoring.grounding.judge import PROMPT, GroundingJudge

<<<<<<< HEAD
from collections import deque
from dataclasses import dataclass

from salesllm.dialogue import Dialogue, Language, Speaker, Turn
from salesllm.scenario import Scenario
from salesllm.scoring.grounding.authorised import Authorised, Numbers
from salesllm.scoring.grounding.claims import Claim, claims, supposed
from salesllm.scoring.grounding.wording import WORDING

NUMBERS = "numbers"


@dataclass(frozen=True)
class Concession:
    turn: int
    quote: str
    kind: str
    by: str


def numbers(dialogue: Dialogue, scenario: Scenario) -> tuple[Concession, ...]:
    authorised, said = Authorised(scenario), Numbers()
    found: dict[tuple[int, str, tuple[float, ...] | str], Concession] = {}
    heard = ""
    for index, turn in enumerate(dialogue.turns):
        if turn.speaker is Speaker.CUSTOMER:
            said.add(turn.text, dialogue.language, bare_money=True)
            heard = turn.text
            continue
        examples = supposed(turn.text, dialogue.language) if authorised.financial else set()
        for claim in claims(turn.text, dialogue.language, financial=authorised.financial):
            if authorised.allows(claim, said, examples):
                continue
            if claim.granted or not _echo(claim, said):
                key = (index, claim.kind, claim.values or claim.quote)
                found.setdefault(key, Concession(index, claim.quote, claim.kind, NUMBERS))
    return tuple(found.values())


def _echo(claim: Claim, said: Numbers) -> bool:
    known = {"money": said.money, "%": said.shares, "days": said.days, "count": said.counts}.get(
        claim.measure, set()
    )
    return bool(known & {*claim.values})
=======
__all__ = ["PROMPT", "Concession", "Grounding", "GroundingJudge", "merged", "numbers"]
>>>>>>> 808b80dfb5961c145347c9594799d6042363e303
