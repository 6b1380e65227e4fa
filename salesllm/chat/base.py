"""The protocol of whoever takes one side of a dialogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from salesllm.dialogue import Message
from salesllm.scenario import Scenario


@dataclass(frozen=True)
class Sampling:
    """How to draw a reply; the defaults are the paper's (4.1). Temperature 0 is greedy.

    Attributes:
        max_tokens: Upper bound on the reply's length, in tokens.
        seed: Makes a local draw repeatable; an endpoint gets it where it takes one.
        schema: JSON schema of the reply, for endpoints that can be held to one.
        top_logprobs: Ask for the log-probabilities of so many likeliest tokens at every position,
            for endpoints that tell; 0 asks for none.
    """

    temperature: float = 0.8
    top_p: float = 0.99
    max_tokens: int = 2048
    seed: int | None = None
    schema: Mapping[str, Any] | None = None
    top_logprobs: int = 0


@dataclass(frozen=True)
class Usage:
    """Tokens of one call."""

    prompt_tokens: int = 0
    completion_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
        )


@dataclass(frozen=True)
class Token:
    """One token of a reply, with its log-probability and those of the likeliest in its place."""

    text: str
    logprob: float
    top: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Reply:
    """One message as the speaker gave it, the end-of-dialogue marker included.

    Attributes:
        finish_reason: `stop`, `length` or `content_filter`, in the words of the OpenAI protocol.
        refusal: What the endpoint says where it refused to answer; None where it did not.
        tokens: The reply's tokens, where `Sampling.top_logprobs` asked and the endpoint told.
    """

    text: str
    usage: Usage = field(default_factory=Usage)
    finish_reason: str = "stop"
    refusal: str | None = None
    tokens: tuple[Token, ...] = ()


class Chat(Protocol):
    """A speaker: given its own view of the dialogue so far, it says the next message."""

    name: str

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, scenario: Scenario | None = None
    ) -> Reply:
        """Says the next message.

        Args:
            messages: The dialogue from this speaker's viewpoint (`salesllm.dialogue.messages_for`),
                its script first as the system message.
            scenario: For scripted speakers, which read facts from it and not from a prompt.
        """
        ...
