"""CustomerLM, stage 1: supervised fine-tuning on dialogues, loss on the customer's tokens only.

One GPU or CPU:

    accelerate launch train/sft.py --config recipes/customerlm/tiny/sft.yaml

Qwen3-8B, LoRA:

    accelerate launch train/sft.py --config recipes/customerlm/qwen3_8b/sft.yaml \
        --train_file data/dialogues/train.jsonl --eval_file data/dialogues/dev.jsonl

The same command continues a run that was cut off.
"""

from __future__ import annotations

from datasets import Dataset
from transformers import PrinterCallback
from trl import ModelConfig, SFTConfig, SFTTrainer

from salesllm.dialogue import read_dialogues
from salesllm.errors import entry_point
from salesllm.scenario import read_scenarios_by_id
from salesllm.training.arguments import CustomerArguments, parse_recipe, resolved
from salesllm.training.callbacks import FixedOrder, ShowProgress
from salesllm.training.data import hold_out, preview_prompts
from salesllm.training.model import (
    adapter_of,
    align_stops,
    first_figure,
    load_model,
    load_tokenizer,
    save_customer,
    save_samples,
    skip_unsupervised_logits,
    start,
)
from salesllm.training.rows import sft_rows
from salesllm.training.run import Run


@entry_point
def main() -> None:
    # Recipe
    data, args, model_args = parse_recipe((CustomerArguments, SFTConfig, ModelConfig))
    start(args)
    # evaluate() ahead of train() would leave its processes unsynchronised.
    args.eval_on_start = True
    view = data.view

    # Data
    train, evaluation = hold_out(read_dialogues, data, seed=args.seed)
    scenarios = read_scenarios_by_id(data.scenarios_file)
    tokenizer = load_tokenizer(
        model_args.model_name_or_path,
        pad_token=args.pad_token,
        revision=model_args.model_revision,
    )
    rows, eval_rows = (
        sft_rows(
            dialogues,
            tokenizer,
            max_length=args.max_length or 1_000_000,
            view=view,
            scenarios=scenarios,
            source=source,
            loss_on_all=data.loss_on == "all",
        )
        for dialogues, source in (
            (train, data.train_file),
            (evaluation, data.eval_file or data.train_file),
        )
    )

    # Run folder: refused, resumed or begun
    run = Run(
        args.output_dir,
        resolved(data, args, model_args),
        {"train": data.train_file, "eval": data.eval_file, "scenarios": data.scenarios_file},
        overwrite=data.overwrite,
        is_main=args.process_index == 0,
    )

    # Model
    model = load_model(model_args)
    align_stops(model, tokenizer)
    skip_unsupervised_logits()

    # Trainer
    trainer = SFTTrainer(
        model=model,
        args=args,
        train_dataset=Dataset.from_list(rows.rows),
        eval_dataset=Dataset.from_list(eval_rows.rows),
        processing_class=tokenizer,
        peft_config=adapter_of(model_args, model),
        callbacks=[ShowProgress("sft"), FixedOrder()],
    )
    trainer.remove_callback(PrinterCallback)

    # Train
    run.begin()
    result = trainer.train(resume_from_checkpoint=run.resume_from)
    after = trainer.evaluate()

    # Save
    base = model_args.model_name_or_path
    save_customer(trainer, run.path, stage="sft", view=view, base=base)
    trainer.save_state()
    save_samples(trainer, run.path, preview_prompts(evaluation, view, scenarios))
    run.finish(
        {
            "stage": "sft",
            "train_loss": result.training_loss,
            "eval_loss_before": first_figure(trainer, "eval_loss"),
            "eval_loss": after["eval_loss"],
            "train_rows": len(rows.rows),
            "eval_rows": len(eval_rows.rows),
            "truncated_rows": rows.truncated,
            "dropped_rows": rows.unsupervised,
            "supervised_tokens": rows.supervised_tokens,
            "steps": trainer.state.global_step,
            "processes": args.world_size,
            "seconds": result.metrics["train_runtime"],
        }
    )


if __name__ == "__main__":
    main()
