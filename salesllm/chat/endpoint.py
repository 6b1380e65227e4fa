"""An OpenAI-compatible endpoint as a speaker: vLLM, a provider's API, anything that talks alike."""

from __future__ import annotations

import asyncio
import os
import random
from collections.abc import AsyncGenerator, Sequence
from typing import ClassVar, Literal
from weakref import WeakValueDictionary

import aiohttp

from salesllm.chat.base import Reply, Sampling
from salesllm.chat.limits import Address, Call, Limits, Pool
from salesllm.chat.wire import Quirks, parse_reply, request_body, retry_after, server_message
from salesllm.dialogue import Message
from salesllm.errors import InputError
from salesllm.scenario import Scenario

_BYTES_PER_TOKEN = 4
"""Of a request: right for English, and for Chinese, whose characters are of three bytes each."""

_TRANSIENT = (408, 409, 425)
_OUT_OF_MONEY = b"insufficient_quota"
"""OpenAI says so with a 429, though no waiting helps."""

_CONNECT_SECONDS = 30.0


class EndpointError(Exception):
    """The endpoint gave no reply. An infrastructure failure: counted, and never a score."""


class _Failure(Exception):
    """A failed attempt.

    Args:
        kind: `busy`: asked too much. `broken`: may well work later, or elsewhere. `refused`: this
            address will never answer this.
        wait: Seconds that the server asked us to wait.
    """

    def __init__(
        self, problem: str, kind: Literal["busy", "broken", "refused"], wait: float = 0.0
    ) -> None:
        super().__init__(problem)
        self.kind, self.wait = kind, wait


class _Server:
    """A model at its addresses under one key: the limits and connections of all who speak to it."""

    _in_use: ClassVar[WeakValueDictionary[tuple[str | None, ...], _Server]] = WeakValueDictionary()

    def __init__(self, urls: Sequence[str], key: str | None, limits: Limits) -> None:
        self.pool, self.key = Pool(urls, limits), key
        self._loop: asyncio.AbstractEventLoop | None = None

    @classmethod
    def of(
        cls, model: str, base_urls: Sequence[str], key_variable: str | None, limits: Limits
    ) -> _Server:
        """The one that is in use, if any; whose limits differ, the tighter hold for all."""
        urls = [f"{base.rstrip('/')}/chat/completions" for base in base_urls]
        secret = _key(key_variable)
        server = cls._in_use.get(identity := (model, *urls, secret))
        if server is None:
            server = cls._in_use[identity] = cls(urls, secret, limits)
        server.pool.tighten(limits)
        return server

    async def bind(self) -> None:
        """Opens a session on the running loop, which closes it when the loop ends."""
        loop = asyncio.get_running_loop()
        if self._loop is loop:
            return
        self._loop = loop
        self._scope = self._open()
        await anext(self._scope)

    async def _open(self) -> AsyncGenerator[None, None]:
        # A loop finishes the async generators begun on it (`shutdown_asyncgens`), so nobody who
        # is handed a Chat has to close it.
        headers = {"Content-Type": "application/json"}
        if self.key:
            headers["Authorization"] = f"Bearer {self.key}"
        async with aiohttp.ClientSession(
            headers=headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            # The pool limits the calls. uvicorn, which vLLM serves with, drops connections that
            # have been idle for 5 seconds: ours go first, lest a request meets the drop.
            connector=aiohttp.TCPConnector(limit=0, ttl_dns_cache=300, keepalive_timeout=4),
        ) as self._session:
            yield

    async def post(self, url: str, body: bytes, timeout: float) -> Reply:
        """One request.

        Raises:
            _Failure: It brought no reply.
        """
        patience = aiohttp.ClientTimeout(timeout, sock_connect=min(timeout, _CONNECT_SECONDS))
        try:
            # A redirect could carry the key to another host, and turns POST into GET.
            async with self._session.post(
                url, data=body, allow_redirects=False, timeout=patience
            ) as response:
                answer = await response.read()
                status, headers = response.status, response.headers
        except aiohttp.ConnectionTimeoutError:
            problem = f"no connection within {patience.sock_connect:g} s"
            raise _Failure(problem, "broken") from None
        except TimeoutError:
            raise _Failure(f"no answer within {timeout:g} s", "broken") from None
        except aiohttp.ClientError as error:
            problem = f"the connection failed ({type(error).__name__}: {error})"
            raise _Failure(problem, "broken") from None
        if status != 200:
            problem = f"status {status}: {server_message(answer)}"
            wait = retry_after(headers.get("Retry-After"))
            if (status == 429 and _OUT_OF_MONEY not in answer) or (wait and status >= 500):
                raise _Failure(problem, "busy", wait)
            passing = status in _TRANSIENT or status >= 500
            raise _Failure(problem, "broken" if passing else "refused")
        try:
            return parse_reply(answer)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            start = answer[:200].decode(errors="replace")
            raise _Failure(f"the answer is no chat completion: {start!r}", "broken") from None


class EndpointChat:
    """A model behind `POST {base_url}/chat/completions`, at one address or at several.

    Rate limits (429, with `Retry-After` honoured by all callers), server errors, time-outs, cut
    connections and unreadable answers are tried again, at another address first if there is one,
    else with exponential back-off; any other refusal is final. A completion changes nothing at the
    server, so that asking again is safe: at worst an answer that got lost is paid for.

    Args:
        model: Its name at the endpoint.
        base_url: Up to and including the version, e.g. `http://localhost:8000/v1`. Several share
            the load; one that fails is left alone for a while, and a call fails when all do.
        api_key_env: Environment variable that holds the key; the key is read from nowhere else.
        name: What tables call it; the model's name by default.
        limits: Of each address, in common with whoever else speaks to this model there.
        timeout: Seconds for one attempt.
        retries: Attempts at each address after the first.
        backoff: Seconds before the first retry; it doubles each time, up to `max_wait`.
        max_wait: Seconds; a server that asks for a longer wait than this is given up.

    Raises:
        InputError: The environment variable is not set.
    """

    def __init__(
        self,
        model: str,
        base_url: str | Sequence[str],
        api_key_env: str | None = None,
        *,
        name: str | None = None,
        limits: Limits | None = None,
        quirks: Quirks | None = None,
        timeout: float = 300.0,
        retries: int = 6,
        backoff: float = 1.0,
        max_wait: float = 120.0,
    ) -> None:
        self.model, self.name, self.quirks = model, name or model, quirks or Quirks()
        self.timeout, self.retries = timeout, retries
        self.backoff, self.max_wait = backoff, max_wait
        urls = [base_url] if isinstance(base_url, str) else base_url
        self._server = _Server.of(model, urls, api_key_env, limits or Limits())

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, scenario: Scenario | None = None
    ) -> Reply:
        """Says the next message.

        Raises:
            EndpointError: Every address refused, or every attempt failed.
        """
        await self._server.bind()
        pool = self._server.pool
        body = request_body(self.model, messages, sampling, self.quirks)
        refused: set[Address] = set()
        failed: set[Address] = set()
        attempts = rounds = 0
        while True:
            call = await pool.enter(len(body) / _BYTES_PER_TOKEN, refused | failed)
            attempts += 1
            try:
                return await self._attempt(call, body)
            except _Failure as failure:
                problem = failure
            finally:
                pool.leave(call)
            if problem.kind == "refused" or problem.wait > self.max_wait:
                refused.add(call.address)
            failed.add(call.address)
            if len(refused | failed) < len(pool.addresses):
                continue
            rounds += 1
            if rounds > self.retries or len(refused) == len(pool.addresses):
                raise self._error(call, problem, attempts) from None
            failed.clear()
            if problem.kind == "broken":  # when to ask a busy one again, its address knows
                # Jitter keeps callers that failed together from coming back together.
                pause = min(self.backoff * 2 ** (rounds - 1), self.max_wait)
                await asyncio.sleep(pause * random.uniform(0.5, 1.0))

    async def _attempt(self, call: Call, body: bytes) -> Reply:
        """One request; tells the address how it went."""
        address = call.address
        try:
            reply = await self._server.post(address.url, body, self.timeout)
        except _Failure as failure:
            if failure.kind == "busy" and failure.wait <= self.max_wait:
                address.throttled(call, failure.wait, self.backoff)
            else:
                address.failed(call, self.backoff)
            raise
        address.succeeded(call, reply.usage.prompt_tokens + reply.usage.completion_tokens)
        return reply

    def _error(self, call: Call, problem: _Failure, attempts: int) -> EndpointError:
        tries = "1 attempt" if attempts == 1 else f"{attempts} attempts"
        message = f"{self.name} at {call.address.url}: {problem}, after {tries}"
        # A server may echo the key it was sent.
        key = self._server.key
        return EndpointError(message.replace(key, "***") if key else message)


def _key(variable: str | None) -> str | None:
    if variable is None:
        return None
    key = os.environ.get(variable, "").strip()
    if not key:
        problem = f"the environment variable {variable} is not set"
        raise InputError(problem, field="api_key_env", fix="Set it to the endpoint's key")
    return key
