"""`salesllm preflight`: which script a recipe is for, and what it shows of the loss."""

from __future__ import annotations

from pathlib import Path

import pytest
from transformers import PreTrainedTokenizerBase

from salesllm.cli import main
from salesllm.dialogue import Dialogue, write_dialogues
from salesllm.errors import InputError
from salesllm.training.labels import LabelledDialogue
from salesllm.training.preflight import job_of, mask_text
from salesllm.training.rows import View, sft_rows

RECIPES = Path(__file__).parents[2] / "recipes"
JOBS = {
    **{str(p): p.stem if p.stem != "base" else "sft" for p in RECIPES.glob("customerlm/*/*.yaml")},
    **{str(p): "intent" for p in RECIPES.glob("intent/*.yaml")},
}


def dialogue(number: int = 0) -> Dialogue:
    turns = [
        {"speaker": "customer", "text": "hi, the lamp?" + " please" * number},
        {"speaker": "salesperson", "text": "It is bright and light."},
        {"speaker": "customer", "text": "nah"},
    ]
    fields = {"id": f"d{number}", "language": "en", "source": "test", "product_line": "lamps"}
    return Dialogue.model_validate({"turns": turns, **fields})


@pytest.mark.parametrize("path", JOBS, ids=lambda p: "/".join(Path(p).parts[-2:]))
def test_a_recipe_says_which_script_reads_it(path: str) -> None:
    assert job_of(path) == JOBS[path]


def test_a_recipe_that_says_nothing_needs_the_job(tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text("seed: 1\n")
    with pytest.raises(InputError, match="--job"):
        job_of(str(tmp_path / "r.yaml"))


def test_brackets_hold_what_bears_loss(tokenizer: PreTrainedTokenizerBase) -> None:
    row = sft_rows([dialogue()], tokenizer, max_length=512, view=View()).rows[0]
    text = mask_text(row, tokenizer).plain
    held = [piece.split("\N{MATHEMATICAL RIGHT WHITE SQUARE BRACKET}")[0]
            for piece in text.split("\N{MATHEMATICAL LEFT WHITE SQUARE BRACKET}")[1:]]  # fmt: skip
    assert held == ["hi, the lamp?<|im_end|>", "nah [END]<|im_end|>"]
    assert "It is bright" in text


def test_it_says_what_would_be_trained_and_writes_nothing(
    tokenizer: PreTrainedTokenizerBase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_dialogues(tmp_path / "d.jsonl", [dialogue(i) for i in range(20)])
    tokenizer.save_pretrained(tmp_path / "base")
    options = {
        "config": RECIPES / "customerlm/tiny/sft.yaml", "train_file": tmp_path / "d.jsonl",
        "scenarios_file": "none", "model_name_or_path": tmp_path / "base",
        "output_dir": tmp_path / "out",
    }  # fmt: skip
    main(["preflight", *(str(w) for k, v in options.items() for w in (f"--{k}", v)), "--show-mask"])
    shown = capsys.readouterr().out
    assert "19 en" in shown
    assert "nah [END]<|im_end|>" in shown
    assert not (tmp_path / "out").exists()


def test_an_intent_recipe_is_checked_as_in_training(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows, absent = tmp_path / "rows.jsonl", tmp_path / "absent"
    write_dialogues(
        rows,
        [
            LabelledDialogue(**dialogue(i).model_dump(), label=("not", "buy")[i % 2])
            for i in range(9)
        ],
    )
    words = [
        "preflight",
        "--config",
        str(RECIPES / "intent/tiny_en.yaml"),
        "--train_file",
        str(rows),
    ]
    for options, message in (
        (["--test_file", "none"], f"{absent}: field `model_name_or_path`: cannot load the encoder"),
        (["--test_file", str(rows)], f"{rows}:1: field `test_file`: the content of this record"),
        (["--metric_for_best_model", "auc"], "field `metric_for_best_model`: unknown value 'auc'"),
    ):
        with pytest.raises(SystemExit) as stopped:
            main([*words, "--model_name_or_path", str(absent), *options])
        assert stopped.value.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"error: {message}")


def test_bad_input_is_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["preflight", "--config", "missing.yaml"])
    assert stopped.value.code == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: missing.yaml: no such recipe. Check the path after --config."
    ]
