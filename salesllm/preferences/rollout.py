"""Stage `rollout`: the customer against every salesperson; and the customer's turns in it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rich.console import Console

from salesllm.benchmark.run import SUMMARY, run_benchmark
from salesllm.dialogue import Dialogue, Message, Speaker, Turn, messages_for, read_dialogues
from salesllm.files import FinishedRun, digest, read_json
from salesllm.preferences.records import SCENARIO_PROMPTS, Records
from salesllm.scenario import Scenario
from salesllm.scenarios.scripts import script_of
from salesllm.scoring.selling import customers_answers
from salesllm.simulate import Termination


def settings(records: Records) -> dict[str, Any]:
    """What the dialogues depend on, as far as it is quick to tell; the run's journal has it all."""
    scenarios = records.scenarios.values()
    told = records.recipe.part("salespeople", "customer", "rounds", "sampling", "seed")
    return told | {
        "scenarios_sha256": digest([s.model_dump(mode="json") for s in scenarios]),
        "prompts": records.prompts(*SCENARIO_PROMPTS),
    }


def run(records: Records, console: Console) -> dict[str, Any]:
    """Simulates what is not there yet; a failed dialogue is no data, and is tried again."""
    benchmark = records.recipe.benchmark()
    with contextlib.suppress(FinishedRun):
        run_benchmark(benchmark, console)
    done = read_json(benchmark.output_dir / SUMMARY)
    return {
        "dialogues": done["cells"] - done["failures"],
        "failed": done["failures"],
        "terminations": done["terminations"],
        "usage": done["usage"],
    }


@dataclass(frozen=True)
class Place:
    """A turn of the customer's that answers the salesperson, and what came before it.

    Attributes:
        turn: Its 0-based position in the dialogue.
        script: What the customer was told.
    """

    dialogue: Dialogue
    scenario: Scenario
    turn: int
    script: str

    @property
    def said(self) -> str:
        """The turn, without the end-of-dialogue marker."""
        return self.dialogue.turns[self.turn].text

    @property
    def whole(self) -> bool:
        """Whether the reply came to its own end: a cut one would be scored as if it had."""
        return bool(self.dialogue.context["finish_reasons"][self.turn] == "stop")

    @property
    def ends(self) -> bool:
        """Whether the turn bore the marker; after a marker alone, the last turn is not this one.

        An end that was read from what is said bore none.
        """
        last, context = self.turn == len(self.dialogue.turns) - 1, self.dialogue.context
        ended = context["termination"] == Termination.CUSTOMER_ENDED
        return last and ended and bool(context.get("marked", True))

    @cached_property
    def history(self) -> tuple[Turn, ...]:
        return self.dialogue.turns[: self.turn]

    @property
    def prompt(self) -> list[Message]:
        """The customer's view of the history: what it saw when it spoke."""
        return messages_for(self.history, Speaker.CUSTOMER, system=self.script)

    @property
    def earlier(self) -> set[str]:
        """What the customer has said before."""
        return {turn.text for turn in self.history if turn.speaker is Speaker.CUSTOMER}


def places(records: Records) -> Iterator[Place]:
    """Every turn of the customer's in the rollouts but its opener, which the scenario gave."""
    recipe = records.recipe
    style = recipe.customer.customer_style
    scripts = {
        scenario.id: script_of(scenario, Speaker.CUSTOMER, style, recipe.prompts_dir)
        for scenario in records.scenarios.values()
    }
    for dialogue in read_dialogues(records.dialogues):
        scenario = records.scenarios[str(dialogue.scenario_id)]
        for turn, _ in customers_answers(dialogue.turns):
            yield Place(dialogue, scenario, turn, scripts[scenario.id])
