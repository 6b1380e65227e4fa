"""Intent scorer of one language: does the end of a dialogue say that the customer buys?

    accelerate launch train/intent.py --config recipes/intent/roberta_en.yaml \
        --train_file data/intent/train_en.jsonl --test_file data/intent/test_en.jsonl

Stops when the validation F1 has not improved for `patience` evaluations, keeps the best weights,
and reports accuracy and F1 on `test_file` through the scorer that the benchmark uses (Table 11).
"""

from __future__ import annotations

from functools import partial

import numpy as np
from datasets import Dataset
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score
from transformers import (
    DataCollatorWithPadding,
    EarlyStoppingCallback,
    PrinterCallback,
    Trainer,
    TrainingArguments,
)
from trl import ModelConfig

from salesllm.errors import entry_point
from salesllm.scoring.ending import SCHEMAS, IntentSettings, encode_ending
from salesllm.scoring.intent import IntentScorer
from salesllm.stats import proportion
from salesllm.training.arguments import (
    METRICS,
    IntentArguments,
    check_metric,
    parse_recipe,
    resolved,
)
from salesllm.training.callbacks import FixedOrder, ShowProgress
from salesllm.training.data import hold_out, read_unseen
from salesllm.training.labels import check_labels, read_labelled
from salesllm.training.model import load_encoder, load_encoder_tokenizer, save_weights, start
from salesllm.training.run import Run


@entry_point
def main() -> None:
    # Recipe
    data, args, model_args = parse_recipe((IntentArguments, TrainingArguments, ModelConfig))
    check_metric(args)
    start(args)
    args.restore_callback_states_from_checkpoint = True  # patience already spent
    settings = IntentSettings(data.language, SCHEMAS[data.schema], data.score, data.max_tokens)
    labels = list(settings.labels)

    # Data
    read = partial(read_labelled, labels=labels, language=data.language)
    train, evaluation = hold_out(read, data, seed=args.seed)
    check_labels(train, labels, data.train_file)
    seen = [*train, *evaluation]
    test = read_unseen(read, data.test_file, seen, "test_file") if data.test_file else []
    source, revision = str(model_args.model_name_or_path), model_args.model_revision
    tokenizer = load_encoder_tokenizer(source, settings, revision=revision)
    model = load_encoder(source, settings, revision=revision)
    train_rows, eval_rows = (
        Dataset.from_list(
            [
                {
                    "input_ids": encode_ending(d.turns, tokenizer, settings),
                    "labels": labels.index(d.label),
                }
                for d in dialogues
            ]
        )
        for dialogues in (train, evaluation)
    )

    # Run folder: refused, resumed or begun
    run = Run(
        args.output_dir,
        resolved(data, args, model_args),
        {"train": data.train_file, "eval": data.eval_file, "test": data.test_file},
        overwrite=data.overwrite,
        is_main=args.process_index == 0,
    )

    # Trainer
    trainer = Trainer(
        model=model,
        args=args,
        train_dataset=train_rows,
        eval_dataset=eval_rows,
        processing_class=tokenizer,
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=lambda p: _figures(p.label_ids, np.argmax(p.predictions, -1)),
        callbacks=[
            ShowProgress(f"intent {data.language}"),
            FixedOrder(),
            EarlyStoppingCallback(data.patience),
        ],
    )
    trainer.remove_callback(PrinterCallback)
    # These encoders average their loss over the batch they see, whatever they are told of others.
    trainer.model_accepts_loss_kwargs = False

    # Train
    run.begin()
    result = trainer.train(resume_from_checkpoint=run.resume_from)
    validation = trainer.evaluate()

    # Save, and test what was saved
    save_weights(trainer, run.path)
    trainer.save_state()
    summary = {
        "stage": "intent",
        "language": data.language,
        "train_loss": result.training_loss,
        "validation": {k: validation[f"eval_{k}"] for k in METRICS},
        "train_rows": len(train),
        "eval_rows": len(evaluation),
        "steps": trainer.state.global_step,
        "seconds": result.metrics["train_runtime"],
    }
    if test and run.is_main:
        truth = [labels.index(d.label) for d in test]
        scores = IntentScorer.load(run.path, data.language).score(test)
        guess = [labels.index(s.label) for s in scores]
        hits = proportion([t == g for t, g in zip(truth, guess, strict=True)])
        summary["test"] = {
            **_figures(truth, guess),
            "low": hits.low,
            "high": hits.high,
            "n": len(test),
            "majority": max(truth.count(i) for i in range(len(labels))) / len(truth),
            "labels": labels,
            "confusion": confusion_matrix(truth, guess, labels=range(len(labels))).tolist(),
        }
    run.finish(summary)


def _figures(truth: list[int], guess: list[int]) -> dict[str, float]:
    f1 = f1_score(truth, guess, average="macro", zero_division=0)
    return {"accuracy": float(accuracy_score(truth, guess)), "f1": float(f1)}


if __name__ == "__main__":
    main()
