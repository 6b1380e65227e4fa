"""A local transformers checkpoint, batched across whatever conversations are waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from salesllm.chat.base import Reply, Sampling, Usage
from salesllm.dialogue import Message
from salesllm.errors import InputError
from salesllm.scenario import Scenario


class LocalChat:
    """A causal language model folder: full weights or a PEFT adapter, in safetensors.

    The checkpoint's own chat template renders the conversation, and its own end-of-turn token
    stops the reply. A seed in `Sampling` is set once a batch: a run whose conversations arrive in
    the same order is repeated exactly; one conversation alone, among others, is not.

    Raises:
        InputError: The folder cannot be loaded, or has no chat template or pad token.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        name: str | None = None,
        device: str | None = None,
        dtype: str = "auto",
        max_batch: int = 32,
    ) -> None:
        self.name = name or str(path)
        self.max_batch = max_batch
        try:
            self.tokenizer = AutoTokenizer.from_pretrained(path, padding_side="left")
            self.model = self._load(str(path), dtype)
        except (OSError, ValueError) as error:
            problem = f"cannot load the model: {str(error).strip().splitlines()[0].rstrip('.')}"
            raise InputError(problem, path=path, fix="Name a checkpoint folder") from None
        for what, value in (
            ("chat template", self.tokenizer.chat_template),
            ("pad token", self.tokenizer.pad_token_id),
        ):
            if value is None:
                raise InputError(f"the tokenizer has no {what}", path=path,
                                 fix="Name an output of train/sft.py or train/dpo.py")  # fmt: skip
        device = device or ("cuda" if torch.cuda.is_available() else "cpu")
        self.model.to(device).eval()
        self._queue: asyncio.Queue[Any] | None = None
        self._worker: asyncio.Task[None] | None = None

    @staticmethod
    def _load(path: str, dtype: str) -> Any:
        if (Path(path) / "adapter_config.json").is_file():
            from peft import AutoPeftModelForCausalLM

            return AutoPeftModelForCausalLM.from_pretrained(path, dtype=dtype)
        return AutoModelForCausalLM.from_pretrained(path, dtype=dtype, use_safetensors=True)

    def generate(self, batch: Sequence[Sequence[Message]], sampling: Sampling) -> list[Reply]:
        """One reply to each conversation, in the order given; alike lengths share a batch."""
        prompts = [self._fit(list(messages), sampling.max_tokens) for messages in batch]
        order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
        replies: dict[int, Reply] = {}
        for start in range(0, len(order), self.max_batch):
            chunk = order[start : start + self.max_batch]
            for i, reply in zip(
                chunk, self._generate([prompts[i] for i in chunk], sampling), strict=True
            ):
                replies[i] = reply
        return [replies[i] for i in range(len(prompts))]

    def _fit(self, messages: list[Message], max_tokens: int) -> list[int]:
        """Prompt ids that leave room for the reply; whole old turns go first, the script never."""
        room = self.model.config.max_position_embeddings - max_tokens
        first = 1 if messages and messages[0]["role"] == "system" else 0
        ids = self._render(messages)
        while len(ids) > room and len(messages) > first + 1:
            del messages[first]
            ids = self._render(messages)
        if len(ids) > room:
            raise InputError(
                f"a prompt of {len(ids)} tokens and a reply of {max_tokens} exceed the model's "
                f"{self.model.config.max_position_embeddings} positions",
                field="max_tokens",
                fix="Lower max_tokens or shorten the script",
            )
        return ids

    def _render(self, messages: Sequence[Message]) -> list[int]:
        encoded = self.tokenizer.apply_chat_template(
            list(messages), add_generation_prompt=True, return_dict=True
        )
        return list(encoded["input_ids"])

    @torch.inference_mode()
    def _generate(self, prompts: list[list[int]], sampling: Sampling) -> list[Reply]:
        if sampling.seed is not None:
            torch.manual_seed(sampling.seed)
        batch = self.tokenizer.pad({"input_ids": prompts}, return_tensors="pt")
        batch = batch.to(self.model.device)
        options: dict[str, Any] = {"do_sample": False}
        if sampling.temperature > 0:
            options = {
                "do_sample": True,
                "temperature": sampling.temperature,
                "top_p": sampling.top_p,
                "top_k": 0,
            }
        output = self.model.generate(
            input_ids=batch["input_ids"],
            attention_mask=batch["attention_mask"],
            max_new_tokens=sampling.max_tokens,
            pad_token_id=self.tokenizer.pad_token_id,
            eos_token_id=self._stops(),
            **options,
        )
        stops = set(self._stops())
        replies = []
        for prompt, row in zip(prompts, output[:, batch["input_ids"].shape[1] :], strict=True):
            tokens = row.tolist()
            end = next((i for i, token in enumerate(tokens) if token in stops), None)
            tokens = tokens if end is None else tokens[:end]
            text = self.tokenizer.decode(tokens, skip_special_tokens=True)
            usage = Usage(len(prompt), len(tokens))
            replies.append(Reply(text, usage, "length" if end is None else "stop"))
        return replies

    def _stops(self) -> list[int]:
        stops = self.model.generation_config.eos_token_id
        stops = self.tokenizer.eos_token_id if stops is None else stops
        return stops if isinstance(stops, list) else [stops]

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, scenario: Scenario | None = None
    ) -> Reply:
        """Says the next message, in one batch with whoever else is waiting."""
        loop = asyncio.get_running_loop()
        if self._worker is None or self._worker.done() or self._worker.get_loop() is not loop:
            self._queue = asyncio.Queue()
            self._worker = loop.create_task(self._work(self._queue))
        future: asyncio.Future[Reply] = loop.create_future()
        assert self._queue is not None
        await self._queue.put((list(messages), sampling, future))
        return await future

    async def _work(self, queue: asyncio.Queue[Any]) -> None:
        while True:
            waiting = [await queue.get()]
            await asyncio.sleep(0.005)  # conversations move in step: let the others arrive
            while not queue.empty():
                waiting.append(queue.get_nowait())
            for sampling in dict.fromkeys(item[1] for item in waiting):
                group = [item for item in waiting if item[1] == sampling]
                conversations = [item[0] for item in group]
                try:
                    replies = await asyncio.to_thread(self.generate, conversations, sampling)
                except Exception as error:
                    for *_, future in group:
                        if not future.done():
                            future.set_exception(error)
                    continue
                for (*_, future), reply in zip(group, replies, strict=True):
                    if not future.done():
                        future.set_result(reply)
