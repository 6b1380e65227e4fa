"""Small real things that many tests need, built once a session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback import Loopback
from runs import CANARY, actor
from transformers import PreTrainedTokenizerBase

from salesllm.training.tiny import train_tokenizer

TEXTS = [
    "hi, is the vacuum still on offer? how much is it, and does delivery cost extra?",
    "It is 199 dollars with free delivery, and it picks up pet hair better than most.",
    "too expensive for me, not today thanks [END]",
    "你好，这个存款利率多少？能提前取吗？",
    "三年期年利率两个点，五万起存，支持提前支取，您看今天方便办理吗？",
    "算了吧，我再考虑考虑 [END]",
]


@pytest.fixture(scope="session")
def tokenizer() -> PreTrainedTokenizerBase:
    """A BPE of 600 tokens with our template."""
    return train_tokenizer(TEXTS, 600)


@pytest.fixture(scope="session")
def repository() -> Path:
    return Path(__file__).resolve().parents[1]


@pytest.fixture
def loopback() -> Iterator[Loopback]:
    """An endpoint that speaks the OpenAI protocol, on a port of this machine."""
    with Loopback() as running:
        yield running


@pytest.fixture
def actors(monkeypatch: pytest.MonkeyPatch) -> Iterator[Loopback]:
    """A seller, a buyer and a judge, behind a key."""
    monkeypatch.setenv("BENCHMARK_TEST_KEY", CANARY)
    with Loopback(reply=actor, key=CANARY) as running:
        yield running
