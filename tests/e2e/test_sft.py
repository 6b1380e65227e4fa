"""`train/sft.py` on a tiny model: what it refuses, and what a finished run holds."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jobs import (
    LORA,
    RECIPES,
    SFT,
    World,
    call,
    done,
    environment,
    finish,
    killed_and_resumed,
    refused,
    sft_options,
    snapshot,
    start,
    two_processes,
)
from transformers import AutoTokenizer

from salesllm.files import read_json, sha256

pytestmark = pytest.mark.e2e


def _edited(world: World, tmp_path: Path, edit: Callable[[list[Any]], None]) -> str:
    """The training file with its third record changed."""
    rows = (world.path / "train.jsonl").read_text(encoding="utf-8").splitlines()
    record = [json.loads(rows[2])]
    edit(record)
    rows[2] = record[0] if isinstance(record[0], str) else json.dumps(record[0])
    path = tmp_path / "edited.jsonl"
    path.write_text("\n".join(rows), encoding="utf-8")
    return str(path)


def _empty_turns(record: list[Any]) -> None:
    record[0]["turns"][1]["text"] = record[0]["turns"][2]["text"] = " "


def _one_side(record: list[Any]) -> None:
    record[0]["turns"] = record[0]["turns"][::2]


BAD_RECORDS = {
    "not JSON": (lambda r: r.__setitem__(0, '{"id": 1,'), "not JSON", "Write one JSON object"),
    "missing field": (lambda r: r[0].pop("source"), "field `source`", "Add the field"),
    "unknown speaker": (
        lambda r: r[0]["turns"][1].update(speaker="agent"),
        "field `turns.1.speaker`: unknown value 'agent'",
        "Write 'salesperson' or 'customer'",
    ),
    "empty turns": (_empty_turns, "field `turns.1.text`: is empty", "or remove the turn"),
    "one speaker": (_one_side, "field `turns`: only the customer speaks", "Remove the record"),
}


@pytest.mark.parametrize("case", BAD_RECORDS)
def test_a_bad_record_is_named(world: World, tmp_path: Path, case: str) -> None:
    edit, *parts = BAD_RECORDS[case]
    path, out = _edited(world, tmp_path, edit), tmp_path / "out"
    outcome = call("sft", SFT, *sft_options(world, out), "--train_file", path)
    refused(outcome, f"{path}:3: ", *parts)
    assert not out.exists()


def test_a_bad_file_is_named(world: World, tmp_path: Path) -> None:
    out, options = tmp_path / "out", sft_options(world, tmp_path / "out")
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    for name, path in (("no such file", tmp_path / "absent.jsonl"), ("is empty", empty)):
        for argument in ("--train_file", "--eval_file", "--scenarios_file"):
            refused(call("sft", SFT, *options, argument, path), f"{path}: ", name)
    one = tmp_path / "one.jsonl"
    one.write_text((world.path / "train.jsonl").read_text("utf-8").splitlines()[0])
    refused(call("sft", SFT, *options, "--train_file", one), f"{one}: ", "too few", "eval_file")
    assert not out.exists()


def test_a_bad_recipe_is_named(world: World, tmp_path: Path) -> None:
    recipe, out = tmp_path / "recipe.yaml", tmp_path / "out"
    text = (RECIPES / SFT).read_text(encoding="utf-8")
    line = next(i for i, row in enumerate(text.splitlines(), 1) if row.startswith("max_length"))

    def bad(old: str, new: str, *parts: str, options: tuple[str, ...] = ()) -> None:
        assert old in text
        recipe.write_text(text.replace(old, new), encoding="utf-8")
        refused(call("sft", recipe, "--output_dir", out, *options), *parts)
        assert not out.exists()

    named = f"{recipe}:{line}: field "
    bad("max_length:", "max_lenght:", named + "`max_lenght`: unknown key", "`max_length`")
    bad("max_length: 512", "max_length: lots", named + "`max_length`: invalid int", "'lots'")
    bad("script_style: brief", "script_style: short", "`script_style`: unknown value", "or brief")
    bad("seed: 0", "seed: [0", f"{recipe}:", "not YAML")
    bad("train_file:", "# train_file:", f"{recipe}: field `train_file`: is missing", "Give it in")
    bad("model_name_or_path:", "# ", "field `model_name_or_path`: is missing")
    bad("# C", "# C", "the command line: field `max_lenght`", options=("--max_lenght", "9"))
    for name, value in (
        ("per_device_train_batch_size", 0),
        ("max_steps", 0),
        ("num_train_epochs", -1),
        ("max_length", 0),
    ):
        bad("# C", "# C", f"field `{name}`: {value}", options=(f"--{name}", str(value)))
    bad("# C", "# C", "`viewpoint`: unknown value 'buyer'", options=("--viewpoint", "buyer"))
    refused(call("sft", tmp_path / "absent.yaml"), "absent.yaml: no such recipe")


def test_a_bad_base_is_named(world: World, tmp_path: Path) -> None:
    base, out = tmp_path / "base", tmp_path / "out"

    def bad(change: Callable[[Any], None], *parts: str) -> None:
        tokenizer = AutoTokenizer.from_pretrained(world["init"])
        change(tokenizer)
        tokenizer.save_pretrained(base)
        refused(call("sft", SFT, *sft_options(world, out, str(base))), f"{base}: ", *parts)
        assert not out.exists()
        for file in base.iterdir():
            file.unlink()

    bad(lambda t: setattr(t, "chat_template", None), "no chat template", "speaks ChatML")
    bad(lambda t: setattr(t, "pad_token", None), "`pad_token`: the tokenizer has no pad", "Set pad")
    bad(lambda t: setattr(t, "pad_token", "<|im_end|>"), "`pad_token`: the pad token is <|im_end|>")
    bad(lambda t: None, "`model_name_or_path`: cannot load the model")  # a tokenizer alone
    refused(
        call("sft", SFT, *sft_options(world, out, str(base))),
        f"{base}: field `model_name_or_path`: cannot load the tokenizer",
    )
    spare = call("sft", SFT, *sft_options(world, out), "--pad_token", "<|spare|>")
    refused(spare, "field `pad_token`: '<|spare|>' is not in the vocabulary")
    lora = ("--use_peft", "true", "--lora_target_modules", "nope_proj")
    adapter = call("sft", SFT, *sft_options(world, out), *lora)
    refused(adapter, "field `lora_target_modules`: the adapter does not fit the model", "nope_proj")
    itself = call("sft", SFT, *sft_options(world, world["init"]))
    refused(itself, "field `output_dir`", "the base's own")
    assert not out.exists()


def test_what_cannot_be_written_or_measured_is_named(world: World, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    outcome = call("sft", SFT, *sft_options(world, file), "--num_train_epochs", 1)
    refused(outcome, f"{file}: File exists. Choose another path")
    train = world["train.jsonl"]
    options = [*sft_options(world, tmp_path / "out"), "--eval_file", train]
    refused(call("sft", SFT, *options), f"{train}:1: field `eval_file`: the content of this record")
    assert not (tmp_path / "out").exists()


def test_rows_cut_to_nothing_are_refused(world: World, tmp_path: Path) -> None:
    options = sft_options(world, tmp_path / "out")
    outcome = call("sft", SFT, *options, "--max_length", 20)
    refused(outcome, world["train.jsonl"], "`max_length`: no dialogue of 36 keeps", "Raise")
    assert not (tmp_path / "out").exists()


def test_a_finished_run_is_refused_and_left_alone(world: World, sft: Path) -> None:
    before = snapshot(sft)
    outcome = call("sft", SFT, *sft_options(world, sft))
    refused(outcome, f"{sft}: field `output_dir`", "already holds a finished run", "--overwrite")
    assert snapshot(sft) == before


def test_the_script_itself_exits_with_2(world: World, tmp_path: Path) -> None:
    out = tmp_path / "out"
    outcome = finish(start("sft", SFT, *sft_options(world, out), "--learning_rte", 1))
    refused(outcome, "`learning_rte`: unknown key. Did you mean `learning_rate`")
    edit = BAD_RECORDS["unknown speaker"][0]
    path = _edited(world, tmp_path, edit)
    outcome = finish(start("sft", SFT, *sft_options(world, out), "--train_file", path))
    refused(outcome, f"{path}:3: field `turns.1.speaker`")
    assert not out.exists()


def test_a_finished_run_says_what_it_was_made_of(world: World, sft: Path) -> None:
    summary, record = read_json(sft / "summary.json"), read_json(sft / "run.json")
    assert summary["eval_loss"] < summary["eval_loss_before"] / 2
    assert (summary["train_rows"], summary["eval_rows"], summary["steps"]) == (36, 4, 80)
    assert record["data_sha256"] == {"train": sha256(world["train.jsonl"])}
    assert record["recipe"]["learning_rate"] == 4e-3  # the command line's, not the recipe's
    assert record["recipe"]["weight_decay"] == 0.01  # the recipe's
    assert record["recipe"]["script_style"] == "brief"
    assert {"torch", "trl"} <= record["packages"].keys()
    assert not list(sft.glob("*.bin"))
    assert read_json(sft / "config.json")["use_cache"] is True


def test_plain_transformers_gives_the_same_reply(sft: Path, sft_lora: Path, tmp_path: Path) -> None:
    for folder, marker in ((sft, "model.safetensors"), (sft_lora, "adapter_model.safetensors")):
        assert (folder / marker).exists()
        assert (folder / "model.safetensors").exists() == (folder is sft)
        samples = read_json(folder / "samples.json")
        prompts = tmp_path / "prompts.json"
        prompts.write_text(json.dumps([sample["prompt"] for sample in samples]))
        script = Path(__file__).with_name("plain_transformers.py")
        printed = subprocess.run(
            [sys.executable, str(script), str(folder), str(prompts)],
            capture_output=True,
            text=True,
            check=True,
            env=environment(),
        )
        replies = json.loads(printed.stdout)
        assert len(replies) == 4
        assert [r["text"] for r in replies] == [s["reply"] for s in samples]
        for reply in replies:  # it stops where training taught it to
            assert reply["text"].endswith(" [END]")
            assert reply["last"] == "<|im_end|>"
            assert reply["tokens"] < 48


@pytest.mark.parametrize("lora", [False, True], ids=["full", "lora"])
def test_a_killed_run_resumes_to_the_same_weights(
    world: World, sft: Path, tmp_path: Path, lora: bool
) -> None:
    """Killed in the second epoch, whose order of rows must come back, dropout included."""

    def options(out: Path) -> list[object]:
        adapter = [*LORA, "--lora_dropout", 0.1] if lora else []
        base = str(sft) if lora else None
        epochs = ["--num_train_epochs", 3, "--save_strategy", "steps", "--save_steps", 2]
        return [*sft_options(world, out, base), *adapter, *epochs, "--save_total_limit", 3]

    whole, cut = tmp_path / "whole", tmp_path / "cut"
    done(call("sft", SFT, *options(whole)))
    killed_and_resumed("sft", SFT, options(cut), cut, at=8)
    weights = "adapter_model.safetensors" if lora else "model.safetensors"
    assert sha256(cut / weights) == sha256(whole / weights)
    assert sha256(cut / weights) != sha256(cut / "checkpoint-12" / weights)
    logs = [read_json(out / "trainer_state.json")["log_history"] for out in (whole, cut)]
    losses = [[row["loss"] for row in log if "loss" in row] for log in logs]
    assert losses[0] == losses[1]
    assert len(losses[0]) == 15


def test_a_changed_recipe_does_not_continue_a_run(world: World, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = [*sft_options(world, out), "--num_train_epochs", 1, "--save_strategy", "epoch"]
    done(call("sft", SFT, *options))
    (out / "summary.json").unlink()
    changed = call("sft", SFT, *options, "--learning_rate", 1e-4)
    refused(changed, "unfinished run of another recipe", "learning_rate: 0.004 is now 0.0001")
    done(call("sft", SFT, *options, "--overwrite", "true"))


def test_a_run_that_failed_at_once_can_be_corrected(world: World, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = [*sft_options(world, out), "--num_train_epochs", 1]
    with pytest.raises(TypeError, match="power"):
        call("sft", SFT, *options, "--lr_scheduler_kwargs", '{"power": 2}')
    assert (out / "run.json").exists()
    done(call("sft", SFT, *options))


def test_two_processes_reach_the_loss_of_one(world: World, tmp_path: Path) -> None:
    def options(out: Path, batch: int) -> list[object]:
        more = ["--num_train_epochs", 3, "--per_device_train_batch_size", batch]
        return [*sft_options(world, out), *more, "--eval_share", 0.2]  # 32 rows: no odd batch

    one, two = tmp_path / "one", tmp_path / "two"
    process = start("sft", SFT, *options(two, 4), launcher=two_processes())
    done(call("sft", SFT, *options(one, 8)))
    done(finish(process))
    alone, together = (read_json(out / "summary.json") for out in (one, two))
    assert (alone["processes"], together["processes"]) == (1, 2)
    assert alone["steps"] == together["steps"] == 12
    states = [read_json(out / "trainer_state.json")["log_history"] for out in (one, two)]
    last = [[row["loss"] for row in log if "loss" in row][-1] for log in states]
    assert last[1] == pytest.approx(last[0], rel=0.01)
    for name in ("train_loss", "eval_loss"):
        assert together[name] == pytest.approx(alone[name], rel=0.01)
        assert math.isfinite(alone[name])


def test_a_launcher_that_starts_fewer_processes_is_caught(world: World, tmp_path: Path) -> None:
    out = tmp_path / "out"
    launcher = ["-m", "accelerate.commands.launch", "--cpu", "--num_processes", "2"]
    outcome = finish(start("sft", SFT, *sft_options(world, out), launcher=launcher))
    assert outcome.code != 0  # the launcher's own code
    message = "error: several processes were asked for but 1 takes part. Launch with accelerate_"
    assert message in outcome.stderr
    assert not out.exists()


def test_wandb_works_offline_and_stays_in_the_run(world: World, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = [*sft_options(world, out), "--num_train_epochs", 1, "--report_to", "wandb"]
    assert "WANDB_DIR" not in os.environ
    done(finish(start("sft", SFT, *options, WANDB_MODE="offline")))
    (folder,) = (out / "wandb").glob("offline-run-*")
    (log,) = folder.glob("run-*.wandb")
    assert b"train/loss" in log.read_bytes()
