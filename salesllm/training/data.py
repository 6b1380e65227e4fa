"""Reads a training file and holds rows out for validation."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from salesllm.dialogue import Dialogue, Message
from salesllm.errors import InputError
from salesllm.files import read_jsonl
from salesllm.scenario import Scenario
from salesllm.training.arguments import RunArguments
from salesllm.training.rows import Preference, View

if TYPE_CHECKING:
    from datasets import Dataset

T = TypeVar("T", bound=Dialogue | Preference)


def hold_out(
    read: Callable[[str], list[T]], data: RunArguments, *, seed: int
) -> tuple[list[T], list[T]]:
    """Training and validation records: two files, or a seeded share of one.

    No content is in both: of a share, records that training has too go to training.

    Raises:
        InputError: `eval_file` holds a training record, or a share would hold out nothing, or
            everything.
    """
    train = read(data.train_file)
    if data.eval_file is not None:
        return train, read_unseen(read, data.eval_file, train, "eval_file")
    order = list(range(len(train)))
    random.Random(seed).shuffle(order)
    count = max(1, round(len(train) * data.eval_share))
    if count >= len(train):
        raise InputError(
            f"{len(train)} record(s) are too few to hold one out for validation",
            path=data.train_file,
            fix="Give more records, or an eval_file",
        )
    known = {content(train[i]) for i in order[count:]}
    held = {i for i in order[:count] if content(train[i]) not in known}
    if not held:
        raise InputError(
            "every record drawn for validation is in the training part once more",
            path=data.train_file,
            fix="Remove the repeated records, or give an eval_file",
        )
    return (
        [row for i, row in enumerate(train) if i not in held],
        [row for i, row in enumerate(train) if i in held],
    )


def read_unseen(
    read: Callable[[str], list[T]], path: str, seen: Sequence[T], field: str
) -> list[T]:
    """Records to measure on, none of which says the same as one in `seen`.

    Args:
        seen: What the model is fitted to or chosen on.
        field: The argument that named the file.

    Raises:
        InputError: Names the line of the first record whose content is in `seen`.
    """
    records, known = read(path), {content(record) for record in seen}
    for index, record in enumerate(records):
        if content(record) in known:
            line, _ = next(islice(read_jsonl(path), index, None))
            raise InputError(
                "the content of this record is also in the data that the model learns from",
                path=path,
                line=line,
                field=field,
                fix="Remove it from one of the files",
            )
    return records


def content(record: Dialogue | Preference) -> Hashable:
    """What is said in a record, as the chat template trims it; ids and provenance left out."""
    if isinstance(record, Dialogue):
        return tuple((turn.speaker, turn.text.strip()) for turn in record.turns)
    prompt = tuple((message["role"], message["content"].strip()) for message in record.prompt)
    return prompt, record.chosen.strip(), record.rejected.strip()


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
