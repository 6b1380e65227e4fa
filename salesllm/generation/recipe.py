"""`recipes/scenarios/*.yaml`: the ways to make scenarios, told apart by `backend`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from salesllm.benchmark.recipe import SamplingRecipe, check_rater
from salesllm.catalog.space import CONSUMER_COUNTS, FINANCIAL_COUNTS, PERSONAS
from salesllm.chat.base import Usage
from salesllm.chat.providers import PATIENCE, ChatSpec
from salesllm.dialogue import Language, NonBlank
from salesllm.errors import FieldError
from salesllm.generation.amazon import category_of
from salesllm.recipe import Recipe
from salesllm.scenario import Domain


class EvaluationRecipe(Recipe):
    """An evaluation set to be drawn from the space, in strata.

    Attributes:
        version: Begins its file's name and every id.
        zh: Scenarios, all of them in Chinese.
        en: How many of them are in English too.
        subsets: Name to number of scenarios, half of them in each language.
    """

    version: NonBlank
    zh: int = Field(default=1000, ge=1)
    en: int = Field(default=805, ge=0)
    subsets: dict[str, int] = Field(default={})


class _Space(Recipe):
    """What the scenario space consists of, whoever makes it.

    Attributes:
        language: Of everything that is written.
        counts: `paper` (Tables 8 and 9), or category to number of products; every product gets
            one scenario.
        personas: Size of the pool of personas.
        threshold: Jaccard index of 3-shingles from which two texts are near duplicates.
    """

    output_dir: Path
    overwrite: bool = False
    language: Language
    counts: Literal["paper"] | dict[str, int] = "paper"
    personas: int = Field(default=PERSONAS, ge=1)
    threshold: float = Field(default=0.8, gt=0, le=1)
    seed: int = 0

    @field_validator("counts")
    @classmethod
    def _known(cls, counts: Literal["paper"] | dict[str, int]) -> Literal["paper"] | dict[str, int]:
        for name, count in counts.items() if isinstance(counts, dict) else ():
            if name not in CONSUMER_COUNTS | FINANCIAL_COUNTS:
                fix = f"Choose from {', '.join(CONSUMER_COUNTS | FINANCIAL_COUNTS)}"
                raise FieldError("is no category", field=name, fix=fix)
            if count < 1:
                raise FieldError(f"is {count}", field=name, fix="Write 1 or more, or leave it out")
        return counts

    def by_domain(self) -> Mapping[Domain, Mapping[str, int]]:
        """Products of each category, by domain."""
        if self.counts == "paper":
            return {"consumer": CONSUMER_COUNTS, "financial": FINANCIAL_COUNTS}
        return {
            "consumer": {c: n for c, n in self.counts.items() if c in CONSUMER_COUNTS},
            "financial": {c: n for c, n in self.counts.items() if c in FINANCIAL_COUNTS},
        }


class SpaceRecipe(_Space):
    """Scenarios from the catalogue, offline.

    The same draws can be rendered in the other language.
    """

    backend: Literal["grammar"] = "grammar"
    evaluation: EvaluationRecipe | None = None


class Price(Recipe):
    """What an endpoint charges for a million tokens, in any one currency."""

    prompt: float = Field(ge=0)
    completion: float = Field(ge=0)

    def of(self, usage: Usage) -> float:
        tokens = self.prompt * usage.prompt_tokens + self.completion * usage.completion_tokens
        return tokens / 1_000_000


class WriterRecipe(Recipe):
    """An LLM that writes, and how it is asked.

    Attributes:
        attempts: How often an answer that cannot be used is asked for again, the first included.
        json_schema: Hold the endpoint to the schema of the answer; false for one that takes none.
        price: For the cost in progress, summary and dry run.
        dry_run: Only say how many calls, tokens and how much money it will be; write nothing.
    """

    writer: ChatSpec
    sampling: SamplingRecipe = SamplingRecipe()
    attempts: int = Field(default=3, ge=1)
    json_schema: bool = True
    price: Price | None = None
    prompts_dir: Path | None = None
    output_dir: Path
    overwrite: bool = False
    seed: int = 0
    dry_run: bool = False

    @model_validator(mode="after")
    def _writes(self) -> Self:
        check_rater(self.writer, "writer", "write")
        return self

    def settings(self) -> dict[str, Any]:
        """All that an answer depends on, of the recipe; prompts have versions of their own."""
        aside = {"output_dir", "overwrite", "price", "prompts_dir", "dry_run"}
        found = self.model_dump(mode="json", exclude=aside)
        found["writer"] = {k: v for k, v in found["writer"].items() if k not in PATIENCE}
        return found


class WrittenSpaceRecipe(_Space, WriterRecipe):
    """Scenarios written by an LLM after examples (the paper's 3.1); personas are drawn.

    Attributes:
        amazon: Metadata files of Amazon-Reviews-2023: category to file, or a list of files named
            after their categories. Consumer categories without one take the catalogue's products.
        examples: Seeds of its category that a financial product is shown (few-shot).
        neighbours: Products of its category beside the target that a consumer product is shown.
        redraws: How often a near duplicate, or what could not be read, is written anew.
    """

    backend: Literal["llm"]
    amazon: dict[str, Path] = Field(default_factory=dict)
    examples: int = Field(default=10, ge=1)
    neighbours: int = Field(default=5, ge=0)
    redraws: int = Field(default=8, ge=0)

    @field_validator("amazon", mode="before")
    @classmethod
    def _by_category(cls, files: Any) -> Any:
        named = {category_of(f): f for f in files} if isinstance(files, list) else files
        for name in named if isinstance(named, dict) else ():
            if name not in CONSUMER_COUNTS:
                fix = "Write category: file, with a category of the paper's Table 8"
                raise FieldError("is no consumer category", field=str(name), fix=fix)
        return named

    @model_validator(mode="after")
    def _is_used(self) -> Self:
        for name in self.amazon:
            if name not in self.by_domain()["consumer"]:
                fix = f"Add {name} to counts, or take its file out"
                raise FieldError("no product of it is asked for", field=f"amazon.{name}", fix=fix)
        return self


class TranslationRecipe(WriterRecipe):
    """Chinese scenarios translated into English, poor translations left out.

    Attributes:
        scenarios: Scenario records (JSONL), or the name of a set that comes with the package.
        length_ratio: Fewest and most English characters for a Chinese one.
        embedding_model: Compares a translation back into Chinese with the original; None leaves
            that out.
        similarity: Least cosine of the two.
    """

    backend: Literal["translate"]
    scenarios: Path
    length_ratio: tuple[float, float] = (1.0, 7.5)
    embedding_model: str | None = None
    similarity: float = Field(default=0.8, ge=-1, le=1)
    sampling: SamplingRecipe = SamplingRecipe(temperature=0.2, top_p=1.0, max_tokens=4096)


RECIPES: dict[str, type[Recipe]] = {
    "grammar": SpaceRecipe,
    "llm": WrittenSpaceRecipe,
    "translate": TranslationRecipe,
}
