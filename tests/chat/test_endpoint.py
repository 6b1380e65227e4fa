"""The endpoint client against a real HTTP server that misbehaves."""

from __future__ import annotations

import asyncio
import logging
import socket
import subprocess
import sys
import time
import traceback
from collections import deque

import pytest
from loopback import Fault, Loopback

from salesllm.chat.base import Reply, Sampling, Token, Usage
from salesllm.chat.endpoint import EndpointChat, EndpointError
from salesllm.chat.limits import Limits
from salesllm.dialogue import Message
from salesllm.errors import InputError

CANARY = "sk-canary-4f1d9b"
SAID = [
    Message(role="system", content="You are the customer."),
    Message(role="assistant", content="Hello?"),
    Message(role="user", content="多少钱 <b>"),
]


def ask(chat: EndpointChat, sampling: Sampling | None = None) -> Reply:
    return asyncio.run(chat.reply(SAID, sampling or Sampling(seed=3)))


def impatient(loopback: Loopback, **settings: object) -> EndpointChat:
    defaults = {"backoff": 0.01, "timeout": 0.3, "retries": 3}
    return EndpointChat("m", loopback.url, **{**defaults, **settings})  # type: ignore[arg-type]


def test_what_is_sent_and_what_comes_back(loopback: Loopback) -> None:
    reply = ask(EndpointChat("m", loopback.url + "/", name="shown"))
    assert reply == Reply("I heard: 多少钱 <b>", Usage(11, 5), "stop")
    seed = loopback.requests[0].pop("seed")
    assert loopback.requests == [
        {
            "model": "m",
            "messages": SAID,  # a first message of the assistant is sent as it is
            "temperature": 0.8,
            "top_p": 0.99,
            "max_tokens": 2048,
        }
    ]
    assert "Authorization" not in loopback.headers[0]
    ask(EndpointChat("m", loopback.url), Sampling())
    assert "seed" not in loopback.requests[1]
    chat = EndpointChat("m", loopback.url)
    ask(chat)
    ask(chat, Sampling(seed=4))
    asyncio.run(chat.reply(SAID[:2], Sampling(seed=3)))
    same, other_seed, other_prompt = (request["seed"] for request in loopback.requests[2:])
    assert seed == same
    assert len({seed, other_seed, other_prompt}) == 3
    assert 0 <= seed < 2**31


@pytest.mark.parametrize(
    "fault",
    [
        Fault(status=429),
        Fault(status=500),
        Fault(status=503, retry_after="0"),
        Fault("stall", seconds=1.0),
        Fault("cut"),
        Fault("malformed"),
        Fault("truncated"),
    ],
    ids=lambda fault: f"{fault.kind}-{fault.status}",
)
def test_passing_trouble_is_tried_again_and_lasting_trouble_given_up(
    loopback: Loopback, fault: Fault
) -> None:
    loopback.faults = deque([fault, fault])
    assert ask(impatient(loopback)).text.startswith("I heard")
    assert len(loopback.requests) == 3

    loopback.faults = deque([fault] * 9)
    with pytest.raises(EndpointError, match="after 2 attempts"):
        ask(impatient(loopback, retries=1))
    assert len(loopback.requests) == 5


def test_a_reply_that_no_file_can_hold_is_no_reply(loopback: Loopback) -> None:
    loopback.reply = lambda body: "half of \ud83d"
    with pytest.raises(EndpointError, match="the answer is no chat completion"):
        ask(impatient(loopback, retries=1))
    loopback.reply = lambda body: "all of \N{FACE WITH TEARS OF JOY}"
    assert ask(impatient(loopback)).text == "all of 😂"


def test_retry_after_is_waited_for(loopback: Loopback) -> None:
    loopback.faults = deque([Fault(status=429, retry_after="0.4")])
    before = time.monotonic()
    ask(impatient(loopback))
    assert time.monotonic() - before >= 0.4

    loopback.faults = deque([Fault(status=429, retry_after="3600")])
    with pytest.raises(EndpointError, match=r"429.*after 1 attempt$"):
        ask(impatient(loopback))


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, 307])
def test_a_refusal_is_final_and_says_what_the_server_said(loopback: Loopback, status: int) -> None:
    loopback.faults = deque([Fault(status=status)])
    with pytest.raises(EndpointError, match=f"m at http://.*: status {status}: fault {status}"):
        ask(impatient(loopback))
    assert len(loopback.requests) == 1


def test_an_account_without_money_is_not_waited_for(loopback: Loopback) -> None:
    loopback.faults = deque([Fault(status=429, code="insufficient_quota")])
    with pytest.raises(EndpointError, match=r"status 429: fault 429, after 1 attempt$"):
        ask(impatient(loopback))


def test_nobody_listens() -> None:
    with socket.socket() as taken:  # so that nobody else can listen there meanwhile
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(EndpointError, match="the connection failed"):
            ask(EndpointChat("m", url, retries=1, backoff=0.01))


def test_empty_and_filtered_answers_are_answers(loopback: Loopback) -> None:
    loopback.faults = deque([Fault("empty"), Fault("filtered")])
    chat = impatient(loopback)
    assert ask(chat) == Reply("", Usage(11, 5), "stop")
    assert ask(chat).finish_reason == "content_filter"


def test_a_reply_with_log_probabilities_and_a_refusal(loopback: Loopback) -> None:
    told = {"token": "8", "logprob": -0.1, "top_logprobs": [{"token": "8", "logprob": -0.1}]}
    message = {"role": "assistant", "content": None, "refusal": "No."}
    loopback.reply = lambda body: {"message": message, "logprobs": {"content": [told]}}
    reply = ask(impatient(loopback), Sampling(top_logprobs=1))
    assert (reply.text, reply.refusal) == ("", "No.")
    assert reply.tokens == (Token("8", -0.1, (("8", -0.1),)),)
    assert loopback.requests[0]["top_logprobs"] == 1


def test_calls_in_flight_are_limited_and_a_second_loop_works(loopback: Loopback) -> None:
    loopback.delay = 0.05
    chat = EndpointChat("m", loopback.url, limits=Limits(3))

    async def many() -> None:
        await asyncio.gather(*(chat.reply(SAID, Sampling()) for _ in range(12)))

    asyncio.run(many())
    assert loopback.most_at_once == 3
    asyncio.run(many())
    assert len(loopback.requests) == 24


def test_a_waiting_retry_leaves_its_place_to_others(loopback: Loopback) -> None:
    loopback.faults = deque([Fault(status=429, retry_after="0.5")])
    chat = EndpointChat("m", loopback.url, limits=Limits(1))

    async def both() -> list[str]:
        order: list[str] = []

        async def one(name: str) -> None:
            await chat.reply(SAID, Sampling())
            order.append(name)

        await asyncio.gather(one("limited"), one("other"))
        return order

    assert asyncio.run(both()) == ["other", "limited"]


def test_the_key_comes_from_the_environment_and_goes_nowhere_else(
    loopback: Loopback, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("SALES_KEY", CANARY)
    loopback.key = CANARY
    chat = impatient(loopback, api_key_env="SALES_KEY")
    assert ask(chat).text.startswith("I heard")
    assert loopback.headers[0]["Authorization"] == f"Bearer {CANARY}"

    loopback.key = "another"
    with pytest.raises(EndpointError) as refusal:
        ask(chat)
    shown = "".join(traceback.format_exception(refusal.value)) + str(refusal.value) + caplog.text
    assert "Incorrect API key provided: ***" in shown
    assert CANARY not in shown + repr(chat) + repr(vars(refusal.value))

    monkeypatch.delenv("SALES_KEY")
    with pytest.raises(InputError, match="SALES_KEY is not set"):
        impatient(loopback, api_key_env="SALES_KEY")


def test_it_needs_no_torch_and_leaves_no_session_open(loopback: Loopback) -> None:
    code = f"""
import asyncio, sys
from salesllm.chat.base import Sampling
from salesllm.chat.providers import ChatSpec, open_chat
spec = ChatSpec(provider="endpoint", model="m", base_url={loopback.url!r})
chat = open_chat(spec)
messages = [dict(role="user", content="hi")]
print(asyncio.run(chat.reply(messages, Sampling())).text, chat.name)
assert "torch" not in sys.modules and "transformers" not in sys.modules
"""
    command = [sys.executable, "-X", "dev", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.strip(), done.stderr) == ("I heard: hi endpoint/m", "")
