"""Many calls at once: limits that hold, back-off that everybody heeds, addresses that fail."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from loopback import Fault, Loopback

from salesllm.chat.base import Sampling
from salesllm.chat.endpoint import EndpointChat, EndpointError
from salesllm.chat.limits import Limits
from salesllm.dialogue import Message

SAID = [Message(role="user", content="How much is it? " * 20)]
"""About 80 tokens; every answer of the loopback endpoint says that there were 11, and 5 more."""


@pytest.fixture
def other() -> Iterator[Loopback]:
    """Another address of the same model."""
    with Loopback() as running:
        yield running


def say(*chats: EndpointChat, calls: int = 1) -> list[str]:
    """So many calls of each, all at once."""

    async def all_of_them() -> list[str]:
        replies = (chat.reply(SAID, Sampling()) for _ in range(calls) for chat in chats)
        return [reply.text for reply in await asyncio.gather(*replies)]

    return asyncio.run(all_of_them())


def in_turn(chat: EndpointChat, calls: int) -> None:
    async def one_after_the_other() -> None:
        for _ in range(calls):
            await chat.reply(SAID, Sampling())

    asyncio.run(one_after_the_other())


def fleet(*endpoints: Loopback | str, **settings: Any) -> EndpointChat:
    urls = [e if isinstance(e, str) else e.url for e in endpoints]
    return EndpointChat("m", urls, **{"backoff": 0.01, "timeout": 5.0, "retries": 2, **settings})


def seconds(work: Any, *args: Any, **more: Any) -> float:
    began = time.monotonic()
    work(*args, **more)
    return time.monotonic() - began


def test_requests_a_minute_are_kept_to_by_all_who_ask(loopback: Loopback) -> None:
    limits = Limits(requests_per_minute=600)
    chats = [fleet(loopback, limits=limits, name=name) for name in ("seller", "judge")]
    assert seconds(say, *chats, calls=10) > 0.95  # ten at once, the others a tenth apart
    assert len(loopback.requests) == 20


def test_tokens_a_minute_are_those_that_the_endpoint_counts(loopback: Loopback) -> None:
    chat = fleet(loopback, limits=Limits(tokens_per_minute=60 * 100))
    taken = seconds(in_turn, chat, 20)  # 320 by the endpoint's count, 1,600 by the estimate
    assert 1.9 < taken < 8


def test_a_429_halts_all_who_ask_this_model_there(loopback: Loopback) -> None:
    at: list[float] = []

    def once(body: dict[str, Any]) -> Fault | None:
        at.append(time.monotonic())
        return Fault(status=429, retry_after="0.5") if len(at) == 1 else None

    loopback.fault_of = once
    seller, judge = fleet(loopback, name="seller"), fleet(loopback, name="judge")
    elsewhere = EndpointChat("another model", loopback.url)

    async def play() -> float:
        first = asyncio.create_task(seller.reply(SAID, Sampling()))
        while not at:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.05)
        await elsewhere.reply(SAID, Sampling())
        before = time.monotonic()
        await judge.reply(SAID, Sampling())
        await first
        return before

    before = asyncio.run(play())
    assert at[1] < before  # another model's limits are its own
    assert all(later - at[0] >= 0.5 for later in at[2:])
    assert len(at) == 4


def test_calls_in_flight_settle_where_the_endpoint_bears_them(loopback: Loopback) -> None:
    loopback.delay = 0.01
    crowd: list[int] = []

    def full(body: dict[str, Any]) -> Fault | None:
        crowd.append(loopback.in_flight)
        return Fault(status=429) if loopback.in_flight > 4 else None

    loopback.fault_of = full
    chat = fleet(loopback, limits=Limits(32), retries=20)
    assert len(say(chat, calls=120)) == 120
    refused = [n for n in crowd if n > 4]
    assert len(refused) < 75  # of which the first burst were 28, and without limits it is hundreds
    assert max(crowd[32:]) <= 17
    assert max(crowd[64:]) > 1  # it does not stay at one by one


def test_a_fleet_shares_the_load(loopback: Loopback, other: Loopback) -> None:
    loopback.delay, other.delay = 0.02, 0.01
    say(fleet(loopback, other, limits=Limits(4)), calls=60)
    assert max(loopback.most_at_once, other.most_at_once) <= 4
    assert len(loopback.requests) + len(other.requests) == 60
    assert 10 <= len(loopback.requests) < len(other.requests)  # the faster one does more


@pytest.mark.parametrize(
    "fault", [Fault(status=500), Fault("cut"), Fault("malformed"), Fault(status=404)], ids=str
)
def test_an_address_that_fails_is_left_alone_and_its_work_done_elsewhere(
    loopback: Loopback, other: Loopback, fault: Fault
) -> None:
    loopback.fault_of = lambda body: fault
    in_turn(fleet(loopback, other, backoff=30.0), 10)
    assert (len(loopback.requests), len(other.requests)) == (1, 10)


def test_an_address_that_is_well_again_works_again(loopback: Loopback, other: Loopback) -> None:
    loopback.faults.extend([Fault(status=500)] * 2)
    chat = fleet(loopback, other, limits=Limits(1), backoff=0.02)
    other.delay = 0.02
    say(chat, calls=30)
    assert len(loopback.requests) > 10


def test_who_is_not_there_is_not_missed(loopback: Loopback) -> None:
    with socket.socket() as taken:  # so that nobody else can listen there meanwhile
        taken.bind(("127.0.0.1", 0))
        gone = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        assert len(say(fleet(gone, loopback), calls=20)) == 20


def test_a_call_fails_when_every_address_does(loopback: Loopback, other: Loopback) -> None:
    loopback.fault_of = other.fault_of = lambda body: Fault(status=503)
    with pytest.raises(EndpointError, match=r"status 503: fault 503, after 6 attempts$"):
        say(fleet(loopback, other))
    assert (len(loopback.requests), len(other.requests)) == (3, 3)
    other.fault_of = lambda body: Fault(status=401)
    with pytest.raises(EndpointError, match="after 4 attempts"):  # asking again would not help
        say(fleet(loopback, other))
    loopback.fault_of = lambda body: Fault(status=429, retry_after="3600")
    with pytest.raises(EndpointError, match="after 2 attempts"):
        say(fleet(loopback, other))


def test_a_busy_address_passes_its_work_on(loopback: Loopback, other: Loopback) -> None:
    loopback.fault_of = lambda body: Fault(status=429, retry_after="60")
    in_turn(fleet(loopback, other), 10)
    assert (len(loopback.requests), len(other.requests)) == (1, 10)
