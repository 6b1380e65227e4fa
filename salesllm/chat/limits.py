"""How hard an endpoint may be pressed: calls in flight, requests and tokens a minute, back-off.

All calls to one model at one provider go through one `Pool`, whoever makes them: what one call
learns from a 429 every other one heeds.
"""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

_LONGEST_REST = 60.0
"""Seconds after which an address that does not answer is tried again, at most."""


@dataclass(frozen=True)
class Limits:
    """What one address is asked at most.

    Attributes:
        concurrency: Calls in flight at once.
        requests_per_minute: None is no limit.
        tokens_per_minute: Of prompts and replies together; None is no limit.
    """

    concurrency: int = 64
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    def tightest(self, other: Limits) -> Limits:
        return Limits(
            min(self.concurrency, other.concurrency),
            _least(self.requests_per_minute, other.requests_per_minute),
            _least(self.tokens_per_minute, other.tokens_per_minute),
        )


def _least(*bounds: float | None) -> float | None:
    return min((bound for bound in bounds if bound is not None), default=None)


class Budget:
    """An allowance that flows in evenly; what is not used is saved up for a second at most.

    It can be overdrawn, as what a call really takes shows only afterwards. Nothing begins until
    that is made up.
    """

    def __init__(self, per_minute: float) -> None:
        self._rate = per_minute / 60
        self._most = max(1.0, self._rate)
        self._level, self._at = self._most, -math.inf

    def opens(self, now: float) -> float:
        """When a call may begin, `now` or later."""
        return now + max(0.0, 1.0 - self._saved(now)) / self._rate

    def spend(self, amount: float, now: float) -> None:
        """A negative amount gives back what was spent too much."""
        self._level, self._at = self._saved(now) - amount, now

    def _saved(self, now: float) -> float:
        return min(self._most, self._level + (now - self._at) * self._rate)


class Address:
    """One address of a model, with what its answers have taught about how much it bears.

    In-flight calls are allowed by additive increase and multiplicative decrease: a 429 halves the
    allowance and pauses the address, every success adds a little. Trouble of calls that began
    before the latest trouble is the same trouble, and counts once.
    """

    def __init__(self, url: str, limits: Limits) -> None:
        self.url, self.in_flight = url, 0
        self._allowance: float = limits.concurrency
        self._paused_until = self._resting_until = 0.0
        self._cuts = self._failures = 0
        self._cut_at = self._failed_at = -math.inf
        self.limit(limits)

    def limit(self, limits: Limits) -> None:
        self._most = limits.concurrency
        self._allowance = min(self._allowance, self._most)
        self._requests, self._tokens = (
            None if bound is None else Budget(bound)
            for bound in (limits.requests_per_minute, limits.tokens_per_minute)
        )

    def opens(self, now: float) -> float:
        """When a call may begin; infinite while as many as are allowed are in flight."""
        if self.in_flight >= int(self._allowance):
            return math.inf
        budgets = (b.opens(now) for b in (self._requests, self._tokens) if b is not None)
        return max(now, self._paused_until, *budgets)

    def load(self, now: float) -> tuple[bool, float]:
        """Smaller is better. One that failed comes last: it rests, then one call tries it."""
        doubtful = self._failures > 0 and (now < self._resting_until or self.in_flight > 0)
        return doubtful, self.in_flight / self._allowance

    def begin(self, now: float, tokens: float) -> Call:
        self.in_flight += 1
        if self._requests is not None:
            self._requests.spend(1, now)
        if self._tokens is not None:
            self._tokens.spend(tokens, now)
        return Call(self, now, tokens)

    def succeeded(self, call: Call, tokens: int) -> None:
        """The answer came; `tokens` are what it took, 0 where the endpoint does not say."""
        self._allowance = min(self._most, self._allowance + 1 / self._allowance)
        self._cuts = self._failures = 0
        if self._tokens is not None and tokens:
            self._tokens.spend(tokens - call.tokens, time.monotonic())

    def throttled(self, call: Call, wait: float, backoff: float) -> None:
        """A 429: nothing begins for `wait` seconds, or `backoff` doubled with every one in a row.

        Args:
            wait: Seconds that the server asked for; 0 where it names none.
        """
        now = time.monotonic()
        if call.began > self._cut_at:
            self._allowance = max(1.0, min(self._allowance, self.in_flight) / 2)
            self._cut_at, self._cuts = now, self._cuts + 1
        pause = wait or min(backoff * 2 ** (self._cuts - 1), _LONGEST_REST)
        self._paused_until = max(self._paused_until, now + pause * random.uniform(1.0, 1.1))

    def failed(self, call: Call, backoff: float) -> None:
        """No answer, or none worth the name: left alone for a while, where there are others.

        A call that succeeds there meanwhile ends that.
        """
        now = time.monotonic()
        if call.began > self._failed_at:
            self._failed_at, self._failures = now, self._failures + 1
        rest = min(backoff * 2 ** (self._failures - 1), _LONGEST_REST)
        self._resting_until = now + rest


@dataclass(frozen=True, slots=True)
class Call:
    """A call in flight.

    Attributes:
        began: On the monotonic clock.
        tokens: What it was thought to take.
    """

    address: Address
    began: float
    tokens: float


@dataclass(frozen=True, slots=True)
class _Waiting:
    tokens: float
    avoid: Collection[Address]
    call: asyncio.Future[Call] = field(default_factory=asyncio.Future)


class Pool:
    """The addresses of one model: each call goes to the least loaded that is open.

    Whoever finds none open waits in line.
    """

    def __init__(self, urls: Sequence[str], limits: Limits) -> None:
        self.addresses = tuple(Address(url, limits) for url in urls)
        self._limits = limits
        self._queue: deque[_Waiting] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._alarm: asyncio.TimerHandle | None = None

    def tighten(self, limits: Limits) -> None:
        """From now on the tighter of its limits and these hold."""
        tightest = self._limits.tightest(limits)
        if tightest != self._limits:
            self._limits = tightest
            for address in self.addresses:
                address.limit(tightest)

    async def enter(self, tokens: float, avoid: Collection[Address] = ()) -> Call:
        """Waits for an address; the call is in flight until `leave`.

        Args:
            tokens: What the call will take, as far as one can tell.
            avoid: Addresses to leave out, which are not all there are.
        """
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # those in line on another loop have gone with it
            self._loop, self._alarm = loop, None
            self._queue.clear()
        now = time.monotonic()
        if not self._queue and (address := _best(self._open(now), avoid, now)):
            return address.begin(now, tokens)
        waiting = _Waiting(tokens, avoid)
        self._queue.append(waiting)
        self._serve()
        try:
            return await waiting.call
        except asyncio.CancelledError:
            if waiting.call.done() and not waiting.call.cancelled():
                self.leave(waiting.call.result())
            raise

    def leave(self, call: Call) -> None:
        call.address.in_flight -= 1
        if self._queue:
            self._serve()

    def _open(self, now: float) -> list[Address]:
        return [address for address in self.addresses if address.opens(now) <= now]

    def _serve(self) -> None:
        """Lets those in line begin who can, and comes back when time opens an address."""
        now = time.monotonic()
        passed_over = []
        while self._queue and (open_now := self._open(now)):
            waiting = self._queue.popleft()
            if waiting.call.done():  # cancelled
                continue
            if address := _best(open_now, waiting.avoid, now):
                waiting.call.set_result(address.begin(now, waiting.tokens))
            else:
                passed_over.append(waiting)
        self._queue.extendleft(reversed(passed_over))
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        later = (at for address in self.addresses if now < (at := address.opens(now)) < math.inf)
        if self._queue and (opens := min(later, default=None)) is not None:
            assert self._loop is not None  # somebody is in line
            # A millisecond on top, lest the clock's last digits wake it too early, again and again.
            self._alarm = self._loop.call_later(opens - now + 0.001, self._serve)


def _best(addresses: Sequence[Address], avoid: Collection[Address], now: float) -> Address | None:
    fit = [address for address in addresses if address not in avoid]
    return min(fit, key=lambda address: address.load(now), default=None)
