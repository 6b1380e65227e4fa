"""Limits by themselves, without an endpoint; most of them without a clock."""

from __future__ import annotations

import asyncio
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from salesllm.chat.limits import Address, Budget, Limits, Pool

NOBODY_KNOWS = 0.0


@given(st.floats(0.5, 6e6), st.lists(st.tuples(st.floats(0, 30), st.floats(0, 5000)), max_size=40))
def test_a_budget_is_kept_to_over_any_time(
    per_minute: float, calls: list[tuple[float, float]]
) -> None:
    """No stretch of calls takes more than flows in meanwhile, what is saved up and the last one."""
    budget, now = Budget(per_minute), 1000.0
    began: list[tuple[float, float]] = []
    for idle, amount in calls:
        now = budget.opens(now + idle)
        budget.spend(amount, now)
        began.append((now, amount))
    rate = per_minute / 60
    for first in range(len(began)):
        taken = 0.0
        for at, amount in began[first:]:
            allowed = max(1.0, rate) + rate * (at - began[first][0])
            assert taken <= allowed * (1 + 1e-6)
            taken += amount


def test_a_budget_lets_as_much_pass_as_it_may() -> None:
    budget, now = Budget(600), 0.0
    for _ in range(100):
        now = budget.opens(now)
        budget.spend(1, now)
    assert now == pytest.approx((100 - 10) / 10)  # ten at once, then ten a second
    budget.spend(-50, now)  # too much was reckoned with; it is not saved up beyond a second
    began = [now]
    for _ in range(11):
        now = budget.opens(now)
        budget.spend(1, now)
        began.append(now)
    assert began[10] == began[0] < began[11]


def test_the_tighter_limits_hold() -> None:
    one, other = Limits(8, None, 100.0), Limits(16, 60.0, 50.0)
    assert one.tightest(other) == other.tightest(one) == Limits(8, 60.0, 50.0)


def rejected(address: Address, calls: int) -> None:
    """So many calls begin together and meet a 429."""
    begun = [address.begin(time.monotonic(), 1) for _ in range(calls)]
    for call in begun:
        address.throttled(call, NOBODY_KNOWS, backoff=1e-9)
        address.in_flight -= 1


def room(address: Address) -> int:
    """How many calls may begin at once, once no pause is on."""
    begun = 0
    while address.opens(time.monotonic() + 9.0) < float("inf"):
        address.begin(time.monotonic(), 1)
        begun += 1
    address.in_flight = 0
    return begun


def test_additive_increase_and_multiplicative_decrease() -> None:
    address = Address("u", Limits(32))
    assert room(address) == 32
    rejected(address, 32)
    assert room(address) == 16  # one burst is one event
    rejected(address, 16)
    assert room(address) == 8
    rejected(address, 4)
    assert room(address) == 2  # what was in flight was too much, not what was allowed
    rejected(address, 1)
    rejected(address, 1)
    assert room(address) == 1
    grown = []
    for _ in range(700):
        address.succeeded(address.begin(time.monotonic(), 1), 0)
        address.in_flight -= 1
        grown.append(room(address))
    assert grown == sorted(grown)
    assert grown[8:10] == [4, 4]  # about one more for each time that all of them came back
    assert grown[-1] == 32


def test_a_pause_is_as_long_as_asked_for_and_doubles_where_nobody_asks() -> None:
    address = Address("u", Limits(4))

    def pause(wait: float) -> float:
        call = address.begin(time.monotonic(), 1)
        address.throttled(call, wait, backoff=10.0)
        address.in_flight = 0
        now = time.monotonic()
        return address.opens(now) - now

    assert 9 < pause(NOBODY_KNOWS) <= 11
    assert 19 < pause(NOBODY_KNOWS) <= 22
    assert 39 < pause(wait=40) <= 44
    assert 39 < pause(wait=1) <= 44  # a longer one is on


def test_the_least_loaded_address_is_taken_and_one_that_failed_is_tried_by_one() -> None:
    async def play() -> None:
        pool = Pool(["a", "b"], Limits(4))
        a, b = pool.addresses
        calls = [await pool.enter(1) for _ in range(4)]
        assert [call.address for call in calls] == [a, b, a, b]
        pool.leave(calls[1])
        assert (await pool.enter(1)).address is b
        assert (await pool.enter(1, avoid={a})).address is b

        for address in (a, b):
            address.in_flight = 0
        a.failed(a.begin(time.monotonic(), 1), backoff=0.05)
        a.in_flight = 0
        calls = [await pool.enter(1) for _ in range(3)]
        assert {call.address for call in calls} == {b}  # though it is the fuller one
        await asyncio.sleep(0.06)
        assert (await pool.enter(1)).address is a  # is it back?
        assert (await pool.enter(1)).address is b  # nobody knows yet
        assert (await pool.enter(1)).address is a  # b is full, and a may be well
        a.succeeded(calls[0], 0)
        assert (await pool.enter(1)).address is a

    asyncio.run(play())


def test_who_waits_is_served_in_turn_and_who_gives_up_loses_the_place() -> None:
    async def play() -> list[int]:
        pool, served = Pool(["a", "b"], Limits(1)), []
        first, second = await pool.enter(1), await pool.enter(1)

        async def customer(number: int, avoid: tuple[Address, ...] = ()) -> None:
            call = await pool.enter(1, avoid)
            served.append(number)
            await asyncio.sleep(0)
            pool.leave(call)

        waiting = [asyncio.create_task(customer(n)) for n in range(4)]
        picky = asyncio.create_task(customer(9, avoid=(first.address,)))
        await asyncio.sleep(0)
        waiting[1].cancel()
        pool.leave(first)
        waiting[0].cancel()  # it has a place by now, and hands it on
        await asyncio.gather(*waiting, return_exceptions=True)
        assert not picky.done()  # only the address that it avoids was free
        pool.leave(second)
        await picky
        assert all(address.in_flight == 0 for address in pool.addresses)
        return served

    assert asyncio.run(play()) == [2, 3, 9]


def test_limits_that_tighten() -> None:
    pool = Pool(["u"], Limits(8))
    pool.tighten(Limits(4, 60.0))
    (address,) = pool.addresses
    assert room(address) == 4
    now = time.monotonic()
    address.begin(now, 1)
    assert address.opens(now) > now  # there are 60 a minute, not as many as one likes
