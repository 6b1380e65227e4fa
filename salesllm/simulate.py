"""One dialogue between a salesperson and a customer, from the customer's opener to its end.

A round is one message of each side; the customer's opener is its message of round 1. The customer
may end the dialogue by writing `END_MARKER`, which nobody else ever reads; else the round limit
does.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path

from salesllm.chat.base import Chat, Sampling, Usage
from salesllm.dialogue import END_MARKER, Speaker, Turn, messages_for
from salesllm.scenario import Scenario
from salesllm.scenarios.scripts import ScriptStyle, customer_script, salesperson_script

REDRAWS = 2
"""How often an empty reply is drawn again, with another seed, before the dialogue is given up."""


class Termination(StrEnum):
    """Why a dialogue ended."""

    CUSTOMER_ENDED = "customer_ended"
    ROUND_LIMIT = "round_limit"
    EMPTY_REPLY = "empty_reply"
    SALESPERSON_FAILED = "salesperson_failed"
    CUSTOMER_FAILED = "customer_failed"

    @property
    def failed(self) -> bool:
        """Whether somebody could not speak: such a dialogue is counted, and never scored."""
        return self not in (Termination.CUSTOMER_ENDED, Termination.ROUND_LIMIT)


_FAILED = {
    Speaker.SALESPERSON: Termination.SALESPERSON_FAILED,
    Speaker.CUSTOMER: Termination.CUSTOMER_FAILED,
}


@dataclass(frozen=True)
class Simulated:
    """A dialogue as it went.

    Attributes:
        turns: The opener first; without `END_MARKER`. Those before the failure if it failed.
        usage: Tokens of each side, redrawn replies included.
        finish_reasons: One a turn; None for the opener, which nobody generated.
        error: What went wrong, if the termination is a failure.
    """

    turns: tuple[Turn, ...]
    termination: Termination
    usage: dict[Speaker, Usage]
    finish_reasons: tuple[str | None, ...]
    error: str | None = None


async def simulate(
    scenario: Scenario,
    salesperson: Chat,
    customer: Chat,
    *,
    rounds: int = 20,
    sampling: Sampling | None = None,
    customer_style: ScriptStyle = "script",
    seed: int = 0,
    prompts_dir: str | Path | None = None,
) -> Simulated:
    """Lets the two talk.

    Args:
        rounds: At most so many messages of each side, the customer's opener included.
        sampling: Of both sides. Its seed is replaced by one that follows from `seed`, the
            scenario and the side; every `Chat` mixes it with the dialogue so far, so the same
            call gives the same dialogue wherever the speakers honour seeds.
        customer_style: The customer's prompt, where the scenario brings no script of its own.

    Returns:
        The dialogue. A speaker that raises ends it with a failure; the exception goes no further.
    """
    sampling = sampling or Sampling()
    chats = {Speaker.SALESPERSON: salesperson, Speaker.CUSTOMER: customer}
    scripts = {
        Speaker.SALESPERSON: scenario.scripts.get(Speaker.SALESPERSON)
        or salesperson_script(scenario, prompts_dir=prompts_dir),
        Speaker.CUSTOMER: customers_script(scenario, customer_style, prompts_dir),
    }
    turns = [Turn(speaker=Speaker.CUSTOMER, text=scenario.attributes.initial_utterance)]
    usage = {speaker: Usage() for speaker in Speaker}
    reasons: list[str | None] = [None]

    def ended(termination: Termination, error: str | None = None) -> Simulated:
        return Simulated(tuple(turns), termination, usage, tuple(reasons), error)

    for _ in range(2 * rounds - 1):
        speaker = turns[-1].speaker.other
        messages = messages_for(turns, speaker, system=scripts[speaker])
        for attempt in range(REDRAWS + 1):
            drawn = derived_seed(seed, scenario.id, speaker, attempt)
            try:
                reply = await chats[speaker].reply(
                    messages, replace(sampling, seed=drawn), scenario
                )
            except Exception as error:  # whatever it was, the other dialogues go on
                return ended(_FAILED[speaker], f"{type(error).__name__}: {error}")
            usage[speaker] = _sum(usage[speaker], reply.usage)
            text, marked = said(reply.text)
            last_word = marked and speaker is Speaker.CUSTOMER
            if text or last_word:
                break
        else:
            problem = f"the {speaker.value} said nothing in {REDRAWS + 1} attempts"
            return ended(Termination.EMPTY_REPLY, f"{problem} ({reply.finish_reason})")
        if text:
            turns.append(Turn(speaker=speaker, text=text))
            reasons.append(reply.finish_reason)
        if last_word:
            return ended(Termination.CUSTOMER_ENDED)
    return ended(Termination.ROUND_LIMIT)


def said(reply: str) -> tuple[str, bool]:
    """A reply's text, and whether it bore the marker: what follows that was said to nobody."""
    text, marker, _ = (part.strip() for part in reply.partition(END_MARKER))
    return text, bool(marker)


def customers_script(
    scenario: Scenario, style: ScriptStyle, prompts_dir: str | Path | None = None
) -> str:
    """What the customer of a simulation is told: the scenario's own script if it brings one."""
    own = scenario.scripts.get(Speaker.CUSTOMER) if style == "script" else None
    return own or customer_script(scenario, style, prompts_dir)


def _sum(a: Usage, b: Usage) -> Usage:
    return Usage(a.prompt_tokens + b.prompt_tokens, a.completion_tokens + b.completion_tokens)


def derived_seed(*parts: str | int) -> int:
    """31 bits that depend on all parts: every endpoint takes so small a number."""
    text = "\0".join(map(str, parts))
    digest = hashlib.blake2b(text.encode(), digest_size=4).digest()
    return int.from_bytes(digest) >> 1
