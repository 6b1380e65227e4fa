"""A chat-completions endpoint that does nothing but wait: what a client is measured against.

    python perf/endpoint.py --seconds 0.2 --calls 20

It prints its port, and, once its input is closed, a line of JSON on what it did. It knows a
dialogue by its length alone: the call that brings `--calls` messages besides the script is answered
with the end marker.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import time
from typing import Any

from salesllm import loop
from salesllm.dialogue import END_MARKER

LINES = (
    "Hello! Yes, we still have it, and this week it comes with free delivery.",
    "What would it cost me altogether, with everything that I need to get started?",
    "The set is $189. Filters for a year are in the box, so nothing else is needed at first.",
    "My last one gave up after eighteen months, so I wonder how long this one is made to last.",
    "The motor has a five-year warranty, and spare parts are kept for ten years after that.",
    "How loud is it on the second setting? We live above a very light sleeper.",
    "About as loud as a quiet conversation; most customers run it while they watch the news.",
    "And the battery, does it get through a flat of ninety square metres in one go?",
    "On the first two settings it does, with a third of its charge left over.",
    "What happens if I do not get on with it, may I send it back once it has been used?",
)
"""What is said by turns; no two messages of a dialogue are the same."""


def answer(call: int, last: bool) -> bytes:
    """The response to the call with so many messages."""
    text = f"({call}) {LINES[call % len(LINES)]}" + (f" {END_MARKER}" if last else "")
    body = json.dumps(
        {
            "id": "loopback",
            "object": "chat.completion",
            "created": 0,
            "model": "loopback",
            "choices": [
                {
                    "index": 0,
                    "message": {"role": "assistant", "content": text},
                    "finish_reason": "stop",
                }
            ],
            "usage": {"prompt_tokens": 900, "completion_tokens": 24, "total_tokens": 924},
        }
    ).encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


class Connection(asyncio.Protocol):
    """One keep-alive connection: requests with a Content-Length, one at a time."""

    rest = b""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.loop = asyncio.get_running_loop()

    def data_received(self, data: bytes) -> None:
        data = self.rest + data
        head = data.find(b"\r\n\r\n")
        field = data[:head].lower().find(b"\r\ncontent-length:")
        if head < 0 or len(data) < head + 4 + int(data[field + 17 :].split(b"\r\n", 1)[0]):
            self.rest = data
            return
        self.rest = b""
        self.asked(data, head + 4)

    def asked(self, data: bytes, body: int) -> None:
        """A request is whole; its body begins at this place."""
        raise NotImplementedError


class Waiter(Connection):
    """A request, a wait, an answer."""

    calls = 0

    def __init__(self, seconds: float, answers: list[bytes]) -> None:
        self.seconds, self.answers = seconds, answers

    def asked(self, data: bytes, body: int) -> None:
        messages = data.count(b'"role":', body) - 1  # besides the script
        self.loop.call_later(self.seconds, self.respond, self.answers[messages])

    def respond(self, response: bytes) -> None:
        Waiter.calls += 1
        self.transport.write(response)


async def serve(seconds: float, calls: int) -> None:
    answers = [answer(call, last=call >= calls) for call in range(2 * calls)]
    running = asyncio.get_running_loop()
    server = await running.create_server(
        lambda: Waiter(seconds, answers), "127.0.0.1", 0, backlog=4096
    )
    print(server.sockets[0].getsockname()[1], flush=True)
    await running.run_in_executor(None, sys.stdin.read)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--calls", type=int, required=True)
    args = parser.parse_args()
    started = time.process_time()
    loop.run(serve(args.seconds, args.calls))
    print(json.dumps({"calls": Waiter.calls, "cpu_seconds": time.process_time() - started}))


if __name__ == "__main__":
    main()
