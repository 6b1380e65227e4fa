"""Parts of a data set share no scenario, no worker and no text."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salesllm.dialogue import Dialogue, read_dialogues, write_dialogues
from salesllm.errors import InputError
from salesllm.splits import largest_group, split_dialogues
from salesllm.training.labels import LabelledDialogue, read_labelled

SCRIPT = Path(__file__).parents[1] / "data_prep" / "dialogues.py"


def dialogue(number: int, scenario: int | None, worker: int | None, text: int) -> Dialogue:
    turns = [
        {"speaker": "customer", "text": f"hi {text}"},
        {"speaker": "salesperson", "text": "Hello!"},
    ]
    return Dialogue.model_validate(
        {
            "id": f"d{number}", "language": "en", "source": "test", "product_line": "lamps",
            "turns": turns, "scenario_id": None if scenario is None else f"s{scenario}",
            "worker_id": None if worker is None else f"w{worker}",
        }
    )  # fmt: skip


MANY = [dialogue(i, i % 60, None, i) for i in range(300)]


@given(
    st.lists(
        st.tuples(st.none() | st.integers(0, 9), st.none() | st.integers(0, 9), st.integers(0, 30)),
        min_size=1,
        max_size=40,
    ),
    st.integers(0, 5),
)
def test_parts_share_nothing(rows: list[tuple[int | None, int | None, int]], seed: int) -> None:
    dialogues = [dialogue(i, *row) for i, row in enumerate(rows)]
    try:
        parts = split_dialogues(dialogues, {"a": 0.5, "b": 0.3, "c": 0.2}, seed)
    except InputError:  # fewer groups than parts
        return
    assert sorted(d.id for part in parts.values() for d in part) == sorted(d.id for d in dialogues)
    for one, other in combinations(parts.values(), 2):
        assert not {d.scenario_id for d in one} & {d.scenario_id for d in other} - {None}
        assert not {d.worker_id for d in one} & {d.worker_id for d in other} - {None}
        assert not {d.turns for d in one} & {d.turns for d in other}


def test_parts_are_near_their_shares_and_the_same_each_time() -> None:
    shares = {"train": 0.7, "test": 0.3}
    parts = split_dialogues(MANY, shares, seed=1)
    assert abs(len(parts["train"]) - 210) <= 5
    assert parts == split_dialogues(MANY, shares, seed=1)
    assert parts != split_dialogues(MANY, shares, seed=2)


def test_a_worker_with_everyones_scenarios_links_them_all() -> None:
    linked = [dialogue(i, i, 0, i) for i in range(9)] + [dialogue(9, 9, 1, 9)]
    assert largest_group(linked) == 9
    with pytest.raises(InputError, match="2 separate groups, and 90% of the dialogues are in the"):
        split_dialogues(linked, {"a": 0.5, "b": 0.3, "c": 0.2})


@pytest.mark.parametrize("shares", [{"a": 0.5}, {"a": 1.5, "b": -0.5}, {"a": float("nan")}])
def test_shares_that_make_no_whole(shares: dict[str, float]) -> None:
    with pytest.raises(InputError, match="sum to"):
        split_dialogues(MANY, shares)


def run(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(SCRIPT), "--dialogues", str(folder / "all.jsonl")]
    command += ["--output_dir", str(folder / "parts"), *options]
    return subprocess.run(command, capture_output=True, text=True)


def test_the_script_writes_the_parts_once(tmp_path: Path) -> None:
    write_dialogues(tmp_path / "all.jsonl", MANY)
    bad = run(tmp_path, "--parts", "a=x")
    assert (bad.returncode, bad.stderr) == (
        2, "error: field `parts`: a=x is no share. Write NAME=SHARE.\n",
    )  # fmt: skip
    for parts, said in (
        (["a=0.5"], "the shares sum to 0.5"),
        ([f"p{i}=0.01" for i in range(100)], "would be empty: there are 60 separate groups"),
    ):
        bad = run(tmp_path, "--parts", *parts)
        assert bad.returncode == 2
        assert said in bad.stderr
    assert not (tmp_path / "parts").exists()
    too_long = "x" * 248  # for the temporary file's name
    assert run(tmp_path, "--parts", "a=0.5", f"{too_long}=0.5").returncode != 0
    assert not list((tmp_path / "parts").iterdir())
    assert run(tmp_path).returncode == 0
    names = {"train", "dev", "preference", "detector", "test"}
    reports = {"rejected", "duplicates", "summary"}
    assert {path.stem for path in (tmp_path / "parts").iterdir()} == names | reports
    parts = [read_dialogues(tmp_path / "parts" / f"{name}.jsonl") for name in names]
    assert sum(map(len, parts)) == len(MANY)
    again = run(tmp_path)
    assert again.returncode == 2
    assert "the file exists" in again.stderr


def test_labels_stay_with_their_dialogues(tmp_path: Path) -> None:
    labelled = [
        LabelledDialogue(**d.model_dump(), label="ABCXF"[i % 5]) for i, d in enumerate(MANY)
    ]
    write_dialogues(tmp_path / "all.jsonl", labelled)
    assert run(tmp_path, "--parts", "a=0.5", "b=0.5").returncode == 0
    parts = [d for name in "ab" for d in read_labelled(tmp_path / "parts" / f"{name}.jsonl")]
    assert sorted((d.id, d.label) for d in parts) == sorted((d.id, d.label) for d in labelled)
