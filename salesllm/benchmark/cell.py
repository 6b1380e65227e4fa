"""One dialogue of a run, and where its traces are."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from salesllm.benchmark.recipe import BenchmarkRecipe
from salesllm.dialogue import Dialogue, Turn
from salesllm.journal import Journal
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
    that a run which is stopped early has whole rounds of the table. A cell's shard follows from
    the cell alone: a run that grows leaves every shard its own.
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
    return [cell for cell in cells if zlib.crc32(cell.id.encode()) % parts == part - 1]


def is_complete(cell: Cell, journal: Journal, kinds: Iterable[str]) -> bool:
    """Whether a cell lacks nothing: no dialogue, and no line of these kinds about one."""
    if not journal.done(TALK, cell):
        return False
    if all(journal.done(kind, cell) for kind in kinds):
        return True
    entry = journal.get(TALK, cell)
    assert entry is not None  # it is done
    return Termination(entry["termination"]).failed  # a refusal is final: nothing is to be rated


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
