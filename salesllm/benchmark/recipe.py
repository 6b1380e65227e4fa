"""`recipes/benchmark/*.yaml`, and the scenarios that such a recipe names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_serializer, field_validator, model_validator

from salesllm.chat.base import Sampling
from salesllm.chat.providers import ChatSpec
from salesllm.dialogue import Language, NonBlank, Speaker
from salesllm.errors import FieldError, InputError
from salesllm.recipe import Recipe
from salesllm.scenario import Scenario, read_scenarios
from salesllm.scenarios.evaluation import scenario_file
from salesllm.scenarios.scripts import with_scripts
from salesllm.scoring import rules
from salesllm.scoring.final import ALPHA


class SamplingRecipe(Recipe):
    """How a model draws its replies; the defaults are the paper's (4.1)."""

    temperature: float = Field(default=0.8, ge=0)
    top_p: float = Field(default=0.99, gt=0, le=1)
    max_tokens: int = Field(default=2048, ge=1)

    def settings(self) -> Sampling:
        return Sampling(self.temperature, self.top_p, self.max_tokens)


class SampleRecipe(Recipe):
    """Scenarios drawn from the catalogue.

    Attributes:
        n: So many a language.
    """

    languages: list[Language] = Field(default=["zh", "en"], min_length=1)
    n: int = Field(ge=1)
    seed: int = 0
    split: Literal["train", "test"] = "test"


class BenchmarkRecipe(Recipe):
    """A benchmark run.

    Attributes:
        overwrite: Throw away what `output_dir` holds, instead of continuing it.
        scenarios: Scenario records (JSONL), or the name of a set that comes with the package
            (`v1`, `v1-ablation`, `v1-smoke`); either these or `sample`.
        judge: Who rates the selling: None, written `rules`, for the rule-based stand-in.
        judge_attempts: How often an answer of the judge's without a score is asked for again,
            the first included.
        intent: Checkpoint of the intent scorer of each language. A language without one gets no
            buying score, and so no final one.
        rounds: At most so many messages of each side.
        alpha: Weight of the buying score in the final one.
        sampling: Of salespeople and customers.
        concurrency: Dialogues under way at once.
    """

    name: NonBlank
    output_dir: Path
    overwrite: bool = False
    scenarios: Path | None = None
    sample: SampleRecipe | None = None
    salespeople: list[ChatSpec] = Field(min_length=1)
    customers: list[ChatSpec] = Field(min_length=1)
    judge: ChatSpec | None = None
    judge_attempts: int = Field(default=3, ge=1)
    judge_sampling: SamplingRecipe = SamplingRecipe(temperature=0, top_p=1, max_tokens=1024)
    intent: dict[Language, Path] = Field(default_factory=dict)
    rounds: int = Field(default=20, ge=1)
    alpha: float = Field(default=ALPHA, ge=0, le=1)
    sampling: SamplingRecipe = SamplingRecipe()
    seed: int = 0
    concurrency: int = Field(default=64, ge=1)
    prompts_dir: Path | None = None

    @field_validator("judge", mode="before")
    @classmethod
    def _rules_or_a_chat(cls, value: Any) -> Any:
        if isinstance(value, str) and value != rules.NAME:
            fix = f"Write {rules.NAME}, or a chat model with its provider"
            raise FieldError(f"unknown judge {value!r}", fix=fix)
        return None if value == rules.NAME else value

    @field_serializer("judge")
    def _name_the_rules(self, value: ChatSpec | None) -> dict[str, Any] | str:
        return rules.NAME if value is None else value.model_dump(mode="json")

    @model_validator(mode="after")
    def _fits_together(self) -> BenchmarkRecipe:
        if (self.scenarios is None) == (self.sample is None):
            problem = "a run needs scenarios: a file or a sample, not both"
            raise FieldError(problem, field="scenarios", fix="Give `scenarios` or `sample`")
        check_speakers(self.salespeople, Speaker.SALESPERSON, "salespeople")
        check_speakers(self.customers, Speaker.CUSTOMER, "customers")
        if self.judge is not None:
            check_rater(self.judge, "judge", "judge")
        return self

    @property
    def rater(self) -> str:
        """Name of who rates the selling, as tables show it."""
        return self.judge.name if self.judge else rules.NAME

    def speakers(self) -> Sequence[tuple[str, ChatSpec]]:
        """Every chat of the recipe with the field that names it."""
        judge = [("judge", self.judge)] if self.judge else []
        salespeople = [("salespeople", spec) for spec in self.salespeople]
        return [*salespeople, *(("customers", spec) for spec in self.customers), *judge]


def check_speakers(specs: Sequence[ChatSpec], side: Speaker, field: str) -> None:
    """Raises `FieldError` where two share a name, or a scripted one cannot take this side."""
    twice = [name for name, n in Counter(spec.name for spec in specs).items() if n > 1]
    if twice:
        fix = "Give each its own `name`"
        raise FieldError(f"the name {twice[0]!r} is taken", field=field, fix=fix)
    for spec in specs:
        if spec.provider == "scripted" and spec.model != side:
            problem = f"the scripted {spec.model} cannot be a {side}"
            raise FieldError(problem, field=field, fix=f"Write model: {side}")


def check_rater(spec: ChatSpec, field: str, does: str) -> None:
    """Raises `FieldError` for a scripted speaker, which answers no questions."""
    if spec.provider == "scripted":
        problem, fix = f"a scripted speaker cannot {does}", "Name an endpoint or a checkpoint"
        raise FieldError(problem, field=f"{field}.provider", fix=fix)


def scenarios_of(recipe: BenchmarkRecipe) -> list[Scenario]:
    """The scenarios that the recipe names, in a fixed order.

    Raises:
        InputError: The file is not one of scenarios, or two scenarios share an id.
    """
    if recipe.scenarios is not None:
        return read_scenarios(scenario_file(recipe.scenarios))
    from salesllm.scenarios.sampling import sample_scenarios

    sample = recipe.sample
    assert sample is not None  # validated
    drawn = [
        scenario if recipe.prompts_dir is None else with_scripts(scenario, recipe.prompts_dir)
        for language in sample.languages
        for scenario in sample_scenarios(language, sample.n, seed=sample.seed, split=sample.split)
    ]
    twice = [key for key, n in Counter(s.id for s in drawn).items() if n > 1]
    if twice:
        raise InputError(f"two scenarios have the id {twice[0]!r}", field="sample.languages")
    return drawn
