"""Speakers that need no model: the two sides of the sample dialogues, for tests and first runs."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from salesllm.catalog import Split
from salesllm.chat.base import Reply, Sampling
from salesllm.dialogue import END_MARKER, Message, Speaker, Turn, turns_from
from salesllm.errors import InputError
from salesllm.scenario import Scenario, require_fields
from salesllm.scenarios.grammar import customer_line, draw_plan
from salesllm.scenarios.salesperson import salesperson_line


class ScriptedSalesperson:
    """Answers any customer from the scenario's product facts, and states nothing beyond them.

    A reply follows from `sampling.seed`, the scenario and the dialogue so far.

    Args:
        split: Which phrasings it uses; by default those that no training dialogue has.
    """

    def __init__(self, split: Split = "test") -> None:
        self.name = "scripted/salesperson"
        self.split: Split = split

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, scenario: Scenario | None = None
    ) -> Reply:
        """Says the next message; raises `InputError` without a scenario."""
        scenario = _needed(scenario, self.name)
        turns = turns_from(messages, Speaker.SALESPERSON)
        rng = _rng(sampling, scenario, turns)
        return Reply(salesperson_line(scenario, turns, rng=rng, split=self.split))


class ScriptedCustomer:
    """Plays the customer of the sample dialogues and ends with the marker once it has decided.

    What it brings up and how it ends follow from `sampling.seed` and the scenario, so a dialogue
    is to be played with one seed throughout.

    Args:
        split: Which phrasings it uses; by default those that no training dialogue has.
    """

    def __init__(self, split: Split = "test") -> None:
        self.name = "scripted/customer"
        self.split: Split = split

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, scenario: Scenario | None = None
    ) -> Reply:
        """Says the next message; raises `InputError` without a scenario."""
        scenario = _needed(scenario, self.name)
        turns = turns_from(messages, Speaker.CUSTOMER)
        plan = draw_plan(scenario, _rng(sampling, scenario, ()))
        rng = _rng(sampling, scenario, turns)
        text, last = customer_line(scenario, plan, turns, rng=rng, split=self.split)
        return Reply(f"{text} {END_MARKER}" if last else text)


def _needed(scenario: Scenario | None, name: str) -> Scenario:
    if scenario is None:
        raise InputError(f"{name} speaks from a scenario, and there is none", field="scenario")
    require_fields(scenario, name)
    return scenario


def _rng(sampling: Sampling, scenario: Scenario, turns: Sequence[Turn]) -> Random:
    said = "\n".join(turn.text for turn in turns)
    return Random(f"{sampling.seed} {scenario.id} {said}")
