"""`recipes/scenarios/*.yaml`: the ways to make scenarios, told apart by `backend`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from math import isfinite
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, Field, field_validator, model_validator

from salesllm.benchmark.recipe import SamplingRecipe, check_rater
from salesllm.catalog.space import CONSUMER_COUNTS, FINANCIAL_COUNTS, PERSONAS
from salesllm.chat.providers import PATIENCE, ChatSpec
from salesllm.dialogue import Language
from salesllm.errors import FieldError
from salesllm.generation.amazon import category_of
from salesllm.recipe import Recipe
from salesllm.scenario import Domain

_TAKEN = ("products", "personas", "scenarios", "dropped", "summary")


def _file_name(name: str) -> str:
    """A word that names a file in the output folder, and none of the files that are there."""
    if not re.fullmatch(r"[A-Za-z0-9_-]+", name) or name in _TAKEN:
        fix = f"Write letters, digits, _ and - only, and none of {', '.join(_TAKEN)}"
        raise FieldError(f"{name!r} is no name for a set", fix=fix)
    return name


FileName = Annotated[str, AfterValidator(_file_name)]


class EvaluationRecipe(Recipe):
    """An evaluation set to be drawn from the space, in strata.

    Attributes:
        version: Begins its file's name and every id.
        zh: Scenarios, all of them in Chinese.
        en: How many of them are in English too.
        subsets: Name to number of scenarios, half of them in each language.
    """

    version: FileName
    zh: int = Field(default=1000, ge=1)
    en: int = Field(default=805, ge=0)
    subsets: dict[FileName, int] = Field(default={})

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.en > self.zh:
            problem = f"{self.en} is more than the {self.zh} of zh"
            raise FieldError(problem, field="en", fix="English ones are among the Chinese ones")
        for name, n in self.subsets.items():
            if n % 2 or not 2 <= n <= 2 * self.en:
                problem = f"{n} is not an even number from 2 to {2 * self.en}"
                fix = "Half of a subset is in each language"
                raise FieldError(problem, field=f"subsets.{name}", fix=fix)
        return self


class _Space(Recipe):
    """What the scenario space consists of, whoever makes it.

    Attributes:
        language: Of everything that is written.
        counts: `paper` (Tables 8 and 9), or category to number of products; every product gets
            one scenario.
        personas: Size of the pool of personas; far more would take hours to tell apart.
        threshold: Jaccard index of 3-shingles from which two texts are near duplicates.
    """

    output_dir: Path
    overwrite: bool = False
    language: Language
    counts: Literal["paper"] | dict[str, int] = "paper"
    personas: int = Field(default=PERSONAS, ge=1, le=200_000)
    threshold: float = Field(default=0.8, gt=0, le=1)
    seed: int = 0

    @field_validator("counts", mode="before")
    @classmethod
    def _known(cls, counts: Any) -> Any:
        if counts == "paper":
            return counts
        if not isinstance(counts, dict) or not counts:
            fix = "Write paper, or category: number of products"
            raise FieldError(f"{counts!r} is no counts of categories", fix=fix)
        for name, count in counts.items():
            if name not in CONSUMER_COUNTS | FINANCIAL_COUNTS:
                fix = f"Choose from {', '.join(CONSUMER_COUNTS | FINANCIAL_COUNTS)}"
                raise FieldError("is no category", field=str(name), fix=fix)
            if type(count) is not int or count < 1:
                fix = "Write 1 or more, or leave it out"
                raise FieldError(f"{count!r} is no number of products", field=name, fix=fix)
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

    @model_validator(mode="after")
    def _enough(self) -> Self:
        scenarios = sum(sum(of_domain.values()) for of_domain in self.by_domain().values())
        if self.evaluation and self.evaluation.zh > scenarios:
            problem = f"{self.evaluation.zh} is more than the {scenarios} scenarios of counts"
            raise FieldError(problem, field="evaluation.zh", fix="Ask for fewer, or raise counts")
        return self


class WriterRecipe(Recipe):
    """An LLM that writes, and how it is asked.

    Attributes:
        attempts: How often an answer that cannot be used is asked for again, the first included.
        json_schema: Hold the endpoint to the schema of the answer; false for one that takes none.
        dry_run: Only say how many calls, tokens and how much money it will be; write nothing.
    """

    writer: ChatSpec
    sampling: SamplingRecipe = SamplingRecipe()
    attempts: int = Field(default=3, ge=1)
    json_schema: bool = True
    prompts_dir: Path | None = None
    output_dir: Path
    overwrite: bool = False
    seed: int = 0
    dry_run: bool = False

    @field_validator("prompts_dir")
    @classmethod
    def _is_folder(cls, folder: Path | None) -> Path | None:
        if folder is not None and not folder.is_dir():
            raise FieldError(f"there is no folder {folder}", fix="Check the path")
        return folder

    @model_validator(mode="after")
    def _writes(self) -> Self:
        check_rater(self.writer, "writer", "write")
        return self

    def settings(self) -> dict[str, Any]:
        """All that an answer depends on, of the recipe; prompts have versions of their own."""
        aside = {"output_dir", "overwrite", "prompts_dir", "dry_run"}
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
        if isinstance(files, list):
            if wrong := [f for f in files if not isinstance(f, str | Path)]:
                raise FieldError(f"{wrong[0]!r} is no path", fix="Write a list of files")
            files = {category_of(f): f for f in files}
        for name in files if isinstance(files, dict) else ():
            if name not in CONSUMER_COUNTS:
                fix = "Write category: file, with a category of the paper's Table 8"
                raise FieldError("is no consumer category", field=str(name), fix=fix)
        return files

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

    @field_validator("length_ratio")
    @classmethod
    def _is_range(cls, ratio: tuple[float, float]) -> tuple[float, float]:
        least, most = ratio
        if not (0 <= least < most and isfinite(most)):
            fix = "Write the least, 0 or more, then the most"
            raise FieldError(f"{[least, most]} is no range", fix=fix)
        return ratio


RECIPES: dict[str, type[Recipe]] = {
    "grammar": SpaceRecipe,
    "llm": WrittenSpaceRecipe,
    "translate": TranslationRecipe,
}
