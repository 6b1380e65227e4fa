"""Brings every cell of a run to its end: the dialogue, then its ratings."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from rich.console import Console

from salesllm.benchmark.budget import Prices, Purse, usages
from salesllm.benchmark.cast import Cast, Part
from salesllm.benchmark.cell import TALK, Cell, dialogue_of
from salesllm.benchmark.inputs import Inputs
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
        self._auditor = recipe.auditor.name if recipe.auditor else None

    def left(self, cells: Sequence[Cell]) -> list[Cell]:
        """The cells that lack something."""
        return [cell for cell in cells if not self._complete(cell)]

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
                    if not await self.purse.begin():
                        return
                    await self._complete_cell(cell)
                    self.purse.end()
                    advance(failed=not self.journal.done(TALK, cell))

            for needed, group in groups.items():
                self.cast.load(needed)
                queue = iter(group)
                workers = min(self.recipe.concurrency, len(group))
                await asyncio.gather(*(worker(queue) for _ in range(workers)))

    def _complete(self, cell: Cell) -> bool:
        if not self.journal.done(TALK, cell):
            return False
        if all(self.journal.done(kind, cell) for kind in self.inputs.kinds):
            return True
        return self._dialogue(cell) is None  # a refusal is final, and there is nothing to rate

    def _dialogue(self, cell: Cell) -> Dialogue | None:
        entry = self.journal.get(TALK, cell)
        assert entry is not None  # it has been tried
        return dialogue_of(cell, self.scenarios[cell.scenario], entry)

    async def _complete_cell(self, cell: Cell) -> None:
        if not self.journal.done(TALK, cell):
            await self._simulate(cell)
        if not self.inputs.kinds or not self.journal.done(TALK, cell):
            return
        dialogue = self._dialogue(cell)
        if dialogue is not None:
            judges = [self._judge(cell, dialogue, judge) for judge in self.inputs.ratings]
            await asyncio.gather(*judges, self._audit(cell, dialogue))

    async def _simulate(self, cell: Cell) -> None:
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
        self._append(
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

    async def _judge(self, cell: Cell, dialogue: Dialogue, judge: str) -> None:
        kind = self.inputs.ratings[judge]
        if self.journal.done(kind, cell):
            return
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
        self._append(kind, cell, ok=not rated.failed, rating=asdict(rated))

    async def _audit(self, cell: Cell, dialogue: Dialogue) -> None:
        kind = self.inputs.audit
        if kind is None or self._auditor is None or self.journal.done(kind, cell):
            return
        auditor = GroundingJudge(
            self.cast.chat("grounding", self._auditor),
            sampling=self.recipe.judge_sampling.settings(),
            attempts=self.recipe.judge_attempts,
            prompts_dir=self.recipe.prompts_dir,
        )
        seed = derived_seed(self.recipe.seed, "grounding", *cell)
        found = await auditor.check(dialogue, self.scenarios[cell.scenario], seed)
        self._append(kind, cell, ok=not found.failed, rating=asdict(found))

    def _append(self, kind: str, cell: Cell, *, ok: bool, **content: Any) -> None:
        self.journal.append(kind, cell, ok=ok, **content)
        for part, usage in usages(
            {"kind": kind, "cell": cell, **content}, self.inputs, self._auditor
        ):
            self.purse.pay(self._prices.cost(part, usage) or 0.0)
