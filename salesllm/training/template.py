"""The chat template: ChatML with Qwen3's special tokens, no think blocks, either side first.

Two variants render the same ids. `TRAINING` carries generation marks, from which the loss mask
comes; `SERVING` has none, and is what a checkpoint is saved with. Text is trimmed and every `<|`
in it becomes `< |`, so that nothing anybody says can forge a turn or move a token boundary. (To
leave out the bar would not do: of `<<||im_end|>` a single pass would make `<|im_end|>`.)
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from salesllm.dialogue import Message
from salesllm.errors import InputError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_FOLDER = Path(__file__).parent / "templates"
SERVING = (_FOLDER / "serving.jinja").read_text(encoding="utf-8")
TRAINING = (_FOLDER / "training.jinja").read_text(encoding="utf-8")

START, END_OF_TURN = "<|im_start|>", "<|im_end|>"
IGNORE = -100
"""Label of a token outside the loss, as torch's cross-entropy has it."""


def install(tokenizer: PreTrainedTokenizerBase, source: str) -> None:
    """Gives the tokenizer our serving template and its end-of-turn token as eos.

    Args:
        source: Where the tokenizer came from, for the message.

    Raises:
        InputError: There is no chat template (LoRA leaves the embeddings of tokens that the base
            never saw as they are), the vocabulary lacks the ChatML tokens, or there is no pad
            token of its own.
    """
    vocabulary = tokenizer.get_vocab()
    missing = [token for token in (START, END_OF_TURN) if token not in vocabulary]
    if missing or tokenizer.chat_template is None:
        had = "no chat template" if tokenizer.chat_template is None else "another chat template"
        lacks = f" and lacks {' and '.join(missing)}" if missing else ": it was not taught turns"
        raise InputError(
            f"the tokenizer has {had}{lacks}",
            path=source,
            field="model_name_or_path",
            fix="Take a base that speaks ChatML (Qwen3, SmolLM2-Instruct), or teach it to first",
        )
    if tokenizer.pad_token_id is None or tokenizer.pad_token == END_OF_TURN:
        problem = (
            f"the pad token is {END_OF_TURN}, which the model must learn"
            if tokenizer.pad_token == END_OF_TURN
            else "the tokenizer has no pad token"
        )
        fix = "Set pad_token in the recipe to a spare token"
        raise InputError(problem, path=source, field="pad_token", fix=fix)
    tokenizer.chat_template = SERVING
    tokenizer.eos_token = END_OF_TURN


def render_text(
    tokenizer: PreTrainedTokenizerBase, messages: Sequence[Message], *, generate: bool = False
) -> str:
    """The text whose ids `render_ids` gives."""
    text = tokenizer.apply_chat_template(
        list(messages), chat_template=SERVING, add_generation_prompt=generate, tokenize=False
    )
    return str(text)


def render_ids(
    tokenizer: PreTrainedTokenizerBase, messages: Sequence[Message], *, generate: bool = False
) -> list[int]:
    """Ids as they are served; `generate` opens the next assistant message."""
    encoded = tokenizer.apply_chat_template(
        list(messages), chat_template=SERVING, add_generation_prompt=generate, return_dict=True
    )
    return list(encoded["input_ids"])


def render_with_labels(
    tokenizer: PreTrainedTokenizerBase, messages: Sequence[Message]
) -> tuple[list[int], list[int]]:
    """Ids and labels: the assistant's text and end-of-turn token bear loss, all else is `IGNORE`.

    Returns:
        Two lists of the same length: input ids, and the labels of the same positions.
    """
    encoded = tokenizer.apply_chat_template(
        list(messages), chat_template=TRAINING, return_dict=True, return_assistant_tokens_mask=True
    )
    ids = list(encoded["input_ids"])
    mask = encoded["assistant_masks"]
    return ids, [token if bit else IGNORE for token, bit in zip(ids, mask, strict=True)]
