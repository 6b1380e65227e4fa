"""A checkpoint on this machine as a speaker, batched across the dialogues that wait for it."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    LogitsProcessor,
    LogitsProcessorList,
)
from transformers.utils import logging

from salesllm.chat.base import Reply, Sampling, Usage
from salesllm.dialogue import Message
from salesllm.errors import InputError, cannot_load
from salesllm.files import require_model
from salesllm.scenario import Scenario

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

_GATHER_SECONDS = 0.002
"""How long a batch waits for more callers: nothing beside a forward pass."""


@dataclass
class _Waiting:
    messages: Sequence[Message]
    sampling: Sampling
    reply: asyncio.Future[Reply]


class LocalChat:
    """A transformers checkpoint or PEFT adapter folder that answers with its own chat template.

    Temperature 0 is greedy. Otherwise every reply is drawn from random numbers that follow from
    `(sampling.seed, prompt)` alone, so a reply does not depend on which conversations share its
    batch or on the order of calls, up to the rounding of the forward pass, which varies a little
    with the batch's shape. Without a seed every call draws anew.

    Args:
        path: A folder (safetensors) with its tokenizer, or the id of a model on the Hub.
        device: None takes a GPU where there is one.
        dtype: `auto`, or the name of a torch dtype.
        max_batch: Conversations in one batch.
        name: What tables call it; the path by default.

    Raises:
        InputError: It cannot be loaded, or has no chat template or pad token.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        device: str | None = None,
        dtype: str = "auto",
        max_batch: int = 32,
        name: str | None = None,
    ) -> None:
        self.name = name or str(path)
        self.device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.max_batch = max_batch
        logging.disable_progress_bar()  # leaves the progress display to ours
        self.tokenizer = _load_tokenizer(path)
        self.model = _load_model(path, dtype).to(self.device).eval()
        self.window: int = self.model.config.get_text_config().max_position_embeddings
        stops = self.model.generation_config.eos_token_id
        stops = stops if isinstance(stops, list) else [stops]
        stops = {stop for stop in (*stops, self.tokenizer.eos_token_id) if stop is not None}
        self._stops: list[int] = sorted(stops)
        # generate() fills whatever a caller leaves open from here: a checkpoint's own sampling
        # habits (top-k, repetition penalty) must not come back that way.
        self.model.generation_config = GenerationConfig(
            eos_token_id=self._stops, pad_token_id=self.tokenizer.pad_token_id
        )
        self._queue: list[_Waiting] = []
        self._worker: asyncio.Task[None] | None = None

    @staticmethod
    def check(path: str | Path) -> None:
        """Finds what would stop a checkpoint from being opened, without reading its weights.

        Raises:
            InputError: It is not there or not whole, or has no chat template or pad token.
        """
        _load_tokenizer(path)
        base, _ = _base_of(path)
        try:
            AutoConfig.from_pretrained(base, trust_remote_code=False)
        except (OSError, ValueError) as error:
            raise cannot_load("model", base, error) from None
        weights = [*Path(base).glob("*.safetensors"), *Path(path).glob("adapter*.safetensors")]
        if Path(base).is_dir() and not weights:
            fix = "Give the folder of a finished training, or save the model as safetensors"
            raise InputError("there are no weights in safetensors", path=base, fix=fix)
        for file in weights:
            try:
                with safe_open(file, "pt"):  # reads the header only
                    pass
            except SafetensorError as error:
                fix = "Copy or save the checkpoint again"
                raise InputError(f"not whole: {error}", path=file, fix=fix) from None

    def generate(self, batch: Sequence[Sequence[Message]], sampling: Sampling) -> list[Reply]:
        """Says the next message of each conversation.

        A conversation that does not fit the model's window loses its oldest messages after the
        script. The reply's share of the window is `max_tokens`, or half the window if that is less.

        Returns:
            Replies in the order given; `finish_reason` is `length` where `max_tokens` was hit.

        Raises:
            ValueError: A script and the newest message alone are too long for the window.
        """
        return self._generate(batch, sampling, [sampling.seed] * len(batch))

    def log_likelihood(
        self, conversations: Sequence[Sequence[Message]], replies: Sequence[str]
    ) -> list[float]:
        """Mean log-probability of a token of each reply, its end-of-turn token included."""
        stop = [self.tokenizer.eos_token_id]
        answers = [self.tokenizer.encode(text, add_special_tokens=False) + stop for text in replies]
        scores: list[float] = []
        for start in range(0, len(answers), self.max_batch):
            chunk = range(start, min(start + self.max_batch, len(answers)))
            prompts = [self._prompt(conversations[i], self.window - len(answers[i])) for i in chunk]
            rows = [[*prompt, *answers[i]] for prompt, i in zip(prompts, chunk, strict=True)]
            width = max(map(len, rows))
            pad = self.tokenizer.pad_token_id
            ids = torch.tensor([row + [pad] * (width - len(row)) for row in rows])
            mask = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in rows])
            with torch.inference_mode():
                logits = self.model(
                    input_ids=ids.to(self.device), attention_mask=mask.to(self.device)
                ).logits
            for line, prompt, row in zip(logits, prompts, rows, strict=True):
                told = line[len(prompt) - 1 : len(row) - 1].float().log_softmax(-1).cpu()
                said = torch.tensor(row[len(prompt) :])
                scores.append(float(told.gather(-1, said[:, None]).mean()))
        return scores

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, scenario: Scenario | None = None
    ) -> Reply:
        """Says the next message; concurrent callers share batches."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(messages, sampling, loop.create_future())
        if self._worker is None or self._worker.done():
            self._queue = []
            self._worker = loop.create_task(self._work())
        self._queue.append(waiting)
        return await waiting.reply

    async def _work(self) -> None:
        """Serves whoever waits, a batch at a time, until nobody does."""
        await asyncio.sleep(_GATHER_SECONDS)
        while self._queue:
            await self._answer(self._take())
            await asyncio.sleep(_GATHER_SECONDS)

    async def _answer(self, batch: Sequence[_Waiting]) -> None:
        settings = replace(batch[0].sampling, seed=None)
        conversations = [waiting.messages for waiting in batch]
        seeds = [waiting.sampling.seed for waiting in batch]
        try:
            replies = await asyncio.to_thread(self._generate, conversations, settings, seeds)
        except Exception as error:
            if len(batch) > 1:  # one that is too long, or all of them for the memory
                for waiting in batch:
                    await self._answer([waiting])
            elif not batch[0].reply.done():
                batch[0].reply.set_exception(error)
        else:
            for waiting, reply in zip(batch, replies, strict=True):
                if not waiting.reply.done():
                    waiting.reply.set_result(reply)

    def _take(self) -> list[_Waiting]:
        """The longest-waiting caller, and those behind it that want the same but for the seed."""
        settings = replace(self._queue[0].sampling, seed=None)
        alike = [w for w in self._queue if replace(w.sampling, seed=None) == settings]
        batch = alike[: self.max_batch]
        taken = {id(waiting) for waiting in batch}
        self._queue = [waiting for waiting in self._queue if id(waiting) not in taken]
        return batch

    def _generate(
        self,
        conversations: Sequence[Sequence[Message]],
        sampling: Sampling,
        seeds: Sequence[int | None],
    ) -> list[Reply]:
        new_tokens = min(sampling.max_tokens, self.window // 2)
        prompts = [self._prompt(c, self.window - new_tokens) for c in conversations]
        # Alike in length, a batch has little padding; longest first, memory runs out early.
        order = sorted(range(len(prompts)), key=lambda i: -len(prompts[i]))
        replies: dict[int, Reply] = {}
        for start in range(0, len(order), self.max_batch):
            rows = order[start : start + self.max_batch]
            draw = None
            if sampling.temperature > 0:
                keys = [_key(seeds[i], prompts[i]) for i in rows]
                draw = _SeededDraw(sampling.temperature, sampling.top_p, keys)
            answers = self._forward([prompts[i] for i in rows], new_tokens, draw)
            replies.update(zip(rows, answers, strict=True))
        return [replies[i] for i in range(len(prompts))]

    def _prompt(self, messages: Sequence[Message], limit: int) -> list[int]:
        """Token ids with the next message opened, at most `limit` of them."""
        kept = list(messages)
        first = 1 if kept and kept[0]["role"] == "system" else 0
        while True:
            encoded = self.tokenizer.apply_chat_template(
                kept, add_generation_prompt=True, return_dict=True
            )
            ids = list(encoded["input_ids"])
            if len(ids) <= limit:
                return ids
            if len(kept) <= first + 1:
                raise ValueError(
                    f"the script and the newest message alone take {len(ids)} tokens, and the "
                    f"window of {self.name} leaves {limit} for them"
                )
            del kept[first]

    def _forward(
        self, prompts: Sequence[Sequence[int]], new_tokens: int, draw: _SeededDraw | None
    ) -> list[Reply]:
        width = max(map(len, prompts))
        ids = torch.full((len(prompts), width), self.tokenizer.pad_token_id)
        mask = torch.zeros_like(ids)
        for row, prompt in enumerate(prompts):
            ids[row, width - len(prompt) :] = torch.tensor(prompt)
            mask[row, width - len(prompt) :] = 1
        with torch.inference_mode():
            output = self.model.generate(
                input_ids=ids.to(self.device),
                attention_mask=mask.to(self.device),
                max_new_tokens=new_tokens,
                do_sample=False,
                logits_processor=LogitsProcessorList([draw] if draw else []),
            )
        completions = output[:, width:].tolist()
        return [self._reply(*pair) for pair in zip(prompts, completions, strict=True)]

    def _reply(self, prompt: Sequence[int], completion: list[int]) -> Reply:
        stop = next((i for i, token in enumerate(completion) if token in self._stops), None)
        if stop is not None:
            completion = completion[: stop + 1]
        text = self.tokenizer.decode(completion, skip_special_tokens=True)
        reason = "length" if stop is None else "stop"
        return Reply(text, Usage(len(prompt), len(completion)), reason)


class _SeededDraw(LogitsProcessor):
    """Nucleus sampling with a random stream a row, which `generate` itself has not.

    It leaves the drawn token as the only possible one, for the greedy choice that follows.
    """

    def __init__(self, temperature: float, top_p: float, keys: Sequence[int]) -> None:
        self.temperature, self.top_p = temperature, top_p
        self.streams = [np.random.default_rng(key) for key in keys]

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Shapes (rows, tokens so far) and (rows, vocabulary); returns the latter."""
        probabilities = (scores.float() / self.temperature).softmax(dim=-1)
        probabilities, tokens = probabilities.sort(dim=-1, descending=True)
        cumulative = probabilities.cumsum(dim=-1)
        # The nucleus is the fewest likeliest tokens whose mass reaches top_p.
        nucleus = ((cumulative - probabilities) < self.top_p).sum(dim=-1, keepdim=True)
        uniform = torch.tensor([stream.random() for stream in self.streams], dtype=torch.float32)
        point = uniform[:, None].to(scores.device) * cumulative.gather(-1, nucleus - 1)
        place = torch.minimum((cumulative <= point).sum(dim=-1, keepdim=True), nucleus - 1)
        drawn = tokens.gather(-1, place)
        return torch.full_like(scores, -torch.inf).scatter(-1, drawn, 0.0)


def _key(seed: int | None, prompt: Sequence[int]) -> int:
    """Seed of one reply's random stream."""
    if seed is None:
        return secrets.randbits(64)
    text = f"{seed}:{','.join(map(str, prompt))}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())


def _load_tokenizer(path: str | Path) -> PreTrainedTokenizerBase:
    require_model(path)
    try:
        tokenizer = AutoTokenizer.from_pretrained(path, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise cannot_load("tokenizer", path, error) from None
    if tokenizer.chat_template is None:
        fix = "Take an instruction-tuned model, or a checkpoint of train/sft.py"
        raise InputError("the tokenizer has no chat template", path=path, fix=fix)
    if tokenizer.pad_token_id is None:
        fix = "Set pad_token in its tokenizer_config.json to a spare token"
        raise InputError("the tokenizer has no pad token", path=path, fix=fix)
    return tokenizer


def _base_of(path: str | Path) -> tuple[str, bool]:
    """Whose weights to load, and whether `path` is an adapter to put on them."""
    if not (Path(path) / "adapter_config.json").is_file():
        return str(path), False
    from peft import PeftConfig

    if not (Path(path) / "adapter_model.safetensors").is_file():
        raise InputError("there is no adapter_model.safetensors", path=path)
    fix = "Copy or save the adapter again"
    try:
        base = PeftConfig.from_pretrained(str(path)).base_model_name_or_path
    except (ValueError, KeyError, TypeError) as error:
        problem = f"adapter_config.json cannot be read: {error}"
        raise InputError(problem, path=path, fix=fix) from None
    if not base:
        raise InputError("adapter_config.json names no base model", path=path, fix=fix)
    return str(base), True


def _load_model(path: str | Path, dtype: str) -> PreTrainedModel:
    base, is_adapter = _base_of(path)
    options: dict[str, Any] = {
        "dtype": dtype,
        "use_safetensors": True,
        "trust_remote_code": False,
    }
    try:
        model = AutoModelForCausalLM.from_pretrained(base, **options)
    except (OSError, ValueError) as error:
        raise cannot_load("model", base, error) from None
    if is_adapter:
        from peft import PeftModel

        # Merged, it answers at the base's speed: beside the weights, an adapter doubles the calls.
        model = PeftModel.from_pretrained(model, str(path)).merge_and_unload()
    return model
