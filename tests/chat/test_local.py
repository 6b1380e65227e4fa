"""A tiny real Qwen3, made on the spot, as a speaker."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from salesllm.chat.base import Reply, Sampling
from salesllm.chat.local import LocalChat, _SeededDraw
from salesllm.dialogue import Message
from salesllm.errors import InputError
from salesllm.training.tiny import new_causal_lm, train_tokenizer

GREEDY = Sampling(temperature=0, max_tokens=12)
SAMPLED = Sampling(temperature=1.0, top_p=0.95, max_tokens=12, seed=7)
WORDS = ["how much is the kettle?", "it is 39 dollars", "太贵了，便宜点", "我们有活动", "ok bye"]


def conversation(number: int) -> list[Message]:
    turns = [WORDS[(number + i) % len(WORDS)] for i in range(1 + number % 6)]
    messages = [Message(role="system", content=f"You are customer {number}.")]
    roles = ("assistant", "user")
    start = len(turns) % 2  # the last one is the other side's
    messages += [Message(role=roles[(i + start) % 2], content=t) for i, t in enumerate(turns)]
    return messages


BATCH = [conversation(i) for i in range(11)]


@pytest.fixture(scope="session")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny")
    tokenizer = train_tokenizer(WORDS * 20, vocab_size=400)
    sizes = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "head_dim": 32}
    model = new_causal_lm(tokenizer, **sizes, max_position_embeddings=256)
    with torch.no_grad():  # a fresh model echoes its last token; this one rambles
        for parameter in model.model.layers.parameters():
            parameter *= 8 if parameter.dim() > 1 else 1
    model.generation_config.repetition_penalty = 5.0  # a habit that must not leak into replies
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def chat(checkpoint: Path) -> LocalChat:
    return LocalChat(checkpoint, device="cpu", max_batch=4)


def test_batched_equals_single_greedily(chat: LocalChat) -> None:
    together = chat.generate(BATCH, GREEDY)
    alone = [chat.generate([messages], GREEDY)[0] for messages in BATCH]
    assert together == alone
    assert len({reply.text for reply in together}) > 1


def test_greedy_is_the_argmax_of_plain_transformers(chat: LocalChat) -> None:
    ids = chat.tokenizer.apply_chat_template(
        BATCH[3], add_generation_prompt=True, return_tensors="pt", return_dict=True
    )["input_ids"]
    said: list[int] = []
    with torch.no_grad():
        while len(said) < GREEDY.max_tokens and chat.tokenizer.eos_token_id not in said:
            said.append(int(chat.model(ids).logits[0, -1].argmax()))
            ids = torch.cat([ids, torch.tensor([[said[-1]]])], dim=1)
    reply = chat.generate([BATCH[3]], GREEDY)[0]
    assert reply.text == chat.tokenizer.decode(said, skip_special_tokens=True)
    assert reply.usage.completion_tokens == len(said)


def test_a_seeded_draw_depends_on_seed_and_prompt_alone(chat: LocalChat) -> None:
    together = chat.generate(BATCH, SAMPLED)
    assert [chat.generate([m], SAMPLED)[0] for m in reversed(BATCH)] == together[::-1]
    assert chat.generate(BATCH, replace(SAMPLED, seed=8)) != together
    unseeded = replace(SAMPLED, seed=None)
    assert chat.generate(BATCH, unseeded) != chat.generate(BATCH, unseeded)
    assert chat.generate(BATCH, GREEDY) != together


def test_the_draw_follows_the_distribution_within_the_nucleus() -> None:
    probabilities = torch.tensor([0.1, 0.5, 0.02, 0.3, 0.08])
    rows = 4000
    draw = _SeededDraw(temperature=1.0, top_p=0.85, keys=range(rows))
    only = draw(torch.zeros(rows, 1), probabilities.log().repeat(rows, 1))
    assert (only.isfinite().sum(dim=-1) == 1).all()
    shares = torch.bincount(only.argmax(dim=-1), minlength=5) / rows
    nucleus = torch.tensor([0.1, 0.5, 0.0, 0.3, 0.0]) / 0.9
    torch.testing.assert_close(shares, nucleus, atol=0.03, rtol=0)

    cold = _SeededDraw(temperature=0.5, top_p=1.0, keys=range(rows))
    only = cold(torch.zeros(rows, 1), probabilities.log().repeat(rows, 1))
    shares = torch.bincount(only.argmax(dim=-1), minlength=5) / rows
    squared = probabilities**2 / (probabilities**2).sum()
    torch.testing.assert_close(shares, squared, atol=0.03, rtol=0)


def test_concurrent_callers_share_batches(chat: LocalChat, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    threads: set[int] = set()
    forward = chat._forward

    def counted(
        prompts: Sequence[Sequence[int]], new_tokens: int, draw: _SeededDraw | None
    ) -> list[Reply]:
        sizes.append(len(prompts))
        threads.add(threading.get_ident())
        return forward(prompts, new_tokens, draw)

    monkeypatch.setattr(chat, "_forward", counted)

    async def everyone() -> list[Reply]:
        seeds = [replace(SAMPLED, seed=i) for i in range(len(BATCH))]
        calls = (chat.reply(m, s) for m, s in zip(BATCH, seeds, strict=True))
        return await asyncio.gather(*calls)

    replies = asyncio.run(everyone())
    assert sizes == [4, 4, 3]
    assert threading.get_ident() not in threads  # the event loop stays free
    for number, reply in enumerate(replies):
        assert chat.generate([BATCH[number]], replace(SAMPLED, seed=number)) == [reply]
    assert asyncio.run(everyone()) == replies  # a second event loop


def test_callers_with_other_settings_get_their_own_batch(chat: LocalChat) -> None:
    short = replace(GREEDY, max_tokens=3)

    async def both() -> list[Reply]:
        return await asyncio.gather(chat.reply(BATCH[1], GREEDY), chat.reply(BATCH[1], short))

    assert asyncio.run(both()) == [chat.generate([BATCH[1]], s)[0] for s in (GREEDY, short)]


def test_a_failure_reaches_its_caller_alone_and_the_next_call_works(chat: LocalChat) -> None:
    impossible = [Message(role="user", content="very long " * 400)]

    async def run() -> tuple[Reply, Reply]:
        beside = asyncio.create_task(chat.reply(BATCH[1], GREEDY))
        with pytest.raises(ValueError, match="leaves 244 for them"):
            await chat.reply(impossible, GREEDY)
        return await chat.reply(BATCH[0], GREEDY), await beside

    first, second = chat.generate(BATCH[:2], GREEDY)
    assert asyncio.run(run()) == (first, second)


def test_stops_and_length(chat: LocalChat) -> None:
    for reply in chat.generate(BATCH, replace(SAMPLED, temperature=3.0, top_p=1.0, max_tokens=60)):
        ended = reply.usage.completion_tokens < 60
        assert reply.finish_reason == ("stop" if ended else "length")
        assert "<|im_end|>" not in reply.text
    cut = chat.generate(BATCH[:1], replace(GREEDY, max_tokens=1))[0]
    assert (cut.finish_reason, cut.usage.completion_tokens) == ("length", 1)


def test_the_oldest_turns_give_way_and_the_script_and_newest_stay(chat: LocalChat) -> None:
    script = Message(role="system", content="SCRIPT")
    turns = [
        Message(role=("user", "assistant")[i % 2], content=f"turn {i} " + "how much? " * 8)
        for i in range(21)
    ]
    limit = chat.window - GREEDY.max_tokens
    ids = chat._prompt([script, *turns], limit)
    assert limit - 60 < len(ids) <= limit
    text = chat.tokenizer.decode(ids)
    assert text.startswith("<|im_start|>system\nSCRIPT<|im_end|>")
    kept = [i for i in range(21) if f"turn {i} " in text]
    assert kept == list(range(kept[0], 21))
    assert kept[0] > 0


def test_a_peft_adapter_folder(checkpoint: Path, tmp_path: Path, chat: LocalChat) -> None:
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM

    torch.manual_seed(0)
    base = AutoModelForCausalLM.from_pretrained(checkpoint)
    lora = LoraConfig(r=4, target_modules=["q_proj", "v_proj"], init_lora_weights=False)
    get_peft_model(base, lora).save_pretrained(tmp_path)
    chat.tokenizer.save_pretrained(tmp_path)
    adapted = LocalChat(tmp_path, device="cpu")
    assert len(adapted.generate(BATCH, GREEDY)) == len(BATCH)
    assert adapted.generate(BATCH, GREEDY) != chat.generate(BATCH, GREEDY)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("adapter_config.json", "{", "adapter_config.json cannot be read"),
        ("adapter_config.json", '{"peft_type": "FOO"}', "adapter_config.json cannot be read"),
        ("adapter_config.json", '{"peft_type": "LORA"}', "names no base model"),
        ("model.safetensors", "", "model.safetensors: not whole"),
    ],
)
def test_a_checkpoint_that_is_not_whole(
    checkpoint: Path, tmp_path: Path, name: str, text: str, message: str
) -> None:
    shutil.copytree(checkpoint, tmp_path, dirs_exist_ok=True)
    (tmp_path / "adapter_model.safetensors").touch()
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match=message):
        LocalChat.check(tmp_path)


@pytest.mark.parametrize(
    ("attribute", "message"),
    [("chat_template", "no chat template"), ("pad_token", "no pad token")],
)
def test_a_tokenizer_that_cannot_serve(
    checkpoint: Path, tmp_path: Path, attribute: str, message: str
) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    setattr(tokenizer, attribute, None)
    tokenizer.save_pretrained(tmp_path)
    with pytest.raises(InputError, match=message):
        LocalChat(tmp_path)


def test_no_model_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="cannot load the tokenizer"):
        LocalChat(tmp_path)
    monkeypatch.chdir(tmp_path.parent)
    with pytest.raises(InputError, match="no such folder"):  # though it looks like a Hub id
        LocalChat(f"{tmp_path.name}/absent")


def test_log_likelihood_is_the_models_own_whatever_the_batch(chat: LocalChat) -> None:
    texts = [f"ok {i} bye" + " kettle" * i for i in range(len(BATCH))]
    scores = chat.log_likelihood(BATCH, texts)
    for messages, text, score in zip(BATCH, texts, scores, strict=True):
        prompt = chat.tokenizer.apply_chat_template(messages, add_generation_prompt=True)[
            "input_ids"
        ]
        row = torch.tensor([[*prompt, *chat.tokenizer.encode(text), chat.tokenizer.eos_token_id]])
        labels = row.clone()
        labels[:, : len(prompt)] = -100
        with torch.no_grad():
            assert score == pytest.approx(-float(chat.model(row, labels=labels).loss), abs=1e-4)
