"""What a browser reads dialogue by dialogue: an index of all rows, and the transcripts in chunks.

A page that was opened from a disk may not fetch files, but it may load scripts. So every part is a
script of one call with one string in it, which the page parses as JSON and shows as text: what a
model said is data on the whole way, never markup and never code.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from salesllm.benchmark.run import DIALOGUES, SCORES
from salesllm.errors import InputError
from salesllm.files import read_jsonl
from salesllm.report.cell import FLAGS, facts, flags, marks

INDEX = "index"
CHUNK = 256_000
"""Characters after which a chunk ends: a dialogue is there at once, and files are not too many."""

_SCENARIO = ("scenario_id", "product_id", "language", "domain", "category", "difficulty")
_NAMES = ("salesperson", "customer", "termination")
_SCORES = ("buying", "selling", "final")

Turns = list[tuple[str, str]]
"""Who speaks, `c` or `s`, and what is said."""


def write_transcripts(run: Path, folder: Path) -> int:
    """Writes `index.js` and the chunks, `0.js` and on, into a folder that exists.

    Reads a row and its dialogue at a time; what it keeps of a row is a few numbers.

    Returns:
        How many rows there are.

    Raises:
        InputError: A file of the run is missing or damaged, or they do not belong together.
    """
    columns, chunk, starts, size = _Columns(), list[str](), [0], 0
    for row, turns in cells(run):
        text = _json({"turns": turns, "marks": marks(row), "facts": facts(row)})
        if chunk and size + len(text) > CHUNK:
            _write(folder, str(len(starts) - 1), f"[{','.join(chunk)}]")
            starts.append(len(columns))
            chunk, size = [], 0
        chunk.append(text)
        size += len(text)
        columns.add(row)
    _write(folder, str(len(starts) - 1), f"[{','.join(chunk)}]")
    _write(folder, INDEX, _json(columns.as_dict() | {"chunks": starts}))
    return len(columns)


def cells(run: Path) -> Iterator[tuple[Mapping[str, Any], Turns | None]]:
    """Every row of a run with the turns of its dialogue; None for a dialogue that failed."""
    spoken = _dialogues(run / DIALOGUES)
    waiting = next(spoken, None)
    for line, row in read_jsonl(run / SCORES):
        missing = next((key for key in ("id", *_SCENARIO[:1], *_NAMES) if key not in row), None)
        if missing:
            problem, fix = "is missing", "Give the folder of a benchmark run"
            raise InputError(problem, path=run / SCORES, line=line, field=missing, fix=fix)
        if waiting is not None and waiting[0] == row["id"]:
            yield row, waiting[1]
            waiting = next(spoken, None)
        else:
            yield row, None
    if waiting is not None:
        problem = f"the dialogue {waiting[0]!r} has no row in {SCORES}, or not at its place"
        fix = "Run the benchmark's command again; it writes both files anew"
        raise InputError(problem, path=run / DIALOGUES, fix=fix)


def _dialogues(path: Path) -> Iterator[tuple[str, Turns]]:
    if path.exists() and path.stat().st_size:  # it is empty where every dialogue failed
        for _, value in read_jsonl(path):
            yield value["id"], [(turn["speaker"][0], turn["text"]) for turn in value["turns"]]


class _Columns:
    """The rows as columns of numbers: names and scenarios are numbered, flags are bits."""

    def __init__(self) -> None:
        self._names: dict[str, dict[str, int]] = {name: {} for name in _NAMES}
        self._scenarios: dict[tuple[str, ...], int] = {}
        self._codes = {name: array("I") for name in (*_NAMES, "scenario", "turns", "flags")}
        self._scores = {name: list[float | None]() for name in _SCORES}
        self._repeats = list[int | None]()

    def __len__(self) -> int:
        return len(self._repeats)

    def add(self, row: Mapping[str, Any]) -> None:
        for name, known in self._names.items():
            self._codes[name].append(known.setdefault(row[name], len(known)))
        scenario = tuple(str(row.get(key) or "") for key in _SCENARIO)
        self._codes["scenario"].append(self._scenarios.setdefault(scenario, len(self._scenarios)))
        self._codes["turns"].append(row.get("turns") or 0)
        found = set(flags(row))
        self._codes["flags"].append(sum(1 << b for b, flag in enumerate(FLAGS) if flag in found))
        for name, column in self._scores.items():
            score = row.get(name)
            column.append(None if score is None else round(score, 2))
        self._repeats.append(row.get("repeat"))

    def as_dict(self) -> dict[str, Any]:
        scenarios = list(zip(*self._scenarios, strict=True)) or [()] * len(_SCENARIO)
        return {
            "names": {name: list(known) for name, known in self._names.items()},
            "scenarios": dict(zip(_SCENARIO, scenarios, strict=True)),
            "flags": FLAGS,
            "rows": {
                **{name: codes.tolist() for name, codes in self._codes.items()},
                **self._scores,
                "repeat": self._repeats,
            },
        }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def as_script(name: str, text: str) -> str:
    """A script that hands a text over; nothing in it can end the string, the script or a tag."""
    call = f"salesllm({_json(name)},{_json(text)})\n"
    for character in "<>&\u2028\u2029":
        call = call.replace(character, f"\\u{ord(character):04x}")
    return call


def _write(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.js").write_text(as_script(name, text), encoding="utf-8")
