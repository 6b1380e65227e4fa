"""A model of Inspect's as a `Chat`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    model_roles,
)

from salesllm.chat.base import Chat, Reply, Sampling, Token, Usage
from salesllm.chat.endpoint import EndpointError
from salesllm.chat.providers import ChatSpec, open_chat
from salesllm.dialogue import Message
from salesllm.scenario import Scenario
from salesllm.simulate import derived_seed

_MESSAGE = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}
_FINISH = {"max_tokens": "length", "model_length": "length", "content_filter": "content_filter"}


class InspectChat:
    """A speaker or judge for one dialogue, whose calls Inspect makes, retries and logs.

    Args:
        model: Its own settings take precedence over those of a call.
        free: Leave sampling to Inspect altogether, but for the seed.

    Attributes:
        output: Its last answer.
        failure: What it raised, which whoever asks it may swallow; Inspect treats limits by type.
    """

    def __init__(self, model: Model, *, free: bool = False) -> None:
        self.model, self.free, self.name = model, free, str(model)
        self.output: ModelOutput | None = None
        self.failure: Exception | None = None

    async def reply(
        self, messages: Sequence[Message], sampling: Sampling, scenario: Scenario | None = None
    ) -> Reply:
        """Says the next message; raises whatever Inspect raises."""
        try:
            self.output = await self.model.generate(
                inspect_messages(messages), config=self._config(messages, sampling)
            )
            if self.output.empty:
                raise EndpointError(f"{self.name} gave no answer: {self.output.error}")
        except Exception as error:
            self.failure = error
            raise
        return _reply(self.output)

    def _config(self, messages: Sequence[Message], sampling: Sampling) -> GenerateConfig:
        config = GenerateConfig()
        if sampling.seed is not None:  # mixed with the prompt, as every speaker's is
            said = (message["content"] for message in messages)
            config.seed = derived_seed(sampling.seed, *said)
        if sampling.top_logprobs:
            config.logprobs, config.top_logprobs = True, sampling.top_logprobs
        if not self.free:
            config.temperature, config.top_p = sampling.temperature, sampling.top_p
            config.max_tokens = sampling.max_tokens
        return config.merge(self.model.config)


def inspect_messages(messages: Sequence[Message]) -> list[ChatMessage]:
    """The same messages for Inspect.

    Ids follow from content and place, so the log keeps one copy of what many calls send again.
    """
    return [
        _MESSAGE[role := message["role"]](
            id=f"{derived_seed(number, role, message['content']):08x}", content=message["content"]
        )
        for number, message in enumerate(messages)
    ]


def _reply(output: ModelOutput) -> Reply:
    choice, used = output.choices[0], output.usage
    refused = choice.stop_reason == "content_filter"
    details = choice.stop_details
    usage = Usage()
    if used is not None:
        cached = (used.input_tokens_cache_read or 0) + (used.input_tokens_cache_write or 0)
        usage = Usage(used.input_tokens + cached, used.output_tokens)
    return Reply(
        output.completion,
        usage,
        _FINISH.get(choice.stop_reason, "stop"),
        refusal=(details and details.explanation) or output.error or "filtered"
        if refused
        else None,
        tokens=tuple(
            Token(
                token.token,
                token.logprob,
                tuple((top.token, top.logprob) for top in token.top_logprobs or ()),
            )
            for token in (choice.logprobs.content if choice.logprobs else ())
        ),
    )


class Part:
    """Who takes a part: the models of an Inspect role where it is given, else the recipe's.

    The recipe's are opened at once, so that a missing key or checkpoint is found before any call.

    Args:
        role: Name of the role.
        specs: The recipe's.

    Raises:
        InputError: One of the recipe's cannot be opened, and the role is not given.
    """

    def __init__(self, role: str, specs: Sequence[ChatSpec]) -> None:
        self.role = role
        own = () if role in model_roles() else specs
        self._own: list[Chat] = [_open(spec.model_dump_json()) for spec in own]

    def chats(self) -> list[Chat]:
        """For one dialogue, and only while it runs."""
        given = model_roles().get(self.role)
        if given is None:
            return self._own
        return [InspectChat(model) for model in (given if isinstance(given, list) else [given])]


@cache
def _open(spec: str) -> Chat:
    """One checkpoint in memory, and one limit on calls, however many tasks name the speaker."""
    return open_chat(ChatSpec.model_validate_json(spec))
