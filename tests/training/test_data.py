"""What is measured on was not trained on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jobs import dialogues, labelled, preferences

from salesllm.dialogue import Dialogue, read_dialogues, write_dialogues
from salesllm.errors import InputError
from salesllm.files import write_jsonl
from salesllm.training.arguments import RunArguments
from salesllm.training.data import content, hold_out, read_unseen
from salesllm.training.labels import check_labels
from salesllm.training.rows import read_preferences


def _renamed(dialogue: Dialogue) -> Dialogue:
    return dialogue.model_copy(update={"id": f"again-{dialogue.id}"})


def test_a_record_of_training_is_named(tmp_path: Path) -> None:
    train, other = tmp_path / "train.jsonl", tmp_path / "other.jsonl"
    write_dialogues(train, dialogues(20))
    new = dialogues(3, skip=20)
    write_dialogues(other, [*new, _renamed(dialogues(20)[7])])
    other.write_text("\n" + other.read_text("utf-8"), "utf-8")  # lines are not records
    data = RunArguments(str(train), eval_file=str(other))
    with pytest.raises(InputError) as error:
        hold_out(read_dialogues, data, seed=0)
    assert str(error.value).startswith(f"{other}:5: field `eval_file`: the content of this record")
    assert str(error.value).endswith("Remove it from one of the files.")
    write_dialogues(other, new)
    assert hold_out(read_dialogues, data, seed=0) == (dialogues(20), new)


def test_a_pair_is_the_same_only_with_both_replies(tmp_path: Path) -> None:
    train, other = tmp_path / "train.jsonl", tmp_path / "other.jsonl"
    rows = preferences(dialogues(4))
    write_jsonl(train, rows)
    reply: list[Any] = [{"role": "assistant", "content": "never"}]
    write_jsonl(other, [rows[2] | {"chosen": reply}])
    seen = read_preferences(train)
    assert len(read_unseen(read_preferences, str(other), seen, "eval_file")) == 1
    write_jsonl(other, [rows[2] | {"chosen": reply}, rows[2]])
    with pytest.raises(InputError, match=":2: field `eval_file`"):
        read_unseen(read_preferences, str(other), seen, "eval_file")


@pytest.mark.parametrize("seed", range(5))
def test_a_held_out_share_repeats_nothing(tmp_path: Path, seed: int) -> None:
    path = tmp_path / "d.jsonl"
    once = dialogues(30)
    write_dialogues(path, [*once, *map(_renamed, once[:15])])
    train, held = hold_out(read_dialogues, RunArguments(str(path), eval_share=0.4), seed=seed)
    assert len(train) + len(held) == 45
    assert held
    assert not {content(d) for d in train} & {content(d) for d in held}
    write_dialogues(path, [once[0], _renamed(once[0])])
    with pytest.raises(InputError, match="every record drawn for validation"):
        hold_out(read_dialogues, RunArguments(str(path), eval_share=0.4), seed=seed)


def test_a_scorer_needs_two_labels_to_tell_apart(capsys: pytest.CaptureFixture[str]) -> None:
    rows = labelled(8)
    buyers = [row for row in rows if row.label == "buy"]
    with pytest.raises(InputError) as error:
        check_labels(buyers, ["not", "buy"], "t.jsonl")
    assert str(error.value).startswith(
        "t.jsonl: field `label`: no training record has the label not. Add records of another"
    )
    check_labels(rows, ["not", "buy"], "t.jsonl")
    assert capsys.readouterr().err == ""


def test_a_rare_label_that_is_missing_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    schema = ["A", "B", "C", "X", "F"]
    rows = [row.model_copy(update={"label": "AB"[i % 2]}) for i, row in enumerate(labelled(8))]
    check_labels(rows, schema, "t.jsonl")
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("warning: t.jsonl: no training record has the label C or X or F")
    with pytest.raises(InputError, match="the label B or C or X or F"):
        check_labels(rows[::2], schema, "t.jsonl")
