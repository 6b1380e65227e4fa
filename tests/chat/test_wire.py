"""What is sent to an endpoint, quirks and all, and what is read in its answers."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from salesllm.chat.base import Reply, Sampling, Token, Usage
from salesllm.chat.wire import Quirks, parse_reply, request_body, retry_after, server_message
from salesllm.dialogue import Message

SAID = [
    Message(role="system", content="You are the customer."),
    Message(role="assistant", content="多少钱？"),
    Message(role="user", content='199 "only"'),
]
ALL = Sampling(seed=3, schema={"type": "object"}, top_logprobs=5)


def sent(
    messages: list[Message] = SAID, sampling: Sampling = ALL, quirks: Quirks | None = None
) -> dict[str, Any]:
    return dict(json.loads(request_body("m", messages, sampling, quirks or Quirks())))


def test_everything_that_can_be_asked() -> None:
    body = sent()
    assert 0 <= body.pop("seed") < 2**31
    assert body == {
        "model": "m",
        "messages": SAID,
        "temperature": 0.8,
        "top_p": 0.99,
        "max_tokens": 2048,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "reply", "strict": True, "schema": {"type": "object"}},
        },
        "logprobs": True,
        "top_logprobs": 5,
    }
    assert sent(sampling=Sampling()).keys() == {
        "model", "messages", "temperature", "top_p", "max_tokens"
    }  # fmt: skip


def test_quirks() -> None:
    quirks = Quirks(
        max_tokens_field="max_completion_tokens",
        extra_body={"thinking": {"type": "disabled"}, "top_p": 1},
        omit=("temperature", "top_p", "seed", "logprobs", "response_format"),
    )
    assert sent(quirks=quirks) == {
        "model": "m",
        "messages": SAID,
        "max_completion_tokens": 2048,
        "thinking": {"type": "disabled"},
        "top_p": 1,
    }
    assert "max_completion_tokens" not in sent(
        quirks=Quirks("max_completion_tokens", {}, ["max_tokens"])
    )


def test_a_conversation_that_the_speaker_itself_begins() -> None:
    quirks = Quirks(customer_first=False)
    begun = {"role": "user", "content": "..."}
    assert sent(quirks=quirks)["messages"] == [SAID[0], begun, *SAID[1:]]
    assert sent(SAID[1:], quirks=quirks)["messages"] == [begun, *SAID[1:]]
    for messages in (SAID[:1], SAID[2:], [SAID[0], SAID[2]]):  # a salesperson's, a judge's
        assert sent(messages, quirks=quirks)["messages"] == messages


def test_the_seed_follows_from_seed_and_conversation_alone() -> None:
    seed = sent()["seed"]
    quirks = Quirks("other", {"thinking": False}, ["temperature"])
    assert sent(sampling=Sampling(1.0, 0.5, 8, seed=3), quirks=quirks)["seed"] == seed
    assert sent(sampling=Sampling(seed=4))["seed"] != seed
    assert sent(SAID[:2])["seed"] != seed
    code = "import json; from test_wire import sent; print(sent()['seed'])"  # in another process
    path = f"import sys; sys.path.insert(0, {str(__file__.rpartition('/')[0])!r}); {code}"
    done = subprocess.run([sys.executable, "-c", path], capture_output=True, text=True, check=True)
    assert int(done.stdout) == seed


def answer(choice: dict[str, Any], **more: Any) -> bytes:
    return json.dumps({"choices": [choice], **more}).encode()


def test_log_probabilities() -> None:
    top = [{"token": "8", "logprob": -0.1}, {"token": "７", "logprob": -2.5, "bytes": [1]}]
    content = [
        {"token": "8", "logprob": -0.1, "top_logprobs": top},
        {"token": "!", "logprob": -9999, "top_logprobs": []},
    ]
    choice = {"message": {"content": "8!"}, "logprobs": {"content": content}}
    assert parse_reply(answer(choice)).tokens == (
        Token("8", -0.1, (("8", -0.1), ("７", -2.5))),
        Token("!", -9999.0),
    )
    for untold in (None, {}, {"content": None}):
        assert parse_reply(answer(choice | {"logprobs": untold})).tokens == ()


def test_refusals_reasoning_and_what_is_missing() -> None:
    refused = {"message": {"content": None, "refusal": "I can't help with that."}}
    assert parse_reply(answer(refused)) == Reply("", refusal="I can't help with that.")
    thought = {"content": "Hi", "reasoning_content": "They want a greeting.", "reasoning": "So.",
               "refusal": None}  # fmt: skip
    usage = {"prompt_tokens": 9, "completion_tokens": 40, "total_tokens": 49}
    reply = parse_reply(answer({"message": thought, "finish_reason": "length"}, usage=usage))
    assert reply == Reply("Hi", Usage(9, 40), "length")
    assert parse_reply(
        answer({"message": {"content": ""}}, usage={"prompt_tokens": None})
    ) == Reply("")


@pytest.mark.parametrize(
    "body",
    [
        b"", b"null", b"[]", b"{}", b'{"choices": []}', b'{"choices": [{}]}', b"\xff\xfe{",
        answer({"message": None}), answer({"message": {"content": [{"text": "a"}]}}),
        answer({"message": {"content": "half of \ud83d"}}),
        answer({"message": {"content": "", "refusal": True}}),
        answer({"message": {"content": "8"}, "logprobs": {"content": [{"token": "8"}]}}),
        answer({"message": {"content": "8"}}, usage={"prompt_tokens": "many"}),
    ],
)  # fmt: skip
def test_what_is_no_answer(body: bytes) -> None:
    with pytest.raises((ValueError, TypeError, KeyError, IndexError, AttributeError)):
        parse_reply(body)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error": {"message": "too \\n many"}}', "too many"),
        (b'{"error": "plain"}', "plain"),
        (b'[{"error": {"code": 400, "message": "Google lists them"}}]', "Google lists them"),
        (b"<html>\xff</html>", "<html>\N{REPLACEMENT CHARACTER}</html>"),
        (b"[]", "[]"),
        (b" ", "no message"),
        (b"x" * 600, "x" * 500),
    ],
)
def test_what_the_server_says(body: bytes, message: str) -> None:
    assert server_message(body) == message


def test_retry_after_forms() -> None:
    later = datetime.now(UTC) + timedelta(seconds=90)
    assert retry_after(format_datetime(later, usegmt=True)) == pytest.approx(90, abs=2)
    assert retry_after(format_datetime(later - timedelta(days=1), usegmt=True)) == 0
    assert [retry_after(v) for v in ("7", "1.5", "-3", "soon", "", None)] == [7, 1.5, 0, 0, 0, 0]
