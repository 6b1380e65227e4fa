"""What a run says of its progress where there is no terminal."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from salesllm.training.callbacks import ShowProgress


@pytest.mark.parametrize(
    ("logs", "said"),
    [
        ({}, "sft: step 1/1, 0 s\n"),
        ({"loss": 0.51234, "epoch": 1.0}, "sft: step 1/1, loss 0.5123, 0 s\n"),
    ],
)
def test_a_line_of_progress(
    capsys: pytest.CaptureFixture[str], logs: dict[str, Any], said: str
) -> None:
    state = SimpleNamespace(is_world_process_zero=True, global_step=1, max_steps=1)
    progress = ShowProgress("sft")
    progress.on_train_begin(None, state, None)
    progress.on_log(None, state, None, logs=logs)
    progress.on_step_end(None, state, None)
    assert capsys.readouterr().err == said
