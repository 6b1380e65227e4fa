"""Tiny real models for a laptop: the same architectures and code path, a few million weights."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from salesllm.catalog import Split
from salesllm.dialogue import END_MARKER, Dialogue, Language, write_dialogues
from salesllm.files import refuse_existing, write_json, write_text
from salesllm.scenario import Scenario, write_scenarios
from salesllm.scenarios.grammar import sample_dialogues
from salesllm.scenarios.sampling import sample_scenarios
from salesllm.scenarios.scripts import customer_script
from salesllm.training.labels import label_outcomes
from salesllm.training.template import END_OF_TURN, SERVING, START

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

PAD = "<|endoftext|>"


def train_tokenizer(texts: Iterable[str], vocab_size: int = 6144) -> PreTrainedTokenizerBase:
    """A byte-level BPE with Qwen3's pre-tokenization and its ChatML tokens."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    pattern = (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        special_tokens=[PAD, START, END_OF_TURN],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    texts = list(texts)
    # Whole characters come before anything else: half of a three-byte one, sampled, is no text.
    whole = sorted({c for text in texts for c in text if not c.isascii()})
    tokenizer.train_from_iterator(chain(texts, (c for c in whole for _ in range(1000))), trainer)
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        eos_token=END_OF_TURN,
        pad_token=PAD,
        chat_template=SERVING,
        clean_up_tokenization_spaces=False,
    )


def new_causal_lm(tokenizer: PreTrainedTokenizerBase, *, seed: int = 0, **sizes: int) -> Any:
    """A randomly initialised `Qwen3ForCausalLM`, 1.8 M parameters by default.

    Wide and shallow: in the minutes that a laptop has, two layers learn far more than four.
    """
    import torch
    from transformers import GenerationConfig, Qwen3Config, Qwen3ForCausalLM

    defaults = {
        "hidden_size": 192,
        "intermediate_size": 384,
        "num_hidden_layers": 2,
        "num_attention_heads": 6,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "max_position_embeddings": 1024,
    }
    torch.manual_seed(seed)
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        tie_word_embeddings=True,
        bos_token_id=None,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        **{**defaults, **sizes},
    )
    model = Qwen3ForCausalLM(config)
    model.generation_config = GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id
    )
    return model


def new_encoder(
    language: Language, texts: Iterable[str], folder: str | Path, seed: int = 0
) -> None:
    """Saves a randomly initialised encoder of the language's architecture with its tokenizer.

    Chinese gets a BERT with one token a character (as chinese-roberta-wwm-ext has), English a
    RoBERTa with a byte-level BPE (as roberta-base has).
    """
    import torch
    from transformers import BertConfig, BertModel, RobertaConfig, RobertaModel

    torch.manual_seed(seed)
    sizes = {
        "hidden_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "intermediate_size": 256,
        "max_position_embeddings": 160,
    }
    tokenizer = _wordpiece(texts) if language == "zh" else _byte_level(texts)
    pad = tokenizer.pad_token_id
    if language == "zh":
        model: Any = BertModel(BertConfig(vocab_size=len(tokenizer), pad_token_id=pad, **sizes))
    else:
        model = RobertaModel(RobertaConfig(vocab_size=len(tokenizer), pad_token_id=pad, **sizes))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _wordpiece(texts: Iterable[str]) -> PreTrainedTokenizerBase:
    from transformers import BertTokenizer

    characters = sorted({c for text in texts for c in text.lower() if not c.isspace()})
    specials = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*specials, *characters, *(f"##{c}" for c in characters)]
    return BertTokenizer(vocab={piece: index for index, piece in enumerate(pieces)})


def _byte_level(texts: Iterable[str]) -> PreTrainedTokenizerBase:
    from tokenizers import ByteLevelBPETokenizer
    from transformers import RobertaTokenizer

    bpe = ByteLevelBPETokenizer()
    specials = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    bpe.train_from_iterator(texts, vocab_size=3000, special_tokens=specials, show_progress=False)
    state = json.loads(bpe.to_str())["model"]
    merges = [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in state["merges"]]
    return RobertaTokenizer(vocab=state["vocab"], merges=merges)


def corpus(dialogues: Sequence[Dialogue], scripts: Iterable[str] = ()) -> list[str]:
    """Texts to fit a tokenizer on: every turn, every script, and the end-of-dialogue marker."""
    turns = [turn.text for dialogue in dialogues for turn in dialogue.turns]
    return [*turns, *scripts, *(f"{text} {END_MARKER}" for text in turns[: len(turns) // 10])]


def make(dialogues: Sequence[Dialogue], scenarios: Sequence[Scenario], folder: str | Path) -> None:
    """Saves the starting points of the tiny recipes: `init`, `encoder_zh` and `encoder_en`.

    Args:
        dialogues: Training dialogues, on which the tokenizers are fitted; a language without any
            gets no encoder.
    """
    from transformers.utils import logging

    logging.disable_progress_bar()
    folder = Path(folder)
    scripts = [customer_script(s, "brief") for s in scenarios]
    tokenizer = train_tokenizer(corpus(dialogues, scripts))
    new_causal_lm(tokenizer).save_pretrained(folder / "init")
    tokenizer.save_pretrained(folder / "init")
    for language in get_args(Language):
        texts = corpus([d for d in dialogues if d.language == language])
        if texts:
            new_encoder(language, texts, folder / f"encoder_{language}")


READY = "tiny.json"
"""Written last: the folder is whole."""

SIZES = {
    "train": 900,
    "detector": 300,
    "rollout": 80,
    "test": 60,
    "intent_train": 2000,
    "intent_test": 300,
}
"""Scenarios a language of each sample file."""


def prepare(folder: str | Path, *, seed: int = 0, scale: float = 1.0) -> None:
    """Writes everything that the tiny recipes start from: sample data and untrained models.

    The files share neither scenarios nor dialogues: `train`, `rollout_scenarios` (for preference
    pairs), `detector` (for the ablation's detector) and the intent training rows come from the
    catalogue's train split; `test` and the intent test rows from its test split, whose products
    and phrasings no training file has.

    Args:
        scale: Multiplies `SIZES`.

    Raises:
        InputError: The folder holds such files already.
    """
    folder = Path(folder)
    unfinished = folder / ".unfinished"  # what is there then is what an interrupted call left
    if not unfinished.exists():
        for path in (folder / READY, folder / "init", *folder.glob("*.jsonl")):
            refuse_existing(path, "output_dir")
        write_text(unfinished, "")
    drawn = {
        name: _draw(name, max(8, round(size * scale)), seed + number)
        for number, (name, size) in enumerate(SIZES.items())
    }
    for name in ("train", "detector", "rollout", "test"):
        scenarios, dialogues = drawn[name]
        write_scenarios(folder / f"{name}_scenarios.jsonl", scenarios)
        if name != "rollout":
            write_dialogues(folder / f"{name}.jsonl", dialogues)
    for name in ("intent_train", "intent_test"):
        for language in get_args(Language):
            spoken = [d for d in drawn[name][1] if d.language == language]
            write_dialogues(folder / f"{name}_{language}.jsonl", label_outcomes(spoken))
    scenarios, dialogues = drawn["train"]
    make(dialogues, scenarios, folder)
    write_json(folder / READY, {"seed": seed, "scale": scale, "scenarios_a_language": SIZES})
    unfinished.unlink()


def _draw(name: str, count: int, seed: int) -> tuple[list[Scenario], list[Dialogue]]:
    """`count` scenarios a language, with one dialogue each."""
    split: Split = "test" if name.endswith("test") else "train"
    scenarios = [
        scenario
        for language in get_args(Language)
        for scenario in sample_scenarios(language, count, seed=seed, split=split)
    ]
    return scenarios, sample_dialogues(scenarios, seed=seed, split=split)
