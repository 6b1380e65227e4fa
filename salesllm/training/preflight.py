"""Checks a training recipe, its tokenizer and its data, and shows what bears loss."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from salesllm.dialogue import read_dialogues
from salesllm.errors import InputError
from salesllm.recipe import read_yaml
from salesllm.scenario import read_scenarios_by_id
from salesllm.scoring.ending import SCHEMAS, IntentSettings, encode_ending
from salesllm.training.arguments import (
    CustomerArguments,
    IntentArguments,
    PreferenceArguments,
    RunArguments,
    check_metric,
    parse_recipe,
)
from salesllm.training.data import hold_out, read_unseen
from salesllm.training.labels import check_labels, read_labelled
from salesllm.training.rows import fitting, preview_mask, read_preferences, sft_rows
from salesllm.training.run import SUMMARY, last_checkpoint
from salesllm.training.template import IGNORE

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

Figures = list[tuple[str, str]]
Rows = list[dict[str, list[int]]]


def preflight(config: str, overrides: Sequence[str], *, job: str | None, show_mask: int) -> None:
    """Prints what `train/<job>.py` would train on; loads no weights and writes nothing.

    Args:
        job: `sft`, `dpo` or `intent`; None tells it from the recipe's keys.
        show_mask: Rows to print with their loss mask.

    Raises:
        InputError: What training itself would raise on this recipe and data.
    """
    job = job or job_of(config)
    argv = ["--config", config, *overrides]
    check = {"sft": _sft, "dpo": _dpo, "intent": _intent}[job]
    tokenizer, rows, figures = check(argv)
    console = Console()
    table = Table(title=f"{config}: train/{job}.py", show_header=False, title_justify="left")
    for name, value in figures:
        table.add_row(name, value)
    console.print(table)
    if show_mask and job == "intent":
        raise InputError("an intent scorer has no loss mask", field="show-mask")
    for row in rows[:show_mask]:
        console.rule()
        console.print(mask_text(row, tokenizer))
    if show_mask:
        console.rule("in the loss: green, in brackets")


def job_of(config: str) -> str:
    """Which script reads a recipe, from the keys that only one of them knows."""
    from transformers import TrainingArguments
    from trl import DPOConfig, SFTConfig

    keys = set(read_yaml(config)[0])
    shared = {f.name for cls in (RunArguments, TrainingArguments) for f in fields(cls)}
    own = {
        "sft": {f.name for cls in (CustomerArguments, SFTConfig) for f in fields(cls)},
        "dpo": {f.name for f in fields(DPOConfig)},
        "intent": {f.name for f in fields(IntentArguments)},
    }
    votes = {
        name: len(keys & (known - shared - set().union(*(own[o] for o in own if o != name))))
        for name, known in own.items()
    }
    best = max(votes, key=votes.__getitem__)
    if not votes[best]:
        raise InputError("cannot tell which script this recipe is for", path=config,
                         fix="Say so with --job sft, dpo or intent")  # fmt: skip
    return best


def mask_text(row: Mapping[str, Sequence[int]], tokenizer: PreTrainedTokenizerBase) -> Text:
    """A row as it is served to the model; what bears loss is green and in brackets."""
    text = Text()
    for ids, inside in preview_mask(row["input_ids"], row["labels"]):
        piece = tokenizer.decode(ids)
        # The brackets say it where there is no colour.
        text.append(f"\N{MATHEMATICAL LEFT WHITE SQUARE BRACKET}{piece}"
                    "\N{MATHEMATICAL RIGHT WHITE SQUARE BRACKET}" if inside else piece,
                    style="bold green" if inside else "dim")  # fmt: skip
    return text


def _sft(argv: Sequence[str]) -> tuple[PreTrainedTokenizerBase, Rows, Figures]:
    from trl import ModelConfig, SFTConfig

    from salesllm.training.model import load_tokenizer

    data, args, model = parse_recipe((CustomerArguments, SFTConfig, ModelConfig), argv)
    train, evaluation = hold_out(read_dialogues, data, seed=args.seed)
    scenarios = read_scenarios_by_id(data.scenarios_file)
    tokenizer = load_tokenizer(
        model.model_name_or_path, pad_token=args.pad_token, revision=model.model_revision
    )
    rows = sft_rows(
        train,
        tokenizer,
        max_length=args.max_length or 1_000_000,
        view=data.view,
        scenarios=scenarios,
        source=data.train_file,
        loss_on_all=data.loss_on == "all",
    )
    total = sum(len(row["input_ids"]) for row in rows.rows)
    figures = [
        ("base", str(model.model_name_or_path)),
        ("dialogues", _languages(Counter(d.language for d in train))),
        ("validation", f"{len(evaluation)} dialogues"),
        ("rows", f"{len(rows.rows)}, {rows.truncated} of them without their oldest turns"),
        ("left out", f"{rows.unsupervised} without a token in the loss"),
        ("tokens a row", _spread([len(row["input_ids"]) for row in rows.rows])),
        ("in the loss", f"{rows.supervised_tokens} of {total} tokens "
         f"({rows.supervised_tokens / total:.0%})"),
        ("steps", _steps(args, len(rows.rows))),
        ("output", _output(args.output_dir)),
    ]  # fmt: skip
    return tokenizer, rows.rows, figures


def _dpo(argv: Sequence[str]) -> tuple[PreTrainedTokenizerBase, Rows, Figures]:
    from trl import DPOConfig, ModelConfig

    from salesllm.training.model import load_tokenizer, read_customer

    data, args, model = parse_recipe((PreferenceArguments, DPOConfig, ModelConfig), argv)
    train, evaluation = hold_out(read_preferences, data, seed=args.seed)
    card = read_customer(model.model_name_or_path)
    tokenizer = load_tokenizer(model.model_name_or_path, pad_token=args.pad_token)
    kept = fitting(train, tokenizer, args.max_length, data.train_file)
    rows: Rows = []
    for pair in kept:
        row = pair.row(tokenizer)
        prompt = tokenizer.encode(row["prompt"])
        for side in ("chosen", "rejected"):
            reply = tokenizer.encode(row[side])
            rows.append({"input_ids": prompt + reply, "labels": [IGNORE] * len(prompt) + reply})
    figures = [
        ("base and reference", f"{model.model_name_or_path} ({card['stage']} of {card['base']})"),
        ("pairs", f"{len(kept)}, and {len(train) - len(kept)} too long for {args.max_length}"),
        ("validation", f"{len(evaluation)} pairs"),
        ("tokens a side", _spread([len(row["input_ids"]) for row in rows])),
        ("steps", _steps(args, len(kept))),
        ("output", _output(args.output_dir)),
    ]
    return tokenizer, rows, figures


def _intent(argv: Sequence[str]) -> tuple[PreTrainedTokenizerBase, Rows, Figures]:
    from transformers import TrainingArguments
    from trl import ModelConfig

    from salesllm.training.model import load_encoder_tokenizer

    data, args, model = parse_recipe((IntentArguments, TrainingArguments, ModelConfig), argv)
    check_metric(args)
    labels = SCHEMAS[data.schema]
    settings = IntentSettings(data.language, labels, data.score, data.max_tokens)

    def read(path: str) -> list[Any]:
        return list(read_labelled(path, labels, data.language))

    train, evaluation = hold_out(read, data, seed=args.seed)
    check_labels(train, labels, data.train_file)
    seen = [*train, *evaluation]
    test = read_unseen(read, data.test_file, seen, "test_file") if data.test_file else []
    source, revision = str(model.model_name_or_path), model.model_revision
    tokenizer = load_encoder_tokenizer(source, settings, revision=revision)
    lengths = [len(encode_ending(d.turns, tokenizer, settings)) for d in train]
    cut = sum(length >= data.max_tokens for length in lengths)
    figures = [
        ("encoder", source),
        ("labels", ", ".join(f"{name} (worth {worth:g})" for name, worth in labels.items())),
        ("train", _languages(Counter(d.label for d in train))),
        ("validation", _languages(Counter(d.label for d in evaluation))),
        ("test", _languages(Counter(d.label for d in test)) or "none"),
        ("tokens read", f"{_spread(lengths)}; about {cut} dialogues lose their beginning"),
        ("steps", _steps(args, len(train))),
        ("output", _output(args.output_dir)),
    ]
    return tokenizer, [], figures


def _languages(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


def _spread(lengths: Sequence[int]) -> str:
    median, high = np.percentile(lengths, [50, 95]).astype(int)
    return f"median {median}, 95th percentile {high}, longest {max(lengths)}"


def _steps(args: Any, rows: int) -> str:
    batch = args.per_device_train_batch_size * args.gradient_accumulation_steps
    if args.max_steps > 0:
        return f"{args.max_steps} of {batch} rows a process"
    steps = -(-rows // batch) * args.num_train_epochs
    return f"{steps:.0f} of {batch} rows, on one process"


def _output(folder: str) -> str:
    path = Path(folder)
    if (path / SUMMARY).exists():
        return f"{folder} holds a finished run: training will refuse it"
    return f"{folder} holds an unfinished run" if last_checkpoint(path) else folder
