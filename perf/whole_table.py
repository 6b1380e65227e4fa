"""A run as large as the paper's whole Table 10: 15 salespeople x 2 customers x 1,805 scenarios.

    python perf/whole_table.py [--scenarios 1805] [--output_dir outputs/perf/whole_table]

The speakers are scripted, behind an endpoint in a process of its own, over real HTTP; a judge is
there too. Everything else is the code of a real run: `eval/benchmark.py`, intent scorers of both
languages (small ones with random weights), grounding by numbers, statistics, tables, report.
The last line is one JSON object.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import re
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, get_args

import yaml
from scripted import serve

from salesllm.dialogue import END_MARKER, Language, Message, Speaker, turns_from
from salesllm.errors import entry_point
from salesllm.files import read_json
from salesllm.scenario import Scenario, read_scenarios, write_scenarios
from salesllm.scenarios.evaluation import scenario_file
from salesllm.scenarios.grammar import customer_line, draw_plan
from salesllm.scenarios.salesperson import salesperson_line
from salesllm.scenarios.scripts import script_of

ROOT = Path(__file__).parents[1]
SALESPEOPLE, CUSTOMERS = 15, 2
_LINE = re.compile(r"\[\d+\] ")


class Voices:
    """Scripted speakers who know their scenario by the script that they are given, and a judge."""

    def __init__(self, scenarios: list[Scenario]) -> None:
        self._scenarios = {
            script_of(scenario, speaker, "script"): scenario
            for scenario in scenarios
            for speaker in Speaker
        }

    def __call__(self, body: dict[str, Any]) -> str:
        messages: list[Message] = body["messages"]
        if body["model"] == "judge":
            lines = len(_LINE.findall(messages[0]["content"]))
            return json.dumps({"score": 2 + lines % 7, "reason": "by length", "evidence": []})
        speaker = Speaker(body["model"].partition("-")[0])
        scenario = self._scenarios[messages[0]["content"]]
        turns = turns_from(messages, speaker)
        rng = Random(f"{body['model']} {body['seed']}")
        if speaker is Speaker.SALESPERSON:
            return salesperson_line(scenario, turns, rng=rng, split="test")
        # One plan a dialogue: it must not change from turn to turn, as the seed does.
        plan = draw_plan(scenario, Random(f"{scenario.id}{turns[1].text}"))
        text, last = customer_line(scenario, plan, turns, rng=rng, split="test")
        return f"{text} {END_MARKER}" if last else text


def write_scorers(scenarios: list[Scenario], folder: Path) -> None:
    """Binary intent scorers with random weights: as much work as trained ones of their size."""
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    from salesllm.scoring.intent import SCHEMAS, IntentSettings, install
    from salesllm.training.tiny import new_encoder

    for language in get_args(Language):
        path = folder / f"intent_{language}"
        texts = [script_of(s, speaker, "script") for s in scenarios for speaker in Speaker]
        new_encoder(language, texts, path)
        model = AutoModelForSequenceClassification.from_pretrained(path, num_labels=2)
        install(model.config, IntentSettings(language, SCHEMAS["binary"]))
        model.save_pretrained(path)
        AutoTokenizer.from_pretrained(path).save_pretrained(path)


def recipe_of(folder: Path, url: str) -> dict[str, Any]:
    def endpoint(model: str, name: str) -> dict[str, Any]:
        return {"provider": "endpoint", "model": model, "name": name, "base_url": url,
                "concurrency": 256, "price": {"input": 1, "output": 4}}  # fmt: skip

    return {
        "name": "whole table",
        "output_dir": str(folder / "run"),
        "overwrite": True,
        "scenarios": str(folder / "scenarios.jsonl"),
        "salespeople": [endpoint(f"salesperson-{n}", f"model {n:02}") for n in range(SALESPEOPLE)],
        "customers": [endpoint(f"customer-{n}", f"customer {n}") for n in range(CUSTOMERS)],
        "judge": endpoint("judge", "judge"),
        "intent": {language: str(folder / f"intent_{language}") for language in ("zh", "en")},
        "rounds": 20,
        "concurrency": 256,
    }


def timed(command: list[str]) -> dict[str, float]:
    """Wall seconds, CPU seconds and peak memory of a command in a process of its own."""
    began = time.perf_counter()
    process = subprocess.Popen(command, env=os.environ | {"TOKENIZERS_PARALLELISM": "false"})
    _, status, used = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"{command[1]} failed")
    return {
        "seconds": round(time.perf_counter() - began, 1),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak_mb": round(used.ru_maxrss / 1024),
    }


@entry_point
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scenarios", type=int, default=1805)
    parser.add_argument("--output_dir", type=Path, default=Path("outputs/perf/whole_table"))
    args = parser.parse_args()
    folder: Path = args.output_dir
    every = read_scenarios(scenario_file(Path("v1")))
    scenarios = every[:: max(1, len(every) // args.scenarios)][: args.scenarios]
    write_scenarios(folder / "scenarios.jsonl", scenarios)
    spawn = multiprocessing.get_context("spawn")
    # In a process of its own: a child's peak memory begins with what its parent has.
    writer = spawn.Process(target=write_scorers, args=(scenarios, folder))
    writer.start()
    writer.join()
    address = spawn.Queue()
    server = spawn.Process(target=serve, args=(partial(Voices, scenarios), address), daemon=True)
    server.start()
    url = address.get(timeout=120)
    (folder / "recipe.yaml").write_text(yaml.safe_dump(recipe_of(folder, url)), encoding="utf-8")
    config = ["--config", str(folder / "recipe.yaml")]
    run = timed([sys.executable, str(ROOT / "eval" / "benchmark.py"), *config])
    report = timed([sys.executable, "-m", "salesllm.cli", "report", str(folder / "run")])
    summary = read_json(folder / "run" / "summary.json")
    print(json.dumps({
        "dialogues": summary["cells"],
        "unscored": {score: sum(why.values()) for score, why in summary["unscored"].items()},
        "run": run,
        "report": report,
        "journal_mb": round((folder / "run" / "journal.jsonl").stat().st_size / 1e6),
    }))  # fmt: skip


if __name__ == "__main__":
    main()
