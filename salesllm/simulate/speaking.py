"""How one side comes by its next message: drawn, cleaned, and judged by a guard."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from salesllm.chat.base import Chat, Reply, Sampling, Usage
from salesllm.dialogue import Speaker, Turn, messages_for
from salesllm.scenario import Scenario
from salesllm.simulate.cleaning import Cleaned, Kind, clean
from salesllm.simulate.guard import Guard, GuardCounts
from salesllm.simulate.outcome import Termination

REDRAWS = 2
"""How often an empty or refused reply is drawn again, with another seed, before giving up."""


class Draft(NamedTuple):
    """What a side would say next, and why the model stopped there."""

    cleaned: Cleaned
    finish_reason: str

    @property
    def leaves(self) -> bool:
        """Whether it says itself that this is the end."""
        return self.cleaned.marked or self.cleaned.hung_up


class Silence(NamedTuple):
    """A side that said nothing, and why."""

    termination: Termination
    error: str


class Side:
    """A speaker in one dialogue: what it has heard, what it draws, and what that took.

    Args:
        seed_of: The seed of an attempt at a turn, by the attempt's number; the same in every turn.
        guard: Judges its drafts.

    Attributes:
        usage: Tokens of all attempts.
        cleaned: What was cut out of its turns, by kind.
        guarded: What the guard made of its drafts.
    """

    def __init__(
        self,
        speaker: Speaker,
        chat: Chat,
        script: str,
        scenario: Scenario,
        sampling: Sampling,
        seed_of: Callable[[int], int],
        guard: Guard | None = None,
    ) -> None:
        self.speaker, self.usage = speaker, Usage()
        self.cleaned = dict.fromkeys((kind.value for kind in Kind), 0)
        self.guarded = GuardCounts()
        self._chat, self._scenario, self._guard = chat, scenario, guard
        self._messages = messages_for((), speaker, system=script)
        self._sampling, self._seed_of = sampling, seed_of
        self._samplings: list[Sampling] = []

    def hear(self, turn: Turn) -> None:
        """Adds a turn, of either side, to what this one sees."""
        self._messages += messages_for((turn,), self.speaker)

    async def speak(self, turns: Sequence[Turn]) -> Draft | Silence:
        """Says the next message. A chat or a guard that raises is silent."""
        self._attempts = 0
        try:
            draft = await (self._draw() if self._guard is None else self._guarded(turns))
        except Exception as error:  # whatever it was, the other dialogues go on
            return Silence(Termination.ERROR, f"{type(error).__name__}: {error}")
        if isinstance(draft, Draft):
            for kind, count in draft.cleaned.removed.items():
                self.cleaned[kind] += count
        return draft

    async def _draw(self) -> Draft | Silence:
        for _ in range(REDRAWS + 1):
            messages = [*self._messages]  # a chat may keep what it is given
            reply = await self._chat.reply(messages, self._next_sampling(), self._scenario)
            self.usage += reply.usage
            refused = reply.refusal is not None or reply.finish_reason == "content_filter"
            if refused:
                continue
            draft = Draft(clean(reply.text, self.speaker), reply.finish_reason)
            if draft.cleaned.text or draft.leaves:
                return draft
        return self._silence(reply, refused)

    async def _guarded(self, turns: Sequence[Turn]) -> Draft | Silence:
        guard, counts = self._guard, self.guarded
        assert guard is not None
        flagged: Draft | None = None
        for _ in range(guard.redraws + 1):
            draft = await self._draw()
            if isinstance(draft, Silence):
                break
            if not draft.cleaned.text:
                return draft  # it left without a word
            verdict = guard.flags(turns, draft.cleaned.text, self._scenario.language)
            if inspect.isawaitable(verdict):
                verdict = await verdict
            counts.drafts += 1
            counts.turns += flagged is None
            if not verdict:
                return draft
            counts.flagged += flagged is None
            flagged = draft
        if flagged is None:
            return draft
        counts.kept_flagged += 1
        return flagged

    def _next_sampling(self) -> Sampling:
        if self._attempts == len(self._samplings):
            seed = self._seed_of(self._attempts)
            self._samplings.append(replace(self._sampling, seed=seed))
        self._attempts += 1
        return self._samplings[self._attempts - 1]

    def _silence(self, reply: Reply, refused: bool) -> Silence:
        tries = f"in {REDRAWS + 1} attempts ({reply.finish_reason})"
        if refused:
            why = f": {reply.refusal}" if reply.refusal else ""
            return Silence(Termination.REFUSED, f"the {self.speaker.value} refused {tries}{why}")
        removed = clean(reply.text, self.speaker).removed
        but = f", but for {', '.join(removed)}" if removed else ""
        problem = f"the {self.speaker.value} said nothing {tries}{but}"
        return Silence(Termination.ERROR, problem)
