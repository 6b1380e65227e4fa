"""A chat-completions endpoint on loopback, over real HTTP, that misbehaves on demand."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal

from aiohttp import web

Kind = Literal["status", "stall", "cut", "malformed", "truncated", "empty", "filtered"]


@dataclass(frozen=True)
class Fault:
    """One misbehaviour, instead of an answer.

    Attributes:
        status: For `status`.
        retry_after: The header's value, if it is sent.
        code: Of the error, beside its message.
        seconds: For `stall`: how long before the answer comes after all.
    """

    kind: Kind = "status"
    status: int = 500
    retry_after: str | None = None
    code: str | None = None
    seconds: float = 5.0


def echo(body: dict[str, Any]) -> str:
    return f"I heard: {body['messages'][-1]['content']}"


@dataclass
class Loopback:
    """The endpoint, in a thread of its own, for as long as the `with` block lasts.

    Attributes:
        reply: Says the answer to a request's body: its text, or what its choice holds instead of
            the usual.
        faults: Taken one a request, in order; None answers as it should.
        fault_of: Says the fault of a request by its body, once `faults` are used up.
        key: The only key it accepts. A wrong one is echoed in the refusal, as some servers do.
        requests: Every body it received.
        headers: Their headers.
        in_flight: Requests that it has not answered yet.
        most_at_once: The most that were in flight together.
    """

    reply: Callable[[dict[str, Any]], str | dict[str, Any]] = echo
    faults: deque[Fault | None] = field(default_factory=deque)
    fault_of: Callable[[dict[str, Any]], Fault | None] = lambda body: None
    key: str | None = None
    delay: float = 0.0
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    in_flight: int = 0
    most_at_once: int = 0
    url: str = ""

    def __enter__(self) -> Loopback:
        self._loop = asyncio.new_event_loop()
        started = threading.Event()

        async def serve() -> None:
            application = web.Application()
            application.router.add_post("/v1/chat/completions", self._handle)
            self._runner = web.AppRunner(application, shutdown_timeout=0)
            await self._runner.setup()
            await web.TCPSite(self._runner, "127.0.0.1", 0).start()
            self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
            started.set()

        def work() -> None:
            self._loop.run_until_complete(serve())
            self._loop.run_forever()
            self._loop.run_until_complete(self._runner.cleanup())
            self._loop.close()

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()
        assert started.wait(10)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        self.in_flight += 1
        self.most_at_once = max(self.most_at_once, self.in_flight)
        try:
            return await self._answer(request)
        finally:
            self.in_flight -= 1

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        sent = request.headers.get("Authorization", "").removeprefix("Bearer ")
        if self.key is not None and sent != self.key:
            return _error(401, f"Incorrect API key provided: {sent}")
        fault = self.faults.popleft() if self.faults else self.fault_of(body)
        if fault is not None and fault.kind == "status":
            headers = {"Retry-After": fault.retry_after} if fault.retry_after else {}
            return _error(fault.status, f"fault {fault.status}", headers, fault.code)
        if fault is not None and fault.kind == "cut":
            assert request.transport is not None
            request.transport.close()
            return web.Response()
        if fault is not None and fault.kind == "malformed":
            return web.Response(text="<html>gateway</html>", content_type="text/html")
        await asyncio.sleep(fault.seconds if fault and fault.kind == "stall" else self.delay)
        text = "" if fault is not None and fault.kind in ("empty", "filtered") else self.reply(body)
        reason = "content_filter" if fault is not None and fault.kind == "filtered" else "stop"
        answer = json.dumps(_completion(body["model"], text, reason))
        if fault is not None and fault.kind == "truncated":
            answer = answer[: len(answer) // 2]
        return web.Response(text=answer, content_type="application/json")


def _completion(model: str, said: str | dict[str, Any], finish_reason: str) -> dict[str, Any]:
    choice: dict[str, Any] = {"index": 0, "finish_reason": finish_reason}
    if isinstance(said, str):
        said = {"message": {"role": "assistant", "content": said}}
    return {
        "id": "loopback",
        "object": "chat.completion",
        "model": model,
        "choices": [choice | said],
        "usage": {"prompt_tokens": 11, "completion_tokens": 5, "total_tokens": 16},
    }


def _error(
    status: int, message: str, headers: dict[str, str] | None = None, code: str | None = None
) -> web.Response:
    error = {"message": message, "code": code}
    return web.json_response({"error": error}, status=status, headers=headers)
