"""The benchmark for Inspect AI (docs/inspect.md):

    inspect eval eval/inspect_task.py --model openai/gpt-4o \
        -T recipe=recipes/benchmark/paper.yaml -T customer=CustomerLM

    inspect view
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from inspect_ai import Task, task

from salesllm.inspect_bridge.task import benchmark

ROOT = Path(__file__).resolve().parents[1]


@task
def salesllm(recipe: str, customer: str | None = None, **settings: Any) -> Task:
    """`salesllm.inspect_bridge.task.benchmark`, with paths from the repository's root."""
    with contextlib.chdir(ROOT):  # Inspect makes a task in the folder of its file
        return benchmark(recipe, customer, **settings)
