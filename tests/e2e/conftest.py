"""Tiny models made from forty small dialogues, and one finished run of every kind."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from jobs import (
    DPO,
    INTENT,
    LORA,
    SFT,
    World,
    call,
    dialogues,
    done,
    dpo_options,
    intent_options,
    labelled,
    preferences,
    sft_options,
)
from transformers import AutoTokenizer

from salesllm.dialogue import write_dialogues
from salesllm.files import write_jsonl
from salesllm.training.tiny import make, new_causal_lm


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    torch.set_num_threads(1)  # as the processes that are started beside this one
    path = tmp_path_factory.mktemp("world")
    train = dialogues(40)
    write_dialogues(path / "train.jsonl", train)
    write_jsonl(path / "pairs.jsonl", preferences(train))
    write_dialogues(path / "intent_train.jsonl", labelled(160))
    write_dialogues(path / "intent_test.jsonl", labelled(40, skip=160))
    make(train, [], path)
    tokenizer = AutoTokenizer.from_pretrained(path / "init")
    small = {"hidden_size": 96, "intermediate_size": 192, "num_hidden_layers": 2}
    heads = {"num_attention_heads": 3, "num_key_value_heads": 1}
    new_causal_lm(tokenizer, **small, **heads).save_pretrained(path / "init")  # saves minutes
    return World(path)


@pytest.fixture(scope="session")
def sft(world: World) -> Path:
    """A full-weight SFT run that has learnt to stop."""
    out = world.path / "sft"
    done(call("sft", SFT, *sft_options(world, out), "--num_train_epochs", 16))
    return out


@pytest.fixture(scope="session")
def sft_lora(world: World, sft: Path) -> Path:
    """A LoRA SFT run, on the full-weight one."""
    out = world.path / "sft_lora"
    done(call("sft", SFT, *sft_options(world, out, str(sft)), *LORA, "--num_train_epochs", 2))
    return out


@pytest.fixture(scope="session")
def dpo(world: World, sft: Path) -> Path:
    out = world.path / "dpo"
    done(call("dpo", DPO, *dpo_options(world, out, sft)))
    return out


@pytest.fixture(scope="session")
def dpo_lora(world: World, sft_lora: Path) -> Path:
    out = world.path / "dpo_lora"
    done(call("dpo", DPO, *dpo_options(world, out, sft_lora)))
    return out


@pytest.fixture(scope="session")
def intent(world: World) -> Path:
    out = world.path / "intent"
    done(call("intent", INTENT, *intent_options(world, out), "--num_train_epochs", 20))
    return out
