"""What a stage leaves in the output folder, and whether it still holds."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

from salesllm.benchmark.recipe import scenarios_of
from salesllm.chat.base import Chat
from salesllm.chat.providers import open_chat
from salesllm.errors import InputError
from salesllm.files import digest, read_json, sha256, write_json
from salesllm.journal import changes
from salesllm.preferences.recipe import RolloutRecipe
from salesllm.prompts import prompt_versions
from salesllm.provenance import provenance
from salesllm.scenario import Scenario
from salesllm.scoring.turn import PROMPT as JUDGE_PROMPT
from salesllm.scoring.turn import Judgement, TurnJudge
from salesllm.simulate import derived_seed

SCENARIO_PROMPTS = ("customer_script", "customer_brief", "salesperson_script")


class Records:
    """The output folder of one recipe: a file and a summary a stage.

    Attributes:
        scenarios: By id.
    """

    def __init__(self, recipe: RolloutRecipe) -> None:
        self.recipe, self.folder = recipe, recipe.output_dir
        self.scenarios: dict[str, Scenario] = {s.id: s for s in scenarios_of(recipe.benchmark())}
        self.dialogues = self.folder / "rollout" / "dialogues.jsonl"
        self.judged = self.folder / "judged.jsonl"
        self.pairs = self.folder / "pairs.jsonl"
        self.augmented = self.folder / "augmented.jsonl"
        self.decisions = self.folder / "decisions.jsonl"

    @property
    def final(self) -> Path:
        """The pairs that people look through: augmented ones, if the recipe names a writer."""
        return self.augmented if self.recipe.writer else self.pairs

    def summary(self, stage: str) -> dict[str, Any] | None:
        """What `save` wrote; None where it did not, or what it wrote is damaged."""
        try:
            found = read_json(self.folder / f"{stage}.summary.json")
        except InputError:
            return None
        whole = isinstance(found, dict) and {"settings", "source_sha256"} <= found.keys()
        return found if whole else None

    def save(
        self, stage: str, settings: dict[str, Any], source: Path | None, **figures: Any
    ) -> None:
        """Writes a stage's summary, which is what makes the stage a finished one."""
        summary = {
            "stage": stage,
            **figures,
            "settings": settings,
            "source_sha256": sha256(source) if source else None,
            "provenance": provenance(recipe=self.recipe.model_dump(mode="json")),
        }
        write_json(self.folder / f"{stage}.summary.json", summary)

    def stale(
        self, stage: str, settings: dict[str, Any], source: Path | None, output: Path
    ) -> str | None:
        """Why what a stage left does not hold for this recipe; None where it does."""
        record = self.summary(stage)
        if record is None:
            return "it has not been run"
        if not output.exists():
            return f"{output.relative_to(self.folder)} is missing"
        changed = next(changes(record["settings"], settings), None)
        if changed is None and source is not None:
            same = source.exists() and record["source_sha256"] == sha256(source)
            changed = None if same else f"{source.relative_to(self.folder)} has changed since"
        return changed

    def prompts(self, *names: str) -> dict[str, str]:
        """Versions of these prompts in the languages of the scenarios."""
        languages = {scenario.language for scenario in self.scenarios.values()}
        return prompt_versions(names, languages, self.recipe.prompts_dir)

    def judge_settings(self) -> dict[str, Any]:
        """All that a judgement depends on beside what is judged."""
        settings = self.recipe.part("judge", "judge_attempts", "judge_sampling", "seed")
        return settings | {"prompts": self.prompts(JUDGE_PROMPT)}

    @cached_property
    def judge(self) -> TurnJudge:
        return TurnJudge(
            open_chat(self.recipe.judge),
            sampling=self.recipe.judge_sampling.settings(),
            attempts=self.recipe.judge_attempts,
            prompts_dir=self.recipe.prompts_dir,
        )

    async def judgement(self, question: str) -> Judgement:
        """The judge's answer; the same question always gets the same seed, in whatever stage."""
        seed = derived_seed(self.recipe.seed, "judge", digest(question))
        return await self.judge.judge(question, seed)

    @cached_property
    def customer(self) -> Chat:
        """Opened by whoever asks it first: a checkpoint takes its time."""
        return open_chat(self.recipe.customer)
