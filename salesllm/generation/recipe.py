"""`recipes/scenarios/*.yaml`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field, field_validator

from salesllm.catalog.space import CONSUMER_COUNTS, FINANCIAL_COUNTS, PERSONAS
from salesllm.dialogue import Language, NonBlank
from salesllm.errors import FieldError
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


class SpaceRecipe(Recipe):
    """What the scenario space consists of, and how it is made.

    Attributes:
        language: Of everything that is written; the same draws can be rendered in the other one.
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
    evaluation: EvaluationRecipe | None = None

    @field_validator("counts")
    @classmethod
    def _known(cls, counts: Literal["paper"] | dict[str, int]) -> Literal["paper"] | dict[str, int]:
        known = CONSUMER_COUNTS | FINANCIAL_COUNTS
        for name, count in counts.items() if isinstance(counts, dict) else ():
            if name not in known:
                fix = f"Choose from {', '.join(known)}"
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
