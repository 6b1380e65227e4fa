"""One dialogue, between speakers behind a real endpoint and the scripted ones."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any

import pytest
from loopback import Fault, Loopback
from scenes import scene

from salesllm.chat.base import Usage
from salesllm.chat.endpoint import EndpointChat
from salesllm.chat.scripted import ScriptedCustomer, ScriptedSalesperson
from salesllm.dialogue import END_MARKER, Speaker
from salesllm.scenarios.sampling import sample_scenarios
from salesllm.simulate import REDRAWS, Simulated, Termination, simulate

OPENER = scene().attributes.initial_utterance


class Lines:
    """Answers for the loopback endpoint: each side's next line, over and over the last."""

    def __init__(self, seller: list[str], buyer: list[str]) -> None:
        self.lines = {"seller": deque(seller), "buyer": deque(buyer)}

    def __call__(self, body: dict[str, Any]) -> str:
        lines = self.lines[body["model"]]
        return lines.popleft() if len(lines) > 1 else lines[0]


def talk(loopback: Loopback, seller: list[str], buyer: list[str], **options: Any) -> Simulated:
    loopback.reply = Lines(seller, buyer)
    chats = [EndpointChat(m, loopback.url, retries=0, timeout=2) for m in ("seller", "buyer")]
    made = options.pop("scenario", scene())
    return asyncio.run(simulate(made, *chats, **options))


def texts(simulated: Simulated) -> list[str]:
    return [turn.text for turn in simulated.turns]


def test_the_customer_opens_and_the_marker_ends_it_and_reaches_nobody(loopback: Loopback) -> None:
    done = talk(
        loopback, ["It's $39.", "Two years' warranty."], ["ok", f" I'll take it {END_MARKER}"]
    )
    assert texts(done) == [OPENER, "It's $39.", "ok", "Two years' warranty.", "I'll take it"]
    assert done.termination is Termination.CUSTOMER_ENDED
    assert [turn.speaker for turn in done.turns] == [*[Speaker.CUSTOMER, Speaker.SALESPERSON] * 2,
                                                     Speaker.CUSTOMER]  # fmt: skip
    assert done.finish_reasons == (None, "stop", "stop", "stop", "stop")
    assert done.usage == dict.fromkeys(Speaker, Usage(22, 10))
    assert done.error is None
    said = [message["content"] for r in loopback.requests for message in r["messages"][1:]]
    assert not any(END_MARKER in text for text in said)


@pytest.mark.parametrize(
    ("last", "heard"),
    [
        (END_MARKER, []),
        (f"  {END_MARKER}\n", []),
        (f"bye {END_MARKER} {END_MARKER}", ["bye"]),
        (f"bye {END_MARKER} Salesperson: wait, I can offer you", ["bye"]),
        (f"{END_MARKER}.", []),
    ],
)
def test_forms_of_the_last_word(loopback: Loopback, last: str, heard: list[str]) -> None:
    done = talk(loopback, ["It's $39."], [last])
    assert texts(done) == [OPENER, "It's $39.", *heard]
    assert len(done.finish_reasons) == len(done.turns)
    assert done.termination is Termination.CUSTOMER_ENDED


def test_the_marker_is_the_customers_alone(loopback: Loopback) -> None:
    done = talk(loopback, [f"Goodbye! {END_MARKER}"], ["wait"], rounds=2)
    assert texts(done) == [OPENER, "Goodbye!", "wait", "Goodbye!"]
    assert done.termination is Termination.ROUND_LIMIT


@pytest.mark.parametrize("rounds", [1, 2, 20])
def test_a_round_is_one_message_of_each_side(loopback: Loopback, rounds: int) -> None:
    done = talk(loopback, ["buy it"], ["hm"], rounds=rounds)
    assert len(done.turns) == 2 * rounds
    assert done.turns[-1].speaker is Speaker.SALESPERSON
    assert done.termination is Termination.ROUND_LIMIT


def test_each_side_sees_its_own_viewpoint_and_script(loopback: Loopback) -> None:
    talk(loopback, ["It's $39."], ["hm"], rounds=2)
    seller, buyer, _ = loopback.requests
    assert [m["role"] for m in seller["messages"]] == ["system", "user"]
    assert [m["role"] for m in buyer["messages"]] == ["system", "assistant", "user"]
    assert "PRODUCT_INFORMATION" in seller["messages"][0]["content"]
    assert "The old one leaks" not in seller["messages"][0]["content"]
    assert "The old one leaks" in buyer["messages"][0]["content"]
    assert END_MARKER in buyer["messages"][0]["content"]


def test_a_scenarios_own_scripts_win_unless_the_customer_needs_the_brief_one(
    loopback: Loopback,
) -> None:
    own = scene().model_copy(update={"scripts": {s: f"script of the {s.value}" for s in Speaker}})
    talk(loopback, ["It's $39."], ["hm"], rounds=2, scenario=own)
    scripts = [request["messages"][0]["content"] for request in loopback.requests[:2]]
    assert scripts == ["script of the salesperson", "script of the customer"]
    talk(loopback, ["It's $39."], ["hm"], rounds=2, scenario=own, customer_style="brief")
    brief = loopback.requests[4]["messages"][0]["content"]
    assert "script of" not in brief
    assert "Halo kettle" in brief


def test_seeds_repeat_a_run_and_differ_otherwise(loopback: Loopback) -> None:
    def seeds(seed: int, number: int = 0) -> list[int]:
        loopback.requests.clear()
        talk(loopback, ["It's $39."], ["hm"], rounds=3, seed=seed, scenario=scene(number=number))
        return [request["seed"] for request in loopback.requests]

    first = seeds(1)
    assert first == seeds(1)
    assert len({*first, *seeds(2), *seeds(1, number=1)}) == 15


@pytest.mark.parametrize(
    ("good_calls", "termination"),
    [(0, Termination.SALESPERSON_FAILED), (1, Termination.CUSTOMER_FAILED)],
)
def test_a_failure_is_no_ending(
    loopback: Loopback, good_calls: int, termination: Termination
) -> None:
    loopback.faults = deque([*[None] * good_calls, Fault(status=400)])
    done = talk(loopback, ["It's $39."], ["hm"])
    assert done.termination is termination
    assert done.termination.failed
    assert "EndpointError" in str(done.error)
    assert "fault 400" in str(done.error)
    assert len(done.turns) == 1 + good_calls


def test_an_empty_reply_is_drawn_again_and_then_given_up(loopback: Loopback) -> None:
    loopback.faults = deque([Fault("empty"), Fault("empty"), None])
    done = talk(loopback, ["It's $39."], ["hm"], rounds=1)
    assert texts(done) == [OPENER, "It's $39."]
    assert done.usage[Speaker.SALESPERSON] == Usage(33, 15)
    assert len({request["seed"] for request in loopback.requests}) == 3

    loopback.faults = deque([None, *[Fault("filtered")] * (REDRAWS + 1)])
    done = talk(loopback, ["It's $39."], ["hm"])
    assert done.termination is Termination.EMPTY_REPLY
    assert done.termination.failed
    assert "the customer said nothing in 3 attempts (content_filter)" in str(done.error)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_the_scripted_sides_come_to_an_end_and_repeat_themselves(language: str) -> None:
    made = sample_scenarios(language, 5, split="test")  # type: ignore[arg-type]

    async def all_of_them() -> list[Simulated]:
        sides = ScriptedSalesperson(), ScriptedCustomer()
        return [await simulate(scenario, *sides, seed=3) for scenario in made]

    dialogues = asyncio.run(all_of_them())
    assert {d.termination for d in dialogues} == {Termination.CUSTOMER_ENDED}
    assert dialogues == asyncio.run(all_of_them())
