"""A chat-completions endpoint on loopback that costs as little as it can, in its own process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

Reply = Callable[[dict[str, Any]], str]

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "


class _Connection(asyncio.Protocol):
    """One keep-alive connection: requests with a Content-Length, one at a time."""

    def __init__(self, reply: Reply, delay: float) -> None:
        self._reply, self._delay, self._buffer = reply, delay, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, separator, rest = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(rest) < length:
            return
        self._buffer = rest[length:]
        body = json.loads(rest[:length])
        if self._delay:
            asyncio.get_running_loop().call_later(self._delay, self._answer, body)
        else:
            self._answer(body)

    def _answer(self, body: dict[str, Any]) -> None:
        text = self._reply(body)
        answer = {
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text},
                         "finish_reason": "stop"}],
            "usage": {"prompt_tokens": sum(len(m["content"]) for m in body["messages"]) // 4,
                      "completion_tokens": len(text) // 4},
        }  # fmt: skip
        payload = json.dumps(answer).encode()
        if not self._transport.is_closing():
            self._transport.write(b"%s%d\r\n\r\n%s" % (_HEAD, len(payload), payload))


def serve(make_reply: Callable[[], Reply], address: Any, delay: float = 0.0) -> None:
    """Serves until it is killed.

    Args:
        make_reply: Makes what answers a request's body, in this process.
        address: A queue, which is told the base URL.
        delay: Seconds before every answer.
    """

    async def main() -> None:
        reply = make_reply()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(
            lambda: _Connection(reply, delay), "127.0.0.1", 0, backlog=4096
        )
        address.put(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
        await server.serve_forever()

    asyncio.run(main())
