"""The scripts of `data_prep` never write over a file: it may have been edited by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from salesllm.dialogue import Dialogue, write_dialogues
from salesllm.errors import InputError
from salesllm.training.tiny import READY, prepare

ROOT = Path(__file__).parents[1]
DIALOGUE = Dialogue.model_validate(
    {
        "id": "d0", "language": "en", "source": "test", "product_line": "lamps",
        "turns": [{"speaker": "customer", "text": "hi, the lamp?"},
                  {"speaker": "salesperson", "text": "It is bright."}],
        "outcome": "bought",
    }
)  # fmt: skip


@pytest.mark.parametrize(
    "command",
    [
        ["intent_labels.py", "--language", "en", "--dialogues", "d.jsonl", "--output", "d.jsonl"],
        ["preferences.py", "--config", str(ROOT / "recipes/preferences/tiny.yaml"),
         "--output", "d.jsonl"],
        ["preferences.py", "--config", str(ROOT / "recipes/preferences/tiny.yaml"),
         "--output", "mined.jsonl"],
    ],
    ids=["labels", "pairs", "summary of pairs"],
)  # fmt: skip
def test_an_existing_output_is_refused(command: list[str], tmp_path: Path) -> None:
    write_dialogues(tmp_path / "d.jsonl", [DIALOGUE])
    (tmp_path / "mined.summary.json").write_text("{}")
    before = (tmp_path / "d.jsonl").read_bytes()
    script = [sys.executable, str(ROOT / "data_prep" / command[0]), *command[1:]]
    ran = subprocess.run(script, cwd=tmp_path, capture_output=True, text=True)
    assert ran.returncode == 2, ran.stderr
    there = "mined.summary.json" if "mined.jsonl" in command else "d.jsonl"
    assert f"{there}: field `output`: the file exists" in ran.stderr
    assert (tmp_path / "d.jsonl").read_bytes() == before


def test_a_folder_of_sample_data_is_refused(tmp_path: Path) -> None:
    (tmp_path / READY).write_text("{}")
    with pytest.raises(InputError, match="the file exists"):
        prepare(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == [READY]


def test_ones_own_files_are_no_sample_data(tmp_path: Path) -> None:
    write_dialogues(tmp_path / "train.jsonl", [DIALOGUE])
    with pytest.raises(InputError, match=r"train.jsonl: .*the file exists"):
        prepare(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["train.jsonl"]
