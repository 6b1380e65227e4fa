"""A benchmark run over rows in the released format, through the entry point and real HTTP."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from loopback import Loopback

from salesllm.dialogue import END_MARKER, read_dialogues
from salesllm.files import read_json, read_jsonl, write_jsonl

ROOT = Path(__file__).parents[2]
ROWS = ROOT / "tests" / "scenarios" / "authors_rows.jsonl"
SCORE = '{"score": 4, "reason": "asked for a price", "evidence": []}'


def actor(body: dict[str, Any]) -> str:
    """A judge, a seller, and a buyer who leaves after its second message."""
    if body["model"] == "judge":
        return SCORE
    return "Sure. Anything else?" if body["model"] == "seller" else f"No, bye. {END_MARKER}"


def benchmark(folder: Path, values: dict[str, Any], *more: str) -> subprocess.CompletedProcess[str]:
    config = folder / "recipe.yaml"
    config.write_text(yaml.safe_dump(values), encoding="utf-8")
    command = [sys.executable, str(ROOT / "eval" / "benchmark.py"), "--config", str(config), *more]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture
def recipe(tmp_path: Path) -> dict[str, Any]:
    """A run on the English rows; nobody listens at the address until a test sees to it."""
    rows = [value for _, value in read_jsonl(ROWS)]
    write_jsonl(tmp_path / "english.jsonl", rows[:10])
    write_jsonl(tmp_path / "chinese.jsonl", rows[10:])

    def endpoint(model: str) -> dict[str, Any]:
        return {"provider": "endpoint", "model": model, "base_url": "http://127.0.0.1:9/v1"}

    return {
        "name": "released rows",
        "output_dir": str(tmp_path / "out"),
        "scenarios": str(tmp_path / "english.jsonl"),
        "salespeople": [endpoint("seller")],
        "customers": [endpoint("buyer")],
        "judge": endpoint("judge"),
        "rounds": 4,
    }


@pytest.mark.parametrize(("language", "file"), [("en", "english"), ("zh", "chinese")])
def test_every_row_is_played_by_its_own_prompts(
    recipe: dict[str, Any], tmp_path: Path, language: str, file: str
) -> None:
    recipe["scenarios"] = str(tmp_path / f"{file}.jsonl")
    with Loopback(reply=actor) as loopback:
        for spec in (*recipe["salespeople"], *recipe["customers"], recipe["judge"]):
            spec["base_url"] = loopback.url
        done = benchmark(tmp_path, recipe, "--language", language)
    assert done.returncode == 0, done.stderr

    rows = [value for _, value in read_jsonl(tmp_path / f"{file}.jsonl")]
    heard: dict[str, list[str]] = {"seller": [], "buyer": [], "judge": []}
    for body in loopback.requests:
        heard[body["model"]].append(body["messages"][0]["content"])
    for model, side in (("buyer", "user"), ("seller", "assistant")):
        assert set(heard[model]) == {row[f"{side}_system_prompt"] for row in rows}
    # A row that does not say what is sold has a goal nevertheless.
    assert not any("()" in goal or "（）" in goal for goal in heard["judge"])

    summary = read_json(tmp_path / "out" / "summary.json")
    assert (summary["cells"], summary["failures"]) == (len(rows), 0)
    assert list(summary["results"]["endpoint/seller"]["endpoint/buyer"]) == ["overall", language]
    dialogues = read_dialogues(tmp_path / "out" / "dialogues.jsonl")
    assert {d.language for d in dialogues} == {language}
    assert dialogues[0].turns[0].text == rows[0][f"trigger_sentence_{language}"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, "english.jsonl:1: field `language`: a row of the paper's released benchmark"),
        (
            {"language": "en", "customers": [{"provider": "scripted", "model": "customer"}]},
            "the scripted customer needs all fields of a scenario",
        ),
    ],
)
def test_what_does_not_go_together_is_refused_before_anybody_speaks(
    recipe: dict[str, Any], tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    done = benchmark(tmp_path, recipe | change)
    assert done.returncode == 2
    assert message in done.stderr
    assert not (tmp_path / "out").exists()
