"""An LLM that writes JSON records: asked until they can be used, written down at once, paid for."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from rich.console import Console

from salesllm.chat.base import Usage
from salesllm.chat.providers import check_chat, open_chat
from salesllm.dialogue import Language, validation_error
from salesllm.errors import InputError
from salesllm.generation.recipe import WriterRecipe
from salesllm.journal import Cell, Done, Journal, fill
from salesllm.scoring.ask import OffFormat, ask, json_objects
from salesllm.simulate import derived_seed

JOURNAL = "journal.jsonl"
M = TypeVar("M", bound=BaseModel)

_CORRECTION: dict[Language, str] = {
    "en": "That cannot be used: {problem}\nAnswer again with the whole JSON object, mended.",
    "zh": "这样不能用：{problem}\n请改正后重新给出完整的JSON对象。",
}


@dataclass(frozen=True)
class Task:
    """One record to be written.

    Attributes:
        cell: What the journal calls it.
        render: Makes the question, when it is asked: most are not asked again in a resumed run.
        parse: Reads an answer into JSON values; raises `OffFormat` for one that cannot be used.
        schema: JSON schema of the answer.
        language: Of the question.
    """

    cell: Cell
    render: Callable[[], str]
    parse: Callable[[str], dict[str, Any]]
    schema: Mapping[str, Any]
    language: Language


class Writer:
    """Has records written, and continues where an earlier run of the same recipe was stopped.

    Args:
        settings: What answers depend on; another job's folder is refused.

    Raises:
        InputError: The writer cannot be opened, or the folder holds another job.
    """

    def __init__(
        self,
        recipe: WriterRecipe,
        folder: Path,
        settings: Mapping[str, Any],
        console: Console,
    ) -> None:
        check_chat(recipe.writer, "writer")
        self.recipe, self.console = recipe, console
        self.chat = open_chat(recipe.writer)
        self.journal = Journal(folder / JOURNAL, settings, anew=recipe.overwrite)
        self.used = Usage()
        for kind in self.journal.kinds():
            for cell in self.journal.cells(kind):
                self.used += _usage(self.journal.get(kind, cell))

    def __enter__(self) -> Writer:
        return self

    def __exit__(self, *_: object) -> None:
        self.journal.__exit__()

    def write(self, kind: str, tasks: Sequence[Task], name: str) -> list[dict[str, Any] | None]:
        """The records of these tasks in order; None for one that never came in a usable form.

        Raises:
            InputError: The endpoint gave no answer; what was written is kept.
        """
        sampling = self.recipe.sampling.settings()

        async def do(task: Task) -> Done:
            problems: list[str] = []

            def parse(text: str) -> dict[str, Any]:
                try:
                    return task.parse(text)
                except OffFormat as error:
                    problems.extend(str(error).splitlines())
                    raise

            answer = await ask(
                self.chat,
                task.render(),
                parse,
                sampling=replace(sampling, schema=task.schema if self.recipe.json_schema else None),
                attempts=self.recipe.attempts,
                seed=derived_seed(self.recipe.seed, kind, *task.cell),
                correct=lambda problem: _CORRECTION[task.language].format(problem=problem),
            )
            self.used += answer.usage
            usage = answer.usage + _usage(self.journal.get(kind, task.cell))
            problem = answer.problem if answer.failed else "\n".join(dict.fromkeys(problems))
            content = {"value": answer.value, "problem": problem, "usage": asdict(usage)}
            return Done(not answer.failed, content)

        failed = fill(
            self.journal,
            kind,
            {task.cell: task for task in tasks},
            do,
            concurrency=self.recipe.writer.concurrency,
            console=self.console,
            name=lambda: f"{name} ({self.bill()})",
        )
        entries = [self.journal.get(kind, task.cell) for task in tasks]
        if failed:
            problem = next(e["problem"] for e in entries if e and not e["ok"])
            raise InputError(
                f"{failed} of {len(tasks)} got no answer: {problem.rstrip('.')}",
                field="writer",
                fix="Run the same command again; what was written is kept",
            )
        return [entry["value"] if entry else None for entry in entries]

    def problem(self, kind: str, cell: Cell) -> str:
        """What was wrong with the answers that could not be used, a line each."""
        entry = self.journal.get(kind, cell)
        return str(entry["problem"]) if entry else ""

    def bill(self) -> str:
        """Tokens so far, and what they cost."""
        tokens = f"{self.used.prompt_tokens:,} + {self.used.completion_tokens:,} tokens"
        price = self.recipe.writer.price
        return tokens if price is None else f"{tokens}, cost {price.of(self.used):,.2f}"

    def costs(self) -> dict[str, Any]:
        """Tokens and cost for the summary, those of earlier runs included."""
        price = self.recipe.writer.price
        return {"usage": asdict(self.used), "cost": price and round(price.of(self.used), 4)}


def _usage(entry: Mapping[str, Any] | None) -> Usage:
    return Usage(**entry["usage"]) if entry else Usage()


def read_record(text: str, model: type[M]) -> M:
    """The one record in an answer, which may be fenced or amid prose.

    Raises:
        OffFormat: There is none, in words that the writer can mend it by.
    """
    problem = "there is no whole JSON object in it"
    for value in json_objects(text):
        try:
            return model.model_validate(value)
        except ValidationError as error:
            found = validation_error(error)
            problem = f"`{found.field}`: {found.problem}" if found.field else found.problem
    raise OffFormat(problem)


_CHARACTERS = 4.0
_HAN_TOKENS = 0.7


def estimate(texts: Sequence[str]) -> float:
    """Roughly how many tokens texts have: 0.7 a Chinese character, else 1 for 4 characters."""
    letters = sum(map(len, texts))
    han = sum(1 for text in texts for c in text if "\u3400" <= c <= "\u9fff")
    return han * _HAN_TOKENS + (letters - han) / _CHARACTERS


def show_estimate(console: Console, recipe: WriterRecipe, calls: int, usage: Usage) -> None:
    """What a dry run says."""
    price = recipe.writer.price
    cost = "" if price is None else f", cost about {price.of(usage):,.2f}"
    console.print(
        f"dry run: {calls:,} calls, about {usage.prompt_tokens:,} prompt and "
        f"{usage.completion_tokens:,} completion tokens{cost}; nothing is written",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )
