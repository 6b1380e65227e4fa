"""The chat-completions protocol: what is sent to an endpoint, and what its answer says."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from salesllm.chat.base import Reply, Sampling, Token, Usage
from salesllm.dialogue import Message

Omittable = Literal["temperature", "top_p", "max_tokens", "seed", "response_format", "logprobs"]

WAITING = "..."
"""What a conversation begins with for who cannot begin it: someone waits, in any language."""

_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


@dataclass(frozen=True)
class Quirks:
    """How an endpoint departs from the protocol.

    Attributes:
        max_tokens_field: What it calls the bound on a reply's length.
        extra_body: Added to every request, e.g. to turn thinking off.
        omit: What it refuses to be told.
        customer_first: False where a conversation may not begin with the speaker's own message, as
            the customer's does: a message `...` of the other side then goes before it.
    """

    max_tokens_field: str = "max_tokens"
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    omit: Sequence[Omittable] = ()
    customer_first: bool = True


def request_body(
    model: str, messages: Sequence[Message], sampling: Sampling, quirks: Quirks
) -> bytes:
    """The request, as JSON."""
    if not quirks.customer_first:
        messages = _begun_by_the_other(messages)
    # Written once: they are nearly all of the request, and the seed depends on them too.
    said = _json(messages)
    fields: dict[Omittable, dict[str, Any]] = {
        "temperature": {"temperature": sampling.temperature},
        "top_p": {"top_p": sampling.top_p},
        "max_tokens": {quirks.max_tokens_field: sampling.max_tokens},
    }
    if sampling.seed is not None:
        fields["seed"] = {"seed": _seed(sampling.seed, said)}
    if sampling.schema is not None:
        schema = {"name": "reply", "strict": True, "schema": sampling.schema}
        form = {"type": "json_schema", "json_schema": schema}
        fields["response_format"] = {"response_format": form}
    if sampling.top_logprobs:
        fields["logprobs"] = {"logprobs": True, "top_logprobs": sampling.top_logprobs}
    rest: dict[str, Any] = {"model": model}
    for name, values in fields.items():
        if name not in quirks.omit:
            rest |= values
    return f'{{"messages":{said},{_json({**rest, **quirks.extra_body})[1:]}'.encode()


def _begun_by_the_other(messages: Sequence[Message]) -> Sequence[Message]:
    start = next((i for i, m in enumerate(messages) if m["role"] != "system"), None)
    if start is None or messages[start]["role"] != "assistant":
        return messages
    return [*messages[:start], Message(role="user", content=WAITING), *messages[start:]]


def _seed(seed: int, said: str) -> int:
    """31 bits that depend on the prompt too, as every speaker's draws do.

    Under one seed a server draws the same random numbers for every request: each reply of a
    dialogue would begin at the same quantile of its distribution.
    """
    digest = hashlib.blake2b(f"{seed} {said}".encode(), digest_size=4).digest()
    return int.from_bytes(digest) >> 1


def parse_reply(body: bytes) -> Reply:
    """Reads an answer. What a model thought before it (`reasoning_content`) is no part of the text;
    it counts in the completion tokens, as it is paid for.

    Raises:
        ValueError, TypeError, KeyError, IndexError, AttributeError: It is no chat completion.
    """
    value = json.loads(body)
    choice = value["choices"][0]
    message = choice["message"]
    text, refusal = message.get("content") or "", message.get("refusal") or None
    if not isinstance(text, str) or not isinstance(refusal, str | None):
        raise TypeError("content or refusal is no text")
    text.encode()  # raises ValueError on half of a surrogate pair, which no file can hold
    usage = value.get("usage") or {}
    told = (choice.get("logprobs") or {}).get("content") or ()
    return Reply(
        text,
        Usage(int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)),
        choice.get("finish_reason") or "stop",
        refusal,
        tuple(_token(token) for token in told),
    )


def _token(told: Mapping[str, Any]) -> Token:
    top = tuple((t["token"], float(t["logprob"])) for t in told.get("top_logprobs") or ())
    return Token(told["token"], float(told["logprob"]), top)


def server_message(body: bytes) -> str:
    """What the server says went wrong, on one line."""
    text = body.decode(errors="replace")
    try:
        value = json.loads(text)
        error = (value[0] if isinstance(value, list) else value)["error"]  # Google lists its errors
        text = error["message"] if isinstance(error, dict) else str(error)
    except (ValueError, TypeError, LookupError):
        pass
    return " ".join(str(text).split())[:500] or "no message"


def retry_after(value: str | None) -> float:
    """Seconds of a `Retry-After` header, which is a number or an HTTP date; 0 without one."""
    if not value:
        return 0.0
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return 0.0
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - datetime.now(UTC)).total_seconds())
