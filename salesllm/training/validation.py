"""An intent scorer beside LLM judges on labelled dialogues that it has not seen (Table 11)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
from pydantic import Field, model_validator
from rich.console import Console

from salesllm.chat.providers import ChatSpec
from salesllm.dialogue import Language, NonBlank
from salesllm.errors import FieldError, InputError
from salesllm.files import read_json, require_model, sha256
from salesllm.recipe import Recipe
from salesllm.scoring import accuracy, calibration, rules
from salesllm.scoring.ending import SCHEMAS, IntentSettings
from salesllm.scoring.intent import IntentScorer
from salesllm.scoring.label import Schema
from salesllm.splits import split_dialogues
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
        test: Labelled dialogues (JSONL) of the scorer's labels, none of which it has learnt from.
    """

    scorer: Path
    test: Path


class ValidationRecipe(Recipe):
    """`recipes/intent_eval/*.yaml`.

    Attributes:
        overwrite: Discard what `output_dir` holds, the judges' answers included.
        judges: LLMs that label the same dialogues, or `rules`, the rule-based stand-in.
        attempts: How often an answer without a label is asked for again, the first included.
        leave_out_failed: Finish although some answers cannot be had; they are unscored.
        calibration_share: Share of the test dialogues that the temperature is fitted on. The
            calibration is measured on the others, which share no scenario with them.
        bins: Of the reliability diagram and the calibration error.
        save_calibrated: Save the scorers with their temperatures to `output_dir/<language>`.
        concurrency: Questions to a judge under way at once.
    """

    name: NonBlank
    output_dir: Path
    overwrite: bool = False
    scorers: dict[Language, ScorerRecipe] = Field(min_length=1)
    judges: list[ChatSpec | Literal["rules"]] = Field(default_factory=list)
    attempts: int = Field(default=3, ge=1)
    temperature: float = Field(default=0.0, ge=0)
    max_tokens: int = Field(default=512, ge=1)
    leave_out_failed: bool = False
    calibration_share: float = Field(default=0.3, gt=0, lt=1)
    bins: int = Field(default=10, ge=1)
    save_calibrated: bool = False
    seed: int = 0
    concurrency: int = Field(default=64, ge=1)
    prompts_dir: Path | None = None

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
        compared: How many training records the test dialogues were compared with.
        not_compared: Training files that are gone or have changed: who has seen them is unknown.
    """

    scorer: IntentScorer
    schema: Schema
    test: list[LabelledDialogue]
    compared: int
    not_compared: list[str]

    @property
    def settings(self) -> IntentSettings:
        return self.scorer.settings

    @property
    def truth(self) -> list[str]:
        return [dialogue.label for dialogue in self.test]

    @property
    def clusters(self) -> list[str]:
        return [dialogue.scenario_id or dialogue.id for dialogue in self.test]


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

    seen: list[LabelledDialogue] = []
    not_compared = []
    for path, fingerprint in _learnt_from(recipe.scorer):
        if sha256(recipe.test) == fingerprint:
            problem = "the scorer has learnt from this file"
            fix = "Give dialogues that it has not seen"
            raise InputError(problem, path=recipe.test, field=f"{field}.test", fix=fix)
        if path.is_file() and sha256(path) == fingerprint:
            seen += read(path)
        else:
            not_compared.append(str(path))
    if not (recipe.scorer / RECORD).is_file():
        not_compared.append(str(recipe.scorer / RECORD))
    test = read_unseen(read, str(recipe.test), seen, f"{field}.test")
    ids = Counter(dialogue.id for dialogue in test)
    if twice := [name for name, count in ids.items() if count > 1]:
        problem = f"{ids[twice[0]]} dialogues have the id {twice[0]!r}"
        raise InputError(problem, path=recipe.test, field="id", fix="Make ids unique")
    return Held(scorer, cast(Schema, schema), test, len(seen), not_compared)


def _learnt_from(scorer: Path) -> list[tuple[Path, str]]:
    """Training and validation files of a checkpoint of `train/intent.py`, with their SHA-256."""
    if not (scorer / RECORD).is_file():
        return []
    record = read_json(scorer / RECORD)
    prints = record.get("data_sha256", {})
    return [
        (Path(record["recipe"][f"{name}_file"]), prints[name])
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
    )
    return [votes[dialogue.id].get(judge.name) for dialogue in held.test], counts["failed"]


def journal_of(recipe: ValidationRecipe, judge: ChatSpec, language: Language) -> Path:
    name = re.sub(r"[^\w.-]+", "_", judge.name)
    return recipe.output_dir / "judges" / f"{name}.{language}.jsonl"


def compared(held: Held, guesses: Mapping[str, Sequence[str | None]]) -> dict[str, Any]:
    """Figures of all who have labelled, the encoder among them, and its lead over the others."""
    settings = held.settings
    return {
        "schema": held.schema,
        "labels": list(settings.labels),
        "purchase": settings.purchase,
        "majority": max(held.truth.count(label) for label in settings.labels) / len(held.truth),
        "clusters": len(set(held.clusters)),
        "raters": {
            name: accuracy.figures(
                held.truth, guess, held.clusters, list(settings.labels), settings.purchase
            )
            for name, guess in guesses.items()
        },
        "lead": {
            name: accuracy.accuracy_difference(held.truth, guesses[ENCODER], guess, held.clusters)
            for name, guess in guesses.items()
            if name != ENCODER
        },
        "training_records": {"compared": held.compared, "not_compared": held.not_compared},
    }


def calibrated(
    held: Held, probabilities: Sequence[Mapping[str, float]], recipe: ValidationRecipe
) -> tuple[IntentScorer, dict[str, Any]]:
    """The scorer with a temperature, and how far its P(purchase) can be believed without and with.

    The temperature is fitted on one part of the test dialogues and measured on the other.

    Raises:
        InputError: The dialogues cannot be parted: they share one scenario.
    """
    shares = {"fit": recipe.calibration_share, "measure": 1 - recipe.calibration_share}
    parts = split_dialogues(held.test, shares, recipe.seed)
    labels, settings = list(held.settings.labels), held.settings
    said = {d.id: list(p.values()) for d, p in zip(held.test, probabilities, strict=True)}
    p = {name: np.array([said[d.id] for d in part]) for name, part in parts.items()}
    truth = {name: [labels.index(d.label) for d in part] for name, part in parts.items()}
    temperature = calibration.fit_temperature(p["fit"], truth["fit"])
    purchase = labels.index(settings.purchase)
    bought = np.array(truth["measure"]) == purchase

    def figures(probabilities: Any) -> dict[str, Any]:
        found = calibration.reliability(probabilities[:, purchase], bought, recipe.bins)
        return {
            "ece": calibration.calibration_error(found),
            "ece_by_chance": calibration.error_by_chance(probabilities[:, purchase], recipe.bins),
            "brier": float(calibration.brier(probabilities[:, purchase], bought).mean()),
            "log_loss": calibration.log_loss(probabilities, truth["measure"]),
            "reliability": [asdict(each) for each in found],
        }

    scorer = held.scorer
    scorer.settings = replace(settings, temperature=settings.temperature * temperature)
    return scorer, {
        "temperature": scorer.settings.temperature,
        "fitted_on": len(parts["fit"]),
        "measured_on": len(parts["measure"]),
        "before": figures(p["measure"]),
        "after": figures(calibration.tempered(p["measure"], temperature)),
    }
