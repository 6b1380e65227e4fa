"""An intent scorer beside LLM judges on labelled dialogues that it has not seen (Table 11)."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import Field, model_validator
from rich.console import Console

from salesllm.chat.providers import ChatSpec
from salesllm.chat.registry import resolve
from salesllm.dialogue import Language, NonBlank
from salesllm.errors import FieldError, InputError
from salesllm.files import read_json, require_model, sha256
from salesllm.recipe import Recipe
from salesllm.scoring import rules
from salesllm.scoring.ending import SCHEMAS, IntentSettings
from salesllm.scoring.intent import IntentScorer
from salesllm.scoring.label import Schema
from salesllm.training.data import read_unseen
from salesllm.training.labelling import LabellerRecipe, label_dialogues
from salesllm.training.labels import LabelledDialogue, read_labelled
from salesllm.training.run import RECORD

ENCODER = "encoder"
_COMMITTED = 8  # the rules' score from which the customer has agreed to buy


class ScorerRecipe(Recipe):
    """One language's scorer and what to measure it on.

    Attributes:
        scorer: The checkpoint.
        test_file: Labelled dialogues (JSONL) of the scorer's labels, none of which it has learnt
            from.
        validation_file: Others, to fit the temperature on; it may be the one that the scorer was
            chosen on. None takes a share of the test dialogues.
    """

    scorer: Path
    test_file: Path
    validation_file: Path | None = None


class ValidationRecipe(Recipe):
    """`recipes/intent_eval/*.yaml`.

    Attributes:
        overwrite: Discard what `output_dir` holds, the judges' answers included.
        models: A registry of models, whose names may then stand for judges.
        judges: LLMs that label the same dialogues, or `rules`, the rule-based stand-in.
        attempts: How often an answer without a label is asked for again, the first included.
        leave_out_failed: Finish although some answers cannot be had; they are unscored.
        calibration_share: Share of the test dialogues that the temperature is fitted on where
            there is no validation file. The calibration is measured on the others, which share no
            scenario with them.
        bins: Of the reliability diagram and the calibration error.
        save_temperature: Write the fitted temperatures into the scorers' own settings
            (`config.json`), for every score they give from then on.
        concurrency: Questions to a judge under way at once.
    """

    name: NonBlank
    output_dir: Path
    overwrite: bool = False
    scorers: dict[Language, ScorerRecipe] = Field(min_length=1)
    models: Path | None = None
    judges: list[ChatSpec | Literal["rules"]] = Field(default_factory=list)
    attempts: int = Field(default=3, ge=1)
    temperature: float = Field(default=0.0, ge=0)
    max_tokens: int = Field(default=512, ge=1)
    leave_out_failed: bool = False
    calibration_share: float = Field(default=0.3, gt=0, lt=1)
    bins: int = Field(default=10, ge=1)
    save_temperature: bool = False
    seed: int = 0
    concurrency: int = Field(default=64, ge=1)
    prompts_dir: Path | None = None

    @model_validator(mode="before")
    @classmethod
    def _look_up_models(cls, values: Any) -> Any:
        if not isinstance(values, dict) or not isinstance(values.get("judges"), list):
            return values
        each = (values | {"judges": judge} for judge in values["judges"])
        found = [resolve(one, ("judges",), words=(rules.NAME,))["judges"] for one in each]
        return values | {"judges": found}

    @model_validator(mode="after")
    def _can_judge(self) -> ValidationRecipe:
        names = [ENCODER, *map(name_of, self.judges)]
        for spec, name in zip(self.judges, names[1:], strict=True):
            if names.count(name) > 1:
                fix = "Give each judge its own `name`"
                raise FieldError(f"the name {name!r} is taken", field="judges", fix=fix)
            if isinstance(spec, ChatSpec) and spec.provider == "scripted":
                problem, fix = "a scripted speaker cannot judge", "Name an endpoint or a checkpoint"
                raise FieldError(problem, field="judges", fix=fix)
        for language, each in self.scorers.items():
            if self.save_temperature and not each.scorer.is_dir():
                problem, fix = "the scorer is no folder here", "Download it first"
                raise FieldError(problem, field=f"scorers.{language}.scorer", fix=fix)
        return self

    def labeller(self, judge: ChatSpec) -> LabellerRecipe:
        """How a judge is asked: as an annotator with one sample."""
        return LabellerRecipe(
            labellers=[judge],
            attempts=self.attempts,
            temperature=self.temperature,
            max_tokens=self.max_tokens,
            seed=self.seed,
            concurrency=self.concurrency,
            prompts_dir=self.prompts_dir,
        )


def name_of(judge: ChatSpec | str) -> str:
    return judge if isinstance(judge, str) else judge.name


@dataclass(frozen=True)
class Held:
    """One language's scorer with its test dialogues.

    Attributes:
        validation: To fit the temperature on; may be empty.
        compared: How many training records the test dialogues were compared with.
        not_compared: Training files that are gone or have changed: who has seen them is unknown.
    """

    scorer: IntentScorer
    schema: Schema
    test: list[LabelledDialogue]
    validation: list[LabelledDialogue]
    compared: int
    not_compared: list[str]

    @property
    def settings(self) -> IntentSettings:
        return self.scorer.settings

    @property
    def truth(self) -> list[str]:
        return [dialogue.label for dialogue in self.test]

    @property
    def by_product_line(self) -> bool:
        """Dialogues of one product line resemble each other, if there are several."""
        return len({dialogue.product_line.strip() for dialogue in self.test}) > 1

    @property
    def clusters(self) -> list[str]:
        """What intervals take as one: product lines; where that says nothing, scenarios."""
        lines = [d.product_line.strip() if self.by_product_line else "" for d in self.test]
        return [line or d.scenario_id or d.id for line, d in zip(lines, self.test, strict=True)]


def load(language: Language, recipe: ScorerRecipe) -> Held:
    """Loads a scorer and what to measure it on.

    Raises:
        InputError: One of them cannot be used, or the scorer has learnt from a test dialogue.
    """
    field = f"scorers.{language}"
    require_model(recipe.scorer, f"{field}.scorer")
    scorer = IntentScorer.load(recipe.scorer, language)
    labels = scorer.settings.labels
    schema = next((name for name, known in SCHEMAS.items() if known.keys() == labels.keys()), None)
    if schema is None:
        problem = f"nothing tells a judge what its labels mean: {', '.join(labels)}"
        fix = f"Train it with the schema {' or '.join(SCHEMAS)}"
        raise InputError(problem, path=recipe.scorer, field=f"{field}.scorer", fix=fix)

    def read(path: str | Path) -> list[LabelledDialogue]:
        return read_labelled(path, labels, language)

    learnt: dict[str, list[LabelledDialogue]] = {"train": [], "eval": []}
    not_compared = []
    for part, path, fingerprint in _learnt_from(recipe.scorer):
        if sha256(recipe.test_file) == fingerprint:
            problem = "the scorer has learnt from this file"
            fix = "Give dialogues that it has not seen"
            raise InputError(problem, path=recipe.test_file, field=f"{field}.test_file", fix=fix)
        if path.is_file() and sha256(path) == fingerprint:
            learnt[part] = read(path)
        else:
            not_compared.append(str(path))
    if not (recipe.scorer / RECORD).is_file():
        not_compared.append(str(recipe.scorer / RECORD))
    validation: list[LabelledDialogue] = []
    if given := recipe.validation_file:
        validation = read_unseen(read, str(given), learnt["train"], f"{field}.validation_file")
    seen = learnt["train"] + learnt["eval"]
    test = read_unseen(read, str(recipe.test_file), seen + validation, f"{field}.test_file")
    ids = Counter(dialogue.id for dialogue in test)
    if twice := [name for name, count in ids.items() if count > 1]:
        problem = f"{ids[twice[0]]} dialogues have the id {twice[0]!r}"
        raise InputError(problem, path=recipe.test_file, field="id", fix="Make ids unique")
    return Held(scorer, cast(Schema, schema), test, validation, len(seen), not_compared)


def _learnt_from(scorer: Path) -> list[tuple[str, Path, str]]:
    """Training and validation files of a checkpoint of `train/intent.py`, with their SHA-256."""
    if not (scorer / RECORD).is_file():
        return []
    record = read_json(scorer / RECORD)
    prints = record.get("data_sha256", {})
    return [
        (name, Path(record["recipe"][f"{name}_file"]), prints[name])
        for name in ("train", "eval")
        if name in prints
    ]


def judged(
    recipe: ValidationRecipe, judge: ChatSpec | str, held: Held, console: Console
) -> tuple[list[str | None], int]:
    """A judge's label of every test dialogue, and how often it could not be reached.

    A label is None where no answer could be read. Answers are kept in a journal in `output_dir`,
    from which the same call continues.

    Raises:
        InputError: The judge cannot be opened, or the rules do not know the labels.
    """
    if isinstance(judge, str):
        if held.schema != "binary":
            fix = "Leave them out, or give a scorer of the schema binary"
            problem = (
                f"the rules know buy and not, and the scorer {', '.join(held.settings.labels)}"
            )
            raise InputError(problem, field="judges", fix=fix)
        scores = (rules.rate(d.turns, d.language).score or 0 for d in held.test)
        return ["buy" if score >= _COMMITTED else "not" for score in scores], 0
    votes, counts = label_dialogues(
        recipe.labeller(judge),
        held.test,
        held.schema,
        journal_of(recipe, judge, held.settings.language),
        console,
        anew=recipe.overwrite,
        fix="Choose another --output_dir, or pass --overwrite true to start anew",
    )
    return [votes[dialogue.id].get(judge.name) for dialogue in held.test], counts["failed"]


def journal_of(recipe: ValidationRecipe, judge: ChatSpec, language: Language) -> Path:
    name = re.sub(r"[^\w.-]+", "_", judge.name)
    return recipe.output_dir / "judges" / f"{name}.{language}.jsonl"
