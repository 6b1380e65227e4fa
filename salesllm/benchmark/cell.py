"""One dialogue of a run, and where its traces are."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from salesllm.benchmark.recipe import BenchmarkRecipe
from salesllm.dialogue import Dialogue, Turn
from salesllm.scenario import Scenario
from salesllm.simulate import Termination

JOURNAL, DIALOGUES, SCORES, SUMMARY = (
    "journal.jsonl", "dialogues.jsonl", "scores.jsonl", "summary.json",
)  # fmt: skip
TALK = "dialogue"
"""The journal's kind of line for a dialogue; those of ratings name what they depend on."""


class Cell(NamedTuple):
    """Who talks to whom about what, for the how-manyeth time."""

    salesperson: str
    customer: str
    scenario: str
    repeat: str = "0"

    @property
    def id(self) -> str:
        return "::".join(self)


def cells_of(recipe: BenchmarkRecipe, scenarios: Iterable[str]) -> list[Cell]:
    """All cells of a run or, with `shard`, of its part.

    The customer is outermost: a local one stays loaded for all its cells. The repeat is next, so
    that a run which is stopped early has whole rounds of the table.
    """
    scenarios = list(scenarios)
    cells = [
        Cell(salesperson.name, customer.name, scenario, str(repeat))
        for customer in recipe.customers
        for repeat in range(recipe.repeats)
        for salesperson in recipe.salespeople
        for scenario in scenarios
    ]
    if recipe.shard is None:
        return cells
    part, parts = map(int, recipe.shard.split("/"))
    return cells[part - 1 :: parts]


def dialogue_of(cell: Cell, scenario: Scenario, entry: Mapping[str, Any]) -> Dialogue | None:
    """A journal's line as a record of the project; None for what may not be scored."""
    if Termination(entry["termination"]).failed:
        return None
    return Dialogue(
        id=cell.id,
        language=scenario.language,
        source="benchmark",
        product_line=scenario.product.category,
        turns=_turns(entry["turns"]),
        scenario_id=scenario.id,
        context={
            "salesperson": cell.salesperson,
            "customer": cell.customer,
            "repeat": int(cell.repeat),
            "termination": entry["termination"],
            "marked": entry["marked"],
            "finish_reasons": entry["finish_reasons"],
            "usage": entry["usage"],
        },
    )


def _turns(turns: Sequence[Mapping[str, Any]]) -> tuple[Turn, ...]:
    return tuple(Turn.model_validate(turn) for turn in turns)
