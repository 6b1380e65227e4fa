"""A benchmark run against actors on a loopback endpoint: a seller, a buyer and a judge."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import yaml
from scenes import scene

from salesllm.benchmark.recipe import BenchmarkRecipe
from salesllm.benchmark.run import run_benchmark
from salesllm.dialogue import END_MARKER
from salesllm.files import read_jsonl
from salesllm.scenario import write_scenarios

ROOT = Path(__file__).parents[1]
CANARY = "sk-canary-77e0c2"
SCENARIOS = [scene(language, n) for n in range(3) for language in ("en", "zh")]


def actor(body: dict[str, Any]) -> str:
    """A seller, a buyer and a judge; what they say follows from what they hear."""
    messages = body["messages"]
    zh = any("\u4e00" <= c <= "\u9fff" for c in messages[-1]["content"])
    if body["model"] == "judge":
        taken = "I'll take it" in messages[0]["content"] or "我要了" in messages[0]["content"]
        return json.dumps({"score": 8 if taken else 3, "reason": "r", "evidence": []})
    if body["model"] == "seller":
        return "199元，质保两年。" if zh else "It's $39, with two years' warranty."
    if len(messages) < 5:
        return "嗯，还有呢" if zh else "Hm, what else?"
    if "kettle 2" in messages[0]["content"] or "电水壶 2" in messages[0]["content"]:
        return f"不需要了 {END_MARKER}" if zh else f"No thanks. {END_MARKER}"
    return f"行，我要了 {END_MARKER}" if zh else f"OK, I'll take it. {END_MARKER}"


def values_of(folder: Path, url: str) -> dict[str, Any]:
    """A recipe of 2 salespeople x 1 customer x 6 scenarios, in `folder`/out."""
    write_scenarios(folder / "scenarios.jsonl", SCENARIOS)

    def endpoint(model: str, name: str) -> dict[str, Any]:
        address = {"base_url": url, "api_key_env": "BENCHMARK_TEST_KEY", "timeout": 0.6}
        return {"provider": "endpoint", "model": model, "name": name} | address

    return {
        "name": "loopback",
        "output_dir": str(folder / "out"),
        "scenarios": str(folder / "scenarios.jsonl"),
        "salespeople": [endpoint("seller", "A"), endpoint("seller", "B")],
        "customers": [endpoint("buyer", "C")],
        "judge": endpoint("judge", "J"),
        "rounds": 4,
        "concurrency": 6,
    }


def run(values: dict[str, Any]) -> dict[str, Any]:
    return run_benchmark(BenchmarkRecipe.model_validate(values))


def script(values: dict[str, Any], *more: str) -> list[str]:
    config = Path(values["output_dir"]).parent / "recipe.yaml"
    config.write_text(yaml.safe_dump(values), encoding="utf-8")
    return [sys.executable, str(ROOT / "eval" / "benchmark.py"), "--config", str(config), *more]


def results(out: Path) -> tuple[list[str], list[dict[str, Any]]]:
    """What a run came to, to be compared with another's."""
    rows = [row for _, row in read_jsonl(out / "scores.jsonl")]
    return (out / "dialogues.jsonl").read_text(encoding="utf-8").splitlines(), rows
