"""`train/intent.py` on dialogues whose last turn gives the label away."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from datasets import Dataset
from jobs import INTENT, World, call, done, intent_options, killed_and_resumed, refused, snapshot
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    DataCollatorWithPadding,
    Trainer,
    TrainingArguments,
)

from salesllm.files import read_json, read_jsonl, sha256, write_jsonl
from salesllm.scoring.ending import encode_ending
from salesllm.scoring.intent import IntentScorer
from salesllm.training.arguments import IntentArguments
from salesllm.training.data import hold_out
from salesllm.training.labels import LabelledDialogue, read_labelled

pytestmark = pytest.mark.e2e


def _read(path: str) -> list[LabelledDialogue]:
    return read_labelled(path, ["not", "buy"], "en")


def test_bad_rows_are_named(world: World, tmp_path: Path) -> None:
    path, out = tmp_path / "rows.jsonl", tmp_path / "out"
    rows = [row for _, row in read_jsonl(world["intent_train.jsonl"])]

    def bad(changes: dict[str, object], *parts: str, file: str = "--train_file") -> None:
        write_jsonl(path, [*rows[:6], rows[6] | changes, *rows[7:]])
        outcome = call("intent", INTENT, *intent_options(world, out), file, path)
        refused(outcome, f"{path}:7: field ", *parts)
        assert not out.exists()

    bad({"label": "maybe"}, "`label`: label 'maybe' is not in the schema", "Use not, buy")
    bad({"label": "A"}, "`label`: label 'A' is not", file="--test_file")
    bad({"label": "A"}, "`label`: label 'A' is not", file="--eval_file")
    bad({"language": "zh"}, "`language`: the record is zh, the scorer en", "Keep one language")
    bad({"turns": rows[0]["turns"][:1]}, "`turns`: only the customer speaks", "Remove")
    write_jsonl(path, [row for row in rows if row["label"] == "buy"])
    outcome = call("intent", INTENT, *intent_options(world, out), "--train_file", path)
    refused(outcome, f"{path}: field `label`: no training record has the label not. Add records")
    assert not out.exists()
    unlabelled = {k: v for k, v in rows[0].items() if k != "label"}
    write_jsonl(path, [unlabelled])
    outcome = call("intent", INTENT, *intent_options(world, out), "--train_file", path)
    refused(outcome, f"{path}:1: field `label`: is missing. Add the field")


def test_bad_settings_are_named(world: World, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = intent_options(world, out)
    refused(call("intent", INTENT, *options, "--scheme", "x"), "`scheme`: unknown key", "`schema`")
    five = call("intent", INTENT, *options, "--schema", "saleintent")
    refused(five, world["intent_train.jsonl"] + ":1: field `label`", "Use A, B, C, X, F")
    wide = call("intent", INTENT, *options, "--max_tokens", 512)
    refused(wide, "`max_tokens`: 512 is more than the 158 positions", "Lower max_tokens")
    narrow = call("intent", INTENT, *options, "--max_tokens", 5)
    refused(narrow, "`max_tokens`: 5 tokens have no room for a turn", "Raise max_tokens")
    absent = call("intent", INTENT, *options, "--model_name_or_path", str(tmp_path / "absent"))
    refused(absent, f"{tmp_path / 'absent'}: field `model_name_or_path`: cannot load the encoder")
    decoder = call("intent", INTENT, *options, "--model_name_or_path", world["init"])
    refused(decoder, "marks no start and end of a text", "of the BERT or RoBERTa kind")
    metric = call("intent", INTENT, *options, "--metric_for_best_model", "auc")
    refused(metric, "`metric_for_best_model`: unknown value 'auc'", "Write loss or accuracy or f1")
    rows = world["intent_train.jsonl"]
    for name in ("test_file", "eval_file"):
        seen = call("intent", INTENT, *options, f"--{name}", rows)
        refused(seen, f"{rows}:1: field `{name}`: the content of this record", "Remove it from one")
    assert not out.exists()


def test_a_finished_run_is_refused_and_left_alone(world: World, intent: Path) -> None:
    before = snapshot(intent)
    refused(call("intent", INTENT, *intent_options(world, intent)), "already holds a finished run")
    assert snapshot(intent) == before


def test_it_learns_and_stops_early(intent: Path) -> None:
    summary = read_json(intent / "summary.json")
    test = summary["test"]
    assert test["n"] == 40
    assert test["majority"] == 0.5
    assert test["low"] > 0.8  # unseen dialogues, far above chance
    assert sum(map(sum, test["confusion"])) == 40
    log = read_json(intent / "trainer_state.json")["log_history"]
    figures = [row["eval_f1"] for row in log if "eval_f1" in row]
    best = figures.index(max(figures))
    assert len(figures) < 20  # of as many epochs
    patience = read_json(intent / "run.json")["recipe"]["patience"]
    assert len(figures) - 1 - best == patience + 1  # and once more at the end
    assert summary["validation"]["f1"] == figures[best]
    assert not list(intent.glob("*.bin"))


def test_the_scorer_agrees_with_the_trainer(world: World, intent: Path, tmp_path: Path) -> None:
    scorer = IntentScorer.load(intent, "en")
    assert scorer.settings.labels == {"not": 0.0, "buy": 10.0}

    # The validation part again, as the run held it out: same loss from the scorer's probabilities.
    data = IntentArguments(train_file=world["intent_train.jsonl"], eval_share=0.1)
    _, evaluation = hold_out(_read, data, seed=0)
    scores = scorer.score(evaluation, exact=True)
    losses = [-math.log(s.probabilities[d.label]) for s, d in zip(scores, evaluation, strict=True)]
    validation = read_json(intent / "summary.json")["validation"]
    assert np.mean(losses) == pytest.approx(validation["loss"], rel=1e-3)
    right = [s.label == d.label for s, d in zip(scores, evaluation, strict=True)]
    assert np.mean(right) == validation["accuracy"]

    # A plain trainer's predictions on the test part.
    test = _read(world["intent_test.jsonl"])
    tokenizer = AutoTokenizer.from_pretrained(intent)
    trainer = Trainer(
        AutoModelForSequenceClassification.from_pretrained(intent),
        TrainingArguments(str(tmp_path), use_cpu=True, disable_tqdm=True),
        data_collator=DataCollatorWithPadding(tokenizer),
    )
    rows = [{"input_ids": encode_ending(d.turns, tokenizer, scorer.settings)} for d in test]
    logits = trainer.predict(Dataset.from_list(rows)).predictions
    expected = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    scores = scorer.score(test, exact=True)
    found = [[s.probabilities["not"], s.probabilities["buy"]] for s in scores]
    np.testing.assert_allclose(found, expected, atol=1e-4)
    assert [s.buying for s in scores] == pytest.approx(list(10 * expected[:, 1]), abs=1e-3)
    accuracy = np.mean([s.label == d.label for s, d in zip(scores, test, strict=True)])
    assert accuracy == read_json(intent / "summary.json")["test"]["accuracy"]
    quick = scorer.score(test)  # in half precision, where this machine has it
    assert [s.label for s in quick] == [s.label for s in scores]
    assert [s.buying for s in quick] == pytest.approx([s.buying for s in scores], abs=0.05)


def test_accumulated_batches_count_as_one(world: World, tmp_path: Path) -> None:
    losses = []
    for batch, steps in ((16, 1), (4, 4)):
        out = tmp_path / str(steps)
        one_epoch = ["--num_train_epochs", 1, "--per_device_train_batch_size", batch]
        options = [*intent_options(world, out), *one_epoch, "--gradient_accumulation_steps", steps]
        done(call("intent", INTENT, *options))
        log = read_json(out / "trainer_state.json")["log_history"]
        losses.append([row["eval_loss"] for row in log if "eval_loss" in row])
        losses[-1].append(read_json(out / "summary.json")["train_loss"])
    assert losses[1] == pytest.approx(losses[0], rel=0.01)


def test_the_schema_lives_in_the_models_config(intent: Path) -> None:
    config = json.loads((intent / "config.json").read_text(encoding="utf-8"))
    assert config["id2label"] == {"0": "not", "1": "buy"}
    assert config["salesllm_intent"]["labels"] == {"not": 0.0, "buy": 10.0}
    recipe = read_json(intent / "run.json")["recipe"]
    assert config["salesllm_intent"]["max_tokens"] == recipe["max_tokens"]


def test_a_killed_run_resumes_to_the_same_weights(
    world: World, intent: Path, tmp_path: Path
) -> None:
    """Killed after the best epoch: how long to wait for a better one must be remembered."""
    log = read_json(intent / "trainer_state.json")["log_history"]
    figures = {row["step"]: row["eval_f1"] for row in log if "eval_f1" in row}
    steps = list(figures)
    best = max(steps, key=lambda step: figures[step])  # the first of the highest
    cut = tmp_path / "cut"
    options = [*intent_options(world, cut), "--num_train_epochs", 20, "--save_total_limit", 9]
    killed_and_resumed("intent", INTENT, options, cut, at=steps[steps.index(best) + 1])
    assert sha256(cut / "model.safetensors") == sha256(intent / "model.safetensors")
    summaries = [read_json(run / "summary.json") for run in (intent, cut)]
    for name in ("steps", "validation", "test"):
        assert summaries[0][name] == summaries[1][name]
