"""Teacher-forced prediction: what would this customer say here, after what was really said?

Every true customer turn that answers a salesperson is a target. The customer model sees the true
turns before it, never its own earlier predictions, so every model is asked the same questions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from salesllm import loop
from salesllm.chat.base import Chat, Reply, Sampling
from salesllm.chat.endpoint import EndpointError
from salesllm.dialogue import Dialogue, Language, Message, Speaker, Turn, messages_for, strip_end
from salesllm.errors import InputError
from salesllm.scenario import Scenario, find_scenario


@runtime_checkable
class BatchChat(Protocol):
    """A speaker that answers many conversations at once: a local checkpoint."""

    def generate(self, batch: Sequence[Sequence[Message]], sampling: Sampling) -> list[Reply]: ...


SystemPrompt = Callable[[Dialogue, Scenario | None], str]
"""Makes the customer's system prompt: `system_prompt` with a model's settings bound."""


@dataclass(frozen=True)
class Target:
    """One true customer turn to predict.

    Attributes:
        turn: Its 0-based position in the dialogue, which is also the length of its history.
    """

    dialogue: Dialogue
    turn: int

    @property
    def text(self) -> str:
        return self.dialogue.turns[self.turn].text

    @property
    def language(self) -> Language:
        return self.dialogue.language

    @property
    def ends(self) -> bool:
        """Whether the customer says nothing after it."""
        return all(not _is_customer(turn) for turn in self.dialogue.turns[self.turn + 1 :])


@dataclass(frozen=True)
class Prediction:
    """What a customer model said in place of a true turn.

    Attributes:
        text: Without the end-of-dialogue marker; None where the call failed.
        ended: Whether the model ended the dialogue here.
        error: Why there is no prediction. A failure is counted, and never scored.
    """

    target: Target
    text: str | None
    ended: bool = False
    finish_reason: str | None = None
    error: str | None = None

    def as_dict(self) -> dict[str, Any]:
        target = self.target
        return {
            "dialogue_id": target.dialogue.id,
            "turn": target.turn,
            "language": target.language,
            "reference": target.text,
            "reference_ends": target.ends,
            "prediction": self.text,
            "ended": self.ended,
            "finish_reason": self.finish_reason,
            "error": self.error,
        }


def find_targets(
    dialogues: Sequence[Dialogue], *, max_turns: int | None = None, seed: int = 0
) -> list[Target]:
    """Every customer turn with a salesperson's turn somewhere before it, in order.

    A customer's opening has no history to be predicted from, and is left out.

    Args:
        max_turns: At most so many a language, drawn at random over all dialogues.
        seed: Of that draw.
    """
    found = []
    for dialogue in dialogues:
        customers = [_is_customer(turn) for turn in dialogue.turns]
        first_answer = customers.index(False) + 1
        turns = range(first_answer, len(customers))
        found += [Target(dialogue, i) for i in turns if customers[i]]
    if max_turns is None:
        return found
    rng, kept = np.random.default_rng(seed), set[int]()
    for language in sorted({target.language for target in found}):
        places = [i for i, target in enumerate(found) if target.language == language]
        kept.update(rng.permutation(places)[:max_turns].tolist())
    return [found[i] for i in sorted(kept)]


def predict(
    chat: Chat | BatchChat,
    targets: Sequence[Target],
    scenarios: Mapping[str, Scenario] | None,
    system_prompt: SystemPrompt,
    sampling: Sampling,
    *,
    batch_size: int = 32,
    advance: Callable[[int], object] = lambda turns: None,
) -> list[Prediction]:
    """Predicts every target, in its order.

    Args:
        batch_size: Conversations in one batch of a local checkpoint, or calls in flight at once.
        advance: Called with the number of turns done since its last call.

    Raises:
        InputError: A dialogue's scenario is unknown, or every single call failed.
    """
    scenes = []
    for target in targets:
        scenario = find_scenario(target.dialogue, scenarios)
        history = target.dialogue.turns[: target.turn]
        system = system_prompt(target.dialogue, scenario)
        scenes.append((messages_for(history, Speaker.CUSTOMER, system=system), scenario))
    if isinstance(chat, BatchChat):
        outcomes = _in_batches(chat, [m for m, _ in scenes], sampling, batch_size, advance)
    else:
        outcomes = loop.run(_at_once(chat, scenes, sampling, batch_size, advance))
    failures = [outcome for outcome in outcomes if isinstance(outcome, EndpointError)]
    if failures and len(failures) == len(outcomes):
        raise InputError(f"every call failed, the first with: {failures[0]}", field="customers")
    return [_prediction(t, outcome) for t, outcome in zip(targets, outcomes, strict=True)]


def _in_batches(
    chat: BatchChat,
    prompts: Sequence[Sequence[Message]],
    sampling: Sampling,
    batch_size: int,
    advance: Callable[[int], object],
) -> list[Reply | EndpointError]:
    """Longest prompts first: alike in length, a batch has little padding; memory runs out early."""
    sizes = [sum(len(message["content"]) for message in prompt) for prompt in prompts]
    order = sorted(range(len(prompts)), key=lambda i: -sizes[i])
    outcomes: dict[int, Reply | EndpointError] = {}
    for start in range(0, len(order), batch_size):
        batch = order[start : start + batch_size]
        replies = chat.generate([prompts[i] for i in batch], sampling)
        outcomes.update(zip(batch, replies, strict=True))
        advance(len(batch))
    return [outcomes[i] for i in range(len(prompts))]


async def _at_once(
    chat: Chat,
    scenes: Sequence[tuple[Sequence[Message], Scenario | None]],
    sampling: Sampling,
    limit: int,
    advance: Callable[[int], object],
) -> list[Reply | EndpointError]:
    slots = asyncio.Semaphore(limit)

    async def one(messages: Sequence[Message], scenario: Scenario | None) -> Reply | EndpointError:
        async with slots:
            try:
                return await chat.reply(messages, sampling, scenario)
            except EndpointError as error:
                return error
            finally:
                advance(1)

    return await asyncio.gather(*(one(*scene) for scene in scenes))


def _prediction(target: Target, outcome: Reply | EndpointError) -> Prediction:
    if isinstance(outcome, EndpointError):
        return Prediction(target, None, error=f"{type(outcome).__name__}: {outcome}")
    text, ended = strip_end(outcome.text)
    return Prediction(target, text.strip(), ended, outcome.finish_reason)


def _is_customer(turn: Turn) -> bool:
    return turn.speaker is Speaker.CUSTOMER
