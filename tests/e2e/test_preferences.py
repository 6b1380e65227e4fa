"""The rollout pipeline with a tiny customer and an endpoint that misbehaves: killed, resumed."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from jobs import DPO, RECIPES, ROOT, World, call, done, dpo_options, environment
from loopback import Fault, Loopback
from rich.console import Console
from scenes import scene
from voices import voices

from salesllm.dialogue import read_dialogues
from salesllm.files import read_json, read_jsonl
from salesllm.preferences.pipeline import Pipeline
from salesllm.preferences.recipe import RolloutRecipe
from salesllm.scenario import write_scenarios

pytestmark = pytest.mark.e2e

DIALOGUES = "rollout/dialogues.jsonl"
JOURNALS = {
    "rollout/journal.jsonl": DIALOGUES,
    "judged.journal.jsonl": "judged.jsonl",
    "pairs.journal.jsonl": "pairs.jsonl",
    "augmented.journal.jsonl": "augmented.jsonl",
}
"""The journal of every stage that needs no person, and what the stage leaves."""

TROUBLE = [
    Fault(status=429, retry_after="0.05"), Fault(status=500), Fault("cut"), Fault("malformed"),
    Fault("truncated"), Fault("empty"),
]  # fmt: skip


@pytest.fixture
def values(sft: Path, tmp_path: Path, loopback: Loopback) -> dict[str, Any]:
    loopback.reply = voices
    write_scenarios(tmp_path / "scenarios.jsonl", [scene("en", number) for number in range(4)])
    recipe = (RECIPES / "preferences" / "rollout_tiny.yaml").read_text(encoding="utf-8")
    recipe = recipe.replace("http://localhost:8000/v1", loopback.url)
    recipe = recipe.replace("outputs/tiny/rollout_scenarios.jsonl", f"{tmp_path}/scenarios.jsonl")
    recipe = recipe.replace("outputs/tiny/rollout_preferences", f"{tmp_path}/out")
    values = yaml.safe_load(recipe.replace("outputs/tiny/sft", str(sft)))
    return dict(values)


def lines(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a journal, without its header."""
    whole = path.read_bytes().split(b"\n")[1:-1] if path.exists() else []
    return [json.loads(line) for line in whole]


def test_killed_in_every_stage_nothing_is_lost_and_nothing_redone(
    world: World, sft: Path, values: dict[str, Any], loopback: Loopback, tmp_path: Path
) -> None:
    calm, stormy = tmp_path / "calm", tmp_path / "out"
    quiet = Console(quiet=True)
    assert Pipeline(RolloutRecipe.model_validate(values | {"output_dir": calm}), quiet).run()

    rng = random.Random(1)
    loopback.delay = 0.03
    loopback.fault_of = lambda body: rng.choice(TROUBLE) if rng.random() < 0.15 else None
    (tmp_path / "recipe.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")
    script = str(ROOT / "data_prep" / "preferences.py")
    command = [sys.executable, script, "--config", str(tmp_path / "recipe.yaml")]

    for journal, output in JOURNALS.items():
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment())
        while len(lines(stormy / journal)) < 2:
            assert process.poll() is None
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        assert not (stormy / output).exists()
        with (stormy / journal).open("ab") as file:  # as if killed in the middle of a line
            file.write(b'{"kind": "candidates", "cell": ["')
    finished = subprocess.run(command, capture_output=True, text=True, env=environment())
    assert finished.returncode == 0, finished.stderr

    for journal in JOURNALS:
        cells = Counter((entry["kind"], *entry["cell"]) for entry in lines(stormy / journal))
        assert set(cells.values()) == {1}
        assert len(cells) == len(lines(calm / journal))
    talks = [[(d.id, d.turns) for d in read_dialogues(out / DIALOGUES)] for out in (calm, stormy)]
    assert talks[0] == talks[1]  # but for the tokens that a reply costs when it is drawn again
    for name in ("judged.jsonl", "pairs.jsonl", "augmented.jsonl", "train.jsonl", "eval.jsonl"):
        assert (stormy / name).read_bytes() == (calm / name).read_bytes()
    rows = [row for name in ("train", "eval") for _, row in read_jsonl(stormy / f"{name}.jsonl")]
    assert len({row["id"] for row in rows}) == len(rows) >= 4
    assert {"customer", "writer"} == {row["chosen_by"] for row in rows}

    out = tmp_path / "dpo"
    files = ("--train_file", stormy / "train.jsonl", "--eval_file", stormy / "eval.jsonl")
    done(call("dpo", DPO, *dpo_options(world, out, sft), *files, "--max_steps", 2))
    summary = read_json(out / "summary.json")
    assert summary["train_pairs"] + summary["eval_pairs"] == len(rows)
