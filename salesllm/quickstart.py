"""The whole job on a laptop: tiny models, sample data, every stage, one report.

Every stage is the same script that a real run uses, in a process of its own, with the recipes of
`recipes/*/tiny*`; only paths are overridden. What a stage prints goes to `logs/<stage>.log`.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from salesllm.errors import InputError
from salesllm.files import read_json, require_model, write_json, write_text
from salesllm.recipe import read_yaml
from salesllm.report.figures import LANGUAGES, STAGES
from salesllm.report.html import write_report
from salesllm.report.picture import role_inversion_svg
from salesllm.report.quickstart import report_of, summary_of

ROOT = Path(__file__).resolve().parents[1]
ENVIRONMENT = {
    "PYTHONWARNINGS": "ignore",
    "PYTHONUNBUFFERED": "1",
    "TOKENIZERS_PARALLELISM": "false",
    # glibc hands every large block back to the kernel as it is freed, and a training step then
    # spends a third of its time on page faults.
    "MALLOC_MMAP_THRESHOLD_": str(2**31),
    "MALLOC_TRIM_THRESHOLD_": str(2**33),
}
RUN = "quickstart.json"
NEEDED = ("train/sft.py", "eval/benchmark.py", "recipes/customerlm/tiny/sft.yaml")


class StageError(Exception):
    """A stage failed; its log says why."""


class Quickstart:
    """One run of all stages in `folder`; a second call goes on where the first was cut off."""

    def __init__(
        self, folder: Path, embedding_model: str | None, scale: float, progress: Progress
    ) -> None:
        self.folder, self.embedding_model, self.progress = folder, embedding_model, progress
        self.scale = scale
        self.lanes = 1
        self.running: set[subprocess.Popen[bytes]] = set()
        self.stopping = False

    def run(self) -> None:
        """Runs every stage that is not done yet.

        Raises:
            StageError: A stage failed.
        """
        self._python("data", "-m", "salesllm.cli", "tiny", "--output_dir", self.folder,
                     "--scale", str(self.scale), done="tiny.json")  # fmt: skip
        self.lanes = 2  # a scorer is too small for two cores: one core each
        with ThreadPoolExecutor(2) as lanes:
            try:
                for lane in as_completed([lanes.submit(self._scorer, each) for each in LANGUAGES]):
                    lane.result()
            except BaseException:
                self.stop()
                raise
        self.lanes = 1
        self._customers()
        self._benchmark("benchmark", "tiny", "test_scenarios.jsonl", tuple(STAGES))
        self._ablation()

    def stop(self) -> None:
        """Ends what runs: nothing outlives an interrupted quickstart."""
        self.stopping = True
        for process in list(self.running):
            process.kill()

    # Stages

    def _customers(self) -> None:
        at = self.folder
        self._sft("base", start="init")
        self._sft("sft", start="base")
        self._benchmark("rollouts", "rollouts", "rollout_scenarios.jsonl", ("sft",))
        self._python(
            "preferences", "data_prep/preferences.py",
            "--config", "recipes/preferences/tiny.yaml",
            "--dialogues", at / "rollouts" / "dialogues.jsonl",
            "--scenarios", at / "rollout_scenarios.jsonl",
            "--detector_train", at / "train.jsonl",
            "--customer.model", at / "sft",
            "--output", at / "preferences.jsonl",
            done="preferences.jsonl",
        )  # fmt: skip
        pairs = {"train_file": at / "preferences.jsonl"}
        self._train("dpo", "dpo", "customerlm/tiny/dpo", model=at / "sft", **pairs)

    def _scorer(self, language: str) -> None:
        self._train(
            f"intent_{language}",
            "intent",
            f"intent/tiny_{language}",
            model=self.folder / f"encoder_{language}",
            train_file=self.folder / f"intent_train_{language}.jsonl",
            test_file=self.folder / f"intent_test_{language}.jsonl",
        )

    def _sft(self, stage: str, *, start: str) -> None:
        self._train(
            stage,
            "sft",
            f"customerlm/tiny/{stage}",
            model=self.folder / start,
            train_file=self.folder / "train.jsonl",
            scenarios_file=self.folder / "train_scenarios.jsonl",
        )

    def _train(self, stage: str, script: str, recipe: str, *, model: Path, **paths: Path) -> None:
        options = [word for key, path in paths.items() for word in (f"--{key}", path)]
        self._python(
            stage, f"train/{script}.py", "--config", f"recipes/{recipe}.yaml",
            "--model_name_or_path", model, "--output_dir", self.folder / stage, *options,
            done=f"{stage}/summary.json",
        )  # fmt: skip

    def _benchmark(
        self, stage: str, recipe_name: str, scenarios: str, customers: Sequence[str]
    ) -> None:
        recipe, _ = read_yaml(ROOT / f"recipes/benchmark/{recipe_name}.yaml")
        recipe |= {
            "output_dir": str(self.folder / stage),
            "scenarios": str(self.folder / scenarios),
            "customers": [self._customer(each) for each in customers],
        }
        if "intent" in recipe:
            recipe["intent"] = {each: str(self.folder / f"intent_{each}") for each in LANGUAGES}
        config = self._recipe(stage, recipe)
        self._python(stage, "eval/benchmark.py", "--config", config, done=f"{stage}/summary.json")

    def _ablation(self) -> None:
        at = self.folder
        recipe, _ = read_yaml(ROOT / "recipes/ablation/tiny.yaml")
        runs = at / "benchmark" / "dialogues.jsonl"
        recipe |= {
            "output_dir": str(at / "ablation"),
            "dialogues": str(at / "test.jsonl"),
            "scenarios": str(at / "test_scenarios.jsonl"),
            "detector_train": str(at / "detector.jsonl"),
            "customers": [self._customer(stage) for stage in STAGES],
            "simulated": [{"customer": stage, "path": str(runs)} for stage in STAGES],
            "embedding_model": self.embedding_model,
        }
        config = self._recipe("ablation", recipe)
        self._python("ablation", "eval/ablation.py", "--config", config,
                     done="ablation/summary.json")  # fmt: skip

    def _customer(self, stage: str) -> dict[str, Any]:
        return {"name": stage, "provider": "local", "model": str(self.folder / stage)}

    def _recipe(self, stage: str, recipe: Mapping[str, Any]) -> Path:
        path = self.folder / "recipes" / f"{stage}.yaml"
        write_text(path, yaml.safe_dump(dict(recipe), sort_keys=False, allow_unicode=True))
        return path

    def _python(self, stage: str, *command: str | Path, done: str) -> None:
        """Runs one stage in a process of its own, unless its result is already there."""
        if self.stopping:
            raise StageError(f"{stage} was not started")
        if (self.folder / done).exists():
            return
        log = self.folder / "logs" / f"{stage}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        threads = {"OMP_NUM_THREADS": str(max(1, (os.cpu_count() or 1) // self.lanes))}
        with log.open("w", encoding="utf-8") as file:
            process = subprocess.Popen(
                [sys.executable, *map(str, command)],
                cwd=ROOT,
                env=os.environ | ENVIRONMENT | threads,
                stdout=file,
                stderr=subprocess.STDOUT,
            )
            self.running.add(process)
            shown = Shown(stage, self.progress)
            try:
                while process.poll() is None:
                    shown.update(_last_line(log))
                    time.sleep(0.5)
            finally:
                process.kill()
                process.wait()
                self.running.discard(process)
        if process.returncode:
            raise StageError(f"{stage} failed: {_last_line(log)} (all of it: {log})")
        shown.finish()


class Shown:
    """A stage's line: live on a terminal, one line at its start and one at its end elsewhere."""

    def __init__(self, stage: str, progress: Progress) -> None:
        self.stage, self.progress, self.began = stage, progress, time.monotonic()
        self.task = progress.add_task(stage, total=1, now="")
        self._say("started")

    def update(self, now: str) -> None:
        self.progress.update(self.task, now=now[:60])

    def finish(self) -> None:
        self.progress.update(self.task, completed=1, now="")
        self._say(f"{time.monotonic() - self.began:.0f} s")

    def _say(self, what: str) -> None:
        if not self.progress.console.is_terminal:
            print(f"{self.stage}: {what}", file=sys.stderr, flush=True)


def run(folder: Path, embedding_model: str | None = None, scale: float = 1.0) -> None:
    """Runs the quickstart; a call after an interruption goes on with the stage that was cut off.

    Args:
        embedding_model: Sentence encoder for the cosine; None leaves the metric out.
        scale: How much sample data to make and train on, 1 being minutes on two cores.

    Raises:
        InputError: The folder holds a finished quickstart, or this is no checkout.
        StageError: A stage failed.
    """
    folder = folder.resolve()
    if missing := [name for name in NEEDED if not (ROOT / name).is_file()]:
        raise InputError(
            f"the quickstart runs the repository's scripts, and there is no {missing[0]}",
            path=ROOT,
            fix="Clone the repository and install it with pip install -e '.[all]'",
        )
    if (folder / "summary.json").exists():
        raise InputError(
            "the folder already holds a finished quickstart",
            path=folder,
            field="output_dir",
            fix="Choose another --output_dir, or delete it",
        )
    if embedding_model is not None and Path(embedding_model).exists():
        embedding_model = str(Path(embedding_model).resolve())
    elif embedding_model is not None:
        require_model(embedding_model, "embedding_model")
    arguments = {"scale": scale, "embedding_model": embedding_model}
    before = _resume(folder, arguments)
    began, console = time.monotonic(), Console(stderr=True)
    columns = (SpinnerColumn(finished_text="\N{CHECK MARK}"), TextColumn("{task.description}"))
    now = TextColumn("{task.fields[now]}", style="dim")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the stages are ended, too
    with Progress(
        *columns, TimeElapsedColumn(), now, console=console, disable=not console.is_terminal
    ) as progress:
        stages = Quickstart(folder, embedding_model, scale, progress)
        try:
            stages.run()
        finally:
            stages.stop()
            spent = before + time.monotonic() - began
            write_json(folder / RUN, arguments | {"seconds": spent})
    summary = summary_of(folder, seconds=spent)
    write_report(folder / "report.html", report_of(folder, summary))
    write_text(folder / "role_inversion.svg", role_inversion_svg(summary))
    write_json(folder / "summary.json", summary)  # last: it marks the run as finished
    rates = summary["role_inversion"]
    shown = ", ".join(f"{name} {100 * rate['rate']:.0f} %" for name, rate in rates.items())
    console.print(f"role inversion: {shown}", highlight=False)
    console.print(f"{folder / 'report.html'} ({summary['seconds']:.0f} s)", highlight=False)


def _resume(folder: Path, arguments: Mapping[str, Any]) -> float:
    """Seconds already spent on an unfinished run in the folder; 0 for a new one.

    Raises:
        InputError: It is a run with other arguments.
    """
    if not (folder / RUN).exists():
        write_json(folder / RUN, {**arguments, "seconds": 0.0})
        return 0.0
    old = read_json(folder / RUN)
    for name, value in arguments.items():
        if old[name] != value:
            raise InputError(
                f"the folder holds an unfinished quickstart with {name} {old[name]}, not {value}",
                path=folder,
                field=name,
                fix="Repeat it, choose another --output_dir, or delete the folder",
            )
    return float(old["seconds"])


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1] if lines else ""
