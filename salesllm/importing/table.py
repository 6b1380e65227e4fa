"""CSV with one turn a row: rows of one `dialogue_id` make a dialogue, in the order of the file."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from salesllm.dialogue import Speaker
from salesllm.errors import InputError
from salesllm.files import json_object
from salesllm.importing.readers import Draft, Place, Rejected
from salesllm.sheets import csv_rows, find_delimiter

REQUIRED = ("dialogue_id", "speaker", "text")
OF_DIALOGUE = ("language", "source", "product_line", "scenario_id", "outcome", "worker_id",
               "context", "label")  # fmt: skip
"""Said in any row of a dialogue, in the same way wherever it is said; `context` is JSON."""


@dataclass(frozen=True)
class Table:
    """How to read a CSV file.

    Attributes:
        columns: Field (`REQUIRED`, `OF_DIALOGUE`) to the name of its column, where they differ.
        speakers: What stands in the column of speakers to who that is.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    speakers: Mapping[str, Speaker] = field(default_factory=lambda: {s.value: s for s in Speaker})

    def __post_init__(self) -> None:
        if unknown := self.columns.keys() - {*REQUIRED, *OF_DIALOGUE}:
            fix = f"Use {', '.join((*REQUIRED, *OF_DIALOGUE))}"
            raise InputError(f"unknown field {min(unknown)!r}", field="columns", fix=fix)

    def read(self, path: Path) -> Iterator[Draft | Rejected]:
        """Dialogues in the order in which they begin.

        Raises:
            InputError: A column is missing or named twice, a quote is broken, it is not UTF-8.
        """
        delimiter, header, places = self._layout(path)
        dialogues: dict[str, list[tuple[int, list[str]]]] = {}
        rows = csv_rows(path, delimiter)
        next(rows)
        for line, row in rows:
            at = places["dialogue_id"]
            if at < len(row) and row[at].strip():
                dialogues.setdefault(row[at], []).append((line, row))
            else:
                raw = json.dumps(row, ensure_ascii=False)
                error = InputError("is empty", field="dialogue_id", fix="Say whose turn this is")
                yield Draft(Place(path, line), {}, raw).reject(error)
        for name, lines in dialogues.items():
            raw = json.dumps([row for _, row in lines], ensure_ascii=False)
            draft = Draft(Place(path, lines[0][0]), {"id": name}, raw)
            try:
                yield Draft(draft.place, {"id": name} | self._fields(lines, header, places), raw)
            except InputError as error:
                yield draft.reject(error)

    def ignored(self, path: Path) -> list[str]:
        """Columns that are not read."""
        _, header, places = self._layout(path)
        return [name for at, name in enumerate(header) if at not in places.values()]

    def _layout(self, path: Path) -> tuple[str, list[str], dict[str, int]]:
        """Delimiter, header, and field to the place of its column."""
        wanted = {name: self.columns.get(name, name) for name in (*REQUIRED, *OF_DIALOGUE)}
        delimiter = find_delimiter(path, wanted.values())
        header = [name.strip() for name in next(csv_rows(path, delimiter), (1, []))[1]]
        for name, column in wanted.items():
            missing = column not in header and (name in REQUIRED or name in self.columns)
            if missing or header.count(column) > 1:
                problem = f"there is {'no' if missing else 'more than one'} column {column!r}"
                shown = ", ".join(header)[:200]
                fix = f"Name it with --columns {name}=...; the columns are: {shown}"
                raise InputError(problem, path=path, line=1, field=name, fix=fix)
        return delimiter, header, {n: header.index(c) for n, c in wanted.items() if c in header}

    def _fields(
        self, lines: Sequence[tuple[int, list[str]]], header: Sequence[str], places: dict[str, int]
    ) -> dict[str, Any]:
        turns = []
        for index, (line, row) in enumerate(lines):
            if len(row) != len(header):
                problem = f"has {len(row)} cell(s), the header {len(header)}"
                fix = "Add or remove delimiters"
                raise InputError(problem, line=line, field=f"turns.{index}", fix=fix)
            speaker = row[places["speaker"]].strip()
            if speaker not in self.speakers:
                option = shlex.quote(f"customer={speaker[:40] or 'WORD'}")
                fix = f"Say who that is, e.g. --speakers {option}"
                problem = f"unknown speaker {speaker[:40]!r}"
                raise InputError(problem, line=line, field=f"turns.{index}.speaker", fix=fix)
            turns.append({"speaker": self.speakers[speaker], "text": row[places["text"]]})
        fields: dict[str, Any] = {"turns": turns}
        for name in places.keys() & set(OF_DIALOGUE):
            values = {row[places[name]] for _, row in lines} - {""}
            if len(values) > 1:
                problem = f"has {len(values)} values in one dialogue"
                raise InputError(problem, field=name, fix="Say the same in all its rows")
            if values:
                fields[name] = values.pop()
            elif name == "product_line":
                fields[name] = ""
        if "context" in fields:
            try:
                fields["context"] = json_object(fields["context"])
            except InputError as error:
                raise InputError(error.problem, field="context", fix=error.fix) from None
        return fields
