"""An OpenAI-compatible chat endpoint over aiohttp."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import Sequence
from typing import Any

import aiohttp

from salesllm.chat.base import Reply, Sampling, Usage
from salesllm.dialogue import Message
from salesllm.errors import InputError
from salesllm.scenario import Scenario


class EndpointError(Exception):
    """The endpoint gave no usable answer: an infrastructure failure, never a score."""


class EndpointChat:
    """A model behind `POST {base_url}/chat/completions`.

    Args:
        api_key_env: Name of the environment variable that holds the key; None sends none.
        timeout_s: Seconds for one call, its answer included.
        max_attempts: Calls made before giving up. Only what is safe to repeat is repeated: 429,
            5xx, time-outs, cut connections and answers that are not the protocol's JSON.
        concurrency: Calls in flight at once.

    Raises:
        InputError: The environment variable is not set.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        name: str | None = None,
        api_key_env: str | None = None,
        timeout_s: float = 120.0,
        max_attempts: int = 6,
        concurrency: int = 16,
        backoff_s: float = 1.0,
    ) -> None:
        self.name = name or model
        self.model, self.url = model, base_url.rstrip("/") + "/chat/completions"
        self.timeout_s, self.max_attempts, self.backoff_s = timeout_s, max_attempts, backoff_s
        self._concurrency = concurrency
        self._headers: dict[str, str] = {}
        if api_key_env is not None:
            key = os.environ.get(api_key_env)
            if not key:
                fix = f"export {api_key_env}=..."
                raise InputError(f"{api_key_env} is not set", field="api_key_env", fix=fix)
            self._headers["Authorization"] = f"Bearer {key}"
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._slots = asyncio.Semaphore(concurrency)

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, scenario: Scenario | None = None
    ) -> Reply:
        """Says the next message; raises `EndpointError` when every attempt failed."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": list(messages),
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
        }
        if sampling.seed is not None:
            body["seed"] = sampling.seed
        session = self._open()
        last = ""
        for attempt in range(self.max_attempts):
            wait = self.backoff_s * 2**attempt * random.uniform(0.5, 1.0)
            try:
                async with self._slots, session.post(self.url, json=body) as response:
                    if response.status == 200:
                        return _reply(await response.json(content_type=None))
                    last = f"HTTP {response.status}: {(await response.text())[:200]}"
                    if response.status != 429 and response.status < 500:
                        raise EndpointError(f"{self.name}: {last}")
                    after = response.headers.get("Retry-After", "")
                    wait = float(after) if after.replace(".", "", 1).isdigit() else wait
            except (aiohttp.ClientError, TimeoutError, ValueError, KeyError, TypeError) as error:
                last = f"{type(error).__name__}: {error}"[:200]
            if attempt + 1 < self.max_attempts:
                await asyncio.sleep(wait)
        raise EndpointError(f"{self.name}: gave up after {self.max_attempts} calls: {last}")

    def _open(self) -> aiohttp.ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            timeout = aiohttp.ClientTimeout(total=self.timeout_s)
            connector = aiohttp.TCPConnector(limit=0)
            self._session = aiohttp.ClientSession(
                headers=self._headers, timeout=timeout, connector=connector
            )
            self._loop, self._slots = loop, asyncio.Semaphore(self._concurrency)
        return self._session

    async def close(self) -> None:
        """Closes the connections; the chat may be used again afterwards."""
        if self._session is not None:
            await self._session.close()
            self._session = None


def _reply(answer: Any) -> Reply:
    choice = answer["choices"][0]
    usage = answer.get("usage") or {}
    return Reply(
        text=choice["message"]["content"] or "",
        usage=Usage(usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)),
        finish_reason=choice.get("finish_reason") or "stop",
    )
