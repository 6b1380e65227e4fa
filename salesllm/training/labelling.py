"""Labels by LLMs: several labellers, several samples each, resumable like any other long job."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator
from rich.console import Console

from salesllm.chat.base import Sampling
from salesllm.chat.providers import PATIENCE, ChatSpec, check_chat, open_chat
from salesllm.dialogue import Dialogue
from salesllm.errors import FieldError
from salesllm.files import digest
from salesllm.journal import Cell, Done, Journal, fill
from salesllm.prompts import prompt_versions
from salesllm.recipe import Recipe
from salesllm.scoring.label import PROMPT, Schema, label, question
from salesllm.simulate import derived_seed

KIND = "label"


class LabellerRecipe(Recipe):
    """`recipes/labels/*.yaml`: who labels, and how often.

    Attributes:
        labellers: The LLMs that label.
        samples: Labels that each of them gives; each counts as an annotator of its own.
        attempts: How often an answer without a label is asked for again, the first included.
        temperature: Of the samples; one sample alone may be greedy.
        concurrency: Questions under way at once.
    """

    labellers: list[ChatSpec] = Field(min_length=1)
    samples: int = Field(default=1, ge=1)
    attempts: int = Field(default=3, ge=1)
    temperature: float = Field(default=0.7, ge=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    max_tokens: int = Field(default=512, ge=1)
    seed: int = 0
    concurrency: int = Field(default=64, ge=1)
    prompts_dir: Path | None = None

    @model_validator(mode="after")
    def _can_label(self) -> LabellerRecipe:
        names = [spec.name for spec in self.labellers]
        for spec in self.labellers:
            if spec.provider == "scripted":
                problem, fix = "a scripted speaker cannot label", "Name an endpoint or a checkpoint"
                raise FieldError(problem, field="labellers", fix=fix)
            if names.count(spec.name) > 1:
                problem, fix = f"the name {spec.name!r} is taken", "Give each its own `name`"
                raise FieldError(problem, field="labellers", fix=fix)
        if self.samples > 1 and self.temperature == 0:
            problem = "at temperature 0 every sample is the same"
            raise FieldError(problem, field="temperature", fix="Raise it, or write samples: 1")
        return self


def label_dialogues(
    recipe: LabellerRecipe,
    dialogues: Sequence[Dialogue],
    schema: Schema,
    journal_path: Path,
    console: Console,
    *,
    anew: bool = False,
    fix: str = "Choose another --output, or remove the journal to label anew",
) -> tuple[dict[str, dict[str, str]], dict[str, int]]:
    """Asks every labeller for every sample that the journal does not have yet.

    Args:
        journal_path: Continued by the same call.
        anew: Throw away what the journal has.
        fix: What to do about a journal of another recipe.

    Returns:
        Votes by dialogue and annotator (`labeller`, or `labeller#2` for its second sample), and
        how many answers are `unreadable` (no label in any attempt) and `failed` (nobody could be
        reached: another call may do).

    Raises:
        InputError: A labeller cannot be opened, or the journal is that of another recipe.
    """
    questions = {d.id: question(d, schema, recipe.prompts_dir) for d in dialogues}
    keys = {name: digest(text)[:16] for name, text in questions.items()}
    text_of = {keys[name]: text for name, text in questions.items()}
    for spec in recipe.labellers:
        check_chat(spec, "labellers")
    votes: dict[str, dict[str, str]] = {name: {} for name in questions}
    failed, unreadable = 0, 0
    header = _header(recipe, dialogues, schema)
    with Journal(journal_path, header, anew=anew, fix=fix) as journal:
        for spec in recipe.labellers:
            chat = open_chat(spec)

            async def do(cell: Cell, chat: Any = chat) -> Done:
                sampling = Sampling(recipe.temperature, recipe.top_p, recipe.max_tokens)
                said = await label(
                    chat,
                    text_of[cell[0]],
                    schema,
                    sampling=sampling,
                    attempts=recipe.attempts,
                    seed=derived_seed(recipe.seed, *cell),
                )
                return Done(not said.failed, {"label": said.label, "reason": said.reason})

            names = [
                spec.name if n == 1 else f"{spec.name}#{n}" for n in range(1, recipe.samples + 1)
            ]
            work: dict[Cell, Cell] = {(t, name): (t, name) for t in text_of for name in names}
            failed += fill(
                journal,
                KIND,
                work,
                do,
                concurrency=recipe.concurrency,
                console=console,
                name=f"{spec.name}: labels",
            )
            for dialogue, annotator in itertools.product(questions, names):
                entry = journal.get(KIND, (keys[dialogue], annotator))
                assert entry is not None  # every cell has been tried
                if entry["label"] is not None:
                    votes[dialogue][annotator] = entry["label"]
                elif entry["ok"]:
                    unreadable += 1
    return votes, {"unreadable": unreadable, "failed": failed}


def _header(
    recipe: LabellerRecipe, dialogues: Sequence[Dialogue], schema: Schema
) -> dict[str, Any]:
    aside: dict[str, Any] = {"concurrency": True, "prompts_dir": True}
    aside["labellers"] = {"__all__": PATIENCE}
    languages = {dialogue.language for dialogue in dialogues}
    return {
        "recipe": recipe.model_dump(mode="json", exclude=aside),
        "schema": schema,
        "prompts": prompt_versions([PROMPT], languages, recipe.prompts_dir),
    }
