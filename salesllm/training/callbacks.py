"""What happens beside the steps of a training run: its progress shown, its data order fixed."""

from __future__ import annotations

import sys
import time
from typing import Any

import torch
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from transformers import TrainerCallback
from transformers.trainer_pt_utils import LengthGroupedSampler


class FixedOrder(TrainerCallback):
    """Makes an epoch's order of rows follow from (seed, epoch) alone.

    Left to itself, length grouping draws the order from the global random state, which differs
    after a resume, and groups by the batch of one process; and a resumed run of several processes
    repeats the first epoch's order. Rows would be seen twice and others never.
    """

    def on_epoch_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        epoch = int(state.epoch)
        batches = kwargs["train_dataloader"].batch_sampler
        while hasattr(batches, "batch_sampler"):  # accelerate's wrapper for several processes
            batches = batches.batch_sampler
        sampler = batches.sampler
        if isinstance(sampler, LengthGroupedSampler):
            step = args.train_batch_size * args.gradient_accumulation_steps
            sampler.batch_size = step * args.world_size
            sampler.generator = torch.Generator().manual_seed(args.seed + epoch)
        elif hasattr(sampler, "set_epoch"):
            sampler.set_epoch(epoch)


class ShowProgress(TrainerCallback):
    """Replaces the trainer's own progress display."""

    def __init__(self, name: str, every_s: float = 10.0) -> None:
        self.name, self.every_s = name, every_s
        self._bar: Progress | None = None
        self._task: Any = None
        self._figures: dict[str, float] = {}
        self._said = self._began = 0.0

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        self._began = self._said = time.monotonic()
        if state.is_world_process_zero and sys.stderr.isatty():
            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
            self._bar = Progress(*columns, TimeRemainingColumn(), TextColumn("{task.fields[now]}"))
            self._bar.start()
            self._task = self._bar.add_task(self.name, total=state.max_steps, now="")

    def on_log(
        self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any
    ) -> None:
        for name in ("loss", "eval_loss", "rewards/accuracies", "eval_accuracy"):
            if logs and isinstance(logs.get(name), float):
                self._figures[name] = logs[name]

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not state.is_world_process_zero:
            return
        if self._bar is not None:
            self._bar.update(self._task, completed=state.global_step, now=self._now())
        elif time.monotonic() - self._said > self.every_s or state.global_step == state.max_steps:
            self._said = time.monotonic()
            seconds = self._said - self._began
            step = f"{self.name}: step {state.global_step}/{state.max_steps}"
            parts = filter(None, (step, self._now(), f"{seconds:.0f} s"))
            print(", ".join(parts), file=sys.stderr, flush=True)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def _now(self) -> str:
        return ", ".join(f"{name} {value:.4g}" for name, value in self._figures.items())
