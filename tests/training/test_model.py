"""What loading a model arranges for its training."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from transformers import PreTrainedTokenizerBase
from trl import ModelConfig
from trl.trainer import utils

from salesllm.errors import InputError
from salesllm.training.model import adapter_of, skip_unsupervised_logits
from salesllm.training.tiny import new_causal_lm


def test_on_a_cpu_only_supervised_positions_reach_the_head(
    tokenizer: PreTrainedTokenizerBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    positions: list[int] = []
    whole = utils._ChunkedLogProbFunction.apply

    def counted(hidden: torch.Tensor, *rest: object) -> object:
        positions.append(len(hidden))
        return whole(hidden, *rest)

    model = new_causal_lm(tokenizer)
    utils.add_fused_lm_head(model)
    monkeypatch.setattr(utils._ChunkedLogProbFunction, "apply", counted)
    monkeypatch.setattr(utils, "_use_triton", utils._use_triton)  # put back after the test
    ids = torch.randint(3, len(tokenizer), (2, 20))
    labels = torch.full_like(ids, -100)
    labels[:, 14:] = ids[:, 14:]

    losses = []
    for prepare in (lambda: None, skip_unsupervised_logits):
        prepare()
        model.zero_grad()
        loss = model(input_ids=ids, labels=labels, fused_lm_head=True).loss
        loss.backward()
        losses.append((loss.item(), model.model.norm.weight.grad.norm().item()))
    assert positions == [2 * 19, 2 * 6]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)


def test_an_adapter_is_tried_before_anything_is_written(tokenizer: PreTrainedTokenizerBase) -> None:
    model = new_causal_lm(tokenizer)
    before, state = [name for name, _ in model.named_modules()], torch.get_rng_state()

    def adapter(**lora: Any) -> Any:
        return adapter_of(ModelConfig(model_name_or_path="base", **lora), model)

    assert adapter() is None
    for names in (["q_proj", "v_proj"], ["q_proj"]):
        assert adapter(use_peft=True, lora_target_modules=names).target_modules == set(names)
    assert [name for name, _ in model.named_modules()] == before
    assert torch.equal(torch.get_rng_state(), state)  # the adapter's first weights stay as they are
    for lora, said in (
        (
            {"lora_target_modules": ["nope_proj"]},
            r"field `lora_target_modules`: .*'nope_proj'.*Nam",
        ),
        ({"lora_target_modules": ["("]}, r"does not fit the model: missing \)"),
        ({"lora_r": 0}, r"positive integer.* Correct the recipe's lora_ keys"),
    ):
        with pytest.raises(InputError, match=rf"^base: .*{said}"):
            adapter(use_peft=True, **lora)
