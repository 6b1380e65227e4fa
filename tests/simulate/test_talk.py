"""One dialogue, between speakers behind a real endpoint and the scripted ones."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from typing import Any

import pytest
from loopback import Fault, Loopback
from scenes import scene

from salesllm.chat.base import Reply, Sampling, Usage
from salesllm.chat.endpoint import EndpointChat
from salesllm.chat.scripted import ScriptedCustomer, ScriptedSalesperson
from salesllm.dialogue import END_MARKER, Language, Message, Speaker
from salesllm.scenario import Scenario
from salesllm.scenarios.sampling import sample_scenarios
from salesllm.simulate import REDRAWS, Simulated, Termination, derived_seed, simulate

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


def test_a_salesperson_that_writes_the_marker_ends_it_too(loopback: Loopback) -> None:
    done = talk(loopback, [f"We are closed. {END_MARKER}"], ["wait"])
    assert texts(done) == [OPENER, "We are closed."]
    assert done.termination is Termination.SALESPERSON_ENDED
    assert (done.by, done.marked) == (Speaker.SALESPERSON, True)


@pytest.mark.parametrize(
    ("seller", "buyer", "heard", "termination"),
    [
        # the customer leaves
        (["It's $39."], ["Too much for me, bye."], 3, Termination.CUSTOMER_ENDED),
        # it winds down, and the salesperson says goodbye: the customer was first
        (["It's $39.", "Have a nice day!"], ["No, thanks."], 4, Termination.CUSTOMER_ENDED),
        # the salesperson was first
        (["Sold out, I'm afraid. Goodbye!"], ["Okay."], 3, Termination.SALESPERSON_ENDED),
        # a question keeps it open
        (["It's $39. Have a nice day!"], ["And the lid?"], 4, Termination.ROUND_LIMIT),
    ],
)
def test_a_dialogue_that_is_closed_without_a_marker(
    loopback: Loopback, seller: list[str], buyer: list[str], heard: int, termination: Termination
) -> None:
    done = talk(loopback, seller, buyer, rounds=2)
    assert (len(done.turns), done.termination, done.marked) == (heard, termination, False)
    sides = {Termination.CUSTOMER_ENDED: Speaker.CUSTOMER, Termination.ROUND_LIMIT: None}
    assert done.by is sides.get(termination, Speaker.SALESPERSON)
    open_end = talk(loopback, seller, buyer, rounds=3, closing=False)
    assert open_end.termination is Termination.ROUND_LIMIT


def test_a_dialogue_that_goes_round_in_circles_is_ended(loopback: Loopback) -> None:
    done = talk(loopback, ["It's $39.", "It's $39!", "it's $39"], ["Too much.", "too much"])
    assert len(done.turns) == 8 - 1  # opener, both once, then both twice again
    assert (done.termination, done.by) == (Termination.REPETITION, None)
    assert not done.termination.failed
    prices = [f"${price}." for price in range(60, 30, -1)]
    haggled = talk(loopback, prices, ["Too much."])
    assert haggled.termination is Termination.ROUND_LIMIT


def test_one_that_hangs_up_has_left(loopback: Loopback) -> None:
    done = talk(loopback, ["It's $39."], ["*hangs up*"])
    assert texts(done) == [OPENER, "It's $39."]
    assert (done.termination, done.marked) == (Termination.CUSTOMER_ENDED, False)


def test_the_other_side_reads_a_cleaned_reply_and_what_was_cut_out_is_counted(
    loopback: Loopback,
) -> None:
    seller = ["<think>Price.</think>Salesperson: It's $39.\nCustomer: OK", "*smiles* It is quiet."]
    done = talk(loopback, seller, ["hm", "Is it quiet (I work nights)"], rounds=3)
    assert texts(done)[1:4] == ["It's $39.", "hm", "It is quiet."]
    said = [m["content"] for r in loopback.requests for m in r["messages"][1:]]
    assert not any("think" in text or "smiles" in text or "OK" in text for text in said)
    assert done.cleaned[Speaker.SALESPERSON] == {
        "reasoning": 1, "role_tag": 1, "other_side": 1, "stage_direction": 2,
    }  # fmt: skip
    assert set(done.cleaned[Speaker.CUSTOMER].values()) == {0}
    silent = talk(loopback, ["<think>What do they want"], ["hm"])
    assert "said nothing in 3 attempts (stop), but for reasoning" in str(silent.error)


@pytest.mark.parametrize("rounds", [1, 2, 20])
def test_a_round_is_one_message_of_each_side(loopback: Loopback, rounds: int) -> None:
    offers = [f"buy {number}" for number in range(rounds)]
    done = talk(loopback, offers, ["hm"], rounds=rounds)
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
    def seeds(seed: int, number: int = 0, repeat: int = 0) -> list[int]:
        loopback.requests.clear()
        made = scene(number=number)
        talk(loopback, ["$39."], ["hm"], rounds=3, seed=seed, repeat=repeat, scenario=made)
        return [request["seed"] for request in loopback.requests]

    first = seeds(1)
    assert first == seeds(1)
    assert len({*first, *seeds(2), *seeds(1, number=1), *seeds(1, repeat=1)}) == 20


def test_seeds_are_those_of_runs_before_there_were_repeats() -> None:
    class Listening:
        name = "listening"

        async def reply(
            self, messages: Sequence[Message], sampling: Sampling, scenario: Scenario | None = None
        ) -> Reply:
            seeds.append(sampling.seed)
            return Reply(f"{len(seeds)}")

    seeds: list[int | None] = []
    asyncio.run(simulate(scene(), Listening(), Listening(), rounds=2, seed=7))
    sides = [Speaker.SALESPERSON, Speaker.CUSTOMER, Speaker.SALESPERSON]
    assert seeds == [derived_seed(7, "en-0", side, 0) for side in sides]


@pytest.mark.parametrize(("good_calls", "by"), [(0, Speaker.SALESPERSON), (1, Speaker.CUSTOMER)])
def test_a_failure_is_no_ending(loopback: Loopback, good_calls: int, by: Speaker) -> None:
    loopback.faults = deque([*[None] * good_calls, Fault(status=400)])
    done = talk(loopback, ["It's $39."], ["hm"])
    assert (done.termination, done.by) == (Termination.ERROR, by)
    assert done.termination.failed
    assert done.termination.worth_retrying
    assert "EndpointError" in str(done.error)
    assert "fault 400" in str(done.error)
    assert len(done.turns) == 1 + good_calls


def test_an_empty_reply_is_drawn_again_and_then_given_up(loopback: Loopback) -> None:
    loopback.faults = deque([Fault("empty"), Fault("empty"), None])
    done = talk(loopback, ["It's $39."], ["hm"], rounds=1)
    assert texts(done) == [OPENER, "It's $39."]
    assert done.usage[Speaker.SALESPERSON] == Usage(33, 15)
    assert len({request["seed"] for request in loopback.requests}) == 3

    loopback.faults = deque([None, *[Fault("empty")] * (REDRAWS + 1)])
    done = talk(loopback, ["It's $39."], ["hm"])
    assert (done.termination, done.by) == (Termination.ERROR, Speaker.CUSTOMER)
    assert "the customer said nothing in 3 attempts (stop)" in str(done.error)


def test_a_refusal_is_drawn_again_and_then_final(loopback: Loopback) -> None:
    loopback.faults = deque([Fault("filtered"), None])
    assert talk(loopback, ["$39."], ["hm"], rounds=1).termination is Termination.ROUND_LIMIT

    loopback.faults = deque([None, *[Fault("filtered")] * (REDRAWS + 1)])
    done = talk(loopback, ["It's $39."], ["hm"])
    assert (done.termination, done.by) == (Termination.REFUSED, Speaker.CUSTOMER)
    assert done.termination.failed
    assert not done.termination.worth_retrying
    assert "the customer refused in 3 attempts (content_filter)" in str(done.error)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_scripted_sides_end_by_the_marker_alone_and_repeat_themselves(language: Language) -> None:
    made = sample_scenarios(language, 100, split="test")

    async def all_of_them(closing: bool) -> list[Simulated]:
        sides = ScriptedSalesperson(), ScriptedCustomer()
        return [await simulate(scenario, *sides, seed=3, closing=closing) for scenario in made]

    dialogues = asyncio.run(all_of_them(closing=True))
    assert {(d.termination, d.marked) for d in dialogues} == {(Termination.CUSTOMER_ENDED, True)}
    assert dialogues == asyncio.run(all_of_them(closing=False))
