"""Small dialogues to train on, and the ways to run an entry script of `train/` on them."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import itertools
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

from salesllm.dialogue import Dialogue, Speaker
from salesllm.files import sha256
from salesllm.training.labels import LabelledDialogue
from salesllm.training.rows import Preference, View, preference_messages

ROOT = Path(__file__).parents[1]
RECIPES = ROOT / "recipes"

# Opening, pitch, doubt, answer, and how it ends: bought or declined.
PHRASES: dict[str, tuple[Sequence[str], ...]] = {
    "en": (
        ("hi, is the kettle still on sale?", "do you have this one in blue?", "how loud is it?"),
        (
            "It is, and this week it comes with a two-year warranty. Shall I set one aside?",
            "We do! It boils a litre in two minutes and switches itself off. Would you like it?",
            "Very quiet. Most people put it next to the bed and forget about it. Interested?",
        ),
        ("hm, a bit pricey for me", "not sure, I have an old one", "can you do ten off?"),
        (
            "I understand. If you order today I can take ten off and ship it for free.",
            "Many said so at first; it pays for itself within a year. Today it is ten off.",
        ),
        ("ok deal, I'll take it", "fine, put me down for one", "sounds good, I'll buy it"),
        ("no thanks, not today", "too much, I'll pass", "nah, I'll keep my old one"),
    ),
    "zh": (
        ("你好，这个水壶还有活动吗", "有蓝色的吗", "用起来吵不吵"),
        (
            "有的，这周下单还送两年质保，要不要先给您留一台？",
            "有货！两分钟就能烧开一升，自动断电，特别省心，您看要一台吗？",
            "声音很小，很多客户放床头都没感觉，您要不要试试？",
        ),
        ("有点贵啊", "家里那个还能用", "能便宜十块吗"),
        (
            "理解您，今天下单给您减十块，还包邮。",
            "一开始大家都这么说，用一年电费就省回来了，今天还能减十块。",
        ),
        ("行，那就来一台", "好吧，给我下单", "可以，我买了"),
        ("不用了，谢谢", "算了，太贵", "还是先用旧的吧"),
    ),
}


def dialogues(count: int, skip: int = 0, languages: Sequence[str] = ("en", "zh")) -> list[Dialogue]:
    """`count` dialogues, the languages in turn; every other one of a language ends in a sale.

    No two say the same, nor do any of another call whose ranges of `skip` and `count` lie apart.
    """
    made = []
    for i in range(skip, skip + count):
        language = languages[i % len(languages)]
        *parts, bought, declined = PHRASES[language]
        outcome = "bought" if i // len(languages) % 2 else "declined"
        ways = list(itertools.product(*parts, bought if outcome == "bought" else declined))
        random.Random(0).shuffle(ways)
        said = ways[i // len(languages) // 2]
        turns = [
            {"speaker": ("customer", "salesperson")[j % 2], "text": text}
            for j, text in enumerate(said)
        ]
        record = {
            "id": f"{language}-{i}",
            "language": language,
            "source": "test",
            "product_line": "kettles",
            "outcome": outcome,
            "turns": turns,
        }
        made.append(Dialogue.model_validate(record))
    return made


def labelled(count: int, skip: int = 0) -> list[LabelledDialogue]:
    """English dialogues whose last turn gives the label away."""
    label = {"bought": "buy", "declined": "not"}
    return [
        LabelledDialogue(**d.model_dump(), label=label[str(d.outcome)])
        for d in dialogues(count, skip, ["en"])
    ]


def preferences(source: Sequence[Dialogue]) -> list[dict[str, Any]]:
    """What the customer said, against a salesperson's pitch in its place."""
    rows = []
    for dialogue in source:
        *prompt, reply = View().messages(dialogue, None)
        pitch = next(t.text for t in dialogue.turns if t.speaker is Speaker.SALESPERSON)
        rows.append(preference_messages(Preference(prompt, reply["content"], pitch)))
    return rows


@dataclass(frozen=True)
class World:
    """A folder with `train.jsonl`, `pairs.jsonl`, intent rows, `init`, and an encoder."""

    path: Path

    def __getitem__(self, name: str) -> str:
        return str(self.path / name)


@dataclass(frozen=True)
class Outcome:
    code: int
    stderr: str


@cache
def _script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"train_{name}", ROOT / "train" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def call(name: str, recipe: str | Path, *options: object) -> Outcome:
    """Runs `train/<name>.py` in this process, which spares seconds of imports."""
    argv = [f"train/{name}.py", "--config", str(RECIPES / recipe), *map(str, options)]
    stderr, code = io.StringIO(), 0
    with (
        mock.patch.object(sys, "argv", argv),
        mock.patch.dict(os.environ),
        contextlib.redirect_stderr(stderr),
    ):
        try:
            _script(name).main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    return Outcome(code, stderr.getvalue())


def environment(**more: str) -> dict[str, str]:
    return os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"} | more


def start(
    name: str, recipe: str | Path, *options: object, launcher: Sequence[str] = (), **env: str
) -> subprocess.Popen[str]:
    """Starts `train/<name>.py` in a process of its own."""
    script = str(ROOT / "train" / f"{name}.py")
    command = [sys.executable, *launcher, script, "--config", str(RECIPES / recipe)]
    return subprocess.Popen(
        [*command, *map(str, options)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**env),
    )


def two_processes() -> list[str]:
    """The launcher of two CPU processes, on a port of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    config = str(ROOT / "accelerate_configs" / "cpu.yaml")
    launch = ["-m", "accelerate.commands.launch", "--config_file", config]
    return [*launch, "--num_processes", "2", "--main_process_port", port]


def finish(process: subprocess.Popen[str]) -> Outcome:
    _, stderr = process.communicate(timeout=300)
    return Outcome(process.returncode, stderr)


SFT = "customerlm/tiny/sft.yaml"
DPO = "customerlm/tiny/dpo.yaml"
INTENT = "intent/tiny_en.yaml"
LORA = ("--use_peft", "true", "--lora_r", "8", "--lora_target_modules", "q_proj", "v_proj")


def sft_options(world: World, out: str | Path, base: str | None = None) -> list[object]:
    """The tiny recipe on the forty dialogues: 36 train, in 5 steps an epoch."""
    return [
        *("--train_file", world["train.jsonl"], "--eval_share", 0.1, "--scenarios_file", "none"),
        *("--model_name_or_path", base or world["init"], "--output_dir", out),
        *("--per_device_train_batch_size", 8, "--warmup_steps", 2, "--eval_steps", 1000),
        *("--save_strategy", "no", "--logging_steps", 1, "--learning_rate", 4e-3),
    ]


def dpo_options(world: World, out: str | Path, base: str | Path) -> list[object]:
    return [
        *("--train_file", world["pairs.jsonl"], "--model_name_or_path", base, "--output_dir", out),
        *("--per_device_train_batch_size", 8, "--warmup_steps", 2, "--eval_steps", 1000),
        *("--save_strategy", "no", "--logging_steps", 1, "--learning_rate", 1e-3),
    ]


def intent_options(world: World, out: str | Path) -> list[object]:
    return [
        *("--train_file", world["intent_train.jsonl"], "--test_file", world["intent_test.jsonl"]),
        *("--model_name_or_path", world["encoder_en"], "--output_dir", out),
        *("--per_device_train_batch_size", 16, "--learning_rate", 1e-3),
    ]


def snapshot(folder: Path) -> dict[str, tuple[int, str]]:
    """Every file below a folder, with its time and digest."""
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, sha256(path))
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def refused(outcome: Outcome, *parts: str) -> None:
    """One message, which says all of `parts`, and exit code 2."""
    assert outcome.code == 2, outcome.stderr
    (line,) = outcome.stderr.strip().splitlines()
    assert line.startswith("error: ")
    for part in parts:
        assert part in line


def killed_and_resumed(
    name: str, recipe: str, options: Sequence[object], out: Path, at: int
) -> None:
    """Kills the run as soon as `checkpoint-<at>` is whole, and lets the same command finish it."""
    process = start(name, recipe, *options)
    mark = out / f"checkpoint-{at}" / "trainer_state.json"
    while not mark.exists():
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    finish(process)
    assert process.returncode == -signal.SIGKILL
    assert not (out / "summary.json").exists()
    done(finish(start(name, recipe, *options)))


def done(outcome: Outcome) -> None:
    assert outcome.code == 0, outcome.stderr
