"""A chat-completions endpoint on loopback that costs as little as it can, in its own process."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

from endpoint import Connection

from salesllm import loop

Reply = Callable[[dict[str, Any]], str]

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "


class _Speaker(Connection):
    """Answers at once, with what somebody says to the request."""

    def __init__(self, reply: Reply) -> None:
        self._reply = reply

    def asked(self, data: bytes, body: int) -> None:
        request = json.loads(data[body:])
        text = self._reply(request)
        answer = {
            "choices": [{"index": 0, "message": {"role": "assistant", "content": text},
                         "finish_reason": "stop"}],
            "usage": {"prompt_tokens": sum(len(m["content"]) for m in request["messages"]) // 4,
                      "completion_tokens": len(text) // 4},
        }  # fmt: skip
        payload = json.dumps(answer).encode()
        if not self.transport.is_closing():
            self.transport.write(b"%s%d\r\n\r\n%s" % (_HEAD, len(payload), payload))


def serve(make_reply: Callable[[], Reply], address: Any) -> None:
    """Serves until it is killed.

    Args:
        make_reply: Makes what answers a request's body, in this process.
        address: A queue, which is told the base URL.
    """

    async def main() -> None:
        reply = make_reply()
        running = asyncio.get_running_loop()
        server = await running.create_server(lambda: _Speaker(reply), "127.0.0.1", 0, backlog=4096)
        address.put(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1")
        await server.serve_forever()

    loop.run(main())
