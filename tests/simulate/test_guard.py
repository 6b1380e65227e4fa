"""A guard that has a customer's drafts drawn again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import pytest
from scenes import scene

from salesllm.chat.base import Reply, Sampling
from salesllm.dialogue import END_MARKER, Language, Message, Speaker, Turn
from salesllm.scenario import Scenario
from salesllm.simulate import GuardCounts, Simulated, Termination, simulate


@dataclass
class Says:
    """Says its lines one after the other; a line that is an exception is raised."""

    lines: list[str | Exception]
    name: str = "says"
    seeds: list[int | None] = field(default_factory=list)

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, scenario: Scenario | None = None
    ) -> Reply:
        self.seeds.append(sampling.seed)
        line = self.lines.pop(0)
        if isinstance(line, Exception):
            raise line
        return Reply(line)


@dataclass
class Pitches:
    """Flags a draft with "offer" in it, and notes what it was asked."""

    redraws: int = 2
    asked: list[tuple[int, str, Language]] = field(default_factory=list)

    def flags(self, turns: Sequence[Turn], draft: str, language: Language) -> bool:
        self.asked.append((len(turns), draft, language))
        return "offer" in draft


class Waits(Pitches):
    async def flags(  # type: ignore[override]
        self, turns: Sequence[Turn], draft: str, language: Language
    ) -> bool:
        await asyncio.sleep(0)
        return super().flags(turns, draft, language)


def talk(customer: Says, guard: Pitches | None, rounds: int = 3) -> Simulated:
    salesperson = Says([f"That is {n}." for n in range(rounds)])
    return asyncio.run(simulate(scene(), salesperson, customer, rounds=rounds, guard=guard))


@pytest.mark.parametrize("kind", [Pitches, Waits])
def test_a_flagged_draft_is_drawn_again_with_another_seed(kind: type[Pitches]) -> None:
    customer, guard = Says(["I offer you tea", "an offer", "hm", "ok"]), kind()
    done = talk(customer, guard)
    heard = [turn.text for turn in done.turns if turn.speaker is Speaker.CUSTOMER]
    assert heard[1:] == ["hm", "ok"]
    assert done.guard == GuardCounts(drafts=4, turns=2, flagged=1, kept_flagged=0)
    assert len(set(customer.seeds[:3])) == 3
    assert customer.seeds[3] == customer.seeds[0]
    assert guard.asked[0] == (2, "I offer you tea", "en")


def test_the_last_draft_is_kept_if_all_are_flagged() -> None:
    customer = Says(["offer 1", "offer 2", "offer 3", "offer 4", "hm"])
    done = talk(customer, Pitches(redraws=2))
    assert [turn.text for turn in done.turns][2] == "offer 3"
    assert done.guard == GuardCounts(drafts=5, turns=2, flagged=2, kept_flagged=1)


def test_it_judges_what_would_be_heard() -> None:
    customer, guard = Says(["<think>an offer</think>hm", f"*nods* bye {END_MARKER}"]), Pitches()
    done = talk(customer, guard)
    assert [draft for _, draft, _ in guard.asked] == ["hm", "bye"]
    assert done.termination is Termination.CUSTOMER_ENDED
    marker_alone = talk(Says([END_MARKER]), Pitches())
    assert marker_alone.guard == GuardCounts()


def test_a_redraw_that_says_nothing_leaves_the_flagged_draft() -> None:
    done = talk(Says(["offer 1", "", "", "", "hm"]), Pitches())
    assert [turn.text for turn in done.turns][2] == "offer 1"
    assert done.guard == GuardCounts(drafts=2, turns=2, flagged=1, kept_flagged=1)


def test_a_redraw_that_fails_is_a_failure() -> None:
    done = talk(Says(["offer 1", TimeoutError("slow")]), Pitches())
    assert (done.termination, done.by) == (Termination.ERROR, Speaker.CUSTOMER)
    assert done.error == "TimeoutError: slow"


def test_without_a_guard_there_are_no_counts() -> None:
    assert talk(Says(["offer 1", "offer 2"]), None).guard is None
