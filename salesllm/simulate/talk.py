"""The dialogue itself.

A round is one message of each side; the customer's opener is its message of round 1. A dialogue
ends at the round limit, or before that

- where a side writes `END_MARKER`, which nobody else ever reads, or is said to hang up;
- where what is said closes it (`salesllm.simulate.closing`);
- where it goes round in circles: in four turns in a row, two of each side, nobody has said
  anything that it had not said before, but for case, spaces and punctuation;
- where a side is silent.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path

from salesllm.chat.base import Chat, Sampling
from salesllm.dialogue import Speaker, Turn
from salesllm.scenario import Scenario
from salesllm.scenarios.scripts import ScriptStyle, script_of
from salesllm.simulate.closing import closed_by
from salesllm.simulate.guard import Guard
from salesllm.simulate.outcome import Simulated, Termination
from salesllm.simulate.seeds import derived_seed
from salesllm.simulate.speaking import Side, Silence

STALE_TURNS = 4
"""So many turns in a row without anything new are a dialogue that goes nowhere."""

_ENDED = {
    Speaker.CUSTOMER: Termination.CUSTOMER_ENDED,
    Speaker.SALESPERSON: Termination.SALESPERSON_ENDED,
}
_NOT_WORDS = re.compile(r"[\W_]+")


async def simulate(
    scenario: Scenario,
    salesperson: Chat,
    customer: Chat,
    *,
    rounds: int = 20,
    sampling: Sampling | None = None,
    customer_style: ScriptStyle = "script",
    seed: int = 0,
    repeat: int = 0,
    prompts_dir: str | Path | None = None,
    closing: bool = True,
    guard: Guard | None = None,
) -> Simulated:
    """Lets the two talk.

    Args:
        rounds: At most so many messages of each side, the customer's opener included.
        sampling: Of both sides. Its seed is replaced by one that follows from `seed`, the
            scenario, the side and `repeat`; every `Chat` mixes it with the dialogue so far, so the
            same call gives the same dialogue wherever the speakers honour seeds.
        customer_style: The customer's prompt, where the scenario brings no script of its own.
        repeat: Which of several dialogues about the scenario this is, from 0.
        closing: Whether a dialogue also ends where what is said closes it, without a marker.
        guard: Judges the customer's drafts before the salesperson hears them.

    Returns:
        The dialogue. A speaker that raises ends it with a failure; the exception goes no further.
    """
    styles: dict[Speaker, ScriptStyle] = {
        Speaker.SALESPERSON: "script",
        Speaker.CUSTOMER: customer_style,
    }
    sides = {
        speaker: Side(
            speaker,
            chat,
            script_of(scenario, speaker, styles[speaker], prompts_dir),
            scenario,
            sampling or Sampling(),
            partial(_seed, seed, scenario.id, speaker, repeat),
            guard if speaker is Speaker.CUSTOMER else None,
        )
        for speaker, chat in ((Speaker.SALESPERSON, salesperson), (Speaker.CUSTOMER, customer))
    }
    turns: list[Turn] = []
    reasons: list[str | None] = []
    circles = _Circles()

    def add(speaker: Speaker, text: str, reason: str | None) -> None:
        turns.append(Turn(speaker=speaker, text=text))
        reasons.append(reason)
        for side in sides.values():
            side.hear(turns[-1])
        circles.add(turns[-1])

    def ended(
        termination: Termination,
        by: Speaker | None = None,
        *,
        marked: bool = False,
        error: str | None = None,
    ) -> Simulated:
        return Simulated(
            tuple(turns),
            termination,
            {speaker: side.usage for speaker, side in sides.items()},
            tuple(reasons),
            {speaker: side.cleaned for speaker, side in sides.items()},
            by,
            marked,
            error,
            sides[Speaker.CUSTOMER].guarded if guard else None,
        )

    add(Speaker.CUSTOMER, scenario.attributes.initial_utterance, None)
    for _ in range(2 * rounds - 1):
        speaker = turns[-1].speaker.other
        draft = await sides[speaker].speak(turns)
        if isinstance(draft, Silence):
            return ended(draft.termination, speaker, error=draft.error)
        if draft.cleaned.text:
            add(speaker, draft.cleaned.text, draft.finish_reason)
        if draft.leaves:
            return ended(_ENDED[speaker], speaker, marked=draft.cleaned.marked)
        if closing and (closer := closed_by(turns, scenario.language)):
            return ended(_ENDED[closer], closer)
        if circles.stale_turns >= STALE_TURNS:
            return ended(Termination.REPETITION)
    return ended(Termination.ROUND_LIMIT)


def _seed(seed: int, scenario: str, speaker: Speaker, repeat: int, attempt: int) -> int:
    # The first of several dialogues has the seeds of an only one.
    return derived_seed(seed, scenario, speaker, attempt, *((repeat,) if repeat else ()))


class _Circles:
    """How many turns in a row have said nothing new."""

    def __init__(self) -> None:
        self.stale_turns = 0
        self._said: set[tuple[Speaker, str]] = set()

    def add(self, turn: Turn) -> None:
        said = turn.speaker, _NOT_WORDS.sub("", turn.text.casefold())
        self.stale_turns = self.stale_turns + 1 if said in self._said else 0
        self._said.add(said)
