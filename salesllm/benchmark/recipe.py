"""`recipes/benchmark/*.yaml`, and the scenarios that such a recipe names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from salesllm.chat.base import Sampling
from salesllm.chat.providers import ChatSpec
from salesllm.chat.registry import resolve
from salesllm.dialogue import Language, NonBlank, Speaker
from salesllm.errors import FieldError, InputError
from salesllm.recipe import Recipe
from salesllm.scenario import Scenario
from salesllm.scenarios.authors import load_scenarios
from salesllm.scenarios.evaluation import scenario_file
from salesllm.scenarios.scripts import with_scripts
from salesllm.scoring import rules
from salesllm.scoring.final import ALPHA

_CHECKS = ("numbers", "none")


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


class GuardRecipe(Recipe):
    """A live guard: a customer's draft that sounds like the salesperson is drawn again.

    Attributes:
        detector: A speaker detector, as `eval/ablation.py` saves it (`detector.npz`).
        threshold: P(salesperson) from which on a draft is flagged.
        redraws: At most so many further drafts; the last one stands.
    """

    detector: Path
    threshold: float = Field(default=0.5, gt=0, lt=1)
    redraws: int = Field(default=2, ge=1)


class BenchmarkRecipe(Recipe):
    """A benchmark run.

    Attributes:
        overwrite: Throw away what `output_dir` holds, instead of continuing it.
        models: A registry of models (`recipes/models.yaml`), whose names may then stand for
            speakers and judges.
        scenarios: Scenario records (JSONL), or the name of a set that comes with the package
            (`v1`, `v1-ablation`, `v1-smoke`), or rows of the paper's released benchmark; either
            these or `sample`.
        language: Of a run on released rows, which do not say it reliably; only for these.
        repeats: How often each scenario is played, each time with other draws.
        judge: Who rates the selling: one LLM or several, whose scores are averaged; none, written
            `rules`, for the rule-based stand-in.
        judge_attempts: How often an answer of a judge's without a score is asked for again, the
            first included.
        judge_samples: How many answers of a judge's the score is the median of.
        judge_weighted: Weigh the scores 0-10 by their probabilities, where the endpoint tells them.
        grounding: Who looks for unauthorised concessions: `numbers` compares figures with the
            product's facts; an LLM gives a verdict beside that; `none` leaves it out.
        intent: Checkpoint of the intent scorer of each language. A language without one gets no
            buying score, and so no final one.
        intent_exact: Read all dialogues in full precision. Else a CPU with bfloat16 reads in that
            first: no label changes, a score by some hundredths at most.
        rounds: At most so many messages of each side.
        closing: Whether plain closing words end a dialogue, as the end marker does.
        guard: None lets every draft of the customer's pass.
        alpha: Weight of the buying score in the final one.
        sampling: Of salespeople and customers.
        concurrency: Dialogues under way at once.
        limit: Only the first so many scenarios of each language.
        shard: `i/n` runs the i-th of n parts, in a folder of its own below `output_dir`.
        merge: Folders of finished shards, whose work `output_dir` takes over; nothing is run.
        dry_run: Say what is left to do, in calls, tokens and money, and do nothing.
        max_cost: In USD, all sides together. A run that reaches it stops, and can be continued.
    """

    name: NonBlank
    output_dir: Path
    overwrite: bool = False
    models: Path | None = None
    scenarios: Path | None = None
    language: Language | None = None
    sample: SampleRecipe | None = None
    repeats: int = Field(default=1, ge=1)
    salespeople: list[ChatSpec] = Field(min_length=1)
    customers: list[ChatSpec] = Field(min_length=1)
    judge: list[ChatSpec] = Field(default_factory=list)
    judge_attempts: int = Field(default=3, ge=1)
    judge_samples: int = Field(default=1, ge=1)
    judge_weighted: bool = False
    judge_sampling: SamplingRecipe = SamplingRecipe(temperature=0, top_p=1, max_tokens=1024)
    grounding: ChatSpec | Literal["numbers", "none"] = "numbers"
    intent: dict[Language, Path] = Field(default_factory=dict)
    intent_exact: bool = False
    rounds: int = Field(default=20, ge=1)
    closing: bool = True
    guard: GuardRecipe | None = None
    alpha: float = Field(default=ALPHA, ge=0, le=1)
    sampling: SamplingRecipe = SamplingRecipe()
    seed: int = 0
    concurrency: int = Field(default=64, ge=1)
    prompts_dir: Path | None = None
    limit: int | None = Field(default=None, ge=1)
    shard: str | None = None
    merge: list[Path] = Field(default_factory=list)
    dry_run: bool = False
    max_cost: float | None = Field(default=None, gt=0)

    @model_validator(mode="before")
    @classmethod
    def _look_up_models(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        fields = ("salespeople", "customers", "judge", "grounding")
        return resolve(values, fields, words=(rules.NAME, *_CHECKS))

    @field_validator("judge", mode="before")
    @classmethod
    def _rules_or_judges(cls, value: Any) -> Any:
        if value in (None, "none", "", rules.NAME):
            return []
        return value if isinstance(value, list) else [value]

    @field_validator("grounding", mode="wrap")
    @classmethod
    def _check_or_chat(cls, value: Any, handler: Any) -> Any:
        """Without a union's two errors for one mistake."""
        if isinstance(value, dict):
            return ChatSpec.model_validate(value)
        if isinstance(value, str | None) and (value or "none") not in _CHECKS:
            fix = f"Write {' or '.join(_CHECKS)}, or name a model"
            raise FieldError(f"unknown check {value!r}", fix=fix)
        return handler(value or "none")

    @field_validator("shard")
    @classmethod
    def _is_a_part(cls, value: str | None) -> str | None:
        if value is not None:
            part, _, parts = value.partition("/")
            if not (part.isdecimal() and parts.isdecimal() and 1 <= int(part) <= int(parts)):
                fix = "Write 1/4 for the first of four parts"
                raise FieldError(f"{value!r} names no part of a run", fix=fix)
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> BenchmarkRecipe:
        if (self.scenarios is None) == (self.sample is None):
            problem = "a run needs scenarios: a file or a sample, not both"
            raise FieldError(problem, field="scenarios", fix="Give `scenarios` or `sample`")
        check_speakers(self.salespeople, Speaker.SALESPERSON, "salespeople")
        check_speakers(self.customers, Speaker.CUSTOMER, "customers")
        check_names(self.judge, "judge")
        for spec in self.judge:
            check_rater(spec, "judge", "judge")
        if isinstance(self.grounding, ChatSpec):
            check_rater(self.grounding, "grounding", "judge")
        if self.judge_samples > 1 and self.judge_sampling.temperature == 0:
            problem = f"{self.judge_samples} samples at temperature 0 are all the same"
            fix = "Raise judge_sampling.temperature, or take one sample"
            raise FieldError(problem, field="judge_samples", fix=fix)
        if self.merge and self.shard:
            raise FieldError("a shard takes over no shards", field="merge", fix="Remove one")
        return self

    @property
    def folder(self) -> Path:
        """Where this run, or this part of it, writes."""
        if self.shard is None:
            return self.output_dir
        return self.output_dir / f"shard-{self.shard.replace('/', '-of-')}"

    @property
    def rater(self) -> str:
        """Name of who rates the selling, as tables show it."""
        return " + ".join(spec.name for spec in self.judge) or rules.NAME

    @property
    def auditor(self) -> ChatSpec | None:
        """The LLM that looks for unauthorised concessions."""
        return self.grounding if isinstance(self.grounding, ChatSpec) else None

    def speakers(self) -> Sequence[tuple[str, ChatSpec]]:
        """Every chat of the recipe with the field that names it."""
        return [
            *(("salespeople", spec) for spec in self.salespeople),
            *(("customers", spec) for spec in self.customers),
            *(("judge", spec) for spec in self.judge),
            *([("grounding", self.auditor)] if self.auditor else []),
        ]


def check_names(specs: Sequence[ChatSpec], field: str) -> None:
    """Raises `FieldError` where two share a name."""
    twice = [name for name, n in Counter(spec.name for spec in specs).items() if n > 1]
    if twice:
        fix = "Give each its own `name`"
        raise FieldError(f"the name {twice[0]!r} is taken", field=field, fix=fix)


def check_speakers(specs: Sequence[ChatSpec], side: Speaker, field: str) -> None:
    """Raises `FieldError` where two share a name, or a scripted one cannot take this side."""
    check_names(specs, field)
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
    """The scenarios that the recipe names, in a fixed order; all, whatever its `limit`.

    Raises:
        InputError: The file is not one of scenarios, two scenarios share an id, or `language` is
            missing or has nothing to say.
    """
    if recipe.scenarios is not None:
        return load_scenarios(scenario_file(recipe.scenarios), recipe.language)
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


def first_of_each_language(scenarios: Iterable[Scenario], limit: int | None) -> Iterator[Scenario]:
    """The first `limit` of each language, or all."""
    seen: Counter[Language] = Counter()
    for scenario in scenarios:
        seen[scenario.language] += 1
        if limit is None or seen[scenario.language] <= limit:
            yield scenario
