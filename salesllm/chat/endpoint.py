"""An OpenAI-compatible endpoint as a speaker: vLLM, a provider's API, anything that talks alike."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import random
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import aiohttp

from salesllm.chat.base import Reply, Sampling, Usage
from salesllm.dialogue import Message
from salesllm.errors import InputError
from salesllm.scenario import Scenario


class EndpointError(Exception):
    """The endpoint gave no reply. An infrastructure failure: counted, and never a score."""


class _Retryable(Exception):
    """A failed attempt that may succeed later.

    Args:
        wait: Seconds that the server asked us to wait.
    """

    def __init__(self, problem: str, wait: float = 0.0) -> None:
        super().__init__(problem)
        self.wait = wait


class EndpointChat:
    """A model behind `POST {base_url}/chat/completions`.

    Rate limits (429, with `Retry-After` honoured), server errors, time-outs, cut connections and
    unreadable answers are tried again with exponential back-off; any other refusal is final.

    Args:
        model: Its name at the endpoint.
        base_url: Up to and including the version, e.g. `http://localhost:8000/v1`.
        api_key_env: Environment variable that holds the key; the key is read from nowhere else.
        name: What tables call it; the model's name by default.
        concurrency: Calls in flight at once. A call that waits to be tried again is not in flight.
        timeout: Seconds for one attempt.
        retries: Attempts after the first.
        backoff: Seconds before the first retry; it doubles each time, up to `max_wait`.
        max_wait: Seconds; a server that asks for a longer wait than this is given up.

    Raises:
        InputError: The environment variable is not set.
    """

    def __init__(
        self,
        model: str,
        base_url: str,
        api_key_env: str | None = None,
        *,
        name: str | None = None,
        concurrency: int = 64,
        timeout: float = 300.0,
        retries: int = 6,
        backoff: float = 1.0,
        max_wait: float = 120.0,
    ) -> None:
        self.model, self.name = model, name or model
        self.url = f"{base_url.rstrip('/')}/chat/completions"
        self.concurrency, self.timeout = concurrency, timeout
        self.retries, self.backoff, self.max_wait = retries, backoff, max_wait
        self._key = _key(api_key_env)
        self._loop: asyncio.AbstractEventLoop | None = None

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, scenario: Scenario | None = None
    ) -> Reply:
        """Says the next message.

        Raises:
            EndpointError: The endpoint refused, or every attempt failed.
        """
        await self._bind()
        body: dict[str, Any] = {
            "model": self.model,
            "messages": list(messages),
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            "max_tokens": sampling.max_tokens,
        }
        if sampling.seed is not None:
            body["seed"] = _seed(sampling.seed, messages)
        if sampling.schema is not None:
            schema = {"name": "reply", "strict": True, "schema": sampling.schema}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        for attempt in range(self.retries + 1):
            try:
                async with self._slots:
                    return await self._attempt(body)
            except _Retryable as failure:
                if attempt == self.retries or failure.wait > self.max_wait:
                    tries = "1 attempt" if attempt == 0 else f"{attempt + 1} attempts"
                    raise self._error(f"{failure}, after {tries}") from None
                # Jitter keeps callers that failed together from coming back together.
                pause = min(self.backoff * 2**attempt, self.max_wait) * random.uniform(0.5, 1.0)
                await asyncio.sleep(max(pause, failure.wait))
        raise AssertionError("unreachable: the last attempt returns or raises")

    async def _bind(self) -> None:
        """Opens a session on the running loop, which closes it when the loop ends."""
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        self._loop = loop
        self._slots = asyncio.Semaphore(self.concurrency)
        self._scope = self._open()
        await anext(self._scope)

    async def _open(self) -> AsyncGenerator[None, None]:
        # A loop finishes the async generators begun on it (`shutdown_asyncgens`), so nobody who
        # is handed a Chat has to close it.
        headers = {"Authorization": f"Bearer {self._key}"} if self._key else {}
        async with aiohttp.ClientSession(
            headers=headers,
            timeout=aiohttp.ClientTimeout(total=self.timeout),
            connector=aiohttp.TCPConnector(limit=self.concurrency),
        ) as self._session:
            yield

    async def _attempt(self, body: Mapping[str, Any]) -> Reply:
        try:
            # A redirect could carry the key to another host, and turns POST into GET.
            async with self._session.post(self.url, json=body, allow_redirects=False) as response:
                text = await response.text(errors="replace")
                status, headers = response.status, response.headers
        except TimeoutError:
            raise _Retryable(f"no answer within {self.timeout:g} s") from None
        except aiohttp.ClientError as error:
            raise _Retryable(f"the connection failed ({type(error).__name__}: {error})") from None
        if status == 429 or status >= 500:
            wait = _retry_after(headers.get("Retry-After"))
            raise _Retryable(f"status {status}: {_server_message(text)}", wait)
        if status != 200:
            raise self._error(f"status {status}: {_server_message(text)}")
        try:
            return _parse(text)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            raise _Retryable(f"the answer is no chat completion: {text[:200]!r}") from None

    def _error(self, problem: str) -> EndpointError:
        # A server may echo the key it was sent.
        message = f"{self.name} at {self.url}: {problem}"
        return EndpointError(message.replace(self._key, "***") if self._key else message)


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        problem = f"the environment variable {variable} is not set"
        raise InputError(problem, field="api_key_env", fix="Set it to the endpoint's key")
    return key


def _seed(seed: int, messages: Sequence[Message]) -> int:
    """31 bits that depend on the prompt too, as every speaker's draws do.

    Under one seed a server draws the same random numbers for every request: each reply of a
    dialogue would begin at the same quantile of its distribution.
    """
    text = json.dumps([seed, *messages])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest()) >> 1


def _parse(text: str) -> Reply:
    value = json.loads(text)
    choice = value["choices"][0]
    content = choice["message"].get("content") or ""
    if not isinstance(content, str):
        raise TypeError("content is no text")
    content.encode()  # raises ValueError on half of a surrogate pair, which no file can hold
    usage = value.get("usage") or {}
    return Reply(
        content,
        Usage(int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)),
        choice.get("finish_reason") or "stop",
    )


def _server_message(text: str) -> str:
    """What the server says went wrong, on one line."""
    try:
        error = json.loads(text)["error"]
        text = error["message"] if isinstance(error, dict) else str(error)
    except (ValueError, TypeError, KeyError):
        pass
    return " ".join(text.split())[:500] or "no message"


def _retry_after(value: str | None) -> float:
    """Seconds of a `Retry-After` header, which is a number or an HTTP date; 0 without one."""
    if not value:
        return 0.0
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())
