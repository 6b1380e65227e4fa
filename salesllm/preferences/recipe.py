"""`recipes/preferences/*.yaml`: the kinds there are, and the one of the rollout pipeline."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from salesllm.benchmark.recipe import BenchmarkRecipe, SamplingRecipe, check_rater, check_speakers
from salesllm.chat.providers import PATIENCE, ChatSpec
from salesllm.dialogue import Language, Speaker
from salesllm.recipe import Recipe
from salesllm.training.pairs import PairRecipe


class RolloutRecipe(Recipe):
    """Pairs from rollouts against several salespeople, chosen by a judge and looked through.

    Attributes:
        overwrite: Throw away what the stages of this command left in `output_dir`; what people
            decided is kept in any case.
        scenarios: Scenario records (JSONL) that the customer was not trained on.
        language: Of released rows as scenarios, which do not say it reliably; only for these.
        customer: The SFT checkpoint, on this machine or behind an endpoint.
        judge: The LLM that judges every turn of the customer.
        judge_attempts: How often an answer of the judge's or the writer's that cannot be read is
            asked for again, the first included.
        writer: The strong LLM that may write a better chosen reply; None leaves the stage out.
        rounds: At most so many messages of each side.
        sampling: Of salespeople and customer; of the candidates and the writer too.
        candidates: Further replies of the customer's in the place of a bad one.
        low_likeness: A turn of at most this likeness (0-10) is bad, as is an inverted one; a
            chosen reply is above it.
        margin: By how much the likeness of chosen must exceed that of rejected.
        max_pairs: At most so many pairs are exported, those with the widest margins.
        review: `required` exports what a person has accepted; `optional` also what nobody has
            looked at yet.
        eval_share: Share of the pairs exported for validation, none of whose scenarios trains.
        concurrency: Dialogues, or questions to the judge, under way at once.
    """

    method: Literal["rollout"]
    output_dir: Path
    overwrite: bool = False
    scenarios: Path
    language: Language | None = None
    salespeople: list[ChatSpec] = Field(min_length=1)
    customer: ChatSpec
    judge: ChatSpec
    judge_attempts: int = Field(default=3, ge=1)
    judge_sampling: SamplingRecipe = SamplingRecipe(temperature=0, top_p=1, max_tokens=512)
    writer: ChatSpec | None = None
    rounds: int = Field(default=20, ge=1)
    sampling: SamplingRecipe = SamplingRecipe()
    candidates: int = Field(default=4, ge=1)
    low_likeness: int = Field(default=4, ge=0, le=9)
    margin: int = Field(default=3, ge=1, le=10)
    max_pairs: int | None = Field(default=None, ge=1)
    review: Literal["required", "optional"] = "required"
    eval_share: float = Field(default=0.0, ge=0, lt=1)
    seed: int = 0
    concurrency: int = Field(default=64, ge=1)
    prompts_dir: Path | None = None

    @model_validator(mode="after")
    def _can_speak(self) -> RolloutRecipe:
        check_speakers(self.salespeople, Speaker.SALESPERSON, "salespeople")
        check_speakers([self.customer], Speaker.CUSTOMER, "customer")
        check_rater(self.judge, "judge", "judge")
        if self.writer is not None:
            check_rater(self.writer, "writer", "write")
        return self

    def benchmark(self) -> BenchmarkRecipe:
        """The rollouts as a run of the benchmark, rated by nobody but the rules."""
        return BenchmarkRecipe(
            name="rollout",
            output_dir=self.output_dir / "rollout",
            overwrite=self.overwrite,
            scenarios=self.scenarios,
            language=self.language,
            salespeople=self.salespeople,
            customers=[self.customer],
            rounds=self.rounds,
            closing=False,  # the pairs teach when to write the end marker, by which alone it ends
            grounding="none",
            sampling=self.sampling,
            seed=self.seed,
            concurrency=self.concurrency,
            prompts_dir=self.prompts_dir,
        )

    def part(self, *keys: str) -> dict[str, Any]:
        """Some keys as JSON values, speakers without what changes no answer of theirs."""
        speakers = dict.fromkeys(("customer", "judge", "writer"), PATIENCE)
        exclude: dict[str, Any] = {"salespeople": {"__all__": PATIENCE}, **speakers}
        return self.model_dump(mode="json", include=set(keys), exclude=exclude)


METHODS: dict[str, type[Recipe]] = {"mine": PairRecipe, "rollout": RolloutRecipe}
"""What `method` may say in a recipe of preferences; `mine` where it says nothing."""
