"""What a run's results depend on, so that none are mixed and none are made twice."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from salesllm.benchmark.cell import JOURNAL, SUMMARY
from salesllm.benchmark.recipe import BenchmarkRecipe
from salesllm.chat.providers import PATIENCE, ChatSpec
from salesllm.errors import InputError
from salesllm.files import checkpoint_sha256, digest, finished_run, read_json, sha256
from salesllm.journal import Journal, changes
from salesllm.prompts import prompt_versions
from salesllm.scenario import Scenario
from salesllm.scoring import grounding, judge

_ASIDE = {
    "output_dir", "overwrite", "models", "concurrency", "prompts_dir", "limit", "shard", "merge",
    "scenarios", "dry_run", "max_cost", "repeats", "salespeople", "customers", "judge",
    "judge_attempts", "judge_samples", "judge_weighted", "judge_sampling",
}  # fmt: skip
"""Keys that no dialogue depends on, or that are looked at one by one."""


@dataclass(frozen=True)
class Inputs:
    """What a run's results depend on, in JSON values.

    Attributes:
        dialogues: What must not change while a run is continued: all that every dialogue depends
            on.
        speakers: Field and name of each speaker to what its dialogues depend on: a run may get
            another speaker, but none may become somebody else.
        ratings: Judge to the journal's kind of line for its ratings: it names all that they
            depend on, so that another judge's are not taken for them.
        audit: The same of the LLM that looks for unauthorised concessions; None without one.
        auditor: Its name.
        record: Fingerprints of scenarios, prompts and checkpoints, for the summary.
        digest: SHA-256 of all that dialogues and scores depend on.
    """

    dialogues: dict[str, Any]
    speakers: dict[tuple[str, str], dict[str, Any]]
    ratings: dict[str, str]
    audit: str | None
    auditor: str | None
    record: dict[str, Any]
    digest: str

    @property
    def kinds(self) -> tuple[str, ...]:
        """Every kind of line that a scored dialogue needs."""
        return tuple(self.raters)

    @cached_property
    def raters(self) -> dict[str, tuple[str, str]]:
        """Each of these kinds to whose it is: the field of the recipe, and the name in it."""
        found = {kind: ("judge", judge) for judge, kind in self.ratings.items()}
        return found | (
            {self.audit: ("grounding", self.auditor)} if self.audit and self.auditor else {}
        )


def inputs_of(
    recipe: BenchmarkRecipe, scenarios: Iterable[Scenario], everything: Iterable[Scenario]
) -> Inputs:
    """The inputs of a run.

    Args:
        scenarios: Those it plays.
        everything: All that the recipe names, without its `limit`: a run may begin with few.
    """
    settings = recipe.model_dump(mode="json", exclude=_ASIDE)
    scoring = {key: settings.pop(key) for key in ("intent", "intent_exact", "alpha")}
    numbers = settings.pop("grounding") == "numbers"
    fingerprint, languages = hashlib.sha256(), set()
    for scenario in everything:
        fingerprint.update(scenario.model_dump_json().encode())
        languages.add(scenario.language)

    def prompts(*names: str) -> dict[str, str]:
        return prompt_versions(names, languages, recipe.prompts_dir)

    def weights(specs: Iterable[ChatSpec]) -> dict[str, str]:
        return checkpoint_sha256(Path(spec.model) for spec in specs if spec.provider == "local")

    dialogues = {
        "recipe": settings,
        "scenarios_sha256": fingerprint.hexdigest(),
        "prompts": prompts("customer_script", "customer_brief", "salesperson_script"),
    }
    speakers = {
        (side, spec.name): {"speaker": _asked(spec), "checkpoints_sha256": weights([spec])}
        for side in ("salespeople", "customers")
        for spec in getattr(recipe, side)
    }
    if recipe.guard is not None:
        dialogues["guard_sha256"] = sha256(recipe.guard.detector)
    asked = {
        spec.name: {
            "judge": _asked(spec),
            "attempts": recipe.judge_attempts,
            "samples": recipe.judge_samples,
            "weighted": recipe.judge_weighted,
            "sampling": recipe.judge_sampling.model_dump(mode="json"),
            "prompts": prompts(judge.PROMPT),
            "checkpoints_sha256": weights([spec]),
        }
        for spec in recipe.judge
    }
    audit = None
    if recipe.auditor is not None:
        audit = {
            "auditor": _asked(recipe.auditor),
            "attempts": recipe.judge_attempts,
            "sampling": recipe.judge_sampling.model_dump(mode="json"),
            "prompts": prompts(grounding.PROMPT),
            "checkpoints_sha256": weights([recipe.auditor]),
        }
    raters = [*asked.values(), *([audit] if audit else [])]
    scoring["checkpoints_sha256"] = checkpoint_sha256(recipe.intent.values())
    record: dict[str, Any] = {
        "scenarios_sha256": dialogues["scenarios_sha256"],
        "prompts": dialogues["prompts"],
        "checkpoints_sha256": scoring["checkpoints_sha256"],
    }
    parts: list[dict[str, Any]] = [*speakers.values(), *raters]
    for part in parts:
        for key in ("prompts", "checkpoints_sha256"):
            record[key] = record[key] | part.get(key, {})
    played = [scenario.id for scenario in scenarios]
    return Inputs(
        dialogues=dialogues,
        speakers=speakers,
        ratings={name: f"selling:{digest(rating)[:16]}" for name, rating in asked.items()},
        audit=None if audit is None else f"grounding:{digest(audit)[:16]}",
        auditor=None if recipe.auditor is None else recipe.auditor.name,
        record=record,
        digest=digest(
            [
                *(dialogues, list(speakers.values()), raters, scoring, numbers),
                *(played, recipe.repeats, recipe.shard),
            ]
        ),
    )


def introduce(inputs: Inputs, journal: Journal) -> None:
    """Notes who speaks in a run.

    Raises:
        InputError: Under one of the names somebody else has spoken in it.
    """
    refuse_strangers(inputs, journal)
    for part, now in inputs.speakers.items():
        if not journal.done("speaker", part):
            journal.append("speaker", part, ok=True, **now)


def refuse_strangers(inputs: Inputs, journal: Journal) -> None:
    """Raises `InputError` where somebody else has spoken under one of the names in a run."""
    for part, now in inputs.speakers.items():
        entry = journal.get("speaker", part)
        if entry is None:
            continue
        before = {key: entry[key] for key in now}
        if changed := next(changes(before, now, ".".join(part)), None):
            raise InputError(
                f"the folder holds another run: {changed}",
                path=journal.path,
                fix="Give the speaker another name, choose another output_dir, or pass "
                "--overwrite true to start anew",
            )


def refuse_finished(folder: Path, inputs: Inputs) -> None:
    """Refuses a folder in which nothing is left to do: no dialogue, no rating, no new scoring."""
    if not (folder / SUMMARY).exists():
        return
    otherwise = ""
    if (folder / JOURNAL).exists():  # else the summary is of some other job
        try:
            summary = read_json(folder / SUMMARY)
            unfinished = summary["incomplete"]
            same = summary["provenance"].get("inputs_sha256") == inputs.digest
        except (InputError, KeyError, TypeError):  # damaged; it is made from the journal again
            return
        if unfinished or not same:
            return
        otherwise = ", or change judge, intent or alpha to score its dialogues anew"
    raise finished_run(folder, otherwise)


def _asked(spec: ChatSpec) -> dict[str, Any]:
    """A speaker without what changes no answer of its."""
    return spec.model_dump(mode="json", exclude=PATIENCE)
