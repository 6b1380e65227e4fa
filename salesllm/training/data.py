"""Reads a training file and holds rows out for validation."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from salesllm.dialogue import Dialogue, Message
from salesllm.errors import InputError
from salesllm.scenario import Scenario
from salesllm.training.arguments import RunArguments
from salesllm.training.rows import View

if TYPE_CHECKING:
    from datasets import Dataset

T = TypeVar("T")


def hold_out(
    read: Callable[[str], list[T]], data: RunArguments, *, seed: int
) -> tuple[list[T], list[T]]:
    """Training and validation records: two files, or a seeded share of one.

    Raises:
        InputError: The share holds out nothing, or everything.
    """
    train = read(data.train_file)
    if data.eval_file is not None:
        return train, read(data.eval_file)
    order = list(range(len(train)))
    random.Random(seed).shuffle(order)
    count = max(1, round(len(train) * data.eval_share))
    if count >= len(train):
        raise InputError(
            f"{len(train)} record(s) are too few to hold one out for validation",
            path=data.train_file,
            fix="Give more records, or an eval_file",
        )
    held = set(order[:count])
    return (
        [row for i, row in enumerate(train) if i not in held],
        [row for i, row in enumerate(train) if i in held],
    )


def on_disk(rows: list[dict[str, Any]], folder: Path) -> Dataset:
    """A dataset that all processes read from one folder, where TRL puts what it adds to it.

    Of a dataset in memory every process has a temporary folder of its own, and the reference
    log-probabilities that one process writes are not found by the others.
    """
    from accelerate import PartialState
    from datasets import Dataset

    state = PartialState()
    if state.is_main_process:
        shutil.rmtree(folder, ignore_errors=True)
        Dataset.from_list(rows).save_to_disk(folder)
    state.wait_for_everyone()
    return Dataset.load_from_disk(str(folder))


def preview_prompts(
    dialogues: Sequence[Dialogue],
    view: View,
    scenarios: Mapping[str, Scenario] | None,
    count: int = 4,
) -> list[list[Message]]:
    """Prompts before the last turn of the model's side in the first few dialogues."""
    scenario_of = scenarios or {}
    prompts = (view.messages(d, scenario_of.get(d.scenario_id or ""))[:-1] for d in dialogues)
    return [prompt for prompt in prompts if prompt[-1]["role"] == "user"][:count]
