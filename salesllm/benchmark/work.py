"""Brings every cell of a run to its end: the dialogue, then its ratings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console

from salesllm.benchmark.budget import Prices, usages
from salesllm.benchmark.cast import Cast, Part
from salesllm.benchmark.cell import TALK, Cell, dialogue_of, is_complete
from salesllm.benchmark.inputs import Inputs
from salesllm.benchmark.purse import Purse, kind_of
from salesllm.benchmark.recipe import BenchmarkRecipe
from salesllm.dialogue import Dialogue
from salesllm.journal import Journal
from salesllm.progress import progress
from salesllm.scenario import Scenario
from salesllm.scoring.grounding import GroundingJudge
from salesllm.scoring.judge import SellingJudge
from salesllm.simulate import Guard, derived_seed, simulate


class Work:
    """What a run does. Each finished piece is a line of the journal.

    Args:
        purse: Whoever has to stop for money stops before a dialogue, never within one.
    """

    def __init__(
        self,
        recipe: BenchmarkRecipe,
        scenarios: Mapping[str, Scenario],
        cast: Cast,
        journal: Journal,
        inputs: Inputs,
        purse: Purse,
        guard: Guard | None = None,
    ) -> None:
        self.recipe, self.scenarios, self.cast = recipe, scenarios, cast
        self.journal, self.inputs, self.purse, self.guard = journal, inputs, purse, guard
        self._prices = Prices(recipe)

    def left(self, cells: Sequence[Cell]) -> list[Cell]:
        """The cells that lack something."""
        kinds = self.inputs.kinds
        return [cell for cell in cells if not is_complete(cell, self.journal, kinds)]

    async def run(self, cells: Sequence[Cell], console: Console) -> None:
        """Completes the cells, `concurrency` of them at a time, while the purse lasts."""
        todo = self.left(cells)
        groups: dict[tuple[Part, ...], list[Cell]] = {}
        for cell in todo:
            needed = self.cast.needed(cell, spoken=self.journal.done(TALK, cell))
            groups.setdefault(needed, []).append(cell)

        name = f"{self.recipe.name}: dialogues"
        with progress(console, name, len(cells), len(cells) - len(todo)) as advance:

            async def worker(queue: Iterator[Cell]) -> None:
                for cell in queue:
                    kind = kind_of(cell, self.journal)
                    if not await self.purse.begin(kind):
                        return
                    self.purse.end(kind, await self._complete_cell(cell))
                    advance(failed=not self.journal.done(TALK, cell))

            for needed, group in groups.items():
                if self.purse.empty:  # nobody is loaded for nothing
                    break
                self.cast.load(needed)
                queue = iter(group)
                workers = min(self.recipe.concurrency, len(group))
                await asyncio.gather(*(worker(queue) for _ in range(workers)))

    async def _complete_cell(self, cell: Cell) -> float:
        """What that has cost, in USD."""
        cost = 0.0
        if not self.journal.done(TALK, cell):
            cost = await self._simulate(cell)
        if not self.inputs.kinds or not self.journal.done(TALK, cell):
            return cost
        entry = self.journal.get(TALK, cell)
        assert entry is not None  # it is done
        dialogue = dialogue_of(cell, self.scenarios[cell.scenario], entry)
        if dialogue is not None:
            judges = [self._judge(cell, dialogue, judge) for judge in self.inputs.ratings]
            cost += sum(await asyncio.gather(*judges, self._audit(cell, dialogue)))
        return cost

    async def _simulate(self, cell: Cell) -> float:
        recipe = self.recipe
        simulated = await simulate(
            self.scenarios[cell.scenario],
            self.cast.chat("salespeople", cell.salesperson),
            self.cast.chat("customers", cell.customer),
            rounds=recipe.rounds,
            sampling=recipe.sampling.settings(),
            customer_style=self.cast.spec("customers", cell.customer).customer_style,
            seed=recipe.seed,
            repeat=int(cell.repeat),
            closing=recipe.closing,
            guard=self.guard,
            prompts_dir=recipe.prompts_dir,
        )
        return await self._append(
            TALK,
            cell,
            ok=not simulated.termination.worth_retrying,
            turns=[{"speaker": turn.speaker, "text": turn.text} for turn in simulated.turns],
            termination=simulated.termination,
            by=simulated.by,
            marked=simulated.marked,
            usage={side: asdict(usage) for side, usage in simulated.usage.items()},
            finish_reasons=simulated.finish_reasons,
            cleaned=simulated.cleaned,
            guard=None if simulated.guard is None else asdict(simulated.guard),
            error=simulated.error,
        )

    async def _judge(self, cell: Cell, dialogue: Dialogue, judge: str) -> float:
        kind = self.inputs.ratings[judge]
        if self.journal.done(kind, cell):
            return 0.0
        rater = SellingJudge(
            self.cast.chat("judge", judge),
            sampling=self.recipe.judge_sampling.settings(),
            attempts=self.recipe.judge_attempts,
            samples=self.recipe.judge_samples,
            weighted=self.recipe.judge_weighted,
            prompts_dir=self.recipe.prompts_dir,
        )
        seed = derived_seed(self.recipe.seed, "judge", *cell)
        rated = await rater.rate(dialogue, self.scenarios[cell.scenario].product, seed)
        return await self._append(kind, cell, ok=not rated.failed, rating=asdict(rated))

    async def _audit(self, cell: Cell, dialogue: Dialogue) -> float:
        kind, name = self.inputs.audit, self.inputs.auditor
        if kind is None or name is None or self.journal.done(kind, cell):
            return 0.0
        auditor = GroundingJudge(
            self.cast.chat("grounding", name),
            sampling=self.recipe.judge_sampling.settings(),
            attempts=self.recipe.judge_attempts,
            prompts_dir=self.recipe.prompts_dir,
        )
        seed = derived_seed(self.recipe.seed, "grounding", *cell)
        found = await auditor.check(dialogue, self.scenarios[cell.scenario], seed)
        return await self._append(kind, cell, ok=not found.failed, rating=asdict(found))

    async def _append(self, kind: str, cell: Cell, *, ok: bool, **content: Any) -> float:
        """Notes it with its cost, which it returns: in USD, 0 where a price is not known."""
        line = {"kind": kind, "cell": cell, **content}
        costs = [self._prices.cost(*used) for used in usages(line, self.inputs)]
        known = [cost for cost in costs if cost is not None]
        cost = sum(known) if len(known) == len(costs) else None
        await self.journal.record(kind, cell, ok=ok, cost=cost, **content)
        return sum(known)
