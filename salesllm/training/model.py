"""Loads bases and checkpoints with every check made first, and saves what serving needs."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from salesllm.chat.providers import CUSTOMER_CARD
from salesllm.dialogue import END_MARKER, Message
from salesllm.errors import InputError, cannot_load
from salesllm.files import read_json, write_json
from salesllm.training.rows import View
from salesllm.training.template import install, render_ids

if TYPE_CHECKING:
    from peft import PeftConfig
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, TrainingArguments
    from trl import ModelConfig

    from salesllm.scoring.ending import IntentSettings


_ACCELERATE = "ACCELERATE_MIXED_PRECISION"  # every process of `accelerate launch` has it


def start(args: TrainingArguments) -> None:
    """What every training script does first: quiet, seeded, on as many processes as were asked.

    Seeded here because an adapter or a classifier's head gets its first weights before the trainer
    is there to set the seed.

    Raises:
        InputError: `accelerate launch` set up fewer processes than `--num_processes`.
    """
    import datasets
    import transformers
    from accelerate import PartialState

    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers|trl")
    os.environ.setdefault("TQDM_DISABLE", "1")
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    datasets.disable_progress_bars()
    args.disable_tqdm = True
    transformers.set_seed(args.seed)
    wanted = os.environ.get("WORLD_SIZE", "1")
    # Told of several CPU processes, `accelerate launch` may start one; this is all it leaves then.
    if "MASTER_ADDR" in os.environ and "WORLD_SIZE" not in os.environ and _ACCELERATE in os.environ:
        wanted = "several"
    if (there := str(PartialState().num_processes)) != wanted:
        raise InputError(
            f"{wanted} processes were asked for but {there} takes part",
            fix="Launch with accelerate_configs/cpu.yaml (distributed_type MULTI_GPU and use_cpu)",
        )


def skip_unsupervised_logits() -> None:
    """On a CPU, the head is applied only to positions that bear loss, as TRL does on a GPU.

    Elsewhere TRL applies it to every position, lest an accelerator that compiles its kernels
    compile one for each shape. A CPU compiles nothing, and pays for it with more than half of a
    small model's step: four fifths of a customer's tokens bear no loss.
    """
    from trl.trainer import utils

    if on_device := getattr(utils, "_use_triton", None):  # not a public name
        utils._use_triton = lambda device: device.type == "cpu" or on_device(device)


def load_tokenizer(
    source: str, *, pad_token: str | None = None, revision: str | None = None
) -> PreTrainedTokenizerBase:
    """The base's tokenizer with our chat template; raises `InputError` when it cannot have it."""
    from transformers import AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(source, revision=revision)
    except (OSError, ValueError) as error:
        raise cannot_load("tokenizer", source, error, "model_name_or_path") from None
    if pad_token is not None:
        if pad_token not in tokenizer.get_vocab():
            problem = f"{pad_token!r} is not in the vocabulary"
            raise InputError(problem, path=source, field="pad_token", fix="Name a token it has")
        tokenizer.pad_token = pad_token
    install(tokenizer, source)
    return tokenizer


def load_model(arguments: ModelConfig, *, trainable: bool = True) -> PreTrainedModel:
    """The causal language model of `model_name_or_path`: full weights, or a PEFT adapter folder.

    An adapter is loaded on its own base and stays trainable, so that DPO continues the SFT
    adapter and TRL keeps a frozen copy of it as the reference.
    """
    import torch
    from transformers import AutoModelForCausalLM
    from trl import get_quantization_config

    source = str(arguments.model_name_or_path)
    dtype = getattr(torch, arguments.dtype) if arguments.dtype not in (None, "auto") else "auto"
    options: dict[str, Any] = {
        "dtype": dtype,
        "attn_implementation": arguments.attn_implementation,
        "use_safetensors": True,
    }
    if (quantization := get_quantization_config(arguments)) is not None:
        options["quantization_config"] = quantization
    try:
        if (Path(source) / "adapter_config.json").is_file():
            from peft import AutoPeftModelForCausalLM

            model = AutoPeftModelForCausalLM.from_pretrained(
                source, is_trainable=trainable, **options
            )
        else:
            revision = arguments.model_revision
            model = AutoModelForCausalLM.from_pretrained(source, revision=revision, **options)
    except (OSError, ValueError) as error:
        raise cannot_load("model", source, error, "model_name_or_path") from None
    return model


def adapter_of(arguments: ModelConfig, model: PreTrainedModel) -> PeftConfig | None:
    """The new adapter that the arguments ask for, tried on a copy of the model without weights.

    Raises:
        InputError: It does not fit the model.
    """
    import torch
    from peft import get_peft_model
    from transformers import AutoModelForCausalLM
    from trl import get_peft_config

    try:
        config = get_peft_config(arguments)
        if config is None:
            return None
        named = config.target_modules
        if isinstance(named, str) and named.isidentifier():  # TRL unpacks a list of one, which
            config.target_modules = {named}  # PEFT then takes for a pattern of the whole name
        with torch.device("meta"):
            get_peft_model(AutoModelForCausalLM.from_config(model.config), deepcopy(config))
    except (TypeError, ValueError, re.error) as error:
        first = str(error).splitlines()[0].split(". ")[0].rstrip(".")
        field, fix = None, "Correct the recipe's lora_ keys"
        if "target" in first.lower():
            field = "lora_target_modules"
            fix = "Name linear layers of the model, such as q_proj v_proj, or write all-linear"
        problem = f"the adapter does not fit the model: {first}"
        raise InputError(problem, path=arguments.model_name_or_path, field=field, fix=fix) from None
    return config


def load_encoder_tokenizer(
    source: str, settings: IntentSettings, *, revision: str | None = None
) -> PreTrainedTokenizerBase:
    """The tokenizer of an intent scorer's encoder, whose positions must hold what it will read."""
    from transformers import AutoConfig, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(source, revision=revision)
        config = AutoConfig.from_pretrained(source, revision=revision)
    except (OSError, ValueError) as error:
        raise cannot_load("encoder", source, error, "model_name_or_path") from None
    room = config.max_position_embeddings
    if "roberta" in config.model_type:  # counts its positions from behind the pad token's id
        room -= config.pad_token_id + 1
    if settings.max_tokens > room:
        problem = f"{settings.max_tokens} is more than the {room} positions of the encoder"
        raise InputError(problem, path=source, field="max_tokens", fix="Lower max_tokens")
    return tokenizer


def load_encoder(
    source: str, settings: IntentSettings, *, revision: str | None = None
) -> PreTrainedModel:
    """The encoder with a classification head for the labels, which its config then carries."""
    from transformers import AutoModelForSequenceClassification

    from salesllm.scoring.intent import install as install_labels

    try:
        model = AutoModelForSequenceClassification.from_pretrained(
            source, num_labels=len(settings.labels), use_safetensors=True, revision=revision
        )
    except (OSError, ValueError) as error:
        raise cannot_load("encoder", source, error, "model_name_or_path") from None
    install_labels(model.config, settings)
    return model


def align_stops(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
    """Generation stops where training taught it to: at our end-of-turn token and nowhere else.

    The base's sampling defaults go too: they are a chat assistant's, and every caller of ours
    names its own.
    """
    from transformers import GenerationConfig

    ids = {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}
    model.generation_config = GenerationConfig(**ids)
    for name, value in ids.items():
        setattr(model.config, name, value)


def save_weights(trainer: Any, output_dir: Path) -> None:
    """Saves weights, config and tokenizer, and nothing that must be unpickled."""
    trainer.save_model(str(output_dir))
    if trainer.is_world_process_zero():
        # A pickle and a card that says nothing of this project: neither belongs in a checkpoint.
        for name in ("training_args.bin", "README.md"):
            (output_dir / name).unlink(missing_ok=True)


def save_customer(trainer: Any, output_dir: Path, *, stage: str, view: View, base: str) -> None:
    """Saves weights, tokenizer with the serving template, and how to show it a dialogue."""
    model = trainer.accelerator.unwrap_model(trainer.model)
    model.config.use_cache = True  # which training turns off
    save_weights(trainer, output_dir)
    if not trainer.is_world_process_zero():
        return
    model.generation_config.save_pretrained(output_dir)
    card = {"stage": stage, "base": base, "end_marker": END_MARKER, **asdict(view)}
    write_json(output_dir / CUSTOMER_CARD, card)


def save_samples(trainer: Any, output_dir: Path, prompts: Sequence[Sequence[Message]]) -> None:
    """Writes the trained model's greedy replies to a few held-out prompts: a first look at it."""
    model = trainer.accelerator.unwrap_model(trainer.model)
    replies = greedy_replies(model, trainer.processing_class, prompts)
    if trainer.is_world_process_zero():
        samples = [{"prompt": p, "reply": r} for p, r in zip(prompts, replies, strict=True)]
        write_json(output_dir / "samples.json", samples)


def read_customer(folder: str | Path) -> dict[str, Any]:
    """`customerlm.json` of an SFT or DPO checkpoint.

    Raises:
        InputError: The folder is not such a checkpoint.
    """
    if not (Path(folder) / CUSTOMER_CARD).is_file():
        raise InputError(
            f"there is no {CUSTOMER_CARD}: this is not a CustomerLM checkpoint",
            path=folder,
            field="model_name_or_path",
            fix="Train one with train/sft.py and name its output_dir",
        )
    return dict(read_json(Path(folder) / CUSTOMER_CARD))


def first_figure(trainer: Any, name: str) -> float:
    """The first value that a run logged under a name; a resumed run remembers it."""
    return float(next(row[name] for row in trainer.state.log_history if name in row))


def greedy_replies(
    model: Any,
    tokenizer: PreTrainedTokenizerBase,
    prompts: Sequence[Sequence[Message]],
    max_tokens: int = 48,
) -> list[str]:
    """The model's most likely reply to each prompt, special tokens left out."""
    import torch

    was_training = model.training
    model.eval()
    replies = []
    with torch.no_grad():
        for prompt in prompts:
            ids = torch.tensor([render_ids(tokenizer, prompt, generate=True)], device=model.device)
            out = model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                do_sample=False,
                max_new_tokens=max_tokens,
            )
            replies.append(tokenizer.decode(out[0, ids.shape[1] :], skip_special_tokens=True))
    model.train(was_training)
    return replies
