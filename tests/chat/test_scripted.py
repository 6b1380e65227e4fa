"""Scripted speakers play whole dialogues, the same way every time."""

from __future__ import annotations

import asyncio
from typing import get_args

import pytest

from salesllm.chat import Chat, Sampling
from salesllm.chat.providers import ChatSpec, open_chat
from salesllm.chat.scripted import ScriptedCustomer, ScriptedSalesperson
from salesllm.dialogue import END_MARKER, Language, Speaker, Turn, messages_for, strip_end
from salesllm.errors import InputError
from salesllm.scenario import Scenario
from salesllm.scenarios.sampling import sample_scenarios


async def play(scenario: Scenario, seed: int, rounds: int = 20) -> tuple[list[Turn], bool]:
    """The turns, and whether the customer ended the dialogue."""
    sampling = Sampling(seed=seed)
    speakers: dict[Speaker, Chat] = {
        Speaker.CUSTOMER: ScriptedCustomer(),
        Speaker.SALESPERSON: ScriptedSalesperson(),
    }
    turns: list[Turn] = []
    for number in range(2 * rounds):
        speaker = list(speakers)[number % 2]
        messages = messages_for(turns, speaker, system=scenario.script(speaker))
        reply = await speakers[speaker].reply(messages, sampling, scenario)
        text, ended = strip_end(reply.text)
        turns.append(Turn(speaker=speaker, text=text))
        if ended:
            return turns, True
    return turns, False


@pytest.mark.parametrize("language", get_args(Language))
def test_a_scripted_pair_plays_to_the_end(language):
    for scenario in sample_scenarios(language, 25, split="test"):
        turns, ended = asyncio.run(play(scenario, seed=1))
        assert ended
        assert turns[0].text == scenario.attributes.initial_utterance
        assert 3 <= len(turns) <= 11
        assert not any(END_MARKER in turn.text for turn in turns)
        assert asyncio.run(play(scenario, seed=1)) == (turns, True)


def test_another_seed_gives_another_dialogue():
    scenario = sample_scenarios("en", 1, split="test")[0]
    played = {tuple(t.text for t in asyncio.run(play(scenario, seed=seed))[0]) for seed in range(5)}
    assert len(played) == 5


@pytest.mark.parametrize("model", ["salesperson", "customer"])
def test_without_a_scenario_there_is_nothing_to_say(model):
    chat = open_chat(ChatSpec(provider="scripted", model=model))
    assert chat.name == f"scripted/{model}"
    with pytest.raises(InputError, match="scenario"):
        asyncio.run(chat.reply([], Sampling()))
