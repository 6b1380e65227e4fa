"""Intent scoring on a CPU: ours against the text-classification pipeline of transformers.

    OMP_NUM_THREADS=1 RAYON_NUM_THREADS=1 python perf/intent.py

One checkpoint, made here: a RoBERTa of random weights, whose head tells dialogues apart along the
direction in which they differ most and is as sure of it as trained scorers are. Both read the
last 128 tokens of dialogues that were broken off at a random turn, in the released scorer's
layout, in one process with as many threads. The labels have to be the same. The last line is
JSON; `intent.json` beside this file holds one.

The pipeline is measured as it is by default, one text at a time. Beside it, on a fifth of the
dialogues: with its best batch size, the same in bfloat16, and ours in full precision throughout.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import torch
from transformers import (
    AutoTokenizer,
    RobertaConfig,
    RobertaForSequenceClassification,
    pipeline,
)
from transformers.utils import logging

from salesllm.dialogue import Dialogue, Speaker
from salesllm.errors import entry_point
from salesllm.scenarios.grammar import sample_dialogues
from salesllm.scenarios.sampling import sample_scenarios
from salesllm.scoring.ending import SCHEMAS, IntentSettings, encode_endings
from salesllm.scoring.intent import IntentScorer
from salesllm.training.tiny import new_encoder

SETTINGS = IntentSettings("en", SCHEMAS["binary"], layout="saleintent")
TAGS = {Speaker.CUSTOMER: "[USER]", Speaker.SALESPERSON: "[ASSISTANT]"}
SLICES = 5
BATCH_SIZES = (4, 8, 16, 32, 64)
SURE = 0.9  # share of endings of which the tiny recipes' scorers are 99 % sure: 0.87 to 0.98


def dialogues_of(count: int) -> list[Dialogue]:
    """Dialogues of the offline grammar, each broken off at a random turn."""
    rng = Random(0)
    scenarios = sample_scenarios("en", count, seed=0, split="train")
    whole = sample_dialogues(scenarios, seed=0, split="train")
    return [d.model_copy(update={"turns": d.turns[: rng.randint(2, len(d.turns))]}) for d in whole]


def checkpoint(dialogues: Sequence[Dialogue], folder: Path, layers: int, hidden: int) -> None:
    """Saves a RoBERTa of random weights with a head made for the dialogues."""
    new_encoder("en", [turn.text for d in dialogues for turn in d.turns], folder)  # the tokenizer
    tokenizer = AutoTokenizer.from_pretrained(folder, truncation_side="left", model_max_length=128)
    torch.manual_seed(0)
    config = RobertaConfig(
        vocab_size=len(tokenizer),
        pad_token_id=tokenizer.pad_token_id,
        hidden_size=hidden,
        intermediate_size=4 * hidden,
        num_hidden_layers=layers,
        num_attention_heads=hidden // 64,
        max_position_embeddings=130,
        initializer_range=1.3 / hidden**0.5,  # so that the text matters to random weights
        num_labels=2,
    )
    model = RobertaForSequenceClassification(config).eval()
    endings = encode_endings([d.turns for d in dialogues[:300]], tokenizer, SETTINGS)
    with torch.no_grad():
        model.roberta.embeddings.word_embeddings.weight.mul_(10)
        first = [model.roberta(torch.tensor([ids])).last_hidden_state[:, 0] for ids in endings]
        features = model.classifier.dense(torch.cat(first)).tanh()
        centre = features.mean(0)
        direction = torch.linalg.svd(features - centre, full_matrices=False).Vh[0]
        lead = ((features - centre) @ direction).abs().quantile(1 - SURE)
        weight = direction * math.log(99) / 2 / lead
        model.classifier.out_proj.weight.copy_(torch.stack([-weight, weight]))
        model.classifier.out_proj.bias.copy_(torch.stack([weight @ centre, -weight @ centre]))
    IntentScorer(model, tokenizer, SETTINGS).save(folder)


class Contender:
    """Somebody who labels dialogues, and how long that takes so far."""

    def __init__(self, label: Callable[[Sequence[Dialogue]], list[str]]) -> None:
        self.label = label
        self.labels: list[str] = []
        self.seconds = self.cpu_seconds = 0.0

    def read(self, dialogues: Sequence[Dialogue]) -> None:
        wall, cpu = time.perf_counter(), time.process_time()
        self.labels += self.label(dialogues)
        self.seconds += time.perf_counter() - wall
        self.cpu_seconds += time.process_time() - cpu

    def figures(self) -> dict[str, float]:
        n = len(self.labels)
        each = {"ms": 1000 * self.seconds / n, "cpu_ms": 1000 * self.cpu_seconds / n}
        return {"dialogues": n} | {key: round(value, 3) for key, value in each.items()}


def theirs(folder: str, batch_size: int, dtype: torch.dtype) -> Contender:
    """The pipeline on the same text; without truncation it fails at the first long dialogue."""
    read = pipeline("text-classification", folder, device="cpu", truncation=True, dtype=dtype)

    def label(dialogues: Sequence[Dialogue]) -> list[str]:
        texts = ["".join(f"{TAGS[t.speaker]} {t.text}\n" for t in d.turns) for d in dialogues]
        return [answer["label"] for answer in read(texts, batch_size=batch_size)]

    return Contender(label)


@entry_point
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--dialogues", type=int, default=5000)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--hidden", type=int, default=256)
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    torch.set_num_threads(args.threads)
    dialogues = dialogues_of(args.dialogues)
    with tempfile.TemporaryDirectory() as folder:
        checkpoint(dialogues, Path(folder), args.layers, args.hidden)
        scorer = IntentScorer.load(folder)
        tried = {size: theirs(folder, size, torch.float32) for size in BATCH_SIZES}
        for each in tried.values():
            each.read(dialogues[:200])
        best = min(tried, key=lambda size: tried[size].seconds)
        contenders = {
            "ours": Contender(lambda d: [s.label for s in scorer.score(d)]),
            "pipeline": theirs(folder, 1, torch.float32),
            "ours_exact": Contender(lambda d: [s.label for s in scorer.score(d, exact=True)]),
            "pipeline_batched": theirs(folder, best, torch.float32),
            "pipeline_batched_bfloat16": theirs(folder, best, torch.bfloat16),
        }
    for each in contenders.values():
        each.label(dialogues[:50])  # warm
    # By turns, so that whatever else the machine does slows all of them.
    for number in range(SLICES):
        some = dialogues[number::SLICES]
        for name, each in contenders.items():
            if name in ("ours", "pipeline") or number < SLICES // 5:
                each.read(some)
    ours, default = contenders["ours"], contenders["pipeline"]
    assert ours.labels == default.labels
    figures = {name: each.figures() for name, each in contenders.items()}
    result = {
        "turns": [min(len(d.turns) for d in dialogues), max(len(d.turns) for d in dialogues)],
        "threads": torch.get_num_threads(),
        "parameters": scorer.model.num_parameters(),
        "bfloat16": scorer._half is not None,
        **figures,
        "batch_size": best,
        "same_labels": True,
        "labels": Counter(ours.labels),
        "times_faster": {
            name: round(each["ms"] / figures["ours"]["ms"], 2)
            for name, each in figures.items()
            if name != "ours"
        },
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
