"""CustomerLM, stage 2: direct preference optimization from the SFT checkpoint.

    accelerate launch train/dpo.py --config recipes/customerlm/tiny/dpo.yaml

Qwen3-8B, from the SFT adapter:

    accelerate launch train/dpo.py --config recipes/customerlm/qwen3_8b/dpo.yaml \
        --train_file data/preferences/train.jsonl

The reference is the SFT checkpoint itself: its log-probabilities computed beforehand (full
weights), or its adapter frozen beside the one in training (LoRA). The loss starts at ln 2.
"""

from __future__ import annotations

from transformers import PrinterCallback
from trl import DPOConfig, DPOTrainer, ModelConfig

from salesllm.errors import entry_point
from salesllm.training.arguments import PreferenceArguments, parse_recipe, resolved
from salesllm.training.callbacks import FixedOrder, ShowProgress
from salesllm.training.data import hold_out, on_disk
from salesllm.training.model import (
    adapter_of,
    align_stops,
    first_figure,
    load_model,
    load_tokenizer,
    read_customer,
    save_customer,
    save_samples,
    skip_unsupervised_logits,
    start,
)
from salesllm.training.rows import View, fitting, read_preferences
from salesllm.training.run import Run


@entry_point
def main() -> None:
    # Recipe
    data, args, model_args = parse_recipe((PreferenceArguments, DPOConfig, ModelConfig))
    start(args)
    args.eval_on_start = (
        True  # evaluate() ahead of train() would leave its processes unsynchronised
    )

    # Data
    train, evaluation = hold_out(read_preferences, data, seed=args.seed)
    card = read_customer(model_args.model_name_or_path)
    tokenizer = load_tokenizer(model_args.model_name_or_path, pad_token=args.pad_token)
    read = len(train) + len(evaluation)
    train = fitting(train, tokenizer, args.max_length, data.train_file)
    evaluation = fitting(evaluation, tokenizer, args.max_length, data.eval_file or data.train_file)

    # Run folder: refused, resumed or begun
    run = Run(
        args.output_dir,
        resolved(data, args, model_args),
        {"train": data.train_file, "eval": data.eval_file},
        overwrite=data.overwrite,
        is_main=args.process_index == 0,
    )

    # Model: full weights get precomputed reference log-probabilities, never a second base
    model = load_model(model_args)
    align_stops(model, tokenizer)
    skip_unsupervised_logits()
    continues_adapter = hasattr(model, "peft_config")
    if not continues_adapter and not model_args.use_peft:
        args.precompute_ref_log_probs = True
    adapter = None if continues_adapter else adapter_of(model_args, model)
    run.begin()

    # Trainer
    rows, eval_rows = (
        on_disk([pair.row(tokenizer) for pair in pairs], run.scratch / part)
        for part, pairs in (("train", train), ("eval", evaluation))
    )
    trainer = DPOTrainer(
        model=model,
        args=args,
        train_dataset=rows,
        eval_dataset=eval_rows,
        processing_class=tokenizer,
        peft_config=adapter,
        callbacks=[ShowProgress("dpo"), FixedOrder()],
    )
    trainer.remove_callback(PrinterCallback)

    # Train
    result = trainer.train(resume_from_checkpoint=run.resume_from)
    after = trainer.evaluate()

    # Save
    if continues_adapter:
        trainer.accelerator.unwrap_model(trainer.model).delete_adapter("ref")
    view = View.from_card(card)
    base = model_args.model_name_or_path
    save_customer(trainer, run.path, stage="dpo", view=view, base=base)
    trainer.save_state()
    save_samples(trainer, run.path, [pair.prompt for pair in evaluation[:4]])
    run.finish(
        {
            "stage": "dpo",
            "train_loss": result.training_loss,
            "eval_loss_before": first_figure(trainer, "eval_loss"),
            "eval_loss": after["eval_loss"],
            "eval_preference_accuracy": after["eval_rewards/accuracies"],
            "train_pairs": len(train),
            "eval_pairs": len(evaluation),
            "dropped_pairs": read - len(train) - len(evaluation),
            "steps": trainer.state.global_step,
            "processes": args.world_size,
            "seconds": result.metrics["train_runtime"],
        }
    )


if __name__ == "__main__":
    main()
