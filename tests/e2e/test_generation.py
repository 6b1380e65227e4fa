"""data_prep/scenarios.py with an LLM: the real script against an endpoint that misbehaves."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml
from jobs import ROOT, environment
from loopback import Loopback
from writing import in_english, sloppy, translator, troubled, write

from salesllm.dedup import near_duplicates
from salesllm.files import read_json, read_jsonl
from salesllm.generation.faithful import texts
from salesllm.scenario import Scenario, read_scenarios, write_scenarios
from salesllm.scenarios.scripts import customer_information, product_text
from salesllm.scenarios.space import draw_space

COUNTS = {"Books": 12, "Pet_Supplies": 8, "stocks": 20}


def start(values: dict[str, Any], folder: Path, *options: str) -> subprocess.Popen[str]:
    recipe = folder / "recipe.yaml"
    recipe.write_text(yaml.safe_dump(values, allow_unicode=True), encoding="utf-8")
    script = str(ROOT / "data_prep" / "scenarios.py")
    return subprocess.Popen(
        [sys.executable, script, "--config", str(recipe), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )


def run(values: dict[str, Any], folder: Path, *options: str) -> str:
    process = start(values, folder, *options)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    return out


def refused(values: dict[str, Any], folder: Path) -> str:
    process = start(values, folder)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 2, err
    assert len(err.strip().splitlines()) == 1
    return err


@pytest.fixture
def values(loopback: Loopback, tmp_path: Path) -> dict[str, Any]:
    loopback.reply, loopback.fault_of = sloppy(write), troubled()
    return {
        "backend": "llm",
        "output_dir": str(tmp_path / "out"),
        "language": "zh",
        "counts": COUNTS,
        "personas": 60,
        "writer": {
            "provider": "endpoint", "model": "m", "base_url": loopback.url, "concurrency": 8,
            "price": {"input": 2.0, "output": 10.0},
        },
    }  # fmt: skip


def check_space(out: Path) -> list[Scenario]:
    """Every count is full, nothing is there twice, and no two are near duplicates."""
    scenarios = read_scenarios(out / "scenarios.jsonl")
    products = [row for _, row in read_jsonl(out / "products.jsonl")]
    assert Counter(s.product.category for s in scenarios) == COUNTS
    assert [p["id"] for p in products] == list(dict.fromkeys(p["id"] for p in products))
    assert sorted(s.product.id for s in scenarios) == sorted(p["id"] for p in products)
    assert near_duplicates([product_text(s.product, "zh") for s in scenarios]) == []
    assert near_duplicates([customer_information(s) for s in scenarios]) == []
    assert all(len(s.scripts) == 2 for s in scenarios)
    return scenarios


def test_counts_are_full_in_spite_of_everything(
    values: dict[str, Any], loopback: Loopback, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    estimate = run(values, tmp_path, "--dry_run", "true")
    assert "80 calls" in estimate
    assert "cost about" in estimate
    assert not out.exists()
    assert not loopback.requests

    said = run(values, tmp_path)
    assert "Books" in said
    assert "cost 0." in said
    check_space(out)
    summary = read_json(out / "summary.json")
    assert summary["near_duplicates"]["product"]["dropped"] > 0  # every fourth is the same
    assert len([*read_jsonl(out / "dropped.jsonl")]) == sum(
        part["dropped"] for part in summary["near_duplicates"].values()
    )
    tokens = summary["usage"]
    assert summary["cost"] == pytest.approx(
        (2 * tokens["prompt_tokens"] + 10 * tokens["completion_tokens"]) / 1e6, abs=1e-4
    )
    assert summary["prompts"].keys() >= {"zh/product_consumer", "zh/customer_attributes"}
    told = [r["messages"] for r in loopback.requests if len(r["messages"]) > 1]
    assert any("这样不能用" in messages[-1]["content"] for messages in told)
    assert "finished run" in refused(values, tmp_path)


def test_killed_at_any_time_nothing_is_lost_or_asked_twice(
    values: dict[str, Any], loopback: Loopback, tmp_path: Path
) -> None:
    journal = tmp_path / "out" / "journal.jsonl"
    for lines in (6, 30, 55):
        process = start(values, tmp_path)
        while not journal.exists() or len(journal.read_bytes().splitlines()) < lines:
            assert process.poll() is None, process.communicate()[1]
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert not (tmp_path / "out" / "summary.json").exists()
        assert not (tmp_path / "out" / "scenarios.jsonl").exists()
    changed = refused(values | {"examples": 9}, tmp_path)
    assert "`recipe.examples` was 10 and is 9" in changed
    run(values, tmp_path)
    check_space(tmp_path / "out")
    cells = [
        (row["kind"], *row["cell"]) for _, row in read_jsonl(journal) if "kind" in row and row["ok"]
    ]
    assert len(set(cells)) == len(cells)


def test_an_endpoint_that_is_down_stops_the_job_and_keeps_what_is_there(
    values: dict[str, Any], loopback: Loopback, tmp_path: Path
) -> None:
    loopback.key = "another"
    assert "got no answer" in refused(values, tmp_path)
    assert not (tmp_path / "out" / "scenarios.jsonl").exists()
    loopback.key = None
    run(values, tmp_path)
    check_space(tmp_path / "out")


def test_amazon_items_are_the_targets(
    values: dict[str, Any], loopback: Loopback, tmp_path: Path
) -> None:
    rows = [{"title": f"Bowl {n}", "features": [f"holds {n} ml"], "price": n} for n in range(40)]
    path = tmp_path / "meta_Pet_Supplies.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, {}]), encoding="utf-8")
    run(values | {"amazon": [str(path)], "counts": {"Pet_Supplies": 5}}, tmp_path)
    asked = [r["messages"][0]["content"] for r in loopback.requests]
    assert any(question.count("Bowl ") == 6 for question in asked)
    summary = read_json(tmp_path / "out" / "summary.json")["amazon"]["Pet_Supplies"]
    assert (summary["read"], summary["skipped"], summary["sampled"]) == (41, {"no title": 1}, 10)


def test_a_translation_keeps_what_is_faithful_and_names_the_rest(
    values: dict[str, Any], loopback: Loopback, tmp_path: Path
) -> None:
    space = draw_space({"consumer": {"Books": 8}, "financial": {"stocks": 12}}, 40,
                       language="zh", seed=5)  # fmt: skip
    pairs = [(d.scenario("zh"), d.scenario("en")) for d in space.scenarios]
    known = in_english(pairs)
    victim = pairs[3][0]
    wrong = {victim.product.price: f"{known[victim.product.price]}1"}
    loopback.reply = sloppy(translator(known, wrong))
    write_scenarios(tmp_path / "zh.jsonl", [zh for zh, _ in pairs])
    recipe = {
        "backend": "translate",
        "output_dir": str(tmp_path / "out"),
        "scenarios": str(tmp_path / "zh.jsonl"),
        "writer": values["writer"],
        "attempts": 4,
    }
    assert "calls" in run(recipe, tmp_path, "--dry_run", "true")
    process = start(recipe, tmp_path)
    journal = tmp_path / "out" / "journal.jsonl"
    while not journal.exists() or len(journal.read_bytes().splitlines()) < 8:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.002)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    run(recipe, tmp_path)
    english = {s.id: s for s in read_scenarios(tmp_path / "out" / "zh_en.jsonl")}
    dropped = {
        row["id"]: row["reasons"] for _, row in read_jsonl(tmp_path / "out" / "untranslated.jsonl")
    }
    assert english.keys() | dropped.keys() == {zh.id for zh, _ in pairs}
    assert not english.keys() & dropped.keys()
    assert any("product.price" in reason for reason in dropped[victim.id])
    for zh, _ in pairs:
        if zh.id in english:
            assert texts(english[zh.id]) == {key: known[text] for key, text in texts(zh).items()}
            assert len(english[zh.id].scripts) == 2
    assert len(dropped) <= 4
    summary = read_json(tmp_path / "out" / "summary.json")
    assert summary["translated"] + summary["dropped"] == summary["scenarios"] == 20
