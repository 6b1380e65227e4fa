"""The rows of `scores.jsonl` as columns: all that the analysis needs, read once."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from salesllm.errors import InputError

Array = npt.NDArray[np.float64]
Codes = npt.NDArray[np.intp]
Row = Mapping[str, Any]

_WORDS = ("salesperson", "customer", "language", "product_id", "scenario_id", "domain", "category",
          "difficulty", "termination")  # fmt: skip
_NUMBERS = ("repeat", "propensity", "turns", "buying", "selling", "bought")


@dataclass(frozen=True)
class Columns:
    """Rows of a run, shape (rows,) each.

    Attributes:
        names: The words of each column of words, in order.
        codes: The same column as places in `names`.
        numbers: NaN for null.
        unauthorised: 1 where the salesperson conceded what it may not, 0 where not, else NaN.
        failed: The dialogue has nothing to score.
        unit: The same for dialogues that two salespeople had about the same thing: scenario and
            repeat.
        judges: Names of all judges.
        ratings: What several judges made of each dialogue that several of them rated.
    """

    names: dict[str, list[str]]
    codes: dict[str, Codes]
    numbers: dict[str, Array]
    unauthorised: Array
    failed: npt.NDArray[np.bool_]
    unit: Codes
    judges: list[str]
    ratings: list[list[float]]

    def __len__(self) -> int:
        return len(self.unit)


def read_columns(rows: Iterable[Row]) -> Columns:
    """Reads rows, in any order, and forgets each at once.

    Raises:
        InputError: Two rows are of the same dialogue.
    """
    index: dict[str, dict[str, int]] = {name: {} for name in _WORDS}
    words = {name: array("q") for name in _WORDS}
    numbers = {name: array("d") for name in _NUMBERS}
    unauthorised, failed = array("d"), array("b")
    judges: set[str] = set()
    ratings = []
    for row in rows:
        for name, known in index.items():
            words[name].append(known.setdefault(row[name], len(known)))
        for name, column in numbers.items():
            column.append(_number(row[name]))
        unauthorised.append(_number((row.get("grounding") or {}).get("unauthorised")))
        failed.append(row["failed"])
        rated = row.get("judges") or {}
        judges |= rated.keys()
        scores = [score for score in rated.values() if score is not None]
        if len(scores) > 1:
            ratings.append(scores)
    names = {name: sorted(known) for name, known in index.items()}
    codes = {name: _sorted_codes(words[name], index[name], names[name]) for name in _WORDS}
    values = {name: np.array(column) for name, column in numbers.items()}
    unit = np.stack((codes["scenario_id"], codes["language"], values["repeat"].astype(np.intp)))
    same = np.stack((*unit, codes["salesperson"], codes["customer"]))
    _, first, times = np.unique(same, axis=1, return_index=True, return_counts=True)
    if (times > 1).any():
        twice = {name: names[name][codes[name][first[times > 1][0]]] for name in _WORDS}
        problem = f"two rows are of {twice['salesperson']} with {twice['customer']} about "
        raise InputError(problem + twice["scenario_id"], fix="Give every dialogue once")
    return Columns(
        names,
        codes,
        values,
        np.array(unauthorised),
        np.array(failed, dtype=bool),
        np.unique(unit, axis=1, return_inverse=True)[1].reshape(-1),
        sorted(judges),
        ratings,
    )


def _number(value: float | None) -> float:
    return np.nan if value is None else value


def _sorted_codes(column: array[int], known: Mapping[str, int], names: list[str]) -> Codes:
    place = np.empty(len(names), dtype=np.intp)
    for code, name in enumerate(names):
        place[known[name]] = code
    return place[np.array(column, dtype=np.intp)]
