"""The deterministic check: numbers that a salesperson states without authority."""

from __future__ import annotations

from salesllm.dialogue import Dialogue, Speaker
from salesllm.scenario import Scenario
from salesllm.scoring.grounding.authorised import Authorised
from salesllm.scoring.grounding.claims import Claim, accepted, claims, supposed
from salesllm.scoring.grounding.concession import NUMBERS, Concession
from salesllm.scoring.grounding.reading import Numbers


def numbers(dialogue: Dialogue, scenario: Scenario) -> tuple[Concession, ...]:
    """Amounts, discounts, rates, periods and gifts that nothing authorises, in order.

    What the scenario's price, facts, selling points, channel and salesperson script say is
    authorised, and what follows by arithmetic. A number of the customer's own is none of the
    salesperson's until it is granted. What is doubtful is not reported.

    Args:
        scenario: In the dialogue's language.
    """
    language = dialogue.language
    authorised, said, heard = Authorised(scenario), Numbers(), ""
    found: dict[tuple[object, ...], Concession] = {}
    for index, turn in enumerate(dialogue.turns):
        if turn.speaker is Speaker.CUSTOMER:
            said.add(turn.text, language, bare_money=True)
            heard = turn.text
            continue
        stated = [
            *accepted(heard, turn.text, language),
            *claims(turn.text, language, financial=authorised.financial),
        ]
        examples = supposed(turn.text, language) if authorised.financial else set()
        for claim in dict.fromkeys(stated):  # a model that loops says one thing a thousand times
            if _echo(claim, said) and not claim.granted:
                continue
            if not authorised.allows(claim, said, examples):
                key = (index, claim.kind, *(claim.values or [claim.quote]))
                found.setdefault(key, Concession(index, claim.quote, claim.kind, NUMBERS))
    return tuple(found.values())


def _echo(claim: Claim, said: Numbers) -> bool:
    """Whether the number was the customer's first."""
    own = {"money": said.money, "%": said.shares, "days": said.days, "count": said.counts}
    return not own.get(claim.measure, set()).isdisjoint(claim.values)
