"""Labelled dialogues for the intent scorers: a dialogue record with one more field, `label`."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from pydantic import ValidationError

from salesllm.dialogue import Dialogue, dialogue_error
from salesllm.errors import InputError
from salesllm.files import read_jsonl

LABEL_OF_OUTCOME = {"bought": "buy", "declined": "not"}
"""Recorded outcomes as labels of the schema `binary`."""


class LabelledDialogue(Dialogue):
    """A dialogue and the intent label of its ending."""

    label: str


def read_labelled(
    path: str | Path, labels: Collection[str] | None = None, language: str | None = None
) -> list[LabelledDialogue]:
    """Reads labelled dialogues.

    Args:
        labels: The schema; None for any label.
        language: Of all of them; None for any.

    Raises:
        InputError: Names line and field of the first record that is none, has a label outside the
            schema, or is in another language.
    """
    result = []
    for number, value in read_jsonl(path):
        try:
            record = LabelledDialogue.model_validate(value)
        except ValidationError as error:
            raise dialogue_error(error, path, number) from None
        if labels is not None and record.label not in labels:
            fix = f"Use {', '.join(labels)}, or another schema"
            raise InputError(f"label {record.label!r} is not in the schema", path=path, line=number,
                             field="label", fix=fix)  # fmt: skip
        if language is not None and record.language != language:
            problem = f"the record is {record.language}, the scorer {language}"
            raise InputError(problem, path=path, line=number, field="language",
                             fix="Keep one language a file")  # fmt: skip
        result.append(record)
    return result


def check_labels(
    records: Sequence[LabelledDialogue], labels: Collection[str], source: str | Path
) -> None:
    """Says on stderr which labels no training record has.

    Raises:
        InputError: Fewer than two labels occur: there is nothing to tell apart.
    """
    found = {record.label for record in records}
    if not (missing := [label for label in labels if label not in found]):
        return
    problem = f"no training record has the label {' or '.join(missing)}"
    if len(found) < 2:
        fix = "Add records of another label: a scorer learns to tell at least two apart"
        raise InputError(problem, path=source, field="label", fix=fix)
    if os.environ.get("RANK", "0") == "0":
        print(f"warning: {source}: {problem}; the scorer cannot learn it", file=sys.stderr)


def label_outcomes(dialogues: Iterable[Dialogue]) -> list[LabelledDialogue]:
    """Labels of the schema `binary` from recorded outcomes; dialogues without one are left out."""
    return [
        LabelledDialogue(**d.model_dump(), label=LABEL_OF_OUTCOME[d.outcome])
        for d in dialogues
        if d.outcome
    ]
