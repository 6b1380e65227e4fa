"""`train/dpo.py` from a tiny SFT checkpoint, full weights and LoRA."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
from jobs import (
    DPO,
    World,
    call,
    done,
    dpo_options,
    finish,
    killed_and_resumed,
    refused,
    snapshot,
    start,
    two_processes,
)
from peft import AutoPeftModelForCausalLM
from transformers import AutoModelForCausalLM, AutoTokenizer

from salesllm.files import read_json, read_jsonl, sha256, write_jsonl
from salesllm.training.arguments import PreferenceArguments
from salesllm.training.data import hold_out
from salesllm.training.rows import Preference, read_preferences

pytestmark = pytest.mark.e2e


def _reply(text: str) -> list[dict[str, str]]:
    return [{"role": "assistant", "content": text}]


def test_a_bad_pair_is_named(world: World, sft: Path, tmp_path: Path) -> None:
    path, out = tmp_path / "pairs.jsonl", tmp_path / "out"
    rows = [row for _, row in read_jsonl(world["pairs.jsonl"])]

    def bad(changes: dict[str, Any], *parts: str) -> None:
        write_jsonl(path, [*rows[:4], rows[4] | changes, *rows[5:]])
        outcome = call("dpo", DPO, *dpo_options(world, out, sft), "--train_file", path)
        refused(outcome, f"{path}:5: field ", *parts)
        assert not out.exists()

    pair, other = rows[4], rows[5]
    bad({"rejected": pair["chosen"]}, "`rejected`: chosen and rejected are the same", "Remove the")
    sides = {"chosen": pair["prompt"] + pair["chosen"], "rejected": other["prompt"] + _reply("no")}
    bad({"prompt": pair["prompt"], **sides}, "`rejected`: its prompt differs", "shares its whole")
    bad({"prompt": pair["prompt"][:-1]}, "`prompt`: the prompt ends with the customer's own")
    bad({"chosen": [{"role": "agent", "content": "x"}]}, "`chosen.0.role`: unknown role", "Use sys")


def test_what_it_cannot_start_from_is_named(world: World, sft: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    raw = call("dpo", DPO, *dpo_options(world, out, world["init"]))
    refused(raw, f"{world['init']}: field `model_name_or_path`", "Train one with train/sft.py")
    short = call("dpo", DPO, *dpo_options(world, out, sft), "--max_length", 20)
    refused(short, world["pairs.jsonl"], "`max_length`: none of 36 pair(s) fits", "Raise")
    absent = call("dpo", DPO, *dpo_options(world, out, sft), "--train_file", "absent.jsonl")
    refused(absent, "absent.jsonl: no such file. Check the path")
    key = call("dpo", DPO, *dpo_options(world, out, sft), "--betta", 1)
    refused(key, "field `betta`: unknown key. Did you mean `beta`")
    beta = call("dpo", DPO, *dpo_options(world, out, sft), "--beta", -1)
    refused(beta, "field `beta`: -1.0 is too small. Write a number above 0")
    lora = ("--use_peft", "true", "--lora_target_modules", "nope_proj")
    adapter = call("dpo", DPO, *dpo_options(world, out, sft), *lora)
    refused(adapter, "field `lora_target_modules`: the adapter does not fit the model", "nope_proj")
    pairs = world["pairs.jsonl"]
    seen = call("dpo", DPO, *dpo_options(world, out, sft), "--eval_file", pairs)
    refused(seen, f"{pairs}:1: field `eval_file`: the content of this record is also in")
    assert not out.exists()


def test_a_finished_run_is_refused_and_left_alone(world: World, sft: Path, dpo: Path) -> None:
    before = snapshot(dpo)
    refused(call("dpo", DPO, *dpo_options(world, dpo, sft)), "already holds a finished run")
    assert snapshot(dpo) == before


@pytest.fixture(params=["full", "lora"])
def stages(request: pytest.FixtureRequest) -> tuple[Path, Path]:
    """An SFT checkpoint and the DPO run that started from it."""
    names = ("sft", "dpo") if request.param == "full" else ("sft_lora", "dpo_lora")
    first, second = (request.getfixturevalue(name) for name in names)
    return first, second


def test_the_loss_starts_at_ln_2_and_falls(stages: tuple[Path, Path]) -> None:
    _, run = stages
    log = read_json(run / "trainer_state.json")["log_history"]
    losses = [row["loss"] for row in log if "loss" in row]
    assert losses[0] == pytest.approx(math.log(2), abs=1e-3)
    assert losses[-1] < 0.6
    summary = read_json(run / "summary.json")
    assert summary["eval_loss_before"] == pytest.approx(math.log(2), abs=1e-3)
    assert summary["eval_loss"] < 0.6


def _reply_log_probabilities(folder: Path, pairs: list[Preference]) -> dict[str, torch.Tensor]:
    """Summed log-probability of every chosen and rejected reply, by plain transformers."""
    adapter = (folder / "adapter_config.json").exists()
    loader = AutoPeftModelForCausalLM if adapter else AutoModelForCausalLM
    model, tokenizer = loader.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    sums: dict[str, list[float]] = {"chosen": [], "rejected": []}
    for pair in pairs:
        prompt = tokenizer.apply_chat_template(
            pair.prompt, add_generation_prompt=True, tokenize=False
        )
        start = len(tokenizer.encode(prompt))
        for side, values in sums.items():
            text = prompt + getattr(pair, side) + tokenizer.eos_token
            ids = torch.tensor([tokenizer.encode(text)])
            with torch.no_grad():
                scores = model(ids).logits.log_softmax(-1)[0, :-1]
            of_token = scores.gather(-1, ids[0, 1:, None])[start - 1 :]
            values.append(float(of_token.sum()))
    return {side: torch.tensor(values) for side, values in sums.items()}


def test_the_reference_is_the_sft_checkpoint(world: World, stages: tuple[Path, Path]) -> None:
    """The loss it reports at the end, computed again from the two checkpoints on disk."""
    before, after = stages
    data = PreferenceArguments(train_file=world["pairs.jsonl"], eval_share=0.1)
    _, pairs = hold_out(read_preferences, data, seed=0)
    policy, reference = (_reply_log_probabilities(folder, pairs) for folder in (after, before))
    gain = {side: policy[side] - reference[side] for side in policy}
    loss = -torch.nn.functional.logsigmoid(0.1 * (gain["chosen"] - gain["rejected"])).mean()
    assert float(loss) == pytest.approx(read_json(after / "summary.json")["eval_loss"], rel=1e-3)


def test_a_lora_run_saves_one_adapter_on_the_base_of_sft(sft_lora: Path, dpo_lora: Path) -> None:
    assert sorted(path.name for path in dpo_lora.glob("adapter_*")) == [
        "adapter_config.json",
        "adapter_model.safetensors",
    ]
    assert not (dpo_lora / "ref").exists()
    configs = [read_json(run / "adapter_config.json") for run in (sft_lora, dpo_lora)]
    assert configs[0]["base_model_name_or_path"] == configs[1]["base_model_name_or_path"]
    weights = [sha256(run / "adapter_model.safetensors") for run in (sft_lora, dpo_lora)]
    assert weights[0] != weights[1]
    assert read_json(dpo_lora / "customerlm.json")["stage"] == "dpo"


@pytest.mark.parametrize("lora", [False, True], ids=["full", "lora"])
def test_a_killed_run_resumes_to_the_same_weights(
    world: World, sft: Path, sft_lora: Path, tmp_path: Path, lora: bool
) -> None:
    def options(out: Path) -> list[object]:
        saves = ["--save_strategy", "steps", "--save_steps", 2, "--save_total_limit", 3]
        return [*dpo_options(world, out, sft_lora if lora else sft), *saves]

    whole, cut = tmp_path / "whole", tmp_path / "cut"
    done(call("dpo", DPO, *options(whole)))
    killed_and_resumed("dpo", DPO, options(cut), cut, at=6)
    weights = "adapter_model.safetensors" if lora else "model.safetensors"
    assert sha256(cut / weights) == sha256(whole / weights)
    summaries = [read_json(out / "summary.json") for out in (whole, cut)]
    for name in ("eval_loss_before", "eval_loss", "eval_preference_accuracy", "steps"):
        assert summaries[0][name] == summaries[1][name]


def test_two_processes_reach_the_loss_of_one(world: World, sft: Path, tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    share = ["--eval_share", 0.2, "--num_train_epochs", 1]  # 32 rows: no odd batch
    options = [*dpo_options(world, two, sft), "--per_device_train_batch_size", 4, *share]
    process = start("dpo", DPO, *options, launcher=two_processes())
    done(call("dpo", DPO, *dpo_options(world, one, sft), *share))
    done(finish(process))
    alone, together = (read_json(out / "summary.json") for out in (one, two))
    assert (alone["processes"], together["processes"]) == (1, 2)
    for name in ("train_loss", "eval_loss_before", "eval_loss"):
        assert together[name] == pytest.approx(alone[name], rel=0.01)


def test_it_names_what_it_came_from(sft: Path, dpo: Path, world: World) -> None:
    card = read_json(dpo / "customerlm.json")
    assert (card["stage"], card["base"]) == ("dpo", str(sft))
    assert card["viewpoint"] == "customer"
    record = read_json(dpo / "run.json")
    assert record["data_sha256"] == {"train": sha256(world["pairs.jsonl"])}
    assert json.dumps(read_json(dpo / "samples.json")).count('"reply"') == 4
