"""The stages in their order, which of them still hold, and what comes next."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from salesllm.chat.providers import check_chat, open_chat
from salesllm.dialogue import Speaker
from salesllm.errors import InputError
from salesllm.files import refuse_existing
from salesllm.preferences import augment, export, judge, pair, rollout
from salesllm.preferences.decisions import Decisions, export_sheet, import_sheet
from salesllm.preferences.pairs import read_pairs
from salesllm.preferences.recipe import RolloutRecipe
from salesllm.preferences.records import Records
from salesllm.preferences.review import Terminal, review
from salesllm.prompts import load_prompt
from salesllm.scenario import Scenario
from salesllm.scenarios.scripts import script_of
from salesllm.scoring.turn import PROMPT as JUDGE_PROMPT

STAGES = ("rollout", "judge", "pair", "augment", "review", "export")


@dataclass(frozen=True)
class _Machine:
    """A stage that needs no person.

    Attributes:
        settings: What its results depend on, of the recipe and the prompts.
        run: Does what is not done yet, and returns the figures of its summary.
        output: The file of its results, by its name in `Records`.
        source: The file that it works from, likewise.
    """

    settings: Callable[[Records], dict[str, Any]]
    run: Callable[[Records, Console], dict[str, Any]]
    output: str
    source: str | None = None

    def files(self, records: Records) -> tuple[Path | None, Path]:
        """Source and output."""
        return getattr(records, self.source) if self.source else None, getattr(records, self.output)


_MACHINES: Mapping[str, _Machine] = {
    "rollout": _Machine(rollout.settings, rollout.run, "dialogues"),
    "judge": _Machine(judge.settings, judge.run, "judged", "dialogues"),
    "pair": _Machine(pair.settings, pair.run, "pairs", "judged"),
    "augment": _Machine(augment.settings, augment.run, "augmented", "pairs"),
}


class Pipeline:
    """Pairs from rollouts, stage by stage.

    Raises:
        InputError: The scenarios cannot be read, or a prompt of the user's does not fit.
    """

    def __init__(self, recipe: RolloutRecipe, console: Console) -> None:
        self.recipe, self.console = recipe, console
        self.records = Records(recipe)
        self.machines = [name for name in _MACHINES if name != "augment" or recipe.writer]

    def run(self, stage: str | None = None) -> bool:
        """Runs one stage, or every stage that needs no person, and says what comes next.

        Returns:
            Whether nothing failed that may succeed when it is tried again.

        Raises:
            InputError: An earlier stage has to be run first, something the recipe names cannot be
                used, or the folder holds results of another recipe.
        """
        if stage == "augment" and self.recipe.writer is None:
            fix = "Name a writer, or leave the stage out"
            raise InputError("the recipe names no writer", field="writer", fix=fix)
        for machine in self._before(stage):
            self._require(machine, str(stage))
        failed = 0
        if stage is None or stage in _MACHINES:
            todo = self.machines if stage is None else [stage]
            self._rehearse(todo)
            failed = sum([self._run(machine) for machine in todo])
        if failed:
            self._say(f"{failed} piece(s) of work failed. The same command tries them again.")
        if stage == "review":
            self._review()
        if stage == "export" or (stage is None and not self._needs_review()):
            self._export()
        else:
            self._say(f"Next: {self._next()}")
        return not failed

    def sheets(self, exported: Path | None, imported: Path | None) -> bool:
        """The review by way of a spreadsheet: takes decisions over, then writes a sheet.

        Returns:
            True: there is nothing in it that may fail for a while.

        Raises:
            InputError: The sheet to write exists and is not the one taken over, an earlier stage
                has to be run first, or a row cannot be taken over.
        """
        if exported and not (imported and exported.resolve() == imported.resolve()):
            refuse_existing(exported, "export_csv")
        for machine in self._before("review"):
            self._require(machine, "review")
        pairs = read_pairs(self.records.final)
        with Decisions(self.records.decisions) as decisions:
            if imported:
                count = import_sheet(imported, pairs, decisions)
                self._say(f"{imported}: {count} decisions taken over")
            if exported:
                export_sheet(exported, pairs, decisions)
                self._say(f"{exported}: {len(pairs)} pairs to decide on")
            counts = decisions.counts(pairs)
        self.records.save("review", {}, self.records.final, decisions=counts)
        self._say(f"Next: {self._next()}")
        return True

    def _before(self, stage: str | None) -> list[str]:
        """The stages that have to be there for this one."""
        if stage is None:
            return []
        return self.machines[: self.machines.index(stage)] if stage in _MACHINES else self.machines

    def _stale(self, name: str) -> str | None:
        machine = _MACHINES[name]
        return self.records.stale(
            name, machine.settings(self.records), *machine.files(self.records)
        )

    def _require(self, name: str, wanted: str) -> None:
        if why := self._stale(name):
            raise InputError(
                f"{wanted} works on what {name} leaves, and {why}",
                path=self.records.folder,
                field="stage",
                fix=f"Run --stage {name} first",
            )

    def _run(self, name: str) -> int:
        """Runs a stage unless what it left still holds; the rollout's own journal says that best.

        Returns:
            How many pieces of its work failed.
        """
        machine, records = _MACHINES[name], self.records
        before = records.summary(name) or {}
        again = name == "rollout" or self.recipe.overwrite or before.get("failed") != 0
        if not again and not self._stale(name):
            self._say(f"{name}: done before")
            return 0
        figures = machine.run(records, self.console)
        source, output = machine.files(records)
        records.save(name, machine.settings(records), source, **figures)
        told = (f"{key} {value}" for key, value in figures.items() if isinstance(value, int))
        self._say(f"{name}: {', '.join(told)}")
        if figures["failed"] and not output.stat().st_size:
            problem, fix = f"all that {name} tried has failed", "The journal beside it says why"
            raise InputError(problem, path=output, fix=fix)
        return int(figures["failed"])

    def _rehearse(self, stages: list[str]) -> None:
        """Finds what would stop these stages before the first of them has cost anything."""
        recipe = self.recipe
        used = {
            "rollout": [*recipe.salespeople, recipe.customer],
            "judge": [recipe.judge],
            "pair": [recipe.customer, recipe.judge],
            "augment": [recipe.writer, recipe.judge] if recipe.writer else [],
        }
        for spec in (spec for stage in stages for spec in used[stage]):
            check_chat(spec, spec.name)
            if spec.provider == "endpoint":
                open_chat(spec)  # its key is there
        first: dict[str, Scenario] = {s.language: s for s in self.records.scenarios.values()}
        for scenario in first.values():
            script_of(scenario, Speaker.SALESPERSON, "script", recipe.prompts_dir)
            style = recipe.customer.customer_style
            script = script_of(scenario, Speaker.CUSTOMER, style, recipe.prompts_dir)
            augment.question(scenario.language, script, [], recipe.prompts_dir)
            load_prompt(JUDGE_PROMPT, scenario.language, recipe.prompts_dir).render(
                script=script, history="", message=""
            )

    def _review(self) -> None:
        person = Terminal()
        pairs = read_pairs(self.records.final)
        with Decisions(self.records.decisions) as decisions:
            counts = review(pairs, decisions, person, self.console)
        self.records.save("review", {}, self.records.final, decisions=counts)

    def _open(self) -> int:
        """Pairs that nobody has decided on."""
        pairs = read_pairs(self.records.final)
        with Decisions(self.records.decisions) as decisions:
            return decisions.counts(pairs)["open"]

    def _needs_review(self) -> bool:
        return self.recipe.review == "required" and self._open() > 0

    def _export(self) -> None:
        figures = export.run(self.records)
        self.records.save("export", export.settings(self.records), self.records.final, **figures)
        for part, count in figures["pairs"].items():
            self._say(f"{self.records.folder / export.FILES[part]}: {count} pairs")

    def _next(self) -> str:
        for name in self.machines:
            if self._stale(name):
                return f"--stage {name}"
        if self._needs_review():
            return f"--stage review, or --export_csv FILE ({self._open()} pairs to decide on)"
        return "--stage export"

    def _say(self, text: str) -> None:
        self.console.print(text, markup=False, highlight=False, soft_wrap=True)
